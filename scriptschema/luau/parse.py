"""Parses Luau source into a tree: `parse`.

The parser is written by hand. Luau's grammar depends on line breaks (a call's `(` on a new line),
on names that are keywords only in certain places (`type`, `export`, `continue`, `const`), and on
operators whose left and right priorities differ. The existing grammar, tree-sitter-luau, lacks
generic functions, attributes, type functions and `typeof` types. It accepts an if-expression
without `else`, and cannot report what it expected. The implementation is in `luau.parsing`.

Syntax that the schema cannot represent is rewritten if other syntax has the same meaning at run
time (`x //= y`, fractional numbers). Otherwise it is left out (comments, attributes, parts that
only the type checker uses). `ParseResult.losses` lists both cases. If a Luau version is given,
`parse` instead returns a tree with the extension fields of that version, and rejects newer syntax.

Differences in spelling are not listed: white space, `;`, the notation of a string or a number,
`f"x"` for `f("x")`, `T?` for `T | nil`, `{T}` for `{[number]: T}`, `["x"]: T` for `x: T`, redundant
parentheses in types. If a Luau version is given, the tree does represent `f"x"` and `["x"]: T`.

The parser only checks the grammar. `repair.check` checks other rules, such as `break` outside a
loop.

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
from scriptschema.luau.parsing.type_annotations import set_undeclared
from scriptschema.messages import ModuleSet, StatBlock
from scriptschema.versions import Version

__all__ = ["COMMENTS", "Loss", "ParseError", "ParseResult", "parse"]


@attrs.frozen
class ParseResult:
    """The result of `parse`: the tree, the names that its indexes refer to, and the losses.

    If several sources share a NameReader, `names` includes the names of all sources read so far.
    """

    tree: ModuleSet
    losses: tuple[Loss, ...]
    _reader: NameReader = attrs.field(repr=False, eq=False)
    _places: Places = attrs.field(factory=dict, repr=False, eq=False)

    @property
    def names(self) -> Names:
        """Return the tables of names that the tree's indexes refer to."""
        return self._reader.names

    def place_of(self, path: Path) -> tuple[str, int, int]:
        """Return the source (`program` or `module`), line and column of the message at `path`.

        Lines and columns are counted from 1. A message without a recorded position has that of its
        enclosing message. The positions are only recorded by `parse(..., places=True)`.
        """
        node: Any = self.tree
        position = ("program", 1, 1)
        for name, index in path.steps():
            node = getattr(node, name, None)
            if index is not None:
                node = node[index] if node and index < len(node) else None
            if id(node) in self._places:
                position = self._places[id(node)][1:]
        return position


def parse(
    source: str | bytes,
    *,
    module: str | bytes | None = None,
    names: Names | NameReader = DEFAULT,
    luau: str | Version | None = None,
    places: bool = False,
) -> ParseResult:
    """Return the tree of a Luau program and, if given, of the `module` that it requires.

    Bytes that are not UTF-8 become lone surrogates. `names` maps identifiers to indexes.
    Identifiers that it lacks get new indexes, and `ParseResult.names` contains all of them. Several
    sources can share the new indexes in a NameReader.

    If `luau` is a version such as `0.711` or `today`, the tree has extension fields for syntax that
    the schema's 57 messages cannot represent. Then only comments and a few names are lost. If
    `places` is true, `ParseResult.place_of` returns the position of a message.

    Raises ParseError for a source that is not Luau, or is newer than `luau`. Raises ValueError for
    an unknown version.
    """
    version = None if luau is None else Version.parse(luau)
    name_reader = NameReader(names, version) if isinstance(names, Names) else names
    losses: list[Loss] = []
    recorded: Places | None = {} if places else None

    def read(label: str, text: str | bytes) -> StatBlock:
        reader = Reader(
            *(label, text, name_reader, losses, version),
            expression=read_expression,
            block=read_block,
            places=recorded,
        )
        reader.open()
        block: StatBlock = reader.run(read_block(reader))
        if reader.kind != "eof":
            reader.fail("a statement or the end of the source")
        reader.shut()
        for name, undecided in reader.undecided.items():
            for _, type_ in undecided:
                set_undeclared(reader, name, type_)
        return block

    module_block = None if module is None else read("module", module)
    tree = ModuleSet(module=module_block, program=read("program", source))
    losses.sort(key=attrgetter("source", "line", "column"))
    return ParseResult(tree, tuple(losses), name_reader, recorded or {})
