"""Novelty: what a fuzzer has seen, and so what of a program or of its runs is new."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scriptschema.fuzzing.oracles import normalisation
from scriptschema.fuzzing.targets.outcome import Run


class Novelty:
    """The features of programs, the kinds of outcomes and the counters of `targets` that were seen.

    A counter is the number of its run's target, and its own. `counts` tells whether a target counts
    what it covers; it is None before the first run.
    """

    def __init__(self, targets: Sequence[int]) -> None:
        self.counts: bool | None = None
        self._targets = targets
        self._features: set[int] = set()
        self._messages: set[str] = set()
        self._counters: set[tuple[int, int]] = set()
        self._in_styles: set[tuple[int, int]] = set()

    def is_new(self, numbers: Iterable[int], messages: set[str]) -> bool:
        """Return whether a feature's number or a kind of message is new, and note all of them."""
        numbers = [*numbers]
        found = not self._features.issuperset(numbers) or not messages <= self._messages
        self._features.update(numbers)
        self._messages |= messages
        return found

    def new_counters(self, runs: Sequence[Run], *, styled: bool) -> set[tuple[int, int]]:
        """Return the counters that only these runs have reached, and note them.

        What a program in a style (`styled`) reaches is still new to one without.
        """
        self.counts = self.counts or any(run.outcome.coverage is not None for run in runs)
        covered = {
            (target, counter)
            for target, run in zip(self._targets, runs, strict=True)
            for counter in run.outcome.coverage or ()
        }
        new = covered - self._counters
        if styled:
            new -= self._in_styles
            self._in_styles |= new
        else:
            self._counters |= new
        return new


def kinds_of(runs: Iterable[Run], source: str) -> set[str]:
    """Return the kinds of outcomes, with those of messages: a program's own are one kind."""
    found = set()
    for run in runs:
        said = run.outcome.error
        kind = normalisation.message_kind(said, source) if said else ""
        found.add(f"{run.outcome.kind} {kind}")
    return found
