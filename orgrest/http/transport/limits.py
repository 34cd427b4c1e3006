"""The limits of an exchange and of a run: time, size, number of requests."""

from __future__ import annotations

import threading
import time
from typing import Final

import attrs

from orgrest.model import BROKEN_OFF, TransportError

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0
TOTAL_TIMEOUT = 300.0
MAX_TIMEOUT = 86_400.0
BODY_LIMIT = 16 * 2**20
SILENCE = 10.0
"""The seconds without a message that end a stream, unless the request has its own limit."""
MOST_MESSAGES = 1000
"""The number of messages that ends a stream, unless the request has its own limit."""
MOST_REQUESTS: Final = 100_000
"""The default maximum number of requests of a run."""
MOST_BYTES: Final = 2**36
"""The maximum size of all bodies of a run, in bytes."""
_TIME_OVER = "the time for the whole run is over (--max-time)"


@attrs.frozen
class Limits:
    """The limits of one exchange, redirects included; times in seconds.

    `connect` applies to each connection, TLS included, `silence` to pauses between bytes, `total`
    to the whole. `body` is the number of bytes of the decoded body that are kept. With `public`,
    only public addresses are connected to.
    """

    connect: float = CONNECT_TIMEOUT
    silence: float = READ_TIMEOUT
    total: float = TOTAL_TIMEOUT
    body: int = BODY_LIMIT
    public: bool = False

    def within(
        self, timeout: float | None, connect: float | None = None, left: float | None = None
    ) -> Limits:
        """Return these limits, or those of an exchange that may take `timeout` seconds in all.

        `connect` limits connecting; no time exceeds the seconds `left`. Raises `TransportError` for
        an invalid time.
        """
        total, silence = (self.total, self.silence) if timeout is None else (timeout, timeout)
        connect = self.connect if connect is None else connect
        if not all(0 < seconds <= MAX_TIMEOUT for seconds in (connect, silence, total)):
            raise TransportError(f"a timeout is between 0 and {MAX_TIMEOUT:g} seconds")
        if left is not None:
            total = min(total, left)
            silence = min(silence, total)
        return Limits(min(connect, silence), silence, total, self.body, self.public)


class BrokenOffError(TransportError):
    """The run ended before the response to a request arrived."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, code=BROKEN_OFF)


@attrs.define(eq=False)
class _Left:
    """The requests and bytes that remain; `most` is the initial number of requests."""

    most: int
    bytes: int
    requests: int
    spent: str = ""
    lock: threading.Lock = attrs.field(factory=threading.Lock)


class Budget:
    """The requests, bytes and time that a run has left; safe to share by threads."""

    def __init__(
        self,
        requests: int = MOST_REQUESTS,
        size: int = MOST_BYTES,
        seconds: float | None = None,
        *,
        after: Budget | None = None,
    ) -> None:
        """Start with a number of requests, of bytes to receive, and of seconds (None: no limit).

        A budget `after` another, for teardowns, shares its remaining requests and bytes; its
        seconds begin when the time of the earlier budget is over, or when that is stopped.
        """
        self._after = after
        self._seconds = seconds
        self._ends = None if seconds is None or after else time.monotonic() + seconds
        self._left: _Left = _Left(requests, size, requests) if after is None else after._left
        self.ended: float | None = None
        """When it was stopped, by `time.monotonic`."""
        self._stopped = threading.Event()
        self._why = ""

    @property
    def deadline(self) -> float | None:
        """When the time ends, by `time.monotonic`; None for no limit, or if not known yet."""
        if self._after is None or self._seconds is None:
            return self._ends
        ended = self._after.deadline if self._after.ended is None else self._after.ended
        return None if ended is None else ended + self._seconds

    @property
    def spent(self) -> str:
        """Why nothing new may be started, for the user; empty while the run continues."""
        if (deadline := self.deadline) is not None and time.monotonic() >= deadline:
            self.stop(_TIME_OVER)
        return self._why or self._left.spent

    def stop(self, why: str) -> None:
        """End the run and all waits. Later calls do not change the reason."""
        if not self._stopped.is_set():
            self._why, self.ended = why, time.monotonic()
            self._stopped.set()

    def send(self) -> None:
        """Count a request. Raises BrokenOffError if the run may send no more."""
        left = self._left
        with left.lock:
            if not left.requests:
                left.spent = f"the run has made {left.most:,} requests (--max-requests)"
            if left.spent:
                raise BrokenOffError(f"not sent: {left.spent}")
            left.requests -= 1

    def receive(self, size: int) -> None:
        """Count received bytes; when the limit is exceeded, new requests are refused."""
        left = self._left
        with left.lock:
            left.bytes -= size
            if left.bytes < 0:
                left.spent = "the run has received more bytes than it may"

    def left(self) -> float | None:
        """Return the seconds left, None for no limit. Raises BrokenOffError if time is up."""
        if (deadline := self.deadline) is None:
            return None
        left = deadline - time.monotonic()
        if left <= 0:
            raise BrokenOffError(f"not sent: {_TIME_OVER}")
        return left

    def wait(self, seconds: float) -> None:
        """Wait. Raises BrokenOffError if the run ends meanwhile."""
        left = self.left()
        if left is not None and seconds > left:
            reason = f"waiting {seconds:g} s is longer than the run has time (--max-time)"
            raise BrokenOffError(reason)
        if self._stopped.wait(seconds):
            raise BrokenOffError("the run was broken off while this waited")
