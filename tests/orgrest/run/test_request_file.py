"""Request files with a real server: chained requests, scripts, imports, loops and directives."""

from __future__ import annotations

import contextlib
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from components import needs_engine
from evaluated import Evaluated
from servers import RawServer, response

from orgrest.files import write_result
from orgrest.http.transport.client import Client
from orgrest.http.transport.limits import BODY_LIMIT
from orgrest.http.values import Inputs
from orgrest.run import directives
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def server() -> Iterator[RawServer]:
    def answer(connection: socket.socket, request: bytes) -> None:
        path = request.split(b" ", 2)[1].decode()
        if path == "/redirect":
            moved = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(moved)
            return
        body = json.dumps({"path": path, "token": f"t{path}", "list": [1, "two"]}).encode()
        connection.sendall(
            response(body, "Content-Type: application/json", "X-Id: 9", "Set-Cookie: c=1")
        )

    with RawServer(answer) as running:
        yield running


class Sent(Evaluated):
    """A request file that was sent to a server, and the requests that the server received."""

    def __init__(
        self,
        server: RawServer,
        folder: Path,
        text: str,
        ask: Any = None,
        limit: int = BODY_LIMIT,
        **options: Any,
    ) -> None:
        super().__init__(
            text,
            Inputs(directory=folder),
            url=server.url,
            client=Client(limit=limit),
            services={"ask": ask, "write": write_result},
            **options,
        )
        self.count, self.notices = len(self.plan.steps), self.plan.notices
        self.sent = [request.split(b" ", 2)[1].decode() for request in server.requests]
        self.raw = server.requests


@pytest.fixture
def run(server: RawServer, tmp_path: Path) -> Callable[..., Sent]:
    def start(text: str, **options: Any) -> Sent:
        return Sent(server, tmp_path, text, **options)

    return start


# ---------------------------------------------------------------------------------------- chaining


def test_a_request_that_another_needs_is_sent_first_and_once(run) -> None:
    done = run(
        "GET HOST/a?{{login.response.body.$.token}}\n###\nGET HOST/b?{{login.token}}\n"
        "### login\nPOST HOST/login\n###\n# @ref login\nGET HOST/c\n"
    )
    assert done.states == ["done"] * 4
    assert done.sent == ["/login", "/a?t/login", "/b?t/login", "/c"]
    assert [outcome.name for outcome in done.outcomes] == [None, None, "login", None]


def test_a_misspelt_name_of_a_request_is_explained(run) -> None:
    (reason,) = run("### login\nGET HOST/a\n###\nGET HOST/{{logn.response.body.$.id}}\n").reasons
    assert reason.endswith("is not defined, because no request is named logn")


def test_a_definition_may_take_from_a_response(run) -> None:
    done = run("### one\nGET HOST/one\n###\n@id = {{one.response.headers.X-Id}}\nGET HOST/{{id}}\n")
    assert done.sent == ["/one", "/9"]


def test_a_forced_request_is_sent_each_time(run) -> None:
    done = run(
        "# @forceRef one\nGET HOST/a\n###\n# @forceRef one\nGET HOST/b\n### one\nGET HOST/1\n"
    )
    assert done.sent == ["/1", "/a", "/1", "/b"]


def test_requests_that_wait_for_each_other_are_an_error_that_shows_them(run) -> None:
    done = run("### a\nGET HOST/{{b.token}}\n### b\nGET HOST/{{a.token}}\n")
    assert done.sent == []
    assert done.reasons == [
        "a.http:2:29: b refers to itself: b -> a -> b",
        "a.http:4:29: a refers to itself: a -> b -> a",
    ] or all("refers to itself" in reason for reason in done.reasons)


def test_what_waits_for_a_failed_request_fails_and_the_others_continue(run) -> None:
    done = run("# @ref bad\nGET HOST/a\n###\nGET HOST/b\n### bad\nGET HOST/{{nope}}\n")
    assert done.states == ["failed", "done", "failed"]
    assert done.sent == ["/b"]
    assert "the variable nope is not defined" in done.reasons[0]


def test_an_unknown_reference_names_what_there_is(run) -> None:
    done = run("# @ref nope\nGET HOST/a\n### one\nGET HOST/b\n")
    assert done.reasons == ["a.http:2: no request named nope; available: one"]
    assert done.sent == ["/b"]


def test_a_dry_run_shows_what_a_response_would_give_as_a_placeholder(run) -> None:
    text = (
        "GET HOST/{{one.token}}/{{set}}\n"
        "### one\nGET HOST/1\n\n> {% client.global.set('set', 1) %}\n"
    )
    done = run(text, dry_run=True)
    assert done.sent == []
    assert done.outcomes[0].exchanges[0].request.url.endswith("/<one.token>/<set>")


# --------------------------------------------------------------------------------------- directives


def test_directives_say_how_a_request_is_sent(run) -> None:
    done = run(
        "GET HOST/cookie\n###\nGET HOST/second\n###\n# @no-cookie-jar\nGET HOST/third\n###\n"
        "// @no-redirect\nGET HOST/redirect\n###\nGET HOST/redirect\n"
    )
    assert done.sent == ["/cookie", "/second", "/third", "/redirect", "/redirect", "/there"]
    assert [b"cookie: c=1" in request.lower() for request in done.raw[:3]] == [False, True, False]
    assert done.outcomes[3].exchanges[0].response.status == 302


def test_httpyacs_settings_say_how_requests_are_sent(run, tmp_path: Path) -> None:
    settings = {"cookieJarEnabled": False, "request": {"followRedirect": False, "timeout": 50}}
    (tmp_path / ".httpyac.json").write_text(json.dumps(settings))
    done = run("GET HOST/a\n###\nGET HOST/b\n###\nGET HOST/redirect\n")
    assert done.sent == ["/a", "/b", "/redirect"]
    assert all(b"cookie:" not in request.lower() for request in done.raw)

    def late(connection: socket.socket, _: bytes) -> None:
        time.sleep(0.2)
        with contextlib.suppress(OSError):  # the client has closed the connection
            connection.sendall(response(b"{}"))

    with RawServer(late) as server:
        for text in ("GET HOST/", "# @timeout 5 s\nGET HOST/"):
            states = Sent(server, tmp_path, text).states
            assert states == ["done" if "@timeout" in text else "failed"]
        assert Sent(server, tmp_path, "GET HOST/", timeout=5.0).states == ["done"]


def test_httpyacs_settings_that_are_not_supported_are_named(run, tmp_path: Path) -> None:
    settings = {
        "proxy": "http://p",
        "envDirName": "env",
        "log": {"level": 1},
        "request": {"http2": True, "timeout": "5 s"},
    }
    (tmp_path / ".httpyac.json").write_text(json.dumps(settings))
    first, second = run("GET HOST/a\n").notices
    assert first.endswith("so they are ignored: proxy, request.http2")
    assert second.endswith("and at most 86400000; found 5 s")
    (tmp_path / ".httpyac.json").write_text('{"cookieJarEnabled": true, "request": {}}')
    assert run("GET HOST/a\n").notices == ()


def test_a_disabled_request_is_not_sent(run) -> None:
    done = run("# @disabled\nGET HOST/a\n###\n# @disabled x > 1\nGET HOST/b\n###\nGET HOST/c\n")
    assert done.states == ["skipped", "failed", "done"]
    assert done.sent == ["/c"]


@needs_engine
@pytest.mark.parametrize("use", ["# @ref a\nGET HOST/b", "GET HOST/b?{{a.response.body.x}}"])
def test_a_disabled_request_is_not_sent_for_another_one_either(run, use: str) -> None:
    done = run(f"# @name a\n# @disabled\nGET HOST/a\n###\n{use}\n###\nGET HOST/c\n")
    assert done.states == ["skipped", "failed", "done"]
    assert done.reasons[0].endswith("it is disabled")
    assert "not sent: depends on a, which is disabled" in done.reasons[1]
    assert done.sent == ["/c"]


def test_a_request_is_disabled_if_its_expression_is_true(run) -> None:
    text = "@n = 5\n# @disabled n == 5\nGET HOST/a\n###\n# @disabled n == 6\nGET HOST/b\n###\n"
    text += (
        "# @name made\nGET HOST/made\n###\n# @disabled madeResponse.statusCode == 200\nGET HOST/c\n"
    )
    text += "###\n# @disabled madeResponse.statusCode > 200\nGET HOST/d\n"
    done = run(text)
    assert done.states == ["skipped", "done", "done", "skipped", "done"]
    assert done.sent == ["/b", "/made", "/d"]


def test_a_note_asks_before_sending(run) -> None:
    asked: list[str] = []

    def ask(question: str) -> bool:
        asked.append(question)
        return "yes" in question

    text = "# @note yes?\nGET HOST/a\n###\n# @note no?\nGET HOST/b\n###\n# @note\nGET HOST/c\n"
    done = run(text, ask=ask)
    assert done.sent == ["/a"]
    assert done.states == ["done", "skipped", "skipped"]
    assert asked[:2] == ["yes?", "no?"]
    assert run(text).states == ["failed"] * 3


def test_a_loop_sends_a_request_for_each_turn(run) -> None:
    each = '# @loop for x of [1, "b"]'
    done = run(f"# @loop for 3\nGET HOST/{{{{$index}}}}\n###\n{each}\nGET HOST/{{{{x}}}}\n")
    assert done.sent == ["/0", "/1", "/2", "/1", "/b"]


def test_a_loop_whose_variable_is_also_defined_says_so_once(run) -> None:
    done = run("@page = 1\n###\n# @loop for page of [4, 5]\nGET HOST/{{page}}\n")
    assert done.sent == ["/1", "/1"]
    first, second = done.outcomes
    (notice,) = first.exchanges[0].request.notices
    assert str(notice) == (
        "a.http:3:9: @loop sets page, but page is also defined in line 1, and every iteration uses "
        "that value: rename one of them"
    )
    assert second.exchanges[0].request.notices == ()
    done = run("@page = {{page}}0\n###\n# @loop for page of [4, 5]\nGET HOST/{{page}}\n")
    assert done.sent[2:] == ["/40", "/50"]
    assert done.outcomes[0].exchanges[0].request.notices == ()


@needs_engine
@pytest.mark.parametrize(
    "expression", ["$index + 1", "1 + $index", "$index+1", "$index-1+2", "Number($index) + 1"]
)
def test_the_number_of_an_iteration_can_be_used_in_an_expression(run, expression: str) -> None:
    done = run(f"# @loop for 2\nGET HOST/{{{{{expression}}}}}\n")
    assert done.sent == ["/1", "/2"]


@needs_engine
def test_a_number_of_an_iteration_without_a_loop_is_an_error(run) -> None:
    (reason,) = run("GET HOST/{{$index + 1}}\n").reasons
    assert reason.startswith("a.http:1:")
    assert reason.endswith("{{$index}} has a value only in a request with @loop")


@pytest.mark.parametrize("loop", ["for 3", "for x of [1, 2, 3]", "while true"])
def test_an_error_ends_a_loop_and_says_so(run, loop: str) -> None:
    url = '{{["HOST/a", "nowhere"][$index]}}'
    done = run(f"# @loop {loop}\nGET {url}\n###\nGET HOST/last\n")
    assert done.sent == ["/a", "/last"]
    assert done.states == ["done", "failed", "skipped", "done"]
    assert done.reasons[1] == "a.http:2: not sent again, because iteration 2 failed"


def test_an_error_in_the_last_iteration_leaves_nothing_out(run) -> None:
    done = run('# @loop for 2\nGET {{["HOST/a", "nowhere"][$index]}}\n')
    assert (done.sent, done.states) == (["/a"], ["done", "failed"])


def test_a_failed_assertion_does_not_end_a_loop(run) -> None:
    done = run("# @loop for 3\nGET HOST/{{$index}}\n?? status == 404\n")
    assert done.sent == ["/0", "/1", "/2"]


@pytest.mark.parametrize("loop", ["for 99999", "while", "for x of nothing", "for x of {}"])
def test_a_loop_that_is_not_understood_or_has_no_bounds_is_an_error(run, loop: str) -> None:
    done = run(f"# @name a\n# @loop {loop}\nGET HOST/a\n###\nGET HOST/b\n")
    assert done.states == ["failed", "done"]
    assert done.reasons[0].startswith(("a.http:2:9: @loop ", "a.http:2:9: the variable nothing"))


@needs_engine
def test_a_loop_goes_over_what_a_response_or_an_expression_gives(run) -> None:
    text = (
        "@own = [5]\n# @name r\nGET HOST/r\n###\n# @loop for x of r.list\nGET HOST/{{x}}\n###\n"
        '# @loop for x of [{"id": 7}].map(y => y)\nGET HOST/{{x.id}}\n###\n'
        "# @loop for x of own\nGET HOST/{{x}}\n"
    )
    assert run(text).sent == ["/r", "/1", "/two", "/7", "/5"]
    dry = run(text.replace("{{x}}", "{{x}}/{{x.id}}"), dry_run=True)
    urls = [outcome.exchanges[0].request.url.partition("/")[2] for outcome in dry.outcomes[1:3]]
    assert urls[0].endswith("/<x>/<x.id>")
    assert urls[1].endswith("/7")


@pytest.mark.parametrize(
    ("text", "expected"), [("500", 0.5), ("500ms", 0.5), ("2 s", 2.0), ("1.5 m", 90.0)]
)
def test_times_of_directives_are_read_with_their_unit(text: str, expected: float) -> None:
    assert directives.seconds(text, "timeout") == expected


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("# @timeout 50\nGET HOST/\n", "failed"),
        ("# @timeout 50\nGET HOST/\n\n> {% client.log(1); %}\n?? status == 200\n", "failed"),
        ("# @timeout 50\nimport other.http\nGET HOST/\n", "done"),
        ("# @timeout 50\n# @connection-timeout 5\nGET HOST/\n", "done"),
        ("# @timeout 50 ms\n# @connection-timeout 5\nGET HOST/\n", "failed"),
    ],
)
def test_a_time_without_unit_is_in_that_of_the_tool_whose_marks_a_file_has(
    tmp_path: Path, text: str, state: str
) -> None:
    def late(connection: socket.socket, _: bytes) -> None:
        time.sleep(0.2)
        with contextlib.suppress(OSError):  # who asked may be gone
            connection.sendall(response(b"{}"))

    (tmp_path / "other.http").write_text("@a = 1\n### b\nGET http://b/\n")
    with RawServer(late) as server:
        assert Sent(server, tmp_path, text).states == [state]


@pytest.mark.parametrize(
    ("directive", "reason"),
    [
        ("timeout soon", "@timeout requires a time such as 500 ms, 30 s or 2 m, found 'soon'"),
        ("timeout 0", "@timeout must be more than 0 and at most 86400 seconds, found 0"),
        (
            "connection-timeout 90000",
            "@connection-timeout must be more than 0 and at most 86400 seconds, found 90000",
        ),
        ("sleep soon", "@sleep requires a time such as 500 ms, 30 s or 2 m, found 'soon'"),
        ("messages 0", "@messages must be a number from 1 to 1000000, found 0"),
        ("ratelimit soon", "@ratelimit must be `max N expire MS`, `minIdleTime MS` or both, "),
    ],
)
@pytest.mark.parametrize("dry_run", [False, True])
def test_a_directive_that_is_invalid_is_an_error_in_its_line(
    run, directive: str, reason: str, dry_run: bool
) -> None:
    done = run(f"# a comment\n# @{directive}\nGET HOST/a\n", dry_run=dry_run)
    assert [found.startswith(f"a.http:2:1: {reason}") for found in done.reasons] == [True]
    assert done.sent == []


def test_a_dry_run_checks_the_timeout_of_a_block() -> None:
    text = "#+begin_src restclient :timeout soon\nGET http://h/\n#+end_src\n"
    [outcome] = Evaluated(text, file="a.org", dry_run=True).outcomes
    assert ":timeout must be a number of seconds, found soon" in str(outcome.reason)


# ------------------------------------------------------------------------------------ other files


def test_other_files_bring_requests_and_variables(run, tmp_path: Path, server: RawServer) -> None:
    (tmp_path / "lib.http").write_text(
        f"@base = {server.url}\n@who = lib\n"
        "### login\nPOST {{base}}/login\n# @import deep.http\n"
    )
    (tmp_path / "deep.http").write_text("@deep = 3\n### again\nGET {{base}}/again\n")
    (tmp_path / "circle.http").write_text("import circle.http\nimport lib.http\n")
    done = run(
        "import lib.http\n# @import ./circle.http\n@who = mine\n###\n"
        "GET {{base}}/{{who}}/{{deep}}?{{login.token}}\n"
    )
    assert done.sent == ["/login", "/mine/3?t/login"]
    server.requests.clear()
    done = run("import lib.http\nrun #again\nrun deep.http\n###\nGET HOST/last\n")
    assert done.sent == ["/again", "/again", "/last"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("import none.http\n###\nGET HOST/a\n", "a.http:1:8: could not read none.http"),
        ("import ../none.http\n###\nGET HOST/a\n", "a.http:1:8: ../none.http is outside"),
        ("run #none\n###\nGET HOST/a\n", "a.http:1: no request named none"),
    ],
)
def test_a_file_that_is_not_there_is_an_error_and_the_rest_is_sent(run, text: str, reason) -> None:
    done = run(text)
    assert done.reasons[0].startswith(reason)
    assert done.sent == ["/a"]


def test_what_another_file_runs_is_run_with_it_and_the_values_of_the_line_count(
    run, tmp_path: Path, server: RawServer
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.http").write_text(
        "@x = b\nrun c.http (@y=inner)\n### one\nPOST {{host}}/{{x}}/{{y}}\n\n< body.txt\n"
    )
    (tmp_path / "sub" / "c.http").write_text("@x = c\n@y = c\nGET {{host}}/c/{{x}}/{{y}}\n")
    (tmp_path / "sub" / "body.txt").write_text("of sub")
    given = f"@host={server.url}"
    done = run(f"run sub/b.http ({given}, @x=1)\nimport sub/b.http\nrun #one ({given}, @y=3)\n")
    assert done.sent == ["/c/1/inner", "/1/c", "/b/3"]
    assert done.raw[1].endswith(b"of sub")
    assert done.reasons == []


def test_files_that_run_each_other_end_in_an_error(run, tmp_path: Path) -> None:
    (tmp_path / "b.http").write_text("run c.http\n")
    (tmp_path / "c.http").write_text("run b.http\n")
    done = run("run b.http\n###\nGET HOST/a\n")
    assert done.sent == ["/a"]
    assert done.reasons == [
        "c.http:1: files run each other in a cycle: a.http -> b.http -> c.http -> b.http"
    ]


def test_a_file_that_is_run_and_not_there_is_reported_where_it_is_run(run, tmp_path: Path) -> None:
    (tmp_path / "b.http").write_text("import no.http\nrun none.http\n")
    done = run("run b.http\nrun nothing.http\n")
    places = [reason.partition(": could not read")[0] for reason in done.reasons]
    assert places == ["b.http:1:8", "b.http:2:5", "a.http:2:5"]


def test_requests_of_one_name_in_two_files_are_distinguished(
    run, tmp_path: Path, server: RawServer
) -> None:
    (tmp_path / "b.http").write_text(
        f"### login\nPOST {server.url}/b\n### two\nGET {server.url}/two?{{{{login.token}}}}\n"
    )
    done = run(
        "import b.http\n### login\nPOST HOST/a\n###\nrun #two\n###\nGET HOST/one?{{login.token}}\n"
    )
    assert done.sent == ["/a", "/b", "/two?t/b", "/one?t/a"]


def test_paths_of_imports_count_from_the_file_in_which_they_stand(
    run, tmp_path: Path, server: RawServer
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "v.http").write_text("@v = top\n")
    (tmp_path / "sub" / "b.http").write_text("import ./v.http\n")
    (tmp_path / "sub" / "v.http").write_text("@v = sub\n")
    assert run("import sub/b.http\n###\nGET HOST/{{v}}\n").sent == ["/sub"]


def test_imported_requests_use_the_variables_of_the_document(run, tmp_path: Path) -> None:
    (tmp_path / "b.http").write_text("@own = b\n# @name b\nGET /b/{{own}}/{{given}}\n")
    document = (
        "# @import b.http\n@host = HOST\n@own = a\n@given = {{own}}2\n# @ref b\nGET /a/{{own}}\n"
    )
    done = run(document)
    assert done.sent == ["/b/b/b2", "/a/a"]
    assert done.reasons == []


@pytest.mark.parametrize("line", ["# @import {}", "import {}", "run {}", "run {} (@a=1)"])
def test_an_import_with_a_variable_in_its_path_fails_alone_and_says_what_to_write(
    run, line: str
) -> None:
    line = line.format("{{root}}/b.http")
    done = run(f"@root = a\n{line}\n###\nGET HOST/a\n###\nGET HOST/b\n")
    assert done.sent == ["/a", "/b"]
    column = line.index("{{") + 1
    reason = "the path of an import cannot contain variables: write the path itself"
    assert [each for each in done.reasons if reason in each] == [f"a.http:2:{column}: {reason}"]


def test_very_many_imports_are_an_error(run, tmp_path: Path) -> None:
    for number in range(120):
        (tmp_path / f"f{number}.http").write_text(f"import f{number + 1}.http\n")
    done = run("import f0.http\n###\nGET HOST/a\n")
    assert "too many imported files (the maximum is 100)" in done.reasons[0]


# ---------------------------------------------------------------------------------------- savings


def test_responses_are_saved_below_the_documents_folder(run, tmp_path: Path) -> None:
    (tmp_path / "a-a.json").write_text("old")
    done = run("@n = a\nGET HOST/x\n\n>> a-{{n}}.json\n>>! a-forced/b.json\n>> a-new.json\n")
    names = ["a-a-1.json", "a-forced/b.json", "a-new.json"]
    assert [
        path.relative_to(tmp_path.resolve()).as_posix() for path, _ in done.outcomes[0].files
    ] == names
    assert all('"/x"' in (tmp_path / name).read_text() for name in names)


def test_a_body_that_was_not_read_completely_is_neither_saved_nor_sent(run, tmp_path: Path) -> None:
    done = run("# @name big\nGET HOST/x\n\n>> x.csv\n###\nPOST HOST/y\n\n{{big.token}}\n", limit=9)
    reason = "could not save the response: the body is larger than 9 bytes: the rest was not read"
    assert reason in done.reasons[0]
    assert (done.sent, list(tmp_path.iterdir())) == (["/x"], [])
    (reason,) = run("# @name big\nGET HOST/x\n###\nPOST HOST/y\n\n{{big.token}}\n", limit=9).reasons
    assert reason.endswith("big's response: the body is larger than 9 bytes: the rest was not read")


def test_a_response_is_never_saved_outside(run) -> None:
    done = run("GET HOST/x\n\n>>! ../x.json\n")
    assert "only be written inside the document's folder" in done.reasons[0]


def test_a_document_makes_a_run_without_a_limit_wait_for_an_hour_at_most(
    run, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = run("# @sleep 999999999\nGET HOST/a\n###\nGET HOST/b\n?? eventually 61m status == 404\n")
    assert done.sent == []
    assert ["wait for at most a total of 60 minutes" in reason for reason in done.reasons] == [
        True,
        True,
    ]
    monkeypatch.setattr("orgrest.run.job.MOST_WAIT", 0.05)
    done = run("# @sleep 40\nGET HOST/c\n###\n# @sleep 40\nGET HOST/d\n")
    assert done.sent == ["/c"]
    assert done.states == ["done", "failed"]


# ---------------------------------------------------------------------------------------- scripts


@needs_engine
def test_scripts_pass_values_on_and_report_their_tests(run) -> None:
    done = run(
        "< {% request.variables.set('a', 'set') %}\nGET HOST/{{a}}\n\n> {%\n"
        "client.test('good', () => client.assert(response.status === 200));\n"
        "client.test('bad', () => client.assert(false, 'why'));\n"
        "client.global.set('b', response.body.list);\nclient.log('said', 1);\n%}\n"
        "###\n# @loop for x of b\nGET HOST/{{x}}\n"
    )
    assert done.sent == ["/set", "/1", "/two"]
    first = done.outcomes[0]
    assert [(test.name, test.held, test.reason) for test in first.tests] == [
        ("good", True, ""),
        ("bad", False, "why"),
    ]
    assert "log: said 1" in first.notes


@needs_engine
def test_httpyacs_scripts_set_variables_and_cancel(run) -> None:
    done = run(
        "{{\nexports.everywhere = 'e';\n}}\n###\n{{\nexports.mine = 'm';\n}}\n"
        "GET HOST/{{everywhere}}{{mine}}\n\n"
        "{{@response\nexports.later = response.parsedBody.path;\n}}\n"
        "###\nGET HOST{{later}}\n###\n{{\nexports.$cancel = true;\n}}\nGET HOST/no\n"
    )
    assert done.sent == ["/em", "/em"]
    assert done.states == ["done", "done", "skipped"]


@needs_engine
def test_a_script_may_stand_in_a_file(run, tmp_path: Path) -> None:
    (tmp_path / "h.js").write_text("client.global.set('x', 1);\nnothing();\n")
    done = run("GET HOST/a\n\n> ./h.js\n###\nGET HOST/b\n\n> ./none.js\n")
    assert done.reasons[0] == (
        "a.http:3: ./h.js (line 2): script: ReferenceError: nothing is not defined"
    )
    assert "could not read ./none.js" in done.reasons[1]


@needs_engine
def test_scripts_of_the_whole_project_are_found_in_its_folder(
    server: RawServer, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "folder").mkdir()
    (tmp_path / "before.js").write_text("request.variables.set('x', 'before');")
    (tmp_path / "after.js").write_text("client.global.set('y', 'after');")
    done = Sent(
        server,
        tmp_path / "folder",
        "@name = after\n< {{$projectRoot}}/before.js\nGET HOST/{{x}}\n\n"
        "> {{$projectRoot}}/{{name}}.js\n###\nGET HOST/{{y}}\n\n> {{$projectRoot}}/none.js\n",
    )
    assert done.sent == ["/before", "/after"]
    assert f"could not read {tmp_path}/none.js" in done.reasons[0]


@needs_engine
def test_an_error_in_a_script_has_its_line_in_the_file(run) -> None:
    done = run("GET HOST/a\n\n> {%\n\nnothing();\n%}\n###\nGET HOST/b\n")
    assert done.reasons == ["a.http:5: script: ReferenceError: nothing is not defined"]
    assert done.states == ["failed", "done"]


@pytest.mark.parametrize(
    "statement",
    [
        "import './check';",
        "import './check'",
        'import {a, b} from "./check";',
        "import * as a from './check'",
        "import a from './check'",
        "let b = 1; import a, {\nc} from './check'",
    ],
)
def test_a_script_with_import_is_an_error_before_its_request_is_sent(statement: str, run) -> None:
    done = run(f"POST HOST/a\n\n> {{%\n\n  {statement}\n%}}\n###\nGET HOST/b\n")
    assert done.sent == ["/b"]
    assert "a.http:5" in done.reasons[0]
    assert 'scripts cannot use import: write require("./check") instead' in done.reasons[0]


@needs_engine
def test_import_in_a_comment_or_text_of_a_script_is_no_error(run) -> None:
    done = run(
        "GET HOST/a\n\n> {%\n/*\nimport './a';\n*/\n// import './a'\n"
        "const s = `\nimport './a'`;\nconst important = {'import': 1};\nclient.log(s.length);\n%}\n"
    )
    assert not done.reasons
    assert done.outcomes[0].notes == ("log: 13",)


def test_import_in_a_scripts_file_is_an_error_with_its_place(run, tmp_path: Path) -> None:
    (tmp_path / "h.js").write_text("const a = 1;\nimport './b';\n")
    done = run("GET HOST/a\n\n> ./h.js\n")
    assert done.reasons[0].startswith("a.http:3: ./h.js (line 2): scripts cannot use import")


def test_a_choice_of_nothing_is_an_error(run) -> None:
    for options in ({"names": ("none",)}, {"lines": (99,)}):
        with pytest.raises(EvaluationError):
            run("GET HOST/a\n", **options)


def test_two_requests_with_the_same_text_are_both_sent_if_both_lines_are_chosen(run) -> None:
    text = "GET HOST/a\n###\nGET HOST/a\n###\nGET HOST/b\n"
    assert run(text, lines=(3, 1)).sent == ["/a", "/a"]


def test_requests_are_sent_and_reported_in_order(run) -> None:
    text = "".join(f"### n{number}\nGET HOST/{number}\n" for number in range(20))
    done = run(text)
    assert done.sent == [f"/{number}" for number in range(20)]
    assert [outcome.name for outcome in done.outcomes] == [f"n{number}" for number in range(20)]


# -------------------------------------------------------------------------------------- assertions


def test_assertions_are_reported_with_what_was_the_case(run) -> None:
    done = run(
        "@wanted = /a\nGET HOST/a\n\n?? status == 200\n?? status == 404\n"
        "?? body path == {{wanted}}\n?? body path == {{nothing}}\n"
    )
    assert [(test.name, test.held, test.reason) for test in done.outcomes[0].tests] == [
        ("status == 200", True, ""),
        ("status == 404", False, "status is 200"),
        ("body path == {{wanted}}", True, ""),
        ("body path == {{nothing}}", False, "the variable nothing is not defined"),
    ]


def test_a_failed_assertion_says_where_it_stands_and_what_it_compared(run) -> None:
    done = run("@wanted = 404\nGET HOST/a\n\n?? status == {{wanted}}\n")
    (verdict,) = done.outcomes[0].exchanges[0].tests
    assert done.outcomes[0].tests == (verdict,)
    assert (verdict.subject, verdict.operator, verdict.expected) == ("status", "==", "404")
    assert (verdict.line, verdict.column) == (4, 1)


def test_an_assertion_that_is_not_understood_sends_nothing(run) -> None:
    done = run("GET HOST/a\n\n?? stats == 200\n###\nGET HOST/b\n")
    assert done.sent == ["/b"]
    assert "unknown subject" in done.reasons[0]


@needs_engine
def test_regular_expressions_of_assertions_that_re2_lacks_are_javascripts_and_bounded(run) -> None:
    evil = "x" * 40
    done = run(
        "GET HOST/" + evil + "\n\n?? body path matches ^/x+$\n?? body matches ^y\n"
        "?? body path matches (\n?? body path matches ^/(?=x)(x+x+)+y$\n"
    )
    held = [(test.held, test.reason) for test in done.outcomes[0].tests]
    assert held[0] == (True, "")
    assert held[1][0] is False
    assert "SyntaxError" in held[2][1]
    assert "did not finish" in held[3][1]


def test_a_connection_that_takes_longer_than_the_directive_says_is_a_failure(
    server: RawServer, tmp_path: Path
) -> None:
    import socket

    with contextlib.ExitStack() as stack:
        # Nobody accepts: the first connections fill the queue, and the next one waits.
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            one = stack.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"
        ran = Sent(server, tmp_path, f"# @connection-timeout 300 ms\nGET {url}\n")
    assert "could not connect within 0.3 s" in str(ran.outcomes[0].reason)
    ran = Sent(server, tmp_path, "# @connection-timeout 0\nGET HOST/\n")
    assert "@connection-timeout must be more than 0" in str(ran.outcomes[0].reason)


def test_a_request_that_is_taken_for_a_variable_is_told_from_one(run: Any) -> None:
    done = run("# @name login\nPOST HOST/a\n\n###\nPOST HOST/b\n\n{{login}}\n")
    assert done.states == ["done", "failed"]
    assert done.reasons == [
        "a.http:7:1: login is the name of a request: use {{login.response.body}} for its response"
    ]


@needs_engine
def test_an_object_that_a_script_exports_is_sent_as_json_as_httpyac_does(run: Any) -> None:
    done = run("{{\nexports.o = {a: 1, b: ['é', null]};\n}}\nPOST HOST/\n\n{\"o\": {{o}}}\n")
    assert done.states == ["done"]
    assert done.raw[0].endswith('{"o": {"a":1,"b":["é",null]}}'.encode())


@needs_engine
def test_a_function_that_a_script_exports_is_called_and_is_told_to_have_no_text(run: Any) -> None:
    done = run("{{\nexports.f = () => 1;\n}}\nGET HOST/{{f()}}\n###\nGET HOST/{{f}}\n")
    assert done.states == ["done", "failed"]
    assert done.sent == ["/1"]
    assert "to call a function, write {{f(...)}}" in done.reasons[0]


# ------------------------------------------------------------------- requests that share a name


def test_requests_of_one_name_are_all_sent_and_each_has_its_own_response(run) -> None:
    done = run(
        "### same\nGET HOST/1\n?? body path == /1\n### same\nGET HOST/2\n?? body path == /1\n"
        "# @name same\n### same\nGET HOST/3\n"
    )
    assert done.sent == ["/1", "/2", "/3"]
    assert [outcome.exchanges[0].request.url[-2:] for outcome in done.outcomes] == [
        "/1",
        "/2",
        "/3",
    ]
    assert [[test.held for test in outcome.tests] for outcome in done.outcomes] == [
        [True],
        [False],
        [],
    ]


def test_a_name_means_the_last_request_above_else_the_first_below(run) -> None:
    text = (
        "### use\nGET HOST/use?{{one.response.body.$.token}}\n"
        "### one\nGET HOST/a\n### \nGET HOST/use?{{one.response.body.$.token}}&{{one.token}}\n"
        "### one\nGET HOST/b\n?? body path == {{one.path}}\n"
        "###\n# @ref one\nGET HOST/use?{{one.token}}\n"
    )
    assert run(text).sent == [
        "/a",
        "/use?t/a",
        "/use?t/a&t/a",
        "/b",
        "/use?t/b",
    ]


def test_a_name_that_stands_twice_is_reported(run) -> None:
    text = "### one\nGET HOST/a\n### one\nGET HOST/b\n###\nGET HOST/c\n"
    done = run(text)
    (notice,) = done.notices
    assert notice.startswith("line 4: the request at line 2 is also named one: both are sent,")


def test_separators_that_are_drawn_as_lines_are_no_names(run) -> None:
    done = run("### -----\nGET HOST/a\n### -----\nGET HOST/b\n########\n###====\nGET HOST/c\n")
    assert (done.sent, done.notices) == (["/a", "/b", "/c"], ())
    assert {outcome.name for outcome in done.outcomes} == {None}


def test_what_failed_once_is_not_tried_again_for_another(run, server: RawServer) -> None:
    done = run(
        "# @ref broken\nGET HOST/a\n###\n# @ref broken\nGET HOST/b\n"
        "### broken\nGET http://127.0.0.1:1/\n"
    )
    assert done.sent == []
    assert [outcome.broken is None for outcome in done.outcomes] == [True, True, False]
    assert done.states == ["failed"] * 3


def test_a_request_of_another_file_that_was_needed_is_reported_under_that_file(
    run, tmp_path: Path, server: RawServer
) -> None:
    (tmp_path / "lib.http").write_text(f"### login\nPOST {server.url}/login\n?? body path == /no\n")
    done = run("import lib.http\n### a\nGET HOST/a?{{login.token}}\n###\nGET HOST/{{login.path}}\n")
    assert done.sent == ["/login", "/a?t/login", "//login"]
    ((needed,), none) = (outcome.needed for outcome in done.outcomes)
    assert (needed.file, needed.line, needed.name) == ("lib.http", 2, "login")
    assert [test.held for test in needed.tests] == [False]
    assert none == ()


def test_a_loop_that_is_referred_to_is_sent_once_and_its_last_turn_counts(run) -> None:
    done = run("GET HOST/a?{{many.path}}\n### many\n# @loop for 2\nGET HOST/{{$index}}\n")
    assert done.sent == ["/0", "/1", "/a?/1"]
    assert [outcome.name for outcome in done.outcomes] == [None, "many", "many"]


def test_what_is_odd_in_a_file_and_around_it_is_reported(run: Any, tmp_path: Path) -> None:
    (tmp_path / "http-client.env.json").write_text('{"dev": {}, // ours\n}')
    done = run("GET HOST/a HTTP/2\n###\nPOST HOST/b\n\nquery { a }\n")
    assert done.states == ["done", "done"]
    assert any("comments and trailing commas" in notice for notice in done.notices)
    version, query = ("\n".join(outcome.notes) for outcome in done.outcomes)
    assert "HTTP/2 is not supported:" in version
    assert "looks like GraphQL" in query


@needs_engine
def test_a_dry_run_shows_what_scripts_before_a_request_set(run) -> None:
    text = (
        "{{\nexports.coin = [1, 2].length > 1 ? 'heads' : 'tails';\n}}\nGET HOST/{{coin}}\n###\n"
        "< {% request.variables.set('n', 7) %}\nGET HOST/{{n}}\n"
    )
    done = run(text, dry_run=True)
    assert done.sent == []
    urls = [outcome.exchanges[0].request.url.rpartition("/")[2] for outcome in done.outcomes]
    assert urls == ["heads", "7"]


@needs_engine
def test_a_script_that_needs_a_response_is_reported_in_a_dry_run_and_hides_nothing(run) -> None:
    text = "{{\nexports.id = response.parsedBody.id;\n}}\nGET HOST/{{id}}\n"
    done = run(text, dry_run=True)
    assert done.states == ["done"]
    assert done.outcomes[0].exchanges[0].request.url.endswith("/<id>")
    assert (
        "a script before this request failed, perhaps because a dry run has no responses:"
        in done.outcomes[0].notes[0]
    )


@needs_engine
def test_a_value_before_a_reference_is_computed_once(run) -> None:
    done = run(
        "### login\nGET HOST/login\n\n### a\n"
        "GET HOST/{{$global.n = ($global.n || 0) + 1}}/{{login.token}}\n",
        names=("a",),
    )
    assert done.reasons == []
    assert done.sent == ["/login", "/1/t/login"]


# ------------------------------------------------------------- definitions that are computed once


@needs_engine
def test_what_is_taken_from_the_last_response_stays_the_value_of_that_response(run) -> None:
    done = run(
        "GET HOST/a\n\n"
        "@kept = {{response.parsedBody.token}}\n@size = {{response.parsedBody.list[0]}}\n"
        "###\nGET HOST/b\n\n?? js response.parsedBody.token != {{kept}}\n"
        "###\nGET HOST/c?{{kept}}&{{size + 1}}\n"
    )
    assert done.sent == ["/a", "/b", "/c?t/a&2"]
    assert done.outcomes[1].tests[0].held


def test_a_random_value_of_a_definition_is_the_same_for_all_requests(run) -> None:
    text = (
        "@id = {{$random.uuid}}\n@lazy := {{$random.uuid}}\n@long = x-{{id}}\n"
        + "GET HOST/{{id}}/{{lazy}}/{{id}}/{{long}}\n###\n" * 2
    )
    one, other = (path[1:].split("/") for path in run(text).sent)
    assert one[0] == one[2] == other[0] == other[2]
    assert one[3] == other[3] == f"x-{one[0]}"
    assert one[1] != other[1]
    alone = run(text, lines=(7,)).sent[-1].split("/")
    assert alone[1] == alone[3] != one[0]


@needs_engine
def test_a_definition_below_a_request_applies_after_it(run) -> None:
    done = run(
        '@s = a\nGET HOST/{{s}}\n\n@s = {{s + "b"}}\n###\nGET HOST/{{s}}\n\n@s = {{s + "c"}}\n'
        "?? js s == abc\n###\nGET HOST/{{s}}\n"
    )
    assert done.sent == ["/a", "/ab", "/abc"]
    assert done.outcomes[1].tests[0].held


def test_a_variable_can_be_extended_repeatedly(run) -> None:
    done = run(
        "GET HOST/1\n\n@s = x\n###\n@s = {{s}}b\nGET HOST/{{s}}\n###\n@s = {{s}}c\nGET HOST/{{s}}\n"
    )
    assert (done.sent, done.reasons) == (["/1", "/xb", "/xbc"], [])


@needs_engine
def test_functions_that_scripts_export_are_called_once_for_a_definition(run) -> None:
    script = "{{\nlet n = 0;\nexports.next = () => ++n;\n}}\n"
    done = run(script + "@n = {{next()}}\n" + "GET HOST/{{n}}\n###\n" * 3)
    assert done.sent == ["/1", "/1", "/1"]


@needs_engine
def test_a_value_that_its_request_did_not_provide_is_an_error_not_that_of_another_response(
    run,
) -> None:
    below = "@kept = {{response.parsedBody.token}}\n"
    gone = f"GET http://127.0.0.1:1/\n\n{below}"
    off = f"# @disabled\nGET HOST/off\n\n{below}"
    null = "GET HOST/null\n\n@kept = {{response.parsedBody.nothing.token}}\n"
    for text in (gone, off, null):
        done = run(f"{text}###\nGET HOST/b\n###\nGET HOST/{{{{kept}}}}\n")
        assert done.sent[-1] == "/b"
        assert done.states[-1] == "failed"
        expected = "nothing" if text is null else "has not received that response"
        assert expected in done.reasons[-1]
    assert run(below + "GET HOST/1\n###\nGET HOST/{{kept}}\n").sent[-1] == "/t/1"  # as before


def test_passing_a_definition_sends_and_asks_nothing(run) -> None:
    asked: list[str] = []
    done = run(
        "@a = {{login.response.body.token}}{{$uuid}}\n@b = {{$password Key?}}{{$uuid}}\n"
        "@c = {{unknown}}{{$uuid}}\nGET HOST/1\n###\n# @name login\nGET HOST/login\n",
        ask=asked.append,
    )
    assert (done.sent, done.reasons, asked) == (["/1", "/login"], [], [])


@needs_engine
def test_a_loop_computes_definitions_below_its_directive_for_each_iteration(run) -> None:
    done = run(
        "@once = {{$uuid}}\n# @loop for i of [0, 1]\n@each = {{$uuid}}\n@index = {{i + 'x'}}\n"
        "GET HOST/{{once}}/{{each}}/{{index}}\n\n@last = {{response.parsedBody.path.slice(-2)}}\n"
        "###\nGET HOST/{{once}}/{{last}}\n"
    )
    one, two, other = (path[1:].split("/") for path in done.sent)
    assert one[0] == two[0] == other[0]
    assert one[1] != two[1]
    assert (one[2], two[2], other[1]) == ("0x", "1x", "1x")


def test_a_request_that_is_sent_again_computes_its_definitions_again(run) -> None:
    done = run(
        "@top = {{$uuid}}\nGET HOST/{{top}}\n###\n# @name sent\n@own = {{$uuid}}\n"
        "GET HOST/{{top}}/{{own}}\n###\n# @force-ref sent\nGET HOST/{{top}}/{{own}}\n"
    )
    first, *owns = (path[1:].split("/") for path in done.sent)
    assert {own[0] for own in owns} == {first[0]}
    assert owns[0][1] != owns[1][1] == owns[2][1]


@needs_engine
def test_imported_definitions_are_computed_once_except_from_values_of_a_run_line(
    run, tmp_path: Path
) -> None:
    (tmp_path / "b.http").write_text(
        "@id = {{$uuid}}\n@user = ann\n@big = {{user.toUpperCase()}}\n###\n# @name b\n"
        "GET {{at}}/{{id}}/{{own}}/{{big}}\n"
    )
    done = run(
        "@at = HOST\n@own = {{$uuid}}\nimport b.http\nGET HOST/{{id}}/{{own}}/{{big}}\n###\n"
        "run #b (@user=bob)\nrun #b (@user=eve)\n"
    )
    one, bob, eve = (path[1:].split("/") for path in done.sent)
    assert one[:2] == bob[:2] == eve[:2]
    assert (one[2], bob[2], eve[2]) == ("ANN", "BOB", "EVE")


def test_a_dry_run_shows_one_value_for_a_definition(run) -> None:
    done = run(
        "@id = {{$uuid}}\n@last = {{response.parsedBody.id}}\n"
        + "GET HOST/{{id}}?{{last}}\n###\n" * 2,
        dry_run=True,
    )
    one, other = (outcome.exchanges[0].request.url for outcome in done.outcomes)
    assert one == other
    assert one.endswith("?<response.parsedBody.id>")
