"""One run of a document, for one turn and row of data, and its records."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from orgrest.files import File, FileError, is_request_file
from orgrest.model import explained
from orgrest.run import record
from orgrest.run.run import Run

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping

    from orgrest.run.control import Control
    from orgrest.run.outcomes import Outcome
    from orgrest.run.plan import Step
    from orgrest.run.record import Record
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings


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
    """A document that was read and planned, and its recorded steps."""

    def __init__(self, unit: Unit, settings: Settings, services: Services) -> None:
        """Read and plan the document. Raises OrgrestError if either fails."""
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
        self._notes = plan.notices
        self._untold = {step.id: step for step in plan.steps if settings.choice.takes(step)}

    def records(self, outcome: Outcome) -> Iterator[Record]:
        """Yield the records of an outcome: of the requests sent for it, then its own."""
        for one in (*outcome.needed, outcome):
            place = self._place
            try:
                found = record.of_outcome(one, place, fail=True)
            except Exception as error:
                why = explained(error)
                found = record.without_request(place, "error", why.reason, one.line, one.step)
            found["notes"] = [*self._notes, *found["notes"]]
            self._notes = ()  # those of the whole document are reported once
            yield found
        if outcome.step is not None:
            self._untold.pop(outcome.step.id, None)

    def abandon(self, why: str) -> Iterator[Record]:
        """Yield a record of each request in progress, and of each step without a record."""
        steps = {step.id: step for step in self.run.plan.steps}
        under_way = tuple(self.run.results.under_way)
        for one in under_way:
            step, reason = steps.get(one), f"under way when the run ended: {why}"
            found = self._undone(step, "error", reason)
            if step is None:
                found |= {"file": os.path.relpath(one.file), "name": one.name or None}
            yield found
        for step in self._untold.values():
            if step.id not in under_way:
                yield self._undone(step, "skipped", why)

    def _undone(self, step: Step | None, outcome: str, reason: str) -> Record:
        title = "" if step is None else self.run.document.title(step)
        return record.without_request(self._place, outcome, reason, step=step, title=title)

    def save(self) -> None:
        """Save the results if requested. Raises FileError."""
        if self._saves:
            self._file.save(self.run.text)

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
    """Run a document; pass each request's record to `keep`; return why it cannot be read, or None.

    `begin` gets the document that was read. Nothing is kept of a run that was abandoned.
    """
    place = {"order": [unit.number, 0], **unit.place}
    if control.why:
        keep(record.without_request(place, "skipped", control.why))
        return None
    try:
        opened = Opened(unit, settings, services)
    except Exception as error:
        why = explained(error)
        keep(record.without_request(place, "error", why.reason, why.line))
        return str(why)
    begin(opened)

    def kept(outcome: Outcome) -> None:
        if unit.found and outcome.reason is not None and outcome.reason.code == "no-request":
            return
        with control.telling:
            for found in () if control.abandoned else opened.records(outcome):
                keep(found)
        if settings.bail and any(one.fails(strictly=True) for one in (*outcome.needed, outcome)):
            control.stop("a request failed before (--bail)")

    late = {"order": [unit.number, 10**9], **unit.place}
    outcomes = opened.run.outcomes(control)
    try:
        for outcome in outcomes:
            kept(outcome)
    except Exception as error:  # raised by `keep` or a step: the teardown is sent nevertheless
        for outcome in _torn_down(outcomes, error):
            kept(outcome)
        if isinstance(error, FileError):  # nothing can be reported any more
            raise
        keep(record.without_request(late, "error", explained(error).reason))
    finally:
        try:
            opened.save()
        except Exception as error:
            keep(record.without_request(late, "error", explained(error).reason))
    return None


def _torn_down(outcomes: Generator[Outcome, None, None], error: Exception) -> Iterator[Outcome]:
    """End a run with an error; yield the outcomes of its teardown."""
    with contextlib.suppress(type(error), StopIteration):
        yield outcomes.throw(error)
        yield from outcomes
