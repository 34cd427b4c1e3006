"""A client gives up on a server that sends too much, too slowly or nothing."""

from __future__ import annotations

import gzip
import socket
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from exchanges import failure
from servers import RawServer, echo, response, silent, stalling

from orgrest.http.transport.client import Client
from orgrest.model import Request

if TYPE_CHECKING:
    pass


def test_a_body_over_the_limit_is_cut_and_says_so() -> None:
    with Client(limit=1000) as client, RawServer(response(b"x" * 5000)) as server:
        answer = client.send(Request("GET", server.url))
        exact = client.send(Request("GET", server.url))
    assert answer.truncated
    assert answer.body == b"x" * 1000
    assert exact.truncated


def test_a_body_of_exactly_the_limit_is_whole() -> None:
    with Client(limit=5000) as client, RawServer(response(b"x" * 5000)) as server:
        assert not client.send(Request("GET", server.url)).truncated


def test_a_decompression_bomb_stops_at_the_limit() -> None:
    bomb = gzip.compress(gzip.compress(bytes(2**28)))
    lines = ("Content-Encoding: gzip, gzip",)
    tracemalloc.start()
    try:
        with Client(limit=2**20) as client, RawServer(response(bomb, *lines)) as server:
            answer = client.send(Request("GET", server.url))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert answer.truncated
    assert len(answer.body) == 2**20
    assert peak < 2**25


def endless(piece: bytes, start: bytes = b"HTTP/1.1 200 OK\r\n") -> object:
    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece * 100)

    return answer


@pytest.mark.parametrize(
    ("piece", "start", "reason"),
    [
        (b"X-A: 1\r\n", b"HTTP/1.1 200 OK\r\n", "the response headers exceed 256 KiB"),
        (b"x" * 9000, b"HTTP/1.1 200 OK\r\nX-A: ", "the response headers exceed 256 KiB"),
        (b"x" * 9000, b"", "the status line or a chunk's size"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"", "gave up because the server kept sending data"),
        (
            b"1" * 9000,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "the status line or a chunk's size",
        ),
    ],
    ids=["headers", "header line", "status line", "interim responses", "chunk size"],
)
def test_a_server_that_never_ends_is_given_up(piece: bytes, start: bytes, reason: str) -> None:
    with Client(limit=2**16) as client, RawServer(endless(piece, start)) as server:  # type: ignore[arg-type]
        assert failure(client, Request("GET", server.url)).startswith(reason)


@pytest.mark.parametrize(
    "start",
    [b"", b"HTTP/1.1 200 OK\r\nX-A: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"],
    ids=["status line", "header", "body"],
)
def test_a_slow_drip_ends_with_the_whole_exchanges_time(start: bytes) -> None:
    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(b"H")
            time.sleep(0.02)

    with Client(read_timeout=5, total_timeout=0.3) as client, RawServer(drip) as server:
        reason = failure(client, Request("GET", server.url))
    assert reason == "the response was not complete after 0.3 s"


def test_a_slow_drip_of_a_proxy_ends_with_the_whole_exchanges_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def drip(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 Connection established\r\nX: ")
        for _ in range(500):
            connection.sendall(b"H")
            time.sleep(0.02)

    with RawServer(drip) as server:
        monkeypatch.setenv("https_proxy", server.url)
        with Client(read_timeout=5, total_timeout=0.3) as client:
            reason = failure(client, Request("GET", "https://a.example/"))
    assert "the response was not complete after 0.3 s" in reason


def test_a_server_that_never_pauses_ends_with_the_whole_exchanges_time() -> None:
    busy = endless(b"HTTP/1.1 100 Continue\r\n\r\n", b"")
    with Client(total_timeout=0.2, limit=2**40) as client, RawServer(busy) as server:  # type: ignore[arg-type]
        reason = failure(client, Request("GET", server.url))
    assert reason == "the response was not complete after 0.2 s"


def test_silence_ends_with_the_read_timeout() -> None:
    with Client(read_timeout=0.2) as client, RawServer(silent) as server:
        assert failure(client, Request("GET", server.url)) == "no response within 0.2 s"


def test_silence_inside_the_body_ends_with_the_read_timeout() -> None:
    stall = stalling(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
    with Client(read_timeout=0.2) as client, RawServer(stall) as server:
        assert failure(client, Request("GET", server.url)) == "no response within 0.2 s"


def test_a_requests_own_timeout_limits_the_whole_exchange(client: Client) -> None:
    with RawServer(silent) as server:
        reason = failure(client, Request("GET", server.url), timeout=0.2)
    assert reason in ("no response within 0.2 s", "the response was not complete after 0.2 s")


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e9])
def test_a_timeout_that_is_invalid_is_refused(client: Client, timeout: float) -> None:
    with RawServer(echo) as server:
        reason = failure(client, Request("GET", server.url), timeout=timeout)
    assert reason == "a timeout must be more than 0 and at most 86400 seconds"
    assert server.requests == []


def test_a_server_that_accepts_nothing_ends_with_the_connect_timeout() -> None:
    with socket.socket() as listener, socket.socket() as filler:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
        others = [socket.socket() for _ in range(3)]
        for other in others:
            other.setblocking(False)
            other.connect_ex(listener.getsockname())
        with Client(connect_timeout=0.2) as client:
            reason = failure(
                client, Request("GET", f"http://127.0.0.1:{listener.getsockname()[1]}")
            )
        for other in others:
            other.close()
    assert reason == "could not connect within 0.2 s"
