"""What an editor knows about request files of VS Code, JetBrains and httpyac."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from orgrest.editor import outline
from orgrest.editor.analysis import Analysis
from orgrest.editor.completion import complete
from orgrest.editor.completion.cursor import Cursor
from orgrest.editor.completion.model import Candidate, Kind
from orgrest.editor.diagnostics.report import Report
from orgrest.editor.hover import hover
from orgrest.editor.names import Names, RenameError
from orgrest.editor.request_files import API
from orgrest.editor.server.features import completions
from orgrest.http import scripts
from orgrest.http.values import Inputs
from orgrest.org.text import apply

TEXT = """\
@host = http://example.org
@token = {{login.response.body.$.token}}

### Login
# @name login
POST {{host}}/login/{{$guid}}
Content-Type: application/json

{"user": "{{user}}", "n": {{$randomInt 1 5}}}

> {%
client.global.set("sid", response.body.id);
%}

###
# @name second
# @ref login
# @no-redirect
get {{base}}/x/{{login.token}}?a={{sid}}
Authorization: Bearer {{token}}
"""
ENVIRONMENTS = """\
{"dev": {"user": "ann", "base": "http://dev"}, "prod": {"user": "bob", "base": "http://prod"}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "http-client.env.json").write_text(ENVIRONMENTS)
    return tmp_path


def analysed(folder: Path, text: str = TEXT, *chosen: str) -> Analysis:
    scope = partial(Inputs, directory=folder, environments=chosen)
    return Analysis(text, "http", scope)


def told(analysis: Analysis, word: str) -> str:
    """Return the hover text for the first character of a word."""
    found = hover(analysis, Names(analysis), analysis.text.index(word))
    return found[0] if found else ""


def offered(marked: str) -> list[Candidate]:
    at = marked.index("|")
    return complete(
        Cursor(
            marked[:at] + marked[at + 1 :],
            at,
            document="http",
            settings=lambda: {"user": ("ann", "dev, http-client.env.json")},
        )
    )


def test_nothing_is_wrong_with_what_other_requests_scripts_and_the_environment_give(
    folder: Path,
) -> None:
    assert Report(analysed(folder, TEXT, "dev")).diagnostics == ()


def test_what_the_chosen_environment_lacks_is_told_with_the_ones_that_have_it(folder: Path) -> None:
    found = Report(analysed(folder)).diagnostics
    assert [one.code for one in found] == ["undefined-variable"] * 2
    assert "defined in the environments dev, prod: select one of them" in found[0].message


@pytest.mark.parametrize(
    "text",
    [
        "GET http://x/\n\n?? body $.path == /items/{{none}}\n",
        "GET http://x/\n\n>> ./out-{{none}}.txt\n",
        '# @xpath_ns a="{{none}}"\nGET http://x/\n\n?? xpath //a:b == 1\n',
        "GET http://x/\n# ?? body path == {{none}}\n",
    ],
)
def test_an_undefined_variable_is_told_where_the_response_is_checked_or_saved(
    folder: Path, text: str
) -> None:
    (found,) = Report(analysed(folder, text)).diagnostics
    assert text[found.span.start : found.span.end] == "{{none}}"
    assert found.severity == "error"
    assert found.message == "the variable none is not defined"


@pytest.mark.parametrize(
    "text",
    [
        "# @loop for x of [1]\nGET http://x/{{x}}/{{x.id}}/{{$index}}\n\n?? body == {{x}}\n",
        "# @env-json-key x a.b\nGET http://x/\n\n?? body $.c == {{x}}\n",
        "GET http://x/\n-> jq-set-var :x .a.b\n\n# ?? body c == {{x}}\n",
        'GET http://x/\n\n> {% client.global.set("x", 1) %}\n?? body == {{x}}\n',
        "GET http://x/\n\n?? body $.c == {{response.body.x}}\n",
    ],
)
def test_nothing_is_wrong_with_what_a_loop_or_the_response_gives(folder: Path, text: str) -> None:
    assert Report(analysed(folder, text)).diagnostics == ()


def test_a_loop_whose_variable_is_also_defined_is_told(folder: Path) -> None:
    text = "@x = 1\n# @loop for x of [1]\nGET http://x/{{x}}\n"
    (found,) = Report(analysed(folder, text)).diagnostics
    assert text[found.span.start : found.span.end].startswith("for x of")
    assert found.severity == "warning"
    assert found.message.startswith("@loop sets x, but x is also defined in line 1")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("GRAPHQL http://x/\n", "a GraphQL request requires a query"),
        ("GRAPHQL http://x/\n\n{{text}}\n", "a GraphQL request requires a query"),
        ("POST http://x/\nX-Request-Type: GraphQL\n\n{ a }\n\n{x\n", "variables after the GraphQL"),
        ("GRAPHQL http://x/\n\n{ a }\n", None),
        ("GRAPHQL http://x/\n\n{{one.response.body.a}}\n", None),
        ("GRAPHQL http://x/\n\ngql Q < ./q.graphql\n", None),
        ("POST http://x:99999/\n\n< ./q.graphql\n", "invalid port: 99999"),
        ("GET ws://x:99999/\n", "invalid port: 99999"),
        ("GET http://[::1\n", "expected an absolute http or https URL"),
        ("GET http://x/\nContent-Length: 5\n", "Content-Length is 5, but the body has 0 bytes"),
        ("POST http://x/\nContent-Length: 5\n\nabc{{text}}\n", "but the body has 7 bytes"),
        ("POST http://x/\nContent-Length: 7\n\nabc{{text}}\n", None),
        ("POST http://x/\nContent-Length: 5\n\n{{one.response.body.a}}\n", None),
        ("POST http://x/\nContent-Length: 5\n\n< ./q.graphql\n", None),
        ("POST http://x/\nContent-Type: application/x-ndjson\nContent-Length: 4\n\n1\n2\n", None),
        ("GET http://x/\nContent-Length: 5\n{{@request\nrequest.body = 'abcde'\n}}\n", None),
        ("GET http://x:{{one.response.body.a}}/\n", None),
    ],
)
def test_what_a_run_would_refuse_to_send_is_told_before(
    folder: Path, text: str, found: str | None
) -> None:
    (folder / "q.graphql").write_text("{ a }")
    text = f"@text = text\n# @name one\nGET http://x/\n\n###\n{text}"
    diagnostics = Report(analysed(folder, text)).diagnostics
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    assert [found in error.message for error in errors if found] == [True] * (found is not None)
    assert found or not errors


def test_problems_are_looked_for_again_when_another_environment_is_chosen(folder: Path) -> None:
    before = Report(analysed(folder))
    assert Report(analysed(folder, TEXT, "dev"), before).diagnostics == ()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("user}}", ["ann", "from dev, in http-client.env.json"]),
        ("host}}", ["http://example.org", "set on line 1"]),
        ("sid}}", ["set when requests are sent"]),
        ("$guid", ["The same as $uuid."]),
        ("$randomInt", ["$randomInt [MIN MAX]"]),
        ("no-redirect", ["Does not follow redirects."]),
        ("login.response", ["POST {{host}}/login/{{$guid}}", "defined on line 5"]),
        ("response.body.$", ["of `POST", "sent first"]),
        ("login\n# @no", ["defined on line 5"]),
        ("client.global", ["sets a variable for the rest of the run"]),
    ],
)
def test_hover_tells_values_and_meanings(folder: Path, word: str, expected: list[str]) -> None:
    said = told(analysed(folder, TEXT, "dev"), word)
    assert all(part in said for part in expected), said


def test_hover_does_not_show_a_private_value(folder: Path) -> None:
    (folder / "http-client.private.env.json").write_text('{"dev": {"user": "sesame"}}')
    said = told(analysed(folder, TEXT, "dev"), "user}}")
    assert "sesame" not in said
    assert "http-client.private.env.json" in said


def test_hover_names_the_file_that_cannot_be_read(folder: Path) -> None:
    (folder / "http-client.env.json").write_text("{")
    assert "http-client.env.json" in told(analysed(folder, TEXT), "user}}")


def test_a_request_is_renamed_wherever_it_is_referred_to(folder: Path) -> None:
    names = Names(analysed(folder))
    one = names.at(TEXT.index("login.response"))
    assert one is not None
    after = apply(TEXT, names.rename(one, "enter"))
    assert after == (
        TEXT.replace("login.", "enter.")
        .replace("@name login", "@name enter")
        .replace("@ref login", "@ref enter")
    )
    with pytest.raises(RenameError, match="second already exists"):
        names.rename(one, "second")


def test_a_variable_is_renamed_wherever_it_is_used(folder: Path) -> None:
    names = Names(analysed(folder))
    one = names.at(TEXT.index("{{token}}") + 3)
    assert one is not None
    assert [TEXT.count("\n", 0, x.span.start) + 1 for x in names.definitions(one)] == [2]
    after = apply(TEXT, names.rename(one, "key"))
    assert after == TEXT.replace("@token", "@key").replace("{{token}}", "{{key}}")


COMPUTING = """\
@base = http://h
@api-key = k
# @name login
GET {{base}}/json

### b
# @ref login
GET {{base}}/x/{{login.a}}/{{loginResponse.statusCode}}/{{loginResponse.headers['x'].length}}
K: {{api-key}}
"""


def test_renaming_a_request_also_renames_its_response_in_expressions(folder: Path) -> None:
    names = Names(analysed(folder, COMPUTING))
    one = names.at(COMPUTING.index("login\n"))
    assert one is not None
    assert len(names.same(one)) == COMPUTING.count("login")
    assert apply(COMPUTING, names.rename(one, "enter")) == COMPUTING.replace("login", "enter")


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("base", "exports.z = base + 1"),
        ("base", "const url = `http://${base}/`; // it's"),
        ("base", "exports.base = 1"),
        ("base", "request.variables.get('base')"),
        ("base", "f(...base)"),
        ("base", """client.log(`{"id": "${base}"}`)"""),
        ("base", "client.log(`it's ${base}, isn't it`)"),
        ("login", "test('x', () => login.a)"),
        ("login", "test('x', () => loginResponse.statusCode)"),
        ("api-key", "console.log(apiKey)"),
        ("api-key", 'client.global.set("api-key", 1)'),
    ],
)
def test_renaming_never_breaks_a_script(folder: Path, name: str, code: str) -> None:
    text = f"{COMPUTING}\n{{{{\n  {code}\n}}}}\n"
    names = Names(analysed(folder, text))
    one = names.at(text.index(name))
    assert one is not None
    line = text[: text.index(code)].count("\n") + 1
    reason = f"the JavaScript on line {line} also uses {name}: change it there first"
    with pytest.raises(RenameError) as caught:
        names.rename(one, "new")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("@V = 7\nGET http://x/{{V}}\n\n?? body $.path == /items/{{V}}\n", "V"),
        ("@V = 7\nGET http://x/\n\n>> ./out-{{V}}.txt\n", "V"),
        ('@V = urn:x\n# @xpath_ns a="{{V}}"\nGET http://x/\n\n?? xpath //a:b == 1\n', "V"),
        ("@V = 7\n# @disabled V == 7 || '7' === V\nGET http://x/{{V}}\n", "V"),
        ("@V = [1]\n# @loop for x of V\nGET http://x/{{x}}\n", "V"),
        ("@V-s = [1]\n# @loop for x of V-s\nGET http://x/{{x}}\n", "V-s"),
        ("@V = 7\n# @loop while V < 7\nGET http://x/\n", "V"),
        ("# @loop for V of [1]\nGET http://x/{{V}}/{{V.id}}\n", "V"),
        ("@V = 7\n# @prompt V The number\nGET http://x/{{V}}\n", "V"),
        ("# @file-to-variable V ./a.txt\nGET http://x/{{V}}\n", "V"),
        ("# @env-json-key V a.b\nGET http://x/\n###\nGET http://x/{{V}}\n", "V"),
        ("@V = HOME\nGET http://x/{{$processEnv %V}}\n", "V"),
        ("@V = [{}]\nGET http://x/{{$.V..id}}\n", "V"),
        ("@V = 1\nrun #q (@n=2, @V=3)\n\n###\n# @name q\nGET http://x/{{V}}/{{n}}\n", "V"),
        (":V = 7\nGET http://x/:V\n# ?? body path == :V\n", "V"),
        ("# @name V\nGET http://x/\n###\nGET http://x/\n?? body == {{V.response.body}}\n", "V"),
        ("# @name V\nGET http://x/\n###\n# @loop for x of V.list\nGET http://x/\n", "V"),
        ("# @name V\nGET http://x/\n###\n# @disabled V.a > 1\nGET http://x/\n", "V"),
    ],
)
def test_renaming_also_renames_in_assertions_file_names_and_directives(
    folder: Path, text: str, name: str
) -> None:
    names = Names(analysed(folder, text))
    one = names.at(text.index(name))
    assert one is not None
    assert len(names.same(one)) == text.count(name)
    assert apply(text, names.rename(one, "fresh")) == text.replace(name, "fresh")


def test_renaming_leaves_text_behind_a_colon_that_is_no_placeholder(folder: Path) -> None:
    text = "@id = 7\nGET http://x/users/:id/{{id}}\n"
    names = Names(analysed(folder, text))
    one = names.at(text.index("id"))
    assert one is not None
    after = "@new = 7\nGET http://x/users/:id/{{new}}\n"
    assert apply(text, names.rename(one, "new")) == after
    mixed = text.replace("@id", ":id")
    names = Names(analysed(folder, mixed))
    one = names.at(mixed.index("id"))
    assert one is not None
    assert apply(mixed, names.rename(one, "new")) == mixed.replace("id", "new")


def test_renaming_never_breaks_an_assertion_in_javascript(folder: Path) -> None:
    text = "@id = 7\n# @name one\nGET http://x/{{id}}\n\n?? js id == 7\n?? js one.p == 7\n"
    names = Names(analysed(folder, text))
    for name, line in (("id", 5), ("one", 6)):
        place = names.at(text.index(name))
        assert place is not None
        reason = f"the JavaScript on line {line} also uses {name}: change it there first"
        with pytest.raises(RenameError, match=reason):
            names.rename(place, "new")


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        (
            "@my_scope = c\nGET http://x/{{my_scope}}\nAuthorization: oauth2 client my\n",
            "my_scope",
            "line 3 uses my_scope by its prefix: rename all variables with this prefix by hand",
        ),
        (
            "@oauth2_scope = c\nGET http://x/\nAuthorization: openid password my\n",
            "oauth2_scope",
            "the Authorization header on line 3 uses oauth2_scope by its prefix",
        ),
        (
            "@v = 1\nPOST http://x/\n\n<@ ./body.txt\n",
            "v",
            "line 2 of ./body.txt also uses v: chan",
        ),
        (
            "@v = 1\n# @injectVariables\nPOST http://x/\n\n< ./body.txt\n",
            "v",
            "line 2 of ./body.txt also uses v",
        ),
        (
            "# @name one\nGET http://x/\n###\nPOST http://x/\n\n<@ ./body.txt\n",
            "one",
            "line 3 of ./body.txt also uses one",
        ),
        ("@v = 1\nGET http://x/\n\n> ./handler.js\n", "v", "line 1 of ./handler.js also uses v"),
        (
            "@v = a\nGET http://x/{{v.length}}\n",
            "v",
            "class is a reserved word in JavaScript, so expressions in this document cannot use it",
        ),
    ],
)
def test_a_name_that_is_used_where_it_cannot_be_renamed_is_refused(
    folder: Path, text: str, name: str, reason: str
) -> None:
    (folder / "body.txt").write_text("{{other}}\n{{v}}\n{{one.id}}\n")
    (folder / "handler.js").write_text("client.log(v)\n")
    names = Names(analysed(folder, text))
    one = names.at(text.index(name))
    assert one is not None
    with pytest.raises(RenameError, match=re.escape(reason)):
        names.rename(one, "class")


def test_what_does_not_use_a_name_does_not_keep_it_from_being_renamed(folder: Path) -> None:
    (folder / "body.txt").write_text("{{v}}")
    text = (
        "@v = 1\n@my_secret = 2\nPOST http://x/{{v}}/{{my_secret}}\n"
        "Authorization: oauth2 client_credentials my\n\n< ./body.txt\n< ./none.txt\n"
    )
    for name in ("v", "my_secret"):
        names = Names(analysed(folder, text))
        one = names.at(text.index(name))
        assert one is not None
        after = text.replace(f"@{name}", "@class").replace(f"{{{{{name}}}}}", "{{class}}")
        assert apply(text, names.rename(one, "class")) == after


def test_scripts_that_do_not_use_a_name_do_not_keep_it_from_being_renamed(folder: Path) -> None:
    code = "// base\n/* base\nbase */ test('my base', () => response.base.database)"
    text = f"{COMPUTING}\n{{{{\n{code}\n}}}}\n"
    names = Names(analysed(folder, text))
    one = names.at(text.index("base"))
    assert one is not None
    renamed = COMPUTING.replace("@base", "@new").replace("{{base}}", "{{new}}")
    assert apply(text, names.rename(one, "new")) == text.replace(COMPUTING, renamed)


def test_a_variable_and_a_request_of_one_name_are_two_names(folder: Path) -> None:
    text = "@a = 1\n# @name a\nGET http://x/{{a}}\n\n###\nGET http://x/{{a.response.body}}\n"
    names = Names(analysed(folder, text))
    one = names.at(text.index("{{a}}") + 2)
    assert one is not None
    assert apply(text, names.rename(one, "b")) == text.replace("@a", "@b").replace("{{a}}", "{{b}}")


def test_colours_tell_directives_and_values_with_blanks(folder: Path) -> None:
    found = {
        (TEXT[token.start : token.end], token.type)
        for token in outline.tokens(analysed(folder, TEXT))
    }
    assert {
        ("@no-redirect", "keyword"),
        ("{{$randomInt 1 5}}", "variable"),
        ("@host", "variable"),
    } <= found


def test_colours_are_kept_in_a_file_with_kulalas_captures(folder: Path) -> None:
    text = "# @env-json-key token a.b\nGET http://x/\n\n###\nGET http://x/{{token}}\n"
    found = {
        (text[token.start : token.end], token.type)
        for token in outline.tokens(analysed(folder, text))
    }
    assert {("@env-json-key", "keyword"), ("{{token}}", "variable")} <= found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A: b,\n   c;\n  d\n", ["A", "b,", "c;", "d"]),
        ("/* a\n\n  b\n */\nA: b\n", ["/* a", "b", "*/", "A", "b"]),
        ("A: b\n\n# ?? status == 200\n", ["A", "b", "# ", "??", "status", "200"]),
        ("A: b\rc\n", ["A", "b", "c"]),
    ],
    ids=["folded header", "block comment", "assertion in a comment", "lone carriage return"],
)
def test_no_colour_spans_lines_or_overlaps_another(text: str, expected: list[str]) -> None:
    for start, kind in (("GET http://x/\n", "http"), ("#+begin_src http\nGET http://x/\n", "org")):
        whole = start + text + ("#+end_src\n" if kind == "org" else "")
        found = outline.tokens(Analysis(whole, kind))
        assert [whole[token.start : token.end] for token in found[2:]] == expected


def test_the_outline_writes_definitions_as_the_file_does(folder: Path) -> None:
    assert [symbol.name for symbol in outline.symbols(analysed(folder))] == [
        "@host",
        "@token",
        "login",
        "second",
    ]


@pytest.mark.parametrize(
    ("marked", "label", "insert", "documentation"),
    [
        ("GET http://x/{{us|", "user", "user}}", "ann"),
        ("@host = a\nGET {{ho|}}", "host", "host}}", "line 1"),
        ("GET {{ho|}}\n\n###\n@host = a\n", "host", "host}}", "line 4"),
        ("# @name a\nGET http://x/\n\n###\nGET {{a.resp|", "a.response.body", None, "line 1"),
        ("@b = {{$gu|", "$guid", "$guid}}", "The same as $uuid."),
        ("GET http://x/{{$random|", "$randomInt", None, "MIN MAX"),
        ("# @no-r|\nGET http://x/", "no-redirect", None, "Does not follow"),
        ("// @tim|", "timeout", "timeout ", "@timeout TIME"),
        ("# @name a\nGET http://x/\n\n###\n# @ref |", "a", None, "line 1"),
        ("GET http://x/\n\n> {%\n  client.gl|", "client.global.set", "client.global.set(", "run"),
        ("< {% request.var|", "request.variables.set", "request.variables.set(", "request"),
        (
            'GET http://x/\n\n> {% client.global.set("sid", 1) %}\n\n###\nGET http://x/{{si|',
            "sid",
            "sid}}",
            "script",
        ),
        ("# @prompt pin Your PIN\nGET http://x/{{pi|", "pin", "pin}}", "@prompt pin Your PIN"),
        ("@pin = 1\n# @prompt pin\n@a = {{pi|\nGET http://x/", "pin", "pin}}", "line 2"),
        ("# @loop for u of {{us}}\nGET http://x/{{|}}", "u", "u}}", "@loop for u of {{us}}"),
        ("# @loop for 3\nPOST http://x/\n\n{{$in|}}", "$index", "$index}}", "@loop for 3"),
        ("# @file-to-variable f ./a.txt\nGET http://x/\nA: {{|}}", "f", "f}}", "./a.txt"),
        ("GET http://x/{{$in|", "$input", None, "$input QUESTION"),
        ("GET http://x/{{$pa|", "$password", None, "secret"),
    ],
)
def test_what_request_files_have_is_offered(
    marked: str, label: str, insert: str | None, documentation: str
) -> None:
    (found,) = (one for one in offered(marked) if one.label == label)
    assert found.insert == (insert or label)
    assert documentation in found.documentation


@pytest.mark.parametrize(
    "marked",
    [
        "# @prompt a\n# @loop for b of [1]\nGET http://x/\n\n### next\nGET http://x/{{|}}",
        "# @prompt a\n# @loop for b of [1]\nGET http://x/\n\nGET http://x/{{|}}",
        "# @env-json-key a b.c\nGET http://x/{{|}}",
    ],
)
def test_what_a_directive_sets_for_another_request_is_not_offered(marked: str) -> None:
    assert not {"a", "b", "$index"} & {one.label for one in offered(marked)}


@pytest.mark.parametrize(
    "marked",
    [
        ":a = 1\n# @no|\nGET http://x/:a",
        ":a = 1\nGET http://x/{{$gu|",
        "GET http://x/\n\n> {% a() %}\n\nclient.|",
        "# a remark on client.|",
    ],
)
def test_restclient_and_plain_text_are_offered_none_of_it(marked: str) -> None:
    assert [one.label for one in offered(marked)] == []


def test_all_kinds_of_candidates_have_a_kind_in_the_protocol() -> None:
    assert set(completions._COMPLETIONS) == set(get_args(Kind))


def test_the_names_that_are_explained_are_those_that_scripts_see() -> None:
    here = Path(scripts.__file__)
    folder = here.with_name("sandbox") / "javascript"
    known = here.read_text() + "".join(
        (folder / f"{name}.js").read_text() for name in ("digests", "globals", "jetbrains")
    )
    words = {word for name in API for word in name.split(".")}
    assert {word for word in words if not re.search(rf"\b{word}\b", known)} == set()
