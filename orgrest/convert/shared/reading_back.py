"""Checks that an imported request keeps its meaning when it is written to a document.

Each written request is parsed as in a run. Therefore, text from a source cannot become another
request, and no part of a request is lost.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest.convert.shared import texts
from orgrest.convert.shared.model import Inclusion
from orgrest.http.parsing import request_file
from orgrest.http.syntax import HeaderLine
from orgrest.http.values import Context, Inputs, expand, shorthand
from orgrest.http.values.expansion import with_one_cookie
from orgrest.model import OrgrestError, find_headers

if TYPE_CHECKING:
    from orgrest.convert.shared.model import Request
    from orgrest.http.syntax import ParsedRequest

_ACCEPTED = frozenset({"http-version"})
_WITHOUT_SETTINGS = Inputs(directory=Path(os.devnull))  # no environment files are near it


def wrong_with(text: str, request: Request) -> tuple[str, str]:
    """Return the part of `request` that `text` expresses incorrectly, and the reason.

    Both are "" if `text` has the same meaning as `request`. If the part is "body", writing the body
    to a separate file may help.
    """
    if any(isinstance(piece, bytes) for piece in request.body or ()):
        return "body", "the body is not text"
    document = request_file.parse(text)
    if len(document.requests) != 1 or document.problems or request_file.is_restclient(text):
        return ("body", "it would be parsed as something else in a request file")
    (parsed,) = document.requests
    if parsed.problems:
        return "body", parsed.problems[0].reason
    if _has_other_body(parsed, request):
        return "body", "the body would be sent differently if it were in the request file"
    if fault := next((notice for notice in parsed.notices if notice.code not in _ACCEPTED), None):
        return "body", fault.reason
    headers = tuple(
        (header.name.text, header.value.text)
        if isinstance(header, HeaderLine)
        else (header.name, "")
        for header in parsed.headers
    )
    for what, is_same in (
        ("method", parsed.method == request.method),
        ("URL", parsed.target.text == request.url and parsed.version is None),
        ("headers", headers == request.headers),
        ("assertions", len(parsed.assertions) == len(request.assertions)),
        ("scripts", len(parsed.scripts) == len(request.before) + len(request.after)),
        ("directives", len(parsed.directives) == len(request.directives)),
        ("variables", len(parsed.known.all) == len(request.definitions)),
    ):
        if not is_same:
            return what, f"its {what} cannot be written in a request file"
    return _sent_otherwise(parsed, request)


def _has_other_body(parsed: ParsedRequest, request: Request) -> bool:
    if request.body is None:
        return parsed.body is not None
    lines = [f"< {piece.path}" if isinstance(piece, Inclusion) else piece for piece in request.body]
    text = "\n".join(str(line) for line in lines)
    if parsed.body is None:
        return text != ""
    files = sum(isinstance(piece, Inclusion) for piece in request.body)
    if parsed.body.template.text != text or len(parsed.body.files) != files:
        return True
    return not files and _transformed(text, request)


def _transformed(text: str, request: Request) -> bool:
    """Return whether orgrest would change the body because of its media type."""
    kind = next(find_headers(request.headers, "Content-Type"), "").lower()
    if kind.startswith("application/x-www-form-urlencoded"):
        plain = "".join(piece if isinstance(piece, str) else "x" for piece in texts.pieces(text))
        return shorthand.form(plain) != plain
    return "ndjson" in kind


def _sent_otherwise(parsed: ParsedRequest, request: Request) -> tuple[str, str]:
    """Return which part of a request would be sent differently, and why. Both may be ""."""
    body = request.body or ()
    if request.shorthand and any(
        name.lower() == "x-clientcert" or value.startswith("oauth2 ")
        for name, value in request.headers
    ):
        return "", ""
    parts = [request.url, *(text for pair in request.headers for text in pair)]
    parts += (part for part in body if isinstance(part, str))
    # Requests that need files or variables are not checked.
    if any(isinstance(part, Inclusion) for part in body) or not all(map(texts.is_literal, parts)):
        return "", ""
    try:
        sent = expand(parsed, Context(_WITHOUT_SETTINGS))
    except OrgrestError as error:
        return "URL" if error.code == "bad-url" else "headers", error.reason
    if sent.method != request.method:
        return "method", f"{request.method} has another meaning in a request file"
    plain = [(texts.plain(name) or "", texts.plain(value) or "") for name, value in request.headers]
    if not request.shorthand and sent.headers != with_one_cookie(plain):
        return "headers", "orgrest would read the headers as shorthand, and send different ones"
    text = texts.plain("\n".join(str(part) for part in body)) or ""
    kinds = find_headers(request.headers, "Content-Type")
    if any(kind.lower().startswith("multipart/") for kind in kinds):
        text = text.replace("\n", "\r\n")
    if request.body is not None and (sent.body or b"").decode("utf-8", "replace") != text:
        return "body", "the body would be sent differently if it were in the request file"
    return "", ""
