"""Assertions in a run with a real server: those that need an engine, a file or a document."""

from __future__ import annotations

import datetime
import hashlib
import json
import ssl
import sys
from typing import TYPE_CHECKING, Any

import pytest
import trustme
from components import needs_engine
from evaluated import Evaluated
from servers import RawServer, by_path, response

from orgrest.http import scripts
from orgrest.http.transport.client import Client
from orgrest.http.values import Inputs
from orgrest.installing import install_command
from orgrest.run.comparison import Volatile, difference

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orgrest.model import Verdict

USER = {
    "id": "7f3b2a80-4c1e-4a5b-9d2c-1f2e3d4c5b6a",
    "at": "2026-01-31T12:00:00.123456789Z",
    "n": 3,
    "items": [{"k": "a"}, {"k": "b"}],
}
XML = b"<r xmlns:n='urn:n'><item id='1'>a</item><item id='2'>b</item><n:x>c</n:x></r>"


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    json_type = "Content-Type: application/json"
    cookies = ("Set-Cookie: sid=abc; Path=/; Max-Age=60; Secure", 'Set-Cookie: q="x y"')
    answers = by_path(
        {
            "/user": response(json.dumps(USER).encode(), json_type, *cookies),
            "/xml": response(XML, "Content-Type: application/xml"),
            "/text": response(b"one\ntwo\nthree\n", "Content-Type: text/plain"),
            "/moved": response(b"", "Location: /user", status="302 Found"),
            "/404": response(b'{"error": "no"}', json_type, status="404 Not Found"),
        }
    )
    with RawServer(answers) as running:
        yield running


def evaluated(
    server: RawServer, folder: Path, text: str, *, ca: Path | None = None, **options: Any
) -> Evaluated:
    inputs = Inputs(directory=folder, overrides={"three": "3"})
    return Evaluated(text, inputs, url=server.url, client=Client(ca=ca), **options)


def judged(server: RawServer, folder: Path, path: str, *lines: str) -> list[Verdict]:
    text = f"GET HOST{path}\n\n" + "".join(f"?? {line}\n" for line in lines)
    done = evaluated(server, folder, text)
    assert done.reasons == []
    return done.tests


HOLD = [
    ("/user", "jq .n == 3"),
    ("/user", "jq '.items | length' == 2"),
    ("/user", 'jq \'.items[].k\' == ["a", "b"]'),
    ("/user", "jq '.items[].k' contains b"),
    ("/user", "jq '.items[]' count 2"),
    ("/user", "jq .none not exists"),
    ("/user", "body n == {{three}}"),
    ("/user", "body id isUuid"),
    ("/user", "body at isIsoDate"),
    ("/user", "body n not isIsoDate"),
    ("/user", "cookie sid == abc"),
    ("/user", "cookie sid[Max-Age] == 60"),
    ("/user", "cookie sid[secure] isTrue"),
    ("/user", "cookie q == x y"),
    ("/user", "cookie sid[domain] not exists"),
    ("/user", f"sha256 == {hashlib.sha256(json.dumps(USER).encode()).hexdigest().upper()}"),
    ("/user", "body matches [0-9a-f]{8}-4?"),
    ("/user", "body not matches ^x"),
    ("/xml", "xpath //item count 2"),
    ("/xml", 'xpath //item == ["a", "b"]'),
    ("/xml", "xpath '//item[@id = 2]' == b"),
    ("/xml", "xpath //n:x == c"),
    ("/xml", "xpath count(//item) == 2"),
    ("/xml", "xpath //nothing not exists"),
    ("/xml", "xpath sum(//item/@id) == 3"),
    ("/xml", "xpath number(//item[2]/@id) == 2"),
    ("/xml", "xpath 'number(//item[1]/@id) div 2' == 0.5"),
    ("/xml", "xpath '//item/@id + 1' == 2"),
    ("/xml", "xpath 'number(//item)' == NaN"),
    ("/xml", "xpath '1 div 0' == Infinity"),
    ("/xml", "xpath string-length(//item) == 1"),
    ("/xml", "xpath 'starts-with(//item, \"a\")' == true"),
    ("/xml", "xpath '//item[@id < \"10\"]' count 2"),
    ("/xml", "xpath 'string-join(//item, \"+\")' == a+b"),
    ("/xml", "xpath '//item[. lt \"b\"]' == a"),
    ("/xml", "xpath '//item[. < \"b\"]' == a"),
    ("/xml", "xpath '1234567890123456789012345678.10' == 1234567890123456789012345678.1"),
    ("/moved", "redirects == 1"),
    ("/moved", "url endsWith /user"),
]


@pytest.mark.parametrize(("path", "line"), HOLD)
def test_an_assertion_holds_where_its_words_are_true(
    server: RawServer, tmp_path: Path, path: str, line: str
) -> None:
    (verdict,) = judged(server, tmp_path, path, line)
    assert (verdict.held, verdict.reason) == (True, "")


@pytest.mark.parametrize(
    ("path", "line", "reason"),
    [
        ("/user", "jq .n == 4", "jq .n is 3"),
        ("/user", "jq .[ == 1", "jq: "),
        ("/user", "body n == {{three}}4", "body n is 3, expected 34"),
        ("/user", "body n schema none.json", "could not read none.json"),
        ("/user", "body n schema ../none.json", "outside"),
        ("/user", "body count {{host}}", "the variable host is not defined"),
        ("/user", "body items count {{three}}x", "count requires a number,"),
        ("/xml", "xpath //item[ exists", "cannot be evaluated:"),
        ("/text", "xpath //item exists", "the body is not valid XML"),
        ("/text", "body schema s.json", "the body is not valid JSON"),
        ("/text", "certificate days > 1", "no verified certificate"),
    ],
)
def test_an_assertion_that_cannot_be_judged_or_fails_says_why_and_others_are_judged(
    server: RawServer, tmp_path: Path, path: str, line: str, reason: str
) -> None:
    first, second = judged(server, tmp_path, path, line, "status == 200")
    assert not first.held
    assert reason in first.reason
    assert second.held


@needs_engine
def test_javascript_gives_a_value_that_is_compared(server: RawServer, tmp_path: Path) -> None:
    tests = judged(
        server,
        tmp_path,
        "/user",
        "js response.statusCode == 200",
        "js response.parsedBody.items.map(x => x.k) contains b",
        "js response.statusCode === 200 && response.parsedBody.n > 2 isTrue",
        "js response.nothing not exists",
        "js null isDefined",
        "js response.nothing not isDefined",
        "js null == null",
        "js response.nothing == undefined",
        "js response.nothing == null",
        "js null exists",
        "js response.nothing exists",
        "js nonsense( exists",
    )
    assert [test.held for test in tests] == [True] * 8 + [False] * 4
    assert tests[-3].reason == "js null is null"
    assert tests[-3].actual == "null"
    assert tests[-2].reason == "js response.nothing is missing"
    assert "script" in tests[-1].reason


@needs_engine
def test_what_only_javascripts_patterns_have_is_matched_within_a_limit(
    server: RawServer, tmp_path: Path
) -> None:
    tests = judged(
        server,
        tmp_path,
        "/user",
        'body matches "n": (?=3)',
        "body matches (q)\\1",
        "body matches (",
    )
    assert [test.held for test in tests] == [True, False, False]
    assert "invalid regular expression (" in tests[2].reason


def test_a_pattern_that_blows_up_elsewhere_takes_no_time(server: RawServer, tmp_path: Path) -> None:
    (verdict,) = judged(server, tmp_path, "/text", "body matches (\\w+\\s?)+!$")
    assert not verdict.held
    assert verdict.reason.startswith("body is one")


def test_a_pattern_between_slashes_as_in_javascript_is_explained(
    server: RawServer, tmp_path: Path
) -> None:
    for pattern in ("/^A/", "/a/i"):
        (verdict,) = judged(server, tmp_path, "/user", f"body name matches {pattern}")
        assert verdict.reason.endswith("; the slashes are part of the pattern")
    (verdict,) = judged(server, tmp_path, "/user", "body name matches /user")
    assert "slashes" not in verdict.reason


def test_without_re2_the_extra_that_brings_it_is_named(
    server: RawServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "re2", None)
    monkeypatch.setattr(scripts, "find_spec", lambda _: None)
    (verdict,) = judged(server, tmp_path, "/user", "body matches x")
    assert not verdict.held
    assert install_command("google-re2") in verdict.reason


# --------------------------------------------------------------------------------------- schemas


def test_a_body_is_valid_by_a_schema_in_files_beside_the_document(
    server: RawServer, tmp_path: Path
) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    item = {"type": "object", "properties": {"k": {"type": "string"}}}
    (folder / "item.json").write_text(json.dumps(item))
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "required": ["id"],
        "properties": {"items": {"items": {"$ref": "item.json"}}, "n": {"maximum": 5}},
    }
    (folder / "user.json").write_text(json.dumps(schema))
    (folder / "other.json").write_text(
        json.dumps({"properties": {"n": {"maximum": 2}, "at": {"type": "number"}}})
    )
    (folder / "bad.json").write_text('{"type": 5}')
    (folder / "far.json").write_text('{"$ref": "https://example.org/schema.json"}')
    (folder / "round.json").write_text('{"$ref": "round.json"}')
    (folder / "evil.json").write_text(json.dumps({"properties": {"id": {"pattern": "^("}}}))
    (folder / "text.json").write_text("no JSON")
    names = ("user", "other", "bad", "far", "round", "evil", "text")
    tests = judged(
        server, tmp_path, "/user", *(f"body schema schemas/{name}.json" for name in names)
    )
    assert [test.held for test in tests] == [True, False, False, False, False, False, False]
    assert "$.n: 3 is greater than the maximum of 2" in tests[1].reason
    assert "$.at: " in tests[1].reason
    assert "not a valid JSON Schema:" in tests[2].reason
    assert "refers to https://example.org/schema.json, which was not found" in tests[3].reason
    assert "refers to itself endlessly" in tests[4].reason
    assert "schemas/text.json is not valid JSON" in tests[6].reason
    (negated,) = judged(server, tmp_path, "/user", "body not schema schemas/other.json")
    assert negated.held


def test_a_schema_whose_patterns_blow_up_is_given_up(
    server: RawServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "VALIDATION_TIMEOUT", 1.0)
    (tmp_path / "evil.json").write_text('{"properties": {"id": {"pattern": "^([0-9a-f-]+)+!$"}}}')
    first, second = judged(server, tmp_path, "/user", "body schema evil.json", "status == 200")
    assert first.reason == "the validation did not finish within 1 s"
    assert second.held


# ----------------------------------------------------------------------------------- differences


def test_a_failure_shows_how_texts_and_json_differ(server: RawServer, tmp_path: Path) -> None:
    tests = judged(
        server, tmp_path, "/user", 'body items == [{"k": "a"}, {"k": "c"}]', "status == 404"
    )
    assert [line for line in tests[0].difference if line[0] in "+-"] == [
        '-    "k": "c"',
        '+    "k": "b"',
    ]
    assert tests[0].actual == '[{"k": "a"}, {"k": "b"}]'
    assert tests[1].difference == ()
    (text,) = judged(server, tmp_path, "/text", "body == one")
    assert "+two" in text.difference


# ----------------------------------------------------------------------------------- certificates


def test_a_certificate_that_runs_out_is_found_in_time(tmp_path: Path) -> None:
    authority = trustme.CA(organization_name="Testers")
    expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=10, hours=1)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1", common_name="here", not_after=expires).configure_cert(context)
    pem = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(pem))
    with RawServer(by_path({"/": response(b"")}), context=context) as server:
        done = evaluated(
            server,
            tmp_path,
            "GET HOST/\n\n?? certificate days == 10\n?? certificate days > 14\n"
            "?? certificate subject contains CN=here\n?? certificate issuer contains O=Testers\n"
            f"?? certificate expires startsWith {expires:%Y-%m-%dT%H}\n",
            ca=pem,
        )
    assert [test.held for test in done.tests] == [True, False, True, True, True]
    assert done.tests[1].reason == "certificate days is 10"


# ----------------------------------------------------------------------------- in Org documents


def block(*lines: str, arguments: str = "") -> str:
    return "\n".join([f"#+begin_src restclient {arguments}".rstrip(), *lines, "#+end_src", ""])


def in_org(server: RawServer, folder: Path, text: str, **options: Any) -> Evaluated:
    return evaluated(server, folder, text, file="a.org", **options)


def test_comments_in_restclients_blocks_are_assertions_of_the_request_above(
    server: RawServer, tmp_path: Path
) -> None:
    text = block("GET HOST/user", "# ?? status == 200", "# ?? body n == 4", "", "# a comment")
    done = in_org(server, tmp_path, f"* One\n{text}")
    assert [(test.name, test.held, test.line) for test in done.tests] == [
        ("status == 200", True, 4),
        ("body n == 4", False, 5),
    ]
    assert "// ok  status == 200\n// FAILED  body n == 4: body n is 3\n#+END_SRC" in done.text


def test_assertions_with_variables_of_restclient(server: RawServer, tmp_path: Path) -> None:
    text = block(
        ":wanted = 3", "GET HOST/user", "# ?? body n == :wanted", "# ?? url contains http:"
    )
    assert [test.held for test in in_org(server, tmp_path, text).tests] == [True, True]


def test_evaluating_twice_changes_nothing_but_what_the_server_does(
    server: RawServer, tmp_path: Path
) -> None:
    def steady(text: str) -> list[str]:
        return [line for line in text.split("\n") if "Request duration" not in line]

    text = block("GET HOST/user", "# ?? status == 200", "# ?? duration < 1", "# ?? status == 404")
    text = text.replace("# ?? duration < 1", "# ?? duration < 60000")
    once = in_org(server, tmp_path, text + "\nText below.\n").text
    twice = in_org(server, tmp_path, once).text
    assert "// FAILED  status == 404: status is 200" in once
    assert steady(twice) == steady(once)


def test_results_without_headers_show_assertions_too(server: RawServer, tmp_path: Path) -> None:
    text = block("GET HOST/xml", "# ?? status == 200", arguments=":noheaders t")
    assert "</r>\n<!-- ok  status == 200 -->\n#+END_SRC" in in_org(server, tmp_path, text).text


def test_an_assertion_among_headers_or_above_all_requests_is_reported(
    server: RawServer, tmp_path: Path
) -> None:
    among = block("GET HOST/user", "# ?? status == 200", "Accept: */*")
    above = block("# ?? status == 200", "GET HOST/user")
    wrong = block("GET HOST/user", "# ?? stats == 200")
    done = in_org(server, tmp_path, among + above + wrong)
    assert [outcome.state for outcome in done.outcomes] == ["failed"] * 3
    assert "ends the request" in done.reasons[0]
    assert "follow the request" in done.reasons[1]
    assert "unknown subject" in done.reasons[2]


@pytest.mark.parametrize(
    ("expected", "path", "held"),
    [
        ("200", "/user", True),
        ("2xx", "/user", True),
        ("2xx", "/404", False),
        ("404", "/404", True),
        ("200, 404", "/404", True),
        ("200 4xx", "/404", True),
        ("201 3XX", "/404", False),
    ],
)
def test_a_block_says_which_status_it_expects(
    server: RawServer, tmp_path: Path, expected: str, path: str, *, held: bool
) -> None:
    done = in_org(server, tmp_path, block(f"GET HOST{path}", arguments=f":expect {expected}"))
    (verdict,) = done.tests
    assert (verdict.held, verdict.line, verdict.file) == (held, 1, "a.org")


def test_the_expected_status_is_inherited_as_org_inherits(
    server: RawServer, tmp_path: Path
) -> None:
    text = (
        "#+PROPERTY: header-args :expect 2xx\n"
        + block("GET HOST/404")
        + "* Errors\n:PROPERTIES:\n:header-args: :expect 404\n:END:\n"
        + block("GET HOST/404")
        + block("GET HOST/404", arguments=":expect 500")
    )
    done = in_org(server, tmp_path, text)
    assert [(test.name, test.held) for test in done.tests] == [
        ("status == 2xx", False),
        ("status == 404", True),
        ("status == 500", False),
    ]


def test_requests_of_verb_have_expectations_too(server: RawServer, tmp_path: Path) -> None:
    text = (
        "* API :verb:\n:PROPERTIES:\n:header-args: :expect 2xx\n:END:\n"
        "** One\nget HOST/user\n** Two\nget HOST/404\n"
    )
    done = in_org(server, tmp_path, text, languages=frozenset({"verb"}))
    assert [(test.name, test.held) for test in done.tests] == [
        ("status == 2xx", True),
        ("status == 2xx", False),
    ]


@needs_engine
def test_tests_of_scripts_say_where_their_script_stands(server: RawServer, tmp_path: Path) -> None:
    text = "GET HOST/user\n\n> {%\nclient.test('fails', () => client.assert(false, 'no'));\n%}\n"
    (verdict,) = evaluated(server, tmp_path, text).tests
    assert (verdict.name, verdict.held, verdict.reason) == ("fails", False, "no")
    assert (verdict.file, verdict.line) == ("a.http", 3)


def test_an_expectation_that_is_invalid_sends_nothing(server: RawServer, tmp_path: Path) -> None:
    before = len(server.requests)
    done = in_org(server, tmp_path, block("GET HOST/user", arguments=":expect fine"))
    assert ":expect requires `same` or statuses such as 200 or 2xx; found fine" in done.reasons[0]
    assert len(server.requests) == before


# -------------------------------------------------------------------------------------- snapshots


@pytest.fixture
def changing() -> Iterator[tuple[RawServer, dict[str, Any]]]:
    state: dict[str, Any] = {"body": b'{"id": 1, "name": "Ann", "log": [{"at": 1}, {"at": 2}]}'}

    def answer(connection: Any, _: bytes) -> None:
        given = ("Content-Type: application/json", f"X-Id: {state.get('header', 1)}")
        connection.sendall(response(state["body"], *given))

    with RawServer(answer) as running:
        yield running, state


def verdict_of(done: Evaluated) -> tuple[bool, str]:
    ((held, reason),) = [(test.held, test.reason) for test in done.tests]
    return held, reason


SHAPES = ["", ":results value", ":wrap src json", ":results verbatim", ":results value drawer"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_result_that_is_the_same_holds_and_another_one_stays_out_of_the_document(
    changing: tuple[RawServer, dict[str, Any]], tmp_path: Path, shape: str
) -> None:
    server, state = changing
    text = block("GET HOST/", arguments=f":expect same {shape}") + "\nText below.\n"
    first = in_org(server, tmp_path, text)
    assert verdict_of(first) == (False, "there is no result in the document yet")
    assert "Ann" in first.text
    again = in_org(server, tmp_path, first.text)
    assert verdict_of(again) == (True, "")
    state["body"] = state["body"].replace(b"Ann", b"Bob")
    other = in_org(server, tmp_path, again.text)
    assert not verdict_of(other)[0]
    assert other.text == again.text
    (verdict,) = other.tests
    assert any("Ann" in line for line in verdict.difference if line.startswith("-"))
    assert any("Bob" in line for line in verdict.difference if line.startswith("+"))
    assert other.outcomes[0].change is None


@pytest.mark.parametrize("shape", SHAPES[:3])
def test_what_may_differ_is_named_once_for_a_document(
    changing: tuple[RawServer, dict[str, Any]], tmp_path: Path, shape: str
) -> None:
    server, state = changing
    text = (
        "#+PROPERTY: header-args :volatile .id .log[].at X-Id /A[nd]+/\n"
        f"#+PROPERTY: header-args+ :expect same {shape}\n\n" + block("GET HOST/")
    )
    stands = in_org(server, tmp_path, text).text
    state["header"] = 2
    state["body"] = b'{"id": 2222, "name": "And", "log": [{"at": 5}, {"at": 6}]}'
    assert verdict_of(in_org(server, tmp_path, stands)) == (True, "")
    state["body"] = b'{"id": 2, "name": "And", "log": [{"at": 5}]}'
    done = in_org(server, tmp_path, stands)
    assert not verdict_of(done)[0]
    assert not [line for line in done.tests[0].difference if '"id"' in line]


@pytest.mark.parametrize(
    "body",
    ["[1, 2]", "[]", "null", "7", '"a"', '{"items": null}', '{"items": 7}', '{"items": [7, [8]]}'],
)
def test_a_volatile_path_that_the_response_lacks_has_no_effect(
    changing: tuple[RawServer, dict[str, Any]], tmp_path: Path, body: str
) -> None:
    server, state = changing
    state["body"] = body.encode()
    text = block("GET HOST/", arguments=":expect same :volatile .id .items[].at .a.b[0] X-Id")
    stands = in_org(server, tmp_path, text).text
    state["header"] = 2
    assert verdict_of(in_org(server, tmp_path, stands)) == (True, "")


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (".items[].at", '[7, {"at": 1}, null, {"at": 2}]', '[7, {"at": 3}, null, {"at": 4}]'),
        ('.items["a"]."b]".c', '{"a": {"b]": {"c": 1}}}', '{"a": {"b]": {"c": 2}}}'),
        (".items[-1:]", "[1, 2]", "[1, 3]"),
        ('.items[]|select(.k=="x.y]").v', '[7, {"k": "x.y]", "v": 1}]', '[7, {"k": "x.y]"}]'),
        (".items?[]?", "[1]", "[2]"),
        ("..|.at?", '[{"at": 1}]', '[{"at": 2}]'),
        (".items.a,.items.b", '{"a": 1, "b": 1}', '{"a": 2}'),
    ],
)
def test_a_volatile_path_is_ignored_wherever_the_response_has_it(
    path: str, old: str, new: str
) -> None:
    before, after = (f'{{"items": {items}}}\n' for items in (old, new))
    assert difference(before, after, Volatile(paths=(".x[].y", path))) == ()
    assert difference(before, after, Volatile()) != ()


@pytest.mark.parametrize(
    ("volatile", "reason"),
    [
        (".a[", ".a[: jq: "),
        (".id .a|length .b", ".a|length: jq: "),
        ("/(/", "invalid regular expression ("),
    ],
)
def test_a_volatile_part_that_cannot_be_read_is_reported(
    changing: tuple[RawServer, dict[str, Any]], tmp_path: Path, volatile: str, reason: str
) -> None:
    server, state = changing
    text = block("GET HOST/", arguments=f":expect same :volatile {volatile}")
    stands = in_org(server, tmp_path, text).text
    state["body"] = b"{}"
    held, why = verdict_of(in_org(server, tmp_path, stands))
    assert not held
    assert why.startswith(f":volatile: {reason}")


def test_the_hash_of_a_block_is_no_part_of_its_result() -> None:
    old, new = "#+RESULTS[01ab]: a\nx\n", "#+results[23cd]: a\nx\n"
    assert difference(old, new, Volatile()) == ()
    assert difference(old, new.replace("x", "y"), Volatile())[1:] == ("-x", "+y")
    assert difference("a\n#+RESULTS[1]:\n", "a\n#+RESULTS[2]:\n", Volatile()) != ()


def test_a_status_and_the_same_result_can_be_expected_together(
    changing: tuple[RawServer, dict[str, Any]], tmp_path: Path
) -> None:
    server, _ = changing
    text = block("GET HOST/", "# ?? body id == 1", arguments=":expect 2xx same")
    stands = in_org(server, tmp_path, text).text
    assert stands.count("// ok  ") == 2
    without = stands.replace("// ok  status == 2xx\n", "")  # an assertion that is new
    done = in_org(server, tmp_path, without)
    assert [test.held for test in done.tests] == [True, True, True]
    assert done.outcomes[0].exchanges[0].tests == done.outcomes[0].tests


@pytest.mark.parametrize("words", ["silent", "append"])
def test_a_result_that_does_not_replace_the_old_one_cannot_be_the_same(
    server: RawServer, tmp_path: Path, words: str
) -> None:
    done = in_org(
        server, tmp_path, block("GET HOST/user", arguments=f":expect same :results {words}")
    )
    assert ":expect same requires a result that replaces" in done.reasons[0]


def test_a_result_in_a_file_is_compared_with_that_file(
    changing: tuple[RawServer, dict[str, Any]], tmp_path: Path
) -> None:
    server, state = changing
    stands = in_org(
        server, tmp_path, block("GET HOST/", arguments=":expect same :results file :file a-.json")
    ).text
    (tmp_path / "a-.json").write_bytes(state["body"])
    assert verdict_of(in_org(server, tmp_path, stands)) == (True, "")
    (tmp_path / "a-.json").write_bytes(b"old")
    assert verdict_of(in_org(server, tmp_path, stands)) == (
        False,
        "the file a-.json has changed",
    )
