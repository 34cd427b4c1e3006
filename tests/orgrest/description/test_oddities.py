"""Oddities of descriptions, exchanges and stored exchanges that must not stop a check."""

from __future__ import annotations

import json

import pytest

from orgrest.description.checks import of_exchange
from orgrest.description.model import Description
from orgrest.model import Request, Response
from orgrest.run.comparison import compare


def read(paths: object, **more: object) -> Description:
    return Description.read(json.dumps({"openapi": "3.1.0", "paths": paths, **more}).encode(), "a")


def problems(operation: dict, request: Request, response: Response) -> list[str]:
    description = read({"/x": {request.method.lower(): operation}})
    found = description.operation(request.method, request.url)
    assert found is not None
    return of_exchange(*found, request, response).problems


URL = "http://h/x"
OK = Response(200, "OK", "1.1", (), b"", 0.0, URL)
ANY = {"200": {}}
KINDS = {"content": {"text/*": {}, "application/json": {}}}


@pytest.mark.parametrize(
    ("operation", "request_", "response", "expected"),
    [
        (
            {"responses": ANY},
            Request("POST", URL, body=b"x"),
            OK,
            ["body is not in the description"],
        ),
        ({"responses": ANY}, Request("GET", URL, body=b"x"), OK, []),
        ({}, Request("GET", URL), OK, ["the status 200 is not in the description (expected none)"]),
        (
            {"responses": ANY, "parameters": [{"name": "s", "in": "cookie", "required": True}]},
            Request("GET", URL),
            OK,
            [],
        ),
        (
            {"responses": ANY, "parameters": [{"in": "query"}, {"name": "o", "in": "query"}]},
            Request("GET", f"{URL}?free=1"),
            OK,
            [],
        ),
        ({"responses": {"200": KINDS}}, Request("HEAD", URL), OK, []),
        (
            {"responses": {"200": KINDS}},
            Request("GET", URL),
            Response(200, "", "1.1", (("Content-Type", "text/csv"),), b"a", 0.0, URL),
            [],
        ),
        (
            {"responses": {"200": KINDS}},
            Request("GET", URL),
            Response(200, "", "1.1", (), b"a", 0.0, URL, truncated=True),
            ["the body is too long to check"],
        ),
    ],
)
def test_an_odd_exchange_is_judged_by_what_is_described(
    operation, request_, response, expected
) -> None:
    found = problems(operation, request_, response)
    assert len(found) == len(expected)
    assert all(part in one for part, one in zip(expected, found, strict=True))


@pytest.mark.parametrize(
    "whole",
    [
        {
            "servers": [
                {"url": "http://[::1"},
                {"url": "{x}/v", "variables": {"x": {"default": "y"}}},
            ]
        },
        {"servers": ["x", {"url": None}]},
        {"servers": {}},
        {"components": 1},
    ],
)
def test_odd_servers_leave_the_paths_as_they_are(whole) -> None:
    description = read({"/x": {"get": {}}, "no-slash": {"get": {}}, "/y": 1}, **whole)
    assert [operation.name for operation in description.operations] == ["GET /x"]
    assert description.operation("get", URL) is not None
    assert description.operation("GET", "http://[::1") is None
    assert description.operation("GET", "http://h/xy") is None


def test_references_lead_through_lists_and_never_in_circles() -> None:
    paths = {
        "/a": {"get": {"parameters": [{"name": "p", "in": "query"}]}},
        "/b": {"$ref": "#/paths/~1a"},
        "/c": {"get": {"parameters": [{"$ref": "#/paths/~1a/get/parameters/0"}]}},
        "/d": {"$ref": "#/paths/~1d"},
        "/e": {"get": {"parameters": [{"$ref": "#/paths/~1a/get/parameters/9"}, {"$ref": "b#/"}]}},
    }
    description = read(paths)
    assert [operation.name for operation in description.operations] == [
        "GET /a",
        "GET /b",
        "GET /c",
        "GET /e",
    ]
    names = [[parameter.name for parameter in op.parameters()] for op in description.operations]
    assert names == [["p"], ["p"], ["p"], []]


def exchange(url: str, text: str | None) -> dict:
    body = {
        "type": "",
        "size": 3,
        "cut": False,
        **({"sha256": "0"} if text is None else {"text": text}),
    }
    answer = {"status": 200, "headers": [["A", "1"], ["a", "2"]], "body": body}
    return {"request": {"method": "GET", "url": url}, "response": answer, "error": None}


def test_requests_that_came_or_went_are_a_difference() -> None:
    one, two = {"exchanges": [exchange("u", "x")]}, {"exchanges": [exchange("u", "x")] * 2}
    assert [str(found) for found in compare(one, two)] == ['request 2, request: added "GET u"']
    assert [str(found) for found in compare(two, one)] == ['request 2, request: removed "GET u"']
    assert compare(two, two) == []
    (found,) = compare(one, {"exchanges": [exchange("u", None)]})
    assert str(found) == 'body: "x" -> 3 bytes, sha256 0'


def test_a_very_long_difference_is_reported_in_part() -> None:
    old, new = (json.dumps([number] * 3000) for number in (1, 2))
    found = compare({"exchanges": [exchange("u", old)]}, {"exchanges": [exchange("u", new)]})
    assert len(found) == 1001
    assert "and more" in str(found[-1])
