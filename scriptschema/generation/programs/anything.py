"""Code that uses every value in arbitrary ways, in programs that are compiled but not run.

    do
        local v0, v1 = "a"
        v0 ..= v1(v0[2], v0 and ..., assert(v1, v0))
        for v2 = 2147483647, v1 do
            while 2147483647 do end
        end
        v1 = {7, [2] = v0, [2] = v1}
    end

Each block uses only a few variables, constants and kinds of code. It may use the same variable as a
number, a function, a table and a loop bound. Compilers therefore see repeated constants, dead code,
and values of known types where other types are needed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

from scriptschema import messages as m
from scriptschema.codec.copying import copy
from scriptschema.generation.programs import axes, border_values, nodes
from scriptschema.generation.programs.maker import Maker
from scriptschema.generation.programs.nodes import MAKE
from scriptschema.luau.library import Signature
from scriptschema.luau.operators import BINARY, COMPOUND, UNARY

LEVELS: Final = 28
"""The number of levels that a small block needs."""

LEAST: Final = 30
"""The approximate number of nodes of the smallest block."""

_MORE: Final = 240
"""The maximum number of nodes that a block has beyond `LEAST`."""

_LINE: Final = 24
_BODY: Final = 60
"""The approximate maximum number of nodes of a statement with a body. `_LINE` is the maximum for a
statement without a body."""

_DEEP: Final = 7
"""If fewer levels than this are left, expressions are only variables and constants."""

_BASIC: Final = (
    *["assert"] * 4,
    *("type", "select", "next", "pairs", "ipairs", "rawget", "rawset", "rawequal", "tostring"),
    *("tonumber", "unpack", "setmetatable", "getmetatable", "error", "pcall", "typeof"),
)
"""Luau's globals that compilers treat specially or that programs call most."""

_ASSERT: Final = nodes.builtin("assert")
_BORDERS: Final = tuple(text for texts in axes.NUMBERS.values() for text in texts)
_BINARY: Final = tuple(BINARY)
_UNARY: Final = tuple(UNARY)
_COMPOUND: Final = tuple(COMPOUND)
_TEXTS: Final = ("", "a", "1", "x0")


def statements(maker: Maker, room: int) -> list[m.Stat]:
    """Return a block of arbitrary code, or an empty list if there are not enough levels for it."""
    if room < LEVELS:
        return []
    mark = maker.scope.open()
    code, size = _Code(maker), LEAST + maker.below(_MORE)
    body = [code.local(size, room - 6), *code.statements(size, room - 6)]
    maker.scope.close(mark)
    return [nodes.stat("block", nodes.block(body))]


class _Code:
    """Builds one block of code, which uses only the last `reach` of its visible `locals`."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker
        self.vararg = maker.scope.function.vararg
        self.loops = maker.scope.function.loops
        self.locals: list[int] = []
        below = maker.below
        self.reach = 1 + below(4)
        self.numbers = tuple(
            _BORDERS[below(len(_BORDERS))] if below(2) else str(below(256) << below(2) * 4)
            for _ in range(1 + below(3))
        )
        self.constants = [self.new_constant() for _ in range(1 + below(4))]
        signatures, sums = maker.grammar.calls[""]
        library = signatures[maker.pick(sums)].library if signatures else ""
        self.members = [each for each in signatures if each.library == library and library]
        self.functions = [self.function_name() for _ in range(2)]
        self.statement_kinds = self.some_of(_STATEMENTS)
        self.expression_kinds = self.some_of(_EXPRESSIONS)
        self.leaf_kinds = self.some_of(_LEAVES)

    def some_of(self, kinds: tuple[_Kind, ...]) -> list[_Kind]:
        """Return random kinds, some of them repeated (swarm testing: Groce et al., ISSTA 2012)."""
        below = self.maker.below
        return [kinds[below(len(kinds))] for _ in range(3 + below(10))]

    def function_name(self) -> tuple[str, str]:
        below = self.maker.below
        if below(2) and self.members:
            member = self.members[below(len(self.members))]
            return member.library, member.name
        return "", _BASIC[below(len(_BASIC))]  # a global

    # Statements

    def statements(self, size: int, room: int) -> list[m.Stat]:
        """Return statements with about `size` nodes in total. Their variables stay in scope."""
        maker = self.maker
        body: list[m.Stat] = []
        end = maker.made + size
        while maker.made + 4 < end and room > _DEEP and (maker.fills or maker.chance(128)):
            maker.made += 2
            make = self.statement_kinds[maker.below(len(self.statement_kinds))]
            most = _LINE if make in _LINES else _BODY
            part = maker.below(most if maker.below(2) else most // 4)
            body.append(make(self, min(end - maker.made, part), room - 1))
            if make is _Code.call_statement:  # several calls to one function
                body += [self.simple_call(body[-1], room - 4) for _ in range(maker.below(4))]
        return body

    def block(self, size: int, room: int, *, may_jump: bool = True) -> m.StatBlock:
        maker = self.maker
        mark, outer_count = maker.scope.open(), len(self.locals)
        body = self.statements(size, room - 1)
        if may_jump and maker.below(4) == 3:
            jump = maker.below(3)
            if jump == 2 or not self.loops:
                body.append(nodes.return_(self.several(4, room - 3, least=0)))
            elif jump == 1:
                body.append(nodes.stat("continue_", MAKE[m.StatContinue]()))
            else:
                body.append(nodes.stat("break_", MAKE[m.StatBreak]()))
        maker.scope.close(mark)
        del self.locals[outer_count:]
        return nodes.block(body)

    def declare(self, count: int) -> list[m.Local]:
        indexes = [self.maker.scope.declare() for _ in range(count)]
        self.locals += indexes
        return [*map(nodes.declared, indexes)]

    def local(self, size: int, room: int) -> m.Stat:
        maker = self.maker
        values = self.several(size, room - 2, least=0)
        if values and maker.below(4) == 3:
            values[0] = self.a_member(0, 0)
        count = 1 + maker.below(2)
        types = maker.annotations.local(maker, [maker.any_kind()] * count, room - 2)
        return nodes.stat("local", MAKE[m.StatLocal](self.declare(count), values, types))

    def assign(self, size: int, room: int) -> m.Stat:
        targets = [self.target(room - 3) for _ in range(1 + self.maker.below(3))]
        values = self.several(size, room - 2)
        return nodes.stat("assign", MAKE[m.StatAssign](targets, values))

    def compound(self, size: int, room: int) -> m.Stat:
        operator = _COMPOUND[self.maker.below(len(_COMPOUND))]
        change = operator, self.target(room - 3), self.expression(size, room - 2)
        return nodes.stat("compound_assign", MAKE[m.StatCompoundAssign](*change))

    def call_statement(self, size: int, room: int) -> m.Stat:
        return nodes.call_statement(self.call(size, room - 1))

    def simple_call(self, like: m.Stat, room: int) -> m.Stat:
        function: Any = like.alternative
        below = self.maker.below
        arguments = [self.expression(below(6), room) for _ in range(below(4))]
        return nodes.call_statement(self.call_of(copy(function.expr.func), arguments))

    def if_(self, size: int, room: int) -> m.Stat:
        other: tuple[Any, Any] = None, None
        condition, then = self.condition(room - 2), self.block(size, room - 2)
        if self.maker.below(2):
            other = "else_", self.block(size // 2, room - 2)
        return nodes.stat("if_", MAKE[m.StatIf](condition, then, *other))

    def while_(self, size: int, room: int) -> m.Stat:
        condition = self.condition(room - 2)
        return nodes.stat("while_", MAKE[m.StatWhile](condition, self.body(size, room - 2)))

    def repeat(self, size: int, room: int) -> m.Stat:
        # Without a jump: after `continue`, the condition could not use what the body declares.
        body = self.body(size, room - 2, may_jump=False)
        return nodes.stat("repeat", MAKE[m.StatRepeat](body, self.condition(room - 2)))

    def for_(self, size: int, room: int) -> m.Stat:
        below = self.maker.below
        bounds = [self.bound(room - 2) for _ in range(2 + (below(4) == 3))]
        outer_count = len(self.locals)
        head = *self.declare(1), *bounds, *([None] if len(bounds) == 2 else [])
        body = self.body(size, room - 2)
        del self.locals[outer_count:]
        return nodes.stat("for_", MAKE[m.StatFor](*head, body))

    def for_in(self, size: int, room: int) -> m.Stat:
        maker = self.maker
        values = self.several(size // 2, room - 2)
        choice = maker.below(5)
        if choice > 2:
            values.insert(0, nodes.expr("global_", nodes.builtin("next")))
            values[1] = self.table(size // 2, room - 2) if choice == 4 else values[1]
        elif choice == 2:
            values[0] = nodes.call_builtin(("pairs", "ipairs")[maker.below(2)], values[0])
        outer_count = len(self.locals)
        variables = self.declare(1 + maker.below(2))
        body = self.body(size, room - 2)
        del self.locals[outer_count:]
        return nodes.stat("for_in", MAKE[m.StatForIn](variables, values, body))

    def do(self, size: int, room: int) -> m.Stat:
        return nodes.stat("block", self.block(size, room - 1))

    def local_function(self, size: int, room: int) -> m.Stat:
        variable = self.maker.scope.declare()
        self.locals.append(variable)
        return nodes.local_function(variable, self.function(size, room - 2))

    def body(self, size: int, room: int, *, may_jump: bool = True) -> m.StatBlock:
        self.loops += 1
        loop_body = self.block(size, room, may_jump=may_jump)
        self.loops -= 1
        return loop_body

    def target(self, room: int) -> m.LValue:
        below = self.maker.below
        choice = below(6)
        if choice < 4 and self.locals:
            return nodes.target(self.any_local())
        node: Any = "global_", nodes.own_global(below(2))
        if choice == 5 and room > _DEEP:
            owner = nodes.as_prefix(self.leaf())
            node = "index_expr", MAKE[m.ExprIndexExpr](owner, self.leaf())
        return MAKE[m.LValue](*node)

    # Expressions

    def several(self, size: int, room: int, *, least: int = 1) -> list[m.Expr]:
        """Return between `least` and 3 expressions."""
        count = least + self.maker.below(4 - least)
        return [self.expression(size // count, room) for _ in range(count)]

    def any_local(self) -> int:
        return self.locals[-1 - self.maker.below(min(len(self.locals), self.reach))]

    def expression(self, size: int, room: int) -> m.Expr:
        maker = self.maker
        if size < 3 or room < _DEEP:
            return self.leaf()
        maker.made += 2
        make = self.expression_kinds[maker.below(len(self.expression_kinds))]
        return make(self, size - 2, room - 2)

    def leaf(self) -> m.Expr:
        """Return a variable or a constant."""
        maker = self.maker
        maker.made += 3
        return self.leaf_kinds[maker.below(len(self.leaf_kinds))](self)

    def variable(self) -> m.Expr:
        if self.locals:
            return nodes.read(self.any_local())
        return self.global_()

    def constant(self) -> m.Expr:
        return copy(self.constants[self.maker.below(len(self.constants))])

    def new_constant(self) -> m.Expr:
        choice = self.maker.below(8)
        if choice < 4:
            return self.number()
        if choice < 6:
            return nodes.boolean(choice == 4)
        return nodes.nil() if choice == 6 else nodes.string(_TEXTS[self.maker.below(len(_TEXTS))])

    def varargs(self) -> m.Expr:
        return nodes.expr("varargs", MAKE[m.ExprVarargs]()) if self.vararg else self.variable()

    def boolean(self) -> m.Expr:
        """Return true, false or, less often, nil."""
        choice = self.maker.below(5)
        return nodes.nil() if choice == 4 else nodes.boolean(choice % 2 == 1)

    def global_(self) -> m.Expr:
        return nodes.expr("global_", nodes.own_global(self.maker.below(2)))

    def number(self) -> m.Expr:
        """Return a number from a small set."""
        return border_values.of_text(self.numbers[self.maker.below(len(self.numbers))])

    def bound(self, room: int) -> m.Expr:
        """Return an expression for a loop bound."""
        return self.number() if self.maker.below(2) else self.expression(4, room)

    def condition(self, room: int) -> m.Expr:
        choice = self.maker.below(4)
        if choice == 3:
            return nodes.table()  # a compiler knows that it is true
        return self.expression(8, room) if choice else self.leaf()

    def unary(self, size: int, room: int) -> m.Expr:
        operator = _UNARY[self.maker.below(len(_UNARY))]
        operand = self.expression(size, room)
        if operand.which == "number":  # a minus would make it another constant
            operand = nodes.group(operand)
        return nodes.expr("unary", MAKE[m.ExprUnary](operator, operand))

    def binary(self, size: int, room: int) -> m.Expr:
        operator = _BINARY[self.maker.below(len(_BINARY))]
        operands = self.expression(size // 2, room), self.expression(size // 2, room)
        return nodes.expr("binary", MAKE[m.ExprBinary](operator, *operands))

    def logic(self, size: int, room: int) -> m.Expr:
        operator = (m.ExprBinary.Op.And, m.ExprBinary.Op.Or)[self.maker.below(2)]
        operands = self.condition(room), self.expression(size // 2, room)
        return nodes.expr("binary", MAKE[m.ExprBinary](operator, *operands))

    def call(self, size: int, room: int) -> m.Expr:
        below = self.maker.below
        choice = below(8)
        if choice < 4:
            function = nodes.as_prefix(self.leaf())
        elif choice < 7:
            function = nodes.prefix(*self.member())
        else:
            function = nodes.as_prefix(self.expression(size // 2, room - 2))
        arguments = self.several(size if below(2) else 0, room - 2, least=0)
        return self.call_of(function, arguments)

    def call_of(self, function: m.ExprPrefix, arguments: list[m.Expr]) -> m.Expr:
        if arguments and function.global_ == _ASSERT and self.maker.below(4):
            arguments[0] = self.boolean()  # so that compilers know the effect of `assert`
        return nodes.call(function, arguments)

    def library(self, size: int, room: int) -> m.Expr:
        if not self.members:
            return self.call(size, room)
        member: Signature = self.members[self.maker.below(len(self.members))]
        constant = self.maker.below(3) == 2
        arguments = [
            self.number() if constant else self.expression(size // 4, room - 2)
            for _ in member.parameters or ()
        ]
        return nodes.call_member(member.library, member.name, *arguments)

    def member(self) -> tuple[str, Any]:
        # Usually one of the two in `self.functions`, so that the block uses them repeatedly.
        choice = self.maker.below(4)
        return nodes.member(*(self.functions[choice % 2] if choice < 3 else self.function_name()))

    def a_member(self, size: int, room: int) -> m.Expr:
        return nodes.expr(*self.member())

    def index_name(self, size: int, room: int) -> m.Expr:
        owner = nodes.as_prefix(self.expression(size, room - 2))
        name = nodes.custom(self.maker.below(2))
        return nodes.expr("index_name", MAKE[m.ExprIndexName](owner, name))

    def index(self, size: int, room: int) -> m.Expr:
        owner = nodes.as_prefix(self.expression(size // 2, room - 2))
        return nodes.index(owner, self.expression(size // 2, room))

    def table(self, size: int, room: int) -> m.Expr:
        below = self.maker.below
        items: list[m.TableItem] = []
        for _ in range(below(5)):
            value = self.expression(size // 4, room - 2)
            choice = below(4)
            key: Any = None, None  # few different keys, so that some occur twice
            if choice == 1:
                key = "key_name", nodes.custom(below(2))
            elif choice == 2:
                key = "key_expr", nodes.number(below(3))
            elif choice == 3:
                key = "key_expr", self.leaf()
            items.append(MAKE[m.TableItem](value, *key))
        return nodes.expr("table", MAKE[m.ExprTable](items))

    def interpolated(self, size: int, room: int) -> m.Expr:
        text = [nodes.string("a")] if self.maker.below(2) else []
        parts = [part for part in self.several(size, room) if part.which != "string"]
        parts = [*text, *parts]
        return nodes.expr("interpstring", MAKE[m.ExprInterpString](parts))

    def if_else(self, size: int, room: int) -> m.Expr:
        parts = [self.expression(size // 3, room) for _ in range(3)]
        return nodes.expr("ifelse", MAKE[m.ExprIfElse](parts[0], parts[1], "else_", parts[2]))

    def a_function(self, size: int, room: int) -> m.Expr:
        return nodes.expr("function", self.function(size, room))

    def function(self, size: int, room: int) -> m.ExprFunction:
        maker = self.maker
        outside, outer_count = (self.vararg, self.loops), len(self.locals)
        mark = maker.scope.open()
        self.vararg, self.loops = maker.below(2) == 1, 0
        kinds = [maker.any_kind() for _ in range(maker.below(3))]
        types = maker.annotations.local(maker, kinds, room - 2) if kinds else []
        parameters = [maker.scope.declare() for _ in kinds]
        self.locals += parameters
        body = self.block(size, room - 1)
        result = nodes.function(parameters, body.body, vararg=self.vararg, types=types)
        (self.vararg, self.loops) = outside
        maker.scope.close(mark)
        del self.locals[outer_count:]
        return result


_Kind = TypeVar("_Kind")
_Statement = Callable[[_Code, int, int], m.Stat]
_Expression = Callable[[_Code, int, int], m.Expr]
_Leaf = Callable[[_Code], m.Expr]

_LINES: Final[tuple[_Statement, ...]] = (
    *[_Code.local] * 4,
    *[_Code.assign] * 6,
    *[_Code.compound] * 3,
    *[_Code.call_statement] * 6,
)
_STATEMENTS: Final[tuple[_Statement, ...]] = (
    *_LINES,
    *[_Code.if_] * 3,
    *[_Code.while_] * 2,
    *[_Code.repeat] * 2,
    *[_Code.for_] * 2,
    *[_Code.for_in] * 2,
    _Code.do,
    _Code.local_function,
)
_EXPRESSIONS: Final[tuple[_Expression, ...]] = (
    *[_Code.binary] * 5,
    *[_Code.call] * 5,
    *[_Code.library] * 3,
    *[_Code.table] * 3,
    *[_Code.logic] * 2,
    *[_Code.unary] * 2,
    *[_Code.index_name] * 2,
    *[_Code.index] * 2,
    _Code.interpolated,
    _Code.if_else,
    _Code.a_member,
    _Code.a_function,
)
_LEAVES: Final[tuple[_Leaf, ...]] = (
    *[_Code.variable] * 10,
    *[_Code.constant] * 6,
    *[_Code.boolean] * 5,
    *[_Code.varargs] * 2,
    *[_Code.global_] * 2,
)
"""Functions that build simple expressions. Like those in `_STATEMENTS` and `_EXPRESSIONS`, each is
repeated according to its frequency."""
