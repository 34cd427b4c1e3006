"""A bug in an importer or exporter affects one request or file, which is named in the error.

A fault is injected into each function of a format and of the shared parts, one at a time.
"""

from __future__ import annotations

import inspect
import json
from functools import partial, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from orgrest.commands.main import program
from orgrest.convert.formats import EXPORTERS, FORMATS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

BUG = "This is a bug in orgrest: please report it"
SECRET = "secret-of-a-user"
IMPORTERS = {format_.name: format_.importer for format_ in FORMATS if format_.importer}

_HAR = {
    "startedDateTime": "2026-01-01T00:00:00Z", "time": 1, "cache": {}, "timings": {},
    "response": {"status": 200, "statusText": "OK", "headers": [], "content": {}},
}  # fmt: skip


def har_entry(path: str) -> dict[str, Any]:
    headers = [{"name": "X", "value": "y"}]
    body = {"mimeType": "application/json", "text": '{"a": 1}'}
    sent = {"method": "POST", "url": f"http://h/{path}", "headers": headers, "postData": body}
    return {**_HAR, "request": sent}


def postman_item(path: str) -> dict[str, Any]:
    tests = ["pm.test('ok', () => pm.response.to.have.status(200));", "pm.expect(1).to.eql(1)"]
    return {
        "name": path,
        "event": [{"listen": "test", "script": {"exec": tests}}],
        "request": {
            "method": "POST", "url": f"http://h/{path}?a={{{{b}}}}",
            "header": [{"key": "X", "value": "{{$guid}}"}],
            "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "t"}]},
            "body": {"mode": "urlencoded", "urlencoded": [{"key": "a", "value": "b c"}]},
        },
    }  # fmt: skip


SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
SAMPLES = {
    "har": {"log": {"version": "1.2", "entries": [har_entry("one"), har_entry("two")]}},
    "postman": {
        "info": {"name": "c", "schema": SCHEMA},
        "item": [{"name": "folder", "item": [postman_item("one")]}, postman_item("two")],
        "variable": [{"key": "b", "value": "c"}],
    },
    "openapi": {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "http://h"}],
        "paths": {
            f"/{path}": {
                "post": {
                    "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
                    "requestBody": {
                        "content": {"application/json": {"schema": {"type": "object"}}}
                    },
                    "responses": {"200": {"description": "ok"}},
                }
            }
            for path in ("one", "two")
        },
    },
    "insomnia": {
        "_type": "export",
        "__export_format": 4,
        "resources": [
            {"_id": "w", "_type": "workspace", "name": "w"},
            {"_id": "e", "_type": "environment", "parentId": "w", "data": {"b": "c"}},
            *(
                {
                    "_id": path,
                    "_type": "request",
                    "parentId": "w",
                    "name": path,
                    "method": "POST",
                    "url": f"http://h/{path}?x={{{{ _.b }}}}",
                    "headers": [{"name": "X", "value": "{% now 'iso' %}"}],
                    "body": {"mimeType": "application/json", "text": "{}"},
                    "authentication": {"type": "basic", "username": "u", "password": "p"},
                }
                for path in ("one", "two")
            ),
        ],
    },
    "message": "POST /one HTTP/1.1\r\nHost: h\r\nX: y\r\n\r\nbody",
    "hurl": 'POST http://h/one\nX: y\n[Query]\na: b\n{"a": 1}\nHTTP 200\n[Captures]\nc: jsonpath '
    '"$.c"\n[Asserts]\njsonpath "$.d" == 1\n\nPOST http://h/two\n[Form]\na: {{c}}\n',
    "curl": "curl http://h/one -d a=b -H 'X: y'\ncurl -u a:b 'http://h/two?a=b' -F c=d\n",
}
BRUNO = """meta {
  name: %s
  type: http
}

post {
  url: http://h/%s?a={{b}}
  body: json
  auth: bearer
}

auth:bearer {
  token: t
}

headers {
  X: y
}

body:json {
  {"a": 1}
}

assert {
  res.status: eq 200
}

tests {
  test("t", function() { expect(res.status).to.equal(200); });
}
"""


def sample(folder: Path, name: str) -> str:
    """Write the sample file or folder of the format `name`, and return its file name."""
    if name == "bruno":
        made = folder / "bruno"
        made.mkdir(exist_ok=True)
        (made / "bruno.json").write_text('{"version": "1", "name": "c", "type": "collection"}')
        for one in ("one", "two"):
            (made / f"{one}.bru").write_text(BRUNO % (one, one))
        return "bruno"
    found = SAMPLES[name]
    (folder / f"sample.{name}").write_text(found if isinstance(found, str) else json.dumps(found))
    return f"sample.{name}"


def functions(module: Any) -> Iterator[tuple[Any, str]]:
    """Return the functions and methods of a module as (owner, name) pairs."""
    for name, value in vars(module).items():
        own = getattr(value, "__module__", None) == module.__name__
        if own and inspect.isfunction(value):
            yield module, name
        elif own and inspect.isclass(value):
            for inner, one in vars(value).items():
                if inspect.isfunction(one) and not inner.startswith("__"):
                    yield value, inner


def broken(function: Callable[..., Any], only: int, fired: list[str]) -> Callable[..., Any]:
    """Return a wrapper that raises KeyError at the call with the index `only`, from 0.

    The name of the function is then added to `fired`.
    """
    calls = iter(range(10**9))

    @wraps(function)
    def fault(*given: Any, **named: Any) -> Any:
        if next(calls) == only:
            fired.append(function.__name__)
            raise KeyError(SECRET)
        return function(*given, **named)

    return fault


SHARED = [
    import_module(f"orgrest.convert.shared.{name}")
    for name in ("authorization", "documents", "expectations", "fields", "forms", "reading_back",
                 "requests", "texts", "variables")
]  # fmt: skip


def run(*words: str) -> Result:
    return CliRunner().invoke(program, words)


def every_fault(
    modules: list[Any], call: Callable[[], Result], patch: pytest.MonkeyPatch, only: int
) -> Iterator[tuple[str, Result]]:
    """Yield the result of a command with a fault in each of the functions that it calls."""
    for module in modules:
        for owner, name in list(functions(module)):
            fired: list[str] = []
            with patch.context() as patched:
                patched.setattr(owner, name, broken(getattr(owner, name), only, fired))
                done = call()
            if fired:
                yield f"{module.__name__}: {name}", done


@pytest.mark.slow
@pytest.mark.parametrize("only", [0, 1])
@pytest.mark.parametrize("name", IMPORTERS)
def test_a_bug_in_an_importer_costs_one_request_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, only: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.curl").write_text("curl http://other/kept\n")
    first = sample(tmp_path, name)
    call = partial(run, "import", first, "other.curl")
    assert call().exit_code == 0, call().output
    module = import_module(f"orgrest.convert.{IMPORTERS[name]}")
    count = 0
    for place, done in every_fault([module, *SHARED], call, monkeypatch, only):
        count += 1
        assert done.exception is None or isinstance(done.exception, SystemExit), place
        assert BUG in done.output, place
        assert done.exit_code != 0, place
        assert SECRET not in done.output, place
        lost = [one for one in ("one", "two", "other/kept") if one not in done.stdout]
        if len(lost) == 3:  # the document as a whole could not be written
            assert "shared.documents" in place, place
            assert done.exit_code == 2, place
        else:
            assert "other/kept" not in lost or len(lost) <= 1 + (name == "message"), place
    assert count > 5


DOCUMENT = """\
@a = b
@secret_token = c

### one
# @name one
POST http://h/one?{{a}}
X: {{a}}
Authorization: Basic {{a}} {{b}}

{"a": "{{a}}"}

?? status == 200
> {% client.test("t", () => {}) %}

### two
GET http://h/two?{{one.response.body.$.x}}

### three
POST http://h/three
Content-Type: application/x-www-form-urlencoded

a={{a}}
"""


@pytest.mark.slow
@pytest.mark.parametrize("only", [0, 1])
@pytest.mark.parametrize("target", EXPORTERS)
def test_a_bug_in_an_exporter_costs_one_request_and_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, only: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.http").write_text(DOCUMENT)
    call = partial(run, "export", "--to", target, "a.http", "--var", "b=c")
    assert call().exit_code == 0, call().output
    module = import_module(f"orgrest.convert.{EXPORTERS[target]}")
    names = ("completing", "exports", "kept")
    shared = [import_module(f"orgrest.convert.shared.{name}") for name in names]
    count = 0
    for place, done in every_fault([module, *shared], call, monkeypatch, only):
        count += 1
        assert done.exception is None or isinstance(done.exception, SystemExit), place
        assert BUG in done.output, place
        assert done.exit_code != 0, place
        assert SECRET not in done.output, place
    assert count > 5


# Found by random changes to the samples.
STRANGE = {
    "an-empty-expectation.hurl": "GET http://h/\nHTTP 200\n[Asserts]\njsonpath \"$.a\" ==\n",
    "a-host-that-is-none.txt": "GET / HTTP/1.1\r\nHost: [h\r\nX: y\r\n\r\n",
    "a-list-as-a-name.json": {
        "openapi": "3.0.0", "info": {"title": "t"},
        "paths": {"/one": {
            "parameters": [{"name": ["n"], "in": {}}],
            "get": {"parameters": [{"name": ["n"], "in": []}]},
        }},
    },
    "half-a-character.json": {
        "info": {"name": "\ud800", "schema": SCHEMA},
        "item": [{"name": "n\udc80", "request": {"method": "GET", "url": "http://h/\ud800"}}],
        "variable": [{"key": "v", "value": "\udfff"}],
    },
}  # fmt: skip


@pytest.mark.parametrize("output", ["made.http", "made.org"])
@pytest.mark.parametrize("name", STRANGE)
def test_strange_content_is_imported_or_told_not_a_bug(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, output: str
) -> None:
    monkeypatch.chdir(tmp_path)
    found = STRANGE[name]
    (tmp_path / name).write_text(found if isinstance(found, str) else json.dumps(found))
    done = run("import", name, "-o", output)
    assert isinstance(done.exception, SystemExit | None)
    assert BUG not in done.output
    if done.exit_code == 0:
        assert BUG not in (tmp_path / output).read_text()
    else:
        assert done.stderr.startswith(f"orgrest: {name}: ")
