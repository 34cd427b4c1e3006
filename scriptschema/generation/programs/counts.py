"""Counts of generated idioms and combinations, so that a generator can prefer rare ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Final, TypeVar

from scriptschema.generation.programs.axes import SURROUNDINGS, Operation

_ANY_VERSION: Final = tuple(place for place in SURROUNDINGS if not place.attribute)
"""The surroundings that are possible in programs for any Luau version."""

ItemT = TypeVar("ItemT", bound=Hashable)


class Counts:
    """Counts a generator's uses of each idiom, each operation, and each pair (`on`, `item`).

    `on` is the name of an operation or of an operand's position. An operation is paired with its
    `axes.Surroundings`. A position is paired with the operand's `axes.Source` and with the class of
    its value. `idioms` maps the name of each idiom to its uses.

    Generators do not share counts, so that equal choices give equal programs.
    """

    def __init__(self) -> None:
        self._pairs: defaultdict[str, defaultdict[Hashable, int]] = defaultdict(
            partial(defaultdict, int)
        )
        self._ranks: dict[tuple[Operation, bool], tuple[int, int]] = {}
        self.idioms: Counter[str] = Counter()

    def rarest(self, below: Callable[[int], int], on: str, items: Sequence[ItemT]) -> ItemT:
        """Return the item in `items` that was used least often together with `on`.

        If there are several, `below` chooses one of them at random.
        """
        uses = self._pairs[on]
        counts = [uses[item] for item in items]
        least = min(counts)
        rare = [item for item, count in zip(items, counts, strict=True) if count == least]
        return rare[below(len(rare))]

    def uses(self, on: str, item: Hashable) -> int:
        """Return the number of uses of the pair (`on`, `item`)."""
        return self._pairs[on][item]

    def is_rare(self, on: str, items: Sequence[ItemT], item: ItemT) -> bool:
        """Return whether `item` has at most one more use with `on` than the rarest of `items`."""
        uses = self._pairs[on]
        return uses[item] <= min([uses[each] for each in items]) + 1

    def rank(self, operation: Operation, *, fragile: bool) -> tuple[int, int]:
        """Return (uses of the operation's rarest pair, uses of the operation)."""
        return self._ranks.get((operation, fragile), (0, 0))

    def count(self, on: str, item: Hashable) -> None:
        """Count one use of the pair (`on`, `item`)."""
        self._pairs[on][item] += 1

    def add(self, operation: Operation, *, fragile: bool) -> None:
        """Count one use of an operation. If `fragile`, its values may make the operation fail."""
        number = self.rank(operation, fragile=fragile)[1] + 1
        uses = self._pairs[operation.name]
        least = [uses[place] for place in _ANY_VERSION if operation.can_stand(place)]
        for position in operation.positions:
            items = position and (position.fragile if fragile else position.safe)
            if position and items:
                uses = self._pairs[position.name]
                least.append(min([uses[item] for item in items]))
        self._ranks[operation, fragile] = min(least), number
