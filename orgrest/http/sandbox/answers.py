"""The shapes of answers from the sandbox, which are checked before anything reads an answer.

A script can change JavaScript itself (`toJSON`, `Array.prototype.join`), so an answer may be any
JSON. After the check, readers can rely on its shape: texts without lone surrogates, finite numbers,
values that are not nested too deep to be encoded again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

Shape: TypeAlias = Callable[[Any], bool]
"""Returns whether a value has this shape."""

MAX_DEPTH: Final = 200
"""The maximum nesting depth of a value."""
_BASE64: Final = re.compile("[A-Za-z0-9+/]*={0,2}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def text(value: Any) -> bool:
    """Return whether this is a text that can be encoded."""
    return isinstance(value, str) and (value.isascii() or _SURROGATE.search(value) is None)


def number(value: Any) -> bool:
    """Return whether this is a finite number of 0 or more."""
    return isinstance(value, int | float) and not flag(value) and 0 <= value < math.inf


def whole(value: Any) -> bool:
    """Return whether this is a whole number that JavaScript can count to."""
    return isinstance(value, int) and number(value) and value < 2**53


def flag(value: Any) -> bool:
    """Return whether this is true or false."""
    return isinstance(value, bool)


def nothing(value: Any) -> bool:
    """Return whether this is null."""
    return value is None


def data(value: Any) -> bool:
    """Return whether this is JSON that can be encoded again."""
    left = [(value, MAX_DEPTH)]
    while left:
        inner, depth = left.pop()
        if isinstance(inner, dict | list):
            if not depth:
                return False
            if isinstance(inner, dict):
                left += ((name, depth - 1) for name in inner)
                inner = inner.values()
            left += ((one, depth - 1) for one in inner)
        elif isinstance(inner, float):
            if not math.isfinite(inner):
                return False
        elif isinstance(inner, str) and not text(inner):
            return False
    return True


def either(*shapes: Shape) -> Shape:
    """Return the shape of values that have one of these shapes."""
    return lambda value: any(shape(value) for shape in shapes)


def every(shape: Shape) -> Shape:
    """Return the shape of a list whose items have this shape."""
    return lambda value: isinstance(value, list) and all(map(shape, value))


def table(shape: Shape) -> Shape:
    """Return the shape of an object with any names, whose values have this shape."""
    return lambda value: (
        isinstance(value, dict) and all(map(text, value)) and all(map(shape, value.values()))
    )


def fields(**shapes: Shape) -> Shape:
    """Return the shape of an object with these fields, and no others."""
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
    "globals": table(data),
    "next": whole,
}
SCRIPT: Final = either(
    fields(**_RESULT, error=either(nothing, _FAILURE)),
    fields(sleep=number, cpu=number),
    fields(send=fields(**_REQUEST, body=either(nothing, text)), cpu=number),
    _FAILED,
)
"""The result of a script, which may have failed; or a pause, or a request that it sends."""
EXPRESSION: Final = either(
    fields(**_RESULT, error=nothing, text=text, value=data),
    fields(**_RESULT, error=_FAILURE),
    fields(sleep=number, cpu=number),
    _FAILED,
)
"""The value of an expression, or why it has none."""


def _found(shape: Shape) -> Shape:
    """Return the shape of a list of results, or of the reason why there are no results."""
    error = either(nothing, text)
    return either(fields(error=error, found=every(shape)), fields(error=text), _FAILED)


ERRORS: Final = _found(_pair)
"""The errors of a value by a schema: pairs of location and message."""
PARTS: Final = _found(text)
"""The errors of the parts of a request or response by a description."""
MATCHES: Final = _found(data)
"""The values that a path matches."""
