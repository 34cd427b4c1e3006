"""A source of requests to import: a file or a folder of files.

It is read only once, and its size is limited.
"""

from __future__ import annotations

import os.path
import re
from functools import cached_property
from pathlib import Path, PureWindowsPath
from typing import Any, Final

from orgrest import classes
from orgrest.convert.shared import texts
from orgrest.convert.shared.fields import Fields
from orgrest.convert.shared.model import (
    Collection,
    ConversionError,
    Folder,
    Inclusion,
    Note,
    Request,
)
from orgrest.files import FileError, decode
from orgrest.structured import LARGEST, check_size, load

_YAML: Final = re.compile(
    r"""^["']?(?:openapi|swagger|__export_format|opencollection)["']?\s*:|"""
    r"""^["']?type["']?\s*:\s*["']?\w+\.insomnia\.rest""",
    re.MULTILINE,
)
"""Matches a line that occurs in YAML but in no other format that can be imported."""


@classes.define
class Source:
    """A source: the `text` of a file, or a `folder`. `name` is its name in messages."""

    name: str
    text: str = ""
    folder: Path | None = None

    @classmethod
    def at(cls, name: str) -> Source:
        """Return the source at a path. Raises ConversionError if it cannot be read."""
        path = Path(name)
        if path.is_dir():
            return cls(name, folder=path)
        try:
            with path.open("rb") as stream:
                return cls.of(stream.read(LARGEST + 1), name)
        except OSError as error:
            raise ConversionError(error.strerror or str(error), file=name) from None
        except FileError as error:
            raise ConversionError(error.reason, file=name) from None

    @classmethod
    def of(cls, data: bytes, name: str) -> Source:
        """Return the source with this content. Raises StructureError if it is too large."""
        check_size(data, name)
        return cls(name, decode(data)[0])

    @cached_property
    def value(self) -> dict[str, Any]:
        """The JSON or YAML object in the text, or {} if the text contains no object.

        Raises StructureError if the text begins like JSON or YAML but is invalid.
        """
        is_json = self.text.lstrip("\ufeff \t\r\n").startswith(("{", "["))
        value = load(self.text, self.name) if is_json or _YAML.search(self.text) else None
        return value if isinstance(value, dict) else {}

    @property
    def fields(self) -> Fields:
        """The JSON or YAML object in the text, as a `Fields` object, which records what is read."""
        return Fields(self.value, self.name)

    def with_files(self, collection: Collection, target: Path) -> Collection:
        """Return this source's collection, for a document in the folder `target`.

        A path in a source is relative to the source's folder or, if only this file exists, to the
        working folder. In the result, it leads there from `target`. A note is added to each request
        that needs a file that does not exist.
        """
        if not collection.has_files:
            return collection
        folder = _in_folder(collection.folder, self.folder or Path(self.name).parent, target)
        return classes.evolve(collection, folder=folder)


def _in_folder(folder: Folder, base: Path, target: Path) -> Folder:
    items = tuple(
        _in_folder(item, base, target) if isinstance(item, Folder)
        else _in_request(item, base, target)
        for item in folder.items
    )  # fmt: skip
    return classes.evolve(folder, items=items)


def _in_request(request: Request, base: Path, target: Path) -> Request:
    if not any(isinstance(piece, Inclusion) for piece in request.body or ()):
        return request
    body, missing = [], dict[str, None]()
    for piece in request.body or ():
        if isinstance(piece, Inclusion):
            path, found = _moved(piece.path, base, target)
            piece = Inclusion(path)
            missing |= {} if found else {path: None}
        body.append(piece)
    notes = (Note(request.place, f"the file {path} does not exist") for path in missing)
    return classes.evolve(request, body=tuple(body), notes=(*request.notes, *notes))


def _moved(path: str, base: Path, target: Path) -> tuple[str, bool]:
    """Return a path for a document in the folder `target`, and False if the file does not exist.

    A file whose path contains variables counts as existing.
    """
    first, *more = texts.pieces(path) or ("",)
    if not isinstance(first, str):
        return path, True
    if not more and not _exists(base / first) and _exists(Path(first)):
        base = Path()
    found = bool(more) or _exists(base / first)
    is_absolute = Path(first).is_absolute() or PureWindowsPath(first).is_absolute()
    absolute, start = os.path.realpath(base), os.path.realpath(target)
    if is_absolute or absolute == start:
        return path, found
    try:
        beside = os.path.relpath(absolute, start)
    except ValueError:  # they are on different drives of Windows
        beside = absolute
    written = f"{Path(beside).as_posix()}/{first.removeprefix('./')}"
    return texts.written([written, *more]), found


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the name is too long, for example
        return False
