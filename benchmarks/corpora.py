"""Corpora: counting, importing and distilling many trees."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import clock, count, in_turns, noise, table, verdict
from scriptschema import files, wire
from scriptschema.base import walk
from scriptschema.codec.scanning import parts
from scriptschema.files import FileError
from scriptschema.fuzzing.corpora.distill import by_schema, distill
from scriptschema.fuzzing.corpora.reading import Reader, corpus_files
from scriptschema.fuzzing.corpora.statistics import CorpusStats
from scriptschema.fuzzing.corpora.transfer import import_trees
from scriptschema.generation.trees import generate
from scriptschema.messages import MESSAGES, ModuleSet


def main(smoke: bool) -> None:
    """Print all figures."""
    counting(smoke)
    importing(smoke)


def counting(smoke: bool) -> None:
    """Print the time to count the messages of a corpus, by scanning and by decoding and walking."""
    trees = [generate(seed=seed, size=200) for seed in range(3 if smoke else 100)]
    data = [wire.encode(tree) for tree in trees]
    nodes = count(*trees)
    assert by_scanning(data) == by_walking(data)
    times = in_turns(
        {
            "scan, and count all": lambda: by_scanning(data),
            "decode and walk, and count messages": lambda: by_walking(data),
        },
        2 if smoke else 9,
    )
    rows = [(name, f"{taken.best / nodes * 1e6:.3f}") for name, taken in times.items()]
    table((f"{nodes:,} nodes", "us a node"), rows, "counting what a corpus holds")
    noise(times)
    scanning, walking = (taken.best for taken in times.values())
    verdict("counting by scanning, times as fast as by walking", walking / scanning, 4, least=True)
    print()


def by_scanning(data: list[bytes]) -> dict[str, int]:
    """Return the number of occurrences of each message, counted as in `corpus stats`."""
    stats = CorpusStats()
    for item in data:
        stats.add_scan(wire.scan(ModuleSet, item))
    return {name: count for name, count in stats.messages.items() if count}


def by_walking(data: list[bytes]) -> dict[str, int]:
    """Return the number of occurrences of each message, counted in decoded trees."""
    counts = dict.fromkeys(MESSAGES, 0)
    for item in data:
        for node, _ in walk(wire.decode(ModuleSet, item)):
            counts[node.__class__.__name__] += 1
    return {name: count for name, count in counts.items() if count}


def importing(smoke: bool) -> None:
    """Print the times to import trees of 30 nodes, to import them again, and to distill them.

    They are in binary and in text format.
    """
    parts()  # compiled before it is measured
    count = 20 if smoke else 5_000
    reader = Reader(ModuleSet)
    rows = []
    speeds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources: dict[str, files.Format] = {"binary": "binary", "text format": "text"}
        for form in sources.values():
            source = folder / form
            source.mkdir()
            for seed in range(count):
                tree = generate(seed=seed, size=30)
                (source / f"{seed:x}").write_bytes(files.serialize(tree, form))
        tasks: dict[str, Callable[[], object]] = {}
        for what, form in sources.items():
            source, corpus = folder / form, folder / f"of {form}"

            def task(source: Path = source, corpus: Path = corpus) -> object:
                return import_trees(corpus_files([source]), corpus, reader, fail)

            tasks[f"import, {what}"] = task
            tasks[f"import again, {what}"] = task

        def small() -> object:
            items = corpus_files([folder / "of binary"])
            return distill(items, folder / "small", reader, by_schema(reader), fail)

        tasks["distill"] = small
        for what, task in tasks.items():
            start = time.perf_counter()
            seconds = clock(task)
            whole = time.perf_counter() - start
            speeds[what] = count / seconds
            rows.append((what, f"{count / seconds:,.0f}", f"{count / whole:,.0f}"))
    table(
        (f"{count:,} trees of 30 nodes", "a second of one core", "a second"), rows, "whole corpora"
    )
    for what in sources:
        verdict(
            f"import, {what}, files a second of one core",
            speeds[f"import, {what}"], 1000, least=True,
        )  # fmt: skip
    print()


def fail(error: FileError) -> None:
    """Raise the error: no tree here is unreadable."""
    raise error
