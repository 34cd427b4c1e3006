"""The output of `corpus diff`: two corpora side by side as a table, JSON, or a chart."""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import attrs

from scriptschema.commands.console import counted
from scriptschema.commands.corpus.report import percentiles, wide_console
from scriptschema.fuzzing.corpora.features import names as feature_names
from scriptschema.fuzzing.corpora.features import numbers_of
from scriptschema.fuzzing.corpora.statistics import CorpusStats
from scriptschema.fuzzing.report import charts
from scriptschema.wire import Scan


@attrs.define
class FeatureCounts:
    """A corpus's statistics, and how many of its trees have each feature.

    `stats` also records the trees' Luau version.
    """

    stats: CorpusStats = attrs.field(factory=CorpusStats)
    _numbers: Counter[int] = attrs.field(factory=Counter)

    def add(self, scan: Scan) -> None:
        """Count a tree, given its scan."""
        self.stats.add_scan(scan)
        self._numbers.update(numbers_of(scan))

    def features(self) -> Counter[str]:
        """Return the number of trees that have each feature, by the feature's name."""
        names = feature_names(self.stats.luau)
        return Counter({names[number]: count for number, count in self._numbers.items()})


def lacking(counts: FeatureCounts, two: FeatureCounts) -> list[tuple[str, int]]:
    """Return the features that `counts` has and `two` lacks, the most common first.

    Each feature is paired with the number of trees that have it.
    """
    theirs = two.features()
    return [(name, n) for name, n in counts.features().most_common() if not theirs[name]]


Both = tuple[FeatureCounts, FeatureCounts]

SHOWN: Final = 40
"""The maximum number of features that a chart shows for each corpus."""


def as_json(both: Both) -> dict[str, Any]:
    """Return the sizes of both corpora, and the features that only one has, as JSON data."""
    first, second = both
    return {
        "one": {"sizes": _sizes(first), "alone": dict(lacking(first, second))},
        "two": {"sizes": _sizes(second), "alone": dict(lacking(second, first))},
        "both": len(first.features().keys() & second.features().keys()),
    }


def _sizes(counts: FeatureCounts) -> dict[str, Any]:
    stats = counts.stats.as_json()
    return {name: stats[name] for name in ("trees", "nodes", "bytes", "percentiles")}


def print_difference(names: tuple[str, str], both: Both) -> None:
    """Print the sizes of both corpora, and the features that only one of them has."""
    from rich.markup import escape
    from rich.table import Table

    console = wide_console()
    stats = [counts.stats for counts in both]
    sizes = [counted(each.trees, "tree") for each in stats]
    titles = [f"[bold]{escape(n)}[/]: {size}" for n, size in zip(names, sizes, strict=True)]
    console.print(percentiles([*zip(titles, stats, strict=True)]))
    for name, other, alone in _alone(names, both):
        console.print(
            f"\nOnly in [bold]{escape(name)}[/], not in {escape(other)}: "
            f"{counted(len(alone), 'feature')}",
            soft_wrap=True,
        )
        features = Table(box=None, show_header=False, pad_edge=False)
        for feature, number in alone:
            features.add_row(f"  {feature}", counted(number, "tree"))
        if alone:
            console.print(features)


def _alone(names: tuple[str, str], both: Both) -> list[tuple[str, str, list[tuple[str, int]]]]:
    first, second = both
    return [
        (names[0], names[1], lacking(first, second)),
        (names[1], names[0], lacking(second, first)),
    ]


def plot(names: tuple[str, str], both: Both) -> bytes:
    """Return an SVG file with the sizes of both corpora, and the features that only one has."""
    short = names[0][-30:], names[1][-30:]
    sizes = [counted(counts.stats.trees, "tree") for counts in both]
    title = f"{names[0]}: {sizes[0]}, and {names[1]}: {sizes[1]}"
    shapes = [charts.text(700, 20, title, "middle", "title")]
    kinds = [list(counts.stats.distributions()) for counts in both]
    for number, ((what, first), (_, second)) in enumerate(zip(*kinds, strict=True)):
        pair = [*zip(short, (first, second), strict=True)]
        shapes.append(charts.placed(0, 40 + 240 * number, charts.histogram(480, 220, what, pair)))
    longest = 0
    for number, (name, _, alone) in enumerate(_alone(short, both)):
        heading = f"trees with features only in {name} ({len(alone)})"
        rows = [(heading, None), *alone[:SHOWN]]
        longest = max(longest, len(rows))
        shapes.append(charts.placed(520 + 440 * number, 40, charts.bars(420, rows, "")))
    height = max(40 + 3 * 240, 60 + charts.ROW * longest)
    return charts.document(1400, height, "".join(shapes))
