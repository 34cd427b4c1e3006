"""The text between two separators of a request file, as parsed so far, and its lines."""

from __future__ import annotations

import re

import attrs

from orgrest.http.parsing.lines import joined, one_line
from orgrest.http.parsing.request_file.grammar import GRAPHQL, GRAPHQL_TYPE, MULTIPART
from orgrest.http.syntax import (
    Assertion,
    Body,
    Directive,
    HeaderLine,
    HeaderVariable,
    Inclusion,
    Saving,
    Script,
    Template,
)
from orgrest.model import Notice, OrgrestError, Span


@attrs.frozen
class Line:
    """A line without its end; `text` is the stripped text, at offset `start`."""

    raw: str
    offset: int

    @property
    def text(self) -> str:
        """The line without surrounding blanks."""
        return self.raw.strip(" \t")

    @property
    def start(self) -> int:
        """The offset of `text` in the source."""
        return self.offset + len(self.raw) - len(self.raw.lstrip(" \t"))

    @property
    def span(self) -> Span:
        """The whole line, without its end."""
        return Span(self.offset, self.offset + len(self.raw))

    def template(self, match: re.Match[str], group: str) -> Template:
        """Return the template of a group of a match of `text`, stripped."""
        found = match[group] or ""
        at = match.start(group) if match[group] is not None else match.end()
        stripped = found.lstrip(" \t")
        return one_line(stripped.rstrip(" \t"), self.start + at + len(found) - len(stripped))


@attrs.define(eq=False)
class Region:
    """The text between two separators, as parsed so far."""

    start: int
    title: str | None
    method: str = ""
    method_span: Span | None = None
    url: list[tuple[str, int]] = attrs.field(factory=list)
    headers: list[HeaderLine | HeaderVariable] = attrs.field(factory=list)
    body: list[tuple[str, int]] = attrs.field(factory=list)
    files: list[tuple[int, Template, str | None, str | None]] = attrs.field(factory=list)
    directives: list[Directive] = attrs.field(factory=list)
    scripts: list[Script] = attrs.field(factory=list)
    assertions: list[Assertion] = attrs.field(factory=list)
    savings: list[Saving] = attrs.field(factory=list)
    problems: list[OrgrestError] = attrs.field(factory=list)
    notices: list[Notice] = attrs.field(factory=list)
    end: int = 0
    in_body: bool = False
    closed: bool = False  # a pasted response follows

    @property
    def begun(self) -> bool:
        """Whether its request line was read."""
        return self.method_span is not None

    def is_of_type(self, pattern: re.Pattern[str]) -> bool:
        """Return whether its Content-Type matches `pattern`."""
        return any(
            isinstance(header, HeaderLine)
            and header.name.text.lower() == "content-type"
            and pattern.match(header.value.text)
            for header in self.headers
        )

    def is_unmarked_graphql(self, body: str) -> bool:
        """Return whether the body looks like GraphQL but is marked neither as that nor as text."""
        if self.method == "GRAPHQL" or self.is_of_type(GRAPHQL_TYPE) or not GRAPHQL.match(body):
            return False
        marked = any(
            isinstance(header, HeaderLine) and header.name.text.lower() == "x-request-type"
            for header in self.headers
        )
        return not (marked or any(one.name == "no-gql-parsing" for one in self.directives))

    def is_delimited(self) -> bool:
        """Return whether only a separator ends it, since its body may have lines like requests."""
        forced = any(one.name == "force-region-delimiter" for one in self.directives)
        return forced or self.is_of_type(MULTIPART)


def lines_of(text: str, start: int, end: int) -> list[Line]:
    """Return the lines of a part of a source, without their ends or a byte order mark."""
    lines = []
    start += text.startswith("\ufeff", start)  # a byte order mark
    for raw in text[start:end].split("\n"):
        lines.append(Line(raw.removesuffix("\r"), start))
        start += len(raw) + 1
    return lines


def body_of(region: Region) -> Body | None:
    """Build the body from its lines, without trailing empty lines."""
    lines = region.body
    files = {index for index, *_ in region.files}
    while lines and not lines[-1][0].strip(" \t") and len(lines) - 1 not in files:
        lines = lines[:-1]
    if not lines:
        return None
    template = joined(lines)
    ends = [start for start, _ in template.anchors]
    inclusions = tuple(
        Inclusion(ends[index], ends[index] + len(lines[index][0]), path, encoding, operation)
        for index, path, encoding, operation in region.files
    )
    last, offset = lines[-1]
    span = Span(lines[0][1], offset + len(last))
    return Body(template, None, inclusions, span)
