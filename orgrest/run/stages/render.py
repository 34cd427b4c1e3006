"""Renders a response as a result: text and files, for the document or the terminal.

Rendering is deferred until the result is needed, unless it uses jq or might add notes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from orgrest.rendering import results as rendering

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.rendering.results import Rendered
    from orgrest.run.job import Job


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
        job.notes += (rendered := render()).notes
        render = partial(_rendered, rendered, render)
    job.keep(render, tests)


def _rendered(
    rendered: Rendered, render: Callable[..., Rendered], secrets: frozenset[str] | None = None
) -> Rendered:
    return rendered if secrets is None else render(secrets=secrets)
