"""Responses as data for an editor's own views, with a real client and real servers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import url2pathname

import pytest
from editors import Editor, plain
from pygls.exceptions import JsonRpcException
from servers import RawServer, by_path, echo, response

from orgrest.editor.server.notifications import KEPT

JSON = "Content-Type: application/json"
PNG = b"\x89PNG\r\n\x1a\n\0"
SECRET = "hunter2-hunter2"
EXPERIMENTAL = {"orgrest": {"responses": True, "prompts": True}}


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    answers: Any = {
        "/json": response(b'{"a":1}', JSON),
        "/secret": response(b'{"password": "%s"}' % SECRET.encode(), JSON),
        "/png": response(PNG, "Content-Type: image/png"),
        "/js": response(b"alert(1)", "Content-Type: text/javascript"),
        "/lines": response(b'{"a":1}\n{"a":2}\n', "Content-Type: application/x-ndjson"),
        "/html": response(b"<p>a</p>", "Content-Type: text/html"),
        "/xml": response(b"<a/>", "Content-Type: application/xml"),
        "/big": response(b"[%s]" % b", ".join([b'"%s"' % (b"x" * 1000)] * 2000), JSON),
        "/deep": response(b"[" * 9000 + b"]" * 9000, JSON),
        "/none": response(b"", status="204 No Content"),
        "/gone": response(b"", "Location: /json", status="302 Found"),
        "/echo": echo,
    }
    with RawServer(by_path(answers)) as running:
        yield running


@pytest.fixture(scope="module")
def running() -> Iterator[Editor]:
    with Editor(environ={"SECRET": SECRET}, experimental=EXPERIMENTAL) as editor:
        yield editor


def told(editor: Editor, count: int = 1) -> list[Any]:
    return list(editor.wait_for(lambda: editor.notified, lambda found: len(found) >= count))


def body_of(told: Any) -> Any:
    return told["record"]["exchanges"][-1]["response"]["body"]


def data_of(told: Any) -> bytes:
    return Path(url2pathname(body_of(told)["uri"].removeprefix("file://"))).read_bytes()


def test_a_client_learns_that_it_can_ask_for_responses(editor: Editor) -> None:
    found = editor.initialized.capabilities.experimental
    assert found == {"orgrest": {**EXPERIMENTAL["orgrest"], "outcomes": True}}


def test_a_response_comes_with_all_that_a_view_shows(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    text = (
        f"\n\n# @name one\nPOST {server.url}/json\nX-A: b\n{JSON}\n\n"
        '{"q": 1}\n\n?? status == 200\n?? body a == 2\n'
    )
    buffer = editor.open(tmp_path / "a.http", text, "http")
    result = buffer.command("orgrest.send", 3)
    [found] = told(editor)
    assert found["textDocument"] == {"uri": buffer.uri, "version": 1}
    assert found["request"] == {"uri": buffer.uri, "line": 3}
    record = found["record"]
    assert (record["name"], record["outcome"], record["line"]) == ("one", "failed", 4)
    held, failed = record["assertions"]
    assert (held["passed"], failed["passed"]) == (True, False)
    assert (failed["expected"], failed["actual"], failed["line"]) == ("2", "1", 11)
    [exchange] = record["exchanges"]
    assert exchange["request"]["method"] == "POST"
    assert ["X-A", "b"] in exchange["request"]["headers"]
    assert exchange["request"]["body"]["text"] == '{"q": 1}'
    assert exchange["response"]["status"] == 200
    assert ["Content-Type", "application/json"] in exchange["response"]["headers"]
    assert set(exchange["timing"]) == {"resolve", "connect", "tls", "wait", "download"}
    body = body_of(found)
    assert (body["type"], body["language"]) == ("application/json", "json")
    assert body["pretty"] == '{\n  "a": 1\n}'
    assert data_of(found) == b'{"a":1}'
    assert {"text", "language", "uri"}.isdisjoint(result)
    assert editor.client.shown_documents == []


def test_the_fields_are_those_that_the_documentation_has(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    docs = Path(__file__).parents[4] / "docs"
    page = (docs / "language-server.md").read_text("utf-8").partition("`orgrest/response`")[2]
    own = set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))
    fields = set(
        re.findall(
            r"^\| `requests\[\]\.([\w.\[\]]+)` \|",
            (docs / "orgrest/reference/tests.md").read_text(),
            re.M,
        )
    )
    buffer = editor.open(tmp_path / "a.http", f"GET {server.url}/json\n?? status == 201\n", "http")
    buffer.command("orgrest.send")
    [found] = told(editor)
    added = {"pretty", "whole", "language", "uri"}
    assert set(found) | added | {"problem"} == own
    assert added < set(body_of(found))
    record = found["record"]
    assert set(record) == {field for field in fields if re.fullmatch(r"\w+", field)} - {
        "order",
        "turn",
        "row",
    }


def test_an_org_document_gets_its_result_and_the_view_its_response(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    text = f"* A\n#+begin_src restclient\nGET {server.url}/gone\n#+end_src\n"
    buffer = editor.open(tmp_path / "a.org", text, "org")
    buffer.command("orgrest.send", 2)
    [found] = told(editor)
    assert "#+RESULTS:" in buffer.text
    assert found["request"] == {"uri": buffer.uri, "line": 1}
    assert body_of(found)["pretty"] == '{\n  "a": 1\n}'
    [exchange] = found["record"]["exchanges"]
    assert [redirect["status"] for redirect in exchange["response"]["redirects"]] == [302]
    assert [one["reason"] for one in exchange["earlier"]] == ["redirect"]


@pytest.mark.parametrize(
    ("path", "language", "suffix"),
    [
        ("png", "plaintext", ".png"),
        ("js", "javascript", ".txt"),
        ("lines", "plaintext", ".txt"),
        ("html", "html", ".html"),
        ("xml", "xml", ".xml"),
        ("deep", "json|plaintext", ".json"),  # from 3.12 on, Python reads it
    ],
)
def test_a_body_is_reported_in_its_language_and_as_a_file(
    editor: Editor, server: RawServer, tmp_path: Path, path: str, language: str, suffix: str
) -> None:
    buffer = editor.open(tmp_path / "a.http", f"GET {server.url}/{path}\n", "http")
    buffer.command("orgrest.send")
    [found] = told(editor)
    assert body_of(found)["language"] in language.split("|")
    assert body_of(found)["uri"].endswith(suffix)
    if path == "png":
        assert data_of(found) == PNG
        assert body_of(found)["pretty"] == ""


def test_a_large_body_is_whole_in_its_file(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    buffer = editor.open(tmp_path / "a.http", f"GET {server.url}/big\n", "http")
    buffer.command("orgrest.send")
    [found] = told(editor)
    assert body_of(found)["cut"]
    assert len(data_of(found)) == body_of(found)["size"]
    assert (len(body_of(found)["pretty"]) < 2**20 + 1, body_of(found)["language"]) == (
        True,
        "plaintext",
    )


def test_an_empty_body_has_no_file(editor: Editor, server: RawServer, tmp_path: Path) -> None:
    buffer = editor.open(tmp_path / "a.http", f"GET {server.url}/none\n", "http")
    buffer.command("orgrest.send")
    [found] = told(editor)
    assert (found["record"]["outcome"], body_of(found).get("uri")) == ("passed", None)


def test_secrets_are_in_no_field_and_no_file(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    text = (
        f"GET {server.url}/secret\n"
        "X-Query: {{$processEnv SECRET}}\n"
        "Authorization: Bearer {{$processEnv SECRET}}\n"
    )
    buffer = editor.open(tmp_path / "a.http", text, "http")
    buffer.command("orgrest.send")
    [found] = told(editor)
    assert found["record"]["outcome"] == "passed"
    assert SECRET not in str(found)
    assert data_of(found) == b'{"password": "***"}'


def test_what_failed_is_reported_once_and_not_in_a_message_too(
    editor: Editor, tmp_path: Path
) -> None:
    text = "GET http://127.0.0.1:1/\n###\nGET {{nowhere}}\n"
    buffer = editor.open(tmp_path / "a.http", text, "http")
    buffer.command("orgrest.sendAllAbove", 2)
    first, second = told(editor, 2)
    assert [one["record"]["outcome"] for one in (first, second)] == ["error", "error"]
    assert "nowhere" in second["record"]["reason"]
    assert first["record"]["exchanges"][0]["response"] is None
    assert editor.messages == []


def test_a_request_that_another_one_needs_is_reported_before_it_where_it_stands(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    (tmp_path / "lib.http").write_text(f"\n# @name login\nGET {server.url}/json\n")
    text = f"import lib.http\nGET {server.url}/echo?{{{{login.response.body.a}}}}\n"
    buffer = editor.open(tmp_path / "a.http", text, "http")
    buffer.command("orgrest.send", 1)
    needed, found = told(editor, 2)
    assert needed["request"] == {"uri": (tmp_path / "lib.http").as_uri(), "line": 2}
    assert found["request"] == {"uri": buffer.uri, "line": 1}
    assert found["record"]["exchanges"][0]["request"]["url"].endswith("/echo?1")


def test_responses_are_told_by_the_token_of_their_command(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    buffer = editor.open(tmp_path / "a.http", f"GET {server.url}/json\n", "http")
    editor.run("orgrest.send", buffer.uri, 0, token="mine")
    editor.run("orgrest.send", buffer.uri, 0)
    assert [one["token"] for one in told(editor, 2)] == ["mine", None]


def test_only_the_last_bodies_are_kept(editor: Editor, server: RawServer, tmp_path: Path) -> None:
    text = "###\n".join([f"GET {server.url}/json\n"] * (KEPT + 2))
    buffer = editor.open(tmp_path / "a.http", text, "http")
    buffer.command("orgrest.sendAllAbove", 2 * KEPT + 4)
    found = told(editor, KEPT + 2)
    there = [Path(url2pathname(body_of(o)["uri"].removeprefix("file://"))).exists() for o in found]
    assert there == [False, False, *[True] * KEPT]


def test_a_body_that_cannot_be_written_is_reported(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    buffer = editor.open(tmp_path / "a.http", f"GET {server.url}/json\n", "http")
    buffer.command("orgrest.send")
    [found] = told(editor)
    place = Path(url2pathname(body_of(found)["uri"].removeprefix("file://"))).parent
    for path in place.iterdir():
        path.unlink()
    place.rmdir()
    place.write_text("in the way")
    try:
        buffer.command("orgrest.send")
        again = told(editor, 2)[1]
    finally:
        place.unlink()
        place.mkdir(mode=0o700)
    assert body_of(again)["pretty"] == '{\n  "a": 1\n}'
    assert body_of(again)["problem"]
    assert "uri" not in body_of(again)


def test_what_a_request_asks_for_is_typed_in_the_editor(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    text = (
        f"# @prompt user Who are you?\nPOST {server.url}/echo\nX-User: {{{{user}}}}\n"
        "Authorization: Bearer {{$password Token?}}\n"
    )
    buffer = editor.open(tmp_path / "asks.http", text, "http")
    editor.typed = "typed by hand"
    buffer.command("orgrest.send", 1)
    [found] = told(editor)
    assert sorted(editor.prompts) == [("Token?", True), ("Who are you?", False)]
    headers = found["record"]["exchanges"][0]["request"]["headers"]
    assert ["Authorization", "***"] in headers
    assert any(name == "X-User" for name, _ in headers)


def test_a_request_whose_question_is_dismissed_is_not_sent(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    text = f"# @prompt user Who are you?\nGET {server.url}/json?{{{{user}}}}\n"
    buffer = editor.open(tmp_path / "dismissed.http", text, "http")
    editor.typed = None
    count = len(server.requests)
    assert buffer.command("orgrest.send", 1)["outcome"] == "error"
    [found] = told(editor)
    assert found["record"]["exchanges"] == []
    assert "user" in found["record"]["reason"]
    assert len(server.requests) == count


def test_a_view_shows_the_environment_without_asking(editor: Editor, tmp_path: Path) -> None:
    (tmp_path / "http-client.env.json").write_text('{"dev": {}, "live": {}}')
    buffer = editor.open(tmp_path / "a.http", "GET http://127.0.0.1:9/\n", "http")
    params = {"textDocument": {"uri": buffer.uri}}
    found = plain(editor.request("orgrest/environments", params))
    assert found == {"environments": ["dev", "live"], "chosen": []}
    editor.request("orgrest/environments", {**params, "chosen": ["live", "dev"]})
    assert plain(editor.request("orgrest/environments", params))["chosen"] == ["live", "dev"]
    with pytest.raises(JsonRpcException, match="no such environment: prod"):
        editor.request("orgrest/environments", {**params, "chosen": ["prod"]})
    assert plain(editor.request("orgrest/environments", params))["chosen"] == ["live", "dev"]
    assert editor.questions == []
