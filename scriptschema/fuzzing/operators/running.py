"""Rules for mutations that keep programs running: which parts can be replaced, and how.

If an operator respects these rules, most programs still run to completion after the mutation.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.fuzzing.context import NUMBERS, Context, taken_by
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.operators.mutation import CLOSED, Mutation
from scriptschema.luau.names import DEFAULT

_BY_KIND: Final = frozenset(["number", "integer", "string", "boolean"])
ORDERLESS: Final = frozenset(["block", "if_", "call", "for_", "for_in"])
"""Statements that can be reordered. Functions and assignments are not included, because later
statements may depend on them."""

FAMILIES: Final[Sequence[Sequence[IntEnum]]] = (
    (m.ExprBinary.Op.Add, m.ExprBinary.Op.Sub, m.ExprBinary.Op.Mul),
    (m.ExprBinary.Op.Div, m.ExprBinary.Op.FloorDiv, m.ExprBinary.Op.Mod, m.ExprBinary.Op.Pow),
    (
        *(m.ExprBinary.Op.CompareEq, m.ExprBinary.Op.CompareNe, m.ExprBinary.Op.CompareLt),
        *(m.ExprBinary.Op.CompareLe, m.ExprBinary.Op.CompareGt, m.ExprBinary.Op.CompareGe),
    ),
)
"""Groups of operators that are interchangeable if both operands are numbers."""


def removable(mut: Mutation, number: int, context: Context) -> bool:
    """Return whether a statement declares nothing and is not needed to end a loop."""
    node: Any = mut.index.nodes[number]
    if node.which not in CLOSED or node.which == "function" or jumps(mut.index, number):
        return False
    if context.repeats:
        return bool(node.which == "call")
    return node.which not in ("assign", "compound_assign") or not mut.below(8)


def replaceable(mut: Mutation, number: int, context: Context) -> str | None:
    """Return the kind of expression that can replace an expression, or None if no kind can.

    For an integer argument, this is `number` if the called library member accepts any number there.
    """
    if context.condition or context.repeats or is_delicate(mut, number):
        return None
    kind = mut.kind(number, context)
    if kind in NUMBERS and _taken_at(mut, number) == "number":
        return "number"
    return kind if kind in _BY_KIND else None


def _taken_at(mut: Mutation, number: int) -> str | None:
    name, position = mut.index.step(number)
    call: Any = mut.index.nodes[mut.index.parents[number]]
    if position is None or name != "args" or not isinstance(call, m.ExprCall):
        return None
    return taken_by(call, position)


def is_operand(mut: Mutation, number: int) -> bool:
    """Return whether a constant is an operand of a binary operation."""
    above = mut.index.parents[mut.index.parents[number]]
    return isinstance(mut.index.nodes[above], m.ExprBinary)


def is_delicate(mut: Mutation, number: int) -> bool:
    """Return whether an expression is used where a value of the right kind may not suffice.

    Examples are loop bounds, keys, conditions, and arguments of calls that may not accept every
    value of a kind.
    """
    while number > 0:
        name, position = mut.index.step(number)
        number = mut.index.parents[number]
        node: Any = mut.index.nodes[number]
        if isinstance(node, m.Stat | m.StatBlock | m.ExprFunction):
            return False
        if name in ("from_", "to", "step", "index", "key_expr", "cond"):
            return True
        if isinstance(node, m.ExprCall) and name == "args":
            func: Any = node.func.alternative
            if node.func.which == "global_" and func.name.builtin in _TAKE_ALL:
                return False
            if not taken_by(node, position or 0):
                return True
    return False


_TAKE_ALL: Final = frozenset(map(DEFAULT.globals.index, ("print", "type", "typeof", "tostring")))
"""The global functions that accept any value."""


def jumps(index: Index[Any], number: int) -> bool:
    """Return whether a part contains `return`, `break`, `continue` or `...`."""
    part = index.nodes[number : number + index.size(number)]
    return not _JUMPS.isdisjoint(map(type, part))


_JUMPS: Final = frozenset([m.StatReturn, m.StatBreak, m.StatContinue, m.ExprVarargs])
