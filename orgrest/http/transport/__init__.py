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

`client` sends a request in the form that `wire` gives it, over the connections of `pools` (proxies,
TLS) and `connections` (exactness), within `limits`; `reading` reads the response, `cookies` keeps
cookies. A redirect needs `redirects`, a stream `events` or `websocket`, a failure `errors`. Only
`client`, and what it imports, needs urllib3: a dry run does not.
"""
