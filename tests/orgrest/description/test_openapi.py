"""Requests and responses checked against an OpenAPI description, as users run them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openapi_text import API
from servers import RawServer, response

from orgrest.commands.main import main
from orgrest.description.checks import Part
from orgrest.description.model import Description, matched
from orgrest.description.schemas import Schemas
from orgrest.http import scripts
from orgrest.http.scripts import Engine
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = "Content-Type: application/json"
ORDER = {"id": 1, "state": "open"}


class Server(RawServer):
    answer: bytes = b""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(lambda connection, _: connection.sendall(running.answer)) as running:
        yield running


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: Server) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "api.yaml").write_text(API.replace("HOST", server.url))
    return tmp_path


@pytest.fixture
def orgrest(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out = capsys.readouterr()
        return int(ended.value.code or 0), out.out, out.err

    return call


@pytest.fixture
def checked(orgrest, folder: Path, server: Server) -> Callable[..., list[str]]:
    """Send a request, have it answered, and return the violations of the description."""

    def check(request: str, answer: bytes) -> list[str]:
        server.answer = answer
        (folder / "a.http").write_text(
            f"# @openapi api.yaml\n{request.replace('/', server.url + '/v1/', 1)}\n"
        )
        status, out, _ = orgrest("test", "a.http", "--report-json", "-", "-q")
        (record,) = json.loads(out)["requests"]
        (verdict,) = record["assertions"]
        assert status == (0 if verdict["passed"] and not record["reason"] else 1)
        assert verdict["name"].startswith("openapi ")
        return [] if verdict["passed"] else verdict["reason"].split("; ")

    return check


GET = "GET /orders\nX-Client: c-1"


def answer(value: Any, *headers: str, status: str = "200 OK", kind: str = JSON) -> bytes:
    return response(json.dumps(value).encode(), kind, *(headers or ("X-Count: 1",)), status=status)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("request_", "answered", "expected"),
    [
        (GET, answer([ORDER]), []),
        ("GET /orders?page=2&tags=a&tags=b\nX-Client: c-1", answer([]), []),
        (GET, answer([], "x-count: many"), ["the header X-Count: 'many' is not of type 'integer'"]),
        (GET, answer([], "X-Other: 1"), ["the header X-Count is missing"]),
        (GET, answer({}), ["the body: {} is not of type 'array'"]),
        (
            GET,
            answer([{"id": 1, "state": "lost"}]),
            ["the body[0].state: 'lost' is not one of ['open', 'done', None]"],
        ),
        (GET, answer([{**ORDER, "state": None}]), []),
        (GET, answer([{"state": "open"}]), ["the body[0]: 'id' is a required property"]),
        (
            GET,
            answer([{**ORDER, "secret": "x"}]),
            ["the body[0].secret: is only allowed in requests (writeOnly)"],
        ),
        (
            GET,
            answer([{**ORDER, "price": 0}]),
            ["the body[0].price: 0 is less than or equal to the minimum of 0"],
        ),
        (
            GET,
            answer([{**ORDER, "parent": {**ORDER, "parent": 1}}]),
            ["the body[0].parent.parent: 1 is not of type 'object'"],
        ),
        (
            GET,
            answer([], status="500 Oh"),
            ["the status 500 is not in the description (expected 200, 4XX)"],
        ),
        (
            GET,
            answer({"title": "x"}, status="404 No", kind="Content-Type: application/problem+json"),
            [],
        ),
        (
            GET,
            answer({}, status="404 No", kind="Content-Type: application/problem+json"),
            ["the body: 'title' is a required property"],
        ),
        (
            GET,
            answer({}, status="404 No"),
            [
                (
                    "the Content-Type application/json is not in the description "
                    "(expected application/problem+json)"
                )
            ],
        ),
        (GET, response(b"[", JSON, "X-Count: 1"), ["the body is not valid JSON"]),
        (GET, response(b"[]", "X-Count: 1"), ["the body has no Content-Type"]),
        (
            "GET /orders?page=0&q=1\nX-Client: c-1",
            answer([]),
            [
                "the request's query parameter q is not in the description",
                "the request's query parameter page: 0 is less than the minimum of 1",
            ],
        ),
        (
            "GET /orders?tags=c\nX-Client: c-1",
            answer([]),
            ["the request's query parameter tags[0]: 'c' is not one of ['a', 'b']"],
        ),
        ("GET /orders", answer([]), ["the request's header parameter X-Client is missing"]),
        (
            "GET /orders\nX-Client: d",
            answer([]),
            ["the request's header parameter X-Client: 'd' does not match '^c-'"],
        ),
        ("GET /orders/7", answer(ORDER), []),
        (
            "GET /orders/x",
            answer(ORDER),
            ["the request's path parameter id: 'x' is not of type 'integer'"],
        ),
        ("GET /orders/mine", response(status="204 No Content"), []),
        ("POST /orders", response(status="201 Made"), ["the request's body is missing"]),
        (
            'POST /orders\nContent-Type: application/json\n\n{"state": "done", "secret": "s"}',
            response(status="201 Made"),
            [],
        ),
        (
            'POST /orders\nContent-Type: application/json\n\n{"state": "done"}',
            response(b"x", status="201 Made"),
            [
                "the response has a body, but none is described for the status 201",
                "the request's body: 'secret' is a required property",
            ],
        ),
        (
            "POST /orders\nContent-Type: text/plain\n\nx",
            response(status="201 Made"),
            [
                (
                    "the request's Content-Type text/plain is not in the description "
                    "(expected application/json)"
                )
            ],
        ),
    ],
)
def test_an_exchange_is_held_against_its_description(checked, request_, answered, expected) -> None:
    assert checked(request_, answered) == expected


def test_what_is_not_described_at_all_fails(orgrest, folder, server) -> None:
    server.answer = answer([])
    (folder / "a.http").write_text(
        f"GET {server.url}/v1/nothing\n###\nDELETE {server.url}/v1/orders\n"
        f"###\nGET http://localhost:{server.port}/elsewhere\n"
    )
    status, _, err = orgrest("test", "a.http", "--openapi", "api.yaml")
    assert status == 1
    assert err.count("does not describe this operation") == 2
    assert "ok      a.http:5" in err  # another server is not what the description is about


def test_the_operations_that_nobody_exercised_are_reported(orgrest, folder, server) -> None:
    pytest.importorskip("jinja2")
    server.answer = answer([ORDER])
    (folder / "a.http").write_text(
        f"{GET.replace('/', server.url + '/v1/', 1)}\n\n###\nGET {server.url}/v1/orders/1\n"
    )
    status, out, err = orgrest(
        "test",
        "a.http",
        "--openapi",
        "api.yaml",
        "--report-json",
        "-",
        "--html",
        "r.html",
        "-j",
        "2",
    )
    assert status == 1
    assert "api.yaml: 2 of 4 operations exercised" in err
    assert "not exercised: POST /orders\n" in err
    assert "not exercised: GET /orders/mine\n" in err
    (found,) = json.loads(out)["summary"]["openapi"]
    assert found["file"] == "api.yaml"
    first, *_, third, _ = found["operations"]
    assert first == {
        "operation": "GET /orders",
        "summary": "All orders",
        "requests": 1,
        "failed": 0,
        "statuses": [200],
        "unseen": ["4XX"],
    }
    assert (third["operation"], third["requests"], third["failed"]) == ("GET /orders/{id}", 1, 1)
    page = (folder / "r.html").read_text()
    assert "2 of 4 operations exercised" in page
    assert "GET /orders All orders" in page


def test_org_documents_name_a_description_as_a_header_argument(orgrest, folder, server) -> None:
    server.answer = answer([{}])
    (folder / "a.org").write_text(
        "#+PROPERTY: header-args :openapi api.yaml\n\n#+begin_src restclient\n"
        f"{GET.replace('/', server.url + '/v1/', 1)}\n#+end_src\n"
    )
    _, _, err = orgrest("a.org")
    assert "FAILED  openapi GET /orders 200: the body[0]: 'id' is a required property" in err
    assert "FAILED  openapi GET /orders 200" in (folder / "a.org").read_text()


def test_a_description_counts_for_the_requests_below_its_line(orgrest, folder, server) -> None:
    (folder / "b.json").write_text(
        '{"openapi": "3.1.0", "paths": {"/v1/x": {"get": {"responses": {"2XX": {}}}}}}'
    )
    server.answer = response()
    url = f"{server.url}/v1/x"
    (folder / "a.http").write_text(
        f"GET {url}\n\n###\n# @openapi b.json\nGET {url}\n\n###\nGET {url}\n\n###\n"
        f"# @openapi api.yaml\nGET {url}\n"
    )
    _, out, _ = orgrest("test", "a.http", "--report-json", "-", "-q")
    outcomes = [item["outcome"] for item in json.loads(out)["requests"]]
    assert outcomes == ["passed", "passed", "passed", "failed"]
    assert [len(item["assertions"]) for item in json.loads(out)["requests"]] == [0, 1, 1, 1]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"swagger": "2.0"}', "OpenAPI 2.0 is not supported (only"),
        ('{"openapi": "4.0.0"}', "OpenAPI 4.0.0 is not supported (only"),
        ('{"a": 1}', "an OpenAPI description"),
        ("hello", "an OpenAPI description"),
        ('{"openapi": "3.0.0",', "not valid JSON"),
        ("openapi: 3.0.0\npaths: [", "not valid YAML"),
        (
            "openapi: 3.0.0\na: &a [x, x]\n"
            + "".join(
                f"{c}: &{c} [{', '.join(['*' + p] * 9)}]\n"
                for p, c in zip("abcdefgh", "bcdefghi", strict=True)
            ),
            "values",
        ),
        ('{"openapi": "3.0.0", "x": ' + "[" * 500 + "]" * 500 + "}", "nested more than"),
    ],
)
def test_a_description_that_cannot_be_read_says_why(orgrest, folder, server, text, why) -> None:
    (folder / "bad.yaml").write_text(text)
    server.answer = response()
    (folder / "a.http").write_text(f"# @openapi bad.yaml\nGET {server.url}/\n")
    status, _, err = orgrest("test", "a.http")
    assert (status, len(server.requests)) == (1, 1)
    assert why in err
    assert "bad.yaml" in err
    status, _, err = orgrest("test", "a.http", "--openapi", "bad.yaml")
    assert (status, why in err) == (2, True)
    assert orgrest("a.http", "--openapi", "bad.yaml")[0] == 2


def test_only_descriptions_below_the_document_are_read(orgrest, folder, server) -> None:
    (folder / "docs").mkdir()
    server.answer = response()
    (folder / "docs" / "a.http").write_text(f"# @openapi ../api.yaml\nGET {server.url}/v1/orders\n")
    status, _, err = orgrest("test", "docs/a.http")
    assert status == 1
    assert "outside the document's folder" in err


def described(schemas: dict, schema: object, version: str = "3.1.0") -> Description:
    content = {"application/json": {"schema": schema}}
    paths = {"/": {"get": {"responses": {"200": {"content": content}}}}}
    whole = {"openapi": version, "paths": paths, "components": {"schemas": schemas}}
    return Description.read(json.dumps(whole).encode(), "api.json")


POINTER = "/paths/~1/get/responses/200/content/application~1json/schema"


def wrong(description: Description, value: object) -> list[str]:
    work, wrong = Schemas(description).job([Part("it", description.at(POINTER), value, "response")])
    with Engine() as engine:
        return [*wrong, *engine.validate_parts(work)]


@pytest.mark.slow
def test_a_hostile_description_costs_a_line_and_little_time(monkeypatch) -> None:
    monkeypatch.setattr(scripts, "VALIDATION_TIMEOUT", 2)
    loop = {"A": {"$ref": "#/components/schemas/B"}, "B": {"$ref": "#/components/schemas/A"}}
    assert (
        "refers to itself endlessly"
        in wrong(described(loop, {"$ref": "#/components/schemas/A"}), 1)[0]
    )
    for reference in ("http://127.0.0.1:1/x", "file:///etc/passwd", "other.yaml#/x", "#/nowhere"):
        (found,) = wrong(described({}, {"$ref": reference}), 1)
        assert "cannot be checked" in found
    slow = described({}, {"type": "string", "pattern": "^(a+)+$"})
    with pytest.raises(OrgrestError, match="validation"):
        wrong(slow, "a" * 60 + "!")
    for schema in (
        {"type": 1},
        {"properties": []},
        {"pattern": "("},
        {"minimum": "x"},
        {"$ref": 1},
    ):
        assert isinstance(wrong(described({}, schema), {"a": 1}), list)


def test_siblings_of_a_reference_count_since_3_1_alone() -> None:
    schemas = {"A": {"type": "object"}}
    schema = {"$ref": "#/components/schemas/A", "required": ["x"]}
    assert wrong(described(schemas, schema), {}) == ["it: 'x' is a required property"]
    assert wrong(described(schemas, schema, "3.0.3"), {}) == []


@pytest.mark.parametrize(
    ("template", "path", "values"),
    [
        ("/a/{id}", "/a/1%202", {"id": "1%202"}),
        ("/a/{id}", "/a/", None),
        ("/a/{id}", "/a/1/2", None),
        ("/a/{x}.{y}", "/a/b.c.d", {"x": "b", "y": "c.d"}),
        ("/a/{x}-{y}/z", "/a/-1-2/z", {"x": "-1", "y": "2"}),
        ("/{x}{y}", "/abc", {"x": "a", "y": "bc"}),
        ("/a%20b", "/a b", {}),
        ("/a{", "/a{", {}),
        ("/{a}:run", "/job:run", {"a": "job"}),
        ("/{a}:run", "/:run", None),
    ],
)
def test_a_path_is_its_template_with_values(template, path, values) -> None:
    assert matched(template, path) == values


LITERALS = st.text("ab.-", max_size=3)


@given(
    st.lists(st.tuples(LITERALS.filter(bool), st.text("xyz", min_size=1, max_size=3)), min_size=1)
)
def test_values_put_into_a_template_match_it(parts) -> None:
    template = "/" + "".join(f"{text}{{p{n}}}" for n, (text, _) in enumerate(parts))
    path = "/" + "".join(text + value for text, value in parts)
    found = matched(template, path)
    assert found is not None
    assert re.sub(r"\{(\w+)\}", lambda match: found[match[1]], template) == path


# --------------------------------------------------------------------- files, forms, beside


def test_a_description_in_many_files_is_checked_against(orgrest, folder, server) -> None:
    (folder / "spec").mkdir()
    (folder / "spec" / "api.yaml").write_text(
        'openapi: 3.1.0\npaths: {/v1/x: {$ref: "paths/x.yaml"}, /v1/y: {$ref: "none.yaml"}}\n'
    )
    (folder / "spec" / "paths").mkdir()
    (folder / "spec" / "paths" / "x.yaml").write_text(
        'get: {responses: {200: {content: {application/json: {schema: {$ref: "x.json#/X"}}}}}}\n'
    )
    (folder / "spec" / "paths" / "x.json").write_text('{"X": {"type": "array"}}')
    server.answer = answer({})
    (folder / "a.http").write_text(f"GET {server.url}/v1/x\n\n###\nGET {server.url}/v1/y\n")
    status, _, err = orgrest("test", "a.http", "--openapi", "spec/api.yaml")
    assert status == 1
    assert "the body: {} is not of type 'array'" in err
    assert "does not describe this operation, but parts of it could not be read: none.yaml" in err
    assert "not described: GET /v1/y x1" in err
    assert "could not read" in err
    assert "1 of 1 operations exercised" in err
    (folder / "a.http").write_text(f"# @openapi spec/api.yaml\nGET {server.url}/v1/x\n")
    assert "is not of type 'array'" in orgrest("a.http")[2]


FORM_API = """\
openapi: 3.0.3
servers: [{url: "HOST"}]
paths:
  /form:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {type: object, required: [id], properties: {id: {type: integer}}}
          application/xml: {schema: {type: object}}
      responses: {"200": {description: ok}}
"""


def test_the_fields_of_a_form_are_checked_and_what_is_not_is_reported(
    orgrest, folder, server
) -> None:
    (folder / "api.yaml").write_text(FORM_API.replace("HOST", server.url))
    server.answer = response()
    form = f"POST {server.url}/form\nContent-Type: application/x-www-form-urlencoded\n\n"
    xml = f"POST {server.url}/form\nContent-Type: application/xml\n\n<a/>\n"
    (folder / "a.http").write_text(f"{form}id=7\n\n###\n{form}id=x\n\n###\n{form}a=1\n\n###\n{xml}")
    status, out, _ = orgrest("test", "a.http", "--openapi", "api.yaml", "--report-json", "-", "-q")
    assert status == 1
    records = json.loads(out)["requests"]
    assert [record["assertions"][0].get("reason") or "" for record in records] == [
        "",
        "the request's body.id: 'x' is not of type 'integer'",
        "the request's body: 'id' is a required property",
        "",
    ]
    assert records[3]["notes"] == [
        "openapi: the request's body is not checked: content of type application/xml is not checked"
    ]


def test_a_description_beside_the_document_counts_only_where_it_is_requested(
    orgrest, folder, server
) -> None:
    server.answer = answer({})
    request = f"{GET.replace('/', server.url + '/v1/', 1)}\n"
    (folder / "a.http").write_text(request)
    assert orgrest("test", "a.http")[0] == 0
    status, _, err = orgrest("test", "a.http", "--openapi", "auto")
    assert status == 1
    assert "the body: {} is not of type 'array'" in err
    assert "api.yaml: 1 of 4 operations exercised" in err
    (folder / "a.http").write_text(f"# @openapi no\n{request}")
    assert orgrest("test", "a.http", "--openapi", "auto")[0] == 0
    (folder / "a.http").write_text(f"# @openapi auto\n{request}")
    assert orgrest("test", "a.http")[0] == 1
    assert orgrest("test", "a.http", "--openapi", "nowhere.yaml")[0] == 2


def test_a_description_beside_is_about_requests_that_it_may_describe(
    orgrest, folder, server
) -> None:
    other = f"http://localhost:{server.port}"
    server.answer = answer([])
    (folder / "a.http").write_text(
        f"GET {other}/else\n\n###\nGET {server.url}/v1/nothing\n\n###\nGET {other}/v1/orders\n"
    )
    (folder / "openapi.json").write_text('{"openapi": "9"}')
    _, out, err = orgrest("test", "a.http", "--openapi", "auto", "--report-json", "-")
    assert [len(item["assertions"]) for item in json.loads(out)["requests"]] == [0, 1, 1]
    assert "OpenAPI 9 is not supported (only" in err
    assert "no description in the document's folder or its parents describes this request" in err
    assert "does not describe this operation" in err
    (folder / "api.yaml").unlink()
    (folder / "openapi.json").unlink()
    status, _, err = orgrest("test", "a.http", "--openapi", "auto")
    assert status == 0
    assert (
        err.count(
            "not checked, as no description in the document's folder or its parents was found"
        )
        == 1
    )
