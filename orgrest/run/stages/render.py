"""Captures values from a response, and renders it as text and files, for document or terminal.

Rendering is deferred until the result is needed, unless it uses jq or might add notes.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from orgrest.rendering import results as rendering

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.rendering.results import Rendered
    from orgrest.run.job import Job


def capture(job: Job) -> None:
    """Set the variables that the request captures. Raises OrgrestError if a value is missing."""
    for name, value in rendering.captures(*job.sent):
        job.context.capture(job.parsed, name, value)


def render(job: Job) -> None:
    """Render the response as the header arguments require.

    Raises ArgumentError if a header argument is invalid.
    """
    options = rendering.options_of(job.task.arguments, job.work.settings.limit)
    tests = tuple(job.scripts.tests[job.tested :])
    request, response = job.sent
    render: Callable[..., Rendered] = partial(
        rendering.render, request, response, tests=tests, **options
    )
    if options["jq"] or not rendering.is_plain(response, options["limit"]):
        render = cache(render)  # not for all responses: a cache takes half a kilobyte
        job.notes += render().notes
    job.keep(render, tests)
