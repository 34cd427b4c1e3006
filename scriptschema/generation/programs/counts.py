"""Counts of generated combinations, with which a generator prefers rare ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

from scriptschema.generation.programs.axes import SURROUNDINGS, Operation

ItemT = TypeVar("ItemT", bound=Hashable)


class _Chooser(Protocol):
    def below(self, n: int) -> int: ...


class Counts:
    """The number of times that one generator used each pair on two axes, and each operation.

    The same choices give the same programs in the same order, independent of other generators.
    """

    def __init__(self) -> None:
        self._pairs: defaultdict[str, defaultdict[Hashable, int]] = defaultdict(_zeros)
        self._ranks: dict[tuple[Operation, bool], tuple[int, int]] = {}

    def rarest(self, chooser: _Chooser, on: str, items: Sequence[ItemT]) -> ItemT:
        """Return the item with the fewest uses with `on`; if there are several, any of them."""
        made = self._pairs[on]
        counts = [made[item] for item in items]
        least = min(counts)
        rare = [item for item, count in zip(items, counts, strict=True) if count == least]
        return rare[chooser.below(len(rare))]

    def is_rare(self, on: str, items: Sequence[ItemT], item: ItemT) -> bool:
        """Return whether an item is about as rare as the rarest of the items."""
        made = self._pairs[on]
        return made[item] <= min([made[each] for each in items]) + 1

    def rank(self, operation: Operation, *, fragile: bool) -> tuple[int, int]:
        """Return the number of uses of an operation's rarest pair, and of the operation."""
        return self._ranks.get((operation, fragile), (0, 0))

    def count(self, on: str, item: Hashable) -> None:
        """Count one use of an item with `on`."""
        self._pairs[on][item] += 1

    def add(self, operation: Operation, *, fragile: bool) -> None:
        """Count one use of an operation; `fragile`: with values that may make it fail."""
        number = self.rank(operation, fragile=fragile)[1] + 1
        least = []
        for position in operation.positions:
            items = position and (position.fragile if fragile else position.safe)
            if position and items:
                made = self._pairs[position.name]
                least.append(min([made[item] for item in items]))
        self._ranks[operation, fragile] = min(least, default=number // len(SURROUNDINGS)), number


def _zeros() -> defaultdict[Hashable, int]:
    return defaultdict(int)
