"""Selects a few trees that together have all features of a larger set.

The method is greedy set cover over bits.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence


def cover(masks: Sequence[int], sizes: Sequence[int], covered: int = 0) -> list[int]:
    """Return the indexes of a few `masks` that cover every bit set in any of the `masks`.

    The bits of `covered` count as covered from the start. Of two masks that add the same number of
    bits, the one with the smaller size in `sizes` is chosen. Every chosen mask is needed. A smaller
    set may exist, but the result is larger than the smallest set by at most a factor of the
    logarithm of the number of bits.

        Source: V. Chvatal, "A greedy heuristic for the set-covering problem" (1979); M. Minoux,
        "Accelerated greedy algorithms for maximizing submodular set functions" (1978).
    """
    start = covered
    heap = [(-mask.bit_count(), sizes[index], index) for index, mask in enumerate(masks)]
    heapq.heapify(heap)
    chosen = []
    while heap:
        _, size, index = heapq.heappop(heap)
        gain = (masks[index] & ~covered).bit_count()
        again = (-gain, size, index)
        if gain and heap and heap[0] < again:
            heapq.heappush(heap, again)
        elif gain:
            chosen.append(index)
            covered |= masks[index]
    return _without_needless(chosen, masks, sizes, start)


def _without_needless(
    chosen: list[int], masks: Sequence[int], sizes: Sequence[int], start: int
) -> list[int]:
    """Return `chosen` without masks whose bits are all in other chosen masks."""
    largest_first = sorted(chosen, key=lambda index: (-sizes[index], -index))
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
    return [index for index in chosen if index in needed]
