"""Assertions out of lines of a document."""

from __future__ import annotations

from orgrest.http.assertions.language import find
from orgrest.http.syntax import Assertion, Template
from orgrest.model import Span


def read_assertion(text: Template, span: Span) -> Assertion | str:
    """Read what follows `??` in the line at `span`; where that is no assertion, return why not."""
    found = find(text.text)
    if isinstance(found, str):
        return found
    expected = Template(found.expected, ((0, text.offset(found.start)),))
    return Assertion(text, found.subject, found.path, found.operator, expected, span, found.within)
