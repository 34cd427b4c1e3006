"""Mutation: the time to decode, mutate, encode and render programs, and how many mutants still run.

The time is compared with the simplest pipeline of public functions: a random expression is replaced
with a generated expression, and the whole tree is repaired. Parts that need the real Luau are left
out, with a message, if it is not installed.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.processes import lacks_luau
from benchmarks.programs import texts
from benchmarks.timing import in_turns, noise, table, verdict
from scriptschema import wire
from scriptschema.choices import RandomChoices
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.editing import replace
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.mutate import Mutator
from scriptschema.generation.programs import program
from scriptschema.generation.trees import generate
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import repair
from scriptschema.messages import Expr, ModuleSet

SIZES = {28: 130, 200: 500}
"""The microseconds that a mutant may take, by size of the program."""


def main(smoke: bool) -> None:
    """Print all figures."""
    for size in SIZES:
        speed(size, trees=10 if smoke else 200, rounds=1 if smoke else 7)
    chain(50 if smoke else 10_000)
    running(5 if smoke else 300)


def speed(size: int, trees: int, rounds: int) -> None:
    """Print the cost of a mutant and of its steps."""
    parents = [program(seed=seed, size=size) for seed in range(trees)]
    data = [wire.encode(tree) for tree in parents]
    mutator = Mutator(donors=parents[:10], size=size, programs=True)
    choices = RandomChoices(1)

    def finish(mutant: ModuleSet) -> None:
        wire.encode(mutant)
        render(mutant)

    def ten_checked(tree: ModuleSet) -> None:
        checking = Mutator(size=size)
        for _ in range(10):
            tree = checking.mutate(tree, choices).tree

    def ten_times(tree: ModuleSet) -> None:
        index = Index(tree)
        for _ in range(10):
            index = mutator.mutate(index, choices).index()

    def plain(tree: ModuleSet) -> ModuleSet:
        index = Index(tree)
        numbers = index.of(Expr)
        if not numbers:
            return repair(tree)
        number = numbers[int(choices.random() * len(numbers))]
        return repair(replace(tree, index.path(number), generate(Expr, choices=choices, size=8)))

    times = in_turns(
        {
            "a mutant": lambda: [
                finish(mutator.mutate(wire.decode(ModuleSet, d), choices).tree) for d in data
            ],
            "replace, repair": lambda: [finish(plain(wire.decode(ModuleSet, d))) for d in data],
            "decode": lambda: [wire.decode(ModuleSet, d) for d in data],
            "mutate": lambda: [mutator.mutate(tree, choices) for tree in parents],
            "mutate ten times": lambda: [ten_times(tree) for tree in parents],
            "and check first": lambda: [ten_checked(tree) for tree in parents],
            "encode": lambda: [wire.encode(tree) for tree in parents],
            "render": lambda: [render(tree) for tree in parents],
            "index": lambda: [Index(tree) for tree in parents],
            "copy": lambda: [copy(tree) for tree in parents],
            "repair": lambda: [repair(tree) for tree in parents],
        },
        rounds,
    )
    each = {name: took.best / trees * 1e6 for name, took in times.items()}
    nodes = sum(len(Index(tree)) for tree in parents) / trees
    rows = [(name, f"{value:.0f}") for name, value in each.items()]
    table((f"programs of {nodes:.0f} nodes", "us"), rows)
    verdict("a mutant, us", each["a mutant"], SIZES[size], least=False)
    verdict("of replace and repair", each["a mutant"] / each["replace, repair"], 0.5, least=False)
    noise(times)


def chain(length: int) -> None:
    """Print how sizes and depths change in a chain of mutations."""
    tree = program(seed=5, size=200)
    began = len(Index(tree))
    mutator = Mutator(donors=[program(seed=6, size=200)], programs=True)
    choices = RandomChoices(1)
    sizes, deepest = [], 0
    for _ in range(length):
        tree = mutator.mutate(tree, choices).tree
        index = Index(tree)
        sizes.append(len(index))
        deepest = max(deepest, index.heights[0])
    print(f"{length:,} mutations in a chain, which began with {began} nodes:")
    verdict("the mean size of its beginning", sum(sizes) / length / began, 1.3, least=False)
    verdict("the mean size of its beginning", sum(sizes) / length / began, 0.7, least=True)
    verdict("the depth", deepest, 100, least=False)
    print(f"\n{mutator.table()}\n")


def running(count: int) -> None:
    """Print the share of mutants that run to completion. Their original programs all do."""
    if lacks_luau("how many mutants run"):
        return
    from real_luau import RealLuau

    with RealLuau() as luau:

        def runs(tree: ModuleSet) -> bool:
            sources = render_module_set(tree)
            return luau.run(sources.program, sources.module, milliseconds=200).error is None

        def compiles(tree: ModuleSet) -> bool:
            return all(luau.compile(text) is None for text in texts(tree))

        parents: Sequence[ModuleSet] = [
            tree for seed in range(count) if runs(tree := program(seed=seed, size=200))
        ]
        once = often = compiled = 0
        mutator = Mutator(donors=parents[:20], size=200, programs=True)
        for seed, parent in enumerate(parents):
            choices = RandomChoices(seed)
            mutant = mutator.mutate(parent, choices).tree
            once += runs(mutant)
            for _ in range(9):
                mutant = mutator.mutate(mutant, choices).tree
            often += runs(mutant)
            compiled += compiles(mutant)
    print(f"{len(parents)} programs that run to their end, of about 200 nodes:")
    verdict("still run after 1 mutation", once / len(parents), 0.75, least=True)
    verdict("still run after 10", often / len(parents), 0.5, least=True)
    verdict("compile after 10", compiled / len(parents), 1, least=True)
