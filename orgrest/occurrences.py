"""Finds many strings in a text in a single pass.

A string is looked up by its first characters, then by its length. Strings for which this does not
pay are searched for one after the other. These are very short strings, very long strings, and
strings with the same start if they have too many different lengths, which would make hostile input
expensive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_START = 4  # first characters by which texts are looked up
_LONGEST = 256  # characters; longer texts are searched for one after the other
_MOST_LENGTHS = 16  # of texts with the same start
_FEW = 300  # texts; searching a long text for one after the other is faster up to this number

V = TypeVar("V")


def each(one: AnyStr, text: AnyStr) -> Iterator[int]:
    """Yield the offsets of `one` in `text`, except where it overlaps an earlier occurrence."""
    at = text.find(one)
    while at >= 0:
        yield at
        at = text.find(one, at + len(one))


class Index(Generic[AnyStr, V]):
    """Strings to find, each with a value."""

    def __init__(self) -> None:
        self._values: dict[AnyStr, V] = {}
        self._lengths: dict[AnyStr, tuple[int, ...]] = {}  # of the texts with each start
        self._others: dict[AnyStr, None] = {}  # searched for one after the other

    def get(self, text: AnyStr) -> V | None:
        """Return the value of a string, or None if the string is not in the index."""
        return self._values.get(text)

    def put(self, text: AnyStr, value: V) -> None:
        """Add a string that is not empty, or replace its value."""
        if text not in self._values:
            start, length = text[:_START], len(text)
            lengths: tuple[int, ...] = self._lengths.get(start, ())
            if length in lengths:
                pass
            elif _START <= length <= _LONGEST and len(lengths) < _MOST_LENGTHS:
                self._lengths[start] = (*lengths, length)
            else:
                self._others[text] = None
        self._values[text] = value

    def occurrences(self, text: AnyStr) -> Iterator[tuple[int, int, V]]:
        """Yield the start, the end and the value of each occurrence in `text`, in any order."""
        values, lengths = self._values, self._lengths
        few = len(values) <= min(_FEW, 2 * len(text))
        for one in tuple(values if few else self._others):  # another thread may add one
            for at in each(one, text):
                yield at, at + len(one), values[one]
        if few:
            return
        starts = range(len(text) - _START + 1)
        for at in [at for at in starts if text[at : at + _START] in lengths]:
            for length in lengths[text[at : at + _START]]:
                value = values.get(text[at : at + length])
                if value is not None:
                    yield at, at + length, value


def replaced(text: AnyStr, spans: Iterable[tuple[int, int]], by: AnyStr) -> AnyStr:
    """Return `text` with each span replaced with `by`. Overlapping spans are replaced together."""
    pieces: list[AnyStr] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done:
            pieces.append(text[done:start])
            pieces.append(by)
        done = max(done, end)
    pieces.append(text[done:])
    return text[:0].join(pieces)
