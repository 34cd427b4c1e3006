"""The operators of assertions: a row for each, with its function.

Documentation, completion and hover are generated from the rows.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from orgrest.http import responses
from orgrest.http.assertions.comparing import number, text
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.http.assertions.subjects import Subject, Tools
    from orgrest.model import Response

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_ISO_DATE = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})?)?", re.ASCII
)
_COUNT = re.compile(r"\s*(==|>=|<=|>|<)?\s*(\d{1,18})\s*")


@attrs.frozen
class Comparison:
    """The subject of an assertion, and the expected value with its variables replaced."""

    subject: Subject
    path: str
    expected: str
    response: Response
    tools: Tools

    def value(self) -> Any:
        """Return the subject's value. Raises OrgrestError if it cannot be determined."""
        return self.subject.value(self.response, self.path, self.tools)

    def values(self) -> list[Any]:
        """Return all matches of the subject's path. Raises OrgrestError as `value` does."""
        return self.subject.find(self.response, self.path, self.tools)

    @property
    def is_body(self) -> bool:
        """Whether the subject is the whole body."""
        return self.subject.whole is not None and not self.path


Judge: TypeAlias = "Callable[[Any, str, Comparison], bool]"


@attrs.frozen
class Operator:
    """An operator: its name, its operand, and its function.

    If `expected` is empty, there is no operand. With `required`, there must be one, which matches
    `form`: a pattern and its description; otherwise a missing operand means the empty text. `judge`
    gets the result of `of` for the comparison (by default the subject's value), and the operand.
    `why` describes a failure that the value alone does not explain. With `differs`, a diff of both
    is shown.
    """

    name: str
    expected: str
    description: str
    judge: Judge
    required: bool = False
    form: tuple[re.Pattern[str], str] | None = None
    of: Callable[[Comparison], Any] = Comparison.value
    why: Callable[[Any, str, Comparison], str] | None = None
    differs: bool = False


def _equal(value: Any, expected: str, comparison: Comparison) -> bool:
    return comparison.subject.same(value, expected)


def _unequal(value: Any, expected: str, comparison: Comparison) -> bool:
    return not comparison.subject.same(value, expected)


def _one_of(value: Any, expected: str, comparison: Comparison) -> bool:
    return any(comparison.subject.same(value, one.strip()) for one in expected.split(","))


def _numbers(compare: Callable[[float, float], bool]) -> Judge:
    def judge(value: Any, expected: str, _: Comparison) -> bool:
        left, right = number(value), number(expected)
        return left is not None and right is not None and compare(left, right)

    return judge


_COMPARED: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
}


def _contains(value: Any, expected: str, _: Comparison) -> bool:
    if isinstance(value, list):
        return any(text(one) == expected for one in value)
    return value is not None and expected in text(value)


def _matches(value: Any, expected: str, comparison: Comparison) -> bool:
    return value is not None and comparison.tools.matches(text(value), expected)


def _has_count(values: list[Any], expected: str, _: Comparison) -> bool:
    match = _COUNT.fullmatch(expected)
    if match is None:
        raise OrgrestError(f"count is followed by a number, not by {expected[:60]}")
    return _COMPARED[match[1] or "=="](_counted(values), int(match[2]))


def _counted(values: list[Any]) -> int:
    """Return the number of matches; if the only match is a list, the number of its elements."""
    return len(values[0] if len(values) == 1 and isinstance(values[0], list) else values)


def _wrong_by_schema(value: Any, expected: str, comparison: Comparison) -> str:
    given = responses.json_of(value) if comparison.is_body else value
    return comparison.tools.wrong_by_schema(given, expected)


def _data(comparison: Comparison) -> Any:
    return comparison.response.body if comparison.is_body else comparison.value()


def _digest(algorithm: str) -> Judge:
    def judge(value: Any, expected: str, _: Comparison) -> bool:
        data = value if isinstance(value, bytes) else text(value).encode("utf-8", "replace")
        made = hashlib.new(algorithm, data, usedforsecurity=False).digest()
        return base64.b64encode(made).decode() == expected

    return judge


def _is(holds: Callable[[Any], bool]) -> Judge:
    return lambda value, _, __: holds(value)


def _of_type(*types: type) -> Judge:
    return lambda value, _, __: type(value) in types


def _is_iso_date(value: Any) -> bool:
    if not isinstance(value, str) or _ISO_DATE.fullmatch(value) is None:
        return False
    try:  # only six digits of fractional seconds are supported
        datetime.datetime.fromisoformat(re.sub(r"\.\d+", "", value).upper())
    except ValueError:
        return False
    return True


_SAME: Final = "It is the same: as a number, truth value, text or JSON, as the subject is one."
_OTHER: Final = "It is another one."
_OPERATOR_TABLE: Final = (
    Operator(
        "==", "VALUE", f'{_SAME} In double quotes (`"7"`), only a text is.', _equal, differs=True
    ),
    Operator("===", "VALUE", "As `==`.", _equal, differs=True),
    Operator("equals", "VALUE", "As `==`.", _equal, differs=True),
    Operator("!=", "VALUE", _OTHER, _unequal),
    Operator("!==", "VALUE", _OTHER, _unequal),
    Operator(">", "NUMBER", "It is greater.", _numbers(_COMPARED[">"])),
    Operator(">=", "NUMBER", "It is greater or equal.", _numbers(_COMPARED[">="])),
    Operator("<", "NUMBER", "It is less.", _numbers(_COMPARED["<"])),
    Operator("<=", "NUMBER", "It is less or equal.", _numbers(_COMPARED["<="])),
    Operator("in", "VALUE, VALUE, ...", "It is one of these, as by `==`.", _one_of, required=True),
    Operator(
        "contains",
        "TEXT",
        "The text holds this one; of a list, an element is this text.",
        _contains,
    ),
    Operator("includes", "TEXT", "As `contains`.", _contains),
    Operator(
        "startsWith",
        "TEXT",
        "The text begins with this one.",
        lambda value, expected, _: text(value).startswith(expected),
    ),
    Operator(
        "endsWith",
        "TEXT",
        "The text ends with this one.",
        lambda value, expected, _: text(value).endswith(expected),
    ),
    Operator("matches", "PATTERN", "A regular expression matches a part of the text.", _matches),
    Operator(
        "count",
        "NUMBER",
        "So many are there: matches of a path, elements of a list; `count >= 3` compares.",
        _has_count,
        required=True,
        form=(
            re.compile(r"\s*(?:==|>=|<=|>|<)?\s*\d+\s*"),
            "a number, as in count 3 or count >= 3",
        ),
        of=Comparison.values,
        why=lambda values, _, __: f" has {_counted(values)}",
    ),
    Operator(
        "schema",
        "FILE",
        "It is valid by the JSON Schema in this file.",
        lambda value, expected, comparison: not _wrong_by_schema(value, expected, comparison),
        required=True,
        why=lambda *given: f": {wrong}" if (wrong := _wrong_by_schema(*given)) else "",
    ),
    Operator("exists", "", "It is there, and not empty, zero or false.", _is(bool)),
    Operator("isTrue", "", "As `exists`.", _is(bool)),
    Operator("isFalse", "", "It is missing, empty, zero or false.", _is(lambda value: not value)),
    Operator("isString", "", "It is a text.", _of_type(str)),
    Operator("isNumber", "", "It is a number.", _of_type(int, float)),
    Operator("isBoolean", "", "It is true or false.", _of_type(bool)),
    Operator("isArray", "", "It is a list.", _of_type(list)),
    Operator("isObject", "", "It is an object.", _of_type(dict)),
    Operator(
        "isUuid",
        "",
        "It is a UUID (RFC 9562).",
        _is(lambda value: isinstance(value, str) and _UUID.fullmatch(value) is not None),
    ),
    Operator(
        "isIsoDate",
        "",
        "It is a date, or date and time, of ISO 8601 as RFC 3339 has it.",
        _is(_is_iso_date),
    ),
    Operator("md5", "BASE64", "This is its MD5 digest.", _digest("md5"), of=_data),
    Operator("sha256", "BASE64", "This is its SHA-256 digest.", _digest("sha256"), of=_data),
    Operator("sha512", "BASE64", "This is its SHA-512 digest.", _digest("sha512"), of=_data),
)

OPERATORS: Final[Mapping[str, Operator]] = {one.name: one for one in _OPERATOR_TABLE}
"""The operators by name; a preceding `not` negates one."""
