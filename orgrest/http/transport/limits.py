"""Limits on the time and the size of exchanges."""

from __future__ import annotations

import threading

import attrs
from urllib3.util import Timeout

from orgrest.model import TransportError

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0
TOTAL_TIMEOUT = 300.0
MAX_TIMEOUT = 86_400.0
BODY_LIMIT = 16 * 2**20
MOST_REQUESTS = 100_000
"""The default maximum number of requests of a run."""
MOST_BYTES = 2**36
"""The maximum size of all bodies of a run, in bytes."""


class Budget:
    """What a run may still send and receive; safe to share by threads."""

    def __init__(self, requests: int = MOST_REQUESTS, size: int = MOST_BYTES) -> None:
        """Begin with all of it."""
        self.spent = ""
        """The limit that is used up, in words; empty while nothing is."""
        self._most = self._requests = requests
        self._bytes = size
        self._lock = threading.Lock()

    def send(self) -> None:
        """Count a request. Raises `TransportError` if none is left."""
        with self._lock:
            if not self._requests:
                self.spent = f"the run has made {self._most:,} requests (--max-requests)"
            if self.spent:
                raise TransportError(f"not sent: {self.spent}")
            self._requests -= 1

    def receive(self, size: int) -> None:
        """Count received bytes; once none are left, further requests are refused."""
        with self._lock:
            self._bytes -= size
            if self._bytes < 0:
                self.spent = "the run has received more bytes than it may"


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
        limits = self
        if timeout is not None:
            limits = attrs.evolve(self, silence=timeout, total=timeout)
        if connect is not None:
            limits = attrs.evolve(limits, connect=connect)
        if not (0 < limits.connect <= MAX_TIMEOUT):
            raise TransportError(f"a timeout is between 0 and {MAX_TIMEOUT:g} seconds")
        if not (0 < limits.silence <= MAX_TIMEOUT and 0 < limits.total <= MAX_TIMEOUT):
            raise TransportError(f"a timeout is between 0 and {MAX_TIMEOUT:g} seconds")
        if left is not None:
            total = min(limits.total, left)
            limits = attrs.evolve(limits, silence=min(limits.silence, total), total=total)
        return attrs.evolve(limits, connect=min(limits.connect, limits.silence))

    @property
    def timeout(self) -> Timeout:
        """The timeouts for urllib3."""
        return Timeout(connect=self.connect, read=self.silence)

    @property
    def wire(self) -> int:
        """The maximum number of bytes received: a body within its limit never takes more."""
        return 8 * self.body + 2**20
