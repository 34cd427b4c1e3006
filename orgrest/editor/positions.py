r"""The text in an editor: its lines, positions in the client's units, and the client's changes.

In the Language Server Protocol, a position is a line and a column. Lines end in LF, CRLF or CR, and
columns are counted in UTF-8, UTF-16 or UTF-32 code units. The rest of orgrest uses character
offsets into a text with ``\n`` line endings. `orgrest.files` converts a file to this form if all of
its lines end in CRLF, or all in CR. A `Text` converts between positions and offsets. It is
immutable, so a background thread can keep the version that it started with.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeAlias

from orgrest import classes
from orgrest.files import line_end
from orgrest.model import whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Encoding: TypeAlias = Literal["utf-8", "utf-16", "utf-32"]
"""The unit in which the client counts columns."""

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def _split(text: str) -> list[str]:
    """Return the lines with their endings. The last line, maybe empty, has no ending."""
    lines = _LINE.findall(text)
    if not lines or lines[-1][-1] in "\r\n":
        lines.append("")
    return lines


def _joined(text: str) -> str:
    """Join the surrogate pairs whose halves arrived in two changes."""
    if text.isascii() or not _SURROGATES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


@classes.frozen
class Place:
    """A position in the protocol: a line and a column in the client's units, counted from 0."""

    line: int
    character: int


@classes.frozen
class Change:
    """A change to a text: `length` characters replaced the characters from `start` to `end`."""

    start: int
    end: int
    length: int

    def move(self, offset: int) -> int | None:
        """Return the new offset of the character at `offset`, or None if it was deleted."""
        if offset >= self.end:
            return offset + self.length - (self.end - self.start)
        return offset if offset < self.start else None


class Text:
    """A snapshot of the text of an open document.

    orgrest parses `text`, which has LF line endings. `newline` is the document's line ending.
    Offsets refer to `text`, except for those in a `Change`, which refer to `raw`.
    """

    def __init__(self, raw: str | list[str], encoding: Encoding = "utf-16") -> None:
        """Create a text from what the client sent, given as one string or as a list of lines."""
        self.lines = _split(_joined(raw)) if isinstance(raw, str) else raw
        self.encoding = encoding

    @cached_property
    def raw(self) -> str:
        """The text as the client sent it, with the document's own line endings."""
        return "".join(self.lines)

    @cached_property
    def newline(self) -> str:
        """The document's line ending, or LF if its line endings are mixed."""
        return line_end(self.raw)

    @cached_property
    def text(self) -> str:
        """The text with LF line endings, and with unpaired surrogates replaced by U+FFFD."""
        return whole(self.raw if self.newline == "\n" else self.raw.replace(self.newline, "\n"))

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
        """Return (line, index in the line) for a position, clamped to the text."""
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
        """Return the offset of a position.

        A column beyond the end of its line is clamped to the line, and a line outside the text is
        clamped to the text.
        """
        line, index = self._clamped(place)
        return self._starts[line] + index

    def line(self, offset: int) -> int:
        """Return the number of the line at an offset, counted from 0 as in the protocol."""
        return bisect_right(self._starts, offset, hi=len(self.lines)) - 1

    def lines_of(self, offsets: Iterable[int]) -> list[int]:
        """Return the line number of each offset, counted from 0."""
        starts, end = self._starts, len(self.lines)
        return [bisect_right(starts, offset, hi=end) - 1 for offset in offsets]

    def places_of(self, offsets: list[int]) -> list[tuple[int, int]]:
        """Return the (line, column) of each offset. This is fast for offsets at line starts."""
        starts = self._starts
        return [
            (line, 0 if starts[line] == offset else self.place(offset).character)
            for offset, line in zip(offsets, self.lines_of(offsets), strict=True)
        ]

    def place(self, offset: int) -> Place:
        """Return the position of an offset, with its column in the client's units."""
        line = self.line(offset)
        text = self.lines[line]
        index = offset - self._starts[line]
        if index > len(text) - 2:  # perhaps in the line ending
            index = min(index, len(text.rstrip("\r\n")))
        if text.isascii() or self.encoding == "utf-32":
            return Place(line, index)
        before = text[:index]
        codec, size = _CODECS[self.encoding]
        return Place(line, len(before.encode(codec, "surrogatepass")) // size)

    def raw_offset(self, offset: int) -> int:
        """Return the offset in `raw` that corresponds to an offset in `text`."""
        line = self.line(offset)
        return self._raw_starts[line] + offset - self._starts[line]

    def from_raw(self, offset: int) -> int:
        """Return the offset in `text` that corresponds to an offset in `raw`."""
        starts = self._raw_starts
        line = min(bisect_right(starts, offset, hi=len(self.lines)) - 1, len(self.lines) - 1)
        within = offset - starts[line]
        if self.newline == "\r\n":
            within = min(within, len(self.lines[line].rstrip("\r\n")))
        return self._starts[line] + within

    def line_number(self, line: int) -> int:
        """Return the number in `text`, from 1, of a line that the protocol counts from 0."""
        return self.text.count("\n", 0, self.offset(Place(line, 0))) + 1

    # ------------------------------------------------------------------------------ changes

    def change(self, start: Place, end: Place, new: str) -> tuple[Text, Change]:
        """Return a text in which `new` replaces the characters from `start` to `end`.

        The second value is the change to `raw`.
        """
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
        return Text(lines, self.encoding), _changed(self._raw_starts[first], before, old, new)

    def replace(self, new: str) -> tuple[Text, Change]:
        """Return `new` as a Text, and the change that turns `raw` into it."""
        after = Text(new, self.encoding)
        return after, _changed(0, "", self.raw, after.raw)

    def with_line_ends(self, new: str) -> str:
        """Return `new` with each LF replaced by the document's line ending."""
        return new if self.newline == "\n" else new.replace("\n", self.newline)


def _changed(start: int, before: str, old: str, new: str) -> Change:
    """Return the change that turns `old` into `new`, without their common prefix and suffix.

    `before` is the text before `old` in its first line, and `start` is the start of this line. A
    change that inserts or deletes lines begins at the start of a line.
    """
    most = min(len(old), len(new))
    same = _common(most, lambda size: old.startswith(new[:size]))
    most -= same
    ends = _common(most, lambda size: old.endswith(new[len(new) - size :]))
    changed = old[same : len(old) - ends], new[same : len(new) - ends]
    kept = before + old[:same]
    begun = kept[max(kept.rfind("\n"), kept.rfind("\r")) + 1 :]
    at = start + len(kept)
    if "" in changed and "".join(changed).endswith((f"\n{begun}", f"\r{begun}")):
        at -= len(begun)
    return Change(at, at + len(changed[0]), len(changed[1]))


def _common(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number up to `most` that `fits`, or 0, found by bisection.

    If a number fits, all smaller numbers must fit.
    """
    return bisect_right(range(1, most + 1), 0, key=lambda size: not fits(size))
