"""The parser of the text below a heading, or in a block, as a request or a part of one."""

from __future__ import annotations

import re

from orgrest.http.parsing.lines import Line, Lines, assertion_in, joined, one_line
from orgrest.http.syntax import (
    Assertion,
    Body,
    Definitions,
    Document,
    HeaderLine,
    ParsedRequest,
    Template,
)
from orgrest.model import OrgrestError, RequestSyntaxError, Source, Span

_METHODS = "GET|POST|DELETE|PUT|OPTIONS|HEAD|PATCH|TRACE|CONNECT|QUERY|TEMPLATE"
REQUEST = re.compile(rf"[ \t]*({_METHODS})(?:[ \t]+(.*))?", re.IGNORECASE)
"""The first line of a request: a method or `template`, and perhaps a URL or a part of one."""

_HEADER = re.compile(r"[ \t]*([\w-]+)[ \t]*:[ \t]*(.*)")
_FENCE = re.compile(r"[ \t]*#\+(?:begin|end)_src", re.IGNORECASE)


def parse(source: Source) -> Document:
    """Parse a text as one request; never raises: errors are in its `problems`."""
    return Document(source, (_Reader(source).request(),), (), ())


class _Reader:
    """One pass over the lines of a source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._lines = Lines(source.text)
        self._problems: list[OrgrestError] = []
        self._assertions: list[Assertion] = []

    def request(self) -> ParsedRequest:
        lines = self._lines
        while lines.left and lines.next.text.lstrip(" \t")[:1] in ("", "#", ":"):
            lines.at += 1
        start = Span(0, 0)
        match = None
        target = Template("", ((0, 0),))
        if lines.left:
            start = lines.next.span
            match = REQUEST.fullmatch(lines.next.text)
        if match is not None:
            target = self._target(match[2] or "", lines.next.start + max(match.start(2), 0))
        else:
            reason = (
                "no request of verb's here: it begins with a method (get, post ...) or template; "
                "put # in front of other text"
            )
            self._problem(start.start, reason, "no-request")
        headers = self._headers() if match is not None else ()
        body = self._body() if match is not None else None
        method = match[1].upper() if match is not None else ""
        return ParsedRequest(
            method="" if method == "TEMPLATE" else method,
            target=target,
            version=None,
            headers=headers,
            captures=(),
            body=body,
            name=None,
            problems=tuple(self._problems),
            notices=(),
            assertions=tuple(self._assertions),
            source=self._source,
            span=Span(start.start, body.span.end if body else start.end),
            method_span=Span(start.start, start.start + len(method)),
            known=Definitions(),
            region=Span(0, len(self._source.text)),
            above=(),
        )

    def _target(self, text: str, start: int) -> Template:
        """Read the URL, which continues in the next line after a backslash."""
        lines = self._lines
        lines.at += 1
        pieces: list[tuple[str, int]] = []
        while True:
            more = text.endswith("\\")
            pieces.append((text[:-1] if more else text, start))
            if not more:
                return joined(pieces, "")
            if not lines.left or not lines.next.text:
                self._problem(start, "nothing follows the backslash of this URL", "lost-text")
                return joined(pieces, "")
            line = lines.next
            text, start = line.text.lstrip(" \t"), line.start + line.indent
            lines.at += 1

    def _headers(self) -> tuple[HeaderLine, ...]:
        """Read the lines up to an empty line."""
        lines = self._lines
        found: list[HeaderLine] = []
        while lines.left and lines.next.text:
            line = lines.next
            lines.at += 1
            if self._is_assertion(line) or line.text.lstrip(" \t").startswith("#"):
                continue
            match = _HEADER.fullmatch(line.text)
            if match is None:
                reason = "this is not a header (Name: value): put an empty line before the body"
                self._problem(line.start + line.indent, reason, "bad-header")
                continue
            name, value = (one_line(match[i], line.start + match.start(i)) for i in (1, 2))
            found.append(HeaderLine(name, value, line.span))
        return tuple(found)

    def _body(self) -> Body | None:
        """Read the rest unchanged, without the lines that begin and end source blocks."""
        lines = self._lines
        lines.at += 1
        left = lines.all[lines.at :]
        taken = [x for x in left if not _FENCE.match(x.text) and not self._is_assertion(x)]
        if not any(line.text for line in taken):
            return None
        while len(taken) < len(left) and self._assertions and not taken[-1].text:
            taken.pop()  # blank lines between the body and its assertions
        pieces = [(line.raw, line.start) for line in taken]
        if taken[-1] is not left[-1]:  # only the last line lacks a line end
            pieces.append(("", taken[-1].end))
        span = Span(taken[0].start, taken[-1].end)
        return Body(joined(pieces), None, (), span)

    def _is_assertion(self, line: Line) -> bool:
        """Read a line that is an assertion, or looks like one, which is a problem."""
        start = line.start + line.indent
        found = assertion_in(line.text.lstrip(" \t"), start, line.end)
        if isinstance(found, str):
            self._problem(start, found, "bad-assertion")
        elif found is not None:
            self._assertions.append(found)
        return found is not None

    def _problem(self, offset: int, reason: str, code: str) -> None:
        self._problems.append(RequestSyntaxError.at(self._source, offset, reason, code))
