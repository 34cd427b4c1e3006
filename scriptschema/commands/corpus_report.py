"""Statistics of a corpus for people: tables with bars, and drawings.

The drawings need matplotlib, which the extra `plot` brings.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from math import ceil
from typing import Any, Final

from scriptschema import extras
from scriptschema.base import UNSET
from scriptschema.commands.console import counted
from scriptschema.fuzzing.corpora.statistics import PERCENTILES, CorpusStats, percentile, total
from scriptschema.messages import schema

BAR: Final = 30
BINS: Final = 40


def print_report(stats: CorpusStats) -> None:
    """Print the statistics of a corpus; in colour on a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 100)  # a file has room for the bars
    console.print(
        f"{counted(stats.trees, 'tree')}, {counted(total(stats.nodes), 'node')}, "
        f"{counted(total(stats.sizes), 'byte')}"
    )
    if not stats.trees:
        return
    console.print(_percentiles(stats))
    console.print(_frequencies(stats))
    values = _values(stats)
    if values.row_count:
        console.print(values)
    never = {kind: names for kind, names in stats.never().items() if names}
    if not never:
        console.print("Every part of the schema occurs.")
    for kind, names in never.items():
        console.print(f"[bold]{kind} that never occur ({len(names)}):[/] {', '.join(names)}")


def _percentiles(stats: CorpusStats) -> Any:
    from rich.table import Table

    names = {0: "least", 50: "median", 100: "most"}
    table = Table("of each tree", box=None, header_style="bold", pad_edge=False)
    for p in PERCENTILES:
        table.add_column(names.get(p, f"{p} %"), justify="right")
    for name, counts in stats.distributions():
        table.add_row(name, *(f"{percentile(counts, p):,}" for p in PERCENTILES))
    return table


def _frequencies(stats: CorpusStats) -> Any:
    """Messages by number, as parts of all; below each, its alternatives, as parts of it."""
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("message, and what it holds")
    table.add_column("number", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    known = schema(stats.luau).messages
    messages, alternatives, fields = stats.messages, stats.alternatives, stats.fields
    nodes = messages.total()
    for name, count in messages.most_common():
        _row(table, f"[bold]{name}[/]", count, nodes, "cyan")
        parts = Counter({k: v for k, v in alternatives.items() if k.startswith(f"{name}.")})
        parts += Counter({k: v for k, v in fields.items() if k.startswith(f"{name}.")})
        for part, number in parts.most_common():
            label = part.partition(".")[2]
            label = f"(no {known[name].ONEOF})" if label == UNSET else label
            _row(table, f"  {label}", number, count, "green")
    return table


def _values(stats: CorpusStats) -> Any:
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("value")
    table.add_column("number", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    enums = Counter[str]()
    values = stats.values
    for name, count in values.items():
        enums[name.rpartition(".")[0]] += count
    for name, count in values.most_common():
        _row(table, name, count, enums[name.rpartition(".")[0]], "green")
    return table


def _row(table: Any, label: str, count: int, whole: int, colour: str) -> None:
    bar = "█" * round(BAR * count / whole) or "▏"
    table.add_row(label, f"{count:,}", f"{count / whole:.1%}", f"[{colour}]{bar}[/]")


@contextlib.contextmanager
def drawing(form: str, size: tuple[float, float]) -> Iterator[tuple[Any, BytesIO]]:
    """Give a figure to draw on, of `size` in inches, and the file that it is written to at the end.

    `form` is svg or png. Raises MissingExtra.
    """
    mpl = extras.imported("matplotlib", "plot", "drawings need matplotlib")
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    out = BytesIO()
    yield figure, out
    # The same corpus, the same bytes: no date, no random ids, and no places whose last digits
    # depend on the order in which the layout's solver proceeds.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for axes in figure.axes:
        left, bottom, width, height = axes.get_position().bounds
        axes.set_position((round(left, 6), round(bottom, 6), round(width, 6), round(height, 6)))
    with mpl.rc_context({"svg.hashsalt": "scriptschema"}):
        figure.savefig(out, format=form, metadata={"Date": None} if form == "svg" else None)


def plot(stats: CorpusStats, form: str) -> bytes:
    """Draw the distributions of sizes and depths, and the alternatives; `form` is svg or png.

    Raises MissingExtra.
    """
    alternatives = stats.alternatives
    groups = {
        name: {k.partition(".")[2]: v for k, v in alternatives.items() if k.startswith(name)}
        for name in (f"{name}." for name in schema(stats.luau).messages)
    }
    groups = {name: parts for name, parts in groups.items() if parts}
    rows = sum(len(parts) + 1 for parts in groups.values())
    with drawing(form, (11, max(5, 2 + rows * 0.19))) as (figure, out):
        left, right = figure.subfigures(1, 2)
        for axes, (name, counts) in zip(left.subplots(3), stats.distributions(), strict=True):
            _histogram(axes, name, counts)
        _bars(right.subplots(), groups, stats)
        figure.suptitle(f"{counted(stats.trees, 'tree')}, {counted(total(stats.nodes), 'node')}")
    return out.getvalue()


def bins_of(axes: Any, *counts: Counter[int]) -> list[float]:
    """The edges of the bins that show these counts well; sets the scale of the axis."""
    values = Counter[int]()
    for one in counts:
        values.update(one)
    least, most = min(values, default=0), max(values, default=0)
    if least > 0 and most / least > 100:
        axes.set_xscale("log")
        return [least * (most / least) ** (i / BINS) for i in range(BINS)] + [most]
    # All bins hold equally many whole numbers.
    width = ceil((most - least + 1) / BINS)
    return [start - 0.5 for start in range(least, most + width + 1, width)]


def _histogram(axes: Any, name: str, counts: Counter[int]) -> None:
    bins = bins_of(axes, counts)
    axes.hist(list(counts), bins=bins, weights=list(counts.values()), color="tab:blue")
    if counts:
        middle = percentile(counts, 50)
        axes.axvline(middle, color="tab:orange", label=f"median {middle:,}")
        axes.legend(frameon=False)
    axes.set_xlabel(name)
    axes.set_ylabel("trees")


def _bars(axes: Any, groups: dict[str, dict[str, int]], stats: CorpusStats) -> None:
    """One bar for each alternative: its share of its message; a heading above each message's."""
    messages = stats.messages
    labels: list[str] = []
    shares: list[float] = []
    for name, parts in groups.items():
        message = name.removesuffix(".")
        labels.append(f"{message}:")
        shares.append(0)
        for part, count in sorted(parts.items(), key=lambda item: -item[1]):
            labels.append(part)
            shares.append(100 * count / messages[message])
    places = range(len(labels))
    axes.barh(places, shares, color="tab:green")
    axes.set_yticks(places, labels, fontsize=7)
    axes.set_ylim(max(len(labels), 1) - 0.5, -0.5)
    for tick, label in zip(axes.get_yticklabels(), labels, strict=True):
        tick.set_fontweight("bold" if label.endswith(":") else "normal")
    axes.set_xlabel("share of the message, %")
