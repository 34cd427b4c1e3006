"""Statements and blocks, and the ModuleSet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.luau.operators import COMPOUND
from scriptschema.luau.printing.expressions import bindings, body, field, signature_and_body
from scriptschema.luau.printing.type_annotations import generics
from scriptschema.luau.printing.writer import Part, Write, Writer, separated, write_wrapper

_END_IN_EXPRESSION: Final = frozenset(
    ["repeat", "return_", "continue_", "call", "assign", "compound_assign", "require_into_local"]
)


def _takes_parenthesis(statement: m.Stat) -> bool:
    """Whether a parenthesis on the next line would continue the statement."""
    if statement.which == "local":
        return bool(statement.alternative.values)
    return statement.which in _END_IN_EXPRESSION


def _starts_with_parenthesis(statement: m.Stat) -> bool:
    node: Any = statement.alternative
    if statement.which == "call":
        node = node.expr
    elif statement.which == "assign" and node.vars:
        node = node.vars[0].alternative
    elif statement.which == "compound_assign":
        node = node.var.alternative
    while True:
        if type(node) is m.ExprCall:  # not `match`, which is slow for an abstract class
            node = node.func.alternative
        elif type(node) is m.ExprIndexName or type(node) is m.ExprIndexExpr:
            node = node.expr.alternative
        else:
            return type(node) is m.ExprGroup


def write_stat(w: Writer, node: m.Stat) -> None:
    """Print a statement."""
    if node.which == "block":
        w.push("do", *body(w, node.alternative), "end")
    else:
        write_wrapper(w, node)


def _write_block(w: Writer, node: m.StatBlock) -> None:
    """The statements alone, each on a new line; what is around them is the parent's."""
    newline = w.newline(w.level)
    parts: list[Part] = []
    previous = None
    for statement in node.body:
        if statement.which == "type_alias" and not w.types:
            continue
        parts.append(newline)
        if (
            previous is not None
            and _takes_parenthesis(previous)
            and _starts_with_parenthesis(statement)
        ):
            parts.append(";")
        parts.append(statement)
        previous = statement
    w.push(*parts)


def _write_if(w: Writer, node: m.StatIf) -> None:
    parts = ["if ", node.cond, " then", *body(w, node.then)]
    if node.which == "elseif":
        parts += ("else", node.alternative)
    elif node.which == "else_":
        parts += ("else", *body(w, node.alternative), "end")
    else:
        parts.append("end")
    w.push(*parts)


def _write_while(w: Writer, node: m.StatWhile) -> None:
    w.push("while ", node.cond, " do", *body(w, node.body), "end")


def _write_repeat(w: Writer, node: m.StatRepeat) -> None:
    w.push("repeat", *body(w, node.body), "until ", node.cond)


def _write_return(w: Writer, node: m.StatReturn) -> None:
    w.push("return ", *separated(node.list)) if node.list else w.push("return")


def _write_call_statement(w: Writer, node: m.StatCall) -> None:
    w.push(node.expr)


def _write_local_statement(w: Writer, node: m.StatLocal) -> None:
    parts = ["local ", *bindings(node.vars, node.types if w.types else [])]
    if node.values:
        parts += (" = ", *separated(node.values))
    w.push(*parts)


def _write_for(w: Writer, node: m.StatFor) -> None:
    bounds = [node.from_, node.to] if node.step is None else [node.from_, node.to, node.step]
    w.push("for ", node.var, " = ", *separated(bounds), " do", *body(w, node.body), "end")


def _write_for_in(w: Writer, node: m.StatForIn) -> None:
    variables, values = separated(node.vars), separated(node.values)
    w.push("for ", *variables, " in ", *values, " do", *body(w, node.body), "end")


def _write_assign(w: Writer, node: m.StatAssign) -> None:
    w.push(*separated(node.vars), " = ", *separated(node.values))


def _write_compound_assign(w: Writer, node: m.StatCompoundAssign) -> None:
    w.push(node.var, f" {COMPOUND[node.op]} ", node.value)


def _write_function_statement(w: Writer, node: m.StatFunction) -> None:
    var = node.var
    is_method = node.self_ and var.which == "index_name"
    name = field(w, var.alternative, ":") if is_method else [var]
    w.push("function ", *name, *signature_and_body(w, node.func))


def _write_local_function(w: Writer, node: m.StatLocalFunction) -> None:
    w.push("local function ", node.var, *signature_and_body(w, node.func))


def _write_type_alias(w: Writer, node: m.StatTypeAlias) -> None:
    if w.types:
        keyword = "export type " if node.export else "type "
        parameters = generics(w, node.generics, node.genericpacks)
        w.push(keyword, node.name, *parameters, " = ", node.type)


def _write_require(w: Writer, node: m.StatRequireIntoLocalHelper) -> None:
    w.push("local ", node.var, f' = require("./module{node.modulenum}")')


def _write_module_set(w: Writer, node: m.ModuleSet) -> None:
    if node.module is None:
        w.push(node.program)
    else:
        w.push("-- module0", node.module, "\n-- program", node.program)


WRITE: Final[Mapping[type[Message], Write]] = {
    m.Stat: write_stat,
    m.StatBlock: _write_block,
    m.StatIf: _write_if,
    m.StatWhile: _write_while,
    m.StatRepeat: _write_repeat,
    m.StatReturn: _write_return,
    m.StatCall: _write_call_statement,
    m.StatLocal: _write_local_statement,
    m.StatFor: _write_for,
    m.StatForIn: _write_for_in,
    m.StatAssign: _write_assign,
    m.StatCompoundAssign: _write_compound_assign,
    m.StatFunction: _write_function_statement,
    m.StatLocalFunction: _write_local_function,
    m.StatTypeAlias: _write_type_alias,
    m.StatRequireIntoLocalHelper: _write_require,
    m.ModuleSet: _write_module_set,
}
"""How to print a message of each kind."""
