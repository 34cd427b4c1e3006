"""The settings of a run: values only, created once from options, files and environment.

Only requests that are safe to repeat are retried (RFC 9110, section 9.2.2): requests with an
idempotent method that failed or got one of `STATUSES`, and any request that never reached the
server. A server's `Retry-After` (section 10.2.3) is honoured up to `MOST_DELAY`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.http.transport.limits import BrokenOffError
from orgrest.http.values import Inputs
from orgrest.model import UNREACHED, TransportError
from orgrest.run.plan import Choice

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from orgrest.model import Request, Response

STATUSES = frozenset({408, 425, 429, 502, 503, 504})
"""Statuses after which the same request may succeed later: RFC 9110, RFC 6585 and RFC 8470."""
MOST_DELAY = 60.0
"""The longest delay, in seconds, that a server's `Retry-After` may impose."""


@attrs.frozen
class RetryPolicy:
    """The retries of a request: up to `retries` times, `delay` seconds after the failure."""

    retries: int = 0
    delay: float = 1.0

    def after_error(self, request: Request, error: TransportError, attempt: int) -> float | None:
        """Return the delay in seconds before a retry after `attempt` failures; None: no retry."""
        if attempt > self.retries or isinstance(error, BrokenOffError):
            return None
        return self.delay if error.code == UNREACHED or _is_idempotent(request) else None

    def after_answer(self, request: Request, response: Response, attempt: int) -> float | None:
        """Return the delay in seconds before a retry after this response; None: no retry."""
        if attempt > self.retries or response.status not in STATUSES:
            return None
        if not _is_idempotent(request):
            return None
        wanted = retry_after(response)
        if wanted is None:
            return self.delay
        return wanted if wanted <= MOST_DELAY else None


def _is_idempotent(request: Request) -> bool:
    from orgrest.http import registry

    method = registry.method(request.method.upper())
    return method is not None and method.idempotent


def retry_after(response: Response) -> float | None:
    """Return the seconds in the header `Retry-After`; None if it is missing or invalid."""
    given = (response.header("Retry-After") or "").strip()
    if given.isascii() and given.isdigit():
        return float(given[:10])
    if not given:
        return None
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(given).astimezone(UTC)
    except (ValueError, OverflowError):  # an invalid date
        return None
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


@attrs.frozen
class Settings:
    """The selection of blocks and the options of a run; `inputs` provides the values of variables.

    `names` and `lines` choose blocks; if both are empty, all blocks are chosen.

    Of these, `choice` selects the steps of a run of tests.

    With `until`, only blocks that start at that line or above it are evaluated. In a dry run, a
    name in angle brackets replaces the response that another block would get; with `complete` that
    is an error. `retry_policy` decides when requests are sent again.

    `fail` counts a status of 400 and above as a failure; with `bail` the first failure ends the run
    of tests; with `write`, its results go into the documents.

    `limit` is the maximum number of bytes of a body that are shown, None for the default; longer
    bodies go into a file. Below the folders of `allow_write` documents may write any file. With
    `insecure`, the client verifies no certificates, and documents may ask for that. They may choose
    one of the `proxies`.

    Without `languages`, a document with restclient blocks is treated as written for ob-restclient:
    its blocks in http and rest belong to another tool. In other documents, blocks in all three
    languages are evaluated.
    """

    inputs: Inputs = attrs.field(factory=Inputs)
    languages: frozenset[str] = frozenset()
    names: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    choice: Choice = attrs.field(factory=Choice)
    dry_run: bool = False
    complete: bool = False
    timeout: float | None = None
    limit: int | None = None
    allow_write: tuple[Path, ...] = ()
    insecure: bool = False
    proxies: tuple[str, ...] = ()
    until: int | None = None
    retry_policy: RetryPolicy = attrs.field(factory=RetryPolicy)
    fail: bool = False
    bail: bool = False
    write: bool = False

    def is_above(self, line: int | None) -> bool:
        """Return whether a line (from 1; None is the first) is not below `until`."""
        return self.until is None or (line or 1) <= self.until

    def of_document(self, directory: Path, overrides: Mapping[str, str] | None = None) -> Settings:
        """Return the settings for a document in a folder; `overrides` apply to other names only."""
        inputs = self.inputs
        overrides = {**(overrides or {}), **inputs.overrides}
        return attrs.evolve(
            self, inputs=attrs.evolve(inputs, directory=directory, overrides=overrides)
        )
