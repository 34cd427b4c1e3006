"""The URL and header lines of a request as they are sent, and the hosts its secrets may go to.

One of the user's secrets may go to the origins listed with it: `api.example.com` (https, port 443),
`api.example.com:8443`, `*.example.com` (all below example.com) or `http://localhost:3000`, which
alone allows http.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.util import find_spec
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

import attrs

from orgrest.http.auth.basic import basic
from orgrest.http.syntax import is_token
from orgrest.model import Headers, OrgrestError, Request, TransportError, to_bytes

_URL = re.compile(r"(https?|wss?)://([^/?#\\]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:(.*)@)?(\[[0-9A-Fa-f:.]+(?:%[\w.~-]+)?\]|[^\[\]:@]+)(?::(\d*))?")
_HOST = re.compile(r"\[.+\]|[\w~!$&'()*+,;=-]+(?:\.[\w~!$&'()*+,;=-]+)*\.?", re.ASCII)
_TARGET_SAFE = "-._~!$&'()*+,;=:@/?%"
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_SECURE = {"wss": "https", "ws": "http"}
EVENTS: Final = "text/event-stream"
"""The media type of server-sent events."""
USER_AGENT = "orgrest"
_CODINGS: Final = {
    "br": ("brotlicffi", "brotli"),
    "zstd": ("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",),
}
"""The packages with which urllib3 decodes codings that the standard library lacks."""


@attrs.frozen
class Url:
    """A parsed URL; `target` is %-encoded, `userinfo` as it was written.

    The target of `http://host*` is `*`, the whole server (RFC 9112, section 3.2.4).
    """

    scheme: str
    host: str
    port: int
    target: str
    userinfo: str | None

    @property
    def origin(self) -> tuple[str, str, int]:
        """The origin: scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def is_websocket(self) -> bool:
        """Whether the scheme is ws or wss."""
        return self.scheme in ("ws", "wss")

    @property
    def netloc(self) -> str:
        """Host, and port unless it is the scheme's own: the Host header's value."""
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def text(self) -> str:
        """The whole URL without user info."""
        return f"{self.scheme}://{self.netloc}{self.target}"


def parse_url(url: str) -> Url:
    """Parse a URL. Raises `TransportError` unless its scheme is http, https, ws or wss."""
    match = _URL.match(url)
    whole = match is not None and match[2].endswith("*") and not match[3] and not match[4]
    given = match[2].removesuffix("*" if whole else "") if match else ""
    authority = _AUTHORITY.fullmatch(given)
    if match is None or authority is None:
        raise TransportError(f"not an absolute http or https URL: {show(url)}")
    scheme = match[1].lower()
    try:
        host = authority[2].lower()
        if not host.isascii():
            host = host.encode("idna").decode("ascii")
        port = int(authority[3] or _PORTS[scheme])
    except ValueError as error:  # UnicodeError is a ValueError
        raise TransportError(f"not a host name: {show(authority[2])}") from error
    if not 0 < port < 65536:
        raise TransportError(f"not a port: {port}")
    if not _HOST.fullmatch(host):
        raise TransportError(f"not a host name: {show(authority[2])}")
    path = match[3].replace("\\", "%5C")
    slash = "" if path.startswith("/") else "/"
    target = quote_from_bytes(to_bytes(f"{slash}{path}{match[4] or ''}"), safe=_TARGET_SAFE)
    return Url(scheme, host, port, "*" if whole else target, authority[1])


def wire_url(request: Request) -> str:
    """Return the URL with the request target as it is sent, user info included.

    Raises `TransportError` unless it is an http or https URL.
    """
    url = parse_url(request.url)
    if not url.userinfo:
        return url.text
    parts = (unquote_to_bytes(to_bytes(part)) for part in url.userinfo.split(":", 1))
    userinfo = ":".join(quote_from_bytes(part, safe="") for part in parts)
    return f"{url.scheme}://{userinfo}@{url.netloc}{url.target}"


def show(text: str) -> str:
    """Return text of a document or a server in a form that is safe in an error message."""
    shown = text if len(text) <= 200 else f"{text[:200]}..."
    return shown if shown.isprintable() else ascii(shown)


@cache
def accept_encoding() -> str:
    """Return the codings that urllib3 decodes here, as its `make_headers` does.

    A dry run shows them, too, without importing urllib3, which would take longer than the rest.
    """
    found = [coding for coding, packages in _CODINGS.items() if any(map(_is_installed, packages))]
    return ", ".join(("gzip", "deflate", *found))


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:  # its parent package is missing
        return False


def wire_headers(request: Request, *, cookie: str | None = None) -> Headers:
    """Return the header lines as sent: defaults that the user did not override, then the user's.

    Raises `TransportError` for a URL, a header name or a value that cannot be sent.
    """
    url = parse_url(request.url)
    return headers_for(authorized(request, url), url, cookie)


def authorized(request: Request, url: Url) -> Request:
    """Return the first request that is sent, including additions of its credentials."""
    if request.credentials is None:
        return request
    return next(request.credentials.flow(request, url.netloc, url.target))


def headers_for(request: Request, url: Url, cookie: str | None) -> Headers:
    """Return the header lines as `wire_headers` does, for a parsed URL."""
    if not is_token(request.method):
        raise TransportError(f"not a method: {show(request.method)}")
    if url.target == "*" and request.method != "OPTIONS":
        raise TransportError(f"{request.method} * cannot be sent: only OPTIONS has no path")
    for name, value in request.headers:
        if not is_token(name):
            raise TransportError(f"not a header name: {show(name)}")
        if any(c in value for c in "\r\n\0"):
            raise TransportError(f"the value of {name} holds a line break or a NUL")
        if name.lower() == "content-length" and value.strip() != str(len(request.body or b"")):
            size = f"{len(request.body or b''):,} bytes"
            raise TransportError(
                f"Content-Length is {show(value)}, but the body has {size}: leave the header out"
            )
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


def check_destination(request: Request, url: Url | None = None) -> None:
    """Raise TransportError if a secret in a request may not go to `url`, by default the request's.

    Also raises it if the request's URL is invalid.
    """
    if not request.bound:
        return
    url = url or parse_url(request.url)
    for one in request.bound:
        if not any(_matches(listed, url) for listed in one.hosts):
            raise TransportError(
                f"the secret {one.name} is not sent to {url.scheme}://{url.netloc}: "
                f"in {one.listed} its hosts are {', '.join(one.hosts)}",
                code="secret-elsewhere",
            )


def _matches(listed: str, url: Url) -> bool:
    given = listed if "://" in listed else f"https://{listed}"
    scheme, _, rest = given.partition("://")
    below = rest.startswith("*.")
    try:
        allowed = parse_url(f"{scheme}://{rest.removeprefix('*.')}")
    except OrgrestError:
        return False
    if (_SECURE.get(url.scheme, url.scheme), url.port) != (allowed.scheme, allowed.port):
        return False
    return url.host.endswith(f".{allowed.host}") if below else url.host == allowed.host
