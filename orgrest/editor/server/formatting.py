"""Formatting of documents, or of a part of them; `ROWS` has a handler for each request."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from orgrest.editor import formatting
from orgrest.editor.server.documents import Document, to_place, to_text_edits
from orgrest.model import Span

if TYPE_CHECKING:
    from orgrest.editor.server.server import Server


async def _format(
    server: Server, document: Document, _: types.DocumentFormattingParams
) -> list[types.TextEdit]:
    analysis, text = await server.analysis(document)
    return to_text_edits(text, await asyncio.to_thread(formatting.edits, analysis))


async def _format_range(
    server: Server, document: Document, params: types.DocumentRangeFormattingParams
) -> list[types.TextEdit]:
    analysis, text = await server.analysis(document)
    start, end = text.offset(to_place(params.range.start)), text.offset(to_place(params.range.end))
    within = Span(start, max(start, end))
    return to_text_edits(text, await asyncio.to_thread(formatting.edits, analysis, within))


ROWS: tuple[tuple[str, Any, Any], ...] = (
    (types.TEXT_DOCUMENT_FORMATTING, _format, None),
    (types.TEXT_DOCUMENT_RANGE_FORMATTING, _format_range, None),
)
