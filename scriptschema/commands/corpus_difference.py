"""Two corpora side by side for people: a table, JSON, or a drawing (extra `plot`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scriptschema.commands.console import counted
from scriptschema.commands.corpus_report import bins_of, drawing
from scriptschema.fuzzing.corpora.difference import FeatureCounts, lacking
from scriptschema.fuzzing.corpora.statistics import PERCENTILES, percentile

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Sequence

Both = tuple[FeatureCounts, FeatureCounts]

SHOWN: Final = 40
"""How many features a drawing names."""


def as_json(both: Both) -> dict[str, Any]:
    """What each has and the other lacks, and the sizes of both, as JSON's types."""
    one, two = both
    return {
        "one": {"sizes": _sizes(one), "alone": dict(lacking(one, two))},
        "two": {"sizes": _sizes(two), "alone": dict(lacking(two, one))},
        "both": len(one.features().keys() & two.features().keys()),
    }


def _sizes(counts: FeatureCounts) -> dict[str, Any]:
    stats = counts.stats.as_json()
    return {name: stats[name] for name in ("trees", "nodes", "bytes", "percentiles")}


def print_difference(names: tuple[str, str], both: Both) -> None:
    """Print both corpora's sizes, and what each has and the other lacks."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 100)
    table = Table("of each tree", box=None, header_style="bold", pad_edge=False)
    for p in PERCENTILES:
        table.add_column({0: "least", 50: "median", 100: "most"}.get(p, f"{p} %"), justify="right")
    for name, counts in zip(names, both, strict=True):
        stats = counts.stats
        table.add_row(f"[bold]{escape(name)}[/]: {counted(stats.trees, 'tree')}")
        for what, values in stats.distributions() if stats.trees else ():
            table.add_row(f"  {what}", *(f"{percentile(values, p):,}" for p in PERCENTILES))
    console.print(table)
    for name, other, alone in _alone(names, both):
        console.print(
            f"\nOnly in [bold]{escape(name)}[/], not in {escape(other)}: "
            f"{counted(len(alone), 'feature')}",
            soft_wrap=True,
        )
        found = Table(box=None, show_header=False, pad_edge=False)
        for feature, number in alone:
            found.add_row(f"  {feature}", counted(number, "tree"))
        if alone:
            console.print(found)


def _alone(names: tuple[str, str], both: Both) -> list[tuple[str, str, list[tuple[str, int]]]]:
    one, two = both
    return [
        (names[0], names[1], lacking(one, two)),
        (names[1], names[0], lacking(two, one)),
    ]


def plot(names: tuple[str, str], both: Both, form: str) -> bytes:
    """Draw sizes and depths of both, and what each has alone; `form` is svg or png.

    Raises MissingExtra.
    """
    rows = max(SHOWN // 2, *(min(SHOWN, len(alone)) for _, _, alone in _alone(names, both)))
    with drawing(form, (13, 3 + rows * 0.19)) as (figure, out):
        left, right = figure.subfigures(1, 2, width_ratios=(1, 2))
        kinds = [list(counts.stats.distributions()) for counts in both]
        for axes, (what, one), (_, two) in zip(left.subplots(3), *kinds, strict=True):
            _histograms(axes, what, (one, two), names)
        for axes, (name, other, alone) in zip(
            right.subplots(1, 2), _alone(names, both), strict=True
        ):
            _bars(axes, alone)
            axes.set_title(f"{len(alone)} only in {name}", fontsize=9)
            axes.set_xlabel(f"trees that have it; {other} has none", fontsize=8)
        figure.suptitle(
            " and ".join(
                f"{name}: {counted(counts.stats.trees, 'tree')}"
                for name, counts in zip(names, both, strict=True)
            )
        )
    return out.getvalue()


def _histograms(axes: Any, what: str, both: Sequence[Counter[int]], names: tuple[str, str]) -> None:
    """The two corpora's bars side by side: which part of the trees has how much."""
    values = [list(counts) or [0] for counts in both]
    weights = [
        [count / max(1, counts.total()) for count in counts.values()] or [0] for counts in both
    ]
    axes.hist(values, bins=bins_of(axes, *both), weights=weights, label=names)
    axes.legend(frameon=False, fontsize=7)
    axes.set_xlabel(what)
    axes.set_ylabel("part of the trees")


def _bars(axes: Any, alone: list[tuple[str, int]]) -> None:
    shown = alone[:SHOWN]
    axes.barh(range(len(shown)), [number for _, number in shown], color="tab:green")
    axes.set_yticks(range(len(shown)), [name for name, _ in shown], fontsize=6)
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    axes.set_xlim(0, max((number for _, number in shown), default=1) * 1.05)
