"""What came of the requests of a run: each is sent once, whoever needs its response first."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.model import Request, Response
    from orgrest.run.identity import StepId
    from orgrest.run.outcomes import Outcome

MAX_DEPTH = 50
"""How many requests may wait for each other's responses."""


class RequestResults:
    """The outcomes of a run's steps by their identity, and the exchanges of its requests.

    `last` is what was sent and got last. A request that is under way has an exchange before it has
    an outcome: its own scripts and assertions refer to that.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.last: tuple[Request, Response] | None = None
        self._outcomes: dict[StepId, Outcome] = {}
        self._exchanges: dict[StepId, tuple[Request, Response]] = {}
        self._open: list[StepId] = []

    def known(self, step: StepId | None) -> Outcome | None:
        """Give what came of a step, None where it was not sent yet."""
        return None if step is None else self._outcomes.get(step)

    def keep(self, step: StepId | None, outcome: Outcome) -> None:
        """Keep what came of a step: once, it does not come to something else later."""
        if step is not None:
            self._outcomes.setdefault(step, outcome)

    def has(self, request: StepId) -> bool:
        """Tell whether something came of a request yet, in whatever turn."""
        return any(step.request == request for step in self._outcomes)

    def exchange(self, request: StepId) -> tuple[Request, Response] | None:
        """Give what a request sent and got the last time, None where it was not answered."""
        return self._exchanges.get(request)

    def answered(self, step: StepId | None, request: Request, response: Response) -> None:
        """Keep what a step sent and got."""
        self.last = request, response
        if step is not None:
            self._exchanges[step.request] = self.last

    @contextmanager
    def needing(self, step: StepId | None) -> Iterator[None]:
        """Look for what comes of a step inside of this context.

        Raises EvaluationError where it needs its own response, or the chain is too long.
        """
        if step is None:
            yield
            return
        if step in self._open:
            names = [str(one) for one in (*self._open[self._open.index(step) :], step)]
            chain = f": {' -> '.join(names)}" if len(names) > 2 else ""
            raise EvaluationError(f"{step} refers to itself{chain}")
        if len(self._open) >= MAX_DEPTH:
            raise EvaluationError(f"{step}: references go deeper than {MAX_DEPTH}")
        self._open.append(step)
        try:
            yield
        finally:
            self._open.pop()
