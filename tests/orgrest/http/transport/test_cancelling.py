"""A client that is aborted stops waiting and leaves nothing open."""

from __future__ import annotations

import contextlib
import socket
import ssl
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme
from exchanges import failure, tls_of
from servers import RawServer, closing, response
from waiting import wait_until

from orgrest.http.transport.client import Client
from orgrest.model import Request

if TYPE_CHECKING:
    from collections.abc import Iterator


class LateServer(RawServer):
    """Accepts a connection, and starts TLS, only on demand."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(response(b"late"), context=context)
        self.ready = threading.Event()

    def _serve(self, connection: socket.socket) -> None:
        self.ready.wait(30)
        super()._serve(connection)


def sending(client: Client, url: str) -> tuple[threading.Thread, list[str]]:
    """Send in a thread. Return the thread and a list of its errors."""
    reasons: list[str] = []
    thread = threading.Thread(target=lambda: reasons.append(failure(client, Request("GET", url))))
    thread.start()
    return thread, reasons


@pytest.mark.parametrize("tls", [False, True])
def test_a_client_that_is_aborted_waits_no_longer(authority: trustme.CA, tls: bool) -> None:
    never = threading.Event()
    context = tls_of(authority, "localhost") if tls else None

    def wait(_connection: socket.socket, _request: bytes) -> None:
        never.wait(30)

    with RawServer(wait, context=context) as server, Client(insecure=tls) as client:
        thread, reasons = sending(client, f"{server.url}/".replace("127.0.0.1", "localhost"))
        wait_until(lambda: server.requests)
        client.abort()
        thread.join(30)
        assert reasons == ["cancelled"]
        never.set()


@contextlib.contextmanager
def nobody_accepts() -> Iterator[int]:
    """A port whose connection queue is full, so that clients wait."""
    with socket.socket() as listener, contextlib.ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(8):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(address)
        yield address[1]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse at once, or wait")
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_cancelling_while_connecting_leaves_no_thread(scheme: str) -> None:
    with nobody_accepts() as port, Client(insecure=True, connect_timeout=60) as client:
        thread, reasons = sending(client, f"{scheme}://127.0.0.1:{port}/")
        time.sleep(0.3)
        assert thread.is_alive()
        client.abort()
        thread.join(60)
        assert not thread.is_alive()
        assert reasons == ["cancelled"]


def test_cancelling_during_the_tls_handshake_leaves_no_thread(authority: trustme.CA) -> None:
    context = tls_of(authority, "localhost")
    with LateServer(context) as server, Client(insecure=True, connect_timeout=60) as client:
        thread, reasons = sending(client, f"https://localhost:{server.port}/")
        wait_until(lambda: server.connections)
        client.abort()
        thread.join(60)
        assert not thread.is_alive()
        assert reasons == ["cancelled"]
        server.ready.set()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts its files in /proc")
def test_connections_leave_no_files_open() -> None:
    with RawServer(closing(response(b"x"))) as server:
        before = len(list(Path("/proc/self/fd").iterdir()))
        with Client() as client:
            for _ in range(20):
                client.send(Request("GET", server.url))
                failure(client, Request("GET", "http://127.0.0.1:1/"))
            wait_until(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before + 4)


def test_an_aborted_client_sends_nothing_any_more() -> None:
    with RawServer(response(b"x")) as server, Client() as client:
        client.abort()
        assert failure(client, Request("GET", server.url)) == "cancelled"
        assert server.connections == 0


def test_a_connection_that_comes_too_late_is_not_used(authority: trustme.CA) -> None:
    context = tls_of(authority, "localhost")
    with LateServer(context) as server, Client(insecure=True) as client:
        thread, reasons = sending(client, f"https://localhost:{server.port}/")
        wait_until(lambda: server.connections)
        client.abort()
        server.ready.set()
        thread.join(30)
        assert reasons == ["cancelled"]
        assert server.requests == []
