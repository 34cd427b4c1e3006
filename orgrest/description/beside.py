"""Finds the OpenAPI descriptions near a document that does not name one.

This module does not import the OpenAPI parser, so importing it is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.values import environments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AUTO = "auto"
"""Given instead of a file name to search for a description.

The document's folder and the folders above it are searched.
"""
NONE = "no"
"""Given instead of a file name to use no description."""
_STEMS = ("openapi", "swagger", "api")
_ENDS = (".yaml", ".yml", ".json")


def beside(folder: Path) -> Iterator[Path]:
    """Yield the existing files that may be OpenAPI descriptions for a folder, most likely first.

    The folder is searched first, then each of its parents up to the root of the repository.
    """
    for place in environments.project_folders(folder.resolve()):
        for stem in _STEMS:
            for end in _ENDS:
                if (path := place / f"{stem}{end}").is_file():
                    yield path
