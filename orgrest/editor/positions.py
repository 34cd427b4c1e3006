r"""An editor's text: lines, positions in the client's units, and the changes that it sends.

The Language Server Protocol counts lines (which end in LF, CRLF or CR) and, within a line, units of
UTF-8, UTF-16 or UTF-32. Everything else in orgrest counts characters of a text with ``\n`` line
ends, to which `orgrest.files` converts a file whose lines all end in CRLF, or all in CR. A `Text`
converts between the two. It is immutable: a change creates a new `Text`, so that a background
thread can keep the version that it started with.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from orgrest.files import line_end

if TYPE_CHECKING:
    from collections.abc import Callable

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""The unit of columns that the client uses."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_HALF = re.compile("[\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def _split(text: str) -> list[str]:
    """Return the lines with their ends; the last line, perhaps empty, has no end."""
    lines = _LINE.findall(text)
    if not lines or lines[-1][-1] in "\r\n":
        lines.append("")
    return lines


def _joined(text: str) -> str:
    """Return `text` with pairs of surrogates joined that arrived in two changes."""
    if text.isascii() or not _SURROGATES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@attrs.frozen
class Place:
    """A position of the protocol: line and units, both counted from 0."""

    line: int
    character: int


@attrs.frozen
class Change:
    """The effect of a change on the whole text: `start` to `end` became `length` characters."""

    start: int
    end: int
    length: int

    def move(self, offset: int) -> int | None:
        """Return the new offset of the character that was at `offset`; None if it was deleted."""
        if offset >= self.end:
            return offset + self.length - (self.end - self.start)
        return offset if offset < self.start else None


class Text:
    """The text of an open document at one moment.

    `text` is what orgrest parses, with LF line ends; `newline` is the document's line ending.
    Offsets are into `text`, except those of a `Change`, which are into `raw`.
    """

    def __init__(self, raw: str | list[str], encoding: Encoding = "utf-16") -> None:
        """Store the text as the client sent it, or its lines."""
        self.lines = _split(_joined(raw)) if isinstance(raw, str) else raw
        self.encoding = encoding

    @cached_property
    def raw(self) -> str:
        """The text with its own line ends."""
        return "".join(self.lines)

    @cached_property
    def newline(self) -> str:
        """The line ending; LF if lines end differently."""
        return line_end(self.raw)

    @cached_property
    def text(self) -> str:
        """The text with LF line ends; an unpaired surrogate becomes U+FFFD."""
        text = self.raw if self.newline == "\n" else self.raw.replace(self.newline, "\n")
        return text if text.isascii() else _HALF.sub("\ufffd", text)

    @cached_property
    def _raw_starts(self) -> list[int]:
        return list(accumulate(map(len, self.lines), initial=0))

    @cached_property
    def _starts(self) -> list[int]:
        if self.newline != "\r\n":
            return self._raw_starts
        return list(accumulate((len(x) - x.endswith("\r\n") for x in self.lines), initial=0))

    # ------------------------------------------------------------------------------- places

    def _clamped(self, place: Place) -> tuple[int, int]:
        """Return the line and the index of the character in it, clamped to the text."""
        if place.line < 0:
            return 0, 0
        if place.line >= len(self.lines):
            return len(self.lines) - 1, len(self.lines[-1])
        line = self.lines[place.line].rstrip("\r\n")
        units = max(place.character, 0)
        if line.isascii() or self.encoding == "utf-32":
            return place.line, min(units, len(line))
        codec, size = _CODECS[self.encoding]
        data = line.encode(codec, "surrogatepass")
        at = min(units * size, len(data))
        while self._inside_character(data, at):
            at -= size
        return place.line, len(data[:at].decode(codec, "surrogatepass"))

    def _inside_character(self, data: bytes, at: int) -> bool:
        if at == 0 or at >= len(data):
            return False
        if self.encoding == "utf-8":
            return data[at] & 0xC0 == 0x80
        return data[at + 1] & 0xFC == 0xDC and data[at - 1] & 0xFC == 0xD8

    def offset(self, place: Place) -> int:
        """Return the offset of a position, clamped to the end of its line."""
        line, index = self._clamped(place)
        return self._starts[line] + index

    def line(self, offset: int) -> int:
        """Return the line of an offset, counted from 0 as the client does."""
        return bisect_right(self._starts, offset, hi=len(self.lines)) - 1

    def place(self, offset: int) -> Place:
        """Return the position of an offset."""
        line = self.line(offset)
        text = self.lines[line]
        index = offset - self._starts[line]
        if index > len(text) - 2:  # perhaps in the line's end
            index = min(index, len(text.rstrip("\r\n")))
        if text.isascii() or self.encoding == "utf-32":
            return Place(line, index)
        before = text[:index]
        codec, size = _CODECS[self.encoding]
        return Place(line, len(before.encode(codec, "surrogatepass")) // size)

    def raw_offset(self, offset: int) -> int:
        """Return the offset in `raw` of an offset in `text`."""
        line = self.line(offset)
        return self._raw_starts[line] + offset - self._starts[line]

    def from_raw(self, offset: int) -> int:
        """Return the offset in `text` of an offset in `raw`."""
        starts = self._raw_starts
        line = min(bisect_right(starts, offset, hi=len(self.lines)) - 1, len(self.lines) - 1)
        within = offset - starts[line]
        if self.newline == "\r\n":
            within = min(within, len(self.lines[line].rstrip("\r\n")))
        return self._starts[line] + within

    def line_number(self, offset: int) -> int:
        """Return the number (from 1) of the line of `text`, whose lines end in LF, at `offset`."""
        return self.text.count("\n", 0, offset) + 1

    # ------------------------------------------------------------------------------ changes

    def change(self, start: Place, end: Place, new: str) -> tuple[Text, Change]:
        """Return the text with `start` to `end` replaced, and the effect on `raw`."""
        first, left = self._clamped(start)
        last, right = self._clamped(end)
        if (last, right) < (first, left):
            first, left, last, right = last, right, first, left
        new = _joined(new)
        before, after = self.lines[first][:left], self.lines[last][right:]
        old = "".join([*self.lines[first:last], self.lines[last][:right]])[left:]
        from_line, to_line = max(first - 1, 0), min(last + 2, len(self.lines))
        above = self.lines[from_line] if from_line < first else ""
        below = self.lines[last + 1] if last + 1 < to_line else ""
        part = _split(_joined(above + before + new + after + below))
        if to_line < len(self.lines) and part[-1] == "":
            part.pop()
        lines = [*self.lines[:from_line], *part, *self.lines[to_line:]]
        return Text(lines, self.encoding), _changed(self._raw_starts[first] + left, old, new)

    def replace(self, new: str) -> tuple[Text, Change]:
        """Return the text `new`, which replaces this text, and the effect on `raw`."""
        after = Text(new, self.encoding)
        return after, _changed(0, self.raw, after.raw)

    def with_line_ends(self, new: str) -> str:
        """Convert text with LF line ends to the document's line ending."""
        return new if self.newline == "\n" else new.replace("\n", self.newline)


def _changed(start: int, old: str, new: str) -> Change:
    """Return the change without the common prefix and suffix, as clients send it."""
    most = min(len(old), len(new))
    same = _common(most, lambda size: old.startswith(new[:size]))
    most -= same
    ends = _common(most, lambda size: old.endswith(new[len(new) - size :]))
    return Change(start + same, start + len(old) - ends, len(new) - same - ends)


def _common(most: int, fits: Callable[[int], bool]) -> int:
    """Return the greatest size up to `most` that fits, by bisection."""
    return bisect_right(range(1, most + 1), 0, key=lambda size: not fits(size))
