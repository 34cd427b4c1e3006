"""The outcomes of a run's steps, and the steps in progress. Each request is sent only once."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from orgrest.http.values.context import NeededError, RequestNeededError
from orgrest.model import OrgrestError
from orgrest.run.outcomes import EvaluationError

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
    """A generator that yields a NeededError for each token or response that it needs.

    If one of them cannot be obtained, the error is sent to the generator.
    """

MAX_DEPTH = 50
"""The maximum number of requests that can be in progress, each waiting for the next."""


def resolved(context: Context, compute: Callable[[], _Value]) -> Needing[_Value]:
    """Return the result of `compute`, after yielding a NeededError for each missing value.

    Raises the errors of `compute`, for instance if a needed request has failed.
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
    """The outcomes of a run's steps, by step identity.

    `answers` also contains the exchange of a request in progress, because the request's scripts and
    assertions may refer to that exchange.
    """

    def __init__(self, answers: Answers) -> None:
        """Create an empty collection of outcomes. Exchanges and failures are added to `answers`."""
        self.answers = answers
        self.under_way: list[StepId] = []
        """The steps in progress. Each waits for the next."""
        self.latest: dict[StepId, Outcome] = {}
        """The latest outcome of each step, which differs from `known` if a step was sent again."""
        self._outcomes: dict[StepId, Outcome] = {}

    def known(self, step: StepId) -> Outcome | None:
        """Return the outcome of a step, or None if the step has no outcome yet."""
        return self._outcomes.get(step)

    def needed(self, step: StepId, variables: Mapping[str, str]) -> Outcome:
        """Return the outcome of a step that another step needs.

        Raises the step's error if the step failed or could not be sent. Raises RequestNeededError
        with `variables` if the step has not been sent yet.
        """
        outcome = self._outcomes.get(step)
        failure = self.answers.unmet.get(step) if outcome is None else outcome.reason
        if failure is not None and (outcome is None or outcome.state == "failed"):
            raise failure.with_traceback(None)
        if outcome is None:
            raise RequestNeededError(step, variables)
        return outcome

    def keep(self, step: StepId, outcome: Outcome) -> None:
        """Store the outcome of a step. An outcome that is already stored never changes."""
        self._outcomes.setdefault(step, outcome)
        if outcome.state == "failed" and outcome.reason is not None and not step.call:
            self.answers.failures.setdefault(step.request, outcome.reason)

    def has(self, request: StepId) -> bool:
        """Return whether a request's own step was sent, in any iteration of its loop."""
        return any(
            not (step.call or step.runs) and step.request == request for step in self._outcomes
        )

    def answered(self, step: StepId, request: Request, response: Response) -> None:
        """Store the request and response of a step in progress."""
        self.answers.last = self.answers.exchanges[step.request] = request, response

    @contextmanager
    def needing(self, step: StepId) -> Iterator[None]:
        """Return a context manager that marks a step as in progress.

        Raises EvaluationError if the step needs its own response, or if references are nested too
        deeply.
        """
        request, under_way = step.request, self.under_way
        if request in under_way:
            names = [str(waiting) for waiting in (*under_way[under_way.index(request) :], request)]
            chain = f": {' -> '.join(names)}" if len(names) > 2 else ""
            raise EvaluationError(f"{step} refers to itself{chain}")
        if len(under_way) >= MAX_DEPTH:
            raise EvaluationError(
                f"{step}: references are nested more than {MAX_DEPTH} levels deep"
            )
        under_way.append(request)
        try:
            yield
        finally:
            under_way.pop()
