"""Which certificates are trusted, and the messages for those that are not."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import trustme
from exchanges import failure, tls_of
from servers import RawServer, closing, echo, reset

from orgrest.http.transport.client import Client
from orgrest.http.transport.errors import explain
from orgrest.http.transport.limits import Limits
from orgrest.model import OrgrestError, Request

if TYPE_CHECKING:
    pass


def test_a_certificate_of_an_unknown_authority_is_refused(
    client: Client, tls_server: RawServer
) -> None:
    reason = failure(client, Request("GET", tls_server.url))
    assert reason.startswith("the server's TLS certificate is invalid: ")
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
        assert client.send(Request("GET", tls_server.url)).status == 200
        assert client.send(Request("GET", tls_server.url)).status == 200
    assert tls_server.connections == 1


@pytest.mark.parametrize("given", [True, False])
def test_a_certificate_for_another_name_is_refused(
    authority: trustme.CA, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: bool
) -> None:
    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))  # the system's
    context = tls_of(authority, "example.org")
    with RawServer(echo, context=context) as server, Client(ca=pem if given else None) as client:
        assert "TLS certificate is invalid" in failure(client, Request("GET", server.url))
    assert server.requests == []


def test_insecure_takes_any_certificate_and_warns(tls_server: RawServer) -> None:
    with Client(insecure=True) as client:
        assert client.send(Request("GET", tls_server.url)).status == 200
        assert client.warnings == (
            "TLS certificates are not verified (--insecure): responses may come from anyone",
        )


def test_a_secure_client_has_nothing_to_warn_of(client: Client) -> None:
    assert client.warnings == ()


def test_tls_to_a_server_without_it_fails_in_plain_words(client: Client) -> None:
    with RawServer(closing(b"HTTP/1.1 400 Bad\r\n\r\n")) as server:
        reason = failure(client, Request("GET", server.url.replace("http:", "https:")), timeout=0.5)
    assert reason.startswith(("TLS failed: ", "no response", "the response was not complete"))


def test_a_server_that_hangs_up_may_not_trust_the_client_certificate() -> None:
    error = ssl.SSLEOFError(ssl.SSL_ERROR_EOF, "EOF occurred in violation of protocol (_ssl.c:24)")
    reason = explain(error, Limits())
    assert "closed the connection" in reason
    assert "may require a client certificate" in reason
    assert "ssl.c" not in reason


def test_a_body_that_ends_with_a_reset_is_not_taken_for_the_whole(
    authority: trustme.CA, tmp_path: Path
) -> None:
    def answer(connection: socket.socket, request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n[1")
        if b"/reset" in request:
            reset(connection, b"")
        connection.close()  # as many servers do, without ending TLS

    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    with Client(ca=pem) as client, RawServer(answer, context=tls_of(authority)) as server:
        assert client.send(Request("GET", f"{server.url}/close")).body == b"[1"
        if ssl.OPENSSL_VERSION_INFO >= (3,):
            reason = failure(client, Request("GET", f"{server.url}/reset"))
            assert reason == "the server reset the connection"


def test_certificates_that_cannot_be_read_are_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(OrgrestError, match="could not read the certificates: No such file"):
        Client(ca=tmp_path / "none.pem")
    bad = tmp_path / "bad.pem"
    bad.write_text("nonsense")
    with pytest.raises(OrgrestError, match="expected a file of certificates in PEM format"):
        Client(ca=bad)
