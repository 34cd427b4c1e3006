"""Renders a tree as Luau source.

Every schema-valid tree can be rendered, and the source has the structure of the tree. Operands get
parentheses where this structure needs them, even without an ExprGroup there. Nothing is repaired.
Statements after a `return` are printed after the `return`, an empty list is printed as empty, and
an unset alternative is printed as `--[[unset]]`. To get a program, call `luau.repair.repair` first.

The functions that print each kind of message are in `luau.printing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias, TypedDict

import attrs

from scriptschema.base import Message, require_message
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
"""The spelling of a tree, selected by a seed, a fuzzer's bytes, or other choices."""


@attrs.frozen
class Sources:
    """The sources of a ModuleSet: `program`, and `module` or None."""

    module: str | None
    program: str


def _joined(sources: Sources) -> str:
    if sources.module is None:
        return sources.program
    module = f"-- module0\n{sources.module}"
    end = "" if module.endswith("\n") else "\n"  # a style may end a source with a comment
    return f"{module}{end}-- program\n{sources.program}"


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
    """Return the Luau source of a tree. The root can be any message.

    If `types` is false, type annotations, type aliases and type functions are left out. For a
    ModuleSet, the result is one string with both sources, for people to read. `render_module_set`
    returns them separately.

    A style chooses among spellings of the same program: quotes, escape sequences, long brackets,
    numbers, `f"x"` for `f("x")`, separators, `;`, comments and white space. If all choices are 0,
    as with empty bytes, the source is the same as without a style.
    """
    if isinstance(tree, ModuleSet):
        # Each source has the directives and the spelling with which it is written to a file.
        sources = render_module_set(tree, names=names, types=types, indent=indent, style=style)
        return _joined(sources)
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
    """Return the sources of the module and of the program. The arguments are as in `render`.

    The program refers to the module as `require("./module0")`.
    """
    require_message(tree)
    module = tree.module
    options: RenderOptions = {"names": names, "types": types, "indent": indent, "style": style}
    return Sources(
        None if module is None else render(module, **options), render(tree.program, **options)
    )
