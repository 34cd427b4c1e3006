"""The header lines of a request as they are sent: ours, then the user's."""

from __future__ import annotations

from urllib3.util import make_headers

from orgrest.http.auth.basic import basic
from orgrest.http.syntax import is_token
from orgrest.http.transport.urls import Url, parse_url, show
from orgrest.model import AwsCredentials, Headers, Request, TransportError

USER_AGENT = "orgrest"
ACCEPT_ENCODING = make_headers(accept_encoding=True)["accept-encoding"].replace(",", ", ")


def wire_headers(request: Request, *, cookie: str | None = None) -> Headers:
    """Return the header lines as they are sent: ours, where the user gave none, then the user's.

    Raises `TransportError` for a URL, a header name or a value that cannot be sent.
    """
    return headers_for(request, parse_url(request.url), cookie)


def headers_for(request: Request, url: Url, cookie: str | None) -> Headers:
    """Return what `wire_headers` does, for a URL that was taken apart already."""
    if not is_token(request.method):
        raise TransportError(f"not a method: {show(request.method)}")
    for name, value in request.headers:
        if not is_token(name):
            raise TransportError(f"not a header name: {show(name)}")
        if any(c in value for c in "\r\n\0"):
            raise TransportError(f"the value of {name} holds a line break or a NUL")
    given = {name.lower() for name, _ in request.headers}
    ours = [
        ("Host", url.netloc),
        ("User-Agent", USER_AGENT),
        ("Accept-Encoding", ACCEPT_ENCODING),
        ("Accept", "*/*"),
    ]
    if url.userinfo:
        ours.append(("Authorization", basic(url.userinfo)))
    if cookie:
        ours.append(("Cookie", cookie))
    headers = [(name, value) for name, value in ours if name.lower() not in given]
    headers += request.headers
    sends_body = request.body is not None or request.method.upper() in ("POST", "PUT", "PATCH")
    if sends_body and not given & {"content-length", "transfer-encoding"}:
        headers.append(("Content-Length", str(len(request.body or b""))))
    if isinstance(request.credentials, AwsCredentials):
        from orgrest.http.auth.sigv4 import sign

        host = request.header("Host") or url.netloc
        own = tuple((n, v) for n, v in request.headers if n.lower() != "host")
        body = request.body or b""
        headers += sign(request.credentials, request.method, host, url.target, own, body)
    return tuple(headers)
