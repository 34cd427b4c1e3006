"""The parser for assertions, driven by the tables of subjects and operators."""

from __future__ import annotations

import re
from typing import Final

from orgrest import classes
from orgrest.http.assertions.operators import OPERATORS
from orgrest.http.assertions.subjects import SUBJECTS
from orgrest.http.values.references import short
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
_FIELD: Final = compiled(rf"(?:not\s+)?(?:{_WORDS})", re.IGNORECASE)
_EVENTUALLY: Final = compiled(
    r"eventually\s+(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m)\s+(?=\S)", re.IGNORECASE
)
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0}


@classes.frozen
class Found:
    """A parsed assertion: `subject` and `operator` are names in the tables.

    `operator` may have the prefix `not `. `start` is the index of the expected value in the text.
    `within` is the number of seconds in which the assertion may become true, or None if it is
    checked only once.
    """

    subject: str
    path: str
    operator: str
    expected: str
    start: int
    within: float | None = None


def find(text: str) -> Found | str:
    """Parse the text after `??`. If it is not an assertion, return the reason as a string."""
    within, start = None, 0
    if match := _EVENTUALLY.match(text):
        within, start = float(match["number"]) * _UNITS[match["unit"].lower()], match.end()
    given = text[start:]
    if given.startswith("$"):  # a JSONPath alone selects from the body
        given, start = f"body {given}", start - len("body ")
    if re.match(r"response[.\[]", given):  # httpyac's response object, without the word js
        given, start = f"js {given}", start - len("js ")
    pattern = _LAST if re.match(r"js\s", given, re.IGNORECASE) else _FIRST
    match = pattern.fullmatch(given)
    if match is None:
        name, *rest = given.split(maxsplit=1) or [""]
        if rest and name.lower() in SUBJECTS and not SUBJECTS[name.lower()].path:
            return f"expected an operator after ?? {name}, as in ?? {name} == {short(rest[0])}"
        return (
            "expected a subject and an operator after ??, as in ?? status == 200; found "
            f"{short(text)!r}"
        )
    name, path = match["subject"].lower(), match["path"] or ""
    operator, expected = _operator(match["operator"]), match["expected"]
    if name == "body" and not path and _is_field(match["operator"], expected):
        again = _FIRST.fullmatch(f"body .{given[match.start('operator') :]}")
        if again is not None:  # `body count == 3` refers to a field called count
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
    """Return whether `word` is not an operator, but a field name followed by the operator."""
    operator = OPERATORS[_operator(word).removeprefix("not ")]
    is_word = operator.required and not word.lower().startswith("not")
    return is_word and _FIELD.match(behind) is not None


def _wrong(written: str, path: str, operator: str, expected: str) -> str:
    subject = SUBJECTS.get(written.lower())
    if subject is None:
        return f"unknown subject {written}; available: {', '.join(SUBJECTS)}"
    if subject.required and not path:
        return f"expected {subject.path} after ?? {subject.name}"
    if path and not subject.path:
        return f"expected an operator after ?? {subject.name}, found {path}"
    if subject.parts and path not in subject.parts:
        return f"expected {subject.path} after ?? {subject.name}, found {path}"
    rule = OPERATORS[operator.removeprefix("not ")]
    if not rule.expected and expected:
        return f"{rule.name} takes no value"
    if rule.required and not expected:
        return f"expected {rule.expected} after {rule.name}"
    if rule.form and "{{" not in expected and not rule.form[0].fullmatch(expected):
        return f"expected {rule.form[1]} after {rule.name}, found {expected}"
    return ""
