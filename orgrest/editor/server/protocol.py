"""pygls' protocol with documents of our own: what the client says of them, and its commands."""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException, JsonRpcInvalidParams
from pygls.protocol import LanguageServerProtocol
from pygls.protocol.language_server import lsp_method

if TYPE_CHECKING:
    from orgrest.editor.server.documents import Document


class _Server(typing.Protocol):
    """What the protocol needs of its server."""

    def open(self, item: types.TextDocumentItem) -> None: ...
    def change(self, params: types.DidChangeTextDocumentParams) -> None: ...
    def close(self, uri: str) -> None: ...
    def target(self, arguments: Any) -> tuple[Document, int]: ...


class Protocol(LanguageServerProtocol):
    """pygls' protocol with our own documents, whose lines end where the protocol says."""

    _server: _Server  # type: ignore[assignment]  # what is needed of it, and not where it is

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
        """Take a document that the client opened."""
        self._server.open(params.text_document)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Take the changes of an open document."""
        self._server.change(params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        """Forget a document."""
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
