"""Luau's operators: their notation, their precedence, and where they require parentheses.

Precedence is given as priorities, as in Luau's parser. An operator with a higher priority binds
more tightly.
"""

from __future__ import annotations

import math
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message

UNARY: Final = {m.ExprUnary.Op.Not: "not ", m.ExprUnary.Op.Minus: "-", m.ExprUnary.Op.Len: "#"}
"""The unary operators as they are written in Luau."""

UNARY_PRIORITY: Final = 8

BINARY: Final = {
    m.ExprBinary.Op.Add: ("+", 6, 6),
    m.ExprBinary.Op.Sub: ("-", 6, 6),
    m.ExprBinary.Op.Mul: ("*", 7, 7),
    m.ExprBinary.Op.Div: ("/", 7, 7),
    m.ExprBinary.Op.FloorDiv: ("//", 7, 7),
    m.ExprBinary.Op.Mod: ("%", 7, 7),
    m.ExprBinary.Op.Pow: ("^", 10, 9),
    m.ExprBinary.Op.Concat: ("..", 5, 4),
    m.ExprBinary.Op.CompareNe: ("~=", 3, 3),
    m.ExprBinary.Op.CompareEq: ("==", 3, 3),
    m.ExprBinary.Op.CompareLt: ("<", 3, 3),
    m.ExprBinary.Op.CompareLe: ("<=", 3, 3),
    m.ExprBinary.Op.CompareGt: (">", 3, 3),
    m.ExprBinary.Op.CompareGe: (">=", 3, 3),
    m.ExprBinary.Op.And: ("and", 2, 2),
    m.ExprBinary.Op.Or: ("or", 1, 1),
}
"""The binary operators as they are written in Luau, with their left and right priorities.

Source: Luau's grammar, https://luau.org/grammar. The right priority is lower if the operator
associates to the right.
"""

COMPOUND: Final = {
    m.StatCompoundAssign.Op.Add: "+=",
    m.StatCompoundAssign.Op.Sub: "-=",
    m.StatCompoundAssign.Op.Mul: "*=",
    m.StatCompoundAssign.Op.Div: "/=",
    m.StatCompoundAssign.Op.Mod: "%=",
    m.StatCompoundAssign.Op.Pow: "^=",
    m.StatCompoundAssign.Op.Concat: "..=",
}
"""The compound assignment operators as they are written in Luau."""

CAST_PRIORITY: Final = 11
"""The priority of a cast, which applies only to the operand before the `::`."""


def is_negative(expression: Message | None) -> bool:
    """Return whether an expression is a number constant that is written with a minus sign."""
    if type(expression) is m.ExprConstantNumber:
        if expression.double is not None:
            return math.copysign(1, expression.double) < 0 and not math.isnan(expression.double)
        return expression.val < 0
    return False


def needs_parentheses(expression: Message, limit: int, after: int) -> bool:
    """Return whether an operand needs parentheses between its neighbouring operators.

    `expression` is the message in an Expr, such as an ExprBinary. `limit` is the right priority of
    the operator before it, and `after` the left priority of the operator after it (0 if there is no
    operator). An operand belongs to the operator with the higher priority. An if-else expression
    extends as far to the right as possible.
    """
    if type(expression) is m.ExprBinary:  # not `match`, which is slow for an abstract class
        _, left, right = BINARY[expression.op]
        return left <= limit or after > right
    if type(expression) is m.ExprUnary:
        return after > UNARY_PRIORITY
    if type(expression) is m.ExprCast:
        return after >= CAST_PRIORITY
    if type(expression) is m.ExprIfElse:
        return after > 0
    return after > UNARY_PRIORITY and is_negative(expression)


def takes_less(expression: m.Expr) -> bool:
    """Return whether Luau would read `<` after the operand as the start of type arguments.

    An example is `x :: T`, which ends in the name of a type.
    """
    node: Any = expression.alternative
    limit = 0
    while not needs_parentheses(node, limit, _LESS):
        if type(node) is m.ExprBinary:
            limit = BINARY[node.op][2]
            node = node.right.alternative
        elif type(node) is m.ExprUnary:
            limit = UNARY_PRIORITY
            node = node.expr.alternative
        else:
            return type(node) is m.ExprCast and _ends_in_name(node.type)
    return False


def _ends_in_name(node: m.Type) -> bool:
    while True:
        if node.which in ("union", "intersection"):
            node = node.alternative.right
        elif node.which == "function":
            results, tail = node.alternative.rets, node.alternative.rettail
            if len(results) == 1 and tail is None:
                node = results[0]
            elif not results and tail is not None and tail.variadic is not None:
                node = tail.variadic
            else:
                return False
        else:
            return node.which in ("primitive", "literal", "class_", "ref")


_LESS: Final = BINARY[m.ExprBinary.Op.CompareLt][1]
