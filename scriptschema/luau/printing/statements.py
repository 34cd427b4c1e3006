"""Prints statements and blocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.luau.operators import COMPOUND
from scriptschema.luau.printing.expressions import (
    attributes,
    bindings,
    field,
    write_body,
    write_signature_and_body,
)
from scriptschema.luau.printing.type_annotations import annotation, write_type_alias
from scriptschema.luau.printing.writer import Write, Writer, separated, write_wrapper

_END_IN_EXPRESSION: Final = frozenset(
    ["repeat", "return_", "continue_", "call", "assign", "compound_assign", "require_into_local"]
)


def _takes_parenthesis(statement: m.Stat) -> bool:
    """Return whether a parenthesis on the next line would continue the statement."""
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
        elif type(node) in _ON_A_PREFIX:
            node = node.expr.alternative
        else:
            return type(node) is m.ExprGroup


_ON_A_PREFIX: Final = frozenset([m.ExprIndexName, m.ExprIndexExpr, m.ExprInstantiate])


def write_stat(w: Writer, node: m.Stat) -> None:
    """Print a statement."""
    if node.which == "block":
        w.out.append("do")
        write_body(w, node.alternative, "end")
    else:
        write_wrapper(w, node)


def _write_block(w: Writer, node: m.StatBlock) -> None:
    # The parent prints the keywords around the statements.
    newline = w.newline()
    write, put = w.write[m.Stat], w.out.append
    previous = None
    for statement in node.body:
        if not w.types and statement.which in ("type_alias", "type_function"):
            continue
        put(newline)
        if (
            previous is not None
            and _takes_parenthesis(previous)
            and _starts_with_parenthesis(statement)
        ):
            put(";")
        write(w, statement)
        previous = statement


def _write_if(w: Writer, node: m.StatIf) -> None:
    w.print("if ", node.cond, " then")
    if node.which is None:
        write_body(w, node.then, "end")
        return
    write_body(w, node.then, "else")
    if node.which == "elseif":
        write_wrapper(w, node)
    else:
        write_body(w, node.alternative, "end")


def _write_while(w: Writer, node: m.StatWhile) -> None:
    w.print("while ", node.cond, " do")
    write_body(w, node.body, "end")


def _write_repeat(w: Writer, node: m.StatRepeat) -> None:
    w.out.append("repeat")
    write_body(w, node.body, "until ")
    w.print(node.cond)


def _write_return(w: Writer, node: m.StatReturn) -> None:
    w.out.append("return " if node.list else "return")
    w.list(node.list)


def _write_local_statement(w: Writer, node: m.StatLocal) -> None:
    if node.is_exported:
        w.out.append("export ")
    w.out.append("const " if node.is_const else "local ")
    if node.types and w.types:
        w.print(*bindings(node.vars, node.types))
    else:
        w.list(node.vars)
    if node.values:
        w.out.append(" = ")
        w.list(node.values)


def _write_for(w: Writer, node: m.StatFor) -> None:
    bounds = [node.from_, node.to] if node.step is None else [node.from_, node.to, node.step]
    types = [] if node.type is None or not w.types else [node.type]
    w.print("for ", *bindings([node.var], types), " = ", *separated(bounds), " do")
    write_body(w, node.body, "end")


def _write_for_in(w: Writer, node: m.StatForIn) -> None:
    variables = bindings(node.vars, node.types if w.types else [])
    values = separated(node.values)
    w.print("for ", *variables, " in ", *values, " do")
    write_body(w, node.body, "end")


def _write_assign(w: Writer, node: m.StatAssign) -> None:
    w.list(node.vars)
    w.out.append(" = ")
    w.list(node.values)


def _write_compound_assign(w: Writer, node: m.StatCompoundAssign) -> None:
    w.print(node.var, f" {'//=' if node.floor else COMPOUND[node.op]} ", node.value)


def _write_function_statement(w: Writer, node: m.StatFunction) -> None:
    var = node.var
    is_method = node.self_ and var.which == "index_name"
    name = field(w, var.alternative, ":") if is_method else [var]
    w.print(*attributes(node.func), "function ", *name)
    write_signature_and_body(w, node.func)


def _write_local_function(w: Writer, node: m.StatLocalFunction) -> None:
    keyword = "local"
    if node.is_exported or node.is_const:
        keyword = "export" if node.is_exported else "const"
    w.print(*attributes(node.func), f"{keyword} function ", node.var)
    write_signature_and_body(w, node.func)


def _write_type_function(w: Writer, node: m.StatTypeFunction) -> None:
    if w.types:
        w.print("export type function " if node.export else "type function ", node.name)
        write_signature_and_body(w, node.func)


def _write_class(w: Writer, node: m.StatClass) -> None:
    words = ["export"] * bool(node.is_exported) + ["open"] * bool(node.is_open) + ["class "]
    w.print(" ".join(words), node.name)
    if node.extends is not None:
        w.print(" extends ", node.extends)
    w.level += 1
    for member in node.members:
        w.print(w.newline(), member)
    w.level -= 1
    w.print(w.newline(), "end")


def _write_property(w: Writer, node: m.ClassProp) -> None:
    types = [] if node.type is None or not w.types else [node.type]
    w.print("public ", node.name, *annotation(types, 0))


def _write_method(w: Writer, node: m.ClassMethod) -> None:
    w.print("function " if node.access is None else "public function ", node.name)
    write_signature_and_body(w, node.func)


def _write_require(w: Writer, node: m.StatRequireIntoLocalHelper) -> None:
    w.print("local ", node.var, f' = require("./module{node.modulenum}")')


WRITE: Final[Mapping[type[Message], Write]] = {
    m.Stat: write_stat,
    m.StatBlock: _write_block,
    m.StatIf: _write_if,
    m.StatWhile: _write_while,
    m.StatRepeat: _write_repeat,
    m.StatReturn: _write_return,
    m.StatCall: lambda w, node: w.write[m.ExprCall](w, node.expr),
    m.StatLocal: _write_local_statement,
    m.StatFor: _write_for,
    m.StatForIn: _write_for_in,
    m.StatAssign: _write_assign,
    m.StatCompoundAssign: _write_compound_assign,
    m.StatFunction: _write_function_statement,
    m.StatLocalFunction: _write_local_function,
    m.StatTypeAlias: write_type_alias,
    m.StatTypeFunction: _write_type_function,
    m.StatClass: _write_class,
    m.ClassMember: write_wrapper,
    m.ClassProp: _write_property,
    m.ClassMethod: _write_method,
    m.StatRequireIntoLocalHelper: _write_require,
}
"""Maps each kind of message to the function that prints it."""
