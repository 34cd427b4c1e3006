"""The table of formats: how to recognize each format, and how to read and write it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from orgrest import classes
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
    """The type of functions that write an export.

    `beside` names the folder for bodies that are not text, or is None if no files can be written.
    """

    def __call__(self, export: Export, *, beside: str | None) -> Written:
        """Return the export as text, with its files and notes."""


def _never(_: Source) -> bool:
    return False


@classes.frozen
class Format:
    """A format that can be imported, exported or both.

    `title` describes a file in messages, such as "a HAR 1.2 file". `read` is None if the format
    cannot be imported, and `write` is None if it cannot be exported.
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
    Format("message", "a raw HTTP request", messages.recognizes, messages.read),
    Format("hurl", "a hurl file", hurl.recognizes, hurl.read),
    Format("curl", "curl commands", curl.recognizes, curl.read, curl.write),
    Format("python", "a Python script that uses the requests package", write=python.write),
)
"""The formats, in the order in which they are tried when a source is read."""


def read(source: Source) -> Collection:
    """Return the collection in a source. Raises OrgrestError if it is unrecognized or invalid."""
    for format_ in FORMATS:
        if format_.read is not None and format_.recognizes(source):
            return format_.read(source)
    supported = ", ".join(format_.title for format_ in FORMATS if format_.read is not None)
    reason = f"not a format that orgrest can import; supported: {supported}"
    raise ConversionError(reason, file=source.name)
