"""Content codings are decoded, and a truncated body is never mistaken for a complete one."""

from __future__ import annotations

import gzip
import socket
import zlib

import pytest
from exchanges import failure, headers_sent
from servers import RawServer, closing, response
from urllib3.util import make_headers

from orgrest.http.transport.client import Client
from orgrest.http.transport.reading import PACKAGES
from orgrest.http.transport.wire import accept_encoding
from orgrest.installing import install_command
from orgrest.model import Request, TransportError


@pytest.mark.parametrize("coding", ["gzip", "deflate", "x-gzip"])
def test_content_codings_are_undone(client: Client, coding: str) -> None:
    body = zlib.compress(b"plain") if coding == "deflate" else gzip.compress(b"plain")
    with RawServer(response(body, f"Content-Encoding: {coding}")) as server:
        assert client.send(Request("GET", server.url)).body == b"plain"


def test_a_coded_body_in_chunks_is_put_together(client: Client) -> None:
    body = gzip.compress(b"plain")
    chunks = b"".join(b"3;x=y\r\n%s\r\n" % body[i : i + 3] for i in range(0, len(body) - 3, 3))
    rest = body[(len(body) - 1) // 3 * 3 :]
    framed = chunks + b"%x\r\n%s\r\n0\r\nX-Trailer: 1\r\n\r\n" % (len(rest), rest)
    lines = ("Content-Encoding: gzip", "Transfer-Encoding: chunked")
    with RawServer(response(framed, *lines, length=False)) as server:
        assert client.send(Request("GET", server.url)).body == b"plain"
        assert client.send(Request("GET", server.url)).body == b"plain"
    assert server.connections == 1


def chunked(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("gzip, chunked", gzip.compress(b"plain", mtime=0)),
        ("x-gzip,Chunked", gzip.compress(b"plain", mtime=0)),
        ("deflate\r\nTransfer-Encoding: chunked", zlib.compress(b"plain")),
        ("identity, chunked", b"plain"),
        ("chunked, chunked", b"plain"),
        ("\r\n chunked", b"plain"),
    ],
)
def test_chunks_are_put_together_whatever_other_transfer_codings_are_named(
    client: Client, coding: str, body: bytes
) -> None:
    with RawServer(response(chunked(body), f"Transfer-Encoding: {coding}", length=False)) as server:
        found = client.send(Request("GET", server.url))
    assert (found.body, found.warnings) == (b"plain", ())


@pytest.mark.parametrize(
    "body",
    [
        *(b"0005\r\nhello\r\n0", b"00", b"5", b"", b"5\r\nhello", b"5\r\nhello\r"),
        *(b"5\r\nhelloXY0\r\n\r\n", b"5\r\nhello\n\n0\r\n\r\n"),
        *(b"+5\r\nhello\r\n0\r\n\r\n", b"0_5\r\nhello\r\n0\r\n\r\n"),
        *(b"0x5\r\nhello\r\n0\r\n\r\n", b"5\r\nhello\r\n-0\r\n\r\n", b"5 5\r\nhello\r\n0\r\n\r\n"),
    ],
)
def test_damaged_chunks_are_not_taken_for_a_complete_body(client: Client, body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with RawServer(closing(head + body)) as server:
        reason = failure(client, Request("GET", server.url))
    assert reason == "the chunked response is incomplete or damaged"


@pytest.mark.parametrize(
    "body",
    [b"5 ;a=b\nhello\r\n0\r\n", b"0005\r\nhello\r\n000;a\r\nX: y", b"5\r\nhello\r\n0\r\n\r\n"],
)
def test_chunks_are_complete_with_the_last_chunk(client: Client, body: bytes) -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    with RawServer(closing(head + body)) as server:  # RFC 9112, section 8
        assert client.send(Request("GET", server.url)).body == b"hello"


def test_transfer_codings_are_undone_before_content_codings(client: Client) -> None:
    body = zlib.compress(gzip.compress(b"plain"))
    lines = ("Transfer-Encoding: deflate, chunked", "Content-Encoding: gzip")
    with RawServer(response(chunked(body), *lines, length=False)) as server:
        found = client.send(Request("GET", server.url))
    assert found.body == b"plain"
    assert found.header("Content-Encoding") == "gzip"


def test_a_length_beside_a_transfer_coding_does_not_cut_the_body(client: Client) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: gzip\r\n\r\n"

    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(head + gzip.compress(b"plain"))
        connection.shutdown(socket.SHUT_RDWR)

    with RawServer(answer) as server:
        found = client.send(Request("GET", server.url))
    assert found.body == b"plain"


@pytest.mark.parametrize("coding", ["compress, chunked", "chunked, gzip"])
def test_a_body_in_an_unknown_transfer_coding_is_not_taken_for_plain(
    client: Client, coding: str
) -> None:
    line = f"Transfer-Encoding: {coding}"
    answer = response(chunked(b"x"), line, length=False)
    with RawServer(answer) as server, pytest.raises(TransportError) as caught:
        client.send(Request("GET", server.url))
    assert caught.value.reason == f"unsupported transfer coding in the response: {coding}"


@pytest.mark.parametrize(("coding", "package"), [("br", "brotli"), ("zstd", "backports.zstd")])
def test_an_optional_content_coding_is_undone_or_named(
    client: Client, coding: str, package: str
) -> None:
    body = {
        "br": b"\x0b\x02\x80plain\x03",
        "zstd": b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00plain",
    }[coding]
    with RawServer(response(body, f"Content-Encoding: {coding}")) as server:
        answer = client.send(Request("GET", server.url))
        offered = coding in headers_sent(server)["accept-encoding"]
    if offered:
        assert (answer.body, answer.warnings) == (b"plain", ())
    else:
        assert answer.body == body
        assert install_command(package) in answer.warnings[0]


RAW = zlib.compress(b"plain" * 99)[2:-4]
BR = b"\x0b\x02\x80plain\x03"
ZSTD = b"\x28\xb5\x2f\xfd\x20\x05\x29\x00\x00plain"


def _gzip(body: bytes) -> bytes:
    # pytest names a case by its bytes: without the time, so that all workers collect the same
    return gzip.compress(body, mtime=0)


def coded(client: Client, coding: str, body: bytes) -> bytes:
    with RawServer(response(body, f"Content-Encoding: {coding}")) as server:
        return client.send(Request("GET", server.url)).body


HARMLESS = (4, 5, 6, 7, 8, 9)  # the time, the flags of deflate and the system in a gzip header


def offered(coding: str) -> object:
    missing = coding not in accept_encoding()
    return pytest.mark.skipif(missing, reason=f"pip install {PACKAGES[coding]}")


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
            f"the body is truncated: its {coding} data is incomplete",
            "it does not match its Content-Encoding",  # zstd is told by urllib3
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
    with pytest.raises(TransportError, match="the body is truncated:"):
        coded(client, coding, body)


@pytest.mark.parametrize("coding", ["gzip", "gzip, gzip"])
def test_data_that_is_damaged_after_its_first_part_never_passes_for_the_whole(
    client: Client, coding: str
) -> None:
    first, second = _gzip(b"a"), _gzip(b"plain" * 99)
    for at in range(2, len(second)):
        damaged = first + second[:at] + bytes([second[at] ^ 0xFF]) + second[at + 1 :]
        body = damaged if coding == "gzip" else _gzip(damaged)
        if at in HARMLESS:
            assert coded(client, coding, body) == b"a" + b"plain" * 99
            continue
        with pytest.raises(TransportError) as caught:
            coded(client, coding, body)
        assert caught.value.reason.startswith(
            ("could not decode the body", "the body is truncated"),
        )


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
    ("method", "status"),
    [("HEAD", "200 OK"), ("GET", "204 No Content"), ("GET", "304 Not Modified")],
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


def test_an_unknown_content_coding_is_reported(client: Client) -> None:
    with RawServer(response(b"x", "Content-Encoding: rot13")) as server:
        answer = client.send(Request("GET", server.url))
    assert answer.body == b"x"
    assert answer.warnings == ("the body is still encoded: unknown encoding rot13",)


@pytest.mark.parametrize(
    "coding", ["identity", "gzip, identity", "identity,gzip\r\nContent-Encoding: "]
)
def test_a_body_in_no_coding_is_read_as_it_is(client: Client, coding: str) -> None:
    body = gzip.compress(b"plain") if "gzip" in coding else b"plain"
    with RawServer(response(body, f"Content-Encoding: {coding}")) as server:
        answer = client.send(Request("GET", server.url))
    assert (answer.body, answer.warnings) == (b"plain", ())


def test_an_unknown_content_coding_among_others_is_reported(client: Client) -> None:
    packed = gzip.compress(b"plain")
    for coding, body, left in (("foo, gzip", packed, b"plain"), ("gzip, foo", packed, packed)):
        with RawServer(response(body, f"Content-Encoding: {coding}")) as server:
            answer = client.send(Request("GET", server.url))
        assert answer.body == left
        assert answer.warnings == ("the body is still encoded: unknown encoding foo",)


def test_what_is_accepted_is_what_urllib3_decodes() -> None:
    codings = make_headers(accept_encoding=True)["accept-encoding"]
    assert accept_encoding().split(", ") == codings.split(",")
