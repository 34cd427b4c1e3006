"""The context of a line, determined by the lines above it in the same region.

`state` is what the line belongs to. To find it, the request parser reads only the last of the parts
that can be parsed separately. `definitions` are the variables that the lines above set. They are
found by restclient's parser, or by a regular expression in request files.
"""

from __future__ import annotations

import re
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http import syntax
from orgrest.http.parsing import request_file, restclient
from orgrest.http.parsing.grammar import DEFINITION as COLON_DEFINITION

if TYPE_CHECKING:
    from collections.abc import Iterator

BLANKS = " \t\r"

_SETS = re.compile(r"^[ \t]*(?::|->)", re.MULTILINE)
_COLON_DEFINITIONS = re.compile(rf"^[ \t]*{COLON_DEFINITION.pattern}", re.MULTILINE)


@classes.frozen
class Definition:
    """A variable with its `value`, or with a `note` that describes an unknown value.

    `offset` is the definition's offset in the request text. `where` describes a definition
    elsewhere. `computed` is True if the value is an expression.
    """

    name: str
    offset: int
    value: str = ""
    note: str = ""
    where: str = ""
    computed: bool = False


def picked(expression: str) -> str:
    """Return a description of the value that a capture's `expression` selects from a response."""
    return f"the values that jq {expression.rstrip(BLANKS)} selects from the response"


class ContextAbove:
    """The context of a line, as determined by the lines above it."""

    def __init__(self, text: str, *, is_common: bool) -> None:
        """Store the lines above the cursor.

        If `is_common` is true, they are in the language of request files. Otherwise, they are in
        restclient's language.
        """
        self._text = text.removesuffix("\n")
        self._is_common = is_common

    @cached_property
    def state(self) -> syntax.LineState:
        """The parser's state after the lines above, which determines what the next line can be."""
        if self._is_common:
            return request_file.read_above(self._text)
        return restclient.read_above(self._text)

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """The definitions of variables in the lines above."""
        return tuple(_common(self._text) if self._is_common else _restclient(self._text))

    def comments(self, line: str) -> bool:
        """Return whether `line` would be parsed as a comment.

        In a restclient body, a `#` that is indented more than the body does not start a comment.
        """
        text = line.lstrip(" \t")
        if self._is_common:
            return text.startswith(("#", "//"))
        indented = self.state.part == "body" and len(line) - len(text) > self.state.indent
        return text.startswith("#") and not indented and self.state.part != "quoted"


def _common(text: str) -> Iterator[Definition]:
    for match in _COLON_DEFINITIONS.finditer(text):
        yield Definition(match["name"], match.start(), match["value"].rstrip(BLANKS))


def _restclient(text: str) -> Iterator[Definition]:
    for start, end in pairwise([*restclient.parts(text), len(text)]):
        if _SETS.search(text, start, end):
            document = restclient.parse(text[start:end])
            yield from (
                classes.evolve(definition, offset=start + definition.offset)
                for definition in _of(document)
            )


def _of(document: syntax.Document) -> Iterator[Definition]:
    for item in document.items:
        if isinstance(item, syntax.Definition):
            start, end = item.span.start, item.span.end
            several = "\n" in document.source.text[start:end]
            value, note = ("", "several lines") if several else (item.value.text, "")
            yield Definition(item.name, start, value, note, computed=item.operator == ":=")
        elif isinstance(item, syntax.ParsedRequest):
            for capture in item.captures:
                yield Definition(capture.name, capture.span.start, note=picked(capture.expression))
