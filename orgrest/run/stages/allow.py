"""Rejects directives that need the user's permission, unless an option of the run gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.http.syntax import ParsedRequest
    from orgrest.run.job import Job
    from orgrest.run.settings import Settings


def check(job: Job) -> None:
    """Raise OrgrestError if the user did not allow a directive. This applies to dry runs, too."""
    parsed, settings = job.parsed, job.work.settings
    if parsed.directive("no-reject-unauthorized") and not settings.insecure:
        raise EvaluationError(
            "@no-reject-unauthorized: certificates are verified unless the run was started "
            "with --insecure"
        )
    proxy(parsed, settings)


def proxy(parsed: ParsedRequest, settings: Settings) -> str | None:
    """Return the proxy that the directive `@proxy` selects, or None without this directive.

    Raises OrgrestError if the user did not allow that proxy.
    """
    directive = parsed.directive("proxy")
    if directive is None:
        return None
    from orgrest.http.transport.pools import chosen

    return chosen(directive.value.text.strip(), settings.proxies)
