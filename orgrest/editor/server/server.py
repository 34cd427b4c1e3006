"""The server of one client: its open documents, their analyses, and messages to the client."""

from __future__ import annotations

import asyncio
import os
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from orgrest.editor.analysis import Analysis
from orgrest.editor.diagnostics.report import Report
from orgrest.editor.names import Names
from orgrest.editor.positions import Text
from orgrest.editor.server.client import ServerOfClient
from orgrest.editor.server.documents import (
    OpenDocument,
    kind_of,
    target_of,
    to_diagnostic,
    to_offset,
)
from orgrest.editor.server.environments import Choices
from orgrest.editor.server.lifetime import ScratchFolder, can_watch, end_of
from orgrest.editor.server.notifications import Bodies
from orgrest.editor.used_files import Described, RequestFiles
from orgrest.http.values import Inputs

if TYPE_CHECKING:
    from orgrest.editor.names import Occurrence
    from orgrest.editor.server.background_run import BackgroundRun
    from orgrest.run.documents.imports import File
    from orgrest.run.logins import Logins
    from orgrest.run.services import Services

DELAY = 0.15
"""The pause in typing, in seconds, after which a document is checked."""


class Server(ServerOfClient):
    """The language server for one client, with its documents, runs and settings."""

    def __init__(self) -> None:
        super().__init__()
        self._documents: dict[str, OpenDocument] = {}
        self.runs: set[BackgroundRun] = set()
        self.choices = Choices()
        self.scratch = ScratchFolder()
        self.bodies = Bodies(self.scratch)
        self.files = RequestFiles(self._opened)
        self.described = Described()
        """The OpenAPI descriptions that open documents use."""

    # ---------------------------------------------------------------------------- documents

    def document(self, uri: str) -> OpenDocument | None:
        """Return the open document with this URI, or None. Percent-encoding makes no difference."""
        return self._documents.get(unquote(uri))

    def open(self, item: types.TextDocumentItem) -> None:
        """Register a document that the client opened, if it is an Org or request file."""
        kind = kind_of(item)
        if kind is None:
            return
        encoding: Any = types.PositionEncodingKind(self.workspace.position_encoding).value
        document = OpenDocument(item, kind, Text(item.text, encoding))
        self._documents[unquote(item.uri)] = document
        self.folder(document)
        self.look_soon(document, 0)
        self._look_at_importing(document)

    def change(self, params: types.DidChangeTextDocumentParams) -> None:
        """Apply the client's changes to an open document."""
        document = self.document(params.text_document.uri)
        if document is not None:
            document.change(params.content_changes, params.text_document.version)
            self.look_soon(document)
            self._look_at_importing(document)

    def close(self, uri: str) -> None:
        """Forget a document and its analysis."""
        document = self._documents.pop(unquote(uri), None)
        if document is not None:
            if document.timer is not None:
                document.timer.cancel()
            if not self.can("text_document", "diagnostic"):
                self._publish(uri, None, [])
            self._look_at_importing(document)

    def _opened(self, path: Path) -> str | None:
        document = self.document_at(path)
        return None if document is None else document.text.text

    def document_at(self, path: Path) -> OpenDocument | None:
        """Return the open document whose file is at `path`, or None."""
        for document in list(self._documents.values()):
            if document.path is not None and document.real_path == path:
                return document
        return None

    @property
    def documents(self) -> list[OpenDocument]:
        """The open documents."""
        return list(self._documents.values())

    def document_by_number(self, number: Any) -> OpenDocument | None:
        """Return the open document that has this number, or None."""
        return next(
            (document for document in self._documents.values() if document.number == number), None
        )

    def _look_at_importing(self, imported: OpenDocument) -> None:
        """Recheck all documents that import this one, or may do so (those being analysed)."""
        for document in self._documents.values():
            is_importing = document.reading.locked() or _imports(document.analysis, imported)
            if document is not imported and is_importing:
                self.look_soon(document)
                self.refresh_diagnostics()

    async def files_with(self, imported: OpenDocument) -> list[File]:
        """Return the files, except this document, of all open documents that import it."""
        files: list[File] = []
        for document in self.documents:
            if document is not imported:
                analysis, _ = await self.analysis(document)
                files += _imports(analysis, imported)
        return [file for file in files if file.path != imported.real_path]

    def inputs(self, document: OpenDocument) -> Inputs:
        """Return the inputs from which a document's variables get their values.

        They are the client's settings, variables that earlier runs captured, the user's environment
        variables and netrc file, and the document's folder. Environment files are read from this
        folder and its parents up to the project's root.
        """
        return Inputs.of_user(
            self.folder(document),
            remembered=document.captured,
            secrets=document.secrets,
            environments=self.choices.of(self.folder(document)),
            overrides=self.choices.settings["variables"],
            editor_settings=self.choices.rest_client,
            option_prefix="",
        )

    @cached_property
    def logins(self) -> Logins:
        """The logins of the user."""
        from orgrest.run.logins import Logins

        return Logins()

    def services(self, document: OpenDocument, **given: Any) -> Services:
        """Return the services for a run of a document's requests.

        They include the document's global variables, the user's logins and the services in `given`,
        but no HTTP client.
        """
        from orgrest.run.services import Services

        return Services.of_user(globals_=document.globals, logins=self.logins, **given)

    def folder(self, document: OpenDocument) -> Path:
        """Return the folder of a document, or the scratch folder if the document has no file."""
        return document.path.parent if document.path else self.scratch.path

    async def analysis(self, document: OpenDocument) -> tuple[Analysis, Text]:
        """Return the analysis of a document, and the text that it refers to."""
        async with document.reading:
            text = document.text
            before = document.analysis
            if (
                before is None
                or before.text != text.text
                or before.inputs.remembered != document.captured
                or before.inputs.secrets != document.secrets
                or before.inputs.environments != self.choices.of(self.folder(document))
                or before.inputs.overrides != self.choices.settings["variables"]
                or before.inputs.editor_settings != self.choices.rest_client
                or not before.is_current()
            ):
                document.analysis = await asyncio.to_thread(
                    Analysis,
                    text.text,
                    document.kind,
                    lambda: self.inputs(document),
                    before,
                    name=PurePath(document.name).name,
                    files=self.files,
                    described=self.described,
                )
            return document.analysis, text  # type: ignore[return-value]  # set above

    async def names(self, document: OpenDocument) -> tuple[Names, Text]:
        """Return the names in a document, and the text that they refer to."""
        analysis, text = await self.analysis(document)
        if document.names is None or document.names.analysis is not analysis:
            document.names = Names(analysis, document.names)
        return document.names, text

    async def name_at(
        self, document: OpenDocument, position: types.Position
    ) -> tuple[Occurrence | None, Names, Text]:
        """Return the name at a position or None, with the document's names and their text."""
        names, text = await self.names(document)
        return await asyncio.to_thread(names.at, to_offset(text, position)), names, text

    async def report(self, document: OpenDocument) -> tuple[Report, Text]:
        """Return the report on a document's problems, and the text that it refers to."""
        async with document.judging:
            analysis, text = await self.analysis(document)
            before = document.report
            if before is None or before.analysis is not analysis:
                document.report = await asyncio.to_thread(Report, analysis, before)
            return document.report, text  # type: ignore[return-value]  # set above

    # -------------------------------------------------------------------------- diagnostics

    def look_soon(self, document: OpenDocument, delay: float = DELAY) -> None:
        """Check a document once the user has not typed for `delay` seconds.

        Does nothing for clients that request diagnostics themselves, since they would show each
        diagnostic twice.
        """
        if self.can("text_document", "diagnostic"):
            return
        if document.timer is not None:
            document.timer.cancel()
        loop = asyncio.get_running_loop()
        document.timer = loop.call_later(delay, lambda: self.start_task(self._look(document)))

    async def _look(self, document: OpenDocument) -> None:
        version = document.version
        diagnostics = await self.diagnostics(document)
        if self.document(document.uri) is document and document.version == version:
            self._publish(document.uri, version, diagnostics)

    async def diagnostics(self, document: OpenDocument) -> list[types.Diagnostic]:
        """Return a document's problems, including failed assertions, as LSP diagnostics."""
        report, text = await self.report(document)
        failed = await asyncio.to_thread(document.last.diagnostics, report.analysis)
        return [to_diagnostic(text, diagnostic) for diagnostic in (*report.diagnostics, *failed)]

    def _publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri, diagnostics, version)
        )

    def configure(self, given: Any) -> None:
        """Apply the client's settings, which may select different environments."""
        self.choices.configure(given)
        self.described.found_beside = self.choices.settings["openapi"]
        self.look_again()

    def show_outcomes(self, document: OpenDocument) -> None:
        """Tell the client to refresh diagnostics and code lenses, which depend on outcomes."""
        self.look_soon(document, 0)
        if not self.wants("outcomes") and self.can("workspace", "code_lens", "refresh_support"):
            self.start_task(self.workspace_code_lens_refresh_async(None))
        self.refresh_diagnostics()

    def look_again(self) -> None:
        """Check all documents again, because files or settings that they depend on have changed."""
        for document in self._documents.values():
            self.look_soon(document, 0)
        self.refresh_diagnostics()

    # ----------------------------------------------------------------------------- commands

    def target(self, arguments: Any) -> tuple[OpenDocument, int]:
        """Return the document and the line (counted from 0) in a command's arguments.

        Raises JsonRpcInvalidParams if the arguments are invalid or the document is not open.
        """
        uri, line = target_of(arguments)
        document = self.document(uri)
        if document is None:
            raise JsonRpcInvalidParams(f"not an open Org document or request file: {uri}")
        return document, line

    def document_of(self, params: Any) -> OpenDocument:
        """Return the `textDocument` in the parameters of one of orgrest's own requests.

        Raises JsonRpcInvalidParams if it is missing or not open.
        """
        uri = getattr(getattr(params, "textDocument", None), "uri", None)
        if uri is None:
            raise JsonRpcInvalidParams("the parameter textDocument is missing, or has no uri")
        return self.target([{"uri": uri}])[0]

    def watch(self, process: int | None) -> None:
        """End the server when the client's process has ended without a shutdown request."""
        if process is not None and can_watch():
            self.start_task(self._end_with(process))

    async def _end_with(self, process: int) -> None:
        await end_of(process)
        self.stop()
        os._exit(1)  # a normal exit would wait for the thread that reads standard input

    def stop(self) -> None:
        """Stop all runs, and remove the temporary folder."""
        for run in list(self.runs):
            run.stop()
        self.scratch.remove()


def _imports(analysis: Analysis | None, document: OpenDocument) -> list[File]:
    """Return the analysed file and its imports if `document` is one of the imports, else []."""
    files = analysis.imports.files if analysis is not None and analysis.imports is not None else []
    return files if any(file.path == document.real_path for file in files[1:]) else []
