"""OAuth 2.0 with a server on loopback: each flow, the cache, refusals, masking."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import pytest
from evaluated import Evaluated
from servers import RawServer, response

from orgrest.http.auth import oauth2
from orgrest.http.auth.tokens import Steps, Tokens
from orgrest.http.parsing import request_file
from orgrest.http.transport.client import Client
from orgrest.http.values import Context, Inputs
from orgrest.http.values.expansion import check
from orgrest.run.outcomes import Outcome

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path


class Provider:
    """Answers requests for tokens with `answers`, in order, and then with numbered tokens."""

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []
        self.clients: list[str | None] = []
        self.bearers: list[str | None] = []
        self.answers: list[tuple[str, dict[str, Any] | bytes]] = []
        self.more: dict[str, Any] = {}
        self.expired: set[str] = set()
        self.server = RawServer(self._answer)

    def _answer(self, connection: socket.socket, request: bytes) -> None:
        head, _, body = request.partition(b"\r\n\r\n")
        lines = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        given = lines.get("Authorization")
        path = request.split(b" ", 2)[1]
        if path == b"/api":
            self.bearers.append(given)
            status = "401 Unauthorized" if given in self.expired else "200 OK"
            head = "Content-Type: text/plain"
            connection.sendall(response((given or "").encode(), head, status=status))
            return
        self.forms.append(dict(parse_qsl(body.decode())))
        self.clients.append(b64decode(given.split()[1]).decode() if given else None)
        if self.answers:
            status, found = self.answers.pop(0)
        elif path == b"/device":
            status, found = "200 OK", {"device_code": "D3V", "user_code": "ABC-DEF", "interval": 0}
            found["verification_uri"] = "https://sign.in/\x1b[31m"
        else:
            token = {"access_token": f"t0ken-{len(self.forms)}", "id_token": "id-t0ken"}
            status, found = "200 OK", {**token, **self.more}
        data = found if isinstance(found, bytes) else json.dumps(found).encode()
        connection.sendall(response(data, "Location: /elsewhere", status=status))


@pytest.fixture
def provider() -> Iterator[Provider]:
    found = Provider()
    with found.server:
        yield found


SETTINGS = """@oauth2_tokenEndpoint = HOST/token
@oauth2_clientId = me
@oauth2_clientSecret = s3cr:t%
@oauth2_scope = read write
@prod_username = Jo
@prod_password = pa55word
@prod_audience = https://api
@oauth2_deviceCodeEndpoint = HOST/device
"""


def run(
    provider: Provider,
    text: str,
    folder: Path,
    *,
    environments: tuple[str, ...] = (),
    **options: Any,
) -> list[Outcome]:
    inputs = Inputs(directory=folder, environments=environments)
    return Evaluated(text, inputs, url=provider.server.url, **options).outcomes


def asking(value: str) -> str:
    return f"{SETTINGS}\n### one\nGET HOST/api\nAuthorization: {value}\n"


def reason(outcome: Outcome) -> str:
    assert outcome.state == "failed", outcome
    return str(outcome.reason)


@pytest.mark.parametrize("written", ["oauth2", "OpenID client_credentials", "oauth2 client prod"])
def test_a_client_gets_a_token_with_its_credentials_in_a_header(
    written: str, provider: Provider, tmp_path: Path
) -> None:
    [outcome] = run(provider, asking(written), tmp_path)
    assert outcome.state == "done", outcome.reason
    assert provider.bearers == ["Bearer t0ken-1"]
    assert provider.clients == ["me:s3cr%3At%25"]
    audience = {"audience": "https://api"} if "prod" in written else {}
    expected = {"grant_type": "client_credentials", "scope": "read write", **audience}
    assert provider.forms == [expected]


def test_one_token_serves_a_run_and_no_result_shows_it(provider: Provider, tmp_path: Path) -> None:
    text = asking("oauth2") + "\n### two\nGET HOST/api\nAuthorization: oauth2\n"
    outcomes = run(provider, text, tmp_path)
    assert provider.bearers == ["Bearer t0ken-1", "Bearer t0ken-1"]
    assert len(provider.forms) == 1
    for outcome in outcomes:
        rendered = outcome.exchanges[0].rendered
        assert rendered is not None
        assert "t0ken" not in rendered.text
        assert "Bearer ***" in rendered.text
        assert {"t0ken-1", "id-t0ken", "s3cr:t%"} <= outcome.secrets


def test_a_token_that_replaces_a_refused_one_is_masked(provider: Provider, tmp_path: Path) -> None:
    provider.expired = {"Bearer t0ken-1"}
    [outcome] = run(provider, asking("oauth2"), tmp_path)
    rendered = outcome.exchanges[0].rendered
    assert provider.bearers == ["Bearer t0ken-1", "Bearer t0ken-2"]
    assert rendered is not None
    assert "Bearer ***" in rendered.text
    assert "t0ken" not in rendered.text


def test_refused_credentials_are_tried_once_so_that_they_do_not_lock_the_account(
    provider: Provider, tmp_path: Path
) -> None:
    text = asking("oauth2") + "\n### two\nGET HOST/api\nAuthorization: oauth2\n"
    provider.answers = [("401 Unauthorized", {"error": "invalid_client"})]
    reasons = [reason(outcome) for outcome in run(provider, text, tmp_path)]
    assert ["(status 401): invalid_client" in text for text in reasons] == [True, True]
    assert len(provider.forms) == 1
    for status in ("503 Service Unavailable", "429 Too Many Requests"):
        provider.answers = [(status, {})]
        first, second = run(provider, text, tmp_path)
        assert f"(status {status[:3]})" in reason(first)
        assert second.state == "done"


def test_a_renewal_that_the_server_refuses_leaves_the_401(
    provider: Provider,
) -> None:
    grant = oauth2.Grant(oauth2.CLIENT_CREDENTIALS, f"{provider.server.url}/token", "me", "s")
    with Client() as client:
        tokens = Tokens(Steps(client.send, none, none))
        tokens.get(grant)
        provider.answers = [("400 Bad Request", {"error": "invalid_client"})]
        assert tokens.renew(grant) is None
        assert tokens.renew(grant) is None
        assert len(provider.forms) == 2


def test_a_password_is_exchanged_for_a_token(provider: Provider, tmp_path: Path) -> None:
    text = asking("oauth2 password prod") + "\n@prod_useAuthorizationHeader = false\n"
    [outcome] = run(provider, text, tmp_path)
    assert outcome.state == "done", outcome.reason
    [form] = provider.forms
    assert (form["username"], form["password"]) == ("Jo", "pa55word")
    assert (form["client_id"], form["client_secret"]) == ("me", "s3cr:t%")
    assert provider.clients == [None]
    assert "pa55word" in outcome.secrets


def none(_: object) -> Any:
    raise AssertionError("nobody signs in for this flow")


def test_an_expired_token_is_refreshed_and_a_refused_refresh_starts_anew(
    provider: Provider,
) -> None:
    now = [0.0]
    provider.more = {"expires_in": "60", "refresh_token": "r3fresh"}
    grant = oauth2.Grant(oauth2.CLIENT_CREDENTIALS, f"{provider.server.url}/token", "me", "s")
    with Client() as client:
        tokens = Tokens(Steps(client.send, none, none, clock=lambda: now[0]))
        assert tokens.get(grant).access == "t0ken-1"
        now[0] = 30
        assert tokens.get(grant).access == "t0ken-1"
        now[0], provider.more = 58, {"expires_in": 60}
        assert tokens.get(grant).access == "t0ken-2"
        assert provider.forms[-1]["refresh_token"] == "r3fresh"
        now[0] = 200
        provider.answers = [("400 Bad Request", {"error": "invalid_grant"})]
        assert tokens.get(grant).access == "t0ken-4"
        assert [form["grant_type"] for form in provider.forms] == [
            "client_credentials",
            "refresh_token",
            "refresh_token",
            "client_credentials",
        ]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (("400 Bad Request", {"error": "invalid_client", "error_description": "no\x1b"}), "no"),
        (("302 Found", {}), "status 302"),
        (("200 OK", b"<html>"), "returned no token"),
        (("200 OK", b"[" * 100_000), "returned no token"),
        (("200 OK", {"access_token": "a\r\nX: y"}), "returned no token"),
        (("200 OK", {"access_token": 1}), "returned no token"),
        (("200 OK", b"[]"), "returned no token"),
    ],
)
def test_a_server_that_gives_no_token_is_an_error_and_the_request_is_not_sent(
    answer: tuple[str, dict[str, Any] | bytes], expected: str, provider: Provider, tmp_path: Path
) -> None:
    provider.answers = [answer]
    [outcome] = run(provider, asking("oauth2"), tmp_path)
    assert expected in reason(outcome)
    assert "\x1b" not in reason(outcome)
    assert provider.bearers == []
    assert len(provider.forms) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("oauth2 authorization_code prod", "define the variables prod_authorizationEndpoint"),
        ("oauth2 implicit", "exposes tokens to the browser,"),
        ("oauth2 hybrid", "use authorization_code instead"),
        ("oauth2 device", "no terminal"),
        ("oauth2 client a token_exchange b", "token exchange is not supported"),
        ("oauth2 client_credential prod", "flow client_credential is unknown; supported: client"),
        ("oauth2 one two three", "must be written as `oauth2 FLOW PREFIX`,"),
    ],
)
def test_flows_that_are_not_spoken_are_errors_with_the_line(
    text: str, expected: str, provider: Provider, tmp_path: Path
) -> None:
    [outcome] = run(provider, asking(text), tmp_path)
    assert expected in reason(outcome)
    assert outcome.reason is not None
    assert outcome.reason.line == 12


def test_missing_variables_are_named(provider: Provider, tmp_path: Path) -> None:
    [outcome] = run(provider, "GET HOST/api\nAuthorization: oauth2 password x\n", tmp_path)
    assert "define the variables x_tokenEndpoint, x_clientId, x_username, x_pass" in reason(outcome)


def test_a_dry_run_and_a_check_ask_no_server(provider: Provider, tmp_path: Path) -> None:
    [outcome] = run(provider, asking("oauth2 client prod"), tmp_path, dry_run=True)
    request = outcome.exchanges[0].request
    assert request.header("Authorization") == "Bearer <oauth2 client prod>"
    checked = check(request_file.parse(asking("oauth2")).requests[0], Context())
    assert checked.problems == ()
    checked = check(
        request_file.parse("GET http://a\nAuthorization: oauth2\n").requests[0], Context()
    )
    assert len(checked.problems) == 1
    assert provider.forms == []


# -------------------------------------------------------------------------------------- JetBrains


def environment(folder: Path, provider: Provider, private: object = None, **auth: object) -> None:
    given = {"Type": "OAuth2", "Token URL": "{{host}}/token", "Client ID": "me", **auth}
    public = {"dev": {"host": provider.server.url, "Security": {"Auth": {"api": given}}}}
    (folder / "http-client.env.json").write_text(json.dumps(public))
    if private is not None:
        given = {"dev": {"Security": {"Auth": {"api": private}}}}
        (folder / "http-client.private.env.json").write_text(json.dumps(given))


TOKEN = '### one\nGET {{host}}/api\nAuthorization: Bearer {{$auth.token("api")}}\n'


def test_jetbrains_configuration_gives_a_token_with_the_secret_of_the_private_file(
    provider: Provider, tmp_path: Path
) -> None:
    more = {"audience": ["a", {"Value": "b", "Use": "Everywhere"}], "x": {"Use": "In Auth Request"}}
    environment(
        tmp_path,
        provider,
        {"Client Secret": "pr1vate"},
        **{"Grant Type": "Client Credentials", "Custom Request Parameters": more},
    )
    [outcome] = run(provider, TOKEN, tmp_path, environments=("dev",))
    assert outcome.state == "done", outcome.reason
    assert provider.bearers == ["Bearer t0ken-1"]
    assert provider.clients == ["me:pr1vate"]
    assert provider.forms == [{"grant_type": "client_credentials", "audience": "b"}]
    assert "pr1vate" in outcome.secrets


def test_jetbrains_id_token_and_credentials_in_the_body(provider: Provider, tmp_path: Path) -> None:
    more = {"Grant Type": "Password", "Username": "u", "Password": "p4ssw0rd"}
    environment(
        tmp_path, provider, **more, **{"Client Secret": "s", "Client Credentials": "in body"}
    )
    text = TOKEN.replace("token(", "idToken(")
    [outcome] = run(provider, text, tmp_path, environments=("dev",))
    assert outcome.state == "done", outcome.reason
    assert provider.bearers == ["Bearer id-t0ken"]
    assert provider.forms[0]["client_secret"] == "s"
    environment(tmp_path, provider, **more, **{"Client Secret": "s", "Client Credentials": "none"})
    run(provider, text, tmp_path, environments=("dev",))
    assert "client_secret" not in provider.forms[1]
    assert provider.clients == [None, None]


@pytest.mark.parametrize(
    ("auth", "name", "expected"),
    [
        ({"Grant Type": "Authorization Code"}, "api", "in Security.Auth.api, fill in Auth URL"),
        ({"Grant Type": "Implicit"}, "api", "exposes tokens to the browser,"),
        ({"Grant Type": "Dance"}, "api", "is unknown"),
        ({"Type": "Mock"}, "api", "is not of type OAuth2"),
        ({}, "other", "other is not defined"),
        ({}, "api", "in Security.Auth.api, fill in Client Secret"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_reported(
    auth: dict[str, str], name: str, expected: str, provider: Provider, tmp_path: Path
) -> None:
    environment(tmp_path, provider, **auth)
    text = TOKEN.replace('"api"', f'"{name}"')
    [outcome] = run(provider, text, tmp_path, environments=("dev",))
    assert expected in reason(outcome)
    assert provider.bearers == []


def test_an_id_token_that_the_server_does_not_give_is_an_error(
    provider: Provider, tmp_path: Path
) -> None:
    environment(tmp_path, provider, **{"Client Secret": "s"})
    provider.more = {"id_token": None, "expires_in": True}
    text = TOKEN.replace("token(", "idToken(")
    [outcome] = run(provider, text, tmp_path, environments=("dev",))
    assert "returned no ID token" in reason(outcome)


def test_a_dry_run_shows_that_a_token_would_stand_there(provider: Provider, tmp_path: Path) -> None:
    environment(tmp_path, provider, **{"Client Secret": "s"})
    [outcome] = run(provider, TOKEN, tmp_path, environments=("dev",), dry_run=True)
    value = outcome.exchanges[0].request.header("Authorization")
    assert value == 'Bearer <$auth.token("api")>'
    assert provider.forms == []
