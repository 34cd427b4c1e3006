"""The language server: orgrest in any editor, over LSP.

What an editor shows comes from `orgrest.completion` and `orgrest.analysis`; this module keeps the
open documents, answers the client, and sends requests when the user says so. Rules:

- Nothing is sent, run or written but by a command of the user's.
- Handlers that take long work in a thread; a run has one of its own (`orgrest.sending`), its
  progress is shown, and it can be cancelled.
- The text in the editor is what counts, not the file. A result is put in below its own block by an
  edit that touches nothing else, wherever the block is by then.
- Cookies and captured variables last as long as their document is open; connections as long as
  one run.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method
from pygls.uris import to_fs_path

from orgrest import org
from orgrest.analysis import Analysis, Diagnostic
from orgrest.evaluate import EvaluationError, Options, Outcome
from orgrest.files import REQUEST_SUFFIXES, FileError, write_result
from orgrest.model import OrgrestError, Source, Span
from orgrest.names import Names
from orgrest.positions import Change, Place, Text
from orgrest.results import mask, visible
from orgrest.sending import CancelledRunError, Run
from orgrest.transport import Cookies
from orgrest.variables import Scope

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.evaluate import Placing
    from orgrest.regions import Kind
    from orgrest.results import Rendered

DELAY = 0.15
"""How long typing must pause before the document is looked at, in seconds."""
TRIES = 5
"""How often a result is offered to a client whose text moves on meanwhile."""

_KINDS: dict[str, Kind] = {"org": "org", "http": "http", "rest": "http", "restclient": "http"}
_SUFFIXES: dict[str, Kind] = {".org": "org", **dict.fromkeys(REQUEST_SUFFIXES, "http")}
_LANGUAGES = {"js": ("javascript", ".js"), "nxml": ("xml", ".xml"), "text": ("plaintext", ".txt")}
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "hint": types.DiagnosticSeverity.Hint,
}


class Document:
    """An open document of ours, its text as the client has it."""

    def __init__(self, item: types.TextDocumentItem, kind: Kind, text: Text) -> None:
        self.uri = item.uri
        self.version = item.version
        self.kind = kind
        self.text = text
        found = to_fs_path(item.uri)
        local = urlsplit(item.uri).scheme == "file" and found is not None
        self.path = Path(found) if local and found else None
        self.cookies = Cookies()
        self.captured: dict[str, str] = {}
        self.secrets: frozenset[str] = frozenset()
        """Those of all runs: what was captured may hold them."""
        self.analysis: Analysis | None = None
        self.names: Names | None = None
        self.followed: list[list[Change]] = []
        """The changes since each of the runs under way has begun."""
        self.shown: set[int] = set()
        """The numbers of the runs under way: each shows its responses in a file of its own."""
        self.timer: asyncio.TimerHandle | None = None
        self.lock = asyncio.Lock()

    @property
    def name(self) -> str:
        """What the document is called in messages and links."""
        return str(self.path) if self.path else unquote(urlsplit(self.uri).path) or "untitled"

    def change(self, changes: Iterable[Any], version: int) -> None:
        """Take the changes that the client sends."""
        for change in changes:
            where = getattr(change, "range", None)
            if where is None:
                self.text, done = self.text.replace(change.text)
            else:
                self.text, done = self.text.change(
                    to_place(where.start), to_place(where.end), change.text
                )
            for followed in self.followed:
                followed.append(done)
        self.version = version


def to_place(position: types.Position) -> Place:
    """Return a position of the protocol's as ours."""
    return Place(position.line, position.character)


def to_position(text: Text, offset: int) -> types.Position:
    """Return the position of an offset."""
    place = text.place(offset)
    return types.Position(place.line, place.character)


def to_range(text: Text, span: Span) -> types.Range:
    """Return the range of a span."""
    return types.Range(to_position(text, span.start), to_position(text, span.end))


class _Protocol(LanguageServerProtocol):
    """pygls' protocol with our own documents, whose lines end where the protocol says."""

    _server: Server

    @property
    def ended_well(self) -> bool:
        """Whether the client took its leave before it went."""
        return self._shutdown

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Read a message; a request that cannot be read is answered, too."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        self._server.open(params.text_document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = self._server.document(params.text_document.uri)
        if document is not None:
            document.change(params.content_changes, params.text_document.version)
            self._server.look_soon(document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.close(params.text_document.uri)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]  # pygls calls both
        self, params: types.ExecuteCommandParams
    ) -> Any:
        """Run a command as a task of its own, which a cancelled request cancels."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"there is no command {params.command}")
        document, line = self._server.target(params.arguments)
        return await handler(document, line, params.work_done_token)


class Server(LanguageServer):
    """The server of one client."""

    protocol: _Protocol

    def __init__(self) -> None:
        super().__init__("orgrest", "1", protocol_cls=_Protocol)
        self._documents: dict[str, Document] = {}
        self._runs: set[Run] = set()
        self._scratch: Path | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # ---------------------------------------------------------------------------- documents

    def document(self, uri: str) -> Document | None:
        """Return the open document of ours with this URI, however its characters are quoted."""
        return self._documents.get(unquote(uri))

    def open(self, item: types.TextDocumentItem) -> None:
        """Take a document that the client opened, if it is one of ours."""
        kind = _KINDS.get(item.language_id) or _SUFFIXES.get(
            Path(urlsplit(item.uri).path).suffix.lower()
        )
        if kind is None:
            return
        encoding: Any = types.PositionEncodingKind(self.workspace.position_encoding).value
        document = Document(item, kind, Text(item.text, encoding))
        self._documents[unquote(item.uri)] = document
        self.folder(document)
        self.look_soon(document, 0)

    def close(self, uri: str) -> None:
        """Forget a document, and what was found in it."""
        document = self._documents.pop(unquote(uri), None)
        if document is not None:
            if document.timer is not None:
                document.timer.cancel()
            self._publish(uri, None, [])

    def scope(self, document: Document) -> Scope:
        """Return the scope of a document: files only in its folder."""
        return Scope.of_user(
            document.name,
            self.folder(document),
            remembered=document.captured,
            secrets=document.secrets,
        )

    def folder(self, document: Document) -> Path:
        """Return the folder of a document; one that is in none gets one with nothing in it."""
        return document.path.parent if document.path else self.scratch()

    async def analysis(self, document: Document) -> tuple[Analysis, Text]:
        """Return what is known of a document, and the text that it was found in."""
        async with document.lock:
            text = document.text
            before = document.analysis
            if (
                before is None
                or before.text != text.text
                or before.remembered != document.captured
                or before.secrets != document.secrets
            ):
                document.analysis = await asyncio.to_thread(
                    Analysis, text.text, document.kind, lambda: self.scope(document), before
                )
            return document.analysis, text  # type: ignore[return-value]  # set above

    async def names(self, document: Document) -> tuple[Names, Text]:
        """Return the names in a document, and the text that they were found in."""
        analysis, text = await self.analysis(document)
        if document.names is None or document.names.analysis is not analysis:
            document.names = Names(analysis)
        return document.names, text

    # -------------------------------------------------------------------------- diagnostics

    def look_soon(self, document: Document, delay: float = DELAY) -> None:
        """Look at a document when its user pauses."""
        if document.timer is not None:
            document.timer.cancel()
        loop = asyncio.get_running_loop()
        document.timer = loop.call_later(delay, lambda: self._start(self._look(document)))

    def _start(self, coroutine: Any) -> None:
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._complain_of)

    def _complain_of(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log(f"{type(error).__name__}: {error}", types.MessageType.Error)

    async def _look(self, document: Document) -> None:
        version = document.version
        analysis, text = await self.analysis(document)
        found = await asyncio.to_thread(lambda: analysis.diagnostics)
        if self.document(document.uri) is document and document.version == version:
            self._publish(document.uri, version, [to_diagnostic(text, one) for one in found])

    def _publish(self, uri: str, version: int | None, found: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    # ------------------------------------------------------------------------------ talking

    def log(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Put a line into the client's log."""
        self.window_log_message(types.LogMessageParams(kind, f"orgrest: {text}"))

    def tell(self, text: str, kind: types.MessageType = types.MessageType.Error) -> None:
        """Show a message to the user."""
        self.window_show_message(types.ShowMessageParams(kind, f"orgrest: {text}"))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong: the client is not there to be bothered with it."""
        with contextlib.suppress(Exception):  # the client may be gone
            self.log(f"{source.__name__}: {error}", types.MessageType.Error)

    def can(self, *path: str) -> bool:
        """Tell whether the client says that it has a capability."""
        found: Any = self.client_capabilities
        for name in path:
            found = getattr(found, name, None)
        return bool(found)

    async def ask(self, question: str) -> bool:
        """Ask the user, who may say nothing at all."""
        answers = [types.MessageActionItem("Evaluate"), types.MessageActionItem("Cancel")]
        answer = await self.window_show_message_request_async(
            types.ShowMessageRequestParams(types.MessageType.Warning, question, answers)
        )
        return answer is not None and answer.title == "Evaluate"

    # ----------------------------------------------------------------------------- commands

    def target(self, arguments: Any) -> tuple[Document, int]:
        """Return the document and the line (from 0) that a command's arguments name.

        They are one object with `uri`, and `line` or `position`. Raises JsonRpcInvalidParams.
        """
        given = arguments[0] if isinstance(arguments, (list, tuple)) and arguments else None
        if not isinstance(given, dict):
            raise JsonRpcInvalidParams('the argument is {"uri": ..., "line": ...}')
        position = given.get("position")
        line = position.get("line") if isinstance(position, dict) else given.get("line", 0)
        document = self.document(str(given.get("uri")))
        if document is None:
            raise JsonRpcInvalidParams(f"no open Org or request file is {given.get('uri')}")
        if not isinstance(line, int) or isinstance(line, bool) or line < 0:
            raise JsonRpcInvalidParams("a line is a number from 0")
        return document, line

    def scratch(self) -> Path:
        """Return a folder of this server's own, where nothing else is."""
        if self._scratch is None:
            self._scratch = Path(tempfile.mkdtemp(prefix="orgrest-"))
        return self._scratch

    def stop(self) -> None:
        """End what is under way, and leave nothing behind."""
        for run in list(self._runs):
            run.stop()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    # ------------------------------------------------------------------------------ sending

    async def send(
        self, document: Document, options: Options, token: int | str | None
    ) -> list[dict[str, Any]]:
        """Send requests of a document, keep their results, and tell what became of each."""
        snapshot = document.text
        changes: list[Change] = []
        run = Run(
            snapshot.text,
            file=document.name,
            scope=self.scope(document),
            options=options,
            plain=document.kind == "http",
            cookies=document.cookies,
            ask=self.ask,
        )
        found: list[dict[str, Any]] = []
        captured: dict[str, str] = {}
        responses: list[tuple[dict[str, Any], list[Rendered]]] = []
        number = next(n for n in itertools.count(1) if n not in document.shown)
        document.shown.add(number)
        document.followed.append(changes)
        self._runs.add(run)
        progress = _Progress(self, run)
        try:
            await progress.begin(token)
            async for outcome in run.outcomes():
                captured, known = run.captured, captured
                new = dict(captured.items() - known.items())
                document.captured = {**document.captured, **new}  # others may be under way
                document.secrets |= outcome.secrets
                result = await self._keep(document, snapshot, changes, outcome, responses)
                progress.report(result["message"])
                found.append(result)
        except CancelledRunError:
            found.append({"state": "cancelled", "message": "cancelled"})
        except OrgrestError as error:
            reason = visible(mask(error.reason, document.secrets))
            self.tell(reason)
            found.append({"state": "failed", "message": reason})
        finally:
            run.stop()
            self._runs.discard(run)
            document.followed = [one for one in document.followed if one is not changes]
            document.shown.discard(number)
            progress.end(found[-1]["message"] if found else "")
        await self._show(document, number, responses)
        return found

    async def _keep(
        self,
        document: Document,
        snapshot: Text,
        changes: list[Change],
        outcome: Outcome,
        responses: list[tuple[dict[str, Any], list[Rendered]]],
    ) -> dict[str, Any]:
        """Put an outcome where it belongs, and tell about it in JSON.

        What belongs nowhere in the document is added to `responses`, to be shown.
        """

        def safe(text: str) -> str:
            return visible(mask(text, outcome.secrets))

        start = Source(snapshot.text).offset(outcome.line)
        result: dict[str, Any] = {
            "line": snapshot.place(start).line,
            "state": outcome.state,
            "message": safe(_summary(outcome)),
        }
        for exchange in outcome.exchanges:
            if exchange.response is not None:
                result["status"] = exchange.response.status
                result["duration"] = round(exchange.response.duration, 6)
        for path, content in outcome.files:
            try:
                await asyncio.to_thread(write_result, path, content)
            except FileError as error:
                self.tell(safe(str(error)))
        shown = [e.rendered for e in outcome.exchanges if e.rendered is not None]
        placed = outcome.placing is not None and outcome.change is not None
        if placed and not self.can("workspace", "apply_edit"):
            responses.append((result, shown))
            result["message"] += "; this editor takes no edits: the result is shown instead"
        elif outcome.placing is not None and outcome.change is not None:
            trouble = await self._put(document, snapshot, changes, outcome.placing)
            if trouble is not None:
                responses.append((result, shown))
                result |= {"state": "failed", "message": safe(trouble)}
        elif document.kind == "http" and shown:
            responses.append((result, shown))
        if result["state"] == "failed":
            self.tell(result["message"])
        for note in outcome.notes:
            self.log(safe(f"{document.name}: {note}"), types.MessageType.Warning)
        return result

    async def _put(
        self, document: Document, snapshot: Text, changes: list[Change], placing: Placing
    ) -> str | None:
        """Offer the client the edit that puts a result in; give what stands against it, or None."""
        reason: str | None = None
        for _ in range(TRIES):
            if self.document(document.uri) is not document:
                return "the document was closed meanwhile: the result is shown instead"
            text, version = document.text, document.version
            parsed = await asyncio.to_thread(org.Document, text.text)
            if document.text is not text or self.document(document.uri) is not document:
                continue
            block = _block_now(parsed, text, placing, _moved(snapshot, changes, placing.start))
            if block is None:
                return "the block is not there any more: its result is shown instead"
            try:
                edit = placing.edit(parsed, block)
            except EvaluationError as error:
                return error.reason
            try:
                answer = await self.workspace_apply_edit_async(
                    types.ApplyWorkspaceEditParams(
                        self.workspace_edit(document.uri, version, text, [edit]), "Result"
                    )
                )
            except JsonRpcException as error:
                return f"the editor did not take the result: {error.message}"
            if answer.applied:
                return None
            reason = answer.failure_reason
            if document.text is text:
                break  # it is not that the text has moved on
        why = f": {reason}" if reason else ""
        return f"the editor did not take the result{why}; it is shown instead"

    def workspace_edit(
        self, uri: str, version: int | None, text: Text, edits: Iterable[org.Edit]
    ) -> types.WorkspaceEdit:
        """Return edits of a document's text for the client, which refuses them once it changed."""
        changes = [
            types.TextEdit(
                to_range(text, Span(edit.start, edit.end)), text.with_line_ends(edit.text)
            )
            for edit in edits
        ]
        if not self.can("workspace", "workspace_edit", "document_changes"):
            return types.WorkspaceEdit(changes={uri: changes})
        identifier = types.OptionalVersionedTextDocumentIdentifier(uri, version)
        return types.WorkspaceEdit(document_changes=[types.TextDocumentEdit(identifier, changes)])

    async def _show(
        self,
        document: Document,
        number: int,
        responses: list[tuple[dict[str, Any], list[Rendered]]],
    ) -> None:
        """Show the responses of a run in a document of their own; add what was shown to each."""
        if not responses:
            return
        stem = re.sub(r"[^\w.-]+", "-", Path(document.name).stem) or "response"
        stem += f"-{sha256(document.uri.encode()).hexdigest()[:8]}"  # others may have this name
        stem += f"-{number}" if number > 1 else ""
        count = itertools.count(1)
        languages = {one.language for _, found in responses for one in found}
        language = languages.pop() if len(languages) == 1 else "text"
        path = self.scratch() / f"{stem}.response{_language(language)[1]}"
        try:
            for result, found in responses:
                texts: list[str] = []
                for one in found:
                    if one.data is not None:
                        data = self.scratch() / f"{stem}.response-{next(count)}{one.extension}"
                        await asyncio.to_thread(write_result, data, one.data)
                        texts.append(f"{len(one.data)} bytes of binary data, in {data}\n\n")
                    texts.append(one.text)
                shown = _language(found[0].language)[0] if found else "plaintext"
                result |= {"text": "".join(texts), "language": shown, "uri": path.as_uri()}
            text = "\n".join(result["text"] for result, _ in responses)
            await asyncio.to_thread(write_result, path, text.encode("utf-8", "backslashreplace"))
        except FileError as error:
            self.tell(str(error))
        else:
            await self._show_document(path)

    async def _show_document(self, path: Path) -> None:
        if self.can("window", "show_document", "support"):
            with contextlib.suppress(JsonRpcException):  # what it shows is the result, too
                await self.window_show_document_async(
                    types.ShowDocumentParams(path.as_uri(), take_focus=False)
                )


class _Progress:
    """What the client shows of a run, with a button that cancels it."""

    def __init__(self, server: Server, run: Run) -> None:
        self._progress = server.work_done_progress
        self._own = server.can("window", "work_done_progress")
        self._run = run
        self._token: int | str | None = None

    async def begin(self, token: int | str | None) -> None:
        """Start, with the client's token or, where it knows that, one of ours."""
        if token is None and self._own:
            token = f"orgrest-{uuid4()}"
            with contextlib.suppress(JsonRpcException):
                await self._progress.create_async(token)
                self._token = token
        else:
            self._token = token
        if self._token is None:
            return
        self._progress.begin(self._token, types.WorkDoneProgressBegin("Sending", cancellable=True))
        self._progress.tokens[self._token].add_done_callback(self._cancelled)

    def _cancelled(self, future: Any) -> None:
        if future.cancelled():
            self._run.cancel()

    def report(self, message: str) -> None:
        """Say what was done."""
        if self._token is not None:
            self._progress.report(
                self._token, types.WorkDoneProgressReport(cancellable=True, message=message)
            )

    def end(self, message: str) -> None:
        """Say that it is over."""
        if self._token is not None:
            self._progress.end(self._token, types.WorkDoneProgressEnd(message=message))
            self._progress.tokens.pop(self._token, None)


def _language(name: str) -> tuple[str, str]:
    """Return what the protocol calls a language of ours, and how names of its files end."""
    return _LANGUAGES.get(name, (name, f".{name}"))


def _moved(snapshot: Text, changes: list[Change], start: int) -> int | None:
    """Return where in the present `raw` text an offset of the text that was sent stands."""
    at: int | None = snapshot.raw_offset(start)
    for change in changes:
        if at is None:
            break
        at = change.move(at)
    return at


def _block_now(
    document: org.Document, text: Text, placing: Placing, at: int | None
) -> org.Block | None:
    """Find the block that a result belongs to: where it was moved to, or else by its name."""
    if at is not None:
        offset = text.from_raw(at)
        line = document.line_of(offset)
        here = [b for b in document.blocks if b.line == line and b.kind == placing.kind]
        if here:
            return min(here, key=lambda block: abs(block.start - offset))
    return document.block_named(placing.name) if placing.name else None


def _summary(outcome: Outcome) -> str:
    """Tell in a line what became of a block or request."""
    if outcome.reason is not None:
        return outcome.reason.reason
    lines = [
        f"{e.request.method} {e.request.url} {e.response.status} {e.response.reason} "
        f"{e.response.duration:.3f} s"
        for e in outcome.exchanges
        if e.response is not None
    ]
    return "; ".join(lines) or outcome.state


def to_diagnostic(text: Text, one: Diagnostic) -> types.Diagnostic:
    """Return a diagnostic as the protocol has it."""
    return types.Diagnostic(
        to_range(text, one.span),
        one.message,
        severity=_SEVERITIES[one.severity],
        code=one.code,
        source="orgrest",
    )
