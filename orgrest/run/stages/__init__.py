"""The stages that each request of a task goes through in order. Each is a function of a `Job`.

`BEFORE`, `COMPLETED`, `SENT` and `PREVIEWED` list the stages as pairs of a feature and a function.
Only requests with that feature (see `Job.features`) go through the stage, and its module is
imported only for them. Every request has the feature "". A function yields a NeededError for each
token or response that it needs. If a stage or a directive declines the request, the later stages
are skipped.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from orgrest.model import OrgrestError
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from orgrest.http.syntax import ParsedRequest
    from orgrest.run.job import Job
    from orgrest.run.outcomes import Outcome
    from orgrest.run.results import Needing

BEFORE: Final[tuple[tuple[str, str], ...]] = (
    ("directives", ".stages.send.check"),
    ("definitions", ".stages.define.before_scripts"),
    ("scripts", ".stages.scripts.before"),
    ("definitions", ".stages.define.before_request"),
    ("directives", ".directives.act"),
)
"""The stages for a request as written, before its placeholders are replaced.

They run once, even if the request is sent for each element of a list.
"""
COMPLETED: Final[tuple[tuple[str, str], ...]] = (
    ("", ".stages.expand.expand"),
    ("secrets", ".stages.bind.bind_secrets"),
    ("scripts", ".stages.scripts.completed"),
    ("secrets", ".stages.bind.bind_secrets"),
    ("savings", ".stages.save.check"),
)
SENT: Final[tuple[tuple[str, str], ...]] = (
    ("", ".stages.send.send"),
    ("captures", ".stages.render.capture"),
    ("definitions", ".stages.define.after_response"),
    ("scripts", ".stages.scripts.after"),
    ("definitions", ".stages.define.after_scripts"),
    ("savings", ".stages.save.save"),
    ("judged", ".stages.judge.judge"),
    ("", ".stages.render.render"),
)
PREVIEWED: Final[tuple[tuple[str, str], ...]] = (("", ".stages.expand.preview"),)
"""The stages that replace `SENT` in a dry run."""


def do(job: Job) -> Needing[Outcome]:
    """Send the requests of a job's task in order, and return the outcome of the task.

    An error ends the task, and becomes part of the outcome. Yields a NeededError for each token or
    response that is needed first.
    """
    task = job.task
    token_requests = job.work.asked
    if len(token_requests) == 1:  # earlier token requests are recorded with the first request
        job.asked += token_requests[0]
        token_requests[0].clear()
    token_requests.append(job.asked)
    task.context.tokens.clear()  # each request checks whether the tokens are still valid
    try:
        _check(task.parsed[0])
        for need in task.needed:
            error = need if isinstance(need, EvaluationError) else (yield need)
            if error is not None:
                raise error
        for parsed in task.parsed:
            _check(parsed)
            job.begin(parsed)
            if (yield from _through(BEFORE, job)):
                yield from _send_each(job)
    except Exception as error:
        return job.failed(error)
    finally:
        token_requests.pop()
    return job.outcome()


def _check(parsed: ParsedRequest) -> None:
    """Raise a request's first parse error, before anything is sent for the request."""
    if parsed.problems:
        raise parsed.problems[0]


def _send_each(job: Job) -> Needing[None]:
    """Send a request once, or once for each element of its list."""
    contexts = [job.context]
    if "elements" in job.features:
        from orgrest.run.stages.turns import of_elements

        contexts = yield from of_elements(job)
    last = PREVIEWED if job.work.settings.dry_run else SENT
    defined = job.defined
    for number, context in enumerate(contexts, 1):
        job.turn(context)
        job.defined = defined.copy()  # without the values that depend on the previous element
        try:
            yield from _through((*COMPLETED, *last), job)
        except Exception:
            if number < len(contexts):
                where = f"element {number} of {len(contexts)}"
                job.notes.append(f"stopped at {where}: the later elements were not sent")
            raise


@cache
def _function(stage: str) -> Callable[[Job], Needing[None] | None]:
    module, _, name = stage.rpartition(".")
    function: Callable[[Job], Needing[None] | None]
    function = getattr(import_module(module, "orgrest.run"), name)
    return function


def _through(stages: Iterable[tuple[str, str]], job: Job) -> Needing[bool]:
    """Run stages for the job's request. Returns False if the request was declined.

    An error after the response has arrived is raised only after the assertions are checked.
    """
    failure: OrgrestError | None = None
    for feature, stage in stages:
        if job.declined:
            return False
        if failure is not None and feature != "judged":
            continue
        if feature in job.features or (feature == "secrets" and job.context.secrets.bound):
            try:
                waits = _function(stage)(job)
                if waits is not None:
                    yield from waits
            except OrgrestError as error:
                if not (job.attempts and job.attempts[-1].response):
                    raise
                failure = failure or error
    if failure is not None:
        raise failure
    return not job.declined
