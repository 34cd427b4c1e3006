"""Expressions by kind: tables of templates and literals.

Each kind has weighted templates, the simplest first. An expression can also be a literal, a
variable, or a call to a library member (`calls.py`) or to one of the program's functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scriptschema.choices import PIECES, WORDS
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.maker import Maker
from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.quoting import string_bytes
from scriptschema.messages import Expr
from scriptschema.versions import Span, Version, has

TEMPLATES: Final[Mapping[str, tuple[tuple[float, str], ...]]] = {
    "number": (
        (6, "INTEGER"),
        (4, "NUMBER + NUMBER"),
        (3, "NUMBER - NUMBER"),
        (3, "NUMBER * NUMBER"),
        (2, "NUMBER / NUMBER"),
        (2, "NUMBER // NUMBER"),
        (2, "NUMBER % NUMBER"),
        (2, "NUMBER ^ NUMBER"),
        (2, "-NUMBER"),
        (1, "NUMBER / RANGE(2, 9)"),
        (1, "RANGE(-9, 9) / RANGE(1, 9)"),
        (1, "RANGE(-9, 9) * NUMBER"),
        (1, "RANGE(0, 9) - NUMBER"),
        (1, "NUMBER ^ ONE_OF(2, 3, 0)"),
        (1, "1 / 0"),
        (1, "0 / 0"),
        (2, "EDGE"),
        (2, "if BOOLEAN then NUMBER else NUMBER"),
        (2, "if BOOLEAN then NUMBER elseif BOOLEAN then NUMBER else NUMBER"),
        (2, "OPTIONAL or NUMBER"),
        (1, "BOOLEAN and NUMBER or INTEGER"),
        (1, "NUMBER and NUMBER"),
        (3, "some_array[RANGE(1, 3)] or NUMBER"),
        (1, "ARRAY[INTEGER] or NUMBER"),
        (2, "some_map.value or INTEGER"),
        (1, "MAP[STRING] or INTEGER"),
        (1, "tonumber(STRING) or NUMBER"),
        (1, "tonumber(NUMERAL) or NUMBER"),
        (2, "some_object.value"),
        (2, "some_object:update(NUMBER)"),
        (2, "some_module.value"),
        (2, "some_module.update(NUMBER)"),
        (2, 'VECTOR[ONE_OF("x", "y", "z", UNTYPED("X"))]'),
        (1, "(select(RANGE(1, 2), NUMBER, NUMBER))"),
        (1, "((function(...) return ... end)(NUMBER, STRING))"),
        (1, "(function(a: number): number return RESULT end)(NUMBER)"),
        (0.5, "({NUMBER, NUMBER})[RANGE(1, 2)]"),
        (0.5, "({value = NUMBER}).value"),
    ),
    "edge": (  # constants are integers, so a fraction is written as a quotient
        (6, "RANGE(-5, 4) + 1 / 2"),
        (4, "RANGE(-99, 99) / 10"),
        (2, "RANGE(-9, 9) / RANGE(3, 7)"),
        (1, "-NUMBER"),
        (1, "-(NUMBER / 2)"),
        (1, "0 / -1"),
        (1, "ONE_OF(1, -1) / 0"),
        (1, "0 / 0"),
        (1, "ONE_OF(2, -2) ^ ONE_OF(31, 32, 52, 53, 63, 64, 1023, -1, -52, -1022, -1074)"),
        (1, "2 ^ ONE_OF(31, 32, 53, 63) - RANGE(1, 2)"),
        (1, "2 ^ ONE_OF(31, 32, 52, 53) + 1 / RANGE(1, 2)"),
    ),
    "integer": (
        (3, "RANGE(0, 10)"),
        (1, "RANGE(-8, 8)"),
        (2, "#ARRAY"),
        (2, "#STRING"),
        (1, "#STRINGS"),
        (2, "INTEGER + INTEGER"),
        (2, "INTEGER - INTEGER"),
        (1, "INTEGER * RANGE(0, 3)"),
        (2, "INTEGER % RANGE(2, 9)"),
        (1, "INTEGER // RANGE(2, 5)"),
        (1, 'select("#", ...)'),
        (1, "if BOOLEAN then INTEGER else INTEGER"),
    ),
    "string": (
        (2, "STRING .. STRING"),
        (2, "STRING .. NUMBER .. STRING"),
        (1, "NUMBER .. SHORT"),
        (2, "`{STRING}`"),
        (2, "`a{NUMBER} {STRING}b`"),
        (1, "`{INTEGER}{BOOLEAN}%\\n`"),
        (1, "if BOOLEAN then STRING else STRING"),
        (1, "if BOOLEAN then STRING elseif BOOLEAN then STRING else STRING"),
        (1, "STRING or SHORT"),
        (1, "BOOLEAN and STRING or SHORT"),
        (2, "tostring(NUMBER)"),
        (1, "tostring(BOOLEAN)"),
        (1, "type(VALUE)"),
        (1, "typeof(VALUE)"),
        (1, "STRING:upper()"),
        (1, "STRING:sub(INTEGER, INTEGER)"),
        (1, "SHORT:rep(RANGE(0, 5))"),
        (1, "STRING:reverse():lower()"),
        (1, '("%d:%s"):format(INTEGER, STRING)'),
        (1, 'some_strings[RANGE(1, 2)] or ""'),
        (1, "some_module.text"),
        (1, '(STRING:gsub(PATTERN, ONE_OF("", "x", "<%0>")))'),
    ),
    "boolean": (
        (3, "NUMBER < NUMBER"),
        (2, "NUMBER <= NUMBER"),
        (2, "NUMBER > NUMBER"),
        (2, "NUMBER >= NUMBER"),
        (2, "NUMBER == NUMBER"),
        (2, "NUMBER ~= NUMBER"),
        (2, "INTEGER < RANGE(1, 9)"),
        (1, "some_number == RANGE(0, 3)"),
        (1, "some_string == SHORT"),
        (1, "OPTIONAL ~= nil"),
        (1, "STRING < STRING"),
        (1, "STRING <= STRING"),
        (1, "UNTYPED(STRING == STRING)"),
        (1, "some_string == STRING"),
        (1, "UNTYPED(VALUE == VALUE)"),
        (1, "VECTOR == VECTOR"),
        (3, "not BOOLEAN"),
        (1, "not OPTIONAL"),
        (2, "BOOLEAN and BOOLEAN"),
        (2, "BOOLEAN or BOOLEAN"),
        (1, "if BOOLEAN then BOOLEAN else BOOLEAN"),
    ),
    "array": (
        (4, "{NUMBER}"),
        (6, "{NUMBER, NUMBER, NUMBER}"),
        (1, "{RANGE(1, 9), RANGE(-5, 5), RANGE(1, 9), RANGE(0, 99)}"),
        (1, "{[1] = NUMBER, [2] = NUMBER}"),
        (1, "{NUMBER, unpack(ARRAY)}"),
        (1, "if BOOLEAN then ARRAY else ARRAY"),
    ),
    "strings": (
        (2, "{STRING}"),
        (4, "{STRING, STRING, STRING}"),
        (1, '{"pear", "apple", SHORT, "Apple"}'),
    ),
    "map": (
        (4, "{value = INTEGER}"),
        (3, "{value = INTEGER, update = INTEGER}"),
        (2, '{[SHORT] = INTEGER, ["end"] = INTEGER, value = INTEGER}'),
        (1, "{value = RANGE(1, 3), update = RANGE(1, 3), first = RANGE(4, 6)}"),
    ),
    "short": ((1, "tostring(RANGE(0, 99))"),),
    "record": ((1, "{value = SCALAR, update = NUMBER}"), (1, "{NUMBER, value = STRING}")),
    "routine": (
        (3, "coroutine.create(CALLABLE)"),
        (1, "coroutine.create(function(...) return coroutine.yield(...) end)"),
    ),
    "metatable": (
        (1, "{__index = RECORD}"),
        (1, "{__add = function(a, b) return NUMBER end, __len = function() return INTEGER end}"),
        (1, "{__call = function(self, ...) return ... end}"),
        (1, '{__mode = ONE_OF("k", "v", "kv")}'),
    ),
    "replacement": (
        (4, 'ONE_OF("", "<%0>", "%1%1", "%%", "x")'),
        (2, '{a = SHORT, o = INTEGER, [" "] = false, The = SHORT, key = BOOLEAN}'),
        (2, "function(a) return a end"),
        (1, "function(a, b) return b end"),
        (1, "function(a) return if BOOLEAN then nil else SHORT end"),
        (1, "string.upper"),
    ),
    "object": (
        (
            2,
            "setmetatable({value = NUMBER}, {__index = {update = function(self, a) return a end}})",
        ),
    ),
    "function": (
        (2, "function() return NUMBER end"),
        (2, "function(a: number): number return RESULT end"),
    ),
    "callable": (
        (4, "function() return NUMBER end"),
        (3, "function(...) return ... end"),
        (2, "function(...) BLOCK() return NUMBER end"),
        (1, 'function(...) return select("#", ...) end'),
        (1, "function() end"),
    ),
    "buffer": (
        (4, "buffer.create(RANGE(16, 40))"),
        (1, 'buffer.fromstring("0123456789abcdef")'),
    ),
    "vector": (
        (4, "vector.create(RANGE(0, 9), RANGE(0, 9), RANGE(0, 9))"),
        (2, "vector.create(NUMBER, NUMBER, NUMBER)"),
        (2, "VECTOR + VECTOR"),
        (2, "VECTOR - VECTOR"),
        (2, "VECTOR * VECTOR"),
        (2, "VECTOR / VECTOR"),
        (2, "VECTOR // VECTOR"),
        (2, "VECTOR * NUMBER"),
        (1, "NUMBER * VECTOR"),
        (1, "VECTOR / NUMBER"),
        (1, "NUMBER / VECTOR"),
        (1, "VECTOR // NUMBER"),
        (2, "-VECTOR"),
    ),
    "thread": ((1, "coroutine.create(CALLABLE)"),),
    "optional": (
        (2, "nil"),
        (4, "UNTYPED(NUMBER)"),  # type checkers know that a number is not nil
        (2, "if BOOLEAN then NUMBER else nil"),
        (2, "ARRAY[INTEGER]"),
        (1, "MAP[STRING]"),
        (1, "(BOOLEAN or nil) and NUMBER"),
    ),
    "value": ((4, "NUMBER"), (3, "STRING"), (3, "BOOLEAN"), (1, "VECTOR")),
    "scalar": ((4, "NUMBER"), (3, "STRING"), (3, "BOOLEAN"), (1, "nil")),
    "any": ((4, "VALUE"), (1, "nil"), (1, "ARRAY"), (1, "MAP"), (1, "CALLABLE")),
}
"""The templates of each kind, with their weights."""

_FLOATS: Final = NEWER_MEMBERS["math", "isnan"]
_CONSTANTS: Final = NEWER_MEMBERS["math", "nan"]
HAVE_INT64: Final = NEWER_MEMBERS["", "integer"]
"""The Luau versions that have 64-bit integers."""

_EXPORTS: Final = Span(Version(723))
_EXTENDED: Final = Span()

_NEWER: Final[Sequence[tuple[str, Span, float, str]]] = (
    ("number", _EXTENDED, 2, "ONE_OF(0.5, 0.1, 2.75, 1e3, 1.5e-5, 1e300)"),
    ("number", _EXTENDED, 1, "(NUMBER :: number)"),
    ("edge", _EXTENDED, 2, "ONE_OF(0.49999999999999994, 4503599627370497.5, 5e-324)"),
    ("string", _EXTENDED, 1, "(STRING :: string)"),
    ("string", _EXTENDED, 1, 'ONE_OF(tostring "a", typeof {})'),
    ("function", _EXTENDED, 1, "@native function(a: number): number return RESULT end"),
    ("number", _CONSTANTS, 1, "ONE_OF(math.e, math.phi, math.sqrt2, math.tau)"),
    ("number", HAVE_INT64, 1, "integer.tonumber(INT64)"),
    ("edge", _CONSTANTS, 1, "math.nan"),
    ("number", _EXPORTS, 2, 'some_exports["v1"]'),
    ("number", _EXPORTS, 2, 'some_exports["v0"](NUMBER)'),
    ("string", _EXPORTS, 1, 'some_exports["v2"]'),
    ("boolean", _FLOATS, 1, "ONE_OF(math.isnan, math.isinf, math.isfinite)(NUMBER)"),
    ("boolean", HAVE_INT64, 1, "INT64 == INT64"),
    ("boolean", HAVE_INT64, 1, "INT64 ~= some_int64"),
    ("boolean", HAVE_INT64, 1, "integer.lt(INT64, INT64)"),
    ("string", HAVE_INT64, 1, "tostring(INT64)"),
    ("string", HAVE_INT64, 1, "`{INT64}:{NUMBER}`"),
    ("string", HAVE_INT64, 1, '(ONE_OF("%d", "%x", "%5d|", "%*")):format(INT64)'),
    ("value", HAVE_INT64, 1, "INT64"),
    ("scalar", HAVE_INT64, 1, "INT64"),
    ("int64", HAVE_INT64, 2, "if BOOLEAN then INT64 else INT64"),
    ("int64", HAVE_INT64, 1, "INT64 or INT64"),
    ("int64", HAVE_INT64, 1, "INT64 and INT64"),
    ("int64", HAVE_INT64, 2, "integer.add(INT64, INT64)"),
    ("int64", HAVE_INT64, 2, "integer.mul(INT64, INT64)"),
    ("int64", HAVE_INT64, 1, "({[1] = INT64})[1]"),
)
"""Templates that need a newer Luau, as (kind, supporting versions, weight, Luau text)."""


def newer(kind: str, luau: Version | None) -> list[tuple[float, str]]:
    """Return (weight, template) for each template that a Luau version adds for a kind."""
    return [
        (weight, text) for name, span, weight, text in _NEWER if name == kind and has(luau, span)
    ]


INTEGERS: Final = (1, 2, 3, 5, 7, 10, 15, 16, 31, 32, 64, 100, 127, 128, 255, 256, 1000)
LARGE: Final = (32767, 65535, 65536, 2147483647, -2147483648, 1000000, -1, -2, -7, -128, -1000)

Literal = Callable[[Maker], Expr]


def number(maker: Maker) -> Expr:
    """Return a number constant, which is usually small."""
    kind = maker.below(8)
    if kind < 5:
        return nodes.number(maker.below(10))
    return nodes.number(
        INTEGERS[maker.below(len(INTEGERS))] if kind < 7 else LARGE[maker.below(len(LARGE))]
    )


def edge(maker: Maker) -> Expr:
    """Return a number constant that is large or negative."""
    return nodes.number(LARGE[maker.below(len(LARGE))])


def integer(maker: Maker) -> Expr:
    """Return a constant that is a small whole number, usually not negative."""
    return nodes.number(maker.below(10) if maker.below(8) < 7 else -maker.below(10))


LONG: Final = (1 << 31, -1 << 31, 1 << 53, (1 << 63) - 1, -1 << 63, 1000003, -7, 63, 64, 255)


def int64(maker: Maker) -> Expr:
    """Return a 64-bit integer constant, which is usually small."""
    kind = maker.below(8)
    if kind < 6:
        return nodes.int64(maker.below(10) if kind < 5 else -maker.below(10))
    return nodes.int64(LONG[maker.below(len(LONG))])


def string(maker: Maker) -> Expr:
    """Return a string constant, which is usually a word.

    Otherwise it is a short string of another kind, or unusual characters followed by a word.
    """
    kind = maker.below(8)
    if kind < 5:
        return nodes.string(WORDS[maker.below(len(WORDS))])
    if kind < 7:
        return nodes.string(_TEXTS[maker.below(len(_TEXTS))])
    text = PIECES[maker.below(len(PIECES))] + WORDS[maker.below(len(WORDS))]
    return nodes.string(string_bytes(text).decode("utf-8", "surrogateescape"))


_TEXTS: Final = (
    "",
    "The quick brown fox",
    "key=value; k2=v2",
    "a,b,,c",
    "  trim me  ",
    "(a(b)c)",
    "1e3",
    "0b101",
    " 12 ",
    "x=1, y=-2.5",
    "AbCdEf",
    "THE (quick) fox",
    "hello world from Luau",
    "abcabcabc",
)


def boolean(maker: Maker) -> Expr:
    """Return `true` or `false`. Shrinking prefers `true`, because it makes more code run."""
    return nodes.boolean(maker.below(3) < 2)


CALLBACKS: Final[Mapping[tuple[str, int], Sequence[str]]] = {
    ("order", 2): (
        "function(a: number, b: number) return a < b end",
        "function(a: number, b: number) return b < a end",
        "function(a: number, b: number): boolean return (a % 3) < (b % 3) end",
    ),
    ("nil", 2): ("function(a, b) end", "function(a, b) BLOCK() end"),
    ("any", 2): ("function(a, b) return b end", "function(a, b) return nil end"),
    ("any", 1): ("function(a) return NUMBER end", "function(a) return type(a) end"),
}
"""Templates of functions that library members call, by (kind of result, number of parameters)."""

LITERALS: Final[Mapping[str, tuple[float, Literal]]] = {
    "number": (14, number),
    "int64": (10, int64),
    "edge": (5, edge),
    "integer": (8, integer),
    "string": (10, string),
    "boolean": (3, boolean),
    "array": (1, lambda maker: nodes.table([nodes.number(maker.below(10))])),
    "strings": (1, lambda maker: nodes.table([nodes.string("a")])),
    "map": (1, lambda maker: nodes.table((), {"a": nodes.number(maker.below(10))})),
    "vector": (
        1,
        lambda maker: nodes.expr(*nodes.member("vector", ("zero", "one")[maker.below(2)])),
    ),
    "buffer": (1, lambda maker: nodes.call_member("buffer", "create", nodes.number(16))),
    "optional": (1, lambda maker: nodes.nil()),
    "any": (1, lambda maker: nodes.nil()),
    "nil": (1, lambda maker: nodes.nil()),
    "value": (1, number),
    "scalar": (1, number),
}
"""For each kind that has literals, their weight and the function that generates them.

A literal uses no variables, and needs no more levels than the simplest expression (`maker.LEAF`).
"""

VARIABLES: Final[Mapping[str, float]] = {
    "number": 16,
    "int64": 12,
    "integer": 10,
    "string": 14,
    "boolean": 4,
    "array": 10,
    "strings": 6,
    "map": 8,
    "object": 8,
    "function": 4,
    "buffer": 8,
    "vector": 10,
    "thread": 2,
    "optional": 4,
}
"""For each kind, the weight of reading a variable, if one of this kind is in scope."""

CALLS: Final[Mapping[str, float]] = {
    "number": 14,
    "int64": 14,
    "integer": 4,
    "string": 12,
    "boolean": 5,
    "array": 3,
    "strings": 2,
    "map": 1,
    "buffer": 1,
    "vector": 8,
    "thread": 0.2,
    "optional": 4,
}
"""For each kind, the weight of calling a library member that returns this kind."""

USER_CALLS: Final[Mapping[str, float]] = {"number": 8, "string": 6, "boolean": 4, "array": 3}
"""For each kind, the weight of calling one of the program's functions, if one returns this kind."""


def a_variable(kind: str) -> Callable[[Maker, int, int], Expr | None]:
    """Return a producer of expressions for the value of a variable of this kind.

    The producer returns None if no variable of this kind is in scope.
    """

    def make(maker: Maker, size: int, room: int) -> Expr | None:
        variable = maker.some(kind)
        if variable is None:
            return None
        maker.made += nodes.VARIABLE
        return nodes.read(variable.name)

    return make


def a_literal(literal: Literal) -> Callable[[Maker, int, int], Expr]:
    """Return a function that takes a maker, a size and a level limit and returns a literal."""

    def make(maker: Maker, size: int, room: int) -> Expr:
        return maker.constant(literal(maker))

    return make


def a_user_call(kind: str) -> Callable[[Maker, int, int], Expr | None]:
    """Return a producer of calls to the program's functions whose first result is of this kind.

    The producer returns None if no such function is in scope, or if a call would cost too much.
    """

    def make(maker: Maker, size: int, room: int) -> Expr | None:
        function = maker.some(f"-> {kind}")
        if function is None or not maker.afford(function.cost):
            return None
        maker.made += nodes.CALL
        share = max(1, (size - nodes.CALL) // max(1, len(function.parameters)))
        arguments = [
            maker.expression(parameter, share, room - 2, risky=True)
            for parameter in function.parameters
        ]
        return nodes.call_local(function.name, arguments)

    return make
