"""Helpers for Org text: escapes, columns, indentation, and edits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

_STRUCTURE = compiled(r"^([ \t]*)(?=,*(?:\*|#\+))", re.MULTILINE)
_ESCAPED = compiled(r"^([ \t]*,*),(?=\*|#\+)", re.MULTILINE)


def escape(text: str) -> str:
    """Return `text` with a comma added to each line that Org would read as a heading or keyword.

    Lines that already have such commas get one more (Org manual, "Literal Examples").
    """
    return _STRUCTURE.sub(r"\1,", text)


def unescape(text: str) -> str:
    """Return `text` without the commas that `escape` adds."""
    return _ESCAPED.sub(r"\1", text)


def column(line: str) -> int:
    """Return the column of the first non-blank character. Tab stops are 8 columns apart."""
    blanks = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blanks.expandtabs(8)) if "\t" in blanks else len(blanks)


def indentation(width: int) -> str:
    """Return indentation of `width` columns as Emacs writes it, with as many tabs as fit."""
    return "\t" * (width // 8) + " " * (width % 8)


def blanks(line: str, width: int) -> str:
    """Return the first `width` columns of a line's indentation.

    A tab that extends past these columns is replaced with spaces.
    """
    at = 0
    for index, blank in enumerate(line):
        after = at + 8 - at % 8 if blank == "\t" else at + 1
        if after > width:
            return line[:index] + " " * (width - at)
        at = after
    return ""


def indent(text: str, width: int) -> str:
    """Return `text` with each line indented by `width` more columns. Blank lines become empty.

    If `width` is 0, `text` is returned unchanged.
    """
    if width == 0:
        return text
    return "\n".join(
        indentation(column(line) + width) + line.lstrip(" \t") if line.strip(" \t") else ""
        for line in text.split("\n")
    )


@classes.frozen
class Edit:
    """An edit to a text: `text` replaces the characters from `start` to `end`."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with `edits` applied. Insertions at the same offset keep their order.

    Raises ValueError if two edits overlap.
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
