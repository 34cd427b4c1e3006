"""A session: one run of a campaign on this machine, with worker processes.

    with Campaign(folder, config) as campaign:
        session = Session(campaign, jobs=2, seconds=600)
        session.run()
        session.state.triage.new              finds that were not there before

A worker is asked for a second of fuzzing at a time, and told what the others have kept meanwhile.
One more process reduces what is suspected. When the time is up, what is suspected and nothing like
it was found is still reduced, for a while.
"""

from __future__ import annotations

import time
from multiprocessing.connection import wait
from typing import Any, Final

from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.fuzzer import Batch, Suspect
from scriptschema.fuzzing.campaign.reduction import MOST_SECONDS
from scriptschema.fuzzing.campaign.state import State, Told
from scriptschema.fuzzing.campaign.workers import Failure, Order, Task, Worker
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.opening import try_target

SLICE: Final = 1.0
PROGRESS: Final = 1.0
_DEATHS: Final = 5
"""After so many ends of workers without an answer between them, the session gives up."""

_ENOUGH: Final = 100
"""A target on which so many programs ended, none of them as programs do, does not work."""


class CampaignError(Exception):
    """A campaign that cannot go on; the text says why."""


class Session:
    """See the module. `seconds` and `programs` are limits, `told` gets the events.

    `finishing` is how many seconds may be spent at the end on what was not reduced yet.

    Raises FileError; TargetError and JudgeError for what does not work from the beginning.
    """

    def __init__(
        self,
        campaign: Campaign,
        *,
        jobs: int = 1,
        seconds: float | None = None,
        programs: int | None = None,
        finishing: float = 60.0,
        told: Told = lambda _: None,
    ) -> None:
        self.campaign = campaign
        self.jobs = jobs
        self.seconds = seconds
        self.programs = programs
        self.finishing = finishing
        self.told = told
        for description in campaign.config.targets:
            try_target(description)
        self.state = State(campaign, told)
        self.programs_done = 0
        self.runs_done = 0
        self._asked = 0
        self._workers: dict[Any, Worker] = {}
        self._news: dict[Any, list[bytes]] = {}
        self._reducer: Worker | None = None
        self._reducing: Suspect | None = None
        self._next_seed = 1000 * self.state.starts
        self._deaths = 0
        self._began = time.monotonic()

    def run(self) -> None:
        """Fuzz until a limit is reached.

        Raises CampaignError where it cannot go on, FileError, and KeyboardInterrupt, after all that
        was found is written.
        """
        self._began = time.monotonic()
        self.told({"event": "start", "folder": str(self.campaign.path), "jobs": self.jobs})
        self.campaign.log(f"start: {self.jobs} workers")
        try:
            for _ in range(self.jobs):
                self._start_worker()
            self._fuzz()
            self._stop_workers()
            self._finish()
        finally:
            self._stop_workers()
            if self._reducer is not None:
                self._reducer.stop()
            self.state.close()
            self.campaign.log("end")
            self.told({**self.progress(), "event": "end"})

    def progress(self) -> dict[str, Any]:
        """How things stand, as an event."""
        lasted = max(time.monotonic() - self._began, 1e-9)
        total = self.state.total
        return {
            "event": "progress",
            "seconds": round(self.state.seconds(), 1),
            "programs": total.programs,
            "runs": total.runs,
            "runs_per_second": round(self.runs_done / lasted, 1),
            "corpus": len(self.state.corpus.names),
            "outcomes": dict(total.outcomes),
            "finds": len(self.state.triage.finds),
            "new_finds": self.state.triage.new,
            "since_new": round(time.monotonic() - self.state.last_new, 1),
        }

    # Fuzzing

    def _left(self) -> float:
        if self.seconds is None:
            return SLICE
        return self.seconds - (time.monotonic() - self._began)

    def _fuzz(self) -> None:
        shown = time.monotonic()
        while any(worker.busy for worker in self._workers.values()):
            self._await([*self._workers], PROGRESS / 4)
            self._reduce_next()
            self.state.tick()
            if time.monotonic() - shown >= PROGRESS:
                shown = time.monotonic()
                self.told(self.progress())

    def _start_worker(self) -> None:
        self._next_seed += 1
        worker = Worker(self.campaign.config, self.campaign.path, self._next_seed)
        self._workers[worker.pipe] = worker
        self._news[worker.pipe] = []
        self._order(worker)

    def _order(self, worker: Worker) -> None:
        """Ask for the next slice, if there is time and something to do."""
        left = self._left()
        programs = None if self.programs is None else self.programs - self._asked
        if left <= 0 or (programs is not None and programs <= 0):
            return
        if programs is not None:
            programs = max(1, min(programs, self.programs or 0) // (2 * self.jobs))
            programs = min(programs, 1000)
            self._asked += programs
        trees, self._news[worker.pipe] = self._news[worker.pipe], []
        worker.ask(Order(min(SLICE, left), programs, trees))
        worker.asked = programs or 0

    def _await(self, pipes: list[Any], seconds: float) -> None:
        """Take the answers that come in time."""
        if self._reducer is not None:
            pipes = [*pipes, self._reducer.pipe]
        for pipe in wait(pipes, seconds):
            if self._reducer is not None and pipe is self._reducer.pipe:
                self._take_reduced(self._reducer)
            else:
                self._take(self._workers[pipe])

    def _take(self, worker: Worker) -> None:
        try:
            answer = worker.answer()
        except (EOFError, OSError):
            self._lost(worker)
            return
        if isinstance(answer, Failure):
            raise CampaignError(answer.message)
        self._deaths = 0
        batch: Batch = answer
        self._asked -= worker.asked - batch.interval.programs if worker.asked else 0
        accepted = self.state.take(batch)
        for pipe, news in self._news.items():
            if pipe is not worker.pipe:
                news.extend(accepted)
        self.programs_done += batch.interval.programs
        self.runs_done += batch.interval.runs
        self._require_sense()
        self._order(worker)

    def _lost(self, worker: Worker) -> None:
        """Start another for a worker that has ended."""
        del self._workers[worker.pipe], self._news[worker.pipe]
        self._asked -= worker.asked
        worker.stop()
        self._deaths += 1
        self.campaign.log(f"worker {worker.seed} has ended, another is started")
        if self._deaths > _DEATHS:
            raise CampaignError(
                f"{self._deaths} workers have ended one after the other: is there enough memory?"
            )
        self._start_worker()

    def _require_sense(self) -> None:
        outcomes = self.state.total.outcomes
        if outcomes.total() >= _ENOUGH and not any(outcomes[kind] for kind in outcome.ORDINARY):
            kinds = ", ".join(f"{kind} {count}" for kind, count in outcomes.most_common())
            raise CampaignError(
                f"none of {outcomes.total()} programs ended as programs do: {kinds}"
            )

    def _stop_workers(self) -> None:
        for worker in self._workers.values():
            worker.stop()
        self._workers.clear()

    # Reduction

    def _reduce_next(self) -> None:
        if self._reducing is not None:
            return
        suspect = self.state.triage.next()
        if suspect is None:
            return
        if self._reducer is None:
            self._reducer = Worker(self.campaign.config, self.campaign.path, None)
        self._reducing = suspect
        self._reducer.ask(Task(suspect, MOST_SECONDS))

    def _take_reduced(self, reducer: Worker) -> None:
        suspect = self._reducing
        self._reducing = None
        try:
            answer = reducer.answer()
        except (EOFError, OSError):
            answer = None
            reducer.stop()
            self._reducer = None
        if isinstance(answer, Failure):
            raise CampaignError(answer.message)
        if suspect is not None:
            self.state.triage.reduced(suspect, answer)

    def _finish(self) -> None:
        """Reduce what waits, for a while."""
        end = time.monotonic() + self.finishing
        while time.monotonic() < end:
            self._reduce_next()
            if self._reducing is None:
                break
            self._await([], min(PROGRESS, max(0.0, end - time.monotonic())))
            self.told(self.progress())
