"""Limits on the time and the size of one exchange."""

from __future__ import annotations

import attrs
from urllib3.util import Timeout

from orgrest.model import TransportError

CONNECT_TIMEOUT = 10.0
READ_TIMEOUT = 30.0
TOTAL_TIMEOUT = 300.0
MAX_TIMEOUT = 86_400.0
BODY_LIMIT = 16 * 2**20


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
