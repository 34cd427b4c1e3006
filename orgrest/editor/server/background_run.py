"""Background evaluation: runs in a separate thread and is followed from an event loop.

Each run has its own `Client`, so closing its connections ends this run only. The thread is a
daemon, so that an editor can quit while a server does not answer.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from orgrest.run import writable_files
from orgrest.run.logins import Person
from orgrest.run.outcomes import Outcome
from orgrest.run.run import Run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from orgrest.http.transport.client import Client
    from orgrest.run.services import Services
    from orgrest.run.settings import Settings

_Answer = TypeVar("_Answer")


class CancelledRunError(Exception):
    """The run was cancelled by the user."""


@attrs.frozen
class LoginDialog:
    """Callbacks to let an editor's user sign in, run in the event loop; see `Person`."""

    confirm: Callable[[str], Coroutine[Any, Any, bool]]
    tell: Callable[[str], None]
    open: Callable[[str], Coroutine[Any, Any, bool]]


class BackgroundRun:
    """One evaluation of a text. Raises the errors of `Run`."""

    def __init__(
        self,
        text: str,
        *,
        file: str,
        settings: Settings,
        services: Services,
        plain: bool,
        ask: Callable[[str], Coroutine[Any, Any, bool]] | None = None,
        prompt: Callable[[str, bool], Coroutine[Any, Any, str | None]] | None = None,
        notice: Callable[[str], None] = lambda _: None,
        login: LoginDialog | None = None,
    ) -> None:
        """Prepare the evaluation with `services`, which only this run uses and which it completes.

        `ask` is awaited in the loop when a block needs confirmation.

        So is `prompt` when a variable needs a value: with the question, and whether it is a secret.
        `notice` is called in the loop with messages about the selection of requests. `login` lets
        the user sign in.
        """
        self._notice = notice
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Outcome | BaseException | None] = asyncio.Queue()
        self._client: Client | None = None
        self._question: Any = None
        self._cancelled = False
        self.file = file
        self._text = text
        self._plain = plain
        self._settings = settings
        self._services = services
        services.write = writable_files.write
        if prompt is not None:
            services.prompt = lambda *what: self._answer(prompt(*what))
        if ask is not None:
            services.ask = lambda question: bool(self._answer(ask(question)))
        if login is not None:
            services.person = Person(
                lambda question: bool(self._answer(login.confirm(question))),
                lambda text: self._in_loop(login.tell, text),
                lambda url: bool(self._answer(login.open(url))),
            )
        self._run: Run | None = None

    @property
    def captured(self) -> dict[str, str]:
        """The variables that this run's requests have captured so far."""
        return self._run.context.captured(new=True) if self._run is not None else {}

    async def outcomes(self) -> AsyncIterator[Outcome]:
        """Send the requests, and yield the outcome of each.

        Raises CancelledRunError after `cancel`. Closing the iterator early ends the run.
        """
        threading.Thread(target=self._work, daemon=True, name="orgrest run").start()
        try:
            while (found := await self._queue.get()) is not None:
                if isinstance(found, BaseException):
                    raise found
                yield found
        finally:
            self.stop()

    def cancel(self) -> None:
        """End the run immediately and drop later outcomes. Call this in the event loop."""
        self.stop()
        self._queue.put_nowait(CancelledRunError())

    def stop(self) -> None:
        """End the run, and drop its remaining outcomes."""
        self._cancelled = True
        if self._client is not None:
            self._client.abort()
            self._client.budget.stop("the run was cancelled")
        if self._question is not None:
            self._question.cancel()

    # ------------------------------------------------------------------------- in the thread

    def _work(self) -> None:
        from orgrest.http.transport.client import Client

        try:
            with Client() as client:
                self._client = client
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
                    self._in_loop(self._notice, notice)
                for outcome in run.outcomes():
                    self._tell(outcome)
        except BaseException as error:
            self._tell(error)
        else:
            self._tell(None)

    def _tell(self, what: Outcome | BaseException | None) -> None:
        self._in_loop(self._queue.put_nowait, what)

    def _in_loop(self, call: Callable[..., None], *what: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(call, *what)

    def _answer(self, question: Coroutine[Any, Any, _Answer]) -> _Answer | None:
        """Ask in the event loop, and wait for the answer; None if the run is cancelled."""
        if self._cancelled:
            question.close()
            return None
        self._question = asyncio.run_coroutine_threadsafe(question, self._loop)
        try:
            answer: _Answer = self._question.result()
        except BaseException:
            return None
        return answer
