"""JavaScript in double braces, as httpyac evaluates it: the resulting requests, and errors.

Expected values marked "as httpyac" are those that httpyac 6.16 sends for the same text.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from components import needs_engine
from evaluated import Evaluated
from servers import RawServer, response

from orgrest.editor.analysis import Analysis
from orgrest.editor.diagnostics.report import Report
from orgrest.editor.hover import hover
from orgrest.editor.names import Names
from orgrest.http import scripts
from orgrest.http.values import Inputs
from orgrest.installing import install_command
from orgrest.org.text import apply
from orgrest.rendering.masking import mask
from orgrest.run.outcomes import Outcome

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

BODY = {"id": 41, "sid": "41", "token": "tok", "items": [{"id": 1}, {"id": 2}], "nothing": None}


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    def answer(connection: socket.socket, _: bytes) -> None:
        body = json.dumps(BODY).encode()
        connection.sendall(response(body, "Content-Type: application/json", "X-Id: 9"))

    with RawServer(answer) as running:
        yield running


def outcomes(
    folder: Path, text: str, inputs: Inputs | None = None, **options: Any
) -> list[Outcome]:
    """Evaluate a file's requests, by default in a dry run."""
    options = {"dry_run": True, **options}
    return Evaluated(text, inputs or Inputs(directory=folder), **options).outcomes


def script(code: str) -> str:
    return f"{{{{\n{code}\n}}}}\nGET http://h/{{{{a}}}}"


def url(outcome: Outcome) -> str:
    assert outcome.reason is None, outcome.reason
    return outcome.exchanges[0].request.url.removeprefix("http://h/")


VARIABLES = """\
@token = abcdef
@port = 8080
@list = [1,2]
@sum = {{1 + 1}}
@sub-total = 3
@flag = {{false}}
@seven = {{7}}
@200 = a name
"""


@needs_engine
def test_expressions_are_computed_as_httpyac_does(tmp_path: Path) -> None:
    computed = {
        "1+1": "2",
        "token.slice(1)": "bcdef",
        "port + 1": "80801",
        "sum + 1": "3",
        "port * 2": "16160",
        "port*2": "16160",
        "port?'a':'b'": "a",
        "list.length": "5",
        "token[0]": "a",
        "Math.PI": "3.141592653589793",
        "new Date(0).toISOString()": "1970-01-01T00:00:00.000Z",
        "new Date(0)": "1970-01-01T00:00:00.000Z",
        "token ? 'yes' : \"no\"": "yes",
        "`a${token}b`": "aabcdefb",
        "[1,{a:2}]": '[1,{"a":2}]',
        "nothing ?? 'x'": None,
        "null ?? 'x'": "x",
        "Promise.resolve(3)": "3",
        "await Promise.resolve(4)": "4",
        "(1,2)": "2",
        "'port token'": "port token",
        "!token": "false",
        "2n**64n": "18446744073709551616",
        "sum": "2",
        "sub-total": "3",
        "true": "true",
        "null": "null",
        "7": "7",
        "-1.5": "-1.5",
        "200": "a name",
        "!flag": "true",
        "seven + 1": "8",
        "flag ? 1 : null": "null",
    }
    lines = [f"GET http://h/\n\n{{{{{code}}}}}" for code in computed]
    found = outcomes(tmp_path, VARIABLES + "\n###\n".join(lines))
    assert len(found) == len(computed)
    for (code, expected), one in zip(computed.items(), found, strict=True):
        if expected is None:
            assert "nothing is not defined" in str(one.reason)
        else:
            assert one.reason is None, (code, one.reason)
            assert one.exchanges[0].request.body == expected.encode(), code


@pytest.mark.slow
@needs_engine
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("nope + 1", "nope + 1: ReferenceError: nope is not defined"),
        ("token.foo", "token.foo: Error: expected text, found undefined"),
        ("token.slice", "expected text, found function"),
        ("0/0", "0/0: Error: expected a finite number, found NaN"),
        ("new Error('x')", "Error: x"),
        ("token = 5", "token = 5: TypeError: 'token' is read-only"),
        ("while (1);", "SyntaxError"),
        ("1 //", "SyntaxError"),
        ("/if", "SyntaxError"),
        ("require('fs')", "scripts cannot access files, the network or programs"),
        ("new Promise(() => 0)", "awaits a promise that never settles"),
        ("(() => { for (;;) ; })()", "the expression did not finish within"),
        ("'x'.repeat(2 ** 28)", "the script used more than"),
        ("'{' + '{x'", "contains {{, but placeholders in results are not expanded"),
        ("api-key", "the variable api-key is not defined"),
        ("foo.bar", "the variable foo.bar is not defined"),
        ("my token", "the variable my token is not defined"),
        ("gone.response.body.$.id", "the variable gone.response.body.$.id is not defined"),
        ("response.parsedBody.id", "there is no response in this run yet"),
        ("a + 1", "the variable a refers to itself: a -> a + 1 -> a"),
    ],
)
def test_what_gives_no_text_is_an_error_and_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    monkeypatch.setattr(scripts, "TIMEOUT", 3.0)
    monkeypatch.setattr(scripts.Engine.__init__, "__defaults__", (3.0,))
    text = f"@a = {{{{a + 1}}}}\n@token = x\nGET http://h/{{{{{code}}}}}\n"
    (one,) = outcomes(tmp_path, text, complete=True)
    assert reason in str(one.reason)
    assert str(one.reason).startswith("a.http:")


@needs_engine
def test_responses_are_known_as_httpyac_names_them(tmp_path: Path, server: RawServer) -> None:
    server.requests.clear()
    text = (
        "### first\n# @name login\nPOST HOST/login\n###\n"
        "GET HOST/{{response.parsedBody.id}}/{{login.id + 1}}/{{login.sid + 1}}/"
        '{{login.items.map(x => x.id).join(",")}}/{{response.headers["x-id"]}}/'
        "{{loginResponse.statusCode}}\n###\n"
        "@got = {{login.id + 1}}\nGET HOST/{{got + 1}}/{{login.token}}/{{login.token.slice(1)}}\n"
    ).replace("HOST", server.url)
    found = outcomes(tmp_path, text, dry_run=False)
    assert [one.reason for one in found] == [None] * 3
    sent = [request.split(b" ", 2)[1].decode() for request in server.requests]
    assert sent == ["/login", "/41/42/411/1,2/9/200", "/43/tok/ok"]


def test_a_response_that_is_needed_late_does_not_mix_up_random_values(
    tmp_path: Path, server: RawServer
) -> None:
    server.requests.clear()
    text = (
        "@id = {{$uuid}}\nGET HOST/{{id}}/{{$uuid}}/{{login.token}}/{{$timestamp}}/{{$uuid}}\n###\n"
        "# @name login\nPOST HOST/login\n"
    ).replace("HOST", server.url)
    assert [one.reason for one in outcomes(tmp_path, text, dry_run=False)] == [None] * 2
    first, second, token, time, third = server.requests[1].split(b" ", 2)[1][1:].split(b"/")
    assert len({first, second, third}) == 3
    assert token == b"tok"
    assert time.isdigit()


@needs_engine
def test_what_is_no_path_in_a_response_may_be_an_expression(
    tmp_path: Path, server: RawServer
) -> None:
    server.requests.clear()
    text = (
        "# @name login\nPOST HOST/login\n###\n"
        "@count = {{login.items.length}}\n@id = {{$uuid}}\n"
        "GET HOST/{{login.items.length}}/{{id}}/{{again.token.length}}/{{id}}/{{count + 1}}/"
        "{{login.items[login.items.length - 1].id}}\n###\n"
        "# @name again\nGET HOST/again\n###\n"
        "# @ref login\nGET HOST/{{login.token.length}}/{{login.token}}/{{login.id + 1}}\n###\n"
        "GET HOST/{{login.tokn}}\n###\nGET HOST/{{login.user.name}}\n"
    ).replace("HOST", server.url)
    *found, misspelt, missing = outcomes(tmp_path, text, dry_run=False)
    assert [one.reason for one in found] == [None] * 4
    assert "login's response: nothing found at $.tokn" in str(misspelt.reason)
    assert "login's response: nothing found at $.user.name" in str(missing.reason)
    sent = [request.split(b" ", 2)[1].decode() for request in server.requests]
    first, again, counted, with_ref = sent
    identifier = counted.split("/")[2]
    assert [first, again, with_ref] == ["/login", "/again", "/3/tok/42"]
    assert counted == f"/2/{identifier}/3/{identifier}/3/2"


def test_a_percent_sign_before_a_name_encodes_its_value_for_a_url(tmp_path: Path) -> None:
    text = (
        "@a-b = é & (b)/\n@all = {{%a-b}}\n# @name login\n"
        "GET http://h/{{%a-b}}?all={{%all}}&key={{%$processEnv KEY}}\n###\n"
        "GET http://h/{{%login.response.body.id}}\n###\nGET http://h/{{%nope}}\n"
    )
    inputs = Inputs(directory=tmp_path, environ={"KEY": "a secret/"})
    first, second, undefined = outcomes(tmp_path, text, inputs)
    encoded = "%C3%A9%20%26%20(b)%2F"
    again = encoded.replace("%", "%25")
    assert url(first) == f"{encoded}?all={again}&key=a%20secret%2F"
    assert "a%20secret%2F" in first.exchanges[0].request.secrets
    assert url(second) == "<login.response.body.id>"
    assert str(undefined.reason).endswith("the variable nope is not defined")
    names = Names(analysed(tmp_path, text))
    one = names.at(text.index("a-b"))
    assert one is not None
    assert apply(text, names.rename(one, "c-d")) == text.replace("a-b", "c-d")


@needs_engine
def test_a_dry_run_sends_nothing_and_marks_what_only_a_response_gives(tmp_path: Path) -> None:
    text = (
        "@id = {{login.id}}\n@twice = {{id}}\n"
        "GET http://h/{{login.items[0].id + 1}}/{{id + 1}}/{{twice + 1}}/{{twice * 2}}/{{1 + 1}}/"
        "{{response.parsedBody.a}}\n### login\nPOST http://h/login\n"
    )
    first, _ = outcomes(tmp_path, text)
    assert url(first) == (
        "<login.items[0].id + 1>/<id + 1>/<twice + 1>/<twice * 2>/2/<response.parsedBody.a>"
    )


@needs_engine
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "port + 1",
            "port + 1 depends on the type (text or number) of port: write String(port)",
        ),
        ("Number(port) + 1", "8081"),
        ("String(port) + 1", "80801"),
        ("port.slice(1)", "080"),
        ("port * 2", "16160"),
        ("user.name", "ann"),
        ("user['name'].length", "3"),
    ],
)
def test_what_may_be_a_number_is_computed_both_ways(
    tmp_path: Path, code: str, expected: str
) -> None:
    environments = {"dev": {"port": 8080, "user": {"name": "ann"}}}
    (tmp_path / "http-client.env.json").write_text(json.dumps(environments))
    inputs = Inputs(directory=tmp_path, environments=("dev",))
    (one,) = outcomes(tmp_path, f"GET http://h/{{{{{code}}}}}\n", inputs)
    if " " in expected:
        assert expected in str(one.reason)
    else:
        assert url(one) == expected


def test_a_value_that_is_computed_once_for_a_run_keeps_its_secrets(tmp_path: Path) -> None:
    inputs = Inputs(directory=tmp_path, environ={"KEY": "hunter2"})
    text = "@sig = {{$processEnv KEY}}-{{$randomInt 5 6}}\n" + "GET http://h/{{sig}}\n###\n" * 2
    for outcome in outcomes(tmp_path, text, inputs):
        assert url(outcome) == "hunter2-5"
        assert [secret.text for _, secret in outcome.exchanges[0].request.held] == ["hunter2"]


@needs_engine
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GET http://h/{{process.env.KEY}}", "hunter2"),
        ("@key = {{process.env.KEY}}\nGET http://h/{{key}}", "hunter2"),
        ("GET http://h/{{process.env['KEY']}}", "hunter2"),
        ('@key = {{process.env["KEY"]}}\nGET http://h/{{key}}', "hunter2"),
        ('@port = {{process.env["PORT"]}}\nGET http://h/{{port + 1}}', "80801"),
        ("GET http://h/{{process.env['NONE']}}", "the environment variable NONE is not set"),
        ("GET http://h/{{process.env.PORT + 1}}", "80801"),
        ("GET http://h/{{process.env.NONE || process.env['KEY']}}", "hunter2"),
        ("GET http://h/{{process.env.NONE}}", "the environment variable NONE is not set"),
        (script("exports.a = process.env.KEY + process.env.NONE"), "hunter2undefined"),
        (script("const { KEY, NONE = 1 } = process.env;\nexports.a = KEY + NONE"), "hunter21"),
        (script("exports.a = process.env.PORT + Object.keys(process.env)"), "8080PORT"),
        ("{{\nexports.process = { env: { KEY: 1 } }\n}}\nGET http://h/{{process.env.KEY}}", "1"),
        (script("exports.a = typeof process"), "undefined"),
    ],
)
def test_environment_variables_are_read_as_httpyac_reads_them(
    text: str, expected: str, tmp_path: Path
) -> None:
    environ = {"KEY": "hunter2", "PORT": "8080", "OTHER": "x"}
    (one,) = outcomes(tmp_path, f"{text}\n", Inputs(directory=tmp_path, environ=environ))
    if " " in expected:
        assert expected in str(one.reason)
    else:
        assert url(one) == expected
        assert expected in ("1", "undefined") or "hunter2" not in mask(url(one), one.secrets)


@needs_engine
def test_what_is_computed_from_a_secret_is_one(tmp_path: Path) -> None:
    (tmp_path / "http-client.private.env.json").write_text('{"dev": {"key": "sesame-open"}}')
    inputs = Inputs(directory=tmp_path, environments=("dev",))
    text = "@own = {{key.toUpperCase()}}\nGET http://h/{{own + '!'}}/{{btoa(key)}}\n"
    (one,) = outcomes(tmp_path, text, inputs)
    assert "SESAME-OPEN" in url(one)
    shown = mask(url(one), one.secrets)
    assert "SESAME" not in shown
    assert "c2VzYW1l" not in shown


def test_without_the_engine_the_error_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "find_spec", lambda _: None)
    first, second = outcomes(tmp_path, "GET http://h/{{1 + 1}}\n###\nGET http://h/b\n")
    assert install_command("quickjs-ng") in str(first.reason)
    assert url(second) == "b"


# ---------------------------------------------------------------------------------------- editors

EDITED = """\
@token = abc
# @name login
POST http://h/
X: {{token.slice(1)}} {{'token' + token}} {{JSON.stringify(login)}} {{[1].map(x => x)}}
"""


def analysed(folder: Path, text: str = EDITED) -> Analysis:
    return Analysis(text, "http", partial(Inputs, directory=folder))


def test_an_editor_computes_nothing_and_finds_nothing_wrong(tmp_path: Path) -> None:
    assert Report(analysed(tmp_path)).diagnostics == ()


def test_variables_and_requests_in_expressions_are_shown_and_renamed(tmp_path: Path) -> None:
    names = Names(analysed(tmp_path))
    at = EDITED.index("token.slice")
    hover_text = hover(names.analysis, names, at)
    assert hover_text is not None
    assert "abc" in hover_text[0]
    one = names.at(at)
    assert one is not None
    after = apply(EDITED, names.rename(one, "key"))
    assert after == EDITED.replace("token", "key").replace("'key'", "'token'")
    request = names.at(EDITED.index("login)"))
    assert request is not None
    assert apply(EDITED, names.rename(request, "enter")) == EDITED.replace("login", "enter")
