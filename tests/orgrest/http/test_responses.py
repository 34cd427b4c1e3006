"""References to values of another exchange: `{{login.response.body.$.token}}`."""

from __future__ import annotations

import pytest

from orgrest import classes
from orgrest.http.responses import ResponseReference, all_found, read, read_short, text_of, value
from orgrest.model import OrgrestError, Request, Response
from orgrest.rendering.content import decode

UNUSABLE_CHARSETS = ("idna", "undefined", "punycode", "unicode_escape", "mbcs", "\\")
REQUEST = Request("POST", "http://a/", (("Content-Type", "application/json"),), b'{"user": "me"}')


def response(body: bytes, kind: str = "application/json") -> Response:
    return Response(
        200, "OK", "1.1", (("Content-Type", kind), ("X-Id", "7")), body, 0.1, "http://a/"
    )


JSON = response(
    b'{"token": "t", "n": null, "data": [{"id": 7}, {"id": 8}], "a.b": {"c d": "\xc3\xa9"}}'
)
XML = response(
    b'<a xmlns:n="u"><reply id="4">x<b>y</b></reply><n:reply>z</n:reply></a>', "text/xml"
)


def given(text: str, answer: Response = JSON) -> str:
    reference = read(text)
    assert reference is not None
    return value(reference, REQUEST, answer)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("login.response.body.$.token", "t"),
        ("login.response.body.token", "t"),
        ("login.response.body.$.data[1].id", "8"),
        ("login.response.body.data[0]", '{"id":7}'),
        ("login.response.body.$..id", "7"),
        ("login.response.body.$.n", "null"),
        ("login.response.body.$['a.b']['c d']", "é"),
        # jsonpath-plus, which VS Code REST Client uses
        ("login.response.body.$.data.[1].id", "8"),
        ("login.response.body.data.[*].id", "7"),
        ("login.response.body.$.data[?(@.id===8)].id", "8"),
        ("login.response.body.$.data[?(@.id!==7)].id", "8"),
        ("login.response.body.$.data[(@.length-1)].id", "8"),
        ("login.response.body.$[?(@ == 't' && @ != '=== .[')]", "t"),
        ("login.response.body.asJson.token", "t"),
        ("login.response.headers.x-id", "7"),
        ("login.response.status", "200"),
        ("login.request.body.$.user", "me"),
        ("login.request.headers.content-type", "application/json"),
    ],
)
def test_a_path_leads_to_a_value(path: str, expected: str) -> None:
    assert given(path) == expected


@pytest.mark.parametrize("path", ["login.response.body", "login.response.body.*"])
def test_the_whole_body_can_be_taken(path: str) -> None:
    assert given(path) == JSON.body.decode()


def test_an_index_may_follow_the_body_at_once() -> None:
    assert given("l.response.body[1].id", response(b'[{"id": 1}, {"id": 2}]')) == "2"


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("l.response.body.//reply[1]/@id", "4"),
        ("l.response.body./a/reply", "xy"),
        ("l.response.body.//n:reply", "z"),
        ("l.response.body.//n:reply/text()", "z"),
        ("l.response.body.asXml.//reply/b", "y"),
        ("l.response.body.count(//reply)", "1"),
        ("l.response.body.//reply/@id = '4'", "true"),
    ],
)
def test_xpath_finds_its_way_in_xml(path: str, expected: str) -> None:
    assert given(path, XML) == expected


@pytest.mark.parametrize(
    ("path", "answer", "reason"),
    [
        ("l.response.body.nope", JSON, "l's response: nothing found at $.nope"),
        (
            "l.response.body.$[",
            JSON,
            "l's response: $[ is not a valid JSONPath: unexpected end of query",
        ),
        (
            "l.response.body.$.data[?(@.id.match(/8/))]",
            JSON,
            (
                "l's response: $.data[?(@.id.match(/8/))] is not a valid JSONPath: JavaScript is "
                "not evaluated in it; write, for example, [-1] or [?search(@.name, 'pattern')]"
            ),
        ),
        (
            "l.response.body.a",
            response(b"<x>", "text/html"),
            "l's response: cannot look up a: the body is not valid JSON",
        ),
        (
            "l.response.body.a",
            response(b"[" * 99999 + b"]" * 99999),
            "l's response: cannot look up a: the body is nested too deeply",
        ),
        ("l.response.body.//z", XML, "l's response: nothing found at //z"),
        ("l.response.body.//[", XML, "l's response: //[ cannot be evaluated:"),
        (
            "l.response.body.//a",
            JSON,
            "l's response: cannot look up //a: the body is not valid XML",
        ),
        ("l.response.headers.nope", JSON, "l's response has no header nope"),
    ],
)
def test_what_is_not_there_is_an_error_that_says_so(
    path: str, answer: Response, reason: str
) -> None:
    with pytest.raises(OrgrestError) as caught:
        given(path, answer)
    assert caught.value.reason.startswith(reason)


def test_entities_of_hostile_xml_are_bounded() -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    body = f'<!DOCTYPE a [<!ENTITY l0 "ha">{laughs}]><a>&l9;</a>'.encode()
    with pytest.raises(OrgrestError, match="the body is not valid XML"):
        given("l.response.body.//a", response(body, "text/xml"))


def test_a_reference_is_told_from_a_variable() -> None:
    assert read("login.response.body.$.a") == ResponseReference("login", "response", "body", "$.a")
    assert read("login.response") is None
    assert read("token") is None
    assert read_short("login.token") == ResponseReference("login", "response", "body", "token")
    assert read_short("login[0].a") == ResponseReference("login", "response", "body", "[0].a")
    assert read_short("token") is None


def test_a_body_is_read_in_its_charset() -> None:
    assert text_of(b"\xe9", (("Content-Type", "text/plain; charset=latin-1"),)) == "é"
    assert text_of("é".encode(), ()) == "é"
    assert text_of(b"a", (("Content-Type", "text/plain; charset=nosuch"),)) == "a"
    assert text_of(b"a", (("Content-Type", "text/plain; charset=rot13"),)) == "a"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<?xml version='1.0' encoding='latin-1'?><a>é</a>".encode("latin-1"), "text/xml"),
        ("<meta charset=latin-1><p>é".encode("latin-1"), "text/html"),
        ('{"é": 1}'.encode("utf-8-sig"), "application/json"),
        ('{"é": 1}'.encode("utf-16"), "application/json"),
        ('{"é": 1}'.encode("utf-32"), "application/json; charset=utf-8"),
        ("é".encode("latin-1"), "text/plain; charset='iso-8859-1'"),
        ("é".encode("utf-8-sig"), "text/plain; charset='utf-8'"),
        *(("é \\u0041".encode(), f"text/plain; charset={name}") for name in UNUSABLE_CHARSETS),
    ],
)
def test_assertions_and_references_see_the_text_that_results_show(body: bytes, kind: str) -> None:
    answer = response(body, kind)
    text = text_of(answer.body, answer.headers)
    assert text == decode(answer)[0]
    assert ("é" in text, "\ufeff" in text) == (True, False)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("$[?search(@.a, 'b+')].n", [1, 2]),
        ("$[?match(@.a, 'a.*')].n", [1]),
        ("$[?match(@.a, 'b')].n", []),
        ("$[?match(@.n, 'b')].n", []),
        ("$[?@.a =~ /AB+/i].n", [1]),
        ("$[?@.a =~ /xb/].n", [2]),
        ("$[?@.n > 1].n", [2, 3]),
    ],
)
def test_patterns_in_a_path_find_what_they_are_for(path: str, expected: list[int]) -> None:
    text = '[{"a": "abb", "n": 1}, {"a": "xb", "n": 2}, {"a": "\\ny", "n": 3}]'
    assert all_found(text, path) == expected


@pytest.mark.parametrize("form", ["search(@.a, '(a+)+$')", "match(@.a, '(a+)+')", "@.a =~ /(a+)+/"])
def test_a_pattern_in_a_path_never_blows_up(form: str) -> None:
    assert all_found('[{"a": "' + "a" * 5_000 + '!"}]', f"$[?{form}]") == []


@pytest.mark.parametrize("path", ["$[?search(@.a, '(')]", "$[?@.a =~ /(/]"])
def test_a_pattern_in_a_path_that_is_invalid_is_reported(path: str) -> None:
    with pytest.raises(OrgrestError, match=r"invalid regular expression|is not a valid JSONPath"):
        all_found('[{"a": "a"}]', path)


def test_a_body_that_was_not_read_completely_is_not_inserted_as_if_it_were() -> None:
    cut = classes.evolve(JSON, truncated=True)
    for path in ("", ".*", ".token"):
        with pytest.raises(OrgrestError, match="login's response: the body is larger than"):
            given(f"login.response.body{path}", cut)
    assert given("login.response.headers.X-Id", cut) == "7"
    assert given("login.request.body.user", cut) == "me"
