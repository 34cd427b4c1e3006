"""Prints expressions, and the signatures and bodies of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.luau.operators import (
    BINARY,
    CAST_PRIORITY,
    UNARY,
    UNARY_PRIORITY,
    is_negative,
    needs_parentheses,
    takes_less,
)
from scriptschema.luau.printing.type_annotations import annotation, generics, results
from scriptschema.luau.printing.writer import (
    ON_ONE_LINE,
    UNSET,
    Part,
    Write,
    Writer,
    separated,
)
from scriptschema.luau.quoting import quote_in_interpolation


def _starts_with_minus(inner: Message | None) -> bool:
    while type(inner) is m.ExprCast:
        inner = inner.expr.alternative
    if type(inner) is m.ExprUnary:
        return inner.op == m.ExprUnary.Op.Minus
    return is_negative(inner)


def _starts_with_brace(expression: m.Expr) -> bool:
    node = expression.alternative
    while True:
        if type(node) is m.ExprBinary:
            _, after, _ = BINARY[node.op]
            node = node.left.alternative
        elif type(node) is m.ExprCast:
            after, node = CAST_PRIORITY, node.expr.alternative
        else:
            return type(node) is m.ExprTable
        if needs_parentheses(node, 0, after):
            return False


def write_body(w: Writer, block: m.StatBlock, closing: str) -> None:
    """Print a block's statements, indented one level deeper, and `closing` on a new line."""
    if block.body:
        w.level += 1
        w.inside(block)
        w.level -= 1
        w.out.append(w.newline())
    else:
        w.out.append(" ")
    w.out.append(closing)


def field(w: Writer, node: m.ExprIndexName, separator: str = ".") -> list[Part]:
    """Return the parts of a field: the expression, `separator` (`.` or `:`), and the name."""
    return [node.expr, separator, w.names.field(node.index, w.names.owner(node.expr))]


def bindings(variables: Sequence[m.Local], types: Sequence[m.Type]) -> list[Part]:
    """Return variables, separated by commas. A variable is followed by its type if it has one."""
    parts: list[Part] = []
    for position, variable in enumerate(variables):
        parts += (", ", variable, *annotation(types, position))
    return parts[1:]


def write_signature_and_body(w: Writer, node: m.ExprFunction) -> None:
    """Print the part of a function after its name: generics, parameters, results and body."""
    types = node.types if w.types else []
    parts = [
        *generics(w, node.generics, node.genericpacks),
        "(",
        *bindings(node.args, types),
    ]
    if node.vararg:
        parts += (", ..." if node.args else "...", *annotation(types, len(node.args)))
        if node.vararg_pack is not None and w.types:
            parts += (": ", node.vararg_pack, "...")
    parts.append(")")
    if w.types and (node.rettypes or node.rettail is not None):
        parts += (": ", *results(node.rettypes, node.rettail))
    w.print(*parts)
    write_body(w, node.body, "end")


def attributes(function: m.ExprFunction) -> list[Part]:
    """Return the attributes of a function. Each attribute is followed by a space."""
    parts: list[Part] = []
    in_brackets = False
    for attribute in function.attributes:
        braced = bool(attribute.braced or attribute.args or attribute.parenthesised)
        if in_brackets and braced and attribute.joined:
            parts[-1] = ", "
        else:
            parts.append("@[" if braced else "@")
        parts += (attribute, "] " if braced else " ")
        in_brackets = braced
    return parts


def _write_attribute(w: Writer, node: m.ExprAttr) -> None:
    name = node.type.name.lower()
    if node.type is m.ExprAttr.Kind.Unknown:
        name = w.names.field(node.name or m.Name())
    if can_be_parenless(node) and not node.parenthesised:
        w.print(name, " ", node.args[0])
    elif node.args or node.parenthesised:
        w.print(name, "(", *separated(node.args), ")")
    else:
        w.out.append(name)


def _write_literal_item(w: Writer, node: m.LiteralTableItem) -> None:
    if node.key_name is not None:
        w.print(w.names.field(node.key_name), " = ", node.value)
    else:
        w.print(node.value)


def _write_expr(w: Writer, node: m.Expr) -> None:
    inner = node.alternative
    if inner is None:
        w.limit = w.after = 0
        w.out.append(UNSET)
        return
    cls = inner.__class__
    if w.limit or w.after:
        if needs_parentheses(inner, w.limit, w.after):
            w.limit = w.after = 0
            w.print("(", node, ")")
            return
        if cls is not m.ExprBinary and cls is not m.ExprUnary and cls is not m.ExprCast:
            w.limit = w.after = 0
    if w.room:  # like `Writer.inside`
        w.room -= 1
        w.write[cls](w, inner)
        w.room += 1
    else:
        w.later(inner)


def write_callee(w: Writer, node: m.ExprCall) -> None:
    """Print the called expression, in parentheses if necessary."""
    func = node.func
    if node.self_ and func.which == "index_name":
        w.print(*field(w, func.alternative, ":"))
    elif node.self_ and func.which == "instantiate" and func.alternative.expr.which == "index_name":
        w.print(*field(w, func.alternative.expr.alternative, ":"))
        w.level -= ON_ONE_LINE  # Luau requires `(` on the line of the method's name
        _write_types(w, func.alternative)
        w.level += ON_ONE_LINE
    else:
        w.write[m.ExprPrefix](w, func)


def write_call(w: Writer, node: m.ExprCall) -> None:
    """Print a call."""
    write_callee(w, node)
    if node.parenless and can_be_parenless(node):
        w.print(" ", node.args[0])
        return
    w.out.append("(")
    if node.args:
        w.list(node.args)
    w.out.append(")")


def can_be_parenless(node: m.ExprCall | m.ExprAttr) -> bool:
    """Return whether a call or an attribute can omit its parentheses.

    It can if its only argument is a string or a table.
    """
    return len(node.args) == 1 and node.args[0].which in ("string", "table")


def _write_types(w: Writer, node: m.ExprInstantiate) -> None:
    if w.types:
        w.print("<<", *separated(node.types.items), ">>")


def _write_instantiate(w: Writer, node: m.ExprInstantiate) -> None:
    w.print(node.expr)
    _write_types(w, node)


def _write_cast(w: Writer, node: m.ExprCast) -> None:
    if w.types:
        w.limit = w.after = CAST_PRIORITY
        w.print(node.expr, " :: ", node.type)
    elif node.expr.which in ("call", "varargs"):  # a cast truncates several values to one
        w.limit = w.after = 0
        w.print("(", node.expr, ")")
    else:
        w.print(node.expr)


def _write_index_name(w: Writer, node: m.ExprIndexName) -> None:
    w.write[m.ExprPrefix](w, node.expr)
    put, names = w.out.append, w.names
    put(".")
    put(names.field(node.index, names.owner(node.expr)))


def _write_function(w: Writer, node: m.ExprFunction) -> None:
    w.print(*attributes(node), "function")
    write_signature_and_body(w, node)


def _write_table_item(w: Writer, node: m.TableItem) -> None:
    if node.which == "key_name":
        w.print(w.names.field(node.alternative), " = ", node.value)
    elif node.which == "key_expr":
        w.print("[", node.alternative, "] = ", node.value)
    else:
        w.print(node.value)


def _write_table(w: Writer, node: m.ExprTable | m.ExprLiteralTable) -> None:
    w.out.append("{")
    w.list(node.items)
    w.out.append("}")


def _write_unary(w: Writer, node: m.ExprUnary) -> None:
    w.out.append(UNARY[node.op])
    if node.op == m.ExprUnary.Op.Minus and _starts_with_minus(node.expr.alternative):
        w.out.append(" ")  # two minus signs would begin a comment
    w.limit = UNARY_PRIORITY
    w.write[m.Expr](w, node.expr)


def _write_binary(w: Writer, node: m.ExprBinary) -> None:
    text, left, right = BINARY[node.op]
    write, after = w.write[m.Expr], w.after
    if node.op == _LESS and w.types and takes_less(node.left):
        w.limit = w.after = 0
        w.print("(", node.left, ")")
    else:
        w.limit, w.after = 0, left
        write(w, node.left)
    w.out.append(f" {text} ")
    w.limit, w.after = right, after
    write(w, node.right)


_LESS: Final = m.ExprBinary.Op.CompareLt


def _write_if_else(w: Writer, node: m.ExprIfElse) -> None:
    w.print("if ", node.cond, " then ", node.then)
    if node.which is not None:
        w.out.append(" else" if node.which == "elseif" else " else ")
        w.inside(node.alternative)


def write_interpolation(
    w: Writer, node: m.ExprInterpString, quote: Callable[[str], str] = quote_in_interpolation
) -> None:
    """Print an interpolated string. `quote` writes the text between its expressions."""
    parts: list[Part] = ["`"]
    for part in node.parts:
        if part.which == "string":
            parts.append(quote(part.alternative.val))
        else:
            brace = "{ " if _starts_with_brace(part) else "{"  # Luau rejects `{{`
            parts += (brace, part, "}")
    w.print(*parts, "`")


WRITE: Final[Mapping[type[Message], Write]] = {
    m.Expr: _write_expr,
    m.ExprGroup: lambda w, node: w.print("(", node.expr, ")"),
    m.ExprLocal: lambda w, node: w.out.append(w.names.local(node.var.name)),
    m.ExprGlobal: lambda w, node: w.out.append(w.names.global_(node.name)),
    m.ExprCall: write_call,
    m.ExprIndexName: _write_index_name,
    m.ExprIndexExpr: lambda w, node: w.print(node.expr, "[", node.index, "]"),
    m.ExprFunction: _write_function,
    m.TableItem: _write_table_item,
    m.ExprTable: _write_table,
    m.ExprUnary: _write_unary,
    m.ExprBinary: _write_binary,
    m.ExprIfElse: _write_if_else,
    m.ExprInterpString: write_interpolation,
    m.ExprCast: _write_cast,
    m.ExprInstantiate: _write_instantiate,
    m.ExprAttr: _write_attribute,
    m.ExprLiteralTable: _write_table,
    m.LiteralTableItem: _write_literal_item,
}
"""Maps each kind of message to the function that prints it."""
