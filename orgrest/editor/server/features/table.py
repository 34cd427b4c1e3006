"""The LSP requests that the language server answers. `FEATURES` has a handler for each.

A handler receives the server, the open document and the parameters of the request. It converts the
results of other modules in `orgrest.editor` to LSP types.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.uris import to_fs_path

from orgrest.editor import formatting, navigation, outline
from orgrest.editor.positions import Text
from orgrest.editor.server import fragments
from orgrest.editor.server.commands import COMMANDS, command, environments
from orgrest.editor.server.documents import (
    OpenDocument,
    to_diagnostic,
    to_offset,
    to_position,
    to_range,
    to_span,
    to_text_edits,
)
from orgrest.editor.server.features import babel, completions, session, views
from orgrest.editor.server.features.workspace_symbols import WorkspaceSymbols
from orgrest.editor.server.fragments import Encoded, Tokens
from orgrest.editor.server.server import Server
from orgrest.editor.used_files import Location
from orgrest.files import REQUEST_SUFFIXES
from orgrest.http.values import environments as environment_files
from orgrest.model import OrgrestError, Span
from orgrest.org.blocks import ALL_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.org.text import Edit


async def _diagnostic(
    server: Server, document: OpenDocument, params: types.DocumentDiagnosticParams
) -> types.DocumentDiagnosticReport:
    items = await server.diagnostics(document)
    number = str(hash(tuple(map(repr, items))))
    if number == params.previous_result_id:
        return types.RelatedUnchangedDocumentDiagnosticReport(number)
    return types.RelatedFullDocumentDiagnosticReport(items, result_id=number)


async def _hover(
    server: Server, document: OpenDocument, params: types.HoverParams
) -> types.Hover | None:
    from orgrest.editor.hover import as_plain_text, hover

    names, text = await server.names(document)
    offset = to_offset(text, params.position)
    shown = await asyncio.to_thread(hover, names.analysis, names, offset)
    if shown is None:
        return None
    formats = server.capability("text_document", "hover", "content_format")
    content = types.MarkupContent(types.MarkupKind.Markdown, shown[0])
    if formats and formats[0] == types.MarkupKind.PlainText:  # the client's preferred format
        content = types.MarkupContent(types.MarkupKind.PlainText, as_plain_text(shown[0]))
    return types.Hover(content, to_range(text, shown[1]))


async def _definition(
    server: Server, document: OpenDocument, params: types.DefinitionParams
) -> list[types.Location] | None:
    name, names, text = await server.name_at(document, params.position)
    if name is None:
        offset = to_offset(text, params.position)
        file = await asyncio.to_thread(names.analysis.import_at, offset)
        return None if file is None else [_location(server, Location(file, Span(0, 0)))]
    place = await asyncio.to_thread(names.in_file, name)
    if place is not None and not place.own:
        return [_location(server, place)]
    spans = [place.span] if place is not None else [x.span for x in names.definitions(name)]
    return [types.Location(document.uri, to_range(text, span)) for span in spans]


def _location(server: Server, place: Location) -> types.Location:
    encoding: Any = types.PositionEncodingKind(server.workspace.position_encoding).value
    text = Text(place.file.document.source.text, encoding)
    opened = server.document_at(place.file.path)
    uri = opened.uri if opened is not None else place.file.path.as_uri()
    return types.Location(uri, to_range(text, place.span))


async def _references(
    server: Server, document: OpenDocument, params: types.ReferenceParams
) -> list[types.Location] | None:
    name, names, text = await server.name_at(document, params.position)
    if name is None:
        return None
    every = params.context.include_declaration
    occurrences = await asyncio.to_thread(names.same, name)
    return [
        types.Location(document.uri, to_range(text, x.span))
        for x in occurrences
        if every or x.role == "use"
    ]


async def _prepare_rename(
    server: Server, document: OpenDocument, params: types.PrepareRenameParams
) -> types.PrepareRenamePlaceholder | None:
    name, names, text = await server.name_at(document, params.position)
    if name is None:
        return None
    others = await server.files_with(document)
    with _as_error_response():
        await asyncio.to_thread(names.check_rename, name, others)
    return types.PrepareRenamePlaceholder(to_range(text, name.span), name.name)


async def _rename(
    server: Server, document: OpenDocument, params: types.RenameParams
) -> types.WorkspaceEdit | None:
    version = document.version
    name, names, text = await server.name_at(document, params.position)
    if name is None:
        raise JsonRpcException(
            "no name to rename at this position", types.LSPErrorCodes.RequestFailed
        )
    others = await server.files_with(document)
    with _as_error_response():
        edits = await asyncio.to_thread(names.rename, name, params.new_name, others)
    return server.workspace_edit(document, version, text, edits)


@contextlib.contextmanager
def _as_error_response() -> Iterator[None]:
    """Answer the client's request with an error if the `with` block raises an OrgrestError."""
    try:
        yield
    except OrgrestError as error:
        raise JsonRpcException(error.reason, types.LSPErrorCodes.RequestFailed) from error


async def _symbols(
    server: Server, document: OpenDocument, _: types.DocumentSymbolParams
) -> Encoded | list[types.SymbolInformation]:
    analysis, text = await server.analysis(document)
    if server.can("text_document", "document_symbol", "hierarchical_document_symbol_support"):
        return await asyncio.to_thread(fragments.symbols, analysis, text)
    flat = [x for symbol in outline.symbols(analysis) for x in (symbol, *symbol.children)]
    return [
        types.SymbolInformation(
            types.Location(document.uri, to_range(text, symbol.span)),
            symbol.name,
            fragments.SYMBOLS[symbol.kind],
        )
        for symbol in flat
    ]


async def _folds(server: Server, document: OpenDocument, _: types.FoldingRangeParams) -> Encoded:
    analysis, text = await server.analysis(document)
    return await asyncio.to_thread(fragments.folds, analysis, text)


async def _tokens(server: Server, document: OpenDocument, _: types.SemanticTokensParams) -> Encoded:
    return (await _all_tokens(server, document))[0].whole()


async def _tokens_since(
    server: Server, document: OpenDocument, params: types.SemanticTokensDeltaParams
) -> Encoded:
    tokens, before = await _all_tokens(server, document)
    known = before is not None and before.id == params.previous_result_id
    return tokens.since(before) if before is not None and known else tokens.whole()


async def _all_tokens(server: Server, document: OpenDocument) -> tuple[Tokens, Tokens | None]:
    """Return a document's semantic tokens, and those that the client received last."""
    analysis, text = await server.analysis(document)
    number = str(next(document.numbers))
    tokens = await asyncio.to_thread(fragments.tokens, analysis, text, number)
    before, document.tokens = document.tokens, tokens
    return tokens, before


async def _tokens_within(
    server: Server, document: OpenDocument, params: types.SemanticTokensRangeParams
) -> types.SemanticTokens:
    analysis, text = await server.analysis(document)
    within = to_span(text, params.range)
    data, _ = await asyncio.to_thread(
        lambda: fragments.encoded(outline.tokens(analysis, within), text)
    )
    return types.SemanticTokens(data)


async def _lenses(server: Server, document: OpenDocument, _: types.CodeLensParams) -> Encoded:
    analysis, text = await server.analysis(document)
    last = None if server.wants("outcomes") else document.last
    return await asyncio.to_thread(fragments.lenses, analysis, text, last, document.number)


def _resolve_lens(server: Server, lens: types.CodeLens) -> types.CodeLens:
    name, number = lens.data if isinstance(lens.data, (list, tuple)) else ("", None)
    document = server.document_by_number(number)
    if document is not None and name in COMMANDS:
        lens.command = command(name, document.uri, lens.range.start.line)
    return lens


async def _actions(
    server: Server, document: OpenDocument, params: types.CodeActionParams
) -> list[types.CodeAction] | None:
    from orgrest.editor import body_layout, pasted

    version = document.version
    report, text = await server.report(document)
    where = to_span(text, params.range)
    kinds = params.context.only or ()

    def action(
        title: str, kind: types.CodeActionKind, edits: Iterable[Edit], **more: Any
    ) -> types.CodeAction:
        edit = server.workspace_edit(document, version, text, edits)
        return types.CodeAction(title, kind=kind, edit=edit, **more)

    actions: list[types.CodeAction] = []
    for diagnostic in report.diagnostics:
        if diagnostic.span.touches(where):
            actions += (
                action(
                    fix.title,
                    types.CodeActionKind.QuickFix,
                    fix.edits,
                    diagnostics=[to_diagnostic(text, diagnostic)],
                    is_preferred=not fix.guess,
                )
                for fix in report.fixes(diagnostic)
            )
    found = await asyncio.to_thread(pasted.find, text.text, document.kind, where)
    if found is not None:
        actions.append(action(found.title, types.CodeActionKind.QuickFix, [found.edit]))
    layout = await asyncio.to_thread(body_layout.find, report.analysis, where.start)
    if layout is not None:
        kind = types.CodeActionKind.RefactorRewrite
        actions.append(action(body_layout.TITLE, kind, [layout]))
    if _has_request(report.analysis, where.start):
        line = params.range.start.line
        actions += (
            types.CodeAction(
                COMMANDS[name].title,
                kind=types.CodeActionKind.Source,
                command=command(name, document.uri, line),
            )
            for name, action in COMMANDS.items()
            if action.in_menu
        )
    return [x for x in actions if not kinds or any(_is_kind(x.kind, kind) for kind in kinds)]


def _is_kind(
    kind: types.CodeActionKind | str | None, requested: types.CodeActionKind | str
) -> bool:
    """Return whether `kind` is `requested` or a sub-kind of it, like `a.b` for `a`."""
    name = kind.value if isinstance(kind, types.CodeActionKind) else str(kind)
    above = requested.value if isinstance(requested, types.CodeActionKind) else requested
    return not above or name == above or name.startswith(f"{above}.")


def _has_request(analysis: Analysis, offset: int) -> bool:
    document = analysis.document
    if document is None:
        return any(part.parsed.requests for part in analysis.parts)
    block = document.block_at(document.line_of(offset) + 1)
    if block is not None and block.call is not None:
        block = document.block_named(block.call.name)
    return block is not None and block.language in ALL_LANGUAGES


async def _links(server: Server, document: OpenDocument, _: types.DocumentLinkParams) -> Encoded:
    analysis, text = await server.analysis(document)
    return await asyncio.to_thread(fragments.links, analysis, text)


async def _highlights(
    server: Server, document: OpenDocument, params: types.DocumentHighlightParams
) -> list[types.DocumentHighlight] | None:
    occurrence, names, text = await server.name_at(document, params.position)
    if occurrence is None:
        return None
    occurrences = await asyncio.to_thread(names.same, occurrence)
    kinds = types.DocumentHighlightKind
    return [
        types.DocumentHighlight(
            to_range(text, x.span), kinds.Read if x.role == "use" else kinds.Write
        )
        for x in occurrences
    ]


async def _selections(
    server: Server, document: OpenDocument, params: types.SelectionRangeParams
) -> list[types.SelectionRange]:
    names, text = await server.names(document)
    ranges: list[types.SelectionRange] = []
    for position in params.positions:
        offset = to_offset(text, position)
        spans = await asyncio.to_thread(navigation.around, names.analysis, names, offset)
        parent: types.SelectionRange | None = None
        for span in reversed(spans):
            parent = types.SelectionRange(to_range(text, span), parent)
        if parent is not None:
            ranges.append(parent)
    return ranges


async def _hints(
    server: Server, document: OpenDocument, params: types.InlayHintParams
) -> list[types.InlayHint]:
    names, text = await server.names(document)
    within = to_span(text, params.range)
    hints = await asyncio.to_thread(navigation.hints, names.analysis, names, within)
    return [
        types.InlayHint(to_position(text, hint.offset), f"= {hint.text}", padding_left=True)
        for hint in hints
    ]


async def _format(
    server: Server, document: OpenDocument, _: types.DocumentFormattingParams
) -> list[types.TextEdit]:
    analysis, text = await server.analysis(document)
    return to_text_edits(text, await asyncio.to_thread(formatting.edits, analysis))


async def _format_range(
    server: Server, document: OpenDocument, params: types.DocumentRangeFormattingParams
) -> list[types.TextEdit]:
    analysis, text = await server.analysis(document)
    within = to_span(text, params.range)
    return to_text_edits(text, await asyncio.to_thread(formatting.edits, analysis, within))


_LEGEND = types.SemanticTokensLegend(token_types=list(outline.TOKEN_TYPES), token_modifiers=[])
FEATURES: tuple[tuple[str, Any, Any], ...] = (
    (
        types.TEXT_DOCUMENT_COMPLETION,
        completions.answer,
        types.CompletionOptions(trigger_characters=list(completions.TRIGGERS)),
    ),
    (
        types.TEXT_DOCUMENT_SIGNATURE_HELP,
        completions.signature_help,
        types.SignatureHelpOptions(trigger_characters=["(", ","]),
    ),
    (
        types.TEXT_DOCUMENT_DIAGNOSTIC,
        _diagnostic,
        types.DiagnosticOptions(inter_file_dependencies=False, workspace_diagnostics=False),
    ),
    (types.TEXT_DOCUMENT_HOVER, _hover, None),
    (types.TEXT_DOCUMENT_DEFINITION, _definition, None),
    (types.TEXT_DOCUMENT_REFERENCES, _references, None),
    (types.TEXT_DOCUMENT_RENAME, _rename, types.RenameOptions(prepare_provider=True)),
    (types.TEXT_DOCUMENT_PREPARE_RENAME, _prepare_rename, None),
    (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, _symbols, None),
    (types.TEXT_DOCUMENT_FOLDING_RANGE, _folds, None),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, _tokens, _LEGEND),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, _tokens_since, _LEGEND),
    (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, _tokens_within, _LEGEND),
    (types.TEXT_DOCUMENT_CODE_LENS, _lenses, types.CodeLensOptions(resolve_provider=True)),
    (
        types.TEXT_DOCUMENT_CODE_ACTION,
        _actions,
        types.CodeActionOptions(
            [
                types.CodeActionKind.QuickFix,
                types.CodeActionKind.RefactorRewrite,
                types.CodeActionKind.Source,
            ]
        ),
    ),
    (types.TEXT_DOCUMENT_DOCUMENT_LINK, _links, types.DocumentLinkOptions()),
    (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, _highlights, None),
    (types.TEXT_DOCUMENT_SELECTION_RANGE, _selections, None),
    (types.TEXT_DOCUMENT_INLAY_HINT, _hints, None),
    (types.TEXT_DOCUMENT_FORMATTING, _format, None),
    (types.TEXT_DOCUMENT_RANGE_FORMATTING, _format_range, None),
)


async def _workspace_symbols(
    server: Server, known: WorkspaceSymbols, params: types.WorkspaceSymbolParams
) -> list[types.WorkspaceSymbol]:
    """Answer `workspace/symbol`. `known` is a cache of the symbols in files."""
    roots = (to_fs_path(folder.uri) for folder in server.workspace.folders.values())
    folders = [Path(root) for root in roots if root]
    encoding: Any = types.PositionEncodingKind(server.workspace.position_encoding).value
    opened = server.documents
    return await asyncio.to_thread(known.find, params.query, folders, opened, encoding)


async def watch_files(server: Server, _: types.InitializedParams) -> None:
    """Ask the client to watch environment files and request files, if it supports that."""
    if not server.can("workspace", "did_change_watched_files", "dynamic_registration"):
        return
    names = (*environment_files.PATTERNS, *(f"*{suffix}" for suffix in sorted(REQUEST_SUFFIXES)))
    watchers = [types.FileSystemWatcher(f"**/{name}") for name in names]
    registration = types.Registration(
        "orgrest-files",
        types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
        types.DidChangeWatchedFilesRegistrationOptions(watchers),
    )
    try:
        await server.client_register_capability_async(types.RegistrationParams([registration]))
    except JsonRpcException as error:
        server.log(f"could not watch files: {error.message}", types.MessageType.Warning)


def make_server() -> Server:
    """Return a new server with all its features, not yet started."""
    server = Server()
    server.feature(types.INITIALIZE)(lambda params: server.configure(params.initialization_options))
    server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)(
        lambda params: server.configure(params.settings)
    )
    server.feature(types.INITIALIZED)(functools.partial(watch_files, server))
    server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)(lambda _: server.look_again())
    symbols = functools.partial(_workspace_symbols, server, WorkspaceSymbols())
    server.feature(types.WORKSPACE_SYMBOL)(symbols)
    server.feature(types.CODE_LENS_RESOLVE)(functools.partial(_resolve_lens, server))
    server.feature("orgrest/babel")(functools.partial(babel.answer, server))
    server.feature("orgrest/environments")(functools.partial(environments, server))
    server.feature("orgrest/history")(functools.partial(views.history, server))
    server.feature("orgrest/session")(functools.partial(session.session, server))
    server.feature("orgrest/pasted")(functools.partial(views.pasted, server))
    for name, action in COMMANDS.items():
        server.command(name)(functools.partial(action.run, server))
    for method, handler, options in FEATURES:
        answer = _answer if asyncio.iscoroutinefunction(handler) else _answer_in_loop
        server.feature(method, options)(functools.partial(answer, server, handler))
    return server


async def _answer(server: Server, handler: Any, params: Any) -> Any:
    document = server.document(params.text_document.uri)
    return None if document is None else await handler(server, document, params)


def _answer_in_loop(server: Server, handler: Any, params: Any) -> Any:
    document = server.document(params.text_document.uri)
    return None if document is None else handler(server, document, params)
