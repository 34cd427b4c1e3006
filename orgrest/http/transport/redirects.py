"""Computes the request that follows a redirect.

Within an origin (scheme, host and port), everything is sent again. Another origin does not get
credentials or a client certificate. It gets only the headers in an allow-list, since any other
header may contain a credential (`X-Api-Key`). `Request.held` records which parts of a request
contain a secret, and the request is also searched for secrets. If a secret's binding excludes the
origin, none of the request's headers are sent there, and redirecting a body there is an error.

A public server could redirect to a private address (`http://169.254.169.254/`, a router, a service
on loopback), so that the client sends requests that the server cannot send itself (SSRF).
Therefore, an address counts as private unless it is known to be public. Sources: IANA's
special-purpose address registries for IPv4 and IPv6, as of RFC 9637; RFC 6052 (NAT64), RFC 3056
(6to4), RFC 5214 (ISATAP).
"""

from __future__ import annotations

import ipaddress
import socket
from base64 import b64encode
from typing import TYPE_CHECKING
from urllib.parse import unquote

from orgrest import classes
from orgrest.http.transport.wire import Url, check_destination, parse_url, parts_of, show
from orgrest.model import Request, Response, Secret, TransportError, possible, to_bytes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

_ABOUT_BODY = frozenset(
    [
        *("content-encoding", "content-language", "content-length", "content-location"),
        *("content-type", "digest", "expect", "last-modified", "transfer-encoding"),
    ]
)
"""Headers that are left out if the body is left out (RFC 9110, section 15.4, item 5)."""
_TO_ANY_ORIGIN = {
    "accept",
    "accept-charset",
    "accept-encoding",
    "accept-language",
    "cache-control",
    "content-encoding",
    "content-language",
    "content-length",
    "content-type",
    "dnt",
    "expect",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "if-unmodified-since",
    "pragma",
    "prefer",
    "range",
    "transfer-encoding",
    "user-agent",
}
_SHORTEST = 6  # minimum length of a secret that is also searched for in encoded form
_SCHEME = compiled(r"[A-Za-z][A-Za-z0-9+.-]*:")
_OF_ORIGIN = frozenset({"host"})  # replaced for another origin, not left out
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
    if status == 303:  # Fetch standard, HTTP-redirect fetch
        return method not in ("GET", "HEAD")
    return status in (301, 302) and method == "POST"


def _may_get_secrets(request: Request, url: Url) -> bool:
    try:
        check_destination(request, url)
    except TransportError:
        return False
    return True


def _contains_any(url: str, secrets: Iterable[str]) -> bool:
    plain = unquote(url)
    low, words = plain.lower(), plain.replace("-", "+").replace("_", "/")
    for secret in secrets:
        data = to_bytes(secret)
        if secret in url or secret in plain:
            return True
        if (
            len(secret) >= _SHORTEST
            and (
                data.hex() in low
                # The encoded data may begin before the secret and continue after it, which changes
                # the first and the last characters.
                or any(
                    b64encode(bytes(skipped) + data)[-(-skipped * 4 // 3) : -4].decode() in words
                    for skipped in range(3)
                )
            )
        ):
            return True
    return False


def redirected(
    request: Request, response: Response, location: str
) -> tuple[Request, tuple[str, ...]]:
    """Return the request that follows a redirect, and the names of the headers it leaves out.

    Raises `TransportError` if the location is invalid. Also raises it if the location is on another
    origin and a secret is in the body, the method or the new URL.
    """
    old = parse_url(request.url)
    try:
        new = resolve(old, location)
    except TransportError as error:
        raise TransportError(f"invalid redirect URL: {show(location)}") from error
    if new.scheme not in ("http", "https"):
        raise TransportError(f"invalid redirect URL: {show(location)}")
    headers = request.headers
    method, body = request.method, request.body
    left_out: tuple[str, ...] = ()
    if _becomes_get(response.status, method.upper()):
        method, body = "GET", None
        headers = tuple((n, v) for n, v in headers if n.lower() not in _ABOUT_BODY)
    if new.origin != old.origin:
        bare = not _may_get_secrets(request, new)
        if request.credentials is not None:
            left_out = ("Authorization",)
        request = classes.evolve(request, credentials=None, certificate=None)
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
                f"did not follow the redirect to another origin, {show(new.text)}, because the "
                "body contains a secret"
            )
        if request.holds("method"):
            raise TransportError(
                f"did not follow the redirect to another origin, {show(new.text)}, because the "
                "method contains a secret"
            )
        if _contains_any(new.text, request.secrets) or (
            request.holds("url") and _contains_any(new.text, parts_of(request.url))
        ):
            raise TransportError(
                "did not follow the redirect to another origin, "
                f"{new.scheme}://{new.netloc}, because the URL contains a secret"
            )
    userinfo = old.userinfo if new.origin == old.origin else None
    url = f"{new.scheme}://{userinfo}@{new.netloc}{new.target}" if userinfo else new.text
    held: frozenset[tuple[str, Secret]] = frozenset()
    if new.origin == old.origin:  # the new URL may contain parts of the old URL
        of_url = possible(held_secret for part, held_secret in request.held if part == "url")
        held = frozenset(pair for pair in request.held if pair[0] not in ("url", "body"))
        held |= {("url", held_secret) for held_secret in of_url}
        held |= {pair for pair in request.held if pair[0] == "body" and body is not None}
    following = classes.evolve(
        request, method=method, url=url, headers=headers, body=body, held=held
    )
    return following, left_out


def resolve(base: Url, reference: str) -> Url:
    """Return the URL of a reference, such as a `Location` header, relative to `base`.

    A reference with the scheme of `base` may still be relative (RFC 3986, section 5.2). Raises
    `TransportError` if the URL is invalid.
    """
    # urllib.parse.urljoin drops empty parts of a path or a query.
    scheme, _, relative = reference.partition(":")
    if scheme.lower() == base.scheme and not relative.startswith("//"):
        reference = relative
    path, mark, query = reference.partition("#")[0].partition("?")
    if path.startswith("//"):
        reference = f"{base.scheme}:{reference}"
    elif not _SCHEME.match(path):
        own, *own_query = ("/" if base.target == "*" else base.target).partition("?")
        if not path:
            path, (mark, query) = own, (mark, query) if mark else own_query
        elif not path.startswith("/"):
            path = own[: own.rindex("/") + 1] + path
        reference = f"{base.scheme}://{base.netloc}{path}{mark}{query}"
    target_url = parse_url(reference)
    path, mark, query = target_url.target.partition("?")
    return classes.evolve(target_url, target=f"{_without_dots(path)}{mark}{query}")


def _without_dots(path: str) -> str:
    kept: list[str] = []  # RFC 3986, section 5.2.4
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
    """Raised if a public server redirects to a private address."""

    def __init__(self, host: str, address: str) -> None:
        where = host if host == address else f"{host} ({address})"
        super().__init__(
            f"a public server redirects to a private address, {where}: not followed (use "
            "--allow-private to follow)"
        )


def is_public(address: str) -> bool:
    """Return whether an IP address, and any IPv4 address embedded in it, is public.

    Returns False for text that is not an address.
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
    """Return the IP address of a URL's host, or None if only a DNS lookup can find it."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):  # RFC 6761
        return "127.0.0.1"
    try:
        addresses = socket.getaddrinfo(name, None, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return None
    return str(addresses[0][4][0])


def check_public(host: str) -> None:
    """Raise PrivateAddressError if a URL's host is a private address. Does no DNS lookup."""
    address = literal(host)
    if address is not None and not is_public(address):
        raise PrivateAddressError(host, address)


def was_public(host: str, peer: str) -> bool:
    """Return whether the server at the other end of a connection is public.

    `host` is the host of the URL. `peer` is the server's address, or "" if a proxy was used. With a
    proxy, a host name counts as public.
    """
    address = literal(host) or peer
    return not address or is_public(address)
