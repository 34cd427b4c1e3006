"""Sending over real sockets: exact bytes out, limits in, and every failure in plain words."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import sys
import threading
import time
import types
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import Handler, Proxy, RawServer, Socks, by_path, closing, echo, httpbin, response
from urllib3.util import make_headers

from orgrest.http.transport import Client, codings, headers, pools, wire_headers
from orgrest.http.transport.budget import Budget
from orgrest.http.transport.headers import accept_encoding
from orgrest.http.transport.trace import Trace
from orgrest.http.values.shorthand import absolute_url
from orgrest.model import Headers, OrgrestError, Request, TransportError
from orgrest.rendering.results import render
from orgrest.run.outcomes import Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

GET = "GET"


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as opened:
        yield opened


def head_of(raw: bytes) -> list[str]:
    return raw.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")


def headers_sent(server: RawServer, index: int = -1) -> dict[str, str]:
    lines = head_of(server.requests[index])[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def failure(client: Client, request: Request, **options: float) -> str:
    with pytest.raises(TransportError) as caught:
        client.send(request, **options)
    return caught.value.reason


# -------------------------------------------------------------------------------- bytes on the wire


def test_header_lines_reach_the_server_in_order_and_as_spelled(client: Client) -> None:
    given = (("x-zeta", "1"), ("X-Alpha", "b  c"), ("X-ZETA", "2"), ("content-TYPE", "a/b"))
    with RawServer(echo) as server:
        client.send(Request("POST", f"{server.url}/p", given, b"body"))
    assert head_of(server.requests[0]) == [
        "POST /p HTTP/1.1",
        f"Host: {server.host}",
        "User-Agent: orgrest",
        f"Accept-Encoding: {headers_sent(server)['accept-encoding']}",
        "Accept: */*",
        "x-zeta: 1",
        "X-Alpha: b  c",
        "X-ZETA: 2",
        "content-TYPE: a/b",
        "Content-Length: 4",
    ]
    assert server.requests[0].endswith(b"\r\n\r\nbody")


def test_a_header_value_outside_ascii_is_sent_as_its_bytes(client: Client) -> None:
    with RawServer(echo) as server:
        client.send(Request(GET, server.url, (("X-A", "caf\u00e9 \u2603 \udcff"),)))
    assert "X-A: café ☃ ".encode() + b"\xff\r\n" in server.requests[0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Host", "example.org"),
        ("user-agent", "mine"),
        ("ACCEPT", "a/b"),
        ("Accept-Encoding", "identity"),
        ("Content-Length", "4"),
        ("Cookie", "mine=1"),
        ("Authorization", "Bearer mine"),
    ],
)
def test_the_users_own_header_replaces_ours(client: Client, name: str, value: str) -> None:
    cookies = client.new_cookies()
    setting = response(b"", "Set-Cookie: theirs=1; Path=/")
    with RawServer(by_path({"/set": setting, "/": echo})) as server:
        client.send(Request(GET, f"{server.url}/set"), cookies=cookies)
        url = server.url.replace("//", "//user:pw@")
        client.send(Request("POST", f"{url}/", ((name, value),), b"body"), cookies=cookies)
    lines = [
        line for line in head_of(server.requests[1]) if line.lower().startswith(name.lower() + ":")
    ]
    assert lines == [f"{name}: {value}"]


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("", "/"),
        ("?q", "/?q"),
        ("/a/../b/./c", "/a/../b/./c"),
        ("/%2f%zz%", "/%2f%zz%"),
        ("/a b\tc", "/a%20b%09c"),
        ("/é/☃?ü", "/%C3%A9/%E2%98%83?%C3%BC"),
        ("/[x]?f[]=1|2", "/%5Bx%5D?f%5B%5D=1%7C2"),
        ("/x#fragment", "/x"),
        ("/a\r\nX-Evil: 1\0", "/a%0D%0AX-Evil:%201%00"),
        ("/\udcff", "/%FF"),
        ("/a\\b", "/a%5Cb"),
    ],
)
def test_the_target_is_what_was_written_with_only_the_impossible_encoded(
    client: Client, written: str, sent: str
) -> None:
    with RawServer(echo) as server:
        client.send(Request(GET, server.url + written))
    assert head_of(server.requests[0])[0] == f"GET {sent} HTTP/1.1"


def test_userinfo_becomes_basic_credentials_and_is_not_part_of_host(client: Client) -> None:
    with RawServer(echo) as server:
        client.send(Request(GET, f"http://us%40er:p%C3%A4ss@{server.host}/"))
    assert headers_sent(server)["authorization"] == "Basic dXNAZXI6cMOkc3M="
    assert headers_sent(server)["host"] == server.host


@pytest.mark.parametrize("bad", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "a\r\n b"])
def test_a_line_break_or_nul_in_a_header_value_is_never_sent(client: Client, bad: str) -> None:
    with RawServer(echo) as server:
        reason = failure(client, Request(GET, server.url, (("X-A", bad),)))
    assert reason == "the value of X-A holds a line break or a NUL"
    assert server.requests == []


@pytest.mark.parametrize("bad", ["", "X A", "X:", "X\r\nY", "Ä"])
def test_a_header_name_that_is_none_is_never_sent(client: Client, bad: str) -> None:
    with RawServer(echo) as server:
        assert failure(client, Request(GET, server.url, ((bad, "1"),))).startswith("not a header")
    assert server.requests == []


@pytest.mark.parametrize("method", ["", "G T", "GET\r\nX: 1", "GÉT"])
def test_a_method_that_is_none_is_never_sent(client: Client, method: str) -> None:
    with RawServer(echo) as server:
        assert failure(client, Request(method, server.url)).startswith("not a method")
    assert server.requests == []


@pytest.mark.parametrize(
    "url",
    [
        *("example.org", "/path", "ftp://h/", "file:///etc/passwd", "http://", "http:///x"),
        *("http://a b/", "http://h:x/", "http://h:99999/", "http://h\r\n/", "http://[::1/"),
        *("http://h%0d/", "http://a..b/", f"http://{'ü' * 70}/", "data:,x", "http://\u2025/"),
    ],
)
def test_a_url_that_cannot_be_asked_for_is_refused(client: Client, url: str) -> None:
    assert failure(client, Request(GET, url)).startswith("not a")


def test_a_post_without_body_says_that_it_has_none(client: Client) -> None:
    with RawServer(echo) as server:
        client.send(Request("POST", server.url))
        client.send(Request("get", server.url))
    assert headers_sent(server, 0)["content-length"] == "0"
    assert "content-length" not in headers_sent(server, 1)
    assert server.requests[1].startswith(b"get / ")


def test_a_chunked_body_is_framed_in_chunks(client: Client) -> None:
    with RawServer(echo) as server:
        client.send(Request("POST", server.url, (("Transfer-Encoding", "chunked"),), b"body"))
    assert server.requests[0].endswith(b"\r\n\r\n4\r\nbody\r\n0\r\n\r\n")


def test_a_wrong_content_length_of_the_user_does_not_spoil_the_next_request(
    client: Client,
) -> None:
    with RawServer(echo) as server:
        client.send(Request("POST", server.url, (("Content-Length", "3"),), b"body"))
        answer = client.send(Request(GET, f"{server.url}/next"))
    assert answer.body.startswith(b"GET /next ")
    assert server.connections == 2


def test_wire_headers_are_what_send_sends(client: Client) -> None:
    with RawServer(echo) as server:
        request = Request("PUT", server.url, (("X-A", "1"),), b"12")
        client.send(request)
        expected: Headers = wire_headers(request)
    assert head_of(server.requests[0])[1:] == [f"{name}: {value}" for name, value in expected]


# ---------------------------------------------------------------------------------------- responses


def test_response_headers_keep_order_spelling_duplicates_and_bytes(client: Client) -> None:
    lines = (b"x-b: 1", b"X-A: caf\xc3\xa9", b"X-B: 2", b"X-Empty:", b"X-Bad: \xff")
    with RawServer(response(b"", *lines)) as server:
        answer = client.send(Request(GET, server.url))
    assert answer.headers == (
        ("x-b", "1"),
        ("X-A", "café"),
        ("X-B", "2"),
        ("X-Empty", ""),
        ("X-Bad", "\udcff"),
        ("Content-Length", "0"),
    )
    assert answer.header("x-B") == "1"
    assert answer.header("nope") is None


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("200 ", (200, "")),
        ("299 Odd", (299, "Odd")),
        (b"200 caf\xc3\xa9", (200, "café")),
        ("404 Not Found", (404, "Not Found")),
    ],
)
def test_status_and_reason_are_the_servers(
    client: Client, status: str | bytes, expected: tuple[int, str]
) -> None:
    with RawServer(response(b"x", status=status)) as server:
        answer = client.send(Request(GET, server.url))
    assert (answer.status, answer.reason) == expected
    assert answer.version == "1.1"
    assert answer.duration > 0


def test_an_http_1_0_answer_that_ends_with_the_connection_is_whole(client: Client) -> None:
    with RawServer(closing(b"HTTP/1.0 200 OK\r\nX: 1\r\n\r\nall of it")) as server:
        answer = client.send(Request(GET, server.url))
    assert (answer.version, answer.body) == ("1.0", b"all of it")


def test_interim_responses_are_not_taken_for_the_answer(client: Client) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3
    with RawServer(interim + response(b"real")) as server:
        first = client.send(Request(GET, server.url))
        second = client.send(Request(GET, server.url))
    assert (first.status, first.body) == (200, b"real")
    assert second.body == b"real"


def test_a_protocol_switch_ends_the_connection(client: Client) -> None:
    switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
    with RawServer(switching) as server:
        assert client.send(Request(GET, server.url)).status == 101
        client.send(Request(GET, server.url))
    assert server.connections == 2


@pytest.mark.parametrize("method", ["HEAD", "GET"])
def test_answers_without_a_body_leave_the_connection_usable(client: Client, method: str) -> None:
    status = "200 OK" if method == "HEAD" else "204 No Content"
    answer = b"HTTP/1.1 " + status.encode() + b"\r\nContent-Length: 5\r\n\r\n"
    with RawServer(answer) as server:
        for _ in range(2):
            assert client.send(Request(method, server.url)).body == b""
    assert server.connections == 1


@pytest.mark.parametrize("length", ["-5", "5x", "+5", "0x5", "5, -5", "\u0665", ""])
def test_a_length_that_is_none_is_a_failure(client: Client, length: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nabcde".encode()
    with RawServer(closing(head)) as server:
        assert "Content-Length" in failure(client, Request(GET, server.url))


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
@pytest.mark.parametrize("rest", [b"", b"0\r\n\r\n"])
def test_a_response_without_a_body_is_not_waited_for_where_it_names_a_coding(
    client: Client, status: str, rest: bytes
) -> None:
    answer = f"HTTP/1.1 {status}\r\nTransfer-Encoding: chunked\r\n\r\n".encode() + rest
    with RawServer(answer) as server:
        for _ in range(2):
            found = client.send(Request("GET", server.url))
            assert (found.status, found.body) == (int(status[:3]), b"")
            assert bool(found.warnings) == (found.status == 204)


def test_a_body_that_a_204_announces_is_told(client: Client) -> None:
    with RawServer(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n") as server:
        (warning,) = client.send(Request(GET, server.url)).warnings
    assert warning.startswith("the response announces a body, which one with status 204")


def test_requests_to_one_server_share_a_connection(client: Client) -> None:
    with RawServer(echo) as server:
        for _ in range(3):
            client.send(Request(GET, server.url))
    assert server.connections == 1


def test_a_kept_connection_that_the_server_closed_is_replaced_for_a_get_only(
    client: Client,
) -> None:
    seen: list[bytes] = []

    def once(connection: socket.socket, request: bytes) -> None:
        seen.append(request)
        if len(seen) in (2, 4):  # the second request on a connection: close instead of answering
            connection.close()
        else:
            connection.sendall(response(b"ok"))

    with RawServer(once) as server:
        client.send(Request(GET, server.url))
        assert client.send(Request(GET, f"{server.url}/again")).body == b"ok"
        reason = failure(client, Request("POST", f"{server.url}/never-twice", (), b"x"))
    assert reason == "the server closed the connection without an answer"
    assert sum(b"/again" in request for request in seen) == 2
    assert sum(b"/never-twice" in request for request in seen) == 1


def test_a_get_that_is_sent_again_counts_and_is_recorded_twice() -> None:
    seen: list[bytes] = []

    def once(connection: socket.socket, request: bytes) -> None:
        seen.append(request)
        if len(seen) == 2:
            connection.close()
        else:
            connection.sendall(response(b"ok"))

    with RawServer(once) as server, Client(budget=Budget(requests=3)) as client:
        client.send(Request(GET, server.url))
        trace = Trace()
        assert client.send(Request(GET, server.url), trace=trace).body == b"ok"
        assert [hop.response is None for hop in trace.hops] == [True, False]
        assert Exchange.of_hops(trace.hops[0].request, trace.hops).attempts == 2
        assert "--max-requests" in failure(client, Request(GET, server.url))
    assert len(seen) == 3


@pytest.mark.parametrize("coding", ["gzip", "deflate", "x-gzip"])
def test_content_codings_are_undone(client: Client, coding: str) -> None:
    body = zlib.compress(b"plain") if coding == "deflate" else gzip.compress(b"plain")
    with RawServer(response(body, f"Content-Encoding: {coding}")) as server:
        assert client.send(Request(GET, server.url)).body == b"plain"


def test_a_coded_body_in_chunks_is_put_together(client: Client) -> None:
    body = gzip.compress(b"plain")
    chunks = b"".join(b"3;x=y\r\n%s\r\n" % body[i : i + 3] for i in range(0, len(body) - 3, 3))
    rest = body[(len(body) - 1) // 3 * 3 :]
    framed = chunks + b"%x\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n" % (len(rest), rest)
    lines = ("Content-Encoding: gzip", "Transfer-Encoding: chunked")
    with RawServer(response(framed, *lines, length=False)) as server:
        assert client.send(Request(GET, server.url)).body == b"plain"
        assert client.send(Request(GET, server.url)).body == b"plain"
    assert server.connections == 1


@pytest.mark.parametrize(("coding", "package"), [("br", "brotli"), ("zstd", "backports.zstd")])
def test_an_optional_content_coding_is_undone_or_named(
    client: Client, coding: str, package: str
) -> None:
    body = {
        "br": b"\x0b\x02\x80plain\x03",
        "zstd": b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00plain",
    }[coding]
    with RawServer(response(body, f"Content-Encoding: {coding}")) as server:
        answer = client.send(Request(GET, server.url))
        offered = coding in headers_sent(server)["accept-encoding"]
    if offered:
        assert (answer.body, answer.warnings) == (b"plain", ())
    else:
        assert answer.body == body
        assert f"pip install {package}" in answer.warnings[0]


RAW = zlib.compress(b"plain" * 99)[2:-4]
BR = b"\x0b\x02\x80plain\x03"
ZSTD = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00plain"


def _gzip(body: bytes) -> bytes:
    # pytest names a case by its bytes: without the time, so that all workers collect the same
    return gzip.compress(body, mtime=0)


def coded(client: Client, coding: str, body: bytes) -> bytes:
    with RawServer(response(body, f"Content-Encoding: {coding}")) as server:
        return client.send(Request(GET, server.url)).body


def offered(coding: str) -> object:
    missing = coding not in headers.accept_encoding()
    return pytest.mark.skipif(missing, reason=f"pip install {codings.PACKAGES[coding]}")


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip", _gzip(b"plain" * 99)),
        ("gzip", _gzip(b"")),
        ("deflate", zlib.compress(b"plain" * 99)),
        ("deflate", RAW),
        ("gzip, gzip", _gzip(_gzip(b"plain"))),
        ("deflate, gzip", _gzip(RAW)),
        pytest.param("br", BR, marks=offered("br")),
        pytest.param("br, gzip", _gzip(BR), marks=offered("br")),
        pytest.param("zstd", ZSTD, marks=offered("zstd")),
    ],
)
def test_a_coded_body_that_was_cut_short_never_passes_for_the_whole(
    client: Client, coding: str, body: bytes
) -> None:
    coded(client, coding, body)
    for end in range(1, len(body)):
        with pytest.raises(TransportError) as caught:
            coded(client, coding, body[:end])
        assert caught.value.reason in (
            f"the body is cut short: its {coding} data never comes to an end",
            "the body is not what its Content-Encoding says",  # zstd is told by urllib3
        )


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip, gzip", _gzip(_gzip(b"plain")[:-3])),
        ("deflate, gzip", _gzip(RAW[:-2])),
        ("gzip", _gzip(b"a") + _gzip(b"plain" * 99)[:-9]),
        ("gzip", _gzip(b"a") + _gzip(b"plain" * 99)[:12]),
        pytest.param("br", b"hello", marks=offered("br")),
        pytest.param("br, gzip", _gzip(BR[:-1]), marks=offered("br")),
        pytest.param("zstd, gzip", _gzip(ZSTD[:-1]), marks=offered("zstd")),
    ],
)
def test_data_that_ends_within_a_coding_never_passes_for_the_whole(
    client: Client, coding: str, body: bytes
) -> None:
    with pytest.raises(TransportError, match="the body is cut short"):
        coded(client, coding, body)


@pytest.mark.parametrize(
    ("coding", "body", "plain"),
    [
        ("deflate", RAW, b"plain" * 99),
        ("deflate", zlib.compress(b"a") + b"rubbish", b"a"),
        *(("gzip", _gzip(b"a") + rubbish, b"a") for rubbish in (b"\n", b"\0" * 9, b"xyz")),
        ("gzip", _gzip(b"a") + _gzip(b"b") + b"\n", b"ab"),
        ("gzip", _gzip(b""), b""),
        *((coding, b"", b"") for coding in ("gzip", "deflate", "br", "zstd", "gzip, gzip")),
    ],
)
def test_what_real_servers_send_as_coded_is_read(
    client: Client, coding: str, body: bytes, plain: bytes
) -> None:
    assert coded(client, coding, body) == plain


@pytest.mark.parametrize(
    ("method", "status"), [("HEAD", "200 OK"), (GET, "204 No Content"), (GET, "304 Not Modified")]
)
def test_an_answer_without_a_body_may_name_a_coding(
    client: Client, method: str, status: str
) -> None:
    line = "Content-Encoding: gzip"
    with RawServer(response(b"", line, status=status, length=False)) as server:
        assert client.send(Request(method, server.url)).body == b""


@pytest.mark.parametrize("size", [99, 100, 101, 10**6])
def test_a_coded_body_around_the_limit_is_no_broken_one(size: int) -> None:
    with Client(limit=100) as client:
        assert coded(client, "gzip", gzip.compress(b"a" * size)) == b"a" * min(size, 100)


def test_an_unknown_content_coding_is_told(client: Client) -> None:
    with RawServer(response(b"x", "Content-Encoding: rot13")) as server:
        answer = client.send(Request(GET, server.url))
    assert answer.body == b"x"
    assert answer.warnings == ("the body is still encoded as rot13, which is not understood",)


def test_a_header_line_that_is_none_is_told(client: Client) -> None:
    answer = b"HTTP/1.1 200 OK\r\nX-A: 1\r\nno colon here\r\nX-B: 2\r\n\r\nbody"
    with RawServer(closing(answer)) as server:
        got = client.send(Request(GET, server.url))
    assert "holds a line that is none" in got.warnings[0]


# ------------------------------------------------------------------------------------------- limits


def test_a_body_over_the_limit_is_cut_and_says_so() -> None:
    with Client(limit=1000) as client, RawServer(response(b"x" * 5000)) as server:
        answer = client.send(Request(GET, server.url))
        exact = client.send(Request(GET, server.url))
    assert answer.truncated
    assert answer.body == b"x" * 1000
    assert exact.truncated


def test_a_body_of_exactly_the_limit_is_whole() -> None:
    with Client(limit=5000) as client, RawServer(response(b"x" * 5000)) as server:
        assert not client.send(Request(GET, server.url)).truncated


def test_a_decompression_bomb_stops_at_the_limit() -> None:
    bomb = gzip.compress(gzip.compress(bytes(2**28)))
    lines = ("Content-Encoding: gzip, gzip",)
    with Client(limit=2**20) as client, RawServer(response(bomb, *lines)) as server:
        answer = client.send(Request(GET, server.url))
    assert answer.truncated
    assert len(answer.body) == 2**20


def endless(piece: bytes, start: bytes = b"HTTP/1.1 200 OK\r\n") -> object:
    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(piece * 100)

    return answer


@pytest.mark.parametrize(
    ("piece", "start", "reason"),
    [
        (b"X-A: 1\r\n", b"HTTP/1.1 200 OK\r\n", "the response's header is too long"),
        (
            b"x" * 9000,
            b"HTTP/1.1 200 OK\r\nX-A: ",
            "a line of the response's header or framing",
        ),
        (b"x" * 9000, b"", "a line of the response's header or framing"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"", "the server sends without end"),
        (
            b"1" * 9000,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "a line of the response's header or framing",
        ),
    ],
    ids=["headers", "header line", "status line", "interim responses", "chunk size"],
)
def test_a_server_that_never_ends_is_given_up(piece: bytes, start: bytes, reason: str) -> None:
    with Client(limit=2**16) as client, RawServer(endless(piece, start)) as server:  # type: ignore[arg-type]
        assert failure(client, Request(GET, server.url)).startswith(reason)


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
        reason = failure(client, Request(GET, server.url))
    assert reason == "the response was not complete after 0.3 s"


def test_a_server_that_never_pauses_ends_with_the_whole_exchanges_time() -> None:
    busy = endless(b"HTTP/1.1 100 Continue\r\n\r\n", b"")
    with Client(total_timeout=0.2, limit=2**40) as client, RawServer(busy) as server:  # type: ignore[arg-type]
        reason = failure(client, Request(GET, server.url))
    assert reason == "the response was not complete after 0.2 s"


def test_silence_ends_with_the_read_timeout() -> None:
    with Client(read_timeout=0.2) as client, RawServer(lambda *_: time.sleep(5)) as server:
        assert failure(client, Request(GET, server.url)) == "no answer for 0.2 s"


def test_silence_inside_the_body_ends_with_the_read_timeout() -> None:
    def stall(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
        time.sleep(5)

    with Client(read_timeout=0.2) as client, RawServer(stall) as server:
        assert failure(client, Request(GET, server.url)) == "no answer for 0.2 s"


def test_a_requests_own_timeout_limits_the_whole_exchange(client: Client) -> None:
    with RawServer(lambda *_: time.sleep(5)) as server:
        reason = failure(client, Request(GET, server.url), timeout=0.2)
    assert reason in ("no answer for 0.2 s", "the response was not complete after 0.2 s")


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), 1e9])
def test_a_timeout_that_is_none_is_refused(client: Client, timeout: float) -> None:
    with RawServer(echo) as server:
        reason = failure(client, Request(GET, server.url), timeout=timeout)
    assert reason == "a timeout is between 0 and 86400 seconds"
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
            reason = failure(client, Request(GET, f"http://127.0.0.1:{listener.getsockname()[1]}"))
        for other in others:
            other.close()
    assert reason == "no connection within 0.2 s"


# ------------------------------------------------------------------------------------------- faults


def test_a_refused_connection_says_so_with_file_and_line(client: Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with pytest.raises(TransportError) as caught:
        client.send(Request(GET, f"http://127.0.0.1:{port}/", file="a.org", line=7, column=3))
    assert str(caught.value) == "a.org:7:3: the connection was refused"


def test_an_unknown_host_is_named(client: Client) -> None:
    reason = failure(client, Request(GET, "http://no-such-host.invalid/"))
    assert reason == "the host name no-such-host.invalid is not known"


def reset(connection: socket.socket, _: bytes) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (closing(b""), "the server closed the connection without an answer"),
        (reset, "the server reset the connection"),
        (closing(b"garbage\r\n\r\n"), "the answer is not HTTP: it begins with 'garbage"),
        (closing(b"\x16\x03\x01\x00\r\n"), "the answer is not HTTP: it begins with "),
        (closing(b"HTTP/1.1 abc OK\r\n\r\n"), "the answer is not HTTP: it begins with 'HTTP/1.1 a"),
        (closing(b"HTTP/2 200\r\n\r\n"), "the answer is not HTTP/1.x: HTTP/2"),
        (
            closing(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n1234567"),
            "the connection was closed after 7 of 12 announced bytes",
        ),
        (
            closing(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"),
            "the connection was closed after 2 of 5 announced bytes",
        ),
        (
            closing(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-10\r\nab"),
            "the response ends inside a chunk, or its chunks are damaged",
        ),
        (
            closing(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab"),
            "the response ends inside a chunk, or its chunks are damaged",
        ),
        (
            closing(response(b"not gzip", "Content-Encoding: gzip")),
            "the body is not what its Content-Encoding says",
        ),
        (
            closing(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
            "the response's header contradicts itself: Content-Length",
        ),
    ],
)
def test_each_fault_of_a_server_has_its_words(client: Client, answer: object, reason: str) -> None:
    with RawServer(answer) as server:  # type: ignore[arg-type]
        assert failure(client, Request(GET, server.url)).startswith(reason)


PIECES = st.sampled_from(
    [
        *(b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 ", b"302 Found", b"103 E", b"101 S", b"204 N", b"999"),
        *(b"\r\n", b"\n", b"\r", b"\r\n\r\n", b"Location: ", b"/x", b"//", b"http://[", b"\x00"),
        *(b"Content-Length: ", b"5", b"-1", b"9" * 25, b"Transfer-Encoding: chunked\r\n", b"\xff"),
        *(b"Content-Encoding: gzip\r\n", b"Content-Encoding: zstd, x\r\n", b"5\r\nhello\r\n", b":"),
        *(b"0\r\n\r\n", b"-10\r\n", b"5;=\r\n", b"Set-Cookie: a=b; Domain=.; Max-Age=x\r\n"),
        *(
            _gzip(b"abc"),
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
            answer = client.send(request, cookies=client.new_cookies())
        except TransportError as error:
            assert error.reason  # noqa: PT017  (either outcome is right)
        else:
            render(request, answer).block().encode()


def test_after_a_fault_the_client_goes_on(client: Client) -> None:
    with RawServer(by_path({"/bad": closing(b"nonsense"), "/good": response(b"ok")})) as server:
        failure(client, Request(GET, f"{server.url}/bad"))
        assert client.send(Request(GET, f"{server.url}/good")).body == b"ok"


# ---------------------------------------------------------------------------------------- redirects


def to(location: str, status: str = "302 Found") -> bytes:
    return response(b"", f"Location: {location}", status=status)


@pytest.mark.parametrize(
    ("status", "method", "then"),
    [
        ("301 Moved", "POST", "GET"),
        ("302 Found", "POST", "GET"),
        ("301 Moved", "PUT", "PUT"),
        ("302 Found", "PUT", "PUT"),
        ("301 Moved", "PATCH", "PATCH"),
        ("302 Found", "DELETE", "DELETE"),
        ("301 Moved", "HEAD", "HEAD"),
        ("303 See Other", "PUT", "GET"),
        ("307 Temporary", "POST", "POST"),
        ("308 Permanent", "PUT", "PUT"),
        ("302 Found", "HEAD", "HEAD"),
    ],
)
def test_redirects_repeat_or_turn_into_get(
    client: Client, status: str, method: str, then: str
) -> None:
    body = None if method == "HEAD" else b"body"
    with RawServer(by_path({"/a": to("/b?x", status), "/b?x": response(b"")})) as server:
        headers = (("X-Own", "1"), ("Content-Type", "t"))
        answer = client.send(Request(method, f"{server.url}/a", headers, body))
    assert answer.status == 200
    assert answer.url == f"{server.url}/b?x"
    assert [(step.status, step.url) for step in answer.redirects] == [
        (int(status[:3]), f"{server.url}/b?x")
    ]
    second = server.requests[1]
    assert second.startswith(f"{then} /b?x ".encode())
    assert b"X-Own: 1\r\nContent-Type: t\r\n" in second
    assert second.endswith(b"body") == (then == method and method != "HEAD")


def test_a_get_after_a_redirected_post_does_not_announce_a_body(client: Client) -> None:
    with RawServer(by_path({"/a": to("/b", "303 See Other"), "/b": response(b"")})) as server:
        headers = (("Content-Length", "4"), ("X-A", "1"))
        client.send(Request("POST", f"{server.url}/a", headers, b"body"))
    assert "content-length" not in headers_sent(server)


def test_credentials_stay_on_the_same_origin(client: Client) -> None:
    private = (("Authorization", "Bearer t"), ("Cookie", "a=1"), ("X-A", "1"))
    with RawServer(by_path({"/a": to("/b"), "/b": response(b"")})) as server:
        client.send(Request(GET, f"{server.url}/a", private))
    assert headers_sent(server)["authorization"] == "Bearer t"
    assert headers_sent(server)["cookie"] == "a=1"


def test_credentials_never_reach_another_origin(client: Client) -> None:
    headers = (
        ("Authorization", "Bearer t"),
        ("Cookie", "a=1"),
        ("Host", "example.org"),
        ("X-Api-Key", "k-s3cret"),
        ("X-A", "1"),
    )
    cookies = client.new_cookies()
    with RawServer(response(b"")) as other:
        away = response(b"", f"Location: {other.url}/b", "Set-Cookie: c=1", status="302 Found")
        with RawServer(away) as server:
            url = server.url.replace("//", "//user:pw@")
            request = Request(GET, f"{url}/a", headers, secrets=frozenset({"s3cret"}))
            client.send(request, cookies=cookies)
    sent = headers_sent(other)
    assert sent["host"] == other.host
    assert {"authorization", "cookie", "x-api-key", "x-a"}.isdisjoint(sent)


def test_a_body_with_a_secret_is_not_redirected_to_another_origin(client: Client) -> None:
    with RawServer(response(b"")) as other, RawServer(to(other.url, "307 T")) as server:
        request = Request("POST", server.url, (), b"pw=s3cret", secrets=frozenset({"s3cret"}))
        reason = failure(client, request)
        client.send(Request("POST", server.url, (), b"harmless"))
    assert reason.endswith("the body holds a secret and is not sent on")
    assert len(other.requests) == 1


def test_a_redirect_loop_is_a_failure_after_ten(client: Client) -> None:
    with RawServer(to("/loop")) as server:
        reason = failure(client, Request(GET, f"{server.url}/loop"))
        assert client.send(Request(GET, f"{server.url}/loop"), follow=False).status == 302
    assert reason.startswith("still redirected after 10 redirects, to /loop: given up")
    assert len(server.requests) == 12


def test_ten_redirects_are_followed(client: Client) -> None:
    steps: dict[str, bytes | Handler] = {f"/{n}": to(f"/{n + 1}") for n in range(10)}
    with RawServer(by_path({**steps, "/10": response(b"there")})) as server:
        answer = client.send(Request(GET, f"{server.url}/0"))
    assert (answer.body, len(answer.redirects)) == (b"there", 10)


def test_of_the_documents_headers_only_a_short_list_reaches_another_origin(client: Client) -> None:
    headers = (
        ("X-Api-Key", "literal"),
        ("X-Auth-Token", "literal"),
        ("Api-Key", "literal"),
        ("Accept", "text/a"),
        ("Accept-Language", "de"),
        ("Content-Type", "text/b"),
        ("User-Agent", "me"),
        ("If-None-Match", '"1"'),
    )
    with RawServer(echo) as other, RawServer(to(other.url, "307 T")) as server:
        answer = client.send(Request("POST", server.url, headers, b"x"))
        assert headers_sent(server)["x-api-key"] == "literal"
    sent = headers_sent(other)
    kept = {name: sent[name] for name in ("accept", "accept-language", "content-type")}
    assert kept == {"accept": "text/a", "accept-language": "de", "content-type": "text/b"}
    assert (sent["user-agent"], sent["if-none-match"]) == ("me", '"1"')
    assert {"x-api-key", "x-auth-token", "api-key"}.isdisjoint(sent)
    assert answer.warnings == (
        f"not sent on to another origin, {other.url}/: X-Api-Key, X-Auth-Token, Api-Key",
    )


def test_every_header_is_repeated_within_an_origin(client: Client) -> None:
    with RawServer(by_path({"/a": to("/b", "307 T"), "/b": echo})) as server:
        headers = (("X-Api-Key", "literal"), ("Authorization", "Bearer t"))
        assert client.send(Request(GET, f"{server.url}/a", headers)).warnings == ()
    sent = headers_sent(server)
    assert (sent["x-api-key"], sent["authorization"]) == ("literal", "Bearer t")


def test_a_redirect_is_the_answer_when_it_leads_nowhere_or_is_not_wanted(client: Client) -> None:
    with RawServer(by_path({"/a": to("/b"), "/n": response(b"", status="302 F")})) as server:
        assert client.send(Request(GET, f"{server.url}/a"), follow=False).status == 302
        assert client.send(Request(GET, f"{server.url}/n")).status == 302
    assert len(server.requests) == 2


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://h/", "http://[", "http://:1/"])
def test_a_redirect_away_from_http_is_refused(client: Client, location: str) -> None:
    with RawServer(to(location)) as server:
        assert failure(client, Request(GET, server.url)).startswith("not a")


def test_options_of_the_whole_server_is_sent_with_an_asterisk(client: Client) -> None:
    with RawServer(echo) as server:
        client.send(Request("OPTIONS", absolute_url("*", server.host, None)))
        assert server.requests[-1].startswith(b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1")
        assert failure(client, Request(GET, f"{server.url}*")) == (
            "GET * cannot be sent: only OPTIONS has no path"
        )
    with RawServer(to("a")) as server:
        trace = Trace()
        with pytest.raises(TransportError, match="still redirected"):
            client.send(Request("OPTIONS", f"{server.url}*"), trace=trace)
        assert trace.hops[1].request.url == f"{server.url}/a"


# ------------------------------------------------------------------------------------------ cookies


def test_cookies_come_back_within_a_document_and_not_in_another(client: Client) -> None:
    cookies = client.new_cookies()
    lines = ("Set-Cookie: a=1; Path=/", "Set-Cookie: b=2; Path=/deep")
    with RawServer(by_path({"/set": response(b"", *lines), "/": echo, "/deep/x": echo})) as server:
        client.send(Request(GET, f"{server.url}/set"), cookies=cookies)
        client.send(Request(GET, f"{server.url}/"), cookies=cookies)
        assert headers_sent(server)["cookie"] == "a=1"
        client.send(Request(GET, f"{server.url}/deep/x"), cookies=cookies)
        assert headers_sent(server)["cookie"] == "b=2; a=1"
        client.send(Request(GET, f"{server.url}/"), cookies=client.new_cookies())
        assert "cookie" not in headers_sent(server)


def test_cookies_are_not_shown_to_another_port(client: Client) -> None:
    cookies = client.new_cookies()
    with RawServer(response(b"", "Set-Cookie: a=1")) as one, RawServer(echo) as other:
        client.send(Request(GET, one.url), cookies=cookies)
        client.send(Request(GET, other.url), cookies=cookies)
        client.send(Request(GET, one.url), cookies=cookies)
    assert "cookie" not in headers_sent(other)
    assert headers_sent(one)["cookie"] == "a=1"


def test_a_cookie_set_by_a_redirect_is_sent_to_where_it_leads(client: Client) -> None:
    login = response(b"", "Location: /home", "Set-Cookie: s=1; Path=/", status="302 Found")
    with RawServer(by_path({"/login": login, "/home": echo})) as server:
        client.send(Request("POST", f"{server.url}/login", (), b"x"))
    assert headers_sent(server)["cookie"] == "s=1"


# ---------------------------------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def serving(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    return context


@pytest.fixture
def tls_server(authority: trustme.CA) -> Iterator[RawServer]:
    with RawServer(echo, context=serving(authority, "127.0.0.1")) as server:
        yield server


def test_a_certificate_of_an_unknown_authority_is_refused(
    client: Client, tls_server: RawServer
) -> None:
    reason = failure(client, Request(GET, tls_server.url))
    assert reason.startswith("the server's TLS certificate is not valid: ")
    assert tls_server.requests == []


@pytest.mark.parametrize("shape", ["file", "folder"])
def test_a_given_authority_is_trusted(
    authority: trustme.CA, tls_server: RawServer, tmp_path: Path, shape: str
) -> None:
    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    if shape == "folder":
        import subprocess

        openssl = ["openssl", "x509", "-hash", "-noout", "-in", str(pem)]
        name = subprocess.run(openssl, capture_output=True, text=True, check=True).stdout.strip()
        pem.rename(tmp_path / f"{name}.0")
        pem = tmp_path
    with Client(ca=pem) as client:
        assert client.send(Request(GET, tls_server.url)).status == 200
        assert client.send(Request(GET, tls_server.url)).status == 200
    assert tls_server.connections == 1


def test_a_certificate_for_another_name_is_refused(authority: trustme.CA, tmp_path: Path) -> None:
    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    context = serving(authority, "example.org")
    with RawServer(echo, context=context) as server, Client(ca=pem) as client:
        assert "certificate is not valid" in failure(client, Request(GET, server.url))
    assert server.requests == []


def test_insecure_takes_any_certificate_and_warns(tls_server: RawServer) -> None:
    with Client(insecure=True) as client:
        assert client.send(Request(GET, tls_server.url)).status == 200
        assert client.warnings == (
            "TLS certificates are not verified (--insecure): anyone may answer",
        )


def test_a_secure_client_has_nothing_to_warn_of(client: Client) -> None:
    assert client.warnings == ()


def test_tls_to_a_server_without_it_fails_in_plain_words(client: Client) -> None:
    with RawServer(closing(b"HTTP/1.1 400 Bad\r\n\r\n")) as server:
        reason = failure(client, Request(GET, server.url.replace("http:", "https:")), timeout=0.5)
    assert reason.startswith(("TLS failed: ", "no answer", "the response was not complete"))


def test_certificates_that_cannot_be_read_are_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(OrgrestError, match="cannot read the certificates: No such file"):
        Client(ca=tmp_path / "none.pem")
    bad = tmp_path / "bad.pem"
    bad.write_text("nonsense")
    with pytest.raises(OrgrestError, match="not a file of PEM certificates"):
        Client(ca=bad)


# ------------------------------------------------------------------------------------------ proxies


def test_a_proxy_of_the_environment_forwards_plain_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with RawServer(echo) as server, Proxy() as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        headers = (("x-b", "1"), ("X-A", "2"), ("X-B", "3"))
        with Client() as client:
            client.send(Request("POST", f"{server.url}/p?q", headers, b"body"))
    head = head_of(proxy.requests[0])
    assert head[0] == f"POST {server.url}/p?q HTTP/1.1"
    assert head[-4:-1] == ["x-b: 1", "X-A: 2", "X-B: 3"]
    assert head_of(server.requests[0])[0] == "POST /p?q HTTP/1.1"


def test_tls_goes_through_a_tunnel_that_sees_no_header(
    monkeypatch: pytest.MonkeyPatch, authority: trustme.CA, tls_server: RawServer, tmp_path: Path
) -> None:
    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    with Proxy(authorization="Basic dTpw") as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.replace("//", "//u:p@"))
        with Client(ca=pem) as client:
            answer = client.send(Request(GET, tls_server.url, (("X-Secret", "1"),)))
    assert answer.status == 200
    assert b"X-Secret" not in proxy.requests[0]
    assert b"X-Secret: 1" in tls_server.requests[0]
    assert b"roxy-Authorization" not in tls_server.requests[0]


def test_a_proxy_gets_its_credentials_in_a_forwarded_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with RawServer(echo) as server, Proxy(authorization="Basic dTpw") as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.host.join(("u:p@", "")))
        monkeypatch.delenv("REQUEST_METHOD", raising=False)
        monkeypatch.setenv("http_proxy", f"u:p@{proxy.host}")
        with Client() as client:
            assert client.send(Request(GET, server.url)).status == 200


@pytest.mark.skipif(find_spec("socks") is None, reason="pip install pysocks: SOCKS needs it")
def test_a_socks_proxy_is_used_with_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer(echo) as server, Socks() as proxy:
        monkeypatch.setenv("all_proxy", proxy.url.replace("http", "socks5"))
        with Client() as client:
            client.send(Request(GET, f"{server.url}/a/../%2f", (("x-b", "1"), ("X-B", "2"))))
    assert proxy.targets == [("127.0.0.1", server.port)]
    assert head_of(server.requests[0])[0] == "GET /a/../%2f HTTP/1.1"
    assert head_of(server.requests[0])[-2:] == ["x-b: 1", "X-B: 2"]


def test_no_proxy_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer(echo) as server, Proxy() as proxy:
        monkeypatch.setenv("all_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with Client() as client:
            client.send(Request(GET, server.url))
    assert proxy.requests == []


def test_a_proxy_that_refuses_or_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer(echo) as server, Proxy(authorization="x") as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        with Client() as client:
            reason = failure(client, Request(GET, server.url.replace("http:", "https:")))
        assert reason.startswith("through the proxy: tunnel connection failed: 407")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with Client() as client:
        reason = failure(client, Request(GET, "http://example.org/"))
    assert reason == "through the proxy: the connection was refused"


@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        ("socks5://u:s3cret@h:1", "the proxy socks5://h:1 needs PySocks: pip install pysocks"),
        ("http://u:s3cret@[", "not a proxy: http://["),
        ("ftp://u:s3cret@h", "not a proxy: ftp://h"),
    ],
)
def test_a_proxy_that_is_none_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str, reason: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setattr(pools, "find_spec", lambda _: None)
    with Client() as client:
        assert failure(client, Request(GET, "http://example.org/")) == reason


def test_a_system_without_root_certificates_takes_certifis_or_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, authority: trustme.CA, tls_server: RawServer, tmp_path: Path
) -> None:
    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    nothing = ssl.DefaultVerifyPaths(None, None, "", "", "", "")
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nothing)
    monkeypatch.setitem(sys.modules, "certifi", None)
    with Client() as client:
        assert "pip install certifi, or give --ca" in failure(client, Request(GET, tls_server.url))
    certifi = types.SimpleNamespace(where=lambda: str(pem))
    monkeypatch.setitem(sys.modules, "certifi", certifi)
    with Client() as client:
        assert client.send(Request(GET, tls_server.url)).status == 200


# ------------------------------------------------------------------------------ threads and httpbin


def test_threads_share_a_client(client: Client) -> None:
    bodies: list[bytes] = []
    with RawServer(echo) as server:

        def ask(number: int) -> None:
            for _ in range(5):
                bodies.append(client.send(Request(GET, f"{server.url}/{number}")).body)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(body.split(b" ")[1] for body in bodies) == sorted(
        f"/{number}".encode() for number in range(4) for _ in range(5)
    )


def test_httpbin_sees_what_was_sent(client: Client) -> None:
    import json

    with httpbin() as url:
        sent = Request(
            "POST", f"{url}/post?a=ä", (("Content-Type", "application/json"),), b'{"b":1}'
        )
        seen = json.loads(client.send(sent).body)
        assert seen["args"] == {"a": "ä"}
        assert seen["json"] == {"b": 1}
        cookies = client.new_cookies()
        answer = client.send(Request(GET, f"{url}/cookies/set?k=v"), cookies=cookies)
        assert json.loads(answer.body) == {"cookies": {"k": "v"}}
        for path in ("gzip", "deflate"):
            assert client.send(Request(GET, f"{url}/{path}")).body.startswith(b"{")
        assert (
            client.send(Request(GET, f"{url}/basic-auth/u/p".replace("//", "//u:p@"))).status == 200
        )
        assert client.send(Request(GET, f"{url}/stream/3")).body.count(b"\n") == 3


# --------------------------------------------------------------------------------------- cancelling


class LateServer(RawServer):
    """Takes up a connection, and TLS, only when it is told to."""

    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(response(b"late"), context=context)
        self.ready = threading.Event()

    def _serve(self, connection: socket.socket) -> None:
        self.ready.wait(30)
        super()._serve(connection)


def sending(client: Client, url: str) -> tuple[threading.Thread, list[str]]:
    """Send in a thread; gives it and what goes wrong there."""
    reasons: list[str] = []
    thread = threading.Thread(target=lambda: reasons.append(failure(client, Request(GET, url))))
    thread.start()
    return thread, reasons


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.parametrize("tls", [False, True])
def test_a_client_that_is_aborted_waits_no_longer(authority: trustme.CA, tls: bool) -> None:
    never = threading.Event()
    context = serving(authority, "localhost") if tls else None

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
    """A port whose queue of connections is full: who connects waits."""
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
        thread.join(10)
        assert not thread.is_alive()
        assert reasons == ["cancelled"]


def test_cancelling_during_the_tls_handshake_leaves_no_thread(authority: trustme.CA) -> None:
    context = serving(authority, "localhost")
    with LateServer(context) as server, Client(insecure=True, connect_timeout=60) as client:
        thread, reasons = sending(client, f"https://localhost:{server.port}/")
        wait_until(lambda: server.connections)
        client.abort()
        thread.join(10)
        assert not thread.is_alive()
        assert reasons == ["cancelled"]
        server.ready.set()


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts its files in /proc")
def test_connections_leave_no_files_open() -> None:
    with RawServer(closing(response(b"x"))) as server:
        before = len(list(Path("/proc/self/fd").iterdir()))
        with Client() as client:
            for _ in range(20):
                client.send(Request(GET, server.url))
                failure(client, Request(GET, "http://127.0.0.1:1/"))
            wait_until(lambda: len(list(Path("/proc/self/fd").iterdir())) <= before + 4)


def test_an_aborted_client_sends_nothing_any_more() -> None:
    with RawServer(response(b"x")) as server, Client() as client:
        client.abort()
        assert failure(client, Request(GET, server.url)) == "cancelled"
        assert server.connections == 0


def test_a_connection_that_comes_too_late_is_not_used(authority: trustme.CA) -> None:
    context = serving(authority, "localhost")
    with LateServer(context) as server, Client(insecure=True) as client:
        thread, reasons = sending(client, f"https://localhost:{server.port}/")
        wait_until(lambda: server.connections)
        client.abort()
        server.ready.set()
        thread.join(30)
        assert reasons == ["cancelled"]
        assert server.requests == []


def test_what_is_accepted_is_what_urllib3_decodes() -> None:
    codings = make_headers(accept_encoding=True)["accept-encoding"]
    assert accept_encoding().split(", ") == codings.split(",")
