"""The state of a running campaign: one process writes the fuzzers' results to the folder.

    state = State(campaign, on_event)
    accepted = state.take(batch)             trees to send to the other fuzzers
    state.tick()                             regularly: writes statistics and counts
    state.close()

Code that runs fuzzers, locally or on other machines, accesses the folder only through this class.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign import statistics
from scriptschema.fuzzing.campaign.finds import Find
from scriptschema.fuzzing.campaign.folder import AFL, CORPUS, Campaign, now
from scriptschema.fuzzing.campaign.fuzzer import Batch
from scriptschema.fuzzing.campaign.statistics import Interval
from scriptschema.fuzzing.campaign.store import FindStore
from scriptschema.fuzzing.campaign.triage import Triage
from scriptschema.fuzzing.corpora import features
from scriptschema.fuzzing.corpora.folder import CorpusFolder
from scriptschema.fuzzing.oracles import normalisation
from scriptschema.fuzzing.oracles.known import KnownBugs
from scriptschema.fuzzing.oracles.severity import severity_of
from scriptschema.fuzzing.targets.opening import versions_of
from scriptschema.messages import ModuleSet

FIRST_EVERY: Final = 5.0
EVERY: Final = 15.0
"""Seconds between two lines of the statistics, after a first minute with `FIRST_EVERY`."""

EventHandler = Callable[[dict[str, Any]], None]
"""Called with each event: a dictionary of JSON data, with the kind under `event`."""


class State:
    """See the module. `on_event` is called with each event.

    `total` sums up all runs of the campaign; `since_new` is the time of the last new behaviour.
    Raises FileError and TargetError.
    """

    def __init__(self, campaign: Campaign, on_event: EventHandler) -> None:
        self.campaign = campaign
        self.on_event = on_event
        intervals = statistics.read(campaign.path)
        self.total = statistics.total(intervals)
        self.starts = len(intervals)
        self._before = self.total.seconds
        self._began = time.monotonic()
        self.last_new = self._began
        self.corpus = CorpusFolder(campaign.path / CORPUS)
        self._mask = 0
        self._messages: set[str] = set()
        self._covered: set[tuple[int, int]] = set()
        self._interval = Interval()
        self._written = self._began
        versions = versions_of(campaign.config.targets)
        self.finds = FindStore(campaign, versions, self.seconds, self._tell_of_find)
        self.triage = Triage(self.finds, KnownBugs(campaign.config.known))
        self._write()

    def seconds(self) -> float:
        """The duration of all runs of the campaign."""
        return self._before + time.monotonic() - self._began

    def take(self, batch: Batch) -> list[bytes]:
        """Store a fuzzer's batch; return the trees that are new to the whole campaign."""
        self._interval.add(batch.interval)
        self.total.add(batch.interval)
        accepted = []
        covers = not batch.covered <= self._covered
        self._covered |= batch.covered
        self.total.covered = max(self.total.covered, len(self._covered))
        for data in batch.kept:
            if self._is_new(data, batch) | covers and self.corpus.add(data):
                accepted.append(data)
        if accepted:
            self.last_new = time.monotonic()
        for suspect in batch.suspects:
            self.triage.suspect(suspect)
        for signature, count in batch.again.items():
            self.triage.again(signature, count)
        for name in batch.unreadable:
            self.campaign.log(f"unreadable: {AFL}/out/{name}")
            self.on_event(
                {"event": "unreadable", "path": str(self.campaign.path / AFL / "out" / name)}
            )
        if batch.inputs or batch.unreadable:
            self.campaign.judged([*batch.inputs, *batch.unreadable])
        return accepted

    def tick(self) -> None:
        """Write the statistics and counts if they are due."""
        every = FIRST_EVERY if self.seconds() < 60 else EVERY
        if time.monotonic() - self._written >= every:
            self._write()

    def close(self) -> None:
        """Write everything that is not written yet."""
        self._write()

    def _is_new(self, data: bytes, batch: Batch) -> bool:
        """Return whether a tree has a feature that no other has, or its batch a new message."""
        mask = features.features_of(encoding.scan(ModuleSet, data))
        new = bool(mask & ~self._mask) or not batch.messages <= self._messages
        self._mask |= mask
        self._messages |= batch.messages
        return new

    def _write(self) -> None:
        self.finds.save()
        interval = self._interval
        interval.known.update(self.triage.seen_known)
        self.total.known.update(self.triage.seen_known)
        self.triage.seen_known.clear()
        interval.seconds, interval.at = round(self.seconds(), 1), now()
        interval.corpus, interval.finds = len(self.corpus.names), len(self.finds)
        interval.covered = len(self._covered)
        self.total.corpus, self.total.finds = interval.corpus, interval.finds
        statistics.append(self.campaign.path, interval)
        self._interval = Interval()
        self._written = time.monotonic()

    def _tell_of_find(self, event: str, find: Find) -> None:
        self.last_new = time.monotonic()
        shown = find.reduced or find.program
        self.campaign.log(f"{event} {find.name}: {find.signature}, {shown.nodes} nodes")
        self.on_event(
            {
                "event": event,
                "name": find.name,
                "severity": severity_of(find.signature),
                "signature": str(find.signature),
                "message": normalisation.output(find.verdict.message),
                "nodes": shown.nodes,
                "reduced": find.reduced is not None,
                "seconds": round(self.seconds(), 1),
            }
        )
