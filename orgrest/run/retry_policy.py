"""Which requests of a run are sent again, and when.

Only what is safe is repeated (RFC 9110, section 9.2.2): a request with an idempotent method that
failed or was answered with a status that says so, and any request that never reached the server. A
server's `Retry-After` (section 10.2.3) is honoured up to `MOST_DELAY`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import attrs

from orgrest.http.transport.limits import BrokenOffError
from orgrest.model import UNREACHED, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.transport.limits import Budget
    from orgrest.model import Request, Response


STATUSES = frozenset({408, 425, 429, 502, 503, 504})
"""What says that the same request may be answered later: RFC 9110, RFC 6585 and RFC 8470."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 2.0
"""The interval in seconds between two checks whether an assertion has become true."""
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


def until(
    budget: Budget,
    send: Callable[[], Response],
    pending: Callable[[Response], list[float]],
    shortest: float,
) -> Response:
    """Send until nothing is `pending`, or the time of one is over; return the response.

    `pending` returns the seconds allowed for each. A request without an answer is repeated for
    the `shortest` of these times. Raises TransportError if there is no answer in the end, or the
    budget is spent.
    """
    start, pause = time.monotonic(), FIRST_PAUSE
    while True:
        try:
            response = send()
            times = pending(response)
            left = min(times, default=0.0) - (time.monotonic() - start)
            if not times or left <= 0:
                return response
        except BrokenOffError:
            raise
        except TransportError:
            left = shortest - (time.monotonic() - start)
            if left <= 0:
                raise
        budget.wait(min(pause, left))
        pause = min(pause * 1.5, LONGEST_PAUSE)


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
