"""Assertions of request files are parsed and evaluated as httpyac's guide says."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest import classes
from orgrest.http.assertions import OPERATORS, SUBJECTS, ParsedAssertion, Tools, find, judge
from orgrest.http.parsing.request_file import parse
from orgrest.http.syntax import Assertion, Template
from orgrest.model import Response, Span

NOWHERE = (None, None, None)
BODY = (
    '{"id": 7, "name": "Ann", "on": true, "none": null, "list": [1, "two"], '
    '"deep": {"a": [{"b": 0}]}}'
)


def answer(body: str = BODY, kind: str = "application/json") -> Response:
    headers = (("Content-Type", kind), ("X-Id", "12"))
    return Response(200, "OK", "1.1", headers, body.encode(), 0.25, "http://example.org/")


def judged(
    text: str, response: Response | None = None, tools: Tools | None = None
) -> tuple[bool, str]:
    (request,) = parse(f"GET http://example.org/\n\n?? {text}\n").requests
    assert request.problems == ()
    (assertion,) = request.assertions
    verdict = judge(
        assertion, assertion.expected.text, response or answer(), tools or Tools(), NOWHERE
    )
    return verdict.held, verdict.reason


def held(text: str, response: Response | None = None, tools: Tools | None = None) -> bool:
    return judged(text, response, tools)[0]


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("status 200", "status == 200"),
        ("Duration 100 ms", "Duration == 100 ms"),
        ("status 200 OK", "status == 200"),
    ],
)
def test_an_assertion_without_an_operator_says_where_one_stands(text: str, repaired: str) -> None:
    name = text.split()[0]
    assert find(text) == f"expected an operator after ?? {name}, as in ?? {repaired}"


_ONE_EACH = "write one line for each condition, each beginning with ??"
_REMOVE = "remove the text after the number"
_SEVERAL = "to accept several values, write in 200, 404; write 1,000 as 1000"


@pytest.mark.parametrize(
    ("text", "found", "hint"),
    [
        ("status >= 200 && status < 300", "200 && status < 300", _ONE_EACH),
        ("status >= 200 and < 300", "200 and < 300", _ONE_EACH),
        ("status == 401 and body $.error == other", "401 and body $.error == other", _ONE_EACH),
        ("status != 500 && duration < 9", "500 && duration < 9", _ONE_EACH),
        ("status == 2xx && length > 0", "2xx && length > 0", _ONE_EACH),
        ("status in 200, 404 && length > 0", "200, 404 && length > 0", _ONE_EACH),
        ("status == 200, 404", "200, 404", _SEVERAL),
        ("status == 404 || 200", "404 || 200", _SEVERAL),
        ("status == 200 OK", "200 OK", _REMOVE),
        ("status < 4xx", "4xx", _REMOVE),
        ("length > 1,000", "1,000", _SEVERAL),
        ("duration < 1 s && status == 200", "1 s && status == 200", _ONE_EACH),
        ("body id > 5 && id < 6", "5 && id < 6", _ONE_EACH),
    ],
)
def test_a_second_condition_is_never_ignored(text: str, found: str, hint: str) -> None:
    assert find(text) == f"expected only a number: {hint}; found {found}"


@pytest.mark.parametrize(
    "text",
    ["body id == 7,000", "body id != 7 or so", "body id in 7, 8 or 9", "js 7 == 7 x"],
)
def test_text_after_a_number_is_an_error_if_the_value_is_a_number(text: str) -> None:
    (request,) = parse(f"GET http://example.org/\n\n?? {text}\n").requests
    (assertion,) = request.assertions
    tools = Tools(javascript=lambda _: [7])
    verdict = judge(assertion, assertion.expected.text, answer(), tools, NOWHERE)
    assert (verdict.held, verdict.reason[:24]) == (False, "expected only a number: ")


def test_a_secret_in_an_invalid_number_is_masked_as_a_whole() -> None:
    (assertion,) = parse("GET http://h/\n\n?? status in {{x}}\n").requests[0].assertions
    secret = "4, 5hunter, " + "h" * 200
    tools = Tools(hide=lambda text: "***" if text == secret[:100] else text)
    verdict = judge(assertion, secret, answer(), tools, NOWHERE)
    assert verdict.reason == f"expected only a number: {_REMOVE}; found ***..."


@pytest.mark.parametrize(
    ("limit", "holds"),
    [
        ("249", False),
        ("251", True),
        ("251 ms", True),
        ("0.2 s", False),
        ("1s", True),
        ("1 S", True),
        ("1 m", True),
        (".2 s", False),
        (".3 s", True),
        ("251%", True),
    ],
)
def test_a_duration_is_compared_in_the_unit_that_the_author_wrote(limit: str, holds: bool) -> None:
    assert held(f"duration < {limit}") is holds


def test_an_unknown_unit_of_a_duration_is_not_taken_for_milliseconds() -> None:
    assert find("duration < 5 sec") == (
        "expected a number of milliseconds or a time such as 500 ms, 2 s or 1 m; found 5 sec"
    )


def test_a_misspelt_subject_is_corrected() -> None:
    assert find("stauts == 200") == "unknown subject stauts; did you mean status?"
    assert str(find("code == 200")).startswith("unknown subject code; available: status, header")


def test_the_subject_for_a_property_that_the_response_object_lacks_is_named() -> None:
    def reason(text: str) -> str:
        (assertion,) = parse(f"GET http://h/\n\n?? {text}\n").requests[0].assertions
        tools = Tools(javascript=lambda _: [])
        return judge(assertion, assertion.expected.text, answer(), tools, NOWHERE).reason

    assert (
        reason("response.status == 200") == "js response.status is missing; did you mean ?? status?"
    )
    assert reason("js response.status exists").endswith("did you mean ?? status?")
    assert reason("js response.nothing == 7") == "js response.nothing is missing"


def test_texts_with_the_same_unit_are_compared() -> None:
    response = answer('{"took": "15 ms", "used": "75%", "share": 75}')
    assert held("body took < 200 ms", response)
    assert held("body used < 80%", response)
    assert held("body share < 80%", response)
    assert not held("body took < 2 s", response)


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        ("status = 200", "status == 200"),
        ("status =200", "status == 200"),
        ("status = 200 OK", "status == 200"),
        ("status = 200, 404", "status == 200"),
        ("header X = 200 OK", "header X == 200 OK"),
        ("body a = 1", "body a == 1"),
        ("eventually 3 s body a = b == c", None),
        ("= 1", None),
        ("status => 3", None),
        ("status =~ 2.*", None),
        ("body $.x[?(@.a=1)]", None),
    ],
)
def test_a_single_equals_sign_is_explained(text: str, repaired: str | None) -> None:
    reason = f"to compare, write == instead of =, as in ?? {repaired}"
    assert (find(text) == reason) is (repaired is not None)


@pytest.mark.parametrize(
    "text",
    [
        "status == 200",
        "status === 200",
        "status equals 200",
        "STATUS == 200",
        "status ==200",
        "status == 200.0",
        "duration < 251 s",
        "status != 404",
        "status not equals 404",
        "status >= 200",
        "status < 300",
        "status isNumber",
        "status == 2xx",
        "status != 4XX",
        "status in 200, 404",
        "status in 404,2xx",
        "status not in 4xx, 5xx",
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
        "header X-None in x, undefined",
        "header X-None in undefined, null",
        "body nowhere in 1, null, undefined",
        "duration in 1 s, 250 ms",
        "duration not in 1 s, 2 s",
        "body nowhere == undefined",
        "body none != undefined",
        "body none in 1, null",
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
        'body list == [1.0, "two"]',
        "body list.length == 2",
        "body name.length == 3",
        "body deep.a[0].b == 0",
        "body ['name'] == Ann",
        "body deep.a exists",
        "body.id == 7",
        "body.deep.a[0].b == 0",
        "body['name'] == Ann",
        "$.list[1] == two",
        "jsonpath $.list[1] == two",
        'body name == "Ann"',
        'body id != "7"',
        "body name not contains x",
        "body name in Bob, Ann",
        "body list count 2",
        "body list count >= 2",
        "body $.list[*] count 2",
        "body deep isObject",
        "body nowhere not exists",
        "body deep.a[0].b isDefined",
        "body none isDefined",
        "body nowhere not isDefined",
        "header X-None not isDefined",
        "length > 80",
        "bytes startsWith 7B22",
        "redirects == 0",
        "url endsWith example.org/",
        "eventually 30 s status == 200",
        "header x-id count 1",
        "header x-id not startsWith 3",
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
        ("status > x", "> requires a number, found x"),
        ("status not <= x", "<= requires a number, found x"),
        ("status == 4xx", "status is 200"),
        ("status in 201, 3xx", "status is 200"),
        ('body id == "7"', "body id is 7, a number"),
        ("body list count 3", "body list has 2"),
        ("body count 3", "body has 1"),
        ("body count == 3", "body count is missing"),
        ("body contains == 2", "write body $.contains == 2"),
        ('body name contains "A"', "body name is Ann; the quotes are part of the text"),
        (
            "body name == 'Ann'",
            "is Ann; single quotes are part of the value",
        ),
        (
            "body id in '7', '8'",
            "is 7; single quotes are part of the value",
        ),
        ("body name isUuid", "body name is Ann"),
        ("cookie sid exists", "cookie sid is missing"),
        ("certificate days > 3", "no verified certificate"),
        ("header X-None exists", "header X-None is missing"),
        ("header X-None == null", "header X-None is missing, not null: to test for a missing"),
        ("body nowhere == null", "body nowhere is missing, not null"),
        ("body nowhere not == null", "body nowhere is missing, not null"),
        ("body nowhere != null", "body nowhere is missing, not null"),
        ("body nowhere in 1, null", "body nowhere is missing, not null"),
        ("body nowhere != undefined", "body nowhere is missing"),
        ("body none == undefined", "body none is null"),
        ("header X-None contains a", "header X-None is missing"),
        ("body nowhere exists", "body nowhere is missing"),
        ("body nowhere isDefined", "body nowhere is missing"),
        ("body none not isDefined", "body none is present"),
        ("body none == 3", "body none is null"),
        ("body none != null", "body none is null"),
        ("body none exists", "body none is null"),
        ("body none isString", "body none is null"),
        ('body none == "null"', "body none is null, not text"),
        ("body id.length == 1", "body id.length is missing"),
        ("body list contains three", 'body list is [1, "two"]'),
        ("body on == 1", "body on is true"),
        ("body deep == {", 'body deep is {"a": [{"b": 0}]}'),
        ("body name isNumber", "body name is Ann"),
        ("body name md5 x", "body name has the MD5 digest guM196wODkErKuFavmYhEA== (Base64)"),
        ("body matches A", "is not available here"),
        ("body a[ == 1", "is not a valid JSONPath:"),
        ("body //id == 1", "the body is not valid XML"),
    ],
)
def test_an_assertion_that_does_not_hold_says_what_is_the_case(text: str, reason: str) -> None:
    assert reason in judged(text)[1]
    assert not held(text)


@pytest.mark.parametrize(
    "text",
    [
        "body sha256 == ab",
        "body sha256 exists",
        "body exists == true",
        "body isString == no",
        "body count == 3",
        "body $.matches == 2",
        "jsonpath matches == 2",
        "jsonpath count == 3",
        "header Count == 3",
        "body text contains == 3",
    ],
)
def test_a_field_with_the_name_of_an_operator_is_found(text: str) -> None:
    fields = {"sha256": "ab", "exists": True, "isString": "no", "count": 3, "matches": 2}
    response = answer(json.dumps({**fields, "text": "a == 3"}))
    response = classes.evolve(response, headers=(*response.headers, ("Count", "3")))
    assert judged(text, response) == (True, "")


@pytest.mark.parametrize("text", ["a == 3", "is in stock", "count"])
def test_a_text_that_begins_like_an_operator_is_searched_for(text: str) -> None:
    assert held(f"body contains {text.split(maxsplit=1)[-1]}", answer(text, "text/plain"))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("body $.id == 9007199254740993", True),
        ("body $.id in 1, 9007199254740993", True),
        ("body $.id != 9007199254740993", False),
        ("body $.id == 9007199254740992", False),
        ("body $.id < 9007199254740994", True),
        ("body $.id == 9007199254740993.0e0", False),
        ("body $.text == 9007199254740993", True),
    ],
)
def test_ids_beyond_the_exact_floats_are_compared_digit_by_digit(text: str, holds: bool) -> None:
    response = answer('{"id": 9007199254740993, "text": "9007199254740993"}')
    assert judged(text, response)[0] is holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ('body f == {"g": false}', True),
        ('body f == {"g": 0}', False),
        ('body l == [true, 1, "1", {"x": 0}]', True),
        ('body l == [1, 1, "1", {"x": 0}]', False),
        ('body l == [true, true, "1", {"x": 0}]', False),
        ('body l == [true, 1, "1", {"x": false}]', False),
        ('body l == [true, 1, "1"]', False),
        ('body l == [true, 1, "1", {"y": 0}]', False),
        ('body l != [true, 1, "1", {"x": false}]', True),
    ],
)
def test_true_is_not_one_however_deep_it_stands(text: str, holds: bool) -> None:
    assert held(text, answer('{"f": {"g": false}, "l": [true, 1.0, "1", {"x": 0}]}')) is holds


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
        "js == 200",
        "certificate chain exists",
        "body count x",
        "body a schema",
        "length a == 1",
        "status exists 200",
        "status existsnot",
        "status >= 200 && status < 300",
    ],
)
def test_an_assertion_that_is_not_understood_keeps_its_request_from_being_sent(text: str) -> None:
    (request,) = parse(f"GET http://example.org/\n\n?? {text}\n").requests
    assert [problem.code for problem in request.problems] == ["bad-assertion"]
    assert request.assertions == ()


def test_an_assertion_without_a_request_is_reported() -> None:
    assert parse("?? status == 200\n###\nGET http://example.org/\n").problems


def test_every_operator_is_understood_however_it_is_written() -> None:
    for name, operator in OPERATORS.items():
        expected = "1" if operator.required else ""
        (request,) = parse(f"GET http://a/\n\n?? body a {name.upper()} {expected}\n").requests
        assert [assertion.operator for assertion in request.assertions] == [name]
        (request,) = parse(f"GET http://a/\n\n?? body a NOT {name.upper()} {expected}\n").requests
        assert [assertion.operator for assertion in request.assertions] == [f"not {name}"]


# ------------------------------------------------------------------------------------- hostile ones

WORDS = st.sampled_from(
    [*SUBJECTS, *OPERATORS, "not", "eventually 3s", "$.a", "'", '"', "a[0]", "=="]
)
LINES = st.one_of(st.text(), st.lists(st.one_of(WORDS, st.text(max_size=5))).map(" ".join))


@pytest.mark.slow
@given(LINES)
def test_whatever_follows_the_marks_is_an_assertion_or_told_to_be_none(text: str) -> None:
    found = find(text)
    if isinstance(found, ParsedAssertion):
        assert found.subject in SUBJECTS
        assert found.operator.removeprefix("not ") in OPERATORS
        assert text[found.start :] == found.expected
    else:
        assert found


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)


@given(VALUES, st.sampled_from(sorted(OPERATORS)), st.text(max_size=9) | VALUES.map(json.dumps))
def test_an_assertion_and_its_opposite_never_agree_and_never_break(
    value: object, operator: str, expected: str
) -> None:
    rule = OPERATORS[operator]
    expected = "".join(expected.split()) or "1" if rule.expected else ""
    response = answer(json.dumps({"a": value}))
    found = [find(f"body a {word}{operator} {expected}".strip()) for word in ("", "not ")]
    verdicts = [
        judge(as_assertion(one), one.expected, response, Tools(), NOWHERE)
        for one in found
        if isinstance(one, ParsedAssertion)
    ]
    cannot_be_judged = re.compile("here|requires a number")
    if len(verdicts) == 2 and not any(cannot_be_judged.search(each.reason) for each in verdicts):
        assert verdicts[0].held != verdicts[1].held


def as_assertion(found: ParsedAssertion) -> Assertion:
    text = Template("", ((0, 0),))
    return Assertion(
        text, found.subject, found.path, found.operator, text, Span(0, 0), found.within
    )


@pytest.mark.parametrize(
    "text",
    [
        "body " + " " * 200_000 + "x",
        "body " + "not " * 50_000,
        "js " + "a == " * 50_000,
        "body a count " + "9" * 100_000,
        "jq '" + "a" * 200_000,
    ],
)
def test_a_long_line_is_read_at_once(text: str) -> None:
    find(text)


def test_values_that_are_too_deep_or_too_long_break_nothing() -> None:
    deep = answer('{"a": ' + "[" * 900 + "]" * 900 + "}")
    for line in ("body a == " + "[" * 900 + "]" * 900, "body a contains x", "body a isUuid"):
        judged(line, deep)
    verdict = judged("body a == 1", answer('{"a": "' + "x\\n" * 100_000 + '"}'))
    assert len(verdict[1]) < 200


@pytest.mark.parametrize(
    "text",
    [
        "body not contains error",
        "body $.id == 7",
        "body sha256 x",
        "bytes not contains 6572726f72",
        "length == 3",
        f"sha256 == {hashlib.sha256(b'abc').hexdigest()}",
        "jsonpath $.none not exists",
        "jq .none not exists",
        "xpath //none not exists",
    ],
)
def test_an_assertion_about_a_body_that_was_not_read_completely_fails(text: str) -> None:
    cut = classes.evolve(answer("abc"), truncated=True)
    assert judged(text, cut) == (False, "the body is larger than 3 bytes: the rest was not read")
    assert held("status == 200", cut)
    assert held("header X-Id == 12", cut)


_ITEMS = answer('{"items": [{"id": 10, "on": true}, {"id": 11, "on": false}, {"id": 12}]}')
_XML = answer("<r><id>10</id><id>11</id><id>12</id></r>", "application/xml")


@pytest.mark.parametrize("negation", ["", "not "])
@pytest.mark.parametrize(
    "condition",
    ["== 10", "!= 10", "in 10, 13", "< 11", "startsWith 1", "matches ^10$", "isTrue", "isNumber"],
)
def test_no_condition_on_several_matches_is_checked_only_for_the_first(
    condition: str, negation: str
) -> None:
    select = "select one, or check all of them with == [...], contains or count"
    for path in ("body $.items[*].id", "body $..id", "jsonpath $.items[*].id"):
        passed, reason = judged(f"{path} {negation}{condition}", _ITEMS)
        assert (passed, reason) == (False, f"{path} has 3 matches: {select}")
    passed, reason = judged(f"body //id {negation}{condition}", _XML)
    assert (passed, reason) == (False, f"body //id has 3 matches: {select}")


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("== [10, 11, 12]", True),
        ("== [10, 11]", False),
        ("!= [10, 11]", True),
        ("contains 11", True),
        ("not contains 11", False),
        ("contains 13", False),
        ("contains 1", False),
        ("count 3", True),
        ("exists", True),
        ("isDefined", True),
        ("isFalse", False),
    ],
)
def test_several_matches_can_be_checked_as_a_list(condition: str, holds: bool) -> None:
    assert held(f"body $.items[*].id {condition}", _ITEMS) is holds
    assert held(f"jsonpath $..id {condition}", _ITEMS) is holds


def test_one_of_several_matches_must_be_present_for_exists() -> None:
    errors = answer('[{"error": null}, {"error": ""}]')
    assert held("body $..error not exists", errors)
    assert held("body $..error isFalse", errors)
    assert held("body $..error exists", answer('[{"error": null}, {"error": "x"}]'))


@pytest.mark.parametrize("more", ["", ', {"n": "y"}', ', {"n": "y"}, {"n": 3}'])
@pytest.mark.parametrize(
    "path", ["body $.items[*].n", "jsonpath $..n", "body items[0:].n", "body $.items[?@.n].n"]
)
def test_a_text_in_one_of_several_matches_is_found_whatever_their_number(
    path: str, more: str
) -> None:
    response = answer(f'{{"items": [{{"n": "wrong password"}}{more}]}}')
    assert held(f"{path} contains password", response)
    assert not held(f"{path} not contains password", response)
    assert held(f"{path} not contains secret", response)


@pytest.mark.parametrize("more", ["", ', {"tags": ["b"], "id": 20}'])
def test_lists_and_objects_among_several_matches_are_searched_like_single_ones(more: str) -> None:
    response = answer(f'[{{"tags": ["a", "long"], "id": 10}}{more}]')
    assert held("body $[*].tags contains long", response)
    assert held("body $[*].tags not contains lon", response)
    assert held("body $[*] contains long", response)
    assert not held("body $[*] not contains long", response)
    assert held("body $[*].id contains 10", response)
    assert held("body $[*].id not contains 1", response)


@pytest.mark.parametrize(
    ("items", "listed", "other"), [("", "[]", "[10]"), ("10", "[10]", "[]"), ("[1]", "[[1]]", "[]")]
)
@pytest.mark.parametrize("path", ["body $[*]", "body '$[?@ != 0]'", "jsonpath $[0:9]"])
def test_a_list_of_all_matches_can_be_compared_if_there_is_only_one_or_none(
    path: str, items: str, listed: str, other: str
) -> None:
    response = answer(f"[{items}]")
    for expected, holds in ((listed, True), (other, False)):
        assert held(f"{path} == {expected}", response) is holds
        assert held(f"{path} != {expected}", response) is not holds


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("body '$[?@.id == 1].id' == 1", True),
        ("body '$[?@.id == 1].tags' == [2]", True),
        ("body '$[?@.id == 1].tags' isArray", True),
        ("body [0].id contains 1", True),
        ("body $[0]['id'] == [1]", False),
        ("body $[0].id == []", False),
        ("body $[0].none == []", False),
    ],
)
def test_a_single_match_is_also_compared_as_a_value(text: str, holds: bool) -> None:
    assert held(text, answer('[{"id": 1, "tags": [2]}]')) is holds


@pytest.mark.parametrize("path", ["jq .[].id", "xpath //id"])
def test_several_results_of_jq_and_xpath_are_a_list_like_any_other(path: str) -> None:
    values = [10, 11] if path.startswith("jq") else ["10", "11"]

    def validated(value: object, _: str) -> str:
        return "" if value == values else f"is {value}"

    tools = Tools(
        jq=lambda _, __: "10\n11",
        matches=lambda text, pattern: re.search(pattern, text) is not None,
        wrong_by_schema=validated,
    )
    response = answer("<r><id>10</id><id>11</id></r>", "application/xml")
    for condition in ("schema ids.json", "matches 11", "isTrue", "exists", "!= 3", "not == 10"):
        assert held(f"{path} {condition}", response, tools), condition
    for condition in ("== 10", "< 3", "contains 1", "isNumber"):
        assert not held(f"{path} {condition}", response, tools), condition
    assert held("xpath //a exists", answer("<r><a/><a/></r>", "application/xml"))


@pytest.mark.parametrize("items", ["10", "10, 11"])
def test_the_schema_of_a_list_accepts_all_matches_of_a_path(items: str) -> None:
    tools = Tools(wrong_by_schema=lambda value, _: "" if isinstance(value, list) else "no list")
    assert held("body $[*] schema ids.json", answer(f"[{items}]"), tools)
    assert not held("body $[0] schema ids.json", answer(f"[{items}]"), tools)
    assert not held("body $.none[*] schema ids.json", answer(f"[{items}]"), tools)


def test_the_schema_of_an_element_accepts_the_only_match_of_a_path() -> None:
    tools = Tools(wrong_by_schema=lambda value, _: "" if value == 10 else "is not 10")
    assert held("body '$[?@ == 10]' schema id.json", answer("[10, 11]"), tools)
