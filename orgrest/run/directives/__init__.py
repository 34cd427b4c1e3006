"""The directives that act before a request is sent.

`orgrest.http.parsing.directives` lists all directives.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from orgrest.regular import compiled
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from orgrest.http.syntax import Directive, Saving
    from orgrest.model import Source
    from orgrest.run.job import Job

_TIME = compiled(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def act(job: Job) -> None:
    """Carry out the directives of a request. A dry run only checks their values."""
    if job.parsed.restclient:
        return
    for name, carry_out in ACTING.items():
        directive = job.parsed.directive(name)
        if directive is not None and not job.declined:
            with place_of(directive, job.parsed.source):
                carry_out(directive.value.text, job)


def _note(question: str, job: Job) -> None:
    """Ask the user whether to send the request. A dry run does not ask. Source: httpyac's guide."""
    if job.work.settings.dry_run:
        return
    ask = job.work.services.ask
    if ask is None:
        raise EvaluationError("@note asks for confirmation, which requires a terminal")
    if not ask(question or f"Send {job.parsed.title}?"):
        job.decline("not sent: you declined (@note)")


def _sleep(time: str, job: Job) -> None:
    """Wait before the request is sent. Source: httpyac's guide."""
    job.work.sleep(seconds(time, "sleep"), "@sleep")


def _check_limit(text: str, _job: Job) -> None:
    """Check the value. `ratelimit.hold` is called before each attempt."""
    from orgrest.run.directives.ratelimit import Limit

    Limit.read(text)


ACTING: Final[Mapping[str, Callable[[str, Job], None]]] = {
    "note": _note,
    "sleep": _sleep,
    "ratelimit": _check_limit,
}
"""The directives that act before a request, in the order in which they are carried out.

A function gets the directive's value and the job. It raises EvaluationError if the value is
invalid, and calls `job.decline` if the request must not be sent.
"""


@contextmanager
def place_of(line: Directive | Saving, source: Source) -> Iterator[None]:
    """Return a context manager that adds the line's position in `source` to errors."""
    try:
        yield
    except EvaluationError as error:
        start = line.span.start
        raise EvaluationError.at(source, start, error.reason, error.code) from error


def seconds(text: str, what: str, unit: str = "ms") -> float:
    """Return the duration in `text`, converted to seconds.

    `unit` (`ms`, `s` or `m`) applies to a number without a unit. `what` is the directive's name,
    for messages. Raises EvaluationError if `text` is not a duration.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise EvaluationError(
            f"@{what} requires a time such as 500 ms, 30 s or 2 m, found {text!r}"
        )
    return float(match["number"]) * _UNITS[match["unit"] or unit]
