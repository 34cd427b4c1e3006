"""The language of assertions: which subjects and operators there are, and how a line is read.

`SUBJECTS` and `OPERATORS` are tables with a sentence about each entry, from which documentation,
completion and hover are made.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping


@attrs.frozen
class Subject:
    """What an assertion can be about: its name, what stands behind it, and what it is.

    `path` is what a path behind the name is called; it is `required` or may be left out.
    """

    name: str
    path: str
    description: str
    required: bool = False


@attrs.frozen
class Operator:
    """How a subject is compared: its name, what is expected behind it, and when it holds.

    Where `expected` is empty, nothing follows. With `required`, something does; without it, nothing
    behind the operator means the empty text.
    """

    name: str
    expected: str
    description: str
    required: bool = False


_SUBJECT_TABLE: Final = (
    Subject("status", "", "The status code. `2xx` stands for all codes from 200 to 299."),
    Subject("header", "NAME", "The first header of that name.", required=True),
    Subject(
        "cookie",
        "NAME or NAME[ATTRIBUTE]",
        "A cookie that the response sets: its value, or one of its attributes.",
        required=True,
    ),
    Subject(
        "body",
        "[PATH]",
        "The body as text; with a path, what stands there: JSONPath (RFC 9535), whose `$.` may be "
        "left out, or XPath where it begins with `/`. Of several matches the first counts.",
    ),
    Subject("bytes", "", "The body's bytes, in hexadecimal."),
    Subject("length", "", "How many bytes the body has."),
    Subject("sha256", "", "The SHA-256 digest of the body, in hexadecimal."),
    Subject("jsonpath", "PATH", "What a JSONPath finds in the body.", required=True),
    Subject("jq", "PROGRAM", "What a jq program makes of the body.", required=True),
    Subject(
        "xpath",
        "PATH",
        "What an XPath finds in the body: a text, or a list of them.",
        required=True,
    ),
    Subject(
        "js",
        "EXPRESSION",
        "What an expression of JavaScript gives, with httpyac's `response`; the last operator in "
        "the line is the assertion's. Needs the extra `scripts`.",
        required=True,
    ),
    Subject(
        "certificate",
        "days, expires, subject or issuer",
        "Of the server's certificate: the days that are left, when it expires (ISO 8601), whose "
        "it is and who signed it.",
        required=True,
    ),
    Subject("duration", "", "How long the exchange took, in milliseconds."),
    Subject("redirects", "", "How many redirects were followed."),
    Subject("url", "", "The URL that answered, after redirects."),
)

SUBJECTS: Final[Mapping[str, Subject]] = {one.name: one for one in _SUBJECT_TABLE}
"""What assertions can be about, by name."""

_SAME: Final = "It is the same: as a number, truth value, text or JSON, as the subject is one."
_OTHER: Final = "It is another one."
_OPERATOR_TABLE: Final = (
    Operator("==", "VALUE", f'{_SAME} In double quotes (`"7"`), only a text is.'),
    Operator("===", "VALUE", "As `==`."),
    Operator("equals", "VALUE", "As `==`."),
    Operator("!=", "VALUE", _OTHER),
    Operator("!==", "VALUE", _OTHER),
    Operator(">", "NUMBER", "It is greater."),
    Operator(">=", "NUMBER", "It is greater or equal."),
    Operator("<", "NUMBER", "It is less."),
    Operator("<=", "NUMBER", "It is less or equal."),
    Operator("in", "VALUE, VALUE, ...", "It is one of these, as by `==`.", required=True),
    Operator("contains", "TEXT", "The text holds this one; of a list, an element is this text."),
    Operator("includes", "TEXT", "As `contains`."),
    Operator("startsWith", "TEXT", "The text begins with this one."),
    Operator("endsWith", "TEXT", "The text ends with this one."),
    Operator("matches", "PATTERN", "A regular expression matches a part of the text."),
    Operator(
        "count",
        "NUMBER",
        "So many are there: matches of a path, elements of a list; `count >= 3` compares.",
        required=True,
    ),
    Operator("schema", "FILE", "It is valid by the JSON Schema in this file.", required=True),
    Operator("exists", "", "It is there, and not empty, zero or false."),
    Operator("isTrue", "", "As `exists`."),
    Operator("isFalse", "", "It is missing, empty, zero or false."),
    Operator("isString", "", "It is a text."),
    Operator("isNumber", "", "It is a number."),
    Operator("isBoolean", "", "It is true or false."),
    Operator("isArray", "", "It is a list."),
    Operator("isObject", "", "It is an object."),
    Operator("isUuid", "", "It is a UUID (RFC 9562)."),
    Operator("isIsoDate", "", "It is a date, or date and time, of ISO 8601 as RFC 3339 has it."),
    Operator("md5", "BASE64", "This is its MD5 digest."),
    Operator("sha256", "BASE64", "This is its SHA-256 digest."),
    Operator("sha512", "BASE64", "This is its SHA-512 digest."),
)

OPERATORS: Final[Mapping[str, Operator]] = {one.name: one for one in _OPERATOR_TABLE}
"""How a subject is compared, by name; `not` before one turns it round."""

_BY_LOWER: Final = {name.lower(): name for name in OPERATORS}
_WORDS: Final = "|".join(
    re.escape(name) + (r"(?=\s|$)" if name[0].isalpha() else "")
    for name in sorted(OPERATORS, key=len, reverse=True)
)
_OPERATOR: Final = rf"(?P<operator>(?:not\s+)?(?:{_WORDS}))\s*(?P<expected>.*)"
_SUBJECT: Final = r"(?P<subject>[a-z0-9]+)(?=[\s.\[])(?P<dot>\.(?=[^\s.]))?"
_PATH: Final = r"(?P<path>'[^']+'|\"[^\"]+\"|\S.*{})"
# A run of blanks counts from its start only: many of them cost no more than once.
_FIRST: Final = re.compile(
    rf"{_SUBJECT}(?:\s*+{_PATH.format('?')})??(?<=\S)\s++{_OPERATOR}", re.IGNORECASE
)
_LAST: Final = re.compile(
    rf"{_SUBJECT}(?:\s++{_PATH.format('')}(?<!\snot))?(?<=\S)\s++{_OPERATOR}", re.IGNORECASE
)
_FIELDS: Final = frozenset({"count", "in", "schema"})
_FIELD: Final = re.compile(rf"(?:not\s+)?(?:{_WORDS})", re.IGNORECASE)
_EVENTUALLY: Final = re.compile(
    r"eventually\s+(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m)\s+(?=\S)", re.IGNORECASE
)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}
_FEW: Final = re.compile(r"\s*(?:==|>=|<=|>|<)?\s*\d+\s*")


@attrs.frozen
class Found:
    """An assertion as it was read: names as in the tables, `operator` perhaps behind `not `.

    `start` is where what is expected stands in the text. `within` is how many seconds there are for
    it to come true, None where it holds at once or never.
    """

    subject: str
    path: str
    operator: str
    expected: str
    start: int
    within: float | None = None


def find(text: str) -> Found | str:
    """Read what follows `??`; where that is no assertion, return why not."""
    within, start = None, 0
    if match := _EVENTUALLY.match(text):
        within, start = float(match["number"]) * _UNITS[match["unit"].lower()], match.end()
    given = text[start:]
    if given.startswith("$"):  # a JSONPath alone is one in the body
        given, start = f"body {given}", start - len("body ")
    pattern = _LAST if re.match(r"js\s", given, re.IGNORECASE) else _FIRST
    match = pattern.fullmatch(given)
    if match is None:
        return f"?? is followed by a subject and an operator, as in ?? status == 200, not {text!r}"
    name, path = match["subject"].lower(), match["path"] or ""
    operator, expected = _operator(match["operator"]), match["expected"]
    if name == "body" and not path and _is_field(match["operator"], expected):
        again = _FIRST.fullmatch(f"body .{given[match.start('operator') :]}")
        if again is not None:  # `body count == 3` is about a field called count
            path, operator = again["path"][1:], _operator(again["operator"])
            expected = again["expected"]
    if path[:1] in ("'", '"') and path[-1:] == path[:1] and len(path) > 2 and name != "js":
        path = path[1:-1]
    wrong = _wrong(match["subject"], path, operator, expected)
    if wrong:
        return wrong
    return Found(name, path, operator, expected, start + len(given) - len(expected), within)


def _operator(written: str) -> str:
    words = written.lower().split()
    return " ".join([*words[:-1], _BY_LOWER[words[-1]]])


def _is_field(word: str, behind: str) -> bool:
    """Tell whether what looks like an operator is a field's name, behind which one follows."""
    return word.lower() in _FIELDS and _FIELD.match(behind) is not None


def _wrong(written: str, path: str, operator: str, expected: str) -> str:
    subject = SUBJECTS.get(written.lower())
    if subject is None:
        return f"{written} is nothing that can be compared: there are {', '.join(SUBJECTS)}"
    if subject.required and not path:
        return f"?? {subject.name} is followed by {subject.path}"
    if path and not subject.path:
        return f"?? {subject.name} is followed by an operator, not by {path}"
    if subject.name == "certificate" and path not in ("days", "expires", "subject", "issuer"):
        return f"?? certificate is followed by {subject.path}, not by {path}"
    rule = OPERATORS[operator.removeprefix("not ")]
    if not rule.expected and expected:
        return f"nothing follows {rule.name}, which takes no value"
    if rule.required and not expected:
        return f"{rule.name} is followed by {rule.expected}"
    if rule.name == "count" and "{{" not in expected and not _FEW.fullmatch(expected):
        return f"count is followed by a number, as in count 3 or count >= 3, not by {expected}"
    return ""
