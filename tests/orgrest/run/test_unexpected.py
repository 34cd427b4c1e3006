"""If a script, or orgrest itself, fails in one step, the others still run, and all are reported.

Scripts are hostile: they produce results that are designed to break the code that reads them.
Faults in orgrest are injected into each stage, and the run must report each as a failure of that
request.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from components import needs_engine
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import RawServer, response

from orgrest.http.scripts import Engine, Result, ScriptError, ScriptInput
from orgrest.model import Request
from orgrest.run import stages

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUG = "This is a bug in orgrest: please report it"


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    answer = response(b'{"list": [1], "half": "\\ud800"}', "Content-Type: application/json")
    with RawServer(answer) as running:
        yield running


class Ran:
    """The report of `orgrest test` in its own process, and the requests that arrived."""

    def __init__(
        self,
        folder: Path,
        server: RawServer,
        document: str,
        *,
        before: str = "",
        name: str = "a.http",
    ) -> None:
        server.requests.clear()
        (folder / name).write_text(document.replace("HOST", server.url))
        code = f"{before}\nfrom orgrest.commands.main import main\nmain()\n"
        kinds = ("report-json", "junit", "html", "har", "tap", "jsonl")
        reports = [word for kind in kinds for word in (f"--{kind}", f"r.{kind}")]
        for one in reports[1::2]:
            (folder / one).unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", code, "test", name, *reports],
            cwd=folder, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        self.status, self.told = done.returncode, done.stderr
        self.reports = {report for report in reports[1::2] if (folder / report).exists()}
        self.missing = set(reports[1::2]) - self.reports
        report = folder / "r.report-json"
        found = json.loads(report.read_text()) if report.exists() else {"requests": []}
        self.requests: list[dict[str, Any]] = found["requests"]
        self.sent = [request.split(b" ")[1].decode() for request in server.requests]

    @property
    def reasons(self) -> str:
        return "\n".join(str(request["reason"]) for request in self.requests)


# ----------------------------------------------------------------------------- hostile scripts

HOSTILE = [
    "JSON.rawJSON('1'.repeat(6000))",
    "JSON.rawJSON('1e999')",
    "JSON.rawJSON('\"\\\\uD800\"')",
    "NaN", "-Infinity", "-0", "10n ** 400n", "Symbol('x')", "null", "undefined", "() => 1",
    "'\\ud800'", "'\\udc80'", "'x'.repeat(1e6)", "'\\0\\u001b[31m\\u202e'",
    "new Date(NaN)", "new Proxy({}, {get() { throw new Error('no') }})",
    "new Proxy([], {ownKeys() { return ['length', 1] }})",
    "({get a() { throw new Error('no') }})", "({toJSON() { throw new Error('no') }})",
    "({toJSON() { return undefined }})", "({toString() { return {} }})",
    "(() => { const a = []; a.push(a); return a })()",
    "(() => { let a = 1; for (let i = 0; i < 3000; i++) a = [a]; return a })()",
    "(() => { let a = 1; for (let i = 0; i < 700; i++) a = {a}; return a })()",
    "({__proto__: null, '\\ud800': 1})", "({constructor: 5, __proto__: {x: 1}})",
    "new Uint8Array(10)", "new Map([[1, 2]])", "Object(Symbol.iterator)", "new Error('\\ud800')",
]  # fmt: skip

PLACES = [
    "exports.a = VALUE",
    "exports[VALUE] = 1",
    "exports.$cancel = VALUE",
    "console.log(VALUE)",
    "test(VALUE, VALUE)",
    "throw VALUE",
    "$global.a = VALUE",
    "request.url = VALUE",
    "request.method = VALUE",
    "request.headers = VALUE",
    "request.headers.X = VALUE",
    "request.body = VALUE",
    "pm.sendRequest(VALUE, VALUE)",
    "await pm.sendRequest({url: 'http://127.0.0.1:1/', body: VALUE, header: VALUE, method: VALUE})",
    "setTimeout(VALUE, VALUE); await sleep(VALUE)",
    "pm.test(VALUE, () => { throw VALUE })",
    "pm.variables.set('a', VALUE); pm.variables.set(VALUE, VALUE)",
    "Object.prototype.toJSON = () => VALUE",
    "Array.prototype.join = () => VALUE; console.log(1)",
    "Math.max = () => VALUE; Math.min = () => VALUE; setTimeout(() => 1, 5); await sleep(1)",
    "String = () => VALUE; Promise.prototype.then = VALUE",
]


@pytest.mark.slow
@needs_engine
@pytest.mark.parametrize("place", PLACES)
def test_no_value_of_a_script_ends_a_run(server, tmp_path: Path, place: str) -> None:
    kinds = {
        "n": "# @name n{}\n{{{{\n{}\n}}}}\nGET HOST/one\n\nx{{{{a}}}}\n",
        "r": "# @name r{}\n{{{{@request\n{}\n}}}}\nGET HOST/one\n",
        "s": "# @name s{}\nGET HOST/one\n\n{{{{@response\n{}\n}}}}\n",
    }
    first = PLACES.index(place)
    names = [f"{'nrs'[(first + number) % 3]}{number}" for number in range(len(HOSTILE))]
    parts = [
        kinds[name[0]].format(name[1:], place.replace("VALUE", f"({value})"))
        for name, value in zip(names, HOSTILE, strict=True)
    ]
    parts.append("# @name teardown\nGET HOST/teardown\n")
    ran = Ran(tmp_path, server, "\n###\n".join(parts))
    assert [request["name"] for request in ran.requests] == [*names, "teardown"]
    assert ran.sent[-1] == "/teardown"
    assert not ran.missing
    assert "Traceback" not in ran.told
    assert BUG not in ran.reasons


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
GOOD: dict[str, Any] = {
    "log": ["a"], "tests": [{"name": "t", "ok": True, "message": ""}], "canceled": False,
    "request": {"method": "GET", "url": "http://a/", "headers": [["a", "b"]], "body": None},
    "variables": {"v": {"text": "1", "value": 1, "number": 0}}, "removed": ["r"],
    "globals": {"g": 1}, "next": 1,
}  # fmt: skip


@st.composite
def forged(draw: st.DrawFn) -> object:
    """Return a script's results with one value replaced."""
    made = json.loads(json.dumps(GOOD))
    at: Any = made
    while True:
        if not at:
            return made
        key = draw(st.sampled_from(list(at) if isinstance(at, dict) else range(len(at))))
        if not isinstance(at[key], dict | list) or draw(st.booleans()):
            if draw(st.booleans()) or isinstance(at, list):
                at[key] = draw(JSON)
            else:
                del at[key]
            return made
        at = at[key]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as running:
        yield running


def conforms(result: Result) -> None:
    """Assert that every part of a result that is read has its declared type."""
    for text in (*result.log, *result.removed, *result.variables, *result.globals_):
        assert isinstance(text, str)
        text.encode()
    for test in result.tests:
        f"{test.name}{test.reason}".encode()
        assert isinstance(test.held, bool)
    for made in result.variables.values():
        (made.text or "").encode()
        assert made.number is None or isinstance(made.number, int)
        json.dumps(made.json, allow_nan=False, ensure_ascii=False).encode()
    json.dumps(result.globals_, allow_nan=False, ensure_ascii=False).encode()
    assert isinstance(result.cancelled, bool)
    if result.request is not None:
        assert result.request.keys() == {"method", "url", "headers", "body"}
        for name, value in result.request["headers"]:
            f"{name}{value}{result.request['method']}{result.request['url']}".encode()


@pytest.mark.slow
@needs_engine
@settings(max_examples=150, deadline=None)
@given(made=st.one_of(forged(), JSON))
def test_forged_results_are_a_scripts_failure(engine: Engine, made: object) -> None:
    text = json.dumps(json.dumps(made))
    code = f"""
    const made = JSON.parse({text});
    Object.prototype.toJSON = function () {{
      if (!("removed" in this)) return this;
      delete Object.prototype.toJSON;
      return made;
    }};
    """
    try:
        conforms(engine.run(code, "jetbrains", ScriptInput(), Request("GET", "http://a/")))
    except ScriptError as error:
        if error.result is not None:
            conforms(error.result)


# ----------------------------------------------------------------------------------- faults

PATCH = """
import importlib, os
def broken(module, name, only):
    owner = importlib.import_module(module)
    *path, name = name.split(".")
    for part in path:
        owner = getattr(owner, part)
    kept, calls = getattr(owner, name), iter(range(10 ** 9))
    def fault(*given, **named):
        if next(calls) == only:
            os.write(2, b"fault!")
            raise KeyError("secret-of-a-user")
        return kept(*given, **named)
    setattr(owner, name, fault)
"""

WHOLE = """\
# @name setup
GET HOST/setup

###
# @name one
# @sleep 1
{{
exports.a = 1;
}}
GET HOST/one?{{a}}
X: {{$uuid}}

?? status == 200
?? body $.list[0] == 1

>> ./saved.bin

{{
test("t", () => 1);
}}

###
@id = {{$uuid}}
# @name two
GET HOST/two?{{one.list[0]}}

###
# @name three
GET HOST/three

###
# @name teardown
GET HOST/teardown
"""

# The stages that the document does not need are called in the same way.
STAGES = sorted(
    {
        stage
        for table in (stages.BEFORE, stages.COMPLETED, stages.SENT)
        for kind, stage in table
        if kind not in ("captures", "secrets")
    }
)
FAULTS = [
    *(
        (f"orgrest.run{module}", name)
        for module, _, name in (stage.rpartition(".") for stage in STAGES)
    ),
    ("orgrest.run.stages", "do"),
    ("orgrest.run.job", "Job.begin"),
    ("orgrest.run.job", "Job.keep"),
    ("orgrest.run.job", "Job.outcome"),
    ("orgrest.run.results", "RequestResults.keep"),
    ("orgrest.run.documents.request_file", "RequestFile._task"),
    ("orgrest.run.documents.request_file", "RequestFile.place"),
    ("orgrest.run.record", "of_outcome"),
    ("orgrest.run.history", "History._write"),
    ("orgrest.run.stages.expand", "expand"),
    ("orgrest.http.transport.client", "Client.send"),
    ("orgrest.http.scripts", "Engine.run"),
    ("orgrest.rendering.masking", "mask"),
]

LATER = [("orgrest.run.stages", "do", 2), ("orgrest.http.transport.client", "Client.send", 1)]


@pytest.mark.slow
@needs_engine
@pytest.mark.parametrize(("module", "name", "only"), [*((*fault, 0) for fault in FAULTS), *LATER])
def test_a_fault_in_a_stage_is_that_requests_failure(
    server, tmp_path: Path, module: str, name: str, only: int
) -> None:
    before = f"{PATCH}\nbroken({module!r}, {name!r}, {only})\n"
    ran = Ran(tmp_path, server, WHOLE, before=before)
    assert "Traceback" not in ran.told
    assert "secret-of-a-user" not in ran.told + ran.reasons
    assert not ran.missing
    assert {request["name"] for request in ran.requests} == {
        "setup",
        "one",
        "two",
        "three",
        "teardown",
    }
    assert "fault!" in ran.told
    assert "/teardown" in ran.sent
    broken = [request for request in ran.requests if BUG in str(request["reason"])]
    assert len(broken) <= 2  # the request, and the one that refers to it
    for one in broken:
        assert one["outcome"] == "error"
        assert "KeyError in orgrest." in one["reason"]


@pytest.mark.parametrize("report", ["junit", "html", "tap", "har", "data"])
def test_a_fault_in_a_report_costs_no_other_report(server, tmp_path: Path, report: str) -> None:
    before = f"{PATCH}\nbroken('orgrest.reports.{report}', 'pieces', 0)\n"
    ran = Ran(tmp_path, server, WHOLE, before=before)
    assert len(ran.missing) == 1
    assert ran.status == 1
    assert BUG in ran.told
    assert "Traceback" not in ran.told
