"""Digest authentication: the RFC's examples, and a server that verifies the response."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers import RawServer, httpbin, response

from orgrest.http.auth import digest
from orgrest.http.auth.digest import DigestCredentials
from orgrest.http.parsing import request_file
from orgrest.http.transport.client import Client
from orgrest.http.values import Context, expand
from orgrest.model import ExpansionError, Request, TransportError

if TYPE_CHECKING:
    import socket

MUFASA = DigestCredentials("Mufasa", "Circle of Life")
NONCE = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
CHALLENGE = (
    'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm={}, '
    f'nonce="{NONCE}", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
)


def fields(value: str | None) -> dict[str, str]:
    assert value is not None
    return {name: text.strip('"') for name, text in re.findall(r'([\w*]+)=("[^"]*"|[^,]+)', value)}


@pytest.mark.parametrize(
    ("algorithm", "proof"),
    [
        ("MD5", "8ca523f5e9506fed4657c9700eebdbec"),
        ("SHA-256", "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ],
)
def test_the_examples_of_rfc_7616_are_answered_as_it_says(
    algorithm: str, proof: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cnonce = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
    monkeypatch.setattr("secrets.token_hex", lambda _: cnonce)
    challenge = CHALLENGE.format(algorithm)
    found = fields(digest.answer([challenge], MUFASA, "GET", "/dir/index.html"))
    assert found["response"] == proof
    assert found["username"] == "Mufasa"
    assert found["uri"] == "/dir/index.html"
    assert found["opaque"] == "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
    assert (found["qop"], found["nc"], found["cnonce"]) == ("auth", "00000001", cnonce)


def test_a_challenge_of_rfc_2069_is_answered_without_qop() -> None:
    challenge = 'Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093"'
    found = fields(digest.answer([challenge], MUFASA, "GET", "/dir/index.html"))
    h = hashlib.md5(b"Mufasa:testrealm@host.com:Circle of Life").hexdigest()
    asked = hashlib.md5(b"GET:/dir/index.html").hexdigest()
    nonce = "dcd98b7102dd2f0e8b11d0f600bfb0c093"
    assert found["response"] == hashlib.md5(f"{h}:{nonce}:{asked}".encode()).hexdigest()
    assert not found.keys() & {"qop", "nc", "cnonce", "algorithm"}


def test_the_first_challenge_that_can_be_answered_is() -> None:
    values = [
        f'Basic realm="a, Digest b", {CHALLENGE.format("SHA-512-256")}',
        CHALLENGE.format("SHA-256-sess"),
        CHALLENGE.format("MD5"),
    ]
    assert fields(digest.answer(values, MUFASA, "GET", "/"))["algorithm"] == "SHA-256-sess"


def test_a_server_that_asks_for_hashed_names_does_not_get_the_name() -> None:
    challenge = f"{CHALLENGE.format('SHA-256')}, userhash=true"
    found = fields(digest.answer([challenge], MUFASA, "GET", "/"))
    expected = hashlib.sha256(b"Mufasa:http-auth@example.org").hexdigest()
    assert (found["username"], found["userhash"]) == (expected, "true")


def test_a_name_that_is_not_ascii_has_the_form_that_the_server_knows() -> None:
    jason, older = DigestCredentials("Jäsøn", "x"), CHALLENGE.format("MD5")
    newer = f"{older}, charset=UTF-8"
    assert (
        fields(digest.answer([newer], jason, "GET", "/"))["username*"] == "UTF-8''J%C3%A4s%C3%B8n"
    )
    assert fields(digest.answer([older], jason, "GET", "/"))["username"] == "Jäsøn"
    with RawServer(response(b"", f"WWW-Authenticate: {older}", status="401 No")) as server:
        with Client() as client:
            client.send(Request("GET", server.url, credentials=jason))
        assert 'username="Jäsøn"'.encode() in server.requests[1]


@pytest.mark.parametrize(
    ("offer", "shown"),
    [
        ('nonce="b", algorithm=SHA-512, qop="auth"', "SHA-512 auth"),
        ('nonce="b", algorithm=MD5, qop="auth-int"', "MD5 auth-int"),
        ("algorithm=SHA-256", "SHA-256 without a nonce"),
    ],
)
def test_what_is_not_computed_is_an_error_that_says_so(offer: str, shown: str) -> None:
    message = rf"the server requires an unsupported form of Digest authentication \({shown}\)"
    with pytest.raises(TransportError, match=message):
        digest.answer([f'Digest realm="a", {offer}'], MUFASA, "GET", "/")


@given(st.lists(st.text(max_size=60), max_size=3))
def test_no_header_of_a_hostile_server_breaks_the_reading(values: list[str]) -> None:
    try:
        found = digest.answer([f"Digest {v}" for v in values], MUFASA, "GET", "/")
    except TransportError:
        return
    assert found is None or "\n" not in found


@pytest.mark.slow
@pytest.mark.parametrize("path", ["auth/me/pa=ss", "auth/me/pa=ss/SHA-256"])
def test_a_real_server_lets_us_in_and_the_password_is_masked(path: str) -> None:
    with httpbin() as url, Client() as client:
        text = f"GET {url}/digest-auth/{path}\nAuthorization: Digest me pa=ss\n"
        request = expand(request_file.parse(text).requests[0], Context())
        assert "pa=ss" in request.secrets
        assert request.header("Authorization") is None
        assert client.send(request).status == 200
        wrong = Request("GET", request.url, credentials=DigestCredentials("me", "other"))
        assert client.send(wrong).status == 401


def test_digest_credentials_are_not_sent_to_who_does_not_ask_for_them() -> None:
    answer = response(b"", 'WWW-Authenticate: Basic realm="x"', status="401 Unauthorized")
    with RawServer(answer) as server, Client() as client:
        got = client.send(Request("GET", server.url, credentials=MUFASA))
        assert got.warnings == (
            "the server did not ask for Digest credentials, so they were not sent",
        )
        assert len(server.requests) == 1


def test_digest_credentials_are_not_sent_to_another_origin() -> None:
    challenge = response(b"", CHALLENGE.format("MD5").join(["WWW-Authenticate: ", ""]))
    challenge = challenge.replace(b"200 OK", b"401 Unauthorized")
    with RawServer(challenge) as other, Client() as client:

        def moved(connection: socket.socket, _: bytes) -> None:
            connection.sendall(response(b"", f"Location: {other.url}/", status="302 Found"))

        with RawServer(moved) as server:
            got = client.send(Request("GET", server.url, credentials=MUFASA))
    assert got.status == 401
    assert len(other.requests) == 1
    assert b"Authorization" not in other.requests[0]
    assert "headers not sent after the redirect to another origin," in got.warnings[0]
    assert "Authorization" in got.warnings[0]


def test_credentials_without_a_password_are_an_error_with_the_line() -> None:
    parsed = request_file.parse("GET http://a\nAuthorization: Digest me\n").requests[0]
    with pytest.raises(ExpansionError, match="`user password` or `user:password`") as caught:
        expand(parsed, Context())
    assert caught.value.line == 2
