"""Client certificates: a server that asks for one gets it, and no other server does."""

from __future__ import annotations

import json
import ssl
from typing import TYPE_CHECKING

import pytest
import trustme
from cryptography.hazmat.primitives import serialization
from exchanges import tls_of
from servers import RawServer, response

from orgrest import classes
from orgrest.http.auth import certificates
from orgrest.http.parsing import request_file
from orgrest.http.transport.client import Client
from orgrest.http.values import Context, Inputs, expand
from orgrest.model import ClientCertificate, ExpansionError, OrgrestError, Request, TransportError

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path


class Mutual:
    """A TLS server that accepts only clients with a certificate from its authority."""

    def __init__(self, folder: Path, *, required: bool = True) -> None:
        authority = trustme.CA()
        context = tls_of(authority)
        authority.configure_trust(context)
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_NONE
        self.ca = folder / "ca.pem"
        authority.cert_pem.write_to_path(str(self.ca))
        mine = authority.issue_cert("me@example.org")
        mine.private_key_pem.write_to_path(str(folder / "key.pem"))
        mine.cert_chain_pems[0].write_to_path(str(folder / "cert.pem"))
        mine.private_key_and_cert_chain_pem.write_to_path(str(folder / "both.pem"))
        self.server = RawServer(response(b"in"), context=context)


@pytest.fixture
def mutual(tmp_path: Path) -> Iterator[Mutual]:
    found = Mutual(tmp_path)
    with found.server:
        yield found


def sent(mutual: Mutual, folder: Path, headers: str = "", **scope: object) -> Request:
    text = f"GET {mutual.server.url}/\n{headers}"
    given = Context(Inputs(directory=folder, **scope))  # type: ignore[arg-type]
    request = expand(request_file.parse(text).requests[0], given)
    with Client(ca=mutual.ca) as client:
        assert client.send(request).body == b"in"
    return request


def test_a_server_that_wants_a_certificate_fails_without(mutual: Mutual, tmp_path: Path) -> None:
    with pytest.raises(TransportError):
        sent(mutual, tmp_path)


@pytest.mark.parametrize("name", ["X-ClientCert", "ClientCert", "clientcert"])
@pytest.mark.parametrize(
    "value", ["cert: cert.pem key: key.pem", "key:key.pem cert:cert.pem", "cert: both.pem"]
)
def test_httpyacs_header_shows_a_certificate_and_is_not_sent(
    name: str, value: str, mutual: Mutual, tmp_path: Path
) -> None:
    request = sent(mutual, tmp_path, f"{name}: {value}\n")
    assert request.headers == ()
    assert b"clientcert" not in mutual.server.requests[0].lower()


def test_the_passphrase_of_a_certificate_is_a_secret(tmp_path: Path) -> None:
    (tmp_path / "a.pem").touch()
    text = "GET https://example.org/\nClientCert: cert: a.pem passphrase: s3cret\n"
    request = expand(request_file.parse(text).requests[0], Context(Inputs(directory=tmp_path)))
    assert request.headers == ()
    assert request.certificate == ClientCertificate(str(tmp_path / "a.pem"), None, "s3cret")
    assert "s3cret" in request.secrets


@pytest.mark.parametrize("value", ["passphrase: s3cret", "cert: a.pem, passphrase: s3cret x"])
def test_a_malformed_certificate_is_not_sent_as_a_header(value: str) -> None:
    text = f"GET https://example.org/\nClientCert: {value}\n"
    with pytest.raises(ExpansionError) as error:
        expand(request_file.parse(text).requests[0], Context())
    assert "s3cret" not in str(error.value)
    assert ("without spaces" in str(error.value)) == value.startswith("cert")


def test_the_certificate_that_a_proxy_would_pass_on_is_an_ordinary_header() -> None:
    text = "GET https://example.org/\nClientCert: MIIB\n"
    request = expand(request_file.parse(text).requests[0], Context())
    assert request.headers == (("ClientCert", "MIIB"),)
    assert request.certificate is None


@pytest.mark.parametrize(
    ("file", "key"),
    [
        (".vscode/settings.json", "rest-client.certificates"),
        (".httpyac.json", "clientCertificates"),
    ],
)
def test_settings_name_the_certificate_for_a_host(
    file: str, key: str, mutual: Mutual, tmp_path: Path
) -> None:
    settings = tmp_path / file
    settings.parent.mkdir(exist_ok=True)
    hosts = {mutual.server.host: {"cert": "cert.pem", "key": "key.pem"}, "127.0.0.1:1": {}}
    settings.write_text(f"// mine\n{json.dumps({key: hosts})}")
    sent(mutual, tmp_path)


def test_a_directive_keeps_the_certificate_of_the_settings_back(
    mutual: Mutual, tmp_path: Path
) -> None:
    hosts = {mutual.server.host: {"cert": "both.pem"}}
    (tmp_path / ".httpyac.json").write_text(json.dumps({"clientCertificates": hosts}))
    sent(mutual, tmp_path)
    text = f"# @no-client-cert\nGET {mutual.server.url}\n"
    scope = Context(Inputs(directory=tmp_path))
    assert expand(request_file.parse(text).requests[0], scope).certificate is None


def test_jetbrains_environment_names_the_certificate(mutual: Mutual, tmp_path: Path) -> None:
    key = serialization.load_pem_private_key((tmp_path / "key.pem").read_bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"0pen"),
    )
    (tmp_path / "k.pem").write_bytes(locked)
    given = {
        "clientCertificate": {"path": "cert.pem", "format": "PEM"},
        "clientCertificateKey": "k.pem",
        "hasCertificatePassphrase": True,
    }
    public, private = "http-client.env.json", "http-client.private.env.json"
    (tmp_path / public).write_text(json.dumps({"dev": {"SSLConfiguration": {}}}))
    (tmp_path / private).write_text(json.dumps({"dev": {"SSLConfiguration": given}}))
    overrides = {"certificate-passphrase": "0pen"}
    request = sent(mutual, tmp_path, environments=("dev",), overrides=overrides)
    assert "0pen" in request.secrets
    with pytest.raises(ExpansionError, match="this request asks for a value: passphrase"):
        sent(mutual, tmp_path, environments=("dev",))
    with pytest.raises(TransportError, match="and the right passphrase"):
        sent(mutual, tmp_path, environments=("dev",), overrides={"certificate-passphrase": "no"})


def test_a_certificate_outside_the_documents_folder_is_not_shown(
    mutual: Mutual, tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    header = "X-ClientCert: cert: ../both.pem\n"
    with pytest.raises(ExpansionError, match="--allow-read"):
        sent(mutual, inner, header)
    sent(mutual, inner, header, allow_read=[tmp_path])


def test_a_certificate_is_not_shown_to_another_origin(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Mutual(tmp_path / "other")
    mutual = Mutual(tmp_path, required=False)

    def moved(connection: socket.socket, _: bytes) -> None:
        connection.sendall(response(b"", f"Location: {other.server.url}/", status="302 Found"))

    mutual.server._answer = moved
    certificate = ClientCertificate(str(tmp_path / "other" / "both.pem"))
    request = Request("GET", mutual.server.url, certificate=certificate)
    with mutual.server, other.server, Client(insecure=True) as client:
        assert client.send(classes.evolve(request, url=other.server.url)).body == b"in"
        with pytest.raises(TransportError):
            client.send(request)


@pytest.mark.parametrize("value", ["cert.pem", "pfx: a.p12 passphrase: x", "key: a.pem", ""])
def test_what_names_no_certificate_is_an_error(value: str) -> None:
    with pytest.raises(OrgrestError, match="cert"):
        certificates.from_header(value)


@pytest.mark.parametrize(
    "text", ["[]", "no", '{"clientCertificate": {"path": "a.p12", "format": "PKCS12"}}']
)
def test_a_configuration_that_is_not_read_is_an_error(text: str) -> None:
    with pytest.raises(OrgrestError, match="SSLConfiguration"):
        certificates.from_ssl_configuration(text)


def test_a_host_without_settings_has_no_certificate() -> None:
    assert certificates.for_host({"a": {"cert": "x"}, "b": 1}, "b") is None
    assert certificates.from_ssl_configuration('{"verifyHostCertificate": false}') == (None, False)


def test_a_file_that_is_no_certificate_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "a.pem").write_text("nothing")
    certificate = ClientCertificate(str(tmp_path / "a.pem"))
    with (
        Client() as client,
        pytest.raises(
            TransportError,
            match="expected a certificate and its private key in PEM format, and the right pass",
        ),
    ):
        client.send(Request("GET", "https://127.0.0.1:9", certificate=certificate))
