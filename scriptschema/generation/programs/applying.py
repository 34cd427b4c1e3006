"""Builds expressions that apply an operation to operands, and expressions for printing results."""

from __future__ import annotations

from scriptschema import messages as m
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.axes import Operation
from scriptschema.generation.programs.calls import PRINTABLE
from scriptschema.generation.programs.nodes import MAKE


def applied(
    operation: Operation,
    operands: list[m.Expr],
    function: m.ExprPrefix | None = None,
    *,
    as_method: bool = False,
) -> m.Expr:
    """Return an expression that applies `operation` to `operands`.

    If `function` is given, the expression calls it instead of naming the library member. If
    `as_method` is true, a member of `string` is called as a method, as in `operand:rep(2)`.
    """
    if function is not None:
        return nodes.call(function, operands)
    operator, name = operation.operator, operation.name
    if isinstance(operator, m.ExprBinary.Op):
        return nodes.expr("binary", MAKE[m.ExprBinary](operator, *operands))
    if isinstance(operator, m.ExprUnary.Op):
        [operand] = operands
        if operand.which == "number":  # a minus would make it another constant
            operand = nodes.group(operand)
        return nodes.expr("unary", MAKE[m.ExprUnary](operator, operand))
    if name in ("[]", "__index"):
        return nodes.index(nodes.as_prefix(operands[0]), operands[1])
    if name == "ExprInterpString":
        values = [nodes.group(each) if each.which == "string" else each for each in operands]
        parts = [values[0], nodes.string(" "), *values[1:]]
        return nodes.expr("interpstring", MAKE[m.ExprInterpString](parts))
    if name == "__call":
        return nodes.call(nodes.as_prefix(operands[0]), operands[1:])
    if name == "__index method":
        return nodes.call_method(operands[0], nodes.custom(0), operands[1:])
    if name == "__tostring":
        return nodes.call_builtin("tostring", *operands)
    library, _, member = name.rpartition(".")
    if as_method:
        return nodes.call_method(operands[0], nodes.method(member), operands[1:])
    return nodes.call_member(library, member, *operands)


def is_printable(operation: Operation) -> bool:
    """Return whether each result of an operation is printed as the same text in every run."""
    return "varies" not in operation.marks and PRINTABLE.issuperset(operation.results)


def printable(operation: Operation, value: m.Expr) -> m.Expr:
    """Return an expression for printing `value`, the result of an operation.

    Arrays are joined, and buffers are represented by their lengths. Any result whose text may
    differ between runs is represented by its type.
    """
    results = operation.results
    if is_printable(operation):
        return value
    if "varies" not in operation.marks:
        if results in (("array",), ("strings",)):
            return nodes.call_member("table", "concat", value, nodes.string(","))
        if results == ("buffer",):
            return nodes.call_member("buffer", "len", value)
    return nodes.call_builtin("type", nodes.group(value))
