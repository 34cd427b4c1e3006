"""Compares values with expected strings, which are converted to the types of the values."""

from __future__ import annotations

import json
from typing import Any

from orgrest.regular import compiled
from orgrest.structured import json_or

_NUMBER = compiled(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)")
_INTEGER = compiled(r"[+-]?\d{1,1000}")
_CODES = compiled(r"[1-5][xX]{2}")


def number(value: Any) -> float | None:
    """Return a number unchanged, or the number at the beginning of a string, or None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    match = _NUMBER.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    # A float would round an integer above 2^53, such as an ID.
    return int(match[1]) if _INTEGER.fullmatch(match[1]) else float(match[1])


def text(value: Any) -> str:
    """Return a value as a string: a string unchanged, None as "", any other value as JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def quoted(expected: str) -> str | None:
    """Return the content of an expected value in double quotes, or None if it is not quoted."""
    if len(expected) < 2 or expected[0] != '"' or expected[-1] != '"':
        return None
    try:
        content = json.loads(expected)
    except ValueError:
        return None
    return content if isinstance(content, str) else None


def equal(value: Any, expected: str) -> bool:
    """Return whether a value equals the expected string, converted to the value's type."""
    content = quoted(expected)
    if content is not None:
        return isinstance(value, str) and value in (content, expected)
    return _same(value, as_type_of(value, expected))


def _same(left: Any, right: Any) -> bool:
    waiting = [(left, right)]
    while waiting:
        left, right = waiting.pop()
        if isinstance(left, dict) and isinstance(right, dict):
            if left.keys() != right.keys():
                return False
            waiting += ((value, right[name]) for name, value in left.items())
        elif isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            waiting += zip(left, right, strict=True)
        elif isinstance(left, bool) != isinstance(right, bool) or left != right:  # True == 1
            return False
    return True


def as_type_of(value: Any, expected: str) -> Any:
    """Return an expected string converted to the type of `value`.

    If `value` is a number, a string that does not begin with a number becomes None. Any other
    string that cannot be converted is returned unchanged.
    """
    if isinstance(value, bool):
        return {"true": True, "false": False}.get(expected.lower(), expected)
    if isinstance(value, int | float):
        return number(expected)
    if isinstance(value, dict | list):
        return json_or(expected, expected)
    return expected


def is_status(value: Any, expected: str) -> bool:
    """Return whether a status code matches the expected status code.

    `2xx` matches all status codes from 200 to 299.
    """
    if _CODES.fullmatch(expected.strip()):
        return bool(value // 100 == int(expected.strip()[0]))
    return equal(value, expected)
