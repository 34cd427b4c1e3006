"""A session: one run of a campaign, with workers.

    with Campaign(folder, config) as campaign:
        session = Session(campaign, jobs=2, seconds=600)
        session.run()
        session.state.finds.new              the new finds

An `Order` asks a worker to fuzz for one second, and includes the trees that other workers have
kept. Workers are processes on this machine, unless `workers` creates other workers, which may fuzz
for longer. One additional worker reduces suspects, and others help if many suspects are waiting.
When the time is up, all workers reduce suspects for a limited time. The next run continues with the
remaining suspects.

A session with one job is reproducible if its only limit is a number of programs. The clock then has
no influence: each `Order` is limited by a number of programs, the only worker reduces each suspect
before it continues, and runs have the targets' full time limits.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from multiprocessing.connection import wait
from typing import Any, Final

from scriptschema.files import ReportedError
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign import statistics
from scriptschema.fuzzing.campaign.finds import Find, FindStore
from scriptschema.fuzzing.campaign.folder import AFL, COMPILED, CORPUS, Campaign
from scriptschema.fuzzing.campaign.fuzzer import Batch, Novelty
from scriptschema.fuzzing.campaign.reduction import MOST_SECONDS
from scriptschema.fuzzing.campaign.runner import try_commands
from scriptschema.fuzzing.campaign.seeds import Seeds
from scriptschema.fuzzing.campaign.statistics import Interval, now
from scriptschema.fuzzing.campaign.triage import Triage
from scriptschema.fuzzing.campaign.workers import (
    AnyWorker,
    Failure,
    News,
    Order,
    Task,
    Workers,
)
from scriptschema.fuzzing.corpora import features
from scriptschema.fuzzing.corpora.folder import CorpusFolder
from scriptschema.fuzzing.corpora.reading import read_trees
from scriptschema.fuzzing.oracles import normalisation
from scriptschema.fuzzing.oracles.known import KnownBugs
from scriptschema.fuzzing.oracles.severity import severity_of
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.leftovers import sweep
from scriptschema.fuzzing.targets.opening import versions_of
from scriptschema.fuzzing.targets.processes import leaving_nothing
from scriptschema.fuzzing.uncalled import runs_nothing
from scriptschema.generation.bulk import interrupts_later
from scriptschema.messages import ModuleSet

PROGRESS: Final = 1.0
_DEATHS: Final = 5
"""The number of workers that may die in a row without stopping the session."""

_PROGRAMS: Final = 20
"""The maximum number of programs in each `Order` of a reproducible session."""

_MANY: Final = 4
"""If at least this many suspects are waiting, other workers help to reduce them."""

_ENOUGH: Final = 100
"""After this many programs, the session ends with an error if none of them finished normally."""


class CampaignError(ReportedError):
    """A campaign cannot continue. The message says why."""


FIRST_EVERY: Final = 5.0
EVERY: Final = 15.0
"""The interval in seconds between lines of the statistics, after the first minute. In the first
minute, it is `FIRST_EVERY`."""

EventHandler = Callable[[dict[str, Any]], None]
"""A function that is called with each event: a dictionary of JSON data, in which `event` is the
kind of event."""


class State:
    """The state of a running campaign. It writes all results to the campaign's folder.

    `take` stores the results of fuzzers. Call `tick` regularly to write statistics and counts.
    `on_event` is called with each event. `total` contains the totals of all runs of the campaign.
    `last_new` is the monotonic time when new behaviour was last seen. Raises FileError and
    TargetError.
    """

    def __init__(self, campaign: Campaign, on_event: EventHandler) -> None:
        self.campaign = campaign
        self.on_event = on_event
        intervals = statistics.read(campaign.path)
        self.total = statistics.total(intervals)
        self.starts = len(intervals)
        self._before = self.total.seconds
        self._began = time.monotonic()
        self.last_new = self._began
        self.corpus = CorpusFolder(campaign.path / CORPUS)
        self.compiled = CorpusFolder(self.corpus.path / COMPILED)
        """The corpus of programs that are only compiled."""
        self._novelty = {corpus: Novelty() for corpus in (self.corpus, self.compiled)}
        self._covered: set[tuple[int, int]] = set()
        self._interval = Interval()
        self._written = self._began
        config = campaign.config
        self.finds = FindStore(
            campaign.path, config, versions_of(config.targets), self.seconds, self._report_find
        )
        self.seeds = Seeds(campaign, self.corpus)
        self.triage = Triage(self.finds, KnownBugs(config.known, config.run_names))
        self.write()

    def seconds(self) -> float:
        """Return the total duration of all runs of the campaign in seconds."""
        return self._before + time.monotonic() - self._began

    def take(self, batch: Batch) -> list[bytes]:
        """Store a fuzzer's batch, and return the trees that are new to the whole campaign."""
        self.campaign.is_unused = False
        self.seeds.ran(batch.corpus)
        self._interval.add(batch.interval)
        self.total.add(batch.interval)
        accepted = []
        covers = not batch.covered <= self._covered
        self._covered |= batch.covered
        self.total.covered = max(self.total.covered, len(self._covered))
        for data in batch.kept:
            tree = encoding.decode(ModuleSet, data)
            corpus = self.compiled if runs_nothing(tree) else self.corpus
            numbers = features.numbers_of(encoding.listed(tree))
            new = self._novelty[corpus].is_new(numbers, batch.messages)
            if (new or covers) and corpus.add(data):
                accepted.append(data)
        if accepted:
            self.last_new = time.monotonic()
        for suspect in batch.suspects:
            self.triage.suspect(suspect)
        for signature, count in batch.again.items():
            self.triage.again(signature, count)
        for source in batch.endless:
            self.campaign.keep_endless(source)
        for name in batch.unreadable:
            self.campaign.log(f"unreadable: {AFL}/out/{name}")
            self.on_event(
                {"event": "unreadable", "path": str(self.campaign.path / AFL / "out" / name)}
            )
        if batch.inputs or batch.unreadable:
            self.campaign.judged([*batch.inputs, *batch.unreadable])
        return accepted

    def tick(self) -> None:
        """Write the statistics and counts if they are due."""
        interval = FIRST_EVERY if self.seconds() < 60 else EVERY
        if time.monotonic() - self._written >= interval:
            self.write()

    def write(self) -> None:
        """Write all statistics and counts that have not been written yet."""
        self.finds.save()
        self.seeds.save()
        interval = self._interval
        interval.known.update(self.triage.seen_known)
        self.total.known.update(self.triage.seen_known)
        self.triage.seen_known.clear()
        interval.seconds, interval.at = round(self.seconds(), 1), now()
        interval.corpus = len(self.corpus.names) + len(self.compiled.names)
        interval.finds = len(self.finds)
        interval.covered = len(self._covered)
        self.total.corpus, self.total.finds = interval.corpus, interval.finds
        statistics.append(self.campaign.path, interval)
        self._interval = Interval()
        self._written = time.monotonic()

    def _report_find(self, event: str, find: Find) -> None:
        self.last_new = time.monotonic()
        self.campaign.log(f"{event} {find.name}: {find.signature}, {find.smallest.size}")
        self.on_event(
            {
                "event": event,
                "name": find.name,
                "severity": severity_of(find.signature),
                "signature": str(find.signature),
                "message": normalisation.output(find.verdict.message),
                "nodes": find.smallest.nodes,
                "size": find.smallest.size,
                "reduced": find.reduced is not None,
                "seconds": round(self.seconds(), 1),
            }
        )


class Session:
    """One run of a campaign.

    `seconds` and `programs` are limits. `finishing` is the time limit in seconds for reductions at
    the end.
    `on_event` is called with each event. Raises FileError, and TargetError if a target, the checker
    or the printer does not work.
    """

    def __init__(
        self,
        campaign: Campaign,
        *,
        jobs: int = 1,
        seconds: float | None = None,
        programs: int | None = None,
        finishing: float = 60.0,
        workers: Workers | None = None,
        on_event: EventHandler = lambda _: None,
    ) -> None:
        self.campaign = campaign
        self.jobs = jobs
        self.seconds = seconds
        self.programs = programs
        self.finishing = finishing
        self.reproducible = jobs == 1 and bool(programs) and seconds is None and workers is None
        self.workers = workers or Workers(full_limits=self.reproducible)
        self.on_event = on_event
        sweep()
        with leaving_nothing():
            try_commands(campaign.config)
            campaign.probe()
            self.state = State(campaign, on_event)  # asks targets for their versions
        self.programs_done = 0
        self.runs_done = 0
        self._known_before = self.state.total.known.total()
        self._asked = 0
        self._workers: dict[Any, AnyWorker] = {}
        self._news: dict[Any, list[bytes]] = {}
        """The trees for the next `Order` to each worker that has had one."""
        self._next_seed = 1000 * self.state.starts
        self._deaths = 0
        self._began = time.monotonic()

    def run(self) -> None:
        """Fuzz until a limit is reached.

        Raises FileError, and CampaignError if the campaign cannot continue. Raises
        KeyboardInterrupt only after all finds have been written.
        """
        self._began = time.monotonic()
        targets = self.campaign.config.descriptions
        start = {"event": "start", "folder": str(self.campaign.path), "jobs": self.jobs}
        unreadable: list[str] = []
        for _ in read_trees(self.state.corpus.path, lambda error: unreadable.append(str(error))):
            pass
        unsupported = self.state.seeds.unsupported
        not_run = {
            "programs": len(unsupported),
            "features": sorted(frozenset().union(*unsupported.values())),
        }
        self.on_event(
            {**start, "targets": targets, "unreadable": unreadable, "unsupported": not_run}
        )
        self.campaign.log(f"start: {self.jobs} workers")
        try:
            for _ in range(self.jobs):
                self._start_worker()
            self._await_all()
        finally:
            try:
                with interrupts_later():  # a second Ctrl-C must not lose counts
                    self._stop_workers()
                    sweep()
                    self.state.write()
                    self.campaign.log("end")
            finally:  # an interrupt ends this if the output is blocked
                self.on_event({**self.progress(), "event": "end"})

    @property
    def known(self) -> int:
        """How often this run has seen known bugs, up to the last interval of the statistics."""
        return self.state.total.known.total() - self._known_before

    def progress(self) -> dict[str, Any]:
        """Return the session's progress as an event for `on_event`."""
        lasted = max(time.monotonic() - self._began, 1e-9)
        total = self.state.total
        return {
            "event": "progress",
            "seconds": round(self.state.seconds(), 1),
            "programs": total.programs,
            "runs": total.runs,
            "runs_per_second": round(self.runs_done / lasted, 1),
            "corpus": len(self.state.corpus.names) + len(self.state.compiled.names),
            "corpus_compiled": len(self.state.compiled.names),
            "outcomes": dict(total.outcomes),
            "compiled": dict(total.compiled),
            "finds": len(self.state.finds),
            "finds_compiled": sum(find.only_compiled for find in self.state.finds.by_name.values()),
            "new_finds": len(self.state.finds.new),
            "unreduced": self.state.triage.unreduced,
            "unconfirmed": total.unconfirmed,
            "exempt": total.exempt,
            "covered": total.covered,
            "seeds_left": len(self.state.seeds),
            "since_new": round(time.monotonic() - self.state.last_new, 1),
            **self.workers.progress(),
        }

    # Fuzzing

    def _left(self) -> float:
        if self.seconds is None:
            return self.workers.slice_seconds
        return self.seconds - (time.monotonic() - self._began)

    def _reduction_seconds(self) -> float:
        if self.seconds is None and (self.programs is None or self.reproducible):
            return MOST_SECONDS
        return min(MOST_SECONDS, 0.8 * self.finishing)  # ends before the session does

    def _is_over(self) -> bool:
        return self._left() <= 0 or (self.programs is not None and self._asked >= self.programs)

    def _await_all(self) -> None:
        """Assign work to workers, and process answers, until the session is complete."""
        shown = time.monotonic()
        over: float | None = None
        while True:
            reducible = self.state.triage.waiting and not self.reproducible
            if reducible and len(self._workers) == self.jobs:
                self._start_worker()
            self._give_work()
            busy = [pipe for pipe, worker in self._workers.items() if worker.order is not None]
            if not busy and self._is_over():
                return
            for pipe in wait(busy, PROGRESS / 4):
                self._take(self._workers[pipe])
            self.state.tick()
            if time.monotonic() - shown >= PROGRESS:
                shown = time.monotonic()
                self.on_event(self.progress())
            # Wait for each `Order` in progress and, in a reproducible session, for all reductions.
            if self._is_over() and not self._count(Order) and not self.reproducible:
                over = over or time.monotonic()
                if time.monotonic() - over > self.finishing:
                    return

    def _count(self, kind: type[Order] | type[Task]) -> int:
        return sum(isinstance(worker.order, kind) for worker in self._workers.values())

    def _start_worker(self) -> None:
        self._next_seed += 1
        worker = self.workers.worker(self.campaign, self._next_seed)
        self._workers[worker.pipe] = worker

    def _give_work(self) -> None:
        """Have idle workers reduce suspects or fuzz, if there is anything to do.

        Until the session is over, between `jobs // 2` and `jobs` workers fuzz. The last worker
        reduces first, because a worker that begins to fuzz has to load the corpus.
        """
        for worker in reversed([*self._workers.values()]):
            if worker.order is None:
                self._reduce(worker)
        for worker in self._workers.values():
            if worker.order is None:
                self._fuzz(worker)

    def _reduce(self, worker: AnyWorker) -> None:
        fuzzing, reducing = self._count(Order), self._count(Task)
        many = self.state.triage.waiting >= _MANY and fuzzing > self.jobs // 2
        if self._is_over() or not reducing or many:
            suspect = self.state.triage.next()
            if suspect is not None:
                worker.ask(Task(suspect, self._reduction_seconds()))

    def _fuzz(self, worker: AnyWorker) -> None:
        if self._is_over() or self._count(Order) >= self.jobs:
            return
        programs = None
        if self.programs is not None:
            left = self.programs - self._asked
            programs = max(1, min(1000, left // (2 * self.jobs)))
            if self.reproducible:
                programs = min(_PROGRAMS, left)
            self._asked += programs
        trees, self._news[worker.pipe] = self._news.get(worker.pipe, []), []
        enough = self.state.triage.enough()
        seeds = self.state.seeds.take()
        slice_seconds = min(self.workers.slice_seconds, self._left())
        if self.reproducible:
            slice_seconds = math.inf
        worker.ask(Order(slice_seconds, programs, trees, enough, seeds))

    def _take(self, worker: AnyWorker) -> None:
        order = worker.order
        try:
            answer = worker.answer()
        except (EOFError, OSError):
            self._lost(worker, order)
            return
        if isinstance(answer, Failure):
            raise CampaignError(answer.message)
        self._deaths = 0
        if isinstance(answer, News):
            self._take_batch(worker, answer.batch)
        elif isinstance(order, Task):
            self.state.triage.reduced(order.suspect, answer)
        elif order is not None:
            if order.programs is not None:  # the time limit may have been reached first
                self._asked -= order.programs - answer.interval.programs
            self._take_batch(worker, answer)
            self.state.seeds.put_back(order.seeds)

    def _take_batch(self, worker: AnyWorker, batch: Batch) -> None:
        accepted = self.state.take(batch)
        for pipe, news in self._news.items():
            if pipe is not worker.pipe:
                news.extend(accepted)
        self.programs_done += batch.interval.programs
        self.runs_done += batch.interval.runs
        self._require_normal()

    def _lost(self, worker: AnyWorker, order: Order | Task | None) -> None:
        """Replace a worker that has died."""
        del self._workers[worker.pipe]
        self._news.pop(worker.pipe, None)
        if isinstance(order, Task):
            self.state.triage.lost(order.suspect)
        elif order is not None:
            self._asked -= order.programs or 0
            self.state.seeds.lost(order.seeds)
        worker.stop()
        sweep()
        self._deaths += 1
        self.campaign.log(f"worker {worker.seed} died; starting another")
        if self._deaths > _DEATHS:
            raise CampaignError(f"{self._deaths} workers died in a row: is there enough memory?")
        self._start_worker()

    def _require_normal(self) -> None:
        total = self.state.total
        outcomes = total.outcomes + total.compiled
        normal = any(outcomes[kind] for kind in outcome.ORDINARY)
        normal = normal or total.errors.total() < total.runs  # with some variants
        if outcomes.total() >= _ENOUGH and not normal:
            kinds = ", ".join(f"{kind} {count}" for kind, count in outcomes.most_common())
            raise CampaignError(
                f"none of the {outcomes.total()} programs finished normally: {kinds}"
            )

    def _stop_workers(self) -> None:
        for worker in self._workers.values():
            worker.stop()
        self._workers.clear()
