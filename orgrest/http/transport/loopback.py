"""Waits on a loopback address for the redirect at the end of a login (RFC 8252, section 7.3).

Any web page can send requests to such an address. Therefore, only one request counts: the first GET
that has the path and host of the redirect, and the parameters of a response to this login. All
other requests are refused. The page that the browser shows does not contain the parameters.
"""

from __future__ import annotations

import os
import queue
import socket
import socketserver
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self
from urllib.parse import urlsplit

from orgrest import classes
from orgrest.model import TransportError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

DEFAULT = "http://127.0.0.1/callback"
_PAUSE = 0.1
_SILENCE = 10.0
"""The maximum time without data on a connection, in seconds."""
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1.1rem/1.5 system-ui, sans-serif; margin: 20vh auto; max-width: 30rem }}
h1 {{ font-size: 1.4rem }}
</style>
<main><h1>{title}</h1><p>{text}</p></main>
</html>
"""
_HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}


class Loopback:
    """Listens for the redirect at the end of a login, from its creation until it is closed.

    `uri` is the address that the browser is redirected to. `read` parses a query. `accepts` returns
    whether parameters are a response to this login.
    """

    def __init__(
        self,
        redirect: str,
        read: Callable[[str], Mapping[str, str] | None],
        accepts: Callable[[Mapping[str, str]], bool],
    ) -> None:
        """Listen on the address in the URI `redirect`, or on DEFAULT if the URI is empty.

        If the URI has no port, a free port is used. Raises TransportError if listening on the port
        is impossible, for example because it is in use.
        """
        url = urlsplit(redirect or DEFAULT)
        host, port = url.hostname or "127.0.0.1", url.port or 0
        self._path = url.path or "/"
        self._read, self._accepts = read, accepts
        self._answers: queue.Queue[Mapping[str, str]] = queue.Queue()
        self._answered = threading.Lock()
        self.refused = 0
        """The number of requests to `uri` that did not contain a response to the login."""
        self._servers: list[ThreadingHTTPServer] = []
        try:
            first = _Server("::1" if host == "::1" else "127.0.0.1", port, self)
            self._servers.append(first)
            port = first.server_address[1]
            if host == "localhost" and _has_ipv6():  # a browser may use either address
                self._servers.append(_Server("::1", port, self))
        except OSError as error:
            self.close()
            reason = f"could not listen on port {port} for the login: {error.strerror or error}"
            raise TransportError(reason) from None
        self._host = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        self.uri = f"http://{self._host}{url.path}"
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(_PAUSE,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for server in self._servers:
            server.shutdown()
        self.close()

    def close(self) -> None:
        """Stop listening."""
        for server in self._servers:
            server.server_close()

    def wait(self, seconds: float, pause: Callable[[float], None]) -> Mapping[str, str] | None:
        """Return the parameters of the response, or None if it does not arrive within `seconds`.

        `pause` sleeps for a number of seconds, and may raise an exception to end the wait.
        """
        waited = 0.0
        while waited < seconds:
            try:
                return self._answers.get_nowait()
            except queue.Empty:
                pause(_PAUSE)
                waited += _PAUSE
        return None

    def called(self, target: str, host: str | None) -> _Reply:
        """Return the reply to a GET request with this target and `Host` header.

        If the request is the first response to the login, `answer` in the reply contains the
        parameters. Otherwise, `answer` is None.
        """
        called = urlsplit(target)
        if called.path != self._path or called.netloc or host != self._host:
            return _Reply(404, "Not found", "There is nothing here.")
        parameters = self._read(called.query)
        if parameters is None or not self._accepts(parameters):
            self.refused += 1
            text = "This is not the response to the login that orgrest started."
            return _Reply(400, "Unexpected response", text)
        if not self._answered.acquire(blocking=False):
            text = "This login was already completed; nothing has changed."
            return _Reply(410, "Already used", text)
        if "error" in parameters:
            text = "The login was refused. See orgrest for the reason."
            return _Reply(200, "Not signed in", text, parameters)
        text = "orgrest has received the response. You can close this page."
        return _Reply(200, "Back to orgrest", text, parameters)

    def keep(self, answer: Mapping[str, str]) -> None:
        """Pass the parameters to `wait`. This is called after the page has been sent."""
        self._answers.put(answer)


@classes.frozen
class _Reply:
    status: int
    title: str
    text: str
    answer: Mapping[str, str] | None = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # On Windows, this would let another program listen on the same port.
    allow_reuse_address = os.name == "posix"

    def __init__(self, host: str, port: int, loopback: Loopback) -> None:
        self.loopback = loopback
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # without HTTPServer's DNS lookup
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]  # str, int

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore errors, such as broken connections."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SILENCE
    server_version = "orgrest"
    sys_version = ""

    def do_GET(self) -> None:
        reply = self.server.loopback.called(self.path, self.headers.get("Host"))
        page = _PAGE.format(title=reply.title, text=reply.text).encode()
        self.send_response(reply.status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        try:
            self.wfile.write(page)
        finally:
            if reply.answer is not None:
                self.server.loopback.keep(reply.answer)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Discard the server's log messages."""


def _has_ipv6() -> bool:
    if not socket.has_ipv6:
        return False
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True
