"""The files that a document may name: those below its folder, and where the caller allows more."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterable


def locate(path: str, directory: Path, allowed: Iterable[Path]) -> Path:
    """Return where a file is that a document names; its paths start in `directory`.

    Raises `OrgrestError` when it is outside the folders that are allowed, is not a regular file, or
    cannot be found.
    """
    if "\0" in f"{directory}{path}":
        raise OrgrestError("the name of a file cannot hold a NUL")
    try:
        found = (directory / Path(path).expanduser()).resolve()
        if not any(found.is_relative_to(folder.resolve()) for folder in allowed):
            raise OrgrestError(
                f"{path} is outside the document's folder: "
                f"--allow-read {found.parent} lets it be read"
            )
        if not stat.S_ISREG(found.stat().st_mode):
            raise OrgrestError(f"{path} is not a regular file")
    except OSError as error:
        raise OrgrestError(f"cannot read {path}: {error.strerror or error}") from error
    except RuntimeError as error:  # a loop of links, a ~user without a home
        raise OrgrestError(f"cannot read {path}: {error}") from error
    return found
