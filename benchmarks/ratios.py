"""The README's table: times that users wait for, compared with peers that run at the same time.

Start-up and requests are medians of the processor time (user and system) of whole processes. These
take turns, so that other work on the machine affects all of them. Runs with several jobs are
measured in wall time, on all cores. Peers that are not installed are left out, and named.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import plain

from benchmarks.codec import corpus_tree
from benchmarks.generation import IDIOMATIC, drawn, per_node
from benchmarks.processes import Measured, measure, surroundings
from benchmarks.requests import PLAIN, peers, serving
from benchmarks.timing import clock, in_turns
from scriptschema import strategies, wire
from scriptschema.messages import ModuleSet

ORGREST = (sys.executable, "-m", "orgrest")
DOCUMENTS = 4
"""The number of documents, and of jobs, in a run with several jobs."""
PASSES = 5
"""How often all trees are encoded or decoded in a measurement."""
LONG = 10
"""A long run has this many times the requests of a normal run, so that start-up is only a small
part of its time."""


@attrs.frozen
class Row:
    """A ratio with its goal; `least` is true if a higher ratio is better."""

    what: str
    peer: str
    ratio: float
    goal: float | None = None
    least: bool = False


def main(smoke: bool) -> None:
    """Measure everything and print the table as Markdown."""
    with serving() as (folder, url):
        rows = [*processes(folder, url, smoke), *memory(folder, url, smoke), *trees(smoke)]
    print("| what | beside | times | goal |\n| --- | --- | --- | --- |")
    for row in rows:
        bound = "at least" if row.least else "at most"
        goal = f"{bound} {row.goal:g}" if row.goal else ""
        print(f"| {row.what} | {row.peer} | {row.ratio:.2f} | {goal} |")
    missing = [program for program in ("curl", "httpyac", "newman") if not shutil.which(program)]
    if missing:
        print(f"\nnot installed: {', '.join(missing)}")


def processes(folder: Path, url: str, smoke: bool) -> list[Row]:
    """Return the rows about start-up and about runs."""
    count = 4 if smoke else 200
    commands = start_commands(folder, url) | run_commands(folder, url, count)
    measured = take_turns(commands, 1 if smoke else 7)
    cpu = {name: statistics.median(run.cpu for run in runs) for name, runs in measured.items()}
    wall = {name: statistics.median(run.seconds for run in runs) for name, runs in measured.items()}
    # What is left of one request is the start.
    each = (cpu["test long"] - cpu["test one"]) / (cpu["urllib3 long"] - cpu["urllib3 one"])
    library, client = cpu["import urllib3"], cpu["urllib3 one"]
    run = f"`orgrest test`, {count} requests with an assertion each"
    rows = [
        Row("`orgrest --version`", "`import urllib3`", cpu["version"] / library),
        Row("`orgrest --dry-run` of one block", "`import urllib3`", cpu["dry"] / library, 1.3),
        Row("`orgrest`, one request", "urllib3, a fresh process", cpu["one"] / client, 1.5),
        Row("`orgrest test`, each additional request", "a loop with urllib3", each, 2),
    ]
    rows += [
        Row(run, peer, cpu["test many"] / cpu[peer])
        for peer in ("curl, a process each", "httpyac", "newman")
        if peer in cpu
    ]
    jobs = wall["one job"] / wall["jobs"]
    slow = wall["one job, slow"] / wall["jobs, slow"]
    documents = f"{DOCUMENTS} documents, `-j 1`"
    hypothesis = cpu["strategies"] / cpu["import hypothesis"]
    return [
        *rows,
        Row(f"{documents}, local server", f"`-j {DOCUMENTS}` (wall time)", jobs, 1.8, True),
        Row(f"{documents}, server that takes 10 ms", f"`-j {DOCUMENTS}` (wall time)", slow),
        Row("`from scriptschema import strategies`", "`import hypothesis`", hypothesis, 1.2),
        Row("`scriptschema --help`", "`import urllib3`", cpu["help"] / library),
    ]


def start_commands(folder: Path, url: str) -> dict[str, list[str]]:
    """Return commands that start, do little, and exit, by name."""
    notes = folder / "one.org"
    notes.write_text(f"#+begin_src restclient\nGET {url}\n#+end_src\n")
    python = [sys.executable, "-c"]
    return {
        "import urllib3": [*python, "import urllib3"],
        "version": [*ORGREST, "--version"],
        "dry": [*ORGREST, "--dry-run", str(notes)],
        "one": [*ORGREST, "--quiet", "--stdout", str(notes)],
        "urllib3 one": [*python, PLAIN, url, "1"],
        "import hypothesis": [*python, "import hypothesis"],
        "strategies": [*python, "from scriptschema import strategies"],
        "help": [sys.executable, "-m", "scriptschema", "--help"],
    }


def run_commands(folder: Path, url: str, count: int) -> dict[str, list[str]]:
    """Return commands by which orgrest and its peers run `count` requests, by name."""
    one, many, long = (folder / f"{name}.http" for name in ("one", "many", "long"))
    several, slow = folder / "several", folder / "slow"
    one.write_text(document(url, 1))
    many.write_text(document(url, count))
    long.write_text(document(url, LONG * count))
    several.mkdir()
    slow.mkdir()
    for number in range(DOCUMENTS):
        (several / f"{number}.http").write_text(document(url, count))
        (slow / f"{number}.http").write_text(document(f"{url.removesuffix('/json')}/slow", count))
    test = [*ORGREST, "test", "--quiet"]
    commands = {
        "urllib3 long": [sys.executable, "-c", PLAIN, url, str(LONG * count)],
        "test one": [*test, str(one)],
        "test many": [*test, str(many)],
        "test long": [*test, str(long)],
        "one job": [*test, str(several)],
        "jobs": [*test, "-j", str(DOCUMENTS), str(several)],
        "one job, slow": [*test, str(slow)],
        "jobs, slow": [*test, "-j", str(DOCUMENTS), str(slow)],
    }
    commands |= peers(many, url, count)
    if shutil.which("newman"):
        collection = folder / "many.json"
        export = [*ORGREST, "export", "--to", "postman", str(many)]
        collection.write_bytes(subprocess.run(export, check=True, capture_output=True).stdout)
        commands["newman"] = ["newman", "run", "--silent", str(collection)]
    return commands


def document(url: str, count: int) -> str:
    """Return a request file with `count` requests, each with an assertion."""
    return "".join(f"### r{n}\nGET {url}?n={n}\n?? status == 200\n\n" for n in range(count))


def take_turns(commands: Mapping[str, list[str]], rounds: int) -> dict[str, list[Measured]]:
    """Run each command once per round, after a round that fills the caches; return the times."""
    environment = surroundings()
    runs: dict[str, list[Measured]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            measured = measure(command, 1, environment)
            if turn:
                runs[name].append(measured)
    return runs


def memory(folder: Path, url: str, smoke: bool) -> list[Row]:
    """Return the row about memory: a run with reports, compared with half as many requests."""
    count = 10 if smoke else 2_500
    used = []
    for name, requests in (("half", count), ("twice", 2 * count)):
        path = folder / f"{name}.http"
        path.write_text(document(url, requests))
        command = [*ORGREST, "test", "--quiet", str(path)]
        command += [f"--{report}={folder / report}" for report in ("report-json", "junit", "html")]
        used.append(measure(command, 1, surroundings()).megabytes)
    what = f"memory used by a run of {2 * count:,} requests, with reports"
    return [Row(what, f"{count:,} requests", used[1] / used[0], 1.05)]


def trees(smoke: bool) -> list[Row]:
    """Return the rows about encoding, decoding and drawing trees."""
    trees = [corpus_tree(seed, 50 if smoke else 200) for seed in range(3 if smoke else 100)]
    data = [wire.encode(tree) for tree in trees]
    twins = [plain.from_message(tree) for tree in trees]
    loads = plain.CLASSES["ModuleSet"].loads

    def repeated(convert: Callable[[Any], object], items: Sequence[Any]) -> float:
        # The first pass, with cold caches, takes only a few milliseconds, and varies a lot.
        return clock(lambda: [convert(item) for _ in range(PASSES) for item in items])

    examples = 5 if smoke else 100

    tasks: dict[str, Callable[[], float]] = {
        "encode": lambda: repeated(wire.encode, trees),
        "decode": lambda: repeated(lambda item: wire.decode(ModuleSet, item), data),
        "plain encode": lambda: repeated(bytes, twins),
        "plain decode": lambda: repeated(loads, data),
        "draw": lambda: per_node(lambda: drawn(strategies.module_sets(), examples)),
        "plain draw": lambda: per_node(lambda: drawn(IDIOMATIC[ModuleSet], examples)),
    }
    times = in_turns(tasks, 1 if smoke else 7, lambda task: task())
    best = {name: taken.best for name, taken in times.items()}
    titles = {
        "encode": ("pure-protobuf, encoding trees", "scriptschema", 10),
        "decode": ("pure-protobuf, decoding trees", "scriptschema", 15),
        "draw": ("idiomatic Hypothesis, a node", "scriptschema's strategies", 40),
    }
    return [
        Row(what, peer, best[f"plain {name}"] / best[name], goal, True)
        for name, (what, peer, goal) in titles.items()
    ]
