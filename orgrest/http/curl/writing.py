"""A request as a curl command."""

from __future__ import annotations

import re
import shlex
from urllib.parse import urlsplit

from orgrest.http.auth import certificates
from orgrest.http.curl.errors import CurlError
from orgrest.model import Request

_EMPTY = (("Content-Length", "0"),)  # sent for a POST without a body, but not by curl
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)


def to_command(request: Request) -> str:
    """Write a request as a curl command that sends the same.

    Raises CurlError for a body with NUL bytes, which a command line cannot hold, and TransportError
    for a request that cannot be sent at all.
    """
    from orgrest.http.transport import wire_headers, wire_url

    words = ["curl"]
    url, sent = wire_url(request), wire_headers(request)
    if request.method == "WEBSOCKET":
        raise CurlError("curl does not talk over WebSockets", file=request.file, line=request.line)
    if _DOTS.search(url.partition("?")[0]):
        words.append("--path-as-is")
    implied = "GET" if request.body is None else "POST"
    if request.method == "HEAD" and request.body is None:
        words.append("--head")
    elif request.method != implied:
        words += ["-X", request.method]
    if request.credentials is not None:
        words += request.credentials.curl(urlsplit(request.url).netloc)
    if request.certificate is not None:
        words += certificates.curl(request.certificate)
    for name, value in request.headers:
        words += ["-H", f"{name}: {value}" if value.strip() else f"{name};"]
    if request.body is None and sent[-1:] == _EMPTY != request.headers[-1:]:
        words += ["-H", "Content-Length: 0"]
    if request.body is not None:
        if request.header("Content-Type") is None:
            words += ["-H", "Content-Type:"]  # or curl sends one of its own
        try:
            body = request.body.decode()
        except UnicodeDecodeError:
            body = ""
        if "\0" in body or (request.body and not body):
            raise CurlError(
                "the body is not text: a curl command can only hold it as a file",
                file=request.file,
                line=request.line,
            )
        words += ["--data-raw", body]
    words.append(url)
    return _join([shlex.quote(word) for word in words])


def _join(words: list[str]) -> str:
    """Put each option on a line of its own, with its value."""
    lines = [words[0]]
    for index, word in enumerate(words[1:], 1):
        if word.startswith("-") or index == len(words) - 1:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n  ".join(lines) if len(lines) > 2 else " ".join(lines)
