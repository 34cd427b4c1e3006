"""Requests sent from request files: their responses are shown in separate documents."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from editors import TIMEOUT, Editor, plain
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from served import GATE, SECRET
from servers import RawServer


def test_the_response_to_a_request_file_is_shown_in_a_document(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"GET {server.url}/404\n###\nGET {server.url}/json\n"
    buffer = editor.open(folder / "a.http", text, "http")
    found = buffer.command("orgrest.send", 2)
    assert buffer.text == text
    assert found["text"].startswith('{\n  "a": 1\n}\n// GET http')
    assert (found["language"], Path(found["uri"]).suffix) == ("jsonc", ".jsonc")
    assert found["status"] == 200
    assert found["line"] == 2
    assert [document.uri for document in editor.client.shown_documents] == [found["uri"]]
    path = Path(found["uri"].removeprefix("file://"))
    assert path.read_text() == found["text"]
    assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0
    found = buffer.command("orgrest.send", 0)
    assert (found["status"], found["outcome"], found["language"]) == (404, "failed", "plaintext")


def test_all_above_in_a_request_file_are_shown_together(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"GET {server.url}/snow\n###\nGET {server.url}/{{{{x}}}}\n###\nGET {server.url}/json\n"
    buffer = editor.open(folder / "a.rest", text)
    found = buffer.command("orgrest.sendAllAbove", 4)
    assert [result["outcome"] for result in found["results"]] == ["passed", "error", "passed"]
    assert "☃😀" in found["text"]
    assert '"a": 1' in found["text"]
    assert buffer.command("orgrest.sendAllAbove", 1)["status"] == 200
    assert editor.open(folder / "b.http", "\n", "http").command("orgrest.sendAllAbove")[
        "outcome"
    ] in ("error", "skipped")


def test_the_document_with_the_responses_holds_all_of_a_run_and_is_shown_once(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"GET {server.url}/snow\n###\nGET {server.url}/png\n###\nGET {server.url}/json\n"
    buffer = editor.open(folder / "a.rest", text)
    found = buffer.command("orgrest.sendAllAbove", 4)
    assert [document.uri for document in editor.client.shown_documents] == [found["uri"]]
    assert [result["uri"] for result in found["results"]] == [found["uri"]] * 3
    shown = Path(found["uri"].removeprefix("file://")).read_text("utf-8")
    assert shown == found["text"]
    assert [part in shown for part in ("☃😀", ".png\n", '"a": 1')] == [True] * 3


def test_files_of_the_same_name_have_documents_of_their_own_for_responses(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    shown = []
    for name in ("one", "two"):
        (folder / name).mkdir()
        buffer = editor.open(folder / name / "api.http", f"GET {server.url}/echo?{name}\n")
        shown.append(buffer.command("orgrest.send")["uri"])
        assert buffer.command("orgrest.send")["uri"] == shown[-1]
    texts = [Path(one.removeprefix("file://")).read_text("utf-8") for one in shown]
    assert ["?one" in texts[0], "?two" in texts[1]] == [True, True]


def test_two_responses_on_their_way_are_shown_in_documents_of_their_own(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"GET {server.url}/wait\n###\nGET {server.url}/json\n"
    buffer = editor.open(folder / "api.http", text)
    with GATE:
        slow = editor.start_run("orgrest.send", buffer.uri, 0)
        GATE.wait()
        quick = buffer.command("orgrest.send", 2)
    assert plain(slow.result(TIMEOUT))["uri"] != quick["uri"]


def test_binary_data_goes_to_a_file(editor: Editor, server: RawServer, folder: Path) -> None:
    buffer = editor.open(folder / "a.http", f"GET {server.url}/png\n", "http")
    found = buffer.command("orgrest.send")
    path = found["text"].partition(", in ")[2].partition("\n")[0]
    assert path.endswith(".png")
    assert Path(path).read_bytes().startswith(b"\x89PNG")


def test_captures_and_cookies_last_as_long_as_the_document_is_open(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = (
        f"GET {server.url}/token\n-> jq-set-var :t .token\n###\nGET {server.url}/session\n"
        f"X: {{{{t}}}}\n"
    )
    buffer = editor.open(folder / "a.http", text, "http")
    assert "t is not defined" in buffer.command("orgrest.send", 3)["message"]
    assert buffer.command("orgrest.send", 0)["outcome"] == "passed"
    assert buffer.command("orgrest.send", 3)["text"].startswith("new")
    assert b"X: t-1" in server.requests[-1]
    assert buffer.command("orgrest.send", 3)["text"].startswith("known")
    hover = buffer.ask(
        types.TEXT_DOCUMENT_HOVER, types.HoverParams(buffer.identifier, buffer.at("{{t|}}"))
    )
    assert "t-1" in hover.contents.value
    editor.close(buffer)
    buffer = editor.open(folder / "a.http", text, "http")
    assert "t is not defined" in buffer.command("orgrest.send", 3)["message"]


def test_what_a_run_captures_while_another_is_under_way_is_kept(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"""\
### slow
GET {server.url}/wait
-> jq-set-var :a .a

### quick
GET {server.url}/token
-> jq-set-var :b .token

### both
GET {server.url}/echo?a={{{{a}}}}&b={{{{b}}}}
"""
    buffer = editor.open(folder / "api.http", text)
    with GATE:
        slow = editor.start_run("orgrest.send", buffer.uri, 1)
        GATE.wait()
        assert buffer.command("orgrest.send", 5)["outcome"] == "passed"
    assert plain(slow.result(TIMEOUT))["outcome"] == "passed"
    assert "?a=1&b=t-1 " in buffer.command("orgrest.send", 9)["message"]


def test_secrets_are_masked_in_all_that_is_shown(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f':s := env("SECRET")\nPOST {server.url}/echo?k=:s\nA: :s\n\n:s\n'
    buffer = editor.open(folder / "a.http", text, "http")
    found = buffer.command("orgrest.send", 1)
    assert SECRET.encode() in server.requests[-1]
    assert SECRET not in repr(found)
    assert "***" in found["text"]
    for marked in (":|s :=", "A: :|s", "PO|ST", "/ec|ho"):
        hover = buffer.ask(
            types.TEXT_DOCUMENT_HOVER, types.HoverParams(buffer.identifier, buffer.at(marked))
        )
        assert SECRET not in hover.contents.value
    assert SECRET in buffer.command("orgrest.copyAsCurl", 1)
    shown = [
        plain(report) for reports in editor.client.progress_reports.values() for report in reports
    ]
    assert shown
    assert SECRET not in repr(shown)


def test_a_secret_that_a_server_sends_back_is_masked_when_it_was_captured(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"""\
#+begin_src restclient
:t := env("SECRET")
GET {server.url}/me
Authorization: Bearer :t
-> jq-set-var :a .auth
#+end_src

#+begin_src restclient
GET {server.url}/echo?x=:a
A: {{{{nowhere}}}}
#+end_src
"""
    buffer = editor.open(folder / "notes.org", text, "org")
    assert buffer.command("orgrest.send", 2)["outcome"] == "passed"
    for marked in ("jq-set-var :|a", "?x=:|a", "|GET", "/ec|ho"):
        position = buffer.at(marked)
        found = buffer.ask(
            types.TEXT_DOCUMENT_HOVER, types.HoverParams(buffer.identifier, position)
        )
        assert SECRET not in str(found)
        assert marked in ("|GET",) or "***" in found.contents.value
    assert SECRET not in str(buffer.command("orgrest.send", buffer.line("/echo")))
    with pytest.raises(JsonRpcException) as refused:
        buffer.command("orgrest.copyAsCurl", buffer.line("/echo"))
    assert SECRET not in str(refused.value)
    buffer.replace("A: {{nowhere}}\n", "")
    found = buffer.command("orgrest.send", buffer.line("/echo"))
    assert found["status"] == 404
    assert "***" in found["message"]
    client = editor.client
    shown = [found, buffer.text, client.messages, client.log_messages, client.progress_reports]
    assert SECRET not in str(shown)
    assert SECRET.encode() in server.requests[-1]


def test_a_request_is_given_as_a_curl_command(editor: Editor, folder: Path) -> None:
    text = 'POST http://x/\nA: b\n\n{"a": 1}\n###\nGET http://x/{{no}}\n'
    text += "###\nGET http://x/not-saved\n\n>> not-saved.json\n"
    buffer = editor.open(folder / "a.http", text, "http")
    command = shlex.split(buffer.command("orgrest.copyAsCurl", 1).replace("\\\n", ""))
    assert command[:4] == ["curl", "--location", "--cookie", ""]
    assert {"http://x/", "A: b", '{"a": 1}'} <= set(command)
    settings = {"cookieJarEnabled": False, "request": {"followRedirect": False}}
    (folder / ".httpyac.json").write_text(json.dumps(settings))
    command = shlex.split(buffer.command("orgrest.copyAsCurl", 1).replace("\\\n", ""))
    assert not {"--location", "--cookie"} & set(command)
    har = plain(buffer.command("orgrest.requestAsHar", 1))
    assert (har["method"], har["url"], har["postData"]["text"]) == ("POST", "http://x/", '{"a": 1}')
    assert {"name": "A", "value": "b"} in har["headers"]
    for name in ("orgrest.copyAsCurl", "orgrest.requestAsHar"):
        with pytest.raises(JsonRpcException, match="no is not defined"):
            buffer.command(name, 5)
    assert "http://x/not-saved" in buffer.command("orgrest.copyAsCurl", 7)
