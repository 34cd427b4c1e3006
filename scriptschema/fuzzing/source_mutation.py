"""Mutates Luau sources, for engines whose inputs are sources.

Such engines (AFL++, Atheris) store inputs in the form that the target reads, so replaying a find or
sharing a corpus needs no conversion. However, each input must be parsed before it is mutated. Its
tree is cached and used for all of its mutants.

Sources are parsed with the newest syntax. Generated code uses extensions only if the environment
variable SCRIPTSCHEMA_LUAU names a version of Luau: `0.711`, for example, or `today`. Mutants and
new programs use none of the features in SCRIPTSCHEMA_WITHOUT, a list separated by commas: libraries
(`buffer`), members (`math.floor`), globals, and names in `targets.probing.SYNTAX` (`Type`).
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Any, Final

from scriptschema.choices import Choices
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.mutate import Mutant, Mutator
from scriptschema.fuzzing.restriction import Restriction
from scriptschema.generation.programs import grammar_of, make_program
from scriptschema.luau import sources
from scriptschema.luau.names import DEFAULT, OWN_NAMES
from scriptschema.luau.parse import ParseError, parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet
from scriptschema.versions import TODAY, Version

VERSION: Final = "SCRIPTSCHEMA_LUAU"
"""The environment variable that names the target's version of Luau."""

WITHOUT: Final = "SCRIPTSCHEMA_WITHOUT"
"""The environment variable that lists the features that mutants must not use."""

SIZE: Final = 150
"""The target number of messages in a program. Small programs run fast."""

CACHED: Final = 8192
"""The maximum number of trees in the cache, which keeps the most recently used trees. The tree of a
200-byte source takes 7 kB. AFL++'s queue soon has thousands of entries, and parsing takes longer
than mutating."""

LONGEST: Final = 1 << 16
"""The maximum number of bytes in a source. Mutating longer sources takes a second or more."""

_GROWTH: Final = 15
"""The number of messages by which a small program may grow in one mutation. If it could reach the
full size in one mutation, few other changes would be tried."""

_MORE: Final = 3
"""After each edit, the mutant is edited again with a probability of 1 / `_MORE`."""

_STYLED: Final = 4
"""If styles are on, a mutant has a random style with a probability of 1 / `_STYLED`."""

_MOST: Final = 6
_ATTEMPTS: Final = 8


class SourceMutator:
    """Mutates sources, and caches the trees of recently used sources.

    The same source, donor and choices give the same mutant. `mutator` holds the operators' weights
    and statistics. `parsed` is the number of sources read. `unreadable` is the number of these
    sources that were too long or not Luau. `generated` is the number of programs generated instead
    of mutants.

    If `styles` is true, some mutants get a random style (see `luau.render.render`). If `luau` is
    not None, features newer than this Luau version are left out. Mutants and new programs use none
    of the features in `without`, but a source that does is not changed unless it is mutated.
    """

    def __init__(
        self,
        *,
        styles: bool = True,
        luau: Version | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self.mutator = Mutator(programs=True, size=SIZE, luau=luau)
        if "Type" in without:
            self.mutator.weights["type"] = 0
        self._restriction = Restriction(without)
        self.luau = luau
        self.styles = styles
        self.style: int | None = None
        """The seed of the last mutant's style, or None for the plain style."""
        self.parsed = self.unreadable = self.generated = 0
        self.mutants: list[Mutant[ModuleSet]] = []
        """The results of the edits that made the last mutant. It is empty for a new program."""
        self._trees: OrderedDict[bytes, Index[ModuleSet] | None] = OrderedDict()

    def mutate(
        self, source: bytes, choices: Choices, *, donor: bytes = b"", max_size: int = LONGEST
    ) -> bytes:
        """Return a mutant of `source` that has at most `max_size` bytes.

        Parts may be copied from `donor`, another source. If `source` is not Luau or is too long,
        returns a new program. If all attempts fail, returns `source` itself.
        """
        self.mutants = []
        self.style = None
        index = self.tree_of(source)
        other = self.tree_of(donor) if donor else None
        self.mutator.donors = [other] if other is not None else []
        for _ in range(_ATTEMPTS):
            tree = self._mutant(index, choices) if index is not None else self._program(choices)
            if not self._restriction.admits(tree):
                continue
            self.style = self._draw_style(choices)
            mutated = sources.encode(render(tree.program, style=self.style))
            if mutated != source and 0 < len(mutated) <= max_size:
                break
        else:
            mutated, self.style = source, None
        return mutated

    def useful(self) -> None:
        """Record that the last mutant was useful, in the statistics of its operators."""
        for mutant in self.mutants:
            self.mutator.useful(mutant)

    def tree_of(self, source: bytes) -> Index[ModuleSet] | None:
        """Return the index of a valid tree for a source, or None if the source is unreadable.

        The tree uses only names from Luau's tables, and no annotations if they are left out.
        """
        if source in self._trees:
            self._trees.move_to_end(source)
            return self._trees[source]
        index = None
        try:
            if len(source) <= LONGEST:
                read = _with_known_names(parse(source, luau=TODAY).tree)
                valid = repair(read, luau=self.luau)
                index = Index(self._restriction.without_annotations(valid))
        except ParseError:
            pass
        self.parsed += 1
        self.unreadable += index is None
        self._trees[source] = index
        if len(self._trees) > CACHED:
            self._trees.popitem(last=False)
        return index

    def table(self) -> str:
        """Return the statistics of the operators and the counts of sources as text."""
        return (
            f"{self.mutator.table()}\n\n{self.parsed:,} sources read, {self.unreadable:,} of "
            f"them not valid Luau; {self.generated:,} new programs generated\n"
        )

    def _draw_style(self, choices: Choices) -> int | None:
        if not self.styles or choices.below(_STYLED) < _STYLED - 1:
            return None
        return choices.below(256) * 256 + choices.below(256)

    def _mutant(self, index: Index[ModuleSet], choices: Choices) -> ModuleSet:
        self.mutants = []
        while True:
            self.mutator.size = min(SIZE, len(index) + _GROWTH)
            mutant = self.mutator.mutate(index, choices)
            self.mutants.append(mutant)
            if len(self.mutants) == _MOST or choices.below(_MORE):
                return mutant.tree
            index = mutant.index()

    def _program(self, choices: Choices) -> ModuleSet:
        self.generated += 1
        tree = new_program(choices, SIZE, "random", self.luau, self._restriction)
        if tree.module is not None:
            tree = repair(ModuleSet(program=tree.program))
        return tree


def new_program(
    choices: Choices, size: int, types: str, luau: Version | None, restriction: Restriction
) -> ModuleSet:
    """Return a new program that uses none of the missing features."""
    missing = restriction.missing
    if "Type" in missing:
        types = "none"
    grammar = grammar_of(None, types=types, luau=luau, without=missing)
    tree = make_program(choices, grammar, size)
    return tree if restriction.admits(tree) else restriction.strip(tree)


def features_left_out() -> frozenset[str]:
    """Return the features in the environment variable `SCRIPTSCHEMA_WITHOUT`."""
    return frozenset(filter(None, os.environ.get(WITHOUT, "").split(",")))


def version_asked() -> Version | None:
    """Return the Luau version in the environment variable `SCRIPTSCHEMA_LUAU`.

    Returns None if the variable is unset or empty. Exits if the version is invalid.
    """
    text = os.environ.get(VERSION)
    try:
        return Version.parse(text) if text else None
    except ValueError as error:
        raise SystemExit(f"{VERSION}: {error}") from None


def _with_known_names(tree: ModuleSet) -> ModuleSet:
    """Give identifiers outside Luau's name tables unused names from the tables, in place."""
    nodes: list[Any] = [*Index(tree).nodes]
    for (cls, slot), table in OWN_NAMES.items():
        named = [n for n in nodes if n.__class__ is cls and getattr(n, slot) is not None]
        used = {getattr(node, slot) for node in named}
        size = len(getattr(DEFAULT, table))
        free = (number for number in range(size) if number not in used)
        known = {number: next(free, number) for number in sorted(used) if number >= size}
        for node in named if known else ():
            setattr(node, slot, known.get(getattr(node, slot), getattr(node, slot)))
    return tree
