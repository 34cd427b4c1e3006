"""The child processes of a run: none outlives it.

`end` kills them; afterwards, new processes start only in `allowed` contexts, such as teardowns.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from typing import TYPE_CHECKING, Protocol

from orgrest.model import BROKEN_OFF, OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Running(Protocol):
    """A process, which this module does not import."""

    def break_off(self) -> None:
        """Kill it, since the run is over."""


RUNNING: set[Running] = set()
_STATE = {"over": False}
_THREAD = threading.local()


def _is_allowed() -> bool:
    return getattr(_THREAD, "allowed", False)


def check() -> None:
    """Raise OrgrestError if the run is over."""
    if _STATE["over"] and not _is_allowed():
        raise OrgrestError("this was broken off: the run is over", code=BROKEN_OFF)


def end() -> None:
    """Kill all processes, and start no others."""
    _STATE["over"] = True
    for child in tuple(RUNNING):
        child.break_off()


atexit.register(end)


@contextlib.contextmanager
def allowed() -> Iterator[None]:
    """A context in which this thread starts processes although the run is over."""
    before, _THREAD.allowed = _is_allowed(), True
    try:
        yield
    finally:
        _THREAD.allowed = before


@contextlib.contextmanager
def of_run(deadline: float | None) -> Iterator[None]:
    """A context in which processes end at a time, by `time.monotonic`; they never outlast it."""
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
