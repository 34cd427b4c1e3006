"""Finds the OpenAPI description near a document that does not name one.

Importing this module is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.values import environments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AUTO = "auto"
"""Used in place of a file name: use a description near the document."""
NONE = "no"
"""Used in place of a file name: use no description."""
_STEMS = ("openapi", "swagger", "api")
_ENDS = (".yaml", ".yml", ".json")


def beside(folder: Path) -> Iterator[Path]:
    """Yield the existing files that may describe the documents of a folder, most likely first.

    The files are searched for in the folder, then in its parents up to the root of the repository.
    """
    for place in environments.project_folders(folder.resolve()):
        for stem in _STEMS:
            for end in _ENDS:
                if (path := place / f"{stem}{end}").is_file():
                    yield path
