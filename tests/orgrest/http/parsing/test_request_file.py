"""Request files of VS Code, JetBrains and httpyac are read as those tools read them.

Where the tools' documentation says nothing, the expected result is that of httpyac's parser.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest.http import registry
from orgrest.http.parsing import request_file, restclient
from orgrest.http.parsing.dialects import read
from orgrest.http.parsing.directives import DIRECTIVES
from orgrest.http.parsing.request_file import is_restclient, parse
from orgrest.http.syntax import (
    Definition,
    Document,
    HeaderLine,
    HeaderVariable,
    Import,
    ParsedRequest,
)
from orgrest.model import Source

if TYPE_CHECKING:
    from collections.abc import Callable


def only(text: str) -> ParsedRequest:
    (request,) = parse(text).requests
    return request


def body_of(request: ParsedRequest) -> str | None:
    return request.body and request.body.template.text


def headers_of(request: ParsedRequest) -> list[tuple[str, str]]:
    return [(h.name.text, h.value.text) for h in request.headers if isinstance(h, HeaderLine)]


def reasons(document: Document) -> list[str]:
    return [str(problem) for problem in document.problems]


# ---------------------------------------------------------------------------------- request lines


@pytest.mark.parametrize(
    ("line", "method", "url", "version"),
    [
        ("GET https://example.org/a", "GET", "https://example.org/a", None),
        ("get https://example.org/a", "GET", "https://example.org/a", None),
        ("POST {{host}}/a b HTTP/1.1", "POST", "{{host}}/a b", "1.1"),
        ("GET https://example.org HTTP/2", "GET", "https://example.org", "2"),
        ("GET /path?x=1", "GET", "/path?x=1", None),
        ("GET localhost:8080", "GET", "localhost:8080", None),
        ("GET api.example.org/a", "GET", "api.example.org/a", None),
        ("https://example.org/a", "GET", "https://example.org/a", None),
        ("{{host}}/a HTTP/1.1", "GET", "{{host}}/a", "1.1"),
        ("localhost:8080/a", "GET", "localhost:8080/a", None),
        ("/a", "GET", "/a", None),
        ("PROPFIND /dav", "PROPFIND", "/dav", None),
        ("PURGE http://example.org/", "PURGE", "http://example.org/", None),
        ("GRAPHQL https://example.org/g", "GRAPHQL", "https://example.org/g", None),
        ("  DELETE   http://example.org/  ", "DELETE", "http://example.org/", None),
        ("GET http://[::1]:80/", "GET", "http://[::1]:80/", None),
        ("OPTIONS *", "OPTIONS", "*", None),
    ],
)
def test_a_request_line_of_any_tool_is_understood(
    line: str, method: str, url: str, version: str | None
) -> None:
    request = only(f"\n{line}\n")
    assert (request.method, request.target.text, request.version) == (method, url, version)
    assert request.problems == ()


@pytest.mark.parametrize("method", registry.methods())
def test_a_method_that_is_completed_is_understood_in_lower_case_too(method: str) -> None:
    for written in (method, method.lower()):
        assert only(f"{written} http://a/b\n").method == method


def test_prose_before_a_url_is_not_sent() -> None:
    assert parse("Link https://example.org/\n").requests == ()


@pytest.mark.parametrize("line", ["Some words here", "TODO: write this", "{", "<html>", "GET"])
def test_a_line_that_is_no_request_is_an_error_and_keeps_its_request_from_being_sent(
    line: str,
) -> None:
    request = only(f"{line}\nGET http://a/\n###\n").problems
    assert [problem.line for problem in request] == [1]
    good = parse(f"###\n{line}\n###\nGET http://a/\n")
    assert [problem.line for problem in good.problems] == [2]
    assert good.requests[0].problems == ()


@pytest.mark.parametrize("method", ["GRPC", "MQTT", "AMQP", "RSOCKET"])
def test_protocols_that_are_not_spoken_are_errors(method: str) -> None:
    (problem,) = only(f"{method} localhost:50051/a\n").problems
    assert "is not supported" in problem.reason


def test_a_url_continues_over_lines() -> None:
    request = only(
        "GET https://example.org HTTP/1.1\n    /a\n    /b\n    ?x=1\n  // no\n    &y={{z}}\nA: b\n"
    )
    assert request.target.text == "https://example.org/a/b?x=1&y={{z}}"
    assert request.version == "1.1"
    assert headers_of(request) == [("A", "b")]
    source = request.source.text
    for index, char in enumerate(request.target.text):
        assert source[request.target.offset(index)] == char


def test_a_segment_of_a_path_may_be_on_its_own_line_as_in_jetbrains_specification() -> None:
    request = only("GET {{host}}/\n    %20api%20\n    /get\nA: b\n")
    assert request.target.text == "{{host}}/%20api%20/get"
    assert headers_of(request) == [("A", "b")]
    assert only("GET http://a/\n  b{{c}}?d=e f\n").problems
    assert only("GET http://a/\n  b{{c}}?d=e\n").target.text == "http://a/b{{c}}?d=e"


@pytest.mark.parametrize("line", ["api", "  two words", "  a=1&b=2", '  "a": 1', "  a,b"])
def test_a_body_without_an_empty_line_above_it_is_not_sent_as_a_path(line: str) -> None:
    (problem,) = only(f"POST http://a/\n{line}\n").problems
    assert "insert an empty line before the body" in problem.reason
    assert only(f"  POST http://a/\n  {line.strip()}\n").problems
    assert only(f"  POST http://a/\nA: b\n  {line.strip()}\n").problems


def test_a_header_may_continue_on_an_indented_line_as_in_jetbrains_specification() -> None:
    request = only('GET http://a/\nX-A: one,\n    (two) {{x}};\n\t"three"\nC: d,\n  D: e\n')
    assert request.problems == ()
    assert headers_of(request) == [
        ("X-A", 'one, (two) {{x}}; "three"'),
        ("C", "d,"),
        ("D", "e"),
    ]
    source = request.source.text
    value = request.headers[0].value
    assert [source[value.offset(value.text.index(word))] for word in '{"'] == ["{", '"']


def test_an_indented_body_below_a_complete_header_is_no_part_of_the_header() -> None:
    (problem,) = only('POST http://a/\nContent-Type: application/json\n  "a": 1\n').problems
    assert "insert an empty line before the body" in problem.reason


@pytest.mark.parametrize(
    "line", ["> ./h.js", "?? status == 200", "{{@response\n  f()\n}}", ">> ./out.json"]
)
def test_a_request_below_a_handler_or_an_assertion_needs_no_separator(line: str) -> None:
    document = parse(f"POST http://a/\n\nbody\n\n{line}\n\nGET http://b/\n")
    assert [request.notices for request in document.requests] == [(), ()]
    document = parse("POST http://a/\n\nbody\nGET http://b/\n")
    assert [notice.code for notice in document.requests[0].notices] == ["no-separator"]


@pytest.mark.parametrize(
    "lines",
    [
        "GET http://a/\n  ?x=1\n  &y=2 HTTP/1.1",
        "GET http://a/ HTTP/1.1\n  ?x=1\n  &y=2",
        "GET http://a/?x=1\n&y=2   HTTP/1.1  ",
    ],
)
def test_the_version_is_no_part_of_a_url_over_several_lines(lines: str) -> None:
    request = only(f"{lines}\nA: b\n")
    assert (request.target.text, request.version) == ("http://a/?x=1&y=2", "1.1")
    assert headers_of(request) == [("A", "b")]


@pytest.mark.parametrize("read", [parse, restclient.parse])
@pytest.mark.parametrize("version", ["2", "2.0", "3", "1.0"])
def test_a_version_that_is_not_spoken_is_reported(
    read: Callable[[str], Document], version: str
) -> None:
    (request,) = read(f"\nGET http://a/ HTTP/{version}\nA: b\n").requests
    (notice,) = request.notices
    assert (notice.line, notice.code) == (2, "http-version")
    assert f"HTTP/{version} is not supported:" in notice.reason
    (spoken,) = read("GET http://a/ HTTP/1.1\n").requests
    assert spoken.notices == ()


# ---------------------------------------------------------------------------------------- regions


def test_separators_split_requests_and_name_them() -> None:
    document = parse("GET http://a/\n### second one ###\nGET http://b/\n###\n###\nGET http://c/")
    assert [r.name for r in document.requests] == [None, "second one ###", None]
    assert [r.target.text for r in document.requests] == ["http://a/", "http://b/", "http://c/"]


def test_a_line_with_a_method_begins_the_next_request_without_a_separator() -> None:
    document = parse(
        "POST http://a/\n\nbody\n\n# the next\n# @name next\nGET http://b/\nX: y\nDELETE http://c/\n"
    )
    assert [r.target.text for r in document.requests] == ["http://a/", "http://b/", "http://c/"]
    assert [body_of(r) for r in document.requests] == ["body", None, None]


def test_a_request_line_that_ends_a_body_is_reported() -> None:
    text = "POST http://a/\n\nsteps:\n\nDELETE http://b/\n\nGET http://c/\n###\nGET http://d/\n"
    first, *others = parse(text).requests
    assert [(notice.line, notice.code) for notice in first.notices] == [(5, "no-separator")]
    assert "insert ### above it; otherwise, add # @force-region" in first.notices[0].reason
    assert [request.notices for request in others] == [(), (), ()]


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("hi\n@a=1\n", [4]),
        ("@a=1\nhi\n\n@b = {{$uuid}}\n\nend", [3, 6]),
        ("hi\n\n@a=1", []),
        ("hi\n@a = {{response.parsedBody.id}}", []),
        ("@a=1\n", []),
        ("hi\n\nHTTP/1.1 200 OK\n@a=1\n", []),
    ],
)
def test_a_line_of_a_body_that_sets_a_variable_is_reported(body: str, lines: list[int]) -> None:
    found = [n.line for n in only(f"POST http://a/\n\n{body}").notices if n.code != "response"]
    assert found == lines


@pytest.mark.parametrize(
    "line",
    [
        "run ./cleanup.http",
        "run cleanup.rest (@id=1)",
        "run all.http#cleanup",
        "run #cleanup",
        "import ./cleanup.http",
    ],
)
def test_a_line_that_should_run_a_file_but_is_sent_as_a_body_is_reported(line: str) -> None:
    text = f"GET http://a/\n\n?? status == 200\n\n{line}\n"
    (notice,) = only(text).notices
    assert (notice.line, notice.code) == (5, "no-separator")
    assert "sent as part of the body: if it is an instruction, insert ### above" in notice.reason
    assert body_of(only(text)) == line
    assert only(f"# @force-region-delimiter\n{text}").notices == ()


@pytest.mark.parametrize(
    "line", ["run the tests", "run # all", "run rest.example.org", 'import x from "./a.http"']
)
def test_prose_in_a_body_is_not_reported_as_a_line_that_runs_a_file(line: str) -> None:
    assert only(f"POST http://a/\n\n{line}\n").notices == ()


def test_words_in_a_body_are_no_request() -> None:
    request = only("POST http://a/\n\nGET ready\nPOST\nget http://b/\nDELETE this\n")
    assert body_of(request) == "GET ready\nPOST\nget http://b/\nDELETE this"


def test_parts_of_a_batch_are_no_requests() -> None:
    text = (
        "POST http://a/$batch\nContent-Type: multipart/mixed; boundary=b\n\n"
        "--b\n\nGET /x HTTP/1.1\n--b--\n"
    )
    assert body_of(only(text)) == "--b\n\nGET /x HTTP/1.1\n--b--"
    assert len(parse(text.replace("multipart/mixed", "text/plain")).requests) == 2
    forced = "# @forceRegionDelimiter\n" + text.replace("multipart/mixed", "text/plain")
    assert len(parse(forced).requests) == 1


# --------------------------------------------------------------------- comments, directives, names


def test_comments_are_never_sent() -> None:
    request = only(
        "# one\n// two\n/* three\n four */\nPOST http://a/\n# five\nA: b\n// six\nC: d\n\n"
        "{\n# seven\n  // eight\n  1\n}\n# nine\n"
    )
    assert headers_of(request) == [("A", "b"), ("C", "d")]
    assert body_of(request) == "{\n  1\n}"
    assert request.problems == ()


def test_headings_of_markdown_are_no_comments() -> None:
    request = only("POST http://a/\nContent-Type: text/markdown\n\n# Title\n// text\n")
    assert body_of(request) == "# Title\n// text"


def test_the_name_of_a_directive_wins_over_the_separators() -> None:
    assert only("### title\n# @name login\nGET http://a/").name == "login"
    assert only("### title\n// @name login\nGET http://a/").name == "login"
    assert only("### title\nGET http://a/").name == "title"


@pytest.mark.parametrize(
    "line", ["# @no-redirect", "// @noRedirect", "#@no-redirect", "### not\n# @NO-REDIRECT"]
)
def test_directives_are_known_however_they_are_spelled(line: str) -> None:
    directive = only(f"{line}\nGET http://a/").directive("no-redirect")
    assert directive is not None
    assert directive.value.text == ""


@pytest.mark.parametrize("rule", DIRECTIVES.values(), ids=lambda rule: rule.name)
def test_a_directive_that_changes_what_is_sent_is_understood_or_refused(rule) -> None:
    request = only(f"# @{rule.name} some value\nGET http://a/")
    assert request.directive(rule.name) is not None
    assert bool(rule.refused) == bool(request.problems)
    assert not (rule.refused and rule.informs)
    assert ("orgrest ignores it" in rule.about) == rule.informs
    assert ("are not sent" in rule.about) >= bool(rule.refused)


@pytest.mark.parametrize("line", ["#@host = a", "// @port=80", "# @host := {{a}}"])
def test_a_definition_that_is_commented_out_changes_nothing(line: str) -> None:
    request = only(f"{line}\nGET http://a/")
    assert (request.directives, request.notices, request.problems) == ((), (), ())


@pytest.mark.parametrize("line", ["#@disabled = true", "# @disabled=true", "# @disabled: true"])
def test_a_directive_takes_effect_in_all_notations(line: str) -> None:
    request = only(f"{line}\nGET http://a/")
    assert [directive.name for directive in request.directives] == ["disabled"]


@pytest.mark.parametrize("line", ["# @name = login", "#@Name=login", "// @name: login"])
def test_a_request_can_be_named_in_all_notations(line: str) -> None:
    assert only(f"{line}\nGET http://a/").name == "login"


def test_an_unknown_directive_is_reported() -> None:
    request = only("# @nosuch thing\nGET http://a/")
    assert [notice.reason for notice in request.notices] == ["unknown directive @nosuch"]


def test_who_looks_for_a_retry_directive_is_told_about_eventually() -> None:
    (notice,) = only("# @retry 5\nGET http://a/").notices
    assert notice.reason.startswith("unknown directive @retry; to repeat a request, write ?? event")


@pytest.mark.parametrize("name", ["name", "ref", "force-ref"])
def test_a_directive_without_its_name_is_an_error(name: str) -> None:
    assert [p.line for p in only(f"# @{name}\nGET http://a/").problems] == [1]


# -------------------------------------------------------------------------------------- variables


def test_variables_are_defined_anywhere_and_the_last_one_above_counts() -> None:
    document = parse(
        "@a = 1\n@b=two words\nGET http://a/\n###\n@a = 3\nGET http://b/\n###\n@c = 4\n@c = 5\n"
    )
    first, second = document.requests

    def text(request: ParsedRequest, name: str) -> str | None:
        found = request.definition(name)
        return found and found.value.text

    assert [text(first, name) for name in "abcd"] == ["1", "two words", "4", None]
    assert [text(second, name) for name in "abcd"] == ["3", "two words", "4", None]
    kinds = [item for item in document.items if isinstance(item, Definition)]
    assert [(d.name, d.mark) for d in kinds] == [(n, "@") for n in "abacc"]


def test_a_definition_below_a_body_is_not_sent() -> None:
    request = only("POST http://a/\n\nbody\n\n@token = x\n")
    assert body_of(request) == "body"


def test_a_header_may_be_a_variable_or_its_name_may_hold_one() -> None:
    request = only("GET http://a/\n{{headers}}\n{{name}}-Id: 1\n")
    assert isinstance(request.headers[0], HeaderVariable)
    assert request.headers[0].name == "headers"
    assert headers_of(request) == [("{{name}}-Id", "1")]


# ----------------------------------------------------------------------- bodies, and what follows


def test_files_are_put_into_a_body() -> None:
    request = only("POST http://a/\n\nbefore\n< ./a.json\n<@ b.json\n<@latin1 c d.txt\nafter\n")
    assert request.body is not None
    text = request.body.template.text
    assert [
        (text[f.start : f.end], f.path.text, f.encoding) for f in request.body.files
    ] == [
        ("< ./a.json", "./a.json", None),
        ("<@ b.json", "b.json", "utf-8"),
        ("<@latin1 c d.txt", "c d.txt", "latin1"),
    ]  # fmt: skip


def test_what_follows_a_body_is_not_sent() -> None:
    request = only(
        "POST http://a/\n\nbody\n\n> {% client.log(1) %}\n> {%\nmany\nlines\n%}\n> ./file.js\n"
        ">> out.json\n>>! forced.json\n<> 2024.200.json\n?? status == 200\n{{@response\nx\n}}\n"
    )
    assert body_of(request) == "body"
    assert [
        (s.when, s.host, s.text and s.text.text, s.file and s.file.text) for s in request.scripts
    ] == [
        ("response", "jetbrains", "client.log(1)", None),
        ("response", "jetbrains", "\nmany\nlines\n", None),
        ("response", "jetbrains", None, "./file.js"),
        ("response", "httpyac", "x", None),
    ]  # fmt: skip
    assert [(s.path.text, s.overwrite) for s in request.savings] == [
        ("out.json", False),
        ("forced.json", True),
    ]
    assert [a.text.text for a in request.assertions] == ["status == 200"]
    assert request.problems == ()


def test_scripts_above_a_request_run_before_it() -> None:
    request = only("< {% request.variables.set('a', 1) %}\n{{\nexports.b = 2;\n}}\nGET http://a/\n")
    assert [(s.when, s.host) for s in request.scripts] == [
        ("before", "jetbrains"),
        ("before", "httpyac"),
    ]


def test_httpyacs_scripts_run_where_they_stand() -> None:
    request = only(
        "{{\na\n}}\n{{@\nb\n}}\n{{request\nc\n}}\nGET http://a/\n\n"
        "{{\nd\n}}\n{{@js response\ne\n}}\n"
        "{{@after\nf\n}}\n"
    )
    assert [(s.when, s.text and s.text.text) for s in request.scripts] == [
        ("before", "a"),
        ("before", "b"),
        ("request", "c"),
        ("after", "d"),
        ("response", "e"),
        ("end", "f"),
    ]


def test_scripts_without_a_request_run_once_or_for_each() -> None:
    document = parse(
        "{{\na\n}}\n{{@after\nb\n}}\n{{@response\nc\n}}\n> {% d %}\n###\n{{+after\ne\n}}\n"
        "GET http://a/\n\n{{+\nf\n}}\n"
    )
    assert [(s.when, s.runs) for s in document.scripts] == [
        ("before", "once"),
        ("before", "once"),
        ("response", "every"),
        ("response", "every"),
        ("end", "every"),
        ("before", "every"),
    ]
    assert document.requests[0].scripts == ()


@pytest.mark.parametrize(
    "text",
    [
        "GET http://a/\n\n> {%\nnever ends\n###\nGET http://b/\n",
        "{{\nnever ends\n###\nGET http://a/\n",
        "GET http://a/\n\n< {% too late %}\n",
        "GET http://a/\n\n<@latin1\n",
        "GET http://a/\n\n>>\n",
        "GET http://a/\nnot a header\n",
        "GET http://a/\n...\n",
        "{{@streaming\nx\n}}\nGET http://a/\n",
        ":a = <<\nGET http://a/\n",
        "/* never ends\nGET http://a/\n",
    ],
)
def test_what_is_not_understood_is_never_sent_in_silence(text: str) -> None:
    document = parse(text)
    assert document.problems or document.requests[0].problems


def test_a_pasted_response_is_skipped_with_a_notice() -> None:
    document = parse(
        'GET http://a/\n\nHTTP/1.1 200 OK\nServer: x\n\n{"a": 1}\n# c\n> a quotation\n\n###\nGET http://b/'
    )
    first, second = document.requests
    assert body_of(first) is None
    assert [notice.code for notice in first.notices] == ["response"]
    assert first.scripts == ()
    assert second.target.text == "http://b/"


@pytest.mark.parametrize(
    "response",
    ["HTTP/1.1 200 OK\n", 'HTTP/1.1 200 OK\nServer: x\n\n{\n  "a": 1\n}\n\nHTTP 1\n> text\n\n'],
)
@pytest.mark.parametrize("body", ["", "sent\n\n"])
def test_assertions_and_scripts_below_a_pasted_response_count(body: str, response: str) -> None:
    checks = [
        "?? status == 400",
        "# ?? status == 401",
        "{{\nx\n}}",
        "{{@after\nx\n}}",
        "> {% x %}",
        "> {%\nx\n%}",
        "> ./x.js",
        "> my x.js",
        ">> saved",
        "@a = 1",
    ]
    lines = "\nThe rest of the response.\n\nA: b\n".join(checks)
    request = only(f"POST http://a/\n\n{body}{response}{lines}\nThe end.\n")
    assert (body_of(request) or "") == body.strip()
    assert not request.problems
    assert len(request.assertions) == 2
    assert len(request.scripts) == 6
    assert [saving.path.text for saving in request.savings] == ["saved"]
    assert request.definition("a") is not None


def test_other_files_are_imported_and_run() -> None:
    document = parse(
        "import a.http\nrun b.http\nrun #one request\nrun c.http#two\n# @import d.http\n"
    )
    found = [
        (i.path and i.path.text, i.request and i.request.text, i.run)
        for i in document.items
        if isinstance(i, Import)
    ]
    assert found == [
        ("a.http", None, False),
        ("b.http", None, True),
        (None, "one request", True),
        ("c.http", "two", True),
        ("d.http", None, False),
    ]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("run #a b (@x=1)", (("x", "1"),)),
        ("run ./a (1).http (@x = a, b, @y=c=d )", (("x", "a, b"), ("y", "c=d"))),
        ("run a.http#one(@x=)", (("x", ""),)),
    ],
)
def test_a_run_line_may_give_values(line: str, values: tuple[tuple[str, str], ...]) -> None:
    (item,) = parse(line).items
    assert isinstance(item, Import)
    assert item.values == values
    assert item.path is None or item.path.text in ("./a (1).http", "a.http")


@pytest.mark.parametrize(
    "line", ["run #a (@x)", "run #a (@x={{y}})", "import a (@x=1)", "run a (@x=1"]
)
def test_values_that_cannot_be_read_are_an_error(line: str) -> None:
    assert reasons(parse(line)) == [
        "1:1: values for run must be written like this: run other.http (@name=value, @other=value)"
    ]


def test_a_file_without_requests_says_so() -> None:
    assert reasons(read(Source("\n# nothing\n@a = 1\n"))) == [
        "1:1: no request found: requests start with a line such as GET https://example.org/"
    ]


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    request = only("\ufeffGET http://a/\r\nA: b\r\n\r\nx\r\ny\r\n")
    assert (request.target.text, headers_of(request)) == ("http://a/", [("A", "b")])
    assert body_of(request) == "x\ny"


# ------------------------------------------------------------------------------------ whose file?


@pytest.mark.parametrize(
    "text",
    [
        ":host = http://a\nGET :host/\n",
        "GET :host/a\n",
        "GET http://a/\n-> jq-set-var :a .b\n",
        ":a := env(\"B\")\n# c\n",
    ],
)  # fmt: skip
def test_restclients_files_are_told_by_their_marks(text: str) -> None:
    assert is_restclient(text)
    assert not is_restclient(f"# @name a\n{text}")
    assert not is_restclient(f"{text}\n> {{% x %}}")


@pytest.mark.parametrize("text", ["GET http://a:80/\n", "GET :8080/\n", "# :a\nGET http://a/\n"])
def test_files_without_restclients_marks_are_of_the_common_language(text: str) -> None:
    assert not is_restclient(text)


# ----------------------------------------------------------------------------------- whatever comes

LINES = st.sampled_from(
    [
        "GET http://a/", "POST {{h}}/b HTTP/1.1", "https://c/", "###", "### name", "# @name x",
        "// c", "# c", "A: b", "Content-Type: multipart/mixed; boundary=x", "", " ", "{", "}", "{{",
        "}}",
        "{{@response", "> {%", "%}", "> {% x %}", "< {% y %}", "< file", "<@ f", "> f.js", ">> o",
        "<> h", "?? status == 1", "@a = 1", ":b = 2", "HTTP/1.1 200 OK", "import x", "run #y", "/*",
        "*/", "text", "?a=1", "  &b=2", "# @loop for 3", "GRPC a/b", "...x", "\ufeff",
        "# @import z",
    ]
)  # fmt: skip


@given(st.lists(LINES | st.text(max_size=20), max_size=30).map("\n".join))
def test_any_text_is_read_and_every_part_leads_back_to_its_place(text: str) -> None:
    source = Source(text)
    document = parse(source)
    for request in document.requests:
        assert request.region is not None
        assert 0 <= request.region.start <= request.span.start <= request.span.end
        for header in request.headers:
            if isinstance(header, HeaderLine):
                at = header.value.offset(0)
                assert text[at : at + len(header.value.text)] == header.value.text
        if request.body is not None:
            template = request.body.template
            for index, char in enumerate(template.text):
                if char != "\n":
                    assert text[template.offset(index)] == char
    for item in document.items:
        assert 0 <= item.span.start <= item.span.end <= len(text) + 1


@given(st.lists(LINES, min_size=1, max_size=12))
def test_no_mark_of_a_tool_is_ever_a_part_of_a_body(lines: list[str]) -> None:
    for request in parse("\n".join(lines)).requests:
        if request.problems:
            continue
        for line in (body_of(request) or "").split("\n"):
            assert not line.startswith(("> {%", "?? ", ">> ", "<> ", "HTTP/1.1 ", "#", "@a")), line


# What lines of all kinds can begin with, and what may follow it.
MARKS = [
    "#", "##", "###", "/", "//", "//@", "/*", "@", "@a=", "@xpath_ns", ":", ":a=", "?", "??",
    "\uff1f", "\u2047", ";", "-", "--", ">", ">>", ">>!", "<", "<>", "<@", "{", "{{", "}", "HTTP",
    "fragment", "gql", "import", "run", "GET", "http://a/", "A:", "text",
]  # fmt: skip
ENDS = [
    "", " 200", " status == 200", "? status == 200", " ? status == 200", " x on Y", " < f",
    "/1.1 200", " {% x %}", " a.js", " @name a",
]  # fmt: skip
MARKDOWN = "POST http://a/\nContent-Type: text/markdown\n\nb\n"


@pytest.mark.parametrize("above", ["", "GET http://a/\n", "GET http://a/\n\nb\n", MARKDOWN])
def test_every_step_that_could_read_a_line_is_tried_on_it(above: str) -> None:
    every = tuple((first and None, step) for first, step in request_file.STEPS)
    for line in map("".join, itertools.product(MARKS, ENDS)):
        source = Source(above + line)
        assert repr(parse(source)) == repr(request_file.reader.Reader(source).document(every)), line


def test_reading_takes_time_in_proportion_to_the_text() -> None:
    def lines_read(count: int) -> int:
        reader = request_file.reader.Reader(Source("GET http://a/\n\n" + "> {%\nx\n" * count))
        reader.document(request_file.STEPS)
        return reader.at

    assert lines_read(2000) <= 2 * lines_read(1000) + 10


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            "curl https://example.org/ -H 'X: 1'",
            "curl commands are not supported here: 'orgrest import",
        ),
        (
            "curl -X POST https://example.org/",
            "curl commands are not supported here: 'orgrest import",
        ),
        ("see https://example.org/", "unexpected line: expected"),
        ("Or https://example.org/", "unexpected line: expected"),
    ],
)
def test_a_command_and_a_sentence_with_a_url_are_not_sent(line: str, reason: str) -> None:
    document = parse(f"GET https://example.org/a\n###\n{line}\n###\nPURGE https://example.org/b\n")
    problems = [*document.problems, *(x for request in document.requests for x in request.problems)]
    assert [problem.reason.startswith(reason) for problem in problems] == [True]
    sent = [request.method for request in document.requests if not request.problems]
    assert sent == ["GET", "PURGE"]


_HANDLER = "\n> {% client.log(1) %}\n"


@pytest.mark.parametrize(
    ("time", "rest", "warned"),
    [
        ("5", "", True),
        ("999", "", True),
        ("0.5", "", True),
        ("500.0", "", True),
        ("0", "", False),
        ("5", "\n?? status == 200\n", True),
        ("5", f"{_HANDLER}?? status == 200\n", True),
        ("5", _HANDLER, False),
        ("1000", "", False),
        ("5 ms", "", False),
        ("5 s", "", False),
    ],
)
def test_a_time_limit_that_could_be_meant_in_seconds_is_never_read_silently(
    time: str, rest: str, warned: bool
) -> None:
    (request,) = parse(f"# @timeout {time}\nGET http://h/\n{rest}").requests
    seconds = {"0.5": "500", "500.0": "500000"}.get(time, f"{time}000")
    reason = (
        f"@timeout {time} is read as {time} ms, as in httpyac; JetBrains' HTTP Client reads it as "
        f"{time} s: write {time} ms or {seconds} ms, which mean the same in both"
    )
    assert [notice.reason for notice in request.notices] == [reason] * warned


def test_a_file_with_many_time_limits_is_parsed_in_linear_time() -> None:
    # No clock: if each @timeout searched the whole file, this would take many minutes.
    requests = parse("###\n# @timeout 5\nGET http://h/\n" * 40_000).requests
    assert sum(len(request.notices) for request in requests) == 40_000
