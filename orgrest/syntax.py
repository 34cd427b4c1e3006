"""The syntax tree of the request language: what `requests.parse` gives and others read.

Every part knows its place: a `Span` of offsets in the source's text, or, where variables are to be
replaced, a `Template`, which leads each of its characters back to the source. Parts compare by what
they say, not by where they stand.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from orgrest.model import Capture, Notice, OrgrestError, Source, Span

# What methods and header names are made of (RFC 9110, section 5.6.2).
TCHARS = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"


@attrs.frozen
class Template:
    """Text in which variables are to be replaced, and where its characters stand in the source.

    `anchors` are pairs (index in `text`, offset in the source's text), the first at index 0.
    """

    text: str
    anchors: tuple[tuple[int, int], ...] = attrs.field(eq=False)

    def offset(self, index: int) -> int:
        """Return the offset in the source's text of the character at `index` of this text."""
        at = bisect_right(self.anchors, index, key=lambda anchor: anchor[0]) - 1
        start, offset = self.anchors[at]
        return offset + index - start


@attrs.frozen
class Comment:
    """A line that starts with `#`. `name` is the text of a `### name` line, else None."""

    text: str
    name: str | None
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Text:
    """A line above a request that is none of the language's: skipped, as restclient does."""

    text: str
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Definition:
    """`:name = value`. `operator` is `=` or `:=`; the value of the latter is an expression."""

    name: str
    operator: str
    value: Template
    span: Span = attrs.field(eq=False)
    name_span: Span = attrs.field(eq=False)


@attrs.frozen
class HeaderLine:
    """`Name: value` of a request."""

    name: Template
    value: Template
    span: Span = attrs.field(eq=False)


@attrs.frozen
class HeaderVariable:
    """`:name` alone on a line among the headers: the variable holds header lines."""

    name: str
    span: Span = attrs.field(eq=False)


@attrs.frozen
class Body:
    """What follows the empty line.

    `template` is the text; `file` the path of a `< file` body (`template` is then empty). `parts`
    are the `< file` lines further down, which are files in a multipart body and text in another:
    (index in `template.text` of the line's start and end, path).
    """

    template: Template
    file: Template | None
    parts: tuple[tuple[int, int, Template], ...]
    span: Span = attrs.field(eq=False)


@attrs.frozen
class ParsedRequest:
    """One request as it is written. `source` and `_document` lead back to its surroundings."""

    method: str
    target: Template
    version: str | None
    headers: tuple[HeaderLine | HeaderVariable, ...]
    captures: tuple[Capture, ...]
    body: Body | None
    name: str | None
    problems: tuple[OrgrestError, ...] = attrs.field(eq=False)
    notices: tuple[Notice, ...] = attrs.field(eq=False)
    source: Source = attrs.field(eq=False, repr=False)
    span: Span = attrs.field(eq=False)
    method_span: Span = attrs.field(eq=False)
    known: Definitions = attrs.field(eq=False, repr=False)

    def definition(self, name: str) -> Definition | None:
        """Return the last definition of `name` above this request, or None."""
        return self.known.before(name, self.span.start)

    @property
    def definitions(self) -> tuple[Definition, ...]:
        """All definitions that this request sees, in order."""
        return tuple(d for d in self.known.all if d.span.start < self.span.start)


class Definitions:
    """The definitions of a document, found by name and by place."""

    def __init__(self) -> None:
        self.all: list[Definition] = []
        self.lengths: set[int] = set()
        self._by_name: dict[str, list[Definition]] = {}

    def add(self, definition: Definition) -> None:
        """Add one that stands below all others."""
        self.all.append(definition)
        self.lengths.add(len(definition.name))
        self._by_name.setdefault(definition.name, []).append(definition)

    def between(self, start: int, end: int) -> list[Definition]:
        """Return those that start in this range of offsets."""
        first = bisect_right(self.all, start - 1, key=lambda d: d.span.start)
        last = bisect_right(self.all, end - 1, key=lambda d: d.span.start)
        return self.all[first:last]

    def before(self, name: str, offset: int) -> Definition | None:
        """Return the last definition of `name` that starts before `offset`, or None."""
        named = self._by_name.get(name, [])
        at = bisect_right(named, offset, key=lambda d: d.span.start)
        return named[at - 1] if at else None


@attrs.frozen
class Document:
    """A parsed block or request file.

    `problems` are those that belong to no request: a `<<` that never ends, no request at all.
    `notices` tell of lines that are skipped and were meant to be more.
    """

    source: Source = attrs.field(eq=False, repr=False)
    items: tuple[Comment | Text | Definition | ParsedRequest, ...]
    problems: tuple[OrgrestError, ...] = attrs.field(eq=False)
    notices: tuple[Notice, ...] = attrs.field(eq=False)

    @property
    def requests(self) -> tuple[ParsedRequest, ...]:
        """The requests, in order."""
        return tuple(item for item in self.items if isinstance(item, ParsedRequest))

    def request_at(self, offset: int) -> ParsedRequest | None:
        """Return the request around `offset`, else the next below it, else the last one."""
        requests = self.requests
        below = (request for request in requests if offset <= request.span.end)
        return next(below, requests[-1] if requests else None)
