"""Binds a request to the hosts to which the secrets in it may be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.model import ExpansionError, OrgrestError, Request

if TYPE_CHECKING:
    from orgrest.http.values.secrets import Secrets
    from orgrest.run.job import Job


def bind_secrets(job: Job) -> None:
    """Bind the job's request. Raises ExpansionError if its secrets may not be sent to its URL."""
    if job.request is not None:
        job.request = bound(job.request, job.context.secrets)


def bound(request: Request, secrets: Secrets) -> Request:
    """Return a request with the bound secrets that are found in it, in any encoding.

    These are added to the secrets known to be in it, for instance if a server echoed a secret.
    Raises ExpansionError if any of them may not be sent to its URL.
    """
    from orgrest.http.transport.wire import check_destination
    from orgrest.rendering.masking import spelled_in

    found = {(part, one) for one in secrets.bound for part in spelled_in(request, one.text)}
    request = attrs.evolve(request, held=request.held | found)
    try:
        check_destination(request)
    except OrgrestError as error:
        place = {"file": request.file, "line": request.line, "column": request.column}
        raise ExpansionError(error.reason, code=error.code, **place) from None  # type: ignore[arg-type]  # of None, or all
    return request


def without_secrets(request: Request) -> Request:
    """Return a request for scripts that cannot change it: with the user's secrets masked."""
    from orgrest.rendering.masking import masked

    return masked(request) if request.bound else request
