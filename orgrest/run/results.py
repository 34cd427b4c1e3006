"""The outcomes of a run's steps, and the steps in progress. Each request is sent only once."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from orgrest.http.values.context import NeededError, RequestNeededError
from orgrest.model import OrgrestError
from orgrest.regular import compiled
from orgrest.run.outcomes import EvaluationError, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping
    from typing import TypeAlias

    from orgrest.http.values import Context
    from orgrest.http.values.context import Answers
    from orgrest.model import Request, Response
    from orgrest.run.plan import StepId

    _Value = TypeVar("_Value")
    Needing: TypeAlias = Generator[NeededError, OrgrestError | None, _Value]
    """A generator that yields a NeededError for each token or response that it needs.

    If one of them cannot be obtained, the error is sent to the generator.
    """

_WORD = compiled(r"[^\W_]+")
_PART = compiled(r"[A-Z]?[^\WA-Z_]+|[A-Z]")  # in scripts, `getUser` may be the name `get-user`

# what the text of a run contains if the run may expand other texts
_INCLUSION = compiled(r"\n[ \t]*(?:[<>]|gql)[ \t]+(?!\{%)[^ \t]")
_INCLUSIONS = ("<@", "inject-variables", "injectvariables", "require", "verb-prelude")

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

    def release(self, step: StepId, outcome: Outcome) -> None:
        """Forget the response of a step. Its state is kept."""
        freed = Outcome(outcome.line, outcome.name, outcome.state, reason=outcome.reason)
        self._outcomes[step] = self.latest[step] = freed
        self.answers.exchanges.pop(step.request, None)

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


class Mentions:
    """The words in a run's texts. They show which requests the texts may refer to.

    A text may refer to a request if it contains each word of the request's name once more, in any
    case. All requests may be referred to if the run may expand other texts: those of files that it
    includes, or values and headers of environments that contain references.
    """

    def __init__(self, texts: Iterable[str], values: Iterable[str]) -> None:
        """Search the `texts` of the run's files, and the `values` of its environments."""
        self._all = any("{{" in value for value in values)
        self._words: Counter[str] = Counter()
        self._parts: Counter[str] = Counter()
        for text in texts:
            lower = text.casefold()
            if any(word in lower for word in _INCLUSIONS) or _INCLUSION.search(text):
                self._all = True
            self._words.update(_WORD.findall(lower))
            for part, count in Counter(_PART.findall(text)).items():
                self._parts[part.casefold()] += count

    def include(self, name: str | None) -> bool:
        """Return whether the texts may refer to the request with this name, if it has one."""
        if not name or self._all:
            return bool(name)
        words = _WORD.findall(name.casefold())
        parts = [part.casefold() for part in _PART.findall(name)]
        return all(self._words[word] > words.count(word) for word in words) or all(
            self._parts[part] > parts.count(part) for part in parts
        )
