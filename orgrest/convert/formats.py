"""The table of formats: how to recognize each format, and how to read and write it.

The modules of formats are imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from orgrest import classes
from orgrest.convert.shared.model import ConversionError

if TYPE_CHECKING:
    from orgrest.convert.shared.model import Collection
    from orgrest.convert.shared.source import Source


@classes.frozen
class Format:
    """A format that can be imported, exported or both.

    `title` describes a file in messages, such as "a HAR 1.2 file". `importer` is the module with
    the functions `recognizes` and `read`, and `exporter` is the module with the function `write`.
    Either is empty if there is no such module.
    """

    name: str
    title: str
    importer: str = ""
    exporter: str = ""


FORMATS: Final = (
    Format("har", "a HAR 1.2 file", "har", "har"),
    Format("postman", "a Postman collection 2.1", "postman", "postman_export"),
    Format("openapi", "an OpenAPI description", "openapi"),
    Format("insomnia", "an Insomnia export", "insomnia"),
    Format("bruno", "the folder of a Bruno collection", "bruno"),
    Format("message", "a raw HTTP request", "messages"),
    Format("hurl", "a hurl file", "hurl"),
    Format("curl", "curl commands", "curl", "curl"),
    Format("python", "a Python script that uses the requests package", exporter="python"),
)
"""The formats, in the order in which they are tried when a source is read."""

EXPORTERS: Final = {format_.name: format_.exporter for format_ in FORMATS if format_.exporter}
"""The module of each format that can be exported."""


def read(source: Source) -> Collection:
    """Return the collection in a source. Raises OrgrestError if it is unrecognized or invalid."""
    importable = [format_ for format_ in FORMATS if format_.importer]
    for format_ in importable:
        importer = import_module(f"orgrest.convert.{format_.importer}")
        if importer.recognizes(source):
            collection: Collection = importer.read(source)
            return collection
    supported = ", ".join(format_.title for format_ in importable)
    reason = f"not a format that orgrest can import; supported: {supported}"
    raise ConversionError(reason, file=source.name)


def exporter(name: str) -> Any:
    """Return the module with the function `write` for the format called `name`.

    Its table `DYNAMIC`, if any, maps the dynamic values that the format also has to their names
    there.
    """
    return import_module(f"orgrest.convert.{EXPORTERS[name]}")
