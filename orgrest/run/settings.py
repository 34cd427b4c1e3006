"""The settings of a run: plain values, created once from options, files and the environment.

Only requests that are safe to repeat are retried (RFC 9110, section 9.2.2). These are idempotent
requests that failed or got one of the `STATUSES`, and all requests that never reached the server. A
`Retry-After` header (section 10.2.3) is honoured up to `MOST_DELAY`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http.values import Inputs
from orgrest.model import INTERRUPTED, UNREACHED, TransportError
from orgrest.run.plan import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from orgrest.model import Request, Response

STATUSES = frozenset({408, 425, 429, 502, 503, 504})
"""Statuses after which the same request may succeed later (RFC 9110, RFC 6585, RFC 8470)."""
MOST_DELAY = 60.0
"""The longest delay, in seconds, that is accepted from a `Retry-After` header."""


@classes.frozen
class RetryPolicy:
    """Decides whether to retry a request: at most `retries` times, `delay` seconds apart."""

    retries: int = 0
    delay: float = 1.0

    def after_error(self, request: Request, error: TransportError, attempt: int) -> float | None:
        """Return the delay in seconds before retrying after an error, or None for no retry.

        `attempt` is the number of the failed attempt, from 1.
        """
        if attempt > self.retries or not may_pass(error):
            return None
        return self.delay if error.code == UNREACHED or _is_idempotent(request) else None

    def after_answer(self, request: Request, response: Response, attempt: int) -> float | None:
        """Return the delay in seconds before retrying after a response, or None for no retry.

        `attempt` is the number of the attempt that got the response, from 1. The delay is infinite
        if the server demands more than `MOST_DELAY`.
        """
        if attempt > self.retries or response.status not in STATUSES:
            return None
        if not _is_idempotent(request):
            return None
        delay = retry_after(response)
        if delay is None:
            return self.delay
        return delay if delay <= MOST_DELAY else math.inf


def may_pass(error: TransportError) -> bool:
    """Return whether a request that failed with `error` might succeed if it is sent again.

    Permanent errors are, for example, a redirect loop, an invalid URL or certificate, or the end of
    the run.
    """
    return error.code in (UNREACHED, INTERRUPTED)


def _is_idempotent(request: Request) -> bool:
    from orgrest.http import registry

    method = registry.method(request.method.upper())
    return method is not None and method.idempotent


def retry_after(response: Response) -> float | None:
    """Return the delay in seconds in `Retry-After`, or None if it is missing or invalid."""
    value = (response.header("Retry-After") or "").strip()
    if value.isascii() and value.isdigit():
        return float(value[:10])
    if not value:
        return None
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(value).astimezone(UTC)
    except (ValueError, OverflowError):  # an invalid date
        return None
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


@classes.frozen
class Settings:
    """The settings of a run: the selection of blocks and other options.

    `inputs` provides the values of variables. `choice` and `lines` select steps. Blocks that start
    below the line `until` are excluded.

    In a dry run, a name in angle brackets replaces a value that a response would provide. If
    `complete` is true, such a value is an error instead. `retry_policy` decides which requests are
    sent again.

    If `fail` is true, a status of 400 or above counts as a failure. In a test run, `bail` ends the
    run at the first failure, and `write` writes the results into the documents.

    `timeout` is in seconds. `limit` is the maximum number of bytes of a body that are shown, or
    None for the default. Documents may write any file below the folders in `allow_write`. If
    `insecure` is true, certificates are not verified. Otherwise, the directive `#
    @no-reject-unauthorized` is an error. Documents may choose among the `proxies`.

    `languages` contains the languages of requests. If it is empty, all three languages are
    evaluated, except in documents with restclient blocks. These were written for ob-restclient, so
    their http and rest blocks are left to other tools.
    """

    inputs: Inputs = classes.field(factory=Inputs)
    languages: frozenset[str] = frozenset()
    lines: tuple[int, ...] = ()
    choice: Choice = classes.field(factory=Choice)
    dry_run: bool = False
    complete: bool = False
    timeout: float | None = None
    limit: int | None = None
    allow_write: tuple[Path, ...] = ()
    insecure: bool = False
    proxies: tuple[str, ...] = ()
    until: int | None = None
    retry_policy: RetryPolicy = classes.field(factory=RetryPolicy)
    fail: bool = False
    bail: bool = False
    write: bool = False

    @property
    def narrows(self) -> bool:
        """Whether the plan contains only the steps that `choice` or `lines` select."""
        return bool(self.lines or (self.choice.alone and (self.choice.names or self.choice.tags)))

    def is_above(self, line: int | None) -> bool:
        """Return whether a line is at or above the line `until`.

        Lines are numbered from 1; None counts as line 1.
        """
        return self.until is None or (line or 1) <= self.until

    def of_document(self, directory: Path, overrides: Mapping[str, str] | None = None) -> Settings:
        """Return the settings for a document in `directory`, with variables from `overrides`.

        Variables that the user has set for the run take precedence over `overrides`.
        """
        inputs = self.inputs
        overrides = {**(overrides or {}), **inputs.overrides}
        return classes.evolve(
            self, inputs=classes.evolve(inputs, directory=directory, overrides=overrides)
        )
