"""The combinations in a program's tree: pairs of values on the axes of `axes.py`.

This uses nothing of the generator except the names of operations, sources, surroundings and classes
of values, and the roles of parameters. A value counts if it can be seen without running the
program: that of a constant, of a variable that is set once, or of a global that is set once by the
main chunk's last statement that sets it. A call through a variable that holds a library member
counts as a call of the member.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

import attrs

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.generation.programs import axes
from scriptschema.luau.library import SIGNATURES, Parameter, Signature
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.operators import BINARY, COMPOUND, UNARY
from scriptschema.versions import Version

Pair: TypeAlias = tuple[str, ...]
"""Two axes and a value on each, as (axis, axis, value, value). The values on the axis `operation`
are names of operations or of positions, such as `math.max 0`."""

EVENTS = {
    "+": "__add",
    "-": "__sub",
    "*": "__mul",
    "/": "__div",
    "//": "__idiv",
    "%": "__mod",
    "^": "__pow",
    "..": "__concat",
    "==": "__eq",
    "<": "__lt",
    "<=": "__le",
    "#": "__len",
    "unary -": "__unm",
}


@attrs.define(eq=False)
class Function:
    """A function, or the main chunk if it has no `outer`, and its known calls."""

    node: m.ExprFunction | None
    outer: Function | None
    ways: set[str] = attrs.field(factory=set)
    arguments: list[m.Expr] | None = None
    parameters: list[Binding] = attrs.field(factory=list)
    captures: bool = False


@attrs.define(eq=False)
class Binding:
    """A local variable: its kind of declaration, its function, and its value if known."""

    how: str
    function: Function
    value: m.Expr | Function | None = None
    sets: int = 0
    metatable: m.Expr | None = None


@attrs.define(eq=False)
class Use:
    """An operation in a tree, and its surroundings."""

    name: str
    operands: list[m.Expr]
    function: Function
    in_loop: bool
    parameters: tuple[tuple[Parameter, ...], ...] = ()


@attrs.frozen
class Table:
    """A table: its length, or None if unknown, and its metatable's keys."""

    length: int | None
    events: frozenset[str] = frozenset()
    is_frozen: bool = False


@attrs.frozen
class Buffer:
    """A buffer with its length."""

    length: int


@attrs.frozen
class Member:
    """A library member."""

    name: str


class Reader:
    """Reads a tree; `uses` are its operations."""

    def __init__(self, body: m.StatBlock) -> None:
        self.main = Function(None, None)
        self.uses: list[Use] = []
        self.bindings: dict[int, Binding] = {}
        self.functions: dict[int, Function] = {}
        self.globals: dict[int, list[m.Expr | None]] = {}
        self._latest: dict[int, list[m.Expr | None]] = {}  # by the last statement that assigns
        self._assigned: set[int] = set()  # by the current statement of the main chunk
        self._unclear: set[int] = set()  # globals that functions assign to
        self._scopes: list[dict[int, Binding]] = [{}]
        self._function = self.main
        self._loops = 0
        self.block(body)

    # Walking

    def block(self, body: m.StatBlock, until: m.Expr | None = None) -> None:
        self._scopes.append({})
        is_main = len(self._scopes) == 2
        for stat in body.body:
            if is_main:
                self._assigned = set()
            self.visit(stat)
        if until is not None:
            self.visit(until)
        self._scopes.pop()

    def declare(self, local: m.Local, how: str, value: Any = None) -> Binding:
        binding = Binding(how, self._function, value, int(value is not None))
        self._scopes[-1][local.name] = binding
        return binding

    def visit(self, node: Any) -> None:
        special = getattr(self, f"visit_{type(node).__name__}", None)
        if special is not None:
            special(node)
        else:
            self.children(node)

    def children(self, node: Message) -> None:
        for slot in node._slots:
            value = getattr(node, slot)
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, Message):
                    self.visit(child)

    def visit_StatBlock(self, node: m.StatBlock) -> None:
        self.block(node)

    def visit_StatLocal(self, node: m.StatLocal) -> None:
        for value in node.values:
            self.visit(value)
        for number, local in enumerate(node.vars):
            initial = node.values[number] if number < len(node.values) else None
            self.declare(local, "local", initial)

    def visit_StatLocalFunction(self, node: m.StatLocalFunction) -> None:
        binding = self.declare(node.var, "local")
        binding.sets = 1
        binding.value = self.function(node.func)

    def visit_StatFor(self, node: m.StatFor) -> None:
        for value in (node.from_, node.to, node.step):
            if value is not None:
                self.visit(value)
        self.loop([node.var], [None], node.body)

    def visit_StatForIn(self, node: m.StatForIn) -> None:
        for each in node.values:
            self.visit(each)
        first: Any = node.values[0].alternative
        items = first.items if node.values[0].which == "table" and len(node.values) == 1 else []
        value = items[0].value if len(items) == 1 and items[0].which is None else None
        if value is None:
            self.use("__iter", [node.values[0]])
        self.loop(node.vars, [None, value], node.body)

    def loop(self, variables: list[m.Local], values: list[Any], body: m.StatBlock) -> None:
        self._scopes.append({})
        for number, local in enumerate(variables):
            self.declare(local, "loop variable", values[number] if number < len(values) else None)
        self._loops += 1
        self.block(body)
        self._loops -= 1
        self._scopes.pop()

    def visit_StatWhile(self, node: m.StatWhile) -> None:
        self.visit(node.cond)
        self.loop([], [], node.body)

    def visit_StatRepeat(self, node: m.StatRepeat) -> None:
        self._loops += 1
        self.block(node.body, node.cond)
        self._loops -= 1

    def visit_StatAssign(self, node: m.StatAssign) -> None:
        for each in node.values:
            self.visit(each)
        for number, target in enumerate(node.vars):
            value = node.values[number] if len(node.vars) == len(node.values) else None
            inner: Any = target.alternative
            if target.which == "local":
                binding = self.lookup(inner)
                if binding is not None:
                    binding.sets += 1
                    binding.value = value
            elif target.which == "global_":
                name = inner.name.alternative
                if self._function is not self.main:
                    self._unclear.add(name)
                if name not in self._assigned:
                    self._assigned.add(name)
                    self._latest[name] = []
                self._latest[name].append(value)
            else:
                self.visit(target)
                if target.which == "index_expr" and value is not None:
                    self.use("[]=", [prefixed(inner.expr), inner.index, value], [INDEX])
                    self.use("__newindex", [prefixed(inner.expr), inner.index, value], [INDEX])

    def visit_StatCompoundAssign(self, node: m.StatCompoundAssign) -> None:
        self.children(node)
        target = m.Expr()
        setattr(target, node.var.which or "", node.var.alternative)
        self.use(COMPOUND[node.op], [target, node.value])

    def visit_ExprFunction(self, node: m.ExprFunction) -> None:
        self.function(node)

    def function(self, node: m.ExprFunction) -> Function:
        outer, loops = self._function, self._loops
        made = self.functions.setdefault(id(node), Function(node, outer))
        made.node, made.outer = node, outer
        self._function, self._loops = made, 0
        self._scopes.append({})
        for number, local in enumerate(node.args):
            how = "annotated parameter" if number < len(node.types) else "parameter"
            made.parameters.append(self.declare(local, how))
        self.block(node.body)
        self._scopes.pop()
        self._function, self._loops = outer, loops
        return made

    def lookup(self, node: m.ExprLocal) -> Binding | None:
        for scope in reversed(self._scopes):
            binding = scope.get(node.var.name)
            if binding is not None:
                self.bindings[id(node)] = binding
                if binding.function is not self._function:
                    function: Function | None = self._function
                    while function is not None and function is not binding.function:
                        function.captures |= binding.function is not self.main
                        function = function.outer
                return binding
        return None

    def visit_ExprLocal(self, node: m.ExprLocal) -> None:
        self.lookup(node)

    def visit_ExprGlobal(self, node: m.ExprGlobal) -> None:
        if node.name.which == "custom":
            self.globals[id(node)] = self._latest.get(node.name.alternative, [])

    # Operations

    def use(self, name: str, operands: list[m.Expr], signatures: Iterable[Any] = ()) -> None:
        parameters = tuple(signature.parameters or () for signature in signatures)
        self.uses.append(Use(name, operands, self._function, self._loops > 0, parameters))

    def visit_ExprBinary(self, node: m.ExprBinary) -> None:
        self.children(node)
        self.use(BINARY[node.op][0], [node.left, node.right])

    def visit_ExprUnary(self, node: m.ExprUnary) -> None:
        self.children(node)
        text = UNARY[node.op].strip()
        self.use("unary -" if text == "-" else text, [node.expr])

    def visit_ExprIndexExpr(self, node: m.ExprIndexExpr) -> None:
        self.children(node)
        self.use("[]", [prefixed(node.expr), node.index], [INDEX])
        self.use("__index", [prefixed(node.expr), node.index], [INDEX])

    def visit_ExprInterpString(self, node: m.ExprInterpString) -> None:
        self.children(node)
        if len(node.parts) == 3:  # two operands with a text between
            self.use("ExprInterpString", [node.parts[0], node.parts[2]])

    def visit_ExprCall(self, node: m.ExprCall) -> None:
        name = callee(node)
        arguments = node.args
        # What is called by `pcall` and the like, and with what.
        if name in ("pcall", "xpcall", "coroutine.create", "coroutine.wrap") and arguments:
            way = "coroutine" if name.startswith("coroutine") else "protected call"
            given = arguments[1:] if name == "pcall" else None
            self.called(arguments[0], way, given)
        if name == "setmetatable" and len(arguments) == 2 and arguments[0].which == "local":
            table: Any = arguments[0].alternative
            changed = self.lookup(table)
            if changed is not None:
                changed.metatable = arguments[1]
        if name == "coroutine.resume" and arguments and arguments[0].which == "call":
            inner: Any = arguments[0].alternative
            if callee(inner) == "coroutine.create" and inner.args:
                self.called(inner.args[0], "coroutine", arguments[1:])
        self.children(node)
        if node.func.which == "local":
            binding = self.bindings.get(id(node.func.alternative))
            if binding is not None and isinstance(binding.value, Function):
                binding.value.ways.add("called")
                if binding.value.arguments is None:
                    binding.value.arguments = arguments
        if node.self_ and node.func.which == "index_name":
            field: Any = node.func.alternative
            arguments = [prefixed(field.expr), *arguments]
            self.use("__index method", arguments)
            name = f"string.{DEFAULT.field(field.index)}"
        elif name is None:
            self.use("__call", [prefixed(node.func), *arguments])
        signatures = BY_NAME.get(name or "")
        if signatures:
            self.use(name or "", arguments, signatures)
            if name == "tostring":
                self.use("__tostring", arguments)

    def called(self, function: m.Expr, way: str, arguments: list[m.Expr] | None) -> None:
        if function.which != "function":
            return
        node: Any = function.alternative
        made = self.functions.setdefault(id(node), Function(node, self._function))
        made.ways.add(way)
        if arguments is not None:
            made.arguments = arguments

    # What is said of them

    def source(self, expression: m.Expr, function: Function) -> str | None:
        """Return the source of an operand."""
        inner: Any = expression.alternative
        if expression.which == "group":
            return self.source(inner.expr, function)
        if expression.which == "local":
            binding = self.bindings.get(id(inner))
            if binding is None:
                return None
            return binding.how if binding.function is function else "upvalue"
        if expression.which == "global_" and inner.name.which == "custom":
            return "global"
        if expression.which in ("index_name", "index_expr"):
            return "field"
        if expression.which in ("call", "varargs"):
            return "call" if expression.which == "call" else "varargs"
        return "constant" if self.is_constant(expression) else None

    def is_constant(self, expression: m.Expr) -> bool:
        inner: Any = expression.alternative
        if expression.which in ("number", "string", "bool", "nil"):
            return True
        if expression.which == "unary":
            return self.is_constant(inner.expr)
        if expression.which == "binary":
            return self.is_constant(inner.left) and self.is_constant(inner.right)
        return False

    def value(self, expression: m.Expr, function: Function, deep: int = 0) -> Any:
        """Return an operand's value: a number, a text, or a class above, or None if unknown."""
        inner: Any = expression.alternative
        which = expression.which
        if deep > 6:
            return None
        member = member_of(expression)
        if member is not None:
            return Member(member)
        if which == "number":
            return float(inner.val) if inner.double is None else inner.double
        if which == "string":
            return inner.val
        if which == "group":
            return self.value(inner.expr, function, deep + 1)
        if which in ("unary", "binary"):
            return self.computed(expression, function, deep)
        if which == "local":
            binding = self.bindings.get(id(inner))
            if binding is not None and binding.metatable is not None:
                return Table(None, self.events(binding.metatable))
            return None if binding is None else self.bound(binding, deep)
        if which == "global_" and inner.name.which == "custom":
            is_unclear = inner.name.alternative in self._unclear
            values = () if is_unclear else self.globals.get(id(inner), ())
            known = {repr(v): v for v in (self.value(v, function, deep + 1) for v in values if v)}
            return next(iter(known.values())) if len(known) == 1 else None
        if which == "varargs":
            arguments = function.arguments
            position = len(function.parameters)
            if arguments is not None and position < len(arguments) and function.outer is not None:
                return self.value(arguments[position], function.outer, deep + 1)
            return None
        if which == "index_name":
            return self.field(inner, deep)
        if which == "table":
            keyed = any(item.which for item in inner.items)
            return Table(None if keyed else len(inner.items))
        if which == "call":
            return self.call(inner, function, deep)
        return None

    def bound(self, binding: Binding, deep: int) -> Any:
        """Return a variable's value. A parameter has the value that the function is called with."""
        if binding.how.endswith("parameter"):
            function = binding.function
            position = function.parameters.index(binding)
            arguments = function.arguments
            if arguments is None or position >= len(arguments) or function.outer is None:
                return None
            return self.value(arguments[position], function.outer, deep + 1)
        if binding.sets != 1 or not isinstance(binding.value, m.Expr):
            return None
        return self.value(binding.value, binding.function, deep + 1)

    def field(self, node: m.ExprIndexName, deep: int) -> Any:
        """Return the value of `t.x`, where `t` is a local with a known table."""
        if node.expr.which != "local":
            return None
        binding = self.bindings.get(id(node.expr.alternative))
        if binding is None or not isinstance(binding.value, m.Expr) or binding.sets != 1:
            return None
        if binding.value.which != "table":
            return None
        table: Any = binding.value.alternative
        for item in table.items:
            if item.which == "key_name" and item.alternative == node.index:
                return self.value(item.value, binding.function, deep + 1)
        return None

    def call(self, node: m.ExprCall, function: Function, deep: int) -> Any:
        """Return the value of a call of a function that returns one, or of a constructor."""
        name = callee(node)
        arguments = node.args
        if name in ("buffer.create", "table.create") and arguments:
            length = self.value(arguments[0], function, deep + 1)
            if not isinstance(length, float) or not math.isfinite(length):
                return None
            return Buffer(int(length)) if name == "buffer.create" else Table(int(length))
        if name == "buffer.fromstring" and arguments:
            text = self.value(arguments[0], function, deep + 1)
            return (
                Buffer(len(text.encode("utf-8", "surrogateescape")))
                if isinstance(text, str)
                else None
            )
        if name == "table.freeze" and arguments:
            table = self.value(arguments[0], function, deep + 1)
            return attrs.evolve(table, is_frozen=True) if isinstance(table, Table) else None
        if name == "setmetatable" and len(arguments) == 2:
            return Table(None, self.events(arguments[1]))
        if node.func.which == "local":
            binding = self.bindings.get(id(node.func.alternative))
            called = binding.value if binding is not None else None
            if isinstance(called, Function) and called.node is not None:
                body = called.node.body.body
                if len(body) == 1 and body[0].which == "return_":
                    returned: Any = body[0].alternative
                    if len(returned.list) == 1:
                        return self.value(returned.list[0], called, deep + 1)
        return None

    def events(self, metatable: m.Expr) -> frozenset[str]:
        """Return the keys of a metatable."""
        inner: Any = metatable.alternative
        if metatable.which == "local":
            binding = self.bindings.get(id(inner))
            known = binding is not None and isinstance(binding.value, m.Expr)
            return self.events(binding.value) if known else frozenset()  # type: ignore[union-attr,arg-type]
        if metatable.which != "table":
            return frozenset()
        keys = set()
        for item in inner.items:
            key: Any = item.alternative
            if item.which == "key_name":
                keys.add(DEFAULT.field(key, ""))
            elif item.which == "key_expr" and key.which == "string":
                keys.add(key.alternative.val)
        return frozenset(keys)

    def computed(self, expression: m.Expr, function: Function, deep: int) -> float | None:
        """Return the value of arithmetic on known values."""
        inner: Any = expression.alternative
        operands = [inner.expr] if expression.which == "unary" else [inner.left, inner.right]
        values = [self.value(each, function, deep + 1) for each in operands]
        if not all(isinstance(each, float) for each in values):
            return None
        if expression.which == "unary":
            return -values[0] if inner.op == m.ExprUnary.Op.Minus else None
        return arithmetic(BINARY[inner.op][0], *values)

    def places(self, use: Use) -> set[str]:
        """Return the surroundings of an operation."""
        function = use.function
        if function is self.main:
            return {"loop" if use.in_loop else "top level"}
        node = function.node
        assert node is not None
        made = {"loop"} if use.in_loop else set()
        made |= function.ways & {"protected call", "coroutine"}
        made |= {"varargs"} if node.vararg else set()
        made |= {"closure"} if function.captures else set()
        if any(each.type == m.ExprAttr.Kind.Native for each in node.attributes):
            made.add("native function")
        if "called" in function.ways and not node.vararg:
            made.add("inlined function")
        return made

    # Pairs

    def pairs(self) -> Iterator[Pair]:
        """Return the pairs in a program, each as often as it occurs."""
        for use in self.uses:
            values = [self.value(each, use.function) for each in use.operands]
            if use.name == "__call" and isinstance(values[0], Member):
                use.name, use.operands = values.pop(0).name, use.operands[1:]
                signatures = BY_NAME.get(use.name, [])
                use.parameters = tuple(signature.parameters or () for signature in signatures)
            name = use.name
            events = [each.events if isinstance(each, Table) else frozenset() for each in values]
            if name in EVENTS and any(EVENTS[name] in each for each in events):
                name = EVENTS[name]
            of_first = events[0] if events else frozenset()
            if name.startswith("string.") and values and isinstance(values[0], Table):
                continue  # a method of an object
            if (use.name.startswith("__") and name.split()[0] not in of_first) or (
                name in ("[]", "[]=") and of_first
            ):
                continue
            places = self.places(use)
            for place in places:
                yield "operation", "surroundings", name, place
            length = size_of(values[0]) if values else None
            before: float | None = None
            for number, (operand, value) in enumerate(zip(use.operands, values, strict=True)):
                source = self.source(operand, use.function)
                classes = classes_of(value, use, number, length, before)
                before = value if isinstance(value, float) else before
                at = f"{name} {position(use, number)}"
                if source is not None:
                    yield "operation", "source", at, source
                    for place in places:
                        yield "source", "surroundings", source, place
                for each in classes:
                    yield "operation", "value", at, each
                    if source is not None:
                        yield "source", "value", source, each
                    for place in places:
                        yield "value", "surroundings", each, place


INDEX = Signature(
    "", "[]", (Parameter("row"), Parameter("integer", role="at"), Parameter("any")), ()
)
BY_NAME: dict[str, list[Any]] = {}
for _signature in SIGNATURES:
    if _signature.parameters is not None:
        BY_NAME.setdefault(str(_signature), []).append(_signature)


def callee(node: m.ExprCall) -> str | None:
    """Return the name of the called global or library member."""
    return None if node.self_ else member_of(node.func)


def member_of(node: m.Expr | m.ExprPrefix) -> str | None:
    """Return the name of a global or library member."""
    inner: Any = node.alternative
    if node.which == "global_" and inner.name.which == "builtin":
        return DEFAULT.global_(inner.name)
    if node.which == "index_name" and inner.index.which == "builtin":
        owner = inner.expr
        if owner.which == "global_" and owner.alternative.name.which == "builtin":
            library = DEFAULT.global_(owner.alternative.name)
            return f"{library}.{DEFAULT.field(inner.index, library)}"
    return None


def prefixed(prefix: m.ExprPrefix) -> m.Expr:
    """Return the content of a prefix as an expression."""
    made = m.Expr()
    setattr(made, prefix.which or "", prefix.alternative)
    return made


def position(use: Use, number: int) -> int:
    """Return the index of the parameter for an argument. The last one gets all extra arguments."""
    last = max((len(each) for each in use.parameters), default=number + 1) - 1
    return min(number, last) if use.parameters else number


def size_of(value: Any) -> int | None:
    """Return the length of a value that has one."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogateescape"))
    return value.length if isinstance(value, (Table, Buffer)) else None


def arithmetic(operator: str, left: float, right: float) -> float | None:
    """Return the result that Luau computes."""
    if operator == "/" and right == 0:
        sign = math.copysign(1, left) * math.copysign(1, right)
        return math.nan if left == 0 or math.isnan(left) else sign * math.inf
    try:
        if operator == "^":
            return math.pow(left, right)
        if operator in ("+", "-", "*", "/"):
            made: float = {
                "+": left + right, "-": left - right, "*": left * right, "/": left / (right or 1),
            }[operator]  # fmt: skip
            return made
    except (OverflowError, ValueError):
        return None
    return None


def classes_of(
    value: Any, use: Use, number: int, length: int | None, before: float | None
) -> set[str]:
    """Return the classes of a value, for the parameters that it may be passed to."""
    if isinstance(value, Table) and value.is_frozen:
        return {axes.FROZEN}
    size = size_of(value)
    if size is not None:
        return {sized(value, size)}
    if not isinstance(value, float):
        return {axes.ORDINARY}
    made = {number_class(value)}
    at = position(use, number)
    for parameters in use.parameters:
        if at < len(parameters) and parameters[at].role and value == value // 1:
            limits = parameters[at].limits(length or 0, int(before or 0) if is_small(before) else 0)
            if value not in limits and {value - 1, value + 1} & {*limits}:
                made.add(axes.OFF_BY_ONE)
    return made


def is_small(value: float | None) -> bool:
    return value is not None and abs(value) < 2**31


def sized(value: Any, size: int) -> str:
    """Return the class of a size."""
    if size < 2:
        return "single" if size else "empty"
    if isinstance(value, str):
        return "long" if size >= 255 else "limit" if size in (31, 32, 33) else axes.ORDINARY
    if size & (size - 1) == 0:
        return "limit"
    return "long" if size > 64 else axes.ORDINARY


def number_class(value: float) -> str:
    """Return the class of a number."""
    if value != value:
        return "nan"
    if math.isinf(value):
        return "infinity" if value > 0 else "-infinity"
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    if value % 1:
        return "fraction"
    size = abs(value)
    for name, bits in (("int32", (31, 32)), ("int53", (53,)), ("int64", (63, 64))):
        if any(abs(size - 2.0**bit) <= 2 for bit in bits):
            return name
    if value < 0:
        return "negative"
    return "1" if value == 1 else axes.ORDINARY


def pairs_in(tree: m.ModuleSet) -> Iterator[Pair]:
    """Return the pairs in a program, without its module."""
    yield from Reader(tree.program).pairs()


def possible_pairs(luau: Version | None = None) -> set[Pair]:
    """Return the pairs that can occur in programs for a Luau version."""
    possible: set[Pair] = set()
    places = axes.places(luau)
    for operation in axes.operations(luau, typed=False):
        for place in filter(operation.can_stand, places):
            possible.add(("operation", "surroundings", operation.name, place.name))
        for position in filter(None, operation.positions):
            sources = [source.name for source in position.sources]
            possible |= {("operation", "source", position.name, source) for source in sources}
            for value in position.values:
                possible.add(("operation", "value", position.name, value))
                possible |= {("source", "value", source, value) for source in sources}
                for place in places:
                    if place.is_function or value in position.harmless:
                        possible.add(("value", "surroundings", value, place.name))
    for source in axes.SOURCES:
        for place in places:
            if (
                (place.is_function or not source.in_function)
                and (place.may_loop or not source.in_loop)
                and (place.may_vary or not source.in_vararg)
            ):
                possible.add(("source", "surroundings", source.name, place.name))
    return possible
