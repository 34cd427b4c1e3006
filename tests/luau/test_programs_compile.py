"""The real Luau compiles every repaired and rendered tree.

`pytest --long` tries 10,000 trees of each kind.
"""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import limits
import pytest
from damage import copy, damage
from real_luau import RealLuau

from scriptschema.generation.programs import program
from scriptschema.generation.trees import generate
from scriptschema.luau.breaking import broken
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import check, repair
from scriptschema.messages import (
    Expr,
    ExprCall,
    ExprFunction,
    ExprGlobal,
    ExprPrefix,
    ModuleSet,
    Name,
    Stat,
    StatBlock,
    StatCall,
)

SIZES = (20, 50, 100, 200, 500, 1000, 2000)


def grown(seed: int) -> ModuleSet:
    size = random.Random(seed).choice(SIZES)
    return generate(ModuleSet, seed=seed, size=size, swarm=seed % 2 == 1)


def damaged(seed: int) -> ModuleSet:
    tree = grown(seed)
    damage(tree, seed, times=random.Random(seed).choice((1, 3, 8, 20)))
    return tree


def sources(tree: ModuleSet) -> Iterator[str]:
    """Yield the sources of the repaired tree.

    Asserts that `repair` does not change its argument, and that a repaired tree is valid and is not
    changed by another repair.
    """
    before = copy(tree)
    repaired = repair(tree)
    assert tree == before
    assert check(repaired) == []
    assert repair(repaired) == repaired
    rendered = render_module_set(repaired)
    if rendered.module is not None:
        yield rendered.module
    yield rendered.program


@pytest.mark.parametrize("kind", [grown, damaged])
def test_every_tree_becomes_a_program_that_compiles(
    luau: RealLuau, kind: object, long_mode: bool
) -> None:
    assert callable(kind)
    seeds = range(10_000 if long_mode else 100)
    of: list[int] = []

    def all_sources() -> Iterator[str]:
        for seed in seeds:
            for source in sources(kind(seed)):
                of.append(seed)
                yield source

    errors = list(luau.compile_all(all_sources()))
    assert {seed: error for seed, error in zip(of, errors, strict=True) if error} == {}


def test_without_annotations_every_tree_becomes_a_program_that_compiles(luau: RealLuau) -> None:
    trees = [repair(grown(seed)).program for seed in range(60)]
    assert not any(luau.compile_all(render(tree, types=False) for tree in trees))


MANY_LOCALS = Names(locals=tuple(f"local{number}" for number in range(1000)))


@pytest.mark.parametrize("case", limits.CASES)
def test_programs_stay_within_the_limits_of_the_compiler(luau: RealLuau, case: str) -> None:
    refused = 0
    for count in (2, 90, 150, 199, 200, 201, 250, 254, 256, 300, 1000):
        tree = limits.CASES[case](count)
        repaired = repair(tree, names=MANY_LOCALS)
        assert check(repaired, names=MANY_LOCALS) == []
        error = luau.compile(render(repaired, names=MANY_LOCALS))
        assert error is None, f"{case} {count}: {error}"
        refused += bool(check(tree, names=MANY_LOCALS))
    assert 0 < refused <= 10  # small trees are left alone, large ones are not


TYPES = [
    "local x: Map<string, number> = {}",
    "local y: Foo<number> = 2 type C = Foo<number>",
    "type A<T... = ...number> = T",
    "type A = B<>",
    "type A = (T...) -> ()",
    "type A = B<T..., number, ...U>",
    "function f(...: number...): T... end",
    "do type A = number end local x: A = 1",
    "local x: string do type string = number local y: string end",
    "function f(x: T) type T = number end local y: T",
    "local x: T type T = U do type U = T end type U = number",
    "do type function f(t) return t end end local x: f<number> local y: f",
    "type keyof = number local x: keyof",
    "repeat type T = number until (x :: T)",
]


@pytest.mark.parametrize("source", TYPES)
def test_types_that_nothing_declares_are_kept_and_not_reported(luau: RealLuau, source: str) -> None:
    assert luau.compile(source) is None
    for version in (None, "today"):
        result = parse(source, luau=version)
        assert check(result.tree, names=result.names) == []
        printed = render(result.tree.program, names=result.names)
        assert parse(printed, names=result.names, luau=version).tree == result.tree


LONG = [
    f"print({', '.join(['x'] * 250)})",
    f"{', '.join(['x'] * 100)} = 1",
    f"return {' .. '.join(['x'] * 200)}",
    f"local t = {'{' * 130}{'}' * 130}",
    f"return a{'.b' * 300}",
    f"local x: any{' | any' * 600}",
]


@pytest.mark.parametrize("source", LONG)
def test_a_limit_that_is_not_luaus_is_not_said_to_be(luau: RealLuau, source: str) -> None:
    assert luau.compile(source) is None
    result = parse(source)
    problems = check(result.tree, names=result.names)
    assert problems
    assert all("(a limit of scriptschema, below Luau's)" in each.message for each in problems)


def test_wild_indexes_are_names_everywhere(luau: RealLuau) -> None:
    wild = Names(locals=("a",), types=("T",), customs=("b",), globals=("print",))
    for seed in range(40):
        tree = repair(grown(seed), names=wild)
        assert luau.compile(render(tree.program, names=wild)) is None


def test_generate_programs_writes_files_that_all_compile(luau: RealLuau, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scriptschema", "generate", "--programs", "-n", "100"]
    subprocess.run([*command, "--seed", "1", "--format", "luau", "-o", str(tmp_path)], check=True)
    files = sorted(tmp_path.rglob("*.luau"))
    assert len(files) >= 100
    assert not any(luau.compile_all(file.read_text() for file in files))


PCALL = DEFAULT.globals.index("pcall")


def guarded(statement: Stat) -> Stat:
    """Return `pcall(function() statement end)`.

    A return statement is returned unchanged, so that the module still returns its values.
    """
    if statement.which == "return_":
        return statement
    func = ExprFunction(vararg=False, body=StatBlock(body=[statement]))
    pcall = ExprPrefix(global_=ExprGlobal(name=Name(builtin=PCALL)))
    return Stat(call=StatCall(expr=ExprCall(func=pcall, self_=False, args=[Expr(function=func)])))


def test_a_module_that_nothing_stops_returns_one_value(luau: RealLuau, long_mode: bool) -> None:
    """Fuzzers wrap every statement in a `pcall`, so that all of them are executed."""
    counts = Counter()
    for seed in range(2000 if long_mode else 100):
        tree = generate(ModuleSet, seed=seed, size=200)
        if tree.module is None:
            continue
        tree.module.body = [guarded(statement) for statement in tree.module.body]
        module = render(repair(tree).module)
        body = f"local module = function(...)\n{module}end\nprint(select('#', module()))"
        answer = luau.run(body, milliseconds=100)
        if answer.error is None:
            counts[answer.output.rpartition("\n")[2]] += 1
    assert set(counts) == {"1"}


@pytest.mark.parametrize("options", [{}, {"types": "sound"}, {"swarm": True, "size": 400}], ids=str)
def test_programs_that_must_not_run_compile(
    luau: RealLuau, long_mode: bool, options: dict[str, Any]
) -> None:
    for seed in range(2000 if long_mode else 150):
        sources = render_module_set(program(seed=seed, runs=False, luau=luau.version, **options))
        for text in (sources.module, sources.program):
            assert text is None or luau.compile(text) is None, seed


def test_what_is_broken_is_refused(luau: RealLuau, long_mode: bool) -> None:
    for seed in range(2000 if long_mode else 150):
        source = render(program(seed=seed, size=60).program, style=seed if seed % 2 else None)
        assert luau.compile(broken(source, seed)) is not None, seed
