"""Variables in imported forms and queries: their values cannot add fields or parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from components import needs_engine
from counting import bytecodes
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from imports import imported, sent

from orgrest.convert.shared.model import Folder, Request
from orgrest.convert.shared.scopes import unset

pytestmark = needs_engine

FORM = "application/x-www-form-urlencoded"
GIVEN = {"v": "x&admin=1", "api-key": "a b+c%41", "class": "#é", "a.b": "{}"}
NAMES = list(GIVEN)


def postman(**request: Any) -> str:
    item = {"name": "One", "request": {"method": "POST", "url": "http://h/", **request}}
    return json.dumps({"info": {"name": "API", "schema": "v2.1"}, "item": [item]})


def insomnia(**request: Any) -> str:
    item = {"name": "One", "method": "POST", "url": "http://h/", **request}
    return json.dumps({"type": "collection.insomnia.rest/5.0", "name": "A", "collection": [item]})


def api_key(name: str) -> dict[str, Any]:
    pairs = {"key": "k", "value": f"{{{{{name}}}}}", "in": "query"}
    return {"type": "apikey", "apikey": [{"key": key, "value": pairs[key]} for key in pairs]}


SOURCES = {
    "postman form": lambda name: postman(
        body={"mode": "urlencoded", "urlencoded": [{"key": "k", "value": f"{{{{{name}}}}}"}]}
    ),
    "postman API key": lambda name: postman(auth=api_key(name)),
    "insomnia form": lambda name: insomnia(
        body={"mimeType": FORM, "params": [{"name": "k", "value": f"{{{{ _['{name}'] }}}}"}]}
    ),
    "insomnia query": lambda name: insomnia(
        parameters=[{"name": "k", "value": f"{{{{ _['{name}'] }}}}"}]
    ),
    "hurl form": lambda name: f"POST http://h/\n[Form]\nk: {{{{{name}}}}}\n",
    "hurl query": lambda name: f"GET http://h/\n[Query]\nk: {{{{{name}}}}}\n",
}  # fmt: skip


def fields(folder: Path, output: str, **values: str) -> list[tuple[str, str]]:
    """Return the fields of the query and the form that the imported request sends."""
    (request,) = sent(folder, output, **values)
    body = (request.body or b"").decode()
    return [
        pair
        for text in (urlsplit(request.url).query, body)
        for pair in parse_qsl(text, keep_blank_values=True)
    ]


@pytest.mark.parametrize("output", ["out.http", "out.org"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", SOURCES)
def test_a_value_does_not_become_another_field(
    what: str, name: str, output: str, tmp_path: Path
) -> None:
    done = imported(tmp_path, SOURCES[what](name), "--strict", output=output)
    assert done.exit_code == 0, done.output
    assert fields(tmp_path, output, **GIVEN) == [("k", GIVEN[name])]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ('--data-urlencode "k=$V" -d "l=$W"', "k=x%26admin%3D1&l=x&admin=1"),
        ('--data-urlencode "$V" --data-urlencode "k=a $class"',
         "x%26admin%3D1&k=a%20x%26admin%3D1"),
    ],
)  # fmt: skip
def test_curl_options_that_encode_also_encode_variables(
    options: str, expected: str, tmp_path: Path
) -> None:
    assert imported(tmp_path, f"curl http://h/ {options}", "--strict").exit_code == 0
    values = dict.fromkeys(("V", "W", "class"), "x&admin=1")
    (request,) = sent(tmp_path, environ=values)
    assert (request.body or b"").decode() == expected
    folder = tmp_path / "G"
    folder.mkdir()
    assert imported(folder, f"curl -G http://h/ {options}", "--strict").exit_code == 0
    (request,) = sent(folder, environ=values)
    assert request.url == f"http://h/?{expected}"


@settings(
    deadline=None,
    max_examples=30,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@example(value="1.0")
@example(value='{"a": 1}')
@given(value=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))
def test_any_value_of_an_environment_variable_is_sent_as_it_is(value: str, tmp_path: Path) -> None:
    if not (tmp_path / "out.http").exists():
        imported(tmp_path, 'curl http://h/ --data-urlencode "k=$V"')
    (request,) = sent(tmp_path, environ={"V": value})
    assert parse_qsl((request.body or b"").decode(), keep_blank_values=True) == [("k", value)]


UNSET = "variables that requests use before anything sets them"


def test_the_import_says_which_variables_have_no_value(tmp_path: Path) -> None:
    def item(name: str, value: str, *scripts: tuple[str, str]) -> dict[str, Any]:
        events = [{"listen": kind, "script": {"exec": [code]}} for kind, code in scripts]
        header = [{"key": "X", "value": value}]
        return {"name": name, "request": {"url": "http://h/", "header": header}, "event": events}

    later = ("test", "pm.environment.set('later', 1); postman.setGlobalVariable('old', 1);")
    before = ("prerequest", "pm.variables.set('own', {a: 1});")
    items = [
        item("One", "{{later}} {{own.a}} {{inFolder}} {{$guid}}", before, later),
        item("Two", "{{later}} {{old}} {{inEnvironment}} {{never}}"),
    ]
    variables = [{"key": "inFolder", "value": "{{through}}"}, {"key": "unused", "value": "{{no}}"}]
    info = {"name": "API", "schema": "v2.1"}
    environment = {"name": "dev", "values": [{"key": "inEnvironment", "value": "1"}],
                   "_postman_variable_scope": "environment"}  # fmt: skip
    (tmp_path / "dev.json").write_text(json.dumps(environment))
    whole = {"info": info, "item": items, "variable": variables}
    done = imported(tmp_path, json.dumps(whole), str(tmp_path / "dev.json"), "--strict")
    assert done.exit_code == 0, done.output
    assert f"{UNSET}: later, through, never;" in done.stderr
    used = {"info": info, "item": [item("One", "{{inFolder}}")], "variable": [
        {"key": "inFolder", "value": "x"}]}  # fmt: skip
    assert UNSET not in imported(tmp_path, json.dumps(used), output="second.http").stderr


def test_variables_that_only_an_oauth_login_uses_are_listed(tmp_path: Path) -> None:
    keys = {"accessTokenUrl": "http://h/{{path}}", "clientId": "{{id}}",
            "grant_type": "client_credentials"}  # fmt: skip
    login = [{"key": key, "value": value} for key, value in keys.items()]
    auth = {"type": "oauth2", "oauth2": login}
    whole = {"info": {"name": "API", "schema": "v2.1"}, "auth": auth,
             "item": [{"name": "One", "request": {"url": "http://h/"}}]}  # fmt: skip
    assert f"{UNSET}: id, path;" in imported(tmp_path, json.dumps(whole)).stderr


def test_a_variable_of_another_request_has_a_value_in_a_request_file_but_not_in_org(
    tmp_path: Path,
) -> None:
    source = "GET http://h/{{x}}\n[Options]\nvariable: x=1\n\nGET http://h/{{x}}\n"
    assert UNSET not in imported(tmp_path, source).stderr
    assert [request.url for request in sent(tmp_path)] == ["http://h/1", "http://h/1"]
    assert f"{UNSET}: x;" in imported(tmp_path, source, output="out.org").stderr


def test_a_long_chain_of_variables_is_not_followed_again_for_each_request() -> None:
    def steps(size: int) -> int:
        chain = tuple((f"v{n}", f"{{{{v{n + 1}}}}}") for n in range(size))
        requests = tuple(Request("GET", "http://h/{{v0}}") for _ in range(size))
        return bytecodes(lambda: unset(Folder("", requests, chain), (), org=False))

    assert unset(Folder("", (Request("GET", "{{a}}"),), (("a", "{{b}}"),)), (), org=True) == ["b"]
    assert steps(200) < 3 * steps(100)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_variable_in_a_form_or_query_without_a_value_is_listed(
    source: Any, name: str, tmp_path: Path
) -> None:
    assert f"{UNSET}: {name};" in imported(tmp_path, source(name)).stderr
