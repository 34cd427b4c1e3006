"""The precedence of variables' sources, as listed in docs/orgrest/reference/request-files.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Definition
from orgrest.http.values import Context, Helpers, Inputs, RequestNames, Values
from orgrest.http.values.context import Captured
from orgrest.http.values.global_variables import GlobalVariables
from orgrest.model import ExpansionError, Request, Response, Source

if TYPE_CHECKING:
    from collections.abc import Hashable

    from orgrest.http.syntax import ParsedRequest

DOCUMENTATION = Path(__file__).parents[4] / "docs/orgrest/reference/request-files.md"
SOURCES = (
    "--var",
    "prompt",
    "script",
    "file",
    ":var",
    "exchange",
    "import",
    "global",
    "environment",
)
"""The sources in order of precedence.

Dynamic values and the prompts `$input` and `$password` are left out: their names begin with `$`.
"""
SETS_TOKEN = '\n> {% client.global.set("token", response.body.token) %}\n'


class _Names(RequestNames):
    """Resolves a name as an imported variable and as a request, if `given` has these sources."""

    def __init__(self, name: str, given: dict[str, str]) -> None:
        self._name, self._given = name, given

    def imported_definition(self, name: str) -> tuple[Source, Definition] | None:
        if name != self._name or "import" not in self._given:
            return None
        document = read(Source(f"@{name} = {self._given['import']}\n"))
        (definition,) = (item for item in document.items if isinstance(item, Definition))
        return document.source, definition

    def requests_named(self, name: str, using: ParsedRequest) -> tuple[Hashable, ...]:
        del using
        known = "exchange" in self._given and name == self._name.partition(".")[0]
        return (name,) if known else ()


def origin(name: str, folder: Path, sources: tuple[str, ...], end: str = "") -> tuple[str, str]:
    """Return the value of a name that all `sources` define, and the description of its origin.

    `end` is the end of the request that uses the name.
    """
    given = {source: f"of {source}" for source in SOURCES if source in sources}
    settings = {"e": {name: given["environment"]} if "environment" in given else {}}
    (folder / "http-client.env.json").write_text(json.dumps(settings))
    text = f"# @prompt {name}\n" * ("prompt" in given)
    text += f"@{name} = of file\n" * ("file" in given)
    (parsed,) = read(Source(f"{text}GET http://h/{{{{{name}}}}}\n{end}", file="a.http")).requests
    document = Context(
        Inputs(
            directory=folder,
            environments=["e"],
            overrides={name: given["--var"]} if "--var" in given else {},
        ),
        _Names(name, given),
        Helpers(
            prompt=lambda _what, _hidden: "of prompt",
            globals_=GlobalVariables({name: given["global"]} if "global" in given else {}),
        ),
    )
    if "exchange" in given:
        first, _, rest = name.partition(".")
        body = json.dumps({rest: given["exchange"]}).encode()
        kind = (("Content-Type", "application/json"),)
        answer = Response(200, "OK", "1.1", kind, body, 0.1, "http://h/")
        document.answers.exchanges[first] = Request("GET", "http://h/"), answer
    if "script" in given:
        document.captures[name] = Captured(given["script"])
    literal = {name: given[":var"]} if ":var" in given else {}
    values = Values(parsed, document.block(literal=literal))
    value = values.value(name, 0)
    (told,) = values.origins()
    return value, told.origin


@pytest.mark.parametrize("first", range(len(SOURCES)))
def test_the_first_source_of_the_list_that_knows_a_name_counts_and_is_reported(
    tmp_path: Path, first: int
) -> None:
    value, told = origin("login.token", tmp_path, SOURCES[first:])
    assert value == f"of {SOURCES[first]}"
    assert (
        told
        == {
            "--var": "--var",
            "prompt": "a prompt",
            "script": "a response or a script",
            "file": "a.http:1",
            ":var": ":var",
            "exchange": "the response of login",
            "import": "an imported file",
            "global": "an earlier run",
            "environment": "http-client.env.json",
        }[SOURCES[first]]
    )


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import", "an imported file"),
        ("global", "an earlier run"),
        ("environment", "http-client.env.json"),
    ],
)
def test_a_variable_has_its_value_until_a_script_sets_another(
    tmp_path: Path, source: str, told: str
) -> None:
    assert origin("token", tmp_path, (source,), SETS_TOKEN) == (f"of {source}", told)


def test_a_null_in_the_environment_stands_for_what_a_script_sets(tmp_path: Path) -> None:
    (tmp_path / "http-client.env.json").write_text('{"e": {"token": null}}')
    (parsed,) = read(Source(f"GET http://h/{{{{token}}}}\n{SETS_TOKEN}", file="a.http")).requests
    inputs = Inputs(directory=tmp_path, environments=["e"])
    assert Values(parsed, Context(inputs, placeholders=True)).value("token", 0) == "<token>"
    with pytest.raises(ExpansionError, match="the variable token has no value yet"):
        Values(parsed, Context(inputs)).value("token", 0)


def test_the_documentation_lists_the_sources_in_this_order() -> None:
    text = DOCUMENTATION.read_text("utf-8")
    text = text[text.index("## Variables") : text.index("## Dynamic values")]
    marks = (
        "1. `--var",
        "`# @prompt",
        "3. a variable set by a script",
        "4. `@name",
        "5. `:var",
        "7. `{{login",
    )
    marks += ("8. a variable of an imported", "9. a global", "10. the environments")
    places = [text.index(mark) for mark in marks]
    assert places == sorted(places)
