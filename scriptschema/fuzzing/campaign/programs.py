"""The programs of a fuzzer: new programs, and mutants of those that were kept.

A mutant of a program that fails early mostly fails there, too, and the code after that is not
tested. So the fewer of a parent's mutants ended normally, the less often it is drawn. The share is
observed, so nothing has to be known about trees that come from another fuzzer or an earlier run.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import attrs

from scriptschema.choices import RandomChoices
from scriptschema.codec.scanning import parts
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.mutate import Mutant, Mutator
from scriptschema.fuzzing.oracles.verdict import Verdict
from scriptschema.fuzzing.rewriting import REWRITINGS
from scriptschema.fuzzing.targets.base import Sources, Spelling, written
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.targets.probing import SYNTAX, names
from scriptschema.generation import trees
from scriptschema.generation.programs import Counts, grammar_of, make_program, maker_of
from scriptschema.generation.programs.grammar import LIBRARIES
from scriptschema.generation.programs.idioms import IDIOMS
from scriptschema.generation.programs.maker import Maker
from scriptschema.generation.programs.scope import Scope
from scriptschema.luau.breaking import broken
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet, StatBlock, schema
from scriptschema.versions import Version

_DONORS: Final = 100
_AGAIN: Final = 4
"""One in this many mutants is mutated once more."""

_SWARM: Final = 25
"""The number of programs that share a selection of idioms, because selecting is slow."""

_ATTEMPTS: Final = 3
"""The number of attempts to generate a program without missing features before stripping one."""

_UNIFORM: Final = 8
"""One in this many selections contains all idioms; the others contain about half of them."""

_STYLED: Final = 4
"""One in this many programs is written in a style. There are far fewer spellings than programs, and
plain programs are shorter."""

_RANDOM_IF_COMPILED: Final = 3
"""If programs are not run, one in this many new programs is a random tree, and one in this many
mutants ignores kinds and scope."""


MOST_PARENTS: Final = 400
"""The maximum number of parents."""

_SURE: Final = 3
"""The outcome of a parent itself counts like those of this many mutants."""

_DRAWS: Final = 16
"""The maximum number of draws of a parent; the last is accepted in any case."""


@attrs.define(eq=False)
class Parent:
    """A tree with its name; `made` counts its mutants, and `ended` those that ended normally."""

    name: str
    index: Index[Any]
    made: int = 0
    ended: int = 0

    def count(self, *, ended: bool, times: int = 1) -> None:
        """Count the outcome of a mutant."""
        self.made += times
        self.ended += times * ended

    @property
    def share(self) -> float:
        """The estimated share of its mutants that end normally."""
        return (self.ended + 1) / (self.made + 1)


class Parents:
    """The latest `MOST_PARENTS` parents; falsy if empty."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._parents: list[Parent] = []

    def __bool__(self) -> bool:
        return bool(self._parents)

    def add(self, name: str, index: Index[Any], *, ended: bool | None) -> None:
        """Add a tree; `ended` is whether it ended normally, None if unknown."""
        parent = Parent(name, index)
        if ended is not None:
            parent.count(ended=ended, times=_SURE)
        self._parents.append(parent)
        if len(self._parents) > MOST_PARENTS:  # drop the worse of two old parents
            old = self._random.sample(range(MOST_PARENTS // 2), 2)
            del self._parents[min(old, key=lambda number: self._parents[number].share)]

    def draw(self) -> Parent:
        """Return a parent; rarely one whose mutants mostly fail."""
        for _ in range(_DRAWS):
            parent = self._parents[self._random.randrange(len(self._parents))]
            if self._random.random() < parent.share**2:
                break
        return parent


_WORD: Final = re.compile(r"[A-Za-z_]\w*(?:\.\w+)?")


class Restriction:
    """Restricts programs to the available features; falsy if all are available."""

    def __init__(self, missing: frozenset[str]) -> None:
        self.missing = missing

    def __bool__(self) -> bool:
        return bool(self.missing)

    def weights(self) -> Mapping[str, Mapping[str, float]]:
        """Weights for the program generator with which most programs need no change."""
        members = {name.partition(".")[0] for name in names()} - self.missing
        libraries = {name: 0.0 for name in LIBRARIES if name not in members and name != "globals"}
        idioms = {
            name: 0.0
            for name, (_, text) in IDIOMS.items()
            if not self.missing.isdisjoint(_words_of(text))
        }
        return {"libraries": libraries, "idioms": idioms}

    def admits(self, data: bytes, cls: type[ModuleSet | StatBlock] = ModuleSet) -> bool:
        """Return whether an encoded tree uses no missing feature."""
        scan = encoding.scan(cls, data)
        if not self.missing.isdisjoint(library_names(scan)):
            return False
        return self.missing.isdisjoint(SYNTAX) or self.missing.isdisjoint(
            word for number in {*scan.parts} for word in _syntax(scan.luau)[number]
        )

    def strip(self, tree: ModuleSet) -> ModuleSet:
        """Return the tree without the outermost statements that use missing features."""
        body = [
            stat
            for stat in tree.program.body
            if self.admits(encoding.encode(StatBlock(body=[stat])), StatBlock)
        ]
        return repair(ModuleSet(program=StatBlock(body=body)))


def _words_of(text: str) -> set[str]:
    words = {*_WORD.findall(text)}
    return words | {name for name, source in _SIGNS.items() if source in text}


_SIGNS: Final = {  # text that identifies idioms with this feature
    "ExprBinary.Op.FloorDiv": "//",
    "ExprInterpString": "`",
    "StatContinue": "continue",
    "StatTypeAlias": "type ",
    "ExprIfElse": "= if ",
}


@cache
def _syntax(luau: Version | None) -> list[frozenset[str]]:
    """Return, for each optional part of the syntax by number, its names in `SYNTAX`."""
    found = []
    for part in parts(schema(luau)):
        words = {*part.messages, *part.values}
        words |= {word.rpartition(".Op.")[0] for word in words}
        words |= {f"ExprBinary.Op.{word.rpartition('.Op.')[2]}" for word in words if ".Op." in word}
        found.append(frozenset(words & SYNTAX.keys()))
    return found


@attrs.frozen
class Made:
    """A program with its origin; `mutant` and `parent`, or `rewriting`, describe its derivation.

    `style` is that of its `sources`; None if they are `plain`. `claim` is a verdict that another
    engine claims for it.
    """

    tree: ModuleSet
    origin: dict[str, Any]
    style: Spelling = None
    mutant: Mutant[ModuleSet] | None = None
    parent: Parent | None = None
    claim: Verdict | None = None
    rewriting: Rewriting | None = None
    sources: Sources = attrs.field(init=False)

    @sources.default
    def _write(self) -> Sources:
        return written(self.tree, self.style)

    @property
    def plain(self) -> Sources:
        """The sources without a style."""
        return self.sources if self.style is None else render_module_set(self.tree)

    @property
    def is_broken(self) -> bool:
        """Whether it is a source that is not Luau."""
        return isinstance(self.style, str)


@attrs.frozen
class Rewriting:
    """A rewriting of a program: its name in `REWRITINGS`, the original program and its runs."""

    name: str
    original: Made
    runs: list[Run]


class ProgramSource:
    """Creates programs as configured; `seed` differs for each fuzzer of a campaign."""

    def __init__(self, config: Config, seed: int) -> None:
        self.config = config
        self.seed = seed
        # Not for cryptography: the same seed must give the same programs.
        self._random = random.Random(f"{config.seed} {seed}")  # noqa: S311
        self._styles = random.Random(f"{config.seed} {seed} style")  # noqa: S311
        self._choices = RandomChoices(self._random)
        self._luau = config.version
        self._mutator = Mutator(size=config.size, programs=True, luau=self._luau)
        self._parents = Parents(self._random)
        self._number = self._made = 0
        self._restriction = Restriction(config.missing())
        self._weights: Mapping[str, Mapping[str, float]] = self._restriction.weights()
        self._grammar = grammar_of(self._weights, luau=self._luau)
        self._counts = Counts()
        self._rows: dict[str, list[int]] = {}
        self._back: list[Made] = []

    def adopt(self, name: str, tree: ModuleSet, *, ended: bool | None) -> None:
        """Make a tree a parent of mutants; `ended` is whether it ended normally, if known."""
        index = Index(tree)
        self._parents.add(name, index, ended=ended)
        donors = self._mutator.donors
        donors.append(index)
        if len(donors) > _DONORS:
            del donors[self._random.randrange(_DONORS)]

    def admits(self, data: bytes) -> bool:
        """Return whether an encoded tree uses no feature that a target lacks."""
        return not self._restriction or self._restriction.admits(data)

    def useful(self, mutant: Mutant[ModuleSet]) -> None:
        """Count that a mutant was kept."""
        self._mutator.useful(mutant)

    def next(self) -> Made | None:
        """Return a program that uses no feature that a target lacks; None without input."""
        if self._back:
            return self._back.pop()
        made = self._attempt()
        if self._styles.random() < self.config.broken:
            text = broken(render(made.tree.program), RandomChoices(self._styles))
            return Made(ModuleSet(program=StatBlock()), made.origin, text)
        if not self._restriction:
            return made
        for _ in range(_ATTEMPTS):
            if self.admits(encoding.encode(made.tree)):
                return made
            made = self._attempt()
        return self.stripped(made)

    def put_back(self, made: Made) -> None:
        """Take back a program that was not judged; `next` returns it first."""
        self._back.append(made)

    def stripped(self, made: Made) -> Made:
        """Return a program without the statements that use features that a target lacks."""
        tree = self._restriction.strip(made.tree)
        return Made(tree, made.origin, made.style)

    def unreadable(self) -> list[str]:
        """Return the names of inputs since the last call that could not become programs."""
        return []

    def rewritten(self, made: Made, runs: list[Run]) -> Made | None:
        """Return a rewriting of a program that had these runs, or None if it does not apply."""
        names = [*REWRITINGS]
        name = names[self._random.randrange(len(names))]
        tree = REWRITINGS[name](made.tree)
        if tree is None or not self.admits(encoding.encode(tree)):
            return None
        rewriting = Rewriting(name, made, runs)
        return Made(tree, made.origin, made.style, rewriting=rewriting)

    def operators(self) -> dict[str, list[int]]:
        """Return the counts of the mutation operators since the last call."""
        rows = {
            name: [row.applied, row.changed, row.useful]
            for name, row in self._mutator.statistics.items()
        }
        before = self._rows
        self._rows = rows
        return {
            name: [now - then for now, then in zip(row, before.get(name, [0, 0, 0]), strict=True)]
            for name, row in rows.items()
        }

    def _attempt(self) -> Made:
        self._number += 1
        origin: dict[str, Any] = {"seed": self.config.seed, "fuzzer": self.seed}
        origin["number"] = self._number
        mutant = parent = None
        if self._parents and self._random.random() < self.config.mutants:
            parent = self._parents.draw()
            mutant = self._mutator.mutate(parent.index, self._choices)
            origin.update(operator=mutant.operator, parent=parent.name)
            last = mutant
            while self._random.randrange(_AGAIN) == 0:
                last = self._mutator.mutate(last.index(), self._choices)
            tree = last.tree
            if self.config.only_compile and self._random.randrange(_RANDOM_IF_COMPILED) == 0:
                donors = self._mutator.donors
                blind = Mutator(
                    size=self.config.size, programs=False, donors=donors, luau=self._luau
                )
                tree = repair(blind.mutate(tree, self._choices).tree)
        else:
            tree = self._new()
        if tree.module is not None:
            tree.module = None
            tree = repair(tree)
        return Made(tree, origin, self._style(), mutant, parent)

    def _style(self) -> int | None:
        """Draw a style, or none."""
        if not self.config.styles or self._styles.randrange(_STYLED):
            return None
        return self._styles.randrange(2**32)

    def _new(self) -> ModuleSet:
        config = self.config
        size = max(1, round(config.size * self._random.uniform(0.3, 1.7)))
        uniform = self._random.randrange(_UNIFORM) == 0
        random_tree = config.source == "repaired"
        if config.only_compile:
            random_tree |= self._random.randrange(_RANDOM_IF_COMPILED) == 0
        if random_tree:
            made = trees.generate(
                ModuleSet, choices=self._choices, size=size, swarm=not uniform, luau=self._luau
            )
            made.module = None
            return repair(made)
        grammar = grammar_of(
            self._weights, types=config.types, luau=self._luau, runs=not config.only_compile
        )
        if not uniform:
            if self._made % _SWARM == 0:
                self._grammar = grammar.swarm(self._choices)
            self._made += 1
            grammar = self._grammar
        maker = maker_of(self._choices, grammar, config.types, Scope(), size, Maker, self._counts)
        return make_program(maker, size, trees.MAX_DEPTH, with_module=False)
