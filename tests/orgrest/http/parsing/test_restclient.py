"""The request language: parsing, positions, and printing that restores the text."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orgrest.http.parsing import request_file, restclient
from orgrest.http.parsing.dialects import read
from orgrest.http.parsing.grammar import is_request_line
from orgrest.http.parsing.restclient import parse
from orgrest.http.syntax import (
    Definition,
    Document,
    HeaderLine,
    HeaderVariable,
    ParsedRequest,
    Text,
)
from orgrest.model import Capture, OrgrestError, RequestSyntaxError, Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable


def one(text: str) -> ParsedRequest:
    (request,) = parse(text).requests
    return request


def header_lines(request: ParsedRequest) -> list[tuple[str, str]]:
    return [(h.name.text, h.value.text) for h in request.headers if isinstance(h, HeaderLine)]


def body_of(request: ParsedRequest) -> str | None:
    return None if request.body is None else request.body.template.text


def reasons(request: ParsedRequest) -> list[str]:
    return [str(problem) for problem in request.problems]


# ------------------------------------------------------------------------------------ request lines


@pytest.mark.parametrize(
    ("line", "method", "target", "version"),
    [
        ("GET http://h/", "GET", "http://h/", None),
        ("get   http://h/", "get", "http://h/", None),
        ("PROPFIND http://h/x", "PROPFIND", "http://h/x", None),
        ("M-SEARCH :base/x", "M-SEARCH", ":base/x", None),
        ("X!#$ {{base}}/x", "X!#$", "{{base}}/x", None),
        ("GET http://h/a b", "GET", "http://h/a b", None),
        ("GET http://h/ HTTP/1.1", "GET", "http://h/", "1.1"),
        ("GET http://h/ HTTP/2", "GET", "http://h/", "2"),
        ("GET http://h/HTTP/1.1", "GET", "http://h/HTTP/1.1", None),
        ("\t GET\thttp://h/  ", "GET", "http://h/", None),
        ("GET anything", "GET", "anything", None),
    ],
)
def test_a_request_line_is_read(line: str, method: str, target: str, version: str | None) -> None:
    request = one(line)
    assert (request.method, request.target.text, request.version) == (method, target, version)


@pytest.mark.parametrize("line", ["some words", "GET", "GET ", "Hello there you", "(x) http://h"])
def test_words_above_a_request_are_skipped(line: str) -> None:
    assert not is_request_line(line)
    document = parse(f"{line}\nGET http://h/")
    assert document.items[0] == Text(line.rstrip(), Span(0, 0))
    assert [r.target.text for r in document.requests] == ["http://h/"]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment", ":a = 1", "words"])
def test_a_text_without_a_request_says_so(text: str) -> None:
    document = read(Source(text, file="n.org", places=[(40, 2)] * 3), "restclient")
    assert document.requests == ()
    assert [str(p) for p in document.problems] == [
        "n.org:40:3: no request found: requests start with a line such as GET https://example.org/"
    ]


def test_a_query_continues_below_the_request_line() -> None:
    request = one("GET http://h/p\n  ?a=1\n  # not now: &x=0\n  &b=:b HTTP/1.1\nX: 1")
    assert request.target.text == "http://h/p?a=1&b=:b"
    assert request.version == "1.1"
    assert request.target.offset(len("http://h/p?a=1&")) == request.source.text.index("b=:b")
    assert header_lines(request) == [("X", "1")]


def test_the_version_may_stand_on_the_request_line_above_a_query() -> None:
    request = one("GET http://h/p HTTP/1.1\n?a=1")
    assert (request.target.text, request.version) == ("http://h/p?a=1", "1.1")


def test_an_indented_request_loses_its_indentation_and_no_more() -> None:
    request = one("  POST http://h/\n  X-A: 1\n\n  body\n    more\n less\n  # end")
    assert header_lines(request) == [("X-A", "1")]
    assert body_of(request) == "body\n  more\nless"


# ------------------------------------------------------------------------------------------ headers


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("X-A: 1", "X-A", "1"),
        ("X-A:1", "X-A", "1"),
        ("X-A:\t1", "X-A", "1"),
        ("X-A:  1", "X-A", " 1"),
        ("X-A:", "X-A", ""),
        ("X-A:   ", "X-A", ""),
        ("x_a.b: a: b: c", "x_a.b", "a: b: c"),
        ("  X-A: 1", "X-A", "1"),
        ("{{n}}-x: 1", "{{n}}-x", "1"),
        (":n: 1", ":n", "1"),
        ("X-A: café ☃", "X-A", "café ☃"),
    ],
)
def test_a_header_is_read_as_it_is_written(line: str, name: str, value: str) -> None:
    request = one(f"GET http://h/\n{line}\nX-B: 2")
    assert header_lines(request) == [(name, value), ("X-B", "2")]
    assert request.body is None


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("X A: 1", "expected a header (Name: value): insert an empty line before the body"),
        ("hello world", "expected a header (Name: value): insert an empty line before the body"),
        ("a=1&b=2", "expected a header (Name: value): insert an empty line before the body"),
        (":a = 1", "variables must be defined before the request, not among its headers"),
        (
            "GET http://h/2",
            "unexpected second request: separate requests with a line that starts with #",
        ),
        ("-> jq-set-var", "captures must be written as -> jq-set-var :name EXPRESSION"),
        ("-> jq-set-var name .x", "captures must be written as -> jq-set-var :name EXPRESSION"),
        ("-> nosuch x", "unknown hook nosuch: only jq-set-var is supported"),
        (
            '-> run-hook (message "x")',
            "Emacs Lisp is not run: to set a variable, use -> jq-set-var :name EXPRESSION",
        ),
    ],
)
def test_what_is_no_header_is_an_error_and_never_a_body(line: str, reason: str) -> None:
    request = one(f"POST http://h/\nX-A: 1\n{line}\nX-B: 2\n\nbody")
    assert reasons(request) == [f"3:1: {reason}"]
    assert header_lines(request) == [("X-A", "1"), ("X-B", "2")]
    assert body_of(request) == "body"


def test_a_lisp_hook_over_several_lines_is_one_error() -> None:
    request = one("GET http://h/\n-> run-hook (progn\n   (x)\n   (y))\nX: 1")
    assert len(request.problems) == 1
    assert header_lines(request) == [("X", "1")]


@pytest.mark.parametrize("start", ['{"a": 1}', "[1]", "<a>", "< file.json"])
def test_json_and_xml_right_below_the_headers_are_a_body_as_in_restclient(start: str) -> None:
    request = one(f"POST http://h/\nX: 1\n{start}")
    assert request.body is not None
    assert [n.reason for n in request.notices] == [
        "this line starts the body: insert an empty line before it"
    ]


def test_a_variable_of_header_lines_keeps_its_place() -> None:
    request = one("GET http://h/\nX: 1\n:common\n{{ more }}\nY: 2")
    assert [h.name if isinstance(h, HeaderVariable) else h.name.text for h in request.headers] == [
        *("X", "common", "more", "Y")
    ]


def test_captures_are_read_with_their_place() -> None:
    text = "GET http://h/\n-> jq-set-var :id .a | .b\nX: 1"
    (capture,) = one(text).captures
    assert (capture.name, capture.expression) == ("id", ".a | .b")
    assert text[capture.span.start : capture.span.end] == ":id .a | .b"


# --------------------------------------------------------------------------------- ends of requests


def test_a_comment_between_headers_does_not_end_the_request() -> None:
    request = one("POST http://h/\n# one\nX-A: 1\n# X-B: 2\n# two\nX-C: 3\n# last\n\nbody")
    assert header_lines(request) == [("X-A", "1"), ("X-C", "3")]
    assert body_of(request) == "body"


@pytest.mark.parametrize(
    "between",
    [
        "#\n",
        "# x\n\n",
        "\n#\n",
        "###\n",
        "\n### name\n",
        "#\n:v = 1\n",
        "# a\n# b\n\n",
        "\n\n# a\n\n",
    ],
)
def test_a_comment_line_separates_requests(between: str) -> None:
    document = parse(f"GET http://h/1\n{between}GET http://h/2")
    assert [r.target.text for r in document.requests] == ["http://h/1", "http://h/2"]
    assert [r.body for r in document.requests] == [None, None]
    assert [r.problems for r in document.requests] == [(), ()]


def test_a_third_level_comment_names_the_request_below_it() -> None:
    document = parse(
        "### first one\nGET http://h/1\n###\nGET http://h/2\n#### deep\nGET http://h/3"
    )
    assert [r.name for r in document.requests] == [
        "first one",
        None,
        "deep",
    ]


def test_a_hash_line_ends_a_body_and_an_indented_one_does_not() -> None:
    document = parse("POST http://h/\n\nbody1\n  # kept\nbody2\n# ends\nlost\n")
    assert body_of(document.requests[0]) == "body1\n  # kept\nbody2"
    assert document.items[-1] == Text("lost", Span(0, 0))


def test_a_body_loses_blanks_at_the_ends_of_lines_and_empty_lines_at_its_end() -> None:
    assert body_of(one("POST http://h/\n\n  a  \n\tb\t\n\nc \r\n\n  \n")) == "  a\n\tb\n\nc"


def test_only_one_empty_line_stands_between_head_and_body() -> None:
    assert body_of(one("POST http://h/\n\n\nbody")) == "\nbody"
    assert one("POST http://h/\n\n  \n\n").body is None


def test_a_request_line_inside_a_body_is_body_and_reported() -> None:
    request = one("POST http://h/\n\ntext\nGET http://h/2")
    assert body_of(request) == "text\nGET http://h/2"
    (notice,) = request.notices
    assert str(notice).startswith("4:1: this request line is part of the body above:")


# ----------------------------------------------------------------------------------- here-documents


def test_a_here_document_sends_hash_lines_and_blanks_as_they_are() -> None:
    text = "POST http://h/\n\n<<END\n# Title\n\n text  \n#\n\nEND\n\n# after\nGET http://h/2"
    first, second = parse(text).requests
    assert body_of(first) == "# Title\n\n text  \n#\n"
    assert first.problems == ()
    assert second.target.text == "http://h/2"
    assert first.body is not None
    assert text[first.body.template.offset(2) :].startswith("Title")


def test_text_below_the_end_of_a_here_document_is_an_error() -> None:
    request = one("POST http://h/\n\n<<E\nx\nE\nmore")
    assert reasons(request) == ["6:1: unexpected text after the E that ends the body"]


def test_a_here_document_that_never_ends_is_an_error_where_it_begins() -> None:
    first, second = parse("POST http://h/\n\n<<END\nx\n# here\nGET http://h/2").requests
    assert reasons(first) == ["3:1: this << is never closed: the line END is missing"]
    assert second.problems == ()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (":a = <<\n1\n\n2\n#", "1\n\n2"),
        (":a=<<\n#", ""),
        (":a = << END\n# x \nEND", "# x "),
        (":a = <<END\nGET http://inner/\nEND", "GET http://inner/"),
        ("  :a = <<\n  1\n    2\n  # end", "1\n  2"),
        (":a = << not a word", "<< not a word"),
    ],
)
def test_a_variable_takes_several_lines(text: str, value: str) -> None:
    document = parse(f"{text}\nGET http://h/")
    (definition,) = document.requests[0].definitions
    assert (definition.name, definition.value.text) == ("a", value)
    assert [r.target.text for r in document.requests] == ["http://h/"]


def test_a_variable_that_never_ends_is_an_error_where_it_begins() -> None:
    document = parse(Source("# c\n:a = <<\n1\nGET http://h/", file="x.http"))
    assert [str(p) for p in document.problems] == [
        "x.http:2:6: this << is never closed: missing a line that starts with #"
    ]
    assert document.requests == ()


# -------------------------------------------------------------------------------------- definitions


@pytest.mark.parametrize(
    ("line", "name", "operator", "value"),
    [
        (":a = one", "a", "=", "one"),
        (":a=one", "a", "=", "one"),
        (":a\t=\tone  ", "a", "=", "one"),
        (":a =", "a", "=", ""),
        (":a.b+c = x=1&y=:b", "a.b+c", "=", "x=1&y=:b"),
        (':a := env("X")', "a", ":=", 'env("X")'),
        (":a:=uuid()", "a", ":=", "uuid()"),
        ("  :a = <b>", "a", "=", "<b>"),
    ],
)
def test_a_definition_is_read(line: str, name: str, operator: str, value: str) -> None:
    text = f"{line}\n:b = 2\nGET http://h/"
    definition, other = one(text).definitions
    assert (definition.name, definition.operator, definition.value.text) == (name, operator, value)
    assert text[definition.name_span.start : definition.name_span.end] == f":{name}"
    assert other.name == "b"


def test_a_request_sees_the_last_definition_above_it() -> None:
    first, second = parse(":a = 1\n:a = 2\nGET http://h/\n#\n:a = 3\nGET http://h/").requests
    assert [r.definition("a").value.text for r in (first, second) if r.definition("a")] == [
        "2",
        "3",
    ]  # type: ignore[union-attr]
    assert first.definition("b") is None
    assert len(first.definitions) == 2


# -------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize("line", ["< data.json", "<data.json", "<./x", "<  a b.txt", "<\t~/x"])
def test_the_first_line_of_a_body_may_name_a_file(line: str) -> None:
    request = one(f"POST http://h/\n\n{line}")
    assert request.body is not None
    assert request.body.file is not None
    assert request.body.file.text == line[1:].strip()
    assert request.source.text[request.body.file.offset(0) :] == line[1:].strip()


@pytest.mark.parametrize("line", ["<a>b</a>", "<root", "<a", '<svg xmlns="http://x/"', "<<", "< >"])
def test_xml_is_not_taken_for_a_file(line: str) -> None:
    assert body_of(one(f"POST http://h/\n\n{line}")) == line


def test_lines_below_a_file_are_reported_to_be_lost() -> None:
    request = one("POST http://h/\n\n< x.bin\nmore\n")
    assert [str(n) for n in request.notices] == ["4:1: lines below `< FILE` are not sent"]


def test_files_further_down_are_noted_for_multipart_bodies() -> None:
    body = one("POST http://h/\n\n--B\n\n< a.png\n--B--").body
    assert body is not None
    (file,) = body.files
    start, end, path = file.start, file.end, file.path
    assert body.template.text[start:end] == "< a.png"
    assert path.text == "a.png"


# ------------------------------------------------------------------------------------------- places


def test_positions_lead_back_to_the_file_through_indentation_and_org() -> None:
    source = Source("GET http://h/\nbad header", file="a.org", places=[(10, 4), (11, 6)])
    (request,) = parse(source).requests
    assert reasons(request) == [
        "a.org:11:7: expected a header (Name: value): insert an empty line before the body"
    ]
    assert source.offset(2) == 14
    assert Source("x", places=[]).position(0).line == 1


def test_every_part_of_a_request_stands_where_its_span_says() -> None:
    text = "# c\n:v = 1\nPUT http://h/\nX-A: 1\n:v\n-> jq-set-var :x .x\n\nbody\nmore\n\n# d"
    document = parse(text)
    pieces = [text[item.span.start : item.span.end] for item in document.items]
    assert pieces[:2] == ["# c", ":v = 1"]
    request = document.requests[0]
    assert pieces[2].startswith("PUT")
    assert pieces[2].endswith("more")
    assert text[request.method_span.start : request.method_span.end] == "PUT"
    assert [text[h.span.start : h.span.end] for h in request.headers] == ["X-A: 1", ":v"]
    assert request.body is not None
    assert text[request.body.span.start : request.body.span.end] == "body\nmore"


def test_the_request_at_a_place_is_the_one_around_or_below_it() -> None:
    text = "# one\nGET http://h/1\n\n### two\n:v = 1\nGET http://h/2\n\n"
    document = parse(text)
    at = [document.request_at(text.index(s)) for s in ("# one", "h/1", "### two", "h/2")]
    assert [r.target.text[-1] for r in at if r] == ["1", "1", "2", "2"]
    last = document.request_at(len(text))
    assert last is not None
    assert last.target.text == "http://h/2"
    assert parse("").request_at(0) is None


def selected(parsed: Document, text: str) -> list[str]:
    """Return for each line the path of the request that a cursor there selects."""
    starts = [0, *(at + 1 for at, c in enumerate(text) if c == "\n")]
    found = [parsed.request_at(at) for at in starts]
    return [one.target.text.rpartition("/")[2] if one else "" for one in found]


@pytest.mark.parametrize("read", [parse, request_file.parse])
def test_a_blank_line_below_a_request_never_selects_the_next_one(
    read: Callable[[str], Document],
) -> None:
    text = (
        "GET http://h/a\n\n\n### two\n\nPOST http://h/b\nA: b\n\nbody\n\n\n"
        "###\n\nDELETE http://h/c\n\n###\n\n"
    )
    assert selected(read(text), text) == [*"aaa", *"bbbbbbbb", *"cccccc", "c"]
    blanks = "GET http://h/a\n# ?? status == 200\n\n\n###\nDELETE http://h/b"
    assert selected(read(blanks), blanks) == [*"aaaabb"]


def test_errors_read_as_file_line_column_reason() -> None:
    assert str(OrgrestError("why")) == "why"
    assert str(OrgrestError("why", file="f", line=2)) == "f:2: why"
    error = RequestSyntaxError.at(Source("ab\ncd", file="f"), 4, "why")
    assert isinstance(error, RequestSyntaxError)
    assert str(error) == "f:2:2: why"


# ------------------------------------------------------------------------------------- any text


WORDS = st.sampled_from(
    ["a", "b c", ":v", "{{v}}", "#x", "<", "<<END", "END", "é☃", "x=1", "  ", "\t", "< f.txt", "::"]
)
LINES = st.lists(WORDS, max_size=4).map("".join)
BODIES = st.one_of(
    st.none(),
    st.lists(LINES, min_size=1, max_size=5).map("\n".join),
    st.text("ab#<\n \r:", max_size=9),
)


@settings(deadline=None)
@given(st.text())
def test_no_text_makes_the_parser_fail(text: str) -> None:
    document = parse(text)
    for item in document.items:
        assert 0 <= item.span.start <= item.span.end <= len(text)
    for request in document.requests:
        for problem in request.problems:
            assert problem.line is not None


@settings(deadline=None)
@given(
    BODIES.filter(lambda body: body is not None and "\r" not in body), st.text("abc", max_size=3)
)
def test_any_text_can_be_sent_as_a_body(body: str, header: str) -> None:
    request = one(f"POST http://h/\nX: {header}\n\n<<THE_END\n{body}\nTHE_END\n\n# end\n")
    assert request.problems == ()
    assert body_of(request) == body


@pytest.mark.parametrize(
    "text",
    [
        "GET http://h/\n" + "# c\n\n" * 50_000,
        "GET http://h/\n" + "# c\n" * 100_000 + "X: 1",
        ":a = 1\n" * 100_000,
        "GET http://h/\n#\n" * 50_000,
        "GET http://h/\n\n" + "text\n" * 100_000,
        "GET http://h/" + " " * 300_000 + "x",
        "GET http://h/\n" + "?a=1\n" * 50_000,
        "GET http://h/\nX: " + "{{" * 100_000,
        "POST http://h/\n\n<" + "." * 200_000 + ">",
        "POST http://h/\n\n<" + " " * 200_000 + ">",
        "POST http://h/\n" + "x" * 200_000 + " ",
        ":" + "a" * 200_000,
    ],
)
def test_long_texts_take_linear_time(text: str) -> None:
    # No clock: a quadratic parser would need hours here, and the test run would not end.
    start = time.monotonic()
    document = parse(text)
    assert document.items
    assert time.monotonic() - start < 600


def test_captures_compare_by_what_they_say() -> None:
    source = Source("")
    assert Capture("a", ".x", source, Span(0, 1)) == Capture("a", ".x", source, Span(0, 1))


LINES = [
    *("", "#", "# c", "### name", "  # c", "GET http://h/", "  POST http://h/", "post x", "text"),
    *(":a = 1", "  :b := uuid()", ":c = <<", ":d = <<END", "END", "<<END", "<< x", "{", "  }"),
    *(
        "A: b",
        ":a",
        "?q=1",
        "-> jq-set-var :e .e",
        "-> run-hook",
        "  (lisp)",
        "-> x",
        "< f",
        "@x = 1",
    ),
    *("# ?? status == 200", "GET http://h/ HTTP/1.1", "<", "\t# c", "#\r", "\r"),
]
TEXTS = st.lists(st.sampled_from(LINES), max_size=14).map("\n".join)


@settings(deadline=None)
@given(TEXTS)
def test_what_a_line_belongs_to_follows_from_its_region(text: str) -> None:
    whole = restclient._DocumentReader(Source(text))
    whole.document()
    assert restclient.read_above(text) == whole.state


def _set(text: str, start: int = 0) -> list[tuple[str, int]]:
    parsed = parse(text)
    definitions = [item for item in parsed.items if isinstance(item, Definition)]
    captures = [capture for request in parsed.requests for capture in request.captures]
    found = [(one.name, start + one.span.start) for one in (*definitions, *captures)]
    return sorted(found, key=lambda one: one[1])


@settings(deadline=None)
@given(TEXTS)
def test_what_the_regions_set_is_what_the_whole_sets(text: str) -> None:
    cuts = [*restclient.parts(text), len(text)]
    of_regions = [one for at, end in pairwise(cuts) for one in _set(text[at:end], at)]
    assert of_regions == _set(text)


KINDS = pytest.mark.parametrize("read", [parse, request_file.parse], ids=["restclient", "http"])


@KINDS
@pytest.mark.parametrize("mark", ["?? ", "# ?? ", "#?? ", "??"])
@pytest.mark.parametrize("body", ["", "A: b\n", "\nbody\n", "\nbody\n\n"])
def test_an_assertion_is_checked_and_never_sent_in_every_kind_of_document(
    read: Callable[[str], Document], mark: str, body: str
) -> None:
    text = (
        f"POST http://h/a\n{body}{mark}status == 200\n{mark}body exists\n\n### b\nGET http://h/b\n"
    )
    first, second = read(text).requests
    assert [assertion.text.text for assertion in first.assertions] == [
        "status == 200",
        "body exists",
    ]
    assert first.problems == ()
    assert first.target.text == "http://h/a"
    assert (first.body.template.text if first.body else None) == (
        body.strip("\n") or None if body.startswith("\n") else None
    )
    assert (second.assertions, second.name) == ((), "b")


@KINDS
def test_an_assertion_below_no_request_is_an_error(read: Callable[[str], Document]) -> None:
    assert read("?? status == 200\n").problems


@KINDS
@pytest.mark.parametrize("text", ["?? statsu == 200\n", "\nbody\n?? status = 200\n"])
def test_what_only_looks_like_an_assertion_does_not_go_unnoticed(
    read: Callable[[str], Document], text: str
) -> None:
    [request] = read(f"POST http://h/a\n{text}").requests
    found = (*request.problems, *request.notices)
    assert [one.code for one in found] == ["bad-assertion"]
