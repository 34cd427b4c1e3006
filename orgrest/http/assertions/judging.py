"""Evaluates assertions. A verdict contains the expected value and, if possible, the actual one."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.http.assertions import comparing
from orgrest.http.assertions.operators import OPERATORS, Comparison
from orgrest.http.assertions.subjects import SUBJECTS
from orgrest.http.responses import reads_status
from orgrest.model import BROKEN_OFF, OrgrestError, Verdict
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.assertions.operators import Operator
    from orgrest.http.assertions.subjects import Tools
    from orgrest.http.syntax import Assertion
    from orgrest.http.values.values import Place
    from orgrest.model import Response

MOST_COMPARED = 2_000
"""The maximum number of lines of each string that `unified` compares."""
_COMPARES = compiled(r"(?:[=!]==?|[<>]=?)\s")
_IN_SLASHES = compiled(r"/.+/[a-z]*")
_SHOWN = 100  # the most characters of a value in a reason
_KEPT = 10_000  # the most characters of the actual value in a verdict
_MOST_LINES = 200  # the most lines of a diff


def judge(
    assertion: Assertion, expected: str, response: Response, tools: Tools, place: Place
) -> Verdict:
    """Evaluate an assertion, and return the verdict with the expected and the actual value.

    `expected` is the assertion's expected value with its variables replaced. `place` is the
    assertion's position. If the assertion cannot be evaluated, it fails, and the verdict has no
    actual value. Raises OrgrestError only if the evaluation is interrupted.
    """
    verdict_with = partial(verdict_on, assertion, place, expected=expected)
    negated = assertion.operator.startswith("not ")
    operator = OPERATORS[assertion.operator.removeprefix("not ")]
    subject = SUBJECTS[assertion.subject]
    comparison = Comparison(subject, assertion.path, expected, response, tools)
    try:
        value = operator.of(comparison)
        held = operator.judge(value, subject.read(expected), comparison) != negated
        explanation = (
            "" if held or operator.why is None else operator.why(value, expected, comparison)
        )
    except OrgrestError as error:
        if error.code == BROKEN_OFF:  # the assertion was not checked
            raise
        found = f"; found {_cut(expected, _SHOWN, tools.hide)}"
        invalid = isinstance(error, comparing.ExpectedValueError)
        return verdict_with(reason=f"{error.reason}{found}" if invalid else error.reason)
    except RecursionError:
        return verdict_with(reason="the value is nested too deeply")
    text = "null" if value is None and comparison.matches else _text(value)
    actual = _cut(text, _KEPT, tools.hide)
    verdict = verdict_with(held=held, actual=actual)
    if held:
        return verdict
    shown = explanation or f" is {_shown(value, text, expected, tools.hide)}"
    shown += _how_read(assertion, operator, value)
    if expected != assertion.expected.text:
        shown += f", expected {_cut(expected, _SHOWN, tools.hide)}"
    differs = operator.differs and not negated
    difference = _difference(expected, value, tools.hide) if differs else ()
    return classes.evolve(verdict, reason=f"{verdict.subject}{shown}", difference=difference)


def _how_read(assertion: Assertion, operator: Operator, value: Any) -> str:
    """Return how an assertion was read if its author may have meant something else."""
    expected = assertion.expected.text
    subject = (assertion.path or "").removeprefix("response.")
    if assertion.subject == "js" and value in (None, []) and subject != assertion.path:
        return f"; did you mean ?? {subject}?" if subject in SUBJECTS else ""
    if operator.expected.startswith("VALUE") and expected[:1] == "'" == expected[-1:] != expected:
        return "; single quotes are part of the value (double quotes are not)"
    if operator.expected not in ("TEXT", "PATTERN"):
        return ""
    if assertion.subject == "body" and not assertion.path and _COMPARES.match(expected):
        return f"; for a field called {operator.name}, write body $.{operator.name} {expected}"
    if len(expected) > 2 and expected[0] in "'\"" and expected[-1] == expected[0]:
        return f"; the quotes are part of the {operator.expected.lower()}"
    if operator.expected == "PATTERN" and _IN_SLASHES.fullmatch(expected):
        return "; the slashes are part of the pattern"
    return ""


def verdict_on(assertion: Assertion, place: Place, *, held: bool = False, **found: Any) -> Verdict:
    """Return a verdict on an assertion, with its name, its position and the fields in `found`."""
    (file, line, column), text = place, assertion.text.text
    return Verdict(
        f"{assertion.title} ({text})" if assertion.title else text,
        held,
        subject=" ".join(filter(None, (assertion.subject, assertion.path))),
        operator=assertion.operator,
        file=file,
        line=line,
        column=column,
        about_status=is_about_status(assertion),
        **found,
    )


def is_about_status(assertion: Assertion) -> bool:
    """Return whether an assertion checks the status of the response."""
    return assertion.subject == "status" or (
        assertion.subject == "js" and reads_status(assertion.path or "")
    )


def _text(value: Any) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return None if value is None else comparing.text(value)


def _cut(text: str | None, most: int, hide: Callable[[str], str]) -> str | None:
    return text if text is None or len(text) <= most else f"{hide(text[:most])}..."


def _shown(value: Any, text: str | None, expected: str, hide: Callable[[str], str]) -> str:
    if text is None:
        return "missing"
    # The text is right, but the type is wrong.
    if text == (comparing.quoted(expected) or "") and not isinstance(value, str | bytes):
        kind = "a number" if comparing.number(value) is not None else "not text"
        return f"{text}, {kind}"
    return _cut(text, _SHOWN, hide) or "empty"


def _difference(expected: str, value: Any, hide: Callable[[str], str]) -> tuple[str, ...]:
    if isinstance(value, dict | list):
        try:
            expected_value = json.loads(expected)
        except (ValueError, RecursionError):
            return ()
        dump = partial(json.dumps, ensure_ascii=False, indent=2, sort_keys=True)
        return unified(dump(expected_value), dump(value), hide)
    text = _text(value) or ""
    if "\n" not in text and "\n" not in expected:
        return ()
    return unified(expected, text, hide)


def unified(before: str, after: str, hide: Callable[[str], str] = str) -> tuple[str, ...]:
    """Return a unified diff of two strings as lines, without the file header.

    Only the first 2,000 lines of each string are compared. The diff is cut after 200 lines, and a
    line with the number of missing lines is added. Each line is cut after 1,000 characters, and
    `hide` masks the secrets in a line that was cut.
    """
    import difflib

    old, new = before.split("\n")[:MOST_COMPARED], after.split("\n")[:MOST_COMPARED]
    diff = list(difflib.unified_diff(old, new, "", "", n=2, lineterm=""))[2:]
    if len(diff) > _MOST_LINES:
        diff = [*diff[:_MOST_LINES], f"... {len(diff) - _MOST_LINES} more lines"]
    return tuple(_cut(line, 10 * _SHOWN, hide) or "" for line in diff)
