"""Encoding and decoding, compared with plain pure-protobuf and both runtimes of protobuf."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import plain
import spec

from benchmarks.timing import Times, clock, in_turns, memory, noise, table, verdict
from scriptschema import wire
from scriptschema.base import Message, walk
from scriptschema.choices import RandomChoices
from scriptschema.files import delimited
from scriptschema.fuzzing.mutate import Mutator
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

PYTHON = "protobuf (Python)"


def main(smoke: bool) -> None:
    """Print all figures."""
    trees = [corpus_tree(seed, 50 if smoke else 200) for seed in range(3 if smoke else 100)]
    rounds = 2 if smoke else 9
    nodes = sum(1 for tree in trees for _ in walk(tree))
    data = [wire.encode(tree) for tree in trees]
    size = sum(map(len, data))
    print(f"{len(trees)} trees, {nodes:,} nodes, {size:,} bytes\n")
    runtime = spec.runtime_classes()["ModuleSet"]
    loads = plain.CLASSES["ModuleSet"].loads
    twins = [plain.from_message(tree) for tree in trees]
    parsed = [runtime.FromString(item) for item in data]
    assert [bytes(twin) for twin in twins] == data  # the peers do the same work
    assert [item.SerializeToString(deterministic=True) for item in parsed] == data

    encode: dict[str, Callable[[], float]] = {
        "scriptschema": lambda: clock(lambda: [wire.encode(tree) for tree in trees]),
        "plain pure-protobuf": lambda: clock(lambda: [bytes(twin) for twin in twins]),
        "protobuf (upb)": lambda: clock(lambda: [item.SerializeToString() for item in parsed]),
    }
    decode: dict[str, Callable[[], float]] = {
        "scriptschema": lambda: clock(lambda: [wire.decode(ModuleSet, item) for item in data]),
        "plain pure-protobuf": lambda: clock(lambda: [loads(item) for item in data]),
        "protobuf (upb)": lambda: clock(lambda: [runtime.FromString(item) for item in data]),
    }
    python = PythonRuntime.start(data)
    if python:
        encode[PYTHON] = lambda: python.measure("encode")
        decode[PYTHON] = lambda: python.measure("decode")
    encoded = in_turns(encode, rounds)
    decoded = in_turns(decode, rounds)
    visited = in_turns(
        {
            "scriptschema": lambda: clock(lambda: [visit(wire.decode(ModuleSet, i)) for i in data]),
            "upb, table of fields": lambda: clock(
                lambda: [visit_by_table(runtime.FromString(item)) for item in data]
            ),
            "upb, ListFields": lambda: clock(
                lambda: [visit_by_list(runtime.FromString(item)) for item in data]
            ),
        },
        rounds,
    )
    if python:
        python.stop()
    speed_table("encode", encoded, nodes, size)
    speed_table("decode", decoded, nodes, size)
    speed_table("decode, then visit each node from Python", visited, nodes, size)
    ours = memory(lambda: [wire.decode(ModuleSet, item) for item in data]) / nodes
    theirs = memory(lambda: [loads(item) for item in data]) / nodes
    table(
        ("memory of decoded trees", "bytes a node", "ratio"),
        [
            ("scriptschema", f"{ours:.0f}", "1.0"),
            ("plain pure-protobuf", f"{theirs:.0f}", f"{theirs / ours:.1f}"),
        ],
    )
    grown = growth(smoke)
    deep = depths(smoke)
    noise(encoded, decoded, visited, grown, deep)
    best = min(visited["upb, table of fields"].best, visited["upb, ListFields"].best)
    pure = "plain pure-protobuf"
    verdict(
        "encode, times as fast as plain pure-protobuf",
        encoded[pure].best / encoded["scriptschema"].best, 8, least=True,
    )  # fmt: skip
    verdict(
        "decode, times as fast as plain pure-protobuf",
        decoded[pure].best / decoded["scriptschema"].best, 8, least=True,
    )  # fmt: skip
    verdict(
        "decode and visit, time of upb's",
        visited["scriptschema"].best / best, 2, least=False,
    )  # fmt: skip
    verdict("memory a node, part of plain pure-protobuf's", ours / theirs, 1, least=False)
    print()
    mutated(trees, rounds)


def mutated(trees: Sequence[ModuleSet], rounds: int) -> None:
    """Print the speed for trees after 50 mutations, which contain larger and negative integers."""
    choices = RandomChoices(1)
    mutants = []
    for tree in trees[:60]:
        mutator = Mutator(donors=trees[:5], max_depth=60, programs=False)
        for _ in range(50):
            tree = mutator.mutate(tree, choices).tree
        mutants.append(in_utf8(tree))
    nodes = sum(1 for tree in mutants for _ in walk(tree))
    data = [wire.encode(tree) for tree in mutants]
    loads = plain.CLASSES["ModuleSet"].loads
    twins = [plain.from_message(tree) for tree in mutants]
    assert [bytes(twin) for twin in twins] == data
    times = {
        "encode": in_turns(
            {
                "scriptschema": lambda: clock(lambda: [wire.encode(tree) for tree in mutants]),
                "plain pure-protobuf": lambda: clock(lambda: [bytes(twin) for twin in twins]),
            },
            rounds,
        ),
        "decode": in_turns(
            {
                "scriptschema": lambda: clock(lambda: [wire.decode(ModuleSet, i) for i in data]),
                "plain pure-protobuf": lambda: clock(lambda: [loads(item) for item in data]),
            },
            rounds,
        ),
    }
    for (title, taken), least in zip(times.items(), (9, 10), strict=True):
        speed_table(f"{title} mutated trees", taken, nodes, sum(map(len, data)))
        ratio = taken["plain pure-protobuf"].best / taken["scriptschema"].best
        verdict(f"{title}, times as fast as plain pure-protobuf", ratio, least, least=True)
    noise(*times.values())
    print()


def corpus_tree(seed: int, size: int) -> ModuleSet:
    """Return a random tree that plain pure-protobuf can hold: valid UTF-8, and not very deep."""
    return in_utf8(generate(seed=seed, size=size, max_depth=60))


def in_utf8(tree: ModuleSet) -> ModuleSet:
    """Change the strings of a tree to valid UTF-8, which pure-protobuf needs; return the tree."""
    for node, _ in walk(tree):
        for name, field in node.FIELDS.items():
            if field.type is str:
                text = getattr(node, name)
                if text is not None:
                    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
                    setattr(node, name, text)
    return tree


def speed_table(title: str, times: dict[str, Times], nodes: int, size: int) -> None:
    """Print a table of speeds, and of the ratio of each time to ours.

    `nodes` and `size` are the nodes and bytes that each task processed.
    """
    ours = times["scriptschema"].best
    rows = [
        (
            name,
            f"{taken.best / nodes * 1e6:.3f}",
            f"{size / taken.best / 1e6:.2f}",
            f"{taken.best / ours:.2f}",
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


def growth(smoke: bool) -> dict[str, Times]:
    """Print how the time grows with the size of a tree; return the times."""
    rows = []
    all_times = {}
    runtime = spec.runtime_classes()["ModuleSet"]
    for target in (1_000, 3_000) if smoke else (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        tree = tree_of_bytes(target)
        data = wire.encode(tree)
        nodes = sum(1 for _ in walk(tree))
        repeat = 1 if smoke else max(1, 300_000 // target)
        times = in_turns(
            {
                "encode": lambda t=tree, n=repeat: clock(
                    lambda: [wire.encode(t) for _ in range(n)]
                ),
                "decode": lambda d=data, n=repeat: clock(
                    lambda: [wire.decode(ModuleSet, d) for _ in range(n)]
                ),
                "upb": lambda d=data, n=repeat: clock(
                    lambda: [runtime.FromString(d) for _ in range(n)]
                ),
            },
            2 if smoke or target > 1_000_000 else 5,
        )
        all_times |= {f"{name} {target}": taken for name, taken in times.items()}
        figures = [f"{time.best / repeat / nodes * 1e6:.3f}" for time in times.values()]
        taken = "-"  # counting the memory of large trees takes minutes
        if target <= 1_000_000:
            taken = f"{memory(lambda d=data: wire.decode(ModuleSet, d)) / len(data):.0f}"
        rows.append((f"{len(data):,}", f"{nodes:,}", *figures, taken))
        del tree
    header = ("bytes", "nodes", "encode", "decode", "decode (upb)", "memory a byte, decoded")
    table(header, rows, "growth with size, us a node")
    return all_times


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


def depths(smoke: bool) -> dict[str, Times]:
    """Print how the time grows with the depth of trees of equal size; return the times."""
    rows = []
    all_times = {}
    nodes = 500 if smoke else 20_000
    runtime = spec.runtime_classes()["Stat"]
    loads = plain.CLASSES["Stat"].loads
    for depth in (10, 100) if smoke else (10, 20, 50, 80, 100):
        tree = tree_of_depth(depth, nodes)
        data = wire.encode(tree)
        count = sum(1 for _ in walk(tree))
        tasks = {
            "encode": lambda t=tree: clock(lambda: wire.encode(t)),
            "decode": lambda d=data: clock(lambda: wire.decode(Stat, d)),
            "upb": lambda d=data: clock(lambda: runtime.FromString(d)),
        }
        # Deeper than this, pure-protobuf ends in a RecursionError.
        if depth <= 80:
            twin = plain.from_message(tree)
            tasks["plain encode"] = lambda t=twin: clock(lambda: bytes(t))
            tasks["plain decode"] = lambda d=data: clock(lambda: loads(d))
        times = in_turns(tasks, 2 if smoke else 5)
        all_times |= {f"{name} {depth}": taken for name, taken in times.items()}
        figures = [f"{taken.best / count * 1e6:.3f}" for taken in times.values()]
        rows.append((f"{depth}", *figures, *["-"] * (5 - len(figures))))
    header = ("depth", "encode", "decode", "decode (upb)", "plain: encode", "decode")
    table(header, rows, f"growth with depth, {nodes:,} nodes, us a node")
    return all_times


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


class PythonRuntime:
    """A process that measures protobuf's implementation in Python."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    @classmethod
    def start(cls, data: Sequence[bytes]) -> PythonRuntime | None:
        """Start the process with the trees in `data`; None if protobuf has no such runtime."""
        paths = [str(Path(__file__).parent.parent), str(Path(spec.__file__).parent)]
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.python_runtime"],
            env={
                **os.environ,
                "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python",
                "PYTHONPATH": os.pathsep.join(paths),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        made = cls(process)
        if made._ask(str(len(data)).encode()) != b"python":
            print("protobuf's Python runtime is not there any more: left out\n")
            made.stop()
            return None
        for item in data:
            assert process.stdin
            process.stdin.write(delimited(item))
        return made

    def measure(self, what: str) -> float:
        """Return the seconds that the process needs to encode or decode all trees."""
        return float(self._ask(what.encode()))

    def _ask(self, line: bytes) -> bytes:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def stop(self) -> None:
        """End the process."""
        self.process.communicate()
