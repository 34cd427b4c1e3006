"""Finds OpenAPI descriptions, reads them, and limits which other files they may refer to.

Importing this module is cheap: the OpenAPI parser is imported when a description is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from orgrest.files import read_bytes
from orgrest.http.values import environments, files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.description.model import Description

Locate: TypeAlias = Callable[[str, Path], Path]
"""A function that returns the path of a file, given its path relative to a folder.

It raises OrgrestError if the file must not be read.
"""
AUTO = "auto"
"""The special file name that requests a search for a description.

The document's folder and its parents up to the root of the project, if any, are searched.
"""
NONE = "no"
"""The special file name that turns off the use of a description."""
_STEMS = ("openapi", "swagger", "api")
_ENDS = (".yaml", ".yml", ".json")


def beside(folder: Path) -> Iterator[Path]:
    """Yield the existing files that may be OpenAPI descriptions for a folder, most likely first.

    Files in the folder come first, then those in its parents up to the project's root. Outside a
    project, only the folder is searched.
    """
    for place in environments.project_folders(folder.resolve()):
        for stem in _STEMS:
            for end in _ENDS:
                if (path := place / f"{stem}{end}").is_file():
                    yield path


def read(path: Path, name: str, locate: Locate, **limits: int) -> Description:
    """Return the OpenAPI description in a file. Error messages call the file `name`.

    `locate` returns the paths of files that the description refers to. Raises OrgrestError if the
    file at `path` cannot be read, or if it is not an OpenAPI description of a supported version.
    """
    from orgrest.description.model import Description

    def referred(reference: str, base: Path) -> tuple[Path, bytes]:
        location = locate(reference, base.parent)
        return location, read_bytes(location)

    return Description.read(read_bytes(path), name, path, referred, **limits)


def below(
    folder: Path, allowed: Iterable[Path], on_read: Callable[[Path], None] | None = None
) -> Locate:
    """Return a locator that accepts only files below certain folders.

    The folders are `folder`, the root of its repository, and the folders in `allowed`.
    """
    also = tuple(allowed)
    return lambda reference, base: files.locate(reference, base, folder, also, on_read)
