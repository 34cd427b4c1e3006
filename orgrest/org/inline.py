"""Inline blocks (``src_LANG{body}``) and inline calls (``call_NAME(arguments)``) in a line.

They are not recognized within ``=verbatim=``, ``~code~`` or ``{{{results(...)}}}``. Each kind of
bracket is matched independently of the others.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator

# The length of names is bounded, because a line with one long name would take quadratic time.
_INLINE = compiled(r"(?<!\w)(?:src_([^\s\[{]{1,99}+)|call_([^\s()\[\]{}]{1,999}+))(?=[\[({])")
_VERBATIM_OPENS = compiled(r"(?:^|(?<=[\s\-('\"{]))[=~](?=\S)")
_VERBATIM_CLOSES = compiled(r"(?<=\S)[=~](?=$|[\s\-.,:!?;'\")}\[\\])")


@classes.frozen
class Inline:
    """An inline block or call, between the columns `start` and `end`.

    A block is ``src_LANGUAGE[inside]{body}``, and a call is ``call_NAME[inside](body)[final]``.
    Missing parts are empty.
    """

    start: int
    end: int
    language: str
    name: str
    inside: str
    body: str
    final: str


def find(line: str) -> Iterator[Inline]:
    """Yield the inline blocks and calls in a line, in order."""
    hidden = sorted([*_verbatim(line), *_results(line)])
    hidden_ends = list(itertools.accumulate((end for _, end in hidden), max))
    closing = closing_brackets(line)
    done = 0
    for match in _INLINE.finditer(line):
        start, here = match.start(), match.end()
        at_hidden = bisect_right(hidden, (start, len(line))) - 1
        if start < done or (at_hidden >= 0 and start < hidden_ends[at_hidden]):
            continue
        inside = ""
        if line[here] == "[" and here in closing:
            inside, here = line[here + 1 : closing[here] - 1], closing[here]
        opening = "{" if match[1] else "("
        if line[here : here + 1] != opening or here not in closing:
            continue
        body, here = line[here + 1 : closing[here] - 1], closing[here]
        final = ""
        if not match[1] and line[here : here + 1] == "[" and here in closing:
            final, here = line[here + 1 : closing[here] - 1], closing[here]
        yield Inline(start, here, match[1] or "", match[2] or "", inside, body, final)
        done = here


def _verbatim(line: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of ``=verbatim=`` and ``~code~``."""
    closes: dict[str, list[int]] = {"=": [], "~": []}
    for match in _VERBATIM_CLOSES.finditer(line):
        closes[match[0]].append(match.start())
    done = 0
    for match in _VERBATIM_OPENS.finditer(line):
        close = closes[match[0]]
        at = bisect_right(close, match.start() + 1)
        if match.start() >= done and at < len(close):
            done = close[at] + 1
            yield match.start(), done


def _results(line: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of ``{{{results(...)}}}``."""
    at = 0
    while (start := line.find("{{{results(", at)) >= 0:
        end = line.find(")}}}", start)
        if end < 0:
            return
        at = end + 4
        yield start, at


def closing_brackets(line: str) -> dict[int, int]:
    """Return a dict from the index of each opening bracket to the end of its closing bracket.

    Unmatched brackets are left out. Each kind of bracket is matched independently.
    """
    opened: dict[str, list[int]] = {")": [], "]": [], "}": []}
    closing: dict[int, int] = {}
    for match in re.finditer(r"[][(){}]", line):
        here = match[0]
        if here in "([{":
            opened[{"(": ")", "[": "]", "{": "}"}[here]].append(match.start())
        elif opened[here]:
            closing[opened[here].pop()] = match.end()
    return closing
