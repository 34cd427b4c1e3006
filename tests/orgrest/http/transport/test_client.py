"""Requests are sent byte for byte, and responses kept as received, over real sockets."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from typing import TYPE_CHECKING

import pytest
from exchanges import failure, head_of, headers_sent
from servers import RawServer, by_path, closing, echo, httpbin, response

from orgrest.http.transport.client import Client, Hop
from orgrest.http.transport.cookies import Cookies
from orgrest.http.transport.limits import Budget
from orgrest.http.transport.wire import parse_url, wire_headers
from orgrest.model import Headers, Request, TransportError
from orgrest.run.outcomes import Exchange

if TYPE_CHECKING:
    pass


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


@pytest.mark.parametrize("method", ["GET", "DELETE", "POST", "PATCH", "PROPFIND", "Unknown"])
@pytest.mark.parametrize("body", [None, b"", b"body"])
def test_reports_list_every_header_line_that_was_sent(
    client: Client, method: str, body: bytes | None
) -> None:
    hops: list[Hop] = []
    with RawServer(echo) as server:
        client.send(Request(method, server.url, body=body), hops=hops)
    listed = [f"{name}: {value}" for name, value in hops[0].request.headers]
    assert listed == head_of(server.requests[0])[1:]


def test_a_header_value_outside_ascii_is_sent_as_its_bytes(client: Client) -> None:
    with RawServer(echo) as server:
        client.send(Request("GET", server.url, (("X-A", "caf\u00e9 \u2603 \udcff"),)))
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
    cookies = Cookies()
    setting = response(b"", "Set-Cookie: theirs=1; Path=/")
    with RawServer(by_path({"/set": setting, "/": echo})) as server:
        client.send(Request("GET", f"{server.url}/set"), cookies=cookies)
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
        ('/{x}?{"a":`^`}', "/%7Bx%7D?%7B%22a%22:%60%5E%60%7D"),
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
        client.send(Request("GET", server.url + written))
    assert head_of(server.requests[0])[0] == f"GET {sent} HTTP/1.1"


def test_userinfo_becomes_basic_credentials_and_is_not_part_of_host(client: Client) -> None:
    with RawServer(echo) as server:
        client.send(Request("GET", f"http://us%40er:p%C3%A4ss@{server.host}/"))
    assert headers_sent(server)["authorization"] == "Basic dXNAZXI6cMOkc3M="
    assert headers_sent(server)["host"] == server.host


@pytest.mark.parametrize("bad", ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", "a\r\n b"])
def test_a_line_break_or_nul_in_a_header_value_is_never_sent(client: Client, bad: str) -> None:
    with RawServer(echo) as server:
        reason = failure(client, Request("GET", server.url, (("X-A", bad),)))
    assert reason == "the value of X-A contains a line break or a NUL"
    assert server.requests == []


@pytest.mark.parametrize("bad", ["", "X A", "X:", "X\r\nY", "Ä"])
def test_a_header_name_that_is_invalid_is_never_sent(client: Client, bad: str) -> None:
    with RawServer(echo) as server:
        assert failure(client, Request("GET", server.url, ((bad, "1"),))).startswith(
            "invalid header name: "
        )
    assert server.requests == []


@pytest.mark.parametrize("method", ["", "G T", "GET\r\nX: 1", "GÉT"])
def test_a_method_that_is_invalid_is_never_sent(client: Client, method: str) -> None:
    with RawServer(echo) as server:
        assert failure(client, Request(method, server.url)).startswith("invalid method: ")
    assert server.requests == []


@pytest.mark.parametrize(
    "url",
    [
        *("example.org", "/path", "ftp://h/", "file:///etc/passwd", "http://", "http:///x"),
        *("http://a b/", "http://h:x/", "http://h:99999/", "http://h\r\n/", "http://[::1/"),
        *("http://h%0d/", "http://a..b/", f"http://{'ü' * 70}/", "data:,x", "http://\u2025/"),
        *(f"http://{'ß' * 70}/", "http://a..ß/", "http://\u202eß/"),
    ],
)
def test_a_url_that_cannot_be_requested_is_refused(client: Client, url: str) -> None:
    assert failure(client, Request("GET", url)).startswith(
        ("invalid ", "expected an absolute http")
    )


@pytest.mark.parametrize(
    ("host", "sent"),
    [
        ("B\xfcCHER.Example", "xn--bcher-kva.example"),
        ("fa\xdf.de", "xn--fa-hia.de"),
        ("STRA\u1e9eE\u3002example", "xn--strae-oqa.example"),
        ("\u03b2\u03cc\u03bb\u03bf\u03c2.com", "xn--nxasmm1c.com"),
        ("\u0392\u038c\u039b\u039f\u03a3.com", "xn--nxasmq6b.com"),
        (
            "\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.com",
            "xn--mgba3gch31f060k.com",
        ),
        ("\uff21\xad\xdf.\u65e5\u672c", "xn--a-qfa.xn--wgv71a"),
    ],
)
def test_a_host_name_in_any_script_never_leads_to_another_domain(host: str, sent: str) -> None:
    # UTS #46, which browsers and curl follow: IDNA 2003 would make fass.de of the second
    assert parse_url(f"http://{host}/").host == sent


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


def test_a_wrong_content_length_of_the_user_is_an_error_and_nothing_is_sent(
    client: Client,
) -> None:
    with RawServer(echo) as server:
        with pytest.raises(TransportError, match="Content-Length is 3, but the body has 4 bytes"):
            client.send(Request("POST", server.url, (("Content-Length", "3"),), b"body"))
        answer = client.send(Request("GET", f"{server.url}/next"))
    assert answer.body.startswith(b"GET /next ")
    assert len(server.requests) == 1


def test_wire_headers_are_what_send_sends(client: Client) -> None:
    with RawServer(echo) as server:
        request = Request("PUT", server.url, (("X-A", "1"),), b"12")
        client.send(request)
        expected: Headers = wire_headers(request)
    assert head_of(server.requests[0])[1:] == [f"{name}: {value}" for name, value in expected]


def test_response_headers_keep_order_spelling_duplicates_and_bytes(client: Client) -> None:
    lines = (b"x-b: 1", b"X-A: caf\xc3\xa9", b"X-B: 2", b"X-Empty:", b"X-Bad: \xff")
    with RawServer(response(b"", *lines)) as server:
        answer = client.send(Request("GET", server.url))
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
        answer = client.send(Request("GET", server.url))
    assert (answer.status, answer.reason) == expected
    assert answer.version == "1.1"
    assert answer.duration > 0


def test_an_http_1_0_answer_that_ends_with_the_connection_is_whole(client: Client) -> None:
    with RawServer(closing(b"HTTP/1.0 200 OK\r\nX: 1\r\n\r\nall of it")) as server:
        answer = client.send(Request("GET", server.url))
    assert (answer.version, answer.body) == ("1.0", b"all of it")


def test_interim_responses_are_not_taken_for_the_answer(client: Client) -> None:
    interim = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3
    with RawServer(interim + response(b"real")) as server:
        first = client.send(Request("GET", server.url))
        second = client.send(Request("GET", server.url))
    assert (first.status, first.body) == (200, b"real")
    assert second.body == b"real"


def test_a_protocol_switch_ends_the_connection(client: Client) -> None:
    switching = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
    with RawServer(switching) as server:
        assert client.send(Request("GET", server.url)).status == 101
        client.send(Request("GET", server.url))
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
def test_a_length_that_is_invalid_is_a_failure(client: Client, length: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nabcde".encode()
    with RawServer(closing(head)) as server:
        assert "Content-Length" in failure(client, Request("GET", server.url))


@pytest.mark.parametrize("length", ["5, 5", "5,05", "5\r\nContent-Length: 5"])
def test_a_length_that_is_repeated_is_that_length(client: Client, length: str) -> None:
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n".encode()
    with RawServer(head + b"hello") as server:  # which keeps the connection open
        assert client.send(Request("GET", server.url)).body == b"hello"
        assert client.send(Request("GET", server.url)).body == b"hello"
    assert server.connections == 1


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


def test_a_body_that_a_204_announces_is_reported(client: Client) -> None:
    with RawServer(b"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n") as server:
        (warning,) = client.send(Request("GET", server.url)).warnings
    assert warning.startswith(
        "the response announces a body, which is not allowed with status 204:"
    )


def test_requests_to_one_server_share_a_connection(client: Client) -> None:
    with RawServer(echo) as server:
        for _ in range(3):
            client.send(Request("GET", server.url))
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
        client.send(Request("GET", server.url))
        assert client.send(Request("GET", f"{server.url}/again")).body == b"ok"
        reason = failure(client, Request("POST", f"{server.url}/never-twice", (), b"x"))
    assert reason == "the server closed the connection without a response"
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
        client.send(Request("GET", server.url))
        hops: list[Hop] = []
        assert client.send(Request("GET", server.url), hops=hops).body == b"ok"
        assert [hop.response is None for hop in hops] == [True, False]
        assert str(hops[0].error) == "the server closed the connection without a response"
        assert Exchange.of_hops(hops[0].request, hops).attempts == 2
        assert "--max-requests" in failure(client, Request("GET", server.url))
    assert len(seen) == 3


def test_a_get_that_may_not_be_sent_again_is_not_told_to_be_unsent() -> None:
    seen: list[bytes] = []

    def once(connection: socket.socket, request: bytes) -> None:
        seen.append(request)
        if len(seen) == 2:
            connection.close()
        else:
            connection.sendall(response(b"ok"))

    with RawServer(once) as server, Client(budget=Budget(requests=2)) as client:
        client.send(Request("GET", server.url))
        hops: list[Hop] = []
        with pytest.raises(
            TransportError, match=r"^not sent again: the run has reached its limit of 2 requests"
        ):
            client.send(Request("GET", server.url), hops=hops)
    assert (len(hops), len(seen)) == (1, 2)


def test_a_get_that_is_cancelled_on_a_kept_connection_is_recorded_once(client: Client) -> None:
    arrived, ended = threading.Event(), threading.Event()

    def slow(connection: socket.socket, request: bytes) -> None:
        if b"/slow" in request:
            arrived.set()
            ended.wait(30)
        else:
            connection.sendall(response(b"ok"))

    def cancel() -> None:
        arrived.wait(30)
        client.abort()
        ended.set()

    with RawServer(slow) as server:
        client.send(Request("GET", server.url))
        hops: list[Hop] = []
        threading.Thread(target=cancel).start()
        with pytest.raises(TransportError, match="cancelled"):
            client.send(Request("GET", f"{server.url}/slow"), hops=hops)
    assert (len(hops), len(server.requests)) == (1, 2)


def test_the_response_of_a_server_that_stops_reading_the_request_is_shown() -> None:
    done = threading.Event()

    def refuse() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1000)
            connection.sendall(response(b"big", status="413 Too Large"))
            done.wait(30)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        refusing = threading.Thread(target=refuse)
        refusing.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        with Client() as client:
            answer = client.send(Request("POST", url, (), b"z" * 20_000_000), timeout=0.3)
        done.set()
        refusing.join()
    assert (answer.status, answer.body) == (413, b"big")


def test_a_response_that_comes_before_the_whole_request_is_read_is_shown(client: Client) -> None:
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def refuse() -> None:
            connection, _ = listener.accept()
            connection.recv(1000)
            connection.sendall(response(b"big", "Connection: close", status="413 Too Large"))
            done.wait(0.3)
            connection.close()  # unread data makes the kernel reset the connection

        threading.Thread(target=refuse).start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        answer = client.send(Request("POST", url, (), b"z" * 20_000_000))
    assert (answer.status, answer.body) == (413, b"big")


@pytest.mark.parametrize(
    ("line", "section"),
    [
        ("no colon here", "5"),
        ("A b: c", "5"),
        (": empty", "5"),
        ("From me", "5"),
        (" X: indented", "2.2"),
        ("X: a\rInjected: b", "2.2"),
        ("X: a\r", "2.2"),
    ],
)
def test_a_malformed_header_line_never_loses_the_lines_below_it(
    client: Client, line: str, section: str
) -> None:
    for below in ("Content-Length: 2", "Transfer-Encoding: chunked", "Location: /e"):
        # the connection stays open: without the lines below, the end of the body is unknown
        head = f"HTTP/1.1 302 Found\r\n{line}\r\n{below}\r\n\r\n".encode()
        with RawServer(head + b"2\r\nok\r\n0\r\n\r\n") as server:
            reason = failure(client, Request("GET", server.url))
        shown = line if line.isprintable() else ascii(line)
        assert reason == (
            f"malformed header line in the response (RFC 9112, section {section}): {shown}"
        )


def test_a_malformed_line_in_an_interim_response_is_reported_too(client: Client) -> None:
    answer = b"HTTP/1.1 103 Early Hints\r\nno colon\r\n\r\n" + response(b"ok")
    with RawServer(answer) as server:
        assert failure(client, Request("GET", server.url)).endswith(": no colon")


def test_whitespace_before_the_colon_of_a_header_is_removed_and_noted(client: Client) -> None:
    head = b"HTTP/1.1 200 OK\r\nX-L : q\r\nContent-Length\t: 2\r\n\r\nokextra"
    with RawServer(head) as server:
        answer = client.send(Request("GET", server.url))
    assert (answer.body, answer.header("X-L")) == (b"ok", "q")
    assert "removed whitespace between the name of a header" in " ".join(answer.warnings)


def test_whitespace_at_the_end_of_a_header_is_not_part_of_its_value(client: Client) -> None:
    body = gzip.compress(b"plain")
    lines = ("X-Id: 7 \t", "X-Empty: \t ", "X-Folded: a\r\n\tb ", "X-Blank: c\r\n ", "X-In: a  b")
    coded = response(body, *lines, "Content-Encoding: gzip \t")
    moved = response(b"", "Location: /there ").replace(b"200 OK", b"302 Found", 1)
    with RawServer(by_path({"/": moved, "/there": coded})) as server:
        found = client.send(Request("GET", server.url))
    assert (found.body, found.url) == (b"plain", f"{server.url}/there")
    assert [found.header(name) for name in ("X-Id", "X-Empty", "X-In")] == ["7", "", "a  b"]
    assert [found.header(name) for name in ("X-Folded", "X-Blank")] == ["a b", "c"]


def test_header_lines_that_are_only_unusual_are_read(client: Client) -> None:
    head = b"HTTP/1.1 200 OK\nX(1):\nX-Folded: a\r\n\tb\r\nContent-Length:\r\n 2\r\n\r\nok"
    with RawServer(head) as server:
        for _ in range(2):
            found = client.send(Request("GET", server.url))
            names = [name for name, _ in found.headers]
            assert (names, found.body) == (["X(1)", "X-Folded", "Content-Length"], b"ok")
            assert found.warnings == ()
    assert server.connections == 1


def test_a_response_may_have_hundreds_of_header_lines_and_long_ones(client: Client) -> None:
    lines = [f"X-{number}: {number}" for number in range(400)]
    with RawServer(response(b"ok", *lines, f"X-Long: {'y' * 100_000}")) as server:
        found = client.send(Request("GET", server.url))
    assert found.body == b"ok"
    assert [found.header(f"X-{number}") for number in (0, 399)] == ["0", "399"]
    assert len(found.header("X-Long") or "") == 100_000


@pytest.mark.parametrize("head", ["", "Content-Length: 1", "Content-Length: 12\r\n"])
def test_a_header_that_is_cut_short_is_no_response(client: Client, head: str) -> None:
    with RawServer(closing(f"HTTP/1.1 200 OK\r\n{head}".encode())) as server:
        reason = failure(client, Request("GET", server.url))
    assert reason == "the connection was closed before the response headers were complete"


def test_threads_share_a_client(client: Client) -> None:
    bodies: list[bytes] = []
    with RawServer(echo) as server:

        def ask(number: int) -> None:
            for _ in range(5):
                bodies.append(client.send(Request("GET", f"{server.url}/{number}")).body)

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(body.split(b" ")[1] for body in bodies) == sorted(
        f"/{number}".encode() for number in range(4) for _ in range(5)
    )


def test_httpbin_sees_what_was_sent(client: Client) -> None:
    with httpbin() as url:
        sent = Request(
            "POST", f"{url}/post?a=ä", (("Content-Type", "application/json"),), b'{"b":1}'
        )
        seen = json.loads(client.send(sent).body)
        assert seen["args"] == {"a": "ä"}
        assert seen["json"] == {"b": 1}
        cookies = Cookies()
        answer = client.send(Request("GET", f"{url}/cookies/set?k=v"), cookies=cookies)
        assert json.loads(answer.body) == {"cookies": {"k": "v"}}
        for path in ("gzip", "deflate"):
            assert client.send(Request("GET", f"{url}/{path}")).body.startswith(b"{")
        known = f"{url}/basic-auth/u/p".replace("//", "//u:p@")
        assert client.send(Request("GET", known)).status == 200
        assert client.send(Request("GET", f"{url}/stream/3")).body.count(b"\n") == 3
