"""Quick fixes for the problems in a region.

`FIXES` maps problem codes to functions that are called on demand. Such a function takes a `Place`
and returns a title and a change to the region's text, or None if it cannot fix the problem. For
other codes, the fix is what the message suggests ("did you mean").
"""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeAlias

from orgrest import classes
from orgrest.editor.diagnostics.model import Fix
from orgrest.editor.diagnostics.requests import LISP_CALL
from orgrest.http import registry
from orgrest.http.values.expressions import without_lisp
from orgrest.org.text import Edit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from orgrest.editor import regions
    from orgrest.editor.diagnostics.model import Diagnostic
    from orgrest.editor.parsed_regions import ParsedRegion

_FIRST_WORD = re.compile(r"([^ \t]+)[ \t]+(?=\S)")
_EMPTY_LINE = re.compile(r"\n[ \t]*(?=\n)")
_HERE_WORD = re.compile(r"<<[ \t]*(\w*)")
_SUGGESTION = re.compile(
    r"(?:unknown (?:[a-z]+ )+(?=\S+;)|no request named )(?P<found>.+)"
    r"; did you mean (?P<close>.+)\?"
)
_SEPARATOR = re.compile(r"^[ \t]*###", re.MULTILINE)


@classes.frozen
class Change:
    """A change to a region's text. If `lines` is True, it inserts or replaces whole lines."""

    start: int
    end: int
    text: str
    lines: bool = False


@classes.frozen
class Place:
    """The position of a problem, from `start` to `end` in the `text` of a part."""

    part: ParsedRegion
    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        """The start of the line on which the problem begins."""
        return self.text.rfind("\n", 0, self.start) + 1

    @property
    def found(self) -> str:
        """The text from `start` to `end`."""
        return self.text[self.start : self.end]


Made: TypeAlias = tuple[str, Change] | None


def _bad_header(at: Place) -> Made:
    request = at.part.request_at(at.start)
    if request is None or any(x.span.reaches(at.start) for x in request.headers):
        return None  # a header with an invalid value
    first = _FIRST_WORD.match(at.found)
    if first is not None and registry.header(first[1]) is not None:
        change = Change(at.start + first.end(1), at.start + first.end(), ": ")
        return f"Add a colon after {first[1]}", change
    if _EMPTY_LINE.search(at.text, at.start, request.span.end):
        return None
    return _no_empty_line(at)


def _no_empty_line(at: Place) -> Made:
    if not at.line:
        return None
    return "Insert an empty line before the body", Change(at.line, at.line, "\n", lines=True)


def _no_separator(at: Place) -> Made:
    return "Insert ### between the requests", Change(at.line, at.line, "###\n", lines=True)


def _unknown_method(at: Place) -> Made:
    upper = at.found.upper()
    return f"Replace with {upper}", Change(at.start, at.end, upper)


def _repeated_header(at: Place) -> Made:
    return "Remove this line", Change(at.start, at.end, "", lines=True)


def _undefined_variable(at: Place) -> Made:
    name = at.found.strip(":{} \t")
    for close in get_close_matches(name, at.part.names - {name}, 1):
        start = at.start + at.found.find(name)
        return f"Replace with {close}", Change(start, start + len(name), close)
    return None


def _lisp(at: Place) -> Made:
    match = LISP_CALL.match(at.text, at.start)
    instead = without_lisp(match[1], match[2]) if match else None
    if match is None or not instead:
        return None
    return f"Replace with {instead}", Change(at.start, match.end(), instead)


def _unclosed_here(at: Place) -> Made:
    match = _HERE_WORD.match(at.text, at.start)
    if match is None:
        return None
    word = match[1] or "#"
    following = _SEPARATOR.search(at.text, at.start)
    where = following.start() if following and match[1] else len(at.text)
    rest = at.text[at.line :]
    blanks = rest[: len(rest) - len(rest.lstrip())]
    return f"Add the closing line {word}", Change(where, where, f"{blanks}{word}\n", lines=True)


def suggested(message: str, text: str, start: int, end: int) -> Made:
    """Return the change that the message of a problem suggests, between two offsets in `text`."""
    match = _SUGGESTION.fullmatch(message)
    if match is None:
        return None
    word = re.compile(rf"(?<![\w-]){re.escape(match['found'])}(?![\w-])").search(text, start, end)
    if word is None:
        return None
    return f"Replace with {match['close']}", Change(*word.span(), match["close"])


FIXES: Mapping[str, Callable[[Place], Made]] = {
    "bad-header": _bad_header,
    "no-empty-line": _no_empty_line,
    "no-separator": _no_separator,
    "unknown-method": _unknown_method,
    "repeated-header": _repeated_header,
    "undefined-variable": _undefined_variable,
    "lisp": _lisp,
    "unclosed-here": _unclosed_here,
}
GUESSES = frozenset({"undefined-variable"})
"""The codes of problems for which the fix is only a guess at what the user intended."""


def fixes(part: ParsedRegion, problem: Diagnostic, file: str) -> tuple[Fix, ...]:
    """Return a tuple with the fix for a problem in `part`, or an empty tuple.

    The fix contains an edit to `file`, the text of the whole file.
    """
    make = FIXES.get(problem.code)
    text = part.region.text
    place = Place(part, text, problem.span.start, problem.span.end)
    fix = make(place) if make else suggested(problem.message, text, place.start, place.end)
    if fix is None:
        return ()
    title, change = fix
    guess = make is None or problem.code in GUESSES
    return (Fix(title, (as_edit(change, part.region, file),), guess),)


def as_edit(change: Change, region: regions.Region, text: str) -> Edit:
    """Return a change to a region's text as an edit to `text`, the text of the whole file."""
    start = region.to_file(change.start)
    if not change.lines:
        return Edit(start, region.to_file(change.end), change.text)
    first = text.rfind("\n", 0, start) + 1
    blanks = text[first:start]
    blanks = blanks[: len(blanks) - len(blanks.lstrip(" \t"))]
    new = "".join(f"{blanks}{x}\n" if x else "\n" for x in change.text.split("\n")[:-1])
    if change.end > change.start:
        end = text.find("\n", region.to_file(change.end))
        return Edit(first, len(text) if end < 0 else end + 1, new)
    if change.start and change.start == len(region.text):
        end = text.find("\n", start)  # below the last line
        at = len(text) if end < 0 else end + 1
        return Edit(at, at, new if end >= 0 else f"\n{new}")
    return Edit(first, first, new)
