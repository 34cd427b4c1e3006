"""Calls of library members at the values at which something changes, by what each parameter is.

    print(pcall(function() return string.sub("abc", 4, 3) end))
    print(pcall(function(a, b) return string.sub("abc", a, b) end, 4, 3))

The optimizer folds constants, and a builtin may have code of its own for each number of arguments
and for each of them that is a constant. So the same values come as constants, as what is known only
when the program runs, and mixed. What is changed by the call is printed, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.codec.copying import copy
from scriptschema.generation.programs import nodes
from scriptschema.generation.programs.arguments import right
from scriptschema.generation.programs.calls import PRINTABLE
from scriptschema.generation.programs.maker import Maker
from scriptschema.luau.library import Parameter, Signature
from scriptschema.luau.parse import parse

SUBJECTS: Final[Mapping[str, Sequence[tuple[str, int]]]] = {
    "string": (('"abc"', 3), ('""', 0), ('"a\\0b c d e"', 9), ('"0123456789abcdef"', 16)),
    "short": (('"ab"', 2), ('"x"', 1)),
    "utf8": (('"a\\u{e9}\\u{4e2d}"', 6), ('"abc"', 3)),
    "array": (("{3, 1, 2}", 3), ("{}", 0), ("{1, 2, 3, 4, 5}", 5)),
    "row": (("{3, 1, 2}", 3), ("{}", 0), ("{1, 2, 3, 4, 5, 6}", 6)),
    "buffer": (('buffer.fromstring("0123456789abcdef")', 16), ("buffer.create(8)", 8)),
}
"""What positions and counts refer to: expressions of each kind, with their length."""

LEVELS: Final = 20
"""How many levels there are below the statement, at most."""

LEAST: Final = 34
"""The nodes that such a statement has, about."""

_CHANGED: Final = frozenset(["row", "buffer"])
_FORMATS: Final = (
    *("%d", "%5d|", "%-8.3d|", "%+.0d", "%010d", "% i", "%x", "%#.4X", "%o", "%u", "%c"),
    *("%f", "%8.3f|", "%-10.1f|", "%+.0e", "%010.4f", "% g", "%#.0f", "%.14g", "%99.99f", "%a"),
    *("%s", "%.3s", "%-6.2s|", "%10s", "%q", "%*", "%100d", "%.100f"),
)
_PACKED: Final = (
    *(("b", 127), ("b", -128), ("B", 255), ("h", 32767), ("<H", 65535), (">i3", 8388607)),
    *(("I3", 16777215), ("i16", 0), ("s1", 0), ("d", 0), ("f", 16777216), ("j", 0), ("i17", 0)),
)
"""Formats of `string.pack`, each with a limit of what it takes."""

_INTEGER: Final = re.compile(r"-?\d+")
_LONG: Final = 10
"""Integers of fewer digits are 32-bit ones."""

_BESIDE: Final = 8
"""The nodes that an argument of another kind may have."""

_FRAME: Final = 20
"""The nodes of the statement without arguments; more where it shows what is changed."""


def takes_limits(signature: Signature) -> bool:
    """Return whether a call of a member has values at which something changes."""
    return (
        signature.library not in ("os", "debug", "coroutine")
        and signature.marks.isdisjoint(("varies", "fails"))
        and any(each.is_number or each.kind in _MADE for each in signature.parameters or ())
    )


def statement(maker: Maker, size: int, room: int) -> list[m.Stat]:
    """Return a statement that prints the results of such a call, or its error; or nothing."""
    signatures, sums = maker.grammar.boundaries
    if not signatures or room < LEVELS:
        return []
    return [call_at_limits(maker, signatures[maker.pick(sums)], room)]


def call_at_limits(maker: Maker, signature: Signature, room: int) -> m.Stat:
    """Return the statement for a member."""
    outside: list[m.Expr] = []
    variable = maker.below(3)  # none of the arguments, all, or some

    def function() -> m.ExprFunction:
        parameters: list[m.Local] = []
        body: list[m.Stat] = []
        values = _values(maker, signature, room)
        arguments = []
        first = (signature.parameters or ())[:1]
        changed = bool(first) and first[0].kind in _CHANGED and bool(values)
        for position, (value, is_constant) in enumerate(values):
            if changed and position == 0:
                name = maker.scope.declare()
                body.append(_local(name, value))
                arguments.append(nodes.expr("local", nodes.variable(name)))
            elif is_constant and (variable == 1 or (variable == 2 and maker.below(2))):
                name = maker.scope.declare()
                parameters.append(_declared(name))
                outside.append(value)
                arguments.append(nodes.expr("local", nodes.variable(name)))
            else:
                arguments.append(value)
        callee = nodes.prefix(*nodes.member(signature.library, signature.name))
        called = nodes.call(callee, arguments)
        subject = body[0].alternative.vars[0].name if body else None
        body += _shown(signature, called, first[0].kind if first else "", subject)
        return _function(parameters, body)

    made, cost = maker.function(function, vararg=False, results=None, guarded=True)
    maker.afford(cost)
    caught = nodes.call_builtin("pcall", nodes.expr("function", made), *outside)
    maker.made += _FRAME + (1 + nodes.VARIABLE) * len(outside)
    return nodes.call_statement(nodes.call_builtin("print", caught))


def _values(maker: Maker, signature: Signature, room: int) -> list[tuple[m.Expr, bool]]:
    """Return arguments, most numbers at a limit.

    Now and then there is one less or one more, but not where types are sound. With each stands
    whether it is a constant, which cannot fail.
    """
    found: list[tuple[m.Expr, bool]] = []
    length = before = 0
    for position, parameter in enumerate(signature.parameters or ()):
        if parameter.optional and maker.below(3) == 0:
            break
        kind = parameter.kind
        if kind in SUBJECTS and (position == 0 or kind in _CHANGED):
            texts = SUBJECTS[kind]
            text, length = texts[maker.below(len(texts))]
            found.append((_expression(maker, text), True))
        elif parameter.is_number:
            for _ in range(maker.below(3) if parameter.repeated else 1):
                text = _number(maker, parameter, length, before)
                before = int(text) if _INTEGER.fullmatch(text) else before
                found.append((_expression(maker, text), True))
        elif kind in _MADE:
            found += [(value, True) for value in _MADE[kind](maker)]
        else:
            made = right(maker, parameter, _BESIDE, room - LEVELS, risky=False)
            found += [(value, False) for value in made]
    if maker.below(16) == 15 and not maker.grammar.typed:
        if found and maker.below(2):
            found.pop()
        else:
            text = ("1", "nil", "true", '"a"')[maker.below(4)]
            found.append((_expression(maker, text), True))
    return found


def _number(maker: Maker, parameter: Parameter, length: int, before: int) -> str:
    """Choose a number: at a limit, an odd one, or one that is right in any case, also as text."""
    choice = maker.below(8)
    if choice >= 6:
        low, high = parameter.bounds or (0, 9)
        text = str(low + maker.below(min(high - low + 1, 256)))
        return text if choice == 6 or maker.grammar.typed else f'"{text}"'
    if choice < 4:
        texts = parameter.boundary_values(length, before)
    else:
        texts = parameter.odd_values(typed=maker.grammar.typed)
    return texts[maker.below(len(texts))]


def _a_number(maker: Maker, limit: int) -> str:
    parameter = Parameter("integer", bounds=(limit, limit))
    return _number(maker, parameter, 0, 0)


def _format(maker: Maker) -> list[m.Expr]:
    text = _FORMATS[maker.below(len(_FORMATS))]
    return [nodes.string(text), _expression(maker, _a_number(maker, (0, 9, 255)[maker.below(3)]))]


def _pack(maker: Maker) -> list[m.Expr]:
    text, limit = _PACKED[maker.below(len(_PACKED))]
    value = _a_number(maker, limit)
    if value == "0 / 0":  # whose bits vary
        value = "1 / 0"
    return [nodes.string(text), _expression(maker, value)]


_MADE: Final = {"format": _format, "pack": _pack}


def _expression(maker: Maker, text: str) -> m.Expr:
    digits = text.strip('"')
    if digits.isdecimal() and len(digits) < _LONG:  # most are: no need to parse them
        return maker.constant(nodes.number(int(text)) if digits == text else nodes.string(digits))
    found, count = _parsed(text)
    maker.made += count
    return copy(found)


@cache
def _parsed(text: str) -> tuple[m.Expr, int]:
    """Return an expression, and how many nodes it has."""
    returned: Any = parse(f"return {text}").tree.program.body[0].alternative
    [found] = returned.list
    return found, nodes.size(found)


def _declared(name: int) -> m.Local:
    local: m.Local = nodes.MAKE[m.Local](name)
    return local


def _local(name: int, value: m.Expr) -> m.Stat:
    return nodes.stat("local", nodes.MAKE[m.StatLocal]([_declared(name)], [value], []))


def _function(parameters: list[m.Local], body: list[m.Stat]) -> m.ExprFunction:
    made: m.ExprFunction = nodes.MAKE[m.ExprFunction](
        [], [], parameters, False, nodes.block(body), [], []
    )
    return made


def _return(*values: m.Expr) -> m.Stat:
    return nodes.stat("return_", nodes.MAKE[m.StatReturn]([*values]))


def _shown(signature: Signature, called: m.Expr, first: str, subject: int | None) -> list[m.Stat]:
    """Return statements that call the member, and return what can be printed of the outcome."""
    results = signature.results
    if PRINTABLE.issuperset(results) and results:
        text = called
    elif results in (("array",), ("strings",)):
        text = _by("table", "concat", called, nodes.string(","))
    elif results == ("buffer",):
        text = _by("buffer", "len", called)
    elif results:
        text = nodes.call_builtin("type", nodes.group(called))
    else:
        text = None
    if subject is None:
        return [_return(text)] if text else [nodes.call_statement(called)]
    changed = nodes.expr("local", nodes.variable(subject))
    shown = (
        _by("buffer", "tostring", changed)
        if first == "buffer"
        else _by("table", "concat", changed, nodes.string(","))
    )
    if text is None:
        return [nodes.call_statement(called), _return(shown)]
    return [nodes.call_statement(nodes.call_builtin("print", text)), _return(shown)]


def _by(library: str, name: str, *arguments: m.Expr) -> m.Expr:
    return nodes.call(nodes.prefix(*nodes.member(library, name)), arguments)
