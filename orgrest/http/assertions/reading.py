"""Parses the assertions in a document's lines, and records their positions."""

from __future__ import annotations

from orgrest.http.assertions.language import find
from orgrest.http.syntax import Assertion, Template
from orgrest.model import Span


def read_assertion(text: Template, span: Span, title: str = "") -> Assertion | str:
    """Return the assertion in `text`, the part after `??` of the line at `span`.

    `title` is the comment on the line above. If the assertion is invalid, the reason is returned
    instead.
    """
    result = find(text.text)
    if isinstance(result, str):
        return result
    expected = Template(result.expected, ((0, text.offset(result.start)),))
    return Assertion(
        text, result.subject, result.path, result.operator, expected, span, result.within, title
    )
