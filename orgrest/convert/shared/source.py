"""A source of requests to import: a file or a folder of files.

It is read only once, and its size is limited.
"""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from orgrest import classes
from orgrest.convert.shared.fields import Fields
from orgrest.convert.shared.model import ConversionError
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
