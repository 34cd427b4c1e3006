"""Sends requests over the network. No code outside this package connects to servers.

urllib3 handles connections, pools, TLS, proxies and content codings. Header lines and the request
target are sent exactly as `wire_headers` and `wire_url` return them. The header lines of a response
are kept as the server sent them. There are limits on the time (for connecting, for pauses between
bytes, and for the whole exchange) and on the bytes received and decoded. A hostile server can make
a request fail, but cannot make it hang or exhaust memory.

Redirects are followed here instead of by urllib3. The status codes 307 and 308 repeat the request.
303 turns any method except HEAD into a GET, and 301 and 302 turn a POST into a GET. Another origin
gets only a short list of the request's headers (such as `Accept`), and no header that contains a
secret. If the method, the new URL or the body contains a secret, a redirect to another origin is an
error. A redirect loop is also an error.

Every failure is a `TransportError` with an explanation in plain words and the request's position.

`client` sends a request within `limits`. `wire` determines the bytes to send. `pools` (proxies,
TLS) and `connections` (exact bytes) provide the connections. `reading` reads the response. Only
`client` and the modules that it imports need urllib3. A dry run does not load urllib3.
"""
