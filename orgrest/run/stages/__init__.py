"""The stages through which each request of a task goes, in order: functions of a `Job`.

A stage that has nothing to do for a request returns at once. A stage, or the directive in it, that
declines the request ends its way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from orgrest.run import directives
from orgrest.run.outcomes import FAILURES
from orgrest.run.stages import (
    allow,
    bind,
    capture,
    elements,
    expand,
    judge,
    preview,
    render,
    save,
    scripts,
    send,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from orgrest.run.job import Job
    from orgrest.run.outcomes import Outcome

    Stage = Callable[[Job], None]

BEFORE: Final[tuple[Stage, ...]] = (allow.check, scripts.before, directives.act)
"""For a request as it is written, once for all elements of a list in it."""
COMPLETED: Final[tuple[Stage, ...]] = (
    expand.expand,
    bind.bind_secrets,
    scripts.completed,
    bind.bind_secrets,
)
SENT: Final[tuple[Stage, ...]] = (
    send.send,
    capture.capture,
    scripts.after,
    save.save,
    judge.judge,
    render.render,
)
PREVIEWED: Final[tuple[Stage, ...]] = (preview.preview,)
"""What a dry run does instead of `SENT`."""


def do(job: Job) -> Outcome:
    """Send the requests of a job's task in order; failures are in the outcome, not raised."""
    task = job.task
    with job.work.tokens.of_task(job.asked), task.context.secrets.of_request():
        task.context.tokens.clear()  # each request asks whether they are still valid
        try:
            for need in task.needed:
                need()
            for parsed in task.parsed:
                job.begin(parsed)
                if _through(BEFORE, job):
                    _send_each(job)
        except FAILURES as error:
            return job.failed(error)
    return job.outcome()


def _send_each(job: Job) -> None:
    """Send a request once, or for each of the elements that it refers to."""
    for context in elements.turns(job):
        job.turn(context)
        last = PREVIEWED if job.work.settings.dry_run else SENT
        if not _through((*COMPLETED, *last), job):
            return


def _through(stages: Iterable[Stage], job: Job) -> bool:
    """Do these stages; tell whether the request is still to be sent."""
    for stage in stages:
        stage(job)
        if job.declined:
            return False
    return True
