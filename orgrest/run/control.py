"""Early termination of a run: a failure with --bail, the time limit, Ctrl-C. All jobs check it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from orgrest.http.sandbox import children
from orgrest.http.transport.limits import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.transport.client import Client

TEARDOWN = 30.0
"""The time limit of teardowns after the end of the run, in seconds."""


class Control:
    """Decides whether a run continues; thread-safe.

    An interruption immediately aborts requests in progress, except those of teardowns, which have
    a separate client.
    """

    def __init__(self, new_client: Callable[..., Client], budget: Budget | None = None) -> None:
        """Create the client of the run, with its `budget`. Raises what `new_client` does."""
        self.interrupted = False
        self.budget = budget or Budget()
        self.client = new_client(budget=self.budget)
        self._new_client = new_client
        self._teardown_client: Client | None = None
        self.abandoned = False
        self.telling = threading.RLock()
        """Held while a request is recorded; nothing is recorded once the run is `abandoned`."""

    @property
    def why(self) -> str:
        """Why no more requests may be sent; empty while the run continues."""
        return self.budget.spent

    def stop(self, why: str) -> None:
        """Send no more requests; those in progress are completed."""
        self.budget.stop(why)

    def interrupt(self) -> None:
        """Send no more requests, and abort those in progress."""
        self.interrupted = True
        self.stop("interrupted")
        self.client.abort()
        children.end()

    def abandon(self) -> None:
        """Prevent the jobs from recording anything from now on."""
        with self.telling:
            self.abandoned = True

    def teardown_client(self) -> Client:
        """Return the client of all teardowns, which still sends after the end of the run."""
        with self.telling:
            if self._teardown_client is None:
                budget = Budget(seconds=TEARDOWN, after=self.budget)
                self._teardown_client = self._new_client(budget=budget)
            return self._teardown_client

    def close(self) -> None:
        """Close the clients."""
        self.client.close()
        if self._teardown_client is not None:
            self._teardown_client.close()
