"""Measures the time and memory of commands, and finds the real Luau."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import attrs

TESTS = Path(__file__).parent.parent / "tests"


@attrs.frozen
class Measured:
    """The best of several runs: seconds of wall time and of processor time, and megabytes."""

    seconds: float
    megabytes: float
    cpu: float


def surroundings(**more: str) -> dict[str, str]:
    """Return the environment variables for the contenders, with the variables in `more`.

    Python caches its bytecode, as it does by default.
    """
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "NO_PROXY": "127.0.0.1", **more}


def measure(command: list[str], runs: int, environment: dict[str, str]) -> Measured:
    """Run a command several times; return its best times and its memory."""
    seconds, cpu, memory = float("inf"), float("inf"), 0
    for _ in range(runs):
        start = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        seconds = min(seconds, time.perf_counter() - start)
        cpu = min(cpu, used.ru_utime + used.ru_stime)
        process.stderr.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command[0]} failed: {errors.decode(errors='replace')[-500:]}")
        memory = max(memory, used.ru_maxrss)
    return Measured(seconds, memory / 1024, cpu)


def lacks_luau(what: str) -> bool:
    """Return whether the real Luau is missing, so that `what` is left out. If so, print it.

    Otherwise, `real_luau` can be imported.
    """
    sys.path.append(str(TESTS / "luau"))
    from real_luau import what_is_missing

    missing = what_is_missing()
    if missing:
        print(f"left out: {what} ({missing})\n")
    return bool(missing)
