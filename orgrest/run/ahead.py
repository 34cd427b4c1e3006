"""Sends requests ahead of their turn, where nothing depends on their order."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from orgrest.model import OrgrestError
from orgrest.run.sender import Early, expand

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from orgrest.model import Request
    from orgrest.run.outcomes import Task
    from orgrest.run.plan import StepId
    from orgrest.run.sender import Sender

_LAST_RESPONSE = re.compile(r"\{\{[^{}\n]*\bresponse\b")


class Ahead:
    """The requests of a run that were sent ahead of their turn."""

    def __init__(self, sender: Sender, jobs: int) -> None:
        """Send with `sender`, at most `jobs` at once."""
        self._sender = sender
        self._jobs = jobs
        self._pool: ThreadPoolExecutor | None = None
        self._sent: dict[StepId, Early] = {}

    def send(self, task: Task) -> bool:
        """Send the request of a task, unless it has to wait for its turn; tell whether it did."""
        from concurrent.futures import ThreadPoolExecutor

        if task.id is None or self._sender.results.known(task.id) is not None:
            return False
        request = _independent(task)
        if request is None:
            return False
        self._pool = self._pool or ThreadPoolExecutor(self._jobs)
        sent = self._pool.submit(self._sender.send, task, task.parsed[0], request)
        self._sent[task.id] = Early(request, sent)
        return True

    def take(self, step: StepId | None) -> Early | None:
        """Return the request of a step, which was sent ahead, once."""
        return None if step is None else self._sent.pop(step, None)

    def has_answered(self, step: StepId | None) -> bool:
        """Tell whether the request of a step has an answer, which nobody took."""
        early = None if step is None else self._sent.get(step)
        return early is not None and early.exchange.done()

    def close(self) -> None:
        """Drop the requests that are not sent yet."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _independent(task: Task) -> Request | None:
    """Return the request of a task that can be sent concurrently with others, else None.

    The task must have one request, with a safe method, without captures, scripts or prompts.
    """
    from orgrest.http import registry

    if len(task.parsed) != 1 or task.parsed[0].captures or task.needed:
        return None
    one = task.parsed[0]
    if not one.restclient and _looks_back(one.source.text):
        return None
    if one.scripts or one.shared_scripts or one.directives or one.savings:
        return None
    method = registry.method(one.method.upper())
    if method is None or not method.safe:
        return None
    try:
        with task.scope.taken.of_request():
            return expand(one, task.scope)
    except OrgrestError:
        return None  # the same error comes up again, in its turn


@lru_cache(8)
def _looks_back(text: str) -> bool:
    """Tell whether requests of a text may use the previous one's response."""
    return _LAST_RESPONSE.search(text) is not None
