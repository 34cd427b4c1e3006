"""How values are compared with what is expected: a function for each operator of the language."""

from __future__ import annotations

import base64
import datetime
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from orgrest.model import OrgrestError

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_ISO_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})?)?", re.ASCII
)
_COUNT = re.compile(r"\s*(==|>=|<=|>|<)?\s*(\d{1,18})\s*")
_CODES = re.compile(r"[1-5][xX]{2}")


def number(value: Any) -> float | None:
    """Return a value as a number: what a text begins with, None where that is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    match = _NUMBER.match(value) if isinstance(value, str) else None
    return float(match[1]) if match else None


def text(value: Any) -> str:
    """Return a value as text: what is no text as JSON, and nothing as the empty text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def quoted(expected: str) -> str | None:
    """Return the text that is expected in double quotes, None where it is in none."""
    if len(expected) < 2 or expected[0] != '"' or expected[-1] != '"':
        return None
    try:
        found = json.loads(expected)
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def equal(value: Any, expected: str) -> bool:
    """Tell whether a value is what is expected, which is read as the value's type."""
    inside = quoted(expected)
    if inside is not None:
        return isinstance(value, str) and value in (inside, expected)
    wanted = as_type_of(value, expected)
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def as_type_of(value: Any, expected: str) -> Any:
    """Read what is expected as a value's type, as far as that can be done."""
    if isinstance(value, bool):
        return {"true": True, "false": False}.get(expected.lower(), expected)
    if isinstance(value, int | float):
        return number(expected)
    if value is None and expected in ("null", "undefined"):
        return None
    if isinstance(value, dict | list):
        try:
            return json.loads(expected)
        except (ValueError, RecursionError):
            return expected
    return expected


def is_status(value: Any, expected: str) -> bool:
    """Tell whether a status is the expected one; `2xx` is any that begins with 2."""
    if _CODES.fullmatch(expected.strip()):
        return bool(value // 100 == int(expected.strip()[0]))
    return equal(value, expected)


def one_of(value: Any, expected: str, same: Callable[[Any, str], bool] = equal) -> bool:
    """Tell whether a value is one of those in a list with commas."""
    return any(same(value, one.strip()) for one in expected.split(","))


def has_count(values: list[Any], expected: str) -> bool:
    """Tell whether there are so many; the elements count of a list that is alone.

    Raises OrgrestError where no number is expected.
    """
    match = _COUNT.fullmatch(expected)
    if match is None:
        raise OrgrestError(f"count is followed by a number, not by {expected[:60]}")
    holds = _COMPARED[match[1]] if match[1] else lambda a, b: a == b
    return holds(counted(values), int(match[2]))


def counted(values: list[Any]) -> int:
    """Return how many matches there are, of a single list how many elements."""
    return len(values[0] if len(values) == 1 and isinstance(values[0], list) else values)


_COMPARED: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
}


def _numbers(name: str) -> Callable[[Any, str], bool]:
    def judge(value: Any, expected: str) -> bool:
        left, right = number(value), number(expected)
        return left is not None and right is not None and _COMPARED[name](left, right)

    return judge


def _contains(value: Any, expected: str) -> bool:
    if isinstance(value, list):
        return any(text(one) == expected for one in value)
    return value is not None and expected in text(value)


def _digest(algorithm: str) -> Callable[[Any, str], bool]:
    def judge(value: Any, expected: str) -> bool:
        data = value if isinstance(value, bytes) else text(value).encode("utf-8", "replace")
        made = hashlib.new(algorithm, data, usedforsecurity=False).digest()
        return base64.b64encode(made).decode() == expected

    return judge


def _of_type(*types: type) -> Callable[[Any, str], bool]:
    return lambda value, _: type(value) in types


def _is_uuid(value: Any, _: str) -> bool:
    return isinstance(value, str) and _UUID.fullmatch(value) is not None


def _is_iso_date(value: Any, _: str) -> bool:
    if not isinstance(value, str) or _ISO_DATE.fullmatch(value) is None:
        return False
    try:  # of a fraction of a second only six digits are read
        datetime.datetime.fromisoformat(re.sub(r"\.\d+", "", value).upper())
    except ValueError:
        return False
    return True


COMPARE: Final[Mapping[str, Callable[[Any, str], bool]]] = {
    "==": equal,
    "===": equal,
    "equals": equal,
    "!=": lambda value, expected: not equal(value, expected),
    "!==": lambda value, expected: not equal(value, expected),
    ">": _numbers(">"),
    ">=": _numbers(">="),
    "<": _numbers("<"),
    "<=": _numbers("<="),
    "in": one_of,
    "contains": _contains,
    "includes": _contains,
    "startsWith": lambda value, expected: text(value).startswith(expected),
    "endsWith": lambda value, expected: text(value).endswith(expected),
    "exists": lambda value, _: bool(value),
    "isTrue": lambda value, _: bool(value),
    "isFalse": lambda value, _: not value,
    "isString": _of_type(str),
    "isNumber": _of_type(int, float),
    "isBoolean": _of_type(bool),
    "isArray": _of_type(list),
    "isObject": _of_type(dict),
    "isUuid": _is_uuid,
    "isIsoDate": _is_iso_date,
    "md5": _digest("md5"),
    "sha256": _digest("sha256"),
    "sha512": _digest("sha512"),
}
"""How a value is compared with what is expected. `matches`, `schema` and `count` are besides: the
first two take tools, the last one all matches of a path."""

DIGESTS: Final = frozenset({"md5", "sha256", "sha512"})
"""The operators that take the body's bytes where it is the subject."""
