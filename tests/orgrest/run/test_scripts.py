"""httpyac's scripts, unchanged: when they run, what they see, what they change in requests.

Unless noted otherwise, the expected requests are those that httpyac 6.16.7 sent to a recording
server for the same text, and the expected outcomes are those that it reported for each test.
"""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING, Any

import pytest
from components import needs_engine
from evaluated import Evaluated
from servers import RawServer, response

from orgrest.commands.main import main
from orgrest.http.values import Inputs

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = needs_engine


@pytest.fixture(scope="module")
def recorder() -> Iterator[RawServer]:
    def answer(connection: socket.socket, request: bytes) -> None:
        path = request.split(b" ", 2)[1].decode()
        body = json.dumps({"path": path, "token": f"t{path}", "id": 41, "list": [1, "two"]})
        connection.sendall(response(body.encode(), "Content-Type: application/json", "X-Id: 9"))

    with RawServer(answer) as running:
        yield running


class Ran(Evaluated):
    """The outcomes of a request file, and the received requests: method, path, headers, body."""

    def __init__(self, server: RawServer, folder: Path, text: str, **options: Any) -> None:
        server.requests.clear()
        inputs = Inputs(directory=folder, **options.pop("inputs", {}))
        super().__init__(text, inputs, url=server.url, **options)
        self.raw = list(server.requests)

    @property
    def sent(self) -> list[str]:
        return [" ".join(one.decode().split(" ", 2)[:2]) for one in self.raw]

    def header(self, name: str, index: int = -1) -> list[str]:
        lines = self.raw[index].decode().partition("\r\n\r\n")[0].split("\r\n")[1:]
        pairs = (line.partition(": ") for line in lines)
        return [value for found, _, value in pairs if found.lower() == name.lower()]

    def body(self, index: int = -1) -> str:
        return self.raw[index].decode().partition("\r\n\r\n")[2]

    @property
    def tests(self) -> list[tuple[str, bool]]:
        return [(test.name, test.held) for test in super().tests]

    @property
    def log(self) -> list[str]:
        notes = (note for outcome in self.outcomes for note in outcome.notes)
        return [note.removeprefix("log: ") for note in notes if note.startswith("log: ")]


@pytest.fixture
def run(recorder: RawServer, tmp_path: Path):  # type: ignore[no-untyped-def]  # a function of Ran
    def start(text: str, **options: Any) -> Ran:
        return Ran(recorder, tmp_path, text, **options)

    return start


# --------------------------------------------------------------------------------- when they run


def test_a_script_below_the_body_runs_after_the_response_and_changes_nothing_sent(run) -> None:
    done = run(
        "{{\nexports.n = 1;\n}}\nGET HOST/n/{{n}}\n\n{{\nexports.n = 2;\n}}\n"
        "###\nGET HOST/then/{{n}}\n"
    )
    assert done.sent == ["GET /n/1", "GET /then/2"]


def test_scripts_run_at_the_moments_that_they_name(run) -> None:
    done = run(
        "{{+\nconsole.log('every');\n}}\n"
        "{{@after\nconsole.log('end');\n}}\n{{\nconsole.log('above');\n}}\n"
        "{{@response\nconsole.log('response');\n}}\n{{@request\nconsole.log('request');\n}}\n"
        "POST HOST/a\n\nbody\n\n{{\nconsole.log('below', response.statusCode);\n}}\n"
        "{{@js\nconsole.log('below, too');\n}}\n###\nGET HOST/b\n"
    )
    assert done.log == [
        "every",
        "above",
        "request",
        "response",
        "below 200",
        "below, too",
        "end",
        "every",
    ]


def test_a_script_of_the_file_runs_once_and_that_for_a_moment_for_each_request(run) -> None:
    done = run(
        "{{\nconsole.log('once');\n}}\n###\n{{@response\nconsole.log('each');\n}}\n"
        "{{@request\nrequest.headers['X-Global'] = 'yes';\n}}\n###\nGET HOST/a\n###\nGET HOST/b\n"
    )
    assert done.log == ["once", "each", "each"]
    assert done.header("x-global", 0) == done.header("x-global", 1) == ["yes"]


def test_a_loop_goes_over_what_a_script_of_the_file_made(run) -> None:
    text = "{{\nexports.data = [1, 'b'];\nconsole.log('once');\n}}\n###\n# @loop for one of data\n"
    done = run(text + "GET HOST/{{one}}\n")
    assert (done.sent, done.log) == (["GET /1", "GET /b"], ["once"])
    failing = run(text.replace("exports", "nothing") + "GET HOST/{{one}}\n")
    assert failing.reasons == ["a.http:2: script: ReferenceError: nothing is not defined"]


def test_a_loop_goes_over_what_the_script_above_it_made(run) -> None:
    text = (
        "{{\nexports.data = [named.path, 'b'];\nconsole.log('once', typeof one);\n"
        "request.headers['X-Own'] = 'yes';\ntest('t', () => {});\n}}\n"
        "# @ref named\n# @loop for one of data\nGET HOST/l/{{one}}/{{id}}\nX-Id: {{id}}\n\n"
        "{{\nconsole.log(one);\n}}\n"
        "### named\nGET HOST/named\n###\n@id = {{one}}\n"
    )
    done = run(text)
    assert done.sent == ["GET /named", "GET /l//named//named", "GET /l/b/b"]
    assert done.log == ["once undefined", "/named", "b"]
    assert done.header("x-own", 1) == done.header("x-own", 2) == ["yes"]
    assert [len(outcome.tests) for outcome in done.outcomes] == [1, 0, 0]
    for ref, times in (("ref", 1), ("force-ref", 2)):
        first = f"# @{ref} loop\nGET HOST/a\n###\n# @{ref} loop\nGET HOST/b\n###\n# @name loop\n"
        outcomes = run(first + text).outcomes
        every = [each for outcome in outcomes for each in (*outcome.needed, outcome)]
        assert sum("log: once undefined" in outcome.notes for outcome in every) == times
    assert run(text.replace("# @ref named\n", ""), dry_run=True).states == ["done"] * 2
    assert run(text.replace("data = [named.path, 'b']", "$cancel = true")).states[0] == "skipped"
    assert run(text.replace("[named.path, 'b']", "[]")).log == ["once undefined"]
    failing = run(text.replace("exports.data", "nothing(); exports.data"))
    assert failing.reasons == ["a.http:2: script: ReferenceError: nothing is not defined"]


def test_the_scripts_of_imported_files_run_once_before_those_of_the_document(
    run, tmp_path: Path
) -> None:
    script = "{{{{\nconsole.log('{0}', v);\nexports.{0} = '{0}';\n}}}}\n"
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.http").write_text(
        f"# @import ./sub/c.http\n{script.format('b')}### named\nGET HOST/named\n"
    )
    (tmp_path / "sub/name.js").write_text("module.exports = () => 'js';")
    (tmp_path / "sub/c.http").write_text(
        "@v = 5\n" + script.format("c") + "{{\nexports.f = require('./name');\n}}\n"
    )
    (tmp_path / "d.http").write_text("# @import b.http\n" + script.format("d"))
    (tmp_path / "late.http").write_text(script.format("late"))
    text = "# @import b.http\n# @import d.http\n###\n" + script.format("a")
    text += "###\nGET HOST/{{a}}{{b}}{{c}}{{d}}{{f()}}\n###\nGET HOST/{{b}}\n"
    text += "###\n# @import late.http\n# @loop for x of [b]\nGET HOST/{{late}}{{x}}\n"
    done = run(text)
    assert done.sent == ["GET /abcdjs", "GET /b", "GET /lateb"]
    assert done.log == ["c 5", "b 5", "d 5", "a 5", "late 5"]
    assert run(text, dry_run=True).log == done.log


def test_when_a_script_of_an_imported_file_fails_no_request_is_sent(run, tmp_path: Path) -> None:
    (tmp_path / "b.http").write_text("{{\nnothing();\n}}\n")
    done = run("# @import b.http\n###\nGET HOST/a\n")
    assert done.sent == []
    assert done.reasons == ["b.http:2: script: ReferenceError: nothing is not defined"]
    (tmp_path / "b.http").write_text("{{\nexports.a = 1;\n")
    (reason,) = run("# @import b.http\n###\nGET HOST/a\n").reasons
    assert "b.http:1:1: this script is never closed" in reason


def test_when_a_script_of_the_file_fails_no_request_is_sent(run) -> None:
    done = run("{{\nnothing();\n}}\n###\nGET HOST/a\n###\nGET HOST/b\n")
    assert (done.sent, done.states) == ([], ["failed", "failed"])
    assert done.reasons == ["a.http:2: script: ReferenceError: nothing is not defined"] * 2


@pytest.mark.parametrize("moment", ["", "@request"])
def test_a_cancelled_request_is_not_sent_and_runs_no_further_script(run, moment: str) -> None:
    done = run(
        f"{{{{{moment}\nexports.$cancel = true;\n}}}}\n{{{{@request\nconsole.log('no');\n}}}}\n"
        "GET HOST/a\n\n{{\nconsole.log('no');\n}}\n###\nGET HOST/b\n"
    )
    assert (done.sent, done.states, done.log) == (["GET /b"], ["skipped", "done"], [])


def test_a_dry_run_runs_what_needs_no_response(run) -> None:
    done = run(
        "{{\nexports.n = 1;\n}}\nGET HOST/n/{{n}}\n\n{{@request\nrequest.url += '?b=2';\n}}\n"
        "{{\nexports.n = response.parsedBody.id;\n}}\n###\nGET HOST/then/{{n}}\n",
        dry_run=True,
    )
    assert done.sent == []
    urls = [outcome.exchanges[0].request.url.split("/", 3)[3] for outcome in done.outcomes]
    assert urls == ["n/1?b=2", "then/1"]


# ----------------------------------------------------------------- what they change in requests


def test_a_request_is_sent_as_the_script_above_it_left_it(run) -> None:
    done = run(
        "@key = secret\n{{\nrequest.method = 'PUT';\nrequest.url = 'HOST/changed/{{key}}';\n"
        "request.body = JSON.stringify({k: '{{key}}'});\n"
        "request.headers = {'Content-Type': 'application/json'};\n}}\nPOST HOST/old\nX-Old: 1\n"
    )
    assert done.sent == ["PUT /changed/secret"]
    assert done.body() == '{"k":"secret"}'
    assert done.header("content-type") == ["application/json"]
    assert done.header("x-old") == []


def test_a_request_is_signed_by_a_script_that_has_what_is_sent(run) -> None:
    done = run(
        "@key = secret\n{{\nrequest.headers['X-Above'] = request.url.split('?')[1];\n"
        "request.headers.accept = 'text/x';\n}}\n"
        "POST HOST/sign?a={{key}}\nAccept: application/json\nX-A: 1\nX-A: 2\n\n"
        '{"a": "{{key}}"}\n\n{{@request\nrequest.headers["X-Length"] = request.body.length;\n'
        "request.url += '&b=2';\nrequest.body += '!';\n}}\n"
    )
    assert done.sent == ["POST /sign?a=secret&b=2"]
    assert done.body() == '{"a": "secret"}!'
    assert done.header("accept") == ["text/x"]
    assert done.header("x-a") == ["1", "2"]
    assert done.header("x-above") == ["a=secret"]
    assert done.header("x-length") == ["15"]


def test_a_body_that_is_no_text_is_sent_as_it_is_where_a_script_leaves_it(
    run, tmp_path: Path
) -> None:
    (tmp_path / "data.bin").write_bytes(b"\xff\x00\xfe")
    done = run("POST HOST/\n\n< data.bin\n\n{{@request\nrequest.headers.a = 'b';\n}}\n")
    assert done.raw[0].endswith(b"\xff\x00\xfe")
    assert done.raw[0].count(b"a: b") == 1


@pytest.mark.parametrize(
    ("moment", "code", "message"),
    [
        ("", "request.timeout = 5", "request.timeout is not supported"),
        ("", "request.body = {a: 1}", "request.body must be a string or a Buffer, found object"),
        ("", "request.method = 'A B'", "set an invalid method: 'A B'"),
        ("@request", "request.url = 'file:///etc/passwd'", "set an invalid URL:"),
        ("@request", "request.headers['a b'] = 1", "set an invalid header: 'a b'"),
        ("@request", "request.headers.a = 'b\\r\\nc: d'", "set an invalid header:"),
        ("", "request.headers.a = 'b\\r\\nc: d'", "contains a line break"),
        (
            "",
            "request.url = '/x{{' + 'key}}'",
            "inserts {{key}} into the request: placeholders are",
        ),
    ],
)
def test_a_change_that_cannot_be_sent_is_reported_and_nothing_is_sent(
    run, moment: str, code: str, message: str
) -> None:
    done = run(f"@key = secret\n{{{{{moment}\n{code}\n}}}}\nPOST HOST/\n\nbody\n")
    assert (done.sent, done.states) == ([], ["failed"])
    assert message in done.reasons[0]


def test_a_long_text_with_many_braces_is_looked_at_once(run) -> None:
    code = "request.body = '{{a}}\\n'.repeat(50000) + '{{'.repeat(200000);"
    done = run(f"@a = b\n{{{{\n{code}\n}}}}\nPOST HOST/\n")
    assert done.states == ["done"], done.reasons
    assert len(done.raw[0]) > 500_000


def test_no_text_of_a_server_takes_a_value_into_a_request(run, tmp_path: Path) -> None:
    (tmp_path / "http-client.private.env.json").write_text('{"dev": {"key": "hidden-key"}}')
    text = (
        "GET HOST/{{key}}\n###\nGET HOST/%7B%7Bkey%7D%7D\n###\n"
        "{{\nrequest.body = decodeURIComponent(response.parsedBody.path);\n}}\nPOST HOST/\n"
    )
    done = run(text, inputs={"environments": ("dev",)})
    assert done.states == ["done", "done", "failed"]
    assert len(done.sent) == 2


def test_credentials_do_not_go_to_the_server_that_a_script_chooses(run) -> None:
    done = run(
        "{{@request\nrequest.url = 'http://localhost:1/';\n}}\n"
        "GET HOST/\nAuthorization: Digest user password\n"
    )
    assert done.sent == []
    assert "credentials are only for the original server" in done.reasons[0]


def test_a_body_with_files_is_not_changed_where_they_are_not_seen(run, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("data")
    text = "{{MOMENT\nrequest.body += '!';\n}}\nPOST HOST/\n\n< data.txt\n"
    assert "which a script above the request cannot change: use" in run(
        text.replace("MOMENT", "")
    ).reasons[0]  # fmt: skip
    assert run(text.replace("MOMENT", "@request")).body() == "data!"


# -------------------------------------------------------------------------------- what they share


def test_values_keep_their_types_from_script_to_script_and_in_braces(run) -> None:
    done = run(
        "{{\nexports.n = 1;\nexports.d = new Date(0);\nexports.f = (x) => x * 2;\n"
        "exports.o = {a: {b: 'c'}};\nexports.later = Promise.resolve(7);\n}}\n"
        "GET HOST/{{n + 1}}/{{d}}/{{f(n)}}/{{o.a.b}}/{{later + 1}}\n\n"
        "{{\nexports.n = n + 1;\n"
        "console.log(typeof n, d instanceof Date, f(later), typeof o.a);\n}}\n"
        "###\nGET HOST/{{n}}\n"
    )
    assert done.sent == ["GET /2/1970-01-01T00:00:00.000Z/2/c/8", "GET /2"]
    assert done.log == ["number true 14 object"]


def test_a_script_sees_variables_of_the_file_and_what_named_requests_got(run) -> None:
    done = run(
        "@name = a\n@whole = {{name}}b\n# @name login\nGET HOST/x\n###\n"
        "{{\nconsole.log(whole, login.id, loginResponse.statusCode);\n"
        "console.log(response.parsedBody.path);\n}}\n"
        "GET HOST/y\n"
    )
    assert done.log == ["ab 41 200", "/x"]


def test_a_script_that_names_a_request_does_not_send_it(run) -> None:
    done = run(
        "{{\nconsole.log(typeof login);\n}}\nGET HOST/a\n\n###\n# @name login\nGET HOST/login\n"
    )
    assert (done.sent, done.log) == (["GET /a", "GET /login"], ["undefined"])


def test_what_a_script_signs_is_what_is_sent_also_where_it_is_random(run) -> None:
    done = run(
        "@nonce = {{$uuid}}\n{{\nrequest.headers['X-Signed'] = nonce;\n}}\n"
        "GET HOST/{{nonce}}\nX-Nonce: {{nonce}}\n"
    )
    assert done.header("x-signed") == done.header("x-nonce") == [done.sent[0].split("/")[1]]


def test_global_values_live_as_long_as_the_run(run) -> None:
    done = run(
        "@token = own\n{{\n$global.token = {a: 5};\n}}\nGET HOST/{{$global.token.a}}/{{token}}\n"
        "###\n{{\n$global.token.a += 1;\nexports.seen = $global.token.a;\n}}\nGET HOST/{{seen}}\n"
    )
    assert done.sent == ["GET /5/own", "GET /6"]


def test_an_undefined_export_leaves_no_variable(run) -> None:
    done = run("{{\nexports.x = undefined;\n}}\nGET HOST/{{x}}\n")
    assert (done.sent, done.states) == ([], ["failed"])


def test_what_a_script_makes_of_a_secret_is_one(run, tmp_path: Path) -> None:
    (tmp_path / "http-client.private.env.json").write_text('{"dev": {"key": "hidden-key"}}')
    done = run(
        "{{\nexports.basic = btoa(key);\nrequest.headers['X-Key'] = key + '!';\n}}\n"
        "GET HOST/{{basic}}\n",
        inputs={"environments": ("dev",)},
    )
    assert done.sent == ["GET /aGlkZGVuLWtleQ=="]
    assert {"aGlkZGVuLWtleQ==", "hidden-key!"} <= set(done.outcomes[0].secrets)


# ---------------------------------------------------------------------------------- httpyac's API

TESTS = {
    "test.status(200)": ("response status equals to 200", True),
    "test.status(201)": ("response status equals to 201", False),
    "test.header('X-ID', '9')": ("response header X-ID equals 9", True),
    "test.header('x-none', undefined)": ("response header x-none equals undefined", True),
    "test.header('x-id', 9)": ("response header x-id equals 9", False),
    "test.headerContains('content-type', 'json')": (
        "response header content-type contains json",
        True,
    ),
    "test.responseBody('x')": ("response body equals x", False),
    "test.hasResponseBody()": ("response body exists", True),
    "test.hasNoResponseBody()": ("response body does not exists", False),
    "test.totalTime(100000)": ("total time exceeded 100000", True),
    "test('own', () => { throw new Error('no') })": ("own", False),
}


def test_tests_have_the_names_and_the_outcomes_that_httpyac_gives_them(run) -> None:
    done = run("GET HOST/a\n\n{{\n" + ";\n".join(TESTS) + ";\n}}\n")
    assert done.tests == list(TESTS.values())


# httpyac lets these pass: `headerContains` takes -1 for found, a body is only logged when it lacks,
# a promise is not waited for, and a missing function and a missing response are no failures.
LENIENT = [
    "test.headerContains('content-type', 'xml')",
    "test('later', async () => { throw new Error('no') })",
    "test('without a function')",
]


@pytest.mark.parametrize("code", LENIENT)
def test_no_test_passes_that_tested_nothing_or_failed(run, code: str) -> None:
    done = run(f"GET HOST/a\n\n{{{{\n{code}\n}}}}\n")
    assert [held for _, held in done.tests] == [False]


def test_a_test_of_the_response_before_there_is_one_fails(run) -> None:
    done = run("{{\ntest.status(200)\n}}\nGET HOST/a\n")
    (verdict,) = done.outcomes[0].tests
    assert (verdict.held, verdict.reason) == (False, "no response yet")


def test_sleeping_waits_and_costs_no_time_of_computing(run, monkeypatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(
        "orgrest.http.transport.limits.Budget.wait", lambda _, length: slept.append(length)
    )
    done = run(
        "{{\nawait sleep(3000);\nawait new Promise((go) => setTimeout(go, 500));\n"
        "const gone = setTimeout(() => console.log('gone'), 10);\nclearTimeout(gone);\n"
        "setTimeout(() => console.log('not waited for'), 5);\nexports.a = 1;\n}}\nGET HOST/{{a}}\n"
    )
    assert done.sent == ["GET /1"]
    assert slept == [3.0, 0.5]
    assert done.log == []


def test_a_script_cannot_make_a_run_sleep_for_hours(run) -> None:
    done = run("{{\nawait sleep(1e9);\n}}\nGET HOST/\n")
    assert done.sent == []
    assert (
        "sleep() in scripts can make a run wait for at most a total of 60 minutes"
        in done.reasons[0]
    )


def test_nor_by_many_short_sleeps(run, monkeypatch) -> None:
    from orgrest.http.transport.limits import Budget

    slept: list[float] = []
    monkeypatch.setattr(Budget, "wait", lambda _, seconds: slept.append(seconds))
    done = run("{{\nfor (;;) await sleep(1e6);\n}}\nGET HOST/\n")
    assert done.sent == []
    assert slept == [1000.0] * 3
    assert "at most a total of 60 minutes" in done.reasons[0]


def test_an_assertion_does_not_sleep(run) -> None:
    done = run("GET HOST/\n\n?? js await sleep(1e9) == 1\n")
    (verdict,) = done.outcomes[0].tests
    assert not verdict.held
    assert "calls sleep(), which is only available in request scripts" in verdict.reason


def test_an_assertion_in_javascript_uses_variables_and_named_responses(run) -> None:
    done = run(
        "@v = 7\n\n# @name first\nGET HOST/\n\n###\n# @name second\nGET HOST/\n\n"
        "?? js v == 7\n?? js first.id + second.id == 82\n?? js nothing == 1\n"
    )
    assert [test.held for test in done.outcomes[1].tests] == [True, True, False]


def test_what_an_assertion_makes_of_a_secret_is_masked_in_its_reason(run) -> None:
    done = run(
        "@t = {{$processEnv TOKEN}}\nGET HOST/\n\n?? js [[...t].reverse().join(''), 7] == 1\n",
        inputs={"environ": {"TOKEN": "s3cret-value"}},
    )
    [outcome] = done.outcomes
    assert "eulav-terc3s" in outcome.tests[0].reason
    assert outcome.secrets >= {"s3cret-value", "eulav-terc3s"}


def test_a_reason_does_not_show_the_beginning_of_a_secret_where_it_is_cut(
    run, tmp_path: Path
) -> None:
    (tmp_path / "schema.json").write_text('{"properties": {"path": {"maxLength": 1}}}')
    done = run(
        f"@t = {{{{$processEnv TOKEN}}}}\nGET HOST/{'x' * 92}{{{{t}}}}\n\n?? body path == a\n"
        "###\n"
        f"GET HOST/{'x' * 191}{{{{t}}}}\n\n?? body schema schema.json\n",
        inputs={"environ": {"TOKEN": "s3cret-value"}},
    )
    cut, schema = (outcome.tests[0].reason for outcome in done.outcomes)
    assert cut == f"body path is /{'x' * 92}***..."
    assert schema.endswith(f"{'x' * 191}***")


def test_a_secret_that_only_an_assertion_uses_is_hidden_where_its_value_is_cut(run) -> None:
    done = run(
        "@t = {{$processEnv TOKEN}}\nGET HOST/\n\n?? js 'x'.repeat(92) + t + 'y' == 1\n",
        inputs={"environ": {"TOKEN": "s3cret-value"}},
    )
    [outcome] = done.outcomes
    assert "s3c" not in outcome.tests[0].reason


@pytest.mark.parametrize(
    "text",
    [
        f"# @loop for x of ['{'x' * 52}' + t].join('')\nGET HOST/\n",
        f"@h = {'x' * 53}{{{{t}}}}\nGET HOST/\n{{{{h}}}}\n",
        f"{{{{\nrequest.method = '{'x' * 51} ' + t;\n}}}}\nGET HOST/\n",
        f"{{{{@request\nrequest.headers['{'x' * 51} ' + t] = '1';\n}}}}\nGET HOST/\n",
        f"{{{{\natob('{'x' * 50} ' + t + '!');\n}}}}\nGET HOST/\n",
        f"GET HOST/\n\n?? header X-A count {'x' * 53}{{{{t}}}}\n",
    ],
)
def test_an_error_does_not_show_the_beginning_of_a_secret_where_it_is_cut(run, text: str) -> None:
    done = run(
        f"@t = {{{{$processEnv TOKEN}}}}\n\n{text}",
        inputs={"environ": {"TOKEN": "s3cret-value-that-is-long"}},
    )
    [outcome] = done.outcomes
    reasons = [outcome.reason.reason] if outcome.reason else [outcome.tests[0].reason]
    assert "***" in reasons[0]
    assert "s3cr" not in reasons[0]


def test_naps_without_end_are_ended(run, monkeypatch) -> None:
    from orgrest.http import scripts

    monkeypatch.setattr(scripts.Engine.__init__, "__defaults__", (0.3,))
    done = run("{{\nfor (;;) await sleep(0);\n}}\nGET HOST/\n")
    assert done.sent == []
    assert "the script did not finish within 0.3 s" in done.reasons[0]


def test_a_dry_run_does_not_sleep(run) -> None:
    done = run("{{\nawait sleep(3000000);\nexports.a = 1;\n}}\nGET HOST/{{a}}\n", dry_run=True)
    assert done.outcomes[0].exchanges[0].request.url.endswith("/1")


def test_a_function_does_not_outlive_its_engine(run, monkeypatch) -> None:
    from orgrest.http import scripts

    monkeypatch.setattr(scripts.Engine.__init__, "__defaults__", (0.5,))
    done = run(
        "{{\nexports.f = () => 1;\nexports.n = 2;\n}}\nGET HOST/{{f()}}\n###\n"
        "{{\nfor (;;);\n}}\nGET HOST/never\n###\nGET HOST/{{n}}\n###\nGET HOST/{{f()}}\n"
    )
    assert done.sent == ["GET /1", "GET /2"]
    assert done.states == ["done", "failed", "done", "failed"]


@pytest.mark.parametrize(
    "code",
    [
        "JSON.stringify = () => '[]'; JSON.parse = () => 5",
        "Object.prototype.toJSON = () => 1",
        "Array.prototype.push = function () { this[0] = 1; }; test('x', () => 0)",
        "Object.keys = () => [1]; Promise.prototype.then = undefined",
        "globalThis.__orgrest = {}",
        "exports.text = '\\ud800'; console.log('\\udc00'); test('\\ud800', () => 0)",
    ],
)
def test_a_script_that_breaks_javascript_breaks_nothing_else(run, code: str) -> None:
    done = run(f"{{{{\n{code}\n}}}}\nGET HOST/a\n###\nGET HOST/b\n")
    assert "GET /b" in done.sent
    for reason in done.reasons:
        assert "script" in reason
    repr(done.outcomes).encode()


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("$requestClient.send('x')", "messages are written in the body, separated by `===` lines"),
        ("httpFile.fileName", "are what a file has here"),
        ("httpRegion.metaData", "request and response are what a script has here"),
        ("await $httpyac.execute('x')", "# @ref and # @import name what is sent first"),
    ],
)
def test_what_scripts_of_httpyacs_do_not_have_here_says_what_to_do_instead(
    run, code: str, message: str
) -> None:
    done = run(f"{{{{\n{code}\n}}}}\nGET HOST/a\n")
    assert message in done.reasons[0]


# ------------------------------------------------------------- Postman's API, and JetBrains'

POSTMAN = """
pm.test("status", () => { pm.response.to.have.status(200); });
pm.test("status wrong", function () { pm.response.to.have.status(404); });
pm.test("not", () => pm.response.to.not.have.status(404));
pm.test("ok", () => pm.response.to.be.ok);
pm.test("not found", () => pm.response.to.be.notFound);
pm.test("header", () => pm.response.to.have.header("Content-Type"));
pm.test("no header", () => pm.response.to.have.header("X-None"));
pm.test("json", () => pm.response.to.be.json);
pm.test("body", () => { const {id} = pm.response.json(); pm.expect(id).to.eql(41); });
pm.test("path", () => pm.response.to.have.jsonBody("list[1]", "two"));
pm.test("code", () => pm.expect(pm.response.code).to.be.oneOf([200, 201]));
pm.test("fast", () => pm.expect(pm.response.responseTime).to.be.below(100000));
pm.test("header value", () => pm.expect(pm.response.headers.get("x-id")).to.equal("9"));
pm.test("quick", () => pm.response.to.have.responseTime.below(100000));
pm.test("slow", () => pm.response.to.have.responseTime.above(100000));
pm.test("not slow", () => pm.response.to.not.have.responseTime.above(100000));
pm.test("size", () => pm.expect(pm.response.size().body).to.equal(pm.response.text().length));
pm.test("small", () => pm.response.to.have.responseSize.below(10000));
pm.test("exact", () => pm.response.to.have.responseSize(pm.response.size().total).and.above(1));
pm.test("wrong size", () => pm.response.to.have.responseSize(1));
pm.test("wrong time", () => pm.response.to.have.responseTime(-1));
pm.test("has a time", () => pm.response.to.have.responseTime());
pm.test("called", () => pm.response.to.have(200));
pm.test("kind", () => pm.response.to.be.a.success);
pm.test("class", () => pm.response.to.have.statusCodeClass(2));
pm.test("and", () => pm.response.to.have.status(200).and.to.have.header("x-id", "9").and.be.json);
pm.test("and not", () => pm.response.to.have.status(200).and.not.have.header("x-id"));
pm.test("object", () => pm.response.to.have.body(pm.response.json()));
pm.test("unknown", () => pm.response.to.be.fine);
"""


@pytest.mark.parametrize(("start", "end"), [("> {%", "%}"), ("{{", "}}")])
def test_tests_of_postman_hold_where_postman_says_so(run, start: str, end: str) -> None:
    done = run(f"GET HOST/a\n\n{start}\n{POSTMAN}{end}\n")
    failing = {"status wrong", "not found", "no header", "unknown", "slow", "and not"}
    failing |= {"wrong size", "wrong time", "called"}
    names = [line.split('"')[1] for line in POSTMAN.strip().splitlines()]
    assert done.tests == [(name, name not in failing) for name in names]


@pytest.mark.parametrize(
    ("body", "kind", "holds"),
    [(b"{}", "text/plain", True), (b"null", "text/plain", True), (b"{", "application/json", False)],
)
def test_the_body_decides_whether_a_response_is_json_for_postman(
    body: bytes, kind: str, holds: bool, tmp_path: Path
) -> None:
    tests = "\n".join(
        f"pm.test('{word}', () => pm.response.to.{word}.json);" for word in ("be", "not.be")
    )
    with RawServer(response(body, f"Content-Type: {kind}")) as server:
        done = Ran(server, tmp_path, f"GET HOST/\n\n> {{%\n{tests}\n%}}\n")
    assert done.tests == [("be", holds), ("not.be", not holds)]


def test_variables_of_postman_are_those_of_the_run(run) -> None:
    done = run(
        "@given = g\n< {%\npm.environment.set('a', pm.variables.get('given') + '1');\n"
        "pm.globals.set('n', 5);\n%}\nGET HOST/{{a}}/{{n}}\n\n"
        "> {%\npm.collectionVariables.set('b', pm.response.json().token);\n"
        "pm.environment.unset('a');\nclient.log(pm.environment.has('a'), pm.info.eventName);\n%}\n"
        "###\nGET HOST/{{b}}\n###\nGET HOST/{{a}}\n"
    )
    assert done.sent == ["GET /g1/5", "GET /t/g1/5"]
    assert done.states[-1] == "failed"
    assert done.log == ["false test"]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("pm.cookies.jar()", "cookies are kept, and sent, without a script"),
        ("pm.execution.setNextRequest('x')", "requests are sent in their order"),
    ],
)
def test_what_postman_has_and_scripts_here_have_not_says_what_to_do_instead(
    run, code: str, message: str
) -> None:
    assert message in run(f"< {{%\n{code}\n%}}\nGET HOST/\n").reasons[0]


BOUNDARY = "--orgrest-form-boundary"
SEND = "pm.sendRequest({}, (error, answer) => {{ {} }});"


def test_what_a_script_sends_is_there_for_its_request(run) -> None:
    sent = (
        '{url: pm.variables.get("base") + "/login", method: "post", header: {"X-A": "b"}, '
        'body: {mode: "raw", raw: JSON.stringify({user: "me"})}}'
    )
    took = "pm.test('let in', () => pm.expect(answer.code).to.equal(200)); "
    took += "pm.environment.set('token', answer.json().token);"
    done = run(f"@base=HOST\n< {{%\n{SEND.format(sent, took)}\n%}}\nGET HOST/a{{{{token}}}}\n")
    assert done.reasons == []
    assert done.sent == ["POST /login", "GET /at/login"]
    assert done.tests == [("let in", True)]
    assert (done.header("X-A", 0), done.body(0)) == (["b"], '{"user":"me"}')
    assert done.header("Content-Type", 0) == ["text/plain"]


def test_what_a_script_sends_is_recorded_with_its_request(run) -> None:
    script = f"< {{%\n{SEND.format(repr('HOST/login'), '')}\n%}}\n"
    (exchange,) = run(f"{script}GET HOST/a\n").outcomes[0].exchanges
    found = [(one.reason, one.request.url.rpartition("/")[2]) for one in exchange.earlier]
    assert found == [("script", "login")]
    assert exchange.earlier[0].number < exchange.number


def test_what_a_script_sent_is_recorded_when_its_request_is_not_sent(run) -> None:
    script = "await pm.sendRequest('HOST/login');\npm.execution.skipRequest();"
    done = run(f"< {{%\n{script}\n%}}\nGET HOST/a\n")
    assert done.sent == ["GET /login"]
    (outcome,) = done.outcomes
    assert outcome.state == "skipped"
    found = [
        (exchange.reason, exchange.request.url.rpartition("/")[2]) for exchange in outcome.exchanges
    ]
    assert found == [("script", "login")]


@pytest.mark.parametrize(
    ("body", "held"),
    [
        ("(done) => done()", True),
        ("function (done) { pm.sendRequest('HOST/a', () => done()); }", True),
        ("function (done) { pm.sendRequest('HOST/a', () => done(new Error('no'))); }", False),
        ("(done) => { throw new Error('no'); }", False),
        ("(done) => {}", False),
        ("() => new Promise(() => {})", False),
        ("async () => { await pm.sendRequest('HOST/a'); }", True),
    ],
)
def test_a_test_that_waits_is_reported_when_it_ends_or_never_ends(
    run, body: str, held: bool
) -> None:
    done = run(f"GET HOST/\n\n> {{%\npm.test('waits', {body});\n%}}\n")
    assert done.tests == [("waits", held)]


def test_a_script_waits_for_its_answers_one_after_the_other(run) -> None:
    done = run(
        "< {%\nconst first = await pm.sendRequest('HOST/1');\n"
        "const second = await pm.sendRequest(`HOST/2${first.json().token}`);\n"
        "pm.variables.set('n', second.json().path);\n%}\nGET HOST{{n}}\n"
    )
    assert done.sent == ["GET /1", "GET /2t/1", "GET /2t/1"]


def test_a_script_below_sends_too_and_what_fails_there_is_reported(run) -> None:
    failing = "pm.test('gone', () => { throw new Error('no: ' + answer.json().path) });"
    done = run(f"GET HOST/a\n> {{%\n{SEND.format(repr('HOST/b'), failing)}\n%}}\n")
    assert done.sent == ["GET /a", "GET /b"]
    assert done.tests == [("gone", False)]


def test_httpyacs_scripts_send_too(run) -> None:
    done = run(
        "{{\nconst answer = await pm.sendRequest('HOST/b');\n"
        "exports.there = answer.json().path;\n}}\nGET HOST/a{{there}}\n"
    )
    assert done.sent == ["GET /b", "GET /a/b"]


@pytest.mark.parametrize(
    ("body", "kind", "sent"),
    [
        (
            '{mode: "urlencoded", urlencoded: [{key: "a b", value: "c&d"}, {disabled: true}]}',
            "application/x-www-form-urlencoded",
            "a%20b=c%26d",
        ),
        ('{mode: "raw", raw: "{}", options: {raw: {language: "json"}}}', "application/json", "{}"),
        (
            '{mode: "formdata", formdata: [{key: "a", value: "b"}]}',
            "multipart/form-data; boundary=orgrest-form-boundary",
            f'{BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n{BOUNDARY}--\r\n',
        ),
        ('{mode: "graphql", graphql: {query: "{a}"}}', "application/json", '{"query":"{a}"}'),
        ('"plain"', "text/plain", "plain"),
    ],
)  # fmt: skip
def test_bodies_of_scripts_requests_are_sent_as_postman_does(
    run, body: str, kind: str, sent: str
) -> None:
    given = f'{{url: {{raw: "HOST/b"}}, method: "PUT", header: "X-A: 1", body: {body}}}'
    done = run(f"< {{%\n{SEND.format(given, '')}\n%}}\nGET HOST/a\n")
    assert done.reasons == []
    assert (done.header("Content-Type", 0), done.body(0)) == ([kind], sent)
    assert done.header("X-A", 0) == ["1"]


@pytest.mark.parametrize(
    ("auth", "sent"),
    [
        ('{type: "bearer", bearer: [{key: "token", value: "T"}]}', "Bearer T"),
        ('{type: "basic", basic: {username: "u", password: "p"}}', "Basic dTpw"),
    ],
)
def test_credentials_of_scripts_requests_are_sent(run, auth: str, sent: str) -> None:
    given = f'{{url: "HOST/b", auth: {auth}}}'
    done = run(f"< {{%\n{SEND.format(given, '')}\n%}}\nGET HOST/a\n")
    assert done.header("Authorization", 0) == [sent]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("{}", "the request must have a url"),
        ('{url: "HOST", body: {mode: "file", file: "/etc/passwd"}}',
         "body mode file is not supported"),
        ('{url: "HOST", body: {mode: "formdata", formdata: [{key: "f", type: "file"}]}}',
         "scripts cannot read files"),
        ('{url: "HOST", auth: {type: "hawk"}}', "auth type hawk is not supported"),
    ],
)  # fmt: skip
def test_what_a_script_cannot_send_is_an_error_of_its_and_nothing_goes_out(
    run, given: str, message: str
) -> None:
    done = run(f"< {{%\n{SEND.format(given, '')}\n%}}\nGET HOST/a\n")
    assert done.sent == []
    assert message in done.reasons[0]


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "file:///etc/passwd", "nonsense"])
def test_a_server_that_is_not_there_is_an_error_that_the_script_gets(run, url: str) -> None:
    took = "console.log(Boolean(error), answer === undefined);"
    done = run(f"< {{%\n{SEND.format(repr(url), took)}\n%}}\nGET HOST/a\n")
    assert (done.sent, done.log) == (["GET /a"], ["true true"])


def test_braces_in_a_scripts_request_are_sent_as_newman_does(run) -> None:
    given = '{url: "HOST/b", method: "POST", header: {"X-A": "{{who}}"}, body: "{{who}}"}'
    done = run(f"@who = me\n< {{%\n{SEND.format(given, '')}\n%}}\nGET HOST/a\n")
    assert (done.header("X-A", 0), done.body(0)) == (["{{who}}"], "{{who}}")


def test_scripts_requests_count_for_the_run_and_nothing_is_sent_in_a_dry_one(
    run, recorder: RawServer, tmp_path: Path
) -> None:
    sends = "for (let n = 0; n < 50; n++) pm.sendRequest('HOST/' + n, () => {});"
    text = f"< {{%\n{sends}\n%}}\nGET HOST/a\n"
    assert run(text, dry_run=True).sent == []
    recorder.requests.clear()
    (tmp_path / "many.http").write_text(text.replace("HOST", recorder.url))
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path / "many.http"), "--max-requests", "5"])
    assert (ended.value.code, len(recorder.requests)) == (1, 5)


def test_a_script_skips_its_request_as_postman_says_it(run) -> None:
    done = run("< {%\npm.execution.skipRequest();\n%}\nGET HOST/a\n###\nGET HOST/b\n")
    assert done.sent == ["GET /b"]


def test_jetbrains_random_values_are_there(run) -> None:
    done = run(
        "< {%\nrequest.variables.set('x', [$random.uuid.length, $random.alphabetic(5).length, "
        "$random.integer(3, 4), /@/.test($random.email)].join('-'));\n%}\nGET HOST/{{x}}\n"
    )
    assert done.sent == ["GET /36-5-3-true"]


# ------------------------------------------------------------------- global variables between runs


def command(*arguments: object) -> int:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    return int(caught.value.code or 0)


def test_global_variables_are_kept_in_the_file_that_the_user_names(
    recorder: RawServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "hidden-key")
    kept, first, second = (tmp_path / name for name in ("globals.json", "a.http", "b.http"))
    first.write_text(
        f"@key = {{{{$processEnv KEY}}}}\nGET {recorder.url}/a\n\n> {{%\n"
        "client.global.set('token', response.body.token);\nclient.global.set('list', [1, 'x']);\n"
        f"%}}\n###\n{{{{\n$global.made = key + '!';\n}}}}\nGET {recorder.url}/b\n"
    )
    assert command(first, "--globals", kept) == 0
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert json.loads(kept.read_text()) == {
        "variables": {"token": "t/a", "list": [1, "x"], "made": "hidden-key!"},
        "secret": ["made"],
    }
    monkeypatch.delenv("KEY")
    recorder.requests.clear()
    second.write_text(
        f"GET {recorder.url}/{{{{token}}}}/{{{{list[1]}}}}/{{{{$global.list[0] + 1}}}}\n"
        f"###\nPOST {recorder.url}/{{{{made}}}}\n\n> {{% client.global.clear('token') %}}\n"
    )
    assert command(second, "--globals", kept, "--quiet") == 0
    paths = [request.split(b" ", 2)[1].decode() for request in recorder.requests]
    assert paths == ["/t/a/x/2", "/hidden-key!"]
    assert "token" not in json.loads(kept.read_text())["variables"]
    assert "made" in json.loads(kept.read_text())["secret"]


def test_a_run_of_tests_keeps_global_variables_too(recorder: RawServer, tmp_path: Path) -> None:
    kept, first, second = (tmp_path / name for name in ("globals.json", "a.http", "b.http"))
    first.write_text(
        f"GET {recorder.url}/a\n\n> {{% client.global.set('token', response.body.token) %}}\n"
    )
    second.write_text(f"GET {recorder.url}/{{{{token}}}}\n")
    recorder.requests.clear()
    assert command("test", first, second, "--globals", kept) == 0
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert command("test", second, "--globals", kept) == 0
    paths = [request.split(b" ", 2)[1].decode() for request in recorder.requests]
    assert paths == ["/a", "/t/a", "/t/a"]
    assert command("test", first, second, "--globals", kept, "-j", "2") == 2
    kept.write_text("[]")
    assert command("test", second, "--globals", kept) == 2
    assert kept.read_text() == "[]"


def test_a_variable_that_another_run_stored_in_the_meantime_is_not_lost(tmp_path: Path) -> None:
    kept, file = tmp_path / "globals.json", tmp_path / "a.http"
    before = {"same": 1, "gone": 2, "changed": 3}
    kept.write_text(json.dumps({"variables": before, "secret": []}))
    others = before | {"same": 10, "changed": 30, "other": [4]}

    def answer(connection: socket.socket, _: bytes) -> None:  # another run ends meanwhile
        kept.write_text(json.dumps({"variables": others, "secret": ["other"]}))
        connection.sendall(response(b"{}"))

    with RawServer(answer) as server:
        file.write_text(
            f"GET {server.url}/\n\n> {{%\nclient.global.set('changed', 33);\n"
            "client.global.set('own', 5);\nclient.global.clear('gone');\n%}\n"
        )
        for arguments in ((file,), ("test", file)):
            assert command(*arguments, "--globals", kept) == 0
            stored = json.loads(kept.read_text())
            assert stored["secret"] == ["other"]
            assert stored["variables"] == {"same": 10, "changed": 33, "other": [4], "own": 5}
            kept.write_text(json.dumps({"variables": before, "secret": []}))


def test_what_a_file_defines_counts_more_than_what_an_earlier_run_left(
    recorder: RawServer, tmp_path: Path
) -> None:
    kept, file = tmp_path / "globals.json", tmp_path / "a.http"
    kept.write_text('{"variables": {"a": "kept", "b": "kept"}, "secret": []}')
    file.write_text(f"@a = own\nGET {recorder.url}/{{{{a}}}}/{{{{b}}}}\n")
    recorder.requests.clear()
    assert command(file, "--globals", kept) == 0
    assert b"GET /own/kept " in recorder.requests[0]


def test_a_dry_run_and_a_document_alone_keep_nothing(recorder: RawServer, tmp_path: Path) -> None:
    file = tmp_path / "a.http"
    file.write_text(f"< {{% client.global.set('a', 1) %}}\nGET {recorder.url}/{{{{a}}}}\n")
    assert command(file, "--globals", tmp_path / "globals.json", "--dry-run") == 0
    assert command(file) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a.http"]


@pytest.mark.parametrize("content", ["", "[]", '{"variables": 1}', "[" * 10**5])
def test_a_file_that_keeps_no_global_variables_is_left_alone(tmp_path: Path, content: str) -> None:
    kept, file = tmp_path / "globals.json", tmp_path / "a.http"
    kept.write_text(content)
    file.write_text("GET http://localhost:1/\n")
    assert command(file, "--globals", kept) == 2
    assert kept.read_text() == content
    assert command(file, "--globals", kept, "--cookies", kept) == 2


OLDER = """\
tests["status"] = responseCode.code === 200 && responseCode.name === "OK";
tests["body"] = responseBody.has('"id"') && JSON.parse(responseBody).id === 41;
tests["header"] = postman.getResponseHeader("x-ID") === "9" && responseHeaders["X-Id"] === "9";
tests["fails"] = responseTime < 0;
postman.setEnvironmentVariable("id", JSON.parse(responseBody).id);
tests["variable"] = environment.id === "41" && postman.getEnvironmentVariable("id") === "41";
for (const name of ["a", "b"]) tests["loop " + name] = globals.id === "41";
postman.clearGlobalVariable("gone");
tests["gone"] = !("gone" in environment) && iteration === 0 && data.x === undefined;
"""


def test_scripts_of_old_collections_run_as_they_are(run) -> None:
    done = run(f"@gone = x\nGET HOST/a\n\n> {{%\n{OLDER}%}}\n\n###\nGET HOST/{{{{id}}}}\n")
    assert not done.reasons
    assert done.sent == ["GET /a", "GET /41"]
    first, _ = done.outcomes
    assert {test.name: test.held for test in first.tests} == {
        "status": True, "body": True, "header": True, "fails": False, "variable": True,
        "loop a": True, "loop b": True, "gone": True,
    }  # fmt: skip


def test_a_script_may_return_as_postmans_may(run) -> None:
    done = run(
        "GET HOST/\n\n> {%\ntests.a = true;\nif (responseCode.code === 200) return;\n"
        "tests.b = true;\n%}\n\n###\nGET HOST/\n\n> {%\ntests.a = true;\nreturn }\n%}\n"
    )
    assert [[test.name for test in each.tests] for each in done.outcomes] == [["a"], []]
    assert "SyntaxError" in done.reasons[0]


def test_names_of_old_collections_are_free_for_other_scripts(run) -> None:
    code = "const tests = [1]; let data = 2; var iteration = 3; function postman() { return 4; }"
    done = run(
        f"< {{%\n{code}\nrequest.variables.set('n', tests[0] + data + iteration + postman());\n%}}"
        "\nGET HOST/{{n}}\n"
    )
    assert done.sent == ["GET /10"]


def test_pm_changes_headers_and_knows_cookies_and_the_name(run) -> None:
    done = run(
        "### one\n< {%\npm.request.headers.add({key: 'X-A', value: '{{v}}'});\n"
        "pm.request.headers.upsert('x-b: 2');\npm.request.headers.remove('X-C');\n%}\n"
        "@v = 1\nGET HOST/\nX-B: 1\nX-C: 3\nCookie: a=b; c=d\n\n> {%\n"
        "pm.test(pm.info.requestName, () => {\n"
        "  pm.expect(pm.cookies.get('c')).to.equal('d');\n"
        "  pm.expect(pm.cookies.has('e')).to.equal(false);\n"
        "  pm.expect(pm.cookies.toObject()).to.eql({a: 'b', c: 'd'});\n});\n%}\n"
    )
    assert not done.reasons
    assert [done.header(name) for name in ("X-A", "X-B", "X-C")] == [["1"], ["2"], []]
    assert [(test.name, test.held) for test in done.outcomes[0].tests] == [("one", True)]


@pytest.mark.parametrize(
    ("code", "line", "header", "body"),
    [
        ("pm.request.method = 'put'", "PUT /?q=1", "a", "b"),
        ("pm.request.url += '&r={{v}}'", "POST /?q=1&r=1", "a", "b"),
        ("pm.request.url.update(pm.request.url.toString().replace('q', 's'))", "POST /?s=1", "a",
         "b"),
        ("pm.request.url = {raw: pm.request.url + '&r=2'}", "POST /?q=1&r=2", "a", "b"),
        ("pm.request.body = '{{v}}'", "POST /?q=1", "a", "1"),
        ("pm.request.body = {mode: 'raw', raw: pm.request.body.raw + 'c'}", "POST /?q=1", "a",
         "bc"),
        ("pm.request.body.raw = 'c'", "POST /?q=1", "a", "c"),
        ("pm.request.body.update({mode: 'urlencoded', urlencoded: [{key: 'a', value: 'b c'}]})",
         "POST /?q=1", "a", "a=b%20c"),
        ("pm.request.body.update({mode: 'none'})", "POST /?q=1", "a", ""),
        ("pm.request.headers.each((one) => { if (one.key === 'X-A') one.value += 'c'; })",
         "POST /?q=1", "ac", "b"),
        ("pm.request.headers.find((one) => one.key === 'X-A').key = 'X-C'", "POST /?q=1", None,
         "b"),
        ("pm.request.headers.one('x-a').disabled = true", "POST /?q=1", None, "b"),
        ("pm.request.upsertHeader({key: 'x-a', value: 'c'})", "POST /?q=1", "c", "b"),
    ],
)  # fmt: skip
def test_pm_changes_every_part_of_the_request(code, line, header, body, run) -> None:
    done = run(f"@v = 1\n< {{%\n{code};\n%}}\nPOST HOST/?q=1\nX-A: a\n\nb\n")
    assert not done.reasons
    assert done.sent == [line]
    assert done.header("X-A") == ([] if header is None else [header])
    assert done.body() == body


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("pm.request.url.query = 'a=b'", "pm.request.url.query cannot be changed: scripts can"),
        ("pm.request.auth = {}", "pm.request.auth cannot be changed"),
        ("pm.request.body.mode = 'file'", "pm.request.body.mode cannot be changed"),
        ("pm.request.body = {mode: 'file'}", "body mode file is not supported"),
        ("pm.request.url = {host: ['a']}", "pm.request.url must be a string"),
    ],
)
def test_a_change_that_pm_cannot_make_is_an_error(code: str, message: str, run) -> None:
    done = run(f"< {{%\n{code};\n%}}\nGET HOST/\n")
    assert message in done.reasons[0]
    assert done.sent == []


# ----------------------------------------------------------- what is sent, in scripts (JetBrains')


def test_a_script_signs_the_body_that_is_sent(run) -> None:
    done = run(
        "@user = ann\n@path = /orders/{{id}}/{{user}}\n@key = {{$uuid}}\n"
        "< {%\nrequest.variables.set('id', 7);\n"
        "request.variables.set('url', request.url.tryGetSubstituted());\n"
        "request.variables.set('body', request.body.tryGetSubstituted());\n"
        "const [, , key, key2] = request.headers.all();\n"
        "request.variables.set('key2', key.tryGetSubstitutedValue());\n"
        "client.log(request.url.getRaw());\nclient.log(key2.getRawValue());\n%}\n"
        "POST HOST{{path}}\n"
        "X-Url: {{url}}\nX-Body: {{body}}\nX-Key: {{key}}\nX-Key2: {{key2}}\n\n"
        '{"user": "{{ user }}", "token": "{{login.response.body.$.token}}"}\n'
        "###\n# @name login\nGET HOST/login\n"
    )
    assert done.sent == ["GET /login", "POST /orders/7/ann"]
    assert done.header("X-Url")[0].endswith("/orders/7/ann")
    assert done.header("X-Body") == [done.body()]
    assert done.header("X-Key") == done.header("X-Key2")
    assert [note[-8:] for note in done.outcomes[0].notes] == ["{{path}}", "{{key2}}"]


def test_a_script_reads_percent_encoded_values_as_they_are_sent(run) -> None:
    done = run(
        "@q = old\n< {%\nrequest.variables.set('q', 'n w');\n"
        "client.log(request.url.tryGetSubstituted());\n%}\nGET HOST/{{%q}}/{{%none}}\n"
    )
    assert done.outcomes[0].notes[0].endswith("/n%20w/{{%none}}")
    done = run("< {%\nrequest.url.tryGetSubstituted();\n%}\nGET HOST/{{%$guid}}\n")
    assert "{{$guid}} has a new value at each use" in done.reasons[0]


def test_an_unknown_variable_stays_as_written_in_what_a_script_reads(run) -> None:
    done = run(
        "< {%\nclient.log(request.url.tryGetSubstituted());\n"
        "request.variables.set('late', 1);\n%}\nGET HOST/{{late}}\n"
    )
    assert done.sent == ["GET /1"]
    assert done.outcomes[0].notes[0].endswith("/{{late}}")


def test_a_script_cannot_sign_a_value_that_differs_at_each_use(run) -> None:
    done = run("< {%\nrequest.body.tryGetSubstituted();\n%}\nPOST HOST/\n\n{{$uuid}}\n")
    assert done.sent == []
    assert "{{$uuid}} has a new value at each use" in done.reasons[0]
    assert "write @value = {{$uuid}} above the request, and {{value}} in the" in done.reasons[0]


def test_what_a_script_computes_from_a_secret_in_the_request_is_a_secret(run) -> None:
    done = run(
        "< {%\nconst url = [...request.url.tryGetSubstituted()];\n"
        "request.variables.set('r', url.reverse().join('').slice(0, 11));\n%}\n"
        "GET HOST/{{$processEnv KEY}}\nX-R: {{r}}\n",
        inputs={"environ": {"KEY": "hidden-1234"}},
    )
    assert done.header("X-R") == ["4321-neddih"]
    assert "4321-neddih" in done.outcomes[0].exchanges[0].request.secrets


def test_a_handler_reads_the_request_as_written_and_as_sent(run) -> None:
    done = run(
        "@v = 1\nPOST HOST/{{v}}\nX-A: a{{v}}\n\nb{{v}}\n\n> {%\n"
        "client.log(new URL(request.url()).pathname, request.url.getRaw().slice(-6));\n"
        "client.log(request.body().trim(), request.body.getRaw().trim());\n"
        "const one = request.headers.findByName('x-a');\n"
        "client.log(one.name, one.value(), one.getRawValue(), `${one.value}`);\n"
        "client.log(request.headers.all().map((h) => h.value()).includes('a1'));\n%}\n"
    )
    assert done.outcomes[0].notes == (
        "log: /1 /{{v}}", "log: b1 b{{v}}", "log: X-A a1 a{{v}} a1", "log: true",
    )  # fmt: skip


def test_a_script_has_the_dynamic_values_of_requests(run) -> None:
    text = (
        "< {%\nrequest.variables.set('x', [$uuid.length, $uuid !== $uuid, $randomInt < 1000, "
        "$timestamp, $isoTimestamp].join());\nvar $uuid = 'own';\nclient.log($uuid);\n%}\n"
        "GET HOST/{{x}}/{{$timestamp}}/{{$isoTimestamp}}\n"
    )
    done = run(text, inputs={"seed": 7})
    assert done.outcomes[0].notes == ("log: own",)
    (sent,) = done.sent
    time = "2000-01-01T00:00:00.000Z"
    assert sent == f"GET /36,true,true,946684800,{time}/946684800/{time}"
    (sent,) = run(text).sent
    script, request, _ = sent.removeprefix("GET /").split("/")
    assert 0 <= int(request) - int(script.split(",")[3]) <= 5


# ------------------------------------------------------------ variables of one request (JetBrains')


def test_a_variable_of_one_request_does_not_reach_later_requests(run) -> None:
    done = run(
        "@who = file\n###\n< {% request.variables.set('who', 'own') %}\n"
        "POST HOST/{{who}}\nX-Who: {{who}}\n\n{{who}}\n\n"
        "> {%\nclient.log(request.variables.get('who'));\n"
        "client.variables.request.set('late', response.body.path);\n%}\n"
        "?? js who + late == own/own\n"
        "###\n< {% client.log(request.variables.get('who')); %}\nGET HOST/{{who}}\n"
        "###\nGET HOST/{{late}}\n"
    )
    assert done.sent == ["POST /own", "GET /file"]
    assert done.header("X-Who", 0) == ["own"]
    assert done.body(0).strip() == "own"
    assert [test.held for test in done.outcomes[0].tests] == [True]
    assert done.outcomes[0].notes == ("log: own",)
    assert done.outcomes[1].notes == ("log: file",)
    assert "late has no value yet" in done.reasons[0]
    assert "only for another request" in done.reasons[0]


def test_the_last_of_a_requests_and_a_runs_variable_counts_within_the_request(run) -> None:
    done = run(
        "< {%\nclient.global.set('a', 'run');\nrequest.variables.set('a', 'own');\n"
        "request.variables.set('b', 'own');\nclient.global.set('b', 'run');\n%}\n"
        "GET HOST/{{a}}/{{b}}\n\n> {% request.variables.clear('a'); %}\n?? js a == run\n"
        "###\nGET HOST/{{a}}/{{b}}\n"
    )
    assert done.sent == ["GET /own/run", "GET /run/run"]
    assert [test.held for test in done.outcomes[0].tests] == [True]


def test_a_request_that_is_sent_first_does_not_get_anothers_variable(run) -> None:
    done = run(
        "@who = file\n###\n< {% request.variables.set('who', 'own') %}\n"
        "GET HOST/{{who}}?t={{login.response.body.$.token}}\n"
        "###\n# @name login\nGET HOST/{{who}}\n"
    )
    assert done.sent == ["GET /file", "GET /own?t=t/file"]


def test_each_iteration_of_a_loop_has_the_variables_of_the_script_above_it(run) -> None:
    done = run(
        "< {% request.variables.set('xs', [1, 2]) %}\n# @loop for x of xs\n"
        "GET HOST/{{x}}?n={{xs.length}}\n###\nGET HOST/{{xs}}\n"
    )
    assert done.sent == ["GET /1?n=2", "GET /2?n=2"]
    assert "xs has no value yet" in done.reasons[0]


# ------------------------------------------------------------- once for each element (JetBrains')

CLIENTS = """\
< {%
request.variables.set("clients", [{"id": 1, "name": "x"}, {"id": 2, "name": "b"}, {"id": 3}]);
%}
"""


def test_a_request_is_sent_for_each_element_of_a_list(run) -> None:
    done = run(
        CLIENTS + "POST HOST/{{$.clients..id}}?n={{ $.clients[*].id }}\nX-Id: {{$.clients..id}}\n\n"
        '{"id": {{$.clients..id}}}\n\n> {%\n'
        "client.test(`${request.iteration()} ${request.templateValue(0)}`, () =>\n"
        "  client.assert(response.body.path.startsWith('/' + request.templateValue(0))));\n%}\n"
        "?? status == 200\n\n###\nGET HOST/after\n"
    )
    assert not done.reasons
    assert done.sent == ["POST /1?n=1", "POST /2?n=2", "POST /3?n=3", "GET /after"]
    assert [done.header("X-Id", n) for n in range(3)] == [["1"], ["2"], ["3"]]
    assert done.body(2) == '{"id": 3}'
    first, _ = done.outcomes
    assert [(test.name, test.held) for test in first.tests] == [
        ("0 1", True), ("status == 200", True),
        ("1 2", True), ("status == 200", True),
        ("2 3", True), ("status == 200", True),
    ]  # fmt: skip
    assert [len(exchange.tests) for exchange in first.exchanges] == [2, 2, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CLIENTS + "GET HOST/{{$.clients..id}}/{{$.clients..name}}\n", "$.clients..id 3"),
        ("GET HOST/{{$.nobody..id}}\n", "the variable nobody is not defined"),
        ("@a = text\nGET HOST/{{$.a..id}}\n", "a is not valid JSON"),
        (
            '@a = [{"id": 1}]\n@b = {{$.a..id}}\nGET HOST/{{b}}\n',
            "{{$.a..id}} is an element of a list, so it has a value only in a request that is",
        ),
        ("@a = [1]\nGET HOST/{{$.a[?}}\n", "is not a valid JSONPath:"),
        ("@a = [1]\nGET HOST/{{$..a}}\n", "must consist of a variable and a path in it"),
        (
            f"@a = {list(range(10_001))}\nGET HOST/{{{{$.a[*]}}}}\n",
            "a request can be sent for at most 10,000 elements",
        ),
    ],
)
def test_a_list_that_cannot_be_gone_over_is_reported_and_nothing_is_sent(
    run, text: str, message: str
) -> None:
    done = run(text)
    assert not done.sent or "at most" in message
    assert message in done.reasons[0]


def test_a_list_of_the_file_or_of_an_environment_will_do(run, tmp_path: Path) -> None:
    (tmp_path / "http-client.env.json").write_text('{"dev": {"ids": [7, 8]}}')
    done = run(
        '@names = ["x", "y"]\nGET HOST/{{$.ids[*]}}/{{$.names[*]}}\n',
        inputs={"environments": ("dev",)},
    )
    assert done.sent == ["GET /7/x", "GET /8/y"]


def test_the_values_of_environments_keep_their_json_types_in_scripts(run, tmp_path: Path) -> None:
    variables = '{"a": "1", "b": "true", "c": 1, "d": true, "e": {"x": [1]}, "f": null}'
    (tmp_path / "http-client.env.json").write_text(f'{{"dev": {variables}}}')
    (tmp_path / ".env").write_text("g=1\n")
    types = "string string number boolean object string"
    done = run(
        "{{\nconsole.log([a, b, c, d, e, g].map(one => typeof one).join(' '), e.x[0]);\n}}\n"
        "GET HOST/{{a + 1}}/{{c * 2}}\n\n###\n< {%\n"
        "const got = [...'abcdeg'].map(one => typeof request.environment.get(one)).join(' ');\n"
        "client.log(got, request.environment.get('e').x[0], request.environment.get('f'));\n"
        "client.log(typeof pm.environment.get('a'));\n%}\nGET HOST/x\n",
        inputs={"environments": ("dev",)},
    )
    assert done.sent == ["GET /11/2", "GET /x"]
    assert done.log == [f"{types} 1", f"{types} 1 null", "string"]


@pytest.mark.parametrize("chosen", [(), ("dev",)])
def test_scripts_have_the_environment_that_placeholders_have(
    run, tmp_path: Path, chosen: tuple[str, ...]
) -> None:
    variables = {"$shared": {"all": "s"}, "$default": {"who": "def"}, "dev": {"who": "dev"}}
    (tmp_path / ".httpyac.json").write_text(json.dumps({"environments": variables}))
    done = run(
        "< {%\nclient.log(request.environment.get('all'), request.environment.get('who'),\n"
        "client.isEnvironmentSelected(), pm.environment.get('who'));\n%}\n"
        "GET HOST/{{all}}/{{who}}\n",
        inputs={"environments": chosen},
    )
    who = "dev" if chosen else "def"
    assert done.sent == [f"GET /s/{who}"]
    assert done.log == [f"s {who} {str(bool(chosen)).lower()} {who}"]


def test_for_an_empty_list_nothing_is_sent_and_that_is_reported(run) -> None:
    done = run("@a = []\nGET HOST/{{$.a[*].id}}\n")
    assert not done.sent
    (one,) = done.outcomes
    assert one.state == "skipped"
    assert one.reason is not None
    assert "the list is empty" in one.reason.reason


@pytest.mark.parametrize("dry", [False, True])
@pytest.mark.parametrize(
    ("skip", "sent", "note"),
    [
        ("/2$/", "13", "cancelled by a script for element 2 of the list"),
        ("/[12]$/", "3", "cancelled by a script for 2 elements of the list: 1, 2"),
    ],
)
def test_a_script_that_cancels_an_element_skips_only_this_element(
    run, dry: bool, skip: str, sent: str, note: str
) -> None:
    done = run(
        CLIENTS + "GET HOST/{{$.clients..id}}\n\n{{@request\ntest('a', () => {});\n"
        f"exports.$cancel = {skip}.test(request.url);\n}}}}\n?? status == 200\n",
        dry_run=dry,
    )
    (one,) = done.outcomes
    assert [exchange.request.url[-1] for exchange in one.exchanges] == [*sent]
    assert done.sent == [f"GET /{number}" for number in sent if not dry]
    assert (one.state, one.notes) == ("done", (note,))
    assert dry or all(len(exchange.tests) == 2 for exchange in one.exchanges)


def test_a_definition_that_scripts_read_has_the_value_for_the_current_element(run) -> None:
    done = run(
        CLIENTS + "@own = own{{$.clients..id}}\n@once = {{$uuid}}\n\n"
        "< {%\nclient.log(request.variables.get('once'));\n%}\n"
        "GET HOST/{{$.clients..id}}/{{own}}/{{once}}\n\n{{@request\nconsole.log(own, once);\n}}\n"
    )
    once, *logged = done.log
    assert logged == [f"own{number} {once}" for number in (1, 2, 3)]
    assert done.sent == [f"GET /{number}/own{number}/{once}" for number in (1, 2, 3)]


def test_a_script_that_cancels_every_element_skips_the_request(run) -> None:
    elements = f"@all = {list(range(30))}\n"
    done = run(elements + "GET HOST/{{$.all[*]}}\n\n{{@request\nexports.$cancel = true;\n}}\n")
    assert (done.sent, done.states) == ([], ["skipped"])
    assert "cancelled by a script for 30 elements of the list: 1, 2, 3, " in done.reasons[0]
    assert done.reasons[0].endswith(", 19, 20, ...")


def test_a_script_that_cancels_below_the_response_does_not_skip_the_next_element(run) -> None:
    done = run(CLIENTS + "GET HOST/{{$.clients..id}}\n\n{{@response\nexports.$cancel = true;\n}}\n")
    assert done.sent == ["GET /1", "GET /2", "GET /3"]


@pytest.mark.parametrize(
    ("fails", "notes"),
    [(2, ("stopped at element 2 of 3: the later elements were not sent",)), (3, ())],
)
def test_an_error_for_an_element_ends_the_list_and_says_so(run, fails: int, notes: object) -> None:
    script = f"{{{{@request\nif (request.url.endsWith('/{fails}')) nothing();\n}}}}\n"
    done = run(CLIENTS + "GET HOST/{{$.clients..id}}\n\n" + script)
    assert done.sent == [f"GET /{number}" for number in range(1, fails)]
    assert (done.states, done.outcomes[0].notes) == (["failed"], notes)
    urls = [exchange.request.url for exchange in done.outcomes[0].exchanges]
    assert [f"GET /{url[-1]}" for url in urls] == done.sent


def test_a_dry_run_shows_each_request(run) -> None:
    done = run(CLIENTS + "GET HOST/{{$.clients..id}}\n", dry_run=True)
    (one,) = done.outcomes
    assert [exchange.request.url.rpartition("/")[2] for exchange in one.exchanges] == [
        "1",
        "2",
        "3",
    ]
    assert not done.sent
