"""Statistics of a campaign over time: `statistics.jsonl`, which is only appended to.

A line is what was done since the line before it, so that their sum is the whole:

    total(read(folder))                       an Interval with all of it
    for each in read(folder): each.seconds    how long the campaign had run at its end
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import attrs

from scriptschema import files
from scriptschema.files import FileError

FILE: Final = "statistics.jsonl"


@attrs.define
class Interval:
    """What was done in an interval of a campaign.

    `seconds` is how long the campaign has run at the interval's end, times between two runs of it
    left out, and `at` the time then (ISO 8601, UTC). `programs` were made, and took `runs`, one on
    each target and variant, which lasted `run_seconds` in all workers together. `corpus` trees are
    in the corpus, `finds` in the finds at the interval's end; all other fields are counts of the
    interval: programs by the kind of their first outcome, runs by normalised error message,
    programs that have a feature (`corpora.features`, library members are among them), known bugs
    seen, verdicts that a second run did not confirm (`unconfirmed`; what broke is a find all the
    same). `operators` has `[applied, changed, useful]` for each operator of mutation.
    """

    seconds: float = 0.0
    at: str = ""
    programs: int = 0
    runs: int = 0
    run_seconds: float = 0.0
    corpus: int = 0
    finds: int = 0
    unconfirmed: int = 0
    outcomes: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    errors: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    features: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    known: Counter[str] = attrs.field(factory=Counter, converter=Counter)
    operators: dict[str, list[int]] = attrs.field(factory=dict)

    def add(self, later: Interval) -> None:
        """Count what was done in a later interval, too."""
        self.seconds, self.at = max(self.seconds, later.seconds), later.at or self.at
        self.programs += later.programs
        self.runs += later.runs
        self.run_seconds += later.run_seconds
        self.unconfirmed += later.unconfirmed
        self.corpus, self.finds = later.corpus, later.finds
        for name in ("outcomes", "errors", "features", "known"):
            getattr(self, name).update(getattr(later, name))
        for operator, row in later.operators.items():
            mine = self.operators.get(operator, [0] * len(row))
            self.operators[operator] = [a + b for a, b in zip(mine, row, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        return attrs.asdict(self, recurse=False)


def total(intervals: Iterable[Interval]) -> Interval:
    """All intervals as one."""
    whole = Interval()
    for each in intervals:
        whole.add(each)
    return whole


def read(folder: Path) -> list[Interval]:
    """The intervals of the campaign in `folder`; a line that was cut off is left out.

    Raises FileError.
    """
    path = folder / FILE
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise FileError(f"{path}: {files.reason_of(error)}") from None
    found = []
    for line in lines:
        try:
            found.append(Interval(**json.loads(line)))
        except (ValueError, TypeError):
            continue
    return found


def append(folder: Path, interval: Interval) -> None:
    """Write a line. Raises FileError."""
    append_line(folder / FILE, json.dumps(interval.as_json(), separators=(",", ":")))


def append_line(path: Path, line: str) -> None:
    """Append a line to a file, on a line of its own also after one that was cut off.

    Raises FileError.
    """
    try:
        with path.open("ab+") as file:
            if file.tell():
                file.seek(-1, 2)
                if file.read() != b"\n":
                    file.write(b"\n")
            file.write(line.encode("utf-8", "backslashreplace") + b"\n")
    except OSError as error:
        raise FileError(f"{path}: {files.reason_of(error)}") from None
