"""The language server, as editors use it: a real process, a real client, real servers."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from editors import TIMEOUT, Buffer, Editor, plain, serve_tcp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from servers import RawServer, by_path, echo, response

from orgrest.commands.main import main

JSON = "Content-Type: application/json"
TEXT = "Content-Type: text/plain"
BLOCK = "#+begin_src restclient :noheaders\nGET {}/json\n#+end_src\n"
RESULT = '\n#+RESULTS:\n#+BEGIN_SRC js\n{\n  "a": 1\n}\n#+END_SRC\n'
SECRET = "hunter2-hunter2"


class Gate:
    """A server's answer that waits until it is let through."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.opened = threading.Event()

    def __call__(self, connection: socket.socket, _: bytes) -> None:
        self.asked.release()
        self.opened.wait(TIMEOUT)
        connection.sendall(response(b'{"a":1}', JSON))

    def __enter__(self) -> Gate:
        self.__init__()  # type: ignore[misc]  # as new
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.set()

    def wait(self) -> None:
        assert self.asked.acquire(timeout=TIMEOUT)


GATE = Gate()
OTHER_GATE = Gate()
_numbers = count()


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    def session(connection: socket.socket, request: bytes) -> None:
        known = b"Cookie: id=7" in request
        connection.sendall(response(b"known" if known else b"new", TEXT, "Set-Cookie: id=7"))

    def whoami(connection: socket.socket, request: bytes) -> None:
        given = request.partition(b"Authorization: ")[2].partition(b"\r\n")[0]
        connection.sendall(response(b'{"auth": "%s"}' % given, JSON))

    answers: Any = {
        "/json": response(b'{"a":1}', JSON),
        "/404": response(b"no", TEXT, status="404 Not Found"),
        "/png": response(b"\x89PNG\r\n\x1a\n\0", "Content-Type: image/png"),
        "/snow": response("☃😀".encode(), TEXT),
        "/token": response(b'{"token": "t-1"}', JSON),
        "/me": whoami,
        "/session": session,
        "/echo": echo,
        "/wait": GATE,
        "/other": OTHER_GATE,
    }
    with RawServer(by_path(answers)) as running:
        yield running


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    home = tmp_path_factory.mktemp("home")
    with Editor(environ={"HOME": str(home), "SECRET": SECRET}) as editor:
        yield editor


@pytest.fixture
def editor(running: Editor) -> Iterator[Editor]:
    running.client.messages.clear()
    running.client.log_messages.clear()
    running.client.shown_documents.clear()
    running.client.progress_reports.clear()
    running.questions.clear()
    running.answer = None
    running.applying = lambda _: None
    yield running
    for buffer in list(running.buffers.values()):
        running.close(buffer)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my documents"
    made.mkdir()
    return made


# --------------------------------------------------------------------------------- sending from Org


def test_a_response_stands_under_its_block(editor: Editor, server: RawServer, folder: Path) -> None:
    text = f"* One\n{BLOCK.format(server.url)}\n* Two\n{BLOCK.format(server.url)}rest\n"
    buffer = editor.open(folder / "notes.org", text, "org")
    found = buffer.command("orgrest.send", 8)
    assert buffer.text == text.replace("#+end_src\nrest", f"#+end_src\n{RESULT}\nrest")
    assert found["state"] == "done"
    assert found["line"] == 6
    assert found["status"] == 200
    assert found["duration"] > 0
    assert found["message"].startswith(f"GET {server.url}/json 200 OK")
    assert editor.messages == []
    again = buffer.text
    assert buffer.command("orgrest.send", 7)["state"] == "done"
    assert buffer.text == again


def test_the_text_in_the_editor_counts_not_the_file(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    path = folder / "notes.org"
    path.write_text("something else")
    buffer = editor.open(path, BLOCK.format("http://127.0.0.1:1"), "org")
    buffer.replace("http://127.0.0.1:1", server.url)
    assert buffer.command("orgrest.send", 1)["state"] == "done"
    assert path.read_text() == "something else"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_result_has_the_line_ends_of_its_document(
    editor: Editor, server: RawServer, folder: Path, line_end: str
) -> None:
    text = f"😀 é\n{BLOCK.format(server.url)}".replace("\n", line_end)
    buffer = editor.open(folder / "notes.org", text, "org")
    assert buffer.command("orgrest.send", 2)["state"] == "done"
    assert buffer.text == text + RESULT.replace("\n", line_end)


def test_a_result_lands_below_its_block_wherever_that_is_by_then(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"above\n\n{BLOCK.format(server.url).replace('/json', '/wait')}below\n"
    buffer = editor.open(folder / "notes.org", text, "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 3)
        gate.wait()
        buffer.edit(0, 0, "😀 first\n")
        buffer.replace("above\n", "")
        buffer.edit(buffer.text.index("\n#+begin") + 1, buffer.text.index("\n#+begin") + 1, "new\n")
        buffer.replace(":noheaders", ":noheaders :x y")
        buffer.replace("below", "below, changed")
        typed = buffer.text
        buffer.settle()
        gate.opened.set()
        assert plain(sent.result(TIMEOUT))["state"] == "done"
    assert buffer.text == typed.replace("#+end_src\n", f"#+end_src\n{RESULT}\n")


def test_two_results_on_their_way_land_below_their_blocks(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url)
    blocks = [block.replace("/json", "/other"), block.replace("/json", "/wait")]
    text = f"{blocks[0]}\n* two\n{blocks[1]}"
    buffer = editor.open(folder / "notes.org", text, "org")
    with GATE as gate, OTHER_GATE as other:
        first = editor.start_run("orgrest.send", buffer.uri, 1)
        other.wait()
        second = editor.start_run("orgrest.send", buffer.uri, buffer.line("/wait"))
        gate.wait()
        buffer.edit(0, 0, "new\n")
        buffer.settle()
        gate.opened.set()
        assert plain(second.result(TIMEOUT))["state"] == "done"
        buffer.edit(0, 0, "newer\n")
        buffer.settle()
        other.opened.set()
        assert plain(first.result(TIMEOUT))["state"] == "done"
    expected = text.replace("#+end_src\n\n*", f"#+end_src\n{RESULT}\n*") + RESULT
    assert buffer.text == f"newer\nnew\n{expected}"


def test_what_an_editor_sends_is_in_the_history(
    editor: Editor, server: RawServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    buffer = editor.open(folder / "kept.http", f"### kept\nGET {server.url}/json\n", "http")
    assert plain(editor.start_run("orgrest.send", buffer.uri, 1).result(TIMEOUT))["state"] == "done"
    with pytest.raises(SystemExit):
        main(["history", "show", "--name", "kept", "--json"])
    record = json.loads(capsys.readouterr().out)
    assert record["document"] == str((folder / "kept.http").resolve())
    assert record["exchanges"][0]["response"]["body"]["text"] == '{"a":1}'


def test_a_result_lands_right_in_a_text_that_was_sent_whole(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "notes.org", text, "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 1)
        gate.wait()
        buffer.text = f"new\n{BLOCK.format('http://other')}\n{text}"
        buffer.version += 1
        editor.notify(
            types.TEXT_DOCUMENT_DID_CHANGE,
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(buffer.version, buffer.uri),
                [types.TextDocumentContentChangeWholeDocument(buffer.text)],
            ),
        )
        typed = buffer.text
        buffer.settle()
        gate.opened.set()
        assert plain(sent.result(TIMEOUT))["state"] == "done"
    assert buffer.text.count("#+RESULTS") == 1
    assert buffer.text.replace(RESULT, "").replace("\n", "") == typed.replace("\n", "")


def test_a_result_whose_block_is_gone_is_shown_instead(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    other = BLOCK.format(server.url)
    block = BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "notes.org", f"* A\n{block}{other}", "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 2)
        gate.wait()
        buffer.replace(block, "")
        buffer.settle()
        gate.opened.set()
        found = plain(sent.result(TIMEOUT))
    assert buffer.text == f"* A\n{other}"
    assert found["state"] == "failed"
    assert "not there any more" in found["message"]
    assert '"a": 1' in found["text"]
    assert any("not there any more" in message for message in editor.messages)
    assert [one.uri for one in editor.client.shown_documents] == [found["uri"]]


def test_a_named_block_that_was_written_anew_gets_its_result(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = "#+NAME: it\n" + BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "notes.org", block, "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 2)
        gate.wait()
        buffer.replace(block, "")
        buffer.edit(0, 0, f"new\n{block}")
        buffer.settle()
        gate.opened.set()
        assert plain(sent.result(TIMEOUT))["state"] == "done"
    assert "#+RESULTS: it\n" in buffer.text


def test_typing_while_the_result_is_put_in_only_delays_it(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    buffer = editor.open(folder / "notes.org", BLOCK.format(server.url), "org")
    typed = iter(["a\n", "b\n"])

    def type_on(changed: Buffer) -> str | None:
        if new := next(typed, None):
            editor._change(changed, [(0, 0, new)])
        return None

    editor.applying = type_on
    assert buffer.command("orgrest.send", 1)["state"] == "done"
    assert buffer.text == f"b\na\n{BLOCK.format(server.url)}{RESULT}"


def test_an_editor_that_refuses_a_result_is_shown_it(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    buffer = editor.open(folder / "notes.org", BLOCK.format(server.url), "org")
    editor.applying = lambda _: "read-only"
    found = buffer.command("orgrest.send", 1)
    assert found["state"] == "failed"
    assert "read-only" in found["message"]
    assert '"a": 1' in found["text"]


def test_an_editor_that_fails_to_put_a_result_in_is_shown_it(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    buffer = editor.open(folder / "notes.org", BLOCK.format(server.url), "org")

    def fail(_: Buffer) -> str | None:
        raise ValueError("out of order")

    editor.applying = fail
    found = buffer.command("orgrest.send", 1)
    assert found["state"] == "failed"
    assert "out of order" in found["message"]
    assert '"a": 1' in found["text"]


def test_a_result_that_would_close_what_was_opened_meanwhile_is_shown(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url).replace("/json", "/wait").replace("noheaders", "wrap quote")
    buffer = editor.open(folder / "notes.org", f"above\n{block}", "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 2)
        gate.wait()
        buffer.edit(0, 0, "#+begin_quote\n")
        buffer.settle()
        typed = buffer.text
        gate.opened.set()
        found = plain(sent.result(TIMEOUT))
    assert buffer.text == typed
    assert found["state"] == "failed"
    assert "would close" in found["message"]
    assert '"a": 1' in found["text"]


def test_what_is_odd_about_a_request_goes_to_the_log(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    buffer = editor.open(folder / "a.http", f"GET {server.url}/json\nA: :b\n", "http")
    assert buffer.command("orgrest.send")["state"] == "done"
    (found,) = editor.wait_for(lambda: editor.client.log_messages)
    assert "no variable b is defined" in found.message


def test_a_file_that_cannot_be_written_is_said(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    (folder / "notes-o").write_text("")
    text = (
        f"#+begin_src http :results file :file notes-o/a.json\nGET {server.url}/json\n#+end_src\n"
    )
    buffer = editor.open(folder / "notes.org", text, "org")
    buffer.command("orgrest.send", 1)
    assert any("cannot be written" in message for message in editor.messages)


def test_a_document_that_was_closed_meanwhile_is_left_alone(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "notes.org", block, "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 1)
        gate.wait()
        editor.client.diagnostics[buffer.uri] = [None]  # type: ignore[list-item]  # until it is closed
        editor.close(buffer)
        buffer.diagnostics(lambda found: not found)
        gate.opened.set()
        found = plain(sent.result(TIMEOUT))
    assert found["state"] == "failed"
    assert "closed" in found["message"]


def test_all_above_are_sent_in_order_with_what_they_capture(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = (
        f"#+begin_src http :noheaders\nGET {server.url}/token\n-> jq-set-var :t .token\n#+end_src\n"
        f"#+begin_src http :noheaders\nGET {server.url}/echo\nX-Token: :t\n#+end_src\n"
        f"#+begin_src http :noheaders\nGET {server.url}/json\n#+end_src\n"
    )
    buffer = editor.open(folder / "notes.org", text, "org")
    found = buffer.command("orgrest.sendAllAbove", 5)
    assert [one["state"] for one in found["results"]] == ["done", "done"]
    assert "X-Token: t-1" in buffer.text
    assert buffer.text.count("#+RESULTS:") == 2
    assert len(buffer.command("orgrest.sendAllAbove", 99)["results"]) == 3
    assert buffer.text.count("#+RESULTS:") == 3


def test_what_is_odd_about_the_choice_is_said_when_all_above_are_sent(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = (
        f"#+begin_src restclient :noheaders\nGET {server.url}/json\n#+end_src\n"
        f"#+begin_src http\nGET {server.url}/json\n#+end_src\n"
    )
    buffer = editor.open(folder / "notes.org", text, "org")
    assert len(buffer.command("orgrest.sendAllAbove", 99)["results"]) == 1
    (said,) = [one.message for one in editor.client.messages if "left alone" in one.message]
    assert "notes.org: 1 block in http left alone in a restclient document" in said


def test_a_syntax_error_elsewhere_breaks_nothing(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    bad = '#+begin_src restclient :jq "x\nGET nowhere\nno header\n#+end_src\n'
    buffer = editor.open(folder / "n.org", f"{bad}\n{BLOCK.format(server.url)}\n{bad}", "org")
    line = buffer.line("GET http")
    assert buffer.command("orgrest.send", line)["state"] == "done"
    assert buffer.text == f"{bad}\n{BLOCK.format(server.url)}{RESULT}\n{bad}"
    hover = buffer.ask(
        types.TEXT_DOCUMENT_HOVER,
        types.HoverParams(buffer.identifier, buffer.at("G|ET http")),
    )
    assert "**GET**" in hover.contents.value
    assert len(buffer.diagnostics()) >= 2


def test_a_place_without_a_request_is_said(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "notes.org", "text\n", "org")
    found = buffer.command("orgrest.send", 0)
    assert found == {"line": 0, "state": "failed", "message": "no request block here"}
    assert editor.messages == ["orgrest: no request block here"]


@pytest.mark.parametrize(("answer", "state"), [("Evaluate", "done"), (None, "skipped")])
def test_a_block_that_wants_a_question_asks_it(
    editor: Editor, server: RawServer, folder: Path, answer: str | None, state: str
) -> None:
    text = BLOCK.format(server.url).replace(":noheaders", ":noheaders :eval query")
    buffer = editor.open(folder / "notes.org", text, "org")
    editor.answer = answer
    assert buffer.command("orgrest.send", 1)["state"] == state
    assert len(editor.questions) == 1
    assert ("RESULTS" in buffer.text) == (state == "done")


def test_a_result_may_go_to_a_file_in_the_documents_folder_only(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = (
        f"#+begin_src http :results file :file notes-o/a.json\nGET {server.url}/json\n#+end_src\n"
    )
    buffer = editor.open(folder / "notes.org", text, "org")
    assert buffer.command("orgrest.send", 1)["state"] == "done"
    assert (folder / "notes-o" / "a.json").read_text() == '{"a":1}'
    assert "[[file:notes-o/a.json]]" in buffer.text
    outside = editor.open(folder / "b.org", text.replace("notes-o/a", "../a"), "org")
    assert outside.command("orgrest.send", 1)["state"] == "failed"
    assert not (folder.parent / "a.json").exists()


def test_a_document_cannot_have_files_elsewhere_sent(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    (folder.parent / "private").write_text("private")
    text = f"POST {server.url}/echo\n\n< ../private\n"
    buffer = editor.open(folder / "a.http", text, "http")
    before = len(server.requests)
    found = buffer.command("orgrest.send", 0)
    assert found["state"] == "failed"
    assert "outside the document's folder" in found["message"]
    assert len(server.requests) == before


# ----------------------------------------------------------------------- sending from request files


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
    assert [one.uri for one in editor.client.shown_documents] == [found["uri"]]
    path = Path(found["uri"].removeprefix("file://"))
    assert path.read_text() == found["text"]
    assert path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0
    found = buffer.command("orgrest.send", 0)
    assert (found["status"], found["state"], found["language"]) == (404, "done", "plaintext")


def test_all_above_in_a_request_file_are_shown_together(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"GET {server.url}/snow\n###\nGET {server.url}/{{{{x}}}}\n###\nGET {server.url}/json\n"
    buffer = editor.open(folder / "a.rest", text)
    found = buffer.command("orgrest.sendAllAbove", 4)
    assert [one["state"] for one in found["results"]] == ["done", "failed", "done"]
    assert "☃😀" in found["text"]
    assert '"a": 1' in found["text"]
    assert buffer.command("orgrest.sendAllAbove", 1)["status"] == 200
    assert editor.open(folder / "b.http", "\n", "http").command("orgrest.sendAllAbove")[
        "state"
    ] in ("failed", "skipped")


def test_the_document_with_the_responses_holds_all_of_a_run_and_is_shown_once(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"GET {server.url}/snow\n###\nGET {server.url}/png\n###\nGET {server.url}/json\n"
    buffer = editor.open(folder / "a.rest", text)
    found = buffer.command("orgrest.sendAllAbove", 4)
    assert [one.uri for one in editor.client.shown_documents] == [found["uri"]]
    assert [one["uri"] for one in found["results"]] == [found["uri"]] * 3
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
    assert buffer.command("orgrest.send", 0)["state"] == "done"
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
        assert buffer.command("orgrest.send", 5)["state"] == "done"
    assert plain(slow.result(TIMEOUT))["state"] == "done"
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
    assert buffer.command("orgrest.send", 2)["state"] == "done"
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
    assert found["state"] == "done"
    assert "***" in found["message"]
    client = editor.client
    shown = [found, buffer.text, client.messages, client.log_messages, client.progress_reports]
    assert SECRET not in str(shown)
    assert SECRET.encode() in server.requests[-1]


def test_a_request_is_given_as_a_curl_command(editor: Editor, folder: Path) -> None:
    text = 'POST http://x/\nA: b\n\n{"a": 1}\n###\nGET http://x/{{no}}\n'
    buffer = editor.open(folder / "a.http", text, "http")
    command = shlex.split(buffer.command("orgrest.copyAsCurl", 1))
    assert command[0] == "curl"
    assert {"http://x/", "A: b", '{"a": 1}'} <= set(command)
    with pytest.raises(JsonRpcException, match="no is not defined"):
        buffer.command("orgrest.copyAsCurl", 5)


# -------------------------------------------------------------------------------- in the background


def test_a_server_that_never_answers_blocks_nothing(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    slow = editor.open(folder / "slow.http", f"GET {server.url}/wait\n", "http")
    notes = editor.open(folder / "notes.org", BLOCK.format(server.url), "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", slow.uri, 0)
        gate.wait()
        slow.edit(0, 3, "PO")
        items = slow.ask(
            types.TEXT_DOCUMENT_COMPLETION,
            types.CompletionParams(slow.identifier, slow.at("PO|")),
        ).items
        assert "POST" in [item.label for item in items]
        assert notes.command("orgrest.send", 1)["state"] == "done"  # a second document meanwhile
        again = editor.start_run("orgrest.send", notes.uri, 1)
        assert plain(again.result(TIMEOUT))["state"] == "done"
        assert not sent.done()
        gate.opened.set()
        assert plain(sent.result(TIMEOUT))["state"] == "done"


def test_a_run_is_cancelled_by_its_progress_button(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    buffer = editor.open(folder / "slow.http", f"GET {server.url}/wait\n", "http")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 0)
        gate.wait()
        (token,) = editor.wait_for(lambda: list(editor.client.progress_reports))
        editor.notify(
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL, types.WorkDoneProgressCancelParams(token)
        )
        assert plain(sent.result(TIMEOUT))["state"] == "cancelled"
        reports = editor.client.progress_reports[token]
        editor.wait_for(
            lambda: [type(one).__name__ for one in reports][-1] == "WorkDoneProgressEnd"
        )
    assert editor.messages == []


def test_a_run_is_cancelled_with_its_request(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "slow.org", block, "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 1, "run-1")
        gate.wait()
        editor.notify("$/cancelRequest", types.CancelParams("run-1"))
        with pytest.raises(JsonRpcException) as error:
            sent.result(TIMEOUT)
        assert error.value.code == types.LSPErrorCodes.RequestCancelled
        gate.opened.set()
    assert buffer.command("orgrest.send", 1)["state"] == "done"
    assert buffer.text.count("#+RESULTS") == 1


def test_cancelling_closes_the_connection(editor: Editor, folder: Path) -> None:
    closed = threading.Event()
    asked = threading.Event()

    def never(connection: socket.socket, _: bytes) -> None:
        asked.set()
        connection.settimeout(TIMEOUT)
        if connection.recv(1) == b"":
            closed.set()
        connection.close()

    with RawServer(never) as silent:
        buffer = editor.open(folder / "slow.http", f"GET {silent.url}/\n", "http")
        sent = editor.start_run("orgrest.send", buffer.uri, 0, "run-2")
        assert asked.wait(TIMEOUT)
        editor.notify("$/cancelRequest", types.CancelParams("run-2"))
        with pytest.raises(JsonRpcException):
            sent.result(TIMEOUT)
        assert closed.wait(TIMEOUT)


def test_a_question_can_be_cancelled_too_and_none_follows(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = BLOCK.format(server.url).replace(":noheaders", ":noheaders :eval query")
    buffer = editor.open(folder / "notes.org", text + text, "org")
    asked = threading.Semaphore(0)
    done = threading.Event()

    async def think(_: types.ShowMessageRequestParams) -> types.MessageActionItem:
        asked.release()
        await asyncio.to_thread(done.wait, TIMEOUT)
        return types.MessageActionItem("Evaluate")

    features = editor.client.protocol.fm.features
    kept = features[types.WINDOW_SHOW_MESSAGE_REQUEST]
    features[types.WINDOW_SHOW_MESSAGE_REQUEST] = think
    try:
        argument = {"uri": buffer.uri, "position": {"line": 9, "character": 0}}
        params = types.ExecuteCommandParams("orgrest.sendAllAbove", [argument], "mine")
        editor.client.progress_reports["mine"] = []
        sent = editor.start(types.WORKSPACE_EXECUTE_COMMAND, params)
        assert asked.acquire(timeout=TIMEOUT)
        editor.notify(
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL, types.WorkDoneProgressCancelParams("mine")
        )
        assert plain(sent.result(TIMEOUT))["state"] == "cancelled"
        done.set()
        buffer.settle()
        assert not asked.acquire(timeout=0.1)
    finally:
        done.set()
        features[types.WINDOW_SHOW_MESSAGE_REQUEST] = kept
    assert "RESULTS" not in buffer.text


# ------------------------------------------------------------------------------------------- typing

PIECES = st.sampled_from(["a", "é", "€", "😀", "\t", "\n", "\r\n", "x y", "#", "\u2028", "\x0c"])
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 1), st.lists(PIECES, max_size=4).map("".join)),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_after_any_edits_the_server_has_the_editors_text(tmp_path: Path, encoding: str) -> None:
    """The text is the body of a request, which comes back as a curl command."""
    head, foot = "POST http://x/\n\n<<END\n", "\nEND\n"
    with Editor(encoding) as editor:
        numbers = count()

        @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(EDITS)
        def check(edits: list[tuple[float, float, str]]) -> None:
            buffer = editor.open(tmp_path / f"{next(numbers)}.http", head + "b😀" + foot, "http")
            for first, second, new in edits:
                size = len(buffer.text) - len(head) - len(foot)
                start, end = sorted((int(first * size), int(second * size)))
                start, end = start + len(head), end + len(head)
                if "\r\n" in (buffer.text[start - 1 : start + 1], buffer.text[end - 1 : end + 1]):
                    continue  # no editor puts the cursor there
                if new.endswith("\r\n") or not new.endswith("\r"):
                    buffer.edit(start, end, new)
            body = buffer.text[len(head) : len(buffer.text) - len(foot)]
            command = shlex.split(buffer.command("orgrest.copyAsCurl"))
            lines = body.replace("\r\n", "\n").split("\n")
            expected = "\n".join(line.rstrip("\r") for line in lines)
            assert command[command.index("--data-raw") + 1] == expected
            editor.close(buffer)

        check()


def test_what_is_wrong_is_shown_while_typing(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.http", ":nam = 1\n😀\n\tGET http://x/{{name}}\n", "http")
    (found,) = buffer.diagnostics()
    assert buffer.shown(found.range) == "{{name}}"
    assert (found.code, found.source) == ("undefined-variable", "orgrest")
    buffer.replace(":nam ", ":name ")
    assert buffer.diagnostics(lambda found: not found) == []
    buffer.replace(":name ", ":nam ")
    for _ in range(20):
        buffer.edit(0, 0, "x\n")
    buffer.replace("GET", "get")
    buffer.diagnostics(
        lambda found: [one.code for one in found] == ["unknown-method", "undefined-variable"]
    )
    editor.close(buffer)
    assert buffer.diagnostics(lambda found: not found) == []


def test_a_client_that_asks_for_what_is_wrong_is_told_and_not_shown_it_twice(
    editor: Editor, folder: Path
) -> None:
    buffer = editor.open(folder / "a.http", ":a = 1\nGET http://x/{{name}}\n", "http")
    buffer.diagnostics()  # pushed, until the client asks

    def pull() -> list[str]:
        given = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(buffer.uri))
        return [one.code for one in buffer.ask("textDocument/diagnostic", given).items]

    assert pull() == ["undefined-variable"]
    buffer.diagnostics(lambda found: not found)
    buffer.replace("{{name}}", "")
    assert pull() == []
    buffer.replace("GET", "get")
    assert pull() == ["unknown-method"]
    time.sleep(0.4)  # longer than the server waits for a pause
    assert list(editor.client.diagnostics[buffer.uri]) == []


def test_the_arguments_of_a_function_are_told_while_they_are_typed(
    editor: Editor, folder: Path
) -> None:
    text = ':a := base64(env("X", "y"))\nGET http://x/env(\n'
    buffer = editor.open(folder / "a.http", text, "http")

    def told(at: int) -> tuple[str, str, str] | None:
        place = (types.TextDocumentIdentifier(buffer.uri), buffer.position(at))
        found = buffer.ask("textDocument/signatureHelp", types.SignatureHelpParams(*place))
        if found is None:
            return None
        (one,) = found.signatures
        start, end = one.parameters[found.active_parameter].label
        return one.label, one.label[start:end], one.documentation

    about = "A variable of the environment or the env file."
    assert told(text.index('"X') + 1) == ('env("NAME", ...)', '"NAME"', about)
    assert told(text.index('"y')) == ('env("NAME", ...)', "...", about)
    assert (told(text.index("env")) or "")[:2] == ("base64(...)", "...")
    assert told(text.index("))") + 2) is None
    assert told(text.index("env(\n") + 4) is None


def test_half_a_character_breaks_nothing(editor: Editor, server: RawServer, folder: Path) -> None:
    text = f':a := base64("\ud83d")\nPOST {server.url}/echo\nA: :a\n\n\udc80{{{{x}}}}\n'
    buffer = editor.open(folder / "a.http", text, "http")
    (found,) = buffer.diagnostics()
    assert buffer.shown(found.range) == "{{x}}"
    buffer.replace("{{x}}", "y")
    assert buffer.command("orgrest.send", 1)["state"] == "done"
    assert b"\xef\xbf\xbdy" in server.requests[-1]


def test_completion_knows_the_document_and_its_folder(editor: Editor, folder: Path) -> None:
    (folder / "body.json").write_text("{}")
    text = "😀\r\n:host = 1\r\nPOST http://x/:ho\r\nAcc\r\n\r\n< bo\r\n"
    buffer = editor.open(folder / "a.http", text, "http")

    def complete(marked: str) -> dict[str, str]:
        params = types.CompletionParams(buffer.identifier, buffer.at(marked))
        return {
            item.label: buffer.text[: buffer.offset(item.text_edit.range.start)]
            + item.text_edit.new_text
            + buffer.text[buffer.offset(item.text_edit.range.end) :]
            for item in buffer.ask(types.TEXT_DOCUMENT_COMPLETION, params).items
        }

    assert complete("Acc|")["Accept"] == text.replace("Acc", "Accept: ")
    assert any("POST http://x/:host\r\n" in after for after in complete("/:ho|").values())
    assert any("< body.json\r\n" in after for after in complete("< bo|").values())


def test_fixes_are_offered_where_something_is_wrong(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.http", "POST http://x/\r\n{}\r\n", "http")

    def actions(line: int, *kinds: str) -> list[types.CodeAction]:
        where = types.Range(types.Position(line, 0), types.Position(line, 99))
        context = types.CodeActionContext([], only=list(kinds) or None)
        params = types.CodeActionParams(buffer.identifier, where, context)
        found: list[types.CodeAction] = list(buffer.ask(types.TEXT_DOCUMENT_CODE_ACTION, params))
        return found

    assert [one.title for one in actions(0)] == [
        "Send request",
        "Send all above",
        "Copy as curl",
        "Choose environment",
    ]
    assert actions(0, "refactor") == []
    assert actions(0, "quickfix") == []
    (fix,) = actions(1, "quickfix")
    assert fix.edit is not None
    editor.make(fix.edit)
    assert buffer.text == "POST http://x/\r\n\r\n{}\r\n"
    assert fix.is_preferred
    text = BLOCK.format("http://x").replace(":noheaders", ":noheadrs")
    buffer = editor.open(folder / "b.org", text, "org")
    (guess,) = actions(0, "quickfix")
    assert (guess.title, guess.is_preferred) == ("Replace with :noheaders", False)
    notes = editor.open(folder / "a.org", "text\n#+CALL: x()\n" + BLOCK.format("http://x"), "org")
    buffer = notes
    assert len(actions(3, "source")) == 4
    assert actions(0) == []


def test_a_pasted_curl_command_becomes_a_request(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"### a\r\ncurl {server.url}/pasted \\\r\n  -H 'X-A: b'\r\n"
    buffer = editor.open(folder / "a.http", text, "http")
    where = types.Range(types.Position(1, 2), types.Position(1, 2))
    context = types.CodeActionContext([], only=["quickfix"])
    params = types.CodeActionParams(buffer.identifier, where, context)
    actions = buffer.ask(types.TEXT_DOCUMENT_CODE_ACTION, params)
    (one,) = [one for one in actions if one.title == "Turn the curl command into a request"]
    editor.make(one.edit)
    assert buffer.text == f"### a\r\nGET {server.url}/pasted\r\nX-A: b\r\n"
    assert buffer.command("orgrest.send", 1)["state"] == "done"
    assert b"X-A: b" in server.requests[-1]


def test_lenses_send_what_they_stand_above(editor: Editor, server: RawServer, folder: Path) -> None:
    text = f"GET {server.url}/404\n###\nGET {server.url}/json\n"
    buffer = editor.open(folder / "a.http", text, "http")
    lenses = buffer.lenses()
    titles = [(one.range.start.line, one.command.title) for one in lenses]
    assert titles == [(0, "Send request"), (2, "Send request"), (2, "Send all above")]
    command = lenses[1].command
    params = types.ExecuteCommandParams(command.command, command.arguments)
    found = plain(editor.request(types.WORKSPACE_EXECUTE_COMMAND, params))
    assert found["status"] == 200


def test_what_came_of_assertions_is_shown_at_their_lines_and_above_the_request(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"GET {server.url}/json\n\n?? status == 200\n?? body a == 2\n"
    buffer = editor.open(folder / "a.http", text, "http")
    sent = buffer.command("orgrest.send", 0)
    assert sent["message"].endswith(" s, 1 of 2 assertions FAILED: body a == 2")
    (found,) = buffer.diagnostics(lambda found: len(found) == 1)
    assert buffer.shown(found.range) == "body a == 2"
    assert (found.code, found.message) == ("failed-assertion", "body a == 2: body a is 1")
    lenses = buffer.lenses()
    assert "1 of 2 assertions FAILED: body a == 2" in lenses[0].command.title
    buffer.replace("a == 2", "a == 1")
    buffer.diagnostics(lambda found: not found)
    buffer.command("orgrest.send", 0)
    lenses = buffer.lenses()
    assert lenses[0].command.title.endswith("2 assertions held")


ORG = """* 😀
#+NAME: login
#+begin_src restclient :var h="x.org"
  GET https://:h/{{h}}
#+end_src
#+CALL: login(h="y")
"""


def test_names_lead_to_where_they_are_set_and_used(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.org", ORG, "org")

    def places(method: str, params: Any) -> list[str]:
        found = buffer.ask(method, params) or []
        assert all(one.uri == buffer.uri for one in found)
        return [
            buffer.text.split("\n")[one.range.start.line][:5] + buffer.shown(one.range)
            for one in found
        ]

    at = buffer.at("{{h|}}")
    definition = types.DefinitionParams(buffer.identifier, at)
    assert places(types.TEXT_DOCUMENT_DEFINITION, definition) == ["#+begh"]
    for every, found in ((True, 4), (False, 2)):
        context = types.ReferenceContext(every)
        references = types.ReferenceParams(context, buffer.identifier, at)
        assert len(places(types.TEXT_DOCUMENT_REFERENCES, references)) == found
    nowhere = types.DefinitionParams(buffer.identifier, buffer.at("* |😀"))
    assert places(types.TEXT_DOCUMENT_DEFINITION, nowhere) == []


def test_a_name_is_changed_everywhere_or_not_at_all(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.org", ORG.replace("\n", "\r\n"), "org")

    def rename(marked: str, new: str) -> Any:
        params = types.RenameParams(buffer.identifier, buffer.at(marked), new)
        return buffer.ask(types.TEXT_DOCUMENT_RENAME, params)

    prepared = buffer.ask(
        types.TEXT_DOCUMENT_PREPARE_RENAME,
        types.PrepareRenameParams(buffer.identifier, buffer.at("CALL: lo|gin")),
    )
    assert buffer.shown(prepared.range) == prepared.placeholder == "login"
    editor.make(rename("CALL: lo|gin", "enter"))
    editor.make(rename("{{h|}}", "host"))
    expected = ORG.replace("login", "enter").replace(":h/", ":host/").replace("{{h}}", "{{host}}")
    expected = expected.replace(":var h=", ":var host=").replace("(h=", "(host=")
    assert buffer.text == expected.replace("\n", "\r\n")
    with pytest.raises(JsonRpcException, match="not a name"):
        rename("{{ho|st}}", "a b")
    with pytest.raises(JsonRpcException, match="no name here"):
        rename("* |😀", "x")
    nothing = types.PrepareRenameParams(buffer.identifier, buffer.at("* |😀"))
    assert buffer.ask(types.TEXT_DOCUMENT_PREPARE_RENAME, nothing) is None


def test_the_outline_is_shown(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.org", ORG, "org")
    (symbol,) = buffer.ask(
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(buffer.identifier)
    )
    assert symbol.name == "login"
    assert [child.name for child in symbol.children] == ["GET https://:h/{{h}}"]
    folds = buffer.ask(
        types.TEXT_DOCUMENT_FOLDING_RANGE, types.FoldingRangeParams(buffer.identifier)
    )
    assert [(one.start_line, one.end_line) for one in folds] == [(2, 4)]


@pytest.mark.parametrize("part", [False, True])
def test_each_part_has_its_colour(editor: Editor, folder: Path, part: bool) -> None:
    buffer = editor.open(folder / "a.http", "# 😀\nGET http://😀/:a\n:a = 1\n", "http")
    if part:
        first = types.Range(types.Position(1, 0), types.Position(1, 99))
        params: Any = types.SemanticTokensRangeParams(buffer.identifier, first)
        data = buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, params).data
    else:
        params = types.SemanticTokensParams(buffer.identifier)
        data = buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, params).data
    legend = editor.initialized.capabilities.semantic_tokens_provider.legend.token_types
    found = []
    line = character = 0
    for i in range(0, len(data), 5):
        line, character = line + data[i], data[i + 1] + (0 if data[i] else character)
        start = types.Position(line, character)
        end = types.Position(line, character + data[i + 2])
        found.append((buffer.shown(types.Range(start, end)), legend[data[i + 3]]))
    expected = [
        ("# 😀", "comment"),
        ("GET", "method"),
        ("http://😀/:a", "string"),
    ]
    assert found[: len(expected)] == expected if not part else found == expected[1:]


def test_other_documents_are_left_alone(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.txt", "GET {{x}}\n", "plaintext")
    where = buffer.at("G|ET")
    identifier = buffer.identifier
    everything = types.Range(types.Position(0, 0), types.Position(1, 0))
    asked: list[tuple[str, Any]] = [
        (types.TEXT_DOCUMENT_COMPLETION, types.CompletionParams(identifier, where)),
        (types.TEXT_DOCUMENT_HOVER, types.HoverParams(identifier, where)),
        (types.TEXT_DOCUMENT_DEFINITION, types.DefinitionParams(identifier, where)),
        (
            types.TEXT_DOCUMENT_REFERENCES,
            types.ReferenceParams(types.ReferenceContext(True), identifier, where),
        ),
        (types.TEXT_DOCUMENT_RENAME, types.RenameParams(identifier, where, "x")),
        (types.TEXT_DOCUMENT_PREPARE_RENAME, types.PrepareRenameParams(identifier, where)),
        (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(identifier)),
        (types.TEXT_DOCUMENT_FOLDING_RANGE, types.FoldingRangeParams(identifier)),
        (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, types.SemanticTokensParams(identifier)),
        (types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensParams(identifier)),
        (
            types.TEXT_DOCUMENT_CODE_ACTION,
            types.CodeActionParams(identifier, everything, types.CodeActionContext([])),
        ),
    ]
    assert [buffer.ask(method, params) for method, params in asked] == [None] * len(asked)
    buffer.replace("GET", "PUT")
    assert editor.client.diagnostics.get(buffer.uri) is None


def test_a_document_without_a_file_has_no_folder(editor: Editor, server: RawServer) -> None:
    buffer = Buffer(editor, Path("/"), f"POST {server.url}/json\n\n< pyproject.toml\n")
    buffer.uri = "untitled:Untitled-1"
    item = types.TextDocumentItem(buffer.uri, "http", 1, buffer.text)
    editor.notify(types.TEXT_DOCUMENT_DID_OPEN, types.DidOpenTextDocumentParams(item))
    assert buffer.command("orgrest.send")["state"] == "failed"
    editor.buffers[buffer.uri] = buffer
    buffer.replace("< pyproject.toml", "x")
    assert buffer.command("orgrest.send")["status"] == 200


@pytest.mark.parametrize(
    ("command", "arguments", "reason"),
    [
        ("orgrest.send", None, "the argument is"),
        ("orgrest.send", ["x"], "the argument is"),
        ("orgrest.send", [{"uri": "file:///nowhere.org"}], "no open Org or request file"),
        ("orgrest.send", [{"uri": "URI", "line": -1}], "a number from 0"),
        ("orgrest.send", [{"uri": "URI", "line": "1"}], "a number from 0"),
        ("orgrest.explode", [{"uri": "URI"}], "no command"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(
    editor: Editor, folder: Path, command: str, arguments: Any, reason: str
) -> None:
    buffer = editor.open(folder / "a.http", "GET http://x/\n", "http")
    if arguments and isinstance(arguments[0], dict) and arguments[0]["uri"] == "URI":
        arguments = [{**arguments[0], "uri": buffer.uri}]
    params = types.ExecuteCommandParams(command, arguments)
    with pytest.raises(JsonRpcException, match=reason):
        editor.request(types.WORKSPACE_EXECUTE_COMMAND, params)


# ------------------------------------------------------------------------------------ other editors


def test_an_editor_that_can_do_little_is_served_all_the_same(
    server: RawServer, folder: Path
) -> None:
    without = (
        "window.work_done_progress",
        "window.show_document",
        "workspace.workspace_edit.document_changes",
        "text_document.document_symbol.hierarchical_document_symbol_support",
    )
    with Editor("utf-8", without=without) as editor:
        buffer = editor.open(folder / "a.org", f"😀\n{BLOCK.format(server.url)}", "org")
        assert buffer.command("orgrest.send", 1)["state"] == "done"
        assert buffer.text == f"😀\n{BLOCK.format(server.url)}{RESULT}"
        symbols = buffer.ask(
            types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(buffer.identifier)
        )
        assert len(symbols) == 2
        assert all(isinstance(one, types.SymbolInformation) for one in symbols)
        plain_file = editor.open(folder / "a.http", f"GET {server.url}/json\n", "http")
        assert '"a": 1' in plain_file.command("orgrest.send")["text"]
        assert editor.client.progress_reports == {}
        assert editor.client.shown_documents == []


def test_an_editor_that_takes_no_edits_is_shown_results(server: RawServer, folder: Path) -> None:
    with Editor(without=("workspace.apply_edit",)) as editor:
        buffer = editor.open(folder / "a.org", BLOCK.format(server.url), "org")
        found = buffer.command("orgrest.send", 1)
        assert (found["state"], found["status"]) == ("done", 200)
        assert "takes no edits" in found["message"]
        assert editor.messages == []
        assert '"a": 1' in found["text"]
        scratch = Path(found["uri"].removeprefix("file://")).parent
        assert scratch.is_dir()
    assert not scratch.exists()


# --------------------------------------------------------------------------------- coming and going


def test_a_client_is_served_over_tcp_on_this_machine_only(server: RawServer, folder: Path) -> None:
    process, port = serve_tcp("0")
    with process, Editor(port=port) as editor:
        buffer = editor.open(folder / "a.org", BLOCK.format(server.url), "org")
        assert buffer.command("orgrest.send", 1)["state"] == "done"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
    assert process.wait(TIMEOUT) == 0


def test_the_loopback_interface_is_the_default(tmp_path: Path) -> None:
    process, port = serve_tcp("0")
    with process:
        listening = Path("/proc/net/tcp").read_text()
        assert f"0100007F:{port:04X}" in listening
        process.kill()


@pytest.mark.parametrize("given", ["x", "1.2.3.4:", "127.0.0.1:70000", "203.0.113.1:1"])
def test_an_address_that_is_none_is_refused(given: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "orgrest", "lsp", "--tcp", given],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    assert done.returncode != 0
    assert given in done.stderr
    assert "Traceback" not in done.stderr


def message(body: str) -> bytes:
    return f"Content-Length: {len(body.encode())}\r\n\r\n{body}".encode()


INITIALIZE = (
    '{"jsonrpc": "2.0", "id": 1, "method": "initialize",'
    ' "params": {"processId": null, "rootUri": null, "capabilities": {}}}'
)


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ([], 1),
        (['{"jsonrpc": "2.0", "method": "exit"}'], 1),
        (
            [
                '{"jsonrpc": "2.0", "id": 2, "method": "shutdown"}',
                '{"jsonrpc": "2.0", "method": "exit"}',
            ],
            0,
        ),
    ],
)
def test_the_server_ends_with_its_client(end: list[str], status: int) -> None:
    """Even after messages that are none, and with a request under way."""
    with RawServer(lambda *_: time.sleep(TIMEOUT)) as silent:
        opened = (
            '{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument":'
            ' {"uri": "file:///a.http", "languageId": "http", "version": 1,'
            f' "text": "GET {silent.url}/"}}}}}}'
        )
        send = (
            '{"jsonrpc": "2.0", "id": 3, "method": "workspace/executeCommand", "params":'
            ' {"command": "orgrest.send", "arguments": [{"uri": "file:///a.http", "line": 0}]}}'
        )
        nonsense = ['{"jsonrpc": "2.0", "id": 9, "method": "textDocument/hover", "params": 1}', "{"]
        process = subprocess.Popen(
            [sys.executable, "-m", "orgrest", "lsp", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        sent = [INITIALIZE, '{"jsonrpc": "2.0", "method": "initialized", "params": {}}', *nonsense]
        process.stdin.write(b"".join(map(message, [*sent, opened, send])))
        process.stdin.flush()
        deadline = time.monotonic() + TIMEOUT
        while not silent.requests and time.monotonic() < deadline:
            time.sleep(0.01)
        assert silent.requests
        output, _ = process.communicate(b"".join(map(message, end)), timeout=TIMEOUT)
    assert process.returncode == status
    assert b'"capabilities"' in output
    assert b'"id": 9' in output  # nonsense is answered, too


def write_message(stream: Any, body: bytes) -> None:
    stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    stream.flush()


def answer_to(number: int, stream: Any) -> dict[str, Any]:
    """Read messages up to the answer with this number."""
    while True:
        size = int(stream.readline().partition(b":")[2])
        while stream.readline().strip():
            pass
        found: dict[str, Any] = json.loads(stream.read(size))
        if found.get("id") == number:
            return found


def test_what_cannot_be_handled_is_logged_in_a_line() -> None:
    command = [sys.executable, "-m", "orgrest", "lsp"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert process.stderr is not None
        run = {"command": "orgrest.send", "arguments": [{"uri": "untitled:" + "x" * 999}]}
        bodies = [
            b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}',
            b'{"jsonrpc": "2.0", "id": 2, "method": ',
            b'{"jsonrpc": "2.0", "id": 2, "method": "textDocument/hover", "params": 7}',
            json.dumps(
                {"jsonrpc": "2.0", "id": 3, "method": "workspace/executeCommand", "params": run}
            ).encode(),
            b'{"jsonrpc": "2.0", "id": 4, "method": "shutdown"}',
        ]
        for body in bodies:
            write_message(process.stdin, body)
        assert "no open Org or request file" in answer_to(3, process.stdout)["error"]["message"]
        answer_to(4, process.stdout)
        write_message(process.stdin, b'{"jsonrpc": "2.0", "method": "exit"}')
        lines = process.stderr.read().decode().splitlines()
    assert len(lines) == 4, lines  # pygls tells twice of a message that is not as LSP has it
    assert all(line.startswith("orgrest: ") and len(line) < 500 for line in lines)
    assert "Expecting value" in lines[0]
    assert "no open Org or request file" in lines[3]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("tcp", [False, True])
def test_a_server_that_is_ended_leaves_no_responses_behind(
    server: RawServer, folder: Path, tmp_path: Path, number: signal.Signals, tcp: bool
) -> None:
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "orgrest", "lsp", *(["--tcp", "0"] if tcp else [])]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=environ)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with process, contextlib.ExitStack() as stack:
        into: Any = process.stdin
        out: Any = process.stdout
        if tcp:
            port = int(process.stderr.readline().rsplit(b" ", 1)[1])
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            into = out = stack.enter_context(connection.makefile("rwb"))
        document = {"uri": "untitled:a.http", "languageId": "http", "version": 1, "text": "\n"}
        messages: list[dict[str, Any]] = [
            {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
            {"method": "textDocument/didOpen", "params": {"textDocument": document}},
            {"id": 2, "method": "orgrest/none", "params": {}},
        ]
        for message in messages:
            write_message(into, json.dumps({"jsonrpc": "2.0", **message}).encode())
        answer_to(2, out)
        assert list(tmp_path.glob("orgrest-*"))  # the folder of a document that is in none
        process.send_signal(number)
        assert process.wait(TIMEOUT) == -number
    assert not list(tmp_path.glob("orgrest-*"))


def test_evaluating_a_file_does_not_load_the_server(tmp_path: Path) -> None:
    (tmp_path / "a.org").write_text("text\n")
    code = (
        "import sys; from orgrest.commands.main import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: print(*sorted(sys.modules), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.org")],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    loaded = done.stderr.split()
    assert "orgrest.run.run" in loaded
    assert not [name for name in loaded if name.split(".")[0] in ("pygls", "lsprotocol", "asyncio")]


# ------------------------------------------------------------------------------------ environments


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
    assert "dev or prod" in problem.message
    editor.answer = "prod"
    found = buffer.command("orgrest.chooseEnvironment")
    assert found == {"environments": ["dev", "prod"], "chosen": ["prod"]}
    assert "no environment now" in editor.questions[-1]
    assert buffer.diagnostics(lambda found: not found) == []
    said = _hovered(buffer, "{{ho|st")
    assert "two.example" in said
    assert "of prod, in http-client.env.json" in said
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


def test_a_client_may_set_the_values_that_a_request_asks_for(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"# @prompt who Who is it?\nGET {server.url}/{{{{who}}}}\n"
    buffer = editor.open(folder / "a.http", text, "http")
    failed = buffer.command("orgrest.send", line=1)
    assert "Who is it?; where nobody can answer" in failed["message"]
    assert "in an editor, the setting variables has it" in failed["message"]
    for values in ({"who": "me", "other": 7}, {"who": "me"}):
        params = types.DidChangeConfigurationParams({"orgrest": {"variables": values}})
        editor.notify(types.WORKSPACE_DID_CHANGE_CONFIGURATION, params)
        said = _hovered(buffer, "{{wh|o")
        assert "me" in said
        assert "given by the setting `variables`" in said
        assert buffer.command("orgrest.send", line=1)["status"] == 200
    editor.notify(
        types.WORKSPACE_DID_CHANGE_CONFIGURATION,
        types.DidChangeConfigurationParams({"variables": {}}),
    )
    editor.close(buffer)


def test_without_environment_files_there_is_nothing_to_choose(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.http", "GET http://x/\n", "http")
    with pytest.raises(JsonRpcException, match="no environment file is beside the document"):
        buffer.command("orgrest.chooseEnvironment")
    editor.close(buffer)


def test_imported_files_are_known_as_they_are_in_the_editor(editor: Editor, folder: Path) -> None:
    (folder / "lib.http").write_text("😀 = 1\n# @name login\nGET http://x/\n")
    lib = editor.open(folder / "lib.http", "@base = 1\n# @name login\nGET http://x/\n", "http")
    text = "# @import lib.http\nGET http://x/{{base}}/{{login.id}}\n"
    buffer = editor.open(folder / "a.http", text, "http")
    assert buffer.diagnostics(lambda found: not found) == []

    def definition(marked: str) -> list[tuple[str, int, int]]:
        params = types.DefinitionParams(buffer.identifier, buffer.at(marked))
        found = buffer.ask(types.TEXT_DOCUMENT_DEFINITION, params) or []
        return [
            (one.uri.rpartition("/")[2], one.range.start.line, one.range.start.character)
            for one in found
        ]

    assert definition("{{ba|se") == [("lib.http", 0, 1)]
    assert definition("{{log|in") == [("lib.http", 1, 8)]
    assert definition("import li|b") == [("lib.http", 0, 0)]
    params = types.CompletionParams(buffer.identifier, buffer.at("{{ba|"))
    assert "base" in [x.label for x in buffer.ask(types.TEXT_DOCUMENT_COMPLETION, params).items]
    lib.replace("@base", "@root")
    (found,) = buffer.diagnostics(lambda found: bool(found))
    assert found.code == "undefined-variable"
    editor.close(lib)


def test_a_client_gets_only_the_tokens_that_changed(editor: Editor, folder: Path) -> None:
    text = "### a\nGET http://x/\nA: b\n\n" * 20
    buffer = editor.open(folder / "a.http", text, "http")

    def since(number: str) -> Any:
        params = types.SemanticTokensDeltaParams(buffer.identifier, number)
        return buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, params)

    params = types.SemanticTokensParams(buffer.identifier)
    whole = buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, params)
    buffer.replace("A: b", "A: bcd")
    changed = since(whole.result_id)
    (edit,) = changed.edits
    data = list(whole.data)
    data[edit.start : edit.start + edit.delete_count] = edit.data
    assert len(edit.data) < len(data) / 10
    assert list(since("unknown").data) == data
    other = buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, params)
    assert list(other.data) == data


def test_a_lens_that_is_none_stays_without_a_command(editor: Editor, folder: Path) -> None:
    where = types.Range(types.Position(0, 0), types.Position(0, 0))
    for data in (None, ["orgrest.send", 10**9], ["rm", 1], "x", {"a": 1}):
        lens = types.CodeLens(where, data=data)
        assert editor.request(types.CODE_LENS_RESOLVE, lens).command is None


def _offered(buffer: Buffer, marked: str) -> Any:
    params = types.CompletionParams(buffer.identifier, buffer.at(marked))
    return buffer.ask(types.TEXT_DOCUMENT_COMPLETION, params)


def test_completions_say_once_what_they_replace_to_a_client_that_can_read_that(
    editor: Editor, folder: Path
) -> None:
    text = "@one = 1\n@other = 2\nGET http://{{o}}\nAcc\n"
    buffer = editor.open(folder / "a.http", text, "http")
    plain_list = _offered(buffer, "{{o|}}")
    modern = Editor()
    modern.capabilities.text_document.completion.completion_list = (  # type: ignore[union-attr]
        types.CompletionListCapabilities(item_defaults=["editRange"])
    )
    with modern:
        same = modern.open(folder / "a.http", text, "http")
        found = _offered(same, "{{o|}}")
        assert found.item_defaults.edit_range == plain_list.items[0].text_edit.range
        assert all(one.text_edit is None for one in found.items)
        assert [one.text_edit_text or one.label for one in found.items] == [
            one.text_edit.new_text for one in plain_list.items
        ]
        assert {"one", "other"} <= {one.label for one in found.items}
        header = _offered(same, "Acc|")
        (accept,) = [one for one in header.items if one.label == "Accept"]
        assert accept.text_edit_text == "Accept: "
        assert _offered(same, "1|\n@").items == ()
