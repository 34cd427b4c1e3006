"""The lines of a request file, and the parsed parts of the text between two separators."""

from __future__ import annotations

import re

from orgrest import classes
from orgrest.http.parsing.lines import joined, one_line
from orgrest.http.parsing.request_file.grammar import GRAPHQL, GRAPHQL_TYPE, MULTIPART
from orgrest.http.syntax import (
    Assertion,
    Body,
    Definition,
    Directive,
    HeaderLine,
    HeaderVariable,
    Inclusion,
    Saving,
    Script,
    Template,
)
from orgrest.model import Notice, OrgrestError, Span


@classes.frozen
class Line:
    """A line of the source, at `offset`, without its line ending.

    `text` is the line without surrounding whitespace, at offset `start`.
    """

    raw: str
    offset: int
    text: str
    start: int

    @property
    def indent(self) -> int:
        """The number of blanks before `text`."""
        return self.start - self.offset

    @property
    def end(self) -> int:
        """The offset of the end of the line, without its line ending."""
        return self.offset + len(self.raw)

    @property
    def span(self) -> Span:
        """The span of the whole line, without its line ending."""
        return Span(self.offset, self.end)

    def template(self, match: re.Match[str], group: str) -> Template:
        """Return the text that `group` captured in `match`, without surrounding blanks.

        `match` must be a match of the line's `text`. If the group captured nothing, the text is
        empty.
        """
        content = match[group] or ""
        at = match.start(group) if match[group] is not None else match.end()
        stripped = content.strip(" \t")
        return one_line(stripped, self.start + at + content.find(stripped))


@classes.define(eq=False)
class RequestRegion:
    """What has been parsed so far of the text between two separators."""

    start: int
    title: str | None
    method: str = ""
    method_span: Span | None = None
    indent: int = 0  # of the request line
    url: list[tuple[str, int]] = classes.field(factory=list)
    headers: list[HeaderLine | HeaderVariable] = classes.field(factory=list)
    body: list[tuple[str, int]] = classes.field(factory=list)
    files: list[tuple[int, Template, str | None, str | None]] = classes.field(factory=list)
    directives: list[Directive] = classes.field(factory=list)
    scripts: list[Script] = classes.field(factory=list)
    assertions: list[Assertion] = classes.field(factory=list)
    savings: list[Saving] = classes.field(factory=list)
    problems: list[OrgrestError] = classes.field(factory=list)
    notices: list[Notice] = classes.field(factory=list)
    definitions: list[Definition] = classes.field(factory=list)  # only those below the headers
    end: int = 0
    in_body: bool = False
    closed: bool = False  # a pasted response follows, whose lines are not part of the request

    @property
    def begun(self) -> bool:
        """Whether the request line has been read."""
        return self.method_span is not None

    def reach(self, end: int) -> None:
        """Extend the request, if it has begun, to the offset `end`."""
        if self.begun:
            self.end = end

    def is_of_type(self, pattern: re.Pattern[str]) -> bool:
        """Return whether the Content-Type header matches `pattern`."""
        return any(
            isinstance(header, HeaderLine)
            and header.name.text.lower() == "content-type"
            and pattern.match(header.value.text)
            for header in self.headers
        )

    def is_unmarked_graphql(self, body: str) -> bool:
        """Return whether the body looks like GraphQL but is not marked as GraphQL or text."""
        if self.method == "GRAPHQL" or self.is_of_type(GRAPHQL_TYPE) or not GRAPHQL.match(body):
            return False
        is_marked = any(
            isinstance(header, HeaderLine) and header.name.text.lower() == "x-request-type"
            for header in self.headers
        )
        return not (
            is_marked or any(directive.name == "no-gql-parsing" for directive in self.directives)
        )

    def is_delimited(self) -> bool:
        """Return whether only a separator can end the region.

        If so, its body may contain request lines and status lines.
        """
        is_forced = any(directive.name == "force-region-delimiter" for directive in self.directives)
        return is_forced or self.is_of_type(MULTIPART)

    def ends_with_body(self) -> bool:
        """Return whether no script, assertion or other line follows the body so far."""
        ends = (offset + len(raw) for raw, offset in reversed(self.body) if raw.strip())
        return self.end <= next(ends, -1)


def lines_of(text: str, start: int, end: int) -> list[Line]:
    """Return the lines of a part of a source, without line endings or a byte order mark."""
    lines = []
    start += text.startswith("\ufeff", start)  # a byte order mark
    for whole in text[start:end].split("\n"):
        raw = whole.removesuffix("\r")
        stripped = raw.strip(" \t")
        lines.append(Line(raw, start, stripped, start + raw.find(stripped)))
        start += len(whole) + 1
    return lines


def body_of(region: RequestRegion) -> Body | None:
    """Return the body of a region without trailing empty lines, or None if it is empty."""
    lines = region.body
    files = {index for index, *_ in region.files}
    while lines and not lines[-1][0].strip(" \t") and len(lines) - 1 not in files:
        lines = lines[:-1]
    if not lines:
        return None
    template = joined(lines)
    starts = [start for start, _ in template.anchors]
    inclusions = tuple(
        Inclusion(starts[index], starts[index] + len(lines[index][0]), path, encoding, operation)
        for index, path, encoding, operation in region.files
    )
    last, offset = lines[-1]
    span = Span(lines[0][1], offset + len(last))
    return Body(template, None, inclusions, span)
