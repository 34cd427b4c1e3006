"""Luau source to a tree: `parse`.

The parser is written by hand, after the real one: Luau's grammar depends on line ends (a call's `(`
on a new line), on names that are keywords only in places (`type`, `export`, `continue`, `const`),
and on priorities that differ on an operator's two sides. The ready-made grammar, tree-sitter-luau,
has no generic functions, attributes, type functions or `typeof` types, takes an if-expression
without `else`, and cannot say what it expected.

It stands in `luau.parsing`: `reader`, where the way of reading is described, and above it what
reads types, functions, expressions and statements.

What the schema cannot say is rewritten if something else means the same when it runs (`x //= y`,
fractional numbers), and otherwise left out (comments, attributes, what only the type checker sees);
both are listed in `ParseResult.losses`. Asked for a version of Luau, `parse` makes a tree with the
extension fields of that version instead, and refuses what is newer.

Not listed is mere spelling: white space, `;`, the way a string or a number is written, `f"x"` for
`f("x")`, `T?` for `T | nil`, `{T}` for `{[number]: T}`, `["x"]: T` for `x: T`, parentheses that a
type does not need. A tree of a version tells `f"x"` and `["x"]: T` from the others.

The parser reads the grammar. Whether `break` stands in a loop and the like, `repair.check` says.

Source: https://luau.org/grammar, and what the real Luau accepts.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import attrs

from scriptschema.base import Path
from scriptschema.luau.names import DEFAULT, NameReader, Names
from scriptschema.luau.parsing.expressions import read_expression
from scriptschema.luau.parsing.reader import COMMENTS, Loss, ParseError, Places, Reader
from scriptschema.luau.parsing.statements import read_block
from scriptschema.messages import ModuleSet, StatBlock
from scriptschema.versions import Version

__all__ = ["COMMENTS", "Loss", "ParseError", "ParseResult", "parse"]


@attrs.frozen
class ParseResult:
    """What `parse` found: the tree, the names that its indexes stand for, and what it lacks.

    If several sources share a NameReader, `names` has all the names read so far.
    """

    tree: ModuleSet
    losses: tuple[Loss, ...]
    _reader: NameReader = attrs.field(repr=False, eq=False)
    _places: Places = attrs.field(factory=dict, repr=False, eq=False)

    @property
    def names(self) -> Names:
        """The tables that the tree's indexes belong to."""
        return self._reader.names

    def place_of(self, path: Path) -> tuple[str, int, int]:
        """Return the source, line and column of what a path in the tree leads to.

        It is `program` or `module`; lines and columns count from 1. Messages that have no place of
        their own have that of what they are in. Needs `parse` with `places`.
        """
        node: Any = self.tree
        found = ("program", 1, 1)
        for name, index in path.steps():
            node = getattr(node, name, None)
            if index is not None:
                node = node[index] if node and index < len(node) else None
            if id(node) in self._places:
                found = self._places[id(node)][1:]
        return found


def parse(
    source: str | bytes,
    *,
    module: str | bytes | None = None,
    names: Names | NameReader = DEFAULT,
    luau: str | Version | None = None,
    places: bool = False,
) -> ParseResult:
    """Read a Luau program, and the module that it requires if there is one.

    Bytes that are not UTF-8 become lone surrogates, as in ExprConstantString. Identifiers get the
    indexes that they have in `names`, and new ones after those; `ParseResult.names` has them all.
    A NameReader lets several sources share the new ones.

    With `luau`, a version such as `0.711` or `today`, the tree has extension fields for what the
    schema's 57 messages cannot say; lost are only comments and a few names then.

    With `places`, `ParseResult.place_of` tells where in the sources a part of the tree begins.

    Raises ParseError for a source that is not Luau, or is newer than `luau`; ValueError for a
    version that is not known.
    """
    version = None if luau is None else Version.parse(luau)
    reader = NameReader(names, version) if isinstance(names, Names) else names
    losses: list[Loss] = []
    found: Places | None = {} if places else None
    module_block = None
    if module is not None:
        module_block = _chunk("module", module, reader, losses, version, found)
    program = _chunk("program", source, reader, losses, version, found)
    tree = ModuleSet(module=module_block, program=program)
    losses.sort(key=attrgetter("source", "line", "column"))
    return ParseResult(tree, tuple(losses), reader, found or {})


def _chunk(
    label: str,
    text: str | bytes,
    names: NameReader,
    losses: list[Loss],
    luau: Version | None,
    places: Places | None,
) -> StatBlock:
    """Read a whole source."""
    reader = Reader(
        *(label, text, names, losses, luau),
        expression=read_expression,
        block=read_block,
        places=places,
    )
    reader.open()
    block: StatBlock = reader.run(read_block(reader))
    if reader.kind != "eof":
        reader.fail("a statement or the end of the source")
    return block
