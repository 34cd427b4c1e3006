"""The request that follows a redirect.

Within an origin (scheme, host and port) everything is sent again. Another origin gets no
credentials, no client certificate, and only the headers of an allow-list: any other header may
carry a credential (`X-Api-Key`). The parts of a request that hold a secret are recorded when it is
completed (`Request.held`); its bytes are searched as well. An origin that one of the user's secrets
may not be sent to gets no part of a request that holds it.

A public server that redirects to a private address (`http://169.254.169.254/`, a router, a service
on loopback) would make the client send requests that the server cannot send itself (SSRF). So an
address is private unless it is known to be public. Sources: IANA's special-purpose address
registries for IPv4 and IPv6, as of RFC 9637; RFC 6052 (NAT64), RFC 3056 (6to4), RFC 5214 (ISATAP).
"""

from __future__ import annotations

import ipaddress
import re
import socket
from urllib.parse import unquote

import attrs

from orgrest.http.transport.wire import Url, check_destination, parse_url, show
from orgrest.model import Request, Response, Secret, TransportError, possible, to_bytes

_ABOUT_BODY = frozenset({"content-length", "transfer-encoding", "content-encoding", "expect"})
_TO_ANY_ORIGIN = _ABOUT_BODY | {
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-language",
    "content-type",
    "dnt",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "pragma",
    "prefer",
    "range",
    "user-agent",
}
_SHORTEST = 6  # characters of a part of a URL that is looked for in others
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_OF_ORIGIN = frozenset({"host"})  # replaced, not left out
_UNICAST = ipaddress.IPv6Network("2000::/3")
"""The only IPv6 block from which IANA assigns public addresses."""
_SPECIAL_6 = tuple(
    map(
        ipaddress.IPv6Network,
        ("2001::/23", "2001:db8::/32", "3fff::/20"),  # protocols (Teredo, ORCHID), documentation
    )
)
_SPECIAL_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
            *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
            *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3"),
        ),
    )
)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_ISATAP = 0x5EFE
"""The middle of an ISATAP interface identifier, before the IPv4 address in the last 32 bits."""


def _becomes_get(status: int, method: str) -> bool:
    """Return whether a redirect turns a method into GET (Fetch standard, HTTP-redirect fetch)."""
    if status == 303:
        return method not in ("GET", "HEAD")
    return status in (301, 302) and method == "POST"


def _may_go(request: Request, url: Url) -> bool:
    """Return whether the user's secrets in a request, in any form, may be sent to a URL."""
    try:
        check_destination(request, url)
    except TransportError:
        return False
    return True


def _parts(url: str) -> set[str]:
    """Return the segments and query values of a URL that may be a secret in another form."""
    _, _, rest = url.partition("://")
    _, _, rest = rest.partition("/")
    found = {part for one in re.split(r"[/?#&=;,]", rest) for part in (one, unquote(one))}
    return {part for part in found if len(part) >= _SHORTEST}


def redirected(
    request: Request, response: Response, location: str
) -> tuple[Request, tuple[str, ...]]:
    """Return the request that follows a redirect, and the names of the headers removed.

    Raises `TransportError` for an invalid location, and for another origin with a secret in the
    body or the URL.
    """
    old = parse_url(request.url)
    try:
        new = resolve(old, location)
    except TransportError as error:
        raise TransportError(f"not a URL to redirect to: {show(location)}") from error
    if new.scheme not in ("http", "https"):
        raise TransportError(f"not a URL to redirect to: {show(location)}")
    headers = request.headers
    method, body = request.method, request.body
    left_out: tuple[str, ...] = ()
    if _becomes_get(response.status, method.upper()):
        method, body = "GET", None
        headers = tuple((n, v) for n, v in headers if n.lower() not in _ABOUT_BODY)
    if new.origin != old.origin:
        bare = not _may_go(request, new)
        if request.credentials is not None:
            left_out = ("Authorization",)
        request = attrs.evolve(request, credentials=None, certificate=None)
        crossing = tuple(
            (name, value)
            for name, value in headers
            if name.lower() in _TO_ANY_ORIGIN
            and not bare
            and not request.holds(name.lower())
            and not any(secret in value for secret in request.secrets)
        )
        left_out += tuple(
            dict.fromkeys(
                name
                for name, value in headers
                if (name, value) not in crossing and name.lower() not in _OF_ORIGIN
            )
        )
        headers = crossing
        if body is not None and (
            bare
            or request.holds("body")
            or any(to_bytes(secret) in body for secret in request.secrets)
        ):
            raise TransportError(
                f"the server redirects to another origin, {show(new.text)}; "
                "the body holds a secret and is not sent on"
            )
        if request.holds("method"):
            raise TransportError(
                f"the server redirects to another origin, {show(new.text)}; "
                "the method holds a secret and is not sent on"
            )
        looked_for = {*request.secrets, *(_parts(request.url) if request.holds("url") else ())}
        if any(one in text for one in looked_for for text in (new.text, unquote(new.text))):
            raise TransportError(
                f"the server redirects to another origin, {new.scheme}://{new.netloc}; "
                "the URL holds a secret and is not asked for"
            )
    userinfo = old.userinfo if new.origin == old.origin else None
    url = f"{new.scheme}://{userinfo}@{new.netloc}{new.target}" if userinfo else new.text
    held: frozenset[tuple[str, Secret]] = frozenset()
    if new.origin == old.origin:  # the server may have echoed the URL
        of_url = possible(one for part, one in request.held if part == "url")
        held = frozenset(pair for pair in request.held if pair[0] not in ("url", "body"))
        held |= {("url", one) for one in of_url}
        held |= {pair for pair in request.held if pair[0] == "body" and body is not None}
    following = attrs.evolve(request, method=method, url=url, headers=headers, body=body, held=held)
    return following, left_out


def resolve(base: Url, reference: str) -> Url:
    """Resolve a reference, such as that of a `Location` header, against `base`.

    Source: RFC 3986, section 5.2, where a reference of the base's own scheme may be relative.
    `urllib.parse.urljoin` loses empty parts of a path or a query. Raises `TransportError`.
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


class PrivateAddressError(TransportError):
    """A redirect to a private address."""

    def __init__(self, host: str, address: str) -> None:
        """Create the error for `host` at `address`."""
        where = host if host == address else f"{host} ({address})"
        super().__init__(
            f"a public server redirects to a private address, {where}: not followed "
            "(--allow-private follows it)"
        )


def is_public(address: str) -> bool:
    """Return whether an IP address is public, as is any IPv4 address embedded in it.

    False for text that is not an address.
    """
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv4Address):
        return not any(parsed in network for network in _SPECIAL_4)
    low = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
    if parsed.ipv4_mapped is not None or parsed in _NAT64:
        return is_public(str(low))
    if parsed not in _UNICAST or any(parsed in network for network in _SPECIAL_6):
        return False
    if parsed.sixtofour is not None and not is_public(str(parsed.sixtofour)):
        return False
    return int(parsed) >> 32 & 0xFFFF != _ISATAP or is_public(str(low))


def literal(host: str) -> str | None:
    """Return the address of a URL's host if no DNS lookup is needed, None for other names."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761
        return "127.0.0.1"
    try:
        found = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(found[0][4][0])


def check_public(host: str) -> None:
    """Raise PrivateAddressError for the host of a URL that is a private address, not a name."""
    address = literal(host)
    if address is not None and not is_public(address):
        raise PrivateAddressError(host, address)


def was_public(host: str, peer: str) -> bool:
    """Return whether a URL's host, which was connected to at the address `peer`, is public.

    `peer` is empty if that is not known (through a proxy): a name then counts as public.
    """
    address = literal(host) or peer
    return not address or is_public(address)
