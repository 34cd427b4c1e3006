"""Luau's operators: their texts, their priorities, and the parentheses that those need."""

from __future__ import annotations

from typing import Final

from scriptschema.base import Message
from scriptschema.messages import (
    ExprBinary,
    ExprConstantNumber,
    ExprIfElse,
    ExprUnary,
    StatCompoundAssign,
)

UNARY: Final = {ExprUnary.Op.Not: "not ", ExprUnary.Op.Minus: "-", ExprUnary.Op.Len: "#"}
"""The unary operators' texts."""

UNARY_PRIORITY: Final = 8

BINARY: Final = {
    ExprBinary.Op.Add: ("+", 6, 6),
    ExprBinary.Op.Sub: ("-", 6, 6),
    ExprBinary.Op.Mul: ("*", 7, 7),
    ExprBinary.Op.Div: ("/", 7, 7),
    ExprBinary.Op.FloorDiv: ("//", 7, 7),
    ExprBinary.Op.Mod: ("%", 7, 7),
    ExprBinary.Op.Pow: ("^", 10, 9),
    ExprBinary.Op.Concat: ("..", 5, 4),
    ExprBinary.Op.CompareNe: ("~=", 3, 3),
    ExprBinary.Op.CompareEq: ("==", 3, 3),
    ExprBinary.Op.CompareLt: ("<", 3, 3),
    ExprBinary.Op.CompareLe: ("<=", 3, 3),
    ExprBinary.Op.CompareGt: (">", 3, 3),
    ExprBinary.Op.CompareGe: (">=", 3, 3),
    ExprBinary.Op.And: ("and", 2, 2),
    ExprBinary.Op.Or: ("or", 1, 1),
}
"""The binary operators' texts and their priorities towards the left and towards the right.

Source: Luau's grammar, https://luau.org/grammar; the right priority is lower where the operator
associates to the right.
"""

COMPOUND: Final = {
    StatCompoundAssign.Op.Add: "+=",
    StatCompoundAssign.Op.Sub: "-=",
    StatCompoundAssign.Op.Mul: "*=",
    StatCompoundAssign.Op.Div: "/=",
    StatCompoundAssign.Op.Mod: "%=",
    StatCompoundAssign.Op.Pow: "^=",
    StatCompoundAssign.Op.Concat: "..=",
}
"""The texts of the compound assignments."""


def needs_parentheses(expression: Message, limit: int, after: int) -> bool:
    """Whether an expression needs parentheses in its place.

    `expression` is what an Expr holds. The place is told by the operators around: `limit` is the
    right priority of the one before it and `after` the left priority of the one behind it, 0 if
    there is none. Two operands meet an operator that takes the higher priority; an if-else
    expression takes everything behind it.
    """
    if type(expression) is ExprBinary:  # not `match`, which is slow for an abstract class
        _, left, right = BINARY[expression.op]
        return left <= limit or after > right
    if type(expression) is ExprUnary:
        return after > UNARY_PRIORITY
    if type(expression) is ExprConstantNumber:
        return after > UNARY_PRIORITY and expression.val < 0
    return type(expression) is ExprIfElse and after > 0
