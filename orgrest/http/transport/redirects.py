"""The request that follows a redirect.

Within an origin (scheme, host and port) everything is sent again. Another origin gets no
credentials, no client certificate, and only the headers of an allow-list: any other header may
carry a credential (`X-Api-Key`). What of a request holds a secret is known from how it was made
(`Request.held`); its bytes are searched as well. An origin that a secret of the user's may not be
sent to gets nothing of a request that holds it.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

import attrs

from orgrest.http.transport.destinations import check_destination
from orgrest.http.transport.urls import parse_url, resolve, show
from orgrest.model import Request, Response, Secret, TransportError, possible, to_bytes

STATUSES = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 10

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
_OF_ORIGIN = frozenset({"host"})  # replaced, not left out


def _becomes_get(status: int, method: str) -> bool:
    """Return whether a redirect turns a method into GET (Fetch standard, HTTP-redirect fetch)."""
    if status == 303:
        return method not in ("GET", "HEAD")
    return status in (301, 302) and method == "POST"


def _may_go(request: Request, url: str) -> bool:
    """Tell whether the user's secrets in a request, in whatever form, may be sent to a URL."""
    try:
        check_destination(attrs.evolve(request, url=url))
    except TransportError:
        return False
    return True


def _parts(url: str) -> set[str]:
    """Return the segments and values of a URL that may be a secret in another form."""
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
        bare = not _may_go(request, new.text)
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
    if new.origin == old.origin:  # the server may have sent back what is in the URL
        of_url = possible(one for part, one in request.held if part == "url")
        held = frozenset(pair for pair in request.held if pair[0] not in ("url", "body"))
        held |= {("url", one) for one in of_url}
        held |= {pair for pair in request.held if pair[0] == "body" and body is not None}
    following = attrs.evolve(request, method=method, url=url, headers=headers, body=body, held=held)
    return following, left_out
