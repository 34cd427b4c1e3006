"""Tracks the child processes of a run, so that none outlives the run.

`end` kills all of them. Afterwards, new processes start only in `allowed` contexts, such as
teardowns. In an editor, several runs may be in progress, each in its own thread. `end_of` kills
only the processes that one thread is using.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from orgrest.model import BROKEN_OFF, OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Running(Protocol):
    """The interface of a child process. `works_for` is the thread that currently uses it."""

    works_for: threading.Thread

    def break_off(self) -> None:
        """Kill the process because the run is over."""


RUNNING: set[Running] = set()
_STATE = {"over": False}
_OVER: WeakSet[threading.Thread] = WeakSet()
_THREAD = threading.local()


def _is_allowed() -> bool:
    return getattr(_THREAD, "allowed", False)


def check() -> None:
    """Raise OrgrestError if the run is over."""
    over = _STATE["over"] or threading.current_thread() in _OVER
    if over and not _is_allowed():
        raise OrgrestError("interrupted, because the run has ended", code=BROKEN_OFF)


def end() -> None:
    """Kill all processes, and prevent others from starting."""
    _STATE["over"] = True
    for child in tuple(RUNNING):
        child.break_off()


def end_of(thread: threading.Thread) -> None:
    """Kill the processes that a thread is using, and prevent it from starting others."""
    _OVER.add(thread)
    for child in tuple(RUNNING):
        if child.works_for is thread:
            child.break_off()


atexit.register(end)


@contextlib.contextmanager
def allowed() -> Iterator[None]:
    """Return a context manager that lets this thread start processes even if the run is over."""
    before, _THREAD.allowed = _is_allowed(), True
    try:
        yield
    finally:
        _THREAD.allowed = before


@contextlib.contextmanager
def of_run(deadline: float | None) -> Iterator[None]:
    """Return a context manager for a run. At `deadline`, it kills all processes.

    `deadline` is a `time.monotonic` value, or None for no limit. After the run, processes can start
    again.
    """
    timer = None
    if deadline is not None:
        timer = threading.Timer(max(deadline - time.monotonic(), 0.0), end)
        timer.daemon = True
        timer.start()
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        _STATE["over"] = False
