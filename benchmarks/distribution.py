"""Properties of random trees: sizes compared with the requested sizes, depths, alternatives."""

from __future__ import annotations

import random
import statistics
from collections import Counter
from collections.abc import Callable, Mapping
from enum import IntEnum
from pathlib import Path

from benchmarks.generation import drawn
from benchmarks.timing import count, table, verdict
from scriptschema import strategies
from scriptschema.base import Message, walk
from scriptschema.choices import BytesChoices
from scriptschema.commands.corpus.report import plot, print_report
from scriptschema.fuzzing.corpora.statistics import CorpusStats, percentile
from scriptschema.generation.trees import generate
from scriptschema.messages import Expr, ModuleSet, StatBlock, Type

DRAWING = Path("build") / "distribution.svg"

DEFAULT = "RandomChoices, size 200"
"""The source and size of the trees in the detailed table."""

BYTES = "BytesChoices, size 200"
HYPOTHESIS = f"Hypothesis, size {strategies.DEFAULT_SIZE}"


def main(smoke: bool) -> None:
    """Print the tables and draw the charts."""
    targets(smoke)
    number = 20 if smoke else 1000
    statistics = CorpusStats()
    rows = []
    occurring: dict[str, Counter[str]] = {}
    for name, make in sources(number).items():
        stats = statistics if name == DEFAULT else CorpusStats()
        facts = occurring.setdefault(name, Counter())
        for tree in make():
            stats.add(tree)
            facts.update(facts_of(tree))
        rows.append(
            (
                name,
                *(f"{percentile(stats.nodes, p):,}" for p in (0, 50, 90, 100)),
                *(f"{percentile(stats.depths, p)}" for p in (50, 90, 100)),
                f"{sum(map(len, stats.never().values()))}",
            )
        )
    header = ("source", "nodes: least", "median", "90 %", "most", "depth: median", "90 %", "most")
    table((*header, "never occur"), rows, f"{number} trees of each (a quarter of the large ones)")
    occurrences({name: occurring[name] for name in (DEFAULT, BYTES, HYPOTHESIS)}, number)
    print_report(statistics)
    if not smoke:
        DRAWING.parent.mkdir(exist_ok=True)
        DRAWING.write_bytes(plot(statistics))
        print(f"\ndrawn: {DRAWING}\n")


def facts_of(tree: Message) -> set[str]:
    """Return the features of a tree: alternatives, enum values, optional fields set and unset."""
    facts = set()
    for node, _path in walk(tree):
        for name, field in node.FIELDS.items():
            label = f"{field.message}.{field.schema_name}"
            value = getattr(node, name)
            if field.oneof:
                if node.which == name:
                    facts.add(label)
            elif field.rule == "optional":
                facts.add(f"{label} {'unset' if value is None else 'set'}")
            if isinstance(value, IntEnum):
                facts.add(f"{label} {value.name}")
    return facts


def occurrences(occurring: Mapping[str, Counter[str]], number: int) -> None:
    """Print the percentage of each source's trees in which the rarest features occur."""
    every = {fact for facts in occurring.values() for fact in facts}
    least = {fact: min(facts[fact] for facts in occurring.values()) for fact in every}
    rows = [
        (fact, *(f"{facts[fact] / number:.1%}" for facts in occurring.values()))
        for fact in sorted(every, key=lambda fact: (least[fact], fact))[:20]
    ]
    table(("of all trees", *occurring), rows, f"the rarest of {len(every)}")
    for name, facts in occurring.items():
        rarest = min(facts[fact] for fact in every)
        verdict(f"{name}: percent with the rarest", 100 * rarest / number, 1, least=True)
    print()


def targets(smoke: bool) -> None:
    """Print how close the median size is to the requested size."""
    rows = []
    worst = 1.0
    sizes = (1, 10, 100) if smoke else (1, 2, 3, 10, 30, 100, 300, 1000, 10_000, 100_000, 1_000_000)
    for size in sizes:
        for cls in (ModuleSet, StatBlock, Expr, Type):
            trees = range(3 if size >= 100_000 else max(9, min(200, 20_000 // size)))
            found = sorted(count(generate(cls, seed=i, size=size)) for i in trees)
            middle = statistics.median(found)
            ratio = middle / size
            worst = max(worst, ratio, 1 / ratio)
            cells = (found[0], middle, found[-1])
            rows.append((f"{size:,}", cls.__name__, *(f"{c:,.0f}" for c in cells), f"{ratio:.2f}"))
    table(("size", "message", "least", "median", "most", "median / size"), rows, "aimed sizes")
    print(f"{'met   ' if worst <= 2 else 'MISSED'}  medians within a factor of 2: {worst:.2f}\n")


def sources(number: int) -> dict[str, Callable[[], list[Message]]]:
    """Return a function for each source of trees, by the source's name.

    It makes `number` trees, or a quarter as many if they have 2000 nodes.
    """

    def from_bytes() -> list[Message]:
        data = [random.Random(i).randbytes(4096) for i in range(number)]
        return [generate(choices=BytesChoices(item)) for item in data]

    return {
        DEFAULT: lambda: [generate(seed=i) for i in range(number)],
        f"{DEFAULT}, swarm": lambda: [generate(seed=i, swarm=True) for i in range(number)],
        "RandomChoices, size 2000": lambda: [
            generate(seed=i, size=2000) for i in range(number // 4)
        ],
        BYTES: from_bytes,
        HYPOTHESIS: lambda: drawn(strategies.module_sets(), number),
    }
