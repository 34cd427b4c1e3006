"""WebSockets (RFC 6455), opened by the package `websockets`.

A request's body holds the messages, with lines `===` between them. `=== wait-for-server` waits for
a server message before the next message is sent; several of these lines wait for several. The
response has the status of the handshake, and as its body the server's messages, a line for each;
binary messages in base64.
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

import attrs

from orgrest.http.transport.connections import CANCELLED
from orgrest.http.transport.wire import authorized, headers_for, show
from orgrest.model import Headers, Request, Response, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.transport.connections import Sockets
    from orgrest.http.transport.events import Listener
    from orgrest.http.transport.limits import Limits
    from orgrest.http.transport.wire import Url

_METHODS = frozenset({"GET", "WEBSOCKET"})
_SEPARATOR = re.compile(rb"^===[ \t]*(wait-for-server)?[ \t]*(?://.*)?\r?$", re.MULTILINE)
# Headers that the handshake sets itself; those pasted from a browser are redundant.
_OWN = re.compile(
    r"host|connection|upgrade|content-length|accept-encoding|"
    r"sec-websocket-(?:key|version|extensions|protocol)"
)
_T = TypeVar("_T")

_RECHECK = 1.0
"""The interval in seconds at which waiting threads check whether the socket was closed."""


def check(request: Request) -> None:
    """Raise `TransportError` for a request that cannot open a WebSocket."""
    if request.method not in _METHODS:
        raise TransportError(f"a WebSocket cannot be opened with {request.method}")
    if request.credentials is not None and request.credentials.one_connection:
        raise TransportError("a WebSocket cannot be opened with NTLM credentials")


def messages(body: bytes) -> list[tuple[bool, bytes]]:
    """Return the messages to send: pairs of text and whether to wait for a server message first.

    An empty message is not sent.
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
) -> Response:
    """Open a WebSocket over a new connection, send and receive messages, and close it.

    A refusing server's response is returned. Raises `TransportError`, also for a success without an
    upgrade, and OSError if no connection is established.
    """
    from websockets import exceptions

    client: Any = import_module("websockets.sync.client")  # whose types want a socket
    options = _options(request, url, cookie, limits)

    def connection(sock: socket.socket, *arguments: Any, **options: Any) -> Any:
        safe = ThreadSafeSocket(sock, limits.total)
        return client.ClientConnection(safe, *arguments, **options)

    start = time.monotonic()
    with contextlib.ExitStack() as stack:
        try:
            with sockets.connecting():
                sock = sockets.connect((url.host.strip("[]"), url.port), limits.connect, ())
                opened = stack.enter_context(
                    client.connect(
                        url.text, sock=sock, ssl=tls, create_connection=connection, **options
                    )
                )
                sockets.add(opened.socket)
            why = _talk(opened, messages(request.body or b""), limits, start, listener)
        except exceptions.InvalidStatus as error:
            found = error.response
            if found.status_code < 400:
                answered = show(f"{found.status_code} {found.reason_phrase}".strip())
                reason = f"no WebSocket opened: the server answered {answered}"
                raise TransportError(reason) from error
            return _response(url, found, bytes(found.body or b""), limits.body, start, None)
        except TimeoutError as error:
            raise TransportError(f"no WebSocket opened within {limits.connect:g} s") from error
        except ssl.SSLError:
            raise
        except (exceptions.WebSocketException, ValueError, TransportError) as error:
            if sockets.aborted:
                raise TransportError(CANCELLED) from error
            if isinstance(error, TransportError):
                raise
            raise TransportError(f"no WebSocket opened: {show(str(error))}") from error
        return _response(url, opened.response, bytes(listener.body), limits.body, start, why)


def _options(request: Request, url: Url, cookie: str | None, limits: Limits) -> dict[str, Any]:
    """Return the package's arguments for a request. Raises `TransportError`."""
    given = request.header("Host")
    if given is not None and given.lower() != url.netloc:
        raise TransportError("the Host of a WebSocket is that of its URL")
    opening = attrs.evolve(request, method="GET", body=None)
    lines = headers_for(authorized(opening, url), url, cookie)
    protocols = request.header("Sec-WebSocket-Protocol")
    return {
        "subprotocols": [one.strip() for one in protocols.split(",")] if protocols else None,
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
    """Send the messages and receive the server's; return why reading stopped early, if so."""
    from websockets.exceptions import ConnectionClosed

    def receive() -> None:
        left = start + limits.total - time.monotonic()
        found = opened.recv(timeout=max(0, min(left, limits.silence)))
        if isinstance(found, bytes):
            found = f"binary, {len(found)} bytes: {b64encode(found).decode()}"
        text = found.encode("utf-8", "surrogatepass")
        listener.body += text + b"\n"
        listener.receive(text)

    unsent = sum(bool(message) for _, message in parts)
    try:
        for wait, message in parts:
            if wait:
                receive()
            if message:
                opened.send(_text(message))
                unsent -= 1
        while not listener.is_full:
            receive()
        why = listener.why()
    except TimeoutError:
        why = "not listened to any longer: no message came in time (# @timeout TIME)"
    except ConnectionClosed as error:
        why = _closed(error, limits.body)
    if unsent:
        why = f"{why or 'the server closed the WebSocket'}; messages that were not sent: {unsent}"
    return why


def _closed(error: Any, limit: int) -> str | None:
    """Describe an abnormal closure by the server.

    Raises `TransportError` if there was no close frame.
    """
    frame = error.rcvd
    if frame is None:
        if error.sent is not None and error.sent.code == 1009:
            return f"not listened to any longer: a message is longer than {limit} bytes"
        unread = isinstance(error.__cause__, TimeoutError)
        why = ": the server does not read what it is sent" if unread else ""
        raise TransportError(f"the WebSocket broke off{why}") from error
    if frame.code in (1000, 1001, 1005):
        return None
    return f"the server closed the WebSocket: {frame.code} {show(frame.reason)}".rstrip()


def _text(message: bytes) -> str | bytes:
    """Return a message as `str` if it is text, which is sent in another kind of frame."""
    try:
        return message.decode()
    except UnicodeDecodeError:
        return message


def _response(
    url: Url, found: Any, body: bytes, limit: int, start: float, why: str | None
) -> Response:
    headers: Headers = tuple(found.headers.raw_items())
    return Response(
        status=found.status_code,
        reason=found.reason_phrase,
        version="1.1",
        headers=headers,
        body=body[:limit],
        truncated=len(body) > limit,
        duration=time.monotonic() - start,
        url=url.text,
        warnings=() if why is None else (why,),
    )


class ThreadSafeSocket:
    """A connected socket whose calls are serialized, and which waits for the peer between them.

    The package `websockets` reads from it in one thread and writes to it in another, which has two
    problems with TLS. OpenSSL allows only one call at a time per connection: a request written
    while the session tickets of TLS 1.3 are read can get lost. And a read blocks if only those
    tickets have arrived; closing the socket in another thread does not wake it, so that a server
    that never answers would be waited for forever.

    It implements what `websockets` uses; each call to send ends after `timeout` seconds.
    """

    def __init__(self, connected: socket.socket, timeout: float) -> None:
        connected.setblocking(False)
        self.socket = connected
        self._timeout = timeout
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Return the file descriptor, -1 after the socket was closed."""
        return self.socket.fileno()

    def settimeout(self, seconds: float | None) -> None:
        """Set the timeout in seconds of a call to send; it can only be shortened."""
        if seconds is not None:
            self._timeout = min(self._timeout, seconds)

    def recv(self, size: int) -> bytes:
        """Return received bytes, or b"" at the end.

        Raises OSError, also if the socket is closed.
        """
        return self._retried(partial(self.socket.recv, size), selectors.EVENT_READ, None)

    def sendall(self, data: bytes) -> None:
        """Send all of it. Raises OSError: a TimeoutError if the peer does not read it."""
        deadline = time.monotonic() + self._timeout
        left = memoryview(data)
        while left:
            send = partial(self.socket.send, left)
            left = left[self._retried(send, selectors.EVENT_WRITE, deadline) :]

    def shutdown(self, how: int) -> None:
        """Shut the connection down for one side or both, which wakes waiting threads."""
        socket.socket.shutdown(self.socket, how)

    def close(self) -> None:
        """Close the socket, and wake waiting threads."""
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self.socket.close()

    def _retried(self, call: Callable[[], _T], ready: int, deadline: float | None) -> _T:
        """Repeat a call until it is done, waiting between calls until the socket is ready."""
        while True:
            try:
                with self._lock:
                    return call()
            except ssl.SSLWantReadError:
                wanted = selectors.EVENT_READ
            except ssl.SSLWantWriteError:
                wanted = selectors.EVENT_WRITE
            except BlockingIOError:
                wanted = ready
            left = _RECHECK if deadline is None else min(_RECHECK, deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError("the other side does not read")
            with selectors.DefaultSelector() as selector:
                try:
                    selector.register(self.socket, wanted)
                except ValueError as error:
                    raise OSError("the socket was closed") from error
                selector.select(left)
