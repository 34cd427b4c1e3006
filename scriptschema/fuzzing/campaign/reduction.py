"""Reduces a suspect to the smallest program with the same verdict.

If the program shows the bug without its style, it is reduced without it. Otherwise, the reduced
program is finally tried without a style and in other styles, to find the shortest source.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import attrs

from scriptschema.base import walk
from scriptschema.codec.copying import copy
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import Find, Reduced, Suspect, size_of, words
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles import causes, round_trip
from scriptschema.fuzzing.oracles.construct import (
    ANY_WORD,
    SPELLING,
    operations_of,
    text_of,
    words_of,
)
from scriptschema.fuzzing.oracles.judging import ACCEPTED, exception_of, is_clear
from scriptschema.fuzzing.oracles.needed import needed_operations, needed_words
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.reduce import NotInterestingError, Reducer
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Spelling
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.uncalled import runs_nothing
from scriptschema.luau.parse import ParseError, parse
from scriptschema.luau.render import render_module_set
from scriptschema.luau.repair import repair
from scriptschema.messages import ExprBinary, ExprUnary, ModuleSet, Stat, StatWhile
from scriptschema.versions import TODAY

MOST_SECONDS: Final = 120.0
"""The time limit in seconds, after which the smallest program so far is the result."""


TRIES: Final = 3

_WAYS: Final = (0, 1, TRIES)
"""The values of `_Test.tries`. The next is used if the one before turns out to be unreliable."""

_SMALL: Final = 60
"""Programs with more nodes must show the bug in exactly the same runs as the suspect."""

_SHORT: Final = 40
"""The maximum number of words of a text whose runs of words are removed, and of characters of a
text whose characters are removed: more would take too many tests."""

_RUN: Final = 3
"""The maximum number of adjacent words that are removed together."""

STYLES: Final = 64
"""The number of styles that are tried for the smallest program, if it needs a style."""


class _OutOfTimeError(Exception):
    """The reduction has reached its time limit."""


class _UnreliableError(Exception):
    """A program does not show the bug every time it is run."""


class _Test:
    """Tests whether a program, written in `style`, shows a suspect's bug.

    If the suspect's program, `tree`, executes no code, programs that execute code do not pass.
    If `exception` is not empty, programs with another exception message do not pass. `quick` is a
    runner for only the target and variant that show the bug, or None to run all of them.

    If `tries` is not 0, each program runs in a new process, up to `tries` times: some bugs depend
    on the programs that ran before, or occur only occasionally.
    """

    def __init__(self, runner: Runner, signature: Signature, end: float, tree: ModuleSet) -> None:
        self.runner = runner
        self.signature = signature
        self.targets = runner.config.run_targets
        self.end = end
        self.runs = not runs_nothing(tree)
        self.operators = _operators_of(tree)
        self.style: int | None = None
        self.exception = ""
        self.quick: Runner | None = None
        self.tries = 0

    def verdict(
        self, tree: ModuleSet, style: Spelling, *, whole: bool = False
    ) -> tuple[Verdict, list[Run]] | None:
        """Return the verdict and runs of a program, or None if it does not show the bug.

        If `whole` is true, all targets and variants run with their full time limits.
        """
        return self._tried(tree, style, self.tries, whole=whole)

    def confirmed(self, tree: ModuleSet, style: Spelling) -> tuple[Verdict, list[Run]] | None:
        """Like `verdict` with `whole`, but with any value of `tries`."""
        shown = self._tried(tree, style, 0, whole=True)
        return shown or self._tried(tree, style, TRIES, whole=True)

    def _tried(
        self, tree: ModuleSet, style: Spelling, tries: int, *, whole: bool
    ) -> tuple[Verdict, list[Run]] | None:
        runner = self.runner if whole else self.quick or self.runner
        for _ in range(max(tries, 1)):
            if tries:
                runner.restart()
            shown = self._verdict(runner, tree, style, whole=whole)
            if shown is not None:
                return shown
        return None

    def _verdict(
        self, runner: Runner, tree: ModuleSet, style: Spelling, *, whole: bool
    ) -> tuple[Verdict, list[Run]] | None:
        verdict, runs = runner.verdict(tree, style, whole=whole, wanted=self.signature)
        if verdict is None or not verdict.signature.agrees(self.signature, self.targets):
            return None
        if verdict.signature.detail != self.signature.detail and len(Index(tree)) > _SMALL:
            return None  # the program has room for two bugs
        if self.exception and exception_of(verdict) != self.exception:
            return None
        return verdict, runs

    def __call__(self, tree: ModuleSet) -> bool:
        """Return whether a program shows the bug."""
        if time.monotonic() > self.end:
            raise _OutOfTimeError
        if not self.runs and not runs_nothing(tree):
            return False
        # The reducer puts `#{}` in place of values: a printer may have another bug of `#`.
        if self.signature.kind == round_trip.KIND and any(
            last > self.operators.get(cls, -1) for cls, last in _operators_of(tree).items()
        ):
            return False
        return self.verdict(tree, self.style) is not None

    def simplify(self, tree: ModuleSet) -> None:
        """Drop the style if the bug does not need it, or use a style with a shorter source."""
        if self.style is None or self._shows(tree, None):
            return
        for style in range(STYLES):
            if len(_source(tree, style)) < len(_source(tree, self.style)):
                self._shows(tree, style)

    def _shows(self, tree: ModuleSet, style: int | None) -> bool:
        """Return whether a program in `style` shows the bug. If so, set `self.style`."""
        shows = time.monotonic() <= self.end and self.verdict(tree, style) is not None
        if shows:
            self.style = style
        return shows


def _operators_of(tree: ModuleSet) -> dict[type, int]:
    """Return the last operator of each enum that a program uses. The reducer tries earlier ones."""
    last: dict[type, int] = {}
    for node, _ in walk(tree):
        if isinstance(node, ExprUnary | ExprBinary):
            last[node.op.__class__] = max(node.op, last.get(node.op.__class__, -1))
    return last


def _source(tree: ModuleSet, style: int | None) -> str:
    return render_module_set(tree, style=style).program


def reduce_suspect(
    runner: Runner, suspect: Suspect, seconds: float = MOST_SECONDS
) -> Reduced | None:
    """Return the smallest program with the suspect's signature, or None if it cannot be reproduced.

    If necessary, programs run in new processes, up to `TRIES` times. `seconds` limits the
    reduction. Raises TargetError and JudgeError.
    """
    tree = suspect.tree
    end = time.monotonic() + seconds
    test = _Test(runner, suspect.verdict.signature, end, tree)
    test.exception = suspect.exception
    plainly = [] if suspect.style is None or isinstance(suspect.style, str) else [None]
    for style in [*plainly, suspect.style]:
        if isinstance(style, str):
            return _reduce_text(test, suspect, style)
        test.style = style
        shown = test.confirmed(tree, style)
        if shown is not None:
            break
    else:
        return None
    verdict, runs = shown
    if verdict.signature.kind == outcome.ENDLESS:  # what is left of the program may be endless
        nothing: frozenset[str] = frozenset()
        nodes = len(Index(tree))
        return Reduced(suspect.data, nodes, verdict, runs, nothing, nothing, 0, style=test.style)
    tests, best, is_smallest = 0, tree, False
    # If a program also shows another bug with an earlier variant, its verdict is that of the other
    # bug. In this case, the reduction is repeated with all variants.
    quick = runner.only_broken(runs)
    with contextlib.closing(quick) if quick is not None else contextlib.nullcontext():
        for test.quick, tries in itertools.product([quick, None] if quick else [None], _WAYS):
            test.tries = tries
            try:
                smaller, is_smallest, count = _reduce_tree(test, best)
            except NotInterestingError:  # with this variant, the program shows another bug
                continue
            tests += count
            again = test.confirmed(smaller, test.style)
            if again is not None:
                verdict, runs = again
                best, style = smaller, test.style
                if is_smallest or tries == TRIES:
                    break
            else:
                is_smallest, test.style = False, style  # only the program before is certain
            if time.monotonic() > end:
                break
    construct, operations = finds.construct_of_reduced(best), operations_of(best)
    if is_smallest and test.style is not None:
        construct, operations = frozenset([SPELLING]), frozenset()
    elif is_smallest and verdict.signature.kind in causes.KINDS and not is_clear(verdict.signature):
        test.quick, test.tries = None, tries  # the quick runner is closed
        with contextlib.suppress(_OutOfTimeError):
            operations = needed_operations(best, test)
    data = encoding.encode(best)
    return Reduced(
        data,
        len(Index(best)),
        verdict,
        runs,
        construct,
        operations,
        tests,
        is_smallest,
        test.style,
    )


def _reduce_tree(test: _Test, tree: ModuleSet) -> tuple[ModuleSet, bool, int]:
    """Return a smaller program, whether it is the smallest, and the number of tests."""
    is_smallest = False

    def stop_if_unreliable(reducer: Reducer[ModuleSet]) -> None:
        if reducer.unreliable and test.tries == 1:
            raise _UnreliableError

    reducer = Reducer(tree, test, changed=stop_if_unreliable)
    with contextlib.suppress(_OutOfTimeError, _UnreliableError):
        reducer.run()
        is_smallest = not reducer.unreliable
    smaller = reducer.best
    test.simplify(smaller)
    # A program that crashes, or is only printed, does not loop forever in a `while`.
    kinds = outcome.BROKEN | {round_trip.KIND}
    if test.signature.kind in kinds and not is_clear(test.signature):
        smaller = _with_while(smaller, partial(test.verdict, style=test.style, whole=True))
    return smaller, is_smallest, reducer.tests


def _with_while(tree: ModuleSet, shows: Callable[[ModuleSet], object]) -> ModuleSet:
    """Return a program with `while` in place of `repeat` if it shows the bug, otherwise `tree`.

    Such a program is not smaller, but a bug that occurs in both loops gets the same construct.
    """
    edited = copy(tree)
    loops = [(node, node.repeat) for node, _ in walk(edited) if isinstance(node, Stat)]
    for stat, loop in loops:
        if loop is not None:
            stat.while_ = StatWhile(cond=loop.cond, body=loop.body)
    edited = repair(edited)
    return edited if edited != tree and shows(edited) else tree


def _reduce_text(test: _Test, suspect: Suspect, text: str) -> Reduced | None:
    """Reduce `text`, which is not valid Luau. Return None if it does not show the bug."""
    tree = suspect.tree
    shown = next(filter(None, (test.verdict(tree, text, whole=True) for _ in range(TRIES))), None)
    if shown is None:
        return None
    best, best_shown, tests = text, shown, 0
    problem, is_smallest = _problem(text), False
    needed: frozenset[str] | None = None

    def may_show_another(part: str) -> bool:
        # A lenient target accepts most sources, but not all because of the same bug.
        if test.signature.kind != ACCEPTED:
            return False
        return _problem(part) != problem if needed is None else not needed <= words_of(part)

    def shows(part: str) -> bool:
        nonlocal best, best_shown, tests
        if may_show_another(part) or (result := shown_by(part)) is None:
            return False
        best, best_shown = part, result
        return True

    def shown_by(part: str) -> tuple[Verdict, list[Run]] | None:
        nonlocal tests
        if time.monotonic() > test.end:
            raise _OutOfTimeError
        tests += 1
        return test.verdict(tree, part, whole=True)

    with contextlib.suppress(_OutOfTimeError):
        shortened(text, shows)
        needed = needed_words(best, lambda part: shown_by(part) is not None)
        if test.signature.kind == ACCEPTED and needed:
            shortened(best, shows)
        is_smallest = True
    verdict, runs = best_shown
    return Reduced(
        suspect.data,
        size_of(tree, best),
        verdict,
        runs,
        words_of(best) if needed is None else needed or frozenset([ANY_WORD]),
        frozenset(),
        tests,
        is_smallest,
        best,
    )


def _problem(text: str) -> str:
    """Return why `text` is not valid Luau, without positions, or "" if it is valid."""
    try:
        parse(text, luau=TODAY)
    except ParseError as error:
        return re.sub(r"\d+", "0", str(error))
    return ""


def reduce_find(runner: Runner, find: Find, folder: Path) -> ModuleSet | None:
    """Reduce a find without a time limit, update it, and return the reduced tree.

    A member keeps its exception message, in which it may differ from its find. Returns None if the
    bug was not reproduced. Raises FileError, TargetError and JudgeError.
    """
    bare = find.signature.bare
    suspect = finds.suspect_of(find, folder)
    if folder.absolute().parent.name == finds.MEMBERS:
        suspect = attrs.evolve(suspect, exception=exception_of(find.verdict))
    reduced = reduce_suspect(runner, suspect, math.inf)
    if reduced is None:
        return None
    reduced.put_into(find)
    construct = "" if is_clear(bare) else text_of(reduced.construct)
    find.verdict = attrs.evolve(reduced.verdict, signature=attrs.evolve(bare, construct=construct))
    return reduced.tree


def shortened(text: str, shows: Callable[[str], bool]) -> str:
    """Return `text` without what can be removed while `shows` returns true.

    First lines are removed, then words. If the result is short, runs of words such as `(x)` are
    removed as well, and finally characters. `shows` is called with each candidate text, and may
    stop the search by raising an exception.
    """
    text = "".join(_fewer(text.splitlines(keepends=True), shows))
    text = "".join(_without_runs(_fewer(words(text), shows), shows))
    return "".join(_fewer([*text], shows)) if len(text) <= _SHORT else text


def _without_runs(parts: list[str], shows: Callable[[str], bool]) -> list[str]:
    """Return `parts` without brackets and their content, and without runs of up to `_RUN` parts.

    `_fewer` has already tried each single part. More than `_SHORT` parts are returned unchanged.
    """
    for start in range(len(parts) if len(parts) <= _SHORT else 0):
        ends = {_end_of_brackets(parts, start), *range(start + 2, start + _RUN + 1)}
        for end in sorted((end for end in ends if start + 1 < end <= len(parts)), reverse=True):
            left = parts[:start] + parts[end:]
            if left and shows("".join(left)):
                return _without_runs(_fewer(left, shows), shows)
    return parts


def _end_of_brackets(parts: list[str], start: int) -> int:
    """Return the index after the bracket that closes the one at `start`, or after all parts."""
    depth = 0
    for number in range(start, len(parts)):
        depth += (parts[number] in "([{") - (parts[number] in ")]}")
        if depth == 0:
            break
    return number + 1


def _fewer(parts: list[str], shows: Callable[[str], bool]) -> list[str]:
    """Remove halves, then quarters and so on, and finally single parts, if `shows` accepts that."""
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
