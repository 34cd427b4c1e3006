"""Navigation in documents: links, highlights, selections, hints, workspace symbols."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editors import TIMEOUT, Buffer, Editor, plain
from lsprotocol import types
from servers import RawServer

SECRET = "hunter2-hunter2"
TEXT = """import lib.http
@host = x.example
@key = {{$processEnv SECRET}}
@id = {{$uuid}}

### first
# @name one
POST http://{{host}}/{{id}}
Authorization: Bearer {{key}}
X: {{unknown}}

< ./body.json

### second
GET https://y.example/a?b=c
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace")
    (folder / "lib.http").write_text("# @name login\nGET http://x/\n")
    (folder / "body.json").write_text("{}")
    (folder / "deep").mkdir()
    (folder / "deep" / "notes.org").write_text(
        "#+name: logout\n#+begin_src restclient\nGET http://x/\n#+end_src\n"
    )
    (folder / "node_modules").mkdir()
    (folder / "node_modules" / "lost.http").write_text("# @name logged\nGET http://x/\n")
    (folder / "latin.http").write_bytes(b"# @name log\xff\nGET http://x/\n")
    (folder / "big.http").write_text("# @name logbig\nGET http://x/\n" + "#" * 2**20)
    return folder


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory, workspace: Path) -> Iterator[Editor]:
    home = str(tmp_path_factory.mktemp("home"))
    with Editor(
        environ={**os.environ, "HOME": home, "SECRET": SECRET}, folders=[workspace]
    ) as running:
        yield running


@pytest.fixture
def buffer(editor: Editor, workspace: Path) -> Iterator[Buffer]:
    opened = editor.open(workspace / "a.http", TEXT, "http")
    yield opened
    editor.close(opened)


def test_links_lead_to_files_and_urls(buffer: Buffer, workspace: Path) -> None:
    params = types.DocumentLinkParams(buffer.identifier)
    found = buffer.ask(types.TEXT_DOCUMENT_DOCUMENT_LINK, params)
    assert [(buffer.shown(one.range), one.target) for one in found] == [
        ("lib.http", (workspace / "lib.http").as_uri()),
        ("./body.json", (workspace / "body.json").as_uri()),
        ("https://y.example/a?b=c", "https://y.example/a?b=c"),
    ]


def test_no_link_leads_out_of_the_documents_folder(editor: Editor, workspace: Path) -> None:
    text = "POST http://x/{{a}}\n\n< /etc/passwd\n\n###\nPOST http://x/:b\n\n< ./none.json\n"
    opened = editor.open(workspace / "deep" / "b.http", text, "http")
    params = types.DocumentLinkParams(opened.identifier)
    found = opened.ask(types.TEXT_DOCUMENT_DOCUMENT_LINK, params)
    assert [one.target for one in found] == ["http://x/:b"]
    editor.close(opened)


def test_what_means_the_same_is_highlighted(buffer: Buffer) -> None:
    params = types.DocumentHighlightParams(buffer.identifier, buffer.at("{{ho|st}}"))
    found = buffer.ask(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, params)
    kinds = [(buffer.shown(one.range), one.range.start.line, one.kind) for one in found]
    assert kinds == [
        ("host", 1, types.DocumentHighlightKind.Write),
        ("host", 7, types.DocumentHighlightKind.Read),
    ]
    nothing = types.DocumentHighlightParams(buffer.identifier, types.Position(4, 0))
    assert buffer.ask(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, nothing) is None


def test_a_selection_grows_from_a_name_to_its_request(buffer: Buffer) -> None:
    places = [buffer.at("Bearer {{k|ey}}"), buffer.at("{{ho|st}}"), types.Position(4, 0)]
    params = types.SelectionRangeParams(buffer.identifier, places)
    header, target, between = buffer.ask(types.TEXT_DOCUMENT_SELECTION_RANGE, params)

    def grown(one: Any) -> list[str]:
        return [buffer.shown(one.range), *(grown(one.parent) if one.parent else [])]

    assert grown(header)[:3] == ["key", "Bearer {{key}}", "Authorization: Bearer {{key}}"]
    assert grown(target)[:2] == ["host", "http://{{host}}/{{id}}"]
    assert grown(header)[-2].startswith("POST http")
    assert [grown(one)[-1] for one in (header, target, between)] == [TEXT] * 3


def test_a_selection_grows_to_its_block_in_org(editor: Editor, workspace: Path) -> None:
    text = "* A\n#+begin_src restclient\nGET http://x/\n\nbody\n#+end_src\n* B\n"
    opened = editor.open(workspace / "deep" / "c.org", text, "org")
    params = types.SelectionRangeParams(opened.identifier, [opened.at("bo|dy")])
    (one,) = opened.ask(types.TEXT_DOCUMENT_SELECTION_RANGE, params)
    found = []
    while one is not None:
        found.append(opened.shown(one.range))
        one = one.parent
    assert found[0].strip() == "body"
    assert "#+begin_src restclient\nGET http://x/\n\nbody\n#+end_src" in found
    editor.close(opened)


def test_hints_show_values_but_no_secrets_and_nothing_that_changes(buffer: Buffer) -> None:
    whole = types.Range(types.Position(0, 0), types.Position(99, 0))
    params = types.InlayHintParams(buffer.identifier, whole)
    found = buffer.ask(types.TEXT_DOCUMENT_INLAY_HINT, params)
    assert [(one.label, one.position.line) for one in found] == [("= x.example", 7), ("= ***", 8)]
    assert found[0].position == buffer.at("{{host}}|/")
    assert SECRET not in str(found)
    above = types.Range(types.Position(0, 0), types.Position(5, 0))
    params = types.InlayHintParams(buffer.identifier, above)
    assert list(buffer.ask(types.TEXT_DOCUMENT_INLAY_HINT, params)) == []


def test_hints_of_addresses_leave_room_for_what_editors_show_behind_them(
    editor: Editor, tmp_path: Path
) -> None:
    values = "@api = https://api.example.org\n@far = https://a-long-name.example.org\n"
    text = f"{values}GET {{{{api}}}}/{{{{far}}}}\n"
    opened = editor.open(tmp_path / "hints.http", text, "http")
    whole = types.Range(types.Position(0, 0), types.Position(99, 0))
    params = types.InlayHintParams(opened.identifier, whole)
    found = [one.label for one in opened.ask(types.TEXT_DOCUMENT_INLAY_HINT, params)]
    assert found == ["= api.example.org", "= a-long-name.exam..."]
    editor.close(opened)


def test_requests_are_found_in_all_files_of_the_workspace(
    editor: Editor, buffer: Buffer, workspace: Path
) -> None:
    def found(query: str) -> list[tuple[str, str]]:
        answer = editor.request(types.WORKSPACE_SYMBOL, types.WorkspaceSymbolParams(query))
        return [(one.name, Path(one.location.uri).name) for one in answer]

    assert sorted(found("log")) == [("login", "lib.http"), ("logout", "notes.org")]
    assert found("o e") == [("one", "a.http")]
    buffer.replace("@name one", "@name changed")
    assert found("chngd") == [("changed", "a.http")]
    (workspace / "lib.http").write_text("# @name logged-in\nGET http://x/ with more\n")
    assert ("logged-in", "lib.http") in found("log")
    (workspace / "lib.http").write_text("# @name login\nGET http://x/\n")
    assert found("zzz") == []


def test_requests_are_found_in_folders_whose_names_have_characters_of_urls(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a#b", "c%20d", "é f")]
    for folder in folders:
        folder.mkdir()
        (folder / "a.http").write_text(f"### in {folder.name}\nGET http://x/\n")
    with Editor(folders=folders) as editor:
        found = editor.request(types.WORKSPACE_SYMBOL, types.WorkspaceSymbolParams("in"))
    assert sorted(one.name for one in found) == ["in a#b", "in c%20d", "in é f"]


def test_a_run_is_cancelled_by_a_command(editor: Editor, workspace: Path) -> None:
    with RawServer(lambda connection, _: connection.recv(1)) as silent:
        buffer = editor.open(workspace / "slow.http", f"GET {silent.url}/\n", "http")
        other = editor.open(workspace / "other.http", "GET http://x/\n", "http")
        sent = editor.start_run("orgrest.send", buffer.uri, 0)
        editor.wait_for(lambda: silent.requests)
        assert other.command("orgrest.cancel") == 0
        assert buffer.command("orgrest.cancel") == 1
        assert plain(sent.result(TIMEOUT))["message"] == "cancelled"
        assert buffer.command("orgrest.cancel") == 0
        editor.close(buffer)
        editor.close(other)
