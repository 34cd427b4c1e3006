"""Evaluates a document: sends its requests, and produces the document with the results.

A `Run` goes over the request blocks, calls and inline blocks of an Org text from top to
bottom and yields an `Outcome` for each; its `text` is the document with all results so far. A file
of requests has no results to place: `Run` yields the outcomes alone.

Rules: an error in one block leaves its old result unchanged and does not stop the others. A block
that others refer to is sent once per run, when it is first needed. COMMENT trees, and blocks that
are results themselves, are not evaluated. With several jobs, only neighbouring requests with safe
methods that capture nothing run at once; results are placed in order all the same.

Only files that a request names are read. Files of results are written by the caller's `write`,
before the links to them are inserted; a result whose file cannot be written fails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

from orgrest.http.values import RunContext, Scope, Session
from orgrest.run.documents.org_file import OrgFile
from orgrest.run.documents.request_file import RequestFile
from orgrest.run.outcomes import FAILURES, Task, located
from orgrest.run.results import RequestResults
from orgrest.run.sender import Early, Sender, independent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from concurrent.futures import ThreadPoolExecutor
    from pathlib import Path

    from orgrest.http.auth.oauth2 import Grant, Token
    from orgrest.http.syntax import ParsedRequest
    from orgrest.http.transport import Client, Cookies
    from orgrest.model import Request, Response
    from orgrest.run.document import Document
    from orgrest.run.identity import StepId
    from orgrest.run.items import Item
    from orgrest.run.outcomes import Outcome
    from orgrest.run.retry_policy import RetryPolicy
    from orgrest.run.settings import Settings


@attrs.frozen
class _Step:
    """A pending step: the key of its item, and its task or outcome."""

    item: StepId | None
    what: Task | Outcome


class Run(RunContext):
    """One run over one document: `results` are the outcomes so far."""

    def __init__(
        self,
        text: str,
        *,
        file: str,
        settings: Settings,
        client: Client | None,
        plain: bool = False,
        cookies: Cookies | None = None,
        write: Callable[[Path, bytes], None] | None = None,
    ) -> None:
        """Prepare the evaluation of `text`, of the file called `file` (for messages and links).

        `client` may be None in a dry run. `plain` tells that the text is a request file, not an Org
        document. `cookies` are those of earlier runs. `write` writes a file for a result, and
        raises OrgrestError if it cannot; without it, none is written.
        """
        self.placeholders = settings.dry_run and not settings.complete
        self.results = RequestResults()
        self.session = Session(settings.inputs)
        self._name = file
        self._settings = settings
        self._sender = Sender(client, cookies, settings, self.results, file)
        self._early: dict[StepId, Early] = {}
        self._waiting: list[_Step] = []
        self._needed: list[Outcome] = []  # for the step being finished
        self._planned: set[StepId] = set()  # outcomes not yet yielded
        kind = RequestFile if plain else OrgFile
        self.document: Document = kind(text, file=file, settings=settings, write=write)

    # ------------------------------------------------------------------- for requests in the run

    @property
    def scope(self) -> Scope:
        """The scope of the document's requests.

        It is created on each access: a stored one would form a reference cycle and keep whole
        responses alive.
        """
        return Scope(run=self, session=self.session)

    def imported_value(self, name: str) -> str | None:
        """Return what an imported file gives for a variable, or None."""
        return self.document.imported_value(name)

    def request_named(self, name: str, using: ParsedRequest) -> StepId | None:
        """Return the request that a name in another one refers to, preferring an answered one."""
        keys = list(self.document.requests_named(name, using))
        answered = (key for key in keys if self.results.exchange(key) is not None)
        return next(answered, keys[-1] if keys else None)

    def exchange(self, key: Any) -> tuple[Request, Response] | None:
        """Return the exchange of the request with a key, sending it unless it was sent before."""
        if self.results.exchange(key) is None:
            self.document.need(key, self)
        return self.results.exchange(key)

    def last_exchange(self) -> tuple[Request, Response] | None:
        """Return the last exchange, None at the beginning."""
        return self.results.last

    def token(self, grant: Grant) -> Token:
        """Return a token of OAuth 2.0. Raises OrgrestError if there is none."""
        return self._sender.token(grant)

    def compute(
        self, code: str, variables: Mapping[str, Any], responses: Mapping[str, Response]
    ) -> tuple[str, Any]:
        """Return the text and the value of an expression in JavaScript. Raises OrgrestError."""
        return self._sender.scripts.evaluate(code, variables, responses)

    # ------------------------------------------------------------------------ for who has it run

    @property
    def text(self) -> str:
        """The document with the results of the run so far."""
        return self.document.text

    @property
    def notices(self) -> tuple[str, ...]:
        """Warnings about the choice that `plan` made."""
        return self.document.notices

    def plan(self) -> int:
        """Choose what is evaluated, and return the number of items.

        Raises EvaluationError if `Options.names` or `Options.lines` choose nothing.
        """
        count = self.document.plan()
        self._planned = {
            item.key
            for item in self.document.items
            if item.key is not None and self._settings.choice.takes(item)
        }
        return count

    def run(self) -> Iterator[Outcome]:
        """Evaluate what `plan` chose, in order; yield an outcome for each block."""
        several = self._settings.jobs > 1 and not self._settings.dry_run
        try:
            for outcome in self._together() if several else self._in_turn():
                yield self.told(outcome)
        finally:
            self.close()

    def problems(self) -> Iterator[Outcome]:
        """Return the failures that concern the whole document, after `plan`."""
        for outcome in self.document.problems():
            yield self.told(outcome)

    @property
    def items(self) -> list[Item]:
        """The items that `plan` chose, in order, for callers that evaluate them one by one."""
        return self.document.items

    def evaluate(
        self, item: Item, *, client: Client | None = None, retry_policy: RetryPolicy | None = None
    ) -> Iterator[Outcome]:
        """Evaluate one of the items; a loop yields several outcomes.

        If given, `client` and `retry_policy` are used from now on. Call `close` at the end.
        """
        self._sender.client = client or self._sender.client
        self._sender.retry_policy = retry_policy or self._sender.retry_policy
        for step in self.document.tasks(item, self):
            yield self.told(self._finish(_Step(item.key, step)))

    def told(self, outcome: Outcome) -> Outcome:
        """Return an outcome with all secrets known by now."""
        needed = tuple(map(self.told, outcome.needed))
        return attrs.evolve(outcome, needed=needed, secrets=frozenset(self.session.secrets))

    def was_sent(self, item: Item) -> bool:
        """Tell whether an item, or a turn of its loop, was already sent for another item.

        If not, it is reported as not sent: it may still be sent later for another item.
        """
        if item.key is None:
            return False
        sent = self.results.has(item.key)
        if not sent:
            self._planned.discard(item.key)
        return sent

    def close(self) -> None:
        """End the engine of the scripts, if one was started."""
        self._sender.scripts.close()

    def _steps(self) -> Iterator[_Step]:
        for problem in self.document.problems():
            yield _Step(None, problem)
        for item in self.document.items:
            for step in self.document.tasks(item, self):
                yield _Step(item.key, step)

    def _in_turn(self) -> Iterator[Outcome]:
        for step in self._steps():
            yield self._finish(step)

    def _together(self) -> Iterator[Outcome]:
        """Evaluate with several concurrent requests; the outcomes are yielded in order."""
        from concurrent.futures import ThreadPoolExecutor

        waiting, jobs = self._waiting, self._settings.jobs
        pool = ThreadPoolExecutor(jobs)
        try:
            for step in self._steps():
                free = isinstance(step.what, Task) and self._begin(step.what, pool)
                waiting.append(step)
                while len(waiting) > (2 * jobs if free else 0):
                    yield self._next()
            while waiting:
                yield self._next()
        except BaseException:
            self._keep_answered()
            raise
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _begin(self, task: Task, pool: ThreadPoolExecutor) -> bool:
        """Send a task concurrently, if it may run beside the pending ones."""
        if task.key is None or self.results.known(task.key) is not None:
            return False
        request = independent(task)
        if request is None:
            return False
        sent = pool.submit(self._sender.send, task, task.parsed[0], request)
        self._early[task.key] = Early(request, sent)
        return True

    def _next(self) -> Outcome:
        """Finish the first pending task."""
        outcome = self._finish(self._waiting[0])
        self._waiting.pop(0)
        return outcome

    def _keep_answered(self) -> None:
        """Place the results of completed requests when the run is aborted."""
        for step in self._waiting:
            if isinstance(step.what, Task) and step.what.key is not None:
                early = self._early.get(step.what.key)
                if early is not None and early.exchange.done():
                    self._finish(step)

    def _finish(self, step: _Step) -> Outcome:
        """Send a task, and place the result."""
        outcome = self._placed(step.what) if isinstance(step.what, Task) else step.what
        if step.item is not None:
            self._planned.discard(step.item)
        needed, self._needed = tuple(self._needed), []
        return attrs.evolve(outcome, needed=needed)

    def _placed(self, task: Task) -> Outcome:
        with self.results.needing(task.key):
            outcome = self._sent(task.key, lambda: task)
        if self._settings.dry_run or outcome.state == "failed":
            return outcome
        try:
            return self.document.place(task, outcome, self)
        except FAILURES as error:
            reason = located(error, self._name, task.line)
            return attrs.evolve(outcome, state="failed", reason=reason, files=())

    def _sent(self, key: StepId | None, read: Callable[[], Task | Outcome]) -> Outcome:
        """Return the outcome of a step, sending it unless it was sent before."""
        outcome = self.results.known(key)
        if outcome is None:
            early = None if key is None else self._early.pop(key, None)
            outcome = self._exchange(read(), early)
            self.results.keep(key, outcome)
        return outcome

    def _exchange(self, step: Task | Outcome, early: Early | None = None) -> Outcome:
        return self._sender.exchange(step, early) if isinstance(step, Task) else step

    def send(
        self,
        key: StepId | None,
        read: Callable[[], Task | Outcome],
        *,
        again: bool = False,
        apart: bool = False,
    ) -> Outcome:
        """Return the outcome of a step that is needed now, sending it unless it was sent before.

        With `again`, it is sent once more in any case. With `apart`, it is a request of its own,
        distinct from the step's. Raises the error with which it failed.
        """
        sent = self.results.known(key) is not None
        anew = apart or (again and sent)
        with self.results.needing(key):
            outcome = self._exchange(read()) if anew else self._sent(key, read)
        if anew or not (sent or (key is not None and key.request in self._planned)):
            self._needed.append(outcome)
        if outcome.state == "failed" and outcome.reason is not None:
            raise outcome.reason.with_traceback(None)
        return outcome
