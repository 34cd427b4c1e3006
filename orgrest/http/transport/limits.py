"""The limits of an exchange and of a run: time, size and number of requests."""

from __future__ import annotations

import threading
import time
from typing import Final

from orgrest import classes
from orgrest.model import BROKEN_OFF, TransportError

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0
TOTAL_TIMEOUT = 300.0
MAX_TIMEOUT = 86_400.0
BODY_LIMIT = 16 * 2**20
SILENCE = 10.0
"""A stream ends after this many seconds without a message, unless the request sets a limit."""
MOST_MESSAGES = 1000
"""A stream ends after this many messages, unless the request sets a limit."""
MOST_REQUESTS: Final = 100_000
"""The default maximum number of requests of a run."""
MOST_BYTES: Final = 2**36
"""The default maximum total size of all bodies that a run receives, in bytes."""
TIME_OVER: Final = "the time limit of the run was reached (--max-time)"


@classes.frozen
class Limits:
    """The limits of one exchange, including its redirects. Times are in seconds.

    `connect` applies to opening each connection, including the TLS handshake. `silence` applies to
    pauses between bytes, and `total` to the whole exchange. At most `body` bytes of the decoded
    body are kept. If `public` is set, only connections to public addresses are allowed.
    """

    connect: float = CONNECT_TIMEOUT
    silence: float = READ_TIMEOUT
    total: float = TOTAL_TIMEOUT
    body: int = BODY_LIMIT
    public: bool = False

    def within(
        self, timeout: float | None, connect: float | None = None, left: float | None = None
    ) -> Limits:
        """Return these limits with other times. None leaves a time unchanged.

        `timeout` replaces `total` and `silence`, and `connect` replaces the limit for connecting.
        No time exceeds `left`, the seconds that remain in the run, and `connect` does not exceed
        `silence`. Raises `TransportError` for a time that is not greater than 0 or exceeds
        `MAX_TIMEOUT`.
        """
        total, silence = (self.total, self.silence) if timeout is None else (timeout, timeout)
        connect = self.connect if connect is None else connect
        if not all(0 < seconds <= MAX_TIMEOUT for seconds in (connect, silence, total)):
            most = f"{MAX_TIMEOUT:g}"
            raise TransportError(f"a timeout must be more than 0 and at most {most} seconds")
        if left is not None:
            total = min(total, left)
            silence = min(silence, total)
        return Limits(min(connect, silence), silence, total, self.body, self.public)


class OverdueError(TimeoutError):
    """Raised if the whole exchange takes too long."""


class FloodError(OSError):
    """Raised if the server keeps sending bytes beyond the limit."""


class BrokenOffError(TransportError):
    """Raised if the run ended before the response to a request arrived."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, code=BROKEN_OFF)


@classes.define(eq=False)
class _Left:
    most: int  # the initial number of requests
    bytes: int
    requests: int
    spent: str = ""
    lock: threading.Lock = classes.field(factory=threading.Lock)


class Budget:
    """The requests, bytes and time that a run has left. Threads may share a budget."""

    def __init__(
        self,
        requests: int = MOST_REQUESTS,
        size: int = MOST_BYTES,
        seconds: float | None = None,
        *,
        after: Budget | None = None,
    ) -> None:
        """Create a budget of `requests` requests, `size` received bytes and `seconds` seconds.

        If `seconds` is None, the time is not limited. A budget for teardowns has the run's budget
        as `after`. Both then share the run's remaining requests and bytes, and `requests` and
        `size` are ignored. The time for teardowns starts when `after` runs out of time or is
        stopped.
        """
        self._after = after
        self._seconds = seconds
        self._ends = None if seconds is None or after else time.monotonic() + seconds
        self._left: _Left = _Left(requests, size, requests) if after is None else after._left
        self.ended: float | None = None
        """The time when the budget was stopped (`time.monotonic`), or None if it was not."""
        self._stopped = threading.Event()
        self._why = ""

    @property
    def deadline(self) -> float | None:
        """The `time.monotonic` time when the run must end, or None if unlimited or unknown."""
        if self._after is None or self._seconds is None:
            return self._ends
        ended = self._after.deadline if self._after.ended is None else self._after.ended
        return None if ended is None else ended + self._seconds

    @property
    def is_overtime(self) -> bool:
        """Whether the time limit of the run has been reached."""
        return (deadline := self.deadline) is not None and time.monotonic() >= deadline

    @property
    def spent(self) -> str:
        """The reason why nothing new may be started, or "" while the run continues."""
        if self.is_overtime:
            self.stop(TIME_OVER)
        return self._why or self._left.spent

    def stop(self, why: str) -> None:
        """End the run for the reason `why`, and end all waits. Later calls have no effect."""
        if not self._stopped.is_set():
            self._why, self.ended = why, time.monotonic()
            self._stopped.set()

    def refuse(self, why: str) -> None:
        """Refuse all new requests for the reason `why`, including those of teardowns."""
        with self._left.lock:
            self._left.spent = self._left.spent or why

    def send(self, *, begun: bool = False) -> None:
        """Count a request. Raises BrokenOffError if the run is not allowed to send any more.

        `begun` is true if the request continues an exchange, such as a redirect or a retry.
        """
        left = self._left
        with left.lock:
            if not left.requests:
                left.spent = (
                    f"the run has reached its limit of {left.most:,} requests (--max-requests)"
                )
            if left.spent:
                raise BrokenOffError(f"{'not sent again' if begun else 'not sent'}: {left.spent}")
            left.requests -= 1

    def receive(self, size: int) -> None:
        """Count received bytes. Once the run exceeds its limit, new requests are refused."""
        left = self._left
        with left.lock:
            left.bytes -= size
            if left.bytes < 0:
                left.spent = "the run has reached its limit on received bytes"

    def left(self) -> float | None:
        """Return the seconds left, or None if unlimited. Raises BrokenOffError if time is up."""
        if (deadline := self.deadline) is None:
            return None
        left = deadline - time.monotonic()
        if left <= 0:
            raise BrokenOffError(f"not sent: {TIME_OVER}")
        return left

    def wait(self, seconds: float) -> None:
        """Wait for `seconds` seconds.

        Raises BrokenOffError if the run has less time left, or if it ends in the meantime.
        """
        left = self.left()
        if left is not None and seconds > left:
            reason = f"waiting {seconds:g} s would exceed the time limit of the run (--max-time)"
            raise BrokenOffError(reason)
        if self._stopped.wait(seconds):
            raise BrokenOffError("the run was interrupted while waiting")
