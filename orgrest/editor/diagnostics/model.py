"""The problems found in regions, and the diagnostics that editors show for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from orgrest import classes
from orgrest.model import line_end
from orgrest.org.text import Edit

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.model import Span

Severity: TypeAlias = Literal["error", "warning", "hint"]

_VARIABLE = re.compile(r"\{\{[^{}\n]*\}\}|:[^\s:=/?#&\"',;<>{}()\[\]]+")


@classes.frozen
class Fix:
    """A fix for a problem, as edits. If `guess` is True, it may not be what the user intended."""

    title: str
    edits: tuple[Edit, ...]
    guess: bool = False


@classes.frozen
class Diagnostic:
    """A problem in a document: its span, severity, code and message."""

    span: Span
    severity: Severity
    code: str
    message: str


@classes.frozen
class Finding:
    """A diagnostic, and a function that computes its fixes."""

    diagnostic: Diagnostic
    fixes: Callable[[], tuple[Fix, ...]] = tuple


@classes.frozen
class Problem:
    """A problem whose offsets are relative to the text of its region."""

    start: int
    end: int
    severity: Severity
    code: str
    message: str

    def moved(self, by: int) -> Problem:
        """Return the problem with its offsets increased by `by`, which may be negative."""
        return classes.evolve(self, start=self.start + by, end=self.end + by)


def extent(text: str, offset: int) -> tuple[int, int]:
    """Return the span to underline at `offset`: a variable, or the rest of the line."""
    if match := _VARIABLE.match(text, offset):
        return match.span()
    line = text[offset : line_end(text, offset)]
    start = offset + len(line) - len(line.lstrip())
    return start, max(start, offset + len(line.rstrip()))
