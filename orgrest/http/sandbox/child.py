"""Child processes that end when orgrest ends.

On Linux, a child ends even if orgrest is killed. It inherits the read end of a pipe whose write end
only orgrest holds. When the write end is closed, the kernel sends SIGIO, which ends the child.
SIGIO is enabled just after the child has started: if orgrest is killed before that, the child keeps
running.

This module is separate from `children` so that runs without child processes load less code.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

from orgrest.http.sandbox.children import RUNNING, check
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

if sys.platform == "linux":
    import fcntl  # before a process starts, since the kernel must know it soon afterwards


class _Pipe:
    """A pipe whose write end only this process holds."""

    def __init__(self) -> None:
        self.read: tuple[int, ...] = ()
        self._write: tuple[int, ...] = ()
        if sys.platform == "linux":  # elsewhere, SIGIO is ignored
            read, write = os.pipe()
            self.read, self._write = (read,), (write,)

    def watch(self, process: int) -> None:
        """Have the kernel send SIGIO to `process` when this process ends."""
        if sys.platform == "linux":
            for end in self.read:
                with contextlib.suppress(OSError):  # the other process has ended
                    fcntl.fcntl(end, fcntl.F_SETOWN, process)  # a negative ID is a group
                    fcntl.fcntl(end, fcntl.F_SETFL, os.O_ASYNC)
                os.close(end)
        self.read = ()

    def close(self) -> None:
        ends, self.read, self._write = (*self.read, *self._write), (), ()
        for end in ends:
            os.close(end)


@contextlib.contextmanager
def _signals_later() -> Iterator[None]:
    """Return a context manager that calls the handlers of signals only when the block ends.

    Handlers run in the main thread, so nothing changes in other threads.
    """
    received: list[int] = []
    handlers: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for kind in (signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGINT)):
            if callable(handler := signal.getsignal(kind)):
                handlers.setdefault(kind, handler)
                signal.signal(kind, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for kind, handler in handlers.items():
            signal.signal(kind, handler)
        for number in received:
            signal.raise_signal(number)


class Child(subprocess.Popen[bytes]):
    """A process that `children.end` kills, together with its process group if it leads one."""

    broken_off = False

    def __init__(self, command: Sequence[str], *, group: bool = False, **options: Any) -> None:
        """Start a process, as the leader of a new process group if `group` is set.

        Raises OrgrestError if the run is over. Raises the exceptions of `Popen` if the process
        cannot be started.
        """
        check()
        self.works_for = threading.current_thread()
        self._group = group and hasattr(os, "killpg")
        self._pipe = _Pipe()
        self.pid = 0
        RUNNING.add(self)
        try:
            with _signals_later():  # or a process that has just started is not known, and is left
                super().__init__(
                    command,
                    process_group=0 if self._group else None,
                    pass_fds=self._pipe.read,
                    **options,
                )
                self._pipe.watch(-self.pid if self._group else self.pid)
        except Exception:
            RUNNING.discard(self)
            self._pipe.close()
            raise
        try:
            check()
        except OrgrestError:  # the run ended in the meantime
            self.break_off()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the process to end, and return its exit status.

        Raises TimeoutExpired if the process does not end within `timeout` seconds.
        """
        status = super().wait(timeout)
        RUNNING.discard(self)
        self._pipe.close()
        return status

    def kill(self) -> None:
        """Kill the process, and its group if it leads one."""
        if self._group:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        super().kill()

    def break_off(self) -> None:
        """Kill the process because the run is over."""
        self.broken_off = True
        if self.pid:
            self.kill()
