"""What a program uses: by this, reduced programs of one bug are known from those of another.

A program is reduced until nothing can be taken out or made simpler, so that what it still uses, the
bug needs. Left out is what any program has: calls, blocks, variables, constants, `print`.
"""

from __future__ import annotations

from typing import Final

from scriptschema import wire
from scriptschema.codec.scanning import parts
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.luau.names import DEFAULT
from scriptschema.messages import ModuleSet

_PLAIN: Final = frozenset(
    [
        *("ModuleSet", "Stat", "StatBlock", "StatCall", "StatLocal", "StatReturn", "LValue"),
        *("Expr", "ExprPrefix", "ExprGroup", "ExprCall", "ExprLocal", "ExprGlobal", "Local"),
        *("ExprIndexName", "ExprFunction", "Name", "ExprConstantNil", "ExprConstantBool"),
        *("ExprConstantNumber", "ExprConstantString"),
    ]
)


def construct_of(tree: ModuleSet) -> frozenset[str]:
    """What a program uses: library members, statements, expressions and operators."""
    scan = wire.scan(ModuleSet, wire.encode(tree))
    found = set(library_names(scan)) - {"print", *DEFAULT.libraries}
    known = parts()
    for number in set(scan.parts):
        found.update(name for name in known[number].messages if name not in _PLAIN)
        found.update(known[number].values)
    found -= {name.rpartition(".Op.")[0] for name in found if ".Op." in name}
    return frozenset(found)


def text_of(construct: frozenset[str]) -> str:
    """A construct as a signature has it: library members first, without the schema's prefixes."""
    return ", ".join(sorted(construct, key=lambda name: (name[0].isupper(), name)))


def is_same_bug(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two reduced programs with the same verdict can be of one bug: one uses no more."""
    if not one or not other:
        return one == other
    return one <= other or other <= one
