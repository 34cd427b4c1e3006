"""Shows responses in a separate document if they are not inserted below their requests."""

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

from orgrest.editor.server.notifications import editor_language
from orgrest.files import FileError, write_result

if TYPE_CHECKING:
    from orgrest.editor.server.documents import OpenDocument
    from orgrest.editor.server.server import Server
    from orgrest.model import Response
    from orgrest.rendering.results import Rendered
    from orgrest.run.outcomes import Outcome

_SUFFIXES = {
    "css": ".css",
    "html": ".html",
    "javascript": ".js",
    "json": ".json",
    "jsonc": ".jsonc",
    "markdown": ".md",
    "xml": ".xml",
    "yaml": ".yaml",
}


class Responses:
    """The responses of one run of a document's requests.

    `number` is unique among the document's runs in progress.
    """

    def __init__(self, server: Server, document: OpenDocument, number: int) -> None:
        self._server = server
        self._found: list[tuple[dict[str, Any], list[tuple[str, Rendered]]]] = []
        stem = re.sub(r"[^\w.-]+", "-", Path(document.name).stem) or "response"
        stem += f"-{sha256(document.uri.encode()).hexdigest()[:8]}"  # names may clash
        self._stem = stem + (f"-{number}" if number > 1 else "")

    def add(self, result: dict[str, Any], outcome: Outcome) -> None:
        """Add the responses of an outcome, if any. `show` later fills in `result`."""
        if self._server.wants("responses"):
            return
        responses = [
            (_language(exchange.rendered, exchange.response), exchange.rendered)
            for exchange in outcome.exchanges
            if exchange.rendered is not None and exchange.response is not None
        ]
        if responses:
            self._found.append((result, responses))

    async def show(self) -> None:
        """Show all responses, and add ``text``, ``language`` and ``uri`` to each result.

        A body that is not shown as text is written to a file whose URI is ``data``.
        """
        if not self._found:
            return
        path = self._server.scratch.path / f"{self._stem}.response{self._suffix()}"
        count = itertools.count(1)
        try:
            for result, parts in self._found:
                texts = [await self._text(rendered, count, result) for _, rendered in parts]
                result |= {
                    "text": "".join(texts),
                    "language": parts[0][0],
                    "uri": path.as_uri(),
                }
            text = "\n".join(result["text"] for result, _ in self._found)
            await asyncio.to_thread(write_result, path, text.encode("utf-8", "backslashreplace"))
        except FileError as error:
            self._server.show_message(str(error))
        else:
            await self._show_document(path)

    def _suffix(self) -> str:
        languages = [language for _, parts in self._found for language, _ in parts]
        if len(set(languages)) > 1 or (len(languages) > 1 and languages[0].startswith("json")):
            return ".txt"  # a JSON file has only one value
        return _SUFFIXES.get(languages[0], ".txt")

    async def _text(
        self, rendered: Rendered, count: itertools.count[int], result: dict[str, Any]
    ) -> str:
        """Return a response's text, after writing a binary or oversized body to a file."""
        if rendered.data is None:
            return rendered.text
        data = (
            self._server.scratch.path / f"{self._stem}.response-{next(count)}{rendered.extension}"
        )
        await asyncio.to_thread(write_result, data, rendered.data)
        result["data"] = data.as_uri()
        what = "" if rendered.is_cut else " of binary data"
        return f"{len(rendered.data)} bytes{what}, in {data}\n\n{rendered.text}"

    async def _show_document(self, path: Path) -> None:
        if self._server.can("window", "show_document", "support"):
            with contextlib.suppress(JsonRpcException):  # the path is in the result, too
                await self._server.window_show_document_async(
                    types.ShowDocumentParams(path.as_uri(), take_focus=False)
                )


def _language(rendered: Rendered, response: Response) -> str:
    language = editor_language(rendered, response)
    # The head is shown as comments, which JSON does not allow.
    return "jsonc" if language == "json" and rendered.head else language
