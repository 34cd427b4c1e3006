"""Background runs: each run has its own thread, and an event loop receives its outcomes.

Each run has its own `Client`, so closing the client's connections ends only that run. The thread is
a daemon, so an editor can quit even if a server is not responding.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from orgrest.http.sandbox import children
from orgrest.run import writable_files
from orgrest.run.logins import Person
from orgrest.run.outcomes import Outcome
from orgrest.run.run import Run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterable

    from orgrest.editor.server.client import ServerOfClient
    from orgrest.editor.server.documents import OpenDocument
    from orgrest.http.transport.client import Client
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings

_Answer = TypeVar("_Answer")


class CancelledRunError(Exception):
    """Raised if the user cancelled the run."""


def in_loop(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *what: object) -> None:
    """Call a function in the event loop, from another thread. Do nothing if the loop has ended."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(call, *what)


class BackgroundRun:
    """A single run of the requests in an open document, in a background thread.

    It raises the same errors as `Run`.
    """

    def __init__(
        self,
        client: ServerOfClient,
        document: OpenDocument,
        settings: Settings,
        services: Services,
        *,
        notice: Callable[[str], None] = lambda _: None,
        evaluate: Callable[[Run], Iterable[Outcome]] = Run.outcomes,
    ) -> None:
        """Prepare the run without starting it.

        The run adds callbacks to `services`, which must not be shared with other runs. They ask the
        user of `client` for values and, unless this is a dry run, for permissions. The event loop
        calls `notice` with messages about the selection of requests. The thread calls `evaluate`,
        which sends the requests and returns their outcomes.
        """
        self._evaluate = evaluate
        self._notice = notice
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Outcome | BaseException | None] = asyncio.Queue()
        self._client: Client | None = None
        self._question: Any = None
        self._cancelled = False
        self._working: threading.Thread | None = None
        self.file = document.name
        self._text = document.text.text
        self._plain = document.kind == "http"
        self._settings = settings
        self._services = services
        services.write = writable_files.write
        if client.wants("prompts"):
            services.prompt = lambda *what: self._answer(client.prompt(document, *what))
        if not settings.dry_run:
            services.ask = lambda question: bool(self._answer(client.confirm(question, "Evaluate")))
            services.person = Person(
                lambda question: bool(self._answer(client.confirm(question, "Allow"))),
                lambda text: in_loop(self._loop, client.tell, text),
                lambda url: bool(self._answer(client.open_page(url))),
            )
        self._run: Run | None = None

    @property
    def captured(self) -> dict[str, str]:
        """The variables that requests of this run have captured so far."""
        return self._run.context.captured(new=True) if self._run is not None else {}

    async def outcomes(self) -> AsyncIterator[Outcome]:
        """Send the requests, and yield the outcome of each.

        Raises CancelledRunError after `cancel`. Closing the iterator early ends the run.
        """
        threading.Thread(target=self._work, daemon=True, name="orgrest run").start()
        try:
            while (item := await self._queue.get()) is not None:
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self.stop()

    def cancel(self) -> None:
        """End the run immediately and discard later outcomes. Call this only in the event loop."""
        self.stop()
        self._queue.put_nowait(CancelledRunError())

    def stop(self) -> None:
        """End the run. Unlike `cancel`, this does not make `outcomes` raise CancelledRunError."""
        self._cancelled = True
        if self._client is not None:
            self._client.abort()
            self._client.budget.stop("the run was cancelled")
        if self._working is not None:
            children.end_of(self._working)
        if self._question is not None:
            self._question.cancel()

    # ------------------------------------------------------------------------- in the thread

    def _work(self) -> None:
        from orgrest.http.transport.client import Client

        try:
            with Client() as client:
                self._client, self._working = client, threading.current_thread()
                if self._cancelled:
                    return
                self._services.client = client
                run = self._run = Run(
                    self._text,
                    file=self.file,
                    settings=self._settings,
                    services=self._services,
                    plain=self._plain,
                )
                for notice in run.plan.warnings:
                    in_loop(self._loop, self._notice, notice)
                for outcome in self._evaluate(run):
                    self._tell(outcome)
                self._working = None
        except BaseException as error:
            self._tell(error)
        else:
            self._tell(None)

    def _tell(self, what: Outcome | BaseException | None) -> None:
        in_loop(self._loop, self._queue.put_nowait, what)

    def _answer(self, question: Coroutine[Any, Any, _Answer]) -> _Answer | None:
        """Return the user's answer to a question, or None if the run is stopped."""
        if self._cancelled:
            question.close()
            return None
        self._question = asyncio.run_coroutine_threadsafe(question, self._loop)
        try:
            answer: _Answer = self._question.result()
        except BaseException:
            return None
        return answer
