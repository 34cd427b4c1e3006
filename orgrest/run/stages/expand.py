"""Replaces the placeholders of a request with values, by the rules of its language.

In a dry run, `preview` then replaces sending: it records the request that would be sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http import values
from orgrest.run.outcomes import Exchange
from orgrest.run.results import resolved

if TYPE_CHECKING:
    from orgrest.model import Request
    from orgrest.run.job import Job
    from orgrest.run.results import Needing


def expand(job: Job) -> Needing[None]:
    """Replace the placeholders of the job's request, after yielding the requests it refers to.

    Raises ExpansionError if a placeholder has no value.
    """
    expansion = job.values = values.Values(job.parsed, job.context, defined=job.defined)

    def attempt() -> Request:
        expansion.again()
        if job.parsed.above is None:
            return values.expand(job.parsed, job.context, expansion)
        from orgrest.http import verb

        return verb.expand(job.parsed, job.context)

    request = yield from resolved(job.context, attempt)
    job.request = classes.evolve(request, held=request.held | job.held) if job.held else request
    job.notes += (str(warning) for warning in job.request.notices)


def preview(job: Job) -> None:
    """Record the request without a response. Raises OrgrestError if it could not be sent."""
    from orgrest.http.transport.wire import wire_headers

    assert job.request is not None  # noqa: S101 - the order of the stages
    assert job.values is not None  # noqa: S101 - the order of the stages
    request = _with_cookies(job, job.request)
    wire_headers(request)  # raises for headers that could not be sent
    if job.parsed.directives or job.task.arguments.get("timeout"):
        from orgrest.run.stages.send import options

        options(job.task, job.parsed, job.work.settings)  # raises for invalid values
    job.exchanges.append(Exchange(request, variables=tuple(job.values.origins())))
    for capture in job.parsed.captures if job.context.placeholders else ():
        job.context.capture(job.parsed, capture.name, f"<{capture.name}>")


def _with_cookies(job: Job, request: Request) -> Request:
    from orgrest.http.transport.wire import parse_url

    cookies = job.work.cookies
    cookie = None if cookies is None else cookies.header(parse_url(request.url))
    if cookie is None or request.header("Cookie") is not None:
        return request
    from orgrest.run.stages.send import keeps_cookies

    if not keeps_cookies(job.task, job.parsed):
        return request
    return classes.evolve(request, headers=(("Cookie", cookie), *request.headers))
