"""`# @sleep TIME` waits before the request is sent. Source: httpyac's guide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.run.directives import seconds

if TYPE_CHECKING:
    from orgrest.run.job import Job


def act(text: str, job: Job) -> None:
    """Wait for the time in `text`. Raises EvaluationError if it is invalid or too long."""
    job.work.sleep(seconds(text, "sleep"), "@sleep")
