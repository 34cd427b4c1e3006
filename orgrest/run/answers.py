"""What the named requests of a run got: each is sent once, whoever needs its answer first."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from orgrest.run.outcomes import EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.run.outcomes import Outcome, Task

MAX_DEPTH = 50
"""How many requests may wait for each other's answers."""


class Answers:
    """The outcomes of a run by `Task.key`; `under_way` are the tasks that are not finished."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.under_way: dict[str, Task] = {}
        self._known: dict[str, Outcome] = {}
        self._needed: list[str] = []
        self._names: list[str] = []

    def known(self, key: str | None) -> Outcome | None:
        """Give what came of the task with this key, None where it was not sent yet."""
        return None if key is None else self._known.get(key)

    def keep(self, key: str | None, outcome: Outcome) -> None:
        """Keep what came of a task, unless it is known already."""
        if key is not None:
            self._known.setdefault(key, outcome)

    @contextmanager
    def needing(self, key: str, name: str) -> Iterator[None]:
        """Look for an answer, of the request called `name`, inside of this context.

        Raises EvaluationError where the request needs its own answer, or the chain is too long.
        """
        if key in self._needed:
            names = [*self._names[self._needed.index(key) :], name]
            chain = f": {' -> '.join(names)}" if len(names) > 2 else ""
            raise EvaluationError(f"{name} refers to itself{chain}")
        if len(self._needed) >= MAX_DEPTH:
            raise EvaluationError(f"{name}: references go deeper than {MAX_DEPTH}")
        self._needed.append(key)
        self._names.append(name)
        try:
            yield
        finally:
            self._needed.pop()
            self._names.pop()

    def of(self, key: str, read: Callable[[], Task], send: Callable[[Task], Outcome]) -> Outcome:
        """Give what came of the task with this key; unless it was sent, read and send it."""
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = send(self.under_way.get(key) or read())
        return known
