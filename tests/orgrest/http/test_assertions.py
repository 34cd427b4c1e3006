"""Assertions of request files, read and judged as httpyac's guide says."""

from __future__ import annotations

import base64
import hashlib

import pytest

from orgrest.http.assertions import OPERATORS, judge
from orgrest.http.requestfile import parse
from orgrest.model import OrgrestError, Response

BODY = (
    '{"id": 7, "name": "Ann", "on": true, "none": null, "list": [1, "two"], '
    '"deep": {"a": [{"b": 0}]}}'
)


def answer(body: str = BODY, kind: str = "application/json") -> Response:
    headers = (("Content-Type", kind), ("X-Id", "12"))
    return Response(200, "OK", "1.1", headers, body.encode(), 0.25, "http://example.org/")


def no_engine(_text: str, _pattern: str) -> bool:
    raise OrgrestError("no engine")


def judged(text: str, response: Response | None = None) -> tuple[bool, str]:
    (request,) = parse(f"GET http://example.org/\n\n?? {text}\n").requests
    assert request.problems == ()
    (assertion,) = request.assertions
    return judge(assertion, assertion.expected.text, response or answer(), no_engine)


def held(text: str, response: Response | None = None) -> bool:
    return judged(text, response)[0]


@pytest.mark.parametrize(
    "text",
    [
        "status == 200",
        "status === 200",
        "status equals 200",
        "STATUS == 200",
        "status ==200",
        "status == 200.0",
        "status != 404",
        "status not equals 404",
        "status >= 200",
        "status < 300",
        "status isNumber",
        "status startsWith 2",
        "duration < 1000",
        "duration > 249",
        "header Content-Type == application/json",
        "header content-type contains json",
        "header content-type startsWith application",
        "header content-type endsWith json",
        "header x-id > 9",
        "header x-id isString",
        "header X-None isFalse",
        "header X-None == undefined",
        "body contains Ann",
        "body includes a == b",
        "body id == 7",
        "body $.id == 7",
        "body name != Bob",
        "body name isString",
        "body on == true",
        "body on isBoolean",
        "body on isTrue",
        "body on != false",
        "body none == null",
        "body none isFalse",
        "body list isArray",
        "body list contains two",
        "body list contains 1",
        'body list == [1, "two"]',
        "body list.length == 2",
        "body name.length == 3",
        "body deep.a[0].b == 0",
        "body ['name'] == Ann",
        "body deep.a exists",
        'body deep != {"a": []}',
    ],
)
def test_an_assertion_that_holds_in_httpyac_holds_here(text: str) -> None:
    response = answer(BODY.replace("Ann", "Ann a == b")) if "a == b" in text else None
    assert judged(text, response) == (True, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("status == 404", "status is 200"),
        ("status == ok", "status is 200"),
        ("status > x", "status is 200"),
        ("header X-None exists", "header X-None is not there"),
        ("header X-None contains a", "header X-None is not there"),
        ("body nowhere exists", "body nowhere is not there"),
        ("body id.length == 1", "body id.length is not there"),
        ("body list contains three", 'body list is [1, "two"]'),
        ("body on == 1", "body on is true"),
        ("body deep == {", 'body deep is {"a": [{"b": 0}]}'),
        ("body name isNumber", "body name is Ann"),
        ("body name md5 x", "body name is Ann"),
        ("body matches A", "no engine"),
        ("body a[ == 1", "is no JSONPath"),
        ("body //id == 1", "the body is no XML"),
    ],
)
def test_an_assertion_that_does_not_hold_says_what_is_the_case(text: str, reason: str) -> None:
    assert reason in judged(text)[1]
    assert not held(text)


def test_a_long_body_is_shown_in_part() -> None:
    assert len(judged("body == x", answer("y" * 1000))[1]) < 200


def test_places_in_xml_are_compared_too() -> None:
    xml = answer("<a><b id='5'>text</b></a>", "text/xml")
    assert held("body //b/@id == 5", xml)
    assert held("body //b == text", xml)
    assert held("body //c isFalse", xml)


@pytest.mark.parametrize("algorithm", ["md5", "sha256", "sha512"])
def test_digests_are_those_of_the_bytes_that_came(algorithm: str) -> None:
    data = BODY.encode()
    wanted = base64.b64encode(hashlib.new(algorithm, data).digest()).decode()
    assert held(f"body {algorithm} {wanted}")
    assert not held(f"body {algorithm} {wanted}x")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "status",
        "status 200",
        "status is 200",
        "status==200",
        "code == 200",
        "header == 200",
        "status code == 200",
        "duration total < 5",
        "js response.status == 200",
        "status exists 200",
        "status existsnot",
    ],
)
def test_an_assertion_that_is_not_understood_keeps_its_request_from_being_sent(text: str) -> None:
    (request,) = parse(f"GET http://example.org/\n\n?? {text}\n").requests
    assert [problem.code for problem in request.problems] == ["bad-assertion"]
    assert request.assertions == ()


def test_an_assertion_without_a_request_is_told_of() -> None:
    assert parse("?? status == 200\n###\nGET http://example.org/\n").problems


def test_every_operator_is_understood_however_it_is_written() -> None:
    for operator in (*OPERATORS, "matches"):
        (request,) = parse(f"GET http://a/\n\n?? body {operator.upper()}\n").requests
        assert [one.operator for one in request.assertions] == [operator]
