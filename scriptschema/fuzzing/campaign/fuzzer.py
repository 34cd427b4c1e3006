"""A fuzzer: it creates programs, runs and judges them, and keeps those with new behaviour.

    fuzzer = Fuzzer(config, seed=1)
    batch = fuzzer.work(seconds=10)          counts, kept trees and suspects
    fuzzer.add(data)                         a tree that another fuzzer kept
    fuzzer.close()

A fuzzer works alone, in one process. A campaign has one in each worker and exchanges the kept trees
between them; `triage` handles their suspects.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import attrs

from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Suspect
from scriptschema.fuzzing.campaign.programs import Made, ProgramSource, Rewriting
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.campaign.statistics import Interval
from scriptschema.fuzzing.corpora import features
from scriptschema.fuzzing.corpora.folder import name_of
from scriptschema.fuzzing.oracles import normalisation
from scriptschema.fuzzing.oracles.construct import construct_of
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet
from scriptschema.versions import TODAY

_PER_BATCH: Final = 1
"""The maximum number of suspects per signature in a batch; the rest are only counted."""

_ROUND_TRIPS: Final = 64
"""The round trip is checked for one in this many programs, and for each program that is kept."""

_PAUSE: Final = 0.1
"""Seconds to wait for the inputs of another engine."""

_REWRITTEN: Final = 8
"""One in this many programs is rewritten, and so is each program that is kept."""

Enough = Mapping[Signature, Sequence[frozenset[str]]]
"""Signatures with enough suspects; see `Fuzzer.work`."""


@attrs.define
class Batch:
    """The work of a fuzzer: counts, trees to keep, suspects, and counts of repeated verdicts.

    `messages` are the kinds of error messages that programs ended with. `covered` has the counters
    of targets that were new to the fuzzer, as pairs of the target's number and the counter's
    number. `inputs` names the inputs of another engine that were judged; those in `unreadable` are
    not Luau.
    """

    interval: Interval = attrs.field(factory=Interval)
    kept: list[bytes] = attrs.field(factory=list)
    messages: set[str] = attrs.field(factory=set)
    covered: set[tuple[int, int]] = attrs.field(factory=set)
    inputs: list[str] = attrs.field(factory=list)
    unreadable: list[str] = attrs.field(factory=list)
    suspects: list[Suspect] = attrs.field(factory=list)
    again: Counter[Signature] = attrs.field(factory=Counter)

    def add(self, later: Batch) -> None:
        """Add the contents of a later batch."""
        self.interval.add(later.interval)
        self.kept += later.kept
        self.messages |= later.messages
        self.covered |= later.covered
        self.inputs += later.inputs
        self.unreadable += later.unreadable
        self.suspects += later.suspects
        self.again.update(later.again)


class Fuzzer:
    """A fuzzer, as described in the module's docstring. `seed` differs for each in a campaign.

    `corpus` has encoded trees, which are repaired because they may come from somebody else.

    `programs` supplies the programs, by default `ProgramSource(config, seed)`.

    Raises TargetError and JudgeError, here and in `work`.
    """

    def __init__(
        self,
        config: Config,
        *,
        seed: int,
        corpus: Iterable[bytes] = (),
        programs: ProgramSource | None = None,
    ) -> None:
        self._programs = programs or ProgramSource(config, seed)
        self._counted: Counter[int] = Counter()
        self._plain: list[Made] = []
        self._not_run: list[tuple[str, ModuleSet]] = []
        """Corpus trees of others: run first, so that their coverage is not considered new."""
        self._handed: Counter[Signature] = Counter()
        self._enough: Enough = MappingProxyType({})
        self._looked = 0
        self._first: list[bytes] = []
        self._rewritten: Made | None = None  # run next
        self.runner = Runner(config)
        self._novelty = Novelty(self.runner.judge.targets)
        for data in corpus:
            self.add(encoding.encode(repair(encoding.decode(ModuleSet, data))))

    def add(self, data: bytes) -> None:
        """Add a tree to the corpus: its features are no longer new, and it may be mutated."""
        tree = encoding.decode(ModuleSet, data)
        self._novelty.is_new(features.numbers_of(encoding.scan(ModuleSet, data)), set())
        name = name_of(data)
        if self._novelty.counts is not False and self._programs.admits(data):
            self._not_run.append((name, tree))
        self._programs.adopt(name, tree, ended=None)

    def run_first(self, trees: Iterable[bytes]) -> None:
        """Run trees of the corpus before other programs, if the targets support them."""
        self._first += [data for data in trees if self._programs.admits(data)]

    def close(self) -> None:
        """End the targets."""
        self.runner.close()

    def work(
        self,
        *,
        seconds: float,
        programs: int | None = None,
        enough: Enough = MappingProxyType({}),
        at_once: bool = False,
    ) -> Batch:
        """Fuzz for at most `seconds` and `programs`; with `at_once`, until the first suspect.

        Verdicts with a signature in `enough` are only counted: all of them if it has no constructs,
        else those whose programs use every part of one of its constructs.
        """
        batch = Batch()
        self._handed.clear()
        self._enough = enough
        end = time.monotonic() + seconds
        count = 0
        waiting: Made | None = None
        while programs is None or count < programs:
            # The next program is generated while the previous one runs.
            made = self._make()
            runs = self.runner.collect() if waiting else []
            if made is not None:
                self.runner.submit(made.sources)
                count += 1
            if waiting is not None:
                self._look(waiting, runs, batch, made)
            elif made is None:
                time.sleep(_PAUSE)
            waiting = made
            if at_once and batch.suspects:
                if waiting is not None:
                    self._put_back(waiting)
                waiting = None
                break
            if time.monotonic() >= end:
                break
        if waiting:
            self._look(waiting, self.runner.collect(), batch, None)
        names = features.names(TODAY)
        batch.interval.features.update({names[n]: count for n, count in self._counted.items()})
        self._counted.clear()
        batch.interval.operators = self._programs.operators()
        batch.unreadable = self._programs.unreadable()
        return batch

    def _make(self) -> Made | None:
        """Return a program to run first, a corpus tree that was not run, or the next program."""
        if self._rewritten is not None:
            made, self._rewritten = self._rewritten, None
            return made
        if self._plain:
            return self._plain.pop()
        if self._first:
            data = self._first.pop()
            tree = encoding.decode(ModuleSet, data)
            return Made(tree, {"corpus": name_of(data)})
        if self._not_run and self._novelty.counts is not False:
            name, tree = self._not_run.pop()
            return Made(tree, {"corpus": name})
        return self._programs.next()

    def _put_back(self, made: Made) -> None:
        """Let a program that was not judged be run again, in its original role."""
        if made.rewriting is not None:
            self._rewritten = made
        elif "corpus" in made.origin:
            self._first.append(encoding.encode(made.tree))
        else:
            self._programs.put_back(made)

    def _look(self, made: Made, runs: list[Run], batch: Batch, following: Made | None) -> None:
        """Count and judge a program, and keep it if new; `following` is running."""
        self._looked += 1
        if made.rewriting is not None:
            self._count(batch.interval, runs, [])
            self._compare(made, made.rewriting, runs, batch, following)
            return
        data = encoding.encode(made.tree)
        if made.is_broken:
            self._count(batch.interval, runs, [])
            verdict = self.runner.judge.judge_refusal(made.sources.program, runs)
            if verdict is not None:
                self._suspect(made, data, runs, verdict, batch, following)
            return
        scan = encoding.scan(ModuleSet, data)
        numbers = features.numbers_of(scan)
        self._count(batch.interval, runs, numbers)
        ended = runs[0].outcome.kind == outcome.OK
        if made.parent is not None:
            made.parent.count(ended=ended)
        new = self._is_new(made, runs, numbers, batch) and "corpus" not in made.origin
        verdict = self.runner.judge.judge(made.sources, runs, scan, made.plain)
        if verdict is None and (new or self._looked % _ROUND_TRIPS == 0):
            verdict = self.runner.judge.judge_text(made.sources, made.plain)
        verdict = verdict or made.claim
        if verdict is not None:
            self._suspect(made, data, runs, verdict, batch, following)
        elif new and any(run.outcome.kind in outcome.ORDINARY for run in runs):
            batch.kept.append(data)
            self._programs.adopt(name_of(data), made.tree, ended=ended)
            if made.mutant is not None:
                self._programs.useful(made.mutant)
        rewrites = self.runner.config.rewrites and verdict is None and ended
        if rewrites and not self._rewritten and (new or self._looked % _REWRITTEN == 0):
            self._rewritten = self._programs.rewritten(made, runs)
        if "input" in made.origin:
            batch.inputs.append(made.origin["input"])

    def _compare(
        self,
        made: Made,
        rewriting: Rewriting,
        runs: list[Run],
        batch: Batch,
        following: Made | None,
    ) -> None:
        """Judge a rewritten program, and compare its runs with those of the original."""
        data = encoding.encode(made.tree)
        scan = encoding.scan(ModuleSet, data)
        verdict = self.runner.judge.judge(made.sources, runs, scan, made.plain)
        if verdict is None:
            name, made = rewriting.name, rewriting.original
            verdict, runs = self.runner.judge_rewritten(name, made.tree, rewriting.runs, runs)
            data = encoding.encode(made.tree)
        if verdict is not None:
            self._suspect(made, data, runs, verdict, batch, following)

    def _count(self, interval: Interval, runs: list[Run], numbers: list[int]) -> None:
        interval.programs += 1
        interval.runs += len(runs)
        interval.outcomes[runs[0].outcome.kind] += 1
        self._counted.update(numbers)
        for run in runs:
            interval.run_seconds += run.outcome.seconds
            if run.outcome.kind not in (outcome.OK, outcome.FLOOD):
                interval.errors[normalisation.message(run.outcome.error)] += 1

    def _is_new(self, made: Made, runs: list[Run], numbers: list[int], batch: Batch) -> bool:
        """Return whether a program shows something new, and record it."""
        messages = kinds_of(runs, made.plain.program)
        batch.messages |= messages
        covered = self._novelty.new_counters(runs, styled=made.style is not None)
        if made.style is None:
            batch.covered |= covered
        elif covered:
            # Corpus trees have no style: run it again without, and keep it if it covers the same.
            self._plain.append(attrs.evolve(made, style=None))
            covered = set()
        return self._novelty.is_new(numbers, messages) | bool(covered)

    def _suspect(
        self,
        made: Made,
        data: bytes,
        runs: list[Run],
        verdict: Verdict,
        batch: Batch,
        following: Made | None,
    ) -> None:
        """Report a suspect if a second run confirms it; only count it if there are enough.

        A crash or another outcome of `BROKEN` is reported even if the second run does not show it.
        """
        signature = verdict.signature
        if self._handed[signature] >= _PER_BATCH or self._is_enough(signature, made.tree):
            batch.again[signature] += 1
            return
        if following is not None:
            self.runner.collect()  # interrupted, and submitted again below
        second, again = self.runner.verdict(made.tree, made.style, whole=True, wanted=signature)
        first = Suspect(data, verdict, runs, made.origin, _requests_of(runs), made.style)
        if second is not None and second.signature == signature:
            self._handed[signature] += 1
            batch.suspects.append(attrs.evolve(first, verdict=second, runs=again))
        else:
            other = None
            if second is not None:
                requests = _requests_of(again)
                other = Suspect(data, second, again, made.origin, requests, made.style)
            for suspect in filter(None, (first, other)):
                if suspect.verdict.signature.kind not in outcome.BROKEN:
                    batch.interval.unconfirmed += 1
                    continue
                once = suspect.seen_once()
                if self._is_enough(once.verdict.signature, made.tree):
                    batch.again[once.verdict.signature] += 1
                else:
                    batch.suspects.append(once)
        if following is not None:
            self.runner.submit(following.sources)

    def _is_enough(self, signature: Signature, tree: ModuleSet) -> bool:
        known = self._enough.get(signature)
        if not known:
            return known is not None
        construct = construct_of(tree)
        return any(each <= construct for each in known)


def _requests_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the latest requests to the first process that broke."""
    return next((run.outcome.requests for run in runs if run.outcome.requests), ())


class Novelty:
    """The features of programs, kinds of outcomes and counters of `targets` that were seen.

    A counter is a pair: the number of its run's target, and its own number. `counts` is whether a
    target reports coverage; it is None before the first run.
    """

    def __init__(self, targets: Sequence[int]) -> None:
        self.counts: bool | None = None
        self._targets = targets
        self._features: set[int] = set()
        self._messages: set[str] = set()
        self._counters: set[tuple[int, int]] = set()
        self._in_styles: set[tuple[int, int]] = set()

    def is_new(self, numbers: Iterable[int], messages: set[str]) -> bool:
        """Return whether a feature's number or a kind of message is new, and record all of them."""
        numbers = [*numbers]
        found = not self._features.issuperset(numbers) or not messages <= self._messages
        self._features.update(numbers)
        self._messages |= messages
        return found

    def new_counters(self, runs: Sequence[Run], *, styled: bool) -> set[tuple[int, int]]:
        """Return the counters that these runs are the first to reach, and record them.

        Counters reached by a program in a style (`styled`) are still new for programs without a
        style.
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
    """Return each run's kind of outcome with its kind of message; a program's own are one kind."""
    found = set()
    for run in runs:
        said = run.outcome.error
        kind = normalisation.message_kind(said, source) if said else ""
        found.add(f"{run.outcome.kind} {kind}")
    return found
