"""Steps for the lines of a request: request line, headers and body.

Each step gets the reader, a line and its stripped text, and returns whether it consumed the line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.http.parsing.request_file.grammar import (
    BARE,
    CONTINUED,
    CURL,
    FOREIGN_METHODS,
    GRAPHQL_FILE,
    GRAPHQL_FRAGMENT,
    HEADER,
    HEADER_SPREAD,
    HEADER_VARIABLE,
    HTTPYAC,
    IMPORT_IN_BODY,
    INCLUSION,
    NEXT_REQUEST,
    REQUEST,
    RESPONSE,
    SEGMENT,
)
from orgrest.http.syntax import HeaderLine, HeaderVariable, Template
from orgrest.model import Span

if TYPE_CHECKING:
    from orgrest.http.parsing.request_file.reader import Reader
    from orgrest.http.parsing.request_file.region import Line, RequestRegion

_LONGEST = 2**16
"""The maximum length of a header that continues in several lines, in characters."""


def skipped(reader: Reader, line: Line, _text: str) -> bool:
    """Consume an empty line."""
    region = reader.region
    if region.begun and not region.in_body:
        region.in_body = True
    elif region.body:
        region.body.append((line.raw, line.offset))
    return True


def request_line(reader: Reader, line: Line, text: str) -> bool:
    """Read a request line: a method and a URL, or only a URL."""
    region = reader.region
    if region.begun:
        match = NEXT_REQUEST.fullmatch(text)
        if match is None or region.is_delimited():
            return False
        if not region.closed and region.ends_with_body():
            reason = (
                "this line ends the body above and begins another request: if this is intended, "
                "insert ### above it; otherwise, add # @force-region-delimiter to the request above"
            )
            reader.notice(line.start, reason, "no-separator")
        reader.close(line.offset)
        region = reader.region
    else:
        match = REQUEST.fullmatch(text)
        if match is None and not HTTPYAC.fullmatch(text):
            match = BARE.fullmatch(text)
        if match is None:
            return False
    written = match.groupdict().get("method") or ""
    method = written or "GET"
    region.method = method if method == "curl" else method.upper()
    at = line.start
    region.indent = line.indent
    region.method_span = Span(at, at + len(written))
    region.url.append((match["target"], at + match.start("target")))
    region.end = line.end
    if method == "curl":
        reader.problem(at, CURL, "foreign-method")
    if method in FOREIGN_METHODS:
        reader.problem(at, FOREIGN_METHODS[method], "foreign-method")
    return True


def header(reader: Reader, line: Line, text: str) -> bool:
    """Read a header, or a line that continues the URL or a header."""
    region = reader.region
    if not region.begun or region.in_body:
        return False
    last = region.headers[-1] if region.headers else None
    if last is None and _continues_url(region, line, text):
        region.url.append((text, line.start))
    elif match := HEADER.fullmatch(text):
        region.headers.append(
            HeaderLine(line.template(match, "name"), line.template(match, "value"), line.span)
        )
    elif match := HEADER_VARIABLE.fullmatch(text):
        region.headers.append(HeaderVariable(match[1], line.span))
    elif match := HEADER_SPREAD.fullmatch(text):
        region.headers.append(HeaderVariable(match[1], line.span, spread=True))
    elif text[0] in "{[<":
        region.in_body = True
        reason = "this line starts the body: insert an empty line before it"
        reader.notice(line.start, reason, "no-empty-line")
        return False
    elif isinstance(last, HeaderLine) and line.indent > region.indent and _is_open(last):
        region.headers[-1] = _continued(last, line)
    else:
        reason = "expected a header (Name: value): insert an empty line before the body"
        reader.problem(line.start, reason, "bad-header")
    region.end = line.end
    return True


def _continues_url(region: RequestRegion, line: Line, text: str) -> bool:
    if text[0] in "?&":
        return True
    # As in JetBrains' HTTP Client, an indented line may continue the URL.
    if line.indent == 0 or HEADER.fullmatch(text):
        return False
    last = region.url[-1][0][-1:]
    is_segment = last == "/" and line.indent > region.indent and SEGMENT.fullmatch(text)
    open_end = last in "?&=" or is_segment
    return CONTINUED.match(text) is not None or (bool(open_end) and text[0] not in "{[<.")


def _is_open(header: HeaderLine) -> bool:
    """Return whether a header may continue in the next line: otherwise, the body begins there."""
    return header.value.text[-1:] in (",", ";") and len(header.value.text) < _LONGEST


def _continued(header: HeaderLine, line: Line) -> HeaderLine:
    """Return a header whose value continues in an indented line, with one space in between."""
    value = header.value
    before = f"{value.text} "
    return HeaderLine(
        header.name,
        Template(before + line.text, (*value.anchors, (len(before), line.start))),
        Span(header.span.start, line.end),
    )


def body_line(reader: Reader, line: Line, text: str) -> bool:
    """Read a line of the body."""
    region = reader.region
    if not region.begun:
        return False
    if match := INCLUSION.fullmatch(text):
        encoding = (match["encoding"] or "utf-8") if match["expand"] else None
        region.files.append((len(region.body), line.template(match, "path"), encoding, None))
    elif match := GRAPHQL_FILE.fullmatch(text):
        path, operation = line.template(match, "path"), match["operation"] or ""
        region.files.append((len(region.body), path, "utf-8", operation))
    elif re.match(r"<@|[<>][ \t]*\{|>>", text):
        reason = "unexpected line; it is not sent as part of the body"
        reader.problem(line.start, reason, "unknown-line")
    elif text.startswith(("run", "import")):
        _warn_of_import(reader, line, text)
    region.body.append((line.raw, line.offset))
    region.end = line.end
    return True


def _warn_of_import(reader: Reader, line: Line, text: str) -> None:
    """Warn about an `import` or `run` line that is sent, as in httpyac, with the body above it."""
    is_import = IMPORT_IN_BODY.fullmatch(text) is not None
    if is_import and not (reader.in_org or reader.region.is_delimited()):
        reason = (
            "this line is sent as part of the body: if it is an instruction, insert ### above it; "
            "otherwise, add # @force-region-delimiter to the request"
        )
        reader.notice(line.start, reason, "no-separator")


def fragment(reader: Reader, line: Line, text: str) -> bool:
    """Reject httpyac's GraphQL fragments and `gql NAME < file` lines outside requests.

    The lines below, up to the next empty line, are skipped.
    """
    is_outside = not reader.region.begun
    if not is_outside or not (GRAPHQL_FRAGMENT.fullmatch(text) or GRAPHQL_FILE.fullmatch(text)):
        return False
    reason = "GraphQL fragments must be in the body of the request that uses them"
    reader.problem(line.start, reason, "graphql")
    while reader.at < len(reader.lines) and reader.lines[reader.at].text:
        reader.at += 1
    return True


def pasted_response(reader: Reader, line: Line, text: str) -> bool:
    """Skip a line of a response that was pasted below its request.

    Earlier steps have already read the lines that cannot belong to a response, such as assertions.
    """
    region = reader.region
    if region.closed:
        return True
    if not RESPONSE.fullmatch(text):
        return False
    if region.is_delimited():
        return False
    region.closed = True
    reason = (
        "this looks like a stored response: up to the next ###, only assertions, scripts, "
        "directives, variables and >> lines are read"
    )
    reader.notice(line.start, reason, "response")
    return True
