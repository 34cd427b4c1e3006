"""Real servers on loopback for the tests: raw sockets, TLS, a forward proxy, httpbin.

Each is a context manager that provides its address and keeps what it received. They answer exactly
as a test demands, byte for byte, in ways that ordinary servers would not: truncated responses,
wrong lengths, slow drips.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    import ssl

Handler = Callable[[socket.socket, bytes], None]


class RawServer:
    """Answers each request with `answer`: bytes, or a function of the socket and the request.

    Requests are read up to the end of the body that their Content-Length announces. A function
    may close the socket; otherwise the connection is kept for the next request.
    """

    def __init__(self, answer: bytes | Handler, *, context: ssl.SSLContext | None = None) -> None:
        self._answer = answer
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[bytes] = []
        self.connections = 0
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{'https' if self._context else 'http'}://{self.host}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # shutdown wakes the accept() that a mere close leaves asleep
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._thread.join(5)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), contextlib.ExitStack() as stack:
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            stack.enter_context(connection)
            while request := read_request(connection):
                self.requests.append(request)
                if isinstance(self._answer, bytes):
                    connection.sendall(self._answer)
                else:
                    self._answer(connection, request)


def read_request(connection: socket.socket) -> bytes:
    """Return one request's bytes, or b"" if the client has closed the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            return b""
        data += chunk
    head = data.partition(b"\r\n\r\n")[0]
    length = 0
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
        if name.lower() == b"transfer-encoding":
            while not data.endswith(b"0\r\n\r\n"):
                data += connection.recv(65536)
    while len(data) < len(head) + 4 + length:
        data += connection.recv(65536)
    return data


def response(
    body: bytes = b"", *lines: str | bytes, status: str | bytes = "200 OK", length: bool = True
) -> bytes:
    """Return a response's bytes: status line, headers, and by default a Content-Length."""
    head = [b"HTTP/1.1 " + _bytes(status), *map(_bytes, lines)]
    if length:
        head.append(b"Content-Length: %d" % len(body))
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def _bytes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("latin-1")


def closing(data: bytes) -> Handler:
    """Send `data` and close the connection."""

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_RDWR)
        connection.close()

    return answer


def reset(connection: socket.socket, _: bytes) -> None:
    """Reset the connection."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def silent(connection: socket.socket, _: bytes = b"") -> None:
    """Send nothing. The client, or the end of the server, closes the connection."""
    while connection.recv(65536):
        pass


def stalling(data: bytes) -> Handler:
    """Send `data`, then nothing more."""

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(data)
        silent(connection)

    return answer


def echo(connection: socket.socket, request: bytes) -> None:
    """Send the request back as text."""
    connection.sendall(response(request, "Content-Type: text/plain"))


def redirect(connection: socket.socket, request: bytes) -> None:
    """Redirect from /start to /next. Each response sets a cookie of its own."""
    if b" /start " in request:
        data = response(b"", "Location: /next", "Set-Cookie: a=1", status="302 Found")
    else:
        data = response(b"", "Set-Cookie: b=2")
    connection.sendall(data)


def by_path(answers: dict[str, bytes | Handler]) -> Handler:
    """Answer by the request's path, with 404 for unknown paths."""

    def answer(connection: socket.socket, request: bytes) -> None:
        found = answers.get(request.split(b" ", 2)[1].decode("latin-1"))
        if callable(found):
            found(connection, request)
        else:
            connection.sendall(found or response(b"no route", status="404 Not Found"))

    return answer


class Proxy(RawServer):
    """A forward proxy: plain requests in absolute form, and CONNECT tunnels.

    If `user` is set, requests without the right Proxy-Authorization get status 407.
    """

    def __init__(
        self, authorization: str | None = None, *, context: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(self._proxy, context=context)
        self._authorization = authorization

    def _proxy(self, connection: socket.socket, request: bytes) -> None:
        wanted = self._authorization
        if wanted and b"proxy-authorization: " + wanted.encode() not in request.replace(
            b"Proxy-Authorization", b"proxy-authorization"
        ):
            connection.sendall(response(b"", status="407 Proxy Authentication Required"))
            return
        method, target, _ = request.split(b" ", 2)
        if method == b"CONNECT":
            host, _, port = target.decode().rpartition(":")
            with socket.create_connection((host, int(port))) as upstream:
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_pump, args=(upstream, connection), daemon=True)
                back.start()
                _pump(connection, upstream)
                back.join(5)
            return
        host, _, path = target.decode("latin-1").removeprefix("http://").partition("/")
        name, _, port = host.partition(":")
        with socket.create_connection((name, int(port or 80))) as upstream:
            upstream.sendall(request.replace(target, f"/{path}".encode("latin-1"), 1))
            connection.sendall(upstream.recv(65536))


class Socks(RawServer):
    """A SOCKS5 proxy without authentication (RFC 1928). `targets` are the requested addresses."""

    def __init__(self) -> None:
        super().__init__(b"")
        self.targets: list[tuple[str, int]] = []

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            connection.recv(connection.recv(2)[1])
            connection.sendall(b"\x05\x00")
            kind = connection.recv(4)[3]
            size = 4 if kind == 1 else connection.recv(1)[0]
            address = connection.recv(size)
            host = socket.inet_ntoa(address) if kind == 1 else address.decode()
            port = int.from_bytes(connection.recv(2), "big")
            self.targets.append((host, port))
            with socket.create_connection((host, port)) as upstream:
                connection.sendall(b"\x05\x00\x00\x01" + bytes(6))
                back = threading.Thread(target=_pump, args=(upstream, connection), daemon=True)
                back.start()
                _pump(connection, upstream)
                back.join(5)


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def httpbin() -> Iterator[str]:
    """Run httpbin under waitress, and yield its URL."""
    import httpbin as package
    from waitress.server import create_server

    logging.getLogger("waitress").setLevel(logging.CRITICAL)
    server = create_server(package.app, host="127.0.0.1", port=0, threads=2)

    def run() -> None:
        with contextlib.suppress(OSError):  # its select() meets the socket that close() took away
            server.run()

    threading.Thread(target=run, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.close()  # its thread ends within a second
