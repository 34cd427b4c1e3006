"""Luau source to a tree: `parse`.

The parser is written by hand, after the real one: Luau's grammar hangs on line ends (a call's `(`
on a new line), on names that are keywords here and there (`type`, `export`, `continue`, `const`),
and on priorities that differ on an operator's two sides. The ready-made grammar, tree-sitter-luau,
has no generic functions, attributes, type functions or `typeof` types, takes an if-expression
without `else`, and cannot say what it expected.

It stands in four modules: `parse_base`, where the way of reading is told, `parse_types`,
`parse_expressions` and this one, which reads statements.

What the schema cannot say is rewritten if something else means the same when it runs (`x //= y`,
fractional numbers), and otherwise left out (comments, attributes, what only the type checker sees);
both are listed in `ParseResult.losses`. Not listed is mere spelling: white space, `;`, the way a
string or a number is written, `f"x"` for `f("x")`, `T?` for `T | nil`, `{T}` for `{[number]: T}`.

The parser reads the grammar. Whether `break` stands in a loop and the like is `scope.check`'s.

Source: https://luau.org/grammar, and what the real Luau accepts.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import attrs

from scriptschema.base import INT32_MAX, INT32_MIN
from scriptschema.luau.names import DEFAULT, NameReader, Names
from scriptschema.luau.parse_base import Loss, ParseError, Reading
from scriptschema.luau.parse_expressions import SUFFIXES, ExpressionReader, as_expr, as_prefix
from scriptschema.luau.render import COMPOUND
from scriptschema.messages import (
    Expr,
    ExprBinary,
    ExprCall,
    ExprGlobal,
    ExprIndexExpr,
    ExprIndexName,
    ExprLocal,
    ExprPrefix,
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
    Typename,
)

__all__ = ["Loss", "ParseError", "ParseResult", "parse"]


@attrs.frozen
class ParseResult:
    """What `parse` found: the tree, the names that its indexes stand for, and what it lacks.

    If several sources share a NameReader, `names` has all the names read so far.
    """

    tree: ModuleSet
    losses: tuple[Loss, ...]
    _reader: NameReader = attrs.field(repr=False, eq=False)

    @property
    def names(self) -> Names:
        """The tables that the tree's indexes belong to."""
        return self._reader.names


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
    return ParseResult(tree, tuple(losses), reader)


_COMPOUND: Final = {text: op for op, text in COMPOUND.items()} | {"//=": None}  # not in the schema
_BLOCK_ENDS: Final = frozenset({"end", "else", "elseif", "until", "eof"})
_GO_ON_FROM_NAME: Final = SUFFIXES | {"=", ","} | _COMPOUND.keys()
_MODULE: Final = re.compile(r"""["']\./module(0|-?[1-9][0-9]{0,9})["']""")
_LVALUE: Final = {field.type: name for name, field in LValue.FIELDS.items()}


def _as_lvalue(node: Any) -> LValue:
    return LValue(**{_LVALUE[type(node)]: node})


class _Parser(ExpressionReader):
    """Reads statements, and with them a whole source."""

    def chunk(self) -> StatBlock:
        """The whole source."""
        self.open()
        block: StatBlock = self.run(self.block())
        if self.kind != "eof":
            self.fail("a statement or the end of the source")
        return block

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

    def scoped_block(self) -> Reading:
        self.open()
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
            self.index - start != 4
            or self.kinds[start : self.index] != ["name", "(", "string", ")"]
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
            node = ExprIndexName(expr=as_prefix(node), index=field)
            owner = None
        func = yield self.function_body(opening, method=method)
        var = _as_lvalue(node)
        return Stat(function=StatFunction(var=var, func=func, self_=method))

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
        name = self.typename(self.name("for the type"))
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
                prefix = ExprPrefix(local=self.hold(before, "object", as_expr(prefix.alternative)))
            if target.which == "index_name":
                node = ExprIndexName(expr=prefix, index=node.index)
            else:
                key = node.index
                if key.which not in ("local", "number", "string", "bool"):
                    key = Expr(local=self.hold(before, "key", key))
                node = ExprIndexExpr(expr=prefix, index=key)
        again = as_expr(copy.deepcopy(node))
        quotient = Expr(binary=ExprBinary(op=ExprBinary.Op.FloorDiv, left=again, right=value))
        target = _as_lvalue(node)
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
