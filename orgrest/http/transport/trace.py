"""What goes over the wire for an exchange: redirects, challenges and the last request, in order."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.model import Headers, Request, Response


@attrs.define(eq=False)
class Hop:
    """A request with the header lines that were sent, at `started` (Unix time), and its response.

    It is the `number`-th that its run sent; `response` is None where none came.
    """

    request: Request
    number: int
    started: float
    response: Response | None = None


class Trace:
    """The hops of one exchange, numbered by `numbers`, which is shared by those of a run."""

    def __init__(self, numbers: Iterator[int] | None = None) -> None:
        """Begin without hops."""
        self.hops: list[Hop] = []
        self._numbers = numbers or itertools.count(1)
        self._began = 0.0

    def sent(self, request: Request, lines: Headers) -> None:
        """Record that a request is being sent, with these header lines."""
        self._began = time.monotonic()
        wired = attrs.evolve(request, headers=lines, credentials=None)
        self.hops.append(Hop(wired, next(self._numbers), time.time()))

    def answered(self, response: Response) -> None:
        """Record the response to the last request."""
        took = time.monotonic() - self._began
        self.hops[-1].response = attrs.evolve(response, duration=took)
