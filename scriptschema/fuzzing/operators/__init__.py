"""The mutation operators, each a small function, and their table.

An operator applies to messages of certain classes. It is called with a mutation (`mutation.py`) and
the number of such a message, and returns whether it changed something. If the program should still
run, the operator respects kinds and scopes, and does not change code that ends loops. Otherwise,
any result that the schema allows is acceptable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import attrs

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.fuzzing.operators import fields, lists, parts
from scriptschema.fuzzing.operators.mutation import Mutation

Edit = Callable[[Mutation, int], bool]


@attrs.frozen
class Operator:
    """A mutation operator, with its weight and description, and the classes that it applies to.

    `grows` is 1 if mutants tend to be larger than their parents, -1 if smaller, otherwise 0.
    """

    name: str
    weight: float
    classes: Sequence[type[Message]]
    edit: Edit
    what: str
    grows: int = 0


# The table

_PARTS: Final = (m.Expr, m.Stat, m.Type)
_ITEMS: Final = tuple(  # not from a set, whose order differs between processes
    dict.fromkeys(
        f.type for cls in m.MESSAGES.values() for f in cls.FIELDS.values() if f.rule == "repeated"
    )
)
_LISTS: Final = tuple(
    cls for cls in m.MESSAGES.values() if any(f.rule == "repeated" for f in cls.FIELDS.values())
)
_OPTIONAL: Final = (m.StatIf, m.StatFor, m.TypeTable, m.ModuleSet, m.TableItem)

OPERATORS: Final[Sequence[Operator]] = (
    Operator("replace", 10, _PARTS, parts.replace, "a generated part in place of another"),
    Operator("move", 5, _PARTS, parts.move, "a copy of another part of the tree"),
    Operator("cross", 8, _PARTS, parts.cross, "a copy of a part of a donor tree"),
    Operator(
        "insert", 8, (m.StatBlock, m.StatBlock, *_LISTS), lists.insert, "a new item in a list", 1,
    ),
    Operator(
        "delete", 6, (m.Stat, m.Stat, *_ITEMS), lists.delete,
        "a list without one of its items", -1,
    ),
    Operator("duplicate", 3, (m.Stat, m.Stat, *_ITEMS), lists.duplicate, "an item duplicated", 1),
    Operator("swap", 2, (m.Stat, m.Stat, *_ITEMS), lists.swap, "two items swapped"),
    Operator("shuffle", 1, (m.StatBlock,), lists.shuffle, "a block's statements in another order"),
    Operator(
        "hoist", 4, _PARTS, parts.hoist, "a part in place of a larger part that contains it", -1,
    ),
    Operator(
        "wrap", 4, (m.Stat, m.Expr), parts.wrap,
        "a part wrapped in a call, loop, branch, function or group", 1,
    ),
    Operator(
        "unwrap", 2, (m.Stat,), parts.unwrap,
        "a statement in place of the function, coroutine or loop that contains it", -1,
    ),
    Operator("variable", 4, (m.Expr,), parts.use_variable, "a variable in place of another value"),
    Operator("print", 1.5, (m.Stat,), parts.show, "a value printed where it is computed", 1),
    Operator("recurse", 2, _PARTS, parts.recurse, "copies of a part nested inside one another", 1),
    Operator(
        "operator", 4, (m.ExprBinary, m.ExprUnary, m.StatCompoundAssign), fields.change_operator,
        "another operator",
    ),
    Operator("number", 6, (m.ExprConstantNumber,), fields.change_number, "another number"),
    Operator("string", 4, (m.ExprConstantString,), fields.change_string, "another string"),
    Operator("flag", 1, (m.ExprConstantBool,), fields.change_flag, "the opposite boolean"),
    Operator(
        "name", 5, (m.ExprLocal, m.Name, m.Typename, m.Local), fields.change_name, "another name",
    ),
    Operator(
        "type", 3, (m.Type, m.StatLocal, m.ExprFunction), fields.change_type,
        "another type annotation",
    ),
    Operator("optional", 3, _OPTIONAL, fields.change_optional, "an optional field set or cleared"),
)  # fmt: skip
"""All mutation operators with their initial weights."""
