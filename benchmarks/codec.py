"""Encoding and decoding, compared with plain pure-protobuf and both runtimes of protobuf."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import plain
import spec

from benchmarks.timing import (
    Case,
    Times,
    count,
    growth,
    in_turns,
    memory,
    noise,
    table,
    verdict,
)
from scriptschema import wire
from scriptschema.base import Message, walk
from scriptschema.choices import RandomChoices
from scriptschema.files import delimited
from scriptschema.fuzzing.mutate import Mutator
from scriptschema.generation.bulk import make_unicode
from scriptschema.generation.trees import generate
from scriptschema.messages import (
    Expr,
    ExprConstantNil,
    ExprGroup,
    ModuleSet,
    Stat,
    StatBlock,
    StatReturn,
)

OURS = "scriptschema"
PURE = "plain pure-protobuf"


def main(smoke: bool) -> None:
    """Print all figures."""
    trees = [corpus_tree(seed, 50 if smoke else 200) for seed in range(3 if smoke else 100)]
    rounds = 2 if smoke else 9
    data = [wire.encode(tree) for tree in trees]
    runtime = spec.runtime_classes()["ModuleSet"]
    loads = plain.CLASSES["ModuleSet"].loads
    print(f"{len(trees)} trees, {count(*trees):,} nodes, {sum(map(len, data)):,} bytes\n")
    times = speed(trees, rounds, "", (8, 8))
    visited = in_turns(
        {
            OURS: lambda: [visit(wire.decode(ModuleSet, item)) for item in data],
            "upb, table of fields": lambda: [
                visit_by_table(runtime.FromString(item)) for item in data
            ],
            "upb, ListFields": lambda: [visit_by_list(runtime.FromString(item)) for item in data],
        },
        rounds,
    )
    speed_table("decode, then visit each node from Python", visited, trees)
    best = min(visited["upb, table of fields"].best, visited["upb, ListFields"].best)
    verdict("decode and visit, time of upb's", visited[OURS].best / best, 2, least=False)
    ours = memory(lambda: [wire.decode(ModuleSet, item) for item in data]) / count(*trees)
    theirs = memory(lambda: [loads(item) for item in data]) / count(*trees)
    table(
        ("memory of decoded trees", "bytes a node", "ratio"),
        [(OURS, f"{ours:.0f}", "1.0"), (PURE, f"{theirs:.0f}", f"{theirs / ours:.1f}")],
    )
    verdict("memory a node, part of plain pure-protobuf's", ours / theirs, 1, least=False)
    noise(*times, visited, *growths(smoke))
    noise(*speed(mutated(trees), rounds, " mutated trees", (9, 10)))


def speed(
    trees: Sequence[ModuleSet], rounds: int, what: str, goals: tuple[float, float]
) -> list[dict[str, Times]]:
    """Print the speed of encoding and decoding trees, beside the peers; return the times.

    `goals` are the intended speeds of both, relative to plain pure-protobuf.
    """
    data = [wire.encode(tree) for tree in trees]
    runtime = spec.runtime_classes()["ModuleSet"]
    loads = plain.CLASSES["ModuleSet"].loads
    twins = [plain.from_message(tree) for tree in trees]
    parsed = [runtime.FromString(item) for item in data]
    assert [bytes(twin) for twin in twins] == data  # the peers do the same work
    assert [item.SerializeToString(deterministic=True) for item in parsed] == data
    tasks: dict[str, dict[str, Callable[[], Any]]] = {
        "encode": {
            OURS: lambda: [wire.encode(tree) for tree in trees],
            PURE: lambda: [bytes(twin) for twin in twins],
            "protobuf (upb)": lambda: [item.SerializeToString() for item in parsed],
        },
        "decode": {
            OURS: lambda: [wire.decode(ModuleSet, item) for item in data],
            PURE: lambda: [loads(item) for item in data],
            "protobuf (upb)": lambda: [runtime.FromString(item) for item in data],
        },
    }
    times = {name: in_turns(inner, rounds) for name, inner in tasks.items()}
    for name, seconds in python_runtime(data, rounds, [*tasks]).items():
        times[name]["protobuf (Python)"] = seconds
    for (name, taken), goal in zip(times.items(), goals, strict=True):
        speed_table(f"{name}{what}", taken, trees)
        ratio = taken[PURE].best / taken[OURS].best
        verdict(f"{name}, times as fast as plain pure-protobuf", ratio, goal, least=True)
        print()
    return [*times.values()]


def mutated(trees: Sequence[ModuleSet]) -> list[ModuleSet]:
    """Return trees after 50 mutations, which contain larger and negative integers."""
    choices = RandomChoices(1)
    mutants = []
    for tree in trees[:60]:
        mutator = Mutator(donors=trees[:5], max_depth=60, programs=False)
        for _ in range(50):
            tree = mutator.mutate(tree, choices).tree
        make_unicode(tree)
        mutants.append(tree)
    return mutants


def corpus_tree(seed: int, size: int) -> ModuleSet:
    """Return a random tree that plain pure-protobuf can hold: valid UTF-8, and not very deep."""
    tree = generate(seed=seed, size=size, max_depth=60)
    make_unicode(tree)
    return tree


def speed_table(title: str, times: dict[str, Times], trees: Sequence[ModuleSet]) -> None:
    """Print a table of speeds, and of the ratio of each time to ours, for tasks on trees."""
    nodes, size = count(*trees), sum(len(wire.encode(tree)) for tree in trees)
    rows = [
        (
            name,
            f"{taken.best / nodes * 1e6:.3f}",
            f"{size / taken.best / 1e6:.2f}",
            f"{taken.best / times[OURS].best:.2f}",
        )
        for name, taken in times.items()
    ]
    table((title, "us a node", "MB/s", "time, ours = 1"), rows)


# Visits


def visit(tree: Message) -> int:
    """Visit each node of one of our trees; return their number."""
    count = 0
    for _message, _path in walk(tree):
        count += 1
    return count


def visit_by_list(tree: Any) -> int:
    """Visit each node of a upb tree without a table of its fields; return their number."""
    count = 0
    stack = [tree]
    while stack:
        message = stack.pop()
        count += 1
        for field, value in message.ListFields():
            if field.message_type is not None:
                if field.is_repeated:
                    stack.extend(value)
                else:
                    stack.append(value)
    return count


def _child_fields() -> dict[str, tuple[str | None, list[str], list[str]]]:
    """Return, for each message, its oneof, and its other singular and repeated message fields."""
    found = {}
    for name, made in spec.runtime_classes().items():
        fields = [f for f in made.DESCRIPTOR.fields if f.message_type and not f.containing_oneof]
        oneof = made.DESCRIPTOR.oneofs[0].name if made.DESCRIPTOR.oneofs else None
        if name == "Name":
            oneof = None  # of integers
        found[name] = (
            oneof,
            [field.name for field in fields if not field.is_repeated],
            [field.name for field in fields if field.is_repeated],
        )
    return found


def visit_by_table(tree: Any) -> int:
    """Visit each node of a upb tree with a table of its fields; return their number."""
    count = 0
    fields = _CHILD_FIELDS
    stack = [tree]
    while stack:
        message = stack.pop()
        count += 1
        oneof, single, repeated = fields[message.__class__.__name__]
        if oneof:
            name = message.WhichOneof(oneof)
            if name:
                stack.append(getattr(message, name))
        for name in single:
            if message.HasField(name):
                stack.append(getattr(message, name))
        for name in repeated:
            stack.extend(getattr(message, name))
    return count


_CHILD_FIELDS = _child_fields()


# Growth


def growths(smoke: bool) -> Iterator[dict[str, Times]]:
    """Print how the time grows with the size and with the depth of a tree; yield the times."""
    sizes = (1_000, 3_000) if smoke else (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
    heads = ("bytes", "nodes", "memory a byte, decoded")
    yield growth("growth with size", heads, map(case_of_size, sizes), 2 if smoke else 5)
    nodes = 500 if smoke else 20_000
    cases = (
        case_of_depth(depth, nodes) for depth in ((10, 100) if smoke else (10, 20, 50, 80, 100))
    )
    yield growth(f"growth with depth, {nodes:,} nodes", ("depth",), cases, 2 if smoke else 5)


def case_of_size(size: int) -> Case:
    """Return the tasks for a tree of about `size` bytes."""
    tree = tree_of_bytes(size)
    data = wire.encode(tree)
    nodes = count(tree)
    repeat = max(1, 300_000 // size)
    runtime = spec.runtime_classes()["ModuleSet"]
    taken = "-"  # counting the memory of large trees takes minutes
    if size <= 1_000_000:
        taken = f"{memory(lambda: wire.decode(ModuleSet, data)) / len(data):.0f}"
    tasks = {
        "encode": lambda: [wire.encode(tree) for _ in range(repeat)],
        "decode": lambda: [wire.decode(ModuleSet, data) for _ in range(repeat)],
        "decode (upb)": lambda: [runtime.FromString(data) for _ in range(repeat)],
    }
    return (f"{len(data):,}", f"{nodes:,}", taken), nodes * repeat, tasks


def case_of_depth(depth: int, nodes: int) -> Case:
    """Return the tasks for a tree of a depth and about `nodes` nodes."""
    tree = tree_of_depth(depth, nodes)
    data = wire.encode(tree)
    runtime = spec.runtime_classes()["Stat"]
    loads = plain.CLASSES["Stat"].loads
    tasks: dict[str, Callable[[], Any]] = {
        "encode": lambda: wire.encode(tree),
        "decode": lambda: wire.decode(Stat, data),
        "decode (upb)": lambda: runtime.FromString(data),
    }
    if depth <= 80:  # deeper than this, pure-protobuf ends in a RecursionError
        twin = plain.from_message(tree)
        tasks |= {"plain: encode": lambda: bytes(twin), "plain: decode": lambda: loads(data)}
    return (f"{depth}",), count(tree), tasks


def tree_of_bytes(target: int) -> ModuleSet:
    """Return a tree of about `target` bytes: a random tree, or the statements of several."""
    body: list[Stat] = []
    size = seed = 0
    while size < target * 0.8:
        part = generate(StatBlock, seed=seed, size=max(1, min(300_000, (target - size) * 2 // 7)))
        body += part.body
        size += len(wire.encode(part))
        seed += 1
    return ModuleSet(program=StatBlock(body=body))


def tree_of_depth(depth: int, nodes: int) -> Stat:
    """Return a tree of a depth and size: `return` with a list of expressions in parentheses."""
    expressions = []
    for _ in range(max(1, nodes // (depth - 1))):
        expr = Expr(nil=ExprConstantNil())
        for _ in range((depth - 3) // 2):
            expr = Expr(group=ExprGroup(expr=expr))
        expressions.append(expr)
    return Stat(return_=StatReturn(list=expressions))


# protobuf's Python runtime, which has to be selected before a process starts


def python_runtime(data: Sequence[bytes], rounds: int, tasks: Sequence[str]) -> dict[str, Times]:
    """Return the times of protobuf's implementation in Python, or {} if it is missing."""
    paths = [str(Path(__file__).parent.parent), str(Path(spec.__file__).parent)]
    environment = {
        **os.environ,
        "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python",
        "PYTHONPATH": os.pathsep.join(paths),
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.python_runtime", str(rounds), *tasks],
        env=environment,
        input=b"".join(map(delimited, data)),
        stdout=subprocess.PIPE,
        check=True,
    )
    name, *lines = done.stdout.decode().splitlines()
    if name != "python":
        print("protobuf's Python runtime is not there any more: left out\n")
        return {}
    times = (Times([float(part) for part in line.split()]) for line in lines)
    return dict(zip(tasks, times, strict=True))
