"""WebSockets and server-sent events from real servers: what is received, and what ends a stream."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from evaluated import Evaluated
from exchanges import tls_of
from hypothesis import given
from hypothesis import strategies as st
from servers import RawServer, response
from websockets.sync.server import ServerConnection, serve

from orgrest.http.parsing import request_file
from orgrest.http.transport.client import Client, Hop
from orgrest.http.transport.limits import Budget
from orgrest.http.transport.websocket import messages
from orgrest.http.values import Context, Inputs, expand
from orgrest.model import ExpansionError, Request, TransportError
from orgrest.run.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


class Talker:
    """A WebSocket server. `log` has (received message, number of messages sent before it) pairs."""

    def __init__(self, handler: Callable[[ServerConnection], None], **options: Any) -> None:
        self._server = serve(handler, "127.0.0.1", 0, **options)
        self.port = self._server.socket.getsockname()[1]
        self.scheme = "wss" if "ssl" in options else "ws"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Talker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(5)


def echo(connection: ServerConnection) -> None:
    for message in connection:
        connection.send(message)


@pytest.fixture
def talker() -> Iterator[Talker]:
    with Talker(echo) as running:
        yield running


def run(
    text: str, folder: Path, on_message: Callable[[str], None] | None = None, **options: Any
) -> Outcome:
    services = {"on_message": on_message}
    [outcome] = Evaluated(text, Inputs(directory=folder), services=services, **options).outcomes
    return outcome


def body(outcome: Outcome) -> bytes:
    assert outcome.state == "done", outcome.reason
    answer = outcome.exchanges[0].response
    assert answer is not None
    return answer.body


# -------------------------------------------------------------------------------------- WebSockets


@pytest.mark.parametrize("method", ["WEBSOCKET ", "WS ", "WSS ", ""])
def test_messages_are_sent_and_what_comes_back_is_shown_as_it_comes(
    method: str, talker: Talker, tmp_path: Path
) -> None:
    messages: list[str] = []
    text = f'# @messages 2\n{method}{talker.url}/chat\n\n{{"a": 1}}\n===\nzwei ✓\n'
    outcome = run(text, tmp_path, on_message=messages.append)
    assert body(outcome) == '{"a": 1}\nzwei ✓\n'.encode()
    assert messages == ['{"a": 1}', "zwei ✓"]
    assert any("after 2 messages" in note for note in outcome.notes)
    answer = outcome.exchanges[0].response
    assert answer is not None
    assert answer.status == 101


def test_a_message_waits_for_the_servers_as_often_as_it_says(tmp_path: Path) -> None:
    log: list[object] = []

    def handler(connection: ServerConnection) -> None:
        log.append(connection.recv())
        for answer in ("one", "two"):
            time.sleep(0.1)
            log.append(answer)
            connection.send(answer)
        log.append(connection.recv())
        connection.send(b"\x00\xff")

    with Talker(handler) as talker:
        wait = "=== wait-for-server"
        text = f"WEBSOCKET {talker.url}\n\nfirst\n{wait}\n{wait} // and one more\nlast\n"
        outcome = run(text, tmp_path)
    assert log == ["first", "one", "two", "last"]
    assert body(outcome) == b"one\ntwo\nbinary, 2 bytes: AP8=\n"
    assert outcome.notes == ()


def test_a_server_that_says_nothing_is_left_after_the_time_that_is_given(
    talker: Talker, tmp_path: Path
) -> None:
    outcome = run(f"# @timeout 1 s\nWEBSOCKET {talker.url}\n", tmp_path)
    assert body(outcome) == b""
    assert any("stopped reading after 1 s (" in note for note in outcome.notes)
    with Client(read_timeout=0.1) as client:
        got = client.send(Request("WEBSOCKET", talker.url))
    assert "no message arrived in time" in got.warnings[0]


def test_messages_that_arrived_before_the_server_closed_are_kept(tmp_path: Path) -> None:
    # text, binary, a ping, a fragmented text, and a close frame, all before "msg" is sent
    frames = (
        *(b"\x81\x02hi", b"\x82\x02\x00\xff", b"\x89\x01p", b"\x01\x02fr", b"\x80\x02ag"),
        b"\x88\x05\x0f\xa1bye",
    )
    with Talker(lambda connection: connection.socket.sendall(b"".join(frames))) as talker:
        outcome = run(f"WEBSOCKET {talker.url}\n\n=== wait-for-server\nmsg\n", tmp_path)
    assert body(outcome) == b"hi\nbinary, 2 bytes: AP8=\nfrag\n"
    assert any("4001 bye; messages that were not sent: 1" in note for note in outcome.notes)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (b"\x81\x82\x01\x02\x03\x04\x05\x06", "incorrect masking"),
        (b"\xf1\x01x", "reserved bits must be 0"),
        (b"\x81\x02\xff\xfe", "invalid start byte at position 0"),
        (b"\x81\x02\xff\xfe\x88\x02\x03\xe8", "invalid start byte at position 0"),
        (b"\x01\x01x\x88\x02\x03\xe8", "incomplete fragmented message"),
    ],
)
def test_a_server_that_sends_invalid_frames_is_not_said_to_have_hung_up(
    frame: bytes, reason: str, tmp_path: Path
) -> None:
    over = threading.Event()

    def handler(connection: ServerConnection) -> None:
        connection.socket.sendall(frame)
        over.wait(30)

    with Talker(handler, compression=None) as talker:
        outcome = run(f"WEBSOCKET {talker.url}\n", tmp_path)
        over.set()
    assert outcome.reason is not None
    assert outcome.reason.reason == f"the server sent an invalid frame: {reason}"


def test_messages_that_could_not_be_sent_are_reported(tmp_path: Path) -> None:
    text = "# @timeout 1 s\nWS {}\n\na\n=== wait-for-server\nb\n===\nc\n"
    over = threading.Event()
    with Talker(lambda connection: connection.recv() and over.wait(30) and None) as talker:
        outcome = run(text.format(talker.url), tmp_path)
        over.set()
        assert any("messages that were not sent: 2" in note for note in outcome.notes)
    with Talker(lambda connection: connection.close(1011, "no")) as talker:
        outcome = run(text.format(talker.url), tmp_path)
        assert any("1011 no; messages that were not sent" in note for note in outcome.notes)
    with Talker(lambda connection: connection.recv() and None) as talker:
        outcome = run(text.format(talker.url), tmp_path)
        assert any("closed the WebSocket; messages that" in note for note in outcome.notes)


def test_headers_credentials_and_the_protocol_go_along(tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    def handler(connection: ServerConnection) -> None:
        assert connection.request is not None
        seen.update({name.lower(): value for name, value in connection.request.headers.raw_items()})
        connection.send(str(connection.subprotocol))

    with Talker(handler, subprotocols=["v2"]) as talker:
        text = (
            f"WEBSOCKET {talker.url}\nAuthorization: Basic me secret\nUser-Agent: x\n"
            "Sec-WebSocket-Protocol: v1, v2\nConnection: Upgrade\nUpgrade: websocket\n"
        )
        assert body(run(text, tmp_path)) == b"v2\n"
    assert seen["authorization"] == "Basic bWU6c2VjcmV0"
    assert (seen["user-agent"], seen["connection"]) == ("x", "Upgrade")
    assert "accept-encoding" not in seen


def test_reports_list_the_headers_that_the_handshake_sent() -> None:
    seen: list[tuple[str, str]] = []

    def handler(connection: ServerConnection) -> None:
        assert connection.request is not None
        seen.extend(connection.request.headers.raw_items())

    def listed(url: str) -> list[tuple[str, str]]:
        hops: list[Hop] = []
        headers = (("Authorization", "Basic me secret"), ("Accept-Encoding", "gzip"))
        with Client() as client:
            client.send(Request("WEBSOCKET", url, headers, body=b"a"), messages=1, hops=hops)
        return list(hops[0].request.headers)

    with Talker(handler) as talker:
        assert listed(talker.url) == seen
    assert {"Upgrade", "Sec-WebSocket-Key", "Authorization"} <= {name for name, _ in seen}
    assert not {"Content-Length", "Accept-Encoding"} & dict(seen).keys()
    with RawServer(response(b"who?", status="401 Unauthorized")) as server:
        refused = listed(server.url.replace("http", "ws"))
    lines = server.requests[0].decode().split("\r\n\r\n")[0].split("\r\n")[1:]
    assert [f"{name}: {value}" for name, value in refused] == lines


def test_a_server_that_refuses_gives_its_response(tmp_path: Path) -> None:
    with RawServer(response(b"who?", "X-A: b", status="401 Unauthorized")) as server:
        url = server.url.replace("http", "ws")
        outcome = run(f"WEBSOCKET {url}\n", tmp_path)
    assert body(outcome) == b"who?"
    answer = outcome.exchanges[0].response
    assert answer is not None
    assert (answer.status, answer.header("X-A")) == (401, "b")


@pytest.mark.parametrize("status", ["200 OK", "204 No Content", "302 Found"])
def test_a_websocket_that_was_never_opened_is_no_success(status: str, tmp_path: Path) -> None:
    with RawServer(response(b"hello", status=status)) as server:
        outcome = run(f"WEBSOCKET ws://{server.host}/\n", tmp_path)
    assert outcome.state == "failed"
    assert f"could not open the WebSocket: the server answered {status}" in str(outcome.reason)


@pytest.mark.parametrize("method", ["SSE", "EVENTSOURCE"])
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (response(b"hello", "Content-Type: text/html"), "200 OK with text/html"),
        (response(b"data: 1\n\n"), "200 OK"),
        (response(b"", "Content-Type: text/event-stream", status="204 None"), "204 None with"),
    ],
)
def test_a_stream_of_events_that_never_came_is_no_success(
    method: str, answer: bytes, message: str, tmp_path: Path
) -> None:
    with RawServer(answer) as server:
        outcome = run(f"{method} {server.url}/\n", tmp_path)
        asked = run(f"GET {server.url}/\nAccept: text/event-stream\n", tmp_path)
    assert outcome.state == "failed"
    assert f"expected server-sent events, but the server answered {message}" in str(outcome.reason)
    assert asked.state == "done"  # it may be answered by something else


def test_a_server_that_refuses_a_stream_gives_its_response(tmp_path: Path) -> None:
    with RawServer(response(b"who?", status="401 Unauthorized")) as server:
        outcome = run(f"SSE {server.url}/\n", tmp_path)
    assert body(outcome) == b"who?"


def test_a_redirect_is_not_followed_with_what_belongs_to_the_first_server(tmp_path: Path) -> None:
    with RawServer(b"") as other:
        moved = response(b"", f"Location: ws://{other.host}/", status="302 Found")
        with RawServer(moved) as server:
            text = f"WEBSOCKET ws://{server.host}\nAuthorization: Bearer t\n"
            outcome = run(text, tmp_path)
    assert outcome.state == "failed" or outcome.exchanges[0].response.status == 302  # type: ignore[union-attr]
    assert other.requests == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"hello\r\n\r\n", "could not open the WebSocket"),
        (
            response(b"", "Upgrade: websocket", status="101 Switching Protocols"),
            "could not open the WebSocket",
        ),
    ],
)
def test_what_is_no_websocket_server_is_an_error(
    answer: bytes, expected: str, tmp_path: Path
) -> None:
    with RawServer(answer) as server:
        outcome = run(f"WEBSOCKET ws://{server.host}/\n", tmp_path)
    assert expected in str(outcome.reason)


def test_a_connection_that_breaks_off_is_an_error(tmp_path: Path) -> None:
    with Talker(lambda connection: connection.socket.shutdown(socket.SHUT_RDWR)) as talker:
        outcome = run(f"WEBSOCKET {talker.url}\n", tmp_path)
    assert "connection was lost" in str(outcome.reason)


def test_messages_without_end_or_measure_do_not_fill_the_memory() -> None:
    def flood(connection: ServerConnection) -> None:
        with contextlib.suppress(Exception):
            while True:
                connection.send("x" * 10_000)

    with Talker(flood) as talker, Client(limit=25_000) as client:
        got = client.send(Request("WEBSOCKET", talker.url))
        assert (len(got.body), got.truncated) == (25_000, True)
    with (
        Talker(lambda connection: connection.send("x" * 30_000)) as talker,
        Client(limit=25_000) as client,
    ):
        got = client.send(Request("WEBSOCKET", talker.url))
        assert "longer than 25000 bytes" in got.warnings[0]


def test_a_websocket_over_tls_verifies_the_server(authority: trustme.CA, tmp_path: Path) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with Talker(echo, ssl=tls_of(authority)) as talker:
        request = Request("WEBSOCKET", talker.url, body=b"safe")
        with Client(ca=tmp_path / "ca.pem") as client:
            assert client.send(request, messages=1).body == b"safe\n"
        with Client() as client, pytest.raises(TransportError, match="TLS certificate is invalid"):
            client.send(request)


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_a_server_that_never_answers_the_handshake_is_left_in_time(
    authority: trustme.CA, scheme: str
) -> None:
    # Over TLS it says something nevertheless: session tickets.
    context = tls_of(authority) if scheme == "wss" else None
    with (
        RawServer(lambda _connection, _request: None, context=context) as server,
        Client(insecure=True, connect_timeout=0.3) as client,
        pytest.raises(TransportError, match="could not open the WebSocket within"),
    ):
        client.send(Request("WEBSOCKET", f"{scheme}://{server.host}"))


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_a_server_that_does_not_read_is_left_in_time(authority: trustme.CA, scheme: str) -> None:
    options: dict[str, Any] = {"compression": None, "max_queue": 1, "close_timeout": 0.1}
    if scheme == "wss":
        options["ssl"] = tls_of(authority)
    over = threading.Event()
    much = b"\n===\n".join([b"x" * 1_000_000] * 30)
    with Talker(lambda _: over.wait(30) and None, **options) as talker:
        with (
            Client(insecure=True) as client,
            pytest.raises(TransportError, match="is not reading the messages sent to it"),
        ):
            client.send(Request("WEBSOCKET", talker.url, body=much), timeout=1)
        over.set()


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_cancelling_ends_the_listening_at_once(authority: trustme.CA, scheme: str) -> None:
    options: dict[str, Any] = {}
    if scheme == "wss":
        options["ssl"] = tls_of(authority)
    with Talker(echo, **options) as talker, Client(insecure=True) as client:
        threading.Timer(0.3, client.abort).start()
        start = time.monotonic()
        with pytest.raises(TransportError, match="cancelled"):
            client.send(Request("WEBSOCKET", talker.url), timeout=80)
        assert time.monotonic() - start < 60


def test_what_a_websocket_cannot_do_is_an_error(
    talker: Talker, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Client() as client:
        with pytest.raises(TransportError, match="cannot be opened with POST"):
            client.send(Request("POST", talker.url))
        with pytest.raises(TransportError, match="Host header of a WebSocket"):
            client.send(Request("WEBSOCKET", talker.url, (("Host", "other"),)))
    monkeypatch.setenv("HTTP_PROXY", "http://me:pw@127.0.0.1:9")
    with Client() as client, pytest.raises(TransportError, match="proxy http://127") as caught:
        client.send(Request("WEBSOCKET", talker.url))
    assert "pw" not in caught.value.reason


@given(st.lists(st.sampled_from(["a", "b c", "", "===x"]), min_size=1, max_size=5), st.data())
def test_messages_are_parted_at_the_marks_only(texts: list[str], data: st.DataObject) -> None:
    waits = [data.draw(st.booleans()) for _ in texts[1:]]
    parts = [texts[0]]
    for wait, text in zip(waits, texts[1:], strict=True):
        parts += ["=== wait-for-server" if wait else "===", text]
    expected = list(zip([False, *waits], (text.encode() for text in texts), strict=True))
    assert messages("\n".join(parts).encode()) == expected
    assert messages("\r\n".join(parts).encode()) == expected


def test_urls_of_websockets_are_those_of_the_tools() -> None:
    def completed(text: str) -> Request:
        return expand(request_file.parse(text).requests[0], Context())

    assert completed("WS localhost:1/a\n").url == "ws://localhost:1/a"
    assert completed("WEBSOCKET https://a.org\n").url == "wss://a.org"
    assert completed("wss://a.org\n").method == "WEBSOCKET"
    request = completed("SSE http://a.org\n")
    assert (request.method, request.headers) == ("GET", (("Accept", "text/event-stream"),))
    request = completed("EVENTSOURCE http://a.org\nAccept: text/event-stream, */*\n")
    assert request.headers == (("Accept", "text/event-stream, */*"),)
    with pytest.raises(ExpansionError, match="expected an absolute http or https URL, found"):
        completed("GET ftp://a.org\n")


@pytest.mark.parametrize("value", ["0", "x", "99999999999", "-1", ""])
def test_a_number_of_messages_that_is_invalid_is_an_error(value: str, tmp_path: Path) -> None:
    outcome = run(f"# @messages {value}\nWEBSOCKET ws://127.0.0.1:9\n", tmp_path)
    assert "@messages must be a number" in str(outcome.reason)


# ---------------------------------------------------------------------------------- server events

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def events(*pieces: bytes, end: bool = True) -> Callable[[socket.socket, bytes], None]:
    def answer(connection: socket.socket, _: bytes) -> None:
        connection.sendall(HEAD)
        for piece in pieces:
            connection.sendall(chunk(piece))
        if end:
            connection.sendall(b"0\r\n\r\n")

    return answer


def test_events_are_shown_as_they_come(tmp_path: Path) -> None:
    pieces = (
        b": hello\n\ndata: o",
        b"ne\ndata:1\nid: 4\n",
        b"\nevent: x\r\ndata: two\r\n\r",
        b"\n",
    )
    messages: list[str] = []
    with RawServer(events(*pieces)) as server:
        outcome = run(f"SSE {server.url}\n", tmp_path, on_message=messages.append)
        assert b"Accept: text/event-stream" in server.requests[0]
    assert messages == ["one\n1", "two"]
    assert body(outcome) == b"".join(pieces)
    assert outcome.notes == ()


@pytest.mark.parametrize(
    "pieces", [(b"data: 1\n\ndata: 2\n\ndata: 3\n\n",), (b"data: 1\n\n", b"data: 2\n\ndata")]
)
def test_listening_ends_after_so_many_events(pieces: tuple[bytes, ...], tmp_path: Path) -> None:
    with RawServer(events(*pieces, end=False)) as server:
        text = f"# @messages 2\nGET {server.url}\nAccept: text/event-stream\n"
        outcome = run(text, tmp_path)
    assert body(outcome) == b"data: 1\n\ndata: 2\n\n"
    assert any("after 2 messages" in note for note in outcome.notes)


def test_listening_ends_when_nothing_comes_and_keeps_what_came(tmp_path: Path) -> None:
    with RawServer(events(b"data: 1\n\n", end=False)) as server:
        outcome = run(f"# @timeout 1 s\nSSE {server.url}\n", tmp_path)
        accept = (("Accept", "text/event-stream"),)
        with Client(read_timeout=0.1) as client:
            got = client.send(Request("GET", server.url, accept))
    assert body(outcome) == got.body == b"data: 1\n\n"
    assert any("stopped reading after 1 s (" in note for note in outcome.notes)
    assert "no event arrived in time" in got.warnings[0]


def test_a_stream_that_the_end_of_the_run_stops_is_not_said_to_need_more_time() -> None:
    accept = (("Accept", "text/event-stream"),)
    with RawServer(events(b"data: 1\n\n", end=False)) as server:
        with Client(budget=Budget(seconds=0.3)) as client:
            got = client.send(Request("GET", server.url, accept))
        with Client(budget=Budget(seconds=60)) as client:  # more than the request's own limit
            other = client.send(Request("GET", server.url, accept), timeout=0.3)
    assert got.body == other.body == b"data: 1\n\n"
    assert got.warnings == ("stopped reading: the time limit of the run was reached (--max-time)",)
    assert other.warnings == ("stopped reading after 0.3 s (to read longer, use # @timeout TIME)",)


def test_events_without_end_do_not_fill_the_memory() -> None:
    def flood(connection: socket.socket, _: bytes) -> None:
        connection.sendall(HEAD)
        with contextlib.suppress(OSError):
            while True:
                connection.sendall(chunk(b"data: " + b"x" * 10_000))

    accept = (("Accept", "text/event-stream"),)
    with RawServer(flood) as server, Client(limit=50_000) as client:
        got = client.send(Request("GET", server.url, accept))
    assert (len(got.body), got.truncated) == (50_000, True)


def test_a_stream_that_breaks_is_an_error_and_another_answer_is_read_as_ever(
    tmp_path: Path,
) -> None:
    def broken(connection: socket.socket, _: bytes) -> None:
        connection.sendall(HEAD + chunk(b"data: 1\n\n")[:-4])
        connection.close()

    with RawServer(broken) as server:
        assert run(f"SSE {server.url}\n", tmp_path).state == "failed"
    with RawServer(response(b"{}", "Content-Type: application/json")) as server:
        text = f"GET {server.url}\nAccept: text/event-stream\n"
        assert body(run(text, tmp_path)) == b"{}"
