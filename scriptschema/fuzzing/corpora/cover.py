"""A small set of trees that has all features of many: greedy set cover over bits of integers."""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def cover(masks: Sequence[int], sizes: Sequence[int], covered: int = 0) -> list[int]:
    """Return the indexes of a small set of `masks` whose union with `covered` is that of all.

    The next mask chosen is always the one that adds most, then the smallest, then the first;
    finally those whose features the others have are dropped, the largest first. So every chosen
    mask is needed; a smaller set may exist, but by no greater factor than the logarithm of the
    number of features. Gains are recomputed only for masks that may come next.

    Source: V. Chvatal, "A greedy heuristic for the set-covering problem" (1979); M. Minoux,
    "Accelerated greedy algorithms for maximizing submodular set functions" (1978).
    """
    start = covered
    heap = [(-mask.bit_count(), sizes[index], index) for index, mask in enumerate(masks)]
    heapq.heapify(heap)
    taken = []
    while heap:
        _, size, index = heapq.heappop(heap)
        gain = (masks[index] & ~covered).bit_count()
        again = (-gain, size, index)
        if gain and heap and heap[0] < again:
            heapq.heappush(heap, again)
        elif gain:
            taken.append(index)
            covered |= masks[index]
    return _without_needless(taken, masks, sizes, start)


def _without_needless(
    taken: list[int], masks: Sequence[int], sizes: Sequence[int], start: int
) -> list[int]:
    """Drop those whose features the others have, the largest first."""
    largest_first = sorted(taken, key=lambda index: (-sizes[index], -index))
    later = []  # for each mask, the union of those after it
    union = 0
    for index in reversed(largest_first):
        later.append(union)
        union |= masks[index]
    needed = set()
    for index in largest_first:
        if masks[index] & ~(start | later.pop()):
            needed.add(index)
            start |= masks[index]
    return [index for index in taken if index in needed]
