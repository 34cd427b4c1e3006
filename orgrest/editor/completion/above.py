"""The context that the lines above a line provide: what it belongs to, and the variables set.

The languages' parsers determine it: restclient's reads all lines above, that of request files those
of the region.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from orgrest.http import syntax
from orgrest.http.parsing import request_file, restclient
from orgrest.http.parsing.request_file.grammar import COLON_DEFINITION

if TYPE_CHECKING:
    from collections.abc import Iterator

BLANKS = " \t\r"

_COLON_DEFINITIONS = re.compile(rf"^[ \t]*{COLON_DEFINITION.pattern}", re.MULTILINE)


@attrs.frozen
class Definition:
    """A variable that is set: to `value`, or as `note` describes.

    `offset` is its position in the request text; otherwise `where` describes it. `computed` tells
    that the value is an expression.
    """

    name: str
    offset: int
    value: str = ""
    note: str = ""
    where: str = ""
    computed: bool = False


def picked(expression: str) -> str:
    """Describe the value of a captured variable."""
    return f"what jq {expression.rstrip(BLANKS)} picks from the response"


@attrs.frozen
class ContextAbove:
    """The context from the lines above: the parser's `state`, and the variables set so far."""

    state: syntax.LineState
    definitions: tuple[Definition, ...]
    is_common: bool

    def comments(self, line: str) -> bool:
        """Whether `line` would be a comment: further to the right, a body may hold a `#`."""
        text = line.lstrip(" \t")
        if self.is_common:
            return text.startswith(("#", "//"))
        indented = self.state.part == "body" and len(line) - len(text) > self.state.indent
        return text.startswith("#") and not indented and self.state.part != "quoted"


def look_above(text: str, *, is_common: bool) -> ContextAbove:
    """Parse the lines above a line, each with its end, in restclient's or the common language."""
    above = text.removesuffix("\n")
    if is_common:
        colons = _COLON_DEFINITIONS.finditer(above)
        named = (
            Definition(one["name"], one.start(), one["value"].rstrip(BLANKS)) for one in colons
        )
        return ContextAbove(request_file.read_above(above), tuple(named), is_common)
    document, state = restclient.read_above(above)
    return ContextAbove(state, tuple(_of(document)), is_common)


def _of(document: syntax.Document) -> Iterator[Definition]:
    for item in document.items:
        if isinstance(item, syntax.Definition):
            start, end = item.span.start, item.span.end
            several = "\n" in document.source.text[start:end]
            value, note = ("", "several lines") if several else (item.value.text, "")
            yield Definition(item.name, start, value, note, computed=item.operator == ":=")
        elif isinstance(item, syntax.ParsedRequest):
            for one in item.captures:
                yield Definition(one.name, one.span.start, note=picked(one.expression))
