"""Refuses directives that the user has not allowed with an option of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.http.syntax import ParsedRequest
    from orgrest.run.job import Job
    from orgrest.run.settings import Settings


def check(job: Job) -> None:
    """Raise OrgrestError for a directive that is not allowed; also in a dry run."""
    parsed, settings = job.parsed, job.work.settings
    if parsed.directive("no-reject-unauthorized") and not settings.insecure:
        raise EvaluationError(
            "@no-reject-unauthorized: certificates are verified unless the run is started "
            "with --insecure"
        )
    proxy(parsed, settings)


def proxy(parsed: ParsedRequest, settings: Settings) -> str | None:
    """Return the proxy that a directive chooses. Raises OrgrestError if it is not allowed."""
    directive = parsed.directive("proxy")
    if directive is None:
        return None
    from orgrest.http.transport.pools import chosen

    return chosen(directive.value.text.strip(), settings.proxies)
