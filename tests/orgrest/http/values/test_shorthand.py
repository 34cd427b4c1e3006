"""Requests of request files are completed as VS Code, JetBrains and httpyac complete them."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orgrest.http import auth
from orgrest.http.auth.digest import DigestCredentials
from orgrest.http.auth.ntlm import NtlmCredentials
from orgrest.http.parsing import request_file
from orgrest.http.values import Context, Helpers, Inputs, RequestNames, expand
from orgrest.http.values.context import Captured, RequestNeededError
from orgrest.http.values.expansion import check
from orgrest.http.values.shorthand import absolute_url, form, graphql
from orgrest.model import ExpansionError, OrgrestError, Request, Response, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

    from orgrest.http.syntax import ParsedRequest


def completed(
    text: str, index: int = 0, prompt: Callable[[str, bool], str] | None = None, **scope: object
) -> Request:
    document = request_file.parse(Source(text, file="a.http"))
    context = Context(Inputs(**scope), helpers=Helpers(prompt=prompt))  # type: ignore[arg-type]
    return expand(document.requests[index], context)


# ------------------------------------------------------------------------------------------- URLs


@pytest.mark.parametrize(
    ("url", "host", "base", "expected"),
    [
        ("https://a/b", None, None, "https://a/b"),
        ("a.org/b", None, None, "http://a.org/b"),
        ("localhost:8080", None, None, "http://localhost:8080"),
        ("/b", "a.org", None, "http://a.org/b"),
        ("/b", "a.org:443", None, "https://a.org:443/b"),
        ("/b", "a.org:8443", "x", "https://a.org:8443/b"),
        ("/b", "http://a.org:443/", "x", "http://a.org:443/b"),
        ("*", "https://a.org", None, "https://a.org*"),
        ("/b", None, "https://c/", "https://c/b"),
        ("/b", None, "c:1", "http://c:1/b"),
        ("/b", None, None, "/b"),
        ("//b", None, "c", "//b"),
        ("", None, None, ""),
    ],
)
def test_a_url_gets_its_scheme_and_host(
    url: str, host: str | None, base: str | None, expected: str
) -> None:
    assert absolute_url(url, host, base) == expected


def test_a_path_takes_the_header_host_and_keeps_it() -> None:
    request = completed("@h = https://a.org\nGET /b?c\nHost: {{h}}\n")
    assert (request.url, request.headers) == ("https://a.org/b?c", ())
    request = completed("GET http://a/b\nHost: http://a\n")
    assert (request.url, request.headers) == ("http://a/b", (("Host", "http://a"),))
    request = completed("@h = a.org\nGET /b?c\nHost: {{h}}\n")
    assert request.url == "http://a.org/b?c"
    assert request.headers == (("Host", "a.org"),)


def test_a_path_takes_the_variable_host_and_is_an_error_without_one() -> None:
    assert completed("@host = https://a.org/v1\nGET /b\n").url == "https://a.org/v1/b"
    with pytest.raises(ExpansionError, match="expected an absolute http or https URL, found /b"):
        completed("GET /b\n")


@pytest.mark.parametrize(
    ("charset", "text", "noted"),
    [
        ("iso-8859-1", "caf\u00e9", True),
        ('"latin1"', "\u4e2d", True),
        ("utf-16", "a", True),
        ("iso-8859-1", "cafe", False),
        ("UTF-8", "caf\u00e9", False),
        ("unknown", "caf\u00e9", False),
    ],
)
def test_a_body_in_another_charset_than_it_says_is_noted(
    charset: str, text: str, noted: bool
) -> None:
    document = f"POST http://a/\nContent-Type: text/plain; charset={charset}\n\n{text}\n"
    request = completed(document)
    assert request.body == text.encode()
    (parsed,) = request_file.parse(document).requests
    name = charset.strip('"')
    for notices in (request.notices, check(parsed, Context()).notices):
        assert [notice.code for notice in notices] == ["charset"] * noted
        assert all(f"Content-Type says {name}" in notice.reason for notice in notices)


# ------------------------------------------------------------------------------------ credentials


def nothing(_: object) -> None:
    return None


@pytest.mark.parametrize(
    "written", ["Basic me pass word", "Basic me:pass word", "Basic bWU6cGFzcyB3b3Jk"]
)
def test_basic_credentials_are_encoded_once(written: str) -> None:
    assert auth.read(written, auth.DocumentLookups(nothing, nothing)) == "Basic bWU6cGFzcyB3b3Jk"


@pytest.mark.parametrize(
    ("written", "pair"),
    [
        ("Basic {{user}}:{{password}}", b"john doe:a b:c"),  # as httpyac
        ("basic   {{ user }}:{{password}}", b"john doe:a b:c"),
        ("Basic {{user}}:secret", b"john doe:secret"),
        ("Basic ann {{password}}", b"ann:a b:c"),
        ("Basic ann pass:word", b"ann:pass:word"),
        ("Basic {{name}} pass:word", b"ann:pass:word"),
        ("Basic {{user}}:pass word", b"john doe:pass word"),
        ("Basic {{colon}} {{password}}", b"a:b:a b:c"),
        ("{{scheme}} {{user}}:{{password}}", b"john doe:a b:c"),
        ("{{whole}}", b"ann:pass:word"),
        ("{{named}}", b"john doe:a b:c"),
        ("Basic {{both}}", b"ann:pass:word"),
    ],
)
def test_spaces_and_colons_in_variables_of_basic_credentials_separate_nothing(
    written: str, pair: bytes
) -> None:
    variables = (
        "@user = john doe\n@password = a b:c\n@name = ann\n@colon = a:b\n@scheme = Basic\n"
        "@whole = Basic ann pass:word\n@inner = Basic {{user}}:{{password}}\n"
        "@named = {{ inner }}\n@both = ann pass:word\n"
    )
    request = completed(f"{variables}GET http://a/\nAuthorization: {written}\n")
    ((_, value),) = request.headers
    assert value.split(" ")[0].lower() == "basic"
    assert b64decode(value.split(" ")[1]) == pair


@pytest.mark.parametrize("scheme", ["Digest", "NTLM"])
def test_spaces_in_variables_of_other_credentials_separate_nothing_either(scheme: str) -> None:
    variables = "@user = john doe\n@password = a b:c\n"
    text = f"{variables}GET http://a/\nAuthorization: {scheme} {{{{user}}}}:{{{{password}}}}\n"
    found = completed(text).credentials
    assert isinstance(found, DigestCredentials | NtlmCredentials)
    assert (found.user, found.password) == ("john doe", "a b:c")


@pytest.mark.parametrize(
    "written",
    ["Bearer a b", 'Digest username="x", realm="y"', "AWS4-HMAC-SHA256 Credential=x", "Token", ""],
)
def test_other_credentials_are_sent_as_they_stand(written: str) -> None:
    assert auth.read(written, auth.DocumentLookups(nothing, nothing)) == written


@pytest.mark.parametrize("written", ["NTLM a", "Negotiate x", "Basic nocolon"])
def test_credentials_that_would_be_sent_wrong_are_errors(written: str) -> None:
    with pytest.raises(ExpansionError) as caught:
        completed(f"GET http://a/\nAuthorization: {written}\n")
    assert (caught.value.line, caught.value.column) == (2, 16)


def test_encoded_credentials_of_a_secret_are_secret() -> None:
    text = "GET http://a/\nAuthorization: Basic me {{$env.PASSWORD}}\n"
    request = completed(text, environ={"PASSWORD": "hidden"})
    assert request.headers == (("Authorization", "Basic bWU6aGlkZGVu"),)
    assert "Basic bWU6aGlkZGVu" in request.secrets


# ----------------------------------------------------------------------------------------- bodies


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("a=1\n&b=2", "a=1&b=2"),
        ("a = 1 &\n  b= two words", "a=1&b=two%20words"),
        ("a=1=2", "a=1=2"),
        ("a=1 \n\n & b =\n&\nc", "a=1&b=&c"),
    ],
)
def test_a_form_over_several_lines_is_one(text: str, sent: str) -> None:
    kind = "Content-Type: application/x-www-form-urlencoded; charset=utf-8"
    assert completed(f"POST http://a/\n{kind}\n\n{text}\n").body == sent.encode()


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("q=a = b", "q=a%20=%20b"),
        ("q=1 %+ 1 %= 2 & b = {{a}}", "q=1%20%2B%201%20%3D%202&b=x%20=%201%20&%0A%20y%20=%20"),
        ("q=SELECT ?a\nWHERE { ?a }", "q=SELECT%20?a%0AWHERE%20%7B%20?a%20%7D"),
        ("q=a\n\n b", "q=a%0A%0A%20b"),
        ("q={{a}}", "q=x%20=%201%20&%0A%20y%20=%20"),
        ("{{a}} = 1 = {{a}}", "x%20=%201%20&%0A%20y%20=%20=1%20=%20x%20=%201%20&%0A%20y%20=%20"),
    ],
)
def test_the_values_in_a_form_keep_their_spaces_and_line_breaks(text: str, sent: str) -> None:
    request = f"POST http://a/\nContent-Type: application/x-www-form-urlencoded\n\n{text}\n"
    assert completed(request, overrides={"a": "x = 1 &\n y = "}).body == sent.encode()


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("a=b c", "a=b%20c"),
        ("a=%20&b=100%", "a=%20&b=100%25"),
        ("a=ä\udcff", "a=%C3%A4%FF"),
        ('a={"b": "<c>"}', "a=%7B%22b%22:%20%22%3Cc%3E%22%7D"),
        ("a=me@example.org+1!*'();:,/?#[]|^~$", "a=me@example.org+1!*'();:,/?#[]|^~$"),
    ],
)
def test_what_cannot_stand_in_a_form_is_encoded_once(text: str, sent: str) -> None:
    assert form(text) == sent
    assert form(sent) == sent


def test_a_placeholder_in_a_form_stays_readable() -> None:
    assert form("a=<login.response.body> b", placeholders=True) == "a=<login.response.body>%20b"


@pytest.mark.parametrize(
    ("included", "place"),
    [
        ('{"a": "{{a}}",\n "b": "{{nope}}"}', "body.json:2:8"),
        ("\n{{a}} {{inner}} {{nope}}", "a.http:1:12"),
        ("\n\n{{z}}", "http-client.env.json:4"),
        ("\n\n{{dot}}", ".env:3"),
    ],
)
def test_an_error_in_an_included_file_or_an_environment_names_its_file_and_line(
    tmp_path: Path, included: str, place: str
) -> None:
    environments = '{"prod": {"z": "1"},\n\n "dev": {"y": "",\n "z": "{{a}} {{nope}}"}}'
    (tmp_path / "http-client.env.json").write_text(environments)
    (tmp_path / ".env").write_text("dot=1\n# dot=2\nexport dot={{nope}}\n")
    (tmp_path / "body.json").write_text(included)
    text = "@inner = a {{nope}}\n@a = 1\nPOST http://a/\n\n<@ ./body.json\n"
    with pytest.raises(ExpansionError) as caught:
        completed(text, directory=tmp_path, environments=("dev",))
    assert str(caught.value).replace(f"{tmp_path}/", "").startswith(f"{place}: ")
    assert text[caught.value.offset or 0 :].startswith(("./body.json", "{{nope}}"))


def test_files_stand_where_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"\xff{{a}}")
    (tmp_path / "text").write_bytes("é {{a}}".encode("latin-1"))
    body = "one {{a}}\n< ./raw\n<@latin1 {{name}}\n\nlast"
    text = f"@a = 1\n@name = text\nPOST http://a/\n\n{body}\n"
    expected = b"one 1\n\xff{{a}}\n" + "é 1".encode() + b"\n\nlast"
    assert completed(text, directory=tmp_path).body == expected
    injected = text.replace("<@latin1 {{name}}", "").replace("< ./raw", "< ./name")
    (tmp_path / "name").write_text("{{a}}")
    assert (
        completed(f"# @injectVariables\n{injected}", directory=tmp_path).body
        == b"one 1\n1\n\n\nlast"
    )


def test_parts_of_a_form_have_crlf_and_their_files(tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(b"a\nb")
    text = (
        "POST http://a/\nContent-Type: multipart/form-data; boundary=Bb\n\n"
        "--Bb\nContent-Disposition: form-data; name=x\n\n< raw\n--Bb--\n"
    )
    assert completed(text, directory=tmp_path).body == (
        b"--Bb\r\nContent-Disposition: form-data; name=x\r\n\r\na\nb\r\n--Bb--"
    )


@pytest.mark.parametrize("name", ["missing", "../outside", "latin"])
def test_a_file_that_cannot_be_sent_is_an_error_at_its_place(tmp_path: Path, name: str) -> None:
    (tmp_path / "latin").write_bytes(b"\xff")
    with pytest.raises(ExpansionError) as caught:
        completed(f"POST http://a/\n\n<@ {name}\n", directory=tmp_path)
    assert (caught.value.line, caught.value.code) == (3, "unreadable-file")


@pytest.mark.parametrize("name", ["utf16le", "UCS2", "ucs-2", "utf-16le"])
def test_a_file_can_have_an_encoding_by_its_name_in_node(tmp_path: Path, name: str) -> None:
    (tmp_path / "wide").write_bytes("é{{a}}".encode("utf-16-le"))
    text = f"@a = 1\nPOST http://a/\n\n<@{name} wide\n"
    assert completed(text, directory=tmp_path).body == "é1".encode()


@pytest.mark.parametrize("name", ["klingon", "base64"])
def test_an_unknown_encoding_is_not_blamed_on_the_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"YQ==")
    with pytest.raises(ExpansionError, match=f"unknown encoding {name}; expected, for example"):
        completed(f"POST http://a/\n\n<@{name} file\n", directory=tmp_path)


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ("{}\n{}\n\n", b"{}\n{}\n"),
        ("{{$processEnv LINES}}\n", b"{}\n{}\n"),
        ("< lines\n", b"{}\n{}\n"),
        ("<@ lines\n", b"{}\n{}\n"),
        ("< line\n", b"{}"),
        ("{}\n< lines\n", b"{}\n{}\n{}\n"),
    ],
)
def test_lines_of_json_end_with_one_line_end_and_files_are_sent_as_they_are(
    body: str, sent: bytes, tmp_path: Path
) -> None:
    (tmp_path / "lines").write_bytes(b"{}\n{}\n")
    (tmp_path / "line").write_bytes(b"{}")
    text = f"POST http://a/\nContent-Type: application/x-ndjson\n\n{body}"
    environ = {"LINES": "{}\n{}\n"}
    assert completed(text, directory=tmp_path, environ=environ).body == sent


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        (r"\{{a}}", "{{a}}"),
        (r"\{\{a\}\}", "{{a}}"),  # httpyac's
        (r"x\{{ a b }} {{a}}", "x{{ a b }} 1"),
        (r'"C:\\{{a}}"', r'"C:\\1"'),  # JSON's backslash
        (r"\{{a", r"\{{a"),
        (r"\{\{a", r"\{\{a"),
        ("\\{{a}}\n{{a}}", "{{a}}\n1"),
    ],
)
def test_braces_behind_a_backslash_are_sent_as_braces(written: str, sent: str) -> None:
    request = completed(
        f"@a = 1\nPOST http://a/\nX: {written.partition(chr(10))[0]}\n\n{written}\n"
    )
    assert (request.body or b"").decode() == sent
    assert request.header("X") == sent.partition("\n")[0]


# ---------------------------------------------------------------------------------------- GraphQL

QUERY = "query Find($n: Int) {\n  a(n: $n) {\n    b\n\n    c\n  }\n}"


@pytest.mark.parametrize(
    "head",
    [
        "GRAPHQL http://a/",
        "POST http://a/\nX-Request-Type: GraphQL",
        "POST http://a/\nx-request-type: graphql",
    ],
)
def test_a_query_and_its_variables_become_json(head: str) -> None:
    request = completed(f'@n = 3\n{head}\n\n{QUERY}\n\n{{"n": {{{{n}}}}}}\n')
    assert request.method == "POST"
    assert request.headers == (("Content-Type", "application/json"),)
    assert json.loads(request.body or b"") == {
        "query": QUERY,
        "operationName": "Find",
        "variables": {"n": 3},
    }


def test_a_query_without_a_name_or_variables_is_sent_alone() -> None:
    assert json.loads(graphql("{ a }")) == {"query": "{ a }"}


def test_a_query_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "q.graphql").write_text("{ a }\n")
    text = 'GRAPHQL http://a/\n\n< q.graphql\n\n{"x": 1}\n'
    request = completed(text, directory=tmp_path)
    assert json.loads(request.body or b"") == {"query": "{ a }", "variables": {"x": 1}}


@pytest.mark.parametrize("head", ["GRAPHQL http://a/", "POST http://a/"])
@pytest.mark.parametrize(
    ("line", "operation"), [("gql Find < ./q.gql", "Find"), ("gql < q.gql", "First")]
)
def test_httpyacs_line_for_a_file_of_graphql_sends_a_query(
    head: str, line: str, operation: str, tmp_path: Path
) -> None:
    query = "query First { a(n: {{n}}) }\n\nquery Find { b }"
    (tmp_path / "q.gql").write_text(f"{query}\n")
    text = f'@n = 3\n{head}\n\n{line}\n\n{{"x": 1}}\n'
    request = completed(text, directory=tmp_path)
    assert (request.method, request.header("Content-Type")) == ("POST", "application/json")
    assert json.loads(request.body or b"") == {
        "query": query.replace("{{n}}", "3"),
        "operationName": operation,
        "variables": {"x": 1},
    }


@pytest.mark.parametrize("query", ["query { a }", "mutation Do($a: [Int!] = 3) @x {\n a\n}"])
def test_graphql_that_is_sent_raw_is_reported(query: str) -> None:
    def notices(text: str) -> list[str]:
        (request,) = request_file.parse(text).requests
        return [notice.code for notice in request.notices]

    raw = f"POST http://a/\n\n{query}\n"
    assert notices(raw) == ["graphql"]
    assert completed(raw).body == query.encode()
    assert notices(f"# @no-gql-parsing\n{raw}") == []
    assert notices(raw.replace("POST", "GRAPHQL")) == []
    assert notices(raw.replace("\n\n", "\nX-Request-Type: GraphQL\n\n", 1)) == []
    assert notices(raw.replace("\n\n", "\nContent-Type: application/graphql\n\n", 1)) == []
    assert notices(raw.replace("\n\n", "\nContent-Type: application/graphql+json\n\n", 1)) == [
        "graphql"
    ]
    assert notices("POST http://a/\n\nquery of a user, in words\n") == []


def test_a_directive_leaves_a_body_that_looks_like_graphql_alone() -> None:
    request = completed("# @no-gql-parsing\nGRAPHQL http://a/\n\nquery { a }\n")
    assert (request.method, request.body) == ("POST", b"query { a }")
    assert request.header("Content-Type") == "application/json"


@pytest.mark.parametrize("line", ["fragment F on User {\n  id\n}", "gql F < f.gql"])
def test_a_fragment_outside_of_a_request_says_where_it_may_stand(line: str) -> None:
    document = request_file.parse(f"{line}\n\n###\nGRAPHQL http://a/\n\nquery {{ a {{ ...F }} }}\n")
    [problem] = document.problems
    assert problem.line == 1
    assert "in the body of the request that uses them" in problem.reason


@pytest.mark.parametrize("body", ["", "words", '{"a": 1', "query {a}\n\n{'n': 1}"])
def test_what_is_no_query_is_an_error(body: str) -> None:
    text = f"GRAPHQL http://a/\n\n{body}\n"
    if body.startswith("{"):
        assert json.loads(completed(text).body or b"")["query"] == body
        return
    with pytest.raises(ExpansionError) as caught:
        completed(text)
    assert caught.value.code == "graphql"


# -------------------------------------------------------------------------------------- variables


def environment(folder: Path, **variables: str) -> None:
    (folder / "http-client.env.json").write_text(json.dumps({"dev": variables}))


def test_each_source_of_a_variable_wins_over_those_below_it(tmp_path: Path) -> None:
    environment(tmp_path, a="environment")
    text = "GET http://x/{{a}}\n"

    def url(
        text: str,
        prepare: Callable[[Context], object] = id,
        prompt: Callable[[str, bool], str] | None = None,
        **more: object,
    ) -> str:
        document = request_file.parse(text)
        inputs = Inputs(directory=tmp_path, environments=["dev"], **more)  # type: ignore[arg-type]
        scope = Context(inputs, helpers=Helpers(prompt=prompt))
        prepare(scope)
        return expand(document.requests[0], scope).url.removeprefix("http://x/")

    assert url(text) == "environment"
    assert url(f"@a = file\n{text}") == "file"
    assert url(f"@a = file\n{text}", lambda s: s.captures.update(a=Captured("script"))) == "script"
    asked = f"@a = file\n# @prompt a\n{text}"
    assert (
        url(asked, lambda s: s.captures.update(a=Captured("b")), prompt=lambda *_: "prompt")
        == "prompt"
    )
    assert url(asked, overrides={"a": "var"}, prompt=lambda *_: "prompt") == "var"


def test_a_variable_of_an_environment_that_is_not_chosen_is_found_for_the_user(
    tmp_path: Path,
) -> None:
    environment(tmp_path, a="b")
    hint = "it is defined in the environment dev: select it, for example with --env dev$"
    with pytest.raises(ExpansionError, match=hint):
        completed("GET http://x/{{a}}\n", directory=tmp_path)


def test_a_name_means_its_last_definition_above_the_end_of_the_request_in_values_too() -> None:
    text = "@a = 1\n@b = {{a}}\n@a = {{a}}2\nGET http://x/{{a}}-{{b}}-{{c}}\n@c = {{a}}\n@a = 9\n"
    assert completed(text).url == "http://x/9-9-9"
    text = (
        "@host = {{scheme}}://{{name}}.example\n@scheme = http\n@name = one\n@name = two\n"
        "GET {{host}}/\n###\n@name = three\nGET {{host}}/\n"
    )
    assert completed(text).url == "http://two.example/"
    assert completed(text, 1).url == "http://three.example/"


def test_in_its_own_value_a_name_means_what_it_would_without_that_definition(
    tmp_path: Path,
) -> None:
    assert completed("@a = 1\n@a = {{a}}2\n@b = {{a}}\nGET http://x/{{b}}\n").url == "http://x/12"
    (tmp_path / "http-client.env.json").write_text('{"dev": {"token": "t"}}')
    text = "@token = {{token}}\nGET http://x/{{token}}\n"
    assert completed(text, directory=tmp_path, environments=["dev"]).url == "http://x/t"
    with pytest.raises(ExpansionError, match="the variable token refers to itself: token -> token"):
        completed(text)


def test_variables_that_refer_to_each_other_are_an_error() -> None:
    with pytest.raises(ExpansionError, match=r"the variable a refers to itself: a -> b -> a"):
        completed("@a = {{b}}\n@b = {{a}}\nGET http://x/{{a}}\n")


def test_a_long_chain_of_variables_is_computed_in_linear_time() -> None:
    lines = ["@v0 = x"] + [f"@v{n} = {{{{v{n - 1}}}}}" for n in range(1, 20_000)]
    text = "\n".join(lines) + "\nGET http://x/{{v99}}\n"
    assert completed(text).url == "http://x/x"
    with pytest.raises(ExpansionError, match="variables are nested more than 100 levels deep"):
        completed(text.replace("{{v99}}\n", "{{v19999}}\n"))


def test_colons_mean_nothing_but_where_the_file_defines_them() -> None:
    text = 'POST http://x/:id\n\n{"a":true, "t": "12:30", "id":id}\n'
    request = completed(f"@id = 7\n@true = x\n{text}", environ={})
    assert request.url == "http://x/:id"
    assert request.body == b'{"a":true, "t": "12:30", "id":id}'
    assert completed(f":id = 7\n# @no-log\n{text}").url == "http://x/7"


def test_private_and_telling_values_are_secrets(tmp_path: Path) -> None:
    (tmp_path / "http-client.private.env.json").write_text('{"dev": {"p": "hidden"}}')
    (tmp_path / ".env").write_text("API_TOKEN=token\nNAME=name\n")
    text = "GET http://x/{{p}}/{{API_TOKEN}}/{{NAME}}\n"
    request = completed(text, directory=tmp_path, environments=["dev"])
    assert request.url == "http://x/hidden/token/name"
    assert request.secrets == {"hidden", "token"}


def test_answers_are_requested_once_a_request_and_passwords_are_hidden() -> None:
    asked: list[tuple[str, bool]] = []

    def ask(what: str, hidden: bool) -> str:
        asked.append((what, hidden))
        return f"<{what}>"

    text = (
        "# @prompt user Your name\n# @prompt password\nGET http://x/{{user}}{{user}}{{password}}"
        "{{$input What?}}{{$password Really? $value: no}}\n"
    )
    request = completed(text, prompt=ask)
    assert request.url == "http://x/<Your name><Your name><password><What?><Really?>"
    assert sorted(asked) == [
        ("Really?", True),
        ("What?", False),
        ("Your name", False),
        ("password", True),
    ]
    assert request.secrets == {"<password>", "<Really?>"}
    with pytest.raises(ExpansionError, match="to run it without a prompt, use --var 'user=VALUE'"):
        completed(text)
    given_ = {"user": "1", "password": "2", "What?": "3", "Really?": "4"}
    assert completed(text, overrides=given_).url == "http://x/11234"


class _Names(RequestNames):
    """Resolves the name of one request."""

    def __init__(self, known: str) -> None:
        self._known = known

    def requests_named(self, name: str, using: ParsedRequest) -> tuple[Hashable, ...]:
        del using
        return (name,) if name == self._known else ()


def around(known: str, got: tuple[Request, Response] | None = None) -> Context:
    """Return the context of a request. `got` is another request's exchange, if there is one."""
    context = Context(names=_Names(known))
    if got is not None:
        context.answers.exchanges[known] = got
    return context


def test_a_response_is_referred_to_by_the_requests_name() -> None:
    text = (
        "# @name login\nPOST http://x/\n###\nGET http://x/{{login.response.body.$.t}}/{{login.t}}\n"
    )
    document = request_file.parse(text)
    second = document.requests[1]
    with pytest.raises(
        ExpansionError, match=r"the variable login\.response\.body\.\$\.t is not defined"
    ):
        expand(second, Context())
    with pytest.raises(RequestNeededError) as needed:
        expand(second, around("login"))
    assert needed.value.key == "login"
    sent = Request("POST", "http://x/")
    answer = Response(200, "OK", "1.1", (), b'{"t": 5}', 0.1, "http://x/")
    assert expand(second, around("login", (sent, answer))).url == "http://x/5/5"
    dry = Context(names=_Names("login"), placeholders=True)
    assert expand(second, dry).url == "http://x/<login.response.body.$.t>/<login.t>"


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("nope", "the variable nope is not defined"),
        ("$nope", "unknown dynamic value $nope"),
        ("a + 1", "JavaScript is only evaluated when requests are sent or shown"),
        ("$processEnv NOPE", "the environment variable NOPE is not set"),
    ],
)
def test_what_has_no_value_is_never_sent(reference: str, reason: str) -> None:
    with pytest.raises(ExpansionError) as caught:
        completed(f"@a = 1\nGET http://x/{{{{{reference}}}}}\n", environ={})
    assert caught.value.reason.startswith(reason)
    assert (caught.value.line, caught.value.column) == (2, 14)


def test_a_broken_environment_file_matters_only_to_those_who_may_need_it(tmp_path: Path) -> None:
    (tmp_path / "http-client.env.json").write_text("{")
    assert completed("@a = 1\nGET http://x/{{a}}\n", directory=tmp_path).url == "http://x/1"
    with pytest.raises(
        ExpansionError,
        match=r"is not defined in the document, and the environments could not be read:",
    ):
        completed("GET http://x/{{b}}\n", directory=tmp_path)


def test_a_check_asks_nobody_and_knows_what_only_a_run_has() -> None:
    text = "# @name a\n# @prompt p\nGET http://x/{{p}}/{{a.response.body.$.x}}\n"
    parsed = request_file.parse(text).requests[0]
    checked = check(parsed, around("a"))
    assert checked.problems == ()
    assert len(checked.url) == len("http://x/?/?")


@given(st.text(alphabet='query{}() \n"n:1a', max_size=60))
def test_any_graphql_text_is_json_or_an_error(text: str) -> None:
    try:
        message = json.loads(graphql(text))
    except OrgrestError:
        return
    assert text.startswith(message["query"])
