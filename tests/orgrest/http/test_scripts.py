"""Scripts can do what JetBrains' HTTP Client and httpyac document, and nothing else."""

from __future__ import annotations

import hmac
import json
import re
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest
from components import needs_engine

from orgrest import classes
from orgrest.http import scripts
from orgrest.http.sandbox import process
from orgrest.http.script_value import ScriptValue
from orgrest.http.scripts import Engine, ScriptError, ScriptInput
from orgrest.model import Request, Response, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = needs_engine

REQUEST = Request("POST", "http://a/login", (("Content-Type", "text/plain"),), b"sent")
RESPONSE = Response(
    status=200,
    reason="OK",
    version="1.1",
    headers=(("Content-Type", "application/json; charset=utf-8"), ("X-Id", "7"), ("x-id", "8")),
    body=b'{"token": "t", "data": [{"id": 7}, {"id": 8}]}',
    duration=0.1,
    url="http://a/login",
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as running:
        yield running


def jetbrains(engine: Engine, code: str, **context: object) -> scripts.Result:
    return engine.run(code, "jetbrains", ScriptInput(**context), REQUEST, RESPONSE)  # type: ignore[arg-type]


def httpyac(engine: Engine, code: str, **context: object) -> scripts.Result:
    return engine.run(code, "httpyac", ScriptInput(**context), REQUEST, RESPONSE)  # type: ignore[arg-type]


def test_tests_of_a_handler_are_reported_with_their_reasons(engine: Engine) -> None:
    result = jetbrains(
        engine,
        """
        client.test("holds", function () { client.assert(response.status === 200, "no"); });
        client.test("fails", () => client.assert(response.status === 201, "not created"));
        client.test("silent", () => client.assert(false));
        client.test("breaks", () => { nothing.there; });
        """,
    )
    assert result.tests == (
        Verdict("holds", True, "", about_status=True),
        Verdict("fails", False, "not created", about_status=True),
        Verdict("silent", False, "Assertion failed", about_status=True),
        Verdict("breaks", False, "nothing is not defined", about_status=True),
    )


def test_a_handler_sees_the_response_and_sets_globals(engine: Engine) -> None:
    result = jetbrains(
        engine,
        """
        client.global.set("token", response.body.token);
        client.global.clear("old");
        client.log(response.headers.valueOf("x-ID"), response.headers.valuesOf("X-Id"));
        client.log(response.contentType.mimeType, response.contentType.charset);
        client.log(jsonPath(response.body, "$.data[0].id"), jsonPath(response.body, "$..id"));
        client.log(client.global.get("nope"), client.global.isEmpty());
        """,
        globals_={"old": "1", "kept": "2"},
    )
    assert result.globals_ == {"kept": "2", "token": "t"}
    assert result.log == ('7 ["7","8"]', "application/json utf-8", "7 [7,8]", "null false")


def test_a_script_above_a_request_sets_its_variables(engine: Engine) -> None:
    result = engine.run(
        """
        request.variables.set("now", request.environment.get("host") + request.variables.get("a"));
        client.log(request.method, request.url.getRaw(), request.body.getRaw());
        client.log(request.headers.findByName("content-type").getRawValue());
        """,
        "jetbrains",
        ScriptInput(variables={"a": "b"}, environment={"host": "h"}),
        REQUEST,
    )
    assert result.own == {"now": ScriptValue("hb", "hb")}
    assert result.log == ("POST http://a/login sent", "text/plain")


def test_a_handler_that_wants_xml_as_a_document_is_told_what_to_do(engine: Engine) -> None:
    headers = (("Content-Type", "application/soap+xml"),)
    xml = classes.evolve(RESPONSE, headers=headers, body=b"<r><i/></r>")
    code = """
    client.test("i", () => client.assert(response.body.getElementsByTagName("i").length === 1));
    client.test("r", () => client.assert(response.body.documentElement !== null));
    client.test("text", () => client.assert(response.body.includes("<i/>")));
    """
    result = engine.run(code, "jetbrains", ScriptInput(), REQUEST, xml)
    assert [test.held for test in result.tests] == [False, False, True]
    for test in result.tests[:2]:
        assert "XML is text here. Check it with an assertion such as ?? xpath" in test.reason
    assert "documentElement" in result.tests[1].reason


NDJSON = "application/x-ndjson"
SSE = "text/event-stream"
EVENTS = b': hello\nid: 1\ndata: {"a": 1}\n\ndata:x\ndata\ndata: y\n\nevent: ping\n\n'


@pytest.mark.parametrize(
    ("kind", "body", "call", "expected"),
    [
        (NDJSON, b'{"a":1}\n{"a":2}\n', "onEachLine((line) => client.log(line.a))", ("1", "2")),
        (NDJSON, b'{"a":1}\n', "onEachLine((line) => client.log(line.a))", ("1",)),
        (NDJSON, b'{"a":1}\nx\n', "onEachMessage((line) => client.log(line))", ('{"a":1}', "x")),
        (
            SSE,
            EVENTS,
            "onEachLine((line) => client.log(line.slice(0, 6)))",
            (": hell", "id: 1", "data: ", "", "data:x", "data", "data: ", "", "event:", ""),
        ),
        (
            SSE,
            EVENTS.replace(b"\n", b"\r\n"),
            "onEachMessage((message) => client.log(message), () => client.log('end'))",
            ('{"a": 1}', "x\n\ny", "end"),
        ),
        (
            "text/plain",
            b"one\ntwo\n",
            "onEachMessage((m, stop) => {client.log(m); stop()})",
            ("one",),
        ),
        ("text/plain", b"", "onEachLine((line) => client.log(line))", ()),
    ],
)
def test_a_handler_gets_each_line_or_message_of_a_stream(
    kind: str, body: bytes, call: str, expected: tuple[str, ...], engine: Engine
) -> None:
    response = classes.evolve(RESPONSE, headers=(("Content-Type", kind),), body=body)
    result = engine.run(f"response.body.{call};", "jetbrains", ScriptInput(), REQUEST, response)
    assert result.log == expected


def test_a_handler_that_replies_to_a_message_is_told_what_to_do(engine: Engine) -> None:
    response = classes.evolve(RESPONSE, headers=(), body=b"one\n")
    code = "response.body.onEachMessage((message, stop, output) => output('two'));"
    with pytest.raises(ScriptError, match="write the messages in the body of the request, sep"):
        engine.run(code, "jetbrains", ScriptInput(), REQUEST, response)


def test_exit_ends_a_script_without_an_error(engine: Engine) -> None:
    assert jetbrains(engine, "client.log(1); client.exit(); client.log(2)").log == ("1",)
    result = jetbrains(engine, "client.test('a', () => client.exit()); client.log(2)")
    assert ([(test.name, test.held) for test in result.tests], result.log) == ([("a", True)], ())


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ('crypto.sha256().updateWithText("abc").digest().toHex()',
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        ('crypto.md5().updateWithHex("616263").digest().toBase64()', "kAFQmDzST7DWlj99KOF/cg=="),
        ('crypto.sha1().updateWithBase64("YWJj").digest().toHex()',
         "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ('crypto.hmac.sha256().withTextSecret("key").updateWithText("a lazy dog").digest().toHex()',
         hmac.new(b"key", b"a lazy dog", "sha256").hexdigest()),
        ('btoa("a:b")', "YTpi"),
        ('atob("YTpi")', "a:b"),
    ],
)  # fmt: skip
def test_digests_are_those_of_the_standards(engine: Engine, code: str, shown: str) -> None:
    assert jetbrains(engine, f"client.log({code})").log == (shown,)


def test_httpyacs_scripts_export_variables_and_may_wait() -> None:
    with Engine() as engine:
        result = httpyac(
            engine,
            """
        exports.token = response.parsedBody.token + await Promise.resolve(base);
        test("status", () => { if (response.statusCode !== 200) throw new Error("no"); });
        test("later", async () => { await null; throw new Error("late"); });
        console.log(login.id, request.method, response.headers["x-id"]);
        """,
            variables={"base": "!", "login": {"id": 3}},
        )
    assert result.variables == {"token": ScriptValue("t!", "t!", 0)}
    assert result.tests == (
        Verdict("status", True, "", about_status=True),
        Verdict("later", False, "late", about_status=True),
    )
    assert result.log == ('3 POST ["7","8"]',)
    assert not result.cancelled


def test_httpyacs_scripts_can_cancel_a_request(engine: Engine) -> None:
    assert httpyac(engine, "exports.$cancel = true").cancelled


@pytest.mark.parametrize("host", ["jetbrains", "httpyac"])
@pytest.mark.parametrize(
    ("code", "reason", "line"),
    [
        ("let a = 1;\nnothing();", "script: ReferenceError: nothing is not defined", 2),
        ("let a = ;", "script: SyntaxError: unexpected token in expression: ';'", 1),
        ("\n\nrequire('fs')", 'script: Error: require("fs") is not available', 3),
    ],
)
def test_an_error_says_what_and_where(
    engine: Engine, host: str, code: str, reason: str, line: int
) -> None:
    with pytest.raises(ScriptError) as caught:
        engine.run(code, host, ScriptInput(), REQUEST)
    assert caught.value.reason.startswith(reason)
    assert caught.value.line == line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("while (true);", "the script did not finish within 0.5 s"),
        ("const a = []; while (true) a.push(new Array(1000).fill(a.length))", "more than 64 MiB"),
        ("const a = []; while (a.length < 20) a.push(new Uint8Array(2 ** 23))", "more than 64 MiB"),
        ("let a = 'x'; while (true) a += a", "string too long"),
        ("(function f() { return f() + 1; })()", "Maximum call stack size exceeded"),
        ("/(a+)+$/.test('a'.repeat(40) + 'b')", "the script did not finish within 0.5 s"),
    ],
)
def test_a_script_without_end_or_bounds_is_stopped(code: str, reason: str) -> None:
    with Engine(timeout=0.5 if "0.5" in reason else 20) as engine:
        with pytest.raises(ScriptError, match=reason):
            engine.run(code, "jetbrains", ScriptInput(), REQUEST)
        engine._timeout = 20
        assert engine.run("client.log(1)", "jetbrains", ScriptInput(), REQUEST).log == ("1",)


def test_too_much_output_is_refused(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "MAX_OUTPUT", 1000)
    with pytest.raises(ScriptError, match="the script returned more than"):
        engine.run("client.log('x'.repeat(5000))", "jetbrains", ScriptInput(), REQUEST)


def test_a_script_sees_nothing_of_the_machine(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORGREST_SECRET", "hidden")
    code = """
    const names = [];
    for (let object = globalThis; object; object = Object.getPrototypeOf(object))
        names.push(...Object.getOwnPropertyNames(object));
    client.log(JSON.stringify(names));
    """
    names = json.loads(jetbrains(engine, code).log[0])
    assert not {"process", "std", "os", "fetch", "XMLHttpRequest", "scriptArgs"} & set(names)
    assert not [name for name in names if name.startswith("__host")]
    for escape in ("import('fs')", "new Function('return process')()", "globalThis.constructor"):
        try:
            shown = jetbrains(engine, f"client.log(String({escape}))").log
        except ScriptError:
            continue
        assert "hidden" not in "".join(shown)


def test_contexts_do_not_share_what_scripts_define(engine: Engine) -> None:
    jetbrains(engine, "globalThis.left = 1; Object.prototype.left = 2; JSON.parse = () => 3")
    result = jetbrains(engine, "client.log(typeof left, ({}).left === undefined, JSON.parse('4'))")
    assert result.log == ("undefined true 4",)


def test_without_the_engine_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "find_spec", lambda _: None)
    with (
        Engine() as engine,
        pytest.raises(ScriptError, match=r"pip install .*quickjs-ng"),
    ):
        engine.run("1", "jetbrains", ScriptInput(), REQUEST)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ('atob("!!")', "atob: not valid Base64: !!"),
        ('atob("YTp=i")', "atob: not valid Base64"),
        ('atob("a")', "atob: not valid Base64"),
        ('btoa("\\u2603")', "btoa: the text contains characters above U+00FF"),
        ('crypto.sha256().updateWithHex("xy").digest().toHex()', "crypto: non-hexadecimal"),
        ('crypto.md5().updateWithBase64("a").digest().toHex()', "crypto: "),
        ('jsonPath("{}", "$[")', "jsonPath: "),
    ],
)
def test_a_function_that_fails_says_what_failed(code: str, message: str) -> None:
    with Engine() as engine:
        with pytest.raises(ScriptError, match=re.escape(message)) as failed:
            jetbrains(engine, code)
        assert "Python" not in failed.value.reason
        given = "let said; try { CODE } catch (error) { said = error.message; } client.log(said)"
        assert message in jetbrains(engine, given.replace("CODE", code)).log[0]  # it can be caught


def test_an_engine_that_died_is_reported_and_started_again() -> None:
    with Engine() as engine:
        engine._sandbox._started().kill()
        with pytest.raises(ScriptError, match="the script exceeded its"):
            engine.run("1", "jetbrains", ScriptInput(), REQUEST)
        assert engine.run("client.log(1)", "jetbrains", ScriptInput(), REQUEST).log == ("1",)


def test_starting_scripts_costs_nothing_where_there_are_none() -> None:
    code = "import sys, orgrest.http.scripts, orgrest.run.run; print('quickjs' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_script_that_waits_for_a_busy_machine_is_no_script_that_takes_too_long() -> None:
    with Engine(timeout=0.3) as engine:
        code, context = "client.log('done')", ScriptInput()
        engine.run(code, "jetbrains", context, Request("GET", "http://x/"))
        process = engine._sandbox._process
        assert process is not None
        process.send_signal(signal.SIGSTOP)
        threading.Timer(1.0, process.send_signal, [signal.SIGCONT]).start()
        result = engine.run(code, "jetbrains", context, Request("GET", "http://x/"))
    assert result.log == ("done",)


@pytest.mark.parametrize(
    ("host", "code"),
    [
        ("jetbrains", "response.body"),
        ("jetbrains", "pm.response.json()"),
        ("jetbrains", "pm.response.responseSize"),
        ("jetbrains", "pm.response.to.have.body()"),
        ("jetbrains", "responseBody"),
        ("httpyac", "response.body"),
        ("httpyac", "response.parsedBody"),
        ("httpyac", "response.rawBody"),
        ("httpyac", "big.body"),
    ],
)
def test_a_script_cannot_take_the_beginning_of_a_body_for_all_of_it(
    engine: Engine, host: str, code: str
) -> None:
    cut = classes.evolve(RESPONSE, truncated=True)
    script_input = ScriptInput(responses={"big": cut})
    with pytest.raises(ScriptError, match="the body is larger than 46 bytes: the rest was not rea"):
        engine.run(code, host, script_input, REQUEST, cut)
    status = {"jetbrains": "client.log(response.status)", "httpyac": "console.log(big.statusCode)"}
    assert engine.run(status[host], host, script_input, REQUEST, cut).log == ("200",)
