"""Generates many random trees, each from its own seed, in one or more processes.

A tree depends only on its seed and the recipe, not on earlier trees or the number of processes.
Worker processes generate bytes in chunks, which the caller gets in order. Only the caller's process
writes files, so stopped workers leave nothing to clean up.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TypeVar, cast

import attrs

from scriptschema import files
from scriptschema.base import Message, walk
from scriptschema.generation.trees import TreeOptions, generate
from scriptschema.generation.weights import Weights
from scriptschema.messages import ModuleSet
from scriptschema.versions import Version

if TYPE_CHECKING:
    from scriptschema.generation.programs import ProgramOptions

MadeT = TypeVar("MadeT")

Kind = Literal["tree", "repaired", "program", "broken"]


@attrs.frozen
class Recipe:
    """Generates a file for each seed: a tree or program, in a given format.

    `kind` is one of the following:

    - `tree`: a random tree;
    - `repaired`: a random tree, repaired so that Luau compiles it;
    - `program`: a program that runs, from `generation.programs.program` with `options`;
    - `broken`: the source of such a program, changed so that it is not valid Luau.

    `message` must be ModuleSet, unless `kind` is `tree`. `form` is the file format: always `luau`
    (Luau source) for `broken`, and never `luau` for `tree`. `style` is a seed for the style of all
    sources, `random` to give each source a different style, or None for the plain style. `luau` is
    the Luau version of the trees and programs, or None for the original schema.
    """

    message: type[Message]
    size: int
    weights: Weights | None
    swarm: bool
    form: files.Form
    kind: Kind = "tree"
    options: ProgramOptions | None = None
    style: int | Literal["random"] | None = None
    luau: Version | None = None

    def tree(self, seed: int) -> Message:
        """Return the tree or program for `seed`."""
        options: TreeOptions = {"size": self.size, "weights": self.weights, "swarm": self.swarm}
        options["luau"] = self.luau
        if self.kind in ("tree", "repaired"):
            tree: Message = generate(self.message, seed=seed, **options)
        else:
            from scriptschema.generation.programs import program

            tree = program(seed=seed, **options, **(self.options or {}))
        if self.form == "json":
            make_unicode(tree)
        if self.kind == "repaired":
            from scriptschema.luau.repair import repair

            tree = repair(tree, luau=self.luau)
        return tree

    def program(self, seed: int) -> ModuleSet:
        """Return the tree for `seed` as a ModuleSet, which it is unless `kind` is `tree`."""
        return cast(ModuleSet, self.tree(seed))

    def style_of(self, seed: int) -> int | None:
        """Return the seed from which a source's style is chosen, or None for the plain style."""
        return seed if self.style == "random" else self.style

    def make(self, seed: int) -> bytes:
        """Return the file content for `seed`.

        Raises the same errors as `generate` and the encoder.
        """
        if self.form == "luau":
            from scriptschema.luau.sources import encode, one_source

            source = one_source(self.program(seed), style=self.style_of(seed))
            if self.kind == "broken":
                from scriptschema.luau.breaking import broken

                source = broken(source, seed)
            return encode(source)
        return files.serialize(self.tree(seed), self.form, self.luau)

    def files_of(self, seed: int) -> dict[str, bytes]:
        """Return the files for `seed` by path: one, or two sources if a program has a module.

        The paths are relative to the output folder.
        """
        if self.form != "luau" or self.kind == "broken":
            return {f"{seed}{files.ending_of(self.form)}": self.make(seed)}
        from scriptschema.luau.sources import source_files_of

        return source_files_of(self.program(seed), str(seed), style=self.style_of(seed))


def make_unicode(tree: Message) -> None:
    """Replace invalid UTF-8 bytes in strings with U+FFFD, because JSON cannot represent them."""
    for message, _ in walk(tree):
        for name, field in message.ALL_FIELDS.items():
            if field.type is str and getattr(message, name) is not None:
                data = getattr(message, name).encode("utf-8", "surrogateescape")
                setattr(message, name, data.decode("utf-8", "replace"))


def make_all(
    make: Callable[[int], MadeT], size: int, seeds: Iterable[int], jobs: int
) -> Iterator[MadeT]:
    """Yield the result of `make` for each seed, in order, using `jobs` processes.

    `size` is the approximate number of nodes in each result.
    Raises concurrent.futures.process.BrokenProcessPool if one of the processes is killed.
    """
    if jobs == 1:
        yield from map(make, seeds)
        return
    seeds = iter(seeds)
    length = max(1, min(100, 20_000 // size))
    chunks = iter(lambda: list(islice(seeds, length)), [])
    # Spawned processes work alike on every platform, and share nothing with this process.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start_worker)
    waiting: deque[Future[list[MadeT]]] = deque()
    try:
        while True:
            # Stay only a little ahead of the consumer, since there may be millions of chunks.
            for chunk in islice(chunks, 3 * jobs - len(waiting)):
                with interrupts_later():
                    waiting.append(pool.submit(_make_chunk, make, chunk))
            if not waiting:
                break
            yield from waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def _make_chunk(make: Callable[[int], MadeT], seeds: Sequence[int]) -> list[MadeT]:
    return [*map(make, seeds)]


STOPS: Final = frozenset([signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGINT)])
"""The signals that end a command. Windows has no SIGHUP."""


@contextlib.contextmanager
def interrupts_later() -> Iterator[None]:
    """Delay SIGINT, SIGTERM and SIGHUP until the `with` block ends.

    Worker processes that the block starts inherit the delay until they are ready. Otherwise Ctrl-C
    could interrupt their imports and print a traceback.
    """
    received: list[int] = []
    handlers = {}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    if threading.current_thread() is threading.main_thread():
        # The handlers run in the main thread, even if another thread gets the signal.
        for number in STOPS:
            if callable(signal.getsignal(number)):
                handlers[number] = signal.signal(number, lambda n, _: received.append(n))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for each in received:
            signal.raise_signal(each)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # exits without a traceback
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
