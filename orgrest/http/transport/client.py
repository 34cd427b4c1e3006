"""The client: sends a request, follows its redirects, and returns the response."""

from __future__ import annotations

import http.client
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

import attrs
import urllib3

from orgrest.http.transport.addresses import PrivateAddressError, is_public, literal
from orgrest.http.transport.budget import BrokenOffError, Budget
from orgrest.http.transport.codings import is_cut_short, oddities
from orgrest.http.transport.connections import CANCELLED, Exchange, Sockets
from orgrest.http.transport.cookies import Cookies
from orgrest.http.transport.destinations import check_destination
from orgrest.http.transport.errors import DAMAGED_CHUNKS, code_of, explain, is_closed
from orgrest.http.transport.headers import flow_of, headers_for
from orgrest.http.transport.limits import (
    BODY_LIMIT,
    CONNECT_TIMEOUT,
    READ_TIMEOUT,
    TOTAL_TIMEOUT,
    Limits,
)
from orgrest.http.transport.pools import Pools, tls_context
from orgrest.http.transport.redirects import MAX_REDIRECTS, STATUSES, redirected
from orgrest.http.transport.streams import (
    MOST,
    SILENCE,
    Listener,
    check_events,
    is_events,
    read_events,
    wants_events,
)
from orgrest.http.transport.trace import Trace
from orgrest.http.transport.urls import Url, parse_url, show
from orgrest.model import (
    Redirect,
    Request,
    Response,
    Timing,
    TransportError,
    find_headers,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WITHOUT_BODY = frozenset({204, 304})
"""The statuses of responses that end with their header (RFC 9112, section 6.3)."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@attrs.frozen
class _Sending:
    """What all exchanges that answer one request have in common."""

    cookies: Cookies
    limits: Limits
    listener: Listener
    trace: Trace
    deadline: float
    proxy: str | None


class Client:
    """A pooled HTTP client for one run; use it as a context manager. Safe to share by threads.

    `ca` is a file or folder of PEM certificates that replaces the system's (certifi's if the system
    has none); `insecure` disables verification. `limit` is the number of bytes of a decoded body
    that are kept, `budget` is what all requests together may do. Raises `OrgrestError` if `ca`
    cannot be read. With `allow_private`, redirects of public servers to private addresses are
    followed. `proxy` is the URL of the one to send through, else that of the environment is.
    `warnings` must be shown to the user.
    """

    def __init__(
        self,
        *,
        connect_timeout: float = CONNECT_TIMEOUT,
        read_timeout: float = READ_TIMEOUT,
        total_timeout: float = TOTAL_TIMEOUT,
        limit: int = BODY_LIMIT,
        budget: Budget | None = None,
        ca: Path | None = None,
        insecure: bool = False,
        allow_private: bool = False,
        proxy: str | None = None,
    ) -> None:
        self._limits = Limits(connect_timeout, read_timeout, total_timeout, limit)
        self.budget = budget or Budget()
        self._allow_private = allow_private
        self._proxy = proxy
        self._sockets = Sockets()
        self._tls = partial(tls_context, ca, insecure=insecure)
        self._pools = Pools(self._sockets, self._tls)
        self._public = Pools(self._sockets, self._tls)
        self.warnings = (
            ("TLS certificates are not verified (--insecure): anyone may answer",)
            if insecure
            else ()
        )
        if ca is not None:
            self._tls()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._pools.close()
        self._public.close()

    def abort(self) -> None:
        """Abort all requests from another thread, and refuse further ones.

        Callers that wait for a response or a connection get a `TransportError` at once; those that
        wait for a DNS lookup or a SOCKS proxy get it when that attempt has ended.
        """
        self._sockets.abort()

    def new_cookies(self) -> Cookies:
        """Return a cookie store for one document."""
        return Cookies()

    def send(
        self,
        request: Request,
        *,
        cookies: Cookies | None = None,
        follow: bool = True,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        messages: int = MOST,
        on_message: Callable[[str], None] | None = None,
        trace: Trace | None = None,
        proxy: str | None = None,
    ) -> Response:
        """Send a request, follow its redirects, and read the response.

        `timeout` in seconds limits the whole exchange, `connect_timeout` connecting; neither
        exceeds the time that the budget has left. A stream (a WebSocket, server-sent events) is
        read for that time or for a number of `messages`, each of which is passed to `on_message` as
        it arrives. `trace` gets what goes over the wire. `proxy` is one for this request. Raises
        `TransportError`, which is a `BrokenOffError` if the budget is spent.
        """
        trace = trace or Trace()
        try:
            limits = self._limits.within(timeout, connect_timeout, self.budget.left())
            url = parse_url(request.url)
            if timeout is None and (url.is_websocket or wants_events(request)):
                limits = attrs.evolve(limits, silence=min(limits.silence, SILENCE))
            listener = Listener(messages, limits.body, on_message)
            try:
                jar = cookies if cookies is not None else Cookies()
                deadline = time.monotonic() + limits.total
                through = proxy or self._proxy
                sending = _Sending(jar, limits, listener, trace, deadline, through)
                if url.is_websocket:
                    return self._websocket(request, url, sending)
                return self._follow(request, sending, follow=follow)
            except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
                reason = CANCELLED if self._sockets.aborted else explain(error, limits)
                raise TransportError(reason, code=code_of(error)) from error
        except BrokenOffError:
            raise
        except TransportError as error:
            place = {"file": request.file, "line": request.line, "column": request.column}
            raise TransportError(error.reason, code=error.code, **place) from error  # type: ignore[arg-type]  # as above

    def _websocket(self, request: Request, url: Url, sending: _Sending) -> Response:
        from orgrest.http.transport import websocket

        if request.method not in websocket.METHODS:
            raise TransportError(f"a WebSocket cannot be opened with {request.method}")
        if request.credentials is not None and request.credentials.one_connection:
            raise TransportError("a WebSocket cannot be opened with NTLM credentials")
        self._pools.refuse_proxy(url, sending.proxy)
        check_destination(request)
        self.budget.send()
        tls = self._tls(request.certificate) if url.scheme == "wss" else None
        cookie = sending.cookies.header(url.text.replace("ws", "http", 1))
        sending.trace.sent(request, headers_for(next(flow_of(request, url)), url, cookie))
        response = websocket.exchange(
            request, url, cookie, self._sockets, tls, sending.limits, sending.listener
        )
        self.budget.receive(len(response.body))
        sending.trace.answered(response)
        return response

    def _follow(self, request: Request, sending: _Sending, *, follow: bool) -> Response:
        start = time.monotonic()
        redirects: list[Redirect] = []
        warnings: list[str] = []
        timing = Timing()
        while True:
            response = self._authenticated(request, sending)
            timing += response.timing or Timing()
            location = response.header("Location")
            if not follow or response.status not in STATUSES or location is None:
                break
            if len(redirects) == MAX_REDIRECTS:
                reason = f"still redirected after {MAX_REDIRECTS} redirects, to {show(location)}"
                raise TransportError(f"{reason}: given up (:follow no shows the first)")
            if not self._allow_private and not sending.limits.public:
                # Once a public server has redirected, no later hop may lead to a private address.
                asked = literal(parse_url(request.url).host) or self._sockets.exchange.peer
                limits = attrs.evolve(sending.limits, public=not asked or is_public(asked))
                sending = attrs.evolve(sending, limits=limits)
            request, left_out = redirected(request, response, location)
            host = parse_url(request.url).host
            address = literal(host)
            if sending.limits.public and address is not None and not is_public(address):
                raise PrivateAddressError(host, address)
            redirects.append(Redirect(response.status, response.reason, request.url))
            if left_out:
                names = ", ".join(left_out)
                warnings.append(f"not sent on to another origin, {show(request.url)}: {names}")
        if request.streamed:
            check_events(response)
        return attrs.evolve(
            response,
            duration=time.monotonic() - start,
            redirects=tuple(redirects),
            timing=timing,
            warnings=(*warnings, *response.warnings),
        )

    def _authenticated(self, request: Request, sending: _Sending) -> Response:
        """Send a request as often as its credentials require; return the last response."""
        if request.credentials is None or not request.credentials.one_connection:
            pools = self._public if sending.limits.public else self._pools  # no pooled private one
            return self._flow(request, sending, pools)
        pools = Pools(self._sockets, self._tls)
        try:
            return self._flow(request, sending, pools)
        finally:
            pools.close()

    def _flow(self, request: Request, sending: _Sending, pools: Pools) -> Response:
        flow = flow_of(request, parse_url(request.url))
        sent, timing = next(flow), Timing()
        while True:
            response = self._exchange(sent, sending, pools)
            timing += response.timing or Timing()
            try:
                sent = flow.send(response)
            except StopIteration as done:
                told = () if done.value is None else (done.value,)
                warnings = (*response.warnings, *told)
                return attrs.evolve(response, timing=timing, warnings=warnings)

    def _exchange(self, request: Request, sending: _Sending, pools: Pools) -> Response:
        if self._sockets.aborted:
            raise TransportError(CANCELLED)
        check_destination(request)
        url = parse_url(request.url)
        limits = sending.limits
        lines = headers_for(request, url, sending.cookies.header(url.text))
        pool, forwarded = pools.pool(url, request.certificate, sending.proxy)
        target = url.text if forwarded else url.target
        length = next(find_headers(lines, "Content-Length"), None)
        coding = next(find_headers(lines, "Transfer-Encoding"), None)
        announced = length is None or length == str(len(request.body or b""))
        while True:
            self.budget.send()
            sending.trace.sent(request, lines)
            exchange = self._sockets.exchange = Exchange(
                lines,
                target,
                sending.deadline,
                limits.wire,
                public=limits.public,
                last=not announced or (coding is not None and length is not None),
            )
            try:
                raw = pool.urlopen(
                    request.method,
                    target,
                    body=request.body,
                    headers={},
                    retries=False,
                    redirect=False,
                    assert_same_host=False,
                    timeout=limits.timeout,
                    preload_content=False,
                    chunked=coding is not None and coding.lower().endswith("chunked"),
                )
            except urllib3.exceptions.ProtocolError as error:
                # The server closed a kept-alive connection without a response (RFC 9110, 9.2.2).
                if exchange.reused and is_closed(error) and request.method.upper() in _SAFE:
                    continue
                raise
            listens = sending.listener if wants_events(request) else None
            response = _read(raw, exchange, url, sending.cookies, listens, limits)
            self.budget.receive(len(response.body))
            sending.trace.answered(response)
            return response


def _read(
    raw: urllib3.BaseHTTPResponse,
    exchange: Exchange,
    url: Url,
    cookies: Cookies,
    listener: Listener | None,
    limits: Limits,
) -> Response:
    """Read a response, with a limit on its decoded body; a `listener` gets its events."""
    original = cast("http.client.HTTPResponse", cast("Any", raw)._original_response)
    cookies.store(url.text, original)
    if raw.status in WITHOUT_BODY:
        original.chunked = False  # else http.client waits for chunks
    limit, why = limits.body, None
    try:
        if listener is not None and is_events(str(original.headers.get("Content-Type", ""))):
            why = read_events(raw, listener)
            body = bytes(listener.body)
        else:
            body = raw.read(limit + 1)
    except ValueError as error:  # http.client's word for a chunk of negative size
        raw.close()
        raise TransportError(DAMAGED_CHUNKS) from error
    truncated = len(body) > limit
    if truncated:
        raw.close()
    elif why is None and raw.tell() and is_cut_short(cast("Any", raw)._decoder):
        coding = show(raw.headers["Content-Encoding"])
        raise TransportError(f"the body is cut short: its {coding} data never comes to an end")
    return Response(
        status=raw.status,
        reason=_text(original.reason),
        version="1.0" if original.version == 10 else "1.1",
        headers=tuple((_text(n), _text(v)) for n, v in original.headers.items()),
        body=body[:limit],
        duration=0.0,
        url=url.text,
        truncated=truncated,
        warnings=(*oddities(original), *(() if why is None else (why,))),
        timing=exchange.timing(),
        certificate=exchange.certificate,
    )


def _text(latin: str) -> str:
    """Return what http.client read as Latin-1, as UTF-8 with the other bytes escaped."""
    return latin.encode("latin-1", "replace").decode("utf-8", "surrogateescape")
