"""The weights of alternatives in random trees, and how nodes are distributed among fields.

Users may override `WEIGHTS`. `SHARES` divides a message's spare nodes among its fields, and
`LENGTHS` determines the lengths of lists. These and the other tables make trees look like programs.
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeAlias

from scriptschema.base import UNSET, short
from scriptschema.messages import MESSAGES

Weights = Mapping[str, Mapping[str, float]]

Changes: TypeAlias = tuple[tuple[str, tuple[tuple[str, float], ...]], ...]
"""Weights as tuples, which can be keys of a cache."""


class WeightsError(ValueError):
    """Raised if weights have names that are not in the schema, or if no finite tree is possible."""


WEIGHTS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "Expr": {
            "nil": 5,
            "bool": 5,
            "number": 12,
            "string": 9,
            "varargs": 3,
            "local": 14,
            "global": 9,
            "group": 4,
            "call": 14,
            "index_name": 9,
            "index_expr": 5,
            "unary": 6,
            "function": 6,
            "table": 8,
            "binary": 14,
            "ifelse": 4,
            "interpstring": 4,
        },
        "ExprPrefix": {
            "local": 12,
            "global": 12,
            "index_name": 6,
            "call": 5,
            "index_expr": 3,
            "group": 3,
        },
        "LValue": {"local": 8, "global": 5, "index_name": 4, "index_expr": 4},
        "Name": {"builtin": 3, "custom": 2},
        "TableItem": {UNSET: 4, "key_name": 4, "key_expr": 2},
        "ExprIfElse": {UNSET: 1, "else": 12, "elseif": 3},
        "Stat": {
            "break": 3,
            "continue": 3,
            "return": 6,
            "block": 3,
            "call": 14,
            "local": 16,
            "assign": 9,
            "compound_assign": 6,
            "if": 9,
            "while": 4,
            "repeat": 3,
            "for": 6,
            "for_in": 6,
            "function": 5,
            "local_function": 7,
            "type_alias": 4,
            "require_into_local": 2,
        },
        "StatIf": {UNSET: 5, "else": 4, "elseif": 2},
        "Type": {
            "primitive": 14,
            "boolean": 3,
            "string": 3,
            "literal": 6,
            "class": 4,
            "ref": 4,
            "table": 6,
            "function": 5,
            "typeof": 3,
            "union": 5,
            "intersection": 3,
        },
    }
)
"""The weight of each alternative of each message's oneof, relative to the others.

The names are those in the schema. `unset` is the weight for leaving the oneof unset. An alternative
that is not listed has weight 0.
"""

NEWER_WEIGHTS: Final[Mapping[str, Mapping[str, int]]] = MappingProxyType(
    {
        "Expr": {"integer": 5, "cast": 4, "instantiate": 2},
        "ExprPrefix": {"instantiate": 1},
        "Stat": {"type_function": 2, "class": 1},
        "Type": {"omitted": 2},
        "TypePack": {"variadic": 3, "generic": 3, "list": 2},
        "TypeArgument": {"type": 3, "pack": 1},
        "ExprLiteral": {"nil": 1, "bool": 2, "number": 3, "string": 4, "table": 3},
        "ClassMember": {"prop": 1, "method": 1},
    }
)
"""The weights of alternatives that exist only if a Luau version is requested."""

# The shares of a message's spare budget that fields get, if not 1.
SHARES: Final = {
    "ModuleSet.program": 3,
    "ExprFunction.body": 12,
    "ExprCall.args": 3,
    "StatIf.then": 4,
    "StatIf.else": 3,
    "StatIf.elseif": 3,
    "StatWhile.body": 6,
    "StatRepeat.body": 6,
    "StatFor.body": 8,
    "StatForIn.body": 6,
    "StatFunction.func": 6,
    "StatLocal.values": 6,
    "StatAssign.values": 3,
}

# The lengths of lists: percentages for 0, 1, 2 ... items, if the budget allows. Larger budgets do
# not lengthen lists of names.
NAMES: Final = (40, 38, 14, 5, 3)
_GENERICS: Final = (85, 10, 5)
ITEMS: Final = (22, 30, 20, 10, 6, 4, 3, 2, 1, 1, 1)
_STATEMENTS: Final = (8, 14, 14, 12, 10, 8, 7, 6, 5, 4, 3, 2, 2, 1, 1, 1, 1, 1)
_AT_LEAST_ONE: Final = (3, 75, 14, 5, 3)

SIMPLEST: Final = {"Stat": ("return", "call"), "Expr": ("table", "call")}
"""The simplest alternatives that hold other messages. Shrinking tries to replace others with these.

`call` is second in both lists, so the same choice selects a call in a Stat and in an Expr. A call
therefore remains a call if shrinking moves its choices to another place.
"""

# Lists that a realistic program needs: if the generator aims at a size, they are seldom empty.
WANTED: Final = frozenset(
    {
        *("StatLocal.vars", "StatAssign.vars", "StatAssign.values", "StatForIn.vars"),
        *("StatForIn.values", "ExprInterpString.parts"),
    }
)

LENGTHS: Final = {
    "StatBlock.body": _STATEMENTS,
    **dict.fromkeys(WANTED, _AT_LEAST_ONE),
    **dict.fromkeys((f"{m}.generics" for m in MESSAGES if m != "TypeLiteral"), _GENERICS),
    **dict.fromkeys((f"{m}.genericpacks" for m in MESSAGES), _GENERICS),
}


def read_weights(weights: Weights | str | PathLike[str] | None) -> Weights:
    """Return the tables of weights, which can be in a TOML file. None means no tables.

    Raises WeightsError if the file is not valid TOML, and OSError if it cannot be read.
    """
    if weights is None:
        return {}
    if isinstance(weights, Mapping):
        return weights
    if not isinstance(weights, (str, PathLike)):
        raise WeightsError(
            f"weights must be tables, or the path of a TOML file, found {short.repr(weights)}"
        )
    import tomllib  # only here: few runs read a file, and tomllib is slow to import

    path = Path(weights)
    try:
        with path.open("rb") as file:
            table = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WeightsError(f"{path}: {error}") from None
    return table


def frozen(weights: Weights, what: str) -> Changes:
    """Return the weights as tuples. `what` says what the tables map to weights.

    Raises WeightsError for a table that is not a mapping, and for an invalid weight.
    """
    for title, table in weights.items():
        if not isinstance(table, Mapping):
            raise WeightsError(f"{title} must be a table of {what} and weights")
        for name, weight in table.items():
            # Sums of larger weights would no longer be exact.
            if not isinstance(weight, (int, float)) or not (weight == 0 or 1e-9 <= weight <= 1e9):
                rule = "a weight must be 0, or a number from 1e-9 to 1e9"
                raise WeightsError(f"{title}.{name}: {rule}, found {short.repr(weight)}")
    return tuple((title, tuple(table.items())) for title, table in weights.items())
