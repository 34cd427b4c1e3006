"""A language server's communication with its client: capabilities, messages and requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any, Literal

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from orgrest.editor.server.documents import to_text_edits
from orgrest.editor.server.protocol import Protocol
from orgrest.model import explained

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.editor.positions import Text
    from orgrest.editor.server.documents import OpenDocument
    from orgrest.org.text import Edit


class ServerOfClient(LanguageServer):
    """The part of a server that communicates with its client."""

    protocol: Protocol

    def __init__(self) -> None:
        super().__init__("orgrest", "1", protocol_cls=Protocol)
        self._tasks: set[asyncio.Task[None]] = set()

    def start_task(self, coroutine: Any) -> None:
        """Run a coroutine in the background, and log its exceptions."""
        task = asyncio.ensure_future(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._complain_of)

    def _complain_of(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            why = explained(error).reason if isinstance(error, Exception) else str(error)
            self.log(why, types.MessageType.Error)

    def log(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Write a line to the client's log."""
        self.window_log_message(types.LogMessageParams(kind, f"orgrest: {text}"))

    def show_message(self, text: str, kind: types.MessageType = types.MessageType.Error) -> None:
        """Show a message to the user."""
        self.window_show_message(types.ShowMessageParams(kind, f"orgrest: {text}"))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an internal error instead of showing it to the user.

        Malformed JSON from the client is answered with an error response instead.
        """
        with contextlib.suppress(Exception):  # the client may be gone
            if isinstance(error, (json.JSONDecodeError, UnicodeDecodeError, RecursionError)):
                self.protocol.refuse(types.ErrorCodes.ParseError, "the message is not valid JSON")
                return
            self.log(f"{source.__name__}: {error}", types.MessageType.Error)

    def can(self, *path: str) -> bool:
        """Return whether the client announced the capability at `path`."""
        return bool(self.capability(*path))

    def capability(self, *path: str) -> Any:
        """Return the value of the capability at `path` that the client announced, or None."""
        value: Any = self.client_capabilities
        for name in path:
            value = getattr(value, name, None)
        return value

    @property
    def can_insert(self) -> bool:
        """Whether the client applies edits, and refuses those for an earlier version of a text.

        Without versions, a result could land amid what the user types, since many clients report
        changes only after a pause in typing.
        """
        has_versions = self.can("workspace", "workspace_edit", "document_changes")
        return has_versions and self.can("workspace", "apply_edit")

    def workspace_edit(
        self, document: OpenDocument, version: int, text: Text, edits: Iterable[Edit]
    ) -> types.WorkspaceEdit:
        """Return edits to a document, whose text was `text` in `version`, as a workspace edit.

        The client applies the edits only to this version, if it supports that.
        """
        changes = to_text_edits(text, edits)
        if not self.can("workspace", "workspace_edit", "document_changes"):
            return types.WorkspaceEdit(changes={document.uri: changes})
        identifier = types.OptionalVersionedTextDocumentIdentifier(document.uri, version)
        edit = types.TextDocumentEdit(identifier, [*changes])
        return types.WorkspaceEdit(document_changes=[edit])

    def wants(self, what: Literal["responses", "prompts", "outcomes"]) -> bool:
        """Return whether the client announced a capability that is specific to orgrest."""
        experimental = self.client_capabilities.experimental
        announced = experimental.get("orgrest") if isinstance(experimental, dict) else None
        return isinstance(announced, dict) and announced.get(what) is True

    async def prompt(self, document: OpenDocument, message: str, hidden: bool) -> str | None:
        """Ask the user for a value that a document needs, and return the value.

        Returns None if the user dismisses the question. `hidden` hides the user's input.
        """
        question = {"textDocument": {"uri": document.uri}, "message": message, "hidden": hidden}
        answer = await self.protocol.send_request_async("orgrest/prompt", question)
        text = getattr(answer, "text", None)
        return text if isinstance(text, str) else None

    async def confirm(self, question: str, yes: str) -> bool:
        """Return whether the user answers a question with `yes`. A dismissal counts as no."""
        return await self.choose(question, (yes, "Cancel"), types.MessageType.Warning) == yes

    def tell(self, text: str) -> None:
        """Show instructions to the user, such as how to sign in."""
        self.show_message(text, types.MessageType.Info)

    async def open_page(self, url: str) -> bool:
        """Ask the client to open a page in the user's browser, and return whether it did."""
        if not self.can("window", "show_document", "support"):
            return False
        page = types.ShowDocumentParams(url, external=True)
        try:
            return (await self.window_show_document_async(page)).success
        except JsonRpcException:
            return False

    async def choose(
        self, question: str, answers: Iterable[str], kind: types.MessageType
    ) -> str | None:
        """Let the user choose one of the answers. Return None if they dismiss the question."""
        items = [types.MessageActionItem(answer_text) for answer_text in answers]
        answer = await self.window_show_message_request_async(
            types.ShowMessageRequestParams(kind, question, items)
        )
        return None if answer is None else answer.title

    def refresh_diagnostics(self) -> None:
        """Tell the client to request diagnostics again, if it supports that."""
        if self.can("workspace", "diagnostics", "refresh_support"):
            self.start_task(self.workspace_diagnostic_refresh_async(None))
