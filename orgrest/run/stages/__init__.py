"""The stages through which each request of a task goes, in order: functions of a `Job`.

Each row names a feature and a function. Only requests with that feature pass through the stage
(`Job.features`; "" is each request), and only then is its module loaded. A stage that declines the
request, or a directive in it, ends its way.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.run.job import Job
    from orgrest.run.outcomes import Outcome

BEFORE: Final[tuple[tuple[str, str], ...]] = (
    ("directives", ".stages.allow.check"),
    ("scripts", ".stages.scripts.before"),
    ("directives", ".directives.act"),
)
"""For a request as it is written, once for all elements of a list in it."""
COMPLETED: Final[tuple[tuple[str, str], ...]] = (
    ("", ".stages.expand.expand"),
    ("secrets", ".stages.bind.bind_secrets"),
    ("scripts", ".stages.scripts.completed"),
    ("secrets", ".stages.bind.bind_secrets"),
)
SENT: Final[tuple[tuple[str, str], ...]] = (
    ("", ".stages.send.send"),
    ("captures", ".stages.capture.capture"),
    ("scripts", ".stages.scripts.after"),
    ("savings", ".stages.save.save"),
    ("judged", ".stages.judge.judge"),
    ("", ".stages.render.render"),
)
PREVIEWED: Final[tuple[tuple[str, str], ...]] = (("", ".stages.preview.preview"),)
"""What a dry run does instead of `SENT`."""


def do(job: Job) -> Outcome:
    """Send the requests of a job's task in order; failures are in the outcome, not raised."""
    task = job.task
    with job.work.tokens.of_task(job.asked):
        task.context.tokens.clear()  # each request asks whether they are still valid
        try:
            for need in task.needed:
                need()
            for parsed in task.parsed:
                job.begin(parsed)
                if _through(BEFORE, job):
                    _send_each(job)
        except Exception as error:
            return job.failed(error)
    return job.outcome()


def _send_each(job: Job) -> None:
    """Send a request once, or for each of the elements that it refers to."""
    contexts = [job.context]
    if "elements" in job.features:
        from orgrest.run.stages.elements import turns

        contexts = turns(job)
    for context in contexts:
        job.turn(context)
        last = PREVIEWED if job.work.settings.dry_run else SENT
        if not _through((*COMPLETED, *last), job):
            return


def _through(stages: Iterable[tuple[str, str]], job: Job) -> bool:
    """Do these stages; tell whether the request is still to be sent."""
    for feature, stage in stages:
        if job.declined:
            return False
        if feature in job.features or (feature == "secrets" and job.context.secrets.bound):
            module, _, name = stage.rpartition(".")
            getattr(import_module(module, "orgrest.run"), name)(job)
    return not job.declined
