"""Checks for suspicious parts of a request, and for requests that cannot be sent.

Parsing and expansion (`orgrest.http`) find syntax errors and undefined values. `CHECKS` lists the
checks, each of which is a generator of problems.
"""

from __future__ import annotations

import itertools
import json
import re
from typing import TYPE_CHECKING, TypeAlias

from orgrest import classes
from orgrest.editor.diagnostics.model import Diagnostic, extent
from orgrest.http import registry, syntax
from orgrest.http.values.expansion import Checked, is_converted
from orgrest.http.values.expressions import without_lisp
from orgrest.http.values.references import UNKNOWN
from orgrest.model import BAD_LENGTH, Span, TransportError, find_headers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

LISP_CALL = re.compile(r'\(\s*([^\s()"]+)(?:\s+("(?:[^"\\]|\\.)*"))?\s*\)')


@classes.frozen
class Subject:
    """A request to check, as written (`parsed`) and with its variables expanded (`checked`).

    `text` is the region's text. `definitions` are the definitions directly above the request.
    """

    text: str
    parsed: syntax.ParsedRequest
    checked: Checked
    definitions: Sequence[syntax.Definition]


def _method(subject: Subject) -> Iterator[Diagnostic]:
    method, span = subject.parsed.method, subject.parsed.method_span
    upper = method.upper()
    if method == upper or registry.method(method) or not registry.method(upper):
        return
    message = f"methods are case-sensitive: {method} is different from {upper}"
    yield Diagnostic(span, "warning", "unknown-method", message)


def _unexpected_body(subject: Subject) -> Iterator[Diagnostic]:
    method, body = subject.parsed.method, subject.parsed.body
    upper = method.upper()
    known = method == upper or registry.method(method) is not None
    if known and upper in ("GET", "HEAD") and body is not None:
        message = f"{upper} requests should not have a body: many servers ignore or reject it"
        span = extent(subject.text, body.span.start)
        yield Diagnostic(span, "warning", "unexpected-body", message)


def _repeated_headers(subject: Subject) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for item in subject.parsed.header_lines:
        name = item.name.text.lower()
        entry = registry.header(name)
        if name in seen and entry is not None and entry.single:
            message = f"duplicate header {entry.name}: a request may have only one"
            span = Span(item.name.offset(0), item.span.end)
            yield Diagnostic(span, "warning", "repeated-header", message)
        seen.add(name)


def _lisp(subject: Subject) -> Iterator[Diagnostic]:
    for definition in subject.definitions:
        match = LISP_CALL.match(definition.value.text)
        if definition.operator == ":=" and match and match[1] == "getenv" and match[2]:
            at = definition.value.offset(0)
            message = f"{without_lisp(match[1], match[2])} means the same without Lisp"
            yield Diagnostic(Span(at, at + len(match[0])), "hint", "lisp", message)


def _json(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the error in a JSON body that is invalid after expansion."""
    body, checked = subject.parsed.body, subject.checked
    if body is None or is_converted(subject.parsed, checked.headers):
        return
    kind = next(find_headers(checked.headers, "Content-Type"), "").partition(";")[0].strip().lower()
    text = "".join(piece for piece, _ in checked.body)
    if not text.strip() or not (kind == "application/json" or kind.endswith("+json")):
        return
    try:
        json.loads(text.replace(UNKNOWN, "0"))
    except json.JSONDecodeError as error:
        around = text[: error.pos].rstrip()[-1:] + text[error.pos : error.pos + 1]
        if UNKNOWN in around:
            return  # it depends on a response
        at = body.template.offset(_template_index(checked.body, error.pos))
        end = max(at, extent(subject.text, at).end)
        start = at if end > at else subject.text.rfind("\n", 0, at) + 1
        reason = error.msg[:1].lower() + error.msg[1:]
        yield Diagnostic(Span(start, end), "warning", "bad-json", f"not valid JSON: {reason}")
    except (ValueError, RecursionError):
        return


def _template_index(pieces: Sequence[tuple[str, int]], at: int) -> int:
    """Return the index in a template for the index `at` in its expanded text.

    `pieces` are the pieces of the expanded text, each with its index in the template.
    """
    for (text, index), (_, following) in itertools.pairwise((*pieces, ("", pieces[-1][1]))):
        if at < len(text):
            return min(index + at, max(following - 1, index)) if following > index else index + at
        at -= len(text)
    text, index = pieces[-1]
    return index + max(len(text) - 1, 0)


def _transport(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the reason why the client would refuse to send the request, if any."""
    from orgrest.http.transport.wire import headers_for, parse_url

    request = subject.checked.request
    if request is None:
        return
    try:
        headers_for(request, parse_url(request.url), None)
    except TransportError as error:
        header = subject.parsed.header("content-length") if error.code == BAD_LENGTH else None
        at = (subject.parsed.target if header is None else header.name).offset(0)
        yield Diagnostic(extent(subject.text, at), "error", error.code or "bad-url", error.reason)


Check: TypeAlias = "Callable[[Subject], Iterator[Diagnostic]]"

CHECKS: tuple[Check, ...] = (
    _method,
    _unexpected_body,
    _repeated_headers,
    _lisp,
    _json,
    _transport,
)
