"""`orgrest.editor.completion`: the candidates at a position, which `@@` marks in the document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orgrest.editor.completion import complete
from orgrest.editor.completion.contexts import contexts
from orgrest.editor.completion.cursor import Cursor
from orgrest.editor.completion.model import Candidate, Context
from orgrest.editor.regions import Kind
from orgrest.files import entries
from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Definition, HeaderLine, ParsedRequest
from orgrest.http.values.expressions import FUNCTIONS
from orgrest.model import Source
from orgrest.org import document as org
from orgrest.org.arguments import of_block
from orgrest.org.known import KNOWN

if TYPE_CHECKING:
    from pathlib import Path


def offered(marked: str, document: Kind = "http", **more: Any) -> list[Candidate]:
    """Return the candidates at the mark."""
    return complete(Cursor(marked.replace("@@", ""), marked.index("@@"), document=document, **more))


def labels(marked: str, document: Kind = "http", **more: Any) -> list[str]:
    """Return the names of the candidates at the mark."""
    return [one.label for one in offered(marked, document, **more)]


def here(marked: str, document: Kind = "http") -> Context | None:
    """Return the context at the mark."""
    return context(marked.replace("@@", ""), marked.index("@@"), document)


def context(text: str, offset: int, document: Kind = "http") -> Context | None:
    """Return the context at an offset."""
    return next(contexts(Cursor(text, offset, document)), None)


def applied(marked: str, label: str, document: Kind = "http", **more: Any) -> str:
    """Return the text with the named candidate inserted."""
    text = marked.replace("@@", "")
    (one,) = [one for one in offered(marked, document, **more) if one.label == label]
    return text[: one.span.start] + one.insert + text[one.span.end :]


def about(marked: str, label: str, document: Kind = "http") -> str:
    """Return the explanation of the named candidate."""
    (one,) = [one for one in offered(marked, document) if one.label == label]
    return one.documentation


def block(body: str, arguments: str = "") -> str:
    """Return an Org block with this body."""
    return f"Some text.\n\n#+begin_src restclient{arguments}\n{body}\n#+end_src\n\nMore text.\n"


# --------------------------------------------------------------------------------------- methods


@pytest.mark.parametrize(
    ("marked", "first"),
    [
        ("P@@", ["PATCH", "POST", "PUT", "PROPFIND", "PROPPATCH"]),
        ("ge@@", ["GET"]),
        ("@@", ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"]),
        ("  De@@", ["DELETE"]),
        ("Q@@", ["QUERY"]),
        (":a = 1\nGE@@", ["GET"]),
        (":a = <<\n# no comment\nGET http://x/\n#\nPU@@", ["PUT"]),
        (":a = <<E\n#\nGET http://x/\nE\nPU@@", ["PUT"]),
        ("GET http://x/\n\nbody\n#\nPU@@", ["PUT"]),
        ("GET http://x/\n\n<<E\n#\n#\nE\n#\nPU@@", ["PUT"]),
        ("GET http://x/\n### next\nPU@@", ["PUT"]),
        ("GET http://x/\n#\nPU@@\n\nGET http://y/", ["PUT"]),
        ("GET http://x/\n# a comment\n\nPU@@", ["PUT"]),
        ("GET http://x/\n# a comment\nPU@@", ["PUT"]),  # a header, or another request
        ("GET http://x/\nA: b\n# c\n:a = 1\nPU@@", ["PUT"]),
        ("prose\nmore prose\nPU@@", ["PUT"]),
    ],
)
def test_methods_are_offered_where_a_request_can_begin(marked: str, first: list[str]) -> None:
    assert labels(f":mark = 1\n{marked}")[: len(first)] == first
    assert labels(block(marked), "org")[: len(first)] == first


@pytest.mark.parametrize(
    "above",
    [
        "",
        "@a = 1\n",
        "# a comment\n",
        "GET http://x/\n\nbody\n###\n",
        "GET http://x/\n### next\n# @name b\n",
        "{{\nGET\n}}\n",
    ],
)
def test_methods_are_offered_where_a_request_of_a_request_file_can_begin(above: str) -> None:
    assert labels(f"{above}PU@@")[0] == "PUT"
    assert labels(f"{above}GET http://y/\n###\nPU@@")[0] == "PUT"


@pytest.mark.parametrize(
    ("above", "kind"),
    [
        ("POST http://x/\n\n{}\n#\n", None),
        ("POST http://x/\n\n{}\n// c\n\n", None),
        ("http://x/\n", "header"),
        ("{{host}}/a\n", "header"),
        ("http://x/\n# c\nA: b\n", "header"),
        ("> {%\nif (a)\n", "script"),
        ("{{\na = 1\n", None),
        ("/* long\n", None),
        ("POST http://x/\n\nHTTP/1.1 200 OK\nA: b\n", None),
    ],
)
def test_what_a_line_of_a_request_file_belongs_to_is_what_a_run_reads(
    above: str, kind: str | None
) -> None:
    found = context(f"{above}Ge", len(above) + 2)
    assert (found and found.kind) == kind


def test_a_line_with_a_method_is_completed_as_the_request_that_it_begins() -> None:
    above = "POST http://x/?page=1\n\n{}\n\n"
    assert labels(f"{above}GET http://x/?p@@") == ["page"]
    assert "http://x" in labels(f"{above}GET h@@")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://h/{{$processEnv %v}}/x", {"http://h", "http://h/{{$processEnv %v}}/x"}),
        (
            "http://{{$processEnv H}}/x HTTP/1.1",
            {f"http://{{{{$processEnv H}}}}{x}" for x in ("", "/x")},
        ),
        ("{{$dotenv H}}/x", {"{{$dotenv H}}", "{{$dotenv H}}/x"}),
        ("{{a}}/{{b}}", {"{{a}}", "{{a}}/{{b}}"}),
        ("http://h/{{$processEnv", {"http://h", "http://h/"}),
        ("{{$processEnv", set()),
    ],
)
def test_no_url_is_offered_that_ends_inside_of_braces(url: str, expected: set[str]) -> None:
    schemes = {"https://", "http://"}
    for text, document in ((f"GET {url}\n###\nGET @@", "http"), (f"{block(f'GET {url}')}", "org")):
        marked = text if "@@" in text else text + block("GET @@")
        found = {label for label in labels(marked, document) if "/" in label or "{" in label}
        assert found - schemes == expected


@pytest.mark.parametrize(
    "marked",
    [
        "# P@@",
        "  # GET@@",
        "@@# comment",
        "GET http://x/\n\nP@@",
        "GET http://x/\n\nbody\n  # body\nP@@",
        "GET http://x/\n# c\nA: b\n\nP@@",
        "GET http://x/\n\n<<E\n#\nP@@\nE\n",
        "GET http://x/\n  {\nP@@",
        "some prose@@",
        "prose http://x/@@",
        '"P@@',
        ":P@@",
    ],
)
def test_no_method_where_none_can_begin(marked: str) -> None:
    for above in ("", ":mark = 1\n"):
        found = offered(f"{above}{marked}")
        assert [one for one in found if one.kind == "method"] == []


def test_a_method_goes_in_as_one_writes_it_with_one_blank_behind() -> None:
    assert applied("ge@@", "GET") == "GET "
    assert applied("GE@@ http://x/", "GET") == "GET http://x/"
    assert applied("P@@ATCH http://x/", "PUT") == "PUT http://x/"
    assert about("GE@@", "GET") == "Fetches the resource.\n\nRFC 9110, section 9.3.1"


# ------------------------------------------------------------------------------------------ URLs


def test_urls_and_hosts_of_the_document_are_offered() -> None:
    text = "GET https://a.org/x?b=1\n#\nPOST http://b.org:80/y\n#\nGET @@\n#\nPUT https://a.org/z\n"
    found = labels(text)
    assert found[:5] == [
        "http://b.org:80",
        "http://b.org:80/y",
        "https://a.org",
        "https://a.org/x?b=1",
        "https://a.org/z",
    ]
    assert found[5:] == ["http://", "https://"]
    assert labels(text.replace("@@", "https://a.org/x@@")) == ["https://a.org/x?b=1"]
    assert about(text, "https://a.org") == "Used 2 times in this document."


def test_urls_of_other_blocks_are_offered_in_org() -> None:
    text = block("GET :host/a") + block("GET http://x/b") + block("get @@")
    assert labels(text, "org")[:4] == [":host", ":host/a", "http://x", "http://x/b"]


def test_nothing_is_offered_for_a_scheme_or_a_url_that_stands_nowhere_else() -> None:
    assert labels(":a = 1\nGET http:@@") == ["http://"]
    assert labels(":a = 1\nGET http:@@//x/") == ["http://"]
    assert labels("GET http://x/@@") == []
    assert labels("FOO bar@@") == []


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("GET http://x/?aa=1&b=2\n#\nGET http://y/?@@", ["aa", "b"]),
        ("GET http://x/?aa=1&b=2\n#\nGET http://y/?z=1&a@@", ["aa"]),
        ("GET http://x/\n  ?aa=1\n  &b=2\n#\nGET http://y/\n  ?z=1\n  &@@", ["aa", "b", "z"]),
        ("GET http://x/\n?aa=1\n#\nGET http://y/\n?a@@", ["aa"]),
        ("GET http://x/?aa=1\n#\nGET http://y/?b=a@@", []),
        ("GET http://x/?aa=1\n#\nGET http://y/\nA: b\n&a@@", []),
        ("GET http://x/?aa=1\n#\nGET http://y/#a@@", []),
    ],
)
def test_parameters_of_the_documents_urls_are_offered(marked: str, expected: list[str]) -> None:
    assert labels(marked) == expected


def test_a_parameter_goes_in_with_one_equals_sign() -> None:
    before = "GET http://x/?page=1\n#\n"
    assert applied(f"{before}GET http://y/?p@@", "page").endswith("?page=")
    assert applied(f"{before}GET http://y/?pa@@g=2&x=1", "page").endswith("?page=2&x=1")


def test_the_version_may_follow_the_url() -> None:
    assert labels("GET http://x/ H@@") == ["HTTP/1.1"]


# --------------------------------------------------------------------------------------- headers


@pytest.mark.parametrize(
    ("marked", "first"),
    [
        ("GET http://x//\nacc@@", ["accept", "accept-encoding", "accept-language"]),
        ("GET http://x//\nACC@@", ["Accept", "Accept-Encoding", "Accept-Language"]),
        ("GET http://x//\nAcc@@", ["Accept", "Accept-Encoding", "Accept-Language"]),
        ("GET http://x/\n  ?a=1\n  &b=2\nAccept: a\nwww@@", ["www-authenticate"]),
        ("  GET http://x/\n  A: b\n  If-M@@", ["If-Match", "If-Modified-Since"]),
        ("GET http://x/\nA: b\n# old\nC: d\nD@@", ["Depth", "Destination"]),
        ("GET http://x/\n:vars\nDN@@", ["DNT"]),
        ("GET http://x/\n-> jq-set-var :a .b\nT@@", ["Traceparent", "TE", "Timeout"]),
        ("GET http://x/\nFoo@@", []),
        ("GET http://x/\nA b@@", []),
    ],
)
def test_header_names_are_offered_in_the_case_that_is_typed(marked: str, first: list[str]) -> None:
    found = labels(marked)
    assert found[: len(first)] == first
    assert first or not found


def test_all_headers_are_offered_those_of_requests_first() -> None:
    found = labels("GET http://x/\n@@")
    assert found.index("Accept") < found.index("A-IM") < found.index("Access-Control-Allow-Origin")
    assert found.index("Authorization") < found.index("ETag")
    assert {"accept-charset", "accept-datetime"} <= set(labels("GET http://x//\nacc@@"))


def test_headers_follow_a_comment_that_may_stand_among_them() -> None:
    assert "Accept" in labels("GET http://x/\nA: b\n# Accept: old\nAcc@@")
    assert "Accept" not in labels(":a = 1\nGET http://x/\nA: b\n#\nAcc@@")
    assert "Accept" in labels("GET http://x/\nA: b\n#\nAcc@@")
    assert "Accept" not in labels("GET http://x/\nA: b\n# c\n\nAcc@@")


def test_a_header_goes_in_with_one_colon_behind() -> None:
    get = "GET http://x/\n"
    assert applied(f"{get}Content-@@", "Content-Type") == f"{get}Content-Type: "
    assert applied(f"{get}accept@@", "accept-encoding") == f"{get}accept-encoding: "
    assert applied(f"{get}Acc@@: a/b", "Accept") == f"{get}Accept: a/b"
    assert applied(f"{get}Acc@@:a/b", "Accept") == f"{get}Accept: a/b"
    assert applied(f"{get}Con@@tent-Length: 1", "Content-Type") == f"{get}Content-Type: 1"


def test_a_header_is_described() -> None:
    get = "GET http://x/\n"
    assert about(f"{get}accept@@", "accept").endswith("\n\nRFC 9110, section 12.5.1")
    assert about(f"{get}etag@@", "etag").startswith("For responses. Entity tag")
    assert about(f"{get}pragma@@", "pragma").startswith("Obsolete. ")


# ---------------------------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("Content-Type: app@@", ["application/json", "application/octet-stream"]),
        ("content-type: APPLICATION/X@@", ["application/x-www-form-urlencoded"]),
        ("Accept: text/html, text/e@@", ["text/event-stream"]),
        ("Accept: text/e@@, text/html", ["text/event-stream"]),
        ("Accept:text/e@@", ["text/event-stream"]),
        ("Accept: text/html;q@@", ["q=0", "q=0.1", "q=0.5"]),
        ("Accept: text/html;q=0.5,text/pl@@", ["text/plain"]),
        ("Content-Type: text/html; @@", ["charset=utf-8", "boundary="]),
        ("Content-Type: text/html; charset=u@@", ["charset=utf-8", "charset=us-ascii"]),
        ("Accept-Encoding: gzip, b@@", ["br"]),
        ("Accept-Charset: utf@@", ["utf-8", "utf-16"]),
        ("Accept-Language: d@@", ["da", "de", "de-DE"]),
        ("Cache-Control: no-@@", ["no-cache", "no-store", "no-transform"]),
        ("Authorization: B@@", ["Basic", "Bearer"]),
        ("User-Agent: c@@", ["curl/8.5.0"]),
        ("Connection: @@", ["close", "HTTP2-Settings", "keep-alive", "TE", "Upgrade"]),
        ("Expect: 1@@", ["100-continue"]),
        ("TE: t@@", ["trailers"]),
        ("Sec-Fetch-Mode: n@@", ["navigate", "no-cors"]),
        ("Prefer: return=m@@", ["return=minimal"]),
        ("Depth: @@", ["0", "1", "infinity"]),
        ("Access-Control-Request-Method: PU@@", ["PUT"]),
        ("Vary: Acc@@", ["Accept", "Accept-Encoding"]),
        ("Set-Cookie: a=b; S@@", ["SameSite=Lax", "SameSite=None", "SameSite=Strict", "Secure"]),
        ("Date: @@", []),
        ("X-Unknown: a@@", []),
        ("Accept: zzz@@", []),
    ],
)
def test_values_are_offered_by_header(line: str, first: list[str]) -> None:
    found = labels(f"GET http://x/\n{line}")
    assert found[: len(first)] == first
    assert first or not found
    assert labels(block(f"  GET http://x/\n  {line}"), "org") == found


def test_a_value_takes_the_place_of_the_one_that_stands_there() -> None:
    get = "GET http://x/\n"
    assert applied(f"{get}Content-Type: app@@/old; a=b", "application/json") == (
        f"{get}Content-Type: application/json; a=b"
    )
    assert (
        applied(f"{get}Accept: a/b, te@@, c/d", "text/html") == f"{get}Accept: a/b, text/html, c/d"
    )
    assert applied(f"{get}Authorization: Be@@", "Bearer") == f"{get}Authorization: Bearer "
    assert applied(f"{get}Authorization: Be@@ :t", "Bearer") == f"{get}Authorization: Bearer :t"
    assert applied(f"{get}Cache-Control: max-a@@=3", "max-age=").endswith("max-age=3")


# ------------------------------------------------------------------------------------- variables


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        (":host = x\nGET :@@", ["host"]),
        (":host = x\nGET :h@@", ["host"]),
        (":host = x\n:port = 80\nGET http://localhost:@@", ["host", "port"]),
        (":id = 1\nGET http://x/:@@", ["id"]),
        (":id = 1\nGET http://x/\n  ?a=:@@", ["id"]),
        (":id = 1\nGET http://x/{{@@", ["id"]),
        (":id = 1\nGET http://x/{{ i@@ }}", ["id"]),
        (":token = 1\nGET http://x/\nAuthorization: Bearer :t@@", ["token"]),
        (":token = 1\nGET http://x/\nAuthorization: Bearer {{t@@", ["token"]),
        (":vars = 1\nGET http://x/\n:@@", ["vars"]),
        (":vars = 1\nGET http://x/\n{{@@", ["vars"]),
        (":id = 1\nGET http://x/\n\n:@@", ["id"]),
        (":id = 1\nGET http://x/\n\nid=:@@&x=1", ["id"]),
        (':id = 1\nGET http://x/\n\n{"a": ":@@"}', ["id"]),
        (':id = 1\nGET http://x/\n\n{"a": :@@}', ["id"]),
        (':id = 1\nGET http://x/\n\n{"a": {{@@}', ["id"]),
        (':id = 1\nGET http://x/\n\n{"a"::i@@}', ["id"]),
        (':id = 1\nGET http://x/\n{"a": ":@@', ["id"]),
        (":id = 1\nPOST http://x/\n\n<<E\n#:@@\nE", ["id"]),
        (":id = 1\nPOST http://x/\n\n< file-:@@", ["id"]),
        (":a = 1\n:b = :@@", ["a"]),
        (':a = 1\n:b := ":@@', ["a"]),
        (":a = 1\n:b := :@@", ["a"]),
        (":a = <<\n1\n#\nGET http://x/:@@", ["a"]),
        ("GET http://x/\n-> jq-set-var :id .id\n#\nGET http://x/:@@", ["id"]),
        ("GET http://x/\r\n#\r\n:a = 1\r\nGET http://x/:@@\r\n", ["a"]),
        # what is not one, or not yet
        ("GET http://x/:@@\n#\n:later = 1\n", []),
        ("GET http://x/\n\n:a = 1\n:@@", []),
        ("GET http://x/\n\n-> jq-set-var :a .b\n#\nGET http://x/:@@", []),
        (':id = 1\nGET http://x/\n\n{"a":@@', []),
        (":id = 1\nGET http://x/\n\n10:@@30", []),
        (":id = 1\nGET http://x/\n\nat 10:3@@0", []),
        (":id = 1\nGET http://x/\n\nhttp:@@//x", []),
        (":id = 1\n# :@@", []),
        (":id = 1\n:@@", []),
        (":id = 1\nGET http://x/\nHost: x:8@@", []),
    ],
)
def test_variables_set_above_are_offered(marked: str, expected: list[str]) -> None:
    assert [one.label for one in offered(marked) if one.kind == "variable"] == expected


def test_a_reference_in_braces_is_closed_once() -> None:
    assert applied(":id = 1\nGET http://x/{{i@@", "id").endswith("/{{id}}")
    assert applied(":id = 1\nGET http://x/{{i@@}}", "id").endswith("/{{id}}")
    assert applied(":id = 1\nGET http://x/{{ i@@ }}/a", "id").endswith("/{{ id}}/a")
    assert applied(":id = 1\nGET http://x/:i@@/a", "id").endswith("/:id/a")
    assert applied(":id = 1\nGET http://x/:i@@x/a", "id").endswith("/:id/a")


def test_a_variable_shows_its_value_and_line() -> None:
    text = ":host = http://x\n:long = " + "a" * 100 + "\n:text = <<\nl\n#\nGET :@@\n"
    assert about(text, "host") == "http://x\n\nline 1"
    assert about(text, "long") == "a" * 57 + "...\n\nline 2"
    assert about(text, "text") == "several lines\n\nline 3"
    capture = "GET http://x/\n-> jq-set-var :id .a[0]\n#\nGET http://x/:@@\n"
    assert about(capture, "id") == "the values that jq .a[0] selects from the response\n\nline 2"
    assert about(":a = 1\n:a = 2\nGET http://x/:@@", "a") == "2\n\nline 2"


@pytest.mark.parametrize(
    "value",
    [
        ':= env("S")',
        ':= netrc("host")',
        ':= base64("me:{{one}}")',
        "= Bearer :one",
        "= {{one}}",
        ':= (getenv "S")',
        "= :two",
    ],
)
def test_a_secret_is_never_shown(value: str) -> None:
    text = (
        f':one := env("S", "hunter2")\n:two := base64(:one)\n:it {value}\n:no = 1\nGET http://x/:@@'
    )
    assert about(text, "it") == "***\n\nline 3"
    assert about(text, "one") == "***\n\nline 1"
    assert about(text, "no") == "1\n\nline 4"
    assert not any("hunter2" in one.documentation for one in offered(text))


def test_variables_that_refer_to_each_other_are_shown() -> None:
    assert labels(":a = :b\n:b = :a\nGET http://x/:@@") == ["a", "b"]


def test_header_arguments_and_earlier_blocks_give_variables_in_org() -> None:
    text = (
        "# a comment\n:PROPERTIES:\n:header-args+: :var top=0\n:END:\n"
        "#+PROPERTY: header-args:restclient :var global=1 list='(1 2)\n"
        "#+begin_src restclient\nGET http://x/\n-> jq-set-var :captured .a\n#+end_src\n"
        "* Not above\n:PROPERTIES:\n:header-args: :var wrong=1\n:END:\n"
        "* Outer\n:PROPERTIES:\n:header-args+: :var outer=2\n:END:\n** Inner\n"
        "#+NAME: it\n#+HEADER: :var header=login lisp=(foo)\n"
        '#+begin_src restclient :var line="a b"\n'
        "  :own = 3\n  GET http://x/:@@\n#+end_src\n"
    )
    told = {one.label: one.documentation for one in offered(text, "org")}
    outside = "header argument :var"
    assert told == {
        "captured": "the values that jq .a selects from the response\n\nline 8",
        "global": f"1\n\n{outside}",
        "header": f"the result of login\n\n{outside}",
        "line": f"a b\n\n{outside}",
        "lisp": f"Emacs Lisp (not evaluated)\n\n{outside}",
        "list": f"a list\n\n{outside}",
        "outer": f"2\n\n{outside}",
        "own": "3\n\nline 22",
        "top": f"0\n\n{outside}",
    }


def test_header_arguments_that_cannot_be_read_give_no_variables() -> None:
    assert labels(block(":a = 1\nGET http://x/:@@", ' :var b="'), "org") == ["a"]


# ----------------------------------------------------------------------------------- expressions


def test_functions_are_those_of_expressions() -> None:
    assert labels(":a := @@") == [
        name + ("(" if one.most else "()") for name, one in sorted(FUNCTIONS.items())
    ]
    assert labels(":a := base64(u@@") == ["urlencode(", "uuid()"]
    assert labels(":a := base64( u@@") == ["urlencode(", "uuid()"]
    assert about(":a := env@@", "env(") == (
        'env("NAME"): An environment variable, or else a variable from the env file.'
    )


@pytest.mark.parametrize(
    "marked",
    [":a := (get@@", ":a := 'x@@", ':a := "e@@', ':a := "x" @@', ":a := uuid() @@", ":a = e@@"],
)
def test_no_function_where_none_can_stand(marked: str) -> None:
    assert labels(marked) == []


def test_a_function_goes_in_with_one_parenthesis() -> None:
    assert applied(":a := e@@", "env(") == ":a := env("
    assert applied(':a := e@@("X")', "env(") == ':a := env("X")'
    assert applied(":a := uu@@()", "uuid()") == ":a := uuid()"


def test_env_offers_names_of_the_environment_and_no_values() -> None:
    found = offered(':a := env("H@@")', environ=["HOME", "PATH", "HOST"])
    assert [(one.label, one.kind) for one in found] == [
        ("HOME", "environment"),
        ("HOST", "environment"),
    ]
    assert labels(':a := env("@@', environ=iter(["PATH"])) == ["PATH"]
    assert labels(':a := env("A", "@@', environ=["PATH"]) == []


# --------------------------------------------------------------------------------- files and hooks


def test_files_are_offered_after_a_less_than_sign() -> None:
    folders = {"": ["data.json", "dir/", ".hidden"], "dir/": ["more.json"]}

    def listed(folder: str) -> list[str]:
        return folders.get(folder, [])

    post = "POST http://x/\n\n"
    assert labels(f"{post}< @@", files=listed) == ["data.json", "dir/"]
    assert labels(f"{post}< dir/@@", files=listed) == ["more.json"]
    assert labels(f"{post}< .@@", files=listed) == [".hidden"]
    assert labels(f"{post}--b\n\n< d@@", files=listed) == ["data.json", "dir/"]
    assert labels(f"{post[:-1]}< d@@", files=listed) == ["data.json", "dir/"]
    assert labels(f"{post}a < d@@", files=listed) == []
    assert labels(f"{post}< @@") == []
    assert applied(f"{post}< dir/mo@@", "more.json", files=listed) == f"{post}< dir/more.json"


def test_files_are_listed_below_the_documents_folder_only(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.json").touch()
    (tmp_path / "other").mkdir()
    assert sorted(entries(folder, "")) == ["a.json", "sub/"]
    assert entries(folder, "sub/") == []
    assert entries(folder, "../") == []
    assert entries(folder, str(tmp_path)) == []
    assert entries(folder, "nothing/") == []
    assert entries(folder, "a\0b/") == []


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        ("-@@", "-> jq-set-var :"),
        ("->@@", "-> jq-set-var :"),
        ("-> @@", "-> jq-set-var :"),
        ("-> jq@@", "-> jq-set-var :"),
        ("->jq@@", "->jq-set-var :"),
    ],
)
def test_the_hook_is_offered_among_headers(typed: str, line: str) -> None:
    (one,) = offered(f"GET http://x/\n{typed}")
    assert one.kind == "hook"
    assert applied(f"GET http://x/\n{typed}", one.label) == f"GET http://x/\n{line}"


# ------------------------------------------------------------------------------------------- Org


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("#+begin_src @@", ["http", "rest", "restclient"]),
        ("  #+BEGIN_SRC r@@", ["rest", "restclient"]),
        ("#+begin_src python\n#+end_src\n#+begin_src p@@", ["python"]),
        ("#+begin_src restclient :re@@", [":requests", ":results"]),
        ("#+begin_src python :re@@", []),
        ("#+begin_src restclient :headers @@", ["yes", "no", "only"]),
        ("#+begin_src restclient :results raw re@@", ["replace"]),
        ("#+begin_src restclient :results raw :follow n@@", ["no"]),
        ("#+begin_src restclient :jq .a@@", []),
        ("#+begin_src restclient :results @@ :cache yes", list(KNOWN["results"].values)),
        ("#+begin_src restclient :none @@", []),
        ('#+begin_src restclient :prologue ":re@@', []),
        ("#+HEADER: :ev@@", [":eval"]),
        ("#+header: :ev@@\n#+name: x\n#+begin_src http\n#+end_src\n", [":eval"]),
        ("#+header: :ev@@\n#+name: x\n#+begin_src python\n#+end_src\n", []),
        ("#+PROPERTY: header-args :eval q@@", ["query", "query-export"]),
        ("#+PROPERTY: header-args:restclient :eval q@@", ["query", "query-export"]),
        ("#+PROPERTY: header-args:python :eval q@@", []),
        ("* A\n:PROPERTIES:\n:header-args:rest+: :eval q@@\n:END:", ["query", "query-export"]),
        ("#+PROPERTY: header-args:ht@@", ["header-args:http"]),
        ("#+NAME: t\n| a |\n\n#+begin_src restclient :var x=@@", ["t"]),
        ("#+NAME: t\n- a\n\n#+begin_src restclient :var a=1 x= @@", ["t"]),
        ("#+begin_src restclient :post p@@\n#+end_src\n#+RESULTS: post\n: 1\n", ["post"]),
        ("#+begin_src restclient :post post(@@", []),
        ("#+begin_src restclient :var @@", []),
        ("P@@", []),
        ("Some text: GE@@", []),
        ("#+begin_src python\nP@@\n#+end_src\n", []),
        ("#+begin_example\nGET http://x/\nAcc@@\n#+end_example\n", []),
        ("# GE@@", []),
        ("#+begin_src restclient\nGET http://x/\n#+end_src\nAcc@@", []),
    ],
)
def test_org_lines_outside_of_requests(marked: str, expected: list[str]) -> None:
    assert labels(marked, "org") == expected


def test_all_header_arguments_are_offered_org_only_ones_last() -> None:
    found = labels("#+begin_src restclient @@", "org")
    assert sorted(found) == sorted(f":{name}" for name in KNOWN)
    assert labels("#+begin_src restclient :cache yes @@", "org") == found
    assert labels("#+begin_src restclient :results raw @@", "org")[-len(found) :] == found
    assert found.index(":wrap") < found.index(":comments")
    assert about("#+begin_src rest :exp@@", ":exports", "org") == (
        "What Org exports. An Org setting; orgrest ignores it."
    )


def test_names_say_what_they_stand_for() -> None:
    text = (
        "#+NAME: table\n| a |\n\n#+name: login\n#+header: :var a=1\n#+begin_src restclient\n"
        "GET http://x/\n#+end_src\n\n#+RESULTS: login\n: 1\n\n#+name: note\ntext\n\n"
        "#+begin_src restclient :var x=@@"
    )
    assert {one.label: one.documentation for one in offered(text, "org")} == {
        "table": "Table, line 1.",
        "login": "Block in restclient, line 4.",
        "note": "Element, line 13.",
    }


def test_a_block_that_is_not_closed_yet_is_completed() -> None:
    text = "* A\n#+begin_src restclient\n  GET http://x/\n  Acc@@\n* B\ntext\n"
    assert labels(text, "org")[0] == "Accept"
    assert labels("#+begin_src http\n@@", "org")[0] == "DELETE"


def test_an_indented_block_is_completed_where_its_text_stands() -> None:
    text = "- item\n  #+begin_src restclient\n    GET http://x/\n    Acc@@\n  #+end_src\n"
    assert applied(text, "Accept", "org") == text.replace("Acc@@", "Accept: ")
    blank = "#+begin_src restclient\n    GET http://x/\n @@ \n#+end_src\n"
    assert "Accept" in labels(blank, "org")
    assert labels("#+begin_src restclient\n   @@ GET http://x/\n#+end_src\n", "org") == []


def test_crlf_documents_are_completed_where_their_text_stands() -> None:
    text = "* A\r\n#+begin_src restclient\r\nGET http://x/\r\nAcc@@\r\n#+end_src\r\n"
    assert applied(text, "Accept", "org") == text.replace("Acc@@", "Accept: ")
    assert labels("GET http://x/\r@@\nAcc\r\n") == []
    assert here("GET http://x/\r\n\r\n#@@\r\n") is None


# --------------------------------------------------------------------------------------- contexts


@pytest.mark.parametrize(
    ("marked", "kind", "prefix", "subject"),
    [
        ("GE@@T http://x/", "method", "GE", ""),
        ("GET http://@@x/", "url", "http://", ""),
        ("GET http://x/?pa@@ge=1", "query", "pa", ""),
        ("GET http://x/\nAcc@@ept: a", "header", "Acc", ""),
        ("GET http://x/\naccept: a/b, te@@xt/html", "value", "te", "Accept"),
        ("GET http://x/\nAccept: a/b;q@@=1", "parameter", "q", "Accept"),
        ("GET http://x/:i@@d", "variable", "i", ":"),
        ("GET http://x/{{i@@d}}", "variable", "i", "{{"),
        ("POST http://x/\n\n< a/b@@.json", "file", "b", "a/"),
    ],
)
def test_the_context_tells_what_stands_at_a_place(
    marked: str, kind: str, prefix: str, subject: str
) -> None:
    found = here(marked)
    assert found is not None
    assert (found.kind, found.prefix, found.subject) == (kind, prefix, subject)
    text = marked.replace("@@", "")
    assert text[found.span.start :].startswith(prefix)


def test_the_context_spans_the_whole_token() -> None:
    found = here("GET http://x/\nAccept: a/b, te@@xt/html;q=1")
    assert found is not None
    assert "GET http://x/\nAccept: a/b, text/html;q=1"[found.span.start : found.span.end] == (
        "text/html"
    )


@pytest.mark.parametrize("offset", [-1, 4])
def test_an_offset_outside_of_the_text_is_refused(offset: int) -> None:
    message = f"offset {offset} is out of range: the text has 3 characters"
    with pytest.raises(ValueError, match=message):
        complete(Cursor("GET", offset))


# -------------------------------------------------------------------------------------- properties

LINES = st.sampled_from(
    [
        "",
        "  ",
        "#",
        "# comment",
        "### name",
        ":a = 1",
        ':b := env("X")',
        ":c = <<",
        ":c = <<END",
        "END",
        "<<END",
        "GET http://x/:a",
        "  POST http://y/?p=1&q={{a}} HTTP/1.1",
        "?page=2",
        "  &size=:b",
        "Accept: text/html;q=0.5, app",
        "  Authorization: Bearer :b",
        ":vars",
        "{{vars}}",
        "-> jq-set-var :id .id",
        '{"a": ":a", "t": "10:30",',
        "< file.json",
        "  some prose",
        "Acc",
        "ge",
        ",* escaped",
        "* Heading",
        ":PROPERTIES:",
        ":header-args: :var z=1",
        ":END:",
        '#+PROPERTY: header-args:restclient :var y="2"',
        "#+NAME: name",
        "#+HEADER: :var x=name",
        "#+begin_src restclient :results raw :var w=1",
        "  #+begin_src http",
        "#+begin_src python",
        "#+end_src",
        "  #+end_src",
        "#+begin_example",
        "#+end_example",
        "| 1 |",
        "src_restclient{GET :a}",
    ]
)
ENDS = st.sampled_from(["\n", "\r\n"])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Draw a document from meaningful lines, and possibly damage it."""
    end = draw(ENDS)
    text = end.join(draw(st.lists(LINES, max_size=20)))
    if draw(st.booleans()) and text:
        at = draw(st.integers(0, len(text)))
        text = text[:at] + draw(st.text(max_size=3)) + text[at + draw(st.integers(0, 4)) :]
    return text


@settings(max_examples=400)
@given(documents(), st.sampled_from(["org", "http"]), st.data())
def test_any_place_can_be_completed_again_and_again(
    text: str, document: Kind, data: st.DataObject
) -> None:
    for _ in range(3):
        offset = data.draw(st.integers(0, len(text)))
        found = complete(
            Cursor(text, offset, document=document, files=lambda _: ["f"], environ=["E"])
        )
        assert found == complete(
            Cursor(text, offset, document=document, files=lambda _: ["f"], environ=["E"])
        )
        line = text[text.rfind("\n", 0, offset) + 1 : offset]
        for one in found:
            assert one.span.start <= offset <= one.span.end <= len(text)
            assert text[one.span.start : offset] == line[len(line) - (offset - one.span.start) :]
            assert one.label.lower().startswith(text[one.span.start : offset].lower())
            assert "\n" not in text[one.span.start : one.span.end] + one.insert
        if found:
            one = data.draw(st.sampled_from(found))
            text = text[: one.span.start] + one.insert + text[one.span.end :]
            complete(Cursor(text, one.span.start + len(one.insert), document=document))


@given(documents().filter(lambda text: "<<" not in text), st.data())
def test_nothing_is_offered_in_comments(text: str, data: st.DataObject) -> None:
    starts = [0, *(at + 1 for at, c in enumerate(text) if c == "\n")]
    start = data.draw(st.sampled_from(starts))
    end = text.find("\n", start)
    line = text[start : len(text) if end < 0 else end]
    if line.startswith("#"):
        for offset in range(start, start + len(line) + 1):
            assert complete(Cursor(text, offset, document="http")) == []


@given(st.lists(LINES, max_size=20).map("\n".join))
def test_lines_are_what_the_parser_takes_them_for(text: str) -> None:
    """Unless later lines change the meaning, as for a comment among headers."""
    starts = [0, *(at + 1 for at, character in enumerate(text) if character == "\n")]

    def kind(offset: int) -> str | None:
        found = context(text, offset)
        return found.kind if found else None

    def below_comment(offset: int) -> bool:
        above = text[:offset].rstrip("\n ").rpartition("\n")[2]
        return above.lstrip(" ").startswith("#")

    for item in read(Source(text)).items:
        if isinstance(item, ParsedRequest):
            assert kind(item.span.start) == "method"
            for header in item.headers:
                if isinstance(header, HeaderLine) and not below_comment(header.span.start):
                    assert kind(header.name.offset(0)) == "header"
            if item.body is not None:
                for start in starts:
                    inside = item.body.span.start <= start < item.body.span.end
                    if inside and not below_comment(start):
                        assert kind(start) is None
        elif isinstance(item, Definition) and not below_comment(item.span.start):
            assert kind(item.name_span.end) is None


REQUEST_FILE_LINES = st.sampled_from(
    [
        *("", "", "###", "### name", "# c", "// c", "# @name a", "@a = 1", "{{"),
        *("GET http://x/", "POST /a?b", "http://x/a", "?c=1", "A: b", "Content-Type: text/plain"),
        *("{", "text", "< file", "> {%", "%}", "}}", "?? status == 200", ">> f", "HTTP/1.1 200 OK"),
    ]
)


@given(st.lists(REQUEST_FILE_LINES, max_size=20))
def test_lines_of_a_request_file_are_what_the_parser_takes_them_for(lines: list[str]) -> None:
    text = "\n".join(["@common = 1", *lines])

    def kind(offset: int) -> str | None:
        found = context(text, offset)
        return found.kind if found else None

    for request in read(Source(text)).requests:
        if request.method_span.end > request.method_span.start:
            assert kind(request.method_span.start) == "method"
        for header in request.headers:
            if isinstance(header, HeaderLine):
                assert kind(header.name.offset(0)) == "header"
        for _, offset in request.body.template.anchors if request.body is not None else ():
            assert kind(offset) not in ("header", "method")


@settings(max_examples=200)
@given(st.lists(LINES.filter(lambda line: "begin_" not in line), max_size=20).map("\n".join))
def test_variables_of_a_block_are_those_of_its_header_arguments(text: str) -> None:
    text += "\n#+begin_src restclient :var own=1\nGET :"
    place = len(text)
    document = org.OrgDocument(f"{text}\n#+end_src\n")
    expected = of_block(document, document.blocks[-1]).variables
    found = {
        offer.label
        for offer in complete(Cursor(document.text, place))
        if offer.kind == "variable" and offer.documentation.endswith("header argument :var")
    }
    assert found == set(expected)


def test_many_comments_among_headers_do_not_delay_completion() -> None:
    comments = "# c\n" * 100_000  # going over them once for each would take minutes
    assert "Accept-Language" in labels(f"GET http://x/\n{comments}A: b\nAccept@@")
    ended = f":a = 1\nGET http://x/\n{comments}A: b\n{comments}\n# d\nGE@@"
    assert labels(ended) == ["GET"]


def test_a_broken_string_does_not_delay_completion() -> None:
    quotes = r"\"" * 100_000
    assert labels(f':a = 1\n:b := env("{quotes}:@@') == ["a"]
    assert labels(f':b := env("{quotes}", @@')[-1:] == ["uuid()"]
