"""The files that a document may name: those below its folder, and others that the caller allows.

If the document is in a repository (`.git`, `.hg`), the files below the repository's root may be
named, too, except hidden ones (`.git/config`, `.env`). A repository that contains the user's home
does not count.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_REPOSITORY = (".git", ".hg")


def locate(
    path: str,
    directory: Path,
    folder: Path,
    allowed: Iterable[Path],
    on_read: Callable[[Path], None] | None = None,
) -> Path:
    """Return the path of a file named by a document in `folder`, relative to `directory`.

    `on_read` gets the path of a file that may be read, whether it exists or not.
    Raises `OrgrestError` if it is outside the allowed folders, is not a regular file, or cannot be
    found.
    """
    if "\0" in f"{directory}{path}":
        raise OrgrestError("the name of a file cannot hold a NUL")
    try:
        found = (directory / Path(path).expanduser()).resolve()
        folder = folder.resolve()
        inside = any(found.is_relative_to(one.resolve()) for one in (folder, *allowed))
        if not inside and not _is_in_project(found, folder):
            raise OrgrestError(
                f"{path} is outside the document's folder: "
                f"--allow-read {found.parent} lets it be read"
            )
        if on_read is not None:
            on_read(found)
        if not stat.S_ISREG(found.stat().st_mode):
            raise OrgrestError(f"{path} is not a regular file")
    except OSError as error:
        raise OrgrestError(f"cannot read {path}: {error.strerror or error}") from error
    except RuntimeError as error:  # a loop of links, a ~user without a home
        raise OrgrestError(f"cannot read {path}: {error}") from error
    return found


def _is_in_project(file: Path, folder: Path) -> bool:
    """Tell whether a file is below the folder of a document's repository, and not hidden there."""
    home = Path.home().resolve()
    for place in (folder, *folder.parents):
        if home.is_relative_to(place):
            return False
        if any((place / mark).exists() for mark in _REPOSITORY):
            return file.is_relative_to(place) and not any(
                part.startswith(".") for part in file.relative_to(place).parts
            )
    return False
