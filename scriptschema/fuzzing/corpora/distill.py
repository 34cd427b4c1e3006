"""Distills and merges corpora: selects a few trees that together have the features of all trees.

The smallest tree of each shape is a candidate. From the candidates, a small set is selected that
has all their features. The features come from the schema (`features`) or from a command
(`coverage`).
"""

from __future__ import annotations

import heapq
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Self

import attrs

from scriptschema.files import FileError, Input
from scriptschema.fuzzing.corpora import features
from scriptschema.fuzzing.corpora.folder import CorpusFolder, name_of
from scriptschema.fuzzing.corpora.reading import Reader, Report, corpus_files

Judge = Callable[[bytes], int]
"""A function that takes the bytes of a tree, and returns the tree's features as bits."""


@attrs.define
class Counts:
    """How many trees were read and kept, and how many shapes and features they have."""

    trees: int = 0
    incomplete: int = 0
    """The number of sources that the schema cannot represent completely."""
    shapes: int = 0
    features: int = 0
    """The number of features of the trees, including features of trees already in the folder."""
    kept: int = 0
    new: int = 0
    """The number of kept trees that were not in the folder before."""
    others: int = 0
    """The number of trees that were in the folder before and are not among the kept trees."""


class _Candidates:
    """The smallest tree of each shape, stored in a temporary file to save memory."""

    def __init__(self) -> None:
        self._shapes: dict[bytes, tuple[int, str, int]] = {}

    def __enter__(self) -> Self:
        self._spool: IO[bytes] = tempfile.TemporaryFile()
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def read(self, items: Iterable[Input | FileError], reader: Reader, report: Report) -> Counts:
        counts = Counts()
        for tree in reader.read_all(items, report):
            counts.trees += 1
            counts.incomplete += tree.losses > 0
            shape = features.shape_of(tree.scan)
            rank = (len(tree.data), name_of(tree.data))
            known = self._shapes.get(shape)
            if known is None or rank < known[:2]:
                self._shapes[shape] = (*rank, self._spool.seek(0, 2))
                self._spool.write(tree.data)
        counts.shapes = len(self._shapes)
        return counts

    def sizes(self) -> list[int]:
        return [size for size, _, _ in sorted(self._shapes.values())]

    def trees(self) -> Iterator[bytes]:
        for size, _, start in sorted(self._shapes.values()):
            self._spool.seek(start)
            yield self._spool.read(size)


def by_schema(reader: Reader) -> Judge:
    """Return a judge that determines which features of the schema a tree has: see `features`."""
    return lambda data: features.features_of(reader.scan(data))


def distill(
    items: Iterable[Input | FileError],
    folder: Path,
    reader: Reader,
    judge: Judge,
    report: Report,
    *,
    merge: bool = False,
) -> Counts:
    """Write a few trees to `folder` that together have all features of the files' trees.

    The order of the files does not matter. If `merge` is true, features of trees that are already
    in `folder` need no further tree. Trees are never deleted.

    Raises FileError if the corpus cannot be read or written, and the errors that `judge` raises.
    """
    covered = 0
    corpus = CorpusFolder(folder)
    before = len(corpus.names)
    if merge:
        with _Candidates() as there:
            there.read(corpus_files([folder]), Reader(reader.cls, luau=reader.luau), report)
            for data in there.trees():
                covered |= judge(data)
    with _Candidates() as candidates:
        counts = candidates.read(items, reader, report)
        masks = [judge(data) for data in candidates.trees()]
        chosen = set(cover(masks, candidates.sizes(), covered))
        for index, data in enumerate(candidates.trees()):
            if index in chosen:
                counts.new += corpus.add(data)
    counts.kept = len(chosen)
    counts.others = before - (counts.kept - counts.new)
    for mask in masks:
        covered |= mask
    counts.features = covered.bit_count()
    return counts


def cover(masks: Sequence[int], sizes: Sequence[int], covered: int = 0) -> list[int]:
    """Return the indexes of a few `masks` that cover every bit set in any of the `masks`.

    The method is greedy set cover. The bits of `covered` count as covered from the start. Of two
    masks that add the same number of bits, the one with the smaller size in `sizes` is chosen.
    Every chosen mask is needed. A smaller set may exist, but the result is larger than the smallest
    set by at most a factor of the logarithm of the number of bits.

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
