"""The outcomes of a run's steps, and the steps in progress: each request is sent once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from orgrest.http.values.context import NeededError, RequestNeededError
from orgrest.model import OrgrestError
from orgrest.run.outcomes import EvaluationError
from orgrest.run.plan import Call

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Iterator, Mapping
    from typing import TypeAlias

    from orgrest.http.values import Context
    from orgrest.http.values.context import Answers
    from orgrest.model import Request, Response
    from orgrest.run.outcomes import Outcome
    from orgrest.run.plan import StepId

    _Value = TypeVar("_Value")
    Needing: TypeAlias = Generator[NeededError, OrgrestError | None, _Value]
    """Work that yields what it needs to continue, and is sent the error if getting that failed."""

MAX_DEPTH = 50
"""The maximum number of requests that wait for each other's responses."""


def resolved(context: Context, compute: Callable[[], _Value]) -> Needing[_Value]:
    """Return the value of `compute`; first yield each request that the value refers to.

    Raises the errors of `compute`, for instance if a request that it needs failed.
    """
    answers = context.answers
    unmet: dict[Hashable, OrgrestError] = {}
    while True:
        try:
            answers.unmet.update(unmet)
            return compute()
        except NeededError as error:
            needed = error
        finally:
            for key in unmet:
                answers.unmet.pop(key, None)
        failure = yield needed
        if isinstance(needed, RequestNeededError):
            unmet[needed.key] = failure or OrgrestError(
                f"the request {needed.key} got no response", code="no-response"
            )


class RequestResults:
    """The outcomes of a run's steps by their identity, and the `answers` to its requests.

    A request in progress has an exchange before it has an outcome: its own scripts and assertions
    refer to the exchange.
    """

    def __init__(self, answers: Answers) -> None:
        """Start without outcomes; exchanges and failures go into `answers`."""
        self.answers = answers
        self.under_way: list[StepId] = []
        """The steps in progress, each waiting for the next."""
        self._outcomes: dict[StepId, Outcome] = {}

    def known(self, step: StepId) -> Outcome | None:
        """Return the outcome of a step; None if it was not sent yet."""
        return self._outcomes.get(step)

    def needed(self, step: StepId, given: Mapping[str, str]) -> Outcome:
        """Return the outcome of a step that was sent with `given` variables.

        Raises RequestNeededError if it was not sent yet, and the error with which it failed.
        """
        outcome = self._outcomes.get(step)
        failure = self.answers.unmet.get(step) if outcome is None else outcome.reason
        if failure is not None and (outcome is None or outcome.state == "failed"):
            raise failure.with_traceback(None)
        if outcome is None:
            raise RequestNeededError(step, given)
        return outcome

    def keep(self, step: StepId, outcome: Outcome) -> None:
        """Store the outcome of a step, once: it never changes."""
        self._outcomes.setdefault(step, outcome)
        if outcome.state == "failed" and outcome.reason is not None and type(step) is not Call:
            self.answers.failures.setdefault(step.request, outcome.reason)

    def has(self, request: StepId) -> bool:
        """Return whether a request has an outcome yet, in any turn of its loop."""
        return any(type(one) is not Call and one.request == request for one in self._outcomes)

    def answered(self, step: StepId, request: Request, response: Response) -> None:
        """Store the exchange of a step."""
        self.answers.last = self.answers.exchanges[step.request] = request, response

    @contextmanager
    def needing(self, step: StepId) -> Iterator[None]:
        """A context in which a step is in progress.

        Raises EvaluationError if it needs its own response, or the chain is too long.
        """
        request, under_way = step.request, self.under_way
        if request in under_way:
            names = [str(one) for one in (*under_way[under_way.index(request) :], request)]
            chain = f": {' -> '.join(names)}" if len(names) > 2 else ""
            raise EvaluationError(f"{step} refers to itself{chain}")
        if len(under_way) >= MAX_DEPTH:
            raise EvaluationError(f"{step}: references go deeper than {MAX_DEPTH}")
        under_way.append(request)
        try:
            yield
        finally:
            under_way.pop()
