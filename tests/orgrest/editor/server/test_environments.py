"""The environment that a user selects in the editor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from editors import Buffer, Editor
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from servers import RawServer


def _environments(folder: Path) -> None:
    (folder / "http-client.env.json").write_text(
        '{"dev": {"host": "one.example"}, "prod": {"host": "two.example"}}'
    )


def _hovered(buffer: Buffer, marked: str) -> str:
    params = types.HoverParams(buffer.identifier, buffer.at(marked))
    return str(buffer.ask(types.TEXT_DOCUMENT_HOVER, params).contents.value)


def test_the_environment_that_the_user_chooses_counts_at_once_and_is_remembered(
    editor: Editor, folder: Path
) -> None:
    _environments(folder)
    buffer = editor.open(folder / "a.http", "GET http://{{host}}/\n", "http")
    (problem,) = buffer.diagnostics()
    assert "dev, prod" in problem.message
    editor.answer = "prod"
    found = buffer.command("orgrest.chooseEnvironment")
    assert found == {"environments": ["dev", "prod"], "chosen": ["prod"]}
    assert "currently no environment" in editor.questions[-1]
    assert buffer.diagnostics(lambda found: not found) == []
    hover_text = _hovered(buffer, "{{ho|st")
    assert "two.example" in hover_text
    assert "from prod, in http-client.env.json" in hover_text
    with Editor(environ=editor._environ) as other:
        again = other.open(folder / "a.http", "GET http://{{host}}/\n", "http")
        assert "two.example" in _hovered(again, "{{ho|st")
    editor.answer = "no environment"
    assert buffer.command("orgrest.chooseEnvironment")["chosen"] == []
    assert buffer.diagnostics()
    editor.close(buffer)


def test_a_client_may_set_the_environments(editor: Editor, folder: Path) -> None:
    _environments(folder)
    buffer = editor.open(folder / "a.http", "GET http://{{host}}/\n", "http")
    buffer.diagnostics()

    def configure(settings: object) -> None:
        params = types.DidChangeConfigurationParams(settings)
        editor.notify(types.WORKSPACE_DID_CHANGE_CONFIGURATION, params)

    configure({"orgrest": {"environments": ["dev"]}})
    assert buffer.diagnostics(lambda found: not found) == []
    assert "one.example" in _hovered(buffer, "{{ho|st")
    configure({"orgrest": {"environments": 7}})
    assert buffer.diagnostics()
    configure(None)
    editor.close(buffer)


def test_a_setting_of_a_variable_may_be_a_number_or_a_boolean(editor: Editor, folder: Path) -> None:
    text = "GET http://x/{{port}}/{{on}}/{{ratio}}\n"
    buffer = editor.open(folder / "a.http", text, "http")
    assert buffer.diagnostics()
    settings: Any = {"variables": {"port": 8080, "on": True, "ratio": 0.5, "wrong": ["a"]}}
    params = types.DidChangeConfigurationParams(settings)
    editor.notify(types.WORKSPACE_DID_CHANGE_CONFIGURATION, params)
    assert buffer.diagnostics(lambda found: not found) == []
    for marked, value in (("{{po|rt", "8080"), ("{{o|n", "true"), ("{{ra|tio", "0.5")):
        assert value in _hovered(buffer, marked)
    cleared = types.DidChangeConfigurationParams({"variables": {}})
    editor.notify(types.WORKSPACE_DID_CHANGE_CONFIGURATION, cleared)
    assert buffer.diagnostics()


def test_the_settings_that_a_user_of_rest_client_has_apply_below_the_folders_files(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"GET {server.url}/{{{{mine}}}}/{{{{both}}}}/{{{{token}}}}\n"
    buffer = editor.open(folder / "a.http", text, "http")
    (folder / "http-client.env.json").write_text('{"dev": {"both": "of-the-file"}}')
    own = {"mine": "of-the-user", "both": "of-the-user", "token": "a-secret-value"}
    settings = {
        "environments": ["dev"],
        "restClient": {
            "rest-client.environmentVariables": {"dev": own},
            "rest-client.defaultHeaders": {"X-Mine": "default", "X-Broken": 7},
            "rest-client.timeoutinmilliseconds": 30_000,
            "rest-client.certificates": [],
        },
    }
    params = types.DidChangeConfigurationParams(settings)
    editor.notify(types.WORKSPACE_DID_CHANGE_CONFIGURATION, params)
    assert buffer.diagnostics(lambda found: not found) == []
    found = buffer.command("orgrest.send", line=0)
    assert server.requests[-1].startswith(b"GET /of-the-user/of-the-file/a-secret-value ")
    assert b"X-Mine: default" in server.requests[-1]
    assert "a-secret-value" not in str(found)
    for given in ({"rest-client.environmentVariables": ["not an object"]}, {}):
        params = types.DidChangeConfigurationParams({"environments": [], "restClient": given})
        editor.notify(types.WORKSPACE_DID_CHANGE_CONFIGURATION, params)
        assert "mine" in buffer.diagnostics()[0].message
    editor.close(buffer)


def test_a_client_may_set_the_values_that_a_request_asks_for(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"# @prompt who Who is it?\nGET {server.url}/{{{{who}}}}\n"
    buffer = editor.open(folder / "a.http", text, "http")
    failed = buffer.command("orgrest.send", line=1)
    assert "Who is it?" in failed["message"]
    assert "to run it without a prompt, use the setting `variables`" in failed["message"]
    for values in ({"who": "me", "other": 7}, {"who": "me"}):
        params = types.DidChangeConfigurationParams({"orgrest": {"variables": values}})
        editor.notify(types.WORKSPACE_DID_CHANGE_CONFIGURATION, params)
        hover_text = _hovered(buffer, "{{wh|o")
        assert "me" in hover_text
        assert "set by the editor setting `variables`," in hover_text
        assert buffer.command("orgrest.send", line=1)["status"] == 200
    editor.notify(
        types.WORKSPACE_DID_CHANGE_CONFIGURATION,
        types.DidChangeConfigurationParams({"variables": {}}),
    )
    editor.close(buffer)


def test_without_environment_files_there_is_nothing_to_choose(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.http", "GET http://x/\n", "http")
    with pytest.raises(JsonRpcException, match="no environment file in the document's folder or"):
        buffer.command("orgrest.chooseEnvironment")
    editor.close(buffer)


@pytest.mark.parametrize(("use", "shown"), [("{{name}}", "plain"), ("{{$dotenv name}}", "***")])
def test_completion_does_not_show_values_of_a_file_that_the_document_reads_as_secrets(
    editor: Editor, folder: Path, use: str, shown: str
) -> None:
    (folder / ".env").write_text("name=plain\n")
    buffer = editor.open(folder / "a.http", f"GET http://h/{use}/{{{{na}}}}\n", "http")
    params = types.CompletionParams(buffer.identifier, buffer.at("{{na|}}"))
    (item,) = buffer.ask(types.TEXT_DOCUMENT_COMPLETION, params).items
    assert (item.label, item.documentation) == ("name", f"{shown}\n\n.env")
