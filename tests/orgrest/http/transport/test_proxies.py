"""Requests through a real proxy, proxy.py: which setting selects it, what it sees, exceptions."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import ssl
import subprocess
import sys
import types
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
import trustme
from components import require
from exchanges import failure, head_of, tls_of
from servers import Proxy, RawServer, Socks, closing, echo, response
from waiting import wait_until

from orgrest import classes
from orgrest.commands.main import main
from orgrest.http.transport import pools
from orgrest.http.transport.client import Client
from orgrest.http.transport.pools import chosen, proxy_for, read_proxy
from orgrest.http.transport.wire import parse_url
from orgrest.installing import install_command
from orgrest.model import OrgrestError, Request

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path

PASSWORD = "s3c:r@t"
GET = Request("GET", "http://127.0.0.2:9/")


@classes.frozen
class Running:
    """A proxy.py that requires a password, and the lines of its log."""

    port: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://me:{quote(PASSWORD)}@127.0.0.1:{self.port}"

    def lines_of(self, wanted: str) -> list[str]:
        """Return the log lines for an address. They are written when a connection ends."""
        return wait_until(
            lambda: [line for line in self.log.read_text().splitlines() if wanted in line]
        )


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("proxy")
    words = [sys.executable, "-m", "proxy", "--hostname", "127.0.0.1", "--port", "0"]
    words += ["--num-acceptors", "1", "--num-workers", "1", "--basic-auth", f"me:{PASSWORD}"]
    words += ["--port-file", "port", "--log-file", "log"]
    with subprocess.Popen(
        words,
        cwd=folder,
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            port = folder / "port"
            wait_until(lambda: port.exists() and port.read_text().strip())
            yield Running(int(port.read_text()), folder / "log")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(20)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def orgrest(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def run(*words: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main([*words])
        output = capsys.readouterr()
        return int(ended.value.code or 0), output.out + output.err

    return run


def document(folder: Path, *lines: str) -> str:
    (folder / "a.http").write_text("\n".join([*lines, ""]))
    return "a.http"


@pytest.mark.parametrize("command", [[], ["test"]])
def test_a_run_sends_through_the_proxy_that_it_is_started_with(
    proxy: Running, orgrest, tmp_path: Path, command: list[str]
) -> None:
    with RawServer(echo) as server:
        file = document(tmp_path, f"GET {server.url}/plain-{len(command)}")
        status, output = orgrest(*command, file, "--proxy", proxy.url)
        assert (status, len(server.requests)) == (0, 1)
        assert b"roxy-Authorization" not in server.requests[0]
    assert PASSWORD not in output
    lines = proxy.lines_of(f"{server.host}/plain-{len(command)}")
    assert any("GET" in line for line in lines)


def test_what_is_encrypted_goes_through_a_tunnel(
    proxy: Running, authority: trustme.CA, orgrest, tmp_path: Path
) -> None:
    authority.cert_pem.write_to_path("ca.pem")
    with RawServer(echo, context=tls_of(authority)) as server:
        file = document(tmp_path, f"GET {server.url}/tunnel", "X-Mine: only the server's")
        status, output = orgrest(file, "--ca", "ca.pem", "--proxy", proxy.url)
        assert (status, len(server.requests)) == (0, 1)
    assert "only the server's" in output
    assert any("CONNECT" in line for line in proxy.lines_of(server.host))
    assert "/tunnel" not in proxy.log.read_text()


def test_a_document_chooses_among_the_proxies_of_who_starts_the_run(
    proxy: Running, orgrest, tmp_path: Path
) -> None:
    here = f"http://127.0.0.1:{proxy.port}"
    with RawServer(echo) as server:
        lines = [f"# @proxy {here}", f"GET {server.url}/chosen", "###", f"GET {server.url}/direct"]
        file = document(tmp_path, *lines)
        assert orgrest(file, "--allow-proxy", proxy.url, "--allow-proxy", "http://other:1")[0] == 0
        assert len(server.requests) == 2
    proxy.lines_of(f"{server.host}/chosen")
    assert "/direct" not in proxy.log.read_text()


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--allow-proxy", "http://127.0.0.1:1"),
        ("--proxy", "http://127.0.0.1:1"),
        ("--dry-run",),
    ],
)
def test_a_document_alone_gets_nothing_through_a_proxy_of_its_own(
    orgrest, tmp_path: Path, options: tuple[str, ...]
) -> None:
    with RawServer(echo) as server, Proxy() as theirs:
        wanted = theirs.url.replace("//", f"//me:{PASSWORD}@")
        file = document(tmp_path, f"# @proxy {wanted}", f"GET {server.url}/")
        status, output = orgrest(file, *options)
        assert (theirs.requests, server.requests) == ([], [])
    assert status == 1
    assert (
        f"@proxy {theirs.url}: documents can only choose a proxy if the run was started" in output
    )
    assert PASSWORD not in output


def test_no_variable_of_a_document_or_of_its_folder_chooses_one(orgrest, tmp_path: Path) -> None:
    with RawServer(echo) as server, Proxy() as theirs:
        (tmp_path / ".env").write_text(f"http_proxy={theirs.url}\nHTTP_PROXY={theirs.url}\n")
        (tmp_path / "http-client.env.json").write_text(
            json.dumps({"dev": {"http_proxy": theirs.url, "request_proxy": theirs.url}})
        )
        file = document(tmp_path, f"@http_proxy = {theirs.url}", f"GET {server.url}/")
        assert orgrest(file, "--env", "dev")[0] == 0
        assert (theirs.requests, len(server.requests)) == ([], 1)


def test_a_redirect_stays_with_the_proxy_of_its_request(orgrest, tmp_path: Path) -> None:
    with Proxy() as chosen_one, RawServer(echo) as end, RawServer(b"") as server:
        server._answer = response(b"", f"Location: {end.url}/end", status="302 Found")
        file = document(tmp_path, f"# @proxy {chosen_one.url}", f"GET {server.url}/")
        assert orgrest(file, "--allow-proxy", chosen_one.host)[0] == 0
    assert len(chosen_one.requests) == 2


def test_a_wrong_password_is_reported_without_it(proxy: Running, orgrest, tmp_path: Path) -> None:
    file = document(tmp_path, "GET https://127.0.0.1:1/")
    wrong = proxy.url.replace(quote(PASSWORD), "wr0ng")
    status, output = orgrest(file, "--proxy", wrong)
    assert status == 1
    assert "through the proxy: tunnel connection failed: 407" in output
    assert "wr0ng" not in output


@pytest.mark.parametrize("option", ["--proxy", "--allow-proxy"])
@pytest.mark.parametrize(
    "given", ["ftp://me:s3cret@h", "http://me:s3cret@h/path", "http://", "a b"]
)
def test_what_is_no_proxy_is_wrong_usage(orgrest, tmp_path: Path, option: str, given: str) -> None:
    status, output = orgrest(document(tmp_path, "GET http://127.0.0.1:1/"), option, given)
    assert status == 2
    assert "invalid proxy URL:" in output
    assert PASSWORD not in output


@pytest.mark.parametrize("password", ["s3c/ret", "s3c#ret", "s3c?ret", "s3c\\ret", "s3c ret"])
def test_a_password_that_must_be_encoded_is_not_called_an_invalid_url(
    orgrest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, password: str
) -> None:
    file = document(tmp_path, "GET http://127.0.0.1:1/")
    why = "invalid user or password in the proxy URL http://proxy.example:3128: percent-encode"
    status, output = orgrest(file, "--proxy", f"http://me:{password}@proxy.example:3128")
    assert (status, why in output, "s3c" in output) == (2, True, False)
    monkeypatch.setenv("http_proxy", f"http://me:{password}@proxy.example:3128")
    status, output = orgrest(file)
    assert (status, why in output, "s3c" in output) == (1, True, False)


def test_a_proxy_is_the_same_however_it_is_written() -> None:
    known = read_proxy("me:s3cret@Proxy.example:3128")
    assert chosen("http://proxy.example:3128/", [known]) == "http://me:s3cret@Proxy.example:3128"
    assert chosen("http://you:x@proxy.example:3128", [known]) == "http://you:x@proxy.example:3128"
    assert read_proxy("socks://h:1") == "socks5://h:1"
    for other in ("http://proxy.example:3129", "https://proxy.example:3128", "proxy.example"):
        with pytest.raises(
            OrgrestError,
            match="documents can only choose a proxy if the run was started with --allow-proxy",
        ):
            chosen(other, [known])


LISTED = [
    ("127.0.0.1", "http://127.0.0.1/", True),
    ("127.0.0.2", "http://127.0.0.1/", False),
    ("127.0.0.0/8", "http://127.0.0.1/", True),
    ("10.0.0.0/8,192.168.0.0/16", "http://127.0.0.1/", False),
    ("*", "http://a.example.org/", True),
    ("example.org", "http://a.example.org/", True),
    (".example.org", "http://a.example.org/", True),
    ("ample.org", "http://a.example.org/", False),
    ("EXAMPLE.org", "http://a.example.org/", True),
    ("a.example.org.", "http://a.example.org/", True),
    ("b.example.org, a.example.org", "http://a.example.org/", True),
    ("b.example.org a.example.org", "http://a.example.org/", True),
    ("b.example.org", "http://a.example.org/", False),
    ("", "http://a.example.org/", False),
    ("::1", "http://[::1]/", True),
    ("[::1]", "http://[::1]/", True),
    ("::/64", "http://[::1]/", True),
    ("::2", "http://[::1]/", False),
]


@pytest.mark.parametrize(("listed", "url", "direct"), LISTED)
def test_hosts_that_are_listed_are_asked_without_a_proxy(
    listed: str, url: str, direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_PROXY", listed)
    given = "http://proxy:1"
    assert proxy_for(parse_url(url), given) == (None if direct else given)
    monkeypatch.setenv("http_proxy", given)
    assert proxy_for(parse_url(url), None) == (None if direct else given)


def test_curl_asks_the_same_hosts_without_a_proxy() -> None:
    curl = require("curl")
    with Proxy() as there, RawServer(response(b"")) as server:
        for listed, url, direct in LISTED:
            if "[" in url:
                continue  # only IPv4 is sure to be there
            there.requests.clear()
            at = url.rstrip("/") + f":{server.port}/"
            words = [curl, "-q", "-s", "-m", "30", "-x", there.url, at]
            words += ["--resolve", f"a.example.org:{server.port}:127.0.0.1"]
            subprocess.run(words, env={"NO_PROXY": listed}, check=False, timeout=60)
            assert (not there.requests) is direct, listed


def test_a_port_may_be_listed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "a.example.org:8080")
    given = "http://proxy:1"
    assert proxy_for(parse_url("http://a.example.org:8080/"), given) is None
    assert proxy_for(parse_url("http://a.example.org/"), given) == given


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
            answer = client.send(Request("GET", tls_server.url, (("X-Secret", "1"),)))
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
            assert client.send(Request("GET", server.url)).status == 200


needs_socks = pytest.mark.skipif(
    find_spec("socks") is None, reason="pip install pysocks: SOCKS needs it"
)


@needs_socks
@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "could not connect within 0.3 s"),
        (b"\x05\xff", "all offered socks5 authentication methods were rejected"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "socks5 proxy server sent invalid data"),
    ],
)
def test_a_proxy_that_does_not_speak_socks_is_named(answer: bytes, reason: str) -> None:
    class NoSocks(RawServer):
        def _serve(self, connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                connection.recv(3)
                connection.sendall(answer)
                connection.recv(1)

    with NoSocks(b"") as server:
        url = server.url.replace("http", "socks5")
        with Client(proxy=url, connect_timeout=0.3) as client:
            assert failure(client, GET) == f"through the proxy: {reason}"


@needs_socks
def test_a_missing_socks_proxy_is_named_instead_of_the_server() -> None:
    with Client(proxy="socks5://127.0.0.1:1") as client:
        assert failure(client, GET) == "through the proxy: connection to 127.0.0.1:1 refused"
    with Client(proxy="socks5h://no-such-host.invalid:1") as client:
        reason = "through the proxy: could not resolve the host name no-such-host.invalid"
        assert failure(client, GET) == reason


@needs_socks
def test_a_socks_proxy_is_used_with_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer(echo) as server, Socks() as proxy:
        monkeypatch.setenv("all_proxy", proxy.url.replace("http", "socks5"))
        with Client() as client:
            client.send(Request("GET", f"{server.url}/a/../%2f", (("x-b", "1"), ("X-B", "2"))))
    assert proxy.targets == [("127.0.0.1", server.port)]
    assert head_of(server.requests[0])[0] == "GET /a/../%2f HTTP/1.1"
    assert head_of(server.requests[0])[-2:] == ["x-b: 1", "X-B: 2"]


def test_no_proxy_is_honoured(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer(echo) as server, Proxy() as proxy:
        monkeypatch.setenv("all_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        with Client() as client:
            client.send(Request("GET", server.url))
    assert proxy.requests == []


def test_a_proxy_that_refuses_or_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer(echo) as server, Proxy(authorization="x") as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        with Client() as client:
            reason = failure(client, Request("GET", server.url.replace("http:", "https:")))
        assert reason.startswith("through the proxy: tunnel connection failed: 407")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with Client() as client:
        reason = failure(client, Request("GET", "http://example.org/"))
    assert reason == "through the proxy: connection to 127.0.0.1:1 refused"


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("how", ["ca", "insecure", "system"])
def test_the_certificate_of_a_proxy_is_verified_like_that_of_a_server(
    authority: trustme.CA, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, scheme: str, how: str
) -> None:
    of_proxy = trustme.CA()
    both, of_server = tmp_path / "both.pem", tmp_path / "server.pem"
    for pem, authorities in ((both, (authority, of_proxy)), (of_server, (authority,))):
        for one in authorities:
            one.cert_pem.write_to_path(str(pem), append=True)
    context = tls_of(authority) if scheme == "https" else None
    with (
        RawServer(echo, context=context) as server,
        Proxy(context=tls_of(of_proxy)) as proxy,
        Client(ca=of_server, proxy=proxy.url) as untrusting,
    ):
        assert "certificate is invalid" in failure(untrusting, Request("GET", server.url))
        assert proxy.requests == server.requests == []
        if how == "system":
            of_proxy.cert_pem.write_to_path(str(tmp_path / "system.pem"))
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "system.pem"))
        ca = {"ca": both, "system": of_server}.get(how)
        with Client(ca=ca, insecure=how == "insecure", proxy=proxy.url) as client:
            assert client.send(Request("GET", server.url)).status == 200
        assert len(server.requests) == 1


def test_a_proxy_whose_refusal_breaks_off_is_named_with_its_status() -> None:
    refusal = closing(response(b"wrong password", status="401 Unauthorized")[:-1])
    with RawServer(refusal) as proxy, Client(proxy=proxy.url) as client:
        reason = failure(client, Request("POST", "http://example.org/", body=b"abc"))
    assert reason == (
        "through the proxy: the connection was closed after 13 of 14 bytes; "
        "the status is 401 Unauthorized"
    )


@pytest.mark.parametrize(
    ("proxy", "reason"),
    [
        (
            "socks5://u:s3cret@h:1",
            f"the proxy socks5://h:1 requires PySocks: {install_command('pysocks')}",
        ),
        ("http://u:s3cret@[", "invalid proxy URL: http://["),
        ("ftp://u:s3cret@h", "invalid proxy URL: ftp://h"),
    ],
)
def test_a_proxy_that_is_invalid_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str, reason: str
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setattr(pools, "find_spec", lambda _: None)
    with Client() as client:
        assert failure(client, Request("GET", "http://example.org/")) == reason


def test_a_system_without_root_certificates_takes_certifis_or_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, authority: trustme.CA, tls_server: RawServer, tmp_path: Path
) -> None:
    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    nothing = ssl.DefaultVerifyPaths(None, None, "", "", "", "")
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nothing)
    monkeypatch.setitem(sys.modules, "certifi", None)
    with Client() as client:
        reason = failure(client, Request("GET", tls_server.url))
    assert f"{install_command('certifi')}, or use --ca" in reason
    certifi = types.SimpleNamespace(where=lambda: str(pem))
    monkeypatch.setitem(sys.modules, "certifi", certifi)
    with Client() as client:
        assert client.send(Request("GET", tls_server.url)).status == 200
