"""Sending requests over the network: the only folder that opens a socket.

urllib3 handles connections, pools, TLS, proxies and content codings; this package adds exactness
and limits. Exactness: the header lines, in the user's order, spelling and bytes, and the request
target are sent exactly as `wire_headers` and `wire_url` return them, and the response's header
lines are the server's. Limits: time (connecting, silence, the whole exchange), bytes received,
bytes decoded; a hostile server can make a request fail but not hang or fill the memory.

Redirects are followed here and not by urllib3: 307 and 308 repeat the request, 302 and 303 turn it
into a GET, 301 does so with a POST; only a short list of the request's headers (`Accept` and the
like) goes to another origin, never cookies or headers with a secret; a body with a secret is not
sent on at all. A redirect loop is an error.

Every failure is a `TransportError` in plain words, with the request's position.

`client` sends, over the connections of `pools` (proxies, TLS) and `connections` (one, exact), with
`headers` and `urls`, within `limits` and the `budget` of a run; `redirects`, `cookies` and
`codings` implement these parts of HTTP; `streams` and `websocket` receive messages; `thread_safe`
is a socket for two threads; `errors` words the messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.transport.budget import BrokenOffError, Budget
from orgrest.http.transport.cookies import Cookies
from orgrest.http.transport.destinations import check_destination
from orgrest.http.transport.headers import wire_headers
from orgrest.http.transport.trace import Hop, Trace
from orgrest.http.transport.urls import wire_url

if TYPE_CHECKING:
    from orgrest.http.transport.client import Client

__all__ = [
    "BrokenOffError",
    "Budget",
    "Client",
    "Cookies",
    "Hop",
    "Trace",
    "check_destination",
    "wire_headers",
    "wire_url",
]


def __getattr__(name: str) -> object:
    """Load the client, and urllib3 with it, for those who send: a dry run does not."""
    if name == "Client":
        from orgrest.http.transport.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
