"""`# @ratelimit` delays requests to limit the load on a server.

Requests with this directive and the same `slot NAME` share a limit, in all documents that this
process runs. `minIdleTime MS` is the minimum time between two of these requests. `max N expire MS`
allows at most N of them in any period of MS milliseconds. Each attempt to send a request counts.

Source: httpyac's guide, "Meta data: ratelimit".
"""

from __future__ import annotations

import re
import threading
import time
from typing import TYPE_CHECKING, Final, Self

from orgrest import classes
from orgrest.regular import compiled
from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from orgrest.run.job import Work

_LIMIT = compiled(
    r"\s*(?:slot:?\s+(?P<slot>\S+)\s*)?(?:minIdleTime:?\s+(?P<idle>\d{1,9})\s*)?"
    r"(?:max:?\s+(?P<most>\d{1,9})\s+expire:?\s+(?P<expire>\d{1,9})\s*)?",
    re.IGNORECASE,
)
SENT: Final[dict[str, list[float]]] = {}
"""The times of requests for each slot, including those that are still waiting."""
_LOCK: Final = threading.Lock()


@classes.frozen
class Limit:
    """The rate limit of a slot.

    Two requests are at least `idle` seconds apart. At most `most` requests are sent in any period
    of `expire` seconds. If `most` is 0, their number is unlimited.
    """

    slot: str
    idle: float
    most: int
    expire: float

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the limit in a directive's value.

        Raises EvaluationError if the value is invalid.
        """
        match = _LIMIT.fullmatch(text)
        if match is None or not (match["idle"] or match["most"]):
            raise EvaluationError(
                "@ratelimit must be `max N expire MS`, `minIdleTime MS` or both, optionally "
                f"preceded by `slot NAME`; found {text.strip()!r}"
            )
        idle, most, expire = (int(match[name] or 0) for name in ("idle", "most", "expire"))
        return cls(match["slot"] or "", idle / 1000, most, expire / 1000)


def hold(text: str, work: Work) -> None:
    """Wait until a request may be sent. If the wait fails, the request does not count."""
    limit = Limit.read(text)
    with _LOCK:
        sent = SENT.setdefault(limit.slot, [])
        length = wait(limit, sent)
        own = sent[-1]
    try:
        # Waits that requests of other documents cause do not count towards the document's limit.
        work.sleep(length, "@ratelimit", counted=min(length, max(limit.idle, limit.expire)))
    except BaseException:
        with _LOCK:
            sent.remove(own)
        raise


def wait(limit: Limit, sent: list[float], now: float | None = None) -> float:
    """Return the seconds until the next request may be sent, and append its time to `sent`.

    `sent` contains the times of earlier requests in the same slot. All times, including `now`, are
    values of `time.monotonic()`.
    """
    now = time.monotonic() if now is None else now
    earliest = max(now, sent[-1] + limit.idle) if sent else now
    if limit.most and len(sent) >= limit.most:
        earliest = max(earliest, sent[-limit.most] + limit.expire)
    sent.append(earliest)
    return earliest - now
