"""Parses assertions in lines of a document."""

from __future__ import annotations

from orgrest.http.assertions.language import find
from orgrest.http.syntax import Assertion, Template
from orgrest.model import Span


def read_assertion(text: Template, span: Span) -> Assertion | str:
    """Parse the text after `??` in the line at `span`; if not an assertion, return the reason."""
    found = find(text.text)
    if isinstance(found, str):
        return found
    expected = Template(found.expected, ((0, text.offset(found.start)),))
    return Assertion(text, found.subject, found.path, found.operator, expected, span, found.within)
