"""The parser for verb's request language: the text below a heading or in a block.

The text is a whole request, or a partial request that is completed by the headings below it.
"""

from __future__ import annotations

import re

from orgrest.http.parsing.lines import Line, Lines, RequestLines, joined, one_line
from orgrest.http.syntax import Body, Definitions, Document, HeaderLine, ParsedRequest, Template
from orgrest.model import Source, Span
from orgrest.regular import compiled

_METHODS = "GET|POST|DELETE|PUT|OPTIONS|HEAD|PATCH|TRACE|CONNECT|QUERY|TEMPLATE"
REQUEST = compiled(rf"[ \t]*({_METHODS})(?:[ \t]+(.*))?", re.IGNORECASE)
"""Matches the first line of a request: a method or `template`, and optionally a (partial) URL."""

_HEADER = compiled(r"[ \t]*([\w-]+)[ \t]*:[ \t]*(.*)")
_FENCE = compiled(r"[ \t]*#\+(?:begin|end)_src", re.IGNORECASE)


def parse(source: Source) -> Document:
    """Parse `source` as a single request. Never raises: errors are in the request's `problems`."""
    return Document(source, (_Reader(source, Lines(source.text)).request(),), (), ())


class _Reader(RequestLines):
    def request(self) -> ParsedRequest:
        lines = self.lines
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
                "expected a verb request, which starts with a method (get, post ...) or "
                "template; to write a comment, start the line with #"
            )
            self.problem(start.start, reason, "no-request")
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
            problems=tuple(self.problems),
            notices=(),
            assertions=tuple(self.assertions),
            source=self.source,
            span=Span(start.start, body.span.end if body else start.end),
            method_span=Span(start.start, start.start + len(method)),
            known=Definitions(),
            region=Span(0, len(self.source.text)),
            above=(),
        )

    def _target(self, text: str, start: int) -> Template:
        """Read the URL. A backslash at the end of a line continues it on the next line."""
        lines = self.lines
        lines.at += 1
        pieces: list[tuple[str, int]] = []
        while True:
            continues = text.endswith("\\")
            pieces.append((text[:-1] if continues else text, start))
            if not continues:
                return joined(pieces, "")
            if not lines.left or not lines.next.text:
                self.problem(
                    start, "nothing follows the backslash at the end of this URL", "lost-text"
                )
                return joined(pieces, "")
            line = lines.next
            text, start = line.text.lstrip(" \t"), line.start + line.indent
            lines.at += 1

    def _headers(self) -> tuple[HeaderLine, ...]:
        """Read the headers, up to an empty line."""
        lines = self.lines
        headers: list[HeaderLine] = []
        while lines.left and lines.next.text:
            line = lines.next
            lines.at += 1
            if self._take_assertion(line) or line.text.lstrip(" \t").startswith("#"):
                continue
            match = _HEADER.fullmatch(line.text)
            if match is None:
                reason = "expected a header (Name: value): insert an empty line before the body"
                self.problem(line.start + line.indent, reason, "bad-header")
                continue
            name, value = (one_line(match[i], line.start + match.start(i)) for i in (1, 2))
            headers.append(HeaderLine(name, value, line.span))
        return tuple(headers)

    def _body(self) -> Body | None:
        lines = self.lines
        lines.at += 1
        remaining = lines.all[lines.at :]
        body_lines = [
            x for x in remaining if not _FENCE.match(x.text) and not self._take_assertion(x)
        ]
        if not any(line.text for line in body_lines):
            return None
        while len(body_lines) < len(remaining) and self.assertions and not body_lines[-1].text:
            body_lines.pop()  # blank lines between the body and its assertions
        pieces = [(line.raw, line.start) for line in body_lines]
        if body_lines[-1] is not remaining[-1]:  # only the last line lacks a line ending
            pieces.append(("", body_lines[-1].end))
        span = Span(body_lines[0].start, body_lines[-1].end)
        return Body(joined(pieces), None, (), span)

    def _take_assertion(self, line: Line) -> bool:
        start = line.start + line.indent
        return self.take_assertion(line.text.lstrip(" \t"), start, line.end)
