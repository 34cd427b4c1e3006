"""Luau's operators: their texts, their priorities, and the parentheses that those need."""

from __future__ import annotations

from typing import Final

from scriptschema import messages as m
from scriptschema.base import Message

UNARY: Final = {m.ExprUnary.Op.Not: "not ", m.ExprUnary.Op.Minus: "-", m.ExprUnary.Op.Len: "#"}
"""The unary operators' texts."""

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
"""The binary operators' texts and their priorities towards the left and towards the right.

Source: Luau's grammar, https://luau.org/grammar; the right priority is lower where the operator
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
"""The texts of the compound assignments."""


def needs_parentheses(expression: Message, limit: int, after: int) -> bool:
    """Whether an expression needs parentheses in its place.

    `expression` is what an Expr holds. The place is given by the operators around it: `limit` is
    the right priority of the one before it and `after` the left priority of the one behind it, 0 if
    there is none. Two operands meet an operator that takes the higher priority; an if-else
    expression takes everything behind it.
    """
    if type(expression) is m.ExprBinary:  # not `match`, which is slow for an abstract class
        _, left, right = BINARY[expression.op]
        return left <= limit or after > right
    if type(expression) is m.ExprUnary:
        return after > UNARY_PRIORITY
    if type(expression) is m.ExprConstantNumber:
        return after > UNARY_PRIORITY and expression.val < 0
    return type(expression) is m.ExprIfElse and after > 0
