"""The parents of a fuzzer's mutants: the latest corpus trees, drawn by how their mutants end.

A mutant of a program that fails early mostly fails there, too, and then no part behind that is
tested. So a parent is drawn less often the fewer of its mutants ended normally, which is observed:
nothing has to be known of trees that come from another fuzzer or an earlier run.
"""

from __future__ import annotations

import random
from typing import Any, Final

import attrs

from scriptschema.fuzzing.index import Index

MOST: Final = 400
"""The maximum number of parents."""

_SURE: Final = 3
"""The number of mutants that the outcome of the parent itself counts for."""

_DRAWS: Final = 16
"""The number of parents that are drawn before the last one is taken in any case."""


@attrs.define(eq=False)
class Parent:
    """A tree with its name; `made` counts its mutants, `ended` those that ended normally."""

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
    """The latest `MOST` parents; falsy if there are none."""

    def __init__(self, source: random.Random) -> None:
        self._random = source
        self._parents: list[Parent] = []

    def __bool__(self) -> bool:
        return bool(self._parents)

    def add(self, name: str, index: Index[Any], *, ended: bool | None) -> None:
        """Add a tree; `ended` says whether it ended normally, None if that is not known."""
        parent = Parent(name, index)
        if ended is not None:
            parent.count(ended=ended, times=_SURE)
        self._parents.append(parent)
        if len(self._parents) > MOST:  # of two old ones, that which fails more often goes
            old = self._random.sample(range(MOST // 2), 2)
            del self._parents[min(old, key=lambda number: self._parents[number].share)]

    def draw(self) -> Parent:
        """Return a parent: seldom one whose mutants mostly fail."""
        for _ in range(_DRAWS):
            parent = self._parents[self._random.randrange(len(self._parents))]
            if self._random.random() < parent.share**2:
                break
        return parent
