"""The stages through which each request of a task goes, in order: functions of a `Job`.

Each row names a feature and a function; functions that need other requests yield them. Only
requests with that feature pass through the stage (`Job.features`; "" means every request), and only
then is its module loaded. If a stage or a directive declines the request, later stages are skipped.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.run.job import Job
    from orgrest.run.outcomes import Outcome
    from orgrest.run.results import Needing

BEFORE: Final[tuple[tuple[str, str], ...]] = (
    ("directives", ".stages.allow.check"),
    ("scripts", ".stages.scripts.before"),
    ("directives", ".directives.act"),
)
"""Stages for a request as written, run once for all elements of a list in it."""
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
"""The stages of a dry run, instead of `SENT`."""


def do(job: Job) -> Needing[Outcome]:
    """Send the requests of a job's task in order; failures are in the outcome, not raised.

    Yields the needs that must be met first.
    """
    task = job.task
    asked = job.work.asked
    if len(asked) == 1:  # earlier token requests belong to the first request that is sent
        job.asked += asked[0]
        asked[0].clear()
    asked.append(job.asked)
    task.context.tokens.clear()  # each request asks whether they are still valid
    try:
        for need in task.needed:
            error = need if isinstance(need, EvaluationError) else (yield need)
            if error is not None:
                raise error
        for parsed in task.parsed:
            job.begin(parsed)
            if (yield from _through(BEFORE, job)):
                yield from _send_each(job)
    except Exception as error:
        return job.failed(error)
    finally:
        asked.pop()
    return job.outcome()


def _send_each(job: Job) -> Needing[None]:
    """Send a request once, or for each of the elements that it refers to."""
    contexts = [job.context]
    if "elements" in job.features:
        from orgrest.run.stages.turns import of_elements

        contexts = yield from of_elements(job)
    for context in contexts:
        job.turn(context)
        last = PREVIEWED if job.work.settings.dry_run else SENT
        if not (yield from _through((*COMPLETED, *last), job)):
            return


def _through(stages: Iterable[tuple[str, str]], job: Job) -> Needing[bool]:
    """Run these stages; return whether the request was not declined."""
    for feature, stage in stages:
        if job.declined:
            return False
        if feature in job.features or (feature == "secrets" and job.context.secrets.bound):
            module, _, name = stage.rpartition(".")
            waits = getattr(import_module(module, "orgrest.run"), name)(job)
            if waits is not None:
                yield from waits
    return not job.declined
