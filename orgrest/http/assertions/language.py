"""The parser for assertions, driven by the tables of subjects and operators."""

from __future__ import annotations

import re
from typing import Final

from orgrest import classes
from orgrest.http.assertions.comparing import (
    UNITS,
    ExpectedValueError,
    expected_number,
    has_condition,
)
from orgrest.http.assertions.operators import OPERATORS, Operator
from orgrest.http.assertions.subjects import SUBJECTS, Subject
from orgrest.http.syntax import Assertion, Template
from orgrest.model import Span, short
from orgrest.regular import compiled

_BY_LOWER: Final = {name.lower(): name for name in OPERATORS}
_WORDS: Final = "|".join(
    re.escape(name) + (r"(?=\s|$)" if name[0].isalpha() else "")
    for name in sorted(OPERATORS, key=len, reverse=True)
)
_OPERATOR: Final = rf"(?P<operator>(?:not\s+)?(?:{_WORDS}))\s*(?P<expected>.*)"
_SUBJECT: Final = r"(?P<subject>[a-z0-9]+)(?=[\s.\[])(?P<dot>\.(?=[^\s.]))?"
_PATH: Final = r"(?P<path>'[^']+'|\"[^\"]+\"|\S.*{})"
# Possessive quantifiers match a run of blanks only from its start, which keeps the search linear.
_FIRST: Final = compiled(
    rf"{_SUBJECT}(?:\s*+{_PATH.format('?')})??(?<=\S)\s++{_OPERATOR}", re.IGNORECASE
)
_LAST: Final = compiled(
    rf"{_SUBJECT}(?:\s++{_PATH.format('')}(?<!\snot))?(?<=\S)\s++{_OPERATOR}", re.IGNORECASE
)
_OF_JAVASCRIPT: Final = compiled(r"js\s", re.IGNORECASE)
_FIELD: Final = compiled(rf"(?:not\s+)?(?:{_WORDS})", re.IGNORECASE)
_EVENTUALLY: Final = compiled(
    r"eventually\s+(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m)\s+(?=\S)", re.IGNORECASE
)
_SINGLE_EQUALS: Final = compiled(r"(?<![=!<>])=(?![=<>~])")


@classes.frozen
class ParsedAssertion:
    """A parsed assertion. `subject` and `operator` are names in `SUBJECTS` and `OPERATORS`.

    `operator` may begin with `not `. `start` is the index of the expected value in the text.
    `within` is the number of seconds in which the assertion must become true, or None if it is
    checked only once.
    """

    subject: str
    path: str
    operator: str
    expected: str
    start: int
    within: float | None = None


def read_assertion(text: Template, span: Span, title: str = "") -> Assertion | str:
    """Return the assertion in `text`, the part after `??` of the line at `span`.

    `title` is the comment on the line above. If the assertion is invalid, the reason is returned
    instead.
    """
    result = find(text.text)
    if isinstance(result, str):
        return result
    expected = Template(result.expected, ((0, text.offset(result.start)),))
    return Assertion(
        text, result.subject, result.path, result.operator, expected, span, result.within, title
    )


def find(text: str) -> ParsedAssertion | str:
    """Return the assertion in the text after `??`, or a message that explains why it is invalid."""
    within, start = None, 0
    if match := _EVENTUALLY.match(text):
        within, start = float(match["number"]) * UNITS[match["unit"].lower()], match.end()
    condition = text[start:]
    if condition.startswith("$"):  # a JSONPath alone selects from the body
        condition, start = f"body {condition}", start - len("body ")
    if condition.startswith(("response.", "response[")):  # httpyac's object, without the word js
        condition, start = f"js {condition}", start - len("js ")
    pattern = _LAST if _OF_JAVASCRIPT.match(condition) else _FIRST
    match = pattern.fullmatch(condition)
    if match is None:
        left, *right = _SINGLE_EQUALS.split(condition, maxsplit=1)
        repaired = " == ".join([left.rstrip(), *(part.lstrip() for part in right)])
        match = _FIRST.fullmatch(repaired) if right and "[" not in left else None
        if match is not None and (subject := SUBJECTS.get(match["subject"].lower())) is not None:
            repaired = repaired[: match.start("expected")] + _valid(subject, match["expected"])
            return f"to compare, write == instead of =, as in ?? {short(repaired)}"
        name, *rest = condition.split(maxsplit=1) or [""]
        subject = SUBJECTS.get(name.lower())
        if rest and subject is not None and not subject.path:
            value = _valid(subject, rest[0])
            return f"expected an operator after ?? {name}, as in ?? {name} == {short(value)}"
        return (
            "expected a subject and an operator after ??, as in ?? status == 200; found "
            f"{short(text)!r}"
        )
    name, path = match["subject"].lower(), match["path"] or ""
    operator, expected = _operator(match["operator"]), match["expected"]
    if not path and _is_field(name, match["operator"], expected):
        field_match = _FIRST.fullmatch(f"{name} .{condition[match.start('operator') :]}")
        if field_match is not None:
            path, operator = field_match["path"][1:], _operator(field_match["operator"])
            expected = field_match["expected"]
    if path[:1] in ("'", '"') and path[-1:] == path[:1] and len(path) > 2 and name != "js":
        path = path[1:-1]
    error = _error(match["subject"], path, operator, expected)
    if error:
        return error
    return ParsedAssertion(
        name, path, operator, expected, start + len(condition) - len(expected), within
    )


def _valid(subject: Subject, expected: str) -> str:
    """Return the value to suggest for ==: without the text after a number if that is an error."""
    invalid = _number_error(subject, OPERATORS["=="], expected)
    return re.split(r"[\s,;&|]", expected, maxsplit=1)[0] if invalid else expected


def _operator(written: str) -> str:
    words = written.lower().split()
    return " ".join([*words[:-1], _BY_LOWER[words[-1]]])


def _is_field(name: str, word: str, following: str) -> bool:
    """Return whether an operator's name is a path, as in `body count == 3`.

    In `body contains == 3`, it is the operator, because a body can contain `== 3`.
    """
    subject = SUBJECTS.get(name)
    if (
        subject is None
        or not subject.path
        or not word[0].isalpha()
        or _FIELD.match(following) is None
    ):
        return False
    operator = OPERATORS.get(_operator(word))  # None if it is negated
    return operator is not None and (subject.required or operator.required or not operator.expected)


def _error(written: str, path: str, operator: str, expected: str) -> str:
    subject = SUBJECTS.get(written.lower())
    if subject is None:
        from difflib import get_close_matches

        similar = get_close_matches(written.lower(), SUBJECTS, 1, 0.75)
        instead = f"did you mean {similar[0]}?" if similar else f"available: {', '.join(SUBJECTS)}"
        return f"unknown subject {written}; {instead}"
    if subject.required and not path:
        return f"expected {subject.path} after ?? {subject.name}"
    if path and not subject.path:
        return f"expected an operator after ?? {subject.name}, found {path}"
    if subject.parts and path not in subject.parts:
        return f"expected {subject.path} after ?? {subject.name}, found {path}"
    row = OPERATORS[operator.removeprefix("not ")]
    if not row.expected and expected:
        return f"{row.name} takes no value"
    if row.required and not expected:
        return f"expected {row.expected} after {row.name}"
    if row.form and "{{" not in expected and not row.form[0].fullmatch(expected):
        return f"expected {row.form[1]} after {row.name}, found {expected}"
    return "" if "{{" in expected else _number_error(subject, row, expected)


def _number_error(subject: Subject, operator: Operator, expected: str) -> str:
    """Return what is wrong with the expected number, as far as this is known before the run."""
    try:
        if operator.expected == "NUMBER" and (subject.numeric or has_condition(expected)):
            expected_number(subject.read(expected))
        elif operator.expected.startswith("VALUE") and subject.numeric:
            for option in expected.split(",") if operator.name == "in" else [expected]:
                subject.same(0, subject.read(option))
    except ExpectedValueError as error:
        return f"{error.reason}; found {expected}"
    return ""
