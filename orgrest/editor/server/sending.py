"""Sends the requests of an open document and inserts their results."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from orgrest.editor.analysis import Analysis
from orgrest.editor.assertions import Sent, counted
from orgrest.editor.server.background_run import BackgroundRun, CancelledRunError, in_loop
from orgrest.editor.server.notifications import MESSAGE, METHOD, responses
from orgrest.editor.server.responses import Responses
from orgrest.model import Source, explained
from orgrest.org import document as org
from orgrest.org.blocks import Block
from orgrest.org.placing import PlacingError
from orgrest.rendering.masking import mask
from orgrest.rendering.sanitize import visible
from orgrest.run.history import History
from orgrest.run.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from orgrest.editor.positions import Change, Text
    from orgrest.editor.server.documents import OpenDocument
    from orgrest.editor.server.server import Server
    from orgrest.org.placing import Placing
    from orgrest.run.settings import Settings

WHILE_EDITING = 60.0
"""The time, in seconds, after which a result is not inserted because the user keeps editing."""


async def send(
    server: Server, document: OpenDocument, settings: Settings, token: int | str | None
) -> list[dict[str, Any]]:
    """Send requests of a document, insert their results, and return the outcomes as JSON.

    `token` is the client's progress token, or None to report no progress.
    """
    return await _Sending(server, document, token).send(settings)


class _Sending:
    """A run of some of a document's requests, during which the user may edit the document.

    `changes` contains the edits since the start of the run, when the text was `snapshot`.
    """

    def __init__(self, server: Server, document: OpenDocument, token: int | str | None) -> None:
        self.server = server
        self.token = token
        self.document = document
        self.snapshot = document.text
        self.version = document.version
        self.changes: list[Change] = []
        self.number = next(n for n in itertools.count(1) if n not in document.shown)
        self.responses = Responses(server, document, self.number)

    async def send(self, settings: Settings) -> list[dict[str, Any]]:
        """Send the requests, insert or show their results, and return the outcomes as JSON."""
        server, document = self.server, self.document
        loop = asyncio.get_running_loop()
        history = History(partial(in_loop, loop, server.log), fail=True)
        services = server.services(
            document,
            history=history,
            cookies=document.cookies,
            on_message=partial(self._message, loop) if server.wants("responses") else None,
        )
        notice = self._notice if settings.until is not None else lambda _: None
        run = BackgroundRun(server, document, settings, services, notice=notice)
        outcomes: list[dict[str, Any]] = []
        document.shown.add(self.number)
        document.followed.append(self.changes)
        server.runs.add(run)
        progress = _Progress(server, run)
        try:
            await progress.begin(self.token)
            sent = await asyncio.to_thread(self._sent)
            async for result in self._results(run, sent):
                progress.report(result["message"])
                outcomes.append(result)
        except CancelledRunError:
            outcomes.append({"outcome": "skipped", "message": "cancelled"})
        except Exception as error:
            reason = visible(mask(explained(error).reason, document.secrets))
            server.show_message(reason)
            outcomes.append({"outcome": "error", "message": reason})
        finally:
            run.stop()
            history.close()
            server.runs.discard(run)
            # Runs of the same file share the variables.
            if all(running.file != run.file for running in server.runs):
                document.globals = document.globals.kept()
            document.followed = [
                followed for followed in document.followed if followed is not self.changes
            ]
            document.shown.discard(self.number)
            progress.end(outcomes[-1]["message"] if outcomes else "")
        await self.responses.show()
        server.show_outcomes(document)
        return outcomes

    def _sent(self) -> Sent:
        text, document = self.snapshot.text, self.document
        analysis = document.analysis
        if analysis is None or analysis.text != text:
            analysis = Analysis(text, document.kind, lambda: self.server.inputs(document), analysis)
        return Sent(analysis)

    def _notice(self, text: str) -> None:
        shown = visible(mask(f"{self.document.name}: {text}", self.document.secrets))
        self.server.show_message(shown, types.MessageType.Warning)

    async def _results(self, run: BackgroundRun, sent: Sent) -> AsyncIterator[dict[str, Any]]:
        captured: dict[str, str] = {}
        document = self.document
        async for outcome in run.outcomes():
            captured, known = run.captured, captured
            new = dict(captured.items() - known.items())
            document.captured = {**document.captured, **new}  # other runs may be in progress
            document.secrets |= outcome.secrets
            try:
                document.last.keep(sent, outcome)
                result = await self._insert_or_collect(outcome)
            except Exception as error:
                reason = explained(error).reason
                self.server.show_message(reason)
                line = self.snapshot.place(Source(self.snapshot.text).offset(outcome.line)).line
                result = {"line": line, "outcome": "error", "message": reason}
            yield result

    async def _insert_or_collect(self, outcome: Outcome) -> dict[str, Any]:
        """Insert the result of an outcome or collect it, and return the outcome as JSON."""

        def safe(text: str) -> str:
            return visible(mask(text, outcome.secrets))

        server, document = self.server, self.document
        start = Source(self.snapshot.text).offset(outcome.line)
        is_unexpected = outcome.verdict == "passed" and outcome.fails(strictly=True)
        result: dict[str, Any] = {
            "line": self.snapshot.place(start).line,
            "outcome": "failed" if is_unexpected else outcome.verdict,
            "message": safe(_summary(outcome)),
        }
        for exchange in outcome.own:
            if exchange.response is not None:
                result["status"] = exchange.response.status
                result["duration"] = round(exchange.response.duration, 6)
        if server.wants("responses"):
            await self._notify(outcome, result["line"])
        placed = outcome.placing is not None and outcome.change is not None
        if placed and not server.can_insert:
            self.responses.add(result, outcome)
            result["message"] += (
                "; this editor does not support versioned edits (workspace/applyEdit with "
                "documentChanges): the result is shown instead"
            )
        elif outcome.placing is not None and outcome.change is not None:
            async with document.inserting:
                trouble = await self._put(outcome.placing)
            if trouble is not None:
                self.responses.add(result, outcome)
                result |= {"outcome": "error", "message": safe(trouble)}
        elif document.kind == "http":
            self.responses.add(result, outcome)
        if result["outcome"] == "error" and not server.wants("responses"):
            server.show_message(result["message"])
        for note in outcome.notes:
            server.log(safe(f"{document.name}: {note}"), types.MessageType.Warning)
        return result

    def _message(self, loop: asyncio.AbstractEventLoop, text: str) -> None:
        """Notify the client of a message in a streaming response, from the thread of the run."""
        about = {"token": self.token, "textDocument": {"uri": self.document.uri}, "text": text}
        in_loop(loop, self.server.protocol.notify, MESSAGE, about)

    async def _notify(self, outcome: Outcome, line: int) -> None:
        server = self.server
        for notification in await responses(
            self.document, self.version, line, outcome, server.bodies
        ):
            server.protocol.notify(METHOD, {"token": self.token, **notification})

    async def _put(self, placing: Placing) -> str | None:
        """Ask the client to insert a result. Return the reason if that fails.

        The caller holds the lock `inserting`, because each result is inserted into the text that
        the client reports after the previous one. The client refuses a result if its text has
        changed since.
        """
        server, document = self.server, self.document
        reason: str | None = None
        await document.catch_up()
        end = time.monotonic() + WHILE_EDITING
        while time.monotonic() < end:
            if server.document(document.uri) is not document:
                return (
                    "the document was closed in the meantime: the result is shown, but not inserted"
                )
            text, version = document.text, document.version
            parsed = await asyncio.to_thread(org.OrgDocument, text.text)
            if document.text is not text or server.document(document.uri) is not document:
                continue
            block = _block_now(parsed, text, placing, self._moved(placing.start))
            if block is None:
                return "the block no longer exists: its result is shown, but not inserted"
            try:
                edit = placing.edit(parsed, block)
            except PlacingError as error:
                return error.reason
            if text.text[edit.start : edit.end] == edit.text:
                return None  # many clients would not report such a change
            applied, reason = await self._apply(
                server.workspace_edit(document, version, text, [edit])
            )
            document.outdate(text)
            if applied:
                return None
            await document.catch_up()
            if document.text is text:
                break  # refused although the text is unchanged
        why = f": {reason}" if reason else ""
        return f"the editor refused to insert the result{why}; the result is shown instead"

    async def _apply(self, edit: types.WorkspaceEdit) -> tuple[bool, str | None]:
        """Ask the client to apply an edit. Return whether it did, and else its reason if any."""
        try:
            answer = await self.server.workspace_apply_edit_async(
                types.ApplyWorkspaceEditParams(edit, "Result")
            )
        except JsonRpcException as error:
            return False, error.message
        return answer.applied, answer.failure_reason

    def _moved(self, start: int) -> int | None:
        """Return the current raw offset for a snapshot offset, or None if it was deleted."""
        at: int | None = self.snapshot.raw_offset(start)
        for change in self.changes:
            if at is None:
                break
            at = change.move(at)
        return at


def _block_now(
    document: org.OrgDocument, text: Text, placing: Placing, at: int | None
) -> Block | None:
    """Return the block for a result, found by its current offset `at` or else by its name."""
    if at is not None:
        offset = text.from_raw(at)
        line = document.line_of(offset)
        here = [b for b in document.evaluated if b.line == line and b.kind == placing.kind]
        if here:
            return min(here, key=lambda block: abs(block.start - offset))
    return document.block_named(placing.name) if placing.name else None


def _summary(outcome: Outcome) -> str:
    if outcome.reason is not None:
        return outcome.reason.reason
    from orgrest.rendering.masking import displayed

    lines = [
        f"{e.request.method} {displayed(e.request).url} {e.response.status} {e.response.reason} "
        f"{e.response.duration:.3f} s{counted(e.tests)}"
        for e in outcome.own
        if e.response is not None
    ]
    return "; ".join(lines) or outcome.verdict


class _Progress:
    """The progress of one run as the client shows it, with a button that cancels the run."""

    def __init__(self, server: Server, run: BackgroundRun) -> None:
        self._progress = server.work_done_progress
        self._own = server.can("window", "work_done_progress")
        self._run = run
        self._token: int | str | None = None

    async def begin(self, token: int | str | None) -> None:
        """Start reporting with the client's token, or with a new token if the client allows it."""
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
        """Show a progress message."""
        if self._token is not None:
            self._progress.report(
                self._token, types.WorkDoneProgressReport(cancellable=True, message=message)
            )

    def end(self, message: str) -> None:
        """End the progress report with a final message."""
        if self._token is not None:
            self._progress.end(self._token, types.WorkDoneProgressEnd(message=message))
            self._progress.tokens.pop(self._token, None)
