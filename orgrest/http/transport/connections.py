"""Connections that send exactly what they are given and read within limits.

urllib3's connections go over http.client, which would normalize targets and merge header lines;
`exact` makes classes of pools whose connections do neither, and whose responses end at a deadline
and after a number of bytes.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import socket
import ssl
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

import attrs
import urllib3

from orgrest.http.transport.addresses import PrivateAddressError, is_public
from orgrest.http.transport.urls import show
from orgrest.model import Certificate, Headers, Timing, TransportError, to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

CANCELLED = "cancelled"

# As RFC 4514 has them.
_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
}


@attrs.define(eq=False)
class Exchange:
    """One request on a connection: its inputs, and what the connection records about it.

    `target` and `lines` are sent. Reading the response fails at the `deadline`, and after `budget`
    bytes; with `last` the connection is closed after it. With `public`, only public addresses are
    connected to. `peer` is the address connected to, "" through a proxy.
    """

    lines: Headers
    target: str
    deadline: float
    budget: int
    last: bool = False
    public: bool = False
    peer: str = attrs.field(default="", init=False)
    reused: bool = attrs.field(default=False, init=False)
    opened: Opening = attrs.field(init=False)
    sent: float = attrs.field(factory=time.monotonic, init=False)
    answered: float = attrs.field(default=0.0, init=False)
    certificate: Certificate | None = attrs.field(default=None, init=False)

    def timing(self) -> Timing:
        """Return the timing of an exchange whose response has just been read."""
        opened, end = self.opened, time.monotonic()
        wait = max(0.0, self.answered - self.sent)
        return Timing(opened.resolve, opened.connect, opened.tls, wait, end - self.answered)


class _Lines:
    """Header lines as a mapping for urllib3, which keeps each line and its spelling.

    Values are the bytes to send, decoded as Latin-1: http.client encodes a `str` that way.
    """

    def __init__(self, lines: Headers, more: Mapping[str, str]) -> None:
        """Take the lines of a request, and those for a proxy that the request lacks."""
        given = {name.lower() for name, _ in lines}
        self._lines = [(name, to_bytes(value).decode("latin-1")) for name, value in lines]
        self._lines += [line for line in more.items() if line[0].lower() not in given]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._lines)

    def items(self) -> list[tuple[str, str]]:
        """Return the lines, as a connection sends them."""
        return self._lines


@attrs.define
class Opening:
    """The seconds that the phases of connecting took; None for a reused connection."""

    resolve: float | None = None
    connect: float | None = None
    tls: float | None = None


# ------------------------------------------------------------------------------------ connections
class _LimitedReader(io.RawIOBase):
    """A socket's input until a deadline and up to a number of bytes."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, exchange: Exchange) -> None:
        self._raw = raw
        self._sock = sock
        self._silence = sock.gettimeout()
        self._exchange = exchange
        self._received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._exchange.deadline - time.monotonic()
        if left <= 0:
            raise OverdueError
        silence = left if self._silence is None else min(left, self._silence)
        self._sock.settimeout(silence)
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError as error:
            if silence == left:
                raise OverdueError from error
            raise
        if not self._received:
            self._exchange.answered = time.monotonic()
        self._received += count or 0
        if self._received > self._exchange.budget:
            raise FloodError
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class OverdueError(TimeoutError):
    """The whole exchange took too long."""


class FloodError(OSError):
    """The server keeps sending bytes that never form a body."""


class _HttpResponse(http.client.HTTPResponse):
    """http.client's response, read within limits; interim responses (1xx) are skipped."""

    def __init__(self, sock: socket.socket, *args: Any, exchange: Exchange, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        raw = self.fp.detach()
        self.fp = io.BufferedReader(_LimitedReader(raw, sock, exchange))
        self._last = exchange.last

    def begin(self) -> None:
        super().begin()
        while 100 <= self.status < 200 and self.status != 101:
            self.headers = cast("http.client.HTTPMessage", None)  # what begin() starts from
            super().begin()
        for length in self.headers.get_all("Content-Length", []):
            if not all(
                part.strip().isascii() and part.strip().isdigit() for part in length.split(",")
            ):
                raise TransportError(f"the response's Content-Length is no length: {show(length)}")
        if self._last or self.status == 101:
            self.will_close = True


class _Exact:
    """Overrides of connections: the exchange's target and lines, and our response class.

    urllib3 passes a request to a connection of its choice; the client's sockets know which exchange
    it belongs to.
    """

    _used = False
    _opened = Opening()
    _sockets: Sockets
    _certificate: Certificate | None = None
    response_class: Any
    sock: Any

    def connect(self) -> None:
        start = time.monotonic()
        with self._sockets.connecting() as opening:
            super().connect()  # type: ignore[misc]  # a mixin's super
            self._sockets.add(self.sock)
        rest = time.monotonic() - start - (opening.resolve or 0.0)
        if isinstance(self.sock, ssl.SSLSocket) and opening.connect is not None:
            opening.tls = max(0.0, rest - opening.connect)
        else:
            opening.connect = rest
        self._opened = opening
        self._certificate = _certificate_of(self.sock)

    def request(
        self, method: str, _url: str, body: Any = None, headers: Any = None, **k: Any
    ) -> None:
        exchange = self._sockets.exchange
        exchange.reused = self._used
        exchange.certificate = self._certificate
        self.response_class = partial(_HttpResponse, exchange=exchange)
        self._used = True
        exchange.sent = exchange.answered = time.monotonic()
        lines = _Lines(exchange.lines, headers)
        super().request(method, exchange.target, body, lines, **k)  # type: ignore[misc]  # a mixin's super
        exchange.opened, self._opened = self._opened, Opening()
        opened = exchange.opened
        if self.sock is not None and not isinstance(self.sock, ssl.SSLSocket):
            # It has been connected just now; for TLS, urllib3's pool has done so before.
            exchange.sent += (opened.resolve or 0.0) + (opened.connect or 0.0)


def _certificate_of(sock: Any) -> Certificate | None:
    """Return the peer's certificate of a TLS connection, if it was verified."""
    given = sock.getpeercert() if hasattr(sock, "getpeercert") else None
    if not given:
        return None
    expires = float(ssl.cert_time_to_seconds(given["notAfter"]))
    return Certificate(_name(given["subject"]), _name(given["issuer"]), expires)


def _name(parts: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    """Return a distinguished name on one line, the most specific part first."""
    pairs = [pair for part in reversed(parts) for pair in part]
    return ", ".join(f"{_SHORT.get(key, key)}={value}" for key, value in pairs)


class _Interruptible(_Exact):
    """A connection whose socket another thread can shut down while it is connecting.

    urllib3 creates and connects the socket in one step, which this replaces. PySocks does so, too,
    but offers no way to change that.
    """

    host: str
    port: int
    timeout: Any
    socket_options: Any
    _dns_host: str

    def request(self, *given: Any, **options: Any) -> None:
        exchange = self._sockets.exchange
        super().request(*given, **options)
        if self.sock is not None and not getattr(self, "proxy", None):
            with contextlib.suppress(OSError):
                exchange.peer = str(self.sock.getpeername()[0])

    def _new_conn(self) -> socket.socket:
        errors = urllib3.exceptions
        this = cast("urllib3.connection.HTTPConnection", self)
        try:
            return self._sockets.connect(
                (self._dns_host.strip("[]"), self.port),
                self.timeout,
                self.socket_options or (),
                public=self._sockets.exchange.public and not getattr(self, "proxy", None),
            )
        except socket.gaierror as error:
            raise errors.NameResolutionError(self.host, this, error) from error
        except TimeoutError as error:
            raise errors.ConnectTimeoutError(this, str(error)) from error
        except OSError as error:
            raise errors.NewConnectionError(this, str(error)) from error


def exact(pool: Any, sockets: Sockets) -> type[urllib3.HTTPConnectionPool]:
    """Return a subclass of `pool` whose connections are exact and registered with `sockets`."""
    given = pool.ConnectionCls
    direct = given._new_conn is urllib3.connection.HTTPConnection._new_conn
    ours = _Interruptible if direct else _Exact
    connection = type(f"Exact{given.__name__}", (ours, given), {"_sockets": sockets})
    return type(f"Exact{pool.__name__}", (pool,), {"ConnectionCls": connection})


class Sockets:
    """The open sockets of a client, so that another thread can shut them down."""

    def __init__(self) -> None:
        self._open: WeakSet[Any] = WeakSet()
        self._lock = threading.Lock()
        self._thread = threading.local()
        self.aborted = False

    def add(self, sock: Any) -> None:
        """Register a connection. Raises `TransportError` after `abort`."""
        with self._lock:
            self._open.add(sock)
        if self.aborted:
            _shut_down(sock)
            raise TransportError(CANCELLED)

    @property
    def exchange(self) -> Exchange:
        """The exchange of this thread."""
        found: Exchange = self._thread.exchange
        return found

    @exchange.setter
    def exchange(self, exchange: Exchange) -> None:
        self._thread.exchange = exchange

    @contextlib.contextmanager
    def connecting(self) -> Iterator[Opening]:
        """Keep handles to the sockets that this thread connects until it is done.

        A handle shares the connection, and stays valid when TLS replaces the socket. The yielded
        object records how long connecting took.
        """
        with contextlib.ExitStack() as stack:
            self._thread.handles = stack
            self._thread.opening = opening = Opening()
            yield opening

    def connect(
        self,
        address: tuple[str, int],
        timeout: float | None,
        options: Iterable[Any],
        *,
        public: bool = False,
    ) -> socket.socket:
        """Return a socket connected to the first address of a host that accepts.

        With `public`, raises PrivateAddressError if one of them is not public. Raises what
        `socket.create_connection` does, and `TransportError` after `abort`.
        """
        host, port = address
        family = urllib3.util.connection.allowed_gai_family()
        failed: OSError = OSError("the host has no address")
        opening, start = self._thread.opening, time.monotonic()
        found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
        resolved = time.monotonic()
        opening.resolve = resolved - start
        if public:
            for *_, place in found:
                if not is_public(str(place[0])):
                    raise PrivateAddressError(host, str(place[0]))
        for kind, stream, protocol, _, place in found:
            sock = socket.socket(kind, stream, protocol)
            try:
                for option in options:
                    sock.setsockopt(*option)
                sock.settimeout(timeout)
                self.add(self._thread.handles.enter_context(sock.dup()))
                sock.connect(place)
            except OSError as error:
                sock.close()
                failed = error
            except BaseException:
                sock.close()
                raise
            else:
                opening.connect = time.monotonic() - resolved
                return sock
        try:
            raise failed
        finally:
            del failed  # it holds this frame

    def abort(self) -> None:
        """Wake threads that connect, read from or write to one of them, and refuse new ones."""
        with self._lock:
            self.aborted = True
            sockets = list(self._open)
        for sock in sockets:
            _shut_down(sock)


def _shut_down(sock: Any) -> None:
    """Shut a connection down in both directions; TLS inside TLS wraps its socket."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)
