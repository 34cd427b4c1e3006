"""Reads descriptions from files, and limits the files that they may refer to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeAlias

from orgrest.description.model import Description
from orgrest.files import read_bytes
from orgrest.http.values import files
from orgrest.structured import LARGEST

Locate: TypeAlias = Callable[[str, Path], Path]
"""Returns the path of a file, given its path relative to a folder. Raises OrgrestError."""


def read(path: Path, name: str, locate: Locate, largest: int = LARGEST) -> Description:
    """Return the description in a file, which is called `name` in messages.

    `locate` finds the files that the description refers to, and rejects others. Raises
    OrgrestError.
    """

    def beside(reference: str, base: Path) -> tuple[Path, bytes]:
        location = locate(reference, base.parent)
        return location, read_bytes(location)

    return Description.read(read_bytes(path), name, path, beside, largest=largest)


def below(
    folder: Path, allowed: Iterable[Path], on_read: Callable[[Path], None] | None = None
) -> Locate:
    """Return a locator for files below `folder`, below its repository's root, and in `allowed`."""
    also = tuple(allowed)
    return lambda reference, base: files.locate(reference, base, folder, also, on_read)
