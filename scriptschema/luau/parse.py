"""Luau source to a tree: `parse`.

The parser is written by hand, after the real one: Luau's grammar hangs on line ends (a call's `(`
on a new line), on names that are keywords here and there (`type`, `export`, `continue`, `const`),
and on priorities that differ on an operator's two sides. The ready-made grammar, tree-sitter-luau,
has no generic functions, attributes, type functions or `typeof` types, takes an if-expression
without `else`, and cannot say what it expected.

Reading is recursive descent without recursion: what can nest is a generator that yields the part
to be read next and is sent what it became, and `_Parser.run` keeps the open ones in a list. Depth
costs memory, never a RecursionError; time is linear.

What the schema cannot say is rewritten if something else means the same when it runs (`x //= y`,
fractional numbers), and otherwise left out (comments, attributes, what only the type checker sees);
both are listed in `ParseResult.losses`. Not listed is mere spelling: white space, `;`, the way a
string or a number is written, `f"x"` for `f("x")`, `T?` for `T | nil`, `{T}` for `{[number]: T}`.

The parser reads the grammar. Whether `break` stands in a loop and the like is `scope.check`'s.

Source: https://luau.org/grammar, and what the real Luau accepts.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Generator
from operator import attrgetter
from typing import Any, Final, NoReturn, TypeAlias

import attrs

from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.luau.lexer import Source, Tokens, tokenize
from scriptschema.luau.names import DEFAULT, KEYWORDS, NameReader, Names
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
    ExprLocal,
    ExprPrefix,
    ExprTable,
    ExprUnary,
    ExprVarargs,
    Local,
    LValue,
    ModuleSet,
    Stat,
    StatAssign,
    StatBlock,
    StatBreak,
    StatCall,
    StatCompoundAssign,
    StatContinue,
    StatFor,
    StatForIn,
    StatFunction,
    StatIf,
    StatLocal,
    StatLocalFunction,
    StatRepeat,
    StatRequireIntoLocalHelper,
    StatReturn,
    StatTypeAlias,
    StatWhile,
    TableItem,
    Type,
    TypeBoolean,
    TypeClass,
    TypeFunction,
    TypeIntersection,
    TypeLiteral,
    Typename,
    TypePrimitive,
    TypeRef,
    TypeString,
    TypeTable,
    TypeTableIndexer,
    TypeTableItem,
    TypeTypeof,
    TypeUnion,
)


@attrs.frozen
class Loss:
    """Something of a source that the tree does not say as the source does.

    `source` is `program` or `module`; lines and columns count from 1, columns in characters. `what`
    names what stands there and `how` says what became of it.
    """

    source: str
    line: int
    column: int
    what: str
    how: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.what}: {self.how}"


@attrs.frozen
class ParseResult:
    """What `parse` found: the tree, the names that its indexes stand for, and what it lacks."""

    tree: ModuleSet
    names: Names
    losses: tuple[Loss, ...]


class ParseError(ValueError):
    """A source that is not Luau.

    `source` is `program` or `module`; `line` and `column` count from 1. `expected` says what could
    have stood there, `found` what does.
    """

    def __init__(self, source: str, line: int, column: int, expected: str, found: str) -> None:
        super().__init__(source, line, column, expected, found)
        self.source = source
        self.line = line
        self.column = column
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: expected {self.expected}, found {self.found}"


def parse(
    source: str | bytes,
    *,
    module: str | bytes | None = None,
    names: Names | NameReader = DEFAULT,
) -> ParseResult:
    """Read a Luau program, and the module that it requires if there is one.

    Bytes that are not UTF-8 become lone surrogates, as in ExprConstantString. Identifiers get the
    indexes that they have in `names`, and new ones after those; `ParseResult.names` has them all.
    A NameReader lets several sources share the new ones.

    Raises ParseError for a source that is not Luau.
    """
    reader = NameReader(names) if isinstance(names, Names) else names
    losses: list[Loss] = []
    module_block = None
    if module is not None:
        module_block = _Parser("module", module, reader, losses).chunk()
    program = _Parser("program", source, reader, losses).chunk()
    tree = ModuleSet(module=module_block, program=program)
    losses.sort(key=attrgetter("source", "line", "column"))
    return ParseResult(tree, reader.names, tuple(losses))


# What the parser looks up. Priorities are Luau's: an operator takes what stands before it if its
# left one is greater than the right one of the operator before that.

_UNARY: Final = {"not": ExprUnary.Op.Not, "-": ExprUnary.Op.Minus, "#": ExprUnary.Op.Len}
_UNARY_PRIORITY: Final = 8
_Op = ExprBinary.Op
_BINARY: Final = {
    "or": (1, 1, _Op.Or),
    "and": (2, 2, _Op.And),
    "<": (3, 3, _Op.CompareLt),
    ">": (3, 3, _Op.CompareGt),
    "<=": (3, 3, _Op.CompareLe),
    ">=": (3, 3, _Op.CompareGe),
    "==": (3, 3, _Op.CompareEq),
    "~=": (3, 3, _Op.CompareNe),
    "..": (5, 4, _Op.Concat),
    "+": (6, 6, _Op.Add),
    "-": (6, 6, _Op.Sub),
    "*": (7, 7, _Op.Mul),
    "/": (7, 7, _Op.Div),
    "//": (7, 7, _Op.FloorDiv),
    "%": (7, 7, _Op.Mod),
    "^": (10, 9, _Op.Pow),
}
_NO_OPERATOR: Final = (0, 0, None)
_COMPOUND: Final = {
    "+=": StatCompoundAssign.Op.Add,
    "-=": StatCompoundAssign.Op.Sub,
    "*=": StatCompoundAssign.Op.Mul,
    "/=": StatCompoundAssign.Op.Div,
    "%=": StatCompoundAssign.Op.Mod,
    "^=": StatCompoundAssign.Op.Pow,
    "..=": StatCompoundAssign.Op.Concat,
    "//=": None,  # the schema has no such alternative
}
_BLOCK_ENDS: Final = frozenset({"end", "else", "elseif", "until", "eof"})
_SUFFIXES: Final = frozenset({".", "[", ":", "(", "{", "string"})
_CALLS: Final = frozenset({"(", "{", "string"})
_SUFFIXES_AND_LESS: Final = _SUFFIXES | {"<"}
_GO_ON_FROM_NAME: Final = _SUFFIXES | {"=", ","} | _COMPOUND.keys()
_GO_ON: Final = _SUFFIXES | _BINARY.keys() | {"::"}
_MORE_PRIMITIVES: Final = frozenset({"never", "unknown"})

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECIMAL: Final = re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?")
_PREFIXED: Final = re.compile(r"0x[0-9a-f]+|0b[01]+")
_MODULE: Final = re.compile(r"""["']\./module(0|-?[1-9][0-9]{0,9})["']""")
_ESCAPE: Final = re.compile(
    rb"\\(?:(\r\n?|\n)|z[ \t\n\v\f\r]*|x([0-9a-fA-F]{2})|u\{([0-9a-fA-F]+)\}|([0-9]{1,3})|(.))",
    re.DOTALL,
)
_CONTROLS: Final = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))

# The alternative of each oneof that holds a message.
_EXPR: Final = {field.type: name for name, field in Expr.FIELDS.items()}
_PREFIX: Final = {field.type: name for name, field in ExprPrefix.FIELDS.items()}
_LVALUE: Final = {field.type: name for name, field in LValue.FIELDS.items()}


def _expr(node: Any) -> Expr:
    return Expr(**{_EXPR[type(node)]: node})


def _prefix(node: Any) -> ExprPrefix:
    return ExprPrefix(**{_PREFIX[type(node)]: node})


Reading: TypeAlias = Generator[Any, Any, Any]
"""Reads a part of the source: yields the parts in it that can nest, returns what it became."""


class _Parser:
    """The state of reading one source."""

    def __init__(
        self, label: str, text: str | bytes, names: NameReader, losses: list[Loss]
    ) -> None:
        if isinstance(text, bytes):
            text = text.decode("utf-8", "surrogateescape")
        tokens: Tokens = tokenize(text)
        self.label = label
        self.source = Source(text)
        self.kinds = tokens.kinds
        self.texts = tokens.texts
        self.starts = tokens.starts
        self.problem = tokens.problem
        self.names = names
        self.losses = losses
        self.index = 0
        self.kind = self.kinds[0]
        self.in_scope: dict[str, int] = {}  # by local name: how many of them are in scope
        self.scopes: list[list[str]] = []
        self.generics_in_scope: dict[str, int] = {}
        self.aliases = {  # Luau lets a type be used before its declaration
            text
            for word, kind, text in zip(self.texts, self.kinds[1:], self.texts[1:], strict=False)
            if word == "type" and kind == "name"
        }
        self.identifiers = set(self.texts)
        for start, comment in tokens.comments:
            what = "directive" if comment.startswith("--!") else "comment"
            self.lose_at(start, what, "left out")

    # Tokens

    def advance(self) -> None:
        self.index += 1
        self.kind = self.kinds[self.index]

    def take(self) -> str:
        """The text of the token, which is done with."""
        text = self.texts[self.index]
        self.index += 1
        self.kind = self.kinds[self.index]
        return text

    def skip(self, kind: str) -> bool:
        """Go past a token of this kind, if it is there; return whether it was."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    def expect(self, kind: str, purpose: str) -> None:
        """Go past a token that must be here; `purpose` goes on from its name in the error."""
        if self.kind != kind:
            self.fail(f"`{kind}` {purpose}")
        self.advance()

    def close(self, kind: str, opening: int) -> None:
        """Go past the token that closes the one at index `opening`."""
        if self.kind != kind:
            line, column = self.source.position(self.starts[opening])
            text = self.texts[opening]
            self.fail(f"`{kind}` to close the `{text}` at {line}:{column}")
        self.advance()

    def name(self, purpose: str) -> str:
        """The name that must be here; `purpose` goes on from "a name" in the error."""
        if self.kind != "name":
            self.fail(f"a name {purpose}")
        return self.take()

    def fail(self, expected: str, index: int | None = None) -> NoReturn:
        """Raise the ParseError of what was expected at the token at `index`, or here."""
        index = self.index if index is None else index
        line, column = self.source.position(self.starts[index])
        text = self.texts[index]
        kind = self.kinds[index]
        if kind == "eof":
            found = "the end of the source"
        else:
            shown = text if len(text) <= 40 else text[:37] + "..."
            found = f"`{shown.splitlines()[0]}`" if shown.strip() else repr(text)
        if kind == "error" and self.problem:
            found += f" ({self.problem})"
        raise ParseError(self.label, line, column, expected, found)

    def lose(self, index: int, what: str, how: str) -> None:
        """Note that what stands at the token at `index` is not in the tree as it is here."""
        self.lose_at(self.starts[index], what, how)

    def lose_at(self, offset: int, what: str, how: str) -> None:
        line, column = self.source.position(offset)
        self.losses.append(Loss(self.label, line, column, what, how))

    # Scopes

    def open(self, *declared: str) -> None:
        """Begin a scope with these locals."""
        self.scopes.append([])
        for name in declared:
            self.declare(name)

    def shut(self) -> None:
        """End the innermost scope."""
        for name in self.scopes.pop():
            self.in_scope[name] -= 1

    def declare(self, name: str) -> Local:
        self.scopes[-1].append(name)
        self.in_scope[name] = self.in_scope.get(name, 0) + 1
        return Local(name=self.names.local(name))

    def variable(self, name: str) -> ExprLocal | ExprGlobal:
        """What a name means where it stands as a variable."""
        if self.in_scope.get(name):
            return ExprLocal(var=Local(name=self.names.local(name)))
        return ExprGlobal(name=self.names.global_(name))

    # The driver

    def run(self, reading: Reading) -> Any:
        """Run a reading and those that it needs."""
        waiting: list[Reading] = []
        value = None
        while True:
            try:
                part = reading.send(value)
            except StopIteration as stop:
                value = stop.value
                if not waiting:
                    return value
                reading = waiting.pop()
            else:
                waiting.append(reading)
                reading = part
                value = None

    def chunk(self) -> StatBlock:
        """The whole source."""
        self.open()
        block: StatBlock = self.run(self.block())
        if self.kind != "eof":
            self.fail("a statement or the end of the source")
        return block

    # Statements

    def block(self) -> Reading:
        """Statements up to what ends a block. The scope is the caller's."""
        body: list[Stat] = []
        while self.kind not in _BLOCK_ENDS:
            if self.skip("break"):
                stat = Stat(break_=StatBreak())
            else:
                stat = yield _STATEMENTS.get(self.kind, _Parser.other_statement)(self)
            self.skip(";")
            if stat is None:
                continue
            body.append(stat)
            if stat.which in ("return_", "break_", "continue_"):
                break
        return StatBlock(body=body)

    def scoped_block(self, *declared: str) -> Reading:
        self.open(*declared)
        block = yield self.block()
        self.shut()
        return block

    def do_statement(self) -> Reading:
        opening = self.index
        self.advance()
        block = yield self.scoped_block()
        self.close("end", opening)
        return Stat(block=block)

    def if_statement(self) -> Reading:
        clauses = []
        otherwise = None
        while True:
            opening = self.index
            self.advance()  # past `if` or `elseif`
            cond = yield self.expression()
            self.expect("then", "after the condition")
            clauses.append((cond, (yield self.scoped_block())))
            if self.kind != "elseif":
                break
        if self.kind == "else":
            opening = self.index
            self.advance()
            otherwise = yield self.scoped_block()
        self.close("end", opening)
        cond, then = clauses.pop()
        node = StatIf(cond=cond, then=then, else_=otherwise)
        while clauses:
            cond, then = clauses.pop()
            node = StatIf(cond=cond, then=then, elseif=node)
        return Stat(if_=node)

    def while_statement(self) -> Reading:
        opening = self.index
        self.advance()
        cond = yield self.expression()
        self.expect("do", "after the condition")
        body = yield self.scoped_block()
        self.close("end", opening)
        return Stat(while_=StatWhile(cond=cond, body=body))

    def repeat_statement(self) -> Reading:
        opening = self.index
        self.advance()
        self.open()
        body = yield self.block()
        self.close("until", opening)
        cond = yield self.expression()
        self.shut()
        return Stat(repeat=StatRepeat(body=body, cond=cond))

    def return_statement(self) -> Reading:
        self.advance()
        values: list[Expr] = []
        if self.kind not in _BLOCK_ENDS and self.kind != ";":
            values = yield self.expressions()
        return Stat(return_=StatReturn(list=values))

    def for_statement(self) -> Reading:
        opening = self.index
        self.advance()
        names, types = yield self.bindings("of the loop's variable")
        for index, type_ in types:
            if type_ is not None:
                self.lose(index, "type of a loop's variable", "left out")
        if len(names) == 1 and self.skip("="):
            from_ = yield self.expression()
            self.expect(",", "and the loop's last value")
            to = yield self.expression()
            step = (yield self.expression()) if self.skip(",") else None
            self.expect("do", "after the loop's range")
            self.open()
            var = self.declare(names[0])
            body = yield self.block()
            stat = Stat(for_=StatFor(var=var, from_=from_, to=to, step=step, body=body))
        else:
            self.expect("in", "or a further name" if len(names) > 1 else "or `=`")
            values = yield self.expressions()
            self.expect("do", "after the values to go through")
            self.open()
            variables = [self.declare(name) for name in names]
            body = yield self.block()
            stat = Stat(for_in=StatForIn(vars=variables, values=values, body=body))
        self.shut()
        self.close("end", opening)
        return stat

    def local_statement(self) -> Reading:
        self.advance()
        if self.kind == "function":
            return (yield self.local_function())
        return (yield self.local_variables())

    def local_function(self) -> Reading:
        opening = self.index
        self.advance()
        var = self.declare(self.name("for the function"))
        func = yield self.function_body(opening)
        return Stat(local_function=StatLocalFunction(var=var, func=func))

    def local_variables(self, *, constant: bool = False) -> Reading:
        names, found = yield self.bindings("of a variable")
        types = self.by_position(found)
        if constant and self.kind != "=":
            self.fail("`=` and the values of the constants")
        start = self.index + 1
        values = (yield self.expressions()) if self.skip("=") else []
        number = self.required_module(start) if len(names) == 1 and not types else None
        variables = [self.declare(name) for name in names]
        if number is not None:
            helper = StatRequireIntoLocalHelper(var=variables[0], modulenum=number)
            return Stat(require_into_local=helper)
        return Stat(local=StatLocal(vars=variables, values=values, types=types))

    def required_module(self, start: int) -> int | None:
        """The number in `require("./module0")`, if just that stands from token `start` to here."""
        if (
            self.kinds[start : self.index] != ["name", "(", "string", ")"]
            or self.texts[start] != "require"
            or self.in_scope.get("require")
        ):
            return None
        found = _MODULE.fullmatch(self.texts[start + 2])
        if found is None or not INT32_MIN <= int(found[1]) <= INT32_MAX:
            return None
        return int(found[1])

    def bindings(self, purpose: str) -> Reading:
        """Names and for each the index of its token and its type or None."""
        names = []
        types = []
        while True:
            index = self.index
            names.append(self.name(purpose))
            types.append((index, (yield self.type_()) if self.skip(":") else None))
            if not self.skip(","):
                return names, types

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

    def function_statement(self) -> Reading:
        opening = self.index
        self.advance()
        name = self.name("for the function")
        node: Any = self.variable(name)
        owner = name if type(node) is ExprGlobal else None
        method = False
        while not method and self.kind in (".", ":"):
            method = self.take() == ":"
            field = self.names.field(self.name("of a method" if method else "of a field"), owner)
            node = ExprIndexName(expr=_prefix(node), index=field)
            owner = None
        func = yield self.function_body(opening, method=method)
        var = LValue(**{_LVALUE[type(node)]: node})
        return Stat(function=StatFunction(var=var, func=func, self_=method))

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
                    if self.kind in _CALLS:
                        yield self.arguments()
                    if not self.skip(","):
                        break
                self.close("]", opening)
            else:
                self.name("of an attribute")
        if self.kind != "function" and self.kind != "local" and self.kind != "name":
            self.fail("`function` after an attribute")

    def attributed_statement(self) -> Reading:
        yield self.attributes()
        following = self.kinds[self.index + 1]
        if self.kind == "function":
            return (yield self.function_statement())
        if following != "function" or (self.kind == "name" and self.texts[self.index] != "const"):
            self.fail("`function` after an attribute")
        if self.kind == "name":
            return (yield self.const_statement())
        return (yield self.local_statement())

    def const_statement(self) -> Reading:
        self.lose(self.index, "`const`", "`local`")
        self.advance()
        if self.kind == "function":
            return (yield self.local_function())
        return (yield self.local_variables(constant=True))

    def type_statement(self, *, export: bool) -> Reading:
        """`type` is the token."""
        start = self.index
        self.advance()
        if self.kind == "function":
            opening = self.index
            self.lose(start, "type function", "left out")
            self.advance()
            self.name("for the type function")
            yield self.function_body(opening)
            return None
        name = Typename(index=self.names.type(self.name("for the type")))
        generic: list[str] = []
        generics: list[Typename] = []
        packs: list[Typename] = []
        if self.kind == "<":
            generic, generics, packs = yield self.generics(defaults=True)
        self.expect("=", "and the type that the name stands for")
        type_ = yield self.type_()
        self.shut_generics(generic)
        return Stat(
            type_alias=StatTypeAlias(
                export=export, name=name, type=type_, generics=generics, genericpacks=packs
            )
        )

    def other_statement(self) -> Reading:
        """A call, an assignment, or one that begins with a name that is no keyword elsewhere."""
        start = self.index
        if self.kind == "name":
            text = self.texts[start]
            following = self.kinds[start + 1]
            if text == "continue" and following not in _GO_ON_FROM_NAME:
                self.advance()
                return Stat(continue_=StatContinue())
            if text == "type" and following in ("name", "function"):
                return (yield self.type_statement(export=False))
            if text == "export" and self.texts[start + 1] == "type":
                self.advance()
                return (yield self.type_statement(export=True))
            if text == "const" and following in ("name", "function"):
                return (yield self.const_statement())
        elif self.kind != "(":
            self.fail("a statement")
        node = yield self.primary()
        if type(node) is ExprCall:
            return Stat(call=StatCall(expr=node))
        if self.kind not in _COMPOUND and self.kind not in ("=", ","):
            self.fail("a call's arguments or an assignment")
        target = self.lvalue(node, start)
        if self.kind in _COMPOUND:
            return (yield self.compound_assignment(target))
        targets = [target]
        while self.skip(","):
            start = self.index
            targets.append(self.lvalue((yield self.primary()), start))
        self.expect("=", "and the values to assign")
        return Stat(assign=StatAssign(vars=targets, values=(yield self.expressions())))

    def lvalue(self, node: Any, start: int) -> LValue:
        """What stands from token `start` to here, as what can be assigned to."""
        kind = _LVALUE.get(type(node))
        if kind is None:
            self.fail("a variable or a field, which can be assigned to", start)
        return LValue(**{kind: node})

    def compound_assignment(self, target: LValue) -> Reading:
        sign = self.index
        op = _COMPOUND[self.take()]
        value = yield self.expression()
        if op is not None:
            return Stat(compound_assign=StatCompoundAssign(op=op, var=target, value=value))
        return self.floor_division(target, value, sign)

    def floor_division(self, target: LValue, value: Expr, sign: int) -> Stat:
        """`target //= value`, for which the schema has no operator."""
        how = "`x = x // y`"
        before: list[Stat] = []
        node: Any = target.alternative
        if target.which in ("index_name", "index_expr"):
            # What stands before the last field, and the key, must be evaluated once only.
            node = target.alternative
            prefix = node.expr
            if prefix.which not in ("local", "global_"):
                prefix = ExprPrefix(local=self.hold(before, "object", _expr(prefix.alternative)))
            if target.which == "index_name":
                node = ExprIndexName(expr=prefix, index=node.index)
            else:
                key = node.index
                if key.which not in ("local", "number", "string", "bool"):
                    key = Expr(local=self.hold(before, "key", key))
                node = ExprIndexExpr(expr=prefix, index=key)
        again = _expr(copy.deepcopy(node))
        quotient = Expr(binary=ExprBinary(op=_Op.FloorDiv, left=again, right=value))
        target = LValue(**{_LVALUE[type(node)]: node})
        assign = Stat(assign=StatAssign(vars=[target], values=[quotient]))
        if before:
            how += " with `x` held in local variables"
            assign = Stat(block=StatBlock(body=[*before, assign]))
        self.lose(sign, "`//=`", how)
        return assign

    def hold(self, before: list[Stat], name: str, value: Expr) -> ExprLocal:
        """Add to `before` a new local variable that holds `value`; return its use."""
        while name in self.identifiers:
            name += "_"
        index = self.names.local(name)
        before.append(Stat(local=StatLocal(vars=[Local(name=index)], values=[value])))
        return ExprLocal(var=Local(name=index))

    # Expressions

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
            return _expr(self.variable(self.take()))
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
        """Operands and operators, by priority."""
        pending: list[tuple[int, Any, Expr | None]] = []
        while True:
            while (unary := _UNARY.get(self.kind)) is not None:
                pending.append((_UNARY_PRIORITY, unary, None))
                self.advance()
            if self.kind == "number":
                # A minus belongs to the number unless the number is not all that it applies to.
                minus = bool(pending) and pending[-1][1] is ExprUnary.Op.Minus
                operand = self.number(negative=minus and self.kinds[self.index + 1] != "^")
                if operand.number is not None and operand.number.val < 0:
                    pending.pop()
            elif self.kind == "name" and self.kinds[self.index + 1] in _SUFFIXES_AND_LESS:
                operand = _expr((yield self.primary()))
            else:
                operand = self.constant() or (yield self.operand())
            if self.kind == "::":
                operand = yield self.cast(operand)
            left, right, binary = _BINARY.get(self.kind, _NO_OPERATOR)
            while pending and pending[-1][0] >= left:
                _, op, first = pending.pop()
                operand = self.operation(op, first, operand)
            if binary is None:
                return operand
            pending.append((right, binary, operand))
            self.advance()

    def operation(self, op: Any, left: Expr | None, right: Expr) -> Expr:
        if left is not None:
            return Expr(binary=ExprBinary(op=op, left=left, right=right))
        return Expr(unary=ExprUnary(op=op, expr=right))

    def operand(self) -> Reading:
        """An operand of more than one token."""
        kind = self.kind
        if kind == "(":
            return _expr((yield self.primary()))
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
                node = ExprIndexName(expr=_prefix(node), index=field)
            elif kind == "[":
                opening = self.index
                self.advance()
                key = self.leaf() or (yield self.expression())
                self.close("]", opening)
                node = ExprIndexExpr(expr=_prefix(node), index=key)
            elif kind == ":":
                self.advance()
                field = self.names.field(self.name("of a method"), owner)
                node = ExprIndexName(expr=_prefix(node), index=field)
                yield self.instantiation()
                if self.kind not in _CALLS:
                    self.fail("the arguments of the method's call")
                args = yield self.arguments()
                node = ExprCall(func=ExprPrefix(index_name=node), self_=True, args=args)
            elif kind in _CALLS:
                args = yield self.arguments()
                node = ExprCall(func=_prefix(node), self_=False, args=args)
            elif kind == "<" and self.kinds[self.index + 1] == "<":
                yield self.instantiation()
            else:
                return node
            owner = None

    def arguments(self) -> Reading:
        """The arguments of a call: a list, a string or a table."""
        if self.kind == "string":
            return [Expr(string=ExprConstantString(val=self.string()))]
        if self.kind == "{":
            return [(yield self.table())]
        opening = self.index
        end = self.starts[opening - 1] + len(self.texts[opening - 1])
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
        clauses = []
        while self.kind in ("if", "elseif"):
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
            index = self.index
            text.append(self.unescape(self.take()[1:-1], index))
            value: Expr | None = None
            if kind in ("first", "middle"):
                value = yield self.expression()
            if value is not None and value.string is not None:
                text.append(value.string.val)
                continue
            if any(text):
                parts.append(Expr(string=ExprConstantString(val=_join(text))))
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
            if not rettypes:
                self.lose(index, "result type without a type that the schema has", "left out")
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

    # Constants

    def string(self) -> str:
        """The value of the string constant here."""
        index = self.index
        text = self.take()
        if text[0] != "[":
            return self.unescape(text[1:-1], index)
        level = text.index("[", 1) + 1
        inside = text[level:-level].replace("\r\n", "\n")
        return inside.removeprefix("\n")

    def unescape(self, text: str, index: int) -> str:
        """What a string's text stands for; `index` is its token's."""
        if "\\" not in text:
            return text
        try:
            data = _ESCAPE.sub(_unescaped, text.encode("utf-8", "surrogateescape"))
        except ValueError as error:
            self.fail(f"an escape sequence of Luau, not {error}", index)
        return data.decode("utf-8", "surrogateescape")

    def number(self, *, negative: bool = False) -> Expr:
        """The number constant here, or another expression with its value if the schema has none.

        `negative`: there is a minus before it, which shall become part of the constant. That is
        done only for a whole number; not for 0, whose negative is another number.
        """
        index = self.index
        text = self.take()
        digits = text.replace("_", "").lower()
        if digits.isdigit() and len(digits) < 10:
            value: float = int(digits)
        elif _DECIMAL.fullmatch(digits):
            value = float(digits)
        elif _PREFIXED.fullmatch(digits):
            value = float(min(int(digits, 0), 2**64 - 1))
        else:
            self.fail("a number", index)
        if negative and 0 < value <= -INT32_MIN and value == int(value):
            return Expr(number=ExprConstantNumber(val=-int(value)))
        if value <= INT32_MAX and value == int(value):
            return Expr(number=ExprConstantNumber(val=int(value)))
        self.lose(index, f"number {text}", "calculated from whole numbers of 32 bits")
        return _number_expression(value)

    # Types

    def type_(self) -> Reading:
        """A type: a union, an intersection or a simple one."""
        if self.kind in ("|", "&"):
            return (yield self.alternatives(None))
        first = yield self.simple_type()
        if self.kind in ("|", "&", "?"):
            return (yield self.alternatives(first))
        return first

    def alternatives(self, type_: Type | None) -> Reading:
        """What follows the first type of a union or an intersection; None: nothing is read yet."""
        signs: set[str] = set()
        while self.kind in ("|", "&", "?"):
            index = self.index
            sign = self.take()
            signs.add("&" if sign == "&" else "|")
            if len(signs) > 1:
                self.fail("parentheses where `|` or `?` and `&` meet in a type", index)
            if sign == "?":
                further = Type(primitive=TypePrimitive(kind=self.names.primitive("nil")))
            else:
                further = yield self.simple_type()
            if type_ is None:
                type_ = further
            elif sign == "&":
                type_ = Type(intersection=TypeIntersection(left=type_, right=further))
            else:
                type_ = Type(union=TypeUnion(left=type_, right=further))
        return type_

    def simple_type(self) -> Reading:
        """A type without `|`, `&` and `?` outside of brackets."""
        kind = self.kind
        if kind == "name":
            return (yield self.named_type())
        if kind == "{":
            return (yield self.table_type())
        if kind in ("(", "<"):
            return (yield self.function_type())
        if kind == "nil":
            self.advance()
            return Type(primitive=TypePrimitive(kind=self.names.primitive("nil")))
        if kind in ("true", "false"):
            return Type(boolean=TypeBoolean(val=self.take() == "true"))
        if kind == "string":
            return Type(string=TypeString(val=self.string()))
        self.fail("a type")

    def named_type(self) -> Reading:
        start = self.index
        text = self.take()
        if text == "typeof":
            opening = self.index
            self.expect("(", "after `typeof`")
            expr = yield self.expression()
            self.close(")", opening)
            return Type(typeof=TypeTypeof(expr=expr))
        if self.skip("."):
            member = self.name("of a type of the module")
            if self.kind == "<":
                self.lose(self.index, "types given to a module's type", "left out")
                yield self.type_arguments()
            if not self.in_scope.get(text):
                self.lose(start, f"type of `{text}`, which is no local", "the type is `any`")
                return Type(primitive=TypePrimitive(kind=self.names.primitive("any")))
            prefix = Local(name=self.names.local(text))
            return Type(ref=TypeRef(prefix=prefix, index=Typename(index=self.names.type(member))))
        declared = text in self.aliases or self.generics_in_scope.get(text)
        if self.kind == "<":
            generics, packs = yield self.type_arguments()
        elif declared:
            generics, packs = [], []
        elif text in self.names.primitive.index or text in _MORE_PRIMITIVES:
            return Type(primitive=TypePrimitive(kind=self.names.primitive(text)))
        else:
            return Type(class_=TypeClass(kind=self.names.class_(text)))
        name = Typename(index=self.names.type(text))
        return Type(literal=TypeLiteral(name=name, generics=generics, genericpacks=packs))

    def generics(self, *, defaults: bool = False) -> Reading:
        """`<T, U...>`: their names, which are in scope now; those of types; those of packs."""
        opening = self.index
        self.advance()
        names: list[str] = []
        types: list[Typename] = []
        packs: list[Typename] = []
        has_default = False
        while True:
            index = self.index
            names.append(self.name("of a generic type"))
            name = Typename(index=self.names.type(names[-1]))
            self.generics_in_scope[names[-1]] = self.generics_in_scope.get(names[-1], 0) + 1
            if self.skip("..."):
                packs.append(name)
            elif packs:
                self.fail("`...` after the name of a generic pack, as after the one before it")
            else:
                types.append(name)
            if has_default and self.kind != "=":
                self.fail("`=` and a default, as the generic type before this one has")
            if defaults and self.skip("="):
                has_default = True
                self.lose(index, "default of a generic type", "left out")
                if self.at_pack():
                    yield self.pack()
                elif packs and self.kind == "(":
                    yield self.pack_or_type()
                else:
                    yield self.type_()
            if not self.skip(","):
                self.close(">", opening)
                return names, types, packs

    def shut_generics(self, names: list[str]) -> None:
        for name in names:
            self.generics_in_scope[name] -= 1

    def type_arguments(self) -> Reading:
        """`<types, packs>`: types, and names of generic packs."""
        opening = self.index
        self.advance()
        types: list[Type] = []
        packs: list[Typename] = []
        while self.kind != ">" or types or packs:
            if self.at_pack():
                pack = yield self.pack()
                if pack is not None:
                    packs.append(pack)
            elif self.kind == "(":
                index = self.index
                found = yield self.pack_or_type()
                if len(found) != 1:
                    self.lose(index, "types in parentheses", "given one by one")
                types += found
            else:
                types.append((yield self.type_()))
            if not self.skip(","):
                break
        self.close(">", opening)
        return types, packs

    def at_pack(self) -> bool:
        """Whether a variadic type `...T` or a generic pack `T...` is here."""
        if self.kind == "name":
            return self.kinds[self.index + 1] == "..."
        return self.kind == "..."

    def pack(self) -> Reading:
        """A generic pack's name; None for a variadic type, which the schema does not have."""
        if self.kind == "name":
            name = Typename(index=self.names.type(self.take()))
            self.advance()
            return name
        self.lose(self.index, "variadic type", "left out")
        self.advance()
        yield self.type_()
        return None

    def type_list(self) -> Reading:
        """Types up to a `)`; whether one had a name; whether a pack ended them."""
        types: list[Type] = []
        named = packed = False
        while self.kind != ")":
            index = self.index
            if self.at_pack():
                if (yield self.pack()) is not None:
                    self.lose(index, "generic pack in a list of types", "left out")
                packed = True
                break
            if self.kind == "name" and self.kinds[index + 1] == ":":
                self.lose(index, "name of a parameter in a type", "left out")
                self.advance()
                self.advance()
                named = True
            types.append((yield self.type_()))
            if not self.skip(","):
                break
            if self.kind == ")":
                self.fail("a type after `,`")
        return types, named, packed

    def pack_or_type(self) -> Reading:
        """`(types)` or a type that begins with `(`, where both may stand; as a list of types."""
        opening = self.index
        self.advance()
        types, named, packed = yield self.type_list()
        self.close(")", opening)
        if self.kind == "->" or named:
            self.expect("->", "and the result of a function type")
            function = TypeFunction(args=types, rets=(yield self.results()))
            first = Type(function=function)
        elif len(types) == 1 and not packed:
            [first] = types
        else:
            return types
        return [(yield self.alternatives(first))]

    def results(self) -> Reading:
        """The result types of a function."""
        if self.at_pack():
            index = self.index
            if (yield self.pack()) is not None:
                self.lose(index, "generic pack as a result type", "left out")
            return []
        if self.kind == "(":
            return (yield self.pack_or_type())
        return [(yield self.type_())]

    def function_type(self) -> Reading:
        """A function type, or a type in parentheses."""
        generic: list[str] = []
        generics: list[Typename] = []
        packs: list[Typename] = []
        if self.kind == "<":
            generic, generics, packs = yield self.generics()
        opening = self.index
        self.expect("(", "and the parameters of a function type")
        args, named, packed = yield self.type_list()
        self.close(")", opening)
        if self.kind != "->" and len(args) == 1 and not (named or packed or generic):
            return args[0]
        self.expect("->", "and the result of a function type")
        rets = yield self.results()
        self.shut_generics(generic)
        return Type(
            function=TypeFunction(generics=generics, genericpacks=packs, args=args, rets=rets)
        )

    def table_type(self) -> Reading:
        opening = self.index
        self.advance()
        items: list[TypeTableItem] = []
        indexer: TypeTableIndexer | None = None
        while self.kind != "}":
            start = self.index
            following = self.kinds[start + 1]
            if self.kind == "name" and self.texts[start] in ("read", "write") and following != ":":
                self.lose(start, f"`{self.texts[start]}`", "left out: both are allowed")
                self.advance()
                following = self.kinds[self.index + 1]
            if self.kind == "[" and following == "string" and self.kinds[self.index + 2] == "]":
                bracket = self.index
                self.advance()
                key = self.string()
                self.close("]", bracket)
                self.expect(":", "after the property's name")
                type_ = yield self.type_()
                if _NAME.fullmatch(key) and key not in KEYWORDS:
                    items.append(TypeTableItem(key=self.names.field(key), type=type_))
                else:
                    self.lose(bracket, f"property {key!r}, which is no name", "left out")
            elif self.kind == "[":
                if indexer is not None:
                    self.fail("one indexer only in a table type")
                bracket = self.index
                self.advance()
                key_type = yield self.type_()
                self.close("]", bracket)
                self.expect(":", "after the indexer's key")
                indexer = TypeTableIndexer(key=key_type, value=(yield self.type_()))
            elif items or indexer is not None or (self.kind == "name" and following == ":"):
                key_name = self.names.field(self.name("of a property"))
                self.expect(":", "after the property's name")
                items.append(TypeTableItem(key=key_name, type=(yield self.type_())))
            else:
                number = Type(primitive=TypePrimitive(kind=self.names.primitive("number")))
                indexer = TypeTableIndexer(key=number, value=(yield self.type_()))
                break
            if not self.skip(",") and not self.skip(";"):
                break
        self.close("}", opening)
        return Type(table=TypeTable(items=items, indexer=indexer))


_STATEMENTS: Final[dict[str, Callable[[_Parser], Reading]]] = {
    "do": _Parser.do_statement,
    "if": _Parser.if_statement,
    "while": _Parser.while_statement,
    "repeat": _Parser.repeat_statement,
    "return": _Parser.return_statement,
    "for": _Parser.for_statement,
    "local": _Parser.local_statement,
    "function": _Parser.function_statement,
    "@": _Parser.attributed_statement,
}


def _unescaped(found: re.Match[bytes]) -> bytes:
    """The bytes that an escape sequence stands for."""
    newline, byte, codepoint, decimal, other = found.groups()
    if newline:
        return b"\n"
    if byte:
        return bytes.fromhex(byte.decode())
    if codepoint and int(codepoint, 16) < 0x110000:
        return chr(int(codepoint, 16)).encode("utf-8", "surrogatepass")
    if decimal and int(decimal) < 256:
        return bytes([int(decimal)])
    if other and other not in b"xu":
        return bytes([_CONTROLS.get(other[0], other[0])])
    if found[0].startswith(b"\\z"):
        return b""
    raise ValueError(f"`{found[0].decode('utf-8', 'replace')}`")


def _join(texts: list[str]) -> str:
    """The string of these pieces; bytes that are UTF-8 only together become a character."""
    text = "".join(texts)
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")


def _number_expression(value: float) -> Expr:
    """An expression of whole numbers of 32 bits that has exactly this value, which is positive."""
    if value == math.inf:
        return _binary(_Op.Div, _whole(1), _whole(0))
    for places in range(1, 10):
        tenths = round(value * 10**places)
        if tenths <= INT32_MAX and tenths / 10**places == value:
            return _binary(_Op.Div, _whole(tenths), _whole(10**places))
    numerator, denominator = value.as_integer_ratio()
    exponent = (numerator & -numerator).bit_length() - denominator.bit_length()
    numerator >>= max(exponent, 0)
    high, low = divmod(numerator, 2**31)
    expr = _whole(low)
    if high:
        expr = _binary(_Op.Pow, _whole(2), _whole(31))
        expr = expr if high == 1 else _binary(_Op.Mul, _whole(high), expr)
        expr = _binary(_Op.Add, expr, _whole(low)) if low else expr
    if exponent:
        power = _binary(_Op.Pow, _whole(2), _whole(exponent))
        expr = power if numerator == 1 else _binary(_Op.Mul, expr, power)
    return expr


def _whole(value: int) -> Expr:
    return Expr(number=ExprConstantNumber(val=value))


def _binary(op: ExprBinary.Op, left: Expr, right: Expr) -> Expr:
    return Expr(binary=ExprBinary(op=op, left=left, right=right))
