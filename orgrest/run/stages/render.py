"""Renders a response as a result: text and files, for the document or the terminal.

If rendering is certain not to add notes, it is put off until the result is needed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.org.arguments import Arguments
    from orgrest.rendering.results import Rendered
    from orgrest.run.job import Job


def rendering_of(arguments: Arguments, limit: int | None) -> dict[str, Any]:
    """Return the options of `rendering.results.render` that the header arguments require.

    `limit` applies unless they have another limit. Raises EvaluationError if one is invalid.
    """
    from orgrest.rendering.results import parse_size

    if size := arguments.get("limit"):
        try:
            limit = parse_size(size)
        except ValueError as error:
            raise EvaluationError(f":limit: {error}") from None
    # Like restclient.el, write no headers for the output of jq.
    bare = arguments.flag("noheaders") or arguments.get("jq")
    heads = arguments.get("headers", "no" if bare else "yes").lower()
    if heads not in ("yes", "no", "only"):
        raise EvaluationError(f":headers must be yes, no or only, found {heads}")
    if heads == "yes" and arguments.flag("noheaders"):
        heads = "no"
    return {
        "headers": heads,
        "jq": arguments.get("jq") or None,
        "jq_args": arguments.get("jq-args"),
        "limit": limit,
    }


def render(job: Job) -> None:
    """Render the response as the header arguments require.

    Raises EvaluationError if a header argument is invalid.
    """
    from orgrest.rendering import results as rendering

    options = rendering_of(job.task.arguments, job.work.settings.limit)
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
    """Return the rendered response. If `secrets` are given, render it again with these masked."""
    return rendered if secrets is None else render(secrets=secrets)
