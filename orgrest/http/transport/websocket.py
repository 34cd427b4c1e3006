"""Opens WebSockets (RFC 6455) with the package `websockets`.

The body of a request contains the messages, separated by `===` lines. `=== wait-for-server` waits
for a message from the server before the next message is sent. Several such lines wait for several
messages. The response has the status of the handshake. Its body consists of the server's messages,
one per line, with binary messages in Base64.
"""

from __future__ import annotations

import contextlib
import re
import selectors
import socket
import ssl
import threading
import time
from base64 import b64encode
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from orgrest import classes
from orgrest.http.transport.connections import CANCELLED
from orgrest.http.transport.limits import OverdueError
from orgrest.http.transport.wire import authorized, headers_for, show
from orgrest.model import INTERRUPTED, Headers, Request, Response, TransportError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.transport.connections import Sockets
    from orgrest.http.transport.events import Listener
    from orgrest.http.transport.limits import Limits
    from orgrest.http.transport.wire import Url

_METHODS = frozenset({"GET", "WEBSOCKET"})
_SEPARATOR = compiled(rb"^===[ \t]*(wait-for-server)?[ \t]*(?://.*)?\r?$", re.MULTILINE)
# Headers that the handshake sets itself; they may have been pasted from a browser.
_OWN = compiled(
    r"host|connection|upgrade|content-length|accept-encoding|"
    r"sec-websocket-(?:key|version|extensions|protocol)"
)
_INVALID_FRAME = frozenset({1002, 1007})
"""The codes with which `websockets` closes a connection after an invalid frame (RFC 6455, 7.4)."""
_T = TypeVar("_T")

_RECHECK = 1.0
"""The interval in seconds at which waiting threads check whether the socket was closed."""


def check(request: Request) -> None:
    """Raise `TransportError` if a request cannot open a WebSocket."""
    if request.method not in _METHODS:
        raise TransportError(f"WebSockets cannot be opened with {request.method}: use GET")
    if request.credentials is not None and request.credentials.one_connection:
        raise TransportError("WebSockets cannot be opened with NTLM credentials")


def messages(body: bytes) -> list[tuple[bool, bytes]]:
    """Return the messages in a body, as pairs (wait, message).

    `wait` says whether to wait for a message from the server first. An empty message is not sent.
    """
    parts = _SEPARATOR.split(body)
    waits = [False, *(mark is not None for mark in parts[1::2])]
    return list(zip(waits, (part.strip() for part in parts[::2]), strict=True))


def exchange(
    request: Request,
    url: Url,
    cookie: str | None,
    sockets: Sockets,
    tls: ssl.SSLContext | None,
    limits: Limits,
    listener: Listener,
    sent: Callable[[Headers], None],
) -> Response:
    """Open a WebSocket, send and receive messages, close it, and return the response.

    At the end, `sent` is called with the header lines of the handshake, if they were sent. The
    response may also be the server's refusal, with a status of 400 or above. Raises
    `TransportError` for any other response that does not open the WebSocket, for an invalid frame,
    and if the WebSocket is lost or not opened in time. Raises urllib3's errors if no connection is
    established, and OSError if TCP or TLS fails for any other reason.
    """
    from websockets import exceptions

    client: Any = import_module("websockets.sync.client")  # untyped: its types require a socket
    options = _options(request, url, cookie, limits)

    def connection(sock: socket.socket, *arguments: Any, **options: Any) -> Any:
        safe = ThreadSafeSocket(sock, limits.total)
        made = client.ClientConnection(safe, *arguments, **options)
        stack.callback(report, made)
        return made

    def report(made: Any) -> None:
        if made.request is not None:
            sent(tuple(made.request.headers.raw_items()))

    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        try:
            with sockets.connecting():
                sock = sockets.connect(url, url.host.strip("[]"), limits.connect, ())
                opened = stack.enter_context(
                    client.connect(
                        url.text, sock=sock, ssl=tls, create_connection=connection, **options
                    )
                )
                sockets.add(opened.socket)
            why = _talk(opened, messages(request.body or b""), limits, start, listener)
        except exceptions.InvalidStatus as error:
            refusal = error.response
            if refusal.status_code < 400:
                status_line = show(f"{refusal.status_code} {refusal.reason_phrase}".strip())
                reason = f"could not open the WebSocket: the server answered {status_line}"
                raise TransportError(reason) from error
            return _response(url, refusal, bytes(refusal.body or b""), limits.body, start, None)
        except TimeoutError as error:
            reason = f"could not open the WebSocket within {limits.connect:g} s"
            raise TransportError(reason, code=INTERRUPTED) from error
        except ssl.SSLError:
            raise
        except (exceptions.WebSocketException, ValueError, TransportError) as error:
            if sockets.aborted:
                raise TransportError(CANCELLED) from error
            if isinstance(error, TransportError):
                raise
            reason = f"could not open the WebSocket: {show(str(error))}"
            raise TransportError(reason, code=INTERRUPTED) from error
        return _response(url, opened.response, bytes(listener.body), limits.body, start, why)


def _options(request: Request, url: Url, cookie: str | None, limits: Limits) -> dict[str, Any]:
    host = request.header("Host")
    if host is not None and host.lower() != url.netloc:
        raise TransportError("the Host header of a WebSocket must match its URL")
    opening = classes.evolve(request, method="GET", body=None)
    lines = headers_for(authorized(opening, url), url, cookie)
    protocols = request.header("Sec-WebSocket-Protocol")
    return {
        "subprotocols": [protocol.strip() for protocol in protocols.split(",")]
        if protocols
        else None,
        "additional_headers": [line for line in lines if not _OWN.fullmatch(line[0].lower())],
        "user_agent_header": None,
        "proxy": None,
        "open_timeout": limits.connect,
        "close_timeout": 1,
        "max_size": max(limits.body, 1),
    }


def _talk(
    opened: Any,
    parts: list[tuple[bool, bytes]],
    limits: Limits,
    start: float,
    listener: Listener,
) -> str | None:
    """Exchange messages, and return why reading stopped early."""
    from websockets.exceptions import ConnectionClosed

    def receive() -> None:
        left = start + limits.total - time.monotonic()
        try:
            data = opened.recv(timeout=max(0, min(left, limits.silence)))
        except TimeoutError as error:
            if left <= limits.silence:
                raise OverdueError from error
            raise
        if isinstance(data, bytes):
            data = f"binary, {len(data)} bytes: {b64encode(data).decode()}"
        text = data.encode("utf-8", "surrogatepass")
        listener.body += text + b"\n"
        listener.receive(text)

    unsent = sum(bool(message) for _, message in parts)
    failed: ConnectionClosed | None = None
    try:
        try:
            for wait, message in parts:
                if wait:
                    receive()
                if message:
                    opened.send(_text(message))
                    unsent -= 1
        except ConnectionClosed as error:
            failed = error  # messages that arrived before are received below
        while not listener.is_full:
            receive()
        why = listener.why()
    except TimeoutError as error:
        why = listener.timed_out("message", error)
    except ConnectionClosed as error:
        is_known = error.rcvd is not None or error.sent is not None
        why = _closed(error if is_known else failed or error, limits.body)
    if unsent:
        why = f"{why or 'the server closed the WebSocket'}; messages that were not sent: {unsent}"
    return why


def _closed(error: Any, limit: int) -> str | None:
    """Return a warning about the server's close frame, or None if the WebSocket ended normally."""
    frame, sent, context = error.rcvd, error.sent, error.__context__
    if sent is not None and sent != frame and sent.code in _INVALID_FRAME:
        raise _invalid(sent.reason) from error
    if isinstance(context, UnicodeDecodeError):  # the server has already closed the connection
        raise _invalid(f"{context.reason} at position {context.start}") from error
    if frame is None and sent is not None and sent.code == 1009:
        return f"stopped reading: a message is longer than {limit} bytes"
    if frame is None:
        unread = sent is None and isinstance(error.__cause__, TimeoutError)
        why = ": the server is not reading the messages sent to it" if unread else ""
        raise TransportError(f"the WebSocket connection was lost{why}", code=INTERRUPTED) from error
    if frame.code in (1000, 1001, 1005):
        return None
    return f"the server closed the WebSocket: {frame.code} {show(frame.reason)}".rstrip()


def _invalid(reason: str) -> TransportError:
    return TransportError(f"the server sent an invalid frame: {show(reason)}", code=INTERRUPTED)


def _text(message: bytes) -> str | bytes:
    try:
        return message.decode()  # `websockets` sends a str in a text frame
    except UnicodeDecodeError:
        return message


def _response(
    url: Url, answer: Any, body: bytes, limit: int, start: float, why: str | None
) -> Response:
    headers: Headers = tuple(answer.headers.raw_items())
    return Response(
        status=answer.status_code,
        reason=answer.reason_phrase,
        version="1.1",
        headers=headers,
        body=body[:limit],
        truncated=len(body) > limit,
        duration=time.monotonic() - start,
        url=url.text,
        warnings=() if why is None else (why,),
    )


class ThreadSafeSocket:
    """A socket on which one thread can read while another thread writes.

    The package `websockets` uses a socket in this way, which has two problems with TLS. OpenSSL
    allows only one call at a time per connection: a request that is written while the session
    tickets of TLS 1.3 are read can get lost. A read blocks if only those tickets have arrived, and
    closing the socket in another thread does not wake it. Therefore, this class makes one call at a
    time, and waits for the peer between calls.

    Each `sendall` call ends after at most `timeout` seconds.
    """

    def __init__(self, connected: socket.socket, timeout: float) -> None:
        connected.setblocking(False)
        self.socket = connected
        self._timeout = timeout
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Return the file descriptor, or -1 once the socket is closed."""
        return self.socket.fileno()

    def settimeout(self, seconds: float | None) -> None:
        """Set the timeout of each `sendall` call, in seconds. It can only be shortened."""
        if seconds is not None:
            self._timeout = min(self._timeout, seconds)

    def recv(self, size: int) -> bytes:
        """Return received bytes, or b"" at the end of the stream.

        Raises OSError on failure, including when this side closed the socket.
        """
        return self._retried(partial(self.socket.recv, size), selectors.EVENT_READ, None)

    def sendall(self, data: bytes) -> None:
        """Send all data. Raises OSError, or TimeoutError if the peer does not read the data."""
        deadline = time.monotonic() + self._timeout
        left = memoryview(data)
        while left:
            send = partial(self.socket.send, left)
            left = left[self._retried(send, selectors.EVENT_WRITE, deadline) :]

    def shutdown(self, how: int) -> None:
        """Shut the connection down in one or both directions, which wakes waiting threads."""
        socket.socket.shutdown(self.socket, how)

    def close(self) -> None:
        """Close the socket, and wake waiting threads."""
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self.socket.close()

    def _retried(self, call: Callable[[], _T], ready: int, deadline: float | None) -> _T:
        """Repeat a call until the socket is ready."""
        while True:
            try:
                with self._lock:
                    return call()
            except ssl.SSLWantReadError:
                event = selectors.EVENT_READ
            except ssl.SSLWantWriteError:
                event = selectors.EVENT_WRITE
            except BlockingIOError:
                event = ready
            left = _RECHECK if deadline is None else min(_RECHECK, deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError("the server is not reading the messages sent to it")
            with selectors.DefaultSelector() as selector:
                try:
                    selector.register(self.socket, event)
                except ValueError as error:
                    raise OSError("the connection was closed") from error
                selector.select(left)
