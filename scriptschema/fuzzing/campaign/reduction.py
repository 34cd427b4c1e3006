"""The reduction of a suspect: the smallest program with the same verdict, and its construct.

Programs are written plainly if they show the bug that way. Otherwise the style is kept, and the
smallest program is tried plainly and in other styles; the style with the shortest source is kept.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import attrs

from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import Find, Reduced, Suspect, size_of, words
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles.construct import construct_of, text_of
from scriptschema.fuzzing.oracles.judging import is_clear
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.reduce import NotInterestingError, Reducer
from scriptschema.fuzzing.targets.base import Spelling
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.luau.render import render_module_set
from scriptschema.messages import ModuleSet

MOST_SECONDS: Final = 120.0
"""The time limit in seconds, after which the smallest program so far is the result."""


TRIES: Final = 3

STYLES: Final = 64
"""The number of styles in which the smallest program is tried, if it needs one."""


class _OutOfTimeError(Exception):
    """The reduction has reached its time limit."""


class _Test:
    """A test of whether a program, written in the style `style`, shows the bug of a suspect."""

    def __init__(self, runner: Runner, wanted: Signature, end: float) -> None:
        self.runner = runner
        self.wanted = wanted
        self.end = end
        self.style: int | None = None

    def verdict(
        self, tree: ModuleSet, style: Spelling, *, whole: bool = False
    ) -> tuple[Verdict, list[Run]] | None:
        """Return the verdict and the runs of a program that shows the bug in this style."""
        verdict, runs = self.runner.verdict(tree, style, whole=whole, wanted=self.wanted)
        return (verdict, runs) if verdict and verdict.signature == self.wanted else None

    def __call__(self, tree: ModuleSet) -> bool:
        """Return whether a program shows the bug."""
        if time.monotonic() > self.end:
            raise _OutOfTimeError
        return self.verdict(tree, self.style) is not None

    def simplify(self, tree: ModuleSet) -> None:
        """Choose no style if the bug does not need one, else the style with the shortest source."""
        if self.style is None or self._shows(tree, None):
            return
        for style in range(STYLES):
            if len(_source(tree, style)) < len(_source(tree, self.style)):
                self._shows(tree, style)

    def _shows(self, tree: ModuleSet, style: int | None) -> bool:
        """Return whether a program shows the bug in this style; if so, set `style` to it."""
        shows = time.monotonic() <= self.end and self.verdict(tree, style) is not None
        if shows:
            self.style = style
        return shows


def _source(tree: ModuleSet, style: int | None) -> str:
    return render_module_set(tree, style=style).program


def reduce_suspect(
    runner: Runner, suspect: Suspect, seconds: float = MOST_SECONDS
) -> Reduced | None:
    """Return the smallest program with the suspect's signature, None if it cannot be reproduced.

    It is run up to `TRIES` times, because some bugs show only occasionally.

    Raises TargetError and JudgeError.
    """
    test = _Test(runner, suspect.verdict.signature, time.monotonic() + seconds)
    tree = encoding.decode(ModuleSet, suspect.data)
    plainly = [] if suspect.style is None or isinstance(suspect.style, str) else [None]
    for style in [*plainly, *[suspect.style] * TRIES]:
        if isinstance(style, str):
            return _reduce_text(test, suspect, style)
        test.style = style
        shown = test.verdict(tree, style, whole=True)
        if shown is not None:
            break
    else:
        return None
    reducer = Reducer(tree, test)
    is_smallest = False
    with contextlib.suppress(_OutOfTimeError, NotInterestingError):
        reducer.run()
        is_smallest = not reducer.unreliable
    best = reducer.best
    test.simplify(best)
    again = test.verdict(best, test.style, whole=True)
    if again is None:  # only the original is certain to show it
        best, is_smallest, test.style = tree, False, style
    else:
        shown = again
    verdict, runs = shown
    data = encoding.encode(best)
    nodes, construct = len(Index(best)), construct_of(best)
    return Reduced(data, nodes, verdict, runs, construct, reducer.tests, is_smallest, test.style)


def _reduce_text(test: _Test, suspect: Suspect, text: str) -> Reduced | None:
    """Return the shortest part of a source that is not Luau with the suspect's signature."""
    tree = encoding.decode(ModuleSet, suspect.data)
    shown = next(filter(None, (test.verdict(tree, text, whole=True) for _ in range(TRIES))), None)
    if shown is None:
        return None
    best, best_shown, tests = text, shown, 0

    def shows(part: str) -> bool:
        nonlocal best, best_shown, tests
        if time.monotonic() > test.end:
            raise _OutOfTimeError
        tests += 1
        if (found := test.verdict(tree, part, whole=True)) is None:
            return False
        best, best_shown = part, found
        return True

    is_smallest = False
    with contextlib.suppress(_OutOfTimeError):
        shortened(text, shows)
        is_smallest = True
    verdict, runs = best_shown
    nodes = size_of(tree, best)
    return Reduced(suspect.data, nodes, verdict, runs, construct_of(tree), tests, is_smallest, best)


def reduce_find(runner: Runner, find: Find, folder: Path) -> ModuleSet | None:
    """Reduce a find completely and update it; return the tree, None if it is not reproduced.

    Raises FileError, TargetError and JudgeError.
    """
    stem = finds.PROGRAM if find.reduced is None else finds.REDUCED
    bare = attrs.evolve(find.signature, construct="")
    data = encoding.encode(finds.tree_of(folder, stem))
    verdict = attrs.evolve(find.verdict, signature=bare)
    suspect = Suspect(data, verdict, [], find.origin, style=find.smallest.style)
    reduced = reduce_suspect(runner, suspect, math.inf)
    if reduced is None:
        return None
    reduced.put_into(find)
    construct = "" if is_clear(bare) else text_of(reduced.construct)
    find.verdict = attrs.evolve(reduced.verdict, signature=attrs.evolve(bare, construct=construct))
    return encoding.decode(ModuleSet, reduced.data)


def shortened(text: str, shows: Callable[[str], bool]) -> str:
    """Return a part of a text for which `shows` is true and which has no removable line or word.

    `shows` may stop this by raising an exception; it was called with each intermediate result.
    """
    text = "".join(_fewer(text.splitlines(keepends=True), shows))
    return "".join(_fewer(words(text), shows))


def _fewer(parts: list[str], shows: Callable[[str], bool]) -> list[str]:
    """Remove half of the parts at a time, then a quarter, until no single part can be removed."""
    length = max(1, len(parts) // 2)
    while True:
        start, before = 0, len(parts)
        while start < len(parts):
            left = parts[:start] + parts[start + length :]
            if shows("".join(left)):
                parts = left
            else:
                start += length
        if length > 1:
            length //= 2
        elif len(parts) == before:
            return parts
