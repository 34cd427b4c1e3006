"""The loop over the lines of a request file, and its state."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from orgrest import classes
from orgrest.http.parsing.lines import target_of
from orgrest.http.parsing.request_file.grammar import JSON_TYPE, VERSION, is_httpyac
from orgrest.http.parsing.request_file.region import Line, RequestRegion, body_of, lines_of
from orgrest.http.syntax import (
    Body,
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
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Step: TypeAlias = "tuple[str | None, Callable[[Reader, Line, str], bool]]"

_TITLE: Final = compiled(r"[ \t]*(?:#|//)[ \t]*(?![@#/]|\?\?|not translated:)(\S.*?)[ \t]*")
"""Matches a comment that is the title of an assertion directly below it."""


class Reader:
    """Parses a request file, or only a `part` of it, in one pass over its lines.

    `known` contains the definitions of the whole file. `in_org` says whether the source is a block
    of an Org document. `at` is the index of the next line. The first step that recognizes a line
    consumes it, together with the lines that belong to it.
    """

    def __init__(
        self,
        source: Source,
        part: Span | None = None,
        known: Definitions | None = None,
        *,
        in_org: bool = False,
    ) -> None:
        self.source = source
        self.in_org = in_org
        start, self._end = (0, len(source.text)) if part is None else (part.start, part.end)
        self.items: list[Comment | Definition | Import | ParsedRequest] = []
        self.problems: list[OrgrestError] = []
        self.notices: list[Notice] = []
        self.scripts: list[Script] = []
        self.known = Definitions() if known is None else known
        self.lines = lines_of(source.text, start, self._end)
        self.at = 0
        self.region = RequestRegion(start, None)
        self.quoted = False  # whether the last comment or script is never closed

    def read(self, steps: Sequence[Step]) -> None:
        """Read all lines with the given steps.

        A line that no step consumes is recorded as a problem.
        """
        while self.at < len(self.lines):
            line = self.lines[self.at]
            self.at += 1
            text, first = line.text, line.text[:1]
            for characters, step in steps:
                if (characters is None or first in characters) and step(self, line, text):
                    break
            else:
                reason = (
                    "unexpected line: expected a request such as GET https://example.org/, "
                    "or a comment that starts with #"
                )
                self.problem(line.start, reason, "unknown-line")

    def document(self, steps: Sequence[Step]) -> Document:
        """Read all lines with the given steps, and return the document."""
        self.read(steps)
        self.close(self._end)
        return Document(
            self.source,
            tuple(self.items),
            tuple(self.problems),
            tuple(self.notices),
            tuple(self.scripts),
        )

    @property
    def state(self) -> LineState:
        """The parser's state, which determines the meaning of the next line."""
        region = self.region
        if self.quoted:
            return LineState("quoted")
        if not region.begun:
            return LineState()
        if region.in_body or region.closed:
            return LineState("body")
        return LineState("head", url=not (region.headers or region.problems))

    def problem(self, offset: int, reason: str, code: str) -> None:
        """Record an error in the current region, which prevents its request from being sent."""
        self.region.problems.append(RequestSyntaxError.at(self.source, offset, reason, code))

    def assertion(self, line: Line, text: Template) -> None:
        """Parse the text of an assertion in `line`, and add it to the current region."""
        from orgrest.http.assertions.language import read_assertion

        span, start, source_text = line.span, line.start, self.source.text
        above = source_text.rfind("\n", 0, max(start - 1, 0)) + 1
        comment = _TITLE.fullmatch(source_text, above, max(start - 1, above))
        assertion = read_assertion(text, span, comment[1] if comment else "")
        if isinstance(assertion, str):
            self.problem(start, assertion, "bad-assertion")
        else:
            self.region.assertions.append(assertion)
        self.region.reach(span.end)

    def notice(self, offset: int, reason: str, code: str) -> None:
        """Record a warning about the current region."""
        self.region.notices.append(Notice.at(self.source, offset, reason, code))

    def close(self, end: int, title: str | None = None) -> None:
        """End the region at the offset `end`, and begin the next region with the given title."""
        region = self.region
        self.known.scripts += region.scripts
        if region.begun:
            self.items.append(self._finished(region, end))
        else:
            for assertion in region.assertions:
                reason = "no request precedes this assertion"
                self.problem(assertion.span.start, reason, "unknown-line")
            self.problems += region.problems
            self.notices += region.notices
            self.scripts += map(_for_document, region.scripts)
        self.region = RequestRegion(end, title)

    def _finished(self, region: RequestRegion, end: int) -> ParsedRequest:
        target, version = target_of(region.url, VERSION)
        name_directive = next(
            (directive for directive in reversed(region.directives) if directive.name == "name"),
            None,
        )
        name = name_directive.value.text if name_directive is not None else region.title
        assert region.method_span is not None  # noqa: S101  # set when a region begins
        body = body_of(region)
        if body is not None:
            self._warn_unsent(body, region.definitions)
        is_unmarked = body is not None and region.is_unmarked_graphql(body.template.text)
        graphql = is_unmarked and (region.is_of_type(JSON_TYPE) or is_httpyac(self.source.text))
        if body is not None and is_unmarked and not graphql:
            reason = (
                "this looks like GraphQL, but is sent as text: start the request with "
                "GRAPHQL to send it as JSON (or add # @no-gql-parsing if text is intended)"
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

    def _warn_unsent(self, body: Body, definitions: Sequence[Definition]) -> None:
        """Warn about definitions that look like lines of the body.

        They are followed by other lines of the body, or are directly below its last line.
        """
        for definition in definitions:
            start, text = definition.name_span.start, self.source.text
            end = body.span.end
            lines = text.find("\n", end, start), text.rfind("\n", end, start)
            is_below = not definition.when and 0 <= lines[0] == lines[1]
            if start < end or is_below:
                reason = (
                    f"this line sets the variable {definition.name} and is not sent: to send it, "
                    "move the body to a file, and insert the file with < FILE"
                )
                self.notice(start, reason, "definition-in-body")

    def _captures(self, region: RequestRegion) -> Iterator[Capture]:
        """Yield the captures that Kulala's `# @env-json-key name path` declares."""
        for directive in region.directives:
            if directive.name == "env-json-key":
                name, _, path = directive.value.text.partition(" ")
                keys = re.findall(r"[^.\[\]\s]+", path)
                parts = (f"[{key}]" if key.isdigit() else f"[{json.dumps(key)}]" for key in keys)
                yield Capture(name, "." + "".join(parts), self.source, directive.span, path.strip())


def _for_document(script: Script) -> Script:
    """Turn a script outside requests into a script for the whole document, as in httpyac."""
    if script.host == "httpyac" and script.when in ("before", "end"):
        return classes.evolve(script, when="before", runs="once")
    return classes.evolve(script, runs="every")
