"""Diagnostics for editors, and the problems of a region that become diagnostics."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from orgrest.org.text import Edit

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.model import Span

Severity: TypeAlias = Literal["error", "warning", "hint"]

_VARIABLE = re.compile(r"\{\{[^{}\n]*\}\}|:[^\s:=/?#&\"',;<>{}()\[\]]+")


@attrs.frozen
class Fix:
    """An edit that fixes a problem; a `guess` may not be what the user intended."""

    title: str
    edits: tuple[Edit, ...]
    guess: bool = False


@attrs.frozen
class Diagnostic:
    """A problem: its span, severity, code, and message."""

    span: Span
    severity: Severity
    code: str
    message: str


@attrs.frozen
class Finding:
    """A diagnostic, and a function that computes its fix."""

    diagnostic: Diagnostic
    fixes: Callable[[], tuple[Fix, ...]] = tuple


@attrs.frozen
class Problem:
    """A diagnostic with offsets relative to its region's text."""

    start: int
    end: int
    severity: Severity
    code: str
    message: str

    def moved(self, by: int) -> Problem:
        """Return the problem shifted by an offset, which may be negative."""
        return attrs.evolve(self, start=self.start + by, end=self.end + by)


def extent(text: str, offset: int) -> tuple[int, int]:
    """Return the span to underline at `offset`: a variable, or the rest of the line."""
    if match := _VARIABLE.match(text, offset):
        return match.span()
    line_end = text.find("\n", offset)
    line = text[offset : len(text) if line_end < 0 else line_end]
    start = offset + len(line) - len(line.lstrip())
    return start, max(start, offset + len(line.rstrip()))
