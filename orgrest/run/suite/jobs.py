"""Runs many documents in concurrent jobs, and reports their outcomes in order.

Each job is a thread that runs one document after another. The jobs share the client and its
connections. A document's outcomes are reported after those of all earlier documents.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

from orgrest.files import FileError
from orgrest.run.record import without_request
from orgrest.run.suite import unit as units
from orgrest.run.suite.summary import Brief, Summary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from orgrest.run.control import Control
    from orgrest.run.record import Record
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings
    from orgrest.run.suite.spool import Spool
    from orgrest.run.suite.unit import Opened, Unit


_PAUSE = 0.05
"""The time in seconds between two checks for outcomes. Waking up for each outcome is too slow."""


class SuiteRun:
    """A run of all documents in `plan`, in several jobs.

    Records are written to `spool`, if any. `summary` counts the outcomes, and `unreadable` lists
    the reasons why documents could not be read. If a record cannot be written, the run ends, and
    `failure` is the error. The spool still has all records for the reports.
    """

    def __init__(
        self,
        plan: Sequence[Unit],
        settings: Settings,
        services: Services,
        control: Control,
        *,
        jobs: int = 1,
        spool: Spool | None = None,
    ) -> None:
        """Prepare a run in `jobs` threads. Nothing is sent yet."""
        self.summary = Summary(repeated=any(unit.turn > 1 for unit in plan))
        self.unreadable: list[str] = []
        self.failure: FileError | None = None
        self._plan = plan
        self._settings = settings
        self._services = services
        self._control = control
        self._spool = spool
        self._jobs = min(jobs, len(plan)) or 1
        self._ends: queue.SimpleQueue[None] = queue.SimpleQueue()  # an item per finished document
        self._error: BaseException | None = None  # the exception that stopped a job
        self._next = iter(plan)
        self._held: dict[int, deque[Brief]] = {unit.number: deque() for unit in plan}
        self._begun: dict[int, Opened] = {}
        self._done: set[int] = set()
        self._lock = threading.Lock()

    def briefs(self) -> Iterator[Brief]:
        """Run all documents, and yield a `Brief` for each request, in order."""
        for _ in range(self._jobs):
            # The threads are daemons, so a second Ctrl-C ends the process immediately.
            threading.Thread(target=self._job, daemon=True).start()
        for unit in self._plan:
            while unit.number not in self._done:
                yield from self._unreported(unit)
                if unit.number not in self._done:
                    with contextlib.suppress(queue.Empty):
                        self._ends.get(timeout=_PAUSE)
                    self._check()
            yield from self._unreported(unit)

    def abandon(self) -> Iterator[Brief]:
        """Record all requests and steps without a record, and yield all unreported outcomes.

        Each document that has not been read gets a single record.
        """
        control = self._control
        with control.recording:  # the jobs stop at their next outcome
            control.abandon()
            self._check()
            for unit in self._plan:
                opened = self._begun.get(unit.number)
                if opened is not None:
                    for record in opened.abandon(control.why):
                        self._keep(unit, record)
                elif unit.number not in self._done:
                    place = {"order": [unit.number, 0], **unit.place}
                    self._keep(unit, without_request(place, "skipped", control.why))
        for unit in self._plan:
            yield from self._unreported(unit)

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _unreported(self, unit: Unit) -> Iterator[Brief]:
        waiting = self._held[unit.number]
        while waiting:
            brief = waiting.popleft()
            self.summary.count(brief)
            yield brief

    def _job(self) -> None:
        while True:
            with self._lock:
                unit = next(self._next, None)
            if unit is None:
                return
            unreadable, error = None, None
            try:
                begin = partial(self._begun.__setitem__, unit.number)
                keep = partial(self._keep, unit)
                unreadable = units.run(
                    unit, self._settings, self._services, self._control, keep, begin
                )
            except BaseException as failure:
                error = failure
            with self._control.recording:
                if self._control.abandoned:  # `abandon` records what this document still lacks
                    return
                if error is None:
                    self.unreadable += [] if unreadable is None else [unreadable]
                    self._done.add(unit.number)
                    self._begun.pop(unit.number, None)  # frees its requests and responses
                else:
                    self._error = error
            self._ends.put(None)
            if error is not None:
                return

    def _keep(self, unit: Unit, record: Record) -> None:
        if self._spool is not None:
            try:
                self._spool.add(record)
            except FileError as error:  # the later records have to fit into memory: send no more
                self.failure = error
                self._control.stop(str(error))
        self._held[unit.number].append(Brief.of(record))
