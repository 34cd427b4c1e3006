"""The single pass over the lines of a request file, and its state."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from orgrest.http.parsing.lines import target_of
from orgrest.http.parsing.request_file.grammar import VERSION, is_httpyac
from orgrest.http.parsing.request_file.region import Line, Region, body_of, lines_of
from orgrest.http.syntax import (
    Comment,
    Definition,
    Definitions,
    Document,
    Import,
    LineState,
    ParsedRequest,
    Script,
    Template,
    version_notices,
)
from orgrest.model import Capture, Notice, OrgrestError, RequestSyntaxError, Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Step: TypeAlias = "Callable[[Reader, Line, str], bool]"

_TITLE: Final = re.compile(r"[ \t]*(?:#|//)[ \t]*(?![@#/]|\?\?|not translated:)(\S.*?)[ \t]*")
"""Matches a comment; directly above an assertion it is its title."""


class Reader:
    """The state of a pass over a source; `at` is the index of the next line.

    The steps are tried on each line in order: the first step that recognizes it consumes it and
    the lines that belong to it.
    """

    def __init__(
        self, source: Source, part: Span | None = None, known: Definitions | None = None
    ) -> None:
        """Read `source`, or a `part` of it; `known` are the definitions of all of it."""
        self.source = source
        self._part = part
        start, self._end = (0, len(source.text)) if part is None else (part.start, part.end)
        self.items: list[Comment | Definition | Import | ParsedRequest] = []
        self.problems: list[OrgrestError] = []
        self.notices: list[Notice] = []
        self.scripts: list[Script] = []
        self.known = Definitions() if known is None else known
        self.lines = lines_of(source.text, start, self._end)
        self.at = 0
        self.region = Region(start, None)
        self.quoted = False  # the last construct is unclosed

    def read(self, steps: Sequence[Step]) -> None:
        """Read all lines, each by the first step that consumes it."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            if not any(step(self, line, line.text) for step in steps):
                reason = (
                    "this line means nothing here: a request is a line like "
                    "GET https://example.org/, and a comment begins with #"
                )
                self.problem(line.start, reason, "unknown-line")

    def document(self, steps: Sequence[Step]) -> Document:
        """Read all lines, and build the document."""
        self.read(steps)
        self.close(self._end)
        nothing = not any(isinstance(item, ParsedRequest | Import) for item in self.items)
        if nothing and not self.problems and self._part is None:
            reason = "no request here: a request is a line like GET https://example.org/"
            self.problems.append(RequestSyntaxError.at(self.source, 0, reason, "no-request"))
        return Document(
            self.source,
            tuple(self.items),
            tuple(self.problems),
            tuple(self.notices),
            tuple(self.scripts),
        )

    @property
    def state(self) -> LineState:
        """The parser's state, which decides the meaning of the next line."""
        region = self.region
        if self.quoted:
            return LineState("quoted")
        if not region.begun:
            return LineState()
        if region.in_body or region.closed:
            return LineState("body")
        return LineState("head", url=not (region.headers or region.problems))

    def problem(self, offset: int, reason: str, code: str) -> None:
        """Record an error that prevents this region's request from being sent."""
        self.region.problems.append(RequestSyntaxError.at(self.source, offset, reason, code))

    def assertion(self, line: Line, text: Template) -> None:
        """Add the assertion `text`, found in `line`, to this region."""
        from orgrest.http.assertions.reading import read_assertion

        found = read_assertion(text, line.span)
        if isinstance(found, str):
            self.problem(line.start, found, "bad-assertion")
        else:
            whole = self.source.text
            above = whole.rfind("\n", 0, max(line.start - 1, 0)) + 1
            comment = _TITLE.fullmatch(whole, above, max(line.start - 1, above))
            title = comment[1] if comment else ""
            self.region.assertions.append(attrs.evolve(found, title=title))
        if self.region.begun:
            self.region.end = line.span.end

    def notice(self, offset: int, reason: str, code: str) -> None:
        """Record a warning about this region."""
        self.region.notices.append(Notice.at(self.source, offset, reason, code))

    def close(self, end: int, title: str | None = None) -> None:
        """End the region here, and begin the next one."""
        region = self.region
        self.known.scripts += region.scripts
        if region.begun:
            self.items.append(self._finished(region, end))
        else:
            for assertion in region.assertions:
                reason = "there is no request here of whose response this could hold"
                self.problem(assertion.span.start, reason, "unknown-line")
            self.problems += region.problems
            self.notices += region.notices
            self.scripts += map(_of_document, region.scripts)
        self.region = Region(end, title)

    def _finished(self, region: Region, end: int) -> ParsedRequest:
        target, version = target_of(region.url, VERSION)
        named = next((one for one in reversed(region.directives) if one.name == "name"), None)
        name = named.value.text if named is not None else region.title
        assert region.method_span is not None  # noqa: S101  # begun
        body = body_of(region)
        unmarked = body is not None and region.is_unmarked_graphql(body.template.text)
        graphql = unmarked and is_httpyac(self.source.text)
        if body is not None and unmarked and not graphql:
            reason = (
                "this looks like GraphQL and is sent as it is written: a request that begins with "
                "GRAPHQL sends it as JSON (# @no-gql-parsing, where it is meant)"
            )
            self.notice(body.span.start, reason, "graphql")
        return ParsedRequest(
            method=region.method,
            target=target,
            version=version,
            headers=tuple(region.headers),
            captures=tuple(self._captures(region)),
            body=body,
            name=name or None,
            problems=tuple(region.problems),
            notices=(
                *version_notices(self.source, version, region.method_span.start),
                *region.notices,
            ),
            source=self.source,
            span=Span(region.method_span.start, region.end),
            method_span=region.method_span,
            known=self.known,
            directives=tuple(region.directives),
            scripts=tuple(region.scripts),
            assertions=tuple(region.assertions),
            savings=tuple(region.savings),
            region=Span(region.start, end),
            shared_scripts=self.scripts,
            graphql=graphql,
        )

    def _captures(self, region: Region) -> Iterator[Capture]:
        """Yield the variables that Kulala's `# @env-json-key name path` sets from the response."""
        for directive in region.directives:
            if directive.name == "env-json-key":
                name, _, path = directive.value.text.partition(" ")
                keys = re.findall(r"[^.\[\]\s]+", path)
                parts = (f"[{key}]" if key.isdigit() else f"[{json.dumps(key)}]" for key in keys)
                yield Capture(name, "." + "".join(parts), self.source, directive.span)


def _of_document(script: Script) -> Script:
    """Return a script that belongs to no request as one of the document.

    As in httpyac, a script without an event runs once, as does a script for the end of its region
    (which has no request).
    """
    if script.host == "httpyac" and script.when in ("before", "end"):
        return attrs.evolve(script, when="before", runs="once")
    return attrs.evolve(script, runs="every")
