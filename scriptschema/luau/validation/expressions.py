"""Rules about expressions, including functions, and about the registers they need.

In all functions, `registers` is the number of registers that are already in use when the register
for the expression's value is allocated.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.luau.operators import (
    BINARY,
    CAST_PRIORITY,
    UNARY_PRIORITY,
    needs_parentheses,
    takes_less,
)
from scriptschema.luau.scope import MAX_LOCALS, MAX_REGISTERS
from scriptschema.luau.validation.attributes import visit_attributes
from scriptschema.luau.validation.constants import assigned
from scriptschema.luau.validation.references import (
    visit_global,
    visit_local,
    visit_name,
    visit_string,
)
from scriptschema.luau.validation.traversal import HANDLERS, Place, Task, Traversal, Visit, filler
from scriptschema.luau.validation.type_annotations import (
    generics,
    join_lists,
    own_name,
    pack_of,
    trim_types,
    types_of,
    visit_type,
    visit_type_arguments,
)

_REDUNDANT: Final = (
    "the group is redundant: its expression is printed in parentheses even without it"
)


def visit_expr(
    v: Traversal,
    node: m.Expr,
    path: Place,
    depth: int,
    registers: int | None = None,
    limit: int = 0,
    after: int = 0,
    *chain: int,
) -> None:
    """Check and repair an Expr.

    If it is an operand, `limit` and `after` are the priorities around it (see `needs_parentheses`).
    For the right operand of a concatenation, `chain` is the number of operands in the chain.
    """
    if registers is None:
        registers = v.scope.function.registers
    while True:
        inner: Any = node.alternative
        if inner is None:
            v.note(path, "unset", "missing expression")
            node.number = filler()
            return
        if inner.__class__ is m.ExprGroup and (limit or after):
            content = inner.expr.alternative
            if content is not None and needs_parentheses(content, limit, after):
                path = (path, "group", None)
                v.note(path, "group", _REDUNDANT)
                path = (path, "expr", None)
                setattr(node, inner.expr.which or "", content)
                continue
        elif inner.__class__ is m.ExprUnary and inner.op == m.ExprUnary.Op.Minus:
            content = inner.expr.alternative
            if content.__class__ is m.ExprConstantNumber:
                double = content.double
                value = content.val if double is None else double
                if value > 0:
                    v.note(path, "minus", f"the sign of -{value} must be part of the constant")
                    node.number = m.ExprConstantNumber(
                        val=-max(content.val, 0), double=None if double is None else -double
                    )
                    return
        break
    handler = _EXPRESSIONS.get(inner.__class__)
    if handler is None:
        if inner.__class__ is m.ExprConstantNumber and inner.double != inner.double:
            v.note(path, "number", "a constant cannot be NaN")
            inner.double = None
        return
    if registers > MAX_REGISTERS:
        v.note(path, "registers", f"the value requires more than {MAX_REGISTERS} registers")
        node.number = filler()
    elif handler in _IN_HOLDER:
        handler(v, node, (path, node.which or "", None))
    elif inner.__class__ is m.ExprFunction and not v.may_hold_closure(path):
        node.number = filler()
    else:
        path = (path, node.which or "", None)
        if chain and not (inner.__class__ is m.ExprBinary and inner.op == m.ExprBinary.Op.Concat):
            chain = ()
        v.enter(inner, path, depth + 1)
        handler(v, inner, path, depth + 1, registers, limit, after, *chain)


def visit_prefix(
    v: Traversal, node: Any, path: Place, depth: int, registers: int | None = None
) -> None:
    """Check and repair an ExprPrefix or an LValue."""
    if registers is None:
        registers = v.scope.function.registers
    inner = node.alternative
    if inner is None:
        v.note(path, "unset", "missing expression")
        other = v.scope.pick_local(0)
        if other is not None:
            node.local = m.ExprLocal(var=m.Local(name=other.index))
            if node.__class__ is m.LValue:
                assigned(v, other, path)
        else:
            node.global_ = m.ExprGlobal(name=v.scope.free_global(0, builtin=True))
        return
    handler = _EXPRESSIONS[inner.__class__]
    path = (path, node.which, None)
    if handler in _IN_HOLDER:
        handler(v, node, path)
    elif registers > MAX_REGISTERS:
        v.note(path, "registers", f"the value requires more than {MAX_REGISTERS} registers")
        v.simplify(node)
    else:
        v.enter(inner, path, depth + 1)
        handler(v, inner, path, depth + 1, registers)


def expressions(
    items: list[m.Expr], path: Place, name: str, depth: int, registers: int
) -> list[Task]:
    """Return tasks that visit expressions whose values are in adjacent registers.

    The registers for all values are counted before the first expression is visited.
    """
    registers += len(items)
    return [
        (visit_expr, item, (path, name, index), depth, registers)
        for index, item in enumerate(items)
    ]


def _visit_varargs(v: Traversal, node: m.Expr, path: Place, *_: int) -> None:
    if not v.scope.function.vararg:
        v.note(path, "vararg", "the enclosing function has no `...`")
        node.number = filler()


def _visit_group(
    v: Traversal, node: m.ExprGroup, path: Place, depth: int, registers: int = 0, *_: int
) -> None:
    v.push((visit_expr, node.expr, (path, "expr", None), depth + 1, registers))


def visit_call(
    v: Traversal, node: m.ExprCall, path: Place, depth: int, registers: int = 0, *_: int
) -> None:
    """Check and repair an ExprCall."""
    if node.self_ and _called(node.func) != "index_name":
        v.note(path, "self", "a method call (with `self`) must call a named field")
        node.self_ = False
    first = registers + 1 + node.self_
    v.shorten(node, "args", MAX_REGISTERS - first, path, "registers")
    v.push(
        (visit_prefix, node.func, (path, "func", None), depth + 1, registers + 1),
        *expressions(node.args, path, "args", depth + 1, first),
        *([(_end_parenless, node, path, depth)] if node.parenless else []),
    )


def _called(prefix: m.ExprPrefix) -> str | None:
    while prefix.which == "instantiate":
        prefix = prefix.alternative.expr
    return prefix.which


def _end_parenless(v: Traversal, node: m.ExprCall, path: Place, _: int) -> None:
    if [argument.which for argument in node.args] not in (["string"], ["table"]):
        v.note(
            path,
            "parentheses",
            "a call without parentheses requires one argument, a string or a table",
        )
        node.parenless = None


def visit_function_body(
    v: Traversal, node: m.ExprFunction, path: Place, depth: int, method: bool = False
) -> None:
    """Check and repair a function. `method` is true if it has a parameter `self`."""
    if node.attributes:
        visit_attributes(v, node, path)
    v.scope.open()
    generics(v, node, path)
    v.shorten(node, "args", MAX_LOCALS - method, path, "locals")
    if node.vararg_pack is not None:
        own_name(v, node.vararg_pack, path)
        if not node.vararg:
            v.note(path, "type", "only a function with `...` can have a type for it")
            node.vararg_pack = None
    has_type = node.vararg and node.vararg_pack is None
    v.shorten(node, "types", len(node.args) + has_type, path, "types")
    trim_types(v, node, path)
    join_lists(v, node, "rettypes", "rettail", path, may_be_empty=True)
    v.push(
        *types_of(node.types, path, "types", depth + 1, omitted=len(node.args)),
        *types_of(node.rettypes, path, "rettypes", depth + 1),
        *pack_of(node.rettail, path, "rettail", depth + 1),
        (v.scope.enter_function, node, method),
        (HANDLERS[m.StatBlock], node.body, (path, "body", None), depth + 1),
        (v.scope.leave_function,),
    )


def _visit_function(v: Traversal, node: m.ExprFunction, path: Place, depth: int, *_: int) -> None:
    visit_function_body(v, node, path, depth)


def _visit_cast(
    v: Traversal, node: m.ExprCast, path: Place, depth: int, registers: int = 0, *_: int
) -> None:
    sides = CAST_PRIORITY, CAST_PRIORITY
    v.push(
        (visit_expr, node.expr, (path, "expr", None), depth + 1, registers, *sides),
        (visit_type, node.type, (path, "type", None), depth + 1),
    )


def _visit_instantiate(
    v: Traversal, node: m.ExprInstantiate, path: Place, depth: int, registers: int = 0, *_: int
) -> None:
    v.push(
        (visit_prefix, node.expr, (path, "expr", None), depth + 1, registers),
        (visit_type_arguments, node.types, (path, "types", None), depth + 1),
    )


def _visit_index_name(
    v: Traversal, node: m.ExprIndexName, path: Place, depth: int, registers: int = 0, *_: int
) -> None:
    visit_name(v, node.index, (path, "index", None))
    v.push((visit_prefix, node.expr, (path, "expr", None), depth + 1, registers + 1))


def _visit_index_expr(
    v: Traversal, node: m.ExprIndexExpr, path: Place, depth: int, registers: int = 0, *_: int
) -> None:
    v.push(
        (visit_prefix, node.expr, (path, "expr", None), depth + 1, registers + 1),
        (visit_expr, node.index, (path, "index", None), depth + 1, registers + 2),
    )


def _visit_table(
    v: Traversal, node: m.ExprTable, path: Place, depth: int, registers: int = 0, *_: int
) -> None:
    # Luau moves the items without a key into the table 16 at a time
    without_key = sum(item.which is None for item in node.items)
    registers += 1 + min(without_key, 16)
    v.push(
        *(
            (_visit_table_item, item, (path, "items", index), depth + 1, registers)
            for index, item in enumerate(node.items)
        )
    )


def _visit_table_item(
    v: Traversal, node: m.TableItem, path: Place, depth: int, registers: int = 0
) -> None:
    if node.which == "key_name":
        visit_name(v, node.alternative, (path, "key_name", None))
    elif node.which == "key_expr":
        key = (path, "key_expr", None)
        v.push((visit_expr, node.alternative, key, depth + 1, registers + 1))
        registers += 1
    v.push((visit_expr, node.value, (path, "value", None), depth + 1, registers + 1))


def _visit_unary(
    v: Traversal,
    node: m.ExprUnary,
    path: Place,
    depth: int,
    registers: int = 0,
    _: int = 0,
    after: int = 0,
) -> None:
    inside = (path, "expr", None)
    v.push((visit_expr, node.expr, inside, depth + 1, registers + 1, UNARY_PRIORITY, after))


def _visit_binary(
    v: Traversal,
    node: m.ExprBinary,
    path: Place,
    depth: int,
    registers: int = 0,
    _: int = 0,
    after: int = 0,
    chain: int = 0,
) -> None:
    left, right = BINARY[node.op][1:]
    for_left, for_right = registers + 1, registers + 2
    if node.op in (m.ExprBinary.Op.And, m.ExprBinary.Op.Or):
        for_right = registers  # the right operand's value is already in the result's register
    if node.op == m.ExprBinary.Op.Concat:
        # `a .. b .. c` is one operation, which reserves the registers of its operands first
        if not chain:
            chain = _concatenated(v, node, path, registers)
            registers += chain
        for_left = for_right = registers
    is_group_before_less = node.op == m.ExprBinary.Op.CompareLt and node.left.group is not None
    v.push(
        (visit_expr, node.left, (path, "left", None), depth + 1, for_left, 0, left),
        *([(partial(_remove_group_before_less, v, node, path),)] if is_group_before_less else []),
        (visit_expr, node.right, (path, "right", None), depth + 1, for_right, right, after)
        + ((chain,) if chain else ()),
    )


def _concatenated(v: Traversal, node: m.ExprBinary, path: Place, registers: int) -> int:
    """Remove excess operands from a chain of concatenations. Return how many are left."""
    room = MAX_REGISTERS - registers
    count = 2
    while True:
        inner: Any = node.right.alternative
        if inner.__class__ is not m.ExprBinary or inner.op != m.ExprBinary.Op.Concat:
            return count
        if count >= room:
            v.note(path, "registers", f"no register is left for operand {count + 1}")
            v.simplify(node.right)
            return count
        node = inner
        count += 1


def _remove_group_before_less(v: Traversal, node: m.ExprBinary, path: Place) -> None:
    # The operand must be repaired already. The printer adds the parentheses even without the group.
    group = node.left.group
    if group is not None and takes_less(group.expr):
        path = ((path, "left", None), "group", None)
        v.note(path, "group", _REDUNDANT)
        node.left = group.expr


def _visit_if_else(
    v: Traversal, node: m.ExprIfElse, path: Place, depth: int, registers: int = 0, *_: int
) -> None:
    if node.which is None:
        v.note(path, "else", "the if-expression has no else")
        node.else_ = m.Expr(number=filler())
    handler = visit_expr if node.which == "else_" else _visit_if_else
    other = (path, node.which or "", None)
    v.push(
        (visit_expr, node.cond, (path, "cond", None), depth + 1, registers + 1),
        (visit_expr, node.then, (path, "then", None), depth + 1, registers),
        (handler, node.alternative, other, depth + 1, registers),
    )


def _visit_interpolation(
    v: Traversal, node: m.ExprInterpString, path: Place, depth: int, registers: int = 0, *_: int
) -> None:
    parts: list[m.Expr] = []
    tasks: list[Task] = []
    first = registers + 3
    texts: list[str] = []

    def end_text() -> None:
        if len(texts) > 1:
            text: Any = parts[-1].alternative
            text.val = "".join(texts)
            visit_string(v, text, path)
        texts.clear()

    for index, part in enumerate(node.parts):
        here = (path, "parts", index)
        if part.which == "string":
            text: Any = part.alternative
            visit_string(v, text, here)
            if not text.val or texts:
                what = "directly follows other text" if texts else "is empty"
                v.note(here, "interpolation", f"the text {what}")
            else:
                parts.append(part)
            texts += [text.val] if text.val else []
        elif first + len(tasks) >= MAX_REGISTERS:
            v.note(here, "registers", "there are more values than free registers")
        else:
            end_text()
            parts.append(part)
            tasks.append((visit_expr, part, here, depth + 1))
    end_text()
    if len(parts) < len(node.parts):
        node.parts = parts
    registers = first + len(tasks)
    v.push(*((*task, registers) for task in tasks))


_IN_HOLDER: Final = (visit_local, visit_global, _visit_varargs)
"""Handlers that are called with the Expr, ExprPrefix or LValue around the message that they handle,
because they may have to change its alternative."""

_EXPRESSIONS: Final[Mapping[type, Visit]] = {
    m.ExprLocal: visit_local,
    m.ExprGlobal: visit_global,
    m.ExprVarargs: _visit_varargs,
    m.ExprConstantString: visit_string,
    m.ExprGroup: _visit_group,
    m.ExprCall: visit_call,
    m.ExprIndexName: _visit_index_name,
    m.ExprIndexExpr: _visit_index_expr,
    m.ExprFunction: _visit_function,
    m.ExprTable: _visit_table,
    m.ExprUnary: _visit_unary,
    m.ExprBinary: _visit_binary,
    m.ExprIfElse: _visit_if_else,
    m.ExprInterpString: _visit_interpolation,
    m.ExprCast: _visit_cast,
    m.ExprInstantiate: _visit_instantiate,
}
"""The handler for each kind of message in an Expr. Other kinds need no handler."""

HANDLERS.update(
    {cls: handler for cls, handler in _EXPRESSIONS.items() if handler not in _IN_HOLDER}
)
HANDLERS.update(
    {
        m.Expr: visit_expr,
        m.ExprPrefix: visit_prefix,
        m.LValue: visit_prefix,
        m.TableItem: _visit_table_item,
        m.Name: visit_name,
    }
)
