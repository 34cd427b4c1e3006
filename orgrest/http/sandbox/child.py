"""A child process of a run; separate from `children`, so that runs without one load less."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

from orgrest.http.sandbox.children import RUNNING, check
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Child(subprocess.Popen[bytes]):
    """A process that `end` kills, with its own children if it leads a `group` of processes."""

    broken_off = False

    def __init__(self, command: Sequence[str], *, group: bool = False, **options: Any) -> None:
        """Start a process. Raises OrgrestError if the run is over, and the errors of Popen."""
        check()
        self._group = group and hasattr(os, "killpg")
        self.pid = 0
        RUNNING.add(self)  # before it starts: Ctrl-C may come in between
        try:
            super().__init__(command, process_group=0 if self._group else None, **options)
        except Exception:
            RUNNING.discard(self)
            raise
        try:
            check()
        except OrgrestError:  # it ended meanwhile
            self.break_off()

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end of the process."""
        status = super().wait(timeout)
        RUNNING.discard(self)
        return status

    def kill(self) -> None:
        """Kill the process, and its group."""
        if self._group:
            with contextlib.suppress(OSError):
                os.killpg(self.pid, signal.SIGKILL)
        super().kill()

    def break_off(self) -> None:
        """Kill the process, since the run is over."""
        self.broken_off = True
        if self.pid:
            self.kill()
