"""Programs in a style compile in the real Luau, and print the same as without the style.

`pytest --long` tries 2,000 of each kind.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from real_luau import RealLuau

from scriptschema.generation.programs import program
from scriptschema.generation.trees import generate
from scriptschema.luau.render import render_module_set
from scriptschema.luau.repair import repair
from scriptschema.luau.sources import one_source
from scriptschema.messages import ModuleSet

POSITION = re.compile(r"\b(source|module):\d+")
"""A position in a message, which a style may change."""


def run(luau: RealLuau, program: str, module: str | None = None) -> tuple[str, str]:
    answer = luau.run(program, module, milliseconds=5000)
    return POSITION.sub("", answer.error or ""), POSITION.sub("", answer.output)


@pytest.mark.parametrize("options", [{}, {"types": "sound", "swarm": True}], ids=str)
def test_a_program_prints_the_same_in_any_style(
    luau: RealLuau, long_mode: bool, options: dict[str, Any]
) -> None:
    for seed in range(2000 if long_mode else 80):
        tree = program(seed=seed, **options)
        plain, styled = render_module_set(tree), render_module_set(tree, style=seed)
        assert run(luau, styled.program, styled.module) == run(luau, plain.program, plain.module)


def test_a_repaired_tree_compiles_in_any_style(luau: RealLuau, long_mode: bool) -> None:
    for seed in range(2000 if long_mode else 200):
        tree = repair(generate(ModuleSet, seed=seed, size=150))
        plain, styled = render_module_set(tree), render_module_set(tree, style=seed)
        assert luau.compile(plain.program) is None
        assert luau.compile(styled.program) is None, seed
        if styled.module is not None:
            assert luau.compile(styled.module) is None, seed


def test_a_program_and_its_module_in_one_source_print_the_same(luau: RealLuau) -> None:
    trees = [program(seed=seed, size=60) for seed in range(150)]
    trees = [tree for tree in trees if tree.module is not None]
    assert len(trees) > 20
    for style, tree in enumerate(trees):
        two = render_module_set(tree)
        assert run(luau, one_source(tree)) == run(luau, two.program, two.module)
        assert run(luau, one_source(tree, style=style)) == run(luau, two.program, two.module)
