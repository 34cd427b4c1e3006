"""Programs: the cost of repair, render and parse, and how many trees compile and run in real Luau.

The figures are shown next to those of a peer: libprotobuf-mutator with the printer of Luau 677's
own fuzzer, for 10,000 trees grown by mutation (mean 26 nodes) and also by crossover (mean 230
nodes). Parts that need the real Luau are left out, with a message, if it is not installed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.processes import lacks_luau
from benchmarks.timing import Case, count, growth, in_turns, noise, table
from scriptschema.base import walk
from scriptschema.generation.trees import generate
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import check, repair
from scriptschema.messages import Local, ModuleSet

PEER = {26: {"compile": 0.93, "end": 0.33}, 230: {"compile": 0.77, "end": 0.15}}
PEER_FAILURES = {
    "attempt to call a nil value": 0.30,
    "attempt to index nil": 0.20,
    "attempt to iterate over a nil value": 0.12,
    "invalid 'for'": 0.10,
    "attempt to perform arithmetic on nil": 0.12,
}


def main(smoke: bool) -> None:
    """Print all figures."""
    trees = [generate(ModuleSet, seed=seed, size=200) for seed in range(5 if smoke else 200)]
    speed(trees, rounds=2 if smoke else 7)
    sizes = (100, 1000) if smoke else (100, 1000, 10_000, 100_000)
    growth("growth", ("",), map(case, sizes), 1 if smoke else 5)
    spread(20 if smoke else 2000)
    real(20 if smoke else 300)


def speed(trees: Sequence[ModuleSet], rounds: int) -> None:
    """Print the time per node, and how much source per second is written and read."""
    repaired = [repair(tree) for tree in trees]
    sources = [render(tree.program) for tree in repaired]
    programs = [tree.program for tree in repaired]
    nodes = {"all": count(*trees), "programs": count(*programs)}
    megabytes = sum(len(source.encode()) for source in sources) / 1e6
    tasks: dict[str, Callable[[], Any]] = {
        "repair": lambda: [repair(tree) for tree in trees],
        "repair, of a valid tree": lambda: [repair(tree) for tree in repaired],
        "check": lambda: [check(tree) for tree in trees],
        "render": lambda: [render(program) for program in programs],
        "parse": lambda: [parse(source) for source in sources],
    }
    times = in_turns(tasks, rounds)
    rows = []
    for name, took in times.items():
        is_text = name in ("render", "parse")
        each = took.best / nodes["programs" if is_text else "all"] * 1e6
        rows.append((name, f"{each:.2f}", f"{megabytes / took.best:.2f}" if is_text else "-"))
    table(("", "us a node", "MB of source a second"), rows, f"{len(trees)} trees")
    noise(times)


def case(size: int) -> Case:
    """Return the tasks for a tree of a size."""
    tree = generate(ModuleSet, seed=size, size=size)
    repaired = repair(tree)
    source = render(repaired.program)
    tasks: dict[str, Callable[[], Any]] = {
        "repair": lambda: repair(tree),
        "render": lambda: render(repaired.program),
        "parse": lambda: parse(source),
    }
    return (f"{count(tree):,} nodes",), count(tree), tasks


def spread(trees: int) -> None:
    """Print the distribution of names over their tables."""
    local_names: Counter[str] = Counter()
    builtins = set()
    for seed in range(trees):
        for node, _ in walk(repair(generate(ModuleSet, seed=seed, size=26)).program):
            if isinstance(node, Local):
                local_names[DEFAULT.local(node.name)] += 1
        source = render(repair(generate(ModuleSet, seed=seed, size=230)))
        builtins |= {*re.findall(r"[A-Za-z_]\w*", source)} & {*DEFAULT.globals, *DEFAULT.members}
    [(name, most)] = local_names.most_common(1)
    known = len({*DEFAULT.globals, *DEFAULT.members})
    table(
        (f"names in {trees:,} trees", "ours", "peer"),
        [
            ("the most frequent local", f"{most / local_names.total():.0%} ({name})", "80% (l0)"),
            ("builtin names that occur", f"{len(builtins) / known:.0%}", "about half"),
        ],
    )


def real(trees: int) -> None:
    """Print what the real Luau reports about trees."""
    if lacks_luau("what the real Luau says of programs"):
        return
    from real_luau import RealLuau

    rows = []
    failures: Counter[str] = Counter()
    with RealLuau() as luau:
        for size, swarm in ((26, False), (26, True), (230, False), (230, True)):
            compiled = compiled_repaired = ended = late = small = 0
            for seed in range(trees):
                tree = generate(ModuleSet, seed=seed, size=size, swarm=swarm)
                repaired = repair(tree)
                compiled += all(luau.compile(text) is None for text in texts(tree))
                compiled_repaired += all(luau.compile(text) is None for text in texts(repaired))
                small += count(repaired) <= 3  # the program's, a block's and one statement's
                sources = render_module_set(repaired)
                answer = luau.run(sources.program, sources.module, milliseconds=50)
                ended += answer.error is None
                late += answer.timeout
                failures[kind(answer.error)] += 1
            peer = PEER[size]
            shares = [
                f"{part / trees:.0%}" for part in (compiled, compiled_repaired, ended, late, small)
            ]
            name = f"{size} nodes{', swarm' if swarm else ''}"
            rows.append((name, *shares, f"{peer['compile']:.0%}", f"{peer['end']:.0%}"))
    table(
        (
            f"{trees:,} trees of each kind", "compile", "repaired", "end", "too late",
            "tiny", "peer compiles", "peer ends",
        ),
        rows,
    )  # fmt: skip
    del failures[""]
    total = failures.total() or 1
    table(
        ("failures", "ours", "peer"),
        [
            (
                name,
                f"{number / total:.0%}",
                f"{PEER_FAILURES[name]:.0%}" if name in PEER_FAILURES else "",
            )
            for name, number in failures.most_common(12)
        ],
    )


def texts(tree: ModuleSet) -> list[str]:
    """Return the sources of a tree: of the module, if it has one, and of the program."""
    sources = render_module_set(tree)
    return [text for text in (sources.module, sources.program) if text is not None]


def kind(error: str | None) -> str:
    """Return the kind of an error message, without positions and names."""
    text = re.sub(r"^\w+:\d+: ", "", error or "")
    text = re.sub(r"(?<=arithmetic) \(\w+\)", "", text)
    text = re.sub(
        r"attempt to perform arithmetic on .*\bnil\b.*",
        "attempt to perform arithmetic on nil",
        text,
    )
    text = re.sub(r"(attempt to index nil|invalid 'for').*", r"\1", text)
    return re.sub(r"'[^']*'|#?\d+", "...", text) if not text.startswith("invalid 'for'") else text
