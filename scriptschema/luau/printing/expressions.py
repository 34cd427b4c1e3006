"""Expressions, and the signatures and bodies of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.luau.operators import BINARY, UNARY, UNARY_PRIORITY, needs_parentheses
from scriptschema.luau.printing.type_annotations import annotation, generics, pack
from scriptschema.luau.printing.writer import UNSET, Part, Write, Writer, separated
from scriptschema.luau.quoting import quote_in_interpolation


def _starts_with_minus(inner: Message | None) -> bool:
    match inner:
        case m.ExprUnary():
            return inner.op == m.ExprUnary.Op.Minus
        case m.ExprConstantNumber():
            return inner.val < 0
    return False


def _starts_with_brace(expression: m.Expr) -> bool:
    node = expression.alternative
    while isinstance(node, m.ExprBinary):
        _, left, _ = BINARY[node.op]
        node = node.left.alternative
        if needs_parentheses(node, 0, left):
            return False
    return isinstance(node, m.ExprTable)


def body(w: Writer, block: m.StatBlock) -> list[Part]:
    """A block's statements one level further in, and then a new line for what closes it."""
    if not block.body:
        return [" "]
    return [(block, w.level + 1, 0, 0), w.newline(w.level)]


def field(w: Writer, node: m.ExprIndexName, separator: str = ".") -> list[Part]:
    """What a field is looked up in, `.` or `:`, and the name of the field."""
    return [node.expr, separator, w.names.field(node.index, w.names.owner(node.expr))]


def bindings(variables: Sequence[m.Local], types: Sequence[m.Type]) -> list[Part]:
    """Variables with their types, as far as there are types."""
    parts: list[Part] = []
    for position, variable in enumerate(variables):
        parts += (", ", variable, *annotation(types, position))
    return parts[1:]


def signature_and_body(w: Writer, node: m.ExprFunction) -> list[Part]:
    """What follows the name of a function."""
    types = node.types if w.types else []
    parts = [
        *generics(w, node.generics, node.genericpacks),
        "(",
        *bindings(node.args, types),
    ]
    if node.vararg:
        parts += (", ..." if node.args else "...", *annotation(types, len(node.args)))
    parts.append(")")
    if node.rettypes and w.types:
        parts += (": ", *pack(node.rettypes))
    return [*parts, *body(w, node.body), "end"]


def _write_expr(w: Writer, node: m.Expr) -> None:
    inner = node.alternative
    if inner is None:
        w.out.append(UNSET)
    elif (w.limit or w.after) and needs_parentheses(inner, w.limit, w.after):
        w.push("(", inner, ")")
    else:
        w.write[inner.__class__](w, inner)


def _write_group(w: Writer, node: m.ExprGroup) -> None:
    w.push("(", node.expr, ")")


def write_number(w: Writer, node: m.ExprConstantNumber) -> None:
    """Print a number constant, in decimal digits."""
    w.out.append(str(node.val))


def _write_expr_local(w: Writer, node: m.ExprLocal) -> None:
    w.out.append(w.names.local(node.var.name))


def _write_global(w: Writer, node: m.ExprGlobal) -> None:
    w.out.append(w.names.global_(node.name))


def callee(w: Writer, node: m.ExprCall) -> list[Part]:
    """What is called."""
    func = node.func
    is_method = node.self_ and func.which == "index_name"
    return field(w, func.alternative, ":") if is_method else [func]


def write_call(w: Writer, node: m.ExprCall) -> None:
    """Print a call."""
    w.push(*callee(w, node), "(", *separated(node.args), ")")


def _write_index_name(w: Writer, node: m.ExprIndexName) -> None:
    w.push(*field(w, node))


def _write_index_expr(w: Writer, node: m.ExprIndexExpr) -> None:
    w.push(node.expr, "[", node.index, "]")


def _write_function(w: Writer, node: m.ExprFunction) -> None:
    w.push("function", *signature_and_body(w, node))


def _write_table_item(w: Writer, node: m.TableItem) -> None:
    if node.which == "key_name":
        w.push(w.names.field(node.alternative), " = ", node.value)
    elif node.which == "key_expr":
        w.push("[", node.alternative, "] = ", node.value)
    else:
        w.push(node.value)


def _write_table(w: Writer, node: m.ExprTable) -> None:
    w.push("{", *separated(node.items), "}")


def _write_unary(w: Writer, node: m.ExprUnary) -> None:
    w.out.append(UNARY[node.op])
    if node.op == m.ExprUnary.Op.Minus and _starts_with_minus(node.expr.alternative):
        w.out.append(" ")  # two of them would begin a comment
    w.push((node.expr, w.level, UNARY_PRIORITY, w.after))


def _write_binary(w: Writer, node: m.ExprBinary) -> None:
    text, left, right = BINARY[node.op]
    w.push(
        (node.left, w.level, 0, left),
        f" {text} ",
        (node.right, w.level, right, w.after),
    )


def _write_if_else(w: Writer, node: m.ExprIfElse) -> None:
    parts: list[Part] = ["if ", node.cond, " then ", node.then]
    if node.which is not None:
        parts += (" else" if node.which == "elseif" else " else ", node.alternative)
    w.push(*parts)


def write_interpolation(
    w: Writer, node: m.ExprInterpString, quote: Callable[[str], str] = quote_in_interpolation
) -> None:
    """Print an interpolated string; `quote` writes its texts."""
    parts: list[Part] = ["`"]
    for part in node.parts:
        if part.which == "string":
            parts.append(quote(part.alternative.val))
        else:
            brace = "{ " if _starts_with_brace(part) else "{"  # Luau refuses two in a row
            parts += (brace, part, "}")
    w.push(*parts, "`")


WRITE: Final[Mapping[type[Message], Write]] = {
    m.Expr: _write_expr,
    m.ExprGroup: _write_group,
    m.ExprConstantNumber: write_number,
    m.ExprLocal: _write_expr_local,
    m.ExprGlobal: _write_global,
    m.ExprCall: write_call,
    m.ExprIndexName: _write_index_name,
    m.ExprIndexExpr: _write_index_expr,
    m.ExprFunction: _write_function,
    m.TableItem: _write_table_item,
    m.ExprTable: _write_table,
    m.ExprUnary: _write_unary,
    m.ExprBinary: _write_binary,
    m.ExprIfElse: _write_if_else,
    m.ExprInterpString: write_interpolation,
}
"""How to print a message of each kind."""
