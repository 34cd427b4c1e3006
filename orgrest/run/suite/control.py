"""Early termination of a run: a failure with --bail, the time limit, Ctrl-C. All jobs check it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from orgrest.http.transport import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.transport import Client

TEARDOWN = 30.0
"""The seconds that a document's teardown may take when the run is over."""


class Control:
    """Tells whether a run goes on; thread-safe.

    An interruption aborts requests in progress at once; what `new_client` makes for that then sends
    the teardown.
    """

    def __init__(self, new_client: Callable[..., Client], budget: Budget | None = None) -> None:
        """Create the client of the run, with its `budget`. Raises what `new_client` does."""
        self.interrupted = False
        self.budget = budget or Budget()
        self.client = new_client(budget=self.budget)
        self._new_client = new_client
        self.abandoned = False
        self.telling = threading.RLock()
        """Held while a request is recorded; nothing is, once the run is `abandoned`."""

    @property
    def why(self) -> str:
        """Why no further request may be sent; empty while the run goes on."""
        return self.budget.spent

    def stop(self, why: str) -> None:
        """Send no further request; those in progress are completed."""
        self.budget.stop(why)

    def interrupt(self) -> None:
        """Send no further request, and abort those in progress."""
        self.interrupted = True
        self.stop("interrupted")
        self.client.abort()

    def abandon(self) -> None:
        """Let no job record anything any more."""
        with self.telling:
            self.abandoned = True

    def late_client(self) -> Client:
        """Return a client for the teardown of a document after the run is over."""
        return self._new_client(budget=Budget(seconds=TEARDOWN, after=self.budget))

    def close(self) -> None:
        """Close the client."""
        self.client.close()
