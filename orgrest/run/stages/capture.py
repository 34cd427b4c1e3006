"""Stores the response, and sets the variables that the request captures from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orgrest.run.job import Job


def capture(job: Job) -> None:
    """Make the exchange available to later requests, and capture. Raises OrgrestError."""
    request, response = job.sent
    job.work.results.answered(job.task.id, request, response)
    if request.captures:
        from orgrest.rendering.results import captures

        for name, value in captures(request, response):
            job.context.capture(job.parsed, name, value)
