"""Worker processes, which fuzz (`Order`) or reduce a suspect (`Task`) as their session asks.

The session and a worker communicate through a pipe. If a worker dies, only its work on the current
`Order` or `Task` is lost.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import attrs

from scriptschema import collect_rarely
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.finds import Suspect
from scriptschema.fuzzing.campaign.folder import CORPUS, Campaign
from scriptschema.fuzzing.campaign.fuzzer import Batch, Enough, Fuzzer
from scriptschema.fuzzing.campaign.programs import ProgramSource
from scriptschema.fuzzing.campaign.reduction import reduce_suspect
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.corpora.reading import read_trees
from scriptschema.fuzzing.oracles.judging import JudgeError
from scriptschema.fuzzing.targets.description import TargetError
from scriptschema.fuzzing.targets.leftovers import adopt
from scriptschema.fuzzing.targets.processes import kill_all, kill_all_for_good
from scriptschema.generation.bulk import STOPS, interrupts_later

_CONTEXT: Final = multiprocessing.get_context("spawn")

Programs: TypeAlias = Callable[[Config, int, Path], ProgramSource]
"""A function that returns the `ProgramSource` of a fuzzer, given a configuration, a seed and a
campaign's folder."""


@attrs.frozen
class Order:
    """Asks a worker to fuzz within two limits: `seconds` and, unless it is None, `programs`.

    `trees` are those that other workers have kept since the previous `Order`. `enough` contains the
    signatures for which no more suspects are needed (see `Fuzzer.work`). `seeds` are corpus trees
    to run first.
    """

    seconds: float
    programs: int | None
    trees: list[bytes]
    enough: Enough
    seeds: list[bytes] = attrs.field(factory=list)


@attrs.frozen
class Task:
    """Asks a worker to reduce a suspect, with a time limit in seconds."""

    suspect: Suspect
    seconds: float


@attrs.frozen
class Failure:
    """An answer from a worker that cannot continue, with the reason."""

    message: str


@attrs.frozen
class News:
    """An answer with results from a worker that is still executing an `Order`."""

    batch: Batch


class AnyWorker(Protocol):
    """A worker of a session, on this machine or on another.

    `order` is the `Order` or `Task` that the worker is executing, or None for an idle worker.
    `pipe` becomes readable when there is an answer.
    """

    seed: int
    pipe: Any
    order: Order | Task | None

    def ask(self, order: Order | Task) -> None:
        """Send an `Order` or a `Task` to the worker."""

    def answer(self) -> Any:
        """Return the next answer to the `Order` or `Task`.

        All answers before the last are `News`. The last is a `Batch` for an `Order`, the result of
        `reduce_suspect` for a `Task`, or a `Failure`. Raises EOFError or OSError if the worker has
        died.
        """

    def stop(self) -> None:
        """End the worker and all processes that it has started."""


class Workers:
    """Creates a session's workers: processes on this machine, unless a subclass creates others.

    `slice_seconds` is the number of seconds that a worker usually spends fuzzing per `Order`. If
    `full_limits` is true, all runs use the targets' full time limits.
    """

    def __init__(self, *, slice_seconds: float = 1.0, full_limits: bool = False) -> None:
        self.slice_seconds = slice_seconds
        self.full_limits = full_limits

    def worker(self, campaign: Campaign, seed: int) -> AnyWorker:
        """Return a new worker."""
        return Worker(campaign.config, campaign.path, seed, full_limits=self.full_limits)

    def progress(self) -> dict[str, Any]:
        """Return fields to add to the session's progress events."""
        return {}


class Worker:
    """A worker process and the pipe to it.

    `programs` creates the worker's `ProgramSource`. By default, programs are generated as
    configured.
    """

    def __init__(
        self,
        config: Config,
        folder: Path,
        seed: int,
        *,
        full_limits: bool = False,
        programs: Programs | None = None,
    ) -> None:
        self.seed = seed
        self.pipe, other = _CONTEXT.Pipe()
        self.order: Order | Task | None = None
        """The `Order` or `Task` that the worker is executing, or None if it is idle."""
        arguments = (config, folder, seed, full_limits, programs, other)
        self.process = _CONTEXT.Process(target=_main, args=arguments, daemon=True)
        with interrupts_later():  # inherited by the new process
            self.process.start()
        other.close()

    def ask(self, order: Order | Task) -> None:
        """Send an `Order` or a `Task`. If the worker has died, `answer` raises the error."""
        self.order = order
        try:
            self.pipe.send(order)
        except OSError:
            self.process.join(1)

    def answer(self) -> Any:
        """Return the next answer. Raises EOFError or OSError if the worker has died."""
        self.order = None
        return self.pipe.recv()

    def stop(self) -> None:
        """End the worker and the processes that it has started."""
        self.pipe.close()  # an idle worker then ends
        self.process.join(2 if self.order is None else 0)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(2)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def _main(
    config: Config,
    folder: Path,
    seed: int,
    full_limits: bool,
    programs: Programs | None,
    pipe: Connection,
) -> None:
    """Execute each `Order` or `Task` from the pipe until the pipe is closed."""
    collect_rarely()
    adopt()  # all children are targets
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    for number in STOPS - {signal.SIGINT}:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as with nohup
            signal.signal(number, lambda *_: _end())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    fuzzer: Fuzzer | None = None
    runner: Runner | None = None
    try:
        while True:
            order = pipe.recv()
            if isinstance(order, Task):
                if runner is None:
                    runner = fuzzer.runner if fuzzer else Runner(config, full_limits=full_limits)
                pipe.send(reduce_suspect(runner, order.suspect, order.seconds))
                continue
            if fuzzer is None:
                source = programs(config, seed, folder) if programs else None
                corpus = read_trees(folder / CORPUS)
                fuzzer = Fuzzer(config, seed=seed, corpus=corpus, programs=source)
                fuzzer.runner.full_limits = full_limits
            for data in order.trees:
                fuzzer.add(data)
            fuzzer.run_first(order.seeds)
            batch = fuzzer.work(
                seconds=order.seconds, programs=order.programs, enough=order.enough, at_once=True
            )
            pipe.send(batch)
    except (TargetError, JudgeError) as error:
        with contextlib.suppress(OSError):  # a session that was killed needs no answer
            pipe.send(Failure(str(error)))
    except (EOFError, OSError):
        pass
    finally:
        kill_all()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _end()


def _end() -> None:
    kill_all_for_good()
    os._exit(1)
