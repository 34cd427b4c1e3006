"""Reduction: the sizes reached and the tests needed, compared with shrinkray.

Both reduce the same text with the same test, a command that reads the source. A source passes the
test if it is Luau and still contains the feature to look for. shrinkray is from PyPI and needs
Python 3.12; if it is not on PATH, it is left out with a message.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import table, verdict
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.reduce import Reducer
from scriptschema.generation.trees import generate
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import repair
from scriptschema.messages import (
    ExprBinary,
    ExprFunction,
    ExprTable,
    ExprUnary,
    ModuleSet,
    StatBlock,
    StatCall,
    StatForIn,
    StatRepeat,
    StatWhile,
)


def nested(*classes: type) -> Callable[[Index[ModuleSet]], bool]:
    """Return a predicate: whether a tree has messages of these classes inside one another."""

    def holds(index: Index[ModuleSet]) -> bool:
        for number in index.of(classes[-1]):
            wanted = [*classes[:-1]]
            above = index.parents[number]
            while wanted and above >= 0:
                if isinstance(index.nodes[above], wanted[-1]):
                    wanted.pop()
                above = index.parents[above]
            if not wanted:
                return True
        return False

    return holds


def length_of_function(index: Index[ModuleSet]) -> bool:
    """Return whether the program applies the length operator to a function."""
    # An index of a class has messages of that class, which its type does not say.
    nodes: list[ExprUnary] = [index.nodes[n] for n in index.of(ExprUnary)]  # type: ignore[misc]
    return any(n.op == ExprUnary.Op.Len and n.expr.which == "function" for n in nodes)


SUBJECTS: dict[str, Callable[[Index[ModuleSet]], bool]] = {
    "a call in a while in a function": nested(ExprFunction, StatWhile, StatCall),
    "the length of a function": length_of_function,
    "a table in a binary operation": nested(ExprBinary, ExprTable),
    "a for-in in a repeat": nested(StatRepeat, StatForIn),
}

TEST = """
import sys
sys.path[:0] = {paths!r}
with open({log!r}, "a") as log:
    log.write(".")
from benchmarks.reduction import SUBJECTS, is_interesting
sys.exit(not is_interesting(sys.argv[1], {subject!r}))
"""


def is_interesting(path: str, subject: str) -> bool:
    """Return whether a file is a source that contains the subject."""
    try:
        return SUBJECTS[subject](Index(parse(Path(path).read_bytes()).tree))
    except ValueError:
        return False


def main(smoke: bool) -> None:
    """Print all figures."""
    for size in (100,) if smoke else (600, 5000):
        trees(size)
    beside_shrinkray(100 if smoke else 600, smoke)


def tree_with(subject: str, size: int) -> ModuleSet:
    """Return the first program of about `size` that contains the subject and has no module."""
    for seed in range(5000):
        block = generate(StatBlock, seed=seed, size=size)
        tree = repair(ModuleSet(program=block))
        if SUBJECTS[subject](Index(tree)):
            return tree
    raise LookupError(subject)


def trees(size: int) -> None:
    """Print how small trees of about `size` become, and in how many tests."""
    rows = []
    first, *others = SUBJECTS
    reduced = {}
    for subject, holds in SUBJECTS.items():
        tree = tree_with(subject, size)
        start = time.process_time()
        reducer = Reducer(tree, lambda candidate, holds=holds: holds(Index(candidate)))
        source = render(reducer.run())
        seconds = time.process_time() - start
        before = len(Index(tree))
        nodes = f"{before:,} -> {reducer.size}"
        rows.append((subject, nodes, str(len(source)), str(reducer.tests), f"{seconds:.1f}"))
        reduced[subject] = reducer
    table((f"programs of {size:,} nodes", "nodes", "bytes", "tests", "s"), rows)
    verdict(f"{first}: tests", reduced[first].tests, 37, least=False)
    verdict(f"{first}: nodes", reduced[first].size, 18, least=False)
    verdict("most tests", max(reducer.tests for reducer in reduced.values()), 70, least=False)
    verdict("nodes of the others", max(reduced[name].size for name in others), 16, least=False)
    print()


def beside_shrinkray(size: int, smoke: bool) -> None:
    """Print the result of shrinkray for the same text and the same command."""
    peer = shutil.which("shrinkray")
    if peer is None or smoke:
        print("left out: shrinkray, which is not installed (it needs Python 3.12)\n")
        return
    rows = []
    for subject in [*SUBJECTS][:2]:
        ours, theirs = (run(subject, size, command) for command in (None, peer))
        rows.append((subject, *map(str, (*ours, *theirs))))
        verdict(f"{subject}: tests of shrinkray", theirs[1] / ours[1], 20, least=True)
        verdict(f"{subject}: bytes of shrinkray's", ours[0] / theirs[0], 1.5, least=False)
    table(("", "bytes", "tests", "shrinkray's bytes", "tests"), rows)


def run(subject: str, size: int, peer: str | None) -> tuple[int, int]:
    """Reduce the subject's source with our command or with a peer; return bytes and tests."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, script, log = folder / "program.luau", folder / "test.py", folder / "log"
        source.write_text(render(tree_with(subject, size).program))
        paths = [str(Path(__file__).parent.parent)]
        script.write_text(TEST.format(paths=paths, log=str(log), subject=subject))
        test = f"{shlex.quote(sys.executable)} {script}"
        if peer is None:
            command = [sys.executable, "-m", "scriptschema", "reduce", str(source)]
            command += ["--test", f"{test} {{}}", "-o", str(source)]
        else:
            shell = folder / "test.sh"
            shell.write_text(f'#!/bin/sh\nexec {test} "$1"\n')
            shell.chmod(0o755)
            command = [peer, "--ui", "basic", "--no-history", "--parallelism", "2"]
            command += ["--timeout", "60"]
            command += [str(shell), str(source)]
        quiet: dict[str, int] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(command, check=True, cwd=folder, **quiet)
        return source.stat().st_size, log.stat().st_size
