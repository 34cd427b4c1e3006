"""Captures values from a response into variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.rendering.results import captures

if TYPE_CHECKING:
    from orgrest.run.job import Job


def capture(job: Job) -> None:
    """Set the variables that the request captures. Raises OrgrestError if a value is missing."""
    for name, value in captures(*job.sent):
        job.context.capture(job.parsed, name, value)
