"""The directives that act before a request is sent: a module for each, named like the directive.

The table of directives (`orgrest.http.parsing.directives`) lists them. A module's function `act`
gets the directive's value and the job. It raises EvaluationError, and calls `job.decline` if the
request must not be sent.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Final

from orgrest.http.parsing.directives import DIRECTIVES
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.run.job import Job

ACTING: Final = tuple(rule.name for rule in DIRECTIVES.values() if rule.acts)
"""The directives that act before a request, in the order in which they are carried out."""

_TIME = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>ms|s|m)?")
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0}


def act(job: Job) -> None:
    """Carry out the directives of a request, except in a dry run."""
    if job.parsed.restclient or job.work.settings.dry_run:
        return
    for name in ACTING:
        directive = job.parsed.directive(name)
        if directive is not None and not job.declined:
            import_module(f"{__name__}.{name.replace('-', '_')}").act(directive.value.text, job)


def seconds(text: str, what: str, unit: str = "ms") -> float:
    """Parse the duration `text` of the directive `what`; return seconds.

    A bare number is in `unit`. Raises EvaluationError for anything else.
    """
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise EvaluationError(f"@{what} takes a time such as 500 ms, 30 s or 2 m, not {text!r}")
    return float(match["number"]) * _UNITS[match["unit"] or unit]
