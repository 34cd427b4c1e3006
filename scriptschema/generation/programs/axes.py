"""The axes along which generated programs vary.

Many bugs appear only with a particular combination of an operation, an operand's source, the
surrounding code, and a boundary value. `operations` returns operators, metamethods and library
members. `SOURCES` lists the sources of operands, and `SURROUNDINGS` lists the places where an
operation can appear. `Position.values` lists the classes of values that a parameter can have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Final, TypeAlias

import attrs

from scriptschema.luau.library import ROLES, SIGNATURES, Parameter
from scriptschema.luau.operators import BINARY, COMPOUND, UNARY
from scriptschema.messages import ExprBinary, ExprUnary, StatCompoundAssign
from scriptschema.versions import Version, has

Operator: TypeAlias = ExprBinary.Op | ExprUnary.Op | StatCompoundAssign.Op


@attrs.frozen(eq=False)
class Source:
    """A source of operands, such as a local variable. `nodes` is the number of nodes that it adds.

    The operand must be a constant if `is_constant` is true, and can be assigned to if `is_variable`
    is true. If `renews` is true, each run of the code creates a new value. It must be in a
    function if `in_function` is true, in a loop if `in_loop` is true, and in a function with `...`
    if `in_vararg` is true. If `annotated` is true, it needs an annotation. If `untyped` is true, a
    type checker rejects it.
    """

    name: str
    nodes: int
    is_constant: bool = False
    is_variable: bool = False
    renews: bool = False
    in_function: bool = False
    in_loop: bool = False
    in_vararg: bool = False
    annotated: bool = False
    untyped: bool = False


SOURCES: Final = (
    Source("constant", 0, is_constant=True),
    Source("local", 8, is_variable=True, renews=True),
    Source("upvalue", 8, is_variable=True, in_function=True),
    Source("global", 9, is_variable=True, untyped=True),
    Source("field", 14, is_variable=True),
    Source("call", 14, renews=True),
    Source("annotated parameter", 6, is_variable=True, in_function=True, annotated=True),
    Source("parameter", 4, is_variable=True, in_function=True, untyped=True),
    Source("loop variable", 11, is_variable=True, renews=True, in_loop=True),
    Source("varargs", 2, in_function=True, in_vararg=True),
)
VARARGS: Final = SOURCES[-1]


@attrs.frozen(eq=False)
class Surroundings:
    """A place where an operation can appear, such as a coroutine.

    `is_function` is true if the operation is in a function, where errors can be caught. `may_loop`
    is true if the operation may be in a loop. `may_vary` is true if the enclosing function may have
    `...`. `may_hold` is true if arguments may be functions. `attribute` is true if the place
    requires a Luau version with attributes.
    """

    name: str
    is_function: bool = True
    may_loop: bool = True
    may_vary: bool = True
    may_hold: bool = True
    attribute: bool = False


SURROUNDINGS: Final = (
    Surroundings("top level", is_function=False, may_loop=False, may_vary=False),
    Surroundings("loop"),
    Surroundings("inlined function", may_vary=False, may_hold=False),
    Surroundings("closure"),
    Surroundings("coroutine"),
    Surroundings("protected call"),
    Surroundings("native function", attribute=True),
    Surroundings("varargs"),
)


NUMBERS: Final[Mapping[str, Sequence[str]]] = {
    "0": ("0",),
    "-0": ("-0", "0 / -1"),
    "1": ("1",),
    "negative": ("-1", "-2", "-7"),
    "fraction": ("1 / 2", "-1 / 2", "7 / 2"),
    "int32": ("2147483647", "-2147483648", "2 ^ 31", "2 ^ 32", "2 ^ 32 - 1", "-2 ^ 31 - 1"),
    "int53": ("2 ^ 53", "-2 ^ 53", "2 ^ 53 - 1", "2 ^ 53 + 1"),
    "int64": ("2 ^ 63", "-2 ^ 63", "2 ^ 64"),
    "nan": ("0 / 0",),
    "infinity": ("1 / 0",),
    "-infinity": ("-1 / 0",),
}
"""Expressions for boundary values of numeric operands, by class. They are not specific to any
operation."""

_HUGE: Final = frozenset(["int32", "int53", "int64", "infinity", "-infinity"])
_SIZES: Final = ("empty", "single", "limit", "long")

LEAST_ORDINARY: Final = 2
"""The smallest whole-number argument that is not a special value."""

ORDINARY: Final = "ordinary"
"""The class of all values that are not in another class."""

FROZEN: Final = "frozen"
"""The class of tables that cannot be modified."""

OFF_BY_ONE: Final = "off by one"
"""The class of positions and counts that are one below or above a limit."""

SIZED: Final = frozenset(["string", "array", "row", "buffer"])
"""The kinds of values that have a size."""

TEXTS: Final[Mapping[str, Sequence[str]]] = {
    "short": (",", "", "a", "ab", "-", ", ", "%", "x1", "[", "é"),
    "eight": ("abcdefgh", "12345678", "\0\x01\x02\x03\x7f\n\t ", "ABCD\0EFG"),
    "text": ("0123456789abcdef", "\0\x01\x02\x03\x04\x05\x06\x07zyxwvutsrqponm"),
    "utf8": ("abc", "é中\U0001f600", "e\u0301x", "\u07ff\u0800\uffff", "a\U0010ffff"),
    "numeral": ("10", "0x1F", "0b101", " 7 ", "1e2", "-3.25", "1_000", ".5", "1e-310", "0x.8p1"),
    "digits": ("1", "10", "101", "0110"),
    "pattern": (
        *("a", ".", "%a+", "%d", "(%w+)=(%w+)", "^%s*(.-)%s*$", "%s", "[aeiou]", "[^%w]+", "()"),
        *("%b()", "%f[%w]%w+", "(.)%1", "[a-c]*", "x?y-z", "%x%x", "%u%l+", "()%p()", "%g", "%c"),
        *("^a", "c$", "[%]%-]", "%.", "[%a_][%w_]*", "(%a)(%a)(%a)", "%A", "%S+", "l+", "", "o."),
    ),
    "time": ("!%Y-%m-%d", "!%H:%M:%S", "!%A %B %j", "!%c", "!%x %X %p", "!%y%%%U %w %a %b %d %I"),
    "inquiry": ("s", "l", "n", "a", "f", "sl", "na", "slnaf"),
}
"""The string constants to use as arguments, by the kind of the parameter."""

OPEN: Final = frozenset(["any", "value", "scalar", "optional"])
"""The kinds of parameters that accept most values."""

_SEVERAL: Final = frozenset(["format", "pack", "packed"])
"""The kinds of parameters that become several arguments, such as a format and its values."""


def is_operand(parameter: Parameter) -> bool:
    """Return whether a parameter takes a single value, which can come from any source."""
    return parameter.function is None and parameter.kind not in _SEVERAL


def has_constants(parameter: Parameter) -> bool:
    """Return whether the value of a parameter can be a constant."""
    kind = parameter.kind
    is_text = kind in TEXTS or kind[0] == '"'
    return (
        parameter.is_number
        or is_text
        or kind in ("string", "boolean", "true", "nil")
        or kind in OPEN
    )


def _values(parameter: Parameter) -> tuple[str, ...]:
    """Return the classes of values that a parameter can have."""
    if parameter.kind in SIZED:
        return (ORDINARY, *_SIZES, *([FROZEN] if parameter.kind == "row" else []))
    if not parameter.is_number:
        return (ORDINARY,)
    role = ROLES.get(parameter.role)
    numbers = {*NUMBERS}
    if role is not None:
        # Loop bounds and summands must not be huge, and the bits of NaN vary.
        numbers -= _HUGE if role.is_looped or role.is_added else set()
        numbers -= {"nan"} if role.is_float else set()
        numbers.add(OFF_BY_ONE)
    if parameter.bounds is None or parameter.bounds[1] >= LEAST_ORDINARY:
        numbers.add(ORDINARY)
    return tuple(each for each in (ORDINARY, OFF_BY_ONE, *NUMBERS) if each in numbers)


def _is_harmless(parameter: Parameter, value: str) -> bool:
    """Return whether the operation can succeed with a value of the class `value`."""
    kind = parameter.kind
    if kind in ("string", "integer") or (kind == "number" and not parameter.role):
        return True
    if kind == "array":
        return value != "empty"
    if parameter.bounds is not None and bool(within(parameter, value)):
        return True
    return value == ORDINARY or (kind == "buffer" and value == "long")


def within(parameter: Parameter, value: str) -> list[str]:
    """Return the integers of a class in `NUMBERS` that are within the parameter's bounds.

    The list is empty if the parameter has no bounds, or if `value` is another class.
    """
    low, high = parameter.bounds or (1, 0)
    return [n for n in NUMBERS.get(value, ()) if _INTEGER.fullmatch(n) and low <= int(n) <= high]


_INTEGER: Final = re.compile(r"-?[1-9]\d*|0")


@attrs.frozen(eq=False)
class Position:
    """An operand's position in an operation: its parameter, sources and classes of values.

    The operation may fail with a value of a `fragile` class, but not with one of a `harmless`
    class. `safe` has the sources and the harmless classes.
    """

    name: str
    parameter: Parameter
    sources: tuple[Source, ...]
    values: tuple[str, ...]
    harmless: tuple[str, ...]
    safe: tuple[Source | str, ...] = attrs.field(init=False)
    fragile: tuple[str, ...] = attrs.field(init=False)

    @safe.default
    def _safe(self) -> tuple[Source | str, ...]:
        return (*self.sources, *self.harmless)

    @fragile.default
    def _fragile(self) -> tuple[str, ...]:
        return tuple(value for value in self.values if value not in self.harmless)

    @classmethod
    def of(cls, operation: Operation, number: int) -> Position:
        """Return the position of the operation's parameter at index `number`."""
        parameter = operation.parameters[number]
        sources = tuple(
            source
            for source in SOURCES
            if (source.is_variable or number or not operation.assigns)
            and (not source.is_constant or has_constants(parameter))
        )
        is_outside = operation.library in _OUTSIDE or "varies" in operation.marks
        values = tuple(
            value
            for value in _values(parameter)
            if not is_outside or value == ORDINARY or within(parameter, value)
        )
        harmless = tuple(value for value in values if _is_harmless(parameter, value))
        return cls(f"{operation.name} {number}", parameter, sources, values, harmless)


@attrs.frozen(eq=False)
class Operation:
    """A way to use an operator, a metamethod or a library member.

    `operator` is the operator (for a metamethod, the operator that calls it), if any. `positions`
    has None for each parameter that does not take a single operand, such as a format with its
    values.

    Each use of the operation covers one source and one class of values at each position. `need` is
    the number of uses that can cover all sources and harmless classes. `fragile` is the number of
    uses that can cover all fragile classes.
    """

    name: str
    parameters: tuple[Parameter, ...]
    results: tuple[str, ...] = ()
    operator: Operator | None = None
    library: str = ""
    marks: frozenset[str] = frozenset()
    positions: tuple[Position | None, ...] = attrs.field(init=False)
    need: int = attrs.field(init=False)
    fragile: int = attrs.field(init=False)

    @positions.default
    def _positions(self) -> tuple[Position | None, ...]:
        numbers = enumerate(self.parameters)
        return tuple(Position.of(self, n) if is_operand(p) else None for n, p in numbers)

    @need.default
    def _need(self) -> int:
        return max([len(SOURCES), *(len(each.harmless) for each in self.positions if each)])

    @fragile.default
    def _fragile(self) -> int:
        return max((len(each.fragile) for each in self.positions if each), default=0)

    @property
    def is_metamethod(self) -> bool:
        """Return whether the operation calls a metamethod of an object."""
        return self.name.startswith("__")

    @property
    def event(self) -> str:
        """The name of the metamethod that the operation calls."""
        return self.name.partition(" ")[0]

    @property
    def may_be_method(self) -> bool:
        """Return whether the operation can be written as a method call, such as `s:rep(2)`."""
        return self.library == "string" and self.parameters[0].kind in ("string", "short")

    def can_stand(self, place: Surroundings) -> bool:
        """Return whether the operation is allowed in the surroundings `place`."""
        return place.may_hold or not any(each.function for each in self.parameters)

    @property
    def assigns(self) -> bool:
        """Return whether the first operand is a variable that the operation changes."""
        return isinstance(self.operator, StatCompoundAssign.Op)


_OUTSIDE: Final = frozenset(["os", "debug", "coroutine"])
"""The libraries whose results depend not only on arguments but also on the environment."""

_NUMBER, _STRING = Parameter("number"), Parameter("string")
_OBJECT, _SCALAR, _ARRAY = Parameter("object"), Parameter("scalar"), Parameter("array")
_BOOLEAN, _INDEX = Parameter("boolean"), Parameter("integer", role="at")
_SHORT, _SLOT = Parameter("short"), Parameter("range", bounds=(1, 4), role="at")

_ORDERS: Final = frozenset(["<", "<=", ">", ">="])
_EVENTS: Final = {
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
}
"""The metamethods of binary operators."""


def _operators() -> Iterator[Operation]:
    for operator, (text, _, _) in BINARY.items():
        event = _EVENTS.get(text)
        if text in _ORDERS or text in ("==", "~="):
            for operand in (_NUMBER, _STRING):
                yield Operation(text, (operand, operand), ("boolean",), operator)
            if event:
                yield Operation(event, (_OBJECT, _OBJECT), ("boolean",), operator)
        elif text in ("and", "or"):
            yield Operation(text, (_BOOLEAN, _NUMBER), ("scalar",), operator)
            yield Operation(text, (_SCALAR, _SCALAR), ("scalar",), operator)
        else:
            operand, kind = (_STRING, "string") if text == ".." else (_NUMBER, "number")
            yield Operation(text, (operand, operand), (kind,), operator)
            yield Operation(event or "", (_OBJECT, operand), ("scalar",), operator)
            yield Operation(event or "", (operand, _OBJECT), ("scalar",), operator)
            if text == "..":
                yield Operation(text, (operand, _NUMBER), (kind,), operator)
    minus, length = ExprUnary.Op.Minus, ExprUnary.Op.Len
    yield Operation(UNARY[ExprUnary.Op.Not].strip(), (_SCALAR,), ("boolean",), ExprUnary.Op.Not)
    yield Operation("unary -", (_NUMBER,), ("number",), minus)
    yield Operation("__unm", (_OBJECT,), ("scalar",), minus)
    for operand in (_STRING, _ARRAY):
        yield Operation(UNARY[length], (operand,), ("integer",), length)
    yield Operation("__len", (_OBJECT,), ("scalar",), length)
    for assignment, text in COMPOUND.items():
        operand, kind = (_STRING, "string") if text == "..=" else (_NUMBER, "number")
        yield Operation(text, (operand, operand), (kind,), assignment)
    yield Operation("[]", (_ARRAY, _INDEX), ("optional",))
    yield Operation(
        "[]=", (Parameter("row"), Parameter("range", bounds=(1, 7), role="at"), _NUMBER)
    )
    for key in (_SHORT, _SLOT):
        yield Operation("__index", (_OBJECT, key), ("scalar",))
        yield Operation("__newindex", (_OBJECT, key, _NUMBER))
    yield Operation("__index method", (_OBJECT, _SCALAR), ("scalar",))
    yield Operation("__call", (_OBJECT, _SCALAR), ("scalar",))
    yield Operation("__iter", (_OBJECT,))
    yield Operation("__tostring", (_OBJECT,), ("string",))
    for parts in ((_SHORT, _NUMBER), (_SCALAR, _STRING)):
        yield Operation("ExprInterpString", parts, ("string",))


OPERATORS: Final = tuple(_operators())
"""The operations that use an operator or a metamethod."""

_NOT_CALLED: Final = frozenset(["coroutine.yield", "math.randomseed", "setfenv", "getfenv"])
"""The members that are never called, since they affect the rest of the program or do not return."""


@cache
def operations(luau: Version | None, *, typed: bool) -> tuple[Operation, ...]:
    """Return the operations of a Luau version. If `typed`, leave out those with type errors."""
    members = tuple(
        Operation(
            str(signature),
            signature.parameters,
            signature.results,
            library=signature.library or "globals",
            marks=signature.marks,
        )
        for signature in SIGNATURES
        if signature.parameters
        and "fails" not in signature.marks
        and str(signature) not in _NOT_CALLED
        and not (typed and "untyped" in signature.marks)
        and has(luau, signature.span)
    )
    return (*(each for each in OPERATORS if not (typed and each.is_metamethod)), *members)


def places(luau: Version | None) -> tuple[Surroundings, ...]:
    """Return the surroundings that are possible in programs for a Luau version."""
    return tuple(place for place in SURROUNDINGS if luau is not None or not place.attribute)
