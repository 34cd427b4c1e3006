"""Parameters and forms are read as in OpenAPI's table of styles.

The texts are copied by hand from the table (OpenAPI 3.1.1, section 4.8.12.6), for the values blue;
[blue, black, brown]; {R: 100, G: 200, B: 150}.
"""

from __future__ import annotations

import json

import pytest

from orgrest.description.checks import of_request
from orgrest.description.model import Description
from orgrest.model import Request

COLOR = {"type": "string"}
COLORS = {"type": "array", "items": {"type": "string"}}
NUMBER = {"type": "integer"}
RGB = {"type": "object", "properties": {"R": NUMBER, "G": NUMBER, "B": NUMBER}}
LIST = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}
JSON_FORM = "application/x-www-form-urlencoded"


def checked(operation: dict, request: Request, path: str = "/x", **whole: object):
    whole |= {"openapi": "3.2.0", "paths": {path: {request.method.lower(): operation}}}
    description = Description.read(json.dumps(whole).encode(), "api.json")
    found = description.operation(request.method, request.url)
    assert found is not None
    return of_request(*found, request)


def told(operation: dict, request: Request, path: str = "/x", **whole: object) -> tuple:
    found = checked(operation, request, path, **whole)
    return [part.value for part in found.parts], found.problems, found.unchecked


@pytest.mark.parametrize(
    ("where", "style", "explode", "schema", "text", "value"),
    [
        ("path", "matrix", False, COLOR, ";color=blue", "blue"),
        ("path", "matrix", False, COLORS, ";color=blue,black,brown", LIST),
        ("path", "matrix", False, RGB, ";color=R,100,G,200,B,150", OBJECT),
        ("path", "matrix", True, COLORS, ";color=blue;color=black;color=brown", LIST),
        ("path", "matrix", True, RGB, ";R=100;G=200;B=150", OBJECT),
        ("path", "label", False, COLOR, ".blue", "blue"),
        ("path", "label", False, COLORS, ".blue,black,brown", LIST),
        ("path", "label", False, RGB, ".R,100,G,200,B,150", OBJECT),
        ("path", "label", True, COLORS, ".blue.black.brown", LIST),
        ("path", "label", True, RGB, ".R=100.G=200.B=150", OBJECT),
        ("path", "simple", False, COLOR, "bl%75e", "blue"),
        ("path", "simple", False, COLORS, "blue,black,brown", LIST),
        ("path", "simple", False, RGB, "R,100,G,200,B,150", OBJECT),
        ("path", "simple", True, RGB, "R=100,G=200,B=150", OBJECT),
        ("header", "simple", False, COLORS, "blue, black,brown", LIST),
        ("header", "simple", True, RGB, "R=100,G=200,B=150", OBJECT),
        ("query", "form", False, COLOR, "color=blue", "blue"),
        ("query", "form", False, COLORS, "color=blue,black,brown", LIST),
        ("query", "form", False, RGB, "color=R,100,G,200,B,150", OBJECT),
        ("query", "form", True, COLORS, "color=blue&color=black&color=brown", LIST),
        ("query", "form", True, COLORS, "color[]=blue&color[]=black&color%5B%5D=brown", LIST),
        ("query", "form", True, RGB, "R=100&G=200&B=150", OBJECT),
        ("query", "form", False, COLORS, "color=a%2Cb", ["a,b"]),
        ("query", "spaceDelimited", False, COLORS, "color=blue%20black%20brown", LIST),
        ("query", "spaceDelimited", False, RGB, "color=R%20100%20G%20200%20B%20150", OBJECT),
        ("query", "pipeDelimited", False, COLORS, "color=blue%7Cblack%7Cbrown", LIST),
        ("query", "pipeDelimited", False, RGB, "color=R|100|G|200|B|150", OBJECT),
        ("query", "deepObject", True, RGB, "color[R]=100&color%5BG%5D=200&color[B]=150", OBJECT),
        ("cookie", "form", False, COLORS, "color=blue,black,brown", LIST),
    ],
)
def test_a_parameter_is_read_by_its_style(where, style, explode, schema, text, value) -> None:
    parameter = {"name": "color", "in": where, "style": style, "explode": explode, "schema": schema}
    url, headers, path = "http://h/x", (), "/x"
    if where == "path":
        url, path = f"http://h/{text}", "/{color}"
    elif where == "query":
        url = f"http://h/x?{text}"
    else:
        headers = (("color" if where == "header" else "Cookie", text),)
    request = Request("GET", url, headers)
    assert told({"parameters": [parameter]}, request, path) == ([value], [], [])


@pytest.mark.parametrize(
    ("given", "query", "problem", "unchecked"),
    [
        (
            {"style": "deepObject", "schema": RGB},
            "color[R][x]=1",
            "",
            "nested brackets are not defined by OpenAPI",
        ),
        ({"style": "deepObject", "schema": RGB}, "color=1", "be written as color[...]", ""),
        ({"style": "deepObject", "schema": RGB, "required": True}, "", "is missing", ""),
        (
            {"style": "nonsense", "schema": RGB},
            "color=1",
            "",
            "the style nonsense is not supported",
        ),
        ({"explode": False, "schema": RGB}, "color=R,1,G", "not a list of names and values", ""),
        (
            {"schema": {**RGB, "additionalProperties": False}},
            "R=1&X=2",
            "X is not in the description",
            "",
        ),
        ({"content": {"application/json": {"schema": RGB}}}, "color={", "is not valid JSON", ""),
        (
            {"content": {"application/json": {"schema": RGB}}},
            "R=1",
            "R is not in the description",
            "",
        ),
        ({"content": {"application/xml": {"schema": RGB}}}, "color=<a/>", "", "application/xml"),
        ({"in": "nowhere", "schema": COLOR}, "", "", "unknown parameter location 'nowhere'"),
        ({"in": "cookie", "schema": COLORS}, "", "", ""),
    ],
)
def test_what_cannot_be_read_is_wrong_or_told(given, query, problem, unchecked) -> None:
    parameter = {"name": "color", "in": "query", **given}
    request = Request("GET", f"http://h/x?{query}")
    _, problems, left = told({"parameters": [parameter]}, request)
    assert [problem in one for one in problems] == ([True] if problem else [])
    assert [unchecked in one for one in left] == ([True] if unchecked else [])


def test_a_parameter_may_be_a_text_of_json() -> None:
    content = {"application/json": {"schema": RGB}}
    request = Request("GET", "http://h/x?color=%7B%22R%22%3A1%7D")
    operation = {"parameters": [{"name": "color", "in": "query", "content": content}]}
    assert told(operation, request) == ([{"R": 1}], [], [])


def test_the_whole_query_may_be_one_parameter() -> None:
    content = {JSON_FORM: {"schema": RGB}}
    operation = {"parameters": [{"name": "q", "in": "querystring", "content": content}]}
    request = Request("GET", "http://h/x?R=1&other=2")
    assert told(operation, request) == ([{"R": 1, "other": "2"}], [], [])


@pytest.mark.parametrize("name", ["Accept", "content-type", "Authorization"])
@pytest.mark.parametrize("headers", [(), (("Authorization", "Bearer x"), ("Accept", "text/html"))])
def test_headers_that_are_no_parameters_are_never_missing(name, headers) -> None:
    parameter = {"name": name, "in": "header", "required": True, "schema": NUMBER}
    request = Request("GET", "http://h/x", headers)
    assert told({"parameters": [parameter]}, request) == ([], [], [])


KEYS = {
    "securitySchemes": {
        "inQuery": {"type": "apiKey", "in": "query", "name": "api_key"},
        "inHeader": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "login": {"type": "http", "scheme": "basic"},
        "other": {"$ref": "#/components/securitySchemes/inQuery"},
    }
}


@pytest.mark.parametrize(
    ("operation", "whole", "is_key"),
    [
        ({}, [{"inQuery": []}], True),
        ({}, [{"login": []}, {"inHeader": [], "inQuery": []}], True),
        ({}, [{"other": []}], True),
        ({"security": [{"inQuery": []}]}, [], True),
        ({"security": [{"login": []}]}, [{"inQuery": []}], False),
        ({"security": []}, [{"inQuery": []}], False),
        ({}, [{"inHeader": []}, {"unknown": []}, "inQuery", None], False),
        ({}, "inQuery", False),
    ],
)
def test_an_api_key_in_the_query_is_described_by_its_security_scheme(
    operation, whole, is_key
) -> None:
    request = Request("GET", "http://h/x?api_key=secret")
    _, problems, _ = told(operation, request, security=whole, components=KEYS)
    assert problems == (
        [] if is_key else ["the request's query parameter api_key is not in the description"]
    )


def test_an_api_key_in_the_query_is_no_property_of_a_parameter() -> None:
    operation = {"parameters": [{"name": "color", "in": "query", "schema": RGB}]}
    request = Request("GET", "http://h/x?R=1&api_key=secret")
    security = [{"inQuery": []}]
    assert told(operation, request, security=security, components=KEYS) == ([{"R": 1}], [], [])


def test_an_operation_may_have_a_method_of_its_own() -> None:
    paths = {"/x": {"additionalOperations": {"COPY": {}}, "query": {}}}
    whole = {"openapi": "3.2.0", "paths": paths}
    description = Description.read(json.dumps(whole).encode(), "api.json")
    assert [operation.name for operation in description.operations] == ["QUERY /x", "COPY /x"]
    assert description.operation("COPY", "http://h/x") is not None


FORM = {
    "type": "object",
    "properties": {
        "id": NUMBER,
        "tags": COLORS,
        "color": RGB,
        "flags": {"type": "array", "items": {"type": "boolean"}},
    },
}


def body(kind: str, text: str | bytes, schema: dict, **more: object) -> tuple:
    content = {kind.partition(";")[0]: {"schema": schema, **more}}
    data = text if isinstance(text, bytes) else text.encode()
    request = Request("POST", "http://h/x", (("Content-Type", kind),), data)
    return told({"requestBody": {"content": content}}, request)


@pytest.mark.parametrize(
    ("text", "encoding", "value"),
    [
        ("id=1&tags=a&tags=b", {}, {"id": 1, "tags": ["a", "b"]}),
        ("id=x&other=a+b", {}, {"id": "x", "other": "a b"}),
        ("tags=a,b", {"tags": {"style": "form", "explode": False}}, {"tags": ["a", "b"]}),
        ("color[R]=1&color[G]=2", {}, {"color": {"R": 1, "G": 2}}),
        ("color=%7B%22R%22%3A1%7D", {}, {"color": {"R": 1}}),
        ("R=1&id=2", {"color": {"style": "form"}}, {"color": {"R": 1}, "id": 2}),
        ("flags=true&flags=false", {}, {"flags": [True, False]}),
    ],
)
def test_the_fields_of_a_form_are_validated(text, encoding, value) -> None:
    assert body(JSON_FORM, text, FORM, encoding=encoding) == ([value], [], [])


def test_a_form_that_cannot_be_read_says_why() -> None:
    assert body(JSON_FORM, "color={", FORM)[1] == ["the request's body color is not valid JSON"]
    assert body(JSON_FORM, b"\xff", FORM)[1] == ["the request's body is not UTF-8"]
    (left,) = body(JSON_FORM, "color[a][b]=1", FORM)[2]
    assert "nested brackets are not defined by OpenAPI" in left
    assert "10000 fields" in body(JSON_FORM, "a=1&" * 10_001, FORM)[2][0]
    assert "4 MiB" in body(JSON_FORM, "a" * (2**22 + 1), FORM)[2][0]


PARTS = (
    '--b\r\nContent-Disposition: form-data; name="id"\r\n\r\n7\r\n'
    '--b\r\nContent-Disposition: form-data; name="tags"\r\n\r\na\r\n'
    '--b\r\nContent-Disposition: form-data; name="tags"\r\n\r\nb\r\n'
    '--b\r\nContent-Disposition: form-data; name="color"\r\n'
    'Content-Type: application/json\r\n\r\n{"R": 1}\r\n'
    '--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n'
    "Content-Type: image/png\r\n\r\n\x89PNG\r\n--b--\r\n"
)
MULTIPART = "multipart/form-data; boundary=b"


@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_the_parts_of_a_form_are_validated(end) -> None:
    values, problems, left = body(MULTIPART, PARTS.replace("\r\n", end).encode("latin-1"), FORM)
    assert (problems, left) == ([], [])
    file = "\x89PNG"
    assert values == [{"id": 7, "tags": ["a", "b"], "color": {"R": 1}, "file": file}]


def test_parts_that_are_not_as_described_are_reported() -> None:
    data = PARTS.encode("latin-1")
    encoding = {"file": {"contentType": "image/jpeg, text/*"}}
    (problem,) = body(MULTIPART, data, FORM, encoding=encoding)[1]
    assert (
        problem
        == "the request's body file has the Content-Type image/png (expected image/jpeg, text/*)"
    )
    assert "no boundary" in body("multipart/form-data", data, FORM)[1][0]
    assert "does not end" in body("multipart/form-data; boundary=c", data, FORM)[1][0]
    broken = data.replace(b'{"R": 1}', b"{")
    assert body(MULTIPART, broken, FORM)[1] == ["the request's body color is not valid JSON"]
    many = b"--b\r\n\r\n\r\n" * 10_001 + b"--b--"
    assert "10000 fields" in body(MULTIPART, many, FORM)[2][0]


@pytest.mark.parametrize(
    ("kind", "schema", "values", "unchecked"),
    [
        ("text/plain", {"type": "integer"}, [5], ""),
        ("text/csv", {"type": "string", "maxLength": 3}, ["5"], ""),
        ("application/xml", {"type": "object"}, [], "content of type application/xml"),
        ("text/xml", {"type": "string", "minLength": 1}, [], "content of type text/xml"),
        ("image/png", {"type": "string", "format": "binary"}, [], ""),
        ("image/png", {}, [], ""),
        ("application/octet-stream", {"type": "string", "minLength": 9}, [], "octet-stream"),
    ],
)
def test_a_body_that_is_not_read_is_never_passed_in_silence(
    kind, schema, values, unchecked
) -> None:
    found, problems, left = body(kind, "5", schema)
    assert (found, problems) == (values, [])
    assert [unchecked in one for one in left] == ([True] if unchecked else [])


def test_a_sequence_of_items_is_reported_as_not_checked() -> None:
    content = {"application/jsonl": {"itemSchema": RGB}}
    request = Request("POST", "http://h/x", (("Content-Type", "application/jsonl"),), b"{}\n{}")
    (left,) = told({"requestBody": {"content": content}}, request)[2]
    assert "sequences of application/jsonl are not supported" in left


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"oneOf": [{"type": "integer"}, {"type": "boolean"}]}, "5", 5),
        ({"allOf": [{"type": "boolean"}]}, "true", True),
        ({"type": ["integer", "null"]}, "", None),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["a"]}, "2", "2"),
        ({}, "2", "2"),
    ],
)
def test_a_text_becomes_what_its_schema_is_composed_of(schema, text, value) -> None:
    assert body("text/plain", text, {**schema, "x-a": 1})[0] in ([value], [])
    operation = {"parameters": [{"name": "p", "in": "header", "schema": schema}]}
    values, _, _ = told(operation, Request("GET", "http://h/x", (("p", text),)))
    assert values == ([value] if schema else [])
