"""The notification `orgrest/response`: the outcome of a request, as data for editors' own views.

A client asks for it with the experimental capability `CAPABILITY`; it then shows responses itself.
docs/language-server.md describes the fields for authors of editors' extensions.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import TYPE_CHECKING, Any

from orgrest.files import FileError, write_result
from orgrest.rendering import content
from orgrest.rendering.masking import mask_bytes
from orgrest.run import record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orgrest.editor.server.documents import Document
    from orgrest.editor.server.lifetime import ScratchFolder
    from orgrest.model import Response
    from orgrest.rendering.results import Rendered
    from orgrest.run.outcomes import Exchange, Outcome

METHOD = "orgrest/response"
CAPABILITY = {"orgrest": {"responses": True, "prompts": True, "outcomes": True}}
"""The capabilities that client and server announce under `experimental`."""
KEPT = 50
"""The maximum number of files with bodies that a server keeps."""
_NAMES = {"nxml": "xml", "text": "plaintext"}


class Bodies:
    """The files with the bodies of the last responses, for an editor to open, show and copy."""

    def __init__(self, scratch: ScratchFolder) -> None:
        """Write nothing yet."""
        self._scratch = scratch
        self._numbers = itertools.count(1)
        self._files: list[Path] = []

    def write(self, response: Response, secrets: frozenset[str]) -> str:
        """Write a body; return the URI of its file. Secrets are masked in text. Raises FileError.

        The oldest file is removed if there are too many.
        """
        kind = content.media_type(response)
        binary = content.is_binary(response, kind)
        suffix = content.extension(kind)
        suffix = ".txt" if suffix == ".bin" and not binary else suffix
        path = self._scratch.path / f"body-{next(self._numbers)}{suffix}"
        write_result(path, response.body if binary else mask_bytes(response.body, secrets))
        self._files.append(path)
        for old in self._files[:-KEPT]:
            old.unlink(missing_ok=True)
        del self._files[:-KEPT]
        return path.as_uri()


async def responses(
    document: Document, version: int, line: int, outcome: Outcome, bodies: Bodies
) -> list[dict[str, Any]]:
    """Return the notifications for an outcome: first those of the requests that it needed.

    `line` (from 0) is its position in that version of the document.
    """
    folder = document.path.parent if document.path else None
    found: list[dict[str, Any]] = []
    for one in (*outcome.needed, outcome):
        other = folder / one.file if one.file is not None and folder is not None else None
        found.append(
            {
                "textDocument": {"uri": document.uri, "version": version},
                "request": {
                    "uri": document.uri if other is None else other.resolve().as_uri(),
                    "line": line if one is outcome else one.line - 1,
                },
                "record": await asyncio.to_thread(_record, document, one, bodies),
            }
        )
    return found


def _record(document: Document, outcome: Outcome, bodies: Bodies) -> record.Record:
    found = record.of_outcome(
        outcome, {"document": document.name, "file": document.name}, fail=False
    )
    exchanges = (*outcome.exchanges, *((outcome.broken,) if outcome.broken else ()))
    for data, exchange in zip(found["exchanges"], exchanges, strict=True):
        if exchange.response is not None:
            secrets = outcome.secrets | exchange.request.secrets
            more = dict(shown(exchange, exchange.response, secrets, bodies))
            data["response"]["body"] |= more
    return found


def shown(
    exchange: Exchange, response: Response, secrets: frozenset[str], bodies: Bodies
) -> Iterator[tuple[str, Any]]:
    """Yield the fields that an editor needs to show a body, in addition to those of a report."""
    rendered = exchange.rendered
    yield "pretty", None if rendered is None else rendered.body
    yield "whole", rendered is not None and not rendered.is_cut
    yield "language", "plaintext" if rendered is None else editor_language(rendered, response)
    if response.body:
        try:
            yield "uri", bodies.write(response, secrets)
        except FileError as error:
            yield "problem", str(error)


def editor_language(rendered: Rendered, response: Response) -> str:
    """Return the LSP identifier of the language of a rendered body.

    Org calls JSON, JavaScript and empty bodies `js`; an editor would report errors in text of the
    wrong language. So only a single JSON value is JSON, and JavaScript is determined by the media
    type, both only for complete bodies.
    """
    if rendered.language != "js":
        return _NAMES.get(rendered.language, rendered.language)
    if rendered.is_cut or not rendered.body:
        return "plaintext"
    if content.media_type(response).endswith("javascript"):
        return "javascript"
    try:
        json.loads(rendered.body)
    except (ValueError, RecursionError):
        return "plaintext"
    return "json"
