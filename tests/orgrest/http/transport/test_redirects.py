"""Redirects that would send a secret to another origin or lead from public to private addresses."""

from __future__ import annotations

import socket
from base64 import b64encode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from exchanges import failure, headers_sent
from servers import Handler, RawServer, by_path, echo, response

from orgrest.http.transport.client import Client, Hop
from orgrest.http.transport.cookies import Cookies
from orgrest.http.transport.redirects import is_public, resolve
from orgrest.http.transport.wire import parse_url
from orgrest.http.values.shorthand import absolute_url
from orgrest.model import Request, TransportError

if TYPE_CHECKING:
    pass


def to(location: str, status: str = "302 Found") -> bytes:
    return response(b"", f"Location: {location}", status=status)


@pytest.mark.parametrize(
    "shown",
    [
        *("s3/cr et", quote("s3/cr et"), quote("s3/cr et", safe="")),
        *(
            b"s3/cr et".hex(),
            b"s3/cr et".hex().upper(),
            quote(b64encode(b"user:s3/cr et"), safe=""),
        ),
        *(urlsafe_b64encode(head + b"s3/cr et?").decode() for head in (b"", b"a", b"ab")),
    ],
)
def test_a_url_with_a_secret_is_not_followed_to_another_origin(client: Client, shown: str) -> None:
    with RawServer(response(b"")) as other, RawServer(b"") as server:
        server._answer = to(f"{other.url}/?t={shown.replace(' ', '%20')}")
        request = Request("GET", server.url, secrets=frozenset({"s3/cr et"}))
        with pytest.raises(TransportError, match="the URL contains a secret") as failed:
            client.send(request)
    assert other.requests == []
    assert "s3" not in failed.value.reason


def test_a_url_with_a_secret_is_followed_within_an_origin(client: Client) -> None:
    answers = {"/a": to("/b?t=s3cret"), "/b?t=s3cret": response(b"there")}
    with RawServer(by_path(answers)) as server:  # type: ignore[arg-type]  # bytes and handlers
        request = Request("GET", f"{server.url}/a", secrets=frozenset({"s3cret"}))
        assert client.send(request).body == b"there"


PRIVATE = [
    *("169.254.169.254", "127.0.0.1", "127.1", "0x7f.1", "2130706433", "10.0.0.1", "192.168.1.1"),
    *(
        "172.16.0.1",
        "100.64.0.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[fe80::1]",
        "[fd00::1]",
    ),
    *(
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        *("[fec0::1]", "[::10.0.0.1]", "[64:ff9b:1::a00:1]", "[::ffff:0:10.0.0.1]", "[100::1]"),
        *("[2600::5efe:10.0.0.1]", "[2600::200:5efe:10.0.0.1]", "[2001:db8::1]", "[2001::1]"),
        "localhost",
        "a.localhost",
        "LOCALHOST.",
        "224.0.0.1",
    ),
]


@pytest.mark.parametrize("host", PRIVATE)
def test_a_public_server_does_not_redirect_to_a_private_address(
    monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    # The proxy plays the internet: it answers for 8.8.8.8.
    with RawServer(to(f"http://{host}/secret")) as world:
        monkeypatch.setenv("http_proxy", world.url)
        with (
            Client() as client,
            pytest.raises(TransportError, match=r"private address, .*--allow-p"),
        ):
            client.send(Request("GET", "http://8.8.8.8/"))
        assert len(world.requests) == 1
        with Client(allow_private=True) as client, pytest.raises(TransportError, match="redirects"):
            client.send(Request("GET", "http://8.8.8.8/"))  # goes on and on
        assert len(world.requests) > 2


@pytest.mark.parametrize("addresses", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"]])
def test_a_name_that_leads_to_a_private_address_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, client: Client, addresses: list[str]
) -> None:
    with RawServer(response(b"private")) as inner, RawServer(b"") as world:
        world._answer = to(f"http://inner.example:{inner.port}/")
        real, connect = socket.getaddrinfo, socket.socket.connect

        def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
            known = {b"world.example": ["8.8.8.8"], b"inner.example": addresses}
            asked = (
                [host] if more.get("flags") == socket.AI_NUMERICHOST else known.get(host, [host])
            )
            found = (real(one, port, *rest, **more) for one in asked)
            return [place for one in found for place in one]

        def connected(self: Any, place: Any) -> None:
            connect(self, ("127.0.0.1", world.port) if place[0] == "8.8.8.8" else place)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        monkeypatch.setattr(socket.socket, "connect", connected)
        monkeypatch.setattr(socket.socket, "getpeername", lambda _: ("8.8.8.8", 80))
        with pytest.raises(TransportError, match=r"inner.example \(127.0.0.1\): not followed"):
            client.send(Request("GET", "http://world.example/"))
        assert inner.requests == []


def test_a_document_that_asks_for_a_private_address_may_be_redirected_to_one(
    client: Client,
) -> None:
    with RawServer(response(b"there")) as other, RawServer(to(other.url)) as server:
        assert client.send(Request("GET", server.url)).body == b"there"
        named = server.url.replace("127.0.0.1", "localhost")
        assert client.send(Request("GET", named)).body == b"there"


def test_a_redirect_by_way_of_a_public_server_does_not_lead_back_to_a_private_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The proxy answers for 8.8.8.8; servers on loopback are asked directly.
    with RawServer(to("http://169.254.169.254/latest/meta-data")) as world:
        monkeypatch.setenv("http_proxy", world.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with (
            RawServer(to("http://8.8.8.8/")) as local,
            Client() as client,
            pytest.raises(TransportError, match=r"private address, 169\.254\.169\.254"),
        ):
            client.send(Request("GET", local.url))
        assert len(world.requests) == 1


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"],
)
def test_addresses_of_the_world_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    ("reference", "meaning"),
    [
        # RFC 3986, section 5.4.1, without fragments, which no request has.
        *(
            ("g", "/b/c/g"),
            ("./g", "/b/c/g"),
            ("g/", "/b/c/g/"),
            ("/g", "/g"),
            ("?y", "/b/c/d;p?y"),
        ),
        *(("g?y", "/b/c/g?y"), ("#s", "/b/c/d;p?q"), ("g#s", "/b/c/g"), ("g?y#s", "/b/c/g?y")),
        *((";x", "/b/c/;x"), ("g;x", "/b/c/g;x"), ("g;x?y#s", "/b/c/g;x?y"), ("", "/b/c/d;p?q")),
        *((".", "/b/c/"), ("./", "/b/c/"), ("..", "/b/"), ("../", "/b/"), ("../g", "/b/g")),
        *(("../..", "/"), ("../../", "/"), ("../../g", "/g")),
        # 5.4.2
        *(("../../../g", "/g"), ("../../../../g", "/g"), ("/./g", "/g"), ("/../g", "/g")),
        *(("g.", "/b/c/g."), (".g", "/b/c/.g"), ("g..", "/b/c/g.."), ("..g", "/b/c/..g")),
        *(("./../g", "/b/g"), ("./g/.", "/b/c/g/"), ("g/./h", "/b/c/g/h"), ("g/../h", "/b/c/h")),
        *(("g;x=1/./y", "/b/c/g;x=1/y"), ("g;x=1/../y", "/b/c/y"), ("g?y/./x", "/b/c/g?y/./x")),
        *(("g?y/../x", "/b/c/g?y/../x"), ("g#s/../x", "/b/c/g"), ("http:g", "/b/c/g")),
        # What urllib's urljoin loses: what is empty, and parameters.
        *(("?", "/b/c/d;p?"), ("g//h", "/b/c/g//h"), ("/..//g", "//g"), ("..;", "/b/c/..;")),
    ],
)
def test_a_redirect_leads_where_the_rfc_says(reference: str, meaning: str) -> None:
    resolved = resolve(parse_url("http://a.example/b/c/d;p?q"), reference)
    assert resolved.text == f"http://a.example{meaning}"


def test_a_redirect_may_leave_out_the_scheme() -> None:
    resolved = resolve(parse_url("https://a.example/b"), "//g.example:1/../h")
    assert resolved.text == "https://g.example:1/h"


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
    assert b"X-Own: 1\r\n" in second
    assert (b"Content-Type: t\r\n" in second) == (then == method)  # of the body
    assert second.endswith(b"body") == (then == method and method != "HEAD")


def test_a_get_after_a_redirected_post_does_not_announce_a_body(client: Client) -> None:
    with RawServer(by_path({"/a": to("/b", "303 See Other"), "/b": response(b"")})) as server:
        headers = (("Content-Length", "4"), ("X-A", "1"))
        client.send(Request("POST", f"{server.url}/a", headers, b"body"))
    assert "content-length" not in headers_sent(server)


def test_credentials_stay_on_the_same_origin(client: Client) -> None:
    private = (("Authorization", "Bearer t"), ("Cookie", "a=1"), ("X-A", "1"))
    with RawServer(by_path({"/a": to("/b"), "/b": response(b"")})) as server:
        client.send(Request("GET", f"{server.url}/a", private))
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
    cookies = Cookies()
    with RawServer(response(b"")) as other:
        away = response(b"", f"Location: {other.url}/b", "Set-Cookie: c=1", status="302 Found")
        with RawServer(away) as server:
            url = server.url.replace("//", "//user:pw@")
            request = Request("GET", f"{url}/a", headers, secrets=frozenset({"s3cret"}))
            client.send(request, cookies=cookies)
    sent = headers_sent(other)
    assert sent["host"] == other.host
    assert sent["cookie"] == "c=1"  # only what the host itself set (RFC 6265, section 8.5)
    assert {"authorization", "x-api-key", "x-a"}.isdisjoint(sent)


def test_a_body_with_a_secret_is_not_redirected_to_another_origin(client: Client) -> None:
    with RawServer(response(b"")) as other, RawServer(to(other.url, "307 T")) as server:
        request = Request("POST", server.url, (), b"pw=s3cret", secrets=frozenset({"s3cret"}))
        reason = failure(client, request)
        client.send(Request("POST", server.url, (), b"harmless"))
    assert reason.endswith("the body contains a secret")
    assert len(other.requests) == 1


def test_a_redirect_loop_is_a_failure_after_ten(client: Client) -> None:
    with RawServer(to("/loop")) as server:
        reason = failure(client, Request("GET", f"{server.url}/loop"))
        assert client.send(Request("GET", f"{server.url}/loop"), follow=False).status == 302
    assert reason == "too many redirects: gave up after 10; the next one leads to /loop"
    assert len(server.requests) == 12


def test_ten_redirects_are_followed(client: Client) -> None:
    steps: dict[str, bytes | Handler] = {f"/{n}": to(f"/{n + 1}") for n in range(10)}
    with RawServer(by_path({**steps, "/10": response(b"there")})) as server:
        answer = client.send(Request("GET", f"{server.url}/0"))
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
    names = "X-Api-Key, X-Auth-Token, Api-Key"
    assert answer.warnings == (
        f"headers not sent after the redirect to another origin, {other.url}/: {names}",
    )


def test_every_header_is_repeated_within_an_origin(client: Client) -> None:
    with RawServer(by_path({"/a": to("/b", "307 T"), "/b": echo})) as server:
        headers = (("X-Api-Key", "literal"), ("Authorization", "Bearer t"))
        assert client.send(Request("GET", f"{server.url}/a", headers)).warnings == ()
    sent = headers_sent(server)
    assert (sent["x-api-key"], sent["authorization"]) == ("literal", "Bearer t")


def test_a_redirect_is_the_answer_when_it_leads_nowhere_or_is_not_wanted(client: Client) -> None:
    with RawServer(by_path({"/a": to("/b"), "/n": response(b"", status="302 F")})) as server:
        assert client.send(Request("GET", f"{server.url}/a"), follow=False).status == 302
        assert client.send(Request("GET", f"{server.url}/n")).status == 302
    assert len(server.requests) == 2


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://h/", "http://[", "http://:1/"])
def test_a_redirect_away_from_http_is_refused(client: Client, location: str) -> None:
    with RawServer(to(location)) as server:
        assert failure(client, Request("GET", server.url)).startswith("invalid redirect URL: ")


def test_options_of_the_whole_server_is_sent_with_an_asterisk(client: Client) -> None:
    with RawServer(echo) as server:
        client.send(Request("OPTIONS", absolute_url("*", server.host, None)))
        assert server.requests[-1].startswith(b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1")
        assert failure(client, Request("GET", f"{server.url}*")) == (
            "GET * cannot be sent: only OPTIONS requests can have * as the path"
        )
    with RawServer(to("a")) as server:
        hops: list[Hop] = []
        with pytest.raises(TransportError, match="too many redirects"):
            client.send(Request("OPTIONS", f"{server.url}*"), hops=hops)
        assert hops[1].request.url == f"{server.url}/a"
