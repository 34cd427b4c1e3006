"""The reduction of a suspect: the smallest program with the same verdict, and its construct."""

from __future__ import annotations

import contextlib
import math
import time
from pathlib import Path
from typing import Final

import attrs

from scriptschema import wire
from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.finds import Find, Shown
from scriptschema.fuzzing.campaign.fuzzer import Suspect
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles.construct import construct_of, text_of
from scriptschema.fuzzing.oracles.judging import is_clear
from scriptschema.fuzzing.oracles.verdict import Verdict
from scriptschema.fuzzing.reduce import NotInterestingError, Reducer
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.messages import ModuleSet

MOST_SECONDS: Final = 120.0
"""Time limit, after which the smallest program so far is the result."""


@attrs.frozen
class Reduced:
    """The smallest program found: its encoded tree, number of messages, verdict and construct.

    `is_smallest` is false if the time limit ended the reduction.
    """

    data: bytes
    nodes: int
    verdict: Verdict
    runs: list[Run]
    construct: frozenset[str]
    tests: int
    is_smallest: bool = True

    def put_into(self, find: Find) -> None:
        """Store the result of the reduction in a find."""
        find.reduced = Shown(self.nodes, self.runs)
        find.reduction_tests += self.tests
        find.is_smallest = self.is_smallest


TRIES: Final = 3


class _OutOfTimeError(Exception):
    """The reduction has reached its time limit."""


def reduce_suspect(
    runner: Runner, suspect: Suspect, seconds: float = MOST_SECONDS
) -> Reduced | None:
    """Return the smallest program with the suspect's signature, None if it cannot be reproduced.

    It is run up to `TRIES` times, because some bugs show only occasionally.

    Raises TargetError and JudgeError.
    """
    wanted = suspect.verdict.signature
    end = time.monotonic() + seconds

    def shows(tree: ModuleSet) -> bool:
        if time.monotonic() > end:
            raise _OutOfTimeError
        found, _ = runner.verdict(tree, wanted=wanted)
        return found is not None and found.signature == wanted

    tree = wire.decode(ModuleSet, suspect.data)
    for _ in range(TRIES):
        verdict, runs = runner.verdict(tree, whole=True, wanted=wanted)
        if verdict is not None and verdict.signature == wanted:
            break
    else:
        return None
    reducer = Reducer(tree, shows)
    is_smallest = False
    with contextlib.suppress(_OutOfTimeError, NotInterestingError):
        reducer.run()
        is_smallest = not reducer.unreliable
    best = reducer.best
    again, those = runner.verdict(best, whole=True, wanted=wanted)
    if again is None or again.signature != wanted:  # only the original is certain to show it
        best, is_smallest = tree, False
    else:
        verdict, runs = again, those
    data = wire.encode(best)
    nodes, construct = len(Index(best)), construct_of(best)
    return Reduced(data, nodes, verdict, runs, construct, reducer.tests, is_smallest)


def reduce_find(runner: Runner, find: Find, folder: Path) -> ModuleSet | None:
    """Reduce a find completely and update it; return the tree, None if it is not reproduced.

    Raises FileError, TargetError and JudgeError.
    """
    stem = finds.PROGRAM if find.reduced is None else finds.REDUCED
    bare = attrs.evolve(find.signature, construct="")
    data = wire.encode(finds.tree_of(folder, stem))
    suspect = Suspect(data, attrs.evolve(find.verdict, signature=bare), [], find.origin)
    reduced = reduce_suspect(runner, suspect, math.inf)
    if reduced is None:
        return None
    reduced.put_into(find)
    construct = "" if is_clear(bare) else text_of(reduced.construct)
    find.verdict = attrs.evolve(reduced.verdict, signature=attrs.evolve(bare, construct=construct))
    return wire.decode(ModuleSet, reduced.data)
