"""Renders a response as a result: the text and the files, for the document or the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.run.job import Job


def render(job: Job) -> None:
    """Render the response as the header arguments require. Raises EvaluationError."""
    from orgrest.rendering import results as rendering

    arguments, limit = job.task.arguments, job.work.settings.limit
    if given := arguments.get("limit"):
        try:
            limit = rendering.parse_size(given)
        except ValueError as error:
            raise EvaluationError(f":limit: {error}") from None
    # restclient.el writes no headers of what jq makes, either.
    bare = arguments.flag("noheaders") or arguments.get("jq")
    heads = arguments.get("headers", "no" if bare else "yes").lower()
    if heads not in ("yes", "no", "only"):
        raise EvaluationError(f":headers is yes, no or only, not {heads}")
    if heads == "yes" and arguments.flag("noheaders"):
        heads = "no"
    tests = tuple(job.scripts.tests[job.tested :])
    request, response = job.sent
    rendered = rendering.render(
        request,
        response,
        headers=heads,
        tests=tests,
        jq=arguments.get("jq") or None,
        jq_args=arguments.get("jq-args"),
        limit=limit,
    )
    job.notes += rendered.notes
    job.keep(rendered, tests)
