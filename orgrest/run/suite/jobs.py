"""A run of many documents by several jobs, reported in order.

Each job is a thread that runs one document after another; the jobs share the client and its
connections. A document's outcomes are reported after those of all documents before it.
"""

from __future__ import annotations

import queue
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

import attrs

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


@attrs.frozen
class _Told:
    """A job's message about a document: a request's outcome, or its end with an optional error."""

    number: int
    brief: Brief | None = None
    done: bool = False
    unreadable: str | None = None
    error: BaseException | None = None


class SuiteRun:
    """A run over `plan` with a number of jobs; records go into `spool`, if there is one.

    `summary` counts the outcomes, `unreadable` lists the documents that could not be read.
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
        """Prepare the run; nothing is sent yet."""
        self.summary = Summary(repeated=any(unit.turn > 1 for unit in plan))
        self.unreadable: list[str] = []
        self._plan = plan
        self._settings = settings
        self._services = services
        self._control = control
        self._spool = spool
        self._jobs = min(jobs, len(plan)) or 1
        self._queue: queue.SimpleQueue[_Told] = queue.SimpleQueue()
        self._next = iter(plan)
        self._held: dict[int, deque[Brief]] = {unit.number: deque() for unit in plan}
        self._begun: dict[int, Opened] = {}
        self._done: set[int] = set()
        self._lock = threading.Lock()

    def briefs(self) -> Iterator[Brief]:
        """Run all documents; yield the outcome of each request, in order."""
        for _ in range(self._jobs):
            # Daemons, so that a second Ctrl-C does not wait for them.
            threading.Thread(target=self._job, daemon=True).start()
        for unit in self._plan:
            while unit.number not in self._done:
                yield from self._told(unit)
                if unit.number not in self._done:
                    self._receive(self._queue.get())
            yield from self._told(unit)

    def abandon(self) -> Iterator[Brief]:
        """Record the steps in progress and those not started; yield the unreported outcomes."""
        control = self._control
        control.abandon()
        while not self._queue.empty():
            self._receive(self._queue.get())
        for unit in self._plan:
            opened = self._begun.get(unit.number)
            if opened is not None:
                for one in opened.abandon(control.why):
                    self._keep(unit, one)
            elif unit.number not in self._done:
                place = {"order": [unit.number, 0], **unit.place}
                self._keep(unit, without_request(place, "skipped", control.why))
        while not self._queue.empty():
            self._receive(self._queue.get())
        for unit in self._plan:
            yield from self._told(unit)

    def _receive(self, found: _Told) -> None:
        if found.error is not None:
            raise found.error
        if found.unreadable is not None:
            self.unreadable.append(found.unreadable)
        if found.brief is not None:
            self._held[found.number].append(found.brief)
        if found.done:
            self._done.add(found.number)

    def _told(self, unit: Unit) -> Iterator[Brief]:
        """Yield the outcomes of a document that were not reported yet."""
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
            try:
                begin = partial(self._begun.__setitem__, unit.number)
                keep = partial(self._keep, unit)
                unreadable = units.run(
                    unit, self._settings, self._services, self._control, keep, begin
                )
            except BaseException as error:
                self._queue.put(_Told(unit.number, error=error))
                return
            self._queue.put(_Told(unit.number, done=True, unreadable=unreadable))

    def _keep(self, unit: Unit, record: Record) -> None:
        if self._spool is not None:
            self._spool.add(record)
        self._queue.put(_Told(unit.number, Brief.of(record)))
