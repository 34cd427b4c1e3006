"""Imports of OpenAPI descriptions: each operation becomes a request that its schemas allow."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from components import needs_engine
from hypothesis import given
from hypothesis import strategies as st
from imports import imported, parts, sent

from orgrest import structured
from orgrest.convert.samples import Sampler
from orgrest.model import Request
from orgrest.structured import StructureError

Json = dict[str, Any]
API = """
openapi: 3.1.0
info: {title: Shop, version: no, description: Sells things}
servers:
  - url: https://{region}.example/v1
    variables: {region: {default: eu, enum: [eu, us]}}
tags: [{name: orders}]
security: [{key: []}]
paths:
  /orders/{id}:
    parameters:
      - {name: id, in: path, required: true, schema: {type: integer, minimum: 7}}
    get:
      tags: [orders]
      summary: One order
      parameters:
        - {name: at, in: query, required: true, schema: {type: string}, example: 2026-01-31}
        - {name: fields, in: query, required: true, example: [a b, c]}
        - {name: sep, in: query, required: true, style: pipeDelimited, explode: false,
           example: [a, b]}
        - {name: deep, in: query, required: true, style: deepObject, example: {a: 1}}
        - {name: page, in: query, schema: {type: integer}}
        - {name: X-Trace, in: header, required: true, examples: {one: {value: "{{t}}"}}}
        - {name: c, in: cookie, required: true, schema: {enum: [z]}}
        - {name: Accept, in: header, required: true, schema: {type: string}}
      responses: {"200": {content: {application/json: {}}}}
    put:
      tags: [orders]
      security: []
      servers: [{url: "https://other.example/"}]
      requestBody: {$ref: "#/components/requestBodies/Order"}
  /orders:
    post:
      operationId: make
      deprecated: true
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: {properties: {a: {type: string, const: b c}, n: {type: number}}}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}
  requestBodies:
    Order:
      content:
        text/plain: {example: x}
        application/json: {schema: {$ref: "#/components/schemas/Order"}}
  schemas:
    Order:
      type: object
      properties:
        id: {type: integer, readOnly: true}
        when: {type: string, format: date}
        lines: {type: array, items: {$ref: "#/components/schemas/Line"}}
        self: {$ref: "#/components/schemas/Order"}
    Line: {allOf: [{properties: {sku: {type: string}}}, {properties: {n: {type: integer}}}]}
"""
FORM = (
    b'--orgrest-form-boundary\r\nContent-Disposition: form-data; name="a"\r\n\r\ntrue\r\n'
    b"--orgrest-form-boundary--"
)


def made(folder: Path, text: str = API, output: str = "out.http", **values: str) -> list[Request]:
    done = imported(folder, text, "--strict", output=output)
    assert done.exit_code == 0, done.output
    return sent(folder, output, **values)


def small(**operation: Any) -> str:
    return json.dumps(
        {"openapi": "3.0.3", "info": {}, "servers": [{"url": "http://h"}],
         "paths": {"/a": {"post": operation}}}
    )  # fmt: skip


def test_a_reference_to_a_name_that_is_not_ascii_is_followed(tmp_path: Path) -> None:
    described = json.loads(
        small(requestBody={"$ref": "#/components/requestBodies/Gr%C3%B6%C3%9Fe"})
    )
    body = {"content": {"application/json": {"example": {"a": 1}}}}
    described["components"] = {"requestBodies": {"Größe": body}}
    (request,) = made(tmp_path, json.dumps(described))
    assert json.loads(request.body or b"") == {"a": 1}


@pytest.mark.parametrize("output", ["out.http", "out.org"])
def test_each_operation_becomes_a_request(output: str, tmp_path: Path) -> None:
    make, get, put = made(tmp_path, output=output, key="K")
    assert get.url == (
        "https://eu.example/v1/orders/7?at=2026-01-31&fields=a%20b&fields=c&sep=a%7Cb&deep%5Ba%5D=1"
    )
    assert get.headers == (
        ("Accept", "application/json"), ("X-Trace", "{{t}}"), ("Cookie", "c=z"), ("X-Key", "K"),
    )  # fmt: skip
    assert put.url == "https://other.example/orders/7"
    assert put.header("X-Key") is None
    body = json.loads(put.body or b"")
    assert body["when"] == "2026-01-31"
    assert body["lines"] == [{"sku": "text", "n": 1}]
    assert "id" not in body
    assert make.url == "https://eu.example/v1/orders"
    assert make.body == b"a=b%20c&n=1"


def test_what_is_optional_or_another_choice_is_named(tmp_path: Path) -> None:
    made(tmp_path, key="K")
    text = (tmp_path / "out.http").read_text()
    assert "# (optional: query page=1)\n" in text
    assert "# (other types of body: text/plain)\n" in text
    assert "# (deprecated)\n" in text
    assert "@region = eu\n@baseUrl = https://{{region}}.example/v1\n" in text


@pytest.mark.parametrize(
    ("scheme", "header"),
    [
        ({"type": "http", "scheme": "bearer"}, ("Authorization", "Bearer v")),
        ({"type": "http", "scheme": "Basic"}, ("Authorization", "Basic djp2")),
        ({"type": "oauth2", "flows": {}}, ("Authorization", "Bearer v")),
        ({"type": "apiKey", "in": "cookie", "name": "c"}, ("Cookie", "c=v")),
    ],
)
def test_credentials_are_variables(scheme: Json, header: tuple[str, str], tmp_path: Path) -> None:
    text = json.loads(small(security=[{"s": []}]))
    text["components"] = {"securitySchemes": {"s": scheme}}
    (found,) = made(tmp_path, json.dumps(text), s="v", username="v", password="v")
    assert header in found.headers


def test_a_key_in_a_cookie_does_not_replace_a_cookie_parameter(tmp_path: Path) -> None:
    cookie = {"name": "a", "in": "cookie", "required": True, "example": "b"}
    text = json.loads(small(security=[{"s": []}], parameters=[cookie]))
    scheme = {"type": "apiKey", "in": "cookie", "name": "c"}
    text["components"] = {"securitySchemes": {"s": scheme}}
    (found,) = made(tmp_path, json.dumps(text), s="v")
    assert found.headers == (("Cookie", "a=b; c=v"),)


@pytest.mark.parametrize(
    ("where", "style", "explode", "example", "text"),
    [
        ("path", "matrix", False, 5, ";p=5"),
        ("path", "matrix", False, [3, "a/b"], ";p=3,a%2Fb"),
        ("path", "matrix", True, [3, 4], ";p=3;p=4"),
        ("path", "matrix", False, {"R": 1, "G": 2}, ";p=R,1,G,2"),
        ("path", "matrix", True, {"R": 1, "G": 2}, ";R=1;G=2"),
        ("path", "label", False, 5, ".5"),
        ("path", "label", False, [3, 4], ".3,4"),
        ("path", "label", True, [3, 4], ".3.4"),
        ("path", "label", True, {"R": 1, "G": 2}, ".R=1.G=2"),
        ("path", "simple", False, {"R": 1, "G": 2}, "R,1,G,2"),
        ("path", "simple", True, {"R": 1, "G": 2}, "R=1,G=2"),
        ("path", "simple", True, ["a b", 4], "a%20b,4"),
        ("header", "simple", True, {"R": 1, "G": 2}, "R=1,G=2"),
        ("header", "simple", True, ["a b", 4], "a b,4"),
    ],
)
def test_a_parameter_has_the_style_of_the_description(
    where: str, style: str, explode: bool, example: Any, text: str, tmp_path: Path
) -> None:
    parameter = {"name": "p", "in": where, "required": True, "style": style, "explode": explode,
                 "example": example, "schema": {}}  # fmt: skip
    described = json.loads(small(parameters=[parameter], responses={}))
    described["paths"] = {"/a/{p}" if where == "path" else "/a": described["paths"]["/a"]}
    (found,) = made(tmp_path, json.dumps(described))
    assert text == (
        found.header("p") if where == "header" else found.url.removeprefix("http://h/a/")
    )


@needs_engine
def test_a_key_in_the_query_does_not_become_another_parameter(tmp_path: Path) -> None:
    text = json.loads(small(security=[{"api-key": []}]))
    scheme = {"type": "apiKey", "in": "query", "name": "k"}
    text["components"] = {"securitySchemes": {"api-key": scheme}}
    (found,) = made(tmp_path, json.dumps(text), **{"api-key": "a&admin=1"})
    assert found.url.endswith("?k=a%26admin%3D1")


@pytest.mark.parametrize(
    ("media", "kind", "body"),
    [
        ({"example": {"a": "{{b}}"}}, "application/vnd.x+json", b'{\n  "a": "{{b}}"\n}'),
        ({"example": "<a/>"}, "application/xml", b"<a/>"),
        ({"example": '{"a": 1}'}, "application/json", b'{"a": 1}'),
        ({"example": "a"}, "application/json", b'"a"'),
        ({"example": "{}", "schema": {"type": "string"}}, "application/json", b'"{}"'),
        ({"example": "{}", "schema": {"type": ["string", "null"]}}, "application/json", b'"{}"'),
        ({"example": "{}", "schema": {"anyOf": [{"type": "null"}, {"type": "string"}]}},
         "application/json", b'"{}"'),
        ({"example": "{}", "schema": {"type": ["object", "null"]}}, "application/json", b"{}"),
        ({"schema": {"type": "string", "format": "binary"}}, "image/png", b"content"),
        ({"schema": {"properties": {"a": {"type": "boolean"}}}}, "multipart/form-data",
         FORM),
    ],
)  # fmt: skip
def test_a_body_is_that_of_its_type(media: Json, kind: str, body: bytes, tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"content")
    (found,) = made(tmp_path, small(requestBody={"content": {kind: media}}))
    assert found.body == body
    assert (found.header("Content-Type") or "").startswith(kind)


@pytest.mark.parametrize(
    ("value", "encoding", "body"),
    [
        ([1, 2], {}, b"b=1&b=2"),
        (["x", {"y": 1}], {}, b"b=x&b=%7B%22y%22%3A%201%7D"),
        ([1, 2], {"explode": False}, b"b=1%2C2"),
        ([1, 2], {"style": "pipeDelimited"}, b"b=1%7C2"),
        ([1, 2], {"contentType": "application/json"}, b"b=%5B1%2C%202%5D"),
        ({"y": 1}, {}, b"b=%7B%22y%22%3A%201%7D"),
        ({"y": 1}, {"style": "form"}, b"y=1"),
        ({"y": 1}, {"style": "deepObject"}, b"b%5By%5D=1"),
    ],
)
def test_lists_and_objects_in_a_form_are_sent_as_the_description_says(
    value: Any, encoding: Json, body: bytes, tmp_path: Path
) -> None:
    media = {"example": {"b": value}, "encoding": {"b": encoding}}
    content = {"application/x-www-form-urlencoded": media}
    (found,) = made(tmp_path, small(requestBody={"content": content}))
    assert found.body == body


def test_each_element_of_a_list_is_a_part_of_a_multipart_form(tmp_path: Path) -> None:
    (tmp_path / "files").write_bytes(b"content")
    files = {"type": "array", "items": {"$ref": "#/components/schemas/File"}}
    tags = {"type": "array", "items": {"type": "string"}, "example": ["a", "b"]}
    codes = {"type": "array", "items": {}, "example": [1, 2]}
    media = {
        "schema": {"properties": {"files": files, "tags": tags, "codes": codes}},
        "encoding": {"codes": {"contentType": "application/json"}},
    }
    described = json.loads(small(requestBody={"content": {"multipart/form-data": media}}))
    described["components"] = {"schemas": {"File": {"type": "string", "format": "binary"}}}
    (found,) = made(tmp_path, json.dumps(described))
    parts = (found.body or b"").split(b"--orgrest-form-boundary")[1:-1]
    file = (
        b'name="files"; filename="files"\r\nContent-Type: application/octet-stream\r\n\r\ncontent'
    )
    assert [part.partition(b"form-data; ")[2] for part in parts] == [
        file + b"\r\n",
        b'name="tags"\r\n\r\na\r\n',
        b'name="tags"\r\n\r\nb\r\n',
        b'name="codes"\r\n\r\n[1, 2]\r\n',
    ]


@pytest.mark.parametrize(
    ("layout", "body"), [({}, b"b=1%2C2"), ({"collectionFormat": "multi"}, b"b=1&b=2")]
)
def test_lists_in_a_form_of_swagger_2_are_sent_in_their_format(
    layout: Json, body: bytes, tmp_path: Path
) -> None:
    field = {"name": "b", "in": "formData", "type": "array", "items": {}, "default": [1, 2]}
    operation = {"parameters": [field | layout], "responses": {}}
    whole = {"swagger": "2.0", "info": {}, "host": "h", "paths": {"/a": {"post": operation}}}
    imported(tmp_path, json.dumps(whole))
    (found,) = sent(tmp_path)
    assert found.body == body


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ({"callbacks": {"a": 1}}, 'callbacks: {"a": 1}'),
        ({"security": [{"none": []}]}, "security: none is not defined"),
        ({"requestBody": {"$ref": "other.yaml#/x"}}, "is outside this document"),
        ({"requestBody": {"$ref": "#/nowhere"}}, "#/nowhere does not exist"),
        ({"requestBody": {"content": {"application/xml": {"schema": {"type": "object"}}}}},
         "no example for a body of type application/xml"),
        ({"servers": [{"url": "/v1"}, {"url": "http://b"}]}, "/v1 has no host"),
    ],
)  # fmt: skip
def test_what_is_not_translated_is_reported(operation: Json, message: str, tmp_path: Path) -> None:
    done = imported(tmp_path, small(**operation), "--strict")
    assert done.exit_code == 1
    assert message in done.stderr
    assert "paths./a.post: not translated" in done.stderr or "source: not translated" in done.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("swagger: '1.2'\ninfo: {}", "OpenAPI 1.2 is not supported (only"),
        ("openapi: 4.0.0", "OpenAPI 4.0.0 is not supported (only"),
        ("openapi: 3.3.0", "not supported (only 2.0 and 3.0 to 3.2 are): convert"),
        ("openapi: [", "not valid YAML"),
        ("openapi: !!python/object/apply:os.system [id]", "not valid YAML"),
        ("openapi: 3.0.0\na: &a [*a]", "nested more than"),
        ("openapi: 3.0.0\n" + "".join(f"a{n}: &a{n} [{f'*a{n - 1},' * 9}]\n" for n in range(1, 12))
         .replace("*a0,", "1,"), "more than 2,000,000 values"),
        ("openapi: 3.0.0\na: " + "[" * 5000, "nest"),
    ],
)  # fmt: skip
def test_hostile_and_foreign_descriptions_are_errors(
    text: str, reason: str, tmp_path: Path
) -> None:
    done = imported(tmp_path, text)
    assert done.exit_code == 2
    assert reason in done.stderr


def test_a_schema_that_holds_itself_has_a_sample(tmp_path: Path) -> None:
    text = json.loads(
        small(requestBody={"content": {"application/json": {"schema": {"$ref": "#/components/x"}}}})
    )
    x, y = {"$ref": "#/components/x"}, {"$ref": "#/components/y"}
    text["components"] = {"x": {"properties": {"a": x, "b": y}}, "y": y}
    (found,) = made(tmp_path, json.dumps(text))
    assert json.loads(found.body or b"")["b"] is None


def test_a_schema_that_holds_itself_has_a_sample_that_holds_to_it() -> None:
    node: Json = {"type": "object", "required": ["id"]}
    node["properties"] = {
        "id": {"type": "string"},
        "next": node,
        "below": {"type": "array", "items": node},
        "other": {"properties": {"node": node, "n": {"type": "integer"}}},
    }
    sample = Sampler(lambda one: one).sample(node)
    assert sample == {"id": "text", "below": [], "other": {"n": 1}}


@pytest.mark.parametrize(
    ("mapping", "name"), [({}, "Cat"), ({"cat": "#/components/schemas/Cat"}, "cat"),
                          ({"dog": "Dog", "cat": "Cat"}, "cat")],
)  # fmt: skip
def test_a_sample_names_the_alternative_that_it_is(
    mapping: Json, name: str, tmp_path: Path
) -> None:
    schema = {
        "oneOf": [{"$ref": "#/components/schemas/Cat"}, {"$ref": "#/components/schemas/Dog"}],
        "discriminator": {"propertyName": "kind", "mapping": mapping},
    }
    media = {"application/json": {"schema": schema}}
    described = json.loads(small(requestBody={"content": media}))
    animal = {"properties": {"kind": {"type": "string"}}}
    described["components"] = {"schemas": {"Cat": animal, "Dog": animal}}
    (found,) = made(tmp_path, json.dumps(described))
    assert json.loads(found.body or b"") == {"kind": name}


@pytest.mark.parametrize("name", [["kind"], {"kind": 1}, None])
def test_a_malformed_discriminator_does_not_cost_the_request(name: Any, tmp_path: Path) -> None:
    cat = {"properties": {"kind": {"type": "string"}}}
    schema = {"oneOf": [{"$ref": "#/components/schemas/Cat"}],
              "discriminator": {"propertyName": name}}  # fmt: skip
    described = json.loads(small(requestBody={"content": {"application/json": {"schema": schema}}}))
    described["components"] = {"schemas": {"Cat": cat}}
    (found,) = made(tmp_path, json.dumps(described))
    assert json.loads(found.body or b"") == {"kind": "text"}


SCHEMAS = st.recursive(
    st.sampled_from(
        [{"type": "string"}, {"type": "integer"}, {"type": "number", "minimum": 5}, {"const": 3},
         {"type": "boolean"}, {"enum": ["a", 1]}, {"type": ["null", "string"]}, {"default": [1]},
         {"type": "string", "format": "date-time"}, {"type": "string", "format": "uuid"}]
    ),
    lambda inner: st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda one: {"oneOf": [one]}, inner),
        st.builds(lambda one: {"anyOf": [one]}, inner),
        st.builds(
            lambda ones: {"type": "object", "properties": ones, "required": list(ones)},
            st.dictionaries(st.sampled_from("abc"), inner),
        ),
    ),
    max_leaves=6,
)  # fmt: skip


@given(SCHEMAS)
def test_a_sample_holds_to_its_schema(schema: Json) -> None:
    jsonschema.validate(Sampler(lambda one: one).sample(schema), schema)


# PyYAML, which is of YAML 1.1, writes the text `1e3` without quotes; in YAML 1.2 it is a number.
TEXTS = st.text("ab: -#[]{}'\"\n0129.e").filter(
    lambda text: not re.fullmatch(r"-?[\d.]+e-?\d+", text)
)


@given(st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text("abc"), inner),
))  # fmt: skip
def test_yaml_gives_what_json_does(value: Any) -> None:
    import yaml

    assert structured.load(json.dumps(value), "x") == value
    assert structured.load(yaml.safe_dump(value), "x") == value


def test_yaml_means_text_where_tools_mean_it() -> None:
    text = "a: no\nb: 2026-01-31\nc: 0123\nd: 12:30:00\ne: 1.5\nf: ~\ng: true\nh: 1e3\n"
    assert structured.load(text, "x") == {
        "a": "no", "b": "2026-01-31", "c": "0123", "d": "12:30:00", "e": 1.5, "f": None, "g": True,
        "h": 1000.0,
    }  # fmt: skip
    with pytest.raises(StructureError, match="larger than 16 MiB"):
        structured.load("x" * (structured.LARGEST_YAML + 1), "x")


SWAGGER = {
    "swagger": "2.0", "info": {"title": "API"}, "host": "api.example", "basePath": "/v1/",
    "schemes": ["http", "https"], "consumes": ["application/json"],
    "produces": ["application/json"],
    "securityDefinitions": {"basic": {"type": "basic"},
                            "key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
    "security": [{"basic": []}],
    "parameters": {"page": {"name": "page", "in": "query", "type": "integer", "required": True,
                            "default": 3},
                   "task": {"name": "task", "in": "body",
                            "schema": {"$ref": "#/definitions/Task"}}},
    "definitions": {"Task": {"type": "object", "properties": {"id": {"type": "integer"}},
                             "example": {"id": 7}}},
    "paths": {
        "/tasks/{id}": {
            "parameters": [{"name": "id", "in": "path", "type": "string", "required": True,
                            "x-example": "a b"}],
            "get": {"parameters": [{"$ref": "#/parameters/page"},
                                   {"name": "tag", "in": "query", "type": "array", "required": True,
                                    "items": {"type": "string", "enum": ["x"]},
                                    "collectionFormat": "multi"}],
                    "security": [{"key": []}], "responses": {"200": {"schema": {}}}},
            "put": {"parameters": [{"$ref": "#/parameters/task"}], "responses": {"204": {}}},
            "post": {"consumes": ["application/x-www-form-urlencoded"],
                     "parameters": [{"name": "name", "in": "formData", "type": "string",
                                     "default": "n"}], "responses": {}},
            "patch": {"parameters": [{"name": "file", "in": "formData", "type": "file"}],
                      "responses": {}},
        }
    },
}  # fmt: skip


def test_a_description_of_swagger_2_makes_the_requests_that_it_describes(tmp_path: Path) -> None:
    done = imported(tmp_path, json.dumps(SWAGGER), "--strict")
    assert done.exit_code == 0, done.stderr
    (tmp_path / "file").write_text("content")
    basic = ("Authorization", "Basic bWU6cHc=")
    url = "https://api.example/v1/tasks/a%20b"
    form = "application/x-www-form-urlencoded"
    get, put, post, patch = sent(tmp_path, username="me", password="pw", key="k")
    assert parts(get) == (
        "GET", f"{url}?page=3&tag=x", (("Accept", "application/json"), ("X-Key", "k")), None,
    )  # fmt: skip
    assert (put.method, put.headers) == ("PUT", (("Content-Type", "application/json"), basic))
    assert json.loads(put.body or b"") == {"id": 7}
    assert parts(post) == ("POST", url, (("Content-Type", form), basic), b"name=n")
    assert (patch.header("Content-Type") or "").startswith("multipart/form-data; boundary=")
    assert b'name="file"; filename="file"' in (patch.body or b"")
    assert b"content" in (patch.body or b"")
