"""The header argument `:expect`: the expected statuses, or `same` to compare with a snapshot."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.syntax import Template
from orgrest.model import OrgrestError, Span, Verdict
from orgrest.regular import compiled
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from orgrest.http.syntax import Assertion
    from orgrest.org.blocks import Arguments
    from orgrest.run.outcomes import Task

SAME = "same"
"""The value of `:expect` that requires the new result to equal the result in the document."""
SUBJECT = "result"
"""The `subject` of the verdict of `:expect same`, which is about the whole result."""
_EXPECTED = compiled(r"[1-5](?:\d\d|[xX]{2})")


def expected_status(arguments: Arguments, file: str | None, line: int) -> Assertion | None:
    """Return the status assertion in `:expect`, or None if there is no status.

    Raises EvaluationError if `:expect` is empty, or if a value is neither a status nor `same`.
    """
    words = re.split(r"[\s,]+", arguments.get("expect"))
    statuses = [word for word in words if word and word.lower() != SAME]
    invalid = [word for word in statuses if not _EXPECTED.fullmatch(word)]
    if invalid or ("expect" in arguments and not any(words)):
        found = invalid[0] if invalid else "none"
        reason = f":expect requires `same` or statuses such as 200 or 2xx; found {found}"
        raise EvaluationError(reason, file=file, line=line)
    if not statuses:
        return None
    from orgrest.http.assertions.language import read_assertion

    text = f"status == {statuses[0]}" if len(statuses) == 1 else f"status in {', '.join(statuses)}"
    assertion = read_assertion(Template(text, ((0, 0),)), Span(0, len(text)))
    if isinstance(assertion, str):
        raise EvaluationError(assertion, file=file, line=line)
    return assertion


def expects_same(arguments: Arguments) -> bool:
    """Return whether `:expect` requires the new result to equal the result in the document."""
    return SAME in re.split(r"[\s,]+", arguments.get("expect").lower())


def judge_same(task: Task, files: Iterable[tuple[Path, bytes]], old: str, new: str) -> Verdict:
    """Return the verdict of `:expect same` on an old and a new result of a task.

    `files` contains the path and new content of each file that the result links to.
    """
    verdict = Verdict(
        ":expect same",
        False,
        subject=SUBJECT,
        operator="same",
        file=task.parsed[0].source.file,
        line=task.line,
        about_status=True,
    )
    from orgrest.run.comparison import Volatile, difference

    if not old.strip():
        return classes.evolve(verdict, reason="there is no result in the document yet")
    try:
        lines = difference(old, new, Volatile.of(task.arguments))
    except OrgrestError as error:
        return classes.evolve(verdict, reason=f":volatile: {error.reason}")
    if lines:
        reason = "the result has changed (to accept the new one, delete the old one)"
        return classes.evolve(verdict, reason=reason, expected=old, actual=new, difference=lines)
    for path, content in files:
        if not path.is_file() or path.read_bytes() != content:
            return classes.evolve(verdict, reason=f"the file {path.name} has changed")
    return classes.evolve(verdict, held=True)
