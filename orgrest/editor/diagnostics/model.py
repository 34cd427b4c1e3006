"""The problems found in regions, and the diagnostics that editors show for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from orgrest import classes
from orgrest.model import Span, end_of_line
from orgrest.org.text import Edit

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """A problem in a document or in one of its regions: its span, severity, code and message."""

    span: Span
    severity: Severity
    code: str
    message: str

    def moved(self, by: int) -> Diagnostic:
        """Return the problem with its offsets increased by `by`, which may be negative."""
        return classes.evolve(self, span=Span(self.span.start + by, self.span.end + by))


@classes.frozen
class Finding:
    """A diagnostic, and a function that computes its fixes."""

    diagnostic: Diagnostic
    fixes: Callable[[], tuple[Fix, ...]] = tuple


def extent(text: str, offset: int) -> Span:
    """Return the span to underline at `offset`: a variable, or the rest of the line."""
    if match := _VARIABLE.match(text, offset):
        return Span(*match.span())
    line = text[offset : end_of_line(text, offset)]
    start = offset + len(line) - len(line.lstrip())
    return Span(start, max(start, offset + len(line.rstrip())))
