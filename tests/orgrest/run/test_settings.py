"""Settings beside a request file that affect its requests: default headers, default environment."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from orgrest.http.parsing.dialects import read
from orgrest.http.values import Context, Inputs, expand
from orgrest.http.values.environments import find
from orgrest.model import ExpansionError, Request, Source

if TYPE_CHECKING:
    from pathlib import Path


def completed(folder: Path, text: str, *chosen: str, language: str = "http") -> Request:
    (parsed,) = read(Source(text), language).requests
    return expand(parsed, Context(Inputs(directory=folder, environments=chosen)))


def write(path: Path, content: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


@pytest.mark.parametrize(
    ("file", "key"),
    [
        (".httpyac.json", "defaultHeaders"),
        ("httpyac.config.json", "defaultHeaders"),
        (".vscode/settings.json", "rest-client.defaultHeaders"),
    ],
)
def test_headers_of_the_settings_are_sent_where_a_request_has_none(
    tmp_path: Path, file: str, key: str
) -> None:
    write(tmp_path / file, {key: {"X-Id": "{{id}}", "Accept": "text/plain", "No": None}})
    text = "@id = 7\nGET http://x/\naccept: application/json\n"
    assert completed(tmp_path, text).headers == (("accept", "application/json"), ("X-Id", "7"))
    assert completed(tmp_path, "GET http://x/\n", language="restclient").headers == ()


def test_a_default_header_that_has_no_value_keeps_a_request_from_being_sent(
    tmp_path: Path,
) -> None:
    write(tmp_path / ".httpyac.json", {"defaultHeaders": {"X-Id": "{{id}}"}})
    with pytest.raises(ExpansionError, match="the variable id is not defined"):
        completed(tmp_path, "GET http://x/\n")


def test_settings_that_cannot_be_read_and_may_have_headers_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / ".httpyac.json", '{"defaultHeaders": {')
    with pytest.raises(ExpansionError, match="could not read the settings for requests:"):
        completed(tmp_path, "GET http://x/\n")
    write(tmp_path / ".httpyac.json", '{"cookieJarEnabled": false, {')
    with pytest.raises(ExpansionError, match="could not read the settings for requests:"):
        completed(tmp_path, "GET http://x/\n")
    write(tmp_path / ".httpyac.json", '{"other": {')
    assert completed(tmp_path, "GET http://x/\n").headers == ()


def test_the_default_environment_counts_where_none_is_chosen(tmp_path: Path) -> None:
    environments = {"$default": {"host": "http://d"}, "dev": {"host": "http://v"}}
    write(tmp_path / ".httpyac.json", {"environments": environments})
    assert completed(tmp_path, "GET /a\n").url == "http://d/a"
    assert completed(tmp_path, "GET /a\n", "dev").url == "http://v/a"
    assert find(tmp_path).names == ("dev",)


def test_a_bare_url_may_begin_with_a_variable_among_blanks() -> None:
    text = "@base = http://x\n\n###\n{{ base }}/a\n\n###\n{{base}}/{{ base }}?b HTTP/1.1\n"
    found = read(Source(text))
    assert [request.target.text for request in found.requests] == [
        "{{ base }}/a",
        "{{base}}/{{ base }}?b",
    ]
    assert found.problems == ()
