"""Splits an Org text into lines, and finds where its elements end.

An element is a block, drawer, table, list, paragraph and so on (see Org's syntax description). A
block or drawer must be closed before the enclosing region ends. All closing lines are collected
first, because searching for each one separately would take quadratic time.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.model import line_starts
from orgrest.org import syntax
from orgrest.org.text import column
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

_MARKS = frozenset("*#:\\ \t")  # the first characters of lines that close an element
_FORMULA = compiled(r"#\+tblfm:", re.IGNORECASE)


@classes.frozen
class Landmarks:
    """The headings, closing lines and TODO keywords of a text.

    `headings` contains line indexes. `closings` maps each kind of element to the indexes of its
    closing lines. `todo` contains the keywords that ``#+TODO:`` lines define.
    """

    headings: list[int] = classes.field(factory=list)
    closings: dict[str, list[int]] = classes.field(factory=dict)
    todo: list[str] = classes.field(factory=list)

    def closing(self, kind: str, line: int, limit: int) -> int | None:
        """Return the first line that closes an element of this `kind`, or None.

        Only lines after `line` and before `limit` are considered.
        """
        lines = self.closings.get(kind, ())
        at = bisect_right(lines, line)
        return lines[at] if at < len(lines) and lines[at] < limit else None


class Elements:
    """The lines of an Org text, with methods that find where its elements end."""

    def __init__(self, text: str) -> None:
        r"""Wrap `text`, whose line endings must be ``\n``."""
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the text, without their line endings."""
        return self.text.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        return line_starts(self.lines)

    @cached_property
    def landmarks(self) -> Landmarks:
        """The lines at which elements end: the headings and the closing lines."""
        return landmarks_of(self.lines)

    def offset(self, line: int) -> int:
        """Return the offset at which a line starts.

        For a line after the last line, this is the length of the text.
        """
        return min(self._starts[min(line, len(self.lines))], len(self.text))

    def line_of(self, offset: int) -> int:
        """Return the index of the line at an offset."""
        return bisect_right(self._starts, offset) - 1

    def section_end(self, line: int) -> int:
        """Return the line of the first heading after `line`.

        Without such a heading, return the number of lines.
        """
        headings = self.landmarks.headings
        at = bisect_right(headings, line)
        return headings[at] if at < len(headings) else len(self.lines)

    def element_at(self, line: int) -> tuple[str, list[str]]:
        """Return the type and the lines of the element at a line, or ("", []) if the line is blank.

        For the types, see `extent`. The lines do not include affiliated keywords.
        """
        limit = self.section_end(line)
        if line >= limit or not self.lines[line].strip(" \t"):
            return "", []
        kind, end = self.extent(line, limit)
        while line < end and syntax.is_affiliated(self.lines[line]):
            line += 1
        return kind, self.lines[line:end]

    def removable(self, at: int, limit: int) -> tuple[str, int]:
        """Return the type of the element at the line `at`, and the line after the element.

        Returns "" and `at` if Org would not remove the element as an old result.
        """
        if syntax.LINK_LINE.match(self.lines[at]):
            return "link", at + 1
        kind, end = self.extent(at, limit)
        return (kind, end) if kind in syntax.REMOVABLE else ("", at)

    def extent(self, at: int, limit: int) -> tuple[str, int]:
        """Return the type of the element at a non-blank line, and the line after the element.

        The type is a block type such as ``src``, or ``special``, ``dynamic``, ``drawer``,
        ``fixed``, ``table``, ``latex``, ``list``, ``text`` or ``other``.
        """
        lines = self.lines
        while at + 1 < limit and syntax.is_affiliated(lines[at]) and lines[at + 1].strip(" \t"):
            at += 1
        text = lines[at].lstrip(" \t")
        opened = syntax.opening(text)
        if opened is not None:
            end = self.landmarks.closing(opened[0], at, limit)
            if end is not None:
                return opened[1], end + 1
        elif syntax.FIXED.match(text):
            return "fixed", self._while(at, limit, lambda line: bool(syntax.FIXED.match(line)))
        elif text[0] == "|":
            end = self._while(at, limit, lambda line: line.startswith("|"))
            return "table", self._while(end, limit, lambda line: bool(_FORMULA.match(line)))
        elif syntax.ITEM.match(lines[at], len(lines[at]) - len(text)):
            return "list", self._list_end(at, limit)
        elif syntax.RULE.match(text) or text.startswith("#+"):
            return "other", at + 1
        elif syntax.COMMENT.match(text):
            return "other", self._while(at, limit, lambda line: bool(syntax.COMMENT.match(line)))
        return "text", self._while(at + 1, limit, lambda line: not syntax.SEPARATE.match(line))

    def _while(self, at: int, limit: int, test: Callable[[str], bool]) -> int:
        while at < limit and test(self.lines[at].lstrip(" \t")):
            at += 1
        return at

    def _list_end(self, at: int, limit: int) -> int:
        lines = self.lines
        outermost = column(lines[at])
        end = at + 1
        blanks = 0
        here = at + 1
        while here < limit:
            line = lines[here]
            text = line.lstrip(" \t")
            if not text:
                blanks += 1
                if blanks == 2:
                    break
                here += 1
                continue
            blanks = 0
            item = syntax.ITEM.match(line, len(line) - len(text))
            width = column(line)
            if width < outermost or (width == outermost and not item):
                break
            close: int | None = None
            if text[:8].lower() == "#+begin_" and (opened := syntax.opening(text)):
                close = self.landmarks.closing(opened[0], here, limit)
            here = end = (here if close is None else close) + 1
        return end


def landmarks_of(lines: list[str]) -> Landmarks:
    """Return the headings, the closing lines and the TODO keywords in `lines`."""
    landmarks = Landmarks()
    for number, line in [(at, text) for at, text in enumerate(lines) if text[:1] in _MARKS]:
        text = line.lstrip(" \t")
        first = text[:1]
        if first == "*":
            if len(text) == len(line) and syntax.HEADING.match(line):
                landmarks.headings.append(number)
        elif first and first in "#:\\":
            kind = syntax.closing(text)
            if kind is not None:
                landmarks.closings.setdefault(kind, []).append(number)
            elif first == "#" and "TODO:" in text[:12].upper():
                match = syntax.KEYWORD.match(text)
                landmarks.todo.extend(syntax.TODO_WORD.findall(match[3]) if match else ())
    return landmarks
