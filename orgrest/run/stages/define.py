"""Computes those definitions that a run computes once (`Definition.when`) when it passes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.http.values import Values
from orgrest.http.values.kept import pass_by

if TYPE_CHECKING:
    from orgrest.run.job import Job


def before_scripts(job: Job) -> None:
    """Compute the definitions above the request and above its scripts."""
    _pass(job, "before", below_scripts=False)


def before_request(job: Job) -> None:
    """Compute the other definitions above the request, which may use what the scripts exported."""
    _pass(job, "before", below_scripts=True)


def after_response(job: Job) -> None:
    """Compute the definitions below the request, but above its scripts."""
    _pass(job, "after", below_scripts=False)


def after_scripts(job: Job) -> None:
    """Compute the other definitions below the request."""
    _pass(job, "after", below_scripts=True)


def _pass(job: Job, when: str, *, below_scripts: bool) -> None:
    parsed, loop = job.parsed, job.parsed.directive("loop")
    if parsed.region is None:
        return
    scripts = [
        script
        for script in (*parsed.shared_scripts, *parsed.scripts)
        if (script.when == "before") == (when == "before") and script.when != "request"
    ]
    for definition in parsed.known.computed_within(parsed.region):
        start = definition.span.start
        below = any(script.runs != "own" or script.span.start < start for script in scripts)
        if definition.when == when and below == below_scripts:
            # as in httpyac, definitions above the directive are not part of the loop
            first = not (job.task.id.turn and loop and start < loop.span.start)
            pass_by(definition, Values(parsed, job.context), again=first)
