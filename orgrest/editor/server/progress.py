"""Shows the progress of a run in the client, with a button that cancels the run."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lsprotocol import types
from pygls.exceptions import JsonRpcException

if TYPE_CHECKING:
    from orgrest.editor.server.background_run import BackgroundRun
    from orgrest.editor.server.server import Server


class Progress:
    """The progress of one run as the client shows it."""

    def __init__(self, server: Server, run: BackgroundRun) -> None:
        self._progress = server.work_done_progress
        self._own = server.can("window", "work_done_progress")
        self._run = run
        self._token: int | str | None = None

    async def begin(self, token: int | str | None) -> None:
        """Start reporting with the client's token, or with a new token if the client allows it."""
        if token is None and self._own:
            token = f"orgrest-{uuid4()}"
            with contextlib.suppress(JsonRpcException):
                await self._progress.create_async(token)
                self._token = token
        else:
            self._token = token
        if self._token is None:
            return
        self._progress.begin(self._token, types.WorkDoneProgressBegin("Sending", cancellable=True))
        self._progress.tokens[self._token].add_done_callback(self._cancelled)

    def _cancelled(self, future: Any) -> None:
        if future.cancelled():
            self._run.cancel()

    def report(self, message: str) -> None:
        """Show a progress message."""
        if self._token is not None:
            self._progress.report(
                self._token, types.WorkDoneProgressReport(cancellable=True, message=message)
            )

    def end(self, message: str) -> None:
        """End the progress report with a final message."""
        if self._token is not None:
            self._progress.end(self._token, types.WorkDoneProgressEnd(message=message))
            self._progress.tokens.pop(self._token, None)
