"""Compares values with expected strings, which are converted to the types of the values."""

from __future__ import annotations

import json
import re
from typing import Any

from orgrest.model import OrgrestError
from orgrest.regular import compiled
from orgrest.structured import json_or

UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}
"""The units of times in assertions, in seconds."""
_NUMBER = compiled(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)")
_INTEGER = compiled(r"[+-]?\d{1,1000}")
_CODES = compiled(r"[1-5][xX]{2}")
_TIME = compiled(r"\s*(?P<number>\d+\.?\d*|\.\d+)\s*(?P<unit>[A-Za-z]+)\s*")
_AND = compiled(r"&&|\band\b", re.IGNORECASE)
_OR = compiled(r"\|\||,|\bor\b", re.IGNORECASE)


class ExpectedValueError(OrgrestError):
    """Raised if an expected value is invalid.

    The reason does not contain the value: it may contain a secret, which must not be cut.
    """


def number(value: Any) -> float | None:
    """Return a number unchanged, or the number at the beginning of a string, or None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    match = _NUMBER.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    # A float would round an integer above 2^53, such as an ID.
    return int(match[1]) if _INTEGER.fullmatch(match[1]) else float(match[1])


def expected_number(expected: str, value: Any = None) -> float | None:
    """Return the expected number, or None if `expected` does not begin with a number.

    `value` is the actual value. Only a percent sign may follow the number, or the same text (such
    as a unit) as in a value that is a string. Raises ExpectedValueError if anything else follows:
    an author who writes `>= 200 && status < 300` must not get a check of only `>= 200`.
    """
    match = _NUMBER.match(expected)
    if match is None:
        return None
    rest = expected[match.end() :].strip()
    if rest not in ("", "%", _unit(value)):
        raise ExpectedValueError(f"expected only a number: {_hint(rest)}")
    return number(match[1])


def _unit(value: Any) -> str:
    match = _NUMBER.match(value) if isinstance(value, str) else None
    return "" if match is None else match.string[match.end() :].strip()


def has_condition(expected: str) -> bool:
    """Return whether another condition or value follows the number in `expected`."""
    match = _NUMBER.match(expected)
    rest = "" if match is None else expected[match.end() :]
    return (_AND.search(rest) or _OR.search(rest)) is not None


def _hint(rest: str) -> str:
    if _AND.search(rest):
        return "write one line for each condition, each beginning with ??"
    if _OR.search(rest):
        return "to accept several values, write in 200, 404; write 1,000 as 1000"
    return "remove the text after the number"


def milliseconds(expected: str) -> str:
    """Convert a time with a unit, such as `2 s`, to a number of milliseconds.

    Any other text is returned unchanged. Raises ExpectedValueError if the unit is unknown.
    """
    match = _TIME.fullmatch(expected)
    if match is None:
        return expected
    unit = UNITS.get(match["unit"].lower())
    if unit is None:
        raise ExpectedValueError(
            "expected a number of milliseconds or a time such as 500 ms, 2 s or 1 m"
        )
    return f"{float(match['number']) * unit * 1000:.15g}"


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
    string that cannot be converted is returned unchanged. Raises ExpectedValueError if `value`
    is a number and text follows the number in `expected`.
    """
    if isinstance(value, bool):
        return {"true": True, "false": False}.get(expected.lower(), expected)
    if isinstance(value, int | float):
        return expected_number(expected)
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
