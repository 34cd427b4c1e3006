"""Compares results with those in the document, except for volatile parts.

Dates and durations may always differ; `:volatile` names more: headers, jq paths such as `.id`, and
patterns between slashes. What came of assertions is told by itself and not compared.
"""

from __future__ import annotations

import json
import re
import textwrap
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http import patterns
from orgrest.http.responses import json_of
from orgrest.model import OrgrestError, Verdict
from orgrest.org.text import unescape

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from orgrest.org.arguments import Arguments

SUBJECT = "result"
"""The subject of the verdicts that are made here."""

_WORD = re.compile(r"/((?:\\.|[^/\\])+)/(?=\s|$)|(\S+)")
_BLOCK = re.compile(
    r"[ \t]*#\+begin_[^\n]*\n(.*)^[ \t]*#\+end_[^\n]*\n?",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_FIXED = re.compile(r"^: ?", re.MULTILINE)
_TESTS = re.compile(
    r"(?:^[ \t]*+(?:[:,|-] ?)?(?:(?://|<!--|/\*|#|;;) )?(?:ok|FAILED)  [^\n]*(?:\n|\Z))+"
    r"(?=[ \t]*#\+end_|\s*\Z)",
    re.IGNORECASE | re.MULTILINE,
)
_REPLACED = "..."


@attrs.frozen
class Volatile:
    """What may differ between two results: headers by name, jq paths, patterns."""

    headers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    @classmethod
    def of(cls, arguments: Arguments) -> Volatile:
        """Parse the header argument `:volatile`."""
        headers: list[str] = []
        paths: list[str] = []
        found: list[str] = []
        for match in _WORD.finditer(arguments.get("volatile")):
            if match[1]:
                found.append(match[1].replace("\\/", "/"))
            else:
                (paths if match[2].startswith(".") else headers).append(match[2])
        return cls(tuple(headers), tuple(paths), tuple(found))


def difference(old: str, new: str, volatile: Volatile) -> tuple[str, ...]:
    """Return the differences of two results as lines, () if there are none.

    Results are texts of a document, as they stand there. Raises OrgrestError if a jq path or a
    pattern is none.
    """
    if old == new:
        return ()
    before, after = (_TESTS.sub("", inside(text)) for text in (old, new))
    if volatile.paths:
        before, after = _without_paths(before, after, volatile.paths)
    headers = volatile.headers
    if volatile.paths or volatile.patterns:
        headers = (*headers, "Content-Length")  # which depends on these
    before, after = (without_volatile(text, headers).strip() for text in (before, after))
    for pattern in volatile.patterns:
        before, after = (patterns.replaced(pattern, one, _REPLACED) for one in (before, after))
    if before == after:
        return ()
    from orgrest.http.assertions.judging import unified

    return unified(before, after) or ("the result differs in its end",)


def judge(
    old: str,
    new: str,
    files: Iterable[tuple[Path, bytes]],
    volatile: Volatile,
    place: tuple[str, int],
) -> Verdict:
    """Compare a result with the one in the document, as `:expect same` requires.

    `files` are those that the result links to, with what they are to hold; `place` is the file and
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


def without_volatile(text: str, names: Iterable[str]) -> str:
    """Remove the volatile lines of a result: dates, durations, named headers."""
    headers = "|".join(re.escape(name) for name in ("Date", *names))
    return re.sub(
        rf"^([ \t]*+(?:[:,|-] ?)?(?://|<!--|/\*|#|;;)?[ \t]*+)"
        rf"(?:(?:{headers}): .*|Request duration: [0-9.]+s(?: -->| \*/)?)$",
        r"\1",
        text,
        flags=re.IGNORECASE | re.MULTILINE,
    )


def inside(text: str) -> str:
    """Return the text of a result without what Org puts around it, where that is all of it."""
    text = textwrap.dedent(text).strip("\n")
    while (block := _BLOCK.fullmatch(text)) is not None:  # :wrap puts a block around a block
        text = unescape(block[1]).strip("\n")
    lines = text.split("\n")
    return _FIXED.sub("", text) if all(line.startswith(":") for line in lines) else text


def _without_paths(before: str, after: str, paths: tuple[str, ...]) -> tuple[str, str]:
    """Remove the values at jq paths from two results, if both begin with JSON."""
    try:
        (one, rest), (other, others) = _json(before), _json(after)
    except (ValueError, RecursionError):
        return before, after
    from orgrest.rendering import jq

    both = json.dumps([one, other])
    made = jq.run(f"map(del({', '.join(paths)}))", both, "-c")
    first, second = json_of(made)
    return f"{_pretty(first)}\n{rest}", f"{_pretty(second)}\n{others}"


def _json(text: str) -> tuple[Any, str]:
    start = len(text) - len(text.lstrip())
    value, end = json.JSONDecoder().raw_decode(text, start)
    return value, text[end:].lstrip("\n")


def _pretty(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
