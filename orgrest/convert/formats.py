"""The formats: how each is recognized, and the functions that read and write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import attrs

from orgrest.convert import (
    bruno,
    curl,
    har,
    hurl,
    insomnia,
    messages,
    openapi,
    postman,
    postman_export,
    python,
)
from orgrest.convert.shared.exports import Export
from orgrest.convert.shared.model import Collection, ConversionError, Written
from orgrest.convert.shared.source import Source


class Write(Protocol):
    """Writes an export; `beside` is the folder for bodies that are not text, or None."""

    def __call__(self, export: Export, *, beside: str | None) -> Written:
        """Return the text of the export, its files and its notes."""


def _never(_: Source) -> bool:
    return False


@attrs.frozen
class Format:
    """A format: `title` is the name of such a file.

    `recognizes` and `read` are the importer's functions, `write` is the exporter's.
    """

    name: str
    title: str
    recognizes: Callable[[Source], bool] = _never
    read: Callable[[Source], Collection] | None = None
    write: Write | None = None


FORMATS: Final = (
    Format("har", "a HAR 1.2 file", har.recognizes, har.read, har.write),
    Format(
        "postman",
        "a Postman collection 2.1",
        postman.recognizes,
        postman.read,
        postman_export.write,
    ),
    Format("openapi", "an OpenAPI description", openapi.recognizes, openapi.read),
    Format("insomnia", "an Insomnia export", insomnia.recognizes, insomnia.read),
    Format("bruno", "the folder of a Bruno collection", bruno.recognizes, bruno.read),
    Format("message", "an HTTP request as it is sent", messages.recognizes, messages.read),
    Format("hurl", "a hurl file", hurl.recognizes, hurl.read),
    Format("curl", "curl commands", curl.recognizes, curl.read, curl.write),
    Format("python", "a script for Python's requests", write=python.write),
)
"""The formats, in the order in which they are tried for a source."""


def read(source: Source) -> Collection:
    """Return the content of a source. Raises OrgrestError if it is unrecognized or malformed."""
    for one in FORMATS:
        if one.read is not None and one.recognizes(source):
            return one.read(source)
    supported = ", ".join(one.title for one in FORMATS if one.read is not None)
    reason = f"not a format that orgrest can import; supported: {supported}"
    raise ConversionError(reason, file=source.name)
