"""Sending requests over the network: the only folder that opens a socket.

Strategy: urllib3 does connections, pools, TLS, proxies and content codings; what this folder adds
is exactness and limits. Exactness: the header lines, in the user's order, spelling and bytes, and
the request target, reach the wire as `wire_headers` and `wire_url` give them, and the response's
header lines are those of the server. Limits: time (connecting, silence, the whole exchange), bytes
received, bytes decoded; a hostile server can make a request fail but not hang or fill the memory.

Redirects are followed here and not by urllib3: 307 and 308 repeat the request, 302 and 303 turn it
into a GET, 301 does so with a POST; of the request's headers only a short list (`Accept` and the
like) goes to another origin, cookies and what holds a secret never, and a body that holds one is
not sent on at all. A redirect loop is an error.

Everything that goes wrong is a `TransportError` in plain words, with the request's place.

`client` sends, over the connections of `pools` (proxies, TLS) and `connections` (one, exact), with
the lines of `headers` for the parts of `urls`, within `limits`; `redirects`, `cookies` and
`codings` are what HTTP has them for; `streams` and `websocket` listen to what comes bit by bit;
`thread_safe` is a socket for two threads; `errors` finds the words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.transport.cookies import Cookies
from orgrest.http.transport.headers import wire_headers
from orgrest.http.transport.limits import Budget
from orgrest.http.transport.urls import wire_url

if TYPE_CHECKING:
    from orgrest.http.transport.client import Client

__all__ = ["Budget", "Client", "Cookies", "wire_headers", "wire_url"]


def __getattr__(name: str) -> object:
    """Load the client, and urllib3 with it, for those who send: a dry run does not."""
    if name == "Client":
        from orgrest.http.transport.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
