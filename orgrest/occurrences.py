"""Finds many strings in a text in a single pass.

Strings are looked up by their first characters, then by their length. Very short and very long
strings are searched for one by one. So are strings with the same first characters but many
different lengths, which hostile input could contain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, AnyStr, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_START = 4  # the number of first characters by which strings are looked up
_LONGEST = 256  # characters; longer strings are searched for one after the other
_MOST_LENGTHS = 16  # the maximum number of different lengths of strings with the same start
_FEW = 300  # up to this number of strings, searching for one after the other is faster
_LONG = 4096  # characters; in shorter texts, it is faster to search for all strings
# Characters of escape sequences. Most texts lack some of them, and therefore many encoded strings.
_MARKS = ("%", "&", "\\")
_MARKS_IN_BYTES = (b"%", b"&", b"\\")

V = TypeVar("V")


def each(string: AnyStr, text: AnyStr) -> Iterator[int]:
    """Yield the offsets of the non-overlapping occurrences of `string` in `text`, in order."""
    at = text.find(string)
    while at >= 0:
        yield at
        at = text.find(string, at + len(string))


class Index(Generic[AnyStr, V]):
    """An index of strings to search for, each with an associated value."""

    def __init__(self) -> None:
        self._values: dict[AnyStr, V] = {}
        self._lengths: dict[AnyStr, tuple[int, ...]] = {}  # lengths of strings, by their start
        self._others: dict[AnyStr, None] = {}  # searched for one after the other

    def get(self, text: AnyStr) -> V | None:
        """Return the value of a string, or None if the string is not in the index."""
        return self._values.get(text)

    def put(self, text: AnyStr, value: V) -> None:
        """Add a non-empty string with its value, or replace the value of a known string."""
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
        """Yield (start, end, value) for each occurrence of an indexed string, in any order."""
        values, lengths = self._values, self._lengths
        one_by_one = len(values) <= min(_FEW, 2 * len(text))
        strings = list(values if one_by_one else self._others)  # other threads may add strings
        for string in _possible(strings, text) if len(text) >= _LONG else strings:
            for at in each(string, text):
                yield at, at + len(string), values[string]
        if one_by_one:
            return
        starts = range(len(text) - _START + 1)
        for at in [at for at in starts if text[at : at + _START] in lengths]:
            for length in lengths[text[at : at + _START]]:
                value = values.get(text[at : at + length])
                if value is not None:
                    yield at, at + length, value


def _possible(strings: list[AnyStr], text: AnyStr) -> list[AnyStr]:
    marks = _MARKS if isinstance(text, str) else _MARKS_IN_BYTES
    for mark in marks:
        if mark not in text:
            strings = [string for string in strings if mark not in string]
    return strings


def replaced(text: AnyStr, spans: Iterable[tuple[int, int]], by: AnyStr) -> AnyStr:
    """Return `text` with each span replaced by `by`. Overlapping spans are merged first."""
    pieces: list[AnyStr] = []
    end_of_last = 0
    for start, end in sorted(spans):
        if start >= end_of_last:
            pieces.append(text[end_of_last:start])
            pieces.append(by)
        end_of_last = max(end_of_last, end)
    pieces.append(text[end_of_last:])
    return text[:0].join(pieces)
