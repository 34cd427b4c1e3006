"""Shows responses that are not inserted into their document in a separate one."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from orgrest.files import FileError, write_result

if TYPE_CHECKING:
    from orgrest.editor.server.documents import Document
    from orgrest.editor.server.server import Server
    from orgrest.rendering.results import Rendered

_LANGUAGES = {"js": ("javascript", ".js"), "nxml": ("xml", ".xml"), "text": ("plaintext", ".txt")}


class Responses:
    """The responses of one run over a document; `number` is unique among the runs in progress."""

    def __init__(self, server: Server, document: Document, number: int) -> None:
        self._server = server
        self._found: list[tuple[dict[str, Any], list[Rendered]]] = []
        stem = re.sub(r"[^\w.-]+", "-", Path(document.name).stem) or "response"
        stem += f"-{sha256(document.uri.encode()).hexdigest()[:8]}"  # names may clash
        self._stem = stem + (f"-{number}" if number > 1 else "")

    def add(self, result: dict[str, Any], rendered: list[Rendered]) -> None:
        """Add a request's responses and its `result`, which `show` completes."""
        self._found.append((result, rendered))

    async def show(self) -> None:
        """Show all responses; add ``text``, ``language`` and ``uri`` to each result."""
        if not self._found:
            return
        languages = {one.language for _, found in self._found for one in found}
        language = languages.pop() if len(languages) == 1 else "text"
        path = self._server.scratch.path / f"{self._stem}.response{_language(language)[1]}"
        count = itertools.count(1)
        try:
            for result, found in self._found:
                texts = [await self._text(one, count) for one in found]
                shown = _language(found[0].language)[0] if found else "plaintext"
                result |= {"text": "".join(texts), "language": shown, "uri": path.as_uri()}
            text = "\n".join(result["text"] for result, _ in self._found)
            await asyncio.to_thread(write_result, path, text.encode("utf-8", "backslashreplace"))
        except FileError as error:
            self._server.show_message(str(error))
        else:
            await self._show_document(path)

    async def _text(self, one: Rendered, count: itertools.count[int]) -> str:
        """Return the text of a response; binary or oversized bodies are written to a file."""
        if one.data is None:
            return one.text
        data = self._server.scratch.path / f"{self._stem}.response-{next(count)}{one.extension}"
        await asyncio.to_thread(write_result, data, one.data)
        what = "" if one.is_cut else " of binary data"
        return f"{len(one.data)} bytes{what}, in {data}\n\n{one.text}"

    async def _show_document(self, path: Path) -> None:
        if self._server.can("window", "show_document", "support"):
            with contextlib.suppress(JsonRpcException):  # the result has it, too
                await self._server.window_show_document_async(
                    types.ShowDocumentParams(path.as_uri(), take_focus=False)
                )


def _language(name: str) -> tuple[str, str]:
    """Return the LSP identifier of a language, and the suffix of its files."""
    return _LANGUAGES.get(name, (name, f".{name}"))
