"""The programs of a fuzzer: new programs, and mutants of programs that were kept.

Some programs are only compiled: their code is in a function that is never called (`uncalled`), so
it may even contain infinite loops. Their mutants are only compiled as well.

If a program fails early, most of its mutants fail at the same place, and later code is not tested.
Parents whose mutants mostly fail are therefore drawn less often.
"""

from __future__ import annotations

import random
from typing import Any, Final

import attrs

from scriptschema.base import MAX_DEPTH
from scriptschema.choices import RandomChoices
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.mutate import Mutant, Mutator, Statistics
from scriptschema.fuzzing.oracles.verdict import Verdict
from scriptschema.fuzzing.restriction import Restriction
from scriptschema.fuzzing.rewriting import REWRITINGS
from scriptschema.fuzzing.targets.base import Sources, Spelling, written
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.uncalled import DEEPEST, body_of, runs_nothing, uncalled
from scriptschema.generation import trees
from scriptschema.generation.programs import Counts, grammar_of, make_program
from scriptschema.generation.programs.grammar import Grammar
from scriptschema.luau.breaking import broken, is_luau
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet, StatBlock

_DONORS: Final = 100
_MUTATIONS: Final = 4
"""The average number of mutations per mutant. Most mutants with one mutation behave like their
parents."""

_SWARM: Final = 25
"""The number of programs generated from each selection of idioms. Selections are reused because
making one is slow."""

_ATTEMPTS: Final = 3
"""The number of attempts to generate a program that uses only features that all targets have. If
all attempts fail, the statements that use other features are removed."""

_UNIFORM: Final = 8
"""One in this many programs is generated from all idioms, the others from about half of them."""

_STYLED: Final = 4
"""One in this many programs is written in a random style. Plain programs are shorter."""

_RANDOM_IF_COMPILED: Final = 3
"""For programs that are only compiled: one in this many new programs is a random tree, and one in
this many mutants is mutated once more without regard to kinds and scope."""

_LARGER_IF_COMPILED: Final = 4
"""Programs that are only compiled are larger by this factor, because compiling is fast."""

_LONG: Final = 4
_LONGER: Final = 3
"""One in `_LONG` new programs is `_LONGER` times as large, because many idioms need more space."""

MOST_PARENTS: Final = 400
"""The maximum number of parents."""

_SURE: Final = 3
"""A parent's own outcome counts as much as the outcomes of this many mutants."""

_DRAWS: Final = 16
"""The maximum number of attempts to draw a parent. The last draw is always accepted."""


@attrs.define(eq=False)
class Parent:
    """A tree to mutate. `mutants` counts its mutants, and `ended` those that ended normally."""

    name: str
    index: Index[Any]
    mutants: int = 0
    ended: int = 0

    def count(self, *, ended: bool, times: int = 1) -> None:
        """Count the outcome of one mutant, or of several (`times`) with the same outcome."""
        self.mutants += times
        self.ended += times * ended

    @property
    def share(self) -> float:
        """The estimated share of mutants that end normally."""
        return (self.ended + 1) / (self.mutants + 1)


class Parents:
    """The trees to mutate, at most `MOST_PARENTS`. The object is falsy if it contains no trees."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._parents: list[Parent] = []

    def __bool__(self) -> bool:
        return bool(self._parents)

    def add(self, name: str, index: Index[Any], *, ended: bool | None) -> None:
        """Add a tree. `ended` says whether its program ended normally. None means unknown."""
        parent = Parent(name, index)
        if ended is not None:
            parent.count(ended=ended, times=_SURE)
        self._parents.append(parent)
        if len(self._parents) > MOST_PARENTS:  # drop the worse of two old parents
            old = self._random.sample(range(MOST_PARENTS // 2), 2)
            del self._parents[min(old, key=lambda number: self._parents[number].share)]

    def draw(self) -> Parent:
        """Return a random parent. Parents whose mutants mostly fail are drawn rarely."""
        for _ in range(_DRAWS):
            parent = self._parents[self._random.randrange(len(self._parents))]
            if self._random.random() < parent.share**2:
                break
        return parent


@attrs.frozen
class MadeProgram:
    """A generated program with its origin.

    A mutant has a `parent`. A rewritten program has a `rewriting`. `style` is the style of
    `sources`, or None for the plain style. `claim` is the verdict that another engine reported, or
    None. `terminates` is true if the program was generated to terminate, and was not changed.
    """

    tree: ModuleSet
    origin: dict[str, Any]
    style: Spelling = None
    parent: Parent | None = None
    claim: Verdict | None = None
    rewriting: Rewriting | None = None
    terminates: bool = False
    sources: Sources = attrs.field(init=False)

    @sources.default
    def _write(self) -> Sources:
        return written(self.tree, self.style)

    def plain(self) -> Sources:
        """Return the sources without a style."""
        return self.sources if self.style is None else render_module_set(self.tree)

    @property
    def as_written(self) -> tuple[ModuleSet, Spelling, Sources]:
        """The tree, the style and the sources: the first arguments of `Runner.judge_all`."""
        return self.tree, self.style, self.sources

    @property
    def is_broken(self) -> bool:
        """Whether the program is a deliberately broken source, which has no tree."""
        return isinstance(self.style, str)

    @property
    def only_compiled(self) -> bool:
        """Whether the program only declares functions and types, so that it executes no code."""
        return not self.is_broken and runs_nothing(self.tree)


@attrs.frozen
class Rewriting:
    """A rewriting of a program: its name in `REWRITINGS`, the original program and its runs."""

    name: str
    original: MadeProgram
    runs: list[Run]


class _Generator:
    """Generates programs and mutants, only for compiling if `compiled` is true."""

    def __init__(
        self,
        config: Config,
        source: random.Random,
        missing: frozenset[str],
        *,
        compiled: bool,
    ) -> None:
        self._config = config
        self._random = source
        self._missing = missing
        self._compiled = compiled
        self._size = config.size * (_LARGER_IF_COMPILED if compiled else 1)
        self._max_depth = DEEPEST if compiled else MAX_DEPTH
        self._luau = config.version
        self._types = "none" if "Type" in missing else config.types
        self._choices = RandomChoices(source)
        self.mutator = self._mutator(self._size, programs=True)
        self._parents = Parents(source)
        self._counts = Counts()
        self._grammar: Grammar
        self._made = 0

    def adopt(self, name: str, tree: ModuleSet, *, ended: bool | None) -> None:
        index = Index(tree)
        index.is_program = True  # a campaign's trees are valid: saves a check
        self._parents.add(name, index, ended=ended)
        donors = self.mutator.donors
        donors.append(index)
        if len(donors) > _DONORS:
            del donors[self._random.randrange(_DONORS)]

    def next(self) -> tuple[ModuleSet, list[str], Parent | None]:
        """Return a program. For a mutant, also return its operators in order, and its parent."""
        mutants: list[Mutant[ModuleSet]] = []
        parent = None
        if self._parents and self._random.random() < self._config.mutants:
            parent = self._parents.draw()
            # The size of new programs would be too small: most mutations would only delete.
            size = min(max(len(parent.index), self._size), _LONGER * self._size)
            self.mutator.size = size
            mutants.append(self.mutator.mutate(parent.index, self._choices))
            while self._random.randrange(_MUTATIONS):
                mutants.append(self.mutator.mutate(mutants[-1].index(), self._choices))
            tree = mutants[-1].tree
            is_random = self._compiled and self._random.randrange(_RANDOM_IF_COMPILED) == 0
            if is_random:
                tree = self._mutator(size, programs=False).mutate(tree, self._choices).tree
            if is_random or (self._compiled and not runs_nothing(tree)):
                tree = uncalled(copy(body_of(tree)))  # mutants share messages with parents
        else:
            tree = self._new()
        if tree.module is not None:
            tree.module = None
            tree = repair(tree)
        return tree, [mutant.operator for mutant in mutants], parent

    def _mutator(self, size: int, *, programs: bool) -> Mutator:
        donors = [] if programs else self.mutator.donors
        mutator = Mutator(
            size=size,
            max_depth=self._max_depth,
            programs=programs,
            donors=donors,
            luau=self._luau,
        )
        if "Type" in self._missing:
            mutator.weights["type"] = 0
        return mutator

    def _new(self) -> ModuleSet:
        config = self._config
        size = max(1, round(self._size * self._random.uniform(0.3, 1.7)))
        if self._random.randrange(_LONG) == 0:
            size *= _LONGER
        uniform = self._random.randrange(_UNIFORM) == 0
        random_tree = config.source == "repaired"
        if self._compiled:
            random_tree |= self._random.randrange(_RANDOM_IF_COMPILED) == 0
        if random_tree:
            tree = trees.generate(
                ModuleSet,
                choices=self._choices,
                size=size,
                max_depth=self._max_depth,
                swarm=not uniform,
                luau=self._luau,
            )
            tree.module = None
            return uncalled(tree) if self._compiled else repair(tree)
        grammar = grammar_of(
            None,
            types=self._types,
            luau=self._luau,
            runs=not self._compiled,
            without=self._missing,
        )
        if not uniform:
            if self._made % _SWARM == 0:
                self._grammar = grammar.swarm(self._choices)
            self._made += 1
            grammar = self._grammar
        program = make_program(
            self._choices,
            grammar,
            size,
            self._max_depth,
            counts=self._counts,
            with_module=False,
        )
        return uncalled(program, is_valid=True) if self._compiled else program


class ProgramSource:
    """Creates programs as configured. `seed` differs for each fuzzer of a campaign."""

    def __init__(self, config: Config, seed: int) -> None:
        self.config = config
        self.seed = seed
        # Not for cryptography: the same seed must give the same programs.
        self._random = random.Random(f"{config.seed} {seed}")  # noqa: S311
        self._styles = random.Random(f"{config.seed} {seed} style")  # noqa: S311
        self._shares = random.Random(f"{config.seed} {seed} share")  # noqa: S311
        compiled = random.Random(f"{config.seed} {seed} compiled")  # noqa: S311
        missing = config.missing()
        self.restriction = Restriction(missing)
        self._running = _Generator(config, self._random, missing, compiled=False)
        self._compiled = _Generator(config, compiled, missing, compiled=True)
        self._statistics = self._running.mutator.statistics  # of both
        self._compiled.mutator.statistics = self._statistics
        self._number = 0
        self._back: list[MadeProgram] = []

    def adopt(self, name: str, tree: ModuleSet, *, ended: bool | None) -> None:
        """Add a tree to the parents of mutants.

        `ended` says whether its program ended normally. None means unknown.
        """
        generator = self._compiled if runs_nothing(tree) else self._running
        generator.adopt(name, tree, ended=ended)

    def useful(self, program: MadeProgram) -> None:
        """If a kept program is a mutant, count a success for each of its mutation operators."""
        if program.parent is not None:
            for operator in filter(None, program.origin["operators"]):
                self._statistics[operator].useful += 1

    def next(self) -> MadeProgram | None:
        """Return a program that all targets support, or None while another engine has no input.

        With probability `Config.broken`, the program's source is not valid Luau.
        """
        if self._back:
            return self._back.pop()
        is_compiled = self._shares.random() < self.config.compiled
        generator = self._compiled if is_compiled else self._running
        program = self._attempt(generator)
        if self._styles.random() < self.config.broken:
            text = broken(render(program.tree.program), RandomChoices(self._styles))
            if not (is_compiled and is_luau(text)):  # Luau could run the uncalled function's code
                return MadeProgram(ModuleSet(program=StatBlock()), program.origin, text)
        for _ in range(_ATTEMPTS):
            if self.restriction.admits(program.tree):
                return program
            program = self._attempt(generator)
        return self.stripped(program)

    def put_back(self, program: MadeProgram) -> None:
        """Put back a program that was not judged. `next` will return it first."""
        self._back.append(program)

    def stripped(self, program: MadeProgram) -> MadeProgram:
        """Return a program without the statements that use features in `Config.missing`."""
        if program.only_compiled:
            tree = uncalled(self.restriction.strip(body_of(program.tree)))
        else:
            tree = self.restriction.strip(program.tree)
        return MadeProgram(tree, program.origin, program.style)

    def unreadable(self) -> list[str]:
        """Return the names of inputs that could not be parsed.

        Only inputs that were read since the last call are included.
        """
        return []

    def rewritten(self, program: MadeProgram, runs: list[Run]) -> MadeProgram | None:
        """Return a rewritten version of a program, or None if the program cannot be rewritten.

        `runs` are the runs of the program.
        """
        names = [*REWRITINGS]
        name = names[self._random.randrange(len(names))]
        tree = REWRITINGS[name](program.tree)
        if tree is None or not self.restriction.admits(tree):
            return None
        rewriting = Rewriting(name, program, runs)
        return MadeProgram(tree, program.origin, program.style, rewriting=rewriting)

    def operators(self) -> dict[str, list[int]]:
        """Return the counts of each mutation operator since the last call, by operator name.

        The counts are `[applied, changed, useful]` (see `Statistics`).
        """
        rows = {name: [*attrs.astuple(row)] for name, row in self._statistics.items()}
        self._statistics.update((name, Statistics()) for name in rows)
        return rows

    def _attempt(self, generator: _Generator) -> MadeProgram:
        self._number += 1
        origin: dict[str, Any] = {"seed": self.config.seed, "fuzzer": self.seed}
        origin["number"] = self._number
        tree, operators, parent = generator.next()
        if parent is not None:
            origin.update(operators=operators, parent=parent.name)
        terminates = parent is None and self.config.source == "program"
        return MadeProgram(tree, origin, self._style(), parent, terminates=terminates)

    def _style(self) -> int | None:
        if not self.config.styles or self._styles.randrange(_STYLED):
            return None
        return self._styles.randrange(2**32)
