"""Waiting for a condition: as long as a loaded machine may need, and no longer than it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LONGEST = 60


def wait_until(get: Callable[[], T], wanted: Callable[[T], object] = bool) -> T:
    """Call `get` until its value is `wanted`, which it returns; fail after a minute."""
    deadline = time.monotonic() + LONGEST
    while not wanted(found := get()):
        assert time.monotonic() < deadline, f"not within {LONGEST} seconds: {found!r}"
        time.sleep(0.01)
    return found
