"""Measures several tasks in turns, and prints tables of the times."""

from __future__ import annotations

import gc
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from scriptschema.base import Message, walk


@attrs.frozen
class Times:
    """The seconds that each round of a task took."""

    seconds: Sequence[float]

    @property
    def best(self) -> float:
        """The shortest time: the time of the task without disturbance by other processes."""
        return min(self.seconds)

    @property
    def noise(self) -> float:
        """The difference between the median and the best time, as a fraction of the best time."""
        return statistics.median(self.seconds) / self.best - 1


def clock(task: Callable[[], Any]) -> float:
    """Run a task; return the seconds of processor time that it took.

    The time to free its result is not included. Processor time is less affected by other work on
    the machine.
    """
    gc.collect()
    gc.freeze()  # what is there before is no part of the task
    start = time.process_time()
    result = task()
    seconds = time.process_time() - start
    gc.unfreeze()
    del result
    return seconds


def in_turns(
    tasks: Mapping[str, Callable[[], Any]],
    rounds: int,
    measure: Callable[[Callable[[], Any]], float] = clock,
) -> dict[str, Times]:
    """Run each task once per round; return the times, which `measure` takes, by name."""
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            seconds[name].append(measure(task))
            if sys.stderr.isatty():
                print(".", end="", file=sys.stderr, flush=True)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return {name: Times(values) for name, values in seconds.items()}


def memory(task: Callable[[], Any]) -> int:
    """Return the number of bytes of the task's result, as counted by tracemalloc."""
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
    """Print a table with the first column aligned left and the other columns aligned right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    if title:
        print(title)
    for row in [header, *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  " + "  ".join(cells).rstrip())
    print(flush=True)


Case: TypeAlias = tuple[Sequence[str], float, Mapping[str, Callable[[], Any]]]
"""The first cells of a row of `growth`, the number of nodes that each task processes, and the
tasks."""


def growth(
    title: str, heads: Sequence[str], cases: Iterable[Case], rounds: int
) -> dict[str, Times]:
    """Print the time per node of each task in each case; return all times.

    `heads` are the headings of the first cells.
    """
    rows: list[list[str]] = []
    all_times: dict[str, Times] = {}
    names: dict[str, None] = {}
    for cells, nodes, tasks in cases:
        times = in_turns(tasks, rounds)
        names |= dict.fromkeys(times)
        figures = (f"{times[n].best / nodes * 1e6:.3f}" if n in times else "-" for n in names)
        rows.append([*cells, *figures])
        all_times |= {f"{name} {cells[0]}": taken for name, taken in times.items()}
    table((*heads, *names), rows, f"{title}, us a node")
    return all_times


def count(*trees: Message) -> int:
    """Return the number of messages in the trees."""
    return sum(1 for tree in trees for _ in walk(tree))


def noise(*groups: Mapping[str, Times]) -> None:
    """Print how much other work disturbed the measurements."""
    values = [times.noise for group in groups for times in group.values()]
    print(
        f"noise: the median round took {statistics.median(values):.0%} longer than the best one "
        f"(in the worst of {len(values)} measurements {max(values):.0%})\n",
        flush=True,
    )


def verdict(what: str, value: float, target: float, *, least: bool) -> None:
    """Print a value and its target, and whether it was met.

    With `least`, the value must be at least the target, otherwise at most.
    """
    met = value >= target if least else value <= target
    word = "at least" if least else "at most"
    print(f"{'met   ' if met else 'MISSED'}  {what}: {value:.2f} ({word} {target:g})", flush=True)
