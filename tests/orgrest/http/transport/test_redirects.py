"""Redirects that would carry a secret elsewhere, or lead to where their server cannot reach."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from servers import RawServer, by_path, response

from orgrest.http.transport import Client
from orgrest.http.transport.addresses import is_public
from orgrest.http.transport.urls import parse_url, resolve
from orgrest.model import Request, TransportError

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def to(location: str) -> bytes:
    return response(b"", f"Location: {location}", status="302 Found")


@pytest.mark.parametrize("shown", ["s3/cr et", quote("s3/cr et"), quote("s3/cr et", safe="")])
def test_a_url_with_a_secret_is_not_followed_to_another_origin(client: Client, shown: str) -> None:
    with RawServer(response(b"")) as other, RawServer(b"") as server:
        server._answer = to(f"{other.url}/?t={shown.replace(' ', '%20')}")
        request = Request("GET", server.url, secrets=frozenset({"s3/cr et"}))
        with pytest.raises(TransportError, match="the URL holds a secret") as failed:
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
    # The proxy stands for the world: it answers for 8.8.8.8.
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


def test_a_name_that_leads_to_a_private_address_is_not_followed(
    monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    with RawServer(response(b"private")) as inner, RawServer(b"") as world:
        world._answer = to(f"http://inner.example:{inner.port}/")
        real, connect = socket.getaddrinfo, socket.socket.connect

        def resolve(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
            known = {"world.example": "8.8.8.8", "inner.example": "127.0.0.1"}
            return real(known.get(host, host), port, *rest, **more)

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
    # The proxy answers for 8.8.8.8; what stands on loopback is asked directly.
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
