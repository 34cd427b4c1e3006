"""Connections that send the given bytes unchanged, and enforce limits when they read responses.

urllib3's connections use http.client, which would normalize targets and merge header lines. `exact`
creates pool classes whose connections do neither.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakSet

import urllib3

from orgrest.http.transport.reading import HttpResponse, Opening
from orgrest.model import Certificate, TransportError, to_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CANCELLED = "cancelled"
_GRACE = 1.0  # the time for reading a response that arrived before the time limit, in seconds

# The short names of attributes in RFC 4514.
_SHORT = {
    "commonName": "CN",
    "countryName": "C",
    "localityName": "L",
    "organizationName": "O",
    "organizationalUnitName": "OU",
    "stateOrProvinceName": "ST",
}


class _Lines:
    """Headers for urllib3's connections. Names may be repeated."""

    def __init__(self, every: Iterable[tuple[str, str]]) -> None:
        self.every = list(every)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.every)

    def items(self) -> list[tuple[str, str]]:
        """Return the (name, value) pairs, in order."""
        return self.every


class _Exact:
    """A mixin for connections that sends the exact target and header lines of an exchange."""

    _used = False
    _opened = Opening()
    _peer = ""
    _sockets: Sockets
    _certificate: Certificate | None = None
    response_class: Any
    sock: Any

    def connect(self) -> None:
        start = time.monotonic()
        # http.client also reads a proxy's answer to CONNECT with this class.
        self.response_class = partial(HttpResponse, exchange=self._sockets.thread.exchange)
        with self._sockets.connecting() as opening:
            super().connect()  # type: ignore[misc]  # a mixin's super
            self._sockets.add(self.sock)
        if isinstance(self.sock, ssl.SSLSocket):
            cast("Any", self.sock).suppress_ragged_eofs = False  # see `reading`
        rest = time.monotonic() - start - (opening.resolve or 0.0)
        if isinstance(self.sock, ssl.SSLSocket) and opening.connect is not None:
            opening.tls = max(0.0, rest - opening.connect)
        else:
            opening.connect = rest
        self._opened = opening
        if hasattr(self.sock, "getpeercert"):
            self._certificate = _certificate(self.sock.getpeercert())
        if isinstance(self, _Interruptible) and not getattr(self, "proxy", None):
            with contextlib.suppress(OSError):
                self._peer = str(self.sock.getpeername()[0])

    def request(
        self, method: str, _url: str, body: Any = None, headers: Any = None, **k: Any
    ) -> None:
        # urllib3 calls this method, so the exchange cannot be an argument.
        exchange = self._sockets.thread.exchange
        exchange.reused = self._used
        self.response_class = partial(HttpResponse, exchange=exchange)
        self._used = True
        # Keeps each line and its spelling; http.client encodes a `str` as Latin-1.
        lines = _Lines((name, to_bytes(value).decode("latin-1")) for name, value in exchange.lines)
        if headers:  # for a proxy
            names = {name.lower() for name in lines}
            lines.every += [header for header in headers.items() if header[0].lower() not in names]
        exchange.sent = exchange.answered = time.monotonic()
        try:
            super().request(method, exchange.target, body, lines, **k)  # type: ignore[misc]  # a mixin's super
        except TimeoutError as error:
            if not urllib3.util.wait_for_read(self.sock, 0):
                raise
            exchange.last = True  # the rest of the request cannot be sent on this connection
            exchange.deadline = time.monotonic() + _GRACE
            raise BrokenPipeError from error
        finally:  # after a BrokenPipeError, urllib3 still reads the response
            exchange.certificate, exchange.peer = self._certificate, self._peer
            exchange.opened, self._opened = self._opened, Opening()
        opened = exchange.opened
        if self.sock is not None and not isinstance(self.sock, ssl.SSLSocket):
            # The connection was just opened; with TLS, urllib3's pool opens it earlier.
            exchange.sent += (opened.resolve or 0.0) + (opened.connect or 0.0)


def _certificate(certificate: Any) -> Certificate | None:
    if not certificate:  # it was not verified
        return None
    expires = float(ssl.cert_time_to_seconds(certificate["notAfter"]))
    return Certificate(_name(certificate["subject"]), _name(certificate["issuer"]), expires)


def _name(parts: tuple[tuple[tuple[str, str], ...], ...]) -> str:
    pairs = [pair for part in reversed(parts) for pair in part]
    return ", ".join(f"{_SHORT.get(key, key)}={value}" for key, value in pairs)


class _Interruptible(_Exact):
    """A connection that another thread can shut down while it is connecting."""

    host: str
    port: int
    timeout: Any
    socket_options: Any
    _dns_host: str

    def _new_conn(self) -> socket.socket:
        return self._sockets.connect(
            self,
            self._dns_host.strip("[]"),
            self.timeout,
            self.socket_options or (),
            public=self._sockets.thread.exchange.public and not getattr(self, "proxy", None),
        )


class _Socks(_Exact):
    """A connection through a SOCKS proxy.

    PySocks creates and connects a socket in one step, which cannot be replaced.
    """

    host: str
    port: int
    _socks_options: dict[str, Any]

    def _new_conn(self) -> socket.socket:
        errors = urllib3.exceptions
        try:
            return cast("socket.socket", super()._new_conn())  # type: ignore[misc]  # a mixin's super
        except (errors.ConnectTimeoutError, errors.NewConnectionError) as error:
            cause: Any = error.__cause__ or error.__context__
            inner = getattr(cause, "socket_err", None)  # that PySocks got when it used the socket
            options, place = self._socks_options, SimpleNamespace(host=self.host, port=self.port)
            if not isinstance(inner, socket.gaierror):  # it is not about the server's name
                place.host, place.port = options["proxy_host"], options["proxy_port"]
            failure = _unmade(place, inner or cause)
            failure.__cause__ = inner or cause
            raise errors.ProxyError("SOCKS", failure) from None


def _unmade(place: Any, error: OSError) -> urllib3.exceptions.HTTPError:
    """Return the error with which urllib3 says that no connection to `place` was established."""
    errors = urllib3.exceptions
    if isinstance(error, socket.gaierror):
        return errors.NameResolutionError(place.host, place, error)
    if isinstance(error, TimeoutError):
        return errors.ConnectTimeoutError(place, str(error))
    return errors.NewConnectionError(place, str(error))


def exact(pool: Any, sockets: Sockets) -> type[urllib3.HTTPConnectionPool]:
    """Return a subclass of `pool` whose connections send the given bytes unchanged.

    Their sockets are registered in `sockets`.
    """
    cls = pool.ConnectionCls
    direct = cls._new_conn is urllib3.connection.HTTPConnection._new_conn
    ours = _Interruptible if direct else _Socks
    connection = type(f"Exact{cls.__name__}", (ours, cls), {"_sockets": sockets})
    return type(f"Exact{pool.__name__}", (pool,), {"ConnectionCls": connection})


class Sockets:
    """The open sockets of a client, which another thread can shut down."""

    def __init__(self) -> None:
        self._open: WeakSet[Any] = WeakSet()
        self._lock = threading.Lock()
        self.thread: Any = threading.local()
        """Per-thread data: `exchange` and, while the thread connects, `handles` and `opening`."""
        self.aborted = False

    def add(self, sock: Any) -> None:
        """Register a socket. Raises `TransportError` after `abort`."""
        with self._lock:
            self._open.add(sock)
        if self.aborted:
            _shut_down(sock)
            raise TransportError(CANCELLED)

    @contextlib.contextmanager
    def connecting(self) -> Iterator[Opening]:
        """Return a context manager in which `abort` also shuts down connecting sockets.

        Its value is an `Opening`, which records how long connecting took.
        """
        with contextlib.ExitStack() as stack:
            self.thread.handles = stack
            self.thread.opening = opening = Opening()
            yield opening

    def connect(
        self,
        place: Any,
        host: str,
        timeout: float | None,
        options: Iterable[Any],
        *,
        public: bool = False,
    ) -> socket.socket:
        """Return a socket connected to a host. Must be called in the context of `connecting`.

        `place` is an object with the attributes `host` and `port`, which messages name. If `public`
        is set, raises PrivateAddressError if any address of the host is not public. Raises the
        errors with which urllib3 says that no connection was established, and `TransportError`
        after `abort`.
        """
        try:
            return self._connect((host, place.port), timeout, options, public=public)
        except OSError as error:
            raise _unmade(place, error) from error

    def _connect(
        self,
        address: tuple[str, int],
        timeout: float | None,
        options: Iterable[Any],
        *,
        public: bool,
    ) -> socket.socket:
        host, port = address
        family = urllib3.util.connection.allowed_gai_family()
        failed: OSError = OSError("the host has no address")
        opening, start = self.thread.opening, time.monotonic()
        # For text, Python loads its codec for international names, with large tables.
        name = host.encode() if host.isascii() else host
        addresses = socket.getaddrinfo(name, port, family, socket.SOCK_STREAM)
        resolved = time.monotonic()
        opening.resolve = resolved - start
        if public:
            from orgrest.http.transport.redirects import PrivateAddressError, is_public

            for *_, place in addresses:
                if not is_public(str(place[0])):
                    raise PrivateAddressError(host, str(place[0]))
        for kind, stream, protocol, _, place in addresses:
            sock = socket.socket(kind, stream, protocol)
            try:
                for option in options:
                    sock.setsockopt(*option)
                sock.settimeout(timeout)
                # The duplicate shares the connection, and stays valid when TLS replaces the socket.
                self.add(self.thread.handles.enter_context(sock.dup()))
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
            del failed  # avoids a reference cycle with this frame

    def abort(self) -> None:
        """Wake threads that are connecting, reading or writing, and refuse new connections."""
        with self._lock:
            self.aborted = True
            sockets = list(self._open)
        for sock in sockets:
            _shut_down(sock)


def _shut_down(sock: Any) -> None:
    """Shut down a socket, with or without TLS."""
    with contextlib.suppress(OSError):
        socket.socket.shutdown(getattr(sock, "socket", sock), socket.SHUT_RDWR)
