"""Commands measured: wall time and memory of a process."""

from __future__ import annotations

import os
import subprocess
import time

import attrs


@attrs.frozen
class Measured:
    """The best of several runs: seconds of wall time, and megabytes."""

    seconds: float
    megabytes: float


def surroundings(**more: str) -> dict[str, str]:
    """Return the environment of the contenders: Python keeps its bytecode, like by default."""
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "NO_PROXY": "127.0.0.1", **more}


def measure(command: list[str], runs: int, environment: dict[str, str]) -> Measured:
    """Run a command several times and give its best time and its memory."""
    seconds, memory = float("inf"), 0
    for _ in range(runs):
        start = time.perf_counter()
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        errors = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        seconds = min(seconds, time.perf_counter() - start)
        process.stderr.close()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{command[0]} failed: {errors.decode(errors='replace')[-500:]}")
        memory = max(memory, used.ru_maxrss)
    return Measured(seconds, memory / 1024)
