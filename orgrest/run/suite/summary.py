"""Summaries of test runs: each request in short form, and the totals at the end."""

from __future__ import annotations

import time
from array import array
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.values.environments import SECRET_NAME
from orgrest.regular import compiled
from orgrest.rendering.sanitize import visible
from orgrest.run.record import OUTCOMES, without_request

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterable, Iterator

    from orgrest.run.record import Record

KILLED = "the run was killed"
"""The reason in reports that `orgrest report` generates for an incomplete run."""
PERCENTILES = (50, 90, 95, 99)
_EXCERPT, _EXCERPT_LINES = 500, 10  # characters and lines of a body that are shown after a failure
_MOST_SHOWN = 3  # exchanges of a failed request
_FIELDS = (  # in JSON and in forms: what precedes the value, and the name
    compiled(r'("([^"\n]*)"\s*:\s*"?)(?:(?<=")(?:[^"\\\n]|\\.)+|-?\d[\w.+-]*)'),
    compiled(r"(?<![^&\n])(([^\s=&]+)=)[^\s&]+"),
)


@classes.frozen
class Brief:
    """A short form of the record of a request.

    `unit` is the number of the `Unit`. `place` is the file and line. `title` names the request.
    `repeated` is the title as written, which is the same in all repetitions. `why` contains the
    reasons for a failure and the beginning of the response, one line each. `times` contains the
    duration of each exchange of the request itself: several if it was sent for each element of a
    list. `assertions` counts the checked assertions, including tests in scripts. `notes` contains
    other messages for the user. `attempts` is more than 1 if the request was sent again.
    """

    unit: int
    place: str
    title: str
    repeated: str
    part: str
    outcome: str
    status: int | None
    duration: float
    times: tuple[float, ...]
    assertions: int = 0
    why: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attempts: int = 1

    @classmethod
    def of(cls, record: Record) -> Brief:
        """Return the short form of a record."""
        last = last_own(record)
        response = last and last["response"]
        bad = record["outcome"] in ("failed", "error")
        return cls(
            record["order"][0],
            place(record),
            title(record),
            _with_row(_as_written(record), record),
            record["part"],
            record["outcome"],
            response["status"] if response else None,
            spent(record),
            tuple(
                exchange["duration"]
                for exchange in own(record)
                if exchange["number"] and exchange["duration"] is not None
            ),
            len(record["assertions"]),
            (*reasons(record), *(answers(record) if response and bad else ())),
            tuple(record["notes"]),
            attempts(record),
        )


def place(record: Record) -> str:
    """Return the position of a request as `file:line`."""
    return record["file"] if record["line"] is None else f"{record['file']}:{record['line']}"


def title(record: Record) -> str:
    """Return the title of a request: its name, or else its method and URL.

    If nothing was sent, the method and URL are as written. The indexes of the data row (if any) and
    of the repetition (if greater than 1) are appended.
    """
    words, last = _as_written(record), last_own(record)
    if not record["name"] and last:
        words = f"{last['request']['method']} {last['request']['url']}"
    return _with_numbers(words, record)


def unique_title(record: Record, used: Counter[tuple[str, str]]) -> str:
    """Return a title that is the same in all runs, and different for each request of a file.

    It is like `title`, but the method and URL are always as written. If the title is already in
    `used`, a number is appended. `used` contains the number of uses of each file and title.
    """
    written, file = _with_numbers(_as_written(record), record), record["file"]
    unique = written
    while used[file, unique]:
        used[file, written] += 1
        unique = f"{written} ({used[file, written]})"
    used[file, unique] += 1
    return unique


def _as_written(record: Record) -> str:
    if record["line"] is None:
        return record["name"] or "document"
    return record["name"] or record["title"] or f"line {record['line']}"


def _with_numbers(words: str, record: Record) -> str:
    words = _with_row(words, record)
    return words if record["turn"] == 1 else f"{words} [repetition {record['turn']}]"


def _with_row(words: str, record: Record) -> str:
    return words if record["row"] is None else f"{words} [row {record['row']}]"


def own(record: Record) -> list[Record]:
    """Return the exchanges of the request itself, without those for tokens or by scripts."""
    return [exchange for exchange in record["exchanges"] if exchange["reason"] is None]


def last_own(record: Record) -> Record | None:
    """Return the last exchange of the request itself, or None if it has no exchange."""
    return next(reversed(own(record)), None)


def spent(record: Record) -> float:
    """Return the time in seconds that the network and the server spent on a request.

    Without a response, this is the total time.
    """
    times = [exchange["duration"] for exchange in own(record)]
    return sum(times) if times and None not in times else float(record["duration"])


def attempts(record: Record) -> int:
    """Return the number of attempts, or its maximum if a record has several exchanges."""
    return max((exchange["attempts"] for exchange in record["exchanges"]), default=1)


def remarks(record: Record) -> list[str]:
    """Return the notes of a record, and the number of attempts if the request was sent again."""
    count = attempts(record)
    return [*record["notes"], *([f"{count} attempts"] if count > 1 else [])]


def reasons(record: Record) -> Iterable[str]:
    """Yield the reasons why a request failed or was skipped, one line each."""
    if record["reason"]:
        yield record["reason"]
    for test in record["assertions"]:
        if not test["passed"]:
            why = f": {test['reason']}" if test["reason"] else ""
            yield f"{record['file']}:{test['line']}: {test['name']}{why}"
            yield from (f"  {line}" for line in test["difference"][:20])


def answers(record: Record) -> Iterator[str]:
    """Yield a line for each failed exchange, and the beginning of the response's body.

    At most three exchanges are included. If none failed, the last exchange is included.
    """
    exchanges = record["exchanges"]
    failed = [exchange for exchange in exchanges if exchange.get("failed")] or exchanges[-1:]
    for exchange in failed[:_MOST_SHOWN]:
        response = exchange["response"]
        answer = "no answer" if response is None else f"{response['status']} {response['reason']}"
        yield f"{exchange['request']['method']} {exchange['request']['url']}: {answer}"
        if response is not None:
            yield from (f"  {line}" for line in _excerpt(response["body"]))
    if len(failed) > _MOST_SHOWN:
        yield f"... (failed exchanges in total: {len(failed)})"


def _excerpt(body: Record) -> Iterator[str]:
    text = body.get("text", "").rstrip("\n")
    excerpt = "\n".join(text[:_EXCERPT].split("\n")[:_EXCERPT_LINES])
    yield from (visible(line, one_line=True) for line in _masked(excerpt).split("\n") if text)
    if text and (body["cut"] or len(excerpt) < len(text)):
        yield f"... ({body['size']} bytes in total)"


def _masked(text: str) -> str:
    """Mask the values of the fields whose names suggest a secret, such as a token."""
    for field in _FIELDS:
        text = field.sub(
            lambda match: f"{match[1]}***" if SECRET_NAME.search(match[2]) else match[0], text
        )
    return text


def end_of_run(run: Record, unit: int, document: str, why: str) -> Record:
    """Return the record of an error, for the report of a run that ended early.

    `unit` is the number of a `Unit` that `run` does not have.
    """
    place = {"order": [unit, 0], "document": document, "file": document, "turn": 1, "row": None}
    end = without_request(place, "error", why)
    return {**end, "name": "end of the run", "started": run["started"]}


@classes.define
class Summary:
    """The totals of a run: requests by outcome, checked assertions, and durations.

    `unasserted` counts the requests that got a response but have no assertions. If `repeated` is
    true, documents run several times.
    """

    repeated: bool = False
    counts: dict[str, int] = classes.field(factory=lambda: dict.fromkeys(OUTCOMES, 0))
    assertions: int = 0
    unasserted: int = 0
    _began: float = classes.field(factory=time.monotonic)
    _times: dict[tuple[str, str], array[float]] = classes.field(factory=dict)

    def count(self, brief: Brief) -> None:
        """Add the outcome of a request."""
        self.counts[brief.outcome] += 1
        self.assertions += brief.assertions
        self.unasserted += brief.outcome in ("passed", "failed") and not brief.assertions
        if self.repeated and brief.times:
            key = brief.place, brief.repeated
            self._times.setdefault(key, array("d")).extend(brief.times)

    @property
    def held(self) -> bool:
        """Whether the run had neither failures nor errors."""
        return not (self.counts["failed"] or self.counts["error"])

    def as_data(self) -> Record:
        """Return the summary as JSON data, as in reports."""
        return {
            "requests": sum(self.counts.values()),
            **self.counts,
            "assertions": self.assertions,
            "unasserted": self.unasserted,
            "duration": round(time.monotonic() - self._began, 3),
            "percentiles": [
                {"place": place, "title": title, **percentiles(times)}
                for (place, title), times in self._times.items()
            ],
        }


def percentiles(times: Iterable[float]) -> Record:
    """Return the count, minimum, maximum and nearest-rank percentiles of durations."""
    ordered = sorted(times)
    count = len(ordered)
    ranks = {
        f"p{percent}": ordered[max(0, -(-percent * count // 100) - 1)] for percent in PERCENTILES
    }
    numbers = {"count": count, "min": ordered[0], **ranks, "max": ordered[-1]}
    return {name: round(value, 6) for name, value in numbers.items()}
