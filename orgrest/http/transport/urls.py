"""Parsing URLs into the parts needed for connecting and for the request line."""

from __future__ import annotations

import re
from urllib.parse import quote_from_bytes, unquote_to_bytes

import attrs

from orgrest.model import Request, TransportError, to_bytes

_URL = re.compile(r"(https?|wss?)://([^/?#\\]*)([^?#]*)(\?[^#]*)?", re.IGNORECASE)
_AUTHORITY = re.compile(r"(?:(.*)@)?(\[[0-9A-Fa-f:.]+(?:%[\w.~-]+)?\]|[^\[\]:@]+)(?::(\d*))?")
_HOST = re.compile(r"\[.+\]|[\w~!$&'()*+,;=-]+(?:\.[\w~!$&'()*+,;=-]+)*\.?", re.ASCII)
_TARGET_SAFE = "-._~!$&'()*+,;=:@/?%"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}


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
    """Parse a URL. Raises `TransportError` unless it is one of http, https, ws or wss."""
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
    except ValueError as error:  # UnicodeError is one
        raise TransportError(f"not a host name: {show(authority[2])}") from error
    if not 0 < port < 65536:
        raise TransportError(f"not a port: {port}")
    if not _HOST.fullmatch(host):
        raise TransportError(f"not a host name: {show(authority[2])}")
    path = match[3].replace("\\", "%5C")
    return Url(
        scheme=scheme,
        host=host,
        port=port,
        target="*"
        if whole
        else _target((path if path.startswith("/") else f"/{path}") + (match[4] or "")),
        userinfo=authority[1],
    )


def resolve(base: Url, reference: str) -> Url:
    """Return what a reference, as of a `Location` header, means at `base`.

    Source: RFC 3986, section 5.2, where a reference of the base's own scheme may be relative.
    `urllib.parse.urljoin` loses what is empty in a path or a query. Raises `TransportError`.
    """
    scheme, _, relative = reference.partition(":")
    if scheme.lower() == base.scheme and not relative.startswith("//"):
        reference = relative
    path, mark, query = reference.partition("#")[0].partition("?")
    if path.startswith("//"):
        reference = f"{base.scheme}:{reference}"
    elif not _SCHEME.match(path):
        own, *asked = ("/" if base.target == "*" else base.target).partition("?")
        if not path:
            path, (mark, query) = own, (mark, query) if mark else asked
        elif not path.startswith("/"):
            path = own[: own.rindex("/") + 1] + path
        reference = f"{base.scheme}://{base.netloc}{path}{mark}{query}"
    found = parse_url(reference)
    path, mark, query = found.target.partition("?")
    return attrs.evolve(found, target=f"{_without_dots(path)}{mark}{query}")


def _without_dots(path: str) -> str:
    """Return a path without the segments `.` and `..` (RFC 3986, section 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == ".." and len(kept) > 1:
            kept.pop()
        if segment not in (".", ".."):
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)


def _target(text: str) -> str:
    """Return a path and query as in the request line: %-encoded where necessary."""
    return quote_from_bytes(to_bytes(text), safe=_TARGET_SAFE)


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
