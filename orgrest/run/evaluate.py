"""A document's requests evaluated: document in, requests sent, new document out.

An `Evaluation` goes over the request blocks, calls and inline blocks of an Org text from top to
bottom and yields an `Outcome` for each; its `text` is the document with all results so far. A file
of requests has no results to place: `Evaluation` yields the outcomes alone.

Rules: an error in one block leaves its old result as it is and the others go on. A block that
others refer to is sent once a run, whoever needs it first. COMMENT trees, and blocks that are
results themselves, are not evaluated. With several jobs, only neighbouring requests with safe
methods that capture nothing run at once; results are placed in order all the same.

Nothing is read here but what a request asks for. The files of results are written by the caller's
`write`, before the links to them are put in; a result whose file cannot be written has failed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

import attrs

from orgrest.run.answers import Answers
from orgrest.run.org_file import OrgFile
from orgrest.run.outcomes import FAILURES, Exchange, Task, failed
from orgrest.run.request_file import RequestFile
from orgrest.run.sending import Sender, is_independent
from orgrest.run.weak import weakly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from orgrest.http.transport import Client, Cookies
    from orgrest.http.values import Scope
    from orgrest.run.items import Item
    from orgrest.run.outcomes import Options, Outcome


class _File(Protocol):
    """What a kind of document says of itself; `OrgFile` documents the methods."""

    @property
    def text(self) -> str: ...
    @property
    def notices(self) -> tuple[str, ...]: ...
    @property
    def items(self) -> list[Item]: ...
    def plan(self) -> int: ...
    def problems(self) -> Iterator[Outcome]: ...
    def tasks(self, items: Sequence[Item]) -> Iterator[Task | Outcome]: ...
    def place(self, task: Task, outcome: Outcome, /) -> Outcome: ...


class Evaluation:
    """One run over one document."""

    def __init__(
        self,
        text: str,
        *,
        file: str,
        scope: Scope,
        client: Client | None,
        options: Options,
        plain: bool = False,
        cookies: Cookies | None = None,
        write: Callable[[Path, bytes], None] | None = None,
    ) -> None:
        """Prepare the evaluation of `text`, of the file called `file` (for messages and links).

        `scope` is the document's; `client` may be None in a dry run. `plain` says that the text is
        no Org document but a file of requests. `cookies` are those of earlier runs, to go on with.
        `write` writes a file that a result is kept in, and raises OrgrestError where it cannot;
        without it, none is written.
        """
        self._name = file
        self._scope = scope
        self._options = options
        self._sender = Sender(client, cookies, options)
        if client is not None:
            scope.access.obtain_with(partial(self._sender.token, client))
        scope.compute_with(weakly(self._sender.hooks.evaluate))
        self._answers = Answers()
        self._waiting: list[Task | Outcome] = []
        self._file: _File
        if plain:
            self._file = RequestFile(
                text,
                file=file,
                scope=scope,
                options=options,
                answers=self._answers,
                send=self._sender.exchange,
                write=write,
            )
        else:
            self._file = OrgFile(
                text,
                file=file,
                scope=scope,
                options=options,
                sender=self._sender,
                answers=self._answers,
                write=write,
            )

    @property
    def text(self) -> str:
        """The document with the results of the run so far."""
        return self._file.text

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know about the choice that `plan` made."""
        return self._file.notices

    def plan(self) -> int:
        """Choose what is evaluated, and tell how much that is.

        Raises EvaluationError where `Options.names` or `Options.lines` choose nothing.
        """
        return self._file.plan()

    def run(self) -> Iterator[Outcome]:
        """Evaluate what `plan` chose, in order; yield an outcome for each block."""
        several = self._options.jobs > 1 and not self._options.dry_run
        try:
            for outcome in self._together() if several else self._in_turn():
                yield attrs.evolve(outcome, secrets=self._scope.secrets)
        finally:
            self.close()

    def problems(self) -> Iterator[Outcome]:
        """Give the failures that concern the whole document, after `plan`."""
        for outcome in self._file.problems():
            yield attrs.evolve(outcome, secrets=self._scope.secrets)

    @property
    def items(self) -> list[Item]:
        """What `plan` chose, in order, for who evaluates one after the other himself."""
        return self._file.items

    def evaluate(self, item: Item, *, client: Client | None = None) -> Iterator[Outcome]:
        """Evaluate one of the items; several outcomes come where it is sent in a loop.

        From now on `client` sends, where one is given. Call `close` in the end.
        """
        if client is not None:
            self._sender.client = client
        for step in self._file.tasks((item,)):
            yield attrs.evolve(self._finish(step), secrets=self._scope.secrets)

    def close(self) -> None:
        """End the engine of the scripts, if one was started."""
        self._sender.hooks.close()

    def _steps(self) -> Iterator[Task | Outcome]:
        yield from self._file.problems()
        yield from self._file.tasks(self._file.items)

    def _in_turn(self) -> Iterator[Outcome]:
        for step in self._steps():
            yield self._finish(step)

    def _together(self) -> Iterator[Outcome]:
        """Evaluate with several requests on their way; the outcomes come in order."""
        from concurrent.futures import ThreadPoolExecutor

        waiting, jobs = self._waiting, self._options.jobs
        pool = ThreadPoolExecutor(jobs)
        try:
            for step in self._steps():
                free = isinstance(step, Task) and self._is_free(step)
                if isinstance(step, Task):
                    if free:
                        step.response = pool.submit(self._sender.send, step, step.parsed[0])
                    if step.key is not None:
                        self._answers.under_way[step.key] = step
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

    def _is_free(self, task: Task) -> bool:
        """Tell whether a task can be sent at once, beside those that wait for their responses."""
        return self._answers.known(task.key) is None and is_independent(task)

    def _next(self) -> Outcome:
        """Finish the first of the tasks that wait."""
        outcome = self._finish(self._waiting[0])
        step = self._waiting.pop(0)
        if isinstance(step, Task) and step.key is not None:
            self._answers.under_way.pop(step.key, None)
        return outcome

    def _keep_answered(self) -> None:
        """Place what was answered already, when the run is broken off."""
        for step in self._waiting:
            if isinstance(step, Task) and step.response is not None and step.response.done():
                self._finish(step)

    def _finish(self, step: Task | Outcome) -> Outcome:
        """Send what has to be sent, and place the result."""
        if not isinstance(step, Task):
            return step
        try:
            outcome = self._answers.known(step.key) or self._sender.exchange(step)
            if self._options.dry_run:
                return outcome
            self._answers.keep(step.key, outcome)
            return self._file.place(step, outcome)
        except FAILURES as error:
            return self._broken_off(step, error)

    def _broken_off(self, task: Task, error: Exception) -> Outcome:
        outcome = failed(task.line, task.name, error, self._name)
        if task.request is None:
            return outcome
        broken = Exchange(task.request, task.answer, attempts=max(1, task.attempts))
        return attrs.evolve(outcome, broken=broken)
