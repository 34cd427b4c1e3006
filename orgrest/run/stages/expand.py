"""Replaces the placeholders of a request with values, by the rules of its language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http import values
from orgrest.run.results import resolved

if TYPE_CHECKING:
    from orgrest.model import Request
    from orgrest.run.job import Job
    from orgrest.run.results import Needing


def expand(job: Job) -> Needing[None]:
    """Replace the placeholders of the job's request, after yielding the requests it refers to.

    Raises ExpansionError if a placeholder has no value.
    """
    expansion = job.values = values.Values(job.parsed, job.context, defined=job.defined)

    def attempt() -> Request:
        expansion.again()
        if job.parsed.above is None:
            return values.expand(job.parsed, job.context, expansion)
        from orgrest.http import verb

        return verb.expand(job.parsed, job.context)

    request = yield from resolved(job.context, attempt)
    job.request = classes.evolve(request, held=request.held | job.held) if job.held else request
    job.notes += (str(warning) for warning in job.request.notices)
