"""The HTTP client: sends a request, follows its redirects, and returns the response."""

from __future__ import annotations

import http.client
import itertools
import time
from functools import partial
from typing import TYPE_CHECKING, Any, Self, cast

import urllib3

from orgrest import classes
from orgrest.http.transport.connections import CANCELLED, Sockets
from orgrest.http.transport.cookies import Cookies
from orgrest.http.transport.limits import (
    BODY_LIMIT,
    CONNECT_TIMEOUT,
    MOST_MESSAGES,
    READ_TIMEOUT,
    SILENCE,
    TIME_OVER,
    TOTAL_TIMEOUT,
    BrokenOffError,
    Budget,
    Limits,
)
from orgrest.http.transport.pools import Pools, tls_context
from orgrest.http.transport.reading import ConnectionExchange, answer, read
from orgrest.http.transport.wire import (
    EVENTS,
    Url,
    authorized,
    check_destination,
    headers_for,
    parse_url,
    show,
)
from orgrest.model import (
    REDIRECTS,
    Credentials,
    Headers,
    Redirect,
    Request,
    Response,
    Timing,
    TransportError,
    find_header,
    find_headers,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from orgrest.http.transport.events import Listener

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 10
_NO_RETRIES = urllib3.Retry.from_int(False)
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


@classes.define(eq=False)
class Hop:
    """A request with the header lines that were sent, and its response.

    `number` is the request's position in the run, starting at 1. `started` is a Unix time, and
    `began` is the same moment on the monotonic clock. If no response arrived, `response` is None,
    and `duration` is the time in seconds until the error. If its body could not be read to the end,
    `response` has no body. If an error caused the request to be sent again, `error` is that error.
    """

    request: Request
    number: int
    started: float
    response: Response | None = None
    error: TransportError | None = None
    duration: float | None = None
    began: float = classes.field(factory=time.monotonic)


@classes.define(eq=False)
class _Sending:
    """The state that all exchanges for one request share."""

    cookies: Cookies
    limits: Limits
    deadline: float
    proxy: str | None
    hops: list[Hop]
    numbers: Iterator[int]
    listener: Listener | None = None
    forwarded: bool = False  # by a proxy

    def begin(self, request: Request, lines: Headers) -> Hop:
        wired = classes.evolve(request, headers=lines, credentials=None)
        self.hops.append(Hop(wired, next(self.numbers), time.time()))
        return self.hops[-1]

    def end(self) -> None:
        if self.hops and self.hops[-1].response is None:
            self.hops[-1].duration = time.monotonic() - self.hops[-1].began


class Client:
    """A pooled HTTP client for one run, used as a context manager. Threads may share it.

    - `ca` is a file or folder of PEM certificates to use instead of the system's (or certifi's, if
      the system has none).
    - `insecure` disables the verification of certificates.
    - `limit` is the maximum size of a decoded body, in bytes. The rest is discarded.
    - `budget` limits the requests, the received bytes and the time of the whole run.
    - `allow_private` allows redirects from public servers to private addresses.
    - `proxy` is a proxy URL. The default is the environment's proxy.

    `warnings` contains messages that must be shown to the user. The constructor raises
    `OrgrestError` if `ca` cannot be read.
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
        unsafe = "TLS certificates are not verified (--insecure): responses may come from anyone"
        self.warnings = (unsafe,) if insecure else ()
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
        """Abort all requests in progress, and refuse new requests.

        Threads that wait for a response or a connection get a `TransportError` immediately. Threads
        that wait for a DNS lookup or a SOCKS proxy get the error afterwards.
        """
        self._sockets.abort()

    def send(
        self,
        request: Request,
        *,
        cookies: Cookies | None = None,
        follow: bool = True,
        timeout: float | None = None,
        connect_timeout: float | None = None,
        messages: int = MOST_MESSAGES,
        on_message: Callable[[str], None] | None = None,
        hops: list[Hop] | None = None,
        numbers: Iterator[int] | None = None,
        proxy: str | None = None,
    ) -> Response:
        """Send a request, follow its redirects, and return the response.

        - `timeout` limits the whole exchange, and `connect_timeout` limits connecting. Both are in
          seconds, and cannot exceed the time that the budget has left.
        - A stream (a WebSocket or server-sent events) is read until a time limit, or until
          `messages` messages have arrived. Each message is passed to `on_message` as it arrives.
        - All exchanges are added to `hops`, including redirects, challenges and retries. `numbers`
          yields their numbers. All requests of a run share this iterator.
        - `proxy` replaces the client's proxy.

        Raises `TransportError`, which is a `BrokenOffError` if the budget is spent.
        """
        try:
            limits = self._limits.within(timeout, connect_timeout, self.budget.left())
            url = parse_url(request.url)
            sending = _Sending(
                cookies if cookies is not None else Cookies(),
                limits,
                time.monotonic() + limits.total,
                proxy or self._proxy,
                hops if hops is not None else [],
                numbers or itertools.count(1),
            )
            accepted = find_headers(request.headers, "Accept")
            if url.is_websocket or any(EVENTS in value.lower() for value in accepted):
                from orgrest.http.transport.events import Listener

                sending.listener = Listener(messages, limits, self.budget, on_message)
                if timeout is None:
                    silence = min(limits.silence, SILENCE)
                    sending.limits = limits = classes.evolve(limits, silence=silence)
            try:
                if url.is_websocket:
                    return self._websocket(request, url, sending)
                return self._follow(request, url, sending, follow=follow)
            except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError) as error:
                from orgrest.http.transport.errors import code_of, explain, is_timeout

                response = sending.hops[-1].response if sending.hops else None
                reason = explain(error, limits, forwarded=sending.forwarded, response=response)
                if self._sockets.aborted:
                    reason = CANCELLED
                if is_timeout(error) and self.budget.is_overtime:
                    reason = f"{CANCELLED}: {TIME_OVER}"
                raise TransportError(reason, code=code_of(error)) from error
            finally:
                sending.end()
        except BrokenOffError:
            raise
        except TransportError as error:
            place = {"file": request.file, "line": request.line, "column": request.column}
            raise TransportError(error.reason, code=error.code, **place) from error  # type: ignore[arg-type]  # as above

    def _websocket(self, request: Request, url: Url, sending: _Sending) -> Response:
        from orgrest.http.transport import websocket

        websocket.check(request)
        self._pools.refuse_proxy(url, sending.proxy)
        check_destination(request, url)
        self.budget.send()
        tls = self._tls(request.certificate) if url.scheme == "wss" else None
        cookie, listener = sending.cookies.header(url), cast("Listener", sending.listener)
        hop = sending.begin(request, headers_for(authorized(request, url), url, cookie))

        def handshake(lines: Headers) -> None:
            hop.request = classes.evolve(hop.request, headers=lines)

        response = websocket.exchange(
            request, url, cookie, self._sockets, tls, sending.limits, listener, handshake
        )
        self.budget.receive(len(response.body))
        hop.response = response
        return response

    def _follow(self, request: Request, url: Url, sending: _Sending, *, follow: bool) -> Response:
        start = time.monotonic()
        redirects: list[Redirect] = []
        warnings: list[str] = []
        while True:
            # Reusing a connection in `_pools` is not safe: it may lead to a private address.
            pools = self._public if sending.limits.public else self._pools
            if request.credentials is None:
                response = self._exchange(request, url, sending, pools)
            else:
                response = self._authenticated(request, request.credentials, url, sending, pools)
            location = response.header("Location")
            if not follow or response.status not in _REDIRECTS or location is None:
                break
            if len(redirects) == _MAX_REDIRECTS:
                raise TransportError(
                    f"too many redirects: gave up after {_MAX_REDIRECTS}; the next one "
                    f"leads to {show(location)}",
                    code=REDIRECTS,
                )
            from orgrest.http.transport.redirects import check_public, redirected, was_public

            if not self._allow_private and not sending.limits.public:
                # After a redirect by a public server, no later hop may lead to a private address.
                public = was_public(url.host, self._sockets.thread.exchange.peer)
                sending.limits = classes.evolve(sending.limits, public=public)
            request, left_out = redirected(request, response, location)
            url = parse_url(request.url)
            if sending.limits.public:
                check_public(url.host)
            redirects.append(Redirect(response.status, response.reason, request.url))
            if left_out:
                names = ", ".join(left_out)
                warnings.append(
                    f"headers not sent after the redirect to another origin, {show(request.url)}: "
                    f"{names}"
                )
        if request.streamed:
            from orgrest.http.transport.events import check_events

            check_events(response)
        if len(sending.hops) == 1:
            return response
        timings = (hop.response.timing for hop in sending.hops if hop.response is not None)
        return classes.evolve(
            response,
            duration=time.monotonic() - start,
            redirects=tuple(redirects),
            timing=sum(filter(None, timings), Timing()),
            warnings=(*warnings, *response.warnings),
        )

    def _authenticated(
        self,
        request: Request,
        credentials: Credentials,
        url: Url,
        sending: _Sending,
        pools: Pools,
    ) -> Response:
        alone = Pools(self._sockets, self._tls) if credentials.one_connection else None
        try:
            flow = credentials.flow(request, url.netloc, url.target)
            sent = next(flow)
            while True:
                response = self._exchange(sent, url, sending, alone or pools)
                try:
                    sent = flow.send(response)
                except StopIteration as done:
                    warnings = () if done.value is None else (done.value,)
                    return classes.evolve(response, warnings=(*response.warnings, *warnings))
        finally:
            if alone is not None:
                alone.close()

    def _exchange(self, request: Request, url: Url, sending: _Sending, pools: Pools) -> Response:
        if self._sockets.aborted:
            raise TransportError(CANCELLED)
        check_destination(request, url)
        limits = sending.limits
        lines = headers_for(request, url, sending.cookies.header(url))
        pool, sending.forwarded = pools.pool(url, request.certificate, sending.proxy)
        target = url.text if sending.forwarded else url.target
        length = find_header(lines, "Content-Length")
        coding = find_header(lines, "Transfer-Encoding")
        announced = length is None or length == str(len(request.body or b""))
        while True:
            self.budget.send(begun=bool(sending.hops))
            hop = sending.begin(request, lines)
            exchange = self._sockets.thread.exchange = ConnectionExchange(
                lines,
                target,
                sending.deadline,
                8 * limits.body + 2**20,  # enough for any body within its limit
                public=limits.public,
                last=not announced or (coding is not None and length is not None),
            )
            try:
                raw = pool.urlopen(
                    request.method,
                    target,
                    body=request.body,
                    headers={},
                    retries=_NO_RETRIES,
                    redirect=False,
                    assert_same_host=False,
                    timeout=urllib3.Timeout(connect=limits.connect, read=limits.silence),
                    preload_content=False,
                    chunked=coding is not None and coding.lower().endswith("chunked"),
                )
            except urllib3.exceptions.ProtocolError as error:
                from orgrest.http.transport.errors import code_of, explain, is_closed

                # Retry if the server closed a reused connection instead of responding
                # (RFC 9110, 9.2.2). After `abort`, this client closed it.
                is_stale = exchange.reused and is_closed(error) and not self._sockets.aborted
                if not (is_stale and request.method.upper() in _SAFE):
                    raise
                hop.error = TransportError(
                    explain(error, limits, forwarded=sending.forwarded), code=code_of(error)
                )
                sending.end()
                continue
            original = cast("Any", raw)._original_response
            if "set-cookie" in original.fields:
                sending.cookies.store(url, original.fields["set-cookie"])
            try:
                hop.response = read(raw, exchange, url, sending.listener, limits)
            except Exception:
                hop.response = answer(raw, exchange, url)
                raise
            self.budget.receive(len(hop.response.body))
            return hop.response
