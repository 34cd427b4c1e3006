"""Times of several tasks in one run, taken in turns, and tables of them."""

from __future__ import annotations

import gc
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs


@attrs.frozen
class Times:
    """The seconds that each round of a task took."""

    seconds: Sequence[float]

    @property
    def best(self) -> float:
        """The least: what the task takes when nothing disturbs it."""
        return min(self.seconds)

    @property
    def noise(self) -> float:
        """The median above the least, as a part of it: how disturbed the machine was."""
        return statistics.median(self.seconds) / self.best - 1


def clock(task: Callable[[], Any]) -> float:
    """Run a task and return the seconds of processor time it took, without freeing its result.

    Processor time, so that what else the machine does disturbs less.
    """
    gc.collect()
    gc.freeze()  # what is there before is no part of the task
    start = time.process_time()
    result = task()
    seconds = time.process_time() - start
    gc.unfreeze()
    del result
    return seconds


def in_turns(tasks: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Times]:
    """Let each of the tasks measure itself, once a round; return the times by name."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, measure in tasks.items():
            seconds[name].append(measure())
            if sys.stderr.isatty():
                print(".", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return {name: Times(values) for name, values in seconds.items()}


def memory(task: Callable[[], Any]) -> int:
    """How many bytes the task's result takes (as tracemalloc counts)."""
    task()  # what is made once is no part of the result
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    result = task()
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    del result
    return taken


def table(header: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> None:
    """Print a table: the first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    if title:
        print(title)
    for row in [header, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  " + "  ".join(cells).rstrip())
    print(flush=True)


def noise(*groups: Mapping[str, Times]) -> None:
    """Print how disturbed the machine was."""
    values = [times.noise for group in groups for times in group.values()]
    print(
        f"noise: the median round took {statistics.median(values):.0%} longer than the best one "
        f"(in the worst of {len(values)} measurements {max(values):.0%})\n",
        flush=True,
    )


def verdict(what: str, value: float, target: float, *, least: bool) -> None:
    """Print a ratio beside what it should reach: `target` at least, or at most."""
    met = value >= target if least else value <= target
    word = "at least" if least else "at most"
    print(f"{'met   ' if met else 'MISSED'}  {what}: {value:.2f} ({word} {target:g})", flush=True)
