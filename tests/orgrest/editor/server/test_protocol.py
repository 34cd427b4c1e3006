"""The language server with clients that violate the protocol, or that disappear."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Self

import pytest

TEXT = "#+begin_src http\nGET http://127.0.0.1:9/\n#+end_src\n"


class Client:
    """A client that sends any message. `folder` is the server's folder for temporary files."""

    def __init__(self, folder: Path, *start: str) -> None:
        self.folder = folder
        self.told: list[dict[str, Any]] = []
        environ = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder)}
        self.process = subprocess.Popen(
            [sys.executable, *(start or ("-m", "orgrest", "lsp"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._in, self._out = self.process.stdin, self.process.stdout

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()

    def raw(self, data: bytes) -> None:
        self._in.write(data)
        self._in.flush()

    def send(self, *, header: str = "Content-Length: {}\r\n\r\n", **message: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.raw(header.format(len(body)).encode() + body)

    def answer(self) -> dict[str, Any]:
        """Return the next response. Notifications are skipped."""
        while True:
            length = 0
            while line := self._out.readline().strip():
                if match := re.fullmatch(rb"Content-Length: (\d+)", line):
                    length = int(match[1])
            assert length, "the server has ended"
            found: dict[str, Any] = json.loads(self._out.read(length))
            if "method" not in found:
                return found
            self.told.append(found)

    def initialize(self, process: int | None = None) -> None:
        params = {"processId": process, "capabilities": {}, "rootUri": None}
        self.send(id=1, method="initialize", params=params)
        assert "capabilities" in self.answer()["result"]
        self.send(method="initialized", params={})

    def is_there(self) -> bool:
        """Return whether the server still answers."""
        self.send(id="there", method="no/such", params={})
        found = self.answer()
        return (found["id"], found["error"]["code"]) == ("there", -32601)


@pytest.fixture
def client(tmp_path: Path):  # type: ignore[no-untyped-def]  # a generator
    with Client(tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """A server that no client has initialized, shared by several tests."""
    with Client(tmp_path_factory.mktemp("waiting")) as running:
        yield running


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    """An initialized server, shared by several tests. It must survive every message."""
    with Client(tmp_path_factory.mktemp("serving")) as running:
        running.initialize()
        yield running


def test_a_request_before_initialize_is_refused_and_the_server_continues(client: Client) -> None:
    client.send(id=5, method="textDocument/hover", params={})
    found = client.answer()
    assert (found["id"], found["error"]["code"]) == (5, -32002)
    client.send(method="textDocument/didOpen", params={})  # a notification is dropped
    client.initialize()
    assert client.is_there()


def test_a_request_after_shutdown_and_a_second_initialize_are_invalid(client: Client) -> None:
    client.initialize()
    client.send(id=2, method="initialize", params={"processId": None, "capabilities": {}})
    assert client.answer()["error"]["code"] == -32600
    client.send(id=3, method="shutdown")
    assert client.answer()["result"] is None
    client.send(id=4, method="textDocument/hover", params={})
    found = client.answer()
    assert (found["id"], found["error"]["code"]) == (4, -32600)
    client.send(method="exit")
    assert client.process.wait(30) == 0


@pytest.mark.parametrize(
    "header",
    [
        "content-length: {}\r\n\r\n",
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: {}\r\n\r\n",
        "CONTENT-LENGTH:{}\r\nX: y\r\n\r\n",
        "Content-Length: {}\n\n",
    ],
)
def test_headers_are_read_in_any_spelling(waiting: Client, header: str) -> None:
    waiting.send(header=header, id=1, method="no/such")
    assert waiting.answer()["error"]["code"] == -32002


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 7\r\n\r\nno json",
        b"Content-Length: 2\r\n\r\n\xff\xfe",
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: x\r\n\r\n{}\r\n",
        b"Content-Length: 0\r\n\r\n",
        b"this is no header\r\n\r\n",
        b"\x00\x01\x02\r\n",
    ],
)
def test_a_broken_frame_is_a_parse_error_and_the_server_continues(
    serving: Client, data: bytes
) -> None:
    serving.raw(data)
    serving.send(id="there", method="no/such", params={})
    found = serving.answer()
    assert (found["id"], found["error"]["code"]) == (None, -32700)
    assert serving.answer()["error"]["code"] == -32601
    assert serving.is_there()


@pytest.mark.parametrize("body", [b"[]", b"5", b"{}", b'"x"', b'{"id": 3}'])
def test_json_that_is_no_message_is_an_invalid_request(serving: Client, body: bytes) -> None:
    serving.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert serving.answer()["error"]["code"] == -32600
    assert serving.is_there()


@pytest.mark.parametrize("given", [{}, {"params": {}}], ids=["no params", "empty params"])
def test_missing_parameters_are_no_bug_of_the_server(
    serving: Client, given: dict[str, Any]
) -> None:
    serving.send(id=1, method="no/such", **given)
    assert serving.answer()["error"]["code"] == -32601
    for method in ("orgrest/session", "orgrest/environments", "orgrest/pasted", "orgrest/babel"):
        serving.send(id=2, method=method, **given)
        error = serving.answer()["error"]
        assert error["code"] == -32602
        assert error["message"].startswith("the parameter ")
    serving.send(id=3, method="orgrest/history", **given)
    assert "runs" in serving.answer()["result"]


def scratch(client: Client) -> list[Path]:
    return sorted(client.folder.glob("orgrest-*"))


def opened(client: Client) -> None:
    """Open an untitled document, for which the server creates a folder for temporary files."""
    item = {"uri": "untitled:a.org", "languageId": "org", "version": 1, "text": TEXT}
    client.send(method="textDocument/didOpen", params={"textDocument": item})
    assert client.is_there()
    assert len(scratch(client)) == 1


def test_shutdown_leaves_no_temporary_files(client: Client) -> None:
    client.initialize()
    opened(client)
    client.send(id=3, method="shutdown")
    client.answer()
    assert scratch(client) == []


def test_the_next_server_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    with Client(tmp_path) as first:
        first.initialize()
        opened(first)
        with Client(tmp_path) as second:  # while the first is there, its files are kept
            second.initialize()
            assert len(scratch(second)) == 1
        first.process.kill()
        first.process.wait()
    other = Path(tempfile.mkdtemp(prefix="orgrest-other-", dir=tmp_path))
    with Client(tmp_path) as third:
        third.initialize()
        assert scratch(third) == [other]


@pytest.mark.skipif(os.name == "nt", reason="to look for a process there is to end it")
def test_a_server_ends_with_the_process_of_its_client(client: Client) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as owner:
        client.initialize(owner.pid)
        opened(client)
        owner.communicate(b"\n")
    assert client.process.wait(30) == 1
    assert scratch(client) == []


FAULTY = """
import asyncio, os, sys
from orgrest.commands.main import main
from orgrest import classes
from orgrest.editor.server import documents
from orgrest.editor.server.features import session, table, views
from orgrest.editor.server.server import Server

def raises(name, function):
    def check():
        if name == open("fault").read():
            raise KeyError("secret-of-a-user")
    async def later(*given):
        check()
        return await function(*given)
    def at_once(*given, **named):
        check()
        return function(*given, **named)
    return later if asyncio.iscoroutinefunction(function) else at_once

table.FEATURES = tuple((m, raises(m, f), o) for m, f, o in table.FEATURES)
table.COMMANDS = {n: classes.evolve(c, run=raises(n, c.run)) for n, c in table.COMMANDS.items()}
for module, name in ((views, "history"), (session, "session"), (views, "pasted")):
    setattr(module, name, raises(f"orgrest/{name}", getattr(module, name)))
table.environments = raises("orgrest/environments", table.environments)
for name in ("open", "change", "close", "configure", "look_again"):
    setattr(Server, name, raises(name, getattr(Server, name)))
main(["lsp"])
"""
NOTIFIED = {
    "open": "textDocument/didOpen",
    "change": "textDocument/didChange",
    "configure": "workspace/didChangeConfiguration",
    "look_again": "workspace/didChangeWatchedFiles",
    "close": "textDocument/didClose",
}


def test_a_bug_in_one_answer_is_reported_and_the_editor_continues(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fault, uri = tmp_path / "fault", (tmp_path / "a.org").as_uri()
    fault.write_text("")
    place, document = {"line": 1, "character": 5}, {"uri": uri, "version": 1}
    everything = {
        "textDocument": document, "position": place, "range": {"start": place, "end": place},
        "context": {"includeDeclaration": True, "diagnostics": [], "triggerKind": 1,
                    "isRetrigger": False}, "newName": "n", "query": "",
        "previousResultId": "1", "options": {"tabSize": 2, "insertSpaces": True}, "text": "",
        "positions": [place], "uri": uri, "limit": 1,
    }  # fmt: skip
    opened = {"languageId": "org", "text": TEXT}
    contents = {
        "textDocument/didOpen": {"textDocument": {**document, **opened}},
        "textDocument/didChange": {"textDocument": document, "contentChanges": [{"text": TEXT}]},
        "workspace/didChangeConfiguration": {"settings": {}},
        "workspace/didChangeWatchedFiles": {"changes": []},
        "textDocument/didClose": {"textDocument": document},
    }
    from orgrest.editor.server.commands import COMMANDS
    from orgrest.editor.server.features.table import FEATURES

    with Client(tmp_path, "-c", FAULTY) as client:
        client.initialize()
        client.send(method="textDocument/didOpen", params=contents["textDocument/didOpen"])
        asked = [*(method for method, _, _ in FEATURES), *COMMANDS]
        asked += [f"orgrest/{name}" for name in ("history", "session", "pasted", "environments")]
        for number, name in enumerate(asked):
            method, params = name, everything
            if name in COMMANDS:
                method = "workspace/executeCommand"
                params = {"command": name, "arguments": [{"uri": uri, "line": 1}]}
            fault.write_text(name)
            client.send(id=number, method=method, params=params)
            answer = client.answer()
            assert answer["id"] == number, name
            assert "This is a bug in orgrest: please report it" in answer["error"]["message"], name
            assert "secret-of-a-user" not in json.dumps(answer), name
            assert client.is_there(), name
        for name, method in NOTIFIED.items():
            fault.write_text(name)
            client.send(method=method, params=contents[method])
            assert client.is_there(), name
            told = [one for one in client.told if "this is a bug" in json.dumps(one).lower()]
            assert len(told) == 1, name
            assert "secret-of-a-user" not in json.dumps(client.told)
            client.told.clear()
        fault.write_text("")
        client.send(id="well", method="textDocument/documentSymbol", params=everything)
        assert client.answer()["result"]
