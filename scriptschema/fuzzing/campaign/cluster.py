"""Workers of a campaign on other machines, through Dask (extra `cluster`).

    with Cluster("tcp://scheduler:8786") as cluster:  # or "local:4"
        session = Session(campaign, jobs=cluster.threads, workers=cluster)

A Dask task fuzzes for ten seconds (an `Order`) or reduces a suspect (a `Task`). If a machine fails,
at most ten seconds of fuzzing are lost. Each `Order` contains the latest trees of the corpus, and
its answer contains the trees to keep. Suspects are reported immediately.

The cluster's processes keep their fuzzers between tasks, so that targets are not restarted. Dask
repeats tasks whose process has died.
"""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import pickle
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Self

import attrs

from scriptschema.files import ReportedError
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import CORPUS, Campaign
from scriptschema.fuzzing.campaign.fuzzer import Batch, Fuzzer
from scriptschema.fuzzing.campaign.programs import MOST_PARENTS
from scriptschema.fuzzing.campaign.reduction import reduce_suspect
from scriptschema.fuzzing.campaign.runner import try_commands
from scriptschema.fuzzing.campaign.workers import Failure, News, Order, Task, Workers
from scriptschema.fuzzing.corpora.folder import name_of
from scriptschema.fuzzing.oracles.judging import JudgeError
from scriptschema.fuzzing.targets.description import TargetError
from scriptschema.installing import install_command

SLICE: Final = 10.0
"""Seconds of fuzzing in a task."""

PATIENCE: Final = 30.0
"""The time in seconds to wait for the scheduler, and then again for a worker."""

_LOOK: Final = 1.0
"""The interval in seconds at which a task checks for suspects to report."""

_IDLE: Final = 60.0
"""Seconds after which an idle fuzzer is closed, with its target's processes."""


class ClusterError(ReportedError):
    """A cluster cannot be used. The message says why."""


class Cluster(Workers):
    """A Dask cluster that runs a session's workers. It is a context manager.

    `address` is `tcp://HOST:PORT`, or `local:N` for N processes on this machine. `slice_seconds` is
    how long a task fuzzes. Raises ClusterError, or TargetError if a command does not work on the
    cluster.
    """

    def __init__(self, address: str, *, slice_seconds: float = SLICE) -> None:
        super().__init__(slice_seconds=slice_seconds)
        self.address = address
        self._stack = contextlib.ExitStack()
        self.client: Any = None
        self._key = uuid.uuid4().hex
        self._workers: dict[int, RemoteWorker] = {}

    def __enter__(self) -> Self:
        try:
            distributed: Any = import_module("distributed")
        except ImportError:
            reason = f"--cluster requires Dask: {install_command('distributed')}"
            raise ClusterError(reason) from None
        for logger in ("distributed", "distributed.client"):  # problems are reported here
            logging.getLogger(logger).setLevel(logging.CRITICAL)
        try:
            address: Any = self.address
            kind, _, count = address.partition(":")
            if kind == "local":
                address = self._stack.enter_context(
                    distributed.LocalCluster(
                        n_workers=int(count), threads_per_worker=1, dashboard_address="127.0.0.1:0"
                    )
                )
            client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
            self.client = self._stack.enter_context(client)
            self.client.wait_for_workers(1, timeout=PATIENCE)
        except (OSError, ValueError, TimeoutError) as error:
            self._stack.close()
            raise ClusterError(f"{self.address}: {error}") from None
        except BaseException:
            self._stack.close()
            raise
        self.client.subscribe_topic(self._key, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(Exception):  # the cluster may be gone already
            self.client.run(_close_idle, self._key, on_error="ignore")
        self._stack.close()

    @property
    def threads(self) -> int:
        """The number of tasks that run at the same time."""
        return sum(self.client.nthreads().values())

    def require(self, config: Config) -> None:
        """Try the targets, the checker and the printer on all workers.

        Raises TargetError and ClusterError.
        """
        for worker, problem in self.client.run(_try, config, on_error="return").items():
            if isinstance(problem, Exception):
                raise ClusterError(f"worker {worker}: {problem}")
            if problem:
                raise TargetError(f"worker {worker}: {problem}")

    def worker(self, campaign: Campaign, seed: int) -> RemoteWorker:
        """Return a new worker for a session."""
        remote = RemoteWorker(self.client, self._key, campaign.config, campaign.path, seed)
        self._workers[seed] = remote
        return remote

    def _receive(self, event: tuple[float, bytes]) -> None:
        seed, batch = pickle.loads(event[1])  # noqa: S301  # workers are trusted
        if seed in self._workers:
            self._workers[seed].put(News(batch))


class RemoteWorker:
    """A worker of a session (`AnyWorker`) that executes each `Order` or `Task` as a Dask task."""

    def __init__(self, client: Any, key: str, config: Config, folder: Path, seed: int) -> None:
        self.seed = seed
        self.pipe, self._bell = multiprocessing.Pipe(duplex=False)
        self.order: Order | Task | None = None
        self.client = client
        self._key = key
        self._config = config
        self._orders = 0
        self._answers: deque[Any] = deque()
        self._future: Any = None
        self._lock = threading.Lock()
        self._corpus = folder / CORPUS
        self._trees: deque[bytes] = deque(maxlen=MOST_PARENTS)

    def ask(self, order: Order | Task) -> None:
        """Submit an `Order` or a `Task` to the cluster as a Dask task.

        If the Dask task fails, `answer` raises an error. Raises ClusterError if a lost connection
        to the scheduler is not restored within `PATIENCE` seconds.
        """
        end = time.monotonic() + PATIENCE
        while self.client.status != "running":
            if time.monotonic() > end or self.client.status == "closed":
                raise ClusterError(
                    "lost the connection to the scheduler of the cluster: restart the scheduler"
                )
            time.sleep(0.1)
        self.order = order
        self._orders += 1
        if isinstance(order, Order):
            if not self._trees:  # the first `Order` has no trees: they are in the corpus
                paths = sorted(self._corpus.rglob("*.pb"), key=lambda path: path.stat().st_mtime)
                self._trees.extend(path.read_bytes() for path in paths[-MOST_PARENTS:])
            self._trees.extend(order.trees)
            order = attrs.evolve(order, trees=[*self._trees])
        number = self.seed * 100_000 + self._orders
        try:
            self._future = self.client.submit(
                _work, self._key, self._config, order, self.seed, number, pure=False
            )
            self._future.add_done_callback(self._done)
        except Exception as error:  # a client without its scheduler may raise anything
            self.put(error)

    def put(self, answer: Any) -> None:
        """Pass an answer to the session. Dask calls this method in its own threads."""
        with self._lock, contextlib.suppress(OSError):  # the session may be over
            self._answers.append(answer)
            self._bell.send_bytes(b".")

    def answer(self) -> Any:
        """Return the next answer. All answers before the last are `News`.

        Raises EOFError if the Dask task could not be submitted, failed or was lost.
        """
        self.pipe.recv_bytes()
        received = self._answers.popleft()
        batch = received.batch if isinstance(received, News) else received
        if isinstance(batch, Batch):
            self._trees.extend(batch.kept)
        if isinstance(received, News):
            if isinstance(self.order, Order) and self.order.programs is not None:
                left = self.order.programs - batch.interval.programs
                self.order = attrs.evolve(self.order, programs=left)
            return received
        self.order = None
        if isinstance(received, Exception):
            raise EOFError
        return received

    def stop(self) -> None:
        """Cancel the task if it has not started. A running task is completed."""
        with contextlib.suppress(Exception):
            if self._future is not None:
                self._future.cancel()
        with self._lock:
            self.pipe.close()
            self._bell.close()

    def _done(self, future: Any) -> None:
        try:
            self.put(future.result())
        except Exception as error:  # worker killed too often, or scheduler gone
            self.put(error)


# The code below runs in the processes of the cluster


@attrs.define
class _Idle:
    """An idle fuzzer, the names of its trees, and the timer that closes it."""

    fuzzer: Fuzzer
    names: set[str]
    timer: threading.Timer | None = None


_idle: dict[str, list[_Idle]] = {}
_lock = threading.Lock()


def _work(key: str, config: Config, order: Order | Task, seed: int, number: int) -> Any:
    """Execute an `Order` or a `Task` and return the answer. `number` is a new fuzzer's seed."""
    try:
        with _fuzzer(key, config, number) as idle:
            if isinstance(order, Task):
                return reduce_suspect(idle.fuzzer.runner, order.suspect, order.seconds)
            for data in order.trees:
                name = name_of(data)
                if name not in idle.names:
                    idle.names.add(name)
                    idle.fuzzer.add(data)
            idle.fuzzer.run_first(order.seeds)
            batch = _fuzz(idle.fuzzer, order, key, seed)
            idle.names.update(map(name_of, batch.kept))
            return batch
    except (TargetError, JudgeError) as error:
        return Failure(str(error))


def _fuzz(fuzzer: Fuzzer, order: Order, key: str, seed: int) -> Batch:
    """Fuzz within the limits of `order`, and return the results that have not been sent yet.

    When there is a suspect, all results so far are sent to the session.
    """
    end = time.monotonic() + order.seconds
    left = order.programs
    batch = Batch()
    while True:
        seconds = min(_LOOK, end - time.monotonic())
        part = fuzzer.work(seconds=seconds, programs=left, enough=order.enough, at_once=True)
        left = None if left is None else left - part.interval.programs
        batch.add(part)
        if time.monotonic() >= end or left == 0:
            return batch
        if batch.suspects and _send(key, seed, batch):
            batch = Batch()


def _send(key: str, seed: int, batch: Batch) -> bool:
    from distributed import get_worker

    try:
        worker = get_worker()
    except ValueError:  # this process is not a Dask worker
        return False
    worker.log_event(key, pickle.dumps((seed, batch)))
    return True


@contextlib.contextmanager
def _fuzzer(key: str, config: Config, number: int) -> Iterator[_Idle]:
    """Yield a fuzzer that no other task uses. Raises TargetError."""
    with _lock:
        idle = _idle.setdefault(key, []).pop() if _idle.get(key) else None
    if idle is None:
        idle = _Idle(Fuzzer(config, seed=number), set())
    elif idle.timer is not None:
        idle.timer.cancel()
    try:
        yield idle
    except BaseException:
        idle.fuzzer.close()
        raise
    with _lock:
        _idle.setdefault(key, []).append(idle)
        idle.timer = threading.Timer(_IDLE, _close_idle, (key,))
        idle.timer.daemon = True
        idle.timer.start()


def _close_idle(key: str) -> None:
    with _lock:
        fuzzers = _idle.pop(key, [])
    for idle in fuzzers:
        if idle.timer is not None:
            idle.timer.cancel()
        idle.fuzzer.close()


def _try(config: Config) -> str:
    """Return an error message, or an empty string if all commands work on this machine."""
    try:
        try_commands(config)
    except TargetError as error:
        return str(error)
    return ""
