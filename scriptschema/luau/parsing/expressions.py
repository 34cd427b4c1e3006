"""Reads expressions: operators, calls, fields, constants, tables, strings and attributes."""

from __future__ import annotations

from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.luau.literals import (
    integer_value,
    join,
    nearest_int32,
    number_expression,
    number_value,
)
from scriptschema.luau.operators import (
    BINARY,
    CAST_PRIORITY,
    UNARY,
    UNARY_PRIORITY,
    needs_parentheses,
    takes_less,
)
from scriptschema.luau.parsing.functions import read_function_body
from scriptschema.luau.parsing.reader import Reader, Reading
from scriptschema.luau.parsing.type_annotations import read_type, read_type_arguments
from scriptschema.luau.render import render

_UNARY: Final = {text.strip(): op for op, text in UNARY.items()}
_BINARY: Final = {text: (left, right, op) for op, (text, left, right) in BINARY.items()}
_NO_OPERATOR: Final = (0, 0, None)

CALLS: Final = frozenset({"(", "{", "string"})
"""The kinds of tokens that can begin the arguments of a call."""

SUFFIXES: Final = CALLS | {".", "[", ":"}
"""The kinds of tokens that continue an expression after a name."""

_GO_ON: Final = SUFFIXES | _BINARY.keys() | {"::"}
_GO_ON_AFTER_NAME: Final = SUFFIXES | {"<"}

_EXPR: Final = {field.type: name for name, field in m.Expr.ALL_FIELDS.items()}
_PREFIX: Final = {field.type: name for name, field in m.ExprPrefix.ALL_FIELDS.items()}
_LITERAL: Final = {field.type: name for name, field in m.ExprLiteral.ALL_FIELDS.items()}
_ATTRIBUTES: Final = {
    kind.name.lower(): kind for kind in m.ExprAttr.Kind if kind is not m.ExprAttr.Kind.Unknown
}


def as_expr(node: Any) -> m.Expr:
    """Return `node` wrapped in an Expr."""
    return m.Expr(**{_EXPR[type(node)]: node})


def as_prefix(node: Any) -> m.ExprPrefix:
    """Return `node` wrapped in an ExprPrefix."""
    return m.ExprPrefix(**{_PREFIX[type(node)]: node})


def read_expressions(r: Reader) -> Reading:
    """Read one or more expressions, separated by commas."""
    values = []
    while True:
        values.append(_read_leaf(r) or (yield read_expression(r)))
        if not r.skip(","):
            return values


def _read_leaf(r: Reader) -> m.Expr | None:
    """Read an expression that consists of the current token alone, or return None."""
    after = r.kinds[r.index + 1]
    if after in _GO_ON:
        return None
    return _read_constant(r)


def _read_constant(r: Reader) -> m.Expr | None:
    """Read a constant, a variable or `...`, or return None."""
    kind = r.kind
    if kind == "name":
        return as_expr(r.variable(r.take()))
    if kind == "number":
        return _read_number(r)[0]
    if kind == "string":
        return m.Expr(string=m.ExprConstantString(val=r.string()))
    if kind == "nil":
        r.advance()
        return m.Expr(nil=m.ExprConstantNil())
    if kind in ("true", "false"):
        return m.Expr(bool=m.ExprConstantBool(val=r.take() == "true"))
    if kind == "...":
        r.advance()
        return m.Expr(varargs=m.ExprVarargs())
    return None


def read_expression(r: Reader) -> Reading:
    """Read an expression: operands and operators, grouped by precedence.

    Parentheses become an ExprGroup, except those that `render` prints without one.
    """
    pending: list[tuple[int, Any, m.Expr | None]] = []
    while True:
        while (unary := _UNARY.get(r.kind)) is not None:
            pending.append((UNARY_PRIORITY, unary, None))
            r.advance()
        if r.kind == "number":
            # A minus becomes part of the number, unless it applies to more than the number.
            minus = bool(pending) and pending[-1][1] is m.ExprUnary.Op.Minus
            follows = r.kinds[r.index + 1]
            minus = minus and follows != "^" and not (r.extended and follows == "::")
            operand, negated = _read_number(r, negative=minus)
            if negated:
                pending.pop()
        elif r.kind == "name" and r.kinds[r.index + 1] in _GO_ON_AFTER_NAME:
            operand = as_expr((yield read_primary(r)))
        else:
            operand = _read_constant(r) or (yield _read_operand(r))
        if r.kind == "::":
            operand = yield _read_cast(r, operand)
        left, right, binary = _BINARY.get(r.kind, _NO_OPERATOR)
        if operand.group is not None:
            limit = pending[-1][0] if pending else 0
            inner = operand.group.expr
            whole = limit < left and r.kind == "<"
            if needs_parentheses(inner.alternative, limit, left) or (whole and takes_less(inner)):
                operand = inner
        while pending and pending[-1][0] >= left:
            _, op, first = pending.pop()
            operand = _operation(op, first, operand)
        if binary is None:
            return operand
        pending.append((right, binary, operand))
        r.advance()


def _operation(op: Any, left: m.Expr | None, right: m.Expr) -> m.Expr:
    if left is not None:
        return m.Expr(binary=m.ExprBinary(op=op, left=left, right=right))
    return m.Expr(unary=m.ExprUnary(op=op, expr=right))


def _read_operand(r: Reader) -> Reading:
    """Read an operand that consists of several tokens."""
    kind = r.kind
    if kind == "(":
        return as_expr((yield read_primary(r)))
    if kind == "{":
        return (yield _read_table(r))
    if kind == "if":
        return (yield _read_conditional(r))
    if kind in ("whole", "first"):
        return (yield _read_interpolated(r))
    attributes = (yield read_attributes(r)) if kind == "@" else []
    if r.kind != "function":
        r.fail("an expression" if kind != "@" else "`function` after an attribute")
    opening = r.advance()
    return m.Expr(function=(yield read_function_body(r, opening, attributes)))


def _read_cast(r: Reader, operand: m.Expr) -> Reading:
    if not r.extended:
        r.lose(r.index, "cast", "dropped")
    r.advance()
    type_ = yield read_type(r)
    if r.extended:
        if operand.group is not None:
            inner = operand.group.expr
            if needs_parentheses(inner.alternative, CAST_PRIORITY, CAST_PRIORITY):
                operand = inner
        return m.Expr(cast=m.ExprCast(expr=operand, type=type_))
    if operand.which in ("call", "varargs"):  # a cast truncates several values to one
        return m.Expr(group=m.ExprGroup(expr=operand))
    return operand


def read_primary(r: Reader) -> Reading:
    """Read a name or an expression in parentheses, with the fields and calls after it.

    Returns a message that can be an alternative of Expr.
    """
    opening = r.index
    node: Any
    owner = None  # the name if `node` is a global
    if r.kind == "(":
        r.advance()
        inner = yield read_expression(r)
        r.close(")", opening)
        node = m.ExprGroup(expr=inner)
    else:
        name = r.name("or an expression in parentheses")
        node = r.variable(name)
        if type(node) is m.ExprGlobal:
            owner = name
    while True:
        kind = r.kind
        if kind == ".":
            r.advance()
            field = r.names.field(r.name("of a field"), owner)
            node = m.ExprIndexName(expr=as_prefix(node), index=field)
        elif kind == "[":
            opening = r.advance()
            key = _read_leaf(r) or (yield read_expression(r))
            r.close("]", opening)
            node = m.ExprIndexExpr(expr=as_prefix(node), index=key)
        elif kind == ":":
            r.advance()
            field = r.names.field(r.name("of a method"), owner)
            callee = r.index - 1
            node = m.ExprIndexName(expr=as_prefix(node), index=field)
            if r.kind == "<" and r.kinds[r.index + 1] == "<":
                node = yield _read_instantiation(r, node)
            if r.kind not in CALLS:
                r.fail("the arguments of the method call")
            parenless = True if r.extended and r.kind != "(" else None
            args = yield _read_arguments(r, callee)
            function = as_prefix(node)
            node = m.ExprCall(func=function, self_=True, args=args, parenless=parenless)
        elif kind in CALLS:
            parenless = True if r.extended and kind != "(" else None
            args = yield _read_arguments(r, r.index - 1)
            function = as_prefix(node)
            node = m.ExprCall(func=function, self_=False, args=args, parenless=parenless)
        elif kind == "<" and r.kinds[r.index + 1] == "<":
            node = yield _read_instantiation(r, node)
        else:
            return node
        owner = None


def _read_arguments(r: Reader, callee: int) -> Reading:
    """Read the arguments of a call: a list in parentheses, a string or a table.

    A list must begin on the line on which the token at index `callee` ends. This token is a
    method's name, or else the last token of the called expression.
    """
    if r.kind == "string":
        return [m.Expr(string=m.ExprConstantString(val=r.string()))]
    if r.kind == "{":
        return [(yield _read_table(r))]
    opening = r.index
    end = r.starts[callee] + len(r.texts[callee])
    if "\n" in r.source.text[end : r.starts[opening]]:
        r.fail(
            "the arguments of a call on the same line as the called function, or `;` if a new "
            "statement begins here"
        )
    r.advance()
    args = [] if r.kind == ")" else (yield read_expressions(r))
    r.close(")", opening)
    return args


def _read_instantiation(r: Reader, function: Any) -> Reading:
    what = "type arguments of a generic function"
    if not r.extended:
        r.lose(r.index, what, "dropped")
    r.require(m.Expr, "instantiate", what, r.index)
    r.advance()
    items = [argument for _, argument in (yield read_type_arguments(r))]
    r.expect(">", "to close the list of types")
    if not r.extended:
        return function
    return m.ExprInstantiate(expr=as_prefix(function), types=m.TypeArguments(items=items))


def _read_table(r: Reader) -> Reading:
    opening = r.advance()
    items = []
    while r.kind != "}":
        if r.kind == "[":
            bracket = r.advance()
            key = _read_leaf(r) or (yield read_expression(r))
            r.close("]", bracket)
            r.expect("=", "and the value after a key in brackets")
            value = _read_leaf(r) or (yield read_expression(r))
            items.append(m.TableItem(key_expr=key, value=value))
        elif r.kind == "name" and r.kinds[r.index + 1] == "=":
            name = r.names.field(r.take())
            r.advance()
            value = _read_leaf(r) or (yield read_expression(r))
            items.append(m.TableItem(key_name=name, value=value))
        else:
            items.append(m.TableItem(value=_read_leaf(r) or (yield read_expression(r))))
        if not r.skip(",") and not r.skip(";"):
            break
    r.close("}", opening)
    return m.Expr(table=m.ExprTable(items=items))


def _read_conditional(r: Reader) -> Reading:
    """Read an if-expression."""
    clauses: list[tuple[m.Expr, m.Expr]] = []
    while not clauses or r.kind == "elseif":
        r.advance()
        cond = yield read_expression(r)
        r.expect("then", "after the condition")
        clauses.append((cond, (yield read_expression(r))))
    r.expect("else", "and a value, which an if-expression needs")
    otherwise = yield read_expression(r)
    cond, then = clauses.pop()
    node = m.ExprIfElse(cond=cond, then=then, else_=otherwise)
    while clauses:
        cond, then = clauses.pop()
        node = m.ExprIfElse(cond=cond, then=then, elseif=node)
    return m.Expr(ifelse=node)


def _read_interpolated(r: Reader) -> Reading:
    parts: list[m.Expr] = []
    text: list[str] = []  # the pieces of the next part
    pieces: tuple[str, ...] = ("whole", "first")
    while True:
        kind = r.kind
        if kind not in pieces:
            r.fail("`}` after an expression in an interpolated string")
        pieces = ("first", "middle", "last")  # Luau also accepts "first" here
        text.append(r.text())
        value: m.Expr | None = None
        if kind in ("first", "middle"):
            value = yield read_expression(r)
        if value is not None and value.string is not None:
            text.append(value.string.val)
            continue
        if any(text):
            parts.append(m.Expr(string=m.ExprConstantString(val=join(text))))
        text = []
        if value is None:
            return m.Expr(interpstring=m.ExprInterpString(parts=parts))
        parts.append(value)


def read_attributes(r: Reader) -> Reading:
    """Read the attributes of a function. If no Luau version is given, record them as losses."""
    attributes: list[m.ExprAttr] = []
    while r.kind == "@":
        if not r.extended:
            r.lose(r.index, "attribute", "dropped")
        r.advance()
        if r.kind == "[":
            r.require(m.ExprAttr, "braced", "an attribute in brackets", r.index)
            opening = r.advance()
            first = len(attributes)
            while True:
                attribute = _attribute(r)
                attribute.braced = True
                if len(attributes) > first:
                    attribute.joined = True
                attributes.append(attribute)
                if r.kind in CALLS and not r.extended:
                    yield _read_arguments(r, r.index - 1)
                elif r.kind in CALLS:
                    yield _read_literals(r, attribute)
                if not r.skip(","):
                    break
            r.close("]", opening)
        else:
            attributes.append(_attribute(r))
    if r.kind != "function" and r.kind != "local" and r.kind != "name":
        r.fail("`function` after an attribute")
    return attributes


def _attribute(r: Reader) -> m.ExprAttr:
    text = r.name("of an attribute")
    kind = _ATTRIBUTES.get(text, m.ExprAttr.Kind.Unknown)
    name = r.names.field(text) if r.extended and text not in _ATTRIBUTES else None
    return m.ExprAttr(type=kind, name=name)


def _read_literals(r: Reader, attribute: m.ExprAttr) -> Reading:
    """Read the arguments of an attribute: literals in parentheses, or one string or table."""
    if r.kind != "(":
        attribute.args = [(yield _read_literal(r))]
        return
    opening = r.advance()
    args = []
    while r.kind != ")":
        args.append((yield _read_literal(r)))
        if not r.skip(","):
            break
    r.close(")", opening)
    attribute.args = args
    if not args or (len(args) == 1 and args[0].which in ("string", "table")):
        attribute.parenthesised = True


def _read_literal(r: Reader) -> Reading:
    index = r.index
    if r.kind == "{":
        r.advance()
        items = []
        while r.kind != "}":
            name = None
            if r.kind == "name" and r.kinds[r.index + 1] == "=":
                name = r.names.field(r.take())
                r.advance()
            items.append(m.LiteralTableItem(key_name=name, value=(yield _read_literal(r))))
            if not r.skip(",") and not r.skip(";"):
                break
        r.close("}", index)
        return m.ExprLiteral(table=m.ExprLiteralTable(items=items))
    if r.kind == "whole":
        return m.ExprLiteral(string=m.ExprConstantString(val=r.text()))
    constant = None if r.kind in ("name", "...") else _read_constant(r)
    kind = None if constant is None else _LITERAL.get(type(constant.alternative))
    if constant is None or kind is None:
        r.fail("a literal: nil, a boolean, a number, a string or a table of these", index)
    return m.ExprLiteral(**{kind: constant.alternative})


def _read_number(r: Reader, *, negative: bool = False) -> tuple[m.Expr, bool]:
    """Read a number. Return (expression, has_minus).

    `negative` is true if the number follows a minus. `has_minus` is true if the constant includes
    this minus. It is false for 64-bit integers, and for 0, because -0 is a different number.
    """
    index = r.index
    text = r.take()
    if text.rstrip("_").endswith("i"):
        try:
            integer = m.ExprConstantInteger(val=integer_value(text))
        except ValueError:
            r.fail("a 64-bit integer" if r.extended else "a number", index)
        r.check_extended("an integer", index)
        r.require(m.Expr, "integer", "an integer", index)
        return m.Expr(integer=integer), False
    try:
        value = number_value(text)
    except ValueError:
        r.fail("a number", index)
    negative = negative and value > 0
    sign = -1 if negative else 1
    if INT32_MIN <= sign * value <= INT32_MAX and value == int(value):
        return m.Expr(number=m.ExprConstantNumber(val=sign * int(value))), negative
    if r.extended:
        value *= sign
        number = m.ExprConstantNumber(val=nearest_int32(value), double=value)
        return m.Expr(number=number), negative
    expr = number_expression(value)
    r.lose(index, f"number {text:.40}", f"`{render(expr)}`, which has the same value")
    return expr, False
