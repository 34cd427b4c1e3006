"""Determines which language features a program uses. This set is the construct of the program.

The construct identifies the bug that a reduced program shows. Nothing is left to remove or
simplify, so the bug needs every feature that the program still uses. Features that almost every
program has are left out: calls, blocks, variables, constants, `print`. So are flags that only
describe how something is written.

The construct of a source that is not valid Luau consists of its words.
"""

from __future__ import annotations

import re
from typing import Final

from scriptschema.base import walk
from scriptschema.codec.scanning import parts
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.corpora.features import library_names
from scriptschema.fuzzing.targets.base import Spelling
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.names import DEFAULT
from scriptschema.messages import (
    Expr,
    ExprBinary,
    ExprCall,
    ExprConstantBool,
    ExprConstantInteger,
    ExprConstantNil,
    ExprConstantNumber,
    ExprConstantString,
    ExprGlobal,
    ExprGroup,
    ExprUnary,
    ExprVarargs,
    LValue,
    ModuleSet,
    StatCompoundAssign,
    schema,
)
from scriptschema.versions import TODAY

VARARGS: Final = ExprVarargs.__name__

ANY: Final = "any "
"""Precedes the name of an operation that a bug does not need: it could be any other."""

ANY_WORD: Final = f"{ANY}word"
"""The construct of a source that is not valid Luau if its bug needs none of its words."""

SPELLING: Final = "Spelling"
"""The construct of a program whose bug needs a style. The features around it have no part in it."""

_PLAIN: Final = frozenset(
    [
        *("ModuleSet", "Stat", "StatBlock", "StatCall", "StatLocal", "StatAssign", "StatReturn"),
        *("LValue", "Expr", "ExprPrefix", "ExprGroup", "ExprCall", "ExprLocal", "ExprGlobal"),
        *("Local", "ExprIndexName", "ExprFunction", "Name", "ExprConstantNil", "ExprConstantBool"),
        *("ExprConstantNumber", "ExprConstantString"),
    ]
)


_STRING_METHODS: Final = frozenset(DEFAULT.libraries["string"])

_OWN_TAGS: Final = 1000
"""The first tag of fields that upstream's schema lacks. It has all flags that are not spellings."""

_KEYWORDS: Final = {"export": "Export", "is_exported": "Export", "is_const": "Const"}
"""The names in constructs of flags that several statements have, by field."""

_METHOD_CALL: Final = "ExprCall.self"
_ASSIGNED: Final = "StatCompoundAssign.Op."

_FLAGS: Final = {
    (label := f"{field.message}.{field.schema_name}"): _KEYWORDS.get(field.name, label)
    for fields in schema(TODAY).fields.values()
    for field in fields.values()
    if field.type is bool and field.tag < _OWN_TAGS
}
"""The name in constructs of each flag, except `floor`, which is part of an operator."""

WORD: Final = re.compile(r"\w+|[^\w\s]")
"""A word of a source that is not valid Luau."""


def construct_of(tree: ModuleSet, spelling: Spelling = None) -> frozenset[str]:
    """Return the library members, statements, expressions and operators that a program uses.

    If `spelling` is a source that is not valid Luau, return its words.
    """
    if isinstance(spelling, str):
        return words_of(spelling)
    scan = encoding.scan(ModuleSet, encoding.encode(tree))
    used = set(library_names(scan)) - {"print", *DEFAULT.libraries}
    known = parts(schema(scan.luau))
    for number in set(scan.parts):
        used.update(name for name in known[number].messages if name not in _PLAIN)
        used.update(known[number].values)
        used.add(_FLAGS.get(known[number].feature or "", ""))
    used -= {name.rpartition(".Op.")[0] for name in used if ".Op." in name}
    used -= {"", _METHOD_CALL, *(name for name in used if name.startswith(_ASSIGNED))}
    assigned: set[str] = set()
    alternatives: set[str] = set()  # the first operand of each `or`
    for node, _ in walk(tree):
        match node:
            case LValue(global_=ExprGlobal()):
                assigned.add(DEFAULT.global_(node.alternative.name))
            case ExprBinary(op=ExprBinary.Op.Or):
                is_hidden = node.left.which == "global_" and node.right.which != "global_"
                alternatives.add(DEFAULT.global_(node.left.alternative.name) if is_hidden else "")
            case ExprCall() if node.self_:
                method = node.func.index_name
                name = "" if method is None else DEFAULT.field(method.index)
                # `("a"):rep(2)` is a call of `string.rep`
                used.add(f"string.{name}" if name in _STRING_METHODS else _METHOD_CALL)
            case StatCompoundAssign():
                used.add(operator_of(node))
    # A reduced program hides 1 from the compiler with `x0 or 1`, where `x0` is not set.
    # If the program has no other feature, the bug may be one of `or`.
    if alternatives.isdisjoint([*assigned, *DEFAULT.globals, ""]):
        used = used - {f"{ExprBinary.__name__}.Op.{ExprBinary.Op.Or.name}"} or used
    return frozenset(used)


def words_of(text: str) -> frozenset[str]:
    """Return the words of a source that is not valid Luau."""
    return frozenset(map(without_number, WORD.findall(text)))


def operator_of(node: ExprUnary | ExprBinary | StatCompoundAssign) -> str:
    """Return the name of a node's operator, such as `ExprBinary.Op.Add`."""
    is_floor = isinstance(node, StatCompoundAssign) and node.floor
    return f"{node.__class__.__name__}.Op.{'FloorDiv' if is_floor else node.op.name}"


def without_number(word: str) -> str:
    """Return a word with 0 in place of the digits at its start."""
    return re.sub(r"^\d+", "0", word)


def text_of(construct: frozenset[str]) -> str:
    """Return a construct as a string for a signature, with library members first."""
    return ", ".join(sorted(construct, key=lambda name: (not is_member(name), name)))


def from_text(text: str) -> frozenset[str]:
    """Return the construct that `text_of` converted to a string."""
    return frozenset(text.split(", ")) if text else frozenset()


def is_member(feature: str) -> bool:
    """Return whether a feature is a global or a library member."""
    return feature[0].islower()


def contains(construct: frozenset[str], other: frozenset[str]) -> bool:
    """Return whether `construct` contains `other`.

    The empty construct is contained only in itself.
    """
    return other <= construct if other else not construct


def is_same_bug(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether programs with these constructs may show the same bug.

    They may if one construct contains the other.
    """
    return contains(first, second) or contains(second, first)


def operations_of(tree: ModuleSet) -> frozenset[str]:
    """Return the operations that may cause a program's bug: operators and library members.

    Operations that only provide or pass on values are left out unless there are no others. In that
    case, the first of these groups that the program uses is returned:

    - functions such as `unpack`;
    - operators that are applied only to constants, as in `0 / 0`;
    - unary minus, constants such as `vector.zero`, and functions such as `pcall`.

    Operations that are usually implemented together share a name, such as `+` and `+=`, `<` and
    `>`, or `bit32.extract` and `bit32.replace`.
    """
    used = {name for name in construct_of(tree) if ".Op." in name or is_member(name)}
    used -= _LIBRARIES
    folded = _operators_of_constants(tree)
    named = (
        used - _CARRIERS - _PASSING - folded
        or used - _CARRIERS - folded
        or used - _CARRIERS
        or used
    )
    return frozenset(map(alike, named))


def alike(name: str) -> str:
    """Return the name that an operation shares with similar ones (see `operations_of`)."""
    return _ALIKE.get(name, name).replace("StatCompoundAssign.", "ExprBinary.")


def _operators_of_constants(tree: ModuleSet) -> set[str]:
    folded: set[str] = set()
    others: set[str] = set()
    constant: set[int] = set()
    for node, _ in reversed([*walk(tree)]):  # operands before their operators
        match node:
            case Expr():
                is_constant = id(node.alternative) in constant
            case ExprGroup():
                is_constant = id(node.expr) in constant
            case ExprUnary():
                is_constant = id(node.expr) in constant
                (folded if is_constant else others).add(operator_of(node))
            case ExprBinary():
                is_constant = {id(node.left), id(node.right)} <= constant
                (folded if is_constant else others).add(operator_of(node))
            case _:
                is_constant = isinstance(node, _CONSTANTS)
        if is_constant:
            constant.add(id(node))
    return folded - others


_CONSTANTS: Final = (
    *(ExprConstantNil, ExprConstantBool, ExprConstantNumber, ExprConstantInteger),
    ExprConstantString,
)
_LIBRARIES: Final = frozenset(signature.library for signature in SIGNATURES)
_FAMILIES: Final = (
    "ExprBinary.Op.CompareLt ExprBinary.Op.CompareGt",
    "ExprBinary.Op.CompareLe ExprBinary.Op.CompareGe",
    "ExprBinary.Op.CompareEq ExprBinary.Op.CompareNe",
    "ExprBinary.Op.And ExprBinary.Op.Or",
    "unpack table.unpack",
    *(
        " ".join(f"buffer.{name}{kind}" for name in ("read", "write") for kind in kinds.split())
        for kinds in ("i8 u8", "i16 u16", "i32 u32", "f32", "f64", "integer", "bits", "string")
    ),
    *(
        " ".join(f"{library}.{name}" for name in names.split())
        for libraries, names in (
            (("math", "vector", "integer"), "min max clamp"),
            (("bit32", "integer"), "extract replace"),
            (("bit32", "integer"), "band bor bxor"),
            (("bit32", "integer"), "lshift rshift arshift lrotate rrotate"),
        )
        for library in libraries
    ),
)
_ALIKE: Final = {name: first for first, *rest in map(str.split, _FAMILIES) for name in rest}
_PASSING: Final = frozenset(
    [
        *("select", "tostring", "tonumber", "ipairs", "pairs", "next"),
        *("unpack", "table.unpack", "table.pack"),
        *("buffer.create", "buffer.fromstring", "vector.create"),
    ]
)
"""Functions that usually only create values or pass them on."""

_CARRIERS: Final = frozenset(
    [
        *("pcall", "xpcall", "error", "assert", "setmetatable", "getfenv"),
        *("coroutine.create", "coroutine.wrap", "coroutine.resume", "coroutine.yield"),
        "ExprUnary.Op.Minus",
        *(f"{field.library}.{field.name}" for field in SIGNATURES if field.parameters is None),
    ]
)
"""Operations that remain in reduced programs although they are rarely faulty."""
