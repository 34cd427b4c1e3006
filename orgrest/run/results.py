"""The outcomes of a run: each request is sent once, when its response is first needed."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.http.values.context import Answers
    from orgrest.model import Request, Response
    from orgrest.run.outcomes import Outcome
    from orgrest.run.plan import StepId

MAX_DEPTH = 50
"""How many requests may wait for each other's responses."""


class RequestResults:
    """The outcomes of a run's steps by their identity, and the `answers` to its requests.

    A request in progress has an exchange before it has an outcome: its
    own scripts and assertions refer to that.
    """

    def __init__(self, answers: Answers) -> None:
        """Start without outcomes; exchanges and failures go into `answers`."""
        self.answers = answers
        self._outcomes: dict[StepId, Outcome] = {}
        self._open: list[StepId] = []

    def known(self, step: StepId | None) -> Outcome | None:
        """Return the outcome of a step, None if it was not sent yet."""
        return None if step is None else self._outcomes.get(step)

    def keep(self, step: StepId | None, outcome: Outcome) -> None:
        """Store the outcome of a step, once: it never changes."""
        if step is not None:
            self._outcomes.setdefault(step, outcome)
            if outcome.state == "failed" and outcome.reason is not None:
                self.answers.failures.setdefault(step.request, outcome.reason)

    @property
    def under_way(self) -> tuple[StepId, ...]:
        """The requests being done now, each waiting for the next one."""
        return tuple(self._open)

    def has(self, request: StepId) -> bool:
        """Tell whether a request has an outcome yet, in any turn of its loop."""
        return any(step.request == request for step in self._outcomes)

    def answered(self, step: StepId | None, request: Request, response: Response) -> None:
        """Store the exchange of a step."""
        self.answers.last = request, response
        if step is not None:
            self.answers.exchanges[step.request] = self.answers.last

    @contextmanager
    def needing(self, step: StepId | None) -> Iterator[None]:
        """A context in which a step is being evaluated.

        Raises EvaluationError if it needs its own response, or the chain is too long.
        """
        if step is None:
            yield
            return
        request = step.request
        if request in self._open:
            names = [str(one) for one in (*self._open[self._open.index(request) :], request)]
            chain = f": {' -> '.join(names)}" if len(names) > 2 else ""
            raise EvaluationError(f"{step} refers to itself{chain}")
        if len(self._open) >= MAX_DEPTH:
            raise EvaluationError(f"{step}: references go deeper than {MAX_DEPTH}")
        self._open.append(request)
        try:
            yield
        finally:
            self._open.pop()
