"""Programs in a style, judged by the real Luau: it compiles them, and they print the same.

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
from scriptschema.messages import ModuleSet

LINE = re.compile(r"\b(source|module):\d+")
"""A position in a message, which a style may change."""


def run(luau: RealLuau, tree: ModuleSet, style: int | None) -> Any:
    sources = render_module_set(tree, style=style)
    answer = luau.run(sources.program, sources.module, milliseconds=5000)
    return LINE.sub(r"\1:", answer.error or ""), LINE.sub(r"\1:", answer.output)


@pytest.mark.parametrize("options", [{}, {"types": "sound", "swarm": True}], ids=str)
def test_a_program_prints_the_same_in_any_style(
    luau: RealLuau, long_mode: bool, options: dict[str, Any]
) -> None:
    for seed in range(2000 if long_mode else 80):
        tree = program(seed=seed, **options)
        assert run(luau, tree, seed) == run(luau, tree, None), seed


def test_a_repaired_tree_compiles_in_any_style(luau: RealLuau, long_mode: bool) -> None:
    for seed in range(2000 if long_mode else 200):
        tree = repair(generate(ModuleSet, seed=seed, size=150))
        plain, styled = render_module_set(tree), render_module_set(tree, style=seed)
        assert luau.compile(plain.program) is None
        assert luau.compile(styled.program) is None, seed
        if styled.module is not None:
            assert luau.compile(styled.module) is None, seed
