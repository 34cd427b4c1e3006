"""Logins from the command line: with and without a terminal, in CI; stored and forgotten tokens."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import login_browser
import pytest
from evaluated import Evaluated
from login_browser import Browser as Client
from oauth_provider import Provider

from orgrest.http.values import Inputs
from orgrest.model import OrgrestError
from orgrest.run.login_store import LoginStore
from orgrest.run.logins import Logins, Person

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PATIENCE = 60
TEXT = """@oauth2_authorizationEndpoint = {url}/authorize
@oauth2_tokenEndpoint = {url}/token
@oauth2_clientId = notes
GET {url}/api
Authorization: oauth2 code
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("CI", "BROWSER", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("ORGREST_HISTORY", "off")
    monkeypatch.setenv("ORGREST_LOGINS", str(tmp_path / "logins"))
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
    monkeypatch.setenv("COLUMNS", "500")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def provider(home: Path) -> Iterator[Provider]:
    with Provider() as found:
        (home / "a.http").write_text(TEXT.replace("{url}", found.url))
        yield found


class Terminal:
    """The command at a terminal. `shown` is its output so far."""

    def __init__(self, *arguments: str, **environ: str) -> None:
        self._terminal, end = pty.openpty()
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "orgrest", *arguments],
            stdin=end,
            stdout=end,
            stderr=end,
            env={**os.environ, **environ},
        )
        os.close(end)

    def until(self, text: str) -> None:
        """Wait until `text` appears in the output."""
        end = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert time.monotonic() < end, self.shown
            assert self._read(), self.shown

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def end(self) -> int:
        """Wait until the command ends, and return its exit status."""
        while self._read():
            pass
        os.close(self._terminal)
        return self.process.wait(PATIENCE)

    def _read(self) -> bool:
        if select.select([self._terminal], [], [], PATIENCE)[0]:
            try:
                self.shown += os.read(self._terminal, 65536).decode(errors="replace")
            except OSError:  # it has ended
                return False
            return True
        return False


BROWSER = f"{sys.executable} {login_browser.__file__} %s"


def test_at_a_terminal_a_person_is_asked_and_the_browser_opened_once(
    provider: Provider, home: Path
) -> None:
    terminal = Terminal("a.http", BROWSER=BROWSER)
    terminal.until("Sign in? [y/N]")
    assert f"{home / 'a.http'} wants you to sign in at {provider.url}" in terminal.shown
    assert provider.authorizations == []
    terminal.type("y\n")
    assert terminal.end() == 0
    assert '"user": "jo"' in terminal.shown
    assert "if no page opens, go to" in terminal.shown
    for token in provider.tokens:
        assert token["access_token"] not in terminal.shown
    done = subprocess.run(
        [sys.executable, "-m", "orgrest", "a.http"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert '"user": "jo"' in done.stdout
    assert provider.asked == ["authorization_code"]


def test_who_says_no_is_not_signed_in(provider: Provider) -> None:
    terminal = Terminal("a.http", BROWSER=BROWSER)
    terminal.until("Sign in? [y/N]")
    terminal.type("\n")
    assert terminal.end() == 1
    assert "you declined" in terminal.shown
    assert provider.authorizations == []


def test_ctrl_c_ends_the_wait_for_the_browser(provider: Provider) -> None:
    terminal = Terminal("a.http", BROWSER="true %s")
    terminal.until("Sign in? [y/N]")
    terminal.type("y\n")
    terminal.until("if no page opens, go to")
    terminal.until("code_challenge_method")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "Traceback" not in terminal.shown


def test_ci_opens_no_browser_even_at_a_terminal_and_is_reported_what_to_use(
    provider: Provider,
) -> None:
    terminal = Terminal("a.http", BROWSER=BROWSER, CI="true")
    assert terminal.end() == 1
    assert "Refresh Token); or use client_credentials" in terminal.shown
    assert provider.authorizations == []


@pytest.mark.parametrize("command", [["a.http"], ["test", "a.http"]])
def test_without_a_terminal_no_browser_is_opened(
    command: list[str], orgrest: Callable[..., Any], provider: Provider
) -> None:
    called = orgrest(*command)
    assert called.status == 1
    assert "sign in once with `orgrest FILE` in a terminal," in called.err
    assert provider.authorizations == []


# ------------------------------------------------------------------------------------- what is kept


def sign_in(provider: Provider, home: Path, messages: list[str] | None = None) -> None:
    """Sign in for a.http, in this process, with the user's logins."""
    browser = Client()
    person = Person(lambda _: True, (messages if messages is not None else []).append, browser.open)
    services = {"person": person, "logins": Logins()}
    done = Evaluated((home / "a.http").read_text(), Inputs(directory=home), services=services)
    assert (done.states, done.reasons) == (["done"], [])


@pytest.fixture
def keychain(monkeypatch: pytest.MonkeyPatch) -> None:
    from keyring import core

    monkeypatch.delenv("ORGREST_LOGINS")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyrings.alt.file.PlaintextKeyring")
    monkeypatch.setattr(core, "_keyring_backend", None)


@pytest.mark.usefixtures("keychain")
def test_tokens_are_in_the_keychain_and_in_no_file_of_ours(
    provider: Provider, home: Path, orgrest: Callable[..., Any]
) -> None:
    messages: list[str] = []
    sign_in(provider, home, messages)
    assert not any("could not save the login" in text for text in messages)
    folder = home / "home" / "orgrest" / "logins"
    [file] = folder.iterdir()
    for secret in (provider.tokens[0]["access_token"], provider.tokens[0]["refresh_token"]):
        assert secret not in file.read_text()
    assert orgrest("a.http").status == 0
    assert orgrest("test", "a.http").status == 0
    assert provider.asked == ["authorization_code"]
    assert orgrest("logins", "--clear").status == 0
    assert orgrest("logins").out == ""
    assert orgrest("a.http").status == 1
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("keychain")
def test_a_keychain_that_fails_costs_no_run_and_is_reported(
    provider: Provider, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from keyrings.alt.file import PlaintextKeyring

    def fail(*_: object) -> None:
        raise RuntimeError("it is locked")

    monkeypatch.setattr(PlaintextKeyring, "set_password", fail)
    messages: list[str] = []
    sign_in(provider, home, messages)
    assert any(
        "for later runs: the keychain reported an error: it is locked" in one for one in messages
    )


@pytest.mark.parametrize(
    "backend", ["keyring.backends.fail.Keyring", "keyring.backends.null.Keyring", "no.such.Backend"]
)
def test_without_a_keychain_nothing_is_kept_and_the_run_says_how_to(
    backend: str,
    provider: Provider,
    home: Path,
    orgrest: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("ORGREST_LOGINS")
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", backend)
    messages: list[str] = []
    sign_in(provider, home, messages)
    assert any(
        "no keychain is available" in text and "ORGREST_LOGINS=FOLDER" in text for text in messages
    )
    assert not (home / "home" / "orgrest").exists()
    called = orgrest("logins")
    assert called.status == 2
    assert "no keychain is available" in called.err


def test_a_keychain_that_the_system_has_not_is_not_made_up_from_a_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PYTHON_KEYRING_BACKEND", raising=False)
    from keyring import core
    from keyrings.alt.file import PlaintextKeyring

    monkeypatch.setattr(core, "_keyring_backend", None)
    monkeypatch.setenv("ORGREST_LOGINS", "")
    with contextlib.suppress(OrgrestError):  # no keychain at all
        LoginStore.of_user()
    assert not isinstance(core.get_keyring(), PlaintextKeyring)


def test_kept_logins_are_listed_with_their_documents_and_forgotten_one_by_one(
    provider: Provider, home: Path, orgrest: Callable[..., Any]
) -> None:
    sign_in(provider, home)
    (home / "a.http").write_text((home / "a.http").read_text().replace("= notes", "= other"))
    sign_in(provider, home)
    (home / "logins" / "readme.txt").write_text("not ours")
    listed = orgrest("logins")
    assert listed.status == 0
    assert sum("client " in line for line in listed.lines) == 2
    assert listed.out.count(f"{home / 'a.http'} -> {provider.url}") == 2
    assert "refreshed automatically" in listed.out
    for token in provider.tokens:
        assert token["access_token"] not in listed.out
    [line] = [line for line in listed.lines if "client notes" in line]
    forgotten = orgrest("logins", "--forget", line.split()[0])
    assert forgotten.out.startswith("forgotten: ")
    assert "client notes" not in orgrest("logins").out
    assert "--forget zz matches no login" in orgrest("logins", "--forget", "zz").err
    assert orgrest("logins", "--forget", "zz", "--clear").status == 2
    assert orgrest("logins", "--clear").status == 0
    assert [path.name for path in (home / "logins").iterdir()] == ["readme.txt"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"token": None}, "no token"),
        ({"token": {"access": "a", "expires": None}}, "expiry unknown"),
        ({"token": {"access": "a", "expires": 1e99}}, "expiry unknown"),
        ({"token": {"access": "a", "expires": 2e9}}, "until 2033-05-1"),
        ({"allowed": 5, "client": "\x1b[31m"}, "client "),
    ],
)
def test_whatever_a_kept_file_holds_is_listed_as_text(
    change: dict[str, Any],
    message: str,
    provider: Provider,
    home: Path,
    orgrest: Callable[..., Any],
) -> None:
    sign_in(provider, home)
    [file] = (home / "logins").iterdir()
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    listed = orgrest("logins")
    assert listed.status == 0
    assert "\x1b" not in listed.out
    assert message in listed.out


@pytest.mark.usefixtures("keychain")
def test_a_token_that_the_keychain_does_not_let_go_is_not_said_to_be_forgotten(
    provider: Provider, home: Path, orgrest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from keyrings.alt.file import PlaintextKeyring

    def fail(*_: object) -> None:
        raise RuntimeError("it is locked")

    sign_in(provider, home)
    monkeypatch.setattr(PlaintextKeyring, "delete_password", fail)
    called = orgrest("logins", "--clear")
    assert called.status == 2
    assert "the keychain reported an error: it is locked" in called.err
    assert called.out == ""
    monkeypatch.setattr(PlaintextKeyring, "get_password", fail)
    assert "no token" in orgrest("logins").out
    assert orgrest("logins", "--clear").status == 2
    assert orgrest("a.http").status == 1


@pytest.mark.parametrize(
    ("value", "why"), [("off", "ORGREST_LOGINS=off"), ("some/where", "an absolute path")]
)
def test_logins_are_off_by_a_setting(
    value: str,
    why: str,
    provider: Provider,
    home: Path,
    orgrest: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ORGREST_LOGINS", value)
    messages: list[str] = []
    sign_in(provider, home, messages)
    assert any("could not save the login" in one for one in messages) == (value != "off")
    assert not (home / "logins").exists()
    called = orgrest("logins")
    assert called.status == 2
    assert why in called.err
