"""Lines of Org text: Org's escapes, columns and indentation, and changes to a text as edits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable

_STRUCTURE = re.compile(r"^([ \t]*)(?=,*(?:\*|#\+))", re.MULTILINE)
_ESCAPED = re.compile(r"^([ \t]*,*),(?=\*|#\+)", re.MULTILINE)


def escape(text: str) -> str:
    """Put a comma before what Org would read as a heading or keyword at the start of a line.

    The rule of the manual's "Literal Examples": lines whose first characters are commas, if any,
    and then ``*`` or ``#+`` get one comma more.
    """
    return _STRUCTURE.sub(r"\1,", text)


def unescape(text: str) -> str:
    """Take away the commas that `escape` puts in."""
    return _ESCAPED.sub(r"\1", text)


def column(line: str) -> int:
    """Give the column of the first character that is no blank; a tab reaches to the next 8th."""
    blanks = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blanks.expandtabs(8)) if "\t" in blanks else len(blanks)


def indentation(width: int) -> str:
    """Give blanks `width` columns wide as Emacs writes them: tabs as far as they reach."""
    return "\t" * (width // 8) + " " * (width % 8)


def blanks(line: str, width: int) -> str:
    """Give the blanks of a line up to a column; a tab that reaches beyond it becomes blanks."""
    at = 0
    for index, blank in enumerate(line):
        after = at + 8 - at % 8 if blank == "\t" else at + 1
        if after > width:
            return line[:index] + " " * (width - at)
        at = after
    return ""


def indent(text: str, width: int) -> str:
    """Move the lines of `text` to the right; blank lines become empty. Nothing happens for 0."""
    if width == 0:
        return text
    return "\n".join(
        indentation(column(line) + width) + line.lstrip(" \t") if line.strip(" \t") else ""
        for line in text.split("\n")
    )


@attrs.frozen
class Edit:
    """A change: the characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with the `edits` made; insertions at one offset stand in the order given.

    Raises ValueError where two edits overlap.
    """
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < at:
            raise ValueError(f"two edits overlap at offset {edit.start}")
        parts += (text[at : edit.start], edit.text)
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)
