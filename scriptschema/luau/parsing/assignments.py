"""Reads assignment targets and compound assignments, including those that the schema lacks."""

from __future__ import annotations

import copy
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.luau.operators import COMPOUND
from scriptschema.luau.parsing.expressions import as_expr, read_expression
from scriptschema.luau.parsing.reader import Reader, Reading

COMPOUNDS: Final = {text: op for op, text in COMPOUND.items()} | {"//=": None}  # not in the schema
_SIMPLE: Final = ("local", "number", "string", "bool")  # keys that can be evaluated twice
_LVALUE: Final = {field.type: name for name, field in m.LValue.FIELDS.items()}


def as_lvalue(node: Any) -> m.LValue:
    """Return a variable or a field as an LValue, the target of an assignment."""
    return m.LValue(**{_LVALUE[type(node)]: node})


def as_assignable(r: Reader, node: Any, start: int) -> m.LValue:
    """Return an expression as an assignment target. `start` is the index of its first token.

    Raises ParseError if the expression cannot be assigned to.
    """
    if type(node) not in _LVALUE:
        r.fail("an assignment target (a variable or a field)", start)
    return as_lvalue(node)


def read_compound_assignment(r: Reader, target: m.LValue, start: int) -> Reading:
    """Read an operator like `+=` and the value after it. Return the statement.

    `start` is the index of the target's first token.
    """
    sign = r.index
    op = COMPOUNDS[r.take()]
    value = yield read_expression(r)
    if op is not None:
        return m.Stat(compound_assign=m.StatCompoundAssign(op=op, var=target, value=value))
    if r.extended:
        op = m.StatCompoundAssign.Op.Div
        stat = m.StatCompoundAssign(op=op, var=target, value=value, floor=True)
        return m.Stat(compound_assign=stat)
    return _floor_division(r, target, value, start, sign)


def _floor_division(r: Reader, target: m.LValue, value: m.Expr, start: int, sign: int) -> m.Stat:
    """Return a statement equivalent to `target //= value`, which the schema lacks."""
    how = "`x = x // y`"
    before: list[m.Stat] = []
    node: Any = target.alternative
    if target.which in ("index_name", "index_expr"):
        # The expression before the last field, and the key, must be evaluated only once.
        prefix = node.expr
        simple_key = target.which == "index_name" or node.index.which in _SIMPLE
        # Luau reads a global and an upvalue before the key, but any other local after it.
        is_read_late = prefix.which == "local" and not r.is_upvalue(r.texts[start])
        is_variable = prefix.which in ("local", "global_")
        if not (is_read_late or (is_variable and simple_key)):
            prefix = m.ExprPrefix(
                local=_new_local(r, before, "object", as_expr(prefix.alternative))
            )
        if target.which == "index_name":
            node = m.ExprIndexName(expr=prefix, index=node.index)
        else:
            key = node.index
            if not simple_key:
                key = m.Expr(local=_new_local(r, before, "key", key))
            node = m.ExprIndexExpr(expr=prefix, index=key)
    again = as_expr(copy.deepcopy(node))
    quotient = m.Expr(binary=m.ExprBinary(op=m.ExprBinary.Op.FloorDiv, left=again, right=value))
    target = as_lvalue(node)
    assign = m.Stat(assign=m.StatAssign(vars=[target], values=[quotient]))
    if before:
        how += " with `x` held in local variables"
        assign = m.Stat(block=m.StatBlock(body=[*before, assign]))
    r.lose(sign, "`//=`", how)
    return assign


def _new_local(r: Reader, before: list[m.Stat], name: str, value: m.Expr) -> m.ExprLocal:
    while name in r.identifiers:
        name += "_"
    index = r.names.local(name)
    before.append(m.Stat(local=m.StatLocal(vars=[m.Local(name=index)], values=[value])))
    return m.ExprLocal(var=m.Local(name=index))
