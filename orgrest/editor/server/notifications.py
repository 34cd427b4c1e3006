"""The notification `orgrest/response`: the outcome of a request as data for an editor to display.

A client requests it with the experimental capability `CAPABILITY`, and then displays responses
itself. docs/language-server.md describes the fields for authors of editor extensions.
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

    from orgrest.editor.server.documents import OpenDocument
    from orgrest.editor.server.lifetime import ScratchFolder
    from orgrest.model import Response
    from orgrest.rendering.results import Rendered
    from orgrest.run.outcomes import Exchange, Outcome

METHOD = "orgrest/response"
MESSAGE = "orgrest/message"
"""The notification for a message in a stream, sent before the response is complete."""
CAPABILITY = {"orgrest": {"responses": True, "prompts": True, "outcomes": True}}
"""The capabilities that the client and the server announce under `experimental`."""
KEPT = 50
"""The maximum number of body files that a server keeps."""
_NAMES = {"nxml": "xml", "text": "plaintext"}


class Bodies:
    """Files with the bodies of the most recent responses, for an editor to open, show and copy."""

    def __init__(self, scratch: ScratchFolder) -> None:
        """Create an object that writes files to `scratch`, but only when `write` is called."""
        self._scratch = scratch
        self._numbers = itertools.count(1)
        self._files: list[Path] = []

    def write(self, response: Response, secrets: frozenset[str]) -> str:
        """Write the body of a response to a new file, and return the file's URI.

        Secrets in a text body are masked. Only the latest `KEPT` files remain. Raises FileError if
        the file cannot be written.
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
    document: OpenDocument, version: int, line: int, outcome: Outcome, bodies: Bodies
) -> list[dict[str, Any]]:
    """Return a notification for each outcome in `outcome.needed`, then one for `outcome` itself.

    `line` (counted from 0) is the line of the outcome's request in `version` of the document.
    """
    folder = document.path.parent if document.path else None
    responses: list[dict[str, Any]] = []
    for reported in (*outcome.needed, outcome):
        other = folder / reported.file if reported.file is not None and folder is not None else None
        responses.append(
            {
                "textDocument": {"uri": document.uri, "version": version},
                "request": {
                    "uri": document.uri if other is None else other.resolve().as_uri(),
                    "line": line if reported is outcome else reported.line - 1,
                },
                "record": await asyncio.to_thread(_record, document, reported, bodies),
            }
        )
    return responses


def _record(document: OpenDocument, outcome: Outcome, bodies: Bodies) -> record.Record:
    entry = record.of_outcome(
        outcome, {"document": document.name, "file": document.name}, fail=True
    )
    exchanges = (*outcome.exchanges, *((outcome.broken,) if outcome.broken else ()))
    for data, exchange in zip(entry["exchanges"], exchanges, strict=True):
        if exchange.response is not None:
            secrets = outcome.secrets | exchange.request.secrets
            more = dict(shown(exchange, exchange.response, secrets, bodies))
            data["response"]["body"] |= more
    return entry


def shown(
    exchange: Exchange, response: Response, secrets: frozenset[str], bodies: Bodies
) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) for each field that an editor needs to show a body.

    The record's body gets these fields, but reports omit them.
    """
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
    """Return the LSP language identifier for a rendered body.

    Org's language `js` becomes `json` only for a single complete JSON value, and `javascript` only
    for a complete body with a JavaScript media type. Otherwise it becomes `plaintext`, because an
    editor would report errors.
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
