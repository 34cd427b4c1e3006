"""A run in the background blocks nothing, and can be cancelled from the editor."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from pathlib import Path

import pytest
import waiting
from editors import TIMEOUT, Editor, plain
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from served import BLOCK, GATE
from servers import RawServer, response
from waiting import descendants, is_alive, is_watched


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
        assert (
            notes.command("orgrest.send", 1)["outcome"] == "passed"
        )  # a second document meanwhile
        again = editor.start_run("orgrest.send", notes.uri, 1)
        assert plain(again.result(TIMEOUT))["outcome"] == "passed"
        assert not sent.done()
        gate.opened.set()
        assert plain(sent.result(TIMEOUT))["outcome"] == "passed"


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
        assert plain(sent.result(TIMEOUT))["outcome"] == "skipped"
        reports = editor.client.progress_reports[token]
        editor.wait_for(
            lambda: [type(report).__name__ for report in reports][-1] == "WorkDoneProgressEnd"
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
    assert buffer.command("orgrest.send", 1)["outcome"] == "passed"
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


ENDLESS = {
    "script": "GET {url}\n\n> {{% for (;;); %}}\n",
    "script above": "< {{% for (;;); %}}\nGET {url}\n",
    "XPath": "GET {url}\n\n?? xpath //a//a == 1\n",
    "jq": '#+begin_src http :jq "def f: f; f"\nGET {url}\n#+end_src\n',
}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")
@pytest.mark.parametrize("how", ["request", "button", "command"])
@pytest.mark.parametrize("kind", ENDLESS)
def test_cancelling_ends_the_process_of_a_script_or_a_path(
    editor: Editor, folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, how: str
) -> None:
    monkeypatch.setattr(waiting, "LONGEST", 30)  # the process's own limit comes after 60 s
    server_process = editor.do(lambda: editor.client._server).pid
    before = set(descendants(server_process))
    deep = response(b"<a>" * 8000 + b"</a>" * 8000, "Content-Type: text/xml")
    with RawServer(response(b"1") if kind == "jq" else deep) as server:
        text = ENDLESS[kind].format(url=server.url)
        name = "endless.org" if kind == "jq" else "endless.http"
        buffer = editor.open(folder / name, text, "org" if kind == "jq" else "http")
        line = next(n for n, part in enumerate(text.split("\n")) if part.startswith("GET"))
        editor.client.progress_reports["run-3"] = []
        sent = editor.start_run("orgrest.send", buffer.uri, line, "run-3")
        process = editor.wait_for(lambda: set(descendants(server_process)) - before).pop()
        # A process stopped before it has executed its program would stop the server's `vfork` too.
        editor.wait_for(lambda: is_watched(process))
        os.kill(process, signal.SIGSTOP)  # so that no limit of CPU time ends it
        if how == "request":
            editor.notify("$/cancelRequest", types.CancelParams("run-3"))
        elif how == "button":
            [token] = editor.wait_for(lambda: [*editor.client.progress_reports.keys() - {"run-3"}])
            given = types.WorkDoneProgressCancelParams(token)
            editor.notify(types.WINDOW_WORK_DONE_PROGRESS_CANCEL, given)
        else:
            assert buffer.command("orgrest.cancel") == 1
        with contextlib.suppress(JsonRpcException):
            sent.result(TIMEOUT)
        editor.wait_for(lambda: not is_alive(process))


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
        assert plain(sent.result(TIMEOUT))["outcome"] == "skipped"
        done.set()
        buffer.settle()
        assert not asked.acquire(timeout=0.1)
    finally:
        done.set()
        features[types.WINDOW_SHOW_MESSAGE_REQUEST] = kept
    assert "RESULTS" not in buffer.text
