"""The construct of a program: the language features it uses, which identify the bug it shows.

A reduced program has nothing left to remove or simplify, so the bug needs every feature that it
still uses. Features of almost any program are left out: calls, blocks, variables, constants,
`print`.
"""

from __future__ import annotations

from typing import Final

from scriptschema.codec.scanning import parts
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.luau.names import DEFAULT
from scriptschema.messages import ModuleSet, schema

_PLAIN: Final = frozenset(
    [
        *("ModuleSet", "Stat", "StatBlock", "StatCall", "StatLocal", "StatReturn", "LValue"),
        *("Expr", "ExprPrefix", "ExprGroup", "ExprCall", "ExprLocal", "ExprGlobal", "Local"),
        *("ExprIndexName", "ExprFunction", "Name", "ExprConstantNil", "ExprConstantBool"),
        *("ExprConstantNumber", "ExprConstantString"),
    ]
)


def construct_of(tree: ModuleSet) -> frozenset[str]:
    """Return the library members, statements, expressions and operators that a program uses."""
    scan = encoding.scan(ModuleSet, encoding.encode(tree))
    found = set(library_names(scan)) - {"print", *DEFAULT.libraries}
    known = parts(schema(scan.luau))
    for number in set(scan.parts):
        found.update(name for name in known[number].messages if name not in _PLAIN)
        found.update(known[number].values)
    found -= {name.rpartition(".Op.")[0] for name in found if ".Op." in name}
    return frozenset(found)


def text_of(construct: frozenset[str]) -> str:
    """Format a construct for a signature: library members first, without the schema's prefixes."""
    return ", ".join(sorted(construct, key=lambda name: (name[0].isupper(), name)))


def is_same_bug(one: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether two reduced programs may show the same bug: a construct has the other."""
    if not one or not other:
        return one == other
    return one <= other or other <= one
