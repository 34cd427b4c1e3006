"""The construct of a program: the language features it uses, which identify the bug it shows.

A reduced program has nothing left to remove or simplify, so the bug needs every feature that it
still uses. Features that almost every program has are left out: calls, blocks, variables,
constants, `print`.
"""

from __future__ import annotations

from typing import Final

from scriptschema.codec.scanning import parts
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.luau.library import SIGNATURES
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
    used = set(library_names(scan)) - {"print", *DEFAULT.libraries}
    known = parts(schema(scan.luau))
    for number in set(scan.parts):
        used.update(name for name in known[number].messages if name not in _PLAIN)
        used.update(known[number].values)
    used -= {name.rpartition(".Op.")[0] for name in used if ".Op." in name}
    return frozenset(used)


def text_of(construct: frozenset[str]) -> str:
    """Return a construct as a string for a signature, with library members first."""
    return ", ".join(sorted(construct, key=lambda name: (name[0].isupper(), name)))


def is_same_bug(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two programs may show the same bug: one construct contains the other."""
    if not first or not second:
        return first == second
    return first <= second or second <= first


def operations_of(construct: frozenset[str]) -> frozenset[str]:
    """Return the operators and library members of a construct that may be wrong.

    Operations that only provide or pass on values, such as `vector.zero`, a minus sign and `pcall`,
    are left out unless there are no other operations. Operations that are usually implemented
    together share a name: `+` and `+=`, `<` and `>`, shifts and rotations, or `bit32.extract` and
    `bit32.replace`.
    """
    used = (name for name in construct if ".Op." in name or name[0].islower())
    named = {_ALIKE.get(name, name).replace("StatCompoundAssign.", "ExprBinary.") for name in used}
    return frozenset(named - _CARRIERS or named)


_ALIKE: Final = {
    "ExprBinary.Op.CompareGt": "ExprBinary.Op.CompareLt",
    "ExprBinary.Op.CompareGe": "ExprBinary.Op.CompareLe",
    "ExprBinary.Op.CompareNe": "ExprBinary.Op.CompareEq",
    "bit32.replace": "bit32.extract",
    **dict.fromkeys(["bit32.bor", "bit32.bxor"], "bit32.band"),
    **dict.fromkeys(
        ["bit32.rshift", "bit32.arshift", "bit32.lrotate", "bit32.rrotate"], "bit32.lshift"
    ),
}
_CARRIERS: Final = frozenset(
    [
        *("pcall", "xpcall", "error", "assert", "select", "tostring", "tonumber", "setmetatable"),
        *("ipairs", "pairs", "next", "unpack", "table.unpack", "table.pack", "getfenv"),
        *("coroutine.create", "coroutine.wrap", "coroutine.resume", "coroutine.yield"),
        "ExprUnary.Op.Minus",
        *(f"{field.library}.{field.name}" for field in SIGNATURES if field.parameters is None),
    ]
)
