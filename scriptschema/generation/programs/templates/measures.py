"""Reads templates' sizes and requirements from `measures.json`, so few templates are compiled.

A program uses about a tenth of the templates, but needs the sizes and requirements of all templates
to choose among them. A template that is not in the file is compiled. A test compares the file with
the templates.
"""

from __future__ import annotations

import json
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from scriptschema.generation.programs.maker import Template

FILE: Final = Path(__file__).with_suffix(".json")

_FIELDS: Final = (
    *("fixed", "weight", "levels", "declares", "heavy"),
    *("vararg", "loop", "returns", "repeats"),
)


def restore(template: Template, source: str, typed: bool, newer: bool) -> bool:
    """Set a template's sizes and requirements from the file. Return whether the file has them."""
    row = rows().get(_key(source, typed, newer))
    if row is None:
        return False
    values, template.needs = row[: len(_FIELDS)], {*row[len(_FIELDS) :]}
    for name, value in zip(_FIELDS, values, strict=True):
        setattr(template, name, value)
    return True


def note(template: Template, source: str, typed: bool, newer: bool) -> None:
    """Add the sizes and requirements of a compiled template to the table read from the file."""
    values = (int(getattr(template, name)) for name in _FIELDS)
    rows()[_key(source, typed, newer)] = [*values, *sorted(template.needs)]


@cache
def rows() -> dict[str, list[Any]]:
    """Return the sizes and requirements of all templates in the file."""
    table: dict[str, list[Any]] = json.loads(FILE.read_text(encoding="ascii"))
    return table


def _key(source: str, typed: bool, newer: bool) -> str:
    return blake2b(f"{typed:d}{newer:d}{source}".encode(), digest_size=6).hexdigest()
