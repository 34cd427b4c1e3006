"""Two corpora side by side: which features each has, and in how many of its trees."""

from __future__ import annotations

from collections import Counter

import attrs

from scriptschema.fuzzing.corpora.features import names, numbers_of
from scriptschema.fuzzing.corpora.statistics import CorpusStats
from scriptschema.wire import Scan


@attrs.define
class FeatureCounts:
    """What a corpus holds, and in how many of its trees each feature is.

    `stats` says of which Luau the trees are.
    """

    stats: CorpusStats = attrs.field(factory=CorpusStats)
    _numbers: Counter[int] = attrs.field(factory=Counter)

    def add(self, scan: Scan) -> None:
        """Count a tree."""
        self.stats.add_scan(scan)
        self._numbers.update(numbers_of(scan))

    def features(self) -> Counter[str]:
        """How many trees have each feature, by its name."""
        known = names(self.stats.luau)
        return Counter({known[number]: count for number, count in self._numbers.items()})


def lacking(one: FeatureCounts, two: FeatureCounts) -> list[tuple[str, int]]:
    """The features that `one` has and `two` lacks, each with how many trees have it; most first."""
    theirs = two.features()
    return [(name, n) for name, n in one.features().most_common() if not theirs[name]]
