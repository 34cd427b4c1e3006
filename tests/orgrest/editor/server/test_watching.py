"""A real client's diagnostics are updated when files that a document depends on change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from editors import Editor
from lsprotocol import types
from servers import RawServer, response

from orgrest.http.values import environments

ENVIRONMENT = '{{"$shared": {{"{}": "x.example"}}}}'


@pytest.fixture(scope="module")
def running() -> Iterator[Editor]:
    with Editor() as editor:
        yield editor


@pytest.fixture
def editor(running: Editor) -> Iterator[Editor]:
    running.wait_for(lambda: running.watched)
    yield running
    for buffer in list(running.buffers.values()):
        running.close(buffer)


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("http-client.env.json", "{}", ENVIRONMENT.format("host")),
        ("http-client.private.env.json", None, ENVIRONMENT.format("host")),
        (".env", "a=1", "host=x.example"),
        ("env/.env", None, "host=x.example"),
        (
            ".vscode/settings.json",
            None,
            f'{{"rest-client.environmentVariables": {ENVIRONMENT.format("host")}}}',
        ),
        (".httpyac.json", None, f'{{"environments": {ENVIRONMENT.format("host")}}}'),
        ("lib.http", "@other = 1\n", "@host = 2\n"),
        ("lib.http", None, "@host = 2\n"),
    ],
)
def test_a_variable_added_to_a_file_is_defined_at_once(
    editor: Editor, tmp_path: Path, name: str, before: str | None, after: str
) -> None:
    (tmp_path / ".git").mkdir()
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    if before is not None:
        file.write_text(before)
    first = "import lib.http\n" if name == "lib.http" else ""
    buffer = editor.open(tmp_path / "a.http", f"{first}GET http://{{{{host}}}}/\n", "http")
    assert buffer.diagnostics()
    file.write_text(after)
    editor.tell_of_file(file)
    assert buffer.diagnostics(lambda found: not found) == []
    file.unlink()
    editor.tell_of_file(file)
    assert buffer.diagnostics()


def test_where_an_undefined_variable_is_defined_is_known_at_once(
    editor: Editor, tmp_path: Path
) -> None:
    (tmp_path / ".git").mkdir()
    file = tmp_path / "http-client.env.json"
    buffer = editor.open(tmp_path / "a.http", "GET http://{{host}}/\n", "http")
    assert buffer.diagnostics()
    for environment in ("dev", "prod"):
        file.write_text(f'{{"{environment}": {{"host": "a"}}}}')
        editor.tell_of_file(file)
        expected = f"defined in the environment {environment}: select it"
        assert buffer.diagnostics(lambda found, text=expected: text in found[0].message)
    file.unlink()
    editor.tell_of_file(file)
    assert buffer.diagnostics(lambda found: found[0].message == "the variable host is not defined")


def test_every_kind_of_environment_file_is_watched(editor: Editor, tmp_path: Path) -> None:
    for name in ("dev.env", ".env.dev", ".env"):
        (tmp_path / name).write_text("")
    files = list(environments.files(tmp_path))
    assert len(files) > 6
    for file in files:
        assert any(file.match(one.removeprefix("**/")) for one in editor.watched), file


def test_a_variable_added_to_a_file_is_defined_after_a_send_for_who_watches_no_files(
    tmp_path: Path,
) -> None:
    without = ("workspace.did_change_watched_files",)
    with (
        RawServer(response(b"{}")) as server,
        Editor(without=without) as editor,
    ):
        text = f"GET {server.url}/?{{{{host}}}}\n"
        buffer = editor.open(tmp_path / "a.http", text, "http")
        assert buffer.diagnostics()
        (tmp_path / ".env").write_text("host=x.example")
        assert buffer.command("orgrest.send")["outcome"] == "passed"
        assert buffer.diagnostics(lambda found: not found) == []
        assert editor.watched == []


def test_a_client_that_pulls_is_asked_to_pull_again(tmp_path: Path) -> None:
    editor = Editor()
    assert editor.capabilities.workspace is not None
    assert editor.capabilities.text_document is not None
    editor.capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
    editor.capabilities.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(True)
    with editor:
        editor.wait_for(lambda: editor.watched)
        buffer = editor.open(tmp_path / "a.http", "GET http://{{host}}/\n", "http")
        params = types.DocumentDiagnosticParams(buffer.identifier)
        assert buffer.ask(types.TEXT_DOCUMENT_DIAGNOSTIC, params).items
        (tmp_path / ".env").write_text("host=x.example")
        editor.tell_of_file(tmp_path / ".env")
        editor.wait_for(lambda: editor.client.diagnostic_refresh_count)
        assert not buffer.ask(types.TEXT_DOCUMENT_DIAGNOSTIC, params).items
