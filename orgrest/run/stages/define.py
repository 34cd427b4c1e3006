"""Computes those definitions that a run computes once (`Definition.when`) when it passes them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from orgrest.http.values import Values
from orgrest.http.values.kept import pass_by

if TYPE_CHECKING:
    from orgrest.run.job import Job


def _pass(job: Job, *, when: str, below_scripts: bool) -> None:
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


before_scripts = partial(_pass, when="before", below_scripts=False)
"""Compute the definitions above the request and above its scripts."""
before_request = partial(_pass, when="before", below_scripts=True)
"""Compute the other definitions above the request, which may use what the scripts exported."""
after_response = partial(_pass, when="after", below_scripts=False)
"""Compute the definitions below the request, but above its scripts."""
after_scripts = partial(_pass, when="after", below_scripts=True)
"""Compute the other definitions below the request."""
