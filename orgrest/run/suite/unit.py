"""A single run of a document, with one row of data, and the records of that run."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.files import File, FileError, is_request_file
from orgrest.model import OrgrestError, explained
from orgrest.run import record
from orgrest.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    from orgrest.run.control import Control
    from orgrest.run.outcomes import Outcome
    from orgrest.run.plan import Step
    from orgrest.run.record import Record
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings


@classes.frozen
class Unit:
    """A document to run once.

    `turn` is the index of this repetition (`--repeat`), from 1. `row` is the index of the data row,
    and `data` contains its variables. If `found` is true, the document was found in a folder. It
    may then contain no requests, since it may exist only to be imported.
    """

    number: int
    file: str
    turn: int = 1
    row: int | None = None
    data: Mapping[str, str] = classes.field(factory=dict)
    found: bool = False

    @property
    def place(self) -> Record:
        """The fields that identify this run in its records."""
        return {"document": self.file, "file": self.file, "turn": self.turn, "row": self.row}


class Opened:
    """A document that has been read and planned, and the steps that still have no record."""

    def __init__(self, unit: Unit, settings: Settings, services: Services) -> None:
        """Read and plan the document. Raises OrgrestError if that fails."""
        self._unit = unit
        self._count = 0
        path = Path(unit.file)
        self._file = File.read(path)
        plain = is_request_file(path)
        self._saves = settings.write and not plain
        if self._saves:
            self._file.check_writable()
        self.run = Run(
            self._file.text,
            file=unit.file,
            settings=settings.of_document(path.resolve().parent, unit.data),
            services=services,
            plain=plain,
        )
        plan = self.run.plan
        self._notes = (*self._file.encoding.notes, *plan.notices)
        self._unrecorded = {step.id: step for step in plan.tested(settings.choice)}

    def records(self, outcome: Outcome) -> Iterator[Record]:
        """Yield the records for `outcome` and, before it, for the requests that it needed."""
        for reported in (*outcome.needed, outcome):
            place = self._place
            try:
                entry = record.of_outcome(reported, place, fail=True)
            except Exception as error:
                why = explained(error)
                entry = record.without_request(
                    place, "error", why.reason, reported.line, reported.step
                )
            entry["notes"] = [*self._notes, *entry["notes"]]
            self._notes = ()  # notes about the whole document are reported once
            yield entry
        if outcome.step is not None:
            self._unrecorded.pop(outcome.step.id, None)
        self.run.reported(outcome)

    def abandon(self, why: str) -> Iterator[Record]:
        """Yield records for all requests and steps that have none.

        These are the requests that have just finished, or that others needed, the requests in
        progress, and the steps that were not reached. `why` is the reason why the run ended.
        """
        steps = {step.id: step for step in self.run.plan.steps}
        under_way, sending = tuple(self.run.results.under_way), tuple(self.run.sending)
        jobs = {job.task.id.request: job for job in sending}
        finished = set()
        for outcome in self.run.unreported():
            finished.add(None if outcome.task is None else outcome.task.id)
            yield from self.records(outcome)
        secrets, reason = self.run.context.secrets.texts, f"in progress when the run ended: {why}"
        for step_id in under_way:
            step, job = steps.get(step_id), jobs.get(step_id)
            if job is None:  # it waits for another request
                entry = self._undone(step, "error", reason)
                if step is None:
                    entry |= {"file": os.path.relpath(step_id.file), "name": step_id.name or None}
                yield entry
            elif job.task.id not in finished:  # in the meantime
                outcome = job.failed(OrgrestError(reason))
                yield from self.records(classes.evolve(outcome, step=step, secrets=secrets))
        unrecorded, self._unrecorded = self._unrecorded, {}
        for step in unrecorded.values():
            if step.id not in under_way:
                yield self._undone(step, "skipped", why)

    def _undone(self, step: Step | None, outcome: str, reason: str) -> Record:
        title = "" if step is None else self.run.document.title(step)
        return record.without_request(self._place, outcome, reason, step=step, title=title)

    def save(self) -> None:
        """Save the results in the document if the settings ask for it. Raises FileError."""
        if self._saves:
            self._file.save(self.run.document.text)

    @property
    def _place(self) -> Record:
        self._count += 1
        return {"order": [self._unit.number, self._count], **self._unit.place}


def run(
    unit: Unit,
    settings: Settings,
    services: Services,
    control: Control,
    keep: Callable[[Record], None],
    begin: Callable[[Opened], None] = lambda _: None,
) -> str | None:
    """Run a document, and pass the record of each request to `keep`.

    Returns the reason if the document cannot be read or planned, otherwise None. `begin` is called
    with the document once it has been planned. If the run has already ended, all requests are
    recorded as skipped. If the document cannot be read, or if there is no time to read it, it gets
    a single record. Once the run is abandoned, nothing more is recorded.
    """
    place = {"order": [unit.number, 0], **unit.place}
    ended = control.why

    def keep_all(records: Iterable[Record]) -> None:
        with control.recording:
            for entry in () if control.abandoned else records:
                keep(entry)

    try:
        opened = None
        if not ended or time.monotonic() < control.listing_ends:
            opened = Opened(unit, settings, services)
    except Exception as error:
        why = explained(error)
        if not ended:
            keep_all([record.without_request(place, "error", why.reason, why.line)])
            return str(why)
    if opened is None:
        keep_all([record.without_request(place, "skipped", ended)])
        return None
    begin(opened)
    if ended:
        keep_all(opened.abandon(ended))
        return None

    def keep_records(outcome: Outcome) -> None:
        if unit.found and outcome.reason is not None and outcome.reason.code == "no-request":
            return
        keep_all(opened.records(outcome))
        if settings.bail and any(
            reported.fails(strictly=True) for reported in (*outcome.needed, outcome)
        ):
            control.stop("an earlier request failed (--bail)")

    late = {"order": [unit.number, 10**9], **unit.place}
    outcomes = opened.run.outcomes(control)
    try:
        for outcome in outcomes:
            keep_records(outcome)
    except Exception as error:  # raised by `keep` or a step: the teardown is sent anyway
        for outcome in _torn_down(outcomes, error):
            keep_records(outcome)
        if isinstance(error, FileError):  # records can no longer be written
            raise
        keep_all([record.without_request(late, "error", explained(error).reason)])
    finally:
        try:
            opened.save()
        except Exception as error:
            keep_all([record.without_request(late, "error", explained(error).reason)])
    return None


def _torn_down(outcomes: Generator[Outcome, None, None], error: Exception) -> Iterator[Outcome]:
    """Throw an error into `outcomes`, and yield the outcomes of the teardown."""
    with contextlib.suppress(type(error), StopIteration):
        yield outcomes.throw(error)
        yield from outcomes
