"""Where the description of a document may be, if nobody names one; imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.values import environments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

AUTO = "auto"
"""What stands for the name of a description if one beside the document is to be taken."""
NONE = "no"
"""What stands for the name of a description if there is to be none."""
_STEMS = ("openapi", "swagger", "api")
_ENDS = (".yaml", ".yml", ".json")


def beside(folder: Path) -> Iterator[Path]:
    """Yield the files that may be the description of a document in a folder, the likeliest first.

    They are in the folder, or above it up to the root of its repository.
    """
    for place in environments.project_folders(folder.resolve()):
        for stem in _STEMS:
            for end in _ENDS:
                if (path := place / f"{stem}{end}").is_file():
                    yield path
