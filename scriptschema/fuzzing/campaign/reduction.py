"""The reduction of a suspect: the smallest program with the same verdict, and what that uses."""

from __future__ import annotations

import time
from typing import Final

import attrs

from scriptschema import wire
from scriptschema.fuzzing.campaign.fuzzer import Suspect
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles.construct import construct_of
from scriptschema.fuzzing.oracles.verdict import Verdict
from scriptschema.fuzzing.reduce import NotInterestingError, Reducer
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.messages import ModuleSet

MOST_SECONDS: Final = 120.0
"""After so long the smallest program so far is taken."""


@attrs.frozen
class Reduced:
    """The smallest program found: its tree's bytes and messages, its verdict, what it uses."""

    data: bytes
    nodes: int
    verdict: Verdict
    runs: list[Run]
    construct: frozenset[str]
    tests: int


class _OutOfTimeError(Exception):
    """The reduction has taken long enough."""


def reduce_suspect(
    runner: Runner, suspect: Suspect, seconds: float = MOST_SECONDS
) -> Reduced | None:
    """Return the smallest program with the suspect's signature, None if it does not show again.

    Raises TargetError and JudgeError.
    """
    wanted = suspect.verdict.signature
    end = time.monotonic() + seconds

    def shows(tree: ModuleSet) -> bool:
        if time.monotonic() > end:
            raise _OutOfTimeError
        found, _ = runner.verdict(tree)
        return found is not None and found.signature == wanted

    reducer = Reducer(wire.decode(ModuleSet, suspect.data), shows)
    try:
        best = reducer.run()
    except _OutOfTimeError:
        best = reducer.best
    except NotInterestingError:
        return None
    verdict, runs = runner.verdict(best, whole=True)
    if verdict is None or verdict.signature != wanted:
        return None
    data = wire.encode(best)
    return Reduced(data, len(Index(best)), verdict, runs, construct_of(best), reducer.tests)
