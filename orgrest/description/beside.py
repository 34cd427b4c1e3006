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
