"""Generates values of each class in `axes`, such as boundary numbers and empty or long strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.choices import WORDS
from scriptschema.codec.copying import copy
from scriptschema.generation.programs import axes, nodes
from scriptschema.generation.programs.maker import Maker
from scriptschema.luau.library import Parameter
from scriptschema.luau.parse import parse

Value = tuple[m.Expr, int]
"""An expression, and its length or integer value (0 if unknown)."""

_FORMATS: Final = (
    *("%d", "%5d|", "%-8.3d|", "%+.0d", "%010d", "% i", "%x", "%#.4X", "%o", "%u", "%c"),
    *("%f", "%8.3f|", "%-10.1f|", "%+.0e", "%010.4f", "% g", "%#.0f", "%.14g", "%99.99f", "%a"),
    *("%s", "%.3s", "%-6.2s|", "%10s", "%q", "%*", "%100d", "%.100f"),
)
_PACKED: Final = (
    *(("b", 127), ("b", -128), ("B", 255), ("h", 32767), ("<H", 65535), (">i3", 8388607)),
    *(("I3", 16777215), ("i16", 0), ("s1", 0), ("d", 0), ("f", 16777216), ("j", 0), ("i17", 0)),
)
"""Formats for `string.pack`, each with a number at a limit of what it can pack."""

_LARGEST_BUFFER: Final = 5000
_LONG: Final = "The quick brown fox jumps over the lazy dog. "


def number(maker: Maker, parameter: Parameter, value: str, length: int, before: int) -> Value:
    """Return an expression for a number, and the number itself (0 if unknown).

    `value` is the number's class: `axes.ORDINARY`, `axes.OFF_BY_ONE` or a key of `axes.NUMBERS`.
    For `length` and `before`, see `luau.library.Limits`.
    """
    if value == axes.ORDINARY:
        low, high = parameter.bounds or (0, 9)
        low = min(max(low, axes.LEAST_ORDINARY), high)
        chosen = low + maker.below(min(high - low + 1, 256))
        return nodes.number(chosen), chosen
    if value == axes.OFF_BY_ONE:
        numbers = off_by_one(parameter, length, before)
        chosen = numbers[maker.below(len(numbers))]
        return nodes.number(chosen), chosen
    texts = axes.within(parameter, value) or axes.NUMBERS[value]
    return of_text(texts[maker.below(len(texts))]), 0


def off_by_one(parameter: Parameter, length: int, before: int) -> list[int]:
    """Return the numbers that are one below or above a limit, without the limits if possible.

    For `length` and `before`, see `luau.library.Limits`.
    """
    limits = parameter.limits(length, before)
    beside = [limit + step for limit in limits for step in (-1, 1)]
    return [each for each in beside if each not in limits] or beside


def of_text(text: str) -> m.Expr:
    """Return the tree of a Luau expression."""
    return copy(_parsed(text))


@cache
def _parsed(text: str) -> m.Expr:
    returned: Any = parse(f"return {text}").tree.program.body[0].alternative
    parsed: m.Expr = returned.list[0]
    return parsed


def formatted(maker: Maker, kind: str) -> list[m.Expr]:
    """Return a format for `string.format` or `string.pack`, and a boundary value to format."""
    if kind == "format":
        text, limit = _FORMATS[maker.below(len(_FORMATS))], (0, 9, 255)[maker.below(3)]
    else:
        text, limit = _PACKED[maker.below(len(_PACKED))]
    beside = *(str(limit + step) for step in (0, -1, 1)), f"{limit} + 1 / 2"
    texts = (*beside, "1 / 0", "2 ^ 53", "2 ^ 63", "-2147483648", "nil")
    return [nodes.string(text), of_text(texts[maker.below(len(texts))])]


def _string(maker: Maker, value: str) -> Value:
    if value == axes.ORDINARY:
        text = WORDS[maker.below(len(WORDS))]
    elif value == "empty":
        text = ""
    elif value == "single":
        text = "a\0 1é"[maker.below(4)]
    else:
        length = (
            31 + maker.below(3) if value == "limit" else 255 + maker.below(3) * maker.below(200)
        )
        text = (_LONG * (1 + length // len(_LONG)))[:length]
    return nodes.string(text), len(text.encode())


def _array(maker: Maker, value: str) -> Value:
    if value in (axes.ORDINARY, axes.FROZEN):
        table = nodes.table([nodes.number(maker.below(32)) for _ in range(6)])
        return (nodes.call_member("table", "freeze", table) if value == axes.FROZEN else table), 6
    if value == "empty":
        return nodes.table(), 0
    if value == "single":
        return nodes.table([nodes.number(maker.below(32))]), 1
    length = 2 << maker.below(6) if value == "limit" else 65 + maker.below(190)
    item = nodes.number(maker.below(32))
    return nodes.call_member("table", "create", nodes.number(length), item), length


def _buffer(maker: Maker, value: str) -> Value:
    if value == axes.ORDINARY:
        length = 17 + maker.below(15)
    elif value == "limit":
        length = 2 << maker.below(12)
    elif value == "long":
        length = min(1025 + 16 * maker.below(256) + maker.below(16), _LARGEST_BUFFER)
    else:
        length = int(value == "single")
    return nodes.call_member("buffer", "create", nodes.number(length)), length


SIZED: Final[Mapping[str, Callable[[Maker, str], Value]]] = {
    "string": _string,
    "array": _array,
    "row": _array,
    "buffer": _buffer,
}
"""For each kind with a size, a function that returns a value in a given class."""


def handler(maker: Maker, operation: str) -> m.Expr:
    """Return a metamethod for an operation, such as `__add`: a new function, or one of Luau's."""
    texts, without = _HANDLERS.get(operation, _ARITHMETIC), maker.grammar.without
    able = [text for text in texts if without.isdisjoint(re.findall(r"\w+", text))] or texts
    return of_text(able[maker.below(len(able))])


_ARITHMETIC: Final = (
    *("function(...) return 7 end", "function(v0, v1) return type(v1) end", "rawequal"),
    'function(v0, v1) return if v0 == v1 then 1 else "a" end',
)
_COMPARISON: Final = (
    *("rawequal", "function(v0, v1) return true end", "function(v0, v1) return v0[1] == v1[1] end"),
    "function(v0, v1) return nil end",
)
_HANDLERS: Final[Mapping[str, Sequence[str]]] = {
    **dict.fromkeys(("__eq", "__lt", "__le"), _COMPARISON),
    "__unm": ("function(v0) return v0[1] end", "function() end", "rawlen"),
    "__len": ("function(v0) return 3 end", "function(v0) return v0[1] end", "rawlen"),
    "__index": ("function(v0, v1) return v1 end", "function() end", '{["a"] = 1}', "rawget"),
    "__index method": (
        *('{["x0"] = rawequal}', "function(v0, v1) return rawequal end"),
        "function(v0, v1) return function(v2, v3) return v1 end end",
    ),
    "__newindex": ("function(v0, v1, v2) rawset(v0, v1, 5) end", "rawset", "{}"),
    "__call": ("function(v0, ...) return ... end", "function() return nil end", "rawequal"),
    "__iter": ("function(v0) return next, v0 end", "function() return next, {1, 2} end"),
    "__tostring": ('function() return "a" end', "function(v0) return tostring(v0[1]) end", "type"),
}
