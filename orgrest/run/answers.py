"""What the named requests of a run got: each is sent once, whoever needs its answer first."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.run.identity import StepId
    from orgrest.run.outcomes import Outcome, Task

MAX_DEPTH = 50
"""How many requests may wait for each other's answers."""


class Answers:
    """The outcomes of a run by `Task.key`; `under_way` are the tasks that are not finished."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.under_way: dict[StepId, Task] = {}
        self._known: dict[StepId, Outcome] = {}
        self._needed: list[StepId] = []

    def known(self, key: StepId | None) -> Outcome | None:
        """Give what came of the task with this key, None where it was not sent yet."""
        return None if key is None else self._known.get(key)

    def keep(self, key: StepId | None, outcome: Outcome) -> None:
        """Keep what came of a task: once, it does not come to something else later."""
        if key is not None:
            self._known.setdefault(key, outcome)

    def has(self, request: StepId) -> bool:
        """Tell whether something came of a request yet, in whatever turn."""
        return any(key.request == request for key in self._known)

    @contextmanager
    def needing(self, key: StepId | None) -> Iterator[None]:
        """Look for an answer inside of this context.

        Raises EvaluationError where the request needs its own answer, or the chain is too long.
        """
        if key is None:
            yield
            return
        if key in self._needed:
            names = [str(one) for one in (*self._needed[self._needed.index(key) :], key)]
            chain = f": {' -> '.join(names)}" if len(names) > 2 else ""
            raise EvaluationError(f"{key} refers to itself{chain}")
        if len(self._needed) >= MAX_DEPTH:
            raise EvaluationError(f"{key}: references go deeper than {MAX_DEPTH}")
        self._needed.append(key)
        try:
            yield
        finally:
            self._needed.pop()
