"""Worker processes: each has a fuzzer, or reduces suspects; it is asked and answers over a pipe.

A worker that ends, for whatever reason, costs what it was at, and nothing else.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

import attrs

from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import CORPUS
from scriptschema.fuzzing.campaign.fuzzer import Fuzzer, Suspect
from scriptschema.fuzzing.campaign.reduction import reduce_suspect
from scriptschema.fuzzing.campaign.runner import Runner
from scriptschema.fuzzing.oracles.judging import JudgeError
from scriptschema.fuzzing.targets.description import TargetError
from scriptschema.fuzzing.targets.processes import kill_all
from scriptschema.generation.bulk import interrupts_later

_CONTEXT: Final = multiprocessing.get_context("spawn")


@attrs.frozen
class Order:
    """What a fuzzer is to do: for how long, how many programs, and trees that others have kept."""

    seconds: float
    programs: int | None
    trees: list[bytes]


@attrs.frozen
class Task:
    """A suspect that is to be reduced, in so many seconds at most."""

    suspect: Suspect
    seconds: float


@attrs.frozen
class Failure:
    """Why a worker cannot go on."""

    message: str


class Worker:
    """A worker process, and the pipe to it. `seed` None makes it one that reduces."""

    def __init__(self, config: Config, folder: Path, seed: int | None) -> None:
        self.seed = seed
        self.pipe, other = _CONTEXT.Pipe()
        self.busy = False
        self.asked = 0
        """How many programs it was asked for; 0 for any number."""
        arguments = (config, folder, seed, other)
        self.process = _CONTEXT.Process(target=_main, args=arguments, daemon=True)
        with interrupts_later():  # what it is started in, it inherits
            self.process.start()
        other.close()

    def ask(self, order: Order | Task) -> None:
        """Send an order; a worker that has ended is noticed when its answer is awaited."""
        self.busy = True
        try:
            self.pipe.send(order)
        except OSError:
            self.process.join(1)

    def answer(self) -> Any:
        """The answer that is there; raises EOFError if the worker has ended, OSError as well."""
        self.busy = False
        return self.pipe.recv()

    def stop(self) -> None:
        """End the worker and what it has started."""
        self.pipe.close()  # which ends it between two orders
        self.process.join(0.2)
        if self.process.is_alive():
            self.process.terminate()
            self.process.join(2)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()


def _main(config: Config, folder: Path, seed: int | None, pipe: Connection) -> None:
    """Answer orders until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for who started this
    signal.signal(signal.SIGTERM, lambda *_: _end())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        work = _reducing(config) if seed is None else _fuzzing(config, folder, seed)
        while True:
            pipe.send(work(pipe.recv()))
    except (TargetError, JudgeError) as error:
        pipe.send(Failure(str(error)))
    except (EOFError, OSError):
        pass
    finally:
        kill_all()


def _fuzzing(config: Config, folder: Path, seed: int) -> Callable[[Order], Any]:
    corpus = [path.read_bytes() for path in sorted((folder / CORPUS).glob("*.pb"))]
    fuzzer = Fuzzer(config, seed=seed, corpus=corpus)

    def work(order: Order) -> Any:
        for data in order.trees:
            fuzzer.add(data)
        return fuzzer.work(seconds=order.seconds, programs=order.programs)

    return work


def _reducing(config: Config) -> Callable[[Task], Any]:
    runner = Runner(config)
    return lambda task: reduce_suspect(runner, task.suspect, task.seconds)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        _end()


def _end() -> None:
    kill_all()
    os._exit(1)
