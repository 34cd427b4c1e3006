"""How editors start a server, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from editors import TIMEOUT, Editor, serve_tcp
from lsprotocol import types
from served import BLOCK, RESULT
from servers import RawServer, silent
from waiting import wait_until


def test_an_editor_that_can_do_little_is_served_all_the_same(
    server: RawServer, folder: Path
) -> None:
    without = (
        "window.work_done_progress",
        "window.show_document",
        "text_document.document_symbol.hierarchical_document_symbol_support",
    )
    with Editor("utf-8", without=without) as editor:
        buffer = editor.open(folder / "a.org", f"😀\n{BLOCK.format(server.url)}", "org")
        assert buffer.command("orgrest.send", 1)["outcome"] == "passed"
        assert buffer.text == f"😀\n{BLOCK.format(server.url)}{RESULT}"
        symbols = buffer.ask(
            types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(buffer.identifier)
        )
        assert len(symbols) == 2
        assert all(isinstance(symbol, types.SymbolInformation) for symbol in symbols)
        plain_file = editor.open(folder / "a.http", f"GET {server.url}/json\n", "http")
        assert '"a": 1' in plain_file.command("orgrest.send")["text"]
        assert editor.client.progress_reports == {}
        assert editor.client.shown_documents == []


@pytest.mark.parametrize(
    "missing", ["workspace.apply_edit", "workspace.workspace_edit.document_changes"]
)
def test_an_editor_that_takes_no_edits_or_outdated_ones_is_shown_results(
    server: RawServer, folder: Path, missing: str
) -> None:
    with Editor(without=(missing,)) as editor:
        buffer = editor.open(folder / "a.org", BLOCK.format(server.url), "org")
        found = buffer.command("orgrest.send", 1)
        assert (found["outcome"], found["status"]) == ("passed", 200)
        assert buffer.text == BLOCK.format(server.url)
        assert "does not support versioned edits" in found["message"]
        assert editor.messages == []
        assert '"a": 1' in found["text"]
        scratch = Path(found["uri"].removeprefix("file://")).parent
        assert scratch.is_dir()
    assert not scratch.exists()


def test_an_editor_without_versions_of_documents_can_rename(folder: Path) -> None:
    with Editor(without=("workspace.workspace_edit.document_changes",)) as editor:
        buffer = editor.open(folder / "a.http", "@one = 1\nGET http://x/{{one}}\n", "http")
        where = buffer.at("{{|one}}")
        params = types.RenameParams(buffer.identifier, where, "two")
        editor.make(buffer.ask(types.TEXT_DOCUMENT_RENAME, params))
        assert buffer.text == "@two = 1\nGET http://x/{{two}}\n"


def test_a_client_is_served_over_tcp_on_this_machine_only(server: RawServer, folder: Path) -> None:
    process, port = serve_tcp("0")
    with process, Editor(port=port) as editor:
        buffer = editor.open(folder / "a.org", BLOCK.format(server.url), "org")
        assert buffer.command("orgrest.send", 1)["outcome"] == "passed"
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
def test_an_address_that_is_invalid_is_refused(given: str) -> None:
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


def write_message(stream: Any, body: bytes) -> None:
    stream.write(message(body.decode()))
    stream.flush()


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
    """Also after invalid messages, and with a request under way."""
    with RawServer(silent) as server:
        opened = (
            '{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument":'
            ' {"uri": "file:///a.http", "languageId": "http", "version": 1,'
            f' "text": "GET {server.url}/"}}}}}}'
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
        wait_until(lambda: server.requests)
        output, _ = process.communicate(b"".join(map(message, end)), timeout=TIMEOUT)
    assert process.returncode == status
    assert b'"capabilities"' in output
    assert b'"id": 9' in output  # nonsense is answered, too


def answer_to(number: int, stream: Any) -> dict[str, Any]:
    """Read messages until the answer with this id."""
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
        assert (
            "not an open Org document or request file"
            in answer_to(3, process.stdout)["error"]["message"]
        )
        answer_to(4, process.stdout)
        write_message(process.stdin, b'{"jsonrpc": "2.0", "method": "exit"}')
        lines = process.stderr.read().decode().splitlines()
    assert len(lines) == 4, lines  # pygls tells twice of a message that is not as LSP has it
    assert all(line.startswith("orgrest: ") and len(line) < 500 for line in lines)
    assert "Expecting value" in lines[0]
    assert "not an open Org document or request file" in lines[3]


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
    (tmp_path / "a.org").write_text("#+begin_src restclient :eval no\nGET /\n#+end_src\n")
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
