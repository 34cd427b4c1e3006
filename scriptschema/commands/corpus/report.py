"""The output of `corpus stats`: tables with bars, and charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from scriptschema.base import UNSET
from scriptschema.commands.console import counted
from scriptschema.fuzzing.corpora.statistics import PERCENTILES, CorpusStats, percentile, total
from scriptschema.fuzzing.report import charts
from scriptschema.messages import schema

BAR: Final = 30


def print_report(stats: CorpusStats) -> None:
    """Print the statistics of a corpus, in colour on a terminal."""
    console = wide_console()
    console.print(
        f"{counted(stats.trees, 'tree')}, {counted(total(stats.nodes), 'node')}, "
        f"{counted(total(stats.sizes), 'byte')}"
    )
    if not stats.trees:
        return
    console.print(percentiles([("", stats)]))
    console.print(_frequencies(stats))
    values = _values(stats)
    if values.row_count:
        console.print(values)
    never = {kind: names for kind, names in stats.never().items() if names}
    if not never:
        console.print("Every part of the schema occurs.")
    for kind, names in never.items():
        console.print(f"[bold]{kind} that never occur ({len(names)}):[/] {', '.join(names)}")


def wide_console() -> Any:
    """Return a console that has at least 100 columns, unless it is a terminal."""
    from rich.console import Console

    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, 100)  # so that the bars fit
    return console


def percentiles(corpora: Sequence[tuple[str, CorpusStats]]) -> Any:
    """Return a table of sizes and depths. The rows of a corpus follow its title, if it has one."""
    from rich.table import Table

    names = {0: "least", 50: "median", 100: "most"}
    table = Table("of each tree", box=None, header_style="bold", pad_edge=False)
    for p in PERCENTILES:
        table.add_column(names.get(p, f"{p} %"), justify="right")
    for title, stats in corpora:
        if title:
            table.add_row(title)
        for name, counts in stats.distributions() if stats.trees else ():
            row = (f"{percentile(counts, p):,}" for p in PERCENTILES)
            table.add_row(f"  {name}" if title else name, *row)
    return table


def _table_of(what: str) -> Any:
    """Return an empty table for `_row`."""
    from rich.table import Table

    table = Table(what, box=None, header_style="bold", pad_edge=False)
    table.add_column("number", justify="right")
    table.add_column("share", justify="right")
    table.add_column("")
    return table


def _frequencies(stats: CorpusStats) -> Any:
    table = _table_of("message and its contents")
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
    table = _table_of("value")
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


def plot(stats: CorpusStats) -> bytes:
    """Return an SVG file of the distributions of sizes and depths, and of the alternatives used."""
    counts, messages = stats.alternatives, stats.messages
    rows: list[tuple[str, float | None]] = []
    for name in schema(stats.luau).messages:
        parts = {k.partition(".")[2]: v for k, v in counts.items() if k.startswith(f"{name}.")}
        rows += [(f"{name}, by alternative", None)] if parts else []
        ordered = sorted(parts.items(), key=lambda item: -item[1])
        rows += [(part, 100 * count / messages[name]) for part, count in ordered]
    title = f"{counted(stats.trees, 'tree')}, {counted(total(stats.nodes), 'node')}"
    shapes = [charts.text(550, 20, title, "middle", "title")]
    shapes += [
        charts.placed(0, 40 + 240 * number, charts.histogram(520, 220, name, [("corpus", values)]))
        for number, (name, values) in enumerate(stats.distributions())
    ]
    shapes.append(charts.placed(560, 40, charts.bars(520, rows, " %")))
    height = max(40 + 3 * 240, 60 + charts.ROW * len(rows))
    return charts.document(1100, height, "".join(shapes))
