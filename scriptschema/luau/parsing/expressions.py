"""Expressions."""

from __future__ import annotations

from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.luau.literals import join, number_expression, number_value
from scriptschema.luau.operators import BINARY, UNARY, UNARY_PRIORITY, needs_parentheses
from scriptschema.luau.parsing.functions import read_function_body
from scriptschema.luau.parsing.reader import Reader, Reading
from scriptschema.luau.parsing.type_annotations import read_type, read_type_arguments
from scriptschema.luau.render import render

_UNARY: Final = {text.strip(): op for op, text in UNARY.items()}
_BINARY: Final = {text: (left, right, op) for op, (text, left, right) in BINARY.items()}
_NO_OPERATOR: Final = (0, 0, None)

CALLS: Final = frozenset({"(", "{", "string"})
"""What the arguments of a call may begin with."""

SUFFIXES: Final = CALLS | {".", "[", ":"}
"""What makes more of a name than a variable."""

_GO_ON: Final = SUFFIXES | _BINARY.keys() | {"::"}
_GO_ON_AFTER_NAME: Final = SUFFIXES | {"<"}

_EXPR: Final = {field.type: name for name, field in m.Expr.FIELDS.items()}
_PREFIX: Final = {field.type: name for name, field in m.ExprPrefix.FIELDS.items()}


def as_expr(node: Any) -> m.Expr:
    """Return the Expr whose alternative is `node`."""
    return m.Expr(**{_EXPR[type(node)]: node})


def as_prefix(node: Any) -> m.ExprPrefix:
    """Return the ExprPrefix whose alternative is `node`."""
    return m.ExprPrefix(**{_PREFIX[type(node)]: node})


def read_expressions(r: Reader) -> Reading:
    """One expression or more, with commas between."""
    values = []
    while True:
        values.append(_read_leaf(r) or (yield read_expression(r)))
        if not r.skip(","):
            return values


def _read_leaf(r: Reader) -> m.Expr | None:
    """An expression of one token that is all of it, if one is here: a shortcut."""
    after = r.kinds[r.index + 1]
    if after in _GO_ON:
        return None
    return _read_constant(r)


def _read_constant(r: Reader) -> m.Expr | None:
    """An operand of one token, if one is here."""
    kind = r.kind
    if kind == "name":
        return as_expr(r.variable(r.take()))
    if kind == "number":
        return _read_number(r)
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
    """Operands and operators, by priority.

    Parentheses become an ExprGroup only where `render` would not print them anyway.
    """
    pending: list[tuple[int, Any, m.Expr | None]] = []
    while True:
        while (unary := _UNARY.get(r.kind)) is not None:
            pending.append((UNARY_PRIORITY, unary, None))
            r.advance()
        if r.kind == "number":
            # A minus belongs to the number unless the number is not all that it applies to.
            minus = bool(pending) and pending[-1][1] is m.ExprUnary.Op.Minus
            operand = _read_number(r, negative=minus and r.kinds[r.index + 1] != "^")
            if operand.number is not None and operand.number.val < 0:
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
            if needs_parentheses(inner.alternative, limit, left):
                operand = inner
        while pending and pending[-1][0] >= left:
            _, op, first = pending.pop()
            operand = _operation(op, first, operand)
        if binary is None:
            return operand
        pending.append((right, binary, operand))
        r.advance()


def _operation(op: Any, left: m.Expr | None, right: m.Expr) -> m.Expr:
    """A binary _operation, or a unary one if there is nothing to the left."""
    if left is not None:
        return m.Expr(binary=m.ExprBinary(op=op, left=left, right=right))
    return m.Expr(unary=m.ExprUnary(op=op, expr=right))


def _read_operand(r: Reader) -> Reading:
    """An operand of more than one token."""
    kind = r.kind
    if kind == "(":
        return as_expr((yield read_primary(r)))
    if kind == "{":
        return (yield _read_table(r))
    if kind == "if":
        return (yield _read_conditional(r))
    if kind in ("whole", "first"):
        return (yield _read_interpolated(r))
    if kind == "@":
        yield read_attributes(r)
    if r.kind != "function":
        r.fail("an expression" if kind != "@" else "`function` after an attribute")
    opening = r.index
    r.advance()
    return m.Expr(function=(yield read_function_body(r, opening)))


def _read_cast(r: Reader, operand: m.Expr) -> Reading:
    """Go past `:: type`."""
    r.lose(r.index, "cast", "left out")
    r.advance()
    yield read_type(r)
    if operand.which in ("call", "varargs"):  # a cast cuts several values down to one
        return m.Expr(group=m.ExprGroup(expr=operand))
    return operand


def read_primary(r: Reader) -> Reading:
    """A name or a group, and what follows it: fields, calls; as an alternative of Expr."""
    opening = r.index
    node: Any
    owner = None  # the name of the global that `node` is
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
            opening = r.index
            r.advance()
            key = _read_leaf(r) or (yield read_expression(r))
            r.close("]", opening)
            node = m.ExprIndexExpr(expr=as_prefix(node), index=key)
        elif kind == ":":
            r.advance()
            field = r.names.field(r.name("of a method"), owner)
            node = m.ExprIndexName(expr=as_prefix(node), index=field)
            method = r.index - 1
            yield _read_instantiation(r)
            if r.kind not in CALLS:
                r.fail("the arguments of the method's call")
            args = yield _read_arguments(r, method)
            node = m.ExprCall(func=m.ExprPrefix(index_name=node), self_=True, args=args)
        elif kind in CALLS:
            args = yield _read_arguments(r, r.index - 1)
            node = m.ExprCall(func=as_prefix(node), self_=False, args=args)
        elif kind == "<" and r.kinds[r.index + 1] == "<":
            yield _read_instantiation(r)
        else:
            return node
        owner = None


def _read_arguments(r: Reader, callee: int) -> Reading:
    """The arguments of a call: a list, a string or a table.

    `callee` is the last token of what is called: the list must begin on its line.
    """
    if r.kind == "string":
        return [m.Expr(string=m.ExprConstantString(val=r.string()))]
    if r.kind == "{":
        return [(yield _read_table(r))]
    opening = r.index
    end = r.starts[callee] + len(r.texts[callee])
    if "\n" in r.source.text[end : r.starts[opening]]:
        r.fail(
            "the arguments of a call on the same line as what is called, or `;` if a new "
            "statement begins here"
        )
    r.advance()
    args = [] if r.kind == ")" else (yield read_expressions(r))
    r.close(")", opening)
    return args


def _read_instantiation(r: Reader) -> Reading:
    """Go past `<<types>>`, if it is here."""
    if r.kind == "<" and r.kinds[r.index + 1] == "<":
        r.lose(r.index, "types given to a generic function", "left out")
        r.advance()
        yield read_type_arguments(r)
        r.expect(">", "to close the list of types")


def _read_table(r: Reader) -> Reading:
    """A table."""
    opening = r.index
    r.advance()
    items = []
    while r.kind != "}":
        if r.kind == "[":
            bracket = r.index
            r.advance()
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
    """An if-expression."""
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
    """An interpolated string."""
    parts: list[m.Expr] = []
    text: list[str] = []  # pieces that the next part begins with
    while True:
        kind = r.kind
        if kind not in ("whole", "first", "middle", "last"):
            r.fail("`}` after an expression in an interpolated string")
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
    """Go past the attributes of a function."""
    while r.kind == "@":
        r.lose(r.index, "attribute", "left out")
        r.advance()
        if r.kind == "[":
            opening = r.index
            r.advance()
            while True:
                r.name("of an attribute")
                if r.kind in CALLS:
                    yield _read_arguments(r, r.index - 1)
                if not r.skip(","):
                    break
            r.close("]", opening)
        else:
            r.name("of an attribute")
    if r.kind != "function" and r.kind != "local" and r.kind != "name":
        r.fail("`function` after an attribute")


def _read_number(r: Reader, *, negative: bool = False) -> m.Expr:
    """The number constant here, or another expression with its value if the schema has none.

    `negative`: there is a minus before it, which shall become part of the constant. That is
    done only for a whole number; not for 0, whose negative is another number.
    """
    index = r.index
    text = r.take()
    try:
        value = number_value(text)
    except ValueError:
        r.fail("a number", index)
    if negative and 0 < value <= -INT32_MIN and value == int(value):
        return m.Expr(number=m.ExprConstantNumber(val=-int(value)))
    if value <= INT32_MAX and value == int(value):
        return m.Expr(number=m.ExprConstantNumber(val=int(value)))
    expr = number_expression(value)
    r.lose(index, f"number {text:.40}", f"`{render(expr)}`, which has the same value")
    return expr
