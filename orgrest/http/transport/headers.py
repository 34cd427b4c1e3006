"""The header lines of a request as they are sent: defaults, then the user's."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from orgrest.http.auth.basic import basic
from orgrest.http.syntax import is_token
from orgrest.http.transport.urls import Url, parse_url, show
from orgrest.model import Headers, Request, TransportError

if TYPE_CHECKING:
    from collections.abc import Generator

    from orgrest.model import Response

USER_AGENT = "orgrest"
_CODINGS: Final = {
    "br": ("brotlicffi", "brotli"),
    "zstd": ("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",),
}
"""The packages with which urllib3 decodes what the standard library does not."""


@cache
def accept_encoding() -> str:
    """Return the codings that urllib3 decodes here, as its `make_headers` does.

    A dry run shows them, too; importing urllib3 would take longer than all the rest of it.
    """
    found = [coding for coding, packages in _CODINGS.items() if any(map(_imports, packages))]
    return ", ".join(("gzip", "deflate", *found))


def _imports(package: str) -> bool:
    try:
        import_module(package)
    except ImportError:
        return False
    return True


def wire_headers(request: Request, *, cookie: str | None = None) -> Headers:
    """Return the header lines as sent: defaults that the user did not override, then the user's.

    Raises `TransportError` for a URL, a header name or a value that cannot be sent.
    """
    url = parse_url(request.url)
    return headers_for(next(flow_of(request, url)), url, cookie)


def flow_of(request: Request, url: Url) -> Generator[Request, Response, str | None]:
    """Yield the requests to send, as `Credentials.flow` does; without credentials, only itself."""
    if request.credentials is None:
        yield request
        return None
    return (yield from request.credentials.flow(request, url.netloc, url.target))


def headers_for(request: Request, url: Url, cookie: str | None) -> Headers:
    """Do what `wire_headers` does, for a URL that is already parsed."""
    if not is_token(request.method):
        raise TransportError(f"not a method: {show(request.method)}")
    if url.target == "*" and request.method != "OPTIONS":
        raise TransportError(f"{request.method} * cannot be sent: only OPTIONS has no path")
    for name, value in request.headers:
        if not is_token(name):
            raise TransportError(f"not a header name: {show(name)}")
        if any(c in value for c in "\r\n\0"):
            raise TransportError(f"the value of {name} holds a line break or a NUL")
    given = {name.lower() for name, _ in request.headers}
    ours = [
        ("Host", url.netloc),
        ("User-Agent", USER_AGENT),
        ("Accept-Encoding", accept_encoding()),
        ("Accept", "*/*"),
    ]
    if url.userinfo:
        ours.append(("Authorization", basic(url.userinfo)))
    if cookie:
        ours.append(("Cookie", cookie))
    headers = [(name, value) for name, value in ours if name.lower() not in given]
    headers += request.headers
    sends_body = request.body is not None or request.method.upper() in ("POST", "PUT", "PATCH")
    if sends_body and not given & {"content-length", "transfer-encoding"}:
        headers.append(("Content-Length", str(len(request.body or b""))))
    return tuple(headers)
