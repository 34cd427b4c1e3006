"""A campaign's statistics over time: `statistics.jsonl`, an append-only file.

Each line counts the work since the previous line, so the sum of all lines is the total:

    total(read(folder))                       an Interval with the totals
    for each in read(folder): each.seconds    how long the campaign had run by the end of `each`
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import attrs

from scriptschema import files
from scriptschema.fuzzing.targets.outcome import OK

FILE: Final = "statistics.jsonl"


@attrs.define
class Interval:
    """The work done in an interval of a campaign.

    Some fields describe the end of the interval. `seconds` is the total duration of the campaign's
    runs so far. `at` is the time (ISO 8601, UTC). `corpus` and `finds` are the numbers of trees and
    finds. `covered` is the number of coverage counters that this run of the campaign has reached.

    The other fields count the work in the interval. `runs` counts one run for each program, target
    and variant. `run_seconds` is the total duration of these runs. `outcomes` counts programs by
    the kind of their worst outcome (the last in `outcome.KINDS`), except programs that are only
    compiled, which `compiled` counts. `errors` counts runs by normalised error message. `features`
    counts programs by feature (`corpora.features`). `known` counts occurrences of known bugs.
    `unconfirmed` counts verdicts that a second run did not confirm, except for crashes and similar
    outcomes, which become finds anyway. `exempt` counts verdicts for which the program itself is
    the cause: it is endless, or catches a stack overflow. `operators` maps each mutation operator
    to its counts, `[applied, changed, useful]`.
    """

    seconds: float = 0.0
    at: str = ""
    programs: int = 0
    runs: int = 0
    run_seconds: float = 0.0
    corpus: int = 0
    finds: int = 0
    unconfirmed: int = 0
    exempt: int = 0
    covered: int = 0
    outcomes: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    compiled: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    errors: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    features: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    known: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    operators: dict[str, list[int]] = attrs.field(factory=dict)

    def add(self, later: Interval) -> None:
        """Add the counts of a later interval."""
        self.seconds, self.at = max(self.seconds, later.seconds), later.at or self.at
        self.programs += later.programs
        self.runs += later.runs
        self.run_seconds += later.run_seconds
        self.unconfirmed += later.unconfirmed
        self.exempt += later.exempt
        self.corpus, self.finds = later.corpus, later.finds
        self.covered = max(self.covered, later.covered)
        for name in ("outcomes", "compiled", "errors", "features", "known"):
            getattr(self, name).update(getattr(later, name))
        for operator, row in later.operators.items():
            mine = self.operators.get(operator, [0] * len(row))
            self.operators[operator] = [a + b for a, b in zip(mine, row, strict=True)]

    @property
    def ended(self) -> int:
        """The number of programs all of whose runs ended normally."""
        return self.outcomes[OK]


def now() -> str:
    """Return the current time as written in a campaign's files: ISO 8601, UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def total(intervals: Iterable[Interval]) -> Interval:
    """Return the sum of all intervals."""
    whole = Interval()
    for each in intervals:
        whole.add(each)
    return whole


def shares_ended(intervals: Sequence[Interval], parts: int = 5) -> list[float | None]:
    """Return the share of programs that ended normally in each of `parts` equal periods.

    The periods divide the time that the campaign has run. The share is None for a period without
    programs. Programs that are only compiled do not count.
    """
    programs, ended = [0] * parts, [0] * parts
    whole = max((each.seconds for each in intervals), default=0.0) or 1.0
    before = 0.0
    for each in intervals:
        part = min(int(parts * (before + each.seconds) / 2 / whole), parts - 1)
        programs[part] += each.outcomes.total()
        ended[part] += each.ended
        before = each.seconds
    return [
        ended_count / all_ if all_ else None
        for ended_count, all_ in zip(ended, programs, strict=True)
    ]


def read(folder: Path) -> list[Interval]:
    """Return the intervals of the campaign in `folder`. Truncated and invalid lines are skipped.

    Raises FileError.
    """
    intervals = []
    for line in (files.content_of(folder / FILE) or b"").splitlines():
        try:
            interval = Interval(**json.loads(line))
            total([interval])  # fails if a value has another type
        except (ValueError, TypeError, AttributeError, RecursionError):
            continue
        intervals.append(interval)
    return intervals


def append(folder: Path, interval: Interval) -> None:
    """Append an interval to the statistics of the campaign in `folder`. Raises FileError."""
    append_line(folder / FILE, json.dumps(attrs.asdict(interval), separators=(",", ":")))


def append_line(path: Path, line: str) -> None:
    """Append a line to a file. If the file ends in a truncated line, start a new line first.

    Raises FileError.
    """
    with files.errors_of(path), files.open_to_append_lines(path) as file:
        file.write(line.encode("utf-8", "backslashreplace") + b"\n")
