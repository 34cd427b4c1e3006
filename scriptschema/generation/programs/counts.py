"""Counts of what was made: a generator that knows them prefers what is rare."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Protocol, TypeVar

from scriptschema.generation.programs.axes import SURROUNDINGS, Operation

ItemT = TypeVar("ItemT", bound=Hashable)


class _Chooser(Protocol):
    def below(self, n: int) -> int: ...


class Counts:
    """How often each pair on two axes, and each operation, was made by one generator.

    The same choices make the same programs in the same order, whatever else is made elsewhere.
    """

    def __init__(self) -> None:
        self._pairs: defaultdict[str, defaultdict[Hashable, int]] = defaultdict(_zeros)
        self._ranks: dict[tuple[Operation, bool], tuple[int, int]] = {}

    def rarest(self, chooser: _Chooser, on: str, items: Sequence[ItemT]) -> ItemT:
        """Return the item that was made least with `on`; if several were, any of them."""
        made = self._pairs[on]
        counts = [made[item] for item in items]
        least = min(counts)
        rare = [item for item, count in zip(items, counts, strict=True) if count == least]
        return rare[chooser.below(len(rare))]

    def is_rare(self, on: str, items: Sequence[ItemT], item: ItemT) -> bool:
        """Return whether an item was made about as seldom as the rarest of the items."""
        made = self._pairs[on]
        return made[item] <= min([made[each] for each in items]) + 1

    def rank(self, operation: Operation, *, fragile: bool) -> tuple[int, int]:
        """Return how often the rarest pair of an operation was made, and how often itself."""
        return self._ranks.get((operation, fragile), (0, 0))

    def count(self, on: str, item: Hashable) -> None:
        """Count that an item was made with `on`."""
        self._pairs[on][item] += 1

    def add(self, operation: Operation, *, fragile: bool) -> None:
        """Count that an operation was made, with values that may make it fail if `fragile`."""
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
