"""Binds a request to the hosts to which the user's secrets in it may be sent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.model import ExpansionError, OrgrestError, Request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.http.values.secrets import Secrets
    from orgrest.model import Bound
    from orgrest.run.job import Job


def bind_secrets(job: Job) -> None:
    """Bind the job's request. Raises ExpansionError if its secrets may not be sent to its URL."""
    if job.request is not None:
        job.request = bound(job.request, job.context.secrets, job.mark)


def bound(request: Request, taken: Secrets, mark: int) -> Request:
    """Return a request with the secrets that it holds: those taken since a mark, and all it shows.

    Raises ExpansionError if they may not be sent to its URL.
    """
    held = {one.name: one for one in (*taken.since(mark), *taken.seen_by_scripts)}
    held.update((one.name, one) for one in _shown(request, taken))
    if not held:
        return request
    from orgrest.http.transport import check_destination

    request = attrs.evolve(request, bound=tuple(held.values()))
    try:
        check_destination(request)
    except OrgrestError as error:
        place = {"file": request.file, "line": request.line, "column": request.column}
        raise ExpansionError(error.reason, code=error.code, **place) from None  # type: ignore[arg-type]  # of None, or all
    return request


def _shown(request: Request, taken: Secrets) -> Iterator[Bound]:
    """Yield the secrets whose text is in a request, for instance since a server sent it back."""
    for value, one in list(taken.values.values()):
        if _masked(request, frozenset({value})) != request:
            yield one


def without_secrets(request: Request) -> Request:
    """Return a request as scripts see it that do not change it: the user's secrets are masked."""
    return _masked(request, request.secrets) if request.bound else request


def _masked(request: Request, secrets: frozenset[str]) -> Request:
    from orgrest.rendering.masking import mask, mask_bytes

    return attrs.evolve(
        request,
        url=mask(request.url, secrets),
        headers=tuple((mask(n, secrets), mask(v, secrets)) for n, v in request.headers),
        body=None if request.body is None else mask_bytes(request.body, secrets),
    )
