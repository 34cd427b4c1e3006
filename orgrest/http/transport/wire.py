"""The URL and header lines of a request as they are sent, and the origins that may get secrets.

The user lists the origins for each secret: `api.example.com` (https on port 443),
`api.example.com:8443`, `*.example.com` (all subdomains), or `http://localhost:3000`, the only form
that allows http.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.util import find_spec
from typing import Final
from urllib.parse import quote_from_bytes, unquote, unquote_to_bytes

from orgrest import classes
from orgrest.http.auth.basic import of_userinfo
from orgrest.http.syntax import has_break, is_token
from orgrest.model import (
    BAD_LENGTH,
    Headers,
    OrgrestError,
    Request,
    TransportError,
    short,
    to_bytes,
)
from orgrest.regular import compiled

_URL = compiled(r"(https?|wss?)://([^/?#\\]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_AUTHORITY = compiled(r"(?:(.*)@)?(\[[0-9A-Fa-f:.]+(?:%[\w.~-]+)?\]|[^\[\]:@]+)(?::(\d*))?")
_LONGEST_HOST = 1000
_HOST = compiled(r"\[.+\]|[\w~!$&'()*+,;=-]+(?:\.[\w~!$&'()*+,;=-]+)*\.?", re.ASCII)
_DOTS = compiled("[.\u3002\uff0e\uff61]")
_KEPT = compiled("([ß\u03c2\u200c\u200d])")
_TARGET_SAFE = "-._~!$&'()*+,;=:@/?%"
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_SHORTEST_PART = 6  # minimum length of a part that may be a secret
_WITHOUT_LENGTH = frozenset({"GET", "HEAD", "DELETE", "TRACE", "OPTIONS", "CONNECT"})
"""Methods for which urllib3 sends no Content-Length if there is no body."""
_SECURE = {"wss": "https", "ws": "http"}
EVENTS: Final = "text/event-stream"
"""The media type of server-sent events."""
USER_AGENT = "orgrest"
_CODINGS: Final = {
    "br": ("brotlicffi", "brotli"),
    "zstd": ("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd",),
}
"""The packages that urllib3 uses for content codings that the standard library lacks."""


@classes.frozen
class Url:
    """A parsed URL. `target` is percent-encoded, and `userinfo` is unchanged.

    The target of `http://host*` is `*`: the whole server (RFC 9112, section 3.2.4).
    """

    scheme: str
    host: str
    port: int
    target: str
    userinfo: str | None

    @property
    def origin(self) -> tuple[str, str, int]:
        """The scheme, host and port."""
        return self.scheme, self.host, self.port

    @property
    def is_websocket(self) -> bool:
        """Whether the scheme is ws or wss."""
        return self.scheme in ("ws", "wss")

    @property
    def netloc(self) -> str:
        """The value of the Host header: the host, and the port unless it is the default."""
        return self.host if self.port == _PORTS[self.scheme] else f"{self.host}:{self.port}"

    @property
    def text(self) -> str:
        """The whole URL without user info."""
        return f"{self.scheme}://{self.netloc}{self.target}"


def parse_url(url: str) -> Url:
    """Return a parsed URL. Raises `TransportError` unless its scheme is http, https, ws or wss."""
    match = _URL.match(url)
    whole = match is not None and match[2].endswith("*") and not match[3] and not match[4]
    given = match[2].removesuffix("*" if whole else "") if match else ""
    authority = _AUTHORITY.fullmatch(given)
    if match is None or authority is None:
        raise TransportError(f"expected an absolute http or https URL, found {show(url)}")
    scheme = match[1].lower()
    try:
        host = _ascii_host(authority[2])
        port = int(authority[3] or _PORTS[scheme])
    except ValueError as error:  # UnicodeError is a ValueError
        raise TransportError(f"invalid host name in {show(url)}") from error
    if not 0 < port < 65536:
        raise TransportError(f"invalid port: {port}")
    if not _HOST.fullmatch(host):
        raise TransportError(f"invalid host name in {show(url)}")
    slash = "" if match[3].startswith("/") else "/"
    target = _quoted(f"{slash}{match[3]}{match[4] or ''}")
    return Url(scheme, host, port, "*" if whole else target, authority[1])


def _ascii_host(host: str) -> str:
    """Return a host name as it is looked up (UTS #46, nontransitional).

    Raises ValueError if the name is invalid. Python's codec implements IDNA 2003, in which the
    characters that `_KEPT` matches are replaced or removed: the result may be someone else's host.
    """
    if host.isascii():
        return host.lower()
    if len(host) > _LONGEST_HOST:  # converting it would take too long
        raise ValueError("host name too long")
    # Not `host.lower()`, which would turn a capital sigma into one of those characters.
    return ".".join(map(_ascii_label, _DOTS.split("".join(map(str.lower, host)))))


def _ascii_label(label: str) -> str:
    if _KEPT.search(label):
        from encodings.idna import nameprep

        parts = (part if _KEPT.match(part) else nameprep(part) for part in _KEPT.split(label))
        label = f"xn--{''.join(parts).encode('punycode').decode('ascii')}"
    return label.encode("idna").decode("ascii")


def _quoted(target: str, safe: str = "") -> str:
    return quote_from_bytes(to_bytes(target), safe=_TARGET_SAFE + safe)


def quoted_url(url: str, safe: str = "") -> str:
    """Return a URL with its path and query percent-encoded as they are sent, and no fragment.

    The characters in `safe` are not encoded. Text that is no URL is returned unchanged.
    """
    match = _URL.match(url)
    if match is None:
        return url
    target = _quoted(f"{match[3]}{match[4] or ''}", safe)
    return f"{match[1]}://{match[2]}{target}"


def parts_of(url: str) -> set[str]:
    """Return the segments and query values of a URL that are long enough to be secrets."""
    _, _, rest = url.partition("://")
    _, _, rest = rest.partition("/")
    segments = {
        part for segment in re.split(r"[/?#&=;,]", rest) for part in (segment, unquote(segment))
    }
    return {part for part in segments if len(part) >= _SHORTEST_PART}


def wire_url(request: Request) -> str:
    """Return the URL as it is sent, with user info unless there is an Authorization header.

    Raises `TransportError` unless the scheme is http, https, ws or wss.
    """
    url = parse_url(request.url)
    if not url.userinfo or request.header("Authorization") is not None:
        return url.text
    parts = (unquote_to_bytes(to_bytes(part)) for part in url.userinfo.split(":", 1))
    userinfo = ":".join(quote_from_bytes(part, safe="") for part in parts)
    return f"{url.scheme}://{userinfo}@{url.netloc}{url.target}"


def show(text: str, most: int = 200) -> str:
    """Return text from a document or server, shortened and escaped for an error message."""
    shown = short(text, most)
    return shown if shown.isprintable() else ascii(shown)


@cache
def accept_encoding() -> str:
    """Return the content codings that urllib3 can decode, as the value of Accept-Encoding.

    The value depends on the installed packages.
    """
    # A dry run also shows this value, and importing urllib3 (`make_headers`) would be slow.
    optional = [
        coding for coding, packages in _CODINGS.items() if any(map(_is_installed, packages))
    ]
    return ", ".join(("gzip", "deflate", *optional))


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:  # its parent package is missing
        return False


def wire_headers(request: Request) -> Headers:
    """Return the header lines of a request in the order in which they are sent.

    Defaults for missing headers come first, then the request's headers, then Content-Length if
    needed. Raises `TransportError` for a URL, method, header name or value that cannot be sent.
    """
    url = parse_url(request.url)
    return headers_for(authorized(request, url), url, None)


def authorized(request: Request, url: Url) -> Request:
    """Return the request as it is first sent, with the headers that its credentials add."""
    if request.credentials is None:
        return request
    return next(request.credentials.flow(request, url.netloc, url.target))


def headers_for(request: Request, url: Url, cookie: str | None) -> Headers:
    """Return the header lines that are sent for a request to a URL.

    `cookie` is the value of the Cookie header. Raises `TransportError` for a method, header name or
    value that cannot be sent.
    """
    if not is_token(request.method):
        raise TransportError(f"invalid method: {show(request.method)}")
    if url.target == "*" and request.method != "OPTIONS":
        raise TransportError(
            f"{request.method} * cannot be sent: only OPTIONS requests can have * as the path"
        )
    for name, value in request.headers:
        if not is_token(name):
            raise TransportError(f"invalid header name: {show(name)}")
        if has_break(value):
            raise TransportError(f"the value of {name} contains a line break or a NUL")
        if name.lower() == "content-length" and value.strip() != str(len(request.body or b"")):
            size = f"{len(request.body or b''):,} bytes"
            raise TransportError(
                f"Content-Length is {show(value)}, but the body has {size}: remove the header",
                code=BAD_LENGTH,
            )
    names = {name.lower() for name, _ in request.headers}
    ours = [
        ("Host", url.netloc),
        ("User-Agent", USER_AGENT),
        ("Accept-Encoding", accept_encoding()),
        ("Accept", "*/*"),
    ]
    if url.userinfo:
        ours.append(("Authorization", of_userinfo(url.userinfo)))
    if cookie:
        ours.append(("Cookie", cookie))
    headers = [(name, value) for name, value in ours if name.lower() not in names]
    headers += request.headers
    has_length = request.body is not None or request.method.upper() not in _WITHOUT_LENGTH
    if has_length and not url.is_websocket and not names & {"content-length", "transfer-encoding"}:
        headers.append(("Content-Length", str(len(request.body or b""))))
    return tuple(headers)


def check_destination(request: Request, url: Url | None = None) -> None:
    """Raise TransportError if a request contains a secret that may not be sent to `url`.

    The default for `url` is the request's URL.
    """
    if not request.bound:
        return
    url = url or parse_url(request.url)
    for bound in request.bound:
        if not any(_matches(listed, url) for listed in bound.hosts):
            raise TransportError(
                f"the secret {bound.name} is not sent to {url.scheme}://{url.netloc}: "
                f"{bound.listed} allows only {', '.join(bound.hosts)}",
                code="secret-elsewhere",
            )


def _matches(listed: str, url: Url) -> bool:
    pattern = listed if "://" in listed else f"https://{listed}"
    scheme, _, rest = pattern.partition("://")
    below = rest.startswith("*.")
    try:
        allowed = parse_url(f"{scheme}://{rest.removeprefix('*.')}")
    except OrgrestError:
        return False
    if (_SECURE.get(url.scheme, url.scheme), url.port) != (allowed.scheme, allowed.port):
        return False
    return url.host.endswith(f".{allowed.host}") if below else url.host == allowed.host
