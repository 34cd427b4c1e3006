"""Adapts the protocol of pygls to orgrest's documents: document synchronization and commands."""

from __future__ import annotations

import asyncio
import inspect
import json
import typing
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

from orgrest.editor.server.fragments import Encoded
from orgrest.editor.server.notifications import CAPABILITY
from orgrest.model import OrgrestError, explained

if TYPE_CHECKING:
    from collections.abc import Generator

    from orgrest.editor.server.documents import OpenDocument


_REFUSED = object()
"""A placeholder for a message that has already been answered with an error."""


class _Server(typing.Protocol):
    """The members of a server that the protocol uses."""

    process_id: int | None

    def open(self, item: types.TextDocumentItem) -> None: ...
    def change(self, params: types.DidChangeTextDocumentParams) -> None: ...
    def close(self, uri: str) -> None: ...
    def stop(self) -> None: ...
    def watch(self, process: int | None) -> None: ...
    def target(self, arguments: Any) -> tuple[OpenDocument, int]: ...
    def log(self, text: str, kind: types.MessageType = ...) -> None: ...


class Protocol(LanguageServerProtocol):
    """The protocol of pygls, adapted to orgrest's documents, which keep their own line endings."""

    _server: _Server  # type: ignore[assignment]  # a narrower type than the base class's

    @property
    def ended_well(self) -> bool:
        """Whether the client sent `shutdown` before `exit`."""
        return self._shutdown

    _initialized = False

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._sending: set[asyncio.Future[None]] = set()

    def handle_message(self, message: Any) -> None:
        """Handle a message. Ignore it if it is out of order. Send an error if it is malformed."""
        if message is _REFUSED:
            return
        if not hasattr(message, "jsonrpc"):
            self.refuse(types.ErrorCodes.InvalidRequest, "not a JSON-RPC 2.0 message")
            return
        method = getattr(message, "method", "")
        if method == types.SHUTDOWN:
            self._server.stop()
        super().handle_message(message)
        if method == types.INITIALIZE:
            self._initialized = True
            self._server.watch(self._server.process_id)

    def _is_refused(self, method: str, number: Any) -> bool:
        """Return whether a message is out of order, after answering a request with an error."""
        if method == types.EXIT or self._initialized != (method == types.INITIALIZE):
            if not (self._shutdown and number is not None):
                return False
            code, why = types.ErrorCodes.InvalidRequest, "received after shutdown"
        elif self._initialized:
            code, why = types.ErrorCodes.InvalidRequest, "received twice"
        else:
            code, why = types.ErrorCodes.ServerNotInitialized, "received before initialize"
        if number is not None:
            self.refuse(code, f"{method} {why}", number)
        return True

    def refuse(self, code: int, reason: str, number: Any = None) -> None:
        """Send an error response to request `number`, or to no particular request if it is None."""
        error = {"code": int(code), "message": reason}
        self._send_data({"jsonrpc": self.VERSION, "id": number, "error": error})

    def _send_response(self, msg_id: Any, result: Any = None, error: Any = None) -> None:
        """Send a response. A result of type `Encoded` is sent unchanged."""
        if error is not None or not isinstance(result, Encoded) or self.writer is None:
            super()._send_response(msg_id, result, error)
            return
        self._result_types.pop(msg_id, None)
        body = f'{{"jsonrpc":"{self.VERSION}","id":{json.dumps(msg_id)},"result":{result.text}}}'
        sent = self.writer.write(f"Content-Length: {len(body)}\r\n\r\n{body}".encode("ascii"))
        if inspect.isawaitable(sent):
            self._sending.add(task := asyncio.ensure_future(sent))
            task.add_done_callback(self._sending.discard)

    def _send_handler_result(self, future: Any, *, msg_id: Any) -> None:
        error = None if future.cancelled() else future.exception()
        if not isinstance(error, Exception) or isinstance(error, JsonRpcException):
            super()._send_handler_result(future, msg_id=msg_id)
            return
        self._request_futures.pop(msg_id, None)
        expected = isinstance(error, OrgrestError)
        code = types.LSPErrorCodes.RequestFailed if expected else types.ErrorCodes.InternalError
        answer = JsonRpcException(explained(error).reason, code).to_response_error()
        self._send_response(msg_id, error=answer)

    def _check_handler_result(self, future: Any) -> None:
        """Log the exception if a notification's handler failed."""
        error = None if future.cancelled() else future.exception()
        if isinstance(error, Exception):
            self._server.log(explained(error).reason, types.MessageType.Error)

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the parsed message. If a request cannot be parsed, answer it with an error."""
        method = data.get("method")
        is_call = "jsonrpc" in data and isinstance(method, str)
        if is_call and self._is_refused(str(method), data.get("id")):
            return _REFUSED
        if is_call and self.get_message_type(str(method)) is None:
            data.setdefault("params", {})  # pygls requires it for methods that it does not know
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(
        self, params: types.InitializeParams
    ) -> Generator[Any, Any, types.InitializeResult]:
        """Answer the client, and announce orgrest's own capabilities."""
        result = yield from super().lsp_initialize(params)
        result.capabilities.experimental = CAPABILITY
        return result

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        """Register a document that the client opened."""
        self._server.open(params.text_document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Apply changes to an open document."""
        self._server.change(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget a document that the client closed."""
        self._server.close(params.text_document.uri)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    async def lsp_workspace__execute_command(  # type: ignore[override]  # pygls calls both
        self, params: types.ExecuteCommandParams
    ) -> Any:
        """Run a command in a separate task. Cancelling the request cancels the task."""
        handler = self.fm.commands.get(params.command)
        if handler is None:
            raise JsonRpcInvalidParams(f"unknown command {params.command}")
        document, line = self._server.target(params.arguments)
        return await handler(document, line, params.work_done_token)
