"""Completes a request: replaces its variables, by the rules of its language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.http import values

if TYPE_CHECKING:
    from orgrest.model import Request
    from orgrest.run.job import Job


def expand(job: Job) -> None:
    """Complete the job's request. Raises ExpansionError."""
    found = job.values = values.Values(job.parsed, job.context, defined=job.defined)

    def attempt() -> Request:
        found.again()
        if job.parsed.above is None:
            return values.expand(job.parsed, job.context, found)
        from orgrest.http import verb

        return verb.expand(job.parsed, job.context)

    request = job.resolved(attempt)
    job.request = attrs.evolve(request, held=request.held | job.held) if job.held else request
    job.notes += (str(warning) for warning in job.request.notices)
