"""Cookies kept in a file between runs: curl can share the file, and nothing is lost or leaked."""

from __future__ import annotations

import http.cookiejar
import json
import os
import stat
import subprocess
import time
from typing import TYPE_CHECKING

import pytest
from components import needs
from exchanges import headers_sent
from hypothesis import given
from hypothesis import strategies as st
from servers import RawServer, by_path, echo, response

from orgrest import files
from orgrest.commands.main import main
from orgrest.http.transport.client import Client
from orgrest.http.transport.cookies import Cookies
from orgrest.http.transport.wire import parse_url
from orgrest.model import OrgrestError, Request

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

LATER = int(time.time()) + 10_000


@pytest.fixture
def server() -> Iterator[RawServer]:
    def answer(connection: socket.socket, request: bytes) -> None:
        cookie = next((x for x in request.split(b"\r\n") if x.startswith(b"Cookie: ")), b"none")
        lines = ["Content-Type: text/plain"]
        if b"GET /set" in request:
            lines += [
                "Set-Cookie: session=s3cret-session; HttpOnly",
                f"Set-Cookie: kept=k; Path=/; Max-Age={10_000}",
                "Set-Cookie: gone=g; Max-Age=0",
                "Set-Cookie: safe=s; Secure",
            ]
        connection.sendall(response(cookie, *lines))

    with RawServer(answer) as running:
        yield running


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def document(folder: Path, *lines: str, name: str = "a.http") -> Path:
    path = folder / name
    path.write_text("\n".join(lines))
    return path


def cookies_sent(server: RawServer) -> list[str]:
    lines = server.requests[-1].decode().split("\r\n")
    found = next((line for line in lines if line.startswith("Cookie: ")), "Cookie: ")
    return sorted(found.removeprefix("Cookie: ").split("; "))


def test_a_session_continues_in_the_next_run_and_its_value_is_masked(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "jar"
    assert run(document(tmp_path, f"GET {server.url}/set"), "--cookies", file) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    capsys.readouterr()
    assert run(document(tmp_path, f"GET {server.url}/echo"), "--cookies", file, "--json") == 0
    assert cookies_sent(server) == ["kept=k", "session=s3cret-session"]
    text = json.loads(capsys.readouterr().out)["text"]
    assert "s3cret" not in text
    assert "session=***" in text


def test_without_the_option_a_run_starts_without_cookies(server: RawServer, tmp_path: Path) -> None:
    assert run(document(tmp_path, f"GET {server.url}/set", "###", f"GET {server.url}/")) == 0
    assert cookies_sent(server) == ["kept=k", "session=s3cret-session"]
    assert run(document(tmp_path, f"GET {server.url}/echo")) == 0
    assert cookies_sent(server) == [""]


def test_a_request_without_the_jar_neither_sends_nor_keeps(
    server: RawServer, tmp_path: Path
) -> None:
    file = tmp_path / "jar"
    file.write_text(f"127.0.0.1\tFALSE\t/\tFALSE\t{LATER}\ta\tb\n")
    text = ("# @no-cookie-jar", f"GET {server.url}/set")
    assert run(document(tmp_path, *text), "--cookies", file) == 0
    assert cookies_sent(server) == [""]
    assert "kept" not in file.read_text()
    assert "\ta\tb\n" in file.read_text()


def test_a_request_without_the_jar_sends_no_cookies_after_a_redirect(tmp_path: Path) -> None:
    hops = [response(b"", "Location: /next", "Set-Cookie: a=1", status="302 Found"), response()]
    with RawServer(lambda connection, _: connection.sendall(hops.pop(0))) as server:
        assert run(document(tmp_path, "# @no-cookie-jar", f"GET {server.url}/")) == 0
        assert [b"cookie:" in sent.lower() for sent in server.requests] == [False, False]


def test_a_dry_run_leaves_the_file_as_it_is(server: RawServer, tmp_path: Path) -> None:
    file = tmp_path / "jar"
    assert run(document(tmp_path, f"GET {server.url}/set"), "--cookies", file, "--dry-run") == 0
    assert not file.exists()


def test_a_dry_run_shows_the_cookies_that_would_go_along(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "jar"
    file.write_text(f"127.0.0.1\tFALSE\t/\tFALSE\t{LATER}\tlang\ten\n")
    for text, shown in (
        ([f"GET {server.url}/"], ["lang=en"]),
        ([f"GET {server.url}/", "Cookie: own=1"], ["own=1"]),
        (["# @no-cookie-jar", f"GET {server.url}/"], []),
        (["GET http://other.example/"], []),
        (["WEBSOCKET " + server.url.replace("http", "ws")], ["lang=en"]),
    ):
        given = document(tmp_path, *text)
        assert run(given, "--cookies", file, "--dry-run", "--json") == 0
        headers = json.loads(capsys.readouterr().out)["headers"]
        assert [value for name, value in headers if name == "Cookie"] == shown
    assert not server.requests


def test_a_file_that_others_could_read_is_private_afterwards(
    server: RawServer, tmp_path: Path
) -> None:
    file = tmp_path / "jar"
    file.write_text("")
    file.chmod(0o644)
    assert run(document(tmp_path, f"GET {server.url}/set"), "--cookies", file) == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_cannot_be_written_or_read_is_reported(
    server: RawServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = document(tmp_path, f"GET {server.url}/set")
    assert run(where, "--cookies", tmp_path / "none" / "jar") == 2
    assert "there is no folder" in capsys.readouterr().err
    sent = len(server.requests)
    assert run(where, "--cookies", where) == 2
    assert "--cookies would overwrite " in capsys.readouterr().err
    (tmp_path / "jar").write_text("session=x\n")
    assert run(where, "--cookies", tmp_path / "jar") == 2
    assert "jar:1: not a cookie: expected seven tab-separated fields" in capsys.readouterr().err
    assert len(server.requests) == sent


def test_a_cookie_that_another_run_stored_in_the_meantime_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "jar"

    def answer(connection: socket.socket, request: bytes) -> None:
        if b"GET /slow" in request:  # another run ends while this one waits
            file.write_text(file.read_text() + stored("other", "2") + stored("both", "2"))
        lines = ("own=1", "renewed=1", "both=1", "ended=; Max-Age=0")
        connection.sendall(response(b"", *(f"Set-Cookie: {line}" for line in lines)))

    def stored(name: str, value: str) -> str:
        return f"127.0.0.1\tFALSE\t/\tFALSE\t{LATER}\t{name}\t{value}\n"

    file.write_text("".join(stored(name, "0") for name in ("kept", "renewed", "ended")))
    with RawServer(answer) as server:
        assert run(document(tmp_path, f"GET {server.url}/slow"), "--cookies", file) == 0
    cookies = Cookies.read(file.read_bytes(), str(file))
    assert {cookie.name: cookie.value for cookie in cookies} == {
        "kept": "0",
        "renewed": "1",
        "other": "2",
        "both": "1",
        "own": "1",
    }


def test_a_lock_that_another_program_holds_does_not_stop_a_run_for_ever(
    tmp_path: Path, server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fcntl = pytest.importorskip("fcntl")
    monkeypatch.setattr(files, "_PATIENCE", 0.1)
    number = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(number, fcntl.LOCK_EX)  # as `flock DIR orgrest ...` does
    try:
        assert run(document(tmp_path, f"GET {server.url}/set"), "--cookies", tmp_path / "jar") == 0
    finally:
        os.close(number)
    assert "session" in (tmp_path / "jar").read_text()


def test_a_file_that_was_damaged_during_the_run_is_reported_and_kept(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "jar"

    def answer(connection: socket.socket, _: bytes) -> None:
        file.write_text("damaged")
        connection.sendall(response(b"", "Set-Cookie: a=1"))

    with RawServer(answer) as server:
        assert run(document(tmp_path, f"GET {server.url}/"), "--cookies", file) == 1
    assert file.read_text() == "damaged"
    assert str(file) in capfd.readouterr().err


CHANGES = st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from("12-")), max_size=4)


@given(CHANGES, CHANGES)
def test_a_file_gets_the_changes_of_each_run_and_keeps_everything_else(first, second) -> None:
    before = b"".join(b"host\tFALSE\t/\tFALSE\t0\t%c\t0\n" % name for name in b"ad")
    file, runs = Cookies.read(before, "jar"), [Cookies.read(before, "jar") for _ in range(2)]
    expected = {"a": "0", "d": "0"}
    for cookies, changes in zip(runs, (first, second), strict=True):
        for name, value in changes:
            end = "; Max-Age=0" if value == "-" else ""
            cookies.store(parse_url("http://host/"), [f"{name}={value}; Path=/{end}"])
        cookies.apply_changes(file)
        # Removing a cookie that the run itself has set leaves nothing to change.
        for name, value in dict(changes).items():
            if value != "-":
                expected[name] = value
            elif name == "a":
                expected.pop(name, None)
    assert {cookie.name: cookie.value for cookie in file} == expected


def test_a_stored_cookie_that_the_server_renews_or_removes_is_not_sent_again() -> None:
    cookies = Cookies.read(b"host\tFALSE\t/\tFALSE\t0\tsession\told\n", "jar")
    url = parse_url("http://host:8080/")
    cookies.store(url, ["session=new; Path=/"])
    assert cookies.header(url) == "session=new"
    cookies.store(url, ["session=; Path=/; Max-Age=0"])
    assert cookies.header(url) is None
    assert b"session" not in cookies.written()


def test_a_cookie_of_the_whole_server_is_stored() -> None:
    cookies = Cookies()
    cookies.store(parse_url("http://host*"), ["a=b"])  # OPTIONS *
    assert cookies.header(parse_url("http://host/x/y")) == "a=b"


@needs("curl")
def test_curl_continues_with_our_cookies_and_we_with_curls(
    server: RawServer, tmp_path: Path
) -> None:
    ours, curls = tmp_path / "ours", tmp_path / "curls"
    assert run(document(tmp_path, f"GET {server.url}/set"), "--cookies", ours) == 0
    command = ["curl", "-s", "--noproxy", "*"]
    subprocess.run([*command, "-b", ours, f"{server.url}/echo"], check=True, capture_output=True)
    # curl takes loopback for safe enough for a cookie that needs TLS
    assert set(cookies_sent(server)) - {"safe=s"} == {"kept=k", "session=s3cret-session"}
    subprocess.run([*command, "-c", curls, f"{server.url}/set"], check=True, capture_output=True)
    assert run(document(tmp_path, f"GET {server.url}/echo"), "--cookies", curls) == 0
    assert cookies_sent(server) == ["kept=k", "session=s3cret-session"]


def test_pythons_reader_of_such_files_reads_ours(server: RawServer, tmp_path: Path) -> None:
    file = tmp_path / "jar"
    with Client() as client:
        cookies = Cookies()
        client.send(Request("GET", f"{server.url}/set"), cookies=cookies)
    file.write_bytes(cookies.written())
    jar = http.cookiejar.MozillaCookieJar()
    jar.load(str(file), ignore_discard=True, ignore_expires=True)  # it takes 0 for a time
    assert {cookie.name: cookie.value for cookie in jar} == {
        "session": "s3cret-session",
        "kept": "k",
        "safe": "s",
    }


def test_cookies_keep_their_scope_in_the_file() -> None:
    data = (
        "# Netscape HTTP Cookie File\n\n"
        f"#HttpOnly_.example.org\tTRUE\t/a\tTRUE\t{LATER}\tn\tv\r\n"
        "localhost\tFALSE\t/\tFALSE\t0\tl\tx\n"
        "example.org\tTRUE\t/\tFALSE\t0\twide\ty\n"
        f"old.org\tFALSE\t/\tFALSE\t{LATER - 20_000}\tgone\tz\n"
    ).encode()
    cookies = Cookies.read(data, "jar")
    assert cookies.header(parse_url("https://sub.example.org/a/b")) == "n=v; wide=y"
    assert cookies.header(parse_url("http://example.org/a")) == "wide=y"
    assert cookies.header(parse_url("http://localhost:8080/")) == "l=x"
    assert cookies.header(parse_url("http://example.com/")) is None
    written = cookies.written().decode()
    assert f"#HttpOnly_.example.org\tTRUE\t/a\tTRUE\t{LATER}\tn\tv\n" in written
    assert "\nlocalhost\tFALSE\t/\tFALSE\t0\tl\tx\n" in written
    assert "gone" not in written
    assert Cookies.read(written.encode(), "jar").written().decode() == written


@pytest.mark.parametrize("line", ["a\tb", "a\tFALSE\t/\tFALSE\tsoon\tn\tv", "<html>"])
def test_a_line_that_is_no_cookie_is_an_error_with_its_number(line: str) -> None:
    with pytest.raises(OrgrestError, match="not a cookie:") as caught:
        Cookies.read(f"# x\n{line}\n".encode(), "jar")
    assert (caught.value.file, caught.value.line) == ("jar", 2)


@given(st.text(max_size=20))
def test_no_value_of_a_server_makes_another_cookie_in_the_file(value: str) -> None:
    given = "".join(c for c in value if c not in "\r\n\0").encode("utf-8", "ignore")
    header = b"Set-Cookie: a=" + given + b"\tx"
    with RawServer(response(b"", header)) as server, Client() as client:
        cookies = Cookies()
        client.send(Request("GET", server.url), cookies=cookies)
    lines = [x for x in cookies.written().decode("latin-1").split("\n") if x and x[0] != "#"]
    assert all(len(line.split("\t")) == 7 and line.split("\t")[5] == "a" for line in lines)
    assert len(lines) <= 1
    Cookies.read(cookies.written(), "jar")


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("Set-Cookie: a=1; Path=/", ["api.example.test"]),
        (
            "Set-Cookie: a=1; Path=/; Domain=api.example.test",
            ["api.example.test", "v1.api.example.test"],
        ),
    ],
)
def test_only_a_cookie_with_a_domain_goes_to_subdomains(
    monkeypatch: pytest.MonkeyPatch, line: str, names: list[str]
) -> None:
    with RawServer(response(b"", line)) as server, Client() as client:
        monkeypatch.setenv("http_proxy", server.url)  # it answers for every name
        cookies = Cookies()
        client.send(Request("GET", "http://api.example.test/"), cookies=cookies)
        asked = ("api.example.test", "v1.api.example.test", "xapi.example.test", "example.test")
        got = [name for name in asked if cookies.header(parse_url(f"http://{name}/")) is not None]
        assert got == names
        again = Cookies.read(cookies.written(), "jar")
        assert [
            name for name in asked if again.header(parse_url(f"http://{name}/")) is not None
        ] == names


@pytest.mark.parametrize(
    ("setter", "line", "sent", "not_sent"),
    [
        ("evil.example.com", "a=1; Domain=victim.org", (), ("victim.org", "evil.example.com")),
        ("notvictim.org", "a=1; Domain=victim.org", (), ("victim.org", "notvictim.org")),
        ("victim.org", "a=1; Domain=api.victim.org", (), ("api.victim.org", "victim.org")),
        ("a.com", "a=1; Domain=com", (), ("a.com", "b.com")),
        ("a.co.uk", "a=1; Domain=.co.uk", (), ("a.co.uk", "b.co.uk")),
        ("10.0.0.1", "a=1; Domain=0.0.1", (), ("10.0.0.1", "9.0.0.1")),
        ("one", "a=1; Domain=local", (), ("one", "other", "x.local")),
        ("one", "a=1; Domain=one", ("one",), ("a.one", "one.local")),
        ("10.0.0.1", "a=1; Domain=10.0.0.1", ("10.0.0.1",), ("1.10.0.0.1",)),
        ("a.victim.org", "a=1; Domain=Victim.org", ("victim.org", "b.victim.org"), ("vic.org",)),
        ("victim.org", "a=1; Domain=", ("victim.org",), ("a.victim.org",)),
        ("victim.org", "a=1; Max-Age=" + "9" * 5000, ("victim.org",), ()),
        ("victim.org", "a=1; Max-Age=soon; Expires=never", ("victim.org",), ()),
        ("victim.org", "a=1; Path=/deep", (), ("victim.org",)),
        ("victim.org", "a", (), ("victim.org",)),
        ("victim.org", "a=1\r\n X: y", (), ("victim.org",)),
    ],
)  # fmt: skip
def test_a_server_sets_cookies_for_its_own_domain_alone(
    setter: str, line: str, sent: tuple[str, ...], not_sent: tuple[str, ...]
) -> None:
    cookies = Cookies()
    cookies.store(parse_url(f"http://{setter}/"), [line])
    for jar in (cookies, Cookies.read(cookies.written(), "jar")):
        found = [one for one in (*sent, *not_sent) if jar.header(parse_url(f"http://{one}/"))]
        assert found == list(sent)


def test_no_server_removes_the_cookie_of_another() -> None:
    cookies, url = Cookies(), parse_url("http://victim.org/")
    cookies.store(url, ["a=1; Domain=victim.org; Path=/"])
    cookies.store(parse_url("http://evil.com/"), ["a=; Domain=victim.org; Path=/; Max-Age=0"])
    assert cookies.header(url) == "a=1"
    cookies.store(url, ["a=; Domain=victim.org; Path=/; Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
    assert cookies.header(url) is None


def test_a_cookie_goes_back_as_the_bytes_that_it_came_as(client: Client) -> None:
    cookies = Cookies()
    with RawServer(response(b"", b"Set-Cookie: a=\xc3\xa4\xff")) as server:
        client.send(Request("GET", server.url), cookies=cookies)
        client.send(Request("GET", server.url), cookies=Cookies.read(cookies.written(), "jar"))
        assert b"Cookie: a=\xc3\xa4\xff\r\n" in server.requests[-1]


def test_cookies_come_back_within_a_document_and_not_in_another(client: Client) -> None:
    cookies = Cookies()
    lines = ("Set-Cookie: a=1; Path=/", "Set-Cookie: b=2; Path=/deep")
    with RawServer(by_path({"/set": response(b"", *lines), "/": echo, "/deep/x": echo})) as server:
        client.send(Request("GET", f"{server.url}/set"), cookies=cookies)
        client.send(Request("GET", f"{server.url}/"), cookies=cookies)
        assert headers_sent(server)["cookie"] == "a=1"
        client.send(Request("GET", f"{server.url}/deep/x"), cookies=cookies)
        assert headers_sent(server)["cookie"] == "b=2; a=1"
        client.send(Request("GET", f"{server.url}/"), cookies=Cookies())
        assert "cookie" not in headers_sent(server)


def test_the_session_of_a_login_service_also_holds_at_another_port_of_the_host(
    client: Client,
) -> None:
    """RFC 6265, section 8.5: cookies are not isolated by port."""
    cookies = Cookies()
    with RawServer(response(b"", "Set-Cookie: a=1")) as login, RawServer(echo) as api:
        client.send(Request("GET", login.url), cookies=cookies)
        client.send(Request("GET", api.url), cookies=cookies)
    assert headers_sent(api)["cookie"] == "a=1"


def test_a_cookie_set_by_a_redirect_is_sent_to_where_it_leads(client: Client) -> None:
    login = response(b"", "Location: /home", "Set-Cookie: s=1; Path=/", status="302 Found")
    with RawServer(by_path({"/login": login, "/home": echo})) as server:
        client.send(Request("POST", f"{server.url}/login", (), b"x"))
    assert headers_sent(server)["cookie"] == "s=1"
