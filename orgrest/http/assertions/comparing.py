"""Compares values with expected texts, which are converted to the value's type."""

from __future__ import annotations

import json
import re
from typing import Any

_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)")
_CODES = re.compile(r"[1-5][xX]{2}")


def number(value: Any) -> float | None:
    """Return a value as a number; for a text, the number that it begins with, or None."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    match = _NUMBER.match(value) if isinstance(value, str) else None
    return float(match[1]) if match else None


def text(value: Any) -> str:
    """Return a value as text: other types as JSON, None as the empty text."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def quoted(expected: str) -> str | None:
    """Return the content of an expected text in double quotes, None if it is not quoted."""
    if len(expected) < 2 or expected[0] != '"' or expected[-1] != '"':
        return None
    try:
        found = json.loads(expected)
    except ValueError:
        return None
    return found if isinstance(found, str) else None


def equal(value: Any, expected: str) -> bool:
    """Return whether a value equals the expected text, converted to the value's type."""
    inside = quoted(expected)
    if inside is not None:
        return isinstance(value, str) and value in (inside, expected)
    wanted = as_type_of(value, expected)
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def as_type_of(value: Any, expected: str) -> Any:
    """Convert an expected text to a value's type, if possible."""
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
    """Return whether a status equals the expected status; `2xx` matches all from 200 to 299."""
    if _CODES.fullmatch(expected.strip()):
        return bool(value // 100 == int(expected.strip()[0]))
    return equal(value, expected)
