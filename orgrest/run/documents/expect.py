"""The header argument `:expect`: the statuses that a block expects, or the same result again."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from orgrest.http.syntax import Template
from orgrest.model import OrgrestError, Span, Verdict
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from orgrest.http.syntax import Assertion
    from orgrest.org.arguments import Arguments
    from orgrest.run.comparison import Volatile

SAME = "same"
"""The value of `:expect` that requires the result to equal the one in the document."""
SUBJECT = "result"
"""The subject of the verdicts on results."""
_EXPECTED = re.compile(r"[1-5](?:\d\d|[xX]{2})")


def expected_status(arguments: Arguments, file: str | None, line: int) -> Assertion | None:
    """Return the assertion of `:expect` about the status; None if it does not name a status.

    Raises EvaluationError for anything but statuses and `same`.
    """
    words = re.split(r"[\s,]+", arguments.get("expect"))
    wanted = [word for word in words if word and word.lower() != SAME]
    for word in wanted:
        if not _EXPECTED.fullmatch(word):
            raise EvaluationError(
                f":expect takes statuses such as 200 or 2xx, or same, not {word}",
                file=file,
                line=line,
            )
    if not wanted:
        return None
    from orgrest.http.assertions.reading import read_assertion

    text = f"status == {wanted[0]}" if len(wanted) == 1 else f"status in {', '.join(wanted)}"
    found = read_assertion(Template(text, ((0, 0),)), Span(0, len(text)))
    if isinstance(found, str):
        raise EvaluationError(found, file=file, line=line)
    return found


def expects_same(arguments: Arguments) -> bool:
    """Return whether `:expect` requires the result in the document."""
    return SAME in re.split(r"[\s,]+", arguments.get("expect").lower())


def judge_same(
    old: str,
    new: str,
    files: Iterable[tuple[Path, bytes]],
    volatile: Volatile,
    place: tuple[str, int],
) -> Verdict:
    """Compare a result with the one in the document, as `:expect same` requires.

    `files` are the files that the result links to, with their new content; `place` is the file and
    the line of its block.
    """
    verdict = Verdict(
        ":expect same",
        False,
        subject=SUBJECT,
        operator="same",
        file=place[0],
        line=place[1],
        about_status=True,
    )
    from orgrest.run.comparison import difference

    if not old.strip():
        return attrs.evolve(verdict, reason="no result stands in the document yet")
    try:
        lines = difference(old, new, volatile)
    except OrgrestError as error:
        return attrs.evolve(verdict, reason=f":volatile: {error.reason}")
    if lines:
        reason = "the result is another one (delete the old one to take it)"
        return attrs.evolve(verdict, reason=reason, expected=old, actual=new, difference=lines)
    for path, content in files:
        if not path.is_file() or path.read_bytes() != content:
            return attrs.evolve(verdict, reason=f"the file {path.name} is another one")
    return attrs.evolve(verdict, held=True)
