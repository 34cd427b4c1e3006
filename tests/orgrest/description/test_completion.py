"""Completion from the OpenAPI description that a document names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openapi_text import API

from orgrest.description.model import Description
from orgrest.editor.analysis import Analysis
from orgrest.editor.completion import complete
from orgrest.editor.completion.cursor import Cursor
from orgrest.editor.completion.model import Candidate
from orgrest.editor.diagnostics.report import Report
from orgrest.editor.server.environments import Choices
from orgrest.editor.used_files import Described
from orgrest.http.values import Context, Inputs

HOST = "https://api.example.com"
KNOWN = Description.read(API.replace("HOST", HOST).encode(), "api.yaml")
LINE = "# @openapi api.yaml\n"
POST = "POST {{host}}/orders\nContent-Type: application/json\n\n"


def offered(text: str, described: Description | None = KNOWN, kind: str = "http") -> list[str]:
    """Return the candidates from the description at the `|` in a text."""
    at = text.index("|")
    found = complete(
        Cursor(text[:at] + text[at + 1 :], at, document=kind, described=lambda _: described)
    )
    return [one.insert for one in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GET |", [f"{HOST}/v1/orders", f"{HOST}/v1/orders/mine", f"{HOST}/v1/orders/{{{{id}}}}"]),
        ("GET https://api.example.com/v1/orders/m|", [f"{HOST}/v1/orders/mine"]),
        ("GET {{host}}/orders/|", ["{{host}}/orders/mine", "{{host}}/orders/{{id}}"]),
        ("POST {{host}}/|", ["{{host}}/orders"]),
        ("GET {{host}}/orders?|", ["page=", "tags="]),
        ("GET {{host}}/v1/orders?page=1&t|", ["tags="]),
        ("GET {{host}}/orders?tags=|", ["a", "b"]),
        ("GET {{host}}/orders/{{id}}?|", []),
        ("GET {{host}}/orders\nX-C|", ["X-Client: "]),
        ("POST {{host}}/orders\nContent-Type: application/j|", ["application/json"]),
        (POST + "{|", ['"secret": ', '"state": ', '"parent": ', '"price": ']),
        (POST + '{\n  "s|"', ["secret", "state"]),
        (POST + '{"state": |}', ['"done"', "null", '"open"']),
        (POST + '{"state": "o|"}', ["open"]),
        (POST + '{"state": o|', ['"open"']),
        (POST + '{"x": [{"y": 1}, "z"], "parent": {"st|', ["state"]),
        (POST + '{"parent": {"parent": {"state": "d|', ["done"]),
        (POST + '{"state": "open"|', []),
        (POST + "[|", []),
        ("DELETE {{host}}/orders\n\n{|", []),
    ],
)
def test_what_the_description_has_is_offered(text, expected) -> None:
    found = offered(LINE + text)
    assert found[: len(expected)] == expected
    if not expected:
        assert found == offered(LINE + text, None)


def test_only_the_description_above_counts() -> None:
    assert offered("GET {{host}}/orders?|\n" + LINE) == []
    assert offered("GET {{host}}/orders?|") == []


def test_a_header_argument_names_one_in_org() -> None:
    text = "#+PROPERTY: header-args :openapi api.yaml\n\n#+begin_src {}\n{}\n#+end_src\n"
    found = offered(text.format("restclient", "GET :host/o|"), kind="org")
    assert found[:2] == [":host/orders", ":host/orders/:id"]
    assert offered(text.format("http", "GET {{host}}/orders?p|"), kind="org") == ["page="]


EVIL = ["a\nGET http://evil.example/", "{{$processEnv HOME}}", "a b", "a\u202eb", ""]


@pytest.mark.parametrize("evil", EVIL)
def test_no_description_puts_lines_or_variables_into_a_document(evil) -> None:
    schema = {"type": "object", "properties": {evil: {}, "x": {"enum": [evil]}}}
    parameters = [
        {"name": evil, "in": "query"},
        {"name": evil, "in": "header"},
        {"name": "q", "in": "query", "schema": {"enum": [evil]}},
    ]
    body = {"content": {"application/json": {"schema": schema}}}
    operation = {"parameters": parameters, "requestBody": body}
    paths = {"/orders": {"post": operation}, f"/{evil}/x": {"post": {}}}
    servers = [{"url": f"http://h/{evil}"}]
    whole = {"openapi": "3.1.0", "paths": paths, "servers": servers}
    described = Description.read(json.dumps(whole).encode(), "api.json")
    for one in (
        "POST |",
        "POST {{host}}/|",
        "POST {{host}}/orders?|",
        "POST {{host}}/orders?q=|",
        "POST {{host}}/orders\n|",
        POST + "{|",
        POST + '{"|',
        POST + '{"x": |',
        POST + '{"x": "|',
    ):
        for inserted in offered(LINE + one, described):
            assert "\n" not in inserted
            assert "processEnv" not in inserted
            assert inserted.isprintable()


def test_a_candidate_tells_what_it_is() -> None:
    text = LINE + "GET {{host}}/orders?"
    first = complete(Cursor(text, len(text), document="http", described=lambda _: KNOWN))[0]
    assert (first.label, first.documentation) == ("page", "integer")
    text = LINE + POST + "{"
    first = complete(Cursor(text, len(text), document="http", described=lambda _: KNOWN))[0]
    assert first.documentation == "string, required"
    assert offered(LINE + "GET {{host}}/ord|")[0] == "{{host}}/orders"


def candidates(folder: Path, text: str) -> list[Candidate]:
    """Return an editor's candidates at the end of a request file in a folder."""
    described, scope = Described(), Context(Inputs(directory=folder))
    return complete(
        Cursor(
            text,
            len(text),
            document="http",
            described=lambda name: described.get(name, scope),
            beside=lambda: described.beside(scope),
        )
    )


def test_an_editor_reads_what_the_document_names_and_nothing_above_it(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "api.yaml").write_text(API)
    (tmp_path / "api.yaml").write_text(API)
    for name, count in (("api.yaml", 2), ("../api.yaml", 0), ("none.yaml", 0), ("a.http", 0)):
        text = f"# @openapi {name}\nGET {{{{host}}}}/orders?"
        assert len(candidates(folder, text)) == count, name


def test_a_description_is_read_again_when_it_changes(tmp_path: Path, monkeypatch) -> None:
    scope, described = Context(Inputs(directory=tmp_path)), Described()
    (tmp_path / "api.yaml").write_text(API)
    first = described.get("api.yaml", scope)
    assert first is not None
    assert described.get("api.yaml", scope) is first
    (tmp_path / "api.yaml").write_text(API + "\n")
    assert described.get("api.yaml", scope) is not first
    (tmp_path / "api.yaml").write_text("a: [")
    assert described.get("api.yaml", scope) is None
    monkeypatch.setattr("orgrest.editor.used_files.LARGEST", 3)
    (tmp_path / "api.yaml").write_text(API)
    assert described.get("api.yaml", scope) is None
    for number in range(20):
        (tmp_path / f"{number}.yaml").write_text("x")
        assert described.get(f"{number}.yaml", scope) is None


TEXTS = st.lists(
    st.sampled_from(
        ['"', "{", "}", "[", "]", ",", ":", " ", "\n", "state", "\\", "1", "{{x}}", "é"]
    )
).map("".join)


@given(TEXTS)
def test_no_text_in_a_body_stops_completion(text) -> None:
    offered(LINE + POST + "{" + text + "|")


PARTS = st.recursive(
    st.integers() | st.booleans() | st.text('ab"\\{', max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("xy:,}", max_size=2), inner)
    ),
    max_leaves=8,
)


@given(PARTS, st.sampled_from([None, 1, 3]))
def test_what_stands_before_a_field_does_not_hide_it(value, indent) -> None:
    before = json.dumps({"first": value}, indent=indent)[:-1]
    assert offered(LINE + POST + before + ', "parent": {"stat|') == ["state"]


KEYS = ["paths", "/orders", "get", "post", "parameters", "name", "in", "schema", "enum", "$ref"]
KEYS += ["requestBody", "content", "application/json", "properties", "items", "allOf", "required"]
KEYS += ["servers", "url", "responses", "200", "headers"]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=3),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(KEYS),
                inner,
                max_size=4,
            )
        ),
        max_leaves=30,
    )
)
def test_no_description_however_malformed_stops_completion(value) -> None:
    inner = value if isinstance(value, dict) else {"paths": value}
    wrapped = {"paths": {"/orders": {"get": inner, "post": inner, "parameters": value}}}
    for whole in (inner, wrapped):
        text = json.dumps({"openapi": "3.1.0", **whole}).encode()
        described = Description.read(text, "api.json")
        for one in (
            "GET {{host}}/|",
            "GET {{host}}/orders?|",
            "GET {{host}}/orders\nX-|",
            POST + "{|",
        ):
            offered(LINE + one, described)


# ---------------------------------------------------------------------------------- diagnostics


def told(folder: Path, text: str, kind: str = "http") -> list[tuple[str, str]]:
    """Return the problems that a description causes, each with the text it refers to."""
    (folder / "api.yaml").write_text(API.replace("HOST", HOST))
    report = Report(Analysis(text, kind, lambda: Inputs(directory=folder)))
    return [
        (text[diagnostic.span.start : diagnostic.span.end], diagnostic.message)
        for diagnostic in report.diagnostics
        if diagnostic.code == "openapi"
    ]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (f"GET {HOST}/v1/orders?page=1\nX-Client: c-1", []),
        (
            f"GET {HOST}/v1/orders?page=x\nX-Client: c",
            ["parameter page: 'x' is not of type 'integer'"],
        ),
        (f"GET {HOST}/v1/orders?tags=a\nX-Client: c", []),
        (f"GET {HOST}/v1/orders?q=1\nX-Client: c", ["query parameter q is not in the description"]),
        (f"GET {HOST}/v1/orders", ["header parameter X-Client is missing"]),
        (f"GET {HOST}/v1/orders/x", ["path parameter id: 'x' is not of type 'integer'"]),
        (f"@id = 7\nGET {HOST}/v1/orders/{{{{id}}}}", []),
        (f"# @prompt id\nGET {HOST}/v1/orders/{{{{id}}}}", []),
        (
            "# @prompt host\nGET {{host}}/v1/orders?q=1\nX-Client: c",
            ["q is not in the description"],
        ),
        ("# @prompt host\nGET {{host}}/v1/nothing", []),
        (f"GET {HOST}/v1/nothing", ["api.yaml does not describe this GET request"]),
        (f"DELETE {HOST}/v1/orders", ["api.yaml does not describe this DELETE request"]),
        ("GET https://other.example/v1/nothing", []),
        (f"POST {HOST}/v1/orders", ["the request's body is missing"]),
        (
            f"POST {HOST}/v1/orders\nContent-Type: text/plain\n\nx",
            ["text/plain is not in the description"],
        ),
        (f"POST {HOST}/v1/orders\nContent-Type: application/json\n\n{{}}", []),
    ],
)
def test_what_the_description_forbids_is_reported_while_it_is_written(
    tmp_path: Path, request_, expected
) -> None:
    found = told(tmp_path, LINE + request_ + "\n")
    assert len(found) == len(expected)
    for (about, message), part in zip(found, expected, strict=True):
        assert part in message
        assert about.startswith(("http", "{{host}}"))
    assert told(tmp_path, "# @openapi no\n" + request_ + "\n") == []


def test_a_description_that_cannot_be_read_is_reported_at_its_line(tmp_path: Path) -> None:
    for name, why in (
        ("none.yaml", "No such file"),
        ("../api.yaml", "outside"),
        ("bad.yaml", "YAML"),
    ):
        (tmp_path / "bad.yaml").write_text("openapi: [")
        ((about, message),) = told(tmp_path, f"# @openapi {name}\nGET {HOST}/v1/orders\n")
        assert about == name
        assert why in message


def test_org_tells_it_at_the_request(tmp_path: Path) -> None:
    request = f"GET {HOST}/v1/orders?q=1\nX-Client: c\n"
    text = f"#+begin_src restclient :openapi api.yaml\n{request}#+end_src\n"
    ((about, message),) = told(tmp_path, text, "org")
    assert about == f"{HOST}/v1/orders?q=1"
    assert "q is not in the description" in message


# --------------------------------------------------------------------- found beside the document


def beside(text: str, *found: Description) -> list[str]:
    at = text.index("|")
    return [
        offer.insert
        for offer in complete(
            Cursor(text[:at] + text[at + 1 :], at, document="http", beside=lambda: iter(found))
        )
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("GET {{host}}/orders?|", ["page=", "tags="]),
        (f"GET {HOST}/v1/orders?|", ["page=", "tags="]),
        ("GET http://localhost:8080/v1/orders?|", ["page=", "tags="]),
        ("GET https://other.example/orders?|", []),
        ("# @openapi no\nGET {{host}}/orders?|", []),
        ("# @openapi auto\nGET {{host}}/orders?|", ["page=", "tags="]),
        ("GET https://api.ex|", [f"{HOST}/v1/orders"]),
        ("GET {{host}}/orders/m|", ["{{host}}/orders/mine"]),
        ("GET https://other.example/ord|", []),
        ("DELETE {{host}}/orders?|", []),
    ],
)
def test_one_beside_the_document_is_offered_where_it_may_be_meant(text, expected) -> None:
    assert beside(text, KNOWN)[: len(expected) or 1] == expected
    assert beside(text) == []


def test_an_editor_finds_the_description_beside_a_document(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "http"
    folder.mkdir()
    (tmp_path / "swagger.json").write_text('{"swagger": "2.0"}')
    (tmp_path / "openapi.yaml").write_text(API.replace("HOST", HOST))
    text = "GET {{host}}/orders?"
    assert len(candidates(folder, text)) == 2


def test_what_one_beside_the_document_forbids_is_reported_with_its_name(tmp_path: Path) -> None:
    url = f"{HOST}/v1/orders"
    ((_, message),) = told(tmp_path, f"GET {url}?page=x\nX-Client: c\n")
    assert message.endswith("is not of type 'integer' (api.yaml)")
    assert told(tmp_path, f"GET {HOST}/v1/nothing\n") == []
    assert told(tmp_path, "GET https://other.example/v1/orders\n") == []
    (tmp_path / "openapi.yaml").write_text("openapi: 9")
    assert len(told(tmp_path, f"GET {url}?page=x\nX-Client: c\n")) == 1
    described = Described()
    described.found_beside = False
    text = f"GET {url}?page=x\nX-Client: c\n"
    inputs = Inputs(directory=tmp_path)
    analysis = Analysis(text, "http", lambda: inputs, described=described)
    assert [
        diagnostic for diagnostic in Report(analysis).diagnostics if diagnostic.code == "openapi"
    ] == []


def test_findings_are_kept_while_nothing_changes(tmp_path: Path) -> None:
    (tmp_path / "api.yaml").write_text(API.replace("HOST", HOST))
    text = f"GET {HOST}/v1/orders?page=x\nX-Client: c\n\n###\nGET {HOST}/v1/orders?page=y\n"
    inputs = Inputs(directory=tmp_path)
    first = Report(Analysis(text, "http", lambda: inputs))
    later = Analysis("\n" + text, "http", lambda: inputs, first.analysis)
    spans = [(diagnostic.span.start, diagnostic.message) for diagnostic in first.diagnostics]
    again = [
        (diagnostic.span.start - 1, diagnostic.message)
        for diagnostic in Report(later, first).diagnostics
    ]
    assert spans
    assert again == spans


# ------------------------------------------------------------------------------------ assertions

ORDERS = LINE + "GET {{host}}/orders\nX-Client: c-1\n\n?? "
ORDER = LINE + "GET {{host}}/orders/{{id}}\n\n?? "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ORDER + "status == |", ["200"]),
        (ORDERS + "status == 2|", ["200"]),
        (LINE + POST + "{}\n\n?? status not == |", ["201"]),
        (ORDERS + "header X-C|", ["X-Count "]),
        (ORDERS + "header Content-Type == |", ["application/json", "application/problem+json"]),
        (ORDER + "body $.st|", ["$.state"]),
        (ORDER + "body st|", ["state", "startsWith "]),
        (ORDER + "jsonpath $.parent.st|", ["$.parent.state"]),
        (ORDER + "body $.parent.parent.id|", ["$.parent.parent.id"]),
        (ORDERS + "body $[0].st|", ["$[0].state"]),
        (ORDERS + "body $|", ["$[0].id", "$[0].parent", "$[0].price", "$[0].state"]),
        (ORDER + "body $.state == |", ["done", "null", "open"]),
        (ORDER + "body state == o|", ["open"]),
        (ORDERS + "body $[*].state == d|", ["done"]),
        (ORDERS + "body $.a[?@.b].st|", []),
        (ORDER + "body $.secr|", []),
        ("GET {{host}}/orders\n\n?? status == |", []),
    ],
)
def test_assertions_are_completed_from_the_description_of_the_response(text, expected) -> None:
    assert offered(text) == expected


def test_an_assertion_without_a_description_is_completed_as_before() -> None:
    text = "GET http://h/\n\n?? body "
    kinds = {offer.kind for offer in complete(Cursor(text, len(text), document="http"))}
    assert kinds == {"operator"}
    text = LINE + text.replace("http://h", "{{host}}/orders")
    found = complete(Cursor(text, len(text), document="http", described=lambda _: KNOWN))
    assert {one.kind for one in found} == {"operator"}


def test_restclient_s_assertions_are_completed_too() -> None:
    text = "GET :host/orders/1\n\n# ?? body $.st|\n"
    block = f"#+begin_src restclient :openapi api.yaml\n{text}#+end_src\n"
    assert offered(block, kind="org") == ["$.state"]


def test_a_client_s_setting_turns_off_what_nobody_named() -> None:
    choices = Choices()
    assert choices.settings["openapi"]
    choices.configure({"orgrest": {"openapi": False}})
    assert not choices.settings["openapi"]
    choices.configure({"openapi": "yes"})
    assert not choices.settings["openapi"]
    choices.configure({"openapi": True})
    assert choices.settings["openapi"]
