"""An editor for the tests: a real LSP client, with open documents that it edits as editors do."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Self

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient, client_capabilities
from pytest_lsp.client import make_test_lsp_client
from waiting import wait_until

TIMEOUT = 60


def units(text: str, encoding: str) -> int:
    """Return the length of a text in the client's units."""
    if encoding == "utf-32":
        return len(text)
    if encoding == "utf-16":
        return sum(2 if ord(c) > 0xFFFF else 1 for c in text)
    return len(text.encode("utf-8", "surrogatepass"))


class Buffer:
    """An open document. `text` is what the user sees."""

    def __init__(self, editor: Editor, path: Path, text: str) -> None:
        self.editor = editor
        self.path = path
        self.uri = path.as_uri()
        self.text = text
        self.version = 1
        self.unreported: list[types.TextDocumentContentChangePartial] = []
        self.timer: asyncio.TimerHandle | None = None

    def position(self, offset: int) -> types.Position:
        lines = re.split(r"\r\n|\n|\r", self.text[:offset])
        return types.Position(len(lines) - 1, units(lines[-1], self.editor.encoding))

    def offset(self, position: types.Position) -> int:
        at = 0
        for _ in range(position.line):
            found = re.compile(r"\r\n|\n|\r").search(self.text, at)
            assert found is not None
            at = found.end()
        end = at
        while units(self.text[at:end], self.editor.encoding) < position.character:
            end += 1
        return end

    def range(self, start: int, end: int) -> types.Range:
        return types.Range(self.position(start), self.position(end))

    def edit(self, start: int, end: int, new: str) -> None:
        """Replace a part of the text, as a user does by typing."""
        self.editor.do(lambda: self.editor._change(self, [(start, end, new)]))

    def replace(self, old: str, new: str) -> None:
        at = self.text.index(old)
        self.edit(at, at + len(old), new)

    def at(self, marked: str) -> types.Position:
        """Return the position of the bar in `marked`, or of `marked` itself in the text."""
        before, _, after = marked.partition("|")
        return self.position(self.text.index(before + after) + len(before))

    def line(self, piece: str) -> int:
        return self.position(self.text.index(piece)).line

    def shown(self, where: types.Range) -> str:
        return self.text[self.offset(where.start) : self.offset(where.end)]

    @property
    def identifier(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)

    def ask(self, method: str, params: Any) -> Any:
        return self.editor.request(method, params)

    def command(self, name: str, line: int = 0) -> Any:
        return self.editor.run(name, self.uri, line)

    def lenses(self) -> list[types.CodeLens]:
        """Return the lenses, each resolved as an editor does before showing it."""
        params = types.CodeLensParams(self.identifier)
        found = self.ask(types.TEXT_DOCUMENT_CODE_LENS, params)
        return [one if one.command else self.ask(types.CODE_LENS_RESOLVE, one) for one in found]

    def settle(self) -> None:
        """Wait until the server has processed all edits. It answers in order."""
        where = types.Position(0, 0)
        self.ask(types.TEXT_DOCUMENT_COMPLETION, types.CompletionParams(self.identifier, where))

    def diagnostics(self, wanted: Callable[[list[Any]], bool] = bool) -> list[Any]:
        """Wait until `wanted` is true for the diagnostics, and return them."""
        return self.editor.wait_for(
            lambda: list(self.editor.client.diagnostics.get(self.uri, ())), wanted
        )


class Editor:
    """A client that starts a server or connects to `port`. Its event loop has its own thread."""

    def __init__(
        self,
        encoding: str = "utf-16",
        *,
        client: str = "visual-studio-code",
        environ: dict[str, str] | None = None,
        without: tuple[str, ...] = (),
        port: int | None = None,
        experimental: Any = None,
        folders: Sequence[Path] = (),
    ) -> None:
        self.encoding = encoding
        self.buffers: dict[str, Buffer] = {}
        self.applying: Callable[[Buffer], str | None] = lambda _: None
        """Called before the server's edits are applied. They are refused if it returns a reason."""
        self.delay: float | None = None
        """The pause in typing, in seconds, after which changes are reported. None: at once."""
        self.questions: list[str] = []
        self.answer: str | None = None
        self._port = port
        self._folders = [types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders]
        self._environ = {**os.environ, **(environ or {})}
        self.capabilities = client_capabilities(client)
        assert self.capabilities.general is not None
        self.capabilities.general.position_encodings = [types.PositionEncodingKind(encoding)]
        for path in without:
            *parents, last = path.split(".")
            found: Any = self.capabilities
            for name in parents:
                found = getattr(found, name)
            setattr(found, last, None)
        self.capabilities.experimental = experimental
        self.watched: list[str] = []
        """The patterns of the files that the server asked the client to watch."""
        self.notified: list[Any] = []
        """The parameters of the `orgrest/response` notifications."""
        self.prompts: list[tuple[str, bool]] = []
        """The message of each `orgrest/prompt` request, and whether the answer is hidden."""
        self.typed: str | None = None
        """The answer to each prompt. None dismisses prompts."""
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.client: LanguageClient

    def __enter__(self) -> Self:
        self._thread.start()
        self.do(self._make)
        self.call(self._start())
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    def _make(self) -> None:
        self.client = make_test_lsp_client()
        self.client.feature(types.WORKSPACE_APPLY_EDIT)(functools.partial(self._apply))
        self.client.feature(types.WINDOW_SHOW_MESSAGE_REQUEST)(functools.partial(self._answer))
        self.client.feature("orgrest/response")(lambda one: self.notified.append(plain(one)))
        self.client.feature("orgrest/prompt")(functools.partial(self._prompt))
        self.client.feature(types.CLIENT_REGISTER_CAPABILITY)(functools.partial(self._register))
        # What it says it can, it should: it asks for lenses when a test does.
        self.client.feature(types.WORKSPACE_CODE_LENS_REFRESH)(lambda _: None)

    def _prompt(self, question: Any) -> dict[str, str] | None:
        assert question.textDocument.uri in self.buffers
        self.prompts.append((question.message, question.hidden))
        return None if self.typed is None else {"text": self.typed}

    async def _start(self) -> None:
        if self._port is None:
            await self.client.start_io(sys.executable, "-m", "orgrest", "lsp", env=self._environ)
        else:
            await self.client.start_tcp("127.0.0.1", self._port)
        self.initialized = await self.client.initialize_session(
            types.InitializeParams(
                capabilities=self.capabilities, workspace_folders=self._folders or None
            )
        )
        assert self.initialized.capabilities.position_encoding == self.encoding

    async def _stop(self) -> None:
        with contextlib.suppress(JsonRpcException):
            await asyncio.wait_for(self.client.shutdown_session(), TIMEOUT)
        await self.client.stop()

    # talking

    def do(self, function: Callable[[], Any]) -> Any:
        """Call a function in the loop."""

        async def call() -> Any:
            return function()

        return self.call(call())

    def call(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(TIMEOUT)

    def start(self, method: str, params: Any, identifier: str | None = None) -> Any:
        """Send a request, and return the future of its result."""

        def send() -> Any:
            for buffer in self.buffers.values():
                self._report(buffer)
            return self.client.protocol.send_request(method, params, msg_id=identifier)

        return self.do(send)

    def request(self, method: str, params: Any) -> Any:
        return self.start(method, params).result(TIMEOUT)

    def run(self, name: str, uri: str, line: int, token: str | None = None) -> Any:
        return plain(self.start_run(name, uri, line, token=token).result(TIMEOUT))

    def start_run(
        self,
        name: str,
        uri: str,
        line: int,
        identifier: str | None = None,
        token: str | None = None,
    ) -> Any:
        params = types.ExecuteCommandParams(name, [{"uri": uri, "line": line}], token)
        return self.start(types.WORKSPACE_EXECUTE_COMMAND, params, identifier)

    def notify(self, method: str, params: Any) -> None:
        self.do(lambda: self.client.protocol.notify(method, params))

    def wait_for(self, get: Callable[[], Any], wanted: Callable[[Any], bool] = bool) -> Any:
        return wait_until(lambda: self.do(get), wanted)

    @property
    def messages(self) -> list[str]:
        return self.do(lambda: [message.message for message in self.client.messages])

    # documents

    def open(self, path: Path, text: str, language: str = "") -> Buffer:
        buffer = Buffer(self, path, text)
        self.buffers[buffer.uri] = buffer
        item = types.TextDocumentItem(buffer.uri, language, 1, text)
        self.notify(types.TEXT_DOCUMENT_DID_OPEN, types.DidOpenTextDocumentParams(item))
        return buffer

    def close(self, buffer: Buffer) -> None:
        del self.buffers[buffer.uri]
        params = types.DidCloseTextDocumentParams(buffer.identifier)
        self.notify(types.TEXT_DOCUMENT_DID_CLOSE, params)

    def _change(self, buffer: Buffer, edits: list[tuple[int, int, str]]) -> None:
        for start, end, new in sorted(edits, reverse=True):
            change = types.TextDocumentContentChangePartial(buffer.range(start, end), new)
            buffer.unreported.append(change)
            buffer.text = buffer.text[:start] + new + buffer.text[end:]
        buffer.version += 1
        if buffer.timer is not None:
            buffer.timer.cancel()
        if self.delay is None:
            self._report(buffer)
        else:
            buffer.timer = self.loop.call_later(self.delay, self._report, buffer)

    def _report(self, buffer: Buffer) -> None:
        if not buffer.unreported:
            return
        changes, buffer.unreported = buffer.unreported, []
        identifier = types.VersionedTextDocumentIdentifier(buffer.version, buffer.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(identifier, changes))

    def _apply(self, params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
        """Apply a workspace edit if it is for the current version."""
        edits: list[tuple[Buffer, int | None, Any]] = [
            (self.buffers[one.text_document.uri], one.text_document.version, one.edits)  # type: ignore[union-attr]  # no files
            for one in params.edit.document_changes or ()
        ]
        edits += [(self.buffers[uri], None, e) for uri, e in (params.edit.changes or {}).items()]
        for buffer, version, changes in edits:
            refused = self.applying(buffer)
            if refused is None and version not in (None, buffer.version):
                refused = "the document has changed"
            if refused is not None:
                return types.ApplyWorkspaceEditResult(False, refused)
            self._change(buffer, self.offsets(buffer, changes))
        return types.ApplyWorkspaceEditResult(True)

    @staticmethod
    def offsets(buffer: Buffer, edits: Any) -> list[tuple[int, int, str]]:
        return [
            (buffer.offset(e.range.start), buffer.offset(e.range.end), e.new_text) for e in edits
        ]

    def make(self, edit: types.WorkspaceEdit) -> None:
        """Apply an edit from the server's answer."""
        answer = self.do(lambda: self._apply(types.ApplyWorkspaceEditParams(edit)))
        assert answer.applied, answer

    def _register(self, params: types.RegistrationParams) -> None:
        for registration in params.registrations:
            if registration.method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES:
                found = plain(registration.register_options)["watchers"]
                self.watched += [watcher["globPattern"] for watcher in found]

    def tell_of_file(self, path: Path) -> None:
        """Notify the server of a file that another program changed, if it watches the file."""
        if any(path.match(pattern.removeprefix("**/")) for pattern in self.watched):
            event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
            params = types.DidChangeWatchedFilesParams([event])
            self.notify(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, params)

    def _answer(self, params: types.ShowMessageRequestParams) -> types.MessageActionItem | None:
        self.questions.append(params.message)
        found = (a for a in params.actions or () if a.title == self.answer)
        return next(found, None)


def plain(found: Any) -> Any:
    """Return a result as plain data, because pygls turns objects into named tuples."""
    if hasattr(found, "_asdict"):
        return {name: plain(value) for name, value in found._asdict().items()}
    return [plain(one) for one in found] if isinstance(found, (list, tuple)) else found


def serve_tcp(*arguments: str) -> tuple[subprocess.Popen[str], int]:
    """Start a server on a port that it chooses. Return the server and the port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "orgrest", "lsp", "--tcp", *arguments],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    return process, int(process.stderr.readline().rsplit(" ", 1)[1])
