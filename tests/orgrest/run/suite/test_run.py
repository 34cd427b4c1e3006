"""`orgrest test`: what is sent, in which order, and how it is reported."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.sax.saxutils import unescape

import pytest
import trustme
from exchanges import tls_of
from servers import RawServer, response, silent
from waiting import wait_until

if TYPE_CHECKING:
    pass

ORG = """#+FILETAGS: :api:
* Reading :smoke:
#+name: read
#+begin_src restclient
GET HOST/json
#+end_src
* Writing
#+begin_src restclient
# @tag slow, write
POST HOST/echo

text
#+end_src
"""
HTTP = """### teardown
DELETE HOST/echo?teardown

### one
GET HOST/json
?? status == 200

### two
# @tag smoke
GET HOST/json?two
?? body id == 1

### make it ready
# @tag setup
PUT HOST/echo?setup
"""


class TestOutcomes:
    def test_all_that_holds_is_status_0_and_counted(self, run) -> None:
        done = run(".", a_http=HTTP, b_org=ORG)
        assert (done.status, done.outcomes) == (0, ["passed"] * 6)
        assert "2 documents: 6 passed" in done.err
        assert done.report["summary"]["passed"] == 6

    @pytest.mark.parametrize(
        ("text", "outcome", "why"),
        [
            ("GET HOST/json\n?? status == 404", "failed", "status == 404"),
            ("GET HOST/short", "error", "closed after 7 of 10"),
            ("GET http://127.0.0.1:1/", "error", "refused"),
            ("GET HOST/{{nothing}}", "error", "nothing"),
            ("GET HOST/json\nnot a header", "error", "header"),
        ],
    )
    def test_a_failure_is_status_1_reported_with_its_place_and_the_others_continue(
        self, run, text: str, outcome: str, why: str
    ) -> None:
        done = run("a.http", a_http=f"GET HOST/json\n\n###\n{text}\n\n###\nGET HOST/json\n")
        assert (done.status, done.outcomes) == (1, ["passed", outcome, "passed"])
        assert re.search(rf"(FAILED|ERROR) +a\.http:4 .*\n.*{why}", done.err)
        assert done.requests[1]["line"] == 4

    def test_all_assertions_of_a_request_are_checked(self, run) -> None:
        text = "GET HOST/json\n?? status == 1\n?? body id == 1\n?? body state == open\n"
        [request] = run("a.http", a_http=text).requests
        assert [assertion["passed"] for assertion in request["assertions"]] == [False, True, False]
        assert [assertion["line"] for assertion in request["assertions"]] == [2, 3, 4]

    def test_a_failure_shows_its_own_line_and_the_beginning_of_the_response(
        self, run, monkeypatch: pytest.MonkeyPatch, folder: Path
    ) -> None:
        monkeypatch.setenv("TOKEN", "s3cr3t-t0ken")
        lines = "".join(f"{number}\n" for number in range(20))
        text = f"POST HOST/echo\n\n{{{{$processEnv TOKEN}}}}\x1b[31m\n{lines}\n?? status == 1\n"
        done = run("a.http", "--junit", "r.xml", a_http=f"{text}\n###\nGET HOST/404\n")
        for told in (done.err, (folder / "r.xml").read_text()):
            assert "a.http:25: status == 1: status is 200" in told
            assert re.search(
                r": 200 OK\n +POST /echo(.*\n){10} +\.\.\. \(\d+ bytes in total\)", told
            )
            assert r"***\x1b[31m" in told
            assert re.search(r"GET http\S+404: 404 Not Found\n +no", told)
            assert "s3cr3t" not in told

    def test_a_failure_does_not_show_the_tokens_in_a_response(self, run, folder: Path) -> None:
        body = (
            '{"access_token": "s3cr\\"3t", "a": [{"id": 7, "PIN_secret" : 1234}], "api_token":\n'
            '"s3cret", "refresh_token":\t"s3cret'
        )
        form = "user=me&client_secret=s3cret&n=1"
        text = f"POST HOST/echo\n\n{body}\n{form}\n?? status == 1\n"
        done = run("a.http", "--junit", "r.xml", a_http=text)
        for told in (done.err, unescape((folder / "r.xml").read_text())):
            shown = '{"access_token": "***", "a": [{"id": 7, "PIN_secret" : ***}], "api_token":\n'
            assert shown in told
            assert '"***", "refresh_token":\t"***\n' in told
            assert "s3cr" not in told
            assert " user=me&client_secret=***&n=1" in told

    def test_of_many_responses_a_failure_shows_only_the_first_that_failed(
        self, run, folder: Path
    ) -> None:
        numbers = "@all = [1, 2, 10, 11, 12, 13]\nPOST HOST/echo\n\nn={{$.all[*]}}\n\n"
        text = f"{numbers}?? body contains n=2\n"
        done = run("a.http", "--junit", "r.xml", a_http=text)
        for told in (done.err, (folder / "r.xml").read_text()):
            assert re.findall(r"^ +n=(\d+)$", told, re.MULTILINE) == ["1", "10", "11"]
            assert "... (failed exchanges in total: 5)" in told
        done = run("a.http", a_http=text.replace("n=2", "n=1"))
        assert re.findall(r"^ +n=(\d+)$", done.err, re.MULTILINE) == ["2"]
        assert "in total: " not in done.err

    def test_what_is_not_to_be_sent_is_skipped_and_no_failure(self, run) -> None:
        done = run(".", a_http="# @disabled\nGET HOST/json", b_http="GET HOST/json")
        assert (done.status, done.outcomes) == (0, ["skipped", "passed"])

    @pytest.mark.parametrize(
        "text",
        [
            "{{\nTEST;\nexports.$cancel = true;\n}}\nGET HOST/json\n",
            "< {%\npm.TEST;\npm.execution.skipRequest();\n%}\nGET HOST/json\n",
            "# @loop for 0\n{{\nTEST;\n}}\nGET HOST/json\n",
            "@all = []\n{{\nTEST;\n}}\nGET HOST/json?{{$.all[*]}}\n",
            "{{\nTEST;\n}}\n###\n# @disabled 1 == 1\nGET HOST/json\n",
            "{{\nTEST;\n}}\n###\n# @loop for 0\nGET HOST/json\n",
        ],
    )
    def test_a_failed_test_of_a_request_that_is_not_sent_is_a_failure(
        self, run, paths, text: str
    ) -> None:
        text = text.replace("TEST", "test('ready', () => { throw new Error('not yet'); })")
        done = run("a.http", a_http=text)
        assert (done.status, done.outcomes) == (1, ["failed"])
        assert "ready: not yet" in done.err
        assert "1 assertion checked" in done.err
        assert run("a.http", a_http=text.replace("throw new Error", "")).outcomes == ["skipped"]
        assert paths() == []

    @pytest.mark.parametrize("path", ["json", "404"])
    def test_what_a_script_sent_is_not_the_answer_to_a_request_that_it_skipped(
        self, run, folder: Path, paths, path: str
    ) -> None:
        script = f"await pm.sendRequest('HOST/{path}');\npm.execution.skipRequest();"
        text = f"< {{%\n{script}\n%}}\nDELETE HOST/echo\n?? status == 204\n"
        done = run("a.http", "--html", "a.html", a_http=text)
        assert (done.status, done.outcomes, paths()) == (0, ["skipped"], [f"GET /{path}"])
        assert re.search(r"skipped a\.http:5  DELETE http://\S+/echo\n +cancelled by", done.err)
        assert done.report["summary"]["unasserted"] == 0
        page = (folder / "a.html").read_text()
        assert '<span class="status"></span>' in page
        assert f"/{path}</h2>" in page

    def test_a_script_that_skips_an_element_does_not_hide_the_answers_to_the_others(
        self, run
    ) -> None:
        skip = "if (id === '2') {\nawait pm.sendRequest('HOST/404');\nexports.$cancel = true;\n}"
        text = "@all = [1, 2]\n###\nGET HOST/json?{{$.all[*]}}\n\n"
        script = f"{{{{@request\nconst id = request.url.slice(-1);\n{skip}\n}}}}\n"
        done = run("a.http", a_http=text + script)
        assert done.outcomes == ["passed"]
        assert re.search(r"ok +a\.http:3  GET http://\S+/json\?1  200 ", done.err)

    def test_what_is_left_out_is_reported_and_kept(self, run) -> None:
        more = "#+begin_src http\nGET HOST/404\n#+end_src\n"
        two = ORG.replace("GET HOST/json\n", "GET HOST/json\n\n###\nGET HOST/404\n")
        done = run("b.org", b_org=f"{two}{more}")
        assert done.outcomes == ["error", "passed", "passed"]
        assert (
            "ignored in a restclient document (to send it, too, use --lang"
            in done.requests[0]["reason"]
        )
        [first], second = (request["notes"] for request in done.requests[1:])
        assert ["not sent" in first, second] == [True, []]
        assert first in done.err
        assert "not sent" not in run("-q", "b.org").err

    @pytest.mark.parametrize(
        ("file", "text", "title", "reason"),
        [
            ("a.http", "# @disabled\nDELETE {{u}}/x\n", "DELETE {{u}}/x", "it is disabled"),
            ("a.http", "# @loop for x of []\nPUT /x\nHost: h\n", "PUT /x", "no iterations"),
            ("a.http", "@a = []\nGET /{{$.a[*].id}}\n", "GET /{{$.a[*].id}}", "list is empty"),
            ("a.http", "{{\nexports.$cancel = true\n}}\nGET /x\n", "GET /x", "cancelled"),
            ("a.org", "#+begin_src http :eval no\nPOST /x\n#+end_src\n", "POST /x", ":eval no"),
            ("a.org", "#+begin_src http :noeval\nPOST /x\n#+end_src\n", "POST /x", ":eval no"),
        ],
    )
    def test_a_skipped_request_has_its_method_url_and_a_reason_in_each_report(
        self, run, folder: Path, file: str, text: str, title: str, reason: str
    ) -> None:
        reports = {one: folder / f"report.{one}" for one in ("junit", "tap", "html")}
        options = [word for one, path in reports.items() for word in (f"--{one}", str(path))]
        done = run(file, *options, **{file.replace(".", "_"): text})
        assert done.outcomes == ["skipped"]
        assert done.requests[0]["title"] == title
        assert reason in done.requests[0]["reason"]
        for message in (done.err, *(path.read_text() for path in reports.values())):
            assert title in message
            assert reason in message

    @pytest.mark.parametrize(
        ("file", "text", "place"),
        [
            ("a.http", "GET /x\nHost: h\nX-Id {{x}}\n", "a.http:3:1: "),
            ("a.http", "GET HOST/json\nX: y\n\n?? status = 200\n", "a.http:4:1: "),
            ("a.http", "GET HOST/json\nX: {{nope}}\n", "a.http:2:4: "),
            ("a.http", "@v = {{nope}}\nGET HOST/json?{{v}}\n", "a.http:1:6: "),
            ("a.org", "#+begin_src http\nGET HOST/json\nX: {{nope}}\n#+end_src\n", "a.org:3:4: "),
            ("a.http", "# @ref b\nGET HOST/json\n###\n# @name b\nGET /{{nope}}\n", "a.http:5:6: "),
        ],
    )
    def test_an_error_within_a_request_is_reported_with_its_place(
        self, run, folder: Path, file: str, text: str, place: str
    ) -> None:
        reports = {one: folder / f"report.{one}" for one in ("junit", "tap", "html")}
        options = [word for one, path in reports.items() for word in (f"--{one}", str(path))]
        done = run(file, *options, **{file.replace(".", "_"): text})
        assert done.outcomes[0] == "error"
        assert place in done.requests[0]["reason"]
        for message in (done.err, *(path.read_text() for path in reports.values())):
            assert place in message

    def test_the_line_of_a_request_is_not_repeated_in_the_reason(self, run) -> None:
        [record] = run("a.http", a_http="GET HOST/{{nope}}\n").requests
        assert record["reason"] == "the variable nope is not defined"

    def test_what_a_run_leaves_out_after_a_failure_has_its_method_and_url(self, run) -> None:
        block = "#+begin_src http\nDELETE /x\n#+end_src\n"
        text = f"#+begin_src http\nGET HOST/404\n#+end_src\n{block}"
        done = run("a.org", "--bail", a_org=text)
        assert done.outcomes == ["failed", "skipped"]
        assert "DELETE /x\n        an earlier request failed (--bail)" in done.err

    def test_quiet_tells_failures_and_sums_only(self, run) -> None:
        done = run("-q", "a.http", a_http="GET HOST/json\n\n###\nGET HOST/json\n?? status == 1")
        assert "ok " not in done.err
        assert "FAILED" in done.err
        assert "1 passed, 1 failed" in done.err

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (("missing.org",), "no such file"),
            (("empty",), "no documents"),
            (("*.none",), "no such file"),
            (("",), "perhaps a shell variable is not set"),
            (("a.http", "--name", "other"), "no requests found with this name or tag"),
            (("a.http", "--write", "--repeat", "2"), "--write"),
            (("a.http", "--tap", "-", "--har", "-"), "only one report"),
            (("a.http", "--data", "rows.csv"), "rows.csv"),
            ((), "FILE"),
        ],
    )
    def test_wrong_usage_is_status_2(self, run, folder: Path, arguments: tuple[str], why) -> None:
        (folder / "empty").mkdir()
        done = run(*arguments, a_http="GET HOST/json")
        assert done.status == 2
        assert why in done.err

    def test_a_misspelt_tag_is_no_success_in_any_report(self, run, folder: Path) -> None:
        from orgrest.commands.main import main

        options = ("--tag", "nope", "--junit", "r.xml", "--tap", "r.tap", "--jsonl", "r.jsonl")
        done = run(*options, "a.http", a_http="GET HOST/json")
        why = "no requests found with this name or tag"
        assert (done.status, done.requests, done.report["summary"]["ended"]) == (2, [], why)
        assert done.err.count(why) == 1
        assert (folder / "r.tap").read_text() == f"TAP version 13\n1..0\nBail out! {why}\n"
        with pytest.raises(SystemExit):
            main(["report", "r.jsonl", "--junit", "later.xml"])
        for report in ("r.xml", "later.xml"):
            [error] = ElementTree.parse(folder / report).iter("error")
            assert error.get("message") == why

    def test_a_document_that_cannot_be_read_is_status_2_and_the_others_are_run(
        self, run, folder: Path
    ) -> None:
        (folder / "no.http").symlink_to("/dev/null")
        done = run("no.http", "a.http", a_http="GET HOST/json")
        assert (done.status, done.outcomes) == (2, ["error", "passed"])

    def test_a_folder_that_is_called_like_a_document_is_none(self, run, folder: Path) -> None:
        (folder / "docs").mkdir()
        (folder / "docs/x.org").mkdir()
        assert run("docs").status == 2

    def test_a_document_stays_as_it_is_unless_its_results_are_requested(
        self, run, folder: Path
    ) -> None:
        run("b.org", b_org=ORG)
        before = (folder / "b.org").read_text()
        assert "RESULTS" not in before
        assert run("--write", "b.org").status == 0
        assert "RESULTS: read" in (folder / "b.org").read_text()

    def test_responses_are_saved_where_that_is_asked_for_twice(self, run, folder: Path) -> None:
        from orgrest.commands.main import main

        text = "GET HOST/json\n\n>>! a-out/saved.json\n"
        saved = folder / "a-out/saved.json"
        assert run("a.http", a_http=text).status == 0
        assert not saved.exists()
        assert run("--write", "a.http").status == 0
        assert json.loads(saved.read_text())["id"] == 1
        saved.unlink()
        with pytest.raises(SystemExit):
            main(["-q", "a.http"])  # without `test`, too
        assert saved.exists()

    def test_results_are_not_written_over_what_somebody_else_wrote(self, run, folder: Path) -> None:
        def change(connection, _: bytes) -> None:
            (folder / "b.org").write_text("changed")
            connection.sendall(response(b"{}"))

        with RawServer(change) as changing:
            done = run("--write", "b.org", b_org=ORG.replace("HOST", changing.url))
        assert (folder / "b.org").read_text() == "changed"
        assert (done.status, done.outcomes) == (1, ["passed", "passed", "error"])

    def test_snapshots_are_compared_with_the_document(self, run, folder: Path) -> None:
        block = "#+begin_src restclient :expect same :noheaders\nGET HOST/json\n#+end_src\n"
        run("--write", "b.org", b_org=block)
        assert run("b.org").outcomes == ["passed"]
        text = (folder / "b.org").read_text().replace("done", "open")
        [request] = run("b.org", b_org=text).requests
        assert request["outcome"] == "failed"
        assert any('"state": "open"' in line for line in request["assertions"][0]["difference"])

    def test_certificates_that_are_not_verified_are_reported(self, run) -> None:
        done = run("--insecure", "a.http", a_http="GET HOST/json")
        assert "TLS certificates are not verified" in done.err

    def test_a_bug_in_a_job_ends_the_run_instead_of_hanging(
        self,
        server,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
    ) -> None:
        from orgrest.commands.main import main
        from orgrest.run.suite import unit

        (folder / "a.http").write_text(f"GET {server.url}/json")
        monkeypatch.setattr(unit, "run", lambda *_: 1 / 0)
        with pytest.raises(SystemExit) as ended:
            main(["test", "a.http"])
        assert ended.value.code == 2
        assert "ZeroDivisionError in orgrest.run.suite.jobs" in capfd.readouterr().err


class TestChoosing:
    def test_setup_is_sent_first_and_teardown_last(self, run, paths) -> None:
        done = run("a.http", a_http=HTTP)
        assert paths() == [
            "PUT /echo?setup",
            "GET /json",
            "GET /json?two",
            "DELETE /echo?teardown",
        ]
        assert [request["part"] for request in done.requests] == [
            "setup",
            *["request"] * 2,
            "teardown",
        ]

    @pytest.mark.parametrize(
        ("arguments", "sent"),
        [
            (("--name", "one"), ["GET /json"]),
            (("--name", "t*"), ["GET /json?two"]),
            (("--tag", "smoke"), ["GET /json?two", "GET /json"]),
            (("--tag", "api"), ["GET /json", "POST /echo"]),
            (("--tag", "write"), ["POST /echo"]),
            (("--name", "read", "--name", "one"), ["GET /json", "GET /json"]),
            (("--tag", "smoke", "--name", "read"), ["GET /json"]),
        ],
    )
    def test_names_and_tags_choose_requests_and_what_surrounds_them(
        self, run, paths, arguments: tuple[str], sent: list[str]
    ) -> None:
        assert run(*arguments, "a.http", "b.org", a_http=HTTP, b_org=ORG).status == 0
        around = {"PUT /echo?setup", "DELETE /echo?teardown"}
        assert [path for path in paths() if path not in around] == sent
        assert (around <= set(paths())) == ("GET /json?two" in sent or "one" in arguments)

    def test_what_a_failed_setup_was_for_is_skipped_and_cleaned_up(self, run, paths) -> None:
        text = HTTP.replace("PUT HOST/echo?setup", "PUT HOST/json\n?? status == 1")
        done = run("a.http", a_http=text)
        assert done.outcomes == ["failed", "skipped", "skipped", "passed"]
        assert paths() == ["PUT /json", "DELETE /echo?teardown"]
        assert "the setup failed" in done.err

    def test_bail_ends_the_run_after_the_first_failure_and_its_teardown(self, run, paths) -> None:
        text = HTTP.replace("status == 200", "status == 1")
        done = run("--bail", "a.http", "b.org", a_http=text, b_org=ORG)
        assert done.outcomes == ["passed", "failed", "skipped", "passed", "skipped", "skipped"]
        assert paths()[-1] == "DELETE /echo?teardown"
        assert done.status == 1

    def test_what_was_never_begun_is_not_cleaned_up(self, run, paths) -> None:
        text = "import missing.http\n\n" + HTTP
        done = run("--bail", "a.http", a_http=text)
        assert done.outcomes == ["error", *["skipped"] * 4]
        assert paths() == []

    def test_folders_and_patterns_are_searched_and_hidden_ones_are_not(self, run) -> None:
        text = "GET HOST/json"
        given = {"docs__b_rest": text, "docs__a_http": text, ".git__x_http": text}
        assert [request["file"] for request in run(".", **given).requests] == [
            "docs/a.http",
            "docs/b.rest",
        ]
        done = run("docs/*.http", "docs", **given)
        assert [request["file"] for request in done.requests] == ["docs/a.http", "docs/b.rest"]

    def test_an_imported_file_is_named_by_a_path_that_can_be_opened(
        self, run, folder: Path
    ) -> None:
        for name in "ab":
            (folder / name).mkdir()
            (folder / name / "lib.http").write_text("### login\nGET {{nope}}/login\n")
        done = run(
            "a/x.http",
            "b/x.http",
            "--allow-read=a",
            "--junit=r.xml",
            a__x_http="# @import ./lib.http\n\n# @ref login\nGET HOST/json\n",
            b__x_http="run ./lib.http\n\n###\nrun ../a/lib.http\n",
        )
        of_files = [(one["file"], one["document"]) for one in done.requests]
        assert of_files == [
            ("a/lib.http", "a/x.http"),
            ("a/x.http", "a/x.http"),
            ("b/lib.http", "b/x.http"),
            ("a/lib.http", "b/x.http"),
        ]
        assert "a/lib.http:2" in done.err
        assert "./" not in done.err
        cases = ElementTree.parse("r.xml").iter("testcase")
        names = [(case.get("classname"), case.get("name")) for case in cases]
        assert ("a/lib.http", "login") in names
        assert ("b/lib.http", "login") in names

    @pytest.mark.parametrize(
        ("name", "rows"),
        [
            ("rows.csv", 'path,id\njson,1\n"json?b",2\n'),
            ("rows.json", '[{"path": "json", "id": 1}, {"path": "json?b", "id": 2}]'),
        ],
    )
    def test_a_document_is_run_once_for_each_row_of_data(
        self, run, folder: Path, paths, name: str, rows: str
    ) -> None:
        (folder / name).write_text(rows)
        done = run(
            "--data", name, "a.http", a_http="### x\nGET HOST/{{path}}\n?? body id == {{id}}"
        )
        assert paths() == ["GET /json", "GET /json?b"]
        assert [(request["row"], request["outcome"]) for request in done.requests] == [
            (1, "passed"),
            (2, "failed"),
        ]
        assert "x [row 2]" in done.err

    @pytest.mark.parametrize(
        ("name", "text", "why"),
        [
            ("a.csv", "a,a\n1,2\n", "rows|first line"),
            ("a.csv", "a,b\n1\n", "a.csv:2: expected 2 values, found 1"),
            ("a.csv", "", "no rows"),
            ("a.csv", "a;b\n1;2\n", "a.csv:1: the columns must be separated by commas, found semi"),
            ("a.yaml", "[]", "no rows: expected CSV with a header line, or a .json file"),
            ("a.csv", 'a\n"x', "not valid CSV"),
            ("a.json", "{}", "a list of objects"),
            ("a.json", "[1", "a.json:1"),
            ("a.json", "[" * 100_000, "nested too deeply|not valid JSON"),
        ],
    )
    def test_data_that_are_no_table_are_reported_with_their_place(
        self, run, folder: Path, name: str, text: str, why: str
    ) -> None:
        (folder / name).write_text(text)
        done = run("--data", name, "x.http", x_http="GET HOST/json")
        assert done.status == 2
        assert re.search(why, done.err)

    def test_repeating_tells_percentiles(self, run) -> None:
        done = run("--repeat", "4", "a.http", a_http="### x\nGET HOST/json")
        [times] = done.report["summary"]["percentiles"]
        assert (times["title"], times["count"]) == ("x", 4)
        assert 0 < times["min"] <= times["p50"] <= times["p99"] <= times["max"]
        assert [request["turn"] for request in done.requests] == [1, 2, 3, 4]
        assert "p95" in done.err

    def test_each_element_of_a_list_and_each_turn_of_a_loop_has_its_time(self, run) -> None:
        text = "### a\n@all = [1, 2]\nGET HOST/json?{{$.all[*]}}\n"
        text += "### b\n# @loop for 2\nGET HOST/json\n"
        done = run("--repeat", "2", "a.http", a_http=text)
        percentiles = done.report["summary"]["percentiles"]
        assert [(one["title"], one["count"]) for one in percentiles] == [("a", 4), ("b", 4)]
        for times in percentiles:
            durations = sorted(
                exchange["duration"]
                for request in done.requests
                for exchange in request["exchanges"]
                if request["name"] == times["title"]
            )
            assert (times["min"], times["max"]) == (durations[0], durations[-1])

    def test_requests_that_were_not_sent_have_no_times(self, run) -> None:
        text = "### a\nGET HOST/json\n### b\nGET HOST/json\n### c\nGET HOST/{{unknown}}\n"
        done = run("--repeat", "2", "--max-requests", "3", "a.http", a_http=text)
        times = done.report["summary"]["percentiles"]
        assert [(one["title"], one["count"]) for one in times] == [("a", 2), ("b", 1)]
        assert all(one["min"] > 0 for one in times)

    def test_a_token_is_no_time_of_the_request_that_needs_it(self, run) -> None:
        text = (
            "@oauth2_tokenEndpoint = HOST/404\n@oauth2_clientId = id\n@oauth2_clientSecret = s\n"
            "GET HOST/json\nAuthorization: oauth2 client_credentials\n"
        )
        done = run("--repeat", "2", "a.http", a_http=text)
        assert done.outcomes == ["error", "error"]
        assert done.requests[0]["exchanges"]
        assert done.report["summary"]["percentiles"] == []

    def test_a_request_is_the_same_in_all_repetitions_whatever_its_url(
        self, run, folder: Path
    ) -> None:
        (folder / "a.csv").write_text("id\n1\n2\n")
        text = "GET HOST/json?{{$uuid}}\n###\nGET HOST/json?{{id}}\n"
        done = run("--repeat", "3", "--data", "a.csv", "a.http", a_http=text)
        times = done.report["summary"]["percentiles"]
        assert [(one["title"].partition("?")[2], one["count"]) for one in times] == [
            ("{{$uuid}} [row 1]", 3),
            ("{{id}} [row 1]", 3),
            ("{{$uuid}} [row 2]", 3),
            ("{{id}} [row 2]", 3),
        ]


class TestTogether:
    def test_jobs_send_at_once_and_tell_in_order(self, run) -> None:
        # Each answer waits until all four were requested: a single job would wait forever.
        import threading

        barrier = threading.Barrier(4, timeout=20)

        def answer(connection, _: bytes) -> None:
            barrier.wait()
            connection.sendall(response(b"{}"))

        with RawServer(answer) as all_at_once:
            text = f"GET {all_at_once.url}/\n"
            done = run("-j", "4", ".", **{f"{name}_http": text for name in "abcd"})
        assert done.status == 0
        assert [request["file"][0] for request in done.requests] == list("abcd")
        assert re.findall(r"(\w)\.http", done.err) == list("abcd")

    def test_many_documents_by_many_jobs_all_come_in_order(self, run) -> None:
        text = "GET HOST/json\n?? body id == 1\n\n###\nGET HOST/json\n"
        documents = {f"d{number:02}_http": text for number in range(40)}
        done = run("-j", "16", "-q", ".", **documents)
        assert done.status == 0
        assert [(request["file"], request["line"]) for request in done.requests] == [
            (f"d{number:02}.http", line) for number in range(40) for line in (1, 5)
        ]

    def test_the_time_for_the_whole_run_ends_it(self, run) -> None:
        with RawServer(silent) as slow:
            done = run(
                "--max-time", "3", "a.http", "b.http",
                a_http=f"GET {slow.url}/\n\n###\nGET HOST/json\n\n### teardown\nDELETE HOST/json\n",
                b_http="GET HOST/json",
            )  # fmt: skip
        assert done.status == 1
        assert done.outcomes == ["error", "skipped", "passed", "skipped"]
        over = "cancelled: the time limit of the run was reached (--max-time)"
        assert done.requests[0]["reason"] == over

    def test_a_slow_request_ends_at_its_time_and_the_others_continue(self, run) -> None:
        with RawServer(silent) as slow:
            text = f"GET {slow.url}/\n\n###\nGET HOST/json\n"
            done = run("--timeout", "1", "a.http", a_http=text)
        assert done.outcomes == ["error", "passed"]
        assert "cancelled" not in done.requests[0]["reason"]


STOPPED = {  # the second document is not started
    "a_http": "GET HOST/404\n\n###\nGET HOST/json\n",
    "b_http": "### setup\nGET HOST/json\n### one\nGET HOST/json\n### two\nPUT HOST/json\n",
}


class TestNotStarted:
    @pytest.mark.parametrize("option", [["--bail"], ["--max-requests", "1"]])
    def test_the_requests_of_a_document_that_was_not_started_are_listed(
        self, run, server, option: list[str]
    ) -> None:
        done = run(*option, "a.http", "b.http", **STOPPED)
        assert len(server.requests) == 1
        assert done.outcomes[-3:] == ["skipped"] * 3
        assert [(one["name"], one["line"]) for one in done.requests[-3:]] == [
            ("setup", 2),
            ("one", 4),
            ("two", 6),
        ]
        assert done.requests[-1]["reason"] == done.report["summary"]["ended"]

    @pytest.mark.parametrize(
        ("what", "text"),
        [("`run` line", "run lib.http"), ("loop", "# @loop for 3\nGET HOST/404")],
    )
    def test_the_rest_of_a_loop_or_run_line_is_listed(
        self, run, server, what: str, text: str
    ) -> None:
        script = "< {%\nawait pm.sendRequest('HOST/json');\n%}"
        lib = f"GET HOST/404\n\n###\n# @loop for 2\n{script}\nGET HOST/json\n\n###\nGET HOST/\n"
        (Path.cwd() / "lib.http").write_text(lib.replace("HOST", server.url))
        done = run("--bail", "a.http", a_http=f"{text}\n\n### next\nGET HOST/json\n")
        assert len(server.requests) == 1
        assert done.outcomes == ["failed", "skipped", "skipped"]
        why = "an earlier request failed (--bail)"
        assert done.requests[1]["reason"] == f"the rest of this {what} was not sent: {why}"
        assert done.requests[2]["name"] == "next"

    def test_a_request_that_a_run_line_sent_is_not_sent_again_after_a_failure(
        self, run, paths
    ) -> None:
        done = run("--bail", "a.http", a_http="run #a\n\n### a\n# @name a\nGET HOST/404\n")
        assert (done.outcomes, paths()) == (["failed", "skipped"], ["GET /404"])

    def test_a_failed_test_counts_even_if_another_request_needed_what_it_cancelled(
        self, run, paths
    ) -> None:
        script = "{{\ntest('ready', () => { throw new Error('no'); });\nexports.$cancel = true;\n}}"
        a = f"### a\n# @name a\n# @loop for 2\n{script}\nGET HOST/a\n"
        b = "### b\n# @name b\n# @ref a\nGET HOST/json\n"
        done = run("--name", "b", "a.http", a_http=a + b)
        assert (done.status, "ready: no" in done.err) == (1, True)

    def test_the_tests_of_a_script_that_fails_before_all_requests_are_reported(self, run) -> None:
        script = (
            "{{\ntest('ready', () => { throw new Error('no'); });\nthrow new Error('stop');\n}}"
        )
        done = run("a.http", a_http=f"{script}\n###\nGET HOST/json\n")
        assert (done.status, done.outcomes) == (1, ["error"])
        assert "ready: no" in done.err

    def test_nothing_is_listed_below_a_loop_or_run_line_that_was_complete(
        self, run, server
    ) -> None:
        (Path.cwd() / "lib.http").write_text(f"GET {server.url}/404\n")
        done = run(
            "--bail", "a.http", "b.http",
            a_http="run lib.http\n", b_http="# @loop for 1\nGET HOST/404\n",
        )  # fmt: skip
        assert done.outcomes == ["failed", "skipped"]

    def test_what_is_not_chosen_is_not_listed(self, run) -> None:
        done = run("--bail", "--name", "two", "--name", "a", "a.http", "b.http", "c.http",
            a_http="### a\nGET HOST/404\n", b_http=STOPPED["b_http"],
            c_http="### setup\nGET HOST/json\n### other\nGET HOST/json\n",
        )  # fmt: skip
        assert [one["name"] for one in done.requests] == ["a", "setup", "two"]

    def test_a_document_that_cannot_be_read_is_listed_as_a_whole(self, run, folder: Path) -> None:
        def removing(connection, _: bytes) -> None:
            (folder / "b.http").unlink()
            connection.sendall(response(b"", status="404 Not Found"))

        with RawServer(removing) as other:
            a_http = f"GET {other.url}/\n"
            done = run("--bail", "a.http", "b.http", **{**STOPPED, "a_http": a_http})
        assert (done.status, done.outcomes) == (1, ["failed", "skipped"])
        assert done.requests[1]["document"] == "b.http"

    def test_a_run_without_time_lists_the_document_as_a_whole(
        self, run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("orgrest.run.control.LISTING", -1.0)
        done = run("--bail", "a.http", "b.http", **STOPPED)
        assert done.outcomes == ["failed", "skipped", "skipped"]
        assert [one["line"] for one in done.requests] == [1, 4, None]


class TestInterrupted:
    @pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
    def test_an_interrupted_run_cleans_up_and_leaves_its_reports(
        self, folder: Path, kind: signal.Signals
    ) -> None:
        asked: list[bytes] = []

        def stall(connection, request: bytes) -> None:
            asked.append(request.split(b" ", 2)[1])
            if asked[-1] == b"/slow":
                silent(connection)
            connection.sendall(response(b"{}"))

        with RawServer(stall) as slow:
            paths = ("one", "slow", "three")
            text = "\n\n###\n".join(f"GET {slow.url}/{path}" for path in paths)
            (folder / "a.http").write_text(f"{text}\n\n### teardown\nDELETE {slow.url}/clean\n")
            (folder / "b.http").write_text(f"GET {slow.url}/b")
            process = _started("a.http", "b.http", "--report-json", "r.json", "--jsonl", "r.jsonl")
            wait_until(lambda: b"/slow" in asked)
            process.send_signal(kind)
            _, output = process.communicate(timeout=60)
        assert process.returncode == 130
        assert asked[-1] == b"/clean"
        found = json.loads((folder / "r.json").read_text())
        assert [request["outcome"] for request in found["requests"]] == [
            "passed",
            "error",
            "skipped",
            "passed",
            "skipped",
        ]
        assert found["summary"]["ended"] == "interrupted"
        assert b"interrupted" in output

    def test_a_teardown_after_ctrl_c_gets_the_token_that_it_needs(self, folder: Path) -> None:
        asked: list[bytes] = []

        def stall(connection, request: bytes) -> None:
            asked.append(request.split(b" ", 2)[1])
            if asked[-1] == b"/slow":
                silent(connection)
            token = b'{"access_token": "t0ken", "expires_in": 60}'
            connection.sendall(response(token, "Content-Type: application/json"))

        with RawServer(stall) as slow:
            (folder / "a.http").write_text(
                f"@oauth2_tokenEndpoint = {slow.url}/token\n@oauth2_clientId = id\n"
                f"@oauth2_clientSecret = s\nGET {slow.url}/slow\n\n"
                f"### teardown\nDELETE {slow.url}/clean\nAuthorization: oauth2 client_credentials\n"
            )
            process = _started("a.http", "--report-json", "r.json")
            wait_until(lambda: b"/slow" in asked)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        assert asked == [b"/slow", b"/token", b"/clean"]
        outcomes = [r["outcome"] for r in json.loads((folder / "r.json").read_text())["requests"]]
        assert outcomes == ["error", "passed"]

    def test_a_teardown_under_way_at_ctrl_c_is_completed_with_what_it_waits_for(
        self, folder: Path
    ) -> None:
        asked: list[bytes] = []
        interrupted = threading.Event()

        def stall(connection, request: bytes) -> None:
            asked.append(request.split(b" ", 2)[1])
            if asked[-1] == b"/first":
                interrupted.wait(60)
            connection.sendall(response(b"{}"))

        with RawServer(stall) as slow:
            (folder / "a.http").write_text(
                f"GET {slow.url}/one\n\n### teardown\nDELETE {slow.url}/first\n\n"
                f"###\n# @tag teardown\n# @sleep 500\nDELETE {slow.url}/second\n"
            )
            process = _started("a.http", "--report-json", "r.json")
            wait_until(lambda: b"/first" in asked)
            process.send_signal(signal.SIGINT)
            interrupted.set()
            process.communicate(timeout=60)
        assert process.returncode == 130
        assert asked == [b"/one", b"/first", b"/second"]
        found = json.loads((folder / "r.json").read_text())["requests"]
        assert [one["outcome"] for one in found] == ["passed", "passed", "passed"]

    def test_however_often_it_is_pressed_ctrl_c_leaves_status_130_and_reports(
        self, folder: Path
    ) -> None:
        with RawServer(silent) as slow:
            (folder / "a.http").write_text(f"GET {slow.url}/slow\n")
            process = _started("a.http", "--report-json", "r.json")
            wait_until(lambda: bool(slow.requests))
            while process.poll() is None:
                process.send_signal(signal.SIGINT)
                time.sleep(0.002)
            process.communicate()
        assert process.returncode == 130
        assert json.loads((folder / "r.json").read_text())["summary"]["ended"] == "interrupted"

    def test_the_second_ctrl_c_ends_the_teardown_too(self, folder: Path) -> None:
        asked: list[bytes] = []

        def stall(connection, request: bytes) -> None:
            asked.append(request.split(b" ", 2)[1])
            silent(connection)

        with RawServer(stall) as slow:
            text = f"GET {slow.url}/slow\n\n### teardown\nDELETE {slow.url}/clean\n"
            (folder / "a.http").write_text(text)
            process = _started("a.http", "--report-json", "r.json")
            wait_until(lambda: b"/slow" in asked)
            process.send_signal(signal.SIGINT)
            wait_until(lambda: b"/clean" in asked)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        assert process.returncode == 130
        found = json.loads((folder / "r.json").read_text())["requests"]
        assert [one["outcome"] for one in found] == ["error", "error"]
        assert found[1]["reason"] == "in progress when the run ended: interrupted"

    def test_the_second_ctrl_c_leaves_what_was_sent_for_the_request_in_progress(
        self, folder: Path
    ) -> None:
        asked: list[str] = []

        def stall(connection, request: bytes) -> None:
            asked.append(request.split(b" ", 2)[1].decode())
            if asked.count("/clean") == 3:
                silent(connection)
            connection.sendall(
                response(b"{}", status=f"{404 if asked[-1] == '/clean' else 200} Word")
            )

        with RawServer(stall) as slow:
            (folder / "lib.http").write_text(f"### login\nPOST {slow.url}/login\n")
            (folder / "a.http").write_text(
                f"# @import lib.http\nGET {slow.url}/one\n\n### teardown\n# @ref login\n"
                f"DELETE {slow.url}/clean\n?? eventually 60s status == 200\n"
            )
            process = _started("a.http", "--report-json", "r.json")
            wait_until(lambda: asked.count("/clean") == 3)
            for _ in range(2):
                process.send_signal(signal.SIGINT)
                time.sleep(0.2)
            process.communicate(timeout=60)
        assert process.returncode == 130
        found = json.loads((folder / "r.json").read_text())["requests"]
        assert [(one["file"], one["outcome"]) for one in found] == [
            ("a.http", "passed"),
            ("lib.http", "passed"),
            ("a.http", "error"),
        ]
        assert found[2]["reason"] == "in progress when the run ended: interrupted"
        assert found[2]["part"] == "teardown"
        (login,), (clean,) = (one["exchanges"] for one in found[1:])
        assert login["response"]["status"] == 200
        assert (clean["response"]["status"], clean["attempts"]) == (404, 2)

    def test_a_run_that_is_killed_leaves_a_line_for_each_request_that_was_done(
        self, folder: Path
    ) -> None:
        from orgrest.run.suite.spool import read

        asked: list[bytes] = []

        def stall(connection, request: bytes) -> None:
            asked.append(request)
            if len(asked) == 3:
                silent(connection)
            connection.sendall(response(b"{}"))

        with RawServer(stall) as slow:
            (folder / "a.http").write_text(f"GET {slow.url}/\n\n###\n" * 5)
            process = _started("a.http", "--jsonl", "r.jsonl", "--junit", "r.xml")
            wait_until(lambda: len(asked) == 3)
            process.kill()
            process.communicate(timeout=60)
        head, records, summary = read(folder / "r.jsonl")
        assert head["format"] == 2
        assert [record["outcome"] for record in records] == ["passed", "passed"]
        assert summary == {}
        assert not (folder / "r.xml").exists()


def _started(*arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "orgrest", "test", *arguments]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


@pytest.mark.parametrize("name", ["orgrest-check", "orgrest-test"])
def test_the_hooks_of_pre_commit_can_be_called(run, server, folder: Path, name: str) -> None:
    hooks = (Path(__file__).parents[4] / ".pre-commit-hooks.yaml").read_text()
    found = re.search(rf"- id: {name}\n(?:  .*\n)*?  entry: orgrest (.*)\n", hooks)
    assert found
    for status, text in ((0, "?? status == 200"), (1, "?? nonsense")):
        (folder / "a.http").write_text(f"GET {server.url}/json\n{text}\n")
        command = [sys.executable, "-m", "orgrest", *found[1].split(), "a.http"]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == status, done.stderr
    assert len(server.requests) == (name == "orgrest-test")


class TestWaiting:
    def test_a_run_begins_when_the_service_answers(self, run, server: RawServer) -> None:
        import threading

        count = iter([503, 500, *[200] * 10])

        def waking(connection, _: bytes) -> None:
            connection.sendall(response(b"", status=f"{next(count)} Word"))

        with RawServer(waking) as late:
            done = run("--wait-for", late.host, "a.http", a_http="GET HOST/json")
            assert len(late.requests) == 3
        assert done.status == 0
        assert threading.active_count() < 100

    def test_a_service_that_never_answers_is_status_1_and_reported(self, run, server) -> None:
        done = run(
            "--wait-for", "http://127.0.0.1:1/", "--wait-timeout", "0.3", "a.http",
            a_http="GET HOST/json",
        )  # fmt: skip
        assert done.status == 1
        why = "http://127.0.0.1:1/ was not ready within 0.3 s (--wait-timeout)"
        assert why in done.err
        assert server.requests == []
        assert done.outcomes == ["skipped"]
        assert done.requests[0]["reason"].startswith(why)
        assert done.report["summary"]["ended"] == done.requests[0]["reason"]

    def test_nobody_waits_for_a_url_to_which_no_request_can_be_sent(self, run, server) -> None:
        began = time.monotonic()
        done = run("--wait-for", "http://127.0.0.1:99999/", "a.http", a_http="GET HOST/json")
        assert time.monotonic() - began < 30
        assert (done.status, done.outcomes, server.requests) == (1, ["skipped"], [])
        assert "could not wait for http://127.0.0.1:99999/: invalid port: 99999" in done.err

    def test_a_wait_goes_on_until_the_servers_certificate_is_there(self, run, server) -> None:
        context = tls_of(trustme.CA(), "127.0.0.1")
        with RawServer(response(b""), context=context) as other:
            done = run(
                "--wait-for", other.url, "--wait-timeout", "0.7", "a.http", a_http="GET HOST/json"
            )
        why = "was not ready within 0.7 s (--wait-timeout): the server's TLS certificate is invalid"
        assert why in done.err

    def test_a_wait_ends_with_the_time_for_the_whole_run(self, run, server) -> None:
        done = run(
            "--wait-for", "http://127.0.0.1:1/", "--wait-timeout", "30", "--max-time", "0.3",
            "a.http", a_http="GET HOST/json",
        )  # fmt: skip
        assert (done.status, done.outcomes, server.requests) == (1, ["skipped"], [])
        assert "before the time limit of the run was reached (--max-time)" in done.err

    @pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
    def test_a_wait_that_is_interrupted_leaves_its_reports(
        self, folder: Path, kind: signal.Signals
    ) -> None:
        (folder / "a.http").write_text("GET http://127.0.0.1:1/\n")
        (folder / "r.json").write_text("of an earlier run")
        with RawServer(silent) as slow:
            process = _started("a.http", "--wait-for", slow.url, "--report-json", "r.json")
            wait_until(lambda: slow.requests)
            process.send_signal(kind)
            process.communicate(timeout=60)
        assert process.returncode == 130
        found = json.loads((folder / "r.json").read_text())
        assert [request["outcome"] for request in found["requests"]] == ["skipped"]
        assert found["summary"]["ended"] == "interrupted"


def test_a_file_of_variables_alone_is_no_error_in_a_folder(run, folder: Path) -> None:
    (folder / "f").mkdir()
    (folder / "f/vars.http").write_text("@a = 1\n")
    done = run("f", "f/r.http", **{"f/r.http": "GET HOST/json"})
    assert done.status == 0
    assert "vars.http" not in done.err


def test_a_file_without_a_request_that_is_named_says_so(run, folder: Path) -> None:
    (folder / "vars.http").write_text("@a = 1\n")
    done = run("vars.http")
    assert done.status == 1
    assert "vars.http:1" in done.err
    assert "no request found" in done.err


def test_a_report_says_that_a_file_is_not_utf8_since_other_bytes_are_sent(
    run, folder: Path, server: RawServer
) -> None:
    text = f"POST {server.url}/echo\nContent-Type: text/plain\n\nna\u00efve\n\n".encode()
    (folder / "a.http").write_bytes(text + b"### caf\xe9\n")
    done = run("a.http")
    [note] = done.requests[0]["notes"]
    assert note.startswith("line 6 is not UTF-8: the file was read as Latin-1")
