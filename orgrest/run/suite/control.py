"""Early termination of a run: a failure with --bail, the time limit, Ctrl-C. All jobs check it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.transport import Client

TEARDOWN = 30.0
"""The seconds that a document's teardown may take when the run is over."""


class Control:
    """Tells whether a run goes on; thread-safe.

    `why` is the reason for its termination. An interruption aborts requests in progress at once; a
    separate client then sends the teardown.
    """

    def __init__(self, new_client: Callable[[], Client], deadline: float | None = None) -> None:
        """Create a client; `deadline` is a `time.monotonic` time. Raises what `new_client` does."""
        self.deadline = deadline
        self.why = ""
        self.interrupted = False
        self.client = new_client()
        self._new_client = new_client
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._late: Client | None = None

    @property
    def over(self) -> bool:
        """Whether no further request may be sent."""
        if not self.why and self.deadline is not None and time.monotonic() >= self.deadline:
            self.stop("the time for the whole run is over (--max-time)")
        if not self.why and self.client.budget.spent:
            self.stop(self.client.budget.spent)
        return bool(self.why)

    def stop(self, why: str) -> None:
        """Send no further request; those in progress are completed."""
        self.why = self.why or why
        self._stopped.set()

    def interrupt(self) -> None:
        """Send no further request, and abort those in progress."""
        self.interrupted = True
        self.stop("interrupted")
        self.client.abort()

    def sleep(self, seconds: float) -> bool:
        """Wait, and return whether the run goes on."""
        return not self._stopped.wait(seconds)

    def late_client(self) -> Client:
        """Return the client for the teardown after an interruption."""
        if not self.interrupted:
            return self.client
        with self._lock:
            self._late = self._late or self._new_client()
            return self._late

    def close(self) -> None:
        """Close the clients."""
        self.client.close()
        if self._late is not None:
            self._late.close()
