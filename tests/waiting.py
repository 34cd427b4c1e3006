"""Waits for a condition: as long as a busy machine may need, and no longer than necessary."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

LONGEST = 120


def wait_until(get: Callable[[], T], wanted: Callable[[T], object] = bool) -> T:
    """Call `get` until `wanted` is true for its result, and return that. Fail after two minutes."""
    deadline = time.monotonic() + LONGEST
    while not wanted(found := get()):
        assert time.monotonic() < deadline, f"not within {LONGEST} seconds: {found!r}"
        time.sleep(0.01)
    return found


def is_alive(process: int) -> bool:
    """Return whether a process is running. A zombie is not."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def descendants(process: int) -> list[int]:
    """Return the direct and indirect child processes of a process (Linux)."""
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == process:
            found += [int(stat.parent.name), *descendants(int(stat.parent.name))]
    return found


def is_watched(process: int) -> bool:
    """Return whether the kernel sends a process SIGIO when an inherited pipe is closed (Linux)."""
    for info in Path(f"/proc/{process}/fdinfo").glob("*"):
        with contextlib.suppress(FileNotFoundError):
            _, flags = info.read_text().splitlines()[1].split()
            if int(flags, 8) & os.O_ASYNC:
                return True
    return False
