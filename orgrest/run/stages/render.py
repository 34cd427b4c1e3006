"""Renders a response as a result: text and files, for the document or the terminal.

If rendering is certain not to add notes, it is put off until the result is needed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.rendering.results import Rendered
    from orgrest.run.job import Job


def render(job: Job) -> None:
    """Render the response as the header arguments require.

    Raises EvaluationError if a header argument is invalid.
    """
    from orgrest.rendering import results as rendering

    arguments, limit = job.task.arguments, job.work.settings.limit
    if size := arguments.get("limit"):
        try:
            limit = rendering.parse_size(size)
        except ValueError as error:
            raise EvaluationError(f":limit: {error}") from None
    # Like restclient.el, write no headers for the output of jq.
    bare = arguments.flag("noheaders") or arguments.get("jq")
    heads = arguments.get("headers", "no" if bare else "yes").lower()
    if heads not in ("yes", "no", "only"):
        raise EvaluationError(f":headers must be yes, no or only, found {heads}")
    if heads == "yes" and arguments.flag("noheaders"):
        heads = "no"
    tests = tuple(job.scripts.tests[job.tested :])
    request, response = job.sent
    render: Callable[..., Rendered] = partial(
        rendering.render,
        request,
        response,
        headers=heads,
        tests=tests,
        jq=arguments.get("jq") or None,
        jq_args=arguments.get("jq-args"),
        limit=limit,
    )
    if arguments.get("jq") or not rendering.is_plain(response, limit):
        job.notes += (rendered := render()).notes
        render = partial(_rendered, rendered, render)
    job.keep(render, tests)


def _rendered(
    rendered: Rendered, render: Callable[..., Rendered], secrets: frozenset[str] | None = None
) -> Rendered:
    """Return the rendered response. If `secrets` are given, render it again with these masked."""
    return rendered if secrets is None else render(secrets=secrets)
