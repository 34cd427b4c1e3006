"""Ends a run early: after a failure with --bail, at the time limit, or on Ctrl-C.

All jobs of a run check whether the run has ended.
"""

from __future__ import annotations

import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING

from orgrest.http.sandbox import children
from orgrest.http.transport.limits import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.transport.client import Client

LISTING = 0.5
"""The maximum time, in seconds, for reading documents after the run has ended."""
TEARDOWN = 30.0
"""The time limit, in seconds, for teardowns that run after the run has ended."""


class Control:
    """Decides whether the jobs of a run continue. This class is thread-safe.

    An interruption aborts requests in progress, except in teardowns, which use a separate client.
    """

    def __init__(self, new_client: Callable[..., Client], budget: Budget | None = None) -> None:
        """Create the run's client with `new_client`.

        If `budget` is None, the run has no limits.
        """
        self.interrupted = False
        self.budget = budget or Budget()
        self.client = new_client(budget=self.budget)
        self._new_client = new_client
        self._teardown_client: Client | None = None
        self.abandoned = False
        self.recording = threading.RLock()
        """The lock to hold while a request is recorded.

        Nothing is recorded once the run is `abandoned`.
        """

    @property
    def why(self) -> str:
        """The reason why no more requests may be sent, or "" while the run continues."""
        return self.budget.spent

    @cached_property
    def listing_ends(self) -> float:
        """The `time.monotonic` time after which no more documents are read.

        After the run has ended, documents are read only to list their unsent requests. This time is
        `LISTING` seconds after the first use of the property.
        """
        return time.monotonic() + LISTING

    def stop(self, why: str) -> None:
        """Stop sending requests, but complete the requests in progress.

        `why` is the reason that is reported for the requests that are not sent.
        """
        self.budget.stop(why)

    def interrupt(self) -> None:
        """Stop sending requests, and abort the requests in progress."""
        self.interrupted = True
        self.stop("interrupted")
        self.client.abort()
        children.end()

    def abandon(self) -> None:
        """Prevent the jobs from sending and recording anything from now on."""
        with self.recording:
            self.abandoned = True
            self.budget.refuse(self.why)

    def teardown_client(self) -> Client:
        """Return the client for teardowns, which can send requests even after the run has ended."""
        with self.recording:
            if self._teardown_client is None:
                budget = Budget(seconds=TEARDOWN, after=self.budget)
                self._teardown_client = self._new_client(budget=budget)
            return self._teardown_client

    def close(self) -> None:
        """Close the clients."""
        self.client.close()
        if self._teardown_client is not None:
            self._teardown_client.close()
