"""One run of a document, for one turn and row of data: setup, requests, teardown."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import attrs

from orgrest.files import File, FileError, is_request_file
from orgrest.http.sandbox import children
from orgrest.model import explained
from orgrest.run import record
from orgrest.run.plan import Part
from orgrest.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from orgrest.http.transport.client import Client
    from orgrest.run.outcomes import Outcome
    from orgrest.run.plan import Plan, Step
    from orgrest.run.record import Record
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings
    from orgrest.run.suite.control import Control


@attrs.frozen
class Unit:
    """A document to run, with its row of data and its `turn` (from 1) among those of --repeat.

    A document `found` in a folder need not have requests: others may import it.
    """

    number: int
    file: str
    turn: int = 1
    row: int | None = None
    data: Mapping[str, str] = attrs.field(factory=dict)
    found: bool = False

    @property
    def place(self) -> Record:
        """The fields that identify the document's run, at the beginning of its records."""
        return {"document": self.file, "file": self.file, "turn": self.turn, "row": self.row}


class Opened:
    """A document that was read and planned, whose steps are done one by one."""

    def __init__(
        self, unit: Unit, settings: Settings, services: Services, control: Control
    ) -> None:
        """Read and plan the document. Raises OrgrestError if either fails."""
        self._unit = unit
        self._settings = settings
        self._control = control
        self._count = 0
        path = Path(unit.file)
        self._file = File.read(path)
        self._plain = is_request_file(path)
        if settings.write and not self._plain:
            self._file.check_writable()
        self.run = Run(
            self._file.text,
            file=unit.file,
            settings=settings.of_document(path.resolve().parent, unit.data),
            services=services,
            plain=self._plain,
        )
        self._plan: Plan = self.run.plan
        self._notes = self._plan.notices
        chosen = (step for part in get_args(Part) for step in self.steps(part))
        self._untold = {step.id: step for step in chosen}

    def steps(self, part: Part) -> list[Step]:
        """Return the steps that are done in a part of the run."""
        return self._plan.of(part, self._settings.choice)

    def problems(self) -> Iterator[Record]:
        """Return the failures that concern the whole document."""
        for outcome in self.run.problems():
            if self._unit.found and outcome.reason and outcome.reason.code == "no-request":
                continue
            yield self._record(outcome, None, time.time(), 0.0)
        for error in self._plan.suspects:
            yield record.without_request(self._numbered(), "error", error.reason, error.line)

    def send(self, step: Step) -> Iterator[Record]:
        """Do a step; yield the record of each request that was sent for it."""
        if step.part == "teardown":
            with children.allowed():
                yield from self._sent(step, self._control.teardown_client())
        else:
            yield from self._sent(step, None)

    def _sent(self, step: Step, client: Client | None) -> Iterator[Record]:
        outcomes = self.run.evaluate(step, client)
        while True:
            began, start = time.time(), time.monotonic()
            outcome = next(outcomes, None)
            if outcome is None:
                return
            over = step.part != "teardown" and self._control.why
            took = time.monotonic() - start
            for needed in outcome.needed:
                yield self._record(needed, None, *_time_of(needed, began))
            yield self._record(outcome, step, began, took)
            if over:  # skip the other requests of its loop or of the files that it runs
                return

    def skip(self, step: Step, why: str) -> Iterator[Record]:
        """Yield a step's record as skipped, or its records if it was sent for another one."""
        if self.run.was_sent(step):
            yield from self.send(step)
        else:
            yield self._undone(step, "skipped", why)

    def _undone(self, step: Step | None, outcome: str, reason: str) -> Record:
        title = "" if step is None else self.run.document.title(step)
        return record.without_request(self._numbered(), outcome, reason, step=step, title=title)

    def told(self, step: Step | None) -> None:
        """Note that a step has a record."""
        if step is not None:
            self._untold.pop(step.id, None)

    def abandon(self, why: str) -> Iterator[Record]:
        """Yield a record of each request under way, and of each step that has none yet."""
        steps = {step.id: step for step in self._plan}
        under_way = self.run.results.under_way
        for one in under_way:
            step, reason = steps.get(one), f"under way when the run ended: {why}"
            found = self._undone(step, "error", reason)
            if step is None:
                found |= {"file": os.path.relpath(one.file), "name": one.name or None}
            yield found
        for step in self._untold.values():
            if step.id not in under_way:
                yield self._undone(step, "skipped", why)

    def close(self) -> None:
        """Close the evaluation, and save the results if requested. Raises FileError."""
        self.run.close()
        if self._settings.write and not self._plain:
            self._file.save(self.run.text)

    def _record(self, outcome: Outcome, step: Step | None, began: float, took: float) -> Record:
        place = self._numbered()
        try:
            found = record.of_outcome(outcome, step, place, began, took, fail=True)
        except Exception as error:
            why = explained(error)
            found = record.without_request(place, "error", why.reason, outcome.line, step)
        found["notes"] = [*self._notes, *found["notes"]]
        self._notes = ()  # those of the whole document are reported once
        return found

    def _numbered(self) -> Record:
        self._count += 1
        return {"order": [self._unit.number, self._count], **self._unit.place}


def _time_of(outcome: Outcome, began: float) -> tuple[float, float]:
    """Return the start and the duration of an outcome's exchanges."""
    every = [one for one in (*outcome.exchanges, outcome.broken) if one is not None]
    took = [one.response.duration for one in every if one.response is not None]
    return min((one.started for one in every), default=began), sum(took)


def run(
    unit: Unit,
    settings: Settings,
    services: Services,
    control: Control,
    keep: Callable[[Record], None],
    begin: Callable[[Opened], None] = lambda _: None,
) -> str | None:
    """Run a document; pass each request's record to `keep`; return why it cannot be read, or None.

    Once its setup has begun, its teardown is sent however the run ends. `begin` gets the document
    that was read.
    """
    place = {"order": [unit.number, 0], **unit.place}
    if control.why:
        keep(record.without_request(place, "skipped", control.why))
        return None
    try:
        opened = Opened(unit, settings, services, control)
    except Exception as error:
        why = explained(error)
        keep(record.without_request(place, "error", why.reason, why.line))
        return str(why)
    begin(opened)
    late = {"order": [unit.number, 10**9], **unit.place}
    try:
        _send_all(opened, settings, control, keep)
    except FileError:  # of the records: nothing can be reported any more
        raise
    except Exception as error:
        keep(record.without_request(late, "error", explained(error).reason))
    finally:
        try:
            opened.close()
        except Exception as error:
            keep(record.without_request(late, "error", explained(error).reason))
    return None


def _send_all(
    opened: Opened, settings: Settings, control: Control, keep: Callable[[Record], None]
) -> None:
    def kept(found: Record, step: Step | None = None) -> bool:
        with control.telling:
            if control.abandoned:
                return False
            keep(found)
            opened.told(step)
        failed = found["outcome"] in ("failed", "error")
        if failed and settings.bail:
            control.stop("a request failed before (--bail)")
        return not failed

    for found in opened.problems():
        kept(found)
    requests = opened.steps("request")
    if not requests:
        return  # setup and teardown alone are not sent
    ready, begun = True, False
    try:
        for step in (*opened.steps("setup"), *requests):
            if not ready or control.why:
                for found in opened.skip(step, control.why or "the setup failed"):
                    kept(found, step)
                continue
            begun = True
            held = [kept(found, step) for found in opened.send(step)]
            ready = step.part != "setup" or all(held)
    finally:
        for step in opened.steps("teardown"):
            if not begun:
                for found in opened.skip(step, control.why or "nothing was sent"):
                    kept(found, step)
                continue
            for found in opened.send(step):
                kept(found, step)
