"""The part of the parser that reads expressions."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final

from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.luau.literals import join, number_expression, number_value
from scriptschema.luau.parse_base import Reading
from scriptschema.luau.parse_types import TypeReader
from scriptschema.luau.render import BINARY, UNARY, UNARY_PRIORITY, needs_parentheses, render
from scriptschema.messages import (
    Expr,
    ExprBinary,
    ExprCall,
    ExprConstantBool,
    ExprConstantNil,
    ExprConstantNumber,
    ExprConstantString,
    ExprFunction,
    ExprGlobal,
    ExprGroup,
    ExprIfElse,
    ExprIndexExpr,
    ExprIndexName,
    ExprInterpString,
    ExprPrefix,
    ExprTable,
    ExprUnary,
    ExprVarargs,
    TableItem,
    Type,
    Typename,
    TypePrimitive,
)

_UNARY: Final = {text.strip(): op for op, text in UNARY.items()}
_BINARY: Final = {text: (left, right, op) for op, (text, left, right) in BINARY.items()}
_NO_OPERATOR: Final = (0, 0, None)

CALLS: Final = frozenset({"(", "{", "string"})
"""What the arguments of a call may begin with."""

SUFFIXES: Final = CALLS | {".", "[", ":"}
"""What makes more of a name than a variable."""

_GO_ON: Final = SUFFIXES | _BINARY.keys() | {"::"}
_GO_ON_AFTER_NAME: Final = SUFFIXES | {"<"}

_EXPR: Final = {field.type: name for name, field in Expr.FIELDS.items()}
_PREFIX: Final = {field.type: name for name, field in ExprPrefix.FIELDS.items()}


def as_expr(node: Any) -> Expr:
    """Return the Expr whose alternative is `node`."""
    return Expr(**{_EXPR[type(node)]: node})


def as_prefix(node: Any) -> ExprPrefix:
    """Return the ExprPrefix whose alternative is `node`."""
    return ExprPrefix(**{_PREFIX[type(node)]: node})


class ExpressionReader(TypeReader):
    """Reads expressions."""

    @abstractmethod
    def block(self) -> Reading:
        """Read the statements of a function."""

    def expressions(self) -> Reading:
        """One expression or more, with commas between."""
        values = []
        while True:
            values.append(self.leaf() or (yield self.expression()))
            if not self.skip(","):
                return values

    def leaf(self) -> Expr | None:
        """An expression of one token that is all of it, if one is here: a shortcut."""
        after = self.kinds[self.index + 1]
        if after in _GO_ON:
            return None
        return self.constant()

    def constant(self) -> Expr | None:
        """An operand of one token, if one is here."""
        kind = self.kind
        if kind == "name":
            return as_expr(self.variable(self.take()))
        if kind == "number":
            return self.number()
        if kind == "string":
            return Expr(string=ExprConstantString(val=self.string()))
        if kind == "nil":
            self.advance()
            return Expr(nil=ExprConstantNil())
        if kind in ("true", "false"):
            return Expr(bool=ExprConstantBool(val=self.take() == "true"))
        if kind == "...":
            self.advance()
            return Expr(varargs=ExprVarargs())
        return None

    def expression(self) -> Reading:
        """Operands and operators, by priority.

        Parentheses become an ExprGroup only where `render` would not print them anyway.
        """
        pending: list[tuple[int, Any, Expr | None]] = []
        while True:
            while (unary := _UNARY.get(self.kind)) is not None:
                pending.append((UNARY_PRIORITY, unary, None))
                self.advance()
            if self.kind == "number":
                # A minus belongs to the number unless the number is not all that it applies to.
                minus = bool(pending) and pending[-1][1] is ExprUnary.Op.Minus
                operand = self.number(negative=minus and self.kinds[self.index + 1] != "^")
                if operand.number is not None and operand.number.val < 0:
                    pending.pop()
            elif self.kind == "name" and self.kinds[self.index + 1] in _GO_ON_AFTER_NAME:
                operand = as_expr((yield self.primary()))
            else:
                operand = self.constant() or (yield self.operand())
            if self.kind == "::":
                operand = yield self.cast(operand)
            left, right, binary = _BINARY.get(self.kind, _NO_OPERATOR)
            if operand.group is not None:
                limit = pending[-1][0] if pending else 0
                inner = operand.group.expr
                if needs_parentheses(inner.alternative, limit, left):
                    operand = inner
            while pending and pending[-1][0] >= left:
                _, op, first = pending.pop()
                operand = self.operation(op, first, operand)
            if binary is None:
                return operand
            pending.append((right, binary, operand))
            self.advance()

    def operation(self, op: Any, left: Expr | None, right: Expr) -> Expr:
        """A binary operation, or a unary one if there is nothing to the left."""
        if left is not None:
            return Expr(binary=ExprBinary(op=op, left=left, right=right))
        return Expr(unary=ExprUnary(op=op, expr=right))

    def operand(self) -> Reading:
        """An operand of more than one token."""
        kind = self.kind
        if kind == "(":
            return as_expr((yield self.primary()))
        if kind == "{":
            return (yield self.table())
        if kind == "if":
            return (yield self.conditional())
        if kind in ("whole", "first"):
            return (yield self.interpolated())
        if kind == "@":
            yield self.attributes()
        if self.kind != "function":
            self.fail("an expression" if kind != "@" else "`function` after an attribute")
        opening = self.index
        self.advance()
        return Expr(function=(yield self.function_body(opening)))

    def cast(self, operand: Expr) -> Reading:
        """Go past `:: type`."""
        self.lose(self.index, "cast", "left out")
        self.advance()
        yield self.type_()
        if operand.which in ("call", "varargs"):  # a cast cuts several values down to one
            return Expr(group=ExprGroup(expr=operand))
        return operand

    def primary(self) -> Reading:
        """A name or a group, and what follows it: fields, calls; as an alternative of Expr."""
        opening = self.index
        node: Any
        owner = None  # the name of the global that `node` is
        if self.kind == "(":
            self.advance()
            inner = yield self.expression()
            self.close(")", opening)
            node = ExprGroup(expr=inner)
        else:
            name = self.name("or an expression in parentheses")
            node = self.variable(name)
            if type(node) is ExprGlobal:
                owner = name
        while True:
            kind = self.kind
            if kind == ".":
                self.advance()
                field = self.names.field(self.name("of a field"), owner)
                node = ExprIndexName(expr=as_prefix(node), index=field)
            elif kind == "[":
                opening = self.index
                self.advance()
                key = self.leaf() or (yield self.expression())
                self.close("]", opening)
                node = ExprIndexExpr(expr=as_prefix(node), index=key)
            elif kind == ":":
                self.advance()
                field = self.names.field(self.name("of a method"), owner)
                node = ExprIndexName(expr=as_prefix(node), index=field)
                method = self.index - 1
                yield self.instantiation()
                if self.kind not in CALLS:
                    self.fail("the arguments of the method's call")
                args = yield self.arguments(method)
                node = ExprCall(func=ExprPrefix(index_name=node), self_=True, args=args)
            elif kind in CALLS:
                args = yield self.arguments(self.index - 1)
                node = ExprCall(func=as_prefix(node), self_=False, args=args)
            elif kind == "<" and self.kinds[self.index + 1] == "<":
                yield self.instantiation()
            else:
                return node
            owner = None

    def arguments(self, callee: int) -> Reading:
        """The arguments of a call: a list, a string or a table.

        `callee` is the last token of what is called: the list must begin on its line.
        """
        if self.kind == "string":
            return [Expr(string=ExprConstantString(val=self.string()))]
        if self.kind == "{":
            return [(yield self.table())]
        opening = self.index
        end = self.starts[callee] + len(self.texts[callee])
        if "\n" in self.source.text[end : self.starts[opening]]:
            self.fail(
                "the arguments of a call on the same line as what is called, or `;` if a new "
                "statement begins here"
            )
        self.advance()
        args = [] if self.kind == ")" else (yield self.expressions())
        self.close(")", opening)
        return args

    def instantiation(self) -> Reading:
        """Go past `<<types>>`, if it is here."""
        if self.kind == "<" and self.kinds[self.index + 1] == "<":
            self.lose(self.index, "types given to a generic function", "left out")
            self.advance()
            yield self.type_arguments()
            self.expect(">", "to close the list of types")

    def table(self) -> Reading:
        """A table."""
        opening = self.index
        self.advance()
        items = []
        while self.kind != "}":
            if self.kind == "[":
                bracket = self.index
                self.advance()
                key = self.leaf() or (yield self.expression())
                self.close("]", bracket)
                self.expect("=", "and the value after a key in brackets")
                value = self.leaf() or (yield self.expression())
                items.append(TableItem(key_expr=key, value=value))
            elif self.kind == "name" and self.kinds[self.index + 1] == "=":
                name = self.names.field(self.take())
                self.advance()
                value = self.leaf() or (yield self.expression())
                items.append(TableItem(key_name=name, value=value))
            else:
                items.append(TableItem(value=self.leaf() or (yield self.expression())))
            if not self.skip(",") and not self.skip(";"):
                break
        self.close("}", opening)
        return Expr(table=ExprTable(items=items))

    def conditional(self) -> Reading:
        """An if-expression."""
        clauses: list[tuple[Expr, Expr]] = []
        while not clauses or self.kind == "elseif":
            self.advance()
            cond = yield self.expression()
            self.expect("then", "after the condition")
            clauses.append((cond, (yield self.expression())))
        self.expect("else", "and a value, which an if-expression needs")
        otherwise = yield self.expression()
        cond, then = clauses.pop()
        node = ExprIfElse(cond=cond, then=then, else_=otherwise)
        while clauses:
            cond, then = clauses.pop()
            node = ExprIfElse(cond=cond, then=then, elseif=node)
        return Expr(ifelse=node)

    def interpolated(self) -> Reading:
        """An interpolated string."""
        parts: list[Expr] = []
        text: list[str] = []  # pieces that the next part begins with
        while True:
            kind = self.kind
            if kind not in ("whole", "first", "middle", "last"):
                self.fail("`}` after an expression in an interpolated string")
            text.append(self.text())
            value: Expr | None = None
            if kind in ("first", "middle"):
                value = yield self.expression()
            if value is not None and value.string is not None:
                text.append(value.string.val)
                continue
            if any(text):
                parts.append(Expr(string=ExprConstantString(val=join(text))))
            text = []
            if value is None:
                return Expr(interpstring=ExprInterpString(parts=parts))
            parts.append(value)

    def function_body(self, opening: int, *, method: bool = False) -> Reading:
        """Generics, parameters, result types, body and `end`; `opening` is the `function`."""
        generic: list[str] = []
        generics: list[Typename] = []
        packs: list[Typename] = []
        if self.kind == "<":
            generic, generics, packs = yield self.generics()
        parenthesis = self.index
        self.expect("(", "and the function's parameters")
        names: list[str] = []
        found: list[tuple[int, Type | None]] = []
        vararg = False
        while self.kind != ")":
            index = self.index
            if self.skip("..."):
                vararg = True
                if self.skip(":"):
                    if self.at_pack():
                        self.lose(index, "generic pack as the type of `...`", "left out")
                        yield self.pack()
                    else:
                        found.append((index, (yield self.type_())))
                break
            names.append(self.name("of a parameter or `...`"))
            found.append((index, (yield self.type_()) if self.skip(":") else None))
            if not self.skip(","):
                break
            if self.kind == ")":
                self.fail("a parameter after `,`")
        self.close(")", parenthesis)
        types = self.by_position(found)
        rettypes: list[Type] = []
        if self.kind == "->":
            self.fail("`:` before the result type")
        if self.kind == ":":
            index = self.index
            self.advance()
            rettypes = yield self.results()
            if self.index - index == 3 and self.kinds[index + 1] == "(":
                self.lose(index, "result type `()`", "left out")
        self.open(*(["self"] if method else []))
        args = [self.declare(name) for name in names]
        body = yield self.block()
        self.shut()
        self.shut_generics(generic)
        self.close("end", opening)
        return ExprFunction(
            generics=generics,
            genericpacks=packs,
            args=args,
            vararg=vararg,
            body=body,
            types=types,
            rettypes=rettypes,
        )

    def by_position(self, found: list[tuple[int, Type | None]]) -> list[Type]:
        """Types for the schema's lists, which go with the names by position: no gaps."""
        while found and found[-1][1] is None:
            found.pop()
        types = []
        for index, type_ in found:
            if type_ is None:
                self.lose(index, "no type before a name that has one", "the type is `any`")
                type_ = Type(primitive=TypePrimitive(kind=self.names.primitive("any")))
            types.append(type_)
        return types

    def attributes(self) -> Reading:
        """Go past the attributes of a function."""
        while self.kind == "@":
            self.lose(self.index, "attribute", "left out")
            self.advance()
            if self.kind == "[":
                opening = self.index
                self.advance()
                while True:
                    self.name("of an attribute")
                    if self.kind in CALLS:
                        yield self.arguments(self.index - 1)
                    if not self.skip(","):
                        break
                self.close("]", opening)
            else:
                self.name("of an attribute")
        if self.kind != "function" and self.kind != "local" and self.kind != "name":
            self.fail("`function` after an attribute")

    def number(self, *, negative: bool = False) -> Expr:
        """The number constant here, or another expression with its value if the schema has none.

        `negative`: there is a minus before it, which shall become part of the constant. That is
        done only for a whole number; not for 0, whose negative is another number.
        """
        index = self.index
        text = self.take()
        try:
            value = number_value(text)
        except ValueError:
            self.fail("a number", index)
        if negative and 0 < value <= -INT32_MIN and value == int(value):
            return Expr(number=ExprConstantNumber(val=-int(value)))
        if value <= INT32_MAX and value == int(value):
            return Expr(number=ExprConstantNumber(val=int(value)))
        expr = number_expression(value)
        self.lose(index, f"number {text:.40}", f"`{render(expr)}`, which has the same value")
        return expr
