"""Refuses directives that only who starts the run may allow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.http.syntax import ParsedRequest
    from orgrest.run.job import Job
    from orgrest.run.settings import Settings


def check(job: Job) -> None:
    """Raise OrgrestError for what is not allowed, in a dry run, too."""
    parsed, settings = job.parsed, job.work.settings
    if parsed.directive("no-reject-unauthorized") and not settings.insecure:
        raise EvaluationError(
            "@no-reject-unauthorized: certificates are verified unless the run is started "
            "with --insecure"
        )
    proxy(parsed, settings)


def proxy(parsed: ParsedRequest, settings: Settings) -> str | None:
    """Return the proxy that a directive chooses. Raises OrgrestError if it may not."""
    directive = parsed.directive("proxy")
    if directive is None:
        return None
    from orgrest.http.transport.pools import chosen

    return chosen(directive.value.text.strip(), settings.proxies)
