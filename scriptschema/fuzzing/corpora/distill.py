"""Distill and merge: select a few of many trees that have the features of all.

Of the trees with one shape the smallest is a candidate; of the candidates a small set is selected
that has all features: those of the schema (`features`), or those that a command reports
(`coverage`). Only the candidates' features are in memory; their bytes are in a temporary file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Self

import attrs

from scriptschema.files import FileError, Input
from scriptschema.fuzzing.corpora import features
from scriptschema.fuzzing.corpora.cover import cover
from scriptschema.fuzzing.corpora.folder import CorpusFolder, name_of
from scriptschema.fuzzing.corpora.reading import Reader, corpus_files

Judge = Callable[[bytes], int]
"""Returns the features of a tree, as bits, given its bytes."""


@attrs.define
class Counts:
    """The number of trees read, of their shapes, and of the trees kept."""

    trees: int = 0
    failed: int = 0
    incomplete: int = 0
    """The number of sources that the schema cannot represent completely."""
    shapes: int = 0
    features: int = 0
    """The number of features of all these trees, with those that were in the folder before."""
    kept: int = 0
    new: int = 0
    """The number of kept trees that were not in the folder yet."""
    others: int = 0
    """The number of trees that were in the folder already, and are not among those kept."""


class _Candidates:
    """The smallest tree of each shape; a context manager, since it holds a temporary file."""

    def __init__(self) -> None:
        self._shapes: dict[bytes, tuple[int, str, int]] = {}

    def __enter__(self) -> Self:
        self._spool: IO[bytes] = tempfile.TemporaryFile()
        return self

    def __exit__(self, *_: object) -> None:
        self._spool.close()

    def read(
        self,
        items: Iterable[Input | FileError],
        reader: Reader,
        report: Callable[[FileError], None],
    ) -> Counts:
        """Read the trees of the files, skipping those that cannot be read."""
        counts = Counts()
        for item in items:
            for found in [item] if isinstance(item, FileError) else reader.read(item):
                if isinstance(found, FileError):
                    counts.failed += 1
                    report(found)
                    continue
                counts.trees += 1
                counts.incomplete += found.losses > 0
                shape = features.shape_of(found.scan)
                rank = (len(found.data), name_of(found.data))
                known = self._shapes.get(shape)
                if known is None or rank < known[:2]:
                    self._shapes[shape] = (*rank, self._spool.seek(0, 2))
                    self._spool.write(found.data)
        counts.shapes = len(self._shapes)
        return counts

    def sizes(self) -> list[int]:
        """Return the sizes of the candidates, the smallest first."""
        return [size for size, _, _ in sorted(self._shapes.values())]

    def trees(self) -> Iterator[bytes]:
        """Yield the bytes of the candidates, the smallest first; if equal, in order of name."""
        for size, _, start in sorted(self._shapes.values()):
            self._spool.seek(start)
            yield self._spool.read(size)


def by_schema(reader: Reader) -> Judge:
    """Return a judge that finds the features of the schema: see `features`."""
    return lambda data: features.features_of(reader.scan(data))


def distill(
    items: Iterable[Input | FileError],
    folder: Path,
    reader: Reader,
    judge: Judge,
    report: Callable[[FileError], None],
    *,
    merge: bool = False,
) -> Counts:
    """Write a small set of the files' trees to the corpus `folder` that has all their features.

    The same trees give the same set, independent of their order and files. With `merge`, features
    that the trees in `folder` already have are not needed again; without it, these trees are
    ignored. No tree is deleted.

    Raises FileError if the corpus cannot be read or written, and what `judge` raises.
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
