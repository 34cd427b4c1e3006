"""The shapes that the sandbox's answers must have.

Each answer is checked before it is used. A script can change JavaScript's built-in objects
(`toJSON`, `Array.prototype.join`), so an answer may be arbitrary JSON. The check also ensures that
values can be encoded again: strings have no lone surrogates, numbers are finite, and the nesting
depth is limited.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

Shape: TypeAlias = Callable[[Any], bool]
"""A function that returns whether a value has a certain shape."""

MAX_DEPTH: Final = 200
"""The maximum nesting depth of a value."""
_BASE64: Final = re.compile("[A-Za-z0-9+/]*={0,2}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def text(value: Any) -> bool:
    """Return whether a value is a string that can be encoded."""
    return isinstance(value, str) and (value.isascii() or _SURROGATE.search(value) is None)


def number(value: Any) -> bool:
    """Return whether a value is a finite number that is not negative."""
    return isinstance(value, int | float) and not flag(value) and 0 <= value < math.inf


def whole(value: Any) -> bool:
    """Return whether a value is an integer from 0 to JavaScript's largest safe integer."""
    return isinstance(value, int) and number(value) and value < 2**53


def flag(value: Any) -> bool:
    """Return whether a value is a boolean."""
    return isinstance(value, bool)


def nothing(value: Any) -> bool:
    """Return whether a value is null."""
    return value is None


def data(value: Any) -> bool:
    """Return whether a value decoded from JSON can be encoded as JSON again."""
    left = [(value, MAX_DEPTH)]
    while left:
        inner, depth = left.pop()
        if isinstance(inner, dict | list):
            if not depth:
                return False
            if isinstance(inner, dict):
                left += ((name, depth - 1) for name in inner)
                inner = inner.values()
            left += ((item, depth - 1) for item in inner)
        elif isinstance(inner, float):
            if not math.isfinite(inner):
                return False
        elif isinstance(inner, str) and not text(inner):
            return False
    return True


def either(*shapes: Shape) -> Shape:
    """Return the shape of values that have at least one of the given shapes."""
    return lambda value: any(shape(value) for shape in shapes)


def every(shape: Shape) -> Shape:
    """Return the shape of a list whose items all have the given shape."""
    return lambda value: isinstance(value, list) and all(map(shape, value))


def table(shape: Shape) -> Shape:
    """Return the shape of an object with any keys, whose values all have the given shape."""
    return lambda value: (
        isinstance(value, dict) and all(map(text, value)) and all(map(shape, value.values()))
    )


def fields(**shapes: Shape) -> Shape:
    """Return the shape of an object with exactly the given fields."""
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == shapes.keys()
        and all(shape(value[name]) for name, shape in shapes.items())
    )


def _pair(value: Any) -> bool:
    return every(text)(value) and len(value) == 2


def _base64(value: Any) -> bool:
    return isinstance(value, str) and _BASE64.fullmatch(value) is not None and len(value) % 4 == 0


_FAILURE: Final = fields(message=text, line=either(nothing, whole))
_REQUEST: Final = {"method": text, "url": text, "headers": every(_pair)}
_BODY: Final = either(nothing, text, fields(base64=_base64))
_VARIABLE: Final = fields(text=either(nothing, text), value=data, number=either(nothing, whole))
_FAILED: Final = fields(error=_FAILURE)
_RESULT: Final = {
    "log": every(text),
    "tests": every(fields(name=text, ok=flag, message=text)),
    "cancelled": flag,
    "request": either(nothing, fields(**_REQUEST, body=_BODY)),
    "variables": table(_VARIABLE),
    "removed": every(text),
    "own": table(either(nothing, _VARIABLE)),
    "globals": table(data),
    "next": whole,
}
SCRIPT: Final = either(
    fields(**_RESULT, error=either(nothing, _FAILURE)),
    fields(sleep=number, cpu=number),
    fields(send=fields(**_REQUEST, body=either(nothing, text)), cpu=number),
    _FAILED,
)
"""The shape of a script's answer: its result or error, a pause, or a request to send."""
EXPRESSION: Final = either(
    fields(**_RESULT, error=nothing, text=text, value=data),
    fields(**_RESULT, error=_FAILURE),
    fields(sleep=number, cpu=number),
    _FAILED,
)
"""The shape of an expression's answer: its value or error, or a pause."""


def _found(shape: Shape) -> Shape:
    error = either(nothing, text)
    return either(fields(error=error, found=every(shape)), fields(error=text), _FAILED)


ERRORS: Final = _found(_pair)
"""The shape of an answer with the errors in a value, as (location, message) pairs."""
PARTS: Final = _found(text)
"""The shape of an answer with the errors in parts of a request or response."""
MATCHES: Final = _found(data)
"""The shape of an answer with the values that a path matches."""
