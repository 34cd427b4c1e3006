"""Rules about statements and blocks: where each statement is allowed, and what it declares."""

from __future__ import annotations

from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.luau.scope import MAX_REGISTERS, MAX_SIZE, Loop
from scriptschema.luau.validation.attributes import no_attributes
from scriptschema.luau.validation.constants import (
    declare,
    declare_function,
    one_value,
    visit_require,
)
from scriptschema.luau.validation.expressions import (
    expressions,
    visit_call,
    visit_expr,
    visit_function_body,
    visit_prefix,
)
from scriptschema.luau.validation.traversal import (
    HANDLERS,
    HEIGHTS,
    JUMPS,
    Place,
    Task,
    Traversal,
    filler,
)
from scriptschema.luau.validation.type_annotations import (
    generics,
    own_name,
    trim_types,
    types_of,
    visit_defaults,
    visit_type,
)

_DECLARE: Final = frozenset(["local", "local_function", "require_into_local", "for_", "for_in"])
"""The statements that declare at least one local variable."""


def _visit_block(
    v: Traversal, node: m.StatBlock, path: Place, depth: int, loop: Loop | None = None, *after: Task
) -> None:
    """Check and repair a block in a new scope. Then run the tasks in `after` in that scope."""
    v.scope.open(loop)
    body = node.body
    v.scope.declare_aliases(node)
    last = len(body) - 1
    v.push(
        *(
            (_visit_stat, statement, (path, "body", index), depth + 1, index == last)
            for index, statement in enumerate(body)
        ),
        *after,
        (v.scope.close,),
    )


def _visit_stat(v: Traversal, node: m.Stat, path: Place, depth: int, last: bool = True) -> None:
    function = v.scope.function
    which = node.which
    if which is None:
        v.note(path, "unset", "missing statement")
        node.block = m.StatBlock()
        return
    if function.size > MAX_SIZE:
        v.note(path, "size", f"the function contains more than {MAX_SIZE} messages")
        node.block = m.StatBlock()
        return
    if which in JUMPS:
        _visit_jump(v, node, path, depth, last)
        return
    if which in _DECLARE and function.room_for_locals() < 1:
        _do_without_locals(v, node, path)
        if node.which == "block" and which not in ("for_", "for_in"):
            return
    if which == "require_into_local":
        visit_require(v, node, path, depth)
        return
    if which == "class_":
        v.note(path, "class", "classes require a Luau flag that is off by default")
        node.block = m.StatBlock()
        return
    inner: Any = node.alternative
    handler = HANDLERS[inner.__class__]
    if handler in (_visit_function_statement, _visit_local_function) and (
        not v.may_hold_closure(path)
    ):
        node.block = m.StatBlock()
        return
    path = (path, node.which or "", None)
    v.enter(inner, path, depth + 1)
    handler(v, inner, path, depth + 1)


def _visit_jump(v: Traversal, node: m.Stat, path: Place, depth: int, last: bool) -> None:
    function = v.scope.function
    which = node.which or ""
    inner: Any = node.alternative
    depth += 1
    if which != "return_" and function.loop is None:
        v.note(path, "loop", f"{which[:-1]} outside of a loop")
        node.block = m.StatBlock()
        return
    if which == "continue_":
        function.loop.continued = True
    if not last:
        v.note(path, "last", f"{which[:-1]} is followed by other statements")
        if depth + 1 + HEIGHTS[inner.__class__] > v.deepest:
            node.block = m.StatBlock()
            return
        node.block = m.StatBlock(body=[m.Stat(**{which: inner})])
        depth += 2
    if which != "return_":
        return
    if function.module and depth + 2 > v.deepest:
        v.note(
            path,
            "depth",
            "the module's return statement is nested too deeply to return a value",
        )
        node.block = m.StatBlock()
        return
    v.push((_visit_return, inner, (path, which, None), depth))


def _do_without_locals(v: Traversal, node: m.Stat, path: Place) -> None:
    """Replace a declaration with a statement that declares no locals."""
    v.note(path, "locals", "the function already has the maximum number of local variables")
    inner: Any = node.alternative
    match inner:
        case m.StatFor() | m.StatForIn():
            node.block = inner.body
        case m.StatLocal() if inner.vars and inner.values:
            node.assign = m.StatAssign(
                vars=[
                    m.LValue(global_=m.ExprGlobal(name=m.Name(custom=variable.name)))
                    for variable in inner.vars
                ],
                values=inner.values,
            )
        case m.StatLocalFunction():
            name = m.Name(custom=inner.var.name)
            node.function = m.StatFunction(
                var=m.LValue(global_=m.ExprGlobal(name=name)), func=inner.func, self_=False
            )
        case _:
            node.block = m.StatBlock()


def _not_empty(v: Traversal, items: list[Any], filler: Message, path: Place, name: str) -> None:
    if not items:
        v.note(path, "empty", f"{name} is empty")
        items.append(filler)


def _in_loop(v: Traversal, node: m.StatBlock, path: Place, depth: int) -> tuple[Task, ...]:
    return (
        (v.scope.enter_loop,),
        (_visit_block, node, (path, "body", None), depth + 1),
        (v.scope.leave_loop,),
    )


def _loop_over(
    v: Traversal, variables: list[m.Local], body: m.StatBlock, path: Place, depth: int
) -> tuple[Task, ...]:
    return (
        (v.scope.open,),
        (v.scope.take_registers, 3),  # used by Luau: the bounds, or the iterator and its state
        (v.scope.declare_locals, variables),
        *_in_loop(v, body, path, depth),
        (v.scope.close,),
    )


def _visit_if(v: Traversal, node: m.StatIf, path: Place, depth: int) -> None:
    tasks: list[Task] = [
        (visit_expr, node.cond, (path, "cond", None), depth + 1),
        (_visit_block, node.then, (path, "then", None), depth + 1),
    ]
    if node.which is not None:
        handler = _visit_block if node.which == "else_" else _visit_if
        tasks.append((handler, node.alternative, (path, node.which, None), depth + 1))
    v.push(*tasks)


def _visit_while(v: Traversal, node: m.StatWhile, path: Place, depth: int) -> None:
    v.push(
        (visit_expr, node.cond, (path, "cond", None), depth + 1),
        *_in_loop(v, node.body, path, depth),
    )


def _visit_repeat(v: Traversal, node: m.StatRepeat, path: Place, depth: int) -> None:
    v.scope.enter_loop()
    end: list[Task] = [
        (v.scope.end_repeat_body,),
        (visit_expr, node.cond, (path, "cond", None), depth + 1),
    ]
    body = (path, "body", None)
    v.push((_visit_block, node.body, body, depth + 1, v.scope.function.loop, *end))


def _visit_return(v: Traversal, node: m.StatReturn, path: Place, depth: int) -> None:
    if v.scope.function.module:
        one_value(v, node, path)
    registers = v.scope.function.registers
    v.shorten(node, "list", MAX_REGISTERS - registers, path, "registers")
    v.push(*expressions(node.list, path, "list", depth + 1, registers))


def _visit_call_statement(v: Traversal, node: m.StatCall, path: Place, depth: int) -> None:
    registers = v.scope.function.registers
    v.push((visit_call, node.expr, (path, "expr", None), depth + 1, registers))


def _visit_local_statement(v: Traversal, node: m.StatLocal, path: Place, depth: int) -> None:
    _not_empty(v, node.vars, m.Local(name=0), path, "vars")
    v.shorten(node, "vars", v.scope.function.room_for_locals(), path, "locals")
    v.shorten(node, "types", len(node.vars), path, "types")
    trim_types(v, node, path)
    registers = v.scope.function.registers
    room = max(MAX_REGISTERS - registers - len(node.vars), len(node.vars))
    v.shorten(node, "values", room, path, "registers")
    v.push(
        *types_of(node.types, path, "types", depth + 1, omitted=len(node.types)),
        *expressions(node.values, path, "values", depth + 1, registers + len(node.vars)),
        (declare, node, path, depth)
        if node.is_const or node.is_exported
        else (v.scope.declare_locals, node.vars),
    )


def _visit_for(v: Traversal, node: m.StatFor, path: Place, depth: int) -> None:
    bounds = [(node.from_, "from_"), (node.to, "to")]
    bounds += [] if node.step is None else [(node.step, "step")]
    registers = v.scope.function.registers
    typed = [] if node.type is None else [(visit_type, node.type, (path, "type", None), depth + 1)]
    v.push(
        *typed,
        *(
            (visit_expr, bound, (path, name, None), depth + 1, registers + index)
            for index, (bound, name) in enumerate(bounds)
        ),
        *_loop_over(v, [node.var], node.body, path, depth),
    )


def _visit_for_in(v: Traversal, node: m.StatForIn, path: Place, depth: int) -> None:
    _not_empty(v, node.vars, m.Local(name=0), path, "vars")
    _not_empty(v, node.values, m.Expr(table=m.ExprTable()), path, "values")
    v.shorten(node, "vars", v.scope.function.room_for_locals(), path, "locals")
    registers = v.scope.function.registers
    v.shorten(node, "values", MAX_REGISTERS - registers, path, "registers")
    v.shorten(node, "types", len(node.vars), path, "types")
    trim_types(v, node, path)
    v.push(
        *types_of(node.types, path, "types", depth + 1, omitted=len(node.types)),
        *expressions(node.values, path, "values", depth + 1, registers),
        *_loop_over(v, node.vars, node.body, path, depth),
    )


def _visit_assign(v: Traversal, node: m.StatAssign, path: Place, depth: int) -> None:
    _not_empty(v, node.vars, m.LValue(), path, "vars")
    _not_empty(v, node.values, m.Expr(number=filler()), path, "values")
    room = MAX_REGISTERS - v.scope.function.registers
    v.shorten(node, "vars", room // 3, path, "registers")
    v.shorten(node, "values", max(room - 3 * len(node.vars), 1), path, "registers")
    registers = v.scope.function.registers
    v.push(
        *(
            (visit_prefix, var, (path, "vars", index), depth + 1, registers + 3 * index)
            for index, var in enumerate(node.vars)
        ),
        *expressions(node.values, path, "values", depth + 1, registers + 3 * len(node.vars)),
    )


def _visit_compound_assign(
    v: Traversal, node: m.StatCompoundAssign, path: Place, depth: int
) -> None:
    registers = v.scope.function.registers
    v.push(
        (visit_prefix, node.var, (path, "var", None), depth + 1, registers),
        (visit_expr, node.value, (path, "value", None), depth + 1, registers + 3),
    )


def _visit_function_statement(v: Traversal, node: m.StatFunction, path: Place, depth: int) -> None:
    _repair_function_name(v, node.var, (path, "var", None))
    if node.self_ and node.var.which != "index_name":
        v.note(path, "self", "the name of a method must end with a field")
        node.self_ = False
    v.push(
        (visit_prefix, node.var, (path, "var", None), depth + 1),
        (visit_function_body, node.func, (path, "func", None), depth + 1, node.self_),
    )


def _repair_function_name(v: Traversal, node: Any, path: Place) -> None:
    while node.which is not None and node.which not in ("local", "global_"):
        inner: Any = node.alternative
        if inner.__class__ is m.ExprIndexName:
            path = ((path, "index_name", None), "expr", None)
            node = inner.expr
            continue
        v.note(
            path,
            "function-name",
            "the name of a function must be a variable, optionally followed by fields",
        )
        match inner:
            case m.ExprIndexExpr():
                node.index_name = m.ExprIndexName(expr=inner.expr, index=m.Name(custom=0))
            case m.ExprCall():
                _replace(node, inner.func)
            case _:
                _replace(node, inner.expr)


def _replace(node: Any, other: Any) -> None:
    """Copy the alternative of `other` to `node`, or clear `node` if it has no such field."""
    if other.which in node.FIELDS:
        setattr(node, other.which, other.alternative)
    else:
        setattr(node, node.which, None)


def _visit_local_function(v: Traversal, node: m.StatLocalFunction, path: Place, depth: int) -> None:
    declare_function(v, node, path)
    v.push((visit_function_body, node.func, (path, "func", None), depth + 1))


def _visit_type_alias(v: Traversal, node: m.StatTypeAlias, path: Place, depth: int) -> None:
    own_name(v, node.name, path)
    v.scope.open()
    generics(v, node, path)
    defaults = [] if node.defaults is None else visit_defaults(v, node, path, depth + 1)
    v.push(*defaults, (visit_type, node.type, (path, "type", None), depth + 1), (v.scope.close,))


def _visit_type_function(v: Traversal, node: m.StatTypeFunction, path: Place, depth: int) -> None:
    own_name(v, node.name, path)
    scope = v.scope
    around = scope.type_function
    scope.type_function = scope.function.depth + 1
    here = (path, "func", None)
    no_attributes(v, node.func, here)
    v.push((visit_function_body, node.func, here, depth + 1), (_leave_type_function, v, around))


def _leave_type_function(v: Traversal, around: int) -> None:
    v.scope.type_function = around


HANDLERS.update(
    {
        m.Stat: _visit_stat,
        m.StatBlock: _visit_block,
        m.StatIf: _visit_if,
        m.StatWhile: _visit_while,
        m.StatRepeat: _visit_repeat,
        m.StatReturn: _visit_return,
        m.StatCall: _visit_call_statement,
        m.StatLocal: _visit_local_statement,
        m.StatFor: _visit_for,
        m.StatForIn: _visit_for_in,
        m.StatAssign: _visit_assign,
        m.StatCompoundAssign: _visit_compound_assign,
        m.StatFunction: _visit_function_statement,
        m.StatLocalFunction: _visit_local_function,
        m.StatTypeAlias: _visit_type_alias,
        m.StatTypeFunction: _visit_type_function,
    }
)
