"""Trimming by tree: shorter sources for an engine that decides itself which to take.

The engine asks for one candidate after the other, and tells of each whether it does the same as the
source did; unlike the reducer it keeps time, so only the edits that remove most are offered.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from operator import itemgetter
from typing import Final, cast

from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.passes import PHASES
from scriptschema.luau import sources
from scriptschema.luau.render import render
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet

MOST: Final = 64
"""How many candidates are offered at most: each costs about as much as a mutant."""


class Trimmer:
    """Offers `candidate`, the next source, shorter than all that was taken; None at the end.

    `answer` tells whether the candidate was taken, and goes on to the next.
    """

    def __init__(self, source: bytes, index: Index[ModuleSet], most: int = MOST) -> None:
        self.source = source
        """The shortest source that was taken."""
        self.left = most
        self.candidate: bytes | None = None
        self._tried: set[bytes] = set()
        self._tree = index.tree
        self._offered = index.tree
        self._rank: int | None = None
        self._edits = self._trees(index)
        self._advance()

    def answer(self, taken: bool) -> None:
        """Take the candidate, or leave it, and offer the next."""
        if self.candidate is None:
            return
        if taken:
            self.source, self._tree = self.candidate, self._offered
            self._edits = self._trees(Index(self._tree))
        self._advance()

    def _trees(self, index: Index[ModuleSet]) -> Iterator[tuple[int, ModuleSet]]:
        """The edited trees; after a success, from the rank on that had been reached."""
        edits = sorted((e for each in PHASES[0] for e in each.edits(index)), key=itemgetter(0))
        if self._rank is not None:
            del edits[: bisect_left(edits, self._rank, key=itemgetter(0))]
        for rank, make in edits[: 4 * MOST]:
            yield rank, cast(ModuleSet, make())

    def _advance(self) -> None:
        self.candidate = None
        while self.left and (found := next(self._edits, None)) is not None:
            self._rank, edited = found
            tree = repair(edited)
            source = sources.encode(render(tree.program))
            if 0 < len(source) < len(self.source) and source not in self._tried:
                self._tried.add(source)
                self.left -= 1
                self._offered, self.candidate = tree, source
                return
