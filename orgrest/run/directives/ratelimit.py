"""`# @ratelimit`: delays requests to limit the load on a server.

`slot NAME` groups requests that count together, `minIdleTime MS` is the minimum time between two of
them, `max N expire MS` allows at most N of them in that time.

Source: httpyac's guide, "Meta data: ratelimit".
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Self

import attrs

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.run.job import Job

_LIMIT = re.compile(
    r"\s*(?:slot:?\s+(?P<slot>\S+)\s*)?(?:minIdleTime:?\s+(?P<idle>\d{1,9})\s*)?"
    r"(?:max:?\s+(?P<most>\d{1,9})\s+expire:?\s+(?P<expire>\d{1,9})\s*)?",
    re.IGNORECASE,
)


@attrs.frozen
class Limit:
    """The rate limit of a slot: times in seconds; `most` is 0 for any number of requests."""

    slot: str
    idle: float
    most: int
    expire: float

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a directive's value. Raises EvaluationError."""
        found = _LIMIT.fullmatch(text)
        if found is None or not (found["idle"] or found["most"]):
            raise EvaluationError(
                "@ratelimit is `max N expire MS`, `minIdleTime MS` or both, behind `slot NAME` if "
                f"there are several, not {text.strip()!r}"
            )
        idle, most, expire = (int(found[name] or 0) for name in ("idle", "most", "expire"))
        return cls(found["slot"] or "", idle / 1000, most, expire / 1000)


def act(text: str, job: Job) -> None:
    """Wait until the request may be sent. Raises EvaluationError."""
    limit = Limit.read(text)
    job.work.sleep(wait(limit, job.work.sent_at.setdefault(limit.slot, [])), "@ratelimit")


def wait(limit: Limit, sent: list[float], now: float | None = None) -> float:
    """Return the seconds until a request may be sent, and add that time to `sent`.

    `sent` are the times of the requests of its slot, in seconds of the monotonic clock.
    """
    now = time.monotonic() if now is None else now
    earliest = max(now, sent[-1] + limit.idle) if sent else now
    if limit.most and len(sent) >= limit.most:
        earliest = max(earliest, sent[-limit.most] + limit.expire)
    sent.append(earliest)
    return earliest - now
