"""Luau source to a tree: `parse`.

The parser is written by hand, after the real one: Luau's grammar depends on line ends (a call's `(`
on a new line), on names that are keywords only in places (`type`, `export`, `continue`, `const`),
and on priorities that differ on an operator's two sides. The ready-made grammar, tree-sitter-luau,
has no generic functions, attributes, type functions or `typeof` types, accepts an if-expression
without `else`, and cannot say what it expected.

It is implemented in `luau.parsing`: `reader` describes the method; the modules above it read types,
functions, expressions and statements.

What the schema cannot represent is rewritten if something else has the same meaning at run time
(`x //= y`, fractional numbers), and otherwise left out (comments, attributes, what only the type
checker sees); both are listed in `ParseResult.losses`. With a version of Luau, `parse` returns a
tree with the extension fields of that version instead, and refuses newer syntax.

Differences of spelling are not listed: white space, `;`, the notation of a string or a number,
`f"x"` for `f("x")`, `T?` for `T | nil`, `{T}` for `{[number]: T}`, `["x"]: T` for `x: T`, redundant
parentheses in types. With a version of Luau, the tree does represent `f"x"` and `["x"]: T`.

The parser only checks the grammar. Other rules, such as `break` outside a loop, are checked by
`repair.check`.

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
    """The result of `parse`: the tree, the names of its indexes, and its losses.

    If several sources share a NameReader, `names` has all the names read so far.
    """

    tree: ModuleSet
    losses: tuple[Loss, ...]
    _reader: NameReader = attrs.field(repr=False, eq=False)
    _places: Places = attrs.field(factory=dict, repr=False, eq=False)

    @property
    def names(self) -> Names:
        """The tables of the tree's indexes."""
        return self._reader.names

    def place_of(self, path: Path) -> tuple[str, int, int]:
        """Return the source, line and column of the part of the tree at `path`.

        The source is `program` or `module`; lines and columns count from 1. Messages without a
        recorded position have that of the message around them. Requires `parse` with `places`.
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
    """Read a Luau program, and the module that it requires, if any.

    Bytes that are not UTF-8 become lone surrogates, as in ExprConstantString. Identifiers get the
    indexes that they have in `names`; others get new indexes after those. `ParseResult.names` has
    them all. With a NameReader, several sources share the new indexes.

    With `luau`, a version such as `0.711` or `today`, the tree has extension fields for what the
    schema's 57 messages cannot represent; then only comments and a few names are lost.

    With `places`, `ParseResult.place_of` returns the position of a part of the tree.

    Raises ParseError for a source that is not Luau, or is newer than `luau`; ValueError for an
    unknown version.
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
    """Return the block of a whole source."""
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
