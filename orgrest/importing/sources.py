"""Recognizes what a source holds by its content, and has it read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final

from orgrest.files import FileError, decode
from orgrest.importing.errors import ImportingError
from orgrest.importing.fields import LARGEST, json_of
from orgrest.importing.model import Collection

_YAML: Final = re.compile(
    r"""^["']?(?:openapi|swagger|__export_format)["']?\s*:|^type: \w+\.insomnia\.rest""",
    re.MULTILINE,
)
"""A line that only YAML files have which can be imported."""
_OPEN_COLLECTION: Final = (
    "a collection in OpenCollection's YAML, Bruno 3's format, is not read: export it from Bruno as "
    "a Postman collection, and import that"
)
_READABLE: Final = (
    "a Postman collection or environment, an OpenAPI description, an Insomnia export, the "
    "folder of a Bruno collection, curl commands, an HTTP request, a HAR file, a hurl file"
)


def read(source: str, given: bytes | None = None) -> Collection:
    """Return what a file holds; `given` is its content, if it was read already.

    Raises ImportingError if it is not recognized or malformed.
    """
    path = Path(source)
    if given is None and path.is_dir():
        from orgrest.importing import bruno

        if not (path / bruno.TOP).is_file():
            why = f"this folder is no Bruno collection: it has no {bruno.TOP}"
            if any((path / f"opencollection.{ending}").is_file() for ending in ("yml", "yaml")):
                why = _OPEN_COLLECTION
            raise ImportingError(why, file=source)
        return bruno.read(path)
    if given is None:
        try:
            given = _content(path)
        except (FileError, OSError) as error:
            reason = getattr(error, "reason", None) or getattr(error, "strerror", None)
            raise ImportingError(str(reason or error), file=source) from None
    if len(given) > LARGEST:
        raise ImportingError(f"larger than {LARGEST // 2**20} MiB", file=source)
    text, _ = decode(given)
    return _reader_of(text, source)(source)


def _content(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(LARGEST + 1)


def structure(data: bytes, name: str) -> object:
    """Return the value of a text in JSON, or in YAML that can be imported, None for another.

    Raises ImportingError.
    """
    if len(data) > LARGEST:
        raise ImportingError(f"larger than {LARGEST // 2**20} MiB", file=name)
    return _structure(decode(data)[0], name)


def data_of(data: bytes, name: str) -> object:
    """Return the value of a text in JSON or YAML, whatever it holds. Raises ImportingError."""
    if len(data) > LARGEST:
        raise ImportingError(f"larger than {LARGEST // 2**20} MiB", file=name)
    text = decode(data)[0]
    if text.lstrip().startswith(("{", "[")):
        try:
            return json_of(text, name)
        except ImportingError:
            if name.endswith(".json"):
                raise
    from orgrest.importing.yaml_text import load

    value: object = load(text, name)
    return value


def _structure(text: str, name: str) -> object:
    if text.lstrip().startswith(("{", "[")):
        return json_of(text, name)
    if not _YAML.search(text):
        return None
    from orgrest.importing.yaml_text import load

    value: object = load(text, name)
    return value


def _reader_of(text: str, source: str) -> Callable[[str], Collection]:
    """Return the function that reads a text."""
    from orgrest.importing import har, hurl, messages, postman, shell_scripts

    value = _structure(text, source)
    if value is not None:
        from orgrest.importing import insomnia, openapi

        for is_known, reader in (
            (har.is_har, har.read),
            (postman.is_collection, postman.read),
            (postman.is_environment, postman.read_environment),
            (openapi.is_description, openapi.read),
            (insomnia.is_export, insomnia.read),
        ):
            if isinstance(value, Mapping) and is_known(value):
                return partial(reader, value)
    elif messages.BEGINS.match(text.lstrip("\r\n")):
        return lambda name: messages.read(text, name)
    elif hurl.BEGINS.match(text):
        return lambda name: hurl.read(text, name)
    elif shell_scripts.BEGINS.search(text):
        return lambda name: shell_scripts.read(text, name)
    if re.match(r"opencollection\s*:", text):
        raise ImportingError(_OPEN_COLLECTION, file=source)
    raise ImportingError(f"this is none of what can be imported: {_READABLE}", file=source)
