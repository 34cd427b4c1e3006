"""Sending in the background: an evaluation in a thread of its own, followed from an event loop.

Each run has a `Client`, hence connections, of its own, so that ending them ends this run and no
other. The thread is a daemon: an editor that quits does not wait for a server that never answers.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from typing import TYPE_CHECKING, Any

import attrs

from orgrest.run import written
from orgrest.run.evaluate import Evaluation
from orgrest.run.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from orgrest.http.transport import Client, Cookies
    from orgrest.run.settings import Settings


class CancelledRunError(Exception):
    """The run was cancelled by the user."""


class Run:
    """One evaluation of a text. Raises what `Evaluation` raises."""

    def __init__(
        self,
        text: str,
        *,
        file: str,
        settings: Settings,
        plain: bool,
        cookies: Cookies | None = None,
        ask: Callable[[str], Awaitable[bool]] | None = None,
        notice: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Prepare the evaluation; `ask` is awaited in the loop when a block asks before it runs.

        `notice` is called in the loop with what the user should know of the choice that was made.
        """
        self._notice = notice
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[Outcome | BaseException | None] = asyncio.Queue()
        self._client: Client | None = None
        self._question: Any = None
        self._cancelled = False
        self._text = text
        self._arguments: Mapping[str, Any] = {
            "file": file,
            "plain": plain,
            "cookies": cookies,
            "write": written.write,
        }
        answer = functools.partial(self._answer, ask) if ask is not None else None
        self._settings = attrs.evolve(settings, ask=answer)
        self._evaluation: Evaluation | None = None

    @property
    def captured(self) -> dict[str, str]:
        """What the requests of this run captured so far."""
        return self._evaluation.session.new_captures if self._evaluation is not None else {}

    async def outcomes(self) -> AsyncIterator[Outcome]:
        """Send, and yield what comes of each request.

        Raises CancelledRunError after `cancel`. Whoever stops listening ends the run.
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
        """End the run at once: what comes later is dropped. To be called in the loop."""
        self.stop()
        self._queue.put_nowait(CancelledRunError())

    def stop(self) -> None:
        """End the run, and drop what would come of it."""
        self._cancelled = True
        if self._client is not None:
            self._client.abort()
        if self._question is not None:
            self._question.cancel()

    # ------------------------------------------------------------------------- in the thread

    def _work(self) -> None:
        from orgrest.http.transport import Client

        try:
            with Client() as client:
                self._client = client
                if self._cancelled:
                    return
                evaluation = Evaluation(
                    self._text, client=client, settings=self._settings, **self._arguments
                )
                self._evaluation = evaluation
                evaluation.plan()
                for notice in evaluation.notices:
                    self._in_loop(self._notice, notice)
                for outcome in evaluation.run():
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

    def _answer(self, ask: Callable[[str], Awaitable[bool]], question: str) -> bool:
        """Ask in the loop, and wait for the answer; a run that was cancelled asks no more."""
        if self._cancelled:
            return False
        coroutine: Any = ask(question)
        self._question = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return bool(self._question.result())
        except BaseException:
            return False
