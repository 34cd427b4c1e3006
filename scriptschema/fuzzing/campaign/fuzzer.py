"""A fuzzer: creates programs, runs and judges them, and keeps programs with new behaviour.

    fuzzer = Fuzzer(config, seed=1)
    batch = fuzzer.work(seconds=10)          counts, kept trees and suspects
    fuzzer.add(data)                         a tree that another fuzzer kept
    fuzzer.close()

Each of a campaign's workers has one fuzzer. The campaign passes the trees that one fuzzer keeps to
the others, and all suspects to `triage`.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import attrs

from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Suspect
from scriptschema.fuzzing.campaign.programs import MadeProgram, ProgramSource, Rewriting
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.campaign.statistics import Interval
from scriptschema.fuzzing.corpora import features
from scriptschema.fuzzing.corpora.folder import name_of
from scriptschema.fuzzing.oracles import differential, normalisation, round_trip
from scriptschema.fuzzing.oracles.construct import construct_of, contains, text_of
from scriptschema.fuzzing.oracles.judging import Plain, exception_of, is_clear
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.uncalled import runs_nothing
from scriptschema.luau.repair import repair_in_place
from scriptschema.luau.sources import encode
from scriptschema.messages import ModuleSet
from scriptschema.versions import TODAY

EXCEPTIONS: Final = 8
"""The maximum number of exception messages for which programs of one find are kept."""

_ROUND_TRIPS: Final = 64
"""scriptschema's own round trip is checked for one in this many programs, and for each program that
is kept. A campaign's printer is run on every program."""

_PAUSE: Final = 0.1
"""The pause in seconds before looking again for inputs of another engine."""

_REWRITTEN: Final = 8
"""One in this many programs is rewritten, and so is each program that is kept."""

Enough = Mapping[Signature, Sequence[frozenset[str]]]
"""Maps each signature that needs no further suspects to constructs: see `Fuzzer.work`."""


@attrs.define
class Batch:
    """The results of a fuzzer's work since the last batch.

    `interval` contains counts. `kept` are encoded trees to add to the corpus. `messages` are
    outcomes with kinds of error messages (see `kinds_of`). `covered` are coverage counters that
    were new to the fuzzer, as (target index, counter index) pairs. `suspects` are programs that may
    show bugs. `again` counts verdicts, by signature, that were not reported because there were
    enough suspects. Unless the signature is clear, it includes the program's construct.

    `endless` are the sources of programs that hang in all runs, and are only counted because they
    are probably endless themselves.

    `corpus` are the names of the corpus trees that were run. `inputs` are the names of another
    engine's inputs that were judged. `unreadable` are the names of its crash and hang inputs that
    could not be judged, because they are not Luau.
    """

    interval: Interval = attrs.field(factory=Interval)
    kept: list[bytes] = attrs.field(factory=list)
    messages: set[str] = attrs.field(factory=set)
    covered: set[tuple[int, int]] = attrs.field(factory=set)
    endless: list[bytes] = attrs.field(factory=list)
    corpus: list[str] = attrs.field(factory=list)
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
        self.endless += later.endless
        self.corpus += later.corpus
        self.inputs += later.inputs
        self.unreadable += later.unreadable
        self.suspects += later.suspects
        self.again.update(later.again)


class Fuzzer:
    """Creates, runs and judges programs, and keeps programs with new behaviour.

    `seed` differs for each fuzzer of a campaign. `corpus` contains encoded trees, which are added
    first. `programs` supplies the programs, by default `ProgramSource(config, seed)`. The
    constructor and `work` raise TargetError and JudgeError.
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
        self._plain: list[MadeProgram] = []
        self._not_run: list[tuple[str, ModuleSet]] = []
        """Corpus trees of other fuzzers. They run first, and their coverage does not count as
        new."""
        self._handed: set[Signature] = set()
        """Signatures for which the batch has a suspect. Others are only counted."""
        self._enough: Enough = MappingProxyType({})
        self._exceptions: defaultdict[Signature, set[str]] = defaultdict(set)
        self._looked = 0
        self._first: list[bytes] = []
        self._rewritten: MadeProgram | None = None  # run next
        self.runner = Runner(config)
        self._novelty = Novelty(self.runner.judge.targets)
        self._novelty_compiled = Novelty(self.runner.judge.targets)
        """Like `_novelty`, for programs that are only compiled. Their coverage counters are
        recorded in `_novelty`."""
        for data in corpus:
            self.add(data)

    def add(self, data: bytes) -> None:
        """Add an encoded tree to the corpus.

        It is repaired, because somebody else's campaign may contain invalid trees. From
        then on, mutants may be derived from it, and its features no longer count as new.
        """
        tree = encoding.decode(ModuleSet, data)
        repair_in_place(tree)
        novelty = self._novelty_compiled if runs_nothing(tree) else self._novelty
        novelty.is_new(features.numbers_of(encoding.listed(tree)), set())
        name = name_of(encoding.encode(tree))
        if self._novelty.counts is not False and self._programs.restriction.admits(tree):
            self._not_run.append((name, tree))
        self._programs.adopt(name, tree, ended=None)

    def run_first(self, trees: Iterable[bytes]) -> None:
        """Run these corpus trees before other programs, instead of those of the last call."""
        self._first = [*trees]

    def close(self) -> None:
        """Terminate the target processes."""
        self.runner.close()

    def work(
        self,
        *,
        seconds: float,
        programs: int | None = None,
        enough: Enough = MappingProxyType({}),
        at_once: bool = False,
    ) -> Batch:
        """Fuzz until the time limit or the program limit is reached, and return the results.

        If `at_once` is true, stop at the first suspect. Verdicts whose signature is in `enough` are
        counted but not reported. If `enough` lists constructs (sets of language features) for a
        signature, this applies only to programs that use all features of one of these constructs.
        """
        batch = Batch()
        self._handed.clear()
        self._enough = enough
        end = time.monotonic() + seconds
        count = 0
        waiting: MadeProgram | None = None
        # While a printer or checker runs, no target may run: its run would seem to take as long.
        runs_commands = self.runner.judge.runs_commands
        while programs is None or count < programs:
            # The next program is generated while the previous one runs.
            program = self._make()
            runs = self.runner.collect() if waiting else []
            if waiting is not None and runs_commands:
                self._look(waiting, runs, batch, None)
            if program is not None:
                self.runner.submit(program.sources)
                count += 1
            if waiting is not None and not runs_commands:
                self._look(waiting, runs, batch, program)
            elif waiting is program is None:
                time.sleep(_PAUSE)
            waiting = program
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

    def _make(self) -> MadeProgram | None:
        if self._rewritten is not None:
            program, self._rewritten = self._rewritten, None
            return program
        if self._plain:
            return self._plain.pop()
        if self._first:
            data = self._first.pop()
            tree = encoding.decode(ModuleSet, data)
            return MadeProgram(tree, {"corpus": name_of(data)})
        if self._not_run and self._novelty.counts is not False:
            name, tree = self._not_run.pop()
            return MadeProgram(tree, {"corpus": name})
        return self._programs.next()

    def _put_back(self, program: MadeProgram) -> None:
        if program.rewriting is not None:
            self._rewritten = program
        elif "corpus" in program.origin:
            # A seed that was not run is put back by the session, too.
            self._not_run.append((program.origin["corpus"], program.tree))
        else:
            self._programs.put_back(program)

    def _look(
        self, program: MadeProgram, runs: list[Run], batch: Batch, following: MadeProgram | None
    ) -> None:
        """Count and judge a program, and keep it if it is new. `following` is running."""
        self._looked += 1
        if program.rewriting is not None:
            self._count(program, batch.interval, runs, [])
            self._compare(program, program.rewriting, runs, batch, following)
            return
        if program.is_broken:
            self._count(program, batch.interval, runs, [])
            verdict = self.runner.judge_all(*program.as_written, runs)
            if verdict is not None:
                self._suspect(program, runs, verdict, batch, following)
            return
        numbers = features.numbers_of(encoding.listed(program.tree))
        self._count(program, batch.interval, runs, numbers)
        ended = runs[0].outcome.kind == outcome.OK
        if program.parent is not None:
            program.parent.count(ended=ended)
        new = self._is_new(program, runs, numbers, batch) and "corpus" not in program.origin
        own = new or self._looked % _ROUND_TRIPS == 0
        verdict = self.runner.judge_all(*program.as_written, runs, claim=program.claim, own=own)
        if verdict is not None:
            self._suspect(program, runs, verdict, batch, following)
        elif new and any(run.outcome.kind in outcome.ORDINARY for run in runs):
            data = encoding.encode(program.tree)
            batch.kept.append(data)
            self._programs.adopt(name_of(data), program.tree, ended=ended)
            self._programs.useful(program)
        # A bug of the printer hides no bug that a rewritten version shows.
        shows_bug = verdict is not None and verdict.signature.kind != round_trip.KIND
        rewrites = self.runner.config.rewrites and not shows_bug and ended
        rewrites = rewrites and not program.only_compiled
        if rewrites and not self._rewritten and (new or self._looked % _REWRITTEN == 0):
            self._rewritten = self._programs.rewritten(program, runs)
        if "corpus" in program.origin:
            batch.corpus.append(program.origin["corpus"])
        if "input" in program.origin:
            batch.inputs.append(program.origin["input"])

    def _compare(
        self,
        program: MadeProgram,
        rewriting: Rewriting,
        runs: list[Run],
        batch: Batch,
        following: MadeProgram | None,
    ) -> None:
        shown = program
        verdict = self.runner.judge_runs(*program.as_written, runs)
        if verdict is not None and verdict.signature.kind in outcome.LIMITS:
            return  # the rewritten program may need more time or memory
        if verdict is None:
            name, original = rewriting.name, rewriting.original
            verdict, both = self.runner.judge_rewritten(name, original.tree, rewriting.runs, runs)
            if verdict is not None:
                shown, runs = original, both
        verdict = verdict or self.runner.judge_text(*program.as_written, own=False)
        if verdict is not None:
            self._suspect(shown, runs, verdict, batch, following)

    def _count(
        self, program: MadeProgram, interval: Interval, runs: list[Run], numbers: list[int]
    ) -> None:
        interval.programs += 1
        runs = [run for run in runs if run.outcome.kind != outcome.NOT_RUN]
        interval.runs += len(runs)
        outcomes = interval.compiled if program.only_compiled else interval.outcomes
        outcomes[max((run.outcome.kind for run in runs), key=outcome.KINDS.index)] += 1
        self._counted.update(numbers)
        for run in runs:
            interval.run_seconds += run.outcome.seconds
            if run.outcome.kind not in (outcome.OK, outcome.FLOOD):
                interval.errors[normalisation.message(run.outcome.error)] += 1

    def _is_new(
        self, program: MadeProgram, runs: list[Run], numbers: list[int], batch: Batch
    ) -> bool:
        """Record a program's behaviour, and return whether it is new."""
        messages = kinds_of(runs, program.plain)
        batch.messages |= messages
        covered = self._novelty.new_counters(runs, styled=program.style is not None)
        if program.style is None:
            batch.covered |= covered
        elif covered:
            # Corpus trees have no style: keep the program if it reaches the counters without one.
            self._plain.append(attrs.evolve(program, style=None))
            covered = set()
        novelty = self._novelty_compiled if program.only_compiled else self._novelty
        return novelty.is_new(numbers, messages) | bool(covered)

    def _suspect(
        self,
        program: MadeProgram,
        runs: list[Run],
        verdict: Verdict,
        batch: Batch,
        following: MadeProgram | None,
    ) -> None:
        may_be_endless = outcome.LIMITS.issuperset(run.outcome.kind for run in runs)
        if not may_be_endless and self._counted_only(verdict, program, batch):
            return
        if following is not None:
            self.runner.collect()  # discarded: `following` is submitted again below
        tree, style = program.tree, program.style
        is_counted = (
            may_be_endless
            and self.runner.unless_exempt(tree, style, runs, verdict, whole=False) == verdict
            and self._counted_only(verdict, program, batch)
        )
        if not is_counted:
            self._confirm(program, runs, verdict, batch)
        if following is not None:
            self.runner.submit(following.sources)

    def _counted_only(self, verdict: Verdict, program: MadeProgram, batch: Batch) -> bool:
        """Return whether there are enough suspects like this. If so, count the verdict.

        Another message of an exception is always worth a suspect.
        """
        signature, exception = verdict.signature, exception_of(verdict)
        if exception:
            known = self._exceptions[signature]
            if exception not in known and len(known) < EXCEPTIONS:
                known.add(exception)
                return False
        if signature not in self._handed and not self._is_enough(signature, program):
            return False
        used = frozenset() if is_clear(signature) else construct_of(program.tree, program.style)
        construct = text_of(used)
        batch.again[attrs.evolve(signature, construct=construct)] += 1
        return True

    def _confirm(
        self,
        program: MadeProgram,
        runs: list[Run],
        verdict: Verdict,
        batch: Batch,
    ) -> None:
        """Run a program again, and report a suspect if the verdict is the same.

        If the program itself is the cause of the verdict, it is only counted, unless it shows a bug
        that does not depend on its runs. If the verdict is not the same, verdicts of a kind in
        `BROKEN`, such as crashes, are reported as seen once. A second verdict of the same kind is
        not reported, because this is probably one bug whose message varies.
        """
        style = program.style
        judged = self.runner.unless_exempt(program.tree, style, runs, verdict, whole=True)
        is_endless = judged is not None and judged.signature.kind == outcome.ENDLESS
        if judged is None or (is_endless and not program.terminates):
            batch.interval.exempt += 1
            if verdict.signature.kind == outcome.HANG:
                batch.endless.append(encode(program.sources.program))
                judged = program.claim or self.runner.judge_text(*program.as_written)
                if judged is None or judged.signature.kind in outcome.LIMITS:
                    return
                if not self._counted_only(judged, program, batch):
                    self._confirm(program, runs, judged, batch)
            return
        if is_endless and self._counted_only(judged, program, batch):
            return
        verdict = judged
        if isinstance(style, int) and verdict.signature.kind == differential.KIND:
            # A directive such as `--!optimize 2` changes which variants differ.
            plain, plain_runs = self.runner.verdict(program.tree, whole=True)
            if plain is not None:
                style, verdict, runs = None, plain, plain_runs
                if self._counted_only(verdict, program, batch):
                    return
        signature = verdict.signature
        second, again = self.runner.verdict(program.tree, style, whole=True, wanted=signature)
        data = encoding.encode(program.tree)
        first = Suspect(data, verdict, runs, program.origin, _requests_of(runs), style)
        same = second is not None and second.signature.agrees(
            signature, self.runner.config.run_targets
        )
        ulps = self.runner.config.ulps
        if second and same and differential.is_repeated(signature.kind, runs, again, ulps):
            self._handed |= {signature, second.signature}
            batch.suspects.append(attrs.evolve(first, verdict=second, runs=again))
        else:
            other = None
            kinds = {signature.kind, outcome.ENDLESS}
            if second is not None and second.signature.kind not in kinds:
                requests = _requests_of(again)
                other = Suspect(data, second, again, program.origin, requests, style)
            for suspect in filter(None, (first, other)):
                if suspect.verdict.signature.kind not in outcome.BROKEN:
                    batch.interval.unconfirmed += 1
                    continue
                once = suspect.seen_once()
                if self._is_enough(once.verdict.signature, program):
                    batch.again[once.verdict.signature] += 1
                else:
                    batch.suspects.append(once)

    def _is_enough(self, signature: Signature, program: MadeProgram) -> bool:
        constructs = self._enough.get(signature)
        if not constructs:
            return constructs is not None
        construct = construct_of(program.tree, program.style)
        return any(contains(construct, each) for each in constructs)


def _requests_of(runs: Sequence[Run]) -> tuple[str, ...]:
    return next((run.outcome.requests for run in runs if run.outcome.requests), ())


class Novelty:
    """Records the features, kinds of messages and coverage counters that programs have shown.

    `targets` contains the target index of each run. A counter is a (target index, counter index)
    pair. `counts` is whether a target reports coverage, or None before the first run.
    """

    def __init__(self, targets: Sequence[int] = ()) -> None:
        self.counts: bool | None = None
        self._targets = targets
        self._features: set[int] = set()
        self._messages: set[str] = set()
        self._counters: set[tuple[int, int]] = set()
        self._in_styles: set[tuple[int, int]] = set()

    def is_new(self, numbers: Iterable[int], messages: set[str]) -> bool:
        """Return whether any feature number or kind of message is new, and record all of them."""
        numbers = [*numbers]
        new = not self._features.issuperset(numbers) or not messages <= self._messages
        self._features.update(numbers)
        self._messages |= messages
        return new

    def new_counters(self, runs: Sequence[Run], *, styled: bool) -> set[tuple[int, int]]:
        """Return the counters that these runs are the first to reach, and record them.

        A counter that only programs in a style (`styled`) have reached is still new for plain
        programs.
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


def kinds_of(runs: Iterable[Run], plain: Plain) -> set[str]:
    """Return the outcome of each run and the kind of its error message, as strings.

    All messages that the program itself raises are of one kind. `plain` returns its sources.
    """
    kinds = set()
    for end, error in {(run.outcome.kind, run.outcome.error) for run in runs}:
        if end != outcome.NOT_RUN:
            kind = normalisation.message_kind(error, plain().program) if error else ""
            kinds.add(f"{end} {kind}")
    return kinds
