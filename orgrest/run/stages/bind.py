"""Restricts a request that contains secrets to the hosts that they may be sent to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.model import ExpansionError, OrgrestError, Request

if TYPE_CHECKING:
    from orgrest.http.values.secrets import Secrets
    from orgrest.run.job import Job


def bind_secrets(job: Job) -> None:
    """Record the secrets in the job's request.

    Raises ExpansionError if one of them may not be sent to the request's URL.
    """
    if job.request is not None:
        job.request = bound(job.request, job.context.secrets)


def bound(request: Request, secrets: Secrets) -> Request:
    """Return the request with a record of each bound secret in it, in any encoding.

    Existing records are kept: the request may contain a secret that a server returned. Raises
    ExpansionError if a secret may not be sent to the request's URL.
    """
    from orgrest.http.transport.wire import check_destination
    from orgrest.rendering.masking import spelled_in

    occurrences = {
        (part, secret) for secret in secrets.bound for part in spelled_in(request, secret.text)
    }
    request = classes.evolve(request, held=request.held | occurrences)
    try:
        check_destination(request)
    except OrgrestError as error:
        place = {"file": request.file, "line": request.line, "column": request.column}
        raise ExpansionError(error.reason, code=error.code, **place) from None  # type: ignore[arg-type]  # of None, or all
    return request


def without_secrets(request: Request) -> Request:
    """Return a request with the user's secrets masked, for scripts that only read it."""
    from orgrest.rendering.masking import masked

    return masked(request) if request.bound else request
