"""A run of many documents by several jobs, reported in order.

Each job is a thread that runs one document after another; the jobs share the client and its
connections. A document's outcomes are reported after those of all documents before it.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING

import attrs

from orgrest.run.suite import unit as units
from orgrest.run.suite.summary import Brief, Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from orgrest.run.settings import Settings
    from orgrest.run.suite.control import Control
    from orgrest.run.suite.record import Record
    from orgrest.run.suite.spool import Spool
    from orgrest.run.suite.unit import Unit


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
        self._control = control
        self._spool = spool
        self._jobs = min(jobs, len(plan)) or 1
        self._queue: queue.SimpleQueue[_Told] = queue.SimpleQueue()
        self._next = iter(plan)
        self._lock = threading.Lock()

    def briefs(self) -> Iterator[Brief]:
        """Run all documents; yield the outcome of each request, in order."""
        for _ in range(self._jobs):
            # Daemons, so that a second Ctrl-C does not wait for them.
            threading.Thread(target=self._job, daemon=True).start()
        held: dict[int, list[_Told]] = {unit.number: [] for unit in self._plan}
        for unit in self._plan:
            told = held.pop(unit.number)
            while True:
                for one in told:
                    if one.brief is not None:
                        self.summary.count(one.brief)
                        yield one.brief
                if told and told[-1].done:
                    break
                told = []
                found = self._queue.get()
                if found.error is not None:
                    raise found.error
                if found.unreadable is not None:
                    self.unreadable.append(found.unreadable)
                (told if found.number == unit.number else held[found.number]).append(found)

    def _job(self) -> None:
        while True:
            with self._lock:
                unit = next(self._next, None)
            if unit is None:
                return
            try:
                unreadable = units.run(unit, self._settings, self._control, self._keeper(unit))
            except BaseException as error:
                self._queue.put(_Told(unit.number, error=error))
                return
            self._queue.put(_Told(unit.number, done=True, unreadable=unreadable))

    def _keeper(self, unit: Unit) -> Callable[[Record], None]:
        def keep(record: Record) -> None:
            if self._spool is not None:
                self._spool.add(record)
            self._queue.put(_Told(unit.number, Brief.of(record)))

        return keep
