"""Every failure of a server or of a network has its own message."""

from __future__ import annotations

import gzip
import socket
from typing import TYPE_CHECKING

import pytest
from exchanges import failure
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import RawServer, by_path, closing, reset, response

from orgrest.http.transport.client import Client
from orgrest.http.transport.cookies import Cookies
from orgrest.model import Request, TransportError
from orgrest.rendering.results import render

if TYPE_CHECKING:
    pass


def test_a_refused_connection_says_so_with_file_and_line(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(TransportError) as caught:
        client.send(Request("GET", f"http://127.0.0.1:{port}/", file="a.org", line=7, column=3))
    assert str(caught.value) == f"a.org:7:3: connection to 127.0.0.1:{port} refused"


def test_an_unknown_host_is_named(client: Client) -> None:
    reason = failure(client, Request("GET", "http://no-such-host.invalid/"))
    assert reason == "could not resolve the host name no-such-host.invalid"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (closing(b""), "the server closed the connection without a response"),
        (reset, "the server reset the connection"),
        (closing(b"garbage\r\n\r\n"), "the response is not HTTP: it starts with 'garbage"),
        (closing(b"\x16\x03\x01\x00\r\n"), "the response is not HTTP: it starts with "),
        (
            closing(b"HTTP/1.1 abc OK\r\n\r\n"),
            "the response is not HTTP: it starts with 'HTTP/1.1 a",
        ),
        (closing(b"HTTP/2 200\r\n\r\n"), "the response is not HTTP/1.x: HTTP/2"),
        (
            closing(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n1234567"),
            "the connection was closed after 7 of 12 bytes",
        ),
        (
            closing(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
            "the connection was closed after 2 of 5 bytes",
        ),
        (
            closing(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-10\r\nab"),
            "the chunked response is incomplete or damaged",
        ),
        (
            closing(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab"),
            "the chunked response is incomplete or damaged",
        ),
        (
            closing(response(b"not gzip", "Content-Encoding: gzip")),
            "could not decode the body: it does not match its Content-Encoding",
        ),
        (
            closing(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
            "the response headers contradict each other: Content-Length",
        ),
    ],
)
def test_each_fault_of_a_server_has_its_words(client: Client, answer: object, reason: str) -> None:
    with RawServer(answer) as server:  # type: ignore[arg-type]
        assert failure(client, Request("GET", server.url)).startswith(reason)


PIECES = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 ", b"302 Found", b"103 E", b"101 S", b"204 N", b"999"),
        *(b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"Location: ", b"/x", b"//", b"http://[", b"\x00"),
        *(b"Content-Length: ", b"5", b"-1", b"9" * 25, b"Transfer-Encoding: chunked\r\n", b"\xff"),
        *(b"Content-Encoding: gzip\r\n", b"Content-Encoding: zstd, x\r\n", b"5\r\nhello\r\n", b":"),
        *(b"0\r\n\r\n", b"-10\r\n", b"5;=\r\n", b"Set-Cookie: a=b; Domain=.; Max-Age=x\r\n"),
        *(
            gzip.compress(b"abc", mtime=0),
            b"Connection: keep-alive\r\n",
            b"Content-Type: text/html; charset=",
        ),
    ]
)


@settings(deadline=None, max_examples=60)
@given(st.lists(PIECES, max_size=10), st.sampled_from(["GET", "HEAD", "POST"]))
def test_whatever_a_server_sends_is_an_answer_or_an_error_of_ours(
    pieces: list[bytes], method: str
) -> None:
    with RawServer(closing(b"".join(pieces))) as server, Client(total_timeout=2) as client:
        request = Request(method, f"{server.url}/p")
        try:
            answer = client.send(request, cookies=Cookies())
        except TransportError as error:
            assert error.reason  # noqa: PT017  (either outcome is right)
        else:
            render(request, answer).block().encode()


def test_after_a_fault_the_client_continues(client: Client) -> None:
    with RawServer(by_path({"/bad": closing(b"nonsense"), "/good": response(b"ok")})) as server:
        failure(client, Request("GET", f"{server.url}/bad"))
        assert client.send(Request("GET", f"{server.url}/good")).body == b"ok"
