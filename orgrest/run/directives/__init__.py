"""The directives that act before a request is sent, each in a module of the same name.

Each module's `act` gets the directive's value and the job. It raises EvaluationError if the value
is invalid, and calls `job.decline` if the request must not be sent.
`orgrest.http.parsing.directives` lists all directives.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Final

from orgrest.http.parsing.directives import DIRECTIVES
from orgrest.regular import compiled
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.http.syntax import Directive, Saving
    from orgrest.model import Source
    from orgrest.run.job import Job

ACTING: Final = tuple(rule.name for rule in DIRECTIVES.values() if rule.acts)
"""The directives that act before a request, in the order in which they are carried out."""

_TIME = compiled(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def act(job: Job) -> None:
    """Carry out the directives of a request. A dry run only checks their values."""
    if job.parsed.restclient:
        return
    for name in ACTING:
        directive = job.parsed.directive(name)
        if directive is not None and not job.declined:
            module = import_module(f"{__name__}.{name.replace('-', '_')}")
            with place_of(directive, job.parsed.source):
                module.act(directive.value.text, job)


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
