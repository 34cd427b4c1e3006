"""Waiting for a condition: as long as a loaded machine may need, and no longer than it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

LONGEST = 120


def wait_until(get: Callable[[], T], wanted: Callable[[T], object] = bool) -> T:
    """Call `get` until its value is `wanted`, which it returns; fail after two minutes."""
    deadline = time.monotonic() + LONGEST
    while not wanted(found := get()):
        assert time.monotonic() < deadline, f"not within {LONGEST} seconds: {found!r}"
        time.sleep(0.01)
    return found


def is_alive(process: int) -> bool:
    """Whether a process runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
