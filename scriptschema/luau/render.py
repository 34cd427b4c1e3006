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
from typing import Final, TypeAlias, TypedDict

import attrs

from scriptschema.base import Message
from scriptschema.choices import Choices, choices_of
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.printing import (
    atoms,
    expressions,
    statements,
    styles,
    type_annotations,
)
from scriptschema.luau.printing.styles import StyledWriter
from scriptschema.luau.printing.writer import Write, Writer
from scriptschema.messages import ModuleSet

_WRITE: Final[Mapping[type[Message], Write]] = {
    **atoms.WRITE,
    **type_annotations.WRITE,
    **expressions.WRITE,
    **statements.WRITE,
}
_WRITE_STYLED: Final[Mapping[type[Message], Write]] = {**_WRITE, **styles.WRITE}

Style: TypeAlias = int | bytes | Choices
"""Which spelling of a tree: a seed, a fuzzer's bytes, or any other source of choices."""


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
    style: Style | None


def render(
    tree: Message,
    *,
    names: Names = DEFAULT,
    types: bool = True,
    indent: str = "  ",
    style: Style | None = None,
) -> str:
    """Return the Luau source of a tree of any message.

    With `types` false, type annotations and type aliases are left out. A ModuleSet gives both
    sources in one text, for reading; `render_module_set` gives them apart.

    A style is another way to write the same: quotes, escape sequences, long brackets, numbers,
    `f"x"` for `f("x")`, separators, `;`, comments and white space as its choices are. The
    simplest choices, and bytes that ran out, give what is printed without a style.
    """
    if style is None:
        return Writer(_WRITE, names, types, indent).text(tree)
    return StyledWriter(_WRITE_STYLED, names, types, indent, choices_of(style)).text(tree)


def render_module_set(
    tree: ModuleSet,
    *,
    names: Names = DEFAULT,
    types: bool = True,
    indent: str = "  ",
    style: Style | None = None,
) -> Sources:
    """Return the sources of the module and of the program; the arguments are as in `render`.

    The program refers to the module as `require("./module0")`.
    """
    module = tree.module
    options: RenderOptions = {"names": names, "types": types, "indent": indent, "style": style}
    return Sources(
        None if module is None else render(module, **options), render(tree.program, **options)
    )
