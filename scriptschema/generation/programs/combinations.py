"""Combinations: operations with operands from chosen sources, in chosen surroundings, at limits.

    local v1 = 2 ^ 53
    print(pcall(function(v2: number)
      for _, v3 in {"abc"} do
        print(v1 % v2)
        print(string.sub(v3, v2, -1))
      end
    end, 4))

`axes.py` defines the values to combine. `Counts` tracks the number of uses of each pair so far, and
the pair with the fewest uses comes next. Only the last operations of a statement may fail, and only
if errors are caught, so that the operations before them run. Values that a call changes are
printed, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import attrs

from scriptschema import messages as m
from scriptschema.choices import WORDS
from scriptschema.generation.programs import axes, border_values, calls, nodes
from scriptschema.generation.programs.annotations import sound
from scriptschema.generation.programs.applying import applied, printable
from scriptschema.generation.programs.arguments import right
from scriptschema.generation.programs.axes import Operation, Position, Source, Surroundings
from scriptschema.generation.programs.maker import Maker
from scriptschema.generation.programs.nodes import MAKE
from scriptschema.luau.library import Parameter
from scriptschema.luau.names import DEFAULT

LEVELS: Final = 36
"""The maximum number of levels below a statement that combines operations."""

LEAST: Final = 60
"""The approximate number of nodes of a statement that combines operations."""

_MOST: Final = 6
"""The maximum number of operations in a statement, without additional ones that may fail."""

_CANDIDATES: Final = 16
"""The number of candidate operations. The rarest of them is chosen."""

_FRAGILE: Final = 3
"""The maximum number of operations at the end of a statement that may fail."""

_BESIDE: Final = 6
"""The number of nodes for an argument that `arguments.right` generates."""

_SHOWN: Final = 64
"""If a buffer is longer than this, only this number of bytes at its end is printed."""

_LOOPS: Final = 3
"""The maximum number of loops that supply operands."""

_GLOBALS: Final = 6
"""The number of globals to use here. Templates rarely use these, which have the last names."""

Step: TypeAlias = m.Stat | Callable[[list[m.Stat]], m.Stat]
"""A statement, or a function that returns a loop around the statements after it."""


def statements(maker: Maker, size: int, room: int) -> list[m.Stat]:
    """Return statements that combine operations, with about `size` nodes in total."""
    body: list[m.Stat] = []
    end = maker.made + size
    while maker.made + LEAST // 2 < end and (maker.fills or maker.chance(128)):
        more = statement(maker, LEAST, room)
        if not more:
            break
        body += more
    return body


def statement(maker: Maker, size: int, room: int) -> list[m.Stat]:
    """Return a statement that combines operations, or an empty list if `room` is too small."""
    if room < LEVELS:
        return []
    function = maker.scope.function
    is_top = function is maker.scope.main and not function.loops
    body: list[m.Stat] = []

    def inside() -> m.ExprFunction:
        operation = _rare(maker, fragile=bool(maker.below(8)))
        places = maker.grammar.places if is_top else maker.grammar.places[1:]
        able = [*filter(operation.can_stand, places)]
        place = maker.counts.rarest(maker, operation.name, able)
        body.append(_Frame(maker, place, room - LEVELS).statement(operation))
        return nodes.function([], [])

    _, cost = maker.function(inside, vararg=False, results=None, guarded=False)
    maker.afford(cost)
    return body


def _rare(maker: Maker, *, fragile: bool) -> Operation:
    """Draw a few random operations and return the one whose rarest pair has the fewest uses.

    The probability of each operation is proportional to the number of uses that it needs.
    """
    grammar = maker.grammar
    operations, sums = grammar.fragile if fragile else grammar.operations
    candidates = [operations[maker.pick(sums)] for _ in range(_CANDIDATES)]
    return min(candidates, key=lambda each: maker.counts.rank(each, fragile=fragile))


@attrs.frozen
class _Operand:
    """An operand that can be used again. `read` returns an expression for the operand.

    `length` is the operand's length, or its value if it is a number.
    """

    source: Source
    operation: Operation
    parameter: Parameter
    value: str
    read: Callable[[], m.Expr]
    length: int

    def suits(self, operation: Operation, parameter: Parameter, *, fragile: bool) -> bool:
        """Return whether this suits a parameter. It may cause an error only if `fragile`."""
        mine = self.parameter
        if mine.kind == "object":
            return self.operation is operation and mine == parameter
        if mine.kind == "row" and not fragile:
            return False
        alike = mine.kind == parameter.kind and (fragile or not parameter.bounds)
        return alike or mine == parameter


class _Frame:
    """Builds one statement that combines operations.

    `outside` has the statements before its function, and `steps` has those in the function.
    """

    def __init__(self, maker: Maker, place: Surroundings, room: int) -> None:
        self.maker = maker
        self.place = place
        self.room = room
        self.is_function = place.is_function and not (place.name == "loop" and maker.below(2))
        self.vararg = place.name == "varargs" or (place.may_vary and maker.below(4) > 0)
        self.outside: list[m.Stat] = []
        self.steps: list[Step] = []
        self.parameters: list[tuple[int, m.Type | None, m.Expr]] = []
        self.rest: list[m.Expr] = []
        self.operands: list[_Operand] = []
        self.globals = self.loops = 0
        self.metatables: dict[str, int] = {}
        self.shown: list[m.Expr] = []
        self.allowed = self.sources()

    def statement(self, operation: Operation) -> m.Stat:
        """Return the statement, in which `operation` follows all operations that cannot fail."""
        maker = self.maker
        maker.made += 13
        mark = maker.scope.open()
        if self.place.name == "loop":
            self.repeat()
        for _ in range(maker.below(_MOST)):
            other = _rare(maker, fragile=False)
            if other.can_stand(self.place):
                self.operate(other, fragile=False)
        last = [operation]
        if self.is_function:
            more = [_rare(maker, fragile=True) for _ in range(maker.below(_FRAGILE))]
            last += [each for each in more if each.can_stand(self.place)]
        for each in last:
            if self.shown and self.is_function:
                self.steps.append(nodes.print_(self.shown))
                self.shown = []
            self.operate(each, fragile=self.is_function)
        returns = self.is_function and not any(map(callable, self.steps))
        body = [(nodes.return_ if returns else nodes.print_)(self.shown)] if self.shown else []
        for step in reversed(self.steps):
            body = [step(body)] if callable(step) else [step, *body]
        called = self.called(body) if self.is_function else body
        maker.scope.close(mark)
        return nodes.stat("block", nodes.block([*self.outside, *called]))

    def repeat(self) -> None:
        """Add a loop that runs all later statements two or three times."""
        variable, count = self.maker.scope.declare(), 2 + self.maker.below(2)

        def loop(body: list[m.Stat]) -> m.Stat:
            bounds = nodes.number(1), nodes.number(count), None
            head = nodes.declared(variable), *bounds
            return nodes.stat("for_", MAKE[m.StatFor](*head, nodes.block(body)))

        self.steps.append(loop)

    def called(self, body: list[m.Stat]) -> list[m.Stat]:
        """Return statements that run `body` in the chosen surroundings and print its results."""
        maker, place = self.maker, self.place.name
        maker.made += 14
        name, count = maker.scope.declare(), maker.scope.declare()
        if place == "closure":
            more = nodes.expr(
                "binary",
                MAKE[m.ExprBinary](m.ExprBinary.Op.Add, nodes.read(count), nodes.number(1)),
            )
            body = [nodes.assign(nodes.target(count), more), *body]
        parameters = sorted(self.parameters, key=lambda each: each[1] is None)
        arguments = [*(value for _, _, value in parameters), *self.rest]
        inner = nodes.function(
            [name for name, _, _ in parameters],
            body,
            vararg=self.vararg,
            types=[type_ for _, type_, _ in parameters if type_ is not None],
            native=place == "native function",
        )
        function = nodes.expr("function", inner)
        if place == "coroutine":
            thread = nodes.call_member("coroutine", "create", function)
            return [nodes.print_([nodes.call_member("coroutine", "resume", thread, *arguments)])]
        if place not in ("closure", "inlined function"):
            return [nodes.print_([nodes.call_builtin("pcall", function, *arguments)])]
        # Another function, `caller`, calls the function. The function is declared in it or outside.
        lines = [nodes.local_function(name, inner)]
        calling = [nodes.return_([nodes.call_local(name, arguments)])]
        if place == "closure":
            calling = [nodes.let(count, nodes.number(0)), *lines, *calling]
            lines = []
        caller = nodes.expr("function", nodes.function([], calling))
        return [*lines, nodes.print_([nodes.call_builtin("pcall", caller)])]

    # Operations

    def operate(self, operation: Operation, *, fragile: bool) -> None:
        """Add statements for an operation and its operands, and add its results to `shown`."""
        maker = self.maker
        maker.made += 13
        operands: list[m.Expr] = []
        subject: _Operand | None = None
        length = before = 0
        whole = maker.below(4) > 0
        wrong = maker.below(len(operation.positions) or 1)
        varied = self.least_varied(operation)
        for number, position in enumerate(operation.positions):
            parameter = operation.parameters[number]
            if parameter.optional and maker.below(8) == 0:
                break
            if position is None:
                operands += self.others(parameter, fragile=fragile)
                continue
            for _ in range(maker.below(4) if parameter.repeated else 1):
                at = length, before
                may_fail = fragile and (whole or number == wrong)
                sources = self.sources_of(position, fragile=may_fail, varied=position is varied)
                current = self.operand(operation, position, sources, at, fragile=may_fail)
                if parameter.is_number:
                    before = current.length
                elif not operands:
                    length = current.length
                subject = subject or current
                operands.append(current.read())
        if fragile and operation.library and not maker.grammar.typed and maker.below(16) == 15:
            if operands and maker.below(2):
                operands.pop()
            else:
                operands.append(border_values.of_text(('"3"', "nil", "true")[maker.below(3)]))
        maker.counts.count(operation.name, self.place)
        maker.counts.add(operation, fragile=fragile)
        self.perform(operation, operands, subject)

    def others(self, parameter: Parameter, *, fragile: bool) -> list[m.Expr]:
        """Return the arguments for a parameter that is not a single operand.

        They are a function, or a format string followed by its values.
        """
        maker = self.maker
        if parameter.function is not None:
            return [calls.function(maker, parameter.function, self.room)]
        if fragile and parameter.kind in ("format", "pack") and maker.below(2):
            return border_values.formatted(maker, parameter.kind)
        return right(maker, parameter, _BESIDE, self.room, risky=False)

    def perform(
        self, operation: Operation, operands: list[m.Expr], subject: _Operand | None
    ) -> None:
        """Add statements that perform the operation, and add its results to `shown`."""
        operator, name = operation.operator, operation.name
        if isinstance(operator, m.StatCompoundAssign.Op):
            target = MAKE[m.LValue](operands[0].which, operands[0].alternative)
            change = MAKE[m.StatCompoundAssign](operator, target, operands[1])
            self.steps.append(nodes.stat("compound_assign", change))
            self.shown += [] if subject is None else [subject.read()]
        elif name in ("[]=", "__newindex"):
            item = MAKE[m.ExprIndexExpr](nodes.as_prefix(operands[0]), operands[1])
            self.steps.append(nodes.assign(MAKE[m.LValue]("index_expr", item), operands[2]))
        elif name == "__iter":
            variables = [self.maker.scope.declare() for _ in range(2)]
            body = nodes.block([nodes.print_([*map(nodes.read, variables)])])
            declared = [*map(nodes.declared, variables)]
            self.steps.append(nodes.stat("for_in", MAKE[m.StatForIn](declared, operands, body)))
        else:
            value = applied(operation, operands)
            if operation.results:
                self.shown += [printable(operation, value)]
            else:
                self.steps.append(nodes.call_statement(value))
        if subject is not None and not subject.source.is_constant and name != "#":
            self.shown += _content(subject)

    # Operands

    def least_varied(self, operation: Operation) -> Position | None:
        """Return the position whose operand was least often `...`, which holds only one value."""
        uses = self.maker.counts.uses
        positions = [each for each in operation.positions if each and axes.VARARGS in each.sources]
        return min(positions, key=lambda each: uses(each.name, axes.VARARGS), default=None)

    def sources_of(self, position: Position, *, fragile: bool, varied: bool) -> list[Source]:
        """Return the sources that are possible at a position. `varied` allows `...`."""
        allowed = self.allowed
        if position.parameter.kind == "row" and self.place.name == "loop" and not fragile:
            # In the next iteration, the row would be frozen or empty.
            allowed = {each for each in allowed if each.renews}
        return [
            each for each in position.sources if each in allowed and (varied or not each.in_vararg)
        ]

    def operand(
        self,
        operation: Operation,
        position: Position,
        able: list[Source],
        at: tuple[int, int],
        *,
        fragile: bool,
    ) -> _Operand:
        """Return an operand for a position, with the value and the source in `able` used least.

        `at` holds the length of the first operand and the value of the preceding number.
        """
        maker = self.maker
        counts = maker.counts
        name, parameter = position.name, position.parameter
        classes = position.values if fragile else position.harmless
        for earlier in self.operands:
            if (
                earlier.source in able
                and earlier.value in classes
                and earlier.suits(operation, parameter, fragile=fragile)
                and counts.is_rare(name, able, earlier.source)
                and counts.is_rare(name, classes, earlier.value)
            ):
                counts.count(name, earlier.source)
                counts.count(name, earlier.value)
                return earlier
        if self.rest:  # `...` already holds another value
            able = [each for each in able if not each.in_vararg]
        source = counts.rarest(maker, name, able)
        value = counts.rarest(maker, name, classes)
        counts.count(name, source)
        counts.count(name, value)
        if operation.is_metamethod and parameter.kind == "object":
            expression, length = self.object(operation.name, shared=not fragile), 0
        else:
            expression, length = self.value(parameter, value, at)
        read = self.put(source, parameter.kind, expression)
        new_operand = _Operand(source, operation, parameter, value, read, length)
        if not source.is_constant and not operation.assigns:
            self.operands.append(new_operand)
        return new_operand

    def sources(self) -> set[Source]:
        """Return the sources that an operand can come from in these surroundings."""
        maker = self.maker
        return {
            source
            for source in axes.SOURCES
            if (self.is_function or not source.in_function)
            and (self.place.may_loop or not source.in_loop)
            and (self.vararg or not source.in_vararg)
            and (maker.annotations.declare or not source.annotated)
            and not (maker.grammar.typed and source.untyped)
        }

    def put(self, source: Source, kind: str, value: m.Expr) -> Callable[[], m.Expr]:
        """Store a value in a source. Return a function that returns an expression to read it."""
        maker, name = self.maker, source.name
        maker.made += source.nodes
        if source.is_constant:
            return lambda: value
        if source.in_vararg:
            self.rest = [value]
            return lambda: nodes.expr("varargs", MAKE[m.ExprVarargs]())
        if name == "global":
            self.globals += 1
            if self.globals == _GLOBALS:
                self.allowed.discard(source)
            index = len(DEFAULT.customs) - self.globals
            self.outside.append(
                nodes.assign(MAKE[m.LValue]("global_", nodes.own_global(index)), value)
            )
            return lambda: nodes.expr("global_", nodes.own_global(index))
        variable = maker.scope.declare()
        if name == "call":
            returning = nodes.function([], [nodes.return_([value])])
            self.outside.append(nodes.local_function(variable, returning))
            return lambda: nodes.call_local(variable, [])
        if source.in_loop:
            self.loops += 1
            if self.loops == _LOOPS:
                self.allowed.discard(source)
            beside = maker.scope.declare()
            variables = [nodes.declared(beside), nodes.declared(variable)]
            values = [nodes.table([value])]
            self.steps.append(
                lambda body: nodes.stat(
                    "for_in", MAKE[m.StatForIn](variables, values, nodes.block(body))
                )
            )
        elif name.endswith("parameter"):
            type_ = sound(maker, kind) if source.annotated else None
            self.parameters.append((variable, type_, value))
        elif name == "field":
            item = MAKE[m.TableItem](value, "key_name", nodes.custom(0))
            table = nodes.expr("table", MAKE[m.ExprTable]([item]))
            (self.outside if maker.below(2) else self.steps).append(nodes.let(variable, table))
            return lambda: nodes.expr("index_name", nodes.field(variable))
        else:
            where = self.outside if name == "upvalue" else self.steps
            if maker.below(2):
                where.append(nodes.let(variable, value))
            else:  # a separate assignment prevents constant folding
                where.append(nodes.let(variable, None))
                where.append(nodes.assign(nodes.target(variable), value))
        return lambda: nodes.read(variable)

    # Values

    def value(self, parameter: Parameter, value: str, at: tuple[int, int]) -> border_values.Value:
        """Return an expression for a value in the class `value`, and its length or value."""
        maker, kind = self.maker, parameter.kind
        if parameter.is_number:
            maker.made += 4
            return border_values.number(maker, parameter, value, *at)
        maker.made += 9 if kind in axes.SIZED else 2
        sized = border_values.SIZED.get(kind)
        if sized is not None:
            return sized(maker, value)
        if kind == "boolean":
            return nodes.boolean(maker.below(2) == 0), 0
        if axes.has_constants(parameter) and kind in axes.OPEN:
            choice = maker.below(4)
            if choice == 2:
                return nodes.string(WORDS[maker.below(len(WORDS))]), 0
            return (nodes.boolean(False) if choice == 3 else nodes.number(maker.below(9))), 0
        [expression] = right(maker, parameter, _BESIDE, self.room, risky=False)
        return expression, 0

    def object(self, event: str, *, shared: bool) -> m.Expr:
        """Return an object with this metamethod. If `shared`, reuse an existing metatable."""
        maker = self.maker
        maker.made += 13
        metatable = self.metatables.get(event)
        if metatable is None or not (shared or maker.below(4)):
            metatable = self.metatables[event] = maker.scope.declare()
            handlers = nodes.table((), {event: border_values.handler(maker, event)})
            self.outside.append(nodes.let(metatable, handlers))
        content = nodes.table([nodes.number(maker.below(9))])
        return nodes.call_builtin("setmetatable", content, nodes.read(metatable))


def _content(subject: _Operand) -> list[m.Expr]:
    """Return expressions for an operand's content, which an operation may have changed."""
    kind, name = subject.parameter.kind, subject.source.name
    if kind not in ("row", "buffer") or name in ("call", "varargs"):
        return []
    if kind == "row":
        return [nodes.call_member("table", "concat", subject.read(), nodes.string(","))]
    if subject.length <= _SHOWN:
        return [nodes.call_member("buffer", "tostring", subject.read())]
    bounds = nodes.number(subject.length - _SHOWN), nodes.number(_SHOWN)
    return [nodes.call_member("buffer", "readstring", subject.read(), *bounds)]
