"""Reduction: finds the smallest tree that is still interesting.

`reduce` accepts a tree and a test. It returns a tree that still passes the test and that no pass
(see `passes`) can make smaller. A tree with fewer messages is smaller. If the numbers of messages
are equal, the shorter source decides, and then the alphabetical order of the sources.

The passes of a phase are tried together, and the edits that remove the most come first. A tree of
thousands of messages is thus halved a few times before small parts are examined. If the original
tree was valid, each candidate is repaired before it is tried. If the original tree can be encoded
in the original schema, candidates that cannot are skipped. No source is tried twice. With several
jobs, several candidates are tried at the same time, with the same result as with one job.

Sources: A. Zeller and R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002
(delta debugging); G. Misherghi and Z. Su, "HDD: Hierarchical Delta Debugging", 2006.
"""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, Final, Generic, TypeVar

import attrs

from scriptschema import wire
from scriptschema.base import Message
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.passes import LAST, PHASES, Pass, edits_of
from scriptschema.fuzzing.passes.edits import Edit
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.render import render
from scriptschema.luau.repair import is_valid, repair

RETEST: Final = 32
"""The best tree is tested again after this number of tests, after twice this number, and so on: the
number doubles each time."""

MessageT = TypeVar("MessageT", bound=Message)


class NotInterestingError(ValueError):
    """The tree to reduce does not pass the test."""


class UnreliableTestWarning(UserWarning):
    """The test gave different results for the same tree."""


def reduce(
    tree: MessageT,
    interesting: Callable[[MessageT], bool],
    *,
    jobs: int = 1,
    names: Names = DEFAULT,
) -> MessageT:
    """Return the smallest tree found for which `interesting` is true, without changing `tree`.

    `interesting` must not change the tree that it receives. If `jobs` is greater than 1, that many
    threads call `interesting` simultaneously, with the same result. If `tree` is valid according to
    `check`, so are all trees that are tried or returned. If `tree` can be encoded in the original
    schema, so can they. `names` are the tables for the tree's names.

    Raises NotInterestingError if `interesting(tree)` is false, and any exception that `interesting`
    raises. Warns with UnreliableTestWarning if `interesting` gives different answers for the same
    tree.
    """
    reducer = Reducer(tree, interesting, jobs=jobs, names=names)
    reduced = reducer.run()
    if reducer.unreliable:
        warnings.warn(reducer.unreliable, UnreliableTestWarning, stacklevel=2)
    return reduced


@attrs.frozen
class _Candidate(Generic[MessageT]):
    """A tree to be tested. `order` is its size, the length of its source, and the source."""

    tree: MessageT
    order: tuple[int, int, str]

    @property
    def source(self) -> str:
        return self.order[2]


class Reducer(Generic[MessageT]):
    """A reduction. `best` is the smallest interesting tree so far.

    `tests` is the number of calls to `interesting`. `repeated` is the number of candidates skipped
    because their source was known to be uninteresting. `unreliable` is a message if the test gave
    different answers for the same tree, otherwise empty. The thread that called `run` calls
    `changed` after each test and for each new `best`.
    """

    def __init__(
        self,
        tree: MessageT,
        interesting: Callable[[MessageT], bool],
        *,
        jobs: int = 1,
        names: Names = DEFAULT,
        changed: Callable[[Reducer[MessageT]], None] = lambda _: None,
    ) -> None:
        if jobs < 1:
            raise ValueError(f"jobs must be at least 1, found {jobs}")
        self.interesting = interesting
        self.jobs = jobs
        self.names = names
        self.changed = changed
        self.tests = self.repeated = 0
        self.unreliable = ""
        self._valid = is_valid(tree, names=names)
        self._original = _is_original(tree)
        self._best = self._candidate(tree)
        self._tried: dict[str, bool] = {}
        self._retest_at = RETEST
        self._lock = Lock()

    @property
    def best(self) -> MessageT:
        """The smallest interesting tree so far."""
        return self._best.tree

    @property
    def is_confirmed(self) -> bool:
        """Whether `best` has passed the test. The original tree may not have been tested yet."""
        return self._tried.get(self._best.source, False)

    @property
    def size(self) -> int:
        """The number of messages in `best`."""
        return self._best.order[0]

    @property
    def source(self) -> str:
        """The source of `best`."""
        return self._best.source

    def run(self) -> MessageT:
        """Reduce until no pass makes the tree smaller, and return the tree.

        Raises NotInterestingError if the test fails for the original tree.
        """
        if not self._retest():
            raise NotInterestingError("the original tree does not pass the test")
        self._retest()
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                before = None
                while before is not self._best:
                    before = self._best
                    for phase in PHASES:
                        self._run_phase(phase, pool)
                self._run_phase(LAST, pool)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self._retest()
        return self.best

    def _run_phase(self, phase: Iterable[Pass], pool: ThreadPoolExecutor) -> None:
        """Try the edits of the passes, the lowest rank first, until no edit succeeds."""
        reached: int | None = None
        while True:
            reached = self._first(edits_of(phase, Index(self.best), reached), pool)
            if reached is None:
                return

    def _first(self, edits: Iterable[Edit], pool: ThreadPoolExecutor) -> int | None:
        """Apply the first edit that gives an interesting tree, and return its rank, or None."""
        waiting: deque[tuple[int, _Candidate[MessageT], Future[bool]]] = deque()
        tried = self._new_candidates(edits)
        while True:
            while len(waiting) < self.jobs and (result := next(tried, None)) is not None:
                rank, candidate = result
                waiting.append((rank, candidate, pool.submit(self._test, candidate)))
            if not waiting:
                return None
            rank, candidate, future = waiting.popleft()
            if self.tests >= self._retest_at:
                self._retest_at *= 2
                # In the pool, so that there are never more concurrent tests than jobs.
                pool.submit(self._retest).result()
            if future.result():
                for _, _, other in waiting:
                    other.cancel()
                self._best = candidate
                self.changed(self)
                return rank
            self.changed(self)

    def _new_candidates(self, edits: Iterable[Edit]) -> Iterator[tuple[int, _Candidate[MessageT]]]:
        """Yield candidates that are smaller than `best` and not known to be uninteresting."""
        seen: set[str] = set()
        for rank, make in edits:
            candidate = self._candidate(make())
            if candidate.order >= self._best.order or candidate.source in seen:
                continue
            seen.add(candidate.source)
            if self._tried.get(candidate.source) is False:
                self.repeated += 1
                continue
            if self._original and not _is_original(candidate.tree):
                continue
            yield rank, candidate

    def _candidate(self, tree: Any) -> _Candidate[MessageT]:
        if self._valid:
            tree = repair(tree, names=self.names)
        source = render(tree, names=self.names)
        return _Candidate(tree, (len(Index(tree)), len(source), source))

    def _test(self, candidate: _Candidate[MessageT]) -> bool:
        known = self._tried.get(candidate.source)
        if known is None:
            known = self._tried[candidate.source] = self._ask(candidate.tree)
        return known

    def _ask(self, tree: MessageT) -> bool:
        with self._lock:
            self.tests += 1
        return bool(self.interesting(tree))

    def _retest(self) -> bool:
        answer = self._ask(self.best)
        if self._tried.setdefault(self._best.source, answer) != answer:
            self.unreliable = (
                "the test gave different results for the same tree: the reduced tree may be "
                "larger than necessary, or not interesting"
            )
        return answer


def _is_original(tree: Message) -> bool:
    """Return whether a tree can be encoded in the original schema."""
    try:
        wire.encode(tree)
    except wire.EncodeError:
        return False
    return True
