"""Features of only one tool (Kulala, httpyac, JetBrains), checked by what a server receives."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING, Any

import pytest
from evaluated import Evaluated
from servers import RawServer, response

from orgrest.http.values import Inputs

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from orgrest.run.outcomes import Outcome

    Ask = Callable[..., tuple[list[Outcome], list[str]]]


@pytest.fixture
def server() -> Iterator[RawServer]:
    def answer(connection: socket.socket, request: bytes) -> None:
        path = request.split(b" ", 2)[1].decode()
        body = json.dumps({"path": path, "a": {"b": [7, "x"]}, "n": 3})
        connection.sendall(response(body.encode(), "Content-Type: application/json"))

    with RawServer(answer) as running:
        yield running


@pytest.fixture
def ask(server: RawServer, tmp_path: Path) -> Ask:
    """Return a function that runs a document.

    It returns the outcomes, and all requests that the server has received.
    """

    def run(text: str, *environments: str, **files: Any) -> tuple[list[Outcome], list[str]]:
        for name, content in files.items():
            path = tmp_path / name.replace("__", ".").replace("_", "-")
            path.write_text(content if isinstance(content, str) else json.dumps(content))
        inputs = Inputs(directory=tmp_path, environments=environments)
        outcomes = Evaluated(text, inputs, url=server.url).outcomes
        return outcomes, [request.decode() for request in server.requests]

    return run


def paths(requests: list[str]) -> list[str]:
    return [request.split(" ", 2)[1] for request in requests]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("GET HOST/?\n    a=1&\n    b=2\nX: y\n", "/?a=1&b=2"),
        ("GET HOST/?a=\n  1&b=2 HTTP/1.1\nX: y\n", "/?a=1&b=2"),
        ("GET HOST\n    /x\n    /y\n    ?a=1\nX: y\n", "/x/y?a=1"),
    ],
)
def test_jetbrains_url_continues_in_indented_lines(ask: Ask, text: str, path: str) -> None:
    _, sent = ask(text)
    assert paths(sent) == [path]
    assert "X: y\r\n" in sent[0]


@pytest.mark.parametrize("text", ["GET HOST/a\n    b=2\n", "GET HOST/?\na=1\n"])
def test_a_line_that_continues_no_url_is_an_error_and_nothing_is_sent(ask: Ask, text: str) -> None:
    (one,), sent = ask(text)
    assert "expected a header (Name: value)" in str(one.reason)
    assert not sent


@pytest.mark.parametrize(
    "text",
    [
        "POST HOST\nContent-Length: 5\n\nabc\n",
        "POST HOST\nContent-Length: 0\n\nabc\n",
        "POST HOST\nContent-Length: abc\n\nabc\n",
        "GET HOST\nContent-Length: 3\n",
    ],
)
def test_a_length_that_contradicts_the_body_is_an_error_at_its_line(ask: Ask, text: str) -> None:
    (one,), sent = ask(f"\n{text}")
    assert ":3:1: Content-Length is" in str(one.reason)
    assert not sent


def test_a_length_that_is_the_bodys_is_sent(ask: Ask) -> None:
    _, (sent,) = ask("POST HOST\nContent-Length: 3\n\nabc\n")
    assert sent.count("Content-Length: 3\r\n") == 1
    assert sent.endswith("\r\n\r\nabc")


class TestKulala:
    def test_its_shared_variables_and_default_headers_are_used(self, ask: Ask) -> None:
        headers = {"$kulalaDefaultHeaders": {"X-All": "1", "X-Env": "none"}, "base": "shared"}
        own = {"$kulalaDefaultHeaders": {"X-Env": "{{base}}"}}
        _, (sent,) = ask(
            "GET HOST/{{base}}\nX-All: mine\n",
            "dev",
            http_client__env__json={"$kulalaShared": headers, "dev": own},
        )
        assert paths([sent]) == ["/shared"]
        assert "X-All: mine\r\n" in sent
        assert "X-All: 1" not in sent
        assert "X-Env: shared\r\n" in sent

    def test_its_date_is_the_local_one(self, ask: Ask) -> None:
        before = datetime.datetime.now().astimezone().date()
        _, sent = ask("GET HOST/{{$date}}\n")
        after = datetime.datetime.now().astimezone().date()
        assert paths(sent)[0] in {f"/{before}", f"/{after}"}

    def test_a_file_becomes_a_variable(self, ask: Ask) -> None:
        text = "# @file-to-variable DATA data.txt\nPOST HOST\n\n[{{DATA}}]\n"
        _, (sent,) = ask(text, data__txt="a {{b}}\nc")
        assert sent.endswith("[a {{b}}\nc]")

    @pytest.mark.parametrize("path", ["../../etc/passwd", "/etc/passwd", "missing.txt"])
    def test_no_other_file_does(self, ask: Ask, path: str) -> None:
        (one,), sent = ask(f"# @file-to-variable DATA {path}\nPOST HOST\n\n{{{{DATA}}}}\n")
        assert one.state == "failed"
        assert not sent

    def test_a_value_in_the_response_becomes_a_variable(self, ask: Ask) -> None:
        text = "# @env-json-key N a.b[0]\nGET HOST/1\n###\nGET HOST/{{N}}\n"
        _, sent = ask(text)
        assert paths(sent) == ["/1", "/7"]

    def test_a_value_that_is_not_in_the_response_is_named_as_it_is_written(self, ask: Ask) -> None:
        (one,), _ = ask("# @env-json-key N nope.x\nGET HOST/1\n")
        assert one.reason is not None
        assert one.reason.reason == "nope.x matches nothing in the response, so N was not set"

    def test_a_command_is_not_run_and_said_so(self, ask: Ask) -> None:
        (one,), sent = ask("# @env-stdin-cmd N touch /tmp/x\nGET HOST\n")
        assert "orgrest runs no commands; use" in str(one.reason)
        assert not sent


class TestHttpyac:
    def test_an_expression_on_the_response_needs_no_js(self, ask: Ask) -> None:
        text = "GET HOST\n?? response.parsedBody.n == 3\n?? response.statusCode == 404\n"
        (one,), _ = ask(text)
        assert [test.held for test in one.tests] == [True, False]

    def test_a_loop_continues_while_an_expression_is_true(self, ask: Ask) -> None:
        count = "{{\n$global.i = 0\n}}\n###\n# @loop while $global.i < 3\n"
        text = f"{count}GET HOST/{{{{$index}}}}\n{{{{\n$global.i = $global.i + 1\n}}}}\n"
        _, sent = ask(text)
        assert paths(sent) == ["/0", "/1", "/2"]

    @pytest.mark.parametrize("value", ["mine", "{...mine}", '{"X-A": mine["X-A"], "X-B": 2}'])
    def test_an_object_of_a_script_becomes_headers(self, ask: Ask, value: str) -> None:
        code = 'exports.mine = {"X-A": "1", "X-B": 2}'
        text = f"{{{{\n{code}\n}}}}\nGET HOST\nX-C: 3\n...{value}\n"
        _, (sent,) = ask(text)
        assert "X-C: 3\r\nX-A: 1\r\nX-B: 2\r\n" in sent

    @pytest.mark.parametrize("value", ["5", "[1]", "'text'", '{"A": "b\\r\\nC: d"}', '{"a b": 1}'])
    def test_another_value_becomes_none_and_nothing_is_sent(self, ask: Ask, value: str) -> None:
        (one,), sent = ask(f"{{{{\nexports.mine = {value}\n}}}}\nGET HOST\n...mine\n")
        assert one.state == "failed"
        assert not sent

    def test_graphql_is_told_from_its_text_in_its_files_only(self, ask: Ask) -> None:
        query = "query Q($a: Int) { b }"
        body = f'{query}\n\n{{"a": 1}}'
        _, sent = ask(
            f"POST HOST\n\n{body}\n?? status == 200\n###\n# @no-gql-parsing\nPOST HOST\n\n{body}\n"
        )
        given, raw = (one.partition("\r\n\r\n")[2] for one in sent)
        assert json.loads(given) == {"query": query, "operationName": "Q", "variables": {"a": 1}}
        assert "Content-Type: application/json\r\n" in sent[0]
        assert raw == body

    @pytest.mark.parametrize("assertion", ["", "\n\n?? status == 200"])
    @pytest.mark.parametrize("kind", ["application/json", "Application/JSON; charset=utf-8"])
    def test_adding_an_assertion_does_not_change_how_graphql_is_sent(
        self, ask: Ask, assertion: str, kind: str
    ) -> None:
        (one,), (sent,) = ask(f"POST HOST\nContent-Type: {kind}\n\nquery {{ b }}{assertion}\n")
        assert sent.endswith('\r\n\r\n{"query":"query { b }"}')
        assert not one.notes

    def test_graphql_in_other_files_is_sent_as_it_is_written(self, ask: Ask) -> None:
        (one,), (sent,) = ask("POST HOST\n\nquery { b }\n")
        assert sent.endswith("\r\n\r\nquery { b }")
        assert "looks like GraphQL" in one.notes[0]

    def test_the_name_of_a_request_above_is_its_response(self, ask: Ask) -> None:
        text = "# @name child\nGET HOST/c\n###\n# @ref child\nPOST HOST/p\n\n{{child}}\n"
        _, sent = ask(text)
        assert paths(sent) == ["/c", "/p"]
        assert json.loads(sent[1].partition("\r\n\r\n")[2])["path"] == "/c"

    @pytest.mark.parametrize("line", ["@disabled nothing > 3", "@loop while nothing > 3"])
    def test_the_error_of_a_condition_shows_it_as_it_is_written(self, ask: Ask, line: str) -> None:
        (one,), sent = ask(f"# {line}\nGET HOST\n")
        assert str(one.reason).startswith("a.http:1:")
        assert ": nothing > 3: " in str(one.reason)
        assert "!(" not in str(one.reason)
        assert not sent


def test_rest_clients_reference_takes_the_name_from_a_variable(ask: Ask) -> None:
    _, sent = ask("@who = NAME\nGET HOST/{{$dotenv %who}}\n", __env="NAME=value\n")
    assert paths(sent) == ["/value"]


def test_a_reference_to_no_variable_is_an_error_that_names_it(ask: Ask) -> None:
    (one,), sent = ask("GET HOST/{{$dotenv %who}}\n", __env="NAME=value\n")
    assert "the variable who is not defined" in str(one.reason)
    assert not sent


@pytest.mark.parametrize("mark", ["# @ref ok", "# @force-ref ok", "# @loop for x of ok.a.b"])
@pytest.mark.parametrize("script", ["", "{{\nawait pm.sendRequest('HOST/script')\n}}\n"])
def test_nothing_is_sent_for_a_request_that_is_misspelt(ask: Ask, mark: str, script: str) -> None:
    text = f"# @name bad\n{mark}\n{script}GET HOST/bad\nX Y Z\n\n### ok\n# @name ok\nGET HOST/ok\n"
    outcomes, sent = ask(text)
    assert [outcome.state for outcome in outcomes] == ["failed", "done"]
    assert outcomes[0].reason is not None
    assert "expected a header (Name: value)" in outcomes[0].reason.reason
    assert paths(sent) == ["/ok"]


HALVES = """\
# @name half
GET HOST/half

###
GET HOST/u?{{half.response.body.$.half}}
X: {{half.low}}

###
POST HOST/json
Content-Type: application/json

{"a": "{{half.half}}", "b": {{half.list}}}

###
POST HOST/form
Content-Type: application/x-www-form-urlencoded

a={{half.low}}

###
# @loop for x of half.list
POST HOST/loop

{{x}}
"""


def test_half_characters_in_a_response_are_sent_as_javascript_sends_them(
    tmp_path: Path,
) -> None:
    body = rb'{"half": "\ud800", "low": "\udc80", "list": ["a\udfffb", {"\ud800": "\ud83d\ude00"}]}'
    with RawServer(response(body, "Content-Type: application/json")) as server:
        done = Evaluated(HALVES, Inputs(directory=tmp_path), url=server.url)
        assert (len(done.states), done.reasons) == (6, [])
        _, query, json_, form, first, second = [request.decode() for request in server.requests]
    assert query.startswith("GET /u?%EF%BF%BD HTTP/1.1\r\n")
    assert "X: \ufffd\r\n" in query
    assert json_.endswith('{"a": "\ufffd", "b": ["a\ufffdb",{"\ufffd":"\U0001f600"}]}')
    assert form.endswith("\r\n\r\na=%EF%BF%BD")
    assert first.endswith("\r\n\r\na\ufffdb")
    assert second.endswith('\r\n\r\n{"\ufffd":"\U0001f600"}')


@pytest.mark.parametrize("mark", ["@xpath_ns", "# @xpath_ns", "//@xpath_ns"])
def test_xpaths_use_the_declared_prefixes_of_namespaces(tmp_path: Path, mark: str) -> None:
    body = b"<b xmlns:n='http://example.com/book'><n:title>Harry</n:title></b>"
    text = (
        f"@host = example.com\n{mark} book=http://{{{{host}}}}/book\nGET HOST/\n\n"
        "?? xpath //book:title == Harry\n?? xpath //book:title == Sally\n"
        "?? xpath //n:title == Harry\n\n###\n"
        "GET HOST/\n\n?? xpath //book:title == Harry\n"
    )
    with RawServer(response(body, "Content-Type: text/xml")) as server:
        first, second = Evaluated(text, Inputs(directory=tmp_path), url=server.url).outcomes
    assert [test.held for test in first.tests] == [True, False, True]
    assert [test.held for test in second.tests] == [False]
