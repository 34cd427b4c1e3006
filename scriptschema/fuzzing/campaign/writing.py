"""How a campaign writes a program: plainly, in a style, or as a source that is no program.

A source that is not Luau has no tree. It stands itself where the style of another would, and beside
it an empty tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.luau.render import render_module_set
from scriptschema.messages import ModuleSet, StatBlock

Spelling: TypeAlias = int | str | None
"""None is the plain one, a number the seed of a style, and a text what is run whatever the tree."""


def written(tree: ModuleSet, spelling: Spelling) -> Sources:
    """Return the sources of a program."""
    if isinstance(spelling, str):
        return Sources(None, spelling)
    return render_module_set(tree, style=spelling)


def size_of(tree: ModuleSet, spelling: Spelling) -> int:
    """Return how large a program is, in nodes, or in words if it has no tree."""
    return len(_words(spelling)) if isinstance(spelling, str) else len(Index(tree))


def nothing() -> ModuleSet:
    """Return the empty tree."""
    return ModuleSet(program=StatBlock())


def shortened(text: str, shows: Callable[[str], bool]) -> str:
    """Return a part of a text that `shows` is true of, from which no line or word can be left out.

    `shows` may end it by an exception; it has been asked of each part that was better.
    """
    text = "".join(_fewer(text.splitlines(keepends=True), shows))
    return "".join(_fewer(_words(text), shows))


def _words(text: str) -> list[str]:
    return re.findall(r"\s+|\w+|[^\w\s]", text)


def _fewer(parts: list[str], shows: Callable[[str], bool]) -> list[str]:
    """Leave out parts, half of them at once, then a quarter, until no single one can be."""
    length = max(1, len(parts) // 2)
    while True:
        start, before = 0, len(parts)
        while start < len(parts):
            left = parts[:start] + parts[start + length :]
            if shows("".join(left)):
                parts = left
            else:
                start += length
        if length > 1:
            length //= 2
        elif len(parts) == before:
            return parts
