"""Assertions of request files, `?? status == 200`: how they are read, and whether they hold.

    ?? status == 200                     ?? header Content-Type contains json
    ?? body data[0].id > 5               ?? body $.token exists
    ?? body contains "ok"                ?? duration < 500

The subjects are `status`, `header NAME`, `body`, `body PATH` (JSONPath, whose `$.` may be left out,
also with `.length`; XPath where it begins with `/`) and `duration`, in milliseconds. What is
expected is compared as the subject's type: as a number, a truth value, a text, or as JSON.

Source: httpyac's guide on assertions. As there, `exists` and `isTrue` ask for a value that is not
empty, zero or false, and digests are written in Base64. Two things differ: the first operator
behind the subject counts, not the last one, and `!=` is the opposite of `==` for objects, too.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from orgrest.http import responses
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from orgrest.http.syntax import Assertion
    from orgrest.model import Response

_SUBJECTS = ("status", "header", "body", "duration")
_NUMBER = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)")


def _number(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    match = _NUMBER.match(value) if isinstance(value, str) else None
    return float(match[1]) if match else None


def _compared(holds: Callable[[float, float], bool]) -> Callable[[Any, Any], bool]:
    def judge(value: Any, expected: Any) -> bool:
        left, right = _number(value), _number(expected)
        return left is not None and right is not None and holds(left, right)

    return judge


def _equal(value: Any, expected: Any) -> bool:
    return isinstance(value, bool) == isinstance(expected, bool) and bool(value == expected)


def _contains(value: Any, expected: str) -> bool:
    if isinstance(value, list):
        return any(_text(one) == expected for one in value)
    return value is not None and expected in _text(value)


def _digest(algorithm: str) -> Callable[[Any, Any], bool]:
    def judge(value: Any, expected: str) -> bool:
        data = value if isinstance(value, bytes) else _text(value).encode()
        made = hashlib.new(algorithm, data, usedforsecurity=False).digest()
        return base64.b64encode(made).decode() == expected

    return judge


def _one_of(*types: type) -> Callable[[Any, Any], bool]:
    return lambda value, _: type(value) in types


OPERATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "==": _equal,
    "===": _equal,
    "equals": _equal,
    "!=": lambda value, expected: not _equal(value, expected),
    "!==": lambda value, expected: not _equal(value, expected),
    "not equals": lambda value, expected: not _equal(value, expected),
    ">": _compared(lambda a, b: a > b),
    ">=": _compared(lambda a, b: a >= b),
    "<": _compared(lambda a, b: a < b),
    "<=": _compared(lambda a, b: a <= b),
    "contains": _contains,
    "includes": _contains,
    "startsWith": lambda value, expected: _text(value).startswith(expected),
    "endsWith": lambda value, expected: _text(value).endswith(expected),
    "exists": lambda value, _: bool(value),
    "isTrue": lambda value, _: bool(value),
    "isFalse": lambda value, _: not value,
    "isString": _one_of(str),
    "isNumber": _one_of(int, float),
    "isBoolean": _one_of(bool),
    "isArray": _one_of(list),
    "md5": _digest("md5"),
    "sha256": _digest("sha256"),
    "sha512": _digest("sha512"),
}
"""How a value is compared with what is expected. `matches` is besides: it takes an engine."""

_BARE = frozenset({"exists", "isTrue", "isFalse", "isString", "isNumber", "isBoolean", "isArray"})
_DIGESTS = frozenset({"md5", "sha256", "sha512"})
_AS_TEXT = _DIGESTS | {"matches", "contains", "includes", "startsWith", "endsWith"}
_SHOWN = 100  # characters
_NAMES = {name.lower(): name for name in (*OPERATORS, "matches")}
_OPERATOR = "|".join(
    re.escape(name) + (r"(?=\s|$)" if name[0].isalpha() else "")
    for name in sorted(_NAMES, key=len, reverse=True)
)
_WRITTEN = re.compile(
    rf"(?P<subject>\S+?)(?:\s+(?P<path>\S.*?))??\s+(?P<operator>{_OPERATOR})\s*(?P<expected>.*)",
    re.IGNORECASE,
)


def find(text: str) -> re.Match[str] | str:
    """Return the `subject`, `path`, `operator` and `expected` of what follows `??`; or why not."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return f"?? is followed by a subject and an operator, as in ?? status == 200, not {text!r}"
    subject, operator = match["subject"].lower(), _NAMES[match["operator"].lower()]
    if subject == "js":
        return "?? js is not understood here: write > {% client.test(...) %} instead"
    if subject not in _SUBJECTS:
        known = ", ".join(_SUBJECTS)
        return f"{match['subject']} is nothing that can be compared: there are {known}"
    if subject == "header" and not match["path"]:
        return "?? header is followed by the header's name"
    if subject in ("status", "duration") and match["path"]:
        return f"?? {subject} is followed by an operator, not by {match['path']}"
    if operator in _BARE and match["expected"]:
        return f"nothing follows {operator}, which takes no value"
    return match


def operator_of(match: re.Match[str]) -> str:
    """Return the operator of what `find` gave, in the spelling of `OPERATORS`."""
    return _NAMES[match["operator"].lower()]


def judge(
    assertion: Assertion,
    expected: str,
    response: Response,
    matches: Callable[[str, str], bool],
) -> tuple[bool, str]:
    """Tell whether an assertion holds of a response, and, where it does not, what is the case.

    `expected` is the assertion's with its variables replaced. `matches` tells whether a text
    matches a regular expression (of JavaScript's); it may raise OrgrestError, whose reason is then
    what is the case.
    """
    operator = assertion.operator
    try:
        value = _value(assertion, response)
        if operator == "matches":
            held = value is not None and matches(_text(value), expected)
        else:
            wanted = expected if operator in _AS_TEXT else _as_type_of(value, expected)
            held = OPERATORS[operator](value, wanted)
    except OrgrestError as error:
        return False, error.reason
    subject = " ".join(filter(None, (assertion.subject, assertion.path)))
    return held, "" if held else f"{subject} is {_shown(value)}"


def _value(assertion: Assertion, response: Response) -> Any:
    """Return what the subject is; None where the response has no such thing."""
    if assertion.subject == "status":
        return response.status
    if assertion.subject == "duration":
        return response.duration * 1000
    if assertion.subject == "header":
        return response.header(assertion.path)
    if not assertion.path and assertion.operator in _DIGESTS:
        return response.body
    text = responses.text_of(response.body, response.headers)
    return _in_body(text, assertion.path) if assertion.path else text


def _in_body(text: str, path: str) -> Any:
    try:
        return responses.found(text, path)
    except OrgrestError as error:
        if error.code != "nothing-there":
            raise
    if path.endswith(".length"):
        whole = _in_body(text, path.removesuffix(".length"))
        return len(whole) if isinstance(whole, str | list) else None
    return None


def _as_type_of(value: Any, expected: str) -> Any:
    if isinstance(value, bool):
        return {"true": True, "false": False}.get(expected.lower(), expected)
    if isinstance(value, int | float):
        return _number(expected)
    if value is None and expected in ("null", "undefined"):
        return None
    if isinstance(value, dict | list):
        try:
            return json.loads(expected)
        except (ValueError, RecursionError):
            return expected
    return expected


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _shown(value: Any) -> str:
    if value is None:
        return "not there"
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else _text(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
