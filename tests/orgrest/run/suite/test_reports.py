"""The reports of a run: other programs can read them, and no content breaks them."""

from __future__ import annotations

import io
import json
import os
import random
import re
import socket
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from components import require
from hostile import HOSTILE
from imports import imported, sent
from servers import RawServer, by_path, closing, response, silent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
DOCUMENT = """### fine & <good>
GET HOST/json?q=1&q=two
?? status == 200

### wrong
POST HOST/echo
Content-Type: text/plain

a text
?? status == 404
?? body contains nothing

### no answer
GET HOST/short

### picture
GET HOST/png

### left out
# @disabled
GET HOST/json
"""
EVERY = ("--junit", "r.xml", "--tap", "r.tap", "--har", "r.har", "--html", "r.html")


@pytest.fixture
def reported(run, folder: Path) -> Callable[..., Path]:
    def call(text: str = DOCUMENT, *arguments: str) -> Path:
        run("a.http", *EVERY, "--jsonl", "r.jsonl", *arguments, a_http=text)
        return folder

    return call


class TestJUnit:
    def test_the_report_is_valid_by_the_schema_that_ci_systems_follow(self, reported) -> None:
        import xmlschema

        xmlschema.XMLSchema(str(HERE / "junit-10.xsd")).validate(str(reported() / "r.xml"))

    def test_junitparser_reads_what_failed_and_why(self, reported) -> None:
        from junitparser import Error, Failure, JUnitXml, Skipped

        report = JUnitXml.fromfile(str(reported() / "r.xml"))
        assert (report.tests, report.failures, report.errors, report.skipped) == (5, 1, 1, 1)
        [suite] = report
        cases = {case.name: case for case in suite}
        assert list(cases) == ["fine & <good>", "wrong", "no answer", "picture", "left out"]
        [failure] = cases["wrong"].result
        assert isinstance(failure, Failure)
        assert failure.message == "a.http:10: status == 404: status is 200"
        assert "body contains nothing" in failure.text
        assert ": 200 OK\n  POST /echo HTTP/1.1\n" in failure.text
        assert failure.text.endswith("\n  a text")
        assert isinstance(cases["no answer"].result[0], Error)
        assert isinstance(cases["left out"].result[0], Skipped)
        assert cases["fine & <good>"].result == []
        assert failure.text.startswith("a.http:6\n")  # a case has no such attribute
        assert cases["wrong"]._elem.keys() == ["name", "classname", "time"]
        assert re.fullmatch(r"[0-9]+\.[0-9]{3}", cases["wrong"]._elem.get("time"))

    def test_notes_are_the_output_of_a_request_whatever_its_outcome(
        self, run, folder: Path
    ) -> None:
        import xmlschema

        block = "#+begin_src http :expect {}\nGET HOST/json\n#+end_src\n\n"
        for status in ("200", "404"):
            run("a.org", *EVERY, a_org=f"#+RESULTS:\n{block}{block}{block}".format(1, status, 200))
            xmlschema.XMLSchema(str(HERE / "junit-10.xsd")).validate(str(folder / "r.xml"))
            first, second = ElementTree.parse(folder / "r.xml").findall(".//testcase")
            note = first.findtext("system-out") or ""
            assert note.startswith("line 2: a request right below #+RESULTS:")
            assert len(first.findall("failure")) == (status == "404")
            assert second.find("system-out") is None
            assert f"\n# {note}\n" in (folder / "r.tap").read_text()

    def test_each_row_of_data_is_a_suite(self, reported, folder: Path) -> None:
        from junitparser import JUnitXml

        (folder / "rows.csv").write_text("a\n1\n2\n")
        report = JUnitXml.fromfile(str(reported("GET HOST/json", "--data", "rows.csv") / "r.xml"))
        assert [suite.name for suite in report] == ["a.http, row 1", "a.http, row 2"]

    def test_gitlab_shows_each_request_with_its_outcome_and_reason(self, reported) -> None:
        twice = "### login\nGET HOST/json\n?? status == 200\n"
        repeated = "### turns\n# @loop for 3\nGET HOST/json\n### turns (2)\nGET HOST/json\n"
        folder = reported(DOCUMENT + twice + twice.replace("200", "404") + repeated)
        lines = (folder / "r.jsonl").read_text().splitlines()
        records = [one for one in map(json.loads, lines) if "outcome" in one]
        shown = _shown_by_gitlab((folder / "r.xml").read_text())
        assert [outcome for _, outcome, _ in shown.values()] == [
            record["outcome"] for record in records
        ]
        names = [name for _, name in shown]
        assert names[5:7] == ["login", "login (2)"]
        assert names[7:] == ["turns", "turns (2)", "turns (3)", "turns (2) (2)"]
        assert shown["a.http", "login (2)"][2].startswith("a.http:")
        assert "status == 404: status is 200" in shown["a.http", "login (2)"][2]
        assert all(seconds >= 0 for seconds, _, _ in shown.values())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.http", "@v = {{$uuid}}\n### \n# @loop for 2\nGET HOST/{{v}}\n?? status == 404\n"),
        ("a.http", "GET HOST/json?{{$randomInt}}\n###\nGET HOST/json?{{$randomInt}}\n"),
        ("a.http", "GET http://127.0.0.1:1/{{$uuid}}\n"),
        ("a.org", "#+begin_src http\nGET HOST/json\n?a={{$uuid}}\n#+end_src\n"),
    ],
)
def test_the_names_of_unnamed_requests_are_unique_and_the_same_in_every_run(
    run, folder: Path, name: str, text: str
) -> None:
    found = []
    for _ in range(2):
        run(name, *EVERY, **{name.replace(".", "_"): text})
        cases = ElementTree.parse(folder / "r.xml").findall("./testsuite/testcase")
        tap = re.findall(r"^(?:not )?ok \d+ - (.*)$", (folder / "r.tap").read_text(), re.MULTILINE)
        found.append(([case.attrib["name"] for case in cases], tap))
    assert found[0] == found[1]
    assert all(len({*names}) == len(names) for names in found[0])
    assert "{{" in found[0][0][0]


def _shown_by_gitlab(text: str) -> dict[tuple[str, str], tuple[float, str, str]]:
    """Read a report by GitLab's published rules: seconds, outcome and output of each case.

    A case is identified by `classname` and `name`; of several, only the first counts. The first of
    `failure`, `error` and `skipped`, in this order, is its outcome, and that element's content is
    the output. Source: docs.gitlab.com, Unit test reports, "JUnit XML format specification".
    """
    found: dict[tuple[str, str], tuple[float, str, str]] = {}
    for case in ElementTree.fromstring(text).findall("./testsuite/testcase"):
        outcome, output = "passed", ""
        for tag, word in (("failure", "failed"), ("error", "error"), ("skipped", "skipped")):
            element = case.find(tag)
            if element is not None and outcome == "passed":
                outcome, output = word, element.text or ""
        key = case.attrib["classname"], case.attrib["name"]
        found.setdefault(key, (float(case.attrib["time"]), outcome, output))
    return found


class TestTap:
    def test_each_request_is_a_line_and_failures_say_why(self, reported) -> None:
        lines = (reported() / "r.tap").read_text().splitlines()
        assert lines[:3] == ["TAP version 13", "1..5", "ok 1 - a.http:2 fine & <good>"]
        tests = [line for line in lines if re.match("(not )?ok ", line)]
        assert [line.startswith("ok") for line in tests] == [True, False, False, True, True]
        assert tests[-1].endswith("# SKIP it is disabled")
        assert '    - message: "a.http:10: status == 404: status is 200"' in lines

    def test_prove_reads_the_report(self, reported) -> None:
        failing = "{% client.test('login', () => client.assert(false, 'not \"created\"')); %}"
        more = f"\n###\nGET HOST/json\n> {failing}\n\n###\nGET HOST/json\nX: {{{{nowhere}}}}\n"
        command = [require("prove"), "--exec", "cat", str(reported(DOCUMENT + more) / "r.tap")]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert "Tests: 7 Failed: 4" in done.stdout
        assert "Failed tests:  2-3, 6-7" in done.stdout
        assert "Parse errors" not in done.stdout


@pytest.mark.parametrize("again", [False, True])
def test_a_run_that_ended_before_anything_was_sent_never_looks_successful(
    reported, folder: Path, *, again: bool
) -> None:
    from junitparser import Error, JUnitXml

    from orgrest.commands.main import main

    reported(DOCUMENT, "--wait-for", "http://127.0.0.1:1/", "--wait-timeout", "0.1")
    if again:
        with pytest.raises(SystemExit):
            main(["report", "r.jsonl", "--junit", "r.xml", "--tap", "r.tap"])
    why = "http://127.0.0.1:1/ was not ready within 0.1 s (--wait-timeout)"
    assert (folder / "r.tap").read_text().splitlines()[-1].startswith(f"Bail out! {why}")
    report = JUnitXml.fromfile(str(folder / "r.xml"))
    assert (report.tests, report.errors, report.failures) == (6, 1, 0)
    (error,) = [each for suite in report for case in suite for each in case.result
                if isinstance(each, Error)]  # fmt: skip
    assert error.message.startswith(why)


def test_prove_fails_if_the_service_never_came_up(reported) -> None:
    folder = reported(DOCUMENT, "--wait-for", "http://127.0.0.1:1/", "--wait-timeout", "0.1")
    command = [require("prove"), "--exec", "cat", str(folder / "r.tap")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "Further testing stopped: http://127.0.0.1:1/ was not ready" in done.stderr


class TestData:
    def test_a_report_can_go_to_standard_output(self, run) -> None:
        done = run("a.http", "--tap", "-", a_http="GET HOST/json")
        assert done.out.startswith("TAP version 13\n1..1\nok 1 - a.http:1")

    def test_lines_are_written_as_requests_are_done_and_hold_what_the_report_has(
        self, reported, run, folder: Path
    ) -> None:
        from orgrest.run.suite.spool import read

        head, records, summary = read(reported() / "r.jsonl")
        report = run("a.http").report
        assert {*head} == {"format", "orgrest", "started"}
        assert {*summary} == {*report["summary"]}
        assert [{*record} for record in records] == [{*request} for request in report["requests"]]
        assert [record["outcome"] for record in records] == [
            request["outcome"] for request in report["requests"]
        ]

    @pytest.mark.parametrize("text", ["", "[1]\n", '{"format": 9}\n', "{}"])
    def test_what_is_no_record_of_a_run_is_refused(self, folder: Path, text: str) -> None:
        from orgrest.model import OrgrestError
        from orgrest.run.suite.spool import read

        (folder / "x.jsonl").write_text(text)
        with pytest.raises(OrgrestError, match=r"not a record|not a file written by"):
            read(folder / "x.jsonl")

    def test_a_damaged_record_is_refused_with_its_line_and_never_breaks_a_report(
        self, reported, folder: Path, capfd: pytest.CaptureFixture[str], long_mode: bool
    ) -> None:
        from orgrest.commands.main import main

        openapi = '{"openapi": "3.1.0", "paths": {"/json": {"get": {"responses": {}}}}}'
        (folder / "api.json").write_text(openapi)
        path = reported(DOCUMENT, "--repeat", "2", "--openapi", "api.json") / "r.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        places = [(number, way) for number, line in enumerate(lines) for way in _ways(line)]
        refused, most = 0, 200 if long_mode else 20
        for number, way in random.Random(1).sample(places, most):
            for value in (3, 1.5, "x", None, [3], {"a": 3}):
                damaged = json.loads(json.dumps(lines[number]))
                inner = damaged
                for key in way[:-1]:
                    inner = inner[key]
                inner[way[-1]] = value
                written = [*lines[:number], damaged, *lines[number + 1 :]]
                (folder / "t.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in written))
                with pytest.raises(SystemExit) as ended:
                    main(["report", "t.jsonl", *EVERY])
                err = capfd.readouterr().err
                if ended.value.code:
                    why = f"orgrest: t.jsonl:{number + 1}: not a record written by `orgrest test`\n"
                    assert err == why if number else "not a file written by" in err
                    refused += 1
        assert refused > 3 * most

    def test_the_fields_are_those_that_the_documentation_has(self, run) -> None:
        page = (HERE.parents[3] / "docs/orgrest/reference/tests.md").read_text("utf-8")
        documented = set(re.findall(r"^\| `([\w.\[\]]+)` \|", page, re.MULTILINE))
        api = '{"openapi": "3.1.0", "paths": {"/json": {"get": {"responses": {"200": {}}}}}}'
        options = ("--repeat", "2", "--openapi", "api.json")
        report = run("a.http", *options, a_http=DOCUMENT, api_json=api).report
        assert _fields(report) <= documented
        assert {name for name in documented if name.partition(".")[0] in report} <= _fields(report)

    def test_a_failed_request_is_there_with_what_was_sent(self, run) -> None:
        [request] = run("a.http", a_http="POST http://127.0.0.1:1/\n\nabc").requests
        [exchange] = request["exchanges"]
        assert exchange["request"]["body"]["text"] == "abc"
        assert exchange["response"] is None

    def test_a_response_that_breaks_off_is_there_with_its_status_and_headers(
        self, run, folder: Path
    ) -> None:
        short = closing(response(b"x" * 10, "X-Id: 7", status="502 Bad Gateway")[:-3])
        with RawServer(short) as server:
            text = f"POST {server.url}\n\nabc\n\n###\nGET http://127.0.0.1:1/"
            done = run("a.http", "--har", "r.har", "--junit", "r.xml", a_http=text)
        [exchange] = done.requests[0]["exchanges"]
        reason = "the connection was closed after 7 of 10 bytes; the status is 502 Bad Gateway"
        assert done.outcomes == ["error", "error"]
        assert exchange["error"] == reason
        assert exchange["response"]["status"] == 502
        assert ["X-Id", "7"] in exchange["response"]["headers"]
        assert exchange["response"]["body"]["cut"]
        entries = json.loads((folder / "r.har").read_text())["log"]["entries"]
        assert [entry["response"]["status"] for entry in entries] == [502, 0]
        assert entries[0]["comment"] == f"a.http:1: error: {reason}"
        assert ": 502 Bad Gateway</error>" in (folder / "r.xml").read_text()
        assert "a.http:1  POST" in done.err
        assert "  502  " in done.err

    def test_the_last_of_too_many_redirects_is_there(self, run, folder: Path) -> None:
        moved = response(b"on and on", "Location: /again", status="302 Found")
        with RawServer(moved) as server:
            found = run("a.http", "--har", "r.har", a_http=f"GET {server.url}/").requests[0]
            sent = len(server.requests)
        [exchange] = found["exchanges"]
        assert exchange["error"].startswith("too many redirects: gave up after 10")
        assert exchange["response"]["status"] == 302
        assert exchange["response"]["body"]["text"] == "on and on"
        entries = json.loads((folder / "r.har").read_text())["log"]["entries"]
        assert [entry["response"]["status"] for entry in entries] == [302] * sent

    def test_the_headers_before_a_redirect_are_those_that_were_sent(self, run) -> None:
        answers = iter(["Set-Cookie: a=b", "Location: /on", "X: y"])
        statuses = iter(["200 OK", "302 Found", "200 OK"])

        def answer(connection: socket.socket, _: bytes) -> None:
            connection.sendall(response(b"", next(answers), status=next(statuses)))

        with RawServer(answer) as server:
            text = f"GET {server.url}/cookie\n\n###\nGET {server.url}/from\n"
            _, redirected = run("a.http", a_http=text).requests
            sent = server.requests[1].decode()
        [exchange] = redirected["exchanges"]
        names = [name for name, _ in exchange["request"]["headers"]]
        assert names == [line.partition(":")[0] for line in sent.split("\r\n")[1:-2]]
        assert "Cookie" in names

    def test_the_phases_of_an_exchange_are_timed(self, run) -> None:
        first, second = run("a.http", a_http="GET HOST/json\n\n###\nGET HOST/json").requests
        timing = first["exchanges"][0]["timing"]
        assert timing["resolve"] >= 0
        assert timing["connect"] > 0
        assert timing["tls"] is None
        assert timing["wait"] > 0
        kept = second["exchanges"][0]["timing"]
        assert (kept["resolve"], kept["connect"]) == (None, None)
        assert sum(filter(None, timing.values())) <= first["exchanges"][0]["duration"] + 0.001

    def test_what_cannot_be_sent_is_there_as_it_is_written(self, run) -> None:
        [request] = run("a.http", a_http="GET http://[::1/\nX-Id: 7\n").requests
        assert request["outcome"] == "error"
        assert request["exchanges"][0]["request"]["headers"] == [["X-Id", "7"]]

    def test_a_secret_at_the_cut_of_a_long_body_is_hidden_too(
        self, run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TOKEN", "s3cr3t-t0ken")
        body = b"x" * (64 * 1024 - 6) + b"s3cr3t-t0ken"
        with RawServer(response(body, "Content-Type: text/plain")) as long:
            text = f"GET {long.url}\nX-Token: {{{{$processEnv TOKEN}}}}\n"
            [request] = run("a.http", a_http=text).requests
        found = request["exchanges"][0]["response"]["body"]["text"]
        assert found.endswith("x***")

    @pytest.mark.parametrize("kind", ["text/plain", "image/png"])
    def test_what_is_left_of_a_secret_at_the_cut_is_in_no_body(
        self, run, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TOKEN", "s3cr3t-t0ken")
        shown = b64encode(b"user:s3cr3t-t0ken") if kind == "text/plain" else b"s3cr3t-t0ken"
        body = b"x" * (64 * 1024 - len(shown) + 2) + b" " + shown
        with RawServer(response(body, f"Content-Type: {kind}")) as long:
            text = f"GET {long.url}\nX-Token: {{{{$processEnv TOKEN}}}}\n"
            [request] = run("a.http", a_http=text).requests
        found = request["exchanges"][0]["response"]["body"]
        kept = found["text"].encode() if "text" in found else b64decode(found["base64"])
        assert kept.endswith(b"xx ***")

    def test_json_that_is_invalid_is_shown_as_it_came(self, reported, folder: Path) -> None:
        with RawServer(response(b"{nothing", "Content-Type: application/json")) as wrong:
            reported(f"GET {wrong.url}")
        assert "{nothing" in (folder / "r.html").read_text()

    def test_deeply_nested_json_does_not_make_a_report_of_megabytes(
        self, reported, folder: Path
    ) -> None:
        body = b"[" * 400 + b",".join([b"[[1]]"] * 7000) + b"]" * 400
        with RawServer(response(body, "Content-Type: application/json")) as nested:
            reported(f"GET {nested.url}")
        page = (folder / "r.html").read_text()
        assert "[[1]],[[1]]" in page
        assert len(page) < 20 * len(body)

    def test_a_long_body_is_cut_and_a_binary_one_is_base64(self, run) -> None:
        body = "é" * 50_000
        with RawServer(response(body.encode(), "Content-Type: text/plain")) as long:
            cut, binary = run("a.http", a_http=f"GET {long.url}\n\n###\nGET HOST/png").requests
        found = cut["exchanges"][0]["response"]["body"]
        assert (found["size"], found["cut"]) == (100_000, True)
        assert body.startswith(found["text"])
        assert len(found["text"]) == 32 * 1024
        assert binary["exchanges"][0]["response"]["body"]["base64"] == "iVBORw0KGgoA"

    @pytest.mark.parametrize("name", ["no/folder/r.xml", "."])
    def test_a_report_that_cannot_be_written_is_reported_and_no_success(self, run, name) -> None:
        done = run("a.http", "--junit", name, a_http="GET HOST/json")
        assert done.status in (1, 2)
        assert name in done.err

    def test_reports_replace_old_ones_whole(self, reported, folder: Path) -> None:
        (folder / "r.xml").write_text("x" * 10**6)
        reported()
        assert (folder / "r.xml").read_text().endswith("</testsuites>\n")
        assert not [path for path in folder.iterdir() if path.name.startswith(".r.")]


def _fields(value: Any, prefix: str = "") -> set[str]:
    """Return the names of all fields in a report, as the documentation writes them."""
    if isinstance(value, list):
        return {name for one in value for name in _fields(one, f"{prefix}[]")}
    if not isinstance(value, dict):
        return set()
    found = set()
    for key, inner in value.items():
        name = f"{prefix}.{key}" if prefix else key
        found |= {name, *_fields(inner, name)}
    return found


# HAR 1.2, typed from its specification: what each object has, and (with ?) may have.
HAR: dict[str, dict[str, Any]] = {
    "log": {"version": str, "creator": "creator", "pages?": ["page"], "entries": ["entry"]},
    "creator": {"name": str, "version": str},
    "page": {"startedDateTime": "date", "id": str, "title": str, "pageTimings": "pageTimings"},
    "pageTimings": {"onContentLoad?": float, "onLoad?": float},
    "entry": {
        "pageref?": str, "startedDateTime": "date", "time": float, "request": "request",
        "response": "response", "cache": "cache", "timings": "timings", "comment?": str,
    },
    "request": {
        "method": str, "url": str, "httpVersion": str, "cookies": ["cookie"],
        "headers": ["record"], "queryString": ["record"], "postData?": "postData",
        "headersSize": int, "bodySize": int,
    },
    "response": {
        "status": int, "statusText": str, "httpVersion": str, "cookies": ["cookie"],
        "headers": ["record"], "content": "content", "redirectURL": str, "headersSize": int,
        "bodySize": int,
    },
    "cookie": {"name": str, "value": str},
    "record": {"name": str, "value": str},
    "postData": {
        "mimeType": str, "params": ["param"], "text": str, "encoding?": str, "comment?": str,
    },  # encoding is not in the specification
    "content": {"size": int, "mimeType": str, "text?": str, "encoding?": str, "comment?": str},
    "cache": {},
    "timings": {
        "blocked?": float, "dns?": float, "connect?": float, "send": float, "wait": float,
        "receive": float, "ssl?": float,
    },
}  # fmt: skip


def _check(value: Any, kind: Any, where: str) -> None:
    if isinstance(kind, list):
        assert isinstance(value, list), where
        for number, one in enumerate(value):
            _check(one, kind[0], f"{where}[{number}]")
    elif kind == "date":
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(Z|[+-]\d\d:\d\d)", value), where
    elif isinstance(kind, str):
        table = HAR[kind]
        known = {name.removesuffix("?") for name in table}
        assert {n for n in table if not n.endswith("?")} <= {*value} <= known, where
        for name, inner in table.items():
            if name.removesuffix("?") in value:
                _check(value[name.removesuffix("?")], inner, f"{where}.{name}")
    else:
        assert isinstance(value, (int, float) if kind is float else kind), (where, value)


class TestHar:
    def test_the_archive_is_as_the_specification_says(self, reported) -> None:
        found = json.loads((reported() / "r.har").read_text())
        _check(found["log"], "log", "log")
        assert found["log"]["version"] == "1.2"
        entries = found["log"]["entries"]
        assert [entry["response"]["status"] for entry in entries] == [200, 200, 200, 200]
        assert entries[0]["request"]["queryString"] == [
            {"name": "q", "value": "1"},
            {"name": "q", "value": "two"},
        ]
        assert entries[1]["request"]["postData"]["text"] == "a text"
        assert entries[3]["response"]["content"]["encoding"] == "base64"

    def test_a_body_that_was_sent_can_be_told_from_a_remark_about_it(
        self, run, folder: Path, tmp_path: Path
    ) -> None:
        (folder / "b.bin").write_bytes(b"\x89P\xff\0\n")
        (folder / "long.txt").write_text("x" * 130_000)
        text = (
            "POST HOST/a\nContent-Type: image/png\n\n< ./b.bin\n###\n"
            "POST HOST/b\nContent-Type: text/plain\n\n< ./long.txt\n"
        )
        run("a.http", "--har", "r.har", a_http=text)
        found = json.loads((folder / "r.har").read_text())["log"]
        _check(found, "log", "log")
        binary, long = (entry["request"]["postData"] for entry in found["entries"])
        assert (binary["text"], binary["encoding"]) == ("iVD/AAo=", "base64")
        assert len(long["text"]) < 130_000
        assert long["comment"] == "only the beginning"
        assert "comment" not in binary
        done = imported(tmp_path, (folder / "r.har").read_bytes())
        reason = "not translated: the file contains only the beginning of the body"
        assert done.stderr.count(reason) == 1
        assert sent(tmp_path)[0].body == b"\x89P\xff\0\n"

    def test_a_url_that_is_invalid_breaks_nothing(self, run, folder: Path) -> None:
        run("a.http", "--har", "r.har", a_http="GET http://[::1/?a\n\n###\nGET HOST/json\n")
        found = json.loads((folder / "r.har").read_text())
        _check(found["log"], "log", "log")

    @pytest.mark.parametrize("value", ["b c", "a#b c", "größe", "a%20b", "\\", '<"x">', "a|b"])
    def test_a_url_is_the_one_that_was_sent(
        self, run, folder: Path, server: RawServer, value: str
    ) -> None:
        text = "GET HOST/json?q={{v}}&z=1#top\n"
        [record] = run("a.http", "--har", "r.har", "--var", f"v={value}", a_http=text).requests
        [entry] = json.loads((folder / "r.har").read_text())["log"]["entries"]
        sent = server.url + server.requests[0].split(b" ")[1].decode()
        assert entry["request"]["url"] == sent
        assert record["exchanges"][0]["request"]["url"] == sent
        lost = [note for note in record["notes"] if "contains a #" in note]
        assert len(lost) == ("#" in value)

    def test_a_fragment_of_a_whole_url_in_a_variable_is_nothing_to_report(self, run) -> None:
        [record] = run("a.http", a_http="@url = HOST/json#top\nGET {{url}}\n").requests
        assert record["notes"] == []

    def test_a_secret_in_the_fragment_does_not_hide_the_rest_of_the_url(
        self, run, server: RawServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TOKEN", "s3cr3t")
        [record] = run("a.http", a_http="GET HOST/json?a=1#{{$processEnv TOKEN}}\n").requests
        assert record["exchanges"][0]["request"]["url"] == f"{server.url}/json?a=1"

    @pytest.mark.parametrize("secret", ["s3cr3t#t0ken", "s3 cr3t", "s3crét", "s3cr#", "#s3cr3t"])
    def test_no_part_of_a_secret_in_a_url_is_shown(
        self, reported, secret: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TOKEN", secret)
        text = "GET HOST/json?q={{$processEnv TOKEN}}&z=1\n?? status == 404"
        folder = reported(text)
        for name in ("r.xml", "r.tap", "r.har", "r.html", "r.jsonl"):
            assert "s3" not in (folder / name).read_text()

    def test_redirects_challenges_and_requests_of_tokens_are_there_each_at_its_place(
        self, run, folder: Path
    ) -> None:
        def answer(connection: socket.socket, request: bytes) -> None:
            if b" /old" in request:
                found = response(b"moved", "Location: /new", status="302 Found")
            elif b" /token" in request:
                found = response(b'{"access_token": "issued-t0ken", "refresh_token": "fresh-one"}')
            elif b" /refused" in request:
                found = response(b'{"error": "no"}', status="400 Bad Request")
            elif b" /digest" in request and b"Digest username" not in request:
                challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"'
                found = response(b"", challenge, status="401 Unauthorized")
            else:
                found = response(b"ok")
            connection.sendall(found)

        text = (
            "@ok_tokenEndpoint = HOST/token\n@no_tokenEndpoint = HOST/refused\n"
            "@oauth2_clientId = me\n@oauth2_clientSecret = cl1ent-secret\n\n"
            "GET HOST/old\n\n###\nGET HOST/digest\nAuthorization: Digest user pa55word-x\n\n"
            "###\nGET HOST/a\nAuthorization: oauth2 client_credentials ok\n\n"
            "###\nGET HOST/b\nAuthorization: oauth2 client_credentials no\n"
        )
        with RawServer(answer) as server:
            done = run("a.http", "--har", "r.har", a_http=text.replace("HOST", server.url))
            log = [request.split(b" ", 2)[:2] for request in server.requests]
        told = (folder / "r.har").read_text()
        entries = json.loads(told)["log"]["entries"]
        wire = [
            (entry["request"]["method"], entry["request"]["url"].removeprefix(server.url))
            for entry in entries
        ]
        assert wire == [(method.decode(), target.decode()) for method, target in log]
        assert [entry["response"]["status"] for entry in entries] == [
            302,
            200,
            401,
            200,
            200,
            200,
            400,
        ]
        lines = [int(entry["comment"].split(":")[1]) for entry in entries]
        assert lines == [6, 6, 9, 9, 13, 13, 17]
        reasons = [
            [one["reason"] for one in exchange["earlier"]]
            for request in done.report["requests"]
            for exchange in request["exchanges"]
        ]
        assert reasons == [["redirect"], ["challenge"], ["token"], []]
        assert done.outcomes == ["passed", "passed", "passed", "error"]
        told += json.dumps(done.report)
        for secret in ("issued-t0ken", "fresh-one", "cl1ent-secret", "pa55word-x"):
            assert secret not in told

    @pytest.mark.parametrize(
        ("options", "assertion"),
        [(("--retry", "1", "--retry-delay", "0"), ""), ((), "?? eventually 9s status == 200\n")],
    )
    def test_redirects_of_earlier_attempts_are_there_each_with_its_own_status(
        self, run, folder: Path, options: tuple[str, ...], assertion: str
    ) -> None:
        moved = response(b"", "Location: /new", status="302 Found")
        answers = iter([moved, response(status="503 Busy"), moved, response()])
        with RawServer(lambda connection, _: connection.sendall(next(answers))) as server:
            text = f"GET {server.url}/old\n{assertion}"
            done = run("a.http", "--har", "r.har", *options, a_http=text)
            log = [request.split(b" ", 2)[1].decode() for request in server.requests]
        entries = json.loads((folder / "r.har").read_text())["log"]["entries"]
        assert [entry["request"]["url"].removeprefix(server.url) for entry in entries] == log
        assert log == ["/old", "/new"] * 2
        assert [entry["response"]["status"] for entry in entries] == [302, 503, 302, 200]
        assert done.outcomes == ["passed"]

    def test_a_request_without_a_response_took_its_time(self, run, folder: Path) -> None:
        answers = {"/from": response(b"", "Location: /silent", status="302 Found")}
        with RawServer(by_path({**answers, "/silent": silent})) as server:
            limit = "# @timeout 300 ms\n"
            text = f"{limit}GET {server.url}/silent\n\n###\n{limit}GET {server.url}/from\n"
            first, redirected = run("a.http", "--har", "r.har", a_http=text).requests
        assert [first["outcome"], redirected["outcome"]] == ["error", "error"]
        for request in (first, redirected):
            [exchange] = request["exchanges"]
            assert 0.2 < exchange["duration"] <= request["duration"]
        [exchange] = redirected["exchanges"]
        assert 0.2 < exchange["sent"]["duration"] < exchange["duration"]
        entries = json.loads((folder / "r.har").read_text())["log"]["entries"]
        assert [entry["time"] > 200 for entry in entries] == [True, False, True]
        assert [entry["timings"]["wait"] > 200 for entry in entries] == [True, False, True]

    def test_times_add_up(self, reported) -> None:
        for entry in json.loads((reported() / "r.har").read_text())["log"]["entries"]:
            parts = [v for n, v in entry["timings"].items() if n != "ssl" and v >= 0]
            assert entry["time"] == pytest.approx(sum(parts), abs=0.01)


def test_a_program_reads_each_record_from_standard_output_and_nothing_else(
    run, folder: Path
) -> None:
    done = run("a.http", "--jsonl", "-", "--junit", "r.xml", a_http=DOCUMENT)
    head, *records, summary = map(json.loads, done.out.splitlines())
    assert (head["format"], summary["summary"]["requests"]) == (2, len(records))
    assert {record["outcome"] for record in records} >= {"passed", "failed", "skipped"}
    assert not (folder / "-").exists()
    assert (folder / "r.xml").exists()
    assert "only one" in run("a.http", "--jsonl", "-", "--tap", "-", a_http=DOCUMENT).err


class TestSecrets:
    def test_no_report_and_no_line_has_a_secret(
        self, run, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TOKEN", "s3cr3t-t0ken")
        text = (
            "POST HOST/echo?key={{$processEnv TOKEN}}\n"
            "Authorization: Bearer {{$processEnv TOKEN}}\n"
            "Cookie: session=abcdef\n\n{{$processEnv TOKEN}}\n"
            "?? body == {{$processEnv TOKEN}}\n?? body contains {{$processEnv TOKEN}}x\n"
        )
        done = run("a.http", *EVERY, "--jsonl", "r.jsonl", a_http=text)
        assert done.outcomes == ["failed"]
        output = [done.out, done.err, json.dumps(done.report)]
        output += [path.read_text() for path in folder.glob("r.*")]
        assert len(output) == 8
        for one in output:
            assert "s3cr3t" not in one
            assert "***" in one or one == done.out
        kept = done.requests[0]["exchanges"][0]["request"]["headers"]
        assert ["Authorization", "***"] in kept
        assert ["Cookie", "***"] in kept

    def test_a_test_has_the_same_name_whatever_the_secrets_are(
        self, run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("STAGE", "staging")
        text = (
            "### log in to staging\nGET HOST/json?stage={{$processEnv STAGE}}\n\n"
            "?? body not contains staging\n\n"
            "###\nGET HOST/echo?staging&stage={{$processEnv STAGE}}\n"
        )
        first, second = run("a.http", a_http=text).requests
        assert first["name"] == "log in to staging"
        assert first["assertions"][0]["name"] == "body not contains staging"
        assert second["title"].endswith("/echo?staging&stage={{$processEnv STAGE}}")
        assert second["exchanges"][0]["request"]["url"].endswith("/echo?***&stage=***")

    def test_a_secret_that_noweb_inserts_into_a_url_is_in_no_title(
        self, run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TOKEN", "s3cr3t-t0ken")
        text = (
            '#+name: key\n#+begin_src restclient\n:key := env("TOKEN")\n'
            "GET KEYS/?k=:key\n#+end_src\n"
            "#+begin_src restclient :noweb yes\nGET KEYS/?key=<<key()>>\n#+end_src\n"
        )
        with RawServer(response(b"s3cr3t-t0ken", "Content-Type: text/plain")) as keys:
            [_, record] = run("a.org", a_org=text.replace("KEYS", keys.url)).requests
        assert record["title"].endswith("/?key=***")


class TestHostile:
    @pytest.mark.parametrize("payload", HOSTILE, ids=[repr(one)[:30] for one in HOSTILE])
    def test_what_a_server_sends_breaks_no_report(
        self, reported, folder: Path, payload: bytes
    ) -> None:
        import xmlschema

        head = payload.replace(b"\r", b"").replace(b"\n", b" ").replace(b"\0", b"")[:200]
        answer = response(
            payload, "Content-Type: text/html", b"X-Bad: " + head, status=b"200 " + head
        )
        with RawServer(closing(answer)) as bad:
            reported(f"### {head.decode('latin-1')}\nGET {bad.url}\n?? body == x\n")
        xmlschema.XMLSchema(str(HERE / "junit-10.xsd")).validate(str(folder / "r.xml"))
        _check(json.loads((folder / "r.har").read_text())["log"], "log", "log")
        tap = (folder / "r.tap").read_text().splitlines()
        assert [line for line in tap if re.match("(not )?ok ", line)] == tap[2:3]
        assert "#" not in tap[2].replace("\\#", "")
        page = (folder / "r.html").read_text()
        assert re.findall(r"<script|<img|<iframe|<svg onload", page) == ["<script"]
        assert len(io.StringIO((folder / "r.jsonl").read_text()).readlines()) == 3


def _ways(value: Any) -> Iterator[tuple[Any, ...]]:
    """Yield the keys that lead to each value inside a JSON value."""
    inside = value.items() if isinstance(value, dict) else ()
    inside = enumerate(value) if isinstance(value, list) else inside
    for key, inner in inside:
        yield (key,)
        yield from ((key, *way) for way in _ways(inner))


def test_a_report_in_a_folder_that_does_not_exist_is_an_error_before_anything_is_sent(
    run, server
) -> None:
    server.requests.clear()
    done = run("a.http", "--junit", "no/r.xml", a_http="GET HOST/json\n")
    assert (done.status, server.requests) == (2, [])
    assert "--junit no/r.xml: there is no folder no" in done.err


@pytest.mark.parametrize(
    ("arguments", "option", "kept"),
    [
        (("a.http", "b.http", "--junit", "a.http"), "--junit", "a.http"),
        (("a.http", "b.http", "--jsonl", "../docs/b.http"), "--jsonl", "b.http"),
        ((".", "--html", "n.org"), "--html", "n.org"),
        (("a.http", "--html", "b.http"), "--html", "b.http"),  # its FILE was forgotten
        (("a.http", "--tap", "link"), "--tap", "a.http"),
        (("a.http", "--jsonl", "hard"), "--jsonl", "a.http"),
        (("a.http", "--data", "rows.csv", "--har", "rows.csv"), "--har", "rows.csv"),
        (("a.http", "--env-file", "values", "--jsonl", "values"), "--jsonl", "values"),
    ],
)
def test_a_report_never_overwrites_a_document_or_what_the_run_reads(
    run, folder: Path, monkeypatch, paths, arguments: tuple[str], option: str, kept: str
) -> None:
    docs = folder / "docs"
    docs.mkdir()
    monkeypatch.chdir(docs)
    for name in ("a.http", "b.http", "n.org", "rows.csv", "values"):
        (docs / name).write_text("A=1\n")
    (docs / "link").symlink_to("a.http")
    (docs / "hard").hardlink_to(docs / "a.http")
    done = run(*arguments)
    assert (done.status, paths()) == (2, [])
    assert f"{option} would overwrite " in done.err
    assert (docs / kept).read_text() == "A=1\n"


def test_a_report_never_overwrites_the_records_it_is_made_from(
    run, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from orgrest.commands.main import main

    run("a.http", "--jsonl", "r.jsonl", a_http="GET HOST/json")
    before = (folder / "r.jsonl").read_bytes()
    with pytest.raises(SystemExit) as ended:
        main(["report", "r.jsonl", "--html", "./r.jsonl"])
    assert ended.value.code == 2
    assert "--html would overwrite r.jsonl" in capfd.readouterr().err
    assert (folder / "r.jsonl").read_bytes() == before
    with pytest.raises(SystemExit):
        main(["report", "-", "--tap", "-"])
    assert "-: could not read the file" in capfd.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ("--junit", "x.out", "--html", "x.out"),
        ("--har", "x.out", "--jsonl", "./x.out"),
        ("--tap", "x.out", "--globals", "link"),
    ],
)
def test_no_report_is_lost_because_another_has_the_same_file(
    run, folder: Path, paths, options: tuple[str]
) -> None:
    (folder / "link").symlink_to("x.out")
    done = run("a.http", *options, a_http="GET HOST/json")
    assert (done.status, paths()) == (2, [])
    assert f"{options[0]} and {options[2]} would both write to" in done.err
    assert not (folder / "x.out").exists()


def test_reports_that_are_not_wanted_can_go_to_the_null_device(run) -> None:
    null = ("--junit", "/dev/null", "--html", "/dev/null")
    assert run("a.http", *null, a_http="GET HOST/json").status == 0


def test_a_report_can_be_piped_into_another_program(run) -> None:
    reading, writing = os.pipe()
    try:
        done = run("a.http", "--tap", f"/dev/fd/{writing}", a_http="GET HOST/json")
        assert done.status == 0
        assert os.read(reading, 1000).startswith(b"TAP version 13")
    finally:
        os.close(reading)
        os.close(writing)
