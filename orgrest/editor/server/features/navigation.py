"""The LSP requests for navigating and formatting documents.

`ROWS` has the handlers for links, highlights, selection ranges, inlay hints and formatting.
`workspace_symbols` handles the request for the symbols of a workspace's files.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.uris import to_fs_path

from orgrest.editor import formatting, navigation
from orgrest.editor.server import fragments
from orgrest.editor.server.documents import (
    OpenDocument,
    to_offset,
    to_position,
    to_range,
    to_span,
    to_text_edits,
)

if TYPE_CHECKING:
    from orgrest.editor.server.features.workspace_symbols import WorkspaceSymbols
    from orgrest.editor.server.fragments import Encoded
    from orgrest.editor.server.server import Server


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


ROWS: tuple[tuple[str, Any, Any], ...] = (
    (types.TEXT_DOCUMENT_DOCUMENT_LINK, _links, types.DocumentLinkOptions()),
    (types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT, _highlights, None),
    (types.TEXT_DOCUMENT_SELECTION_RANGE, _selections, None),
    (types.TEXT_DOCUMENT_INLAY_HINT, _hints, None),
    (types.TEXT_DOCUMENT_FORMATTING, _format, None),
    (types.TEXT_DOCUMENT_RANGE_FORMATTING, _format_range, None),
)


async def workspace_symbols(
    server: Server, known: WorkspaceSymbols, params: types.WorkspaceSymbolParams
) -> list[types.WorkspaceSymbol]:
    """Answer `workspace/symbol`. `known` is a cache of the symbols in files."""
    roots = (to_fs_path(folder.uri) for folder in server.workspace.folders.values())
    folders = [Path(root) for root in roots if root]
    encoding: Any = types.PositionEncodingKind(server.workspace.position_encoding).value
    opened = server.documents
    return await asyncio.to_thread(known.find, params.query, folders, opened, encoding)
