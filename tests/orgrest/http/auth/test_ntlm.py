"""NTLM with a server that really verifies it: pyspnego authenticates each connection."""

from __future__ import annotations

import base64
import contextlib
import shlex
import socket
import ssl
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import spnego
import trustme
from components import needs
from exchanges import tls_of
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import Proxy, RawServer, closing, response

from orgrest.convert.curl import to_command
from orgrest.http import auth
from orgrest.http.auth.ntlm import NtlmCredentials
from orgrest.http.parsing import request_file
from orgrest.http.transport.client import Client
from orgrest.http.values import Context, expand
from orgrest.model import OrgrestError, Request, Response, Source, Timing, TransportError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER, PASSWORD = "OFFICE\\me", "pass wörd"
DOCUMENT = auth.DocumentLookups(lambda _: None, lambda _: "")


class NtlmServer(RawServer):
    """Serves connections that have proved knowledge of a password. Others get status 401.

    An authenticated connection may be used for any request, as with IIS.
    """

    def __init__(
        self,
        scheme: str = "NTLM",
        *,
        keeps: bool = True,
        context: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(self._check, context=context)
        self._scheme = scheme
        self._keeps = keeps
        self._contexts: dict[socket.socket, spnego.ContextProxy] = {}
        self.users: list[str | None] = []
        self._lock = threading.Lock()

    def _check(self, connection: socket.socket, request: bytes) -> None:
        context = self._contexts.get(connection)
        if context is not None and context.complete:
            self._serve_user(connection, request, context)
            return
        token = self._token(request)
        said = self._scheme
        if token is not None:
            if context is None:
                kind = "negotiate" if self._scheme == "Negotiate" else "ntlm"
                options = spnego.NegotiateOptions.use_negotiate
                if kind == "ntlm":
                    options = spnego.NegotiateOptions.use_ntlm
                context = spnego.server(protocol=kind, options=options)
                self._contexts[connection] = context
            try:
                answer = context.step(token)
            except (spnego.exceptions.SpnegoError, ValueError):  # e.g. an answer to no challenge
                del self._contexts[connection]
            else:
                if context.complete:
                    self._serve_user(connection, request, context)
                    return
                said += f" {base64.b64encode(answer or b'').decode()}"
        offers = [f"WWW-Authenticate: {said}", 'WWW-Authenticate: Basic realm="x"']
        data = response(b"who?", *offers, status="401 Unauthorized")
        if self._keeps:
            connection.sendall(data)
        else:
            closing(data)(connection, request)

    def _serve_user(
        self, connection: socket.socket, request: bytes, context: spnego.ContextProxy
    ) -> None:
        with self._lock:
            self.users.append(context.client_principal)
        if request.startswith(b"GET /away"):
            away = request.partition(b"?to=")[2].partition(b" ")[0].decode()
            connection.sendall(response(b"", f"Location: {away}", status="302 Found"))
        else:
            connection.sendall(response(request.partition(b"\r\n\r\n")[2] or b"in"))

    def _token(self, request: bytes) -> bytes | None:
        for line in request.partition(b"\r\n\r\n")[0].split(b"\r\n"):
            name, _, value = line.partition(b": ")
            scheme, _, token = value.partition(b" ")
            if name == b"Authorization" and scheme.decode() == self._scheme:
                return base64.b64decode(token)
        return None


@pytest.fixture(autouse=True)
def _accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write the accounts that the server knows to the file that pyspnego reads."""
    accounts = tmp_path / "accounts"
    accounts.write_text(f"OFFICE:me:{PASSWORD}\n:you:other\n", encoding="utf-8")
    monkeypatch.setenv("NTLM_USER_FILE", str(accounts))


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def credentials(
    user: str = USER, password: str = PASSWORD, scheme: str = "NTLM"
) -> NtlmCredentials:
    return NtlmCredentials(user, password, scheme)


def request_of(text: str) -> Request:
    (parsed,) = request_file.parse(Source(text)).requests
    return expand(parsed, Context())


@pytest.mark.parametrize("scheme", ["NTLM", "Negotiate"])
@pytest.mark.parametrize("between", [" ", ":"])
def test_who_knows_the_password_is_let_in(client: Client, scheme: str, between: str) -> None:
    with NtlmServer(scheme) as server:
        text = f"POST {server.url}/\nAuthorization: {scheme} {USER}{between}{PASSWORD}\n\nbody\n"
        answer = client.send(request_of(text))
    assert (answer.status, answer.body) == (200, b"body")
    assert (server.users, server.connections) == ([USER], 1)
    assert PASSWORD.encode() not in b"".join(server.requests)


def test_a_user_without_a_domain_is_let_in(client: Client) -> None:
    with NtlmServer() as server:
        request = Request("GET", server.url, credentials=credentials("you", "other"))
        assert client.send(request).status == 200
    assert server.users == ["you"]


@pytest.mark.parametrize(("user", "password"), [(USER, "wrong"), ("nobody", PASSWORD)])
def test_who_does_not_know_it_gets_the_servers_refusal(
    client: Client, user: str, password: str
) -> None:
    with NtlmServer() as server:
        answer = client.send(Request("GET", server.url, credentials=credentials(user, password)))
    assert (answer.status, server.users, len(server.requests)) == (401, [], 3)


def test_a_connection_of_one_user_is_given_to_no_other_request(client: Client) -> None:
    with NtlmServer() as server:
        assert client.send(Request("GET", server.url, credentials=credentials())).status == 200
        assert client.send(Request("GET", server.url)).status == 401
        you = credentials("you", "other")
        assert client.send(Request("GET", server.url, credentials=you)).status == 200
    assert server.users == [USER, "you"]


def test_handshakes_at_the_same_time_do_not_mix(client: Client) -> None:
    known = [credentials(), credentials("you", "other"), credentials(USER, "wrong")] * 4
    with NtlmServer() as server, ThreadPoolExecutor(6) as threads:
        sent = [Request("GET", server.url, credentials=one) for one in known]
        statuses = [answer.status for answer in threads.map(client.send, sent)]
    assert statuses == [200, 200, 401] * 4
    assert server.connections == len(known)
    assert sorted(map(str, server.users)) == [USER] * 4 + ["you"] * 4


def test_a_server_that_asks_for_nothing_gets_no_handshake(client: Client) -> None:
    with RawServer(response(b"open")) as server:
        answer = client.send(Request("GET", server.url, credentials=credentials()))
    assert (answer.status, answer.warnings, len(server.requests)) == (200, (), 1)
    assert b"Authorization" not in server.requests[0]


@pytest.mark.parametrize("offered", ["Basic realm=NTLM", "Negotiate, Digest nonce=x", "NTLMish"])
def test_a_server_that_asks_for_something_else_is_reported(client: Client, offered: str) -> None:
    data = response(b"", f"WWW-Authenticate: {offered}", status="401 Unauthorized")
    with RawServer(data) as server:
        answer = client.send(Request("GET", server.url, credentials=credentials()))
    assert answer.warnings == (
        "the server did not ask for NTLM credentials, so they were not sent",
    )
    assert len(server.requests) == 1


def test_a_server_that_only_ever_offers_it_does_not_get_the_answer(client: Client) -> None:
    data = response(b"", "WWW-Authenticate: NTLM", status="401 Unauthorized")
    with RawServer(data) as server:
        answer = client.send(Request("GET", server.url, credentials=credentials()))
    assert answer.warnings == ("the server sent no NTLM challenge, so the password was not used",)
    assert len(server.requests) == 2


def test_a_server_that_closes_connections_is_named_as_the_reason(client: Client) -> None:
    told = pytest.raises(TransportError, match="requires a single connection")
    with NtlmServer(keeps=False) as server, told:
        client.send(Request("GET", server.url, credentials=credentials()))
    assert server.users == []


def test_another_origin_gets_no_handshake(client: Client) -> None:
    with NtlmServer() as other, NtlmServer() as server:
        url = f"{server.url}/away?to={other.url}/"
        answer = client.send(Request("GET", url, credentials=credentials()))
    assert (answer.status, server.users, other.users) == (401, [USER], [])
    assert not any(b"Authorization" in request for request in other.requests)
    assert "Authorization" in answer.warnings[0]


def test_within_an_origin_it_goes_along(client: Client) -> None:
    with NtlmServer() as server:
        url = f"{server.url}/away?to=/there"
        answer = client.send(Request("GET", url, credentials=credentials()))
    assert (answer.status, server.users) == (200, [USER, USER])


def test_through_a_tunnel_the_handshake_is_with_the_server(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    authority = trustme.CA()
    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    with NtlmServer(context=tls_of(authority)) as server, Proxy() as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        with Client(ca=pem) as client:
            answer = client.send(Request("GET", server.url, credentials=credentials()))
    assert (answer.status, server.users, server.connections) == (200, [USER], 1)
    assert len(proxy.requests) == 1


def _challenged(token: bytes) -> Response:
    header = ("WWW-Authenticate", f"NTLM {base64.b64encode(token).decode()}")
    return Response(401, "", "1.1", (header,), b"", 0.0, "http://a/", timing=Timing())


_NEGOTIATED = spnego.client("a", "b", protocol="ntlm", options=spnego.NegotiateOptions.use_ntlm)


@pytest.fixture(scope="module")
def challenge() -> bytes:
    """Return a server's challenge."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NTLM_USER_FILE", __file__)
        server = spnego.server(protocol="ntlm", options=spnego.NegotiateOptions.use_ntlm)
        made = server.step(_NEGOTIATED.step())
    assert made is not None
    return made


@settings(max_examples=80)
@given(data=st.data())
def test_no_challenge_of_a_hostile_server_ends_in_a_traceback(
    challenge: bytes, data: st.DataObject
) -> None:
    given = bytearray(challenge[: data.draw(st.integers(0, len(challenge)))])
    for at, value in data.draw(st.dictionaries(st.integers(0, 200), st.integers(0, 255))).items():
        if at < len(given):
            given[at] = value
    token = data.draw(st.one_of(st.binary(max_size=80), st.just(bytes(given))))
    flow = credentials().flow(Request("GET", "http://a/"), "a", "/")
    next(flow)
    flow.send(_challenged(b""))
    with contextlib.suppress(TransportError, StopIteration):
        assert PASSWORD not in str(flow.send(_challenged(token)).headers)


def test_a_weak_setting_of_the_system_is_an_error_with_its_name(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with NtlmServer() as server:
        monkeypatch.setenv("LM_COMPAT_LEVEL", "9")
        with pytest.raises(TransportError, match="LM_COMPAT_LEVEL"):
            client.send(Request("GET", server.url, credentials=credentials()))


def test_without_the_extra_its_command_is_reported(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spnego", None)
    data = response(b"", "WWW-Authenticate: NTLM", status="401 Unauthorized")
    with RawServer(data) as server, pytest.raises(TransportError, match=r"pip install .*pyspnego"):
        client.send(Request("GET", server.url, credentials=credentials()))


@pytest.mark.parametrize("written", ["NTLM", "NTLM TlRMTVNTUAABAAAAB4IIAAAAAAA=", "Negotiate YIIX"])
def test_what_is_on_the_wire_already_is_sent_as_it_is(written: str) -> None:
    assert auth.read(written, DOCUMENT) == written


@pytest.mark.parametrize("written", ["NTLM me", "Negotiate x", "NTLM :x"])
def test_half_of_the_credentials_is_an_error(written: str) -> None:
    with pytest.raises(OrgrestError, match="credentials must be `user password` or"):
        auth.read(written, DOCUMENT)


def test_a_websocket_says_that_it_cannot(client: Client) -> None:
    with pytest.raises(TransportError, match="cannot be opened with NTLM"):
        client.send(Request("WEBSOCKET", "ws://127.0.0.1:1/", credentials=credentials()))


@needs("curl")
def test_curl_gets_in_with_the_command_that_is_exported() -> None:
    with NtlmServer() as server:
        request = Request("GET", server.url, credentials=credentials("you", "other"))
        options = [*["-s", "--fail", "--noproxy"], "*"]
        words = [*filter(str.strip, shlex.split(to_command(request))), *options]
        subprocess.run(words, check=True, capture_output=True, timeout=60)
        wrong = [word.replace("other", "wrong") for word in words]
        failed = subprocess.run(wrong, check=False, timeout=60)
    assert (server.users, failed.returncode) == (["you"], 22)
