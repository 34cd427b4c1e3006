"""The shapes that the sandbox's answers must have, for `structured.matches`.

Each answer is checked before it is used. A script can change JavaScript's built-in objects
(`toJSON`, `Array.prototype.join`), so an answer may be arbitrary JSON. The check also ensures that
values can be encoded again: strings have no lone surrogates, numbers are finite, and the nesting
depth is limited.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

from orgrest.structured import matches

MAX_DEPTH: Final = 200
"""The maximum nesting depth of a value."""
_BASE64: Final = re.compile("[A-Za-z0-9+/]*={0,2}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def text(value: Any) -> bool:
    """Return whether a value is a string that can be encoded."""
    return isinstance(value, str) and (value.isascii() or _SURROGATE.search(value) is None)


def number(value: Any) -> bool:
    """Return whether a value is a finite number that is not negative."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def whole(value: Any) -> bool:
    """Return whether a value is an integer from 0 to JavaScript's largest safe integer."""
    return isinstance(value, int) and number(value) and value < 2**53


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


def table(shape: object) -> Callable[[Any], bool]:
    """Return the shape of an object with any keys, whose values all have the given shape."""
    return lambda value: (
        isinstance(value, dict)
        and all(map(text, value))
        and all(matches(item, shape) for item in value.values())
    )


def fields(**shapes: object) -> Callable[[Any], bool]:
    """Return the shape of an object with exactly the given fields."""
    return lambda value: (
        isinstance(value, dict) and value.keys() == shapes.keys() and matches(value, shapes)
    )


def _base64(value: Any) -> bool:
    return isinstance(value, str) and _BASE64.fullmatch(value) is not None and len(value) % 4 == 0


_FAILURE: Final = fields(message=text, line=(None, whole))
_PAIR: Final = [text, text]
_REQUEST: Final = {"method": text, "url": text, "headers": [_PAIR, ...]}
_BODY: Final = (None, text, fields(base64=_base64))
_VARIABLE: Final = fields(text=(None, text), value=data, number=(None, whole))
_FAILED: Final = fields(error=_FAILURE)
_RESULT: Final = {
    "log": [text, ...],
    "tests": [fields(name=text, ok=bool, message=text), ...],
    "cancelled": bool,
    "request": (None, fields(**_REQUEST, body=_BODY)),
    "variables": table(_VARIABLE),
    "removed": [text, ...],
    "own": table((None, _VARIABLE)),
    "globals": table(data),
    "next": whole,
}
SCRIPT: Final = (
    fields(**_RESULT, error=(None, _FAILURE)),
    fields(sleep=number, cpu=number),
    fields(send=fields(**_REQUEST, body=(None, text)), cpu=number),
    _FAILED,
)
"""The shape of a script's answer: its result or error, a pause, or a request to send."""
EXPRESSION: Final = (
    fields(**_RESULT, error=None, text=text, value=data),
    fields(**_RESULT, error=_FAILURE),
    fields(sleep=number, cpu=number),
    _FAILED,
)
"""The shape of an expression's answer: its value or error, or a pause."""


def _found(shape: object) -> object:
    error = (None, text)
    return fields(error=error, found=[shape, ...]), fields(error=text), _FAILED


ERRORS: Final = _found(_PAIR)
"""The shape of an answer with the errors in a value, as (location, message) pairs."""
PARTS: Final = _found(text)
"""The shape of an answer with the errors in parts of a request or response."""
MATCHES: Final = _found(data)
"""The shape of an answer with the values that a path matches."""
