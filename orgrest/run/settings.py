"""The settings of a run: values only, created once from options, files and environment.

Of requests, only what is safe is repeated (RFC 9110, section 9.2.2): a request with an idempotent
method that failed or was answered with a status that says so, and any request that never reached
the server. A server's `Retry-After` (section 10.2.3) is honoured up to `MOST_DELAY`.
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
"""What says that the same request may be answered later: RFC 9110, RFC 6585 and RFC 8470."""
MOST_DELAY = 60.0
"""The longest delay, in seconds, that a server's `Retry-After` may impose."""


@attrs.frozen
class RetryPolicy:
    """When a request is sent again: `retries` times, `delay` seconds after the failure."""

    retries: int = 0
    delay: float = 1.0

    def after_error(self, request: Request, error: TransportError, attempt: int) -> float | None:
        """Return the delay in seconds before retrying after n failures, or None."""
        if attempt > self.retries or isinstance(error, BrokenOffError):
            return None
        return self.delay if error.code == UNREACHED or _is_idempotent(request) else None

    def after_answer(self, request: Request, response: Response, attempt: int) -> float | None:
        """Return the delay in seconds before retrying after the n-th answer, or None."""
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
    """Return the seconds that `Retry-After` asks for, None if there is no such header."""
    given = (response.header("Retry-After") or "").strip()
    if given.isascii() and given.isdigit():
        return float(given[:10])
    if not given:
        return None
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        date = parsedate_to_datetime(given).astimezone(UTC)
    except (ValueError, OverflowError):  # no date, or one in no year
        return None
    return max(0.0, (date - datetime.now(UTC)).total_seconds())


@attrs.frozen
class Settings:
    """What is evaluated, and how; `inputs` is where the values of variables come from.

    `names` and `lines` choose blocks; empty, all are meant.

    Of these, `choice` says which a run of tests takes.

    With `until`, only those that start at that line or above it are. In a dry run a name in angle
    brackets stands for an answer that another block would get; with `complete` that is an error.
    `retry_policy` says when requests are sent again, and when the run ends.

    `fail` counts a status of 400 and above as a failure; with `bail` the first failure ends the run
    of tests; with `write`, its results go into the documents.

    `limit` is how many bytes of a body are shown, None for the usual; the rest goes into a file.
    Below the folders of `allow_write` documents may write any file. With `insecure` documents may
    ask for what the client does then: it verifies no certificates. They may choose one of the
    `proxies`.

    Without `languages`, a document that has restclient blocks is taken for one of ob-restclient's:
    its blocks in http and rest are some other tool's. Elsewhere, all three languages are evaluated.
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
        """Tell whether what starts at a line (from 1; None is the first) is not below `until`."""
        return self.until is None or (line or 1) <= self.until

    def of_document(self, directory: Path, overrides: Mapping[str, str] | None = None) -> Settings:
        """Return the settings for a document in a folder; `overrides` count where none is set."""
        inputs = self.inputs
        overrides = {**(overrides or {}), **inputs.overrides}
        return attrs.evolve(
            self, inputs=attrs.evolve(inputs, directory=directory, overrides=overrides)
        )
