"""The table of the operators that assertions can use.

Documentation, completion and hover texts are generated from its rows.
"""

from __future__ import annotations

import base64
import datetime
import hashlib
import re
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from orgrest import classes
from orgrest.http import responses
from orgrest.http.assertions.comparing import ExpectedValueError, expected_number, number, text
from orgrest.model import OrgrestError
from orgrest.regular import compiled
from orgrest.structured import json_or

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.http.assertions.subjects import Subject, Tools
    from orgrest.model import Response

_UUID = compiled(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_ISO_DATE = compiled(
    r"\d{4}-\d{2}-\d{2}(?:[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:\d{2})?)?", re.ASCII
)
_COUNT = compiled(r"\s*(==|>=|<=|>|<)?\s*(\d{1,18})\s*")


@classes.frozen
class Comparison:
    """The inputs of an operator: the subject, the response, and the expected value.

    Variables in the expected value have already been replaced.
    """

    subject: Subject
    path: str
    expected: str
    response: Response
    tools: Tools

    def value(self) -> Any:
        """Return the subject's value, or None if it is null or missing.

        Raises OrgrestError if the path is malformed or does not fit the body.
        """
        if self.is_body:
            return responses.body_text(self.response)
        matches = self.matches
        return matches if self.subject.several and len(matches) > 1 else next(iter(matches), None)

    def single(self) -> Any:
        """Like `value`, but raise OrgrestError if an indefinite path has several matches."""
        if self.several:
            raise self.too_many()
        return self.value()

    @property
    def indefinite(self) -> bool:
        """Whether the path can have several matches, each of which must be checked."""
        definite = self.subject.definite
        return not (definite is None or self.is_body or definite.fullmatch(self.path))

    @property
    def several(self) -> bool:
        """Whether an indefinite path has several matches."""
        return self.indefinite and len(self.matches) > 1

    def too_many(self) -> OrgrestError:
        """Return the error for an operator that cannot compare several matches."""
        return OrgrestError(
            f"{self.subject.name} {self.path} has {len(self.matches)} matches: "
            "select one, or check all of them with == [...], contains or count"
        )

    @cached_property
    def matches(self) -> list[Any]:
        """All matches of the subject's path.

        Raises OrgrestError if the path is malformed or does not fit the body.
        """
        return self.subject.find(self.response, self.path, self.tools)

    @property
    def is_body(self) -> bool:
        """Whether the subject is the whole body."""
        return self.subject.whole and not self.path


Judge: TypeAlias = "Callable[[Any, str, Comparison], bool]"


@classes.frozen
class Operator:
    """An operator: its name, its operand, and the function that decides whether it holds.

    - `expected` describes the operand. It is empty if the operator takes no operand.
    - If `required` is set, the operand must be given. Otherwise, a missing operand is the empty
      string.
    - `form` is a pattern that the operand must match, with its description.
    - `of` returns the value to compare, by default the subject's value, which must not be a list
      of several matches of an indefinite path.
    - `judge` gets that value, the operand and the comparison.
    - `why` describes a failure that the value alone does not explain.
    - If `differs` is set, a failed verdict contains a diff of the value and the operand.
    """

    name: str
    expected: str
    description: str
    judge: Judge
    required: bool = False
    form: tuple[re.Pattern[str], str] | None = None
    of: Callable[[Comparison], Any] = Comparison.single
    why: Callable[[Any, str, Comparison], str] | None = None
    differs: bool = False


def _equal(value: Any, expected: str, comparison: Comparison) -> bool:
    if comparison.indefinite and isinstance(json_or(expected), list):
        if comparison.subject.same(comparison.matches, expected):
            return True
    elif comparison.several:
        raise comparison.too_many()
    if value is not None or expected not in ("null", "undefined"):
        return comparison.subject.same(value, expected)
    is_missing = not comparison.matches
    if is_missing and expected == "null":
        name = f"{comparison.subject.name} {comparison.path}"
        reason = f"{name} is missing, not null: to test for a missing value, use == undefined"
        raise OrgrestError(reason)
    return is_missing == (expected == "undefined")


def _unequal(value: Any, expected: str, comparison: Comparison) -> bool:
    return not _equal(value, expected, comparison)


def _one_of(value: Any, expected: str, comparison: Comparison) -> bool:
    # All options are compared, so that an invalid one is reported even if another one is equal.
    held, not_null = False, None
    for option in expected.split(","):
        try:
            held |= _equal(value, comparison.subject.read(option.strip()), comparison)
        except ExpectedValueError:
            raise
        except OrgrestError as error:
            not_null = error
    if not_null is not None and not held:
        raise not_null
    return held


def _numbers(sign: str) -> Judge:
    def judge(value: Any, expected: str, comparison: Comparison) -> bool:
        left, right = number(value), expected_number(expected, value)
        if right is None:
            raise _no_number(sign, expected, comparison)
        return left is not None and _COMPARED[sign](left, right)

    return judge


def _no_number(name: str, expected: str, comparison: Comparison) -> OrgrestError:
    return OrgrestError(f"{name} requires a number, found {comparison.tools.hide(expected[:60])}")


_COMPARED: Final[Mapping[str, Callable[[float, float], bool]]] = {
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
}


def _contains(value: Any, expected: str, comparison: Comparison) -> bool:
    if not comparison.indefinite:
        return _has(value, expected)
    return any(
        text(match) == expected if isinstance(match, int | float) else _has(match, expected)
        for match in comparison.matches
    )


def _has(value: Any, expected: str) -> bool:
    if isinstance(value, list):
        return any(text(element) == expected for element in value)
    return value is not None and expected in text(value)


def _matches(value: Any, expected: str, comparison: Comparison) -> bool:
    return value is not None and comparison.tools.matches(text(value), expected)


def _has_count(values: list[Any], expected: str, comparison: Comparison) -> bool:
    match = _COUNT.fullmatch(expected)
    if match is None:
        raise _no_number("count", expected, comparison)
    return _COMPARED[match[1] or "=="](_number_of(values), int(match[2]))


def _number_of(values: list[Any]) -> int:
    # If the only match is a list, its elements are counted.
    return len(values[0] if len(values) == 1 and isinstance(values[0], list) else values)


def _schema_errors(value: Any, expected: str, comparison: Comparison) -> str:
    content = responses.json_of(value) if comparison.is_body else value
    errors = comparison.tools.wrong_by_schema(content, expected)
    if errors and comparison.indefinite and len(comparison.matches) == 1:
        # A schema that describes a list must also accept a list with one element.
        return comparison.tools.wrong_by_schema(comparison.matches, expected) and errors
    return errors


def _data(comparison: Comparison) -> Any:
    return comparison.response.whole_body() if comparison.is_body else comparison.single()


def _digest_of(algorithm: str, value: Any) -> str:
    data = value if isinstance(value, bytes) else text(value).encode("utf-8", "replace")
    digest = hashlib.new(algorithm, data, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode()


def _digest(algorithm: str, name: str) -> Operator:
    return Operator(
        algorithm,
        "BASE64",
        f"The {name} digest of the value equals this text.",
        lambda value, expected, _: _digest_of(algorithm, value) == expected,
        required=True,
        of=_data,
        why=lambda value, _, __: f" has the {name} digest {_digest_of(algorithm, value)} (Base64)",
    )


def _is_present(value: Any, _: str, comparison: Comparison) -> bool:
    return any(comparison.matches) if comparison.several else bool(value)


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


_SAME: Final = (
    "The subject equals this value. Both are compared as numbers, booleans, strings or JSON, "
    "depending on the type of the subject."
)
_OTHER: Final = "The opposite of `==`."
_OPERATOR_TABLE: Final = (
    Operator(
        "==",
        "VALUE",
        f'{_SAME} A value in double quotes (`"7"`) equals only a string.',
        _equal,
        of=Comparison.value,
        differs=True,
    ),
    Operator("===", "VALUE", "The same as `==`.", _equal, of=Comparison.value, differs=True),
    Operator("equals", "VALUE", "The same as `==`.", _equal, of=Comparison.value, differs=True),
    Operator("!=", "VALUE", _OTHER, _unequal, of=Comparison.value),
    Operator("!==", "VALUE", _OTHER, _unequal, of=Comparison.value),
    Operator(">", "NUMBER", "The subject is greater than this number.", _numbers(">")),
    Operator(">=", "NUMBER", "The subject is at least this number.", _numbers(">=")),
    Operator("<", "NUMBER", "The subject is less than this number.", _numbers("<")),
    Operator("<=", "NUMBER", "The subject is at most this number.", _numbers("<=")),
    Operator(
        "in",
        "VALUE, VALUE, ...",
        "The subject equals (`==`) one of these values.",
        _one_of,
        required=True,
    ),
    Operator(
        "contains",
        "TEXT",
        "The subject contains this text, or is a list with an element that equals this text.",
        _contains,
        of=Comparison.value,
    ),
    Operator("includes", "TEXT", "The same as `contains`.", _contains, of=Comparison.value),
    Operator(
        "startsWith",
        "TEXT",
        "The subject starts with this text.",
        lambda value, expected, _: text(value).startswith(expected),
    ),
    Operator(
        "endsWith",
        "TEXT",
        "The subject ends with this text.",
        lambda value, expected, _: text(value).endswith(expected),
    ),
    Operator("matches", "PATTERN", "The regular expression matches part of the subject.", _matches),
    Operator(
        "count",
        "NUMBER",
        "The path matches this number of values, or the list has this number of elements. "
        "`>=`, `>`, `<=` or `<` can precede the number: `count >= 3`.",
        _has_count,
        required=True,
        form=(
            re.compile(r"\s*(?:==|>=|<=|>|<)?\s*\d+\s*"),
            "a number, as in count 3 or count >= 3",
        ),
        of=attrgetter("matches"),
        why=lambda values, _, __: f" has {_number_of(values)}",
    ),
    Operator(
        "schema",
        "FILE",
        "The value is valid according to the JSON Schema in this file.",
        lambda value, expected, comparison: not _schema_errors(value, expected, comparison),
        required=True,
        of=Comparison.value,
        why=lambda *operands: f": {errors}" if (errors := _schema_errors(*operands)) else "",
    ),
    Operator(
        "exists",
        "",
        "The value is present, and not empty, zero or false; of several, at least one.",
        _is_present,
        of=Comparison.value,
    ),
    Operator(
        "isDefined",
        "",
        "The value is present, even if it is empty, zero, false or null.",
        _is(bool),
        of=attrgetter("matches"),
        why=lambda values, _, __: f" is {'present' if values else 'missing'}",
    ),
    Operator("isTrue", "", "The same as `exists`, for a single value.", _is(bool)),
    Operator(
        "isFalse",
        "",
        "The value is missing, empty, zero or false.",
        lambda *operands: not _is_present(*operands),
        of=Comparison.value,
    ),
    Operator("isString", "", "The value is a string.", _of_type(str)),
    Operator("isNumber", "", "The value is a number.", _of_type(int, float)),
    Operator("isBoolean", "", "The value is true or false.", _of_type(bool)),
    Operator("isArray", "", "The value is a list.", _of_type(list), of=Comparison.value),
    Operator("isObject", "", "The value is an object.", _of_type(dict)),
    Operator(
        "isUuid",
        "",
        "The value is a UUID (RFC 9562).",
        _is(lambda value: isinstance(value, str) and _UUID.fullmatch(value) is not None),
    ),
    Operator(
        "isIsoDate",
        "",
        "The value is a date, or a date and time, in RFC 3339 format.",
        _is(_is_iso_date),
    ),
    _digest("md5", "MD5"),
    _digest("sha256", "SHA-256"),
    _digest("sha512", "SHA-512"),
)

OPERATORS: Final[Mapping[str, Operator]] = {operator.name: operator for operator in _OPERATOR_TABLE}
"""The operators by name. In an assertion, a preceding `not` negates the operator."""
