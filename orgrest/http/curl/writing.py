"""A request as a curl command."""

from __future__ import annotations

import re
import shlex
from base64 import b64encode
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from orgrest.http.auth import certificates
from orgrest.http.curl.errors import CurlError
from orgrest.model import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_EMPTY = (("Content-Length", "0"),)  # sent for a POST without a body, but not by curl
_LONGEST: Final = 100_000  # bytes of a word; Linux takes 128 KiB
_DOTS = re.compile(r"/(?:\.|%2e){1,2}(?:/|$)", re.IGNORECASE)


def to_command(
    request: Request, quote: Callable[[str], str] = shlex.quote, options: Sequence[str] = ()
) -> str:
    """Write a request as a curl command that sends the same, with further `options`.

    A body that a command line cannot hold is piped into it. `quote` writes a word for the shell.
    Raises CurlError for a WebSocket, and TransportError for a request that cannot be sent at all.
    """
    from orgrest.http.transport import wire_headers, wire_url

    words = ["curl", *options]
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
    piped = ""
    if request.body is not None:
        if request.header("Content-Type") is None:
            words += ["-H", "Content-Type:"]  # or curl sends one of its own
        body = _word(request.body)
        if body is None:
            coded = b64encode(request.body).decode()
            piped = f"printf %s {shlex.quote(coded)} | base64 -d | "
            words += ["--data-binary", "@-"]
        else:
            words += ["--data-raw", body]
    words.append(url)
    return piped + _join([quote(word) for word in words])


def _word(body: bytes) -> str | None:
    """Return a body as a word of a command line, None if that cannot hold it."""
    if b"\0" in body or len(body) > _LONGEST:
        return None
    try:
        return body.decode()
    except UnicodeDecodeError:
        return None


def _join(words: list[str]) -> str:
    """Put each option on a line of its own, with its value."""
    lines = [words[0]]
    for index, word in enumerate(words[1:], 1):
        if word.startswith("-") or index == len(words) - 1:
            lines.append(word)
        else:
            lines[-1] += f" {word}"
    return " \\\n  ".join(lines) if len(lines) > 2 else " ".join(lines)
