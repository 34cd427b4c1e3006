"""Where a request may go that holds a secret of the user's: to the origins listed with it.

An origin is listed as `api.example.com` (https, port 443), `api.example.com:8443`, `*.example.com`
(all below example.com) or `http://localhost:3000`, which alone allows http.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.transport.urls import parse_url
from orgrest.model import OrgrestError, TransportError

if TYPE_CHECKING:
    from orgrest.http.transport.urls import Url
    from orgrest.model import Request

_SECURE = {"wss": "https", "ws": "http"}


def check_destination(request: Request) -> None:
    """Raise TransportError if a secret in a request may not go to its URL, or this is none."""
    if not request.bound:
        return
    url = parse_url(request.url)
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
