"""Render: a tree to Luau source.

Every schema-valid tree renders, and the text means the tree: operands get the parentheses that the
tree's structure needs and no others, whether or not the tree has an ExprGroup there too. Nothing is
repaired on the way. What stands after a `return` is printed after the `return`, a list that is
empty is printed empty, and where an alternative is not set, the text says `--[[unset]]`. To get a
program, call `luau.repair.repair` first.

How a message of each kind is printed stands in `luau.printing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypedDict

import attrs

from scriptschema.base import Message
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.printing import atoms, expressions, statements, type_annotations
from scriptschema.luau.printing.writer import Write, Writer
from scriptschema.messages import ModuleSet

_WRITE: Final[Mapping[type[Message], Write]] = {
    **atoms.WRITE,
    **type_annotations.WRITE,
    **expressions.WRITE,
    **statements.WRITE,
}


@attrs.frozen
class Sources:
    """The sources of a ModuleSet: of the module, None if there is none, and of the program."""

    module: str | None
    program: str


class RenderOptions(TypedDict, total=False):
    """The options of `render`."""

    names: Names
    types: bool
    indent: str


def render(tree: Message, *, names: Names = DEFAULT, types: bool = True, indent: str = "  ") -> str:
    """Return the Luau source of a tree of any message.

    With `types` false, type annotations and type aliases are left out. A ModuleSet gives both
    sources in one text, for reading; `render_module_set` gives them apart.
    """
    return Writer(_WRITE, names, types, indent).text(tree)


def render_module_set(
    tree: ModuleSet, *, names: Names = DEFAULT, types: bool = True, indent: str = "  "
) -> Sources:
    """Return the sources of the module and of the program; the arguments are as in `render`.

    The program refers to the module as `require("./module0")`.
    """
    module = tree.module
    return Sources(
        None if module is None else render(module, names=names, types=types, indent=indent),
        render(tree.program, names=names, types=types, indent=indent),
    )
