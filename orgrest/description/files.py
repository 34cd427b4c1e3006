"""Reads OpenAPI descriptions from files, and limits which other files they may refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from orgrest.description.model import Description
from orgrest.files import read_bytes
from orgrest.http.values import files
from orgrest.structured import LARGEST

Locate: TypeAlias = Callable[[str, Path], Path]
"""A function that returns the path of a file, given its path relative to a folder.

It raises OrgrestError if the file must not be read.
"""


def read(path: Path, name: str, locate: Locate, largest: int = LARGEST) -> Description:
    """Return the OpenAPI description in a file. Error messages call the file `name`.

    `locate` returns the paths of files that the description refers to. Raises OrgrestError if the
    file at `path` cannot be read, or if it is not an OpenAPI description of a supported version.
    """

    def beside(reference: str, base: Path) -> tuple[Path, bytes]:
        location = locate(reference, base.parent)
        return location, read_bytes(location)

    return Description.read(read_bytes(path), name, path, beside, largest=largest)


def below(
    folder: Path, allowed: Iterable[Path], on_read: Callable[[Path], None] | None = None
) -> Locate:
    """Return a locator that accepts only files below certain folders.

    The folders are `folder`, the root of its repository, and the folders in `allowed`.
    """
    also = tuple(allowed)
    return lambda reference, base: files.locate(reference, base, folder, also, on_read)
