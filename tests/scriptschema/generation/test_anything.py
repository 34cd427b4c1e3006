"""Code that uses every value in arbitrary ways. It is only compiled, never run."""

from __future__ import annotations

import pytest

from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.choices import BytesChoices, RandomChoices
from scriptschema.generation.programs import Scope, anything, grammar_of, nodes
from scriptschema.generation.programs.maker import Maker
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.repair import check

ASSERT = nodes.builtin("assert")


def made(seed: int, luau: str | None = None, room: int = 60) -> list[m.Stat]:
    grammar = grammar_of(None, luau=luau, runs=False)
    maker = Maker(RandomChoices(seed), grammar, Scope(), 200)
    return anything.statements(maker, room)


@pytest.mark.parametrize("luau", [None, "today"])
def test_code_that_uses_anything_as_anything_compiles(luau: str | None) -> None:
    for seed in range(80):
        tree = m.ModuleSet(program=m.StatBlock(body=made(seed, luau)))
        assert check(tree, luau=luau) == []


def test_it_is_no_deeper_than_it_may_be() -> None:
    for seed in range(80):
        paths = [len(path) for node in made(seed, room=anything.LEVELS) for _, path in walk(node)]
        assert max(paths) <= anything.LEVELS
    assert made(1, room=anything.LEVELS - 1) == []


def test_a_variable_is_used_as_a_number_and_as_a_function() -> None:
    found = 0
    for seed in range(80):
        used: dict[int, set[str]] = {}
        for node, _ in walk(m.StatBlock(body=made(seed))):
            for child in (getattr(node, slot) for slot in node._slots):
                if getattr(child, "which", None) == "local":
                    used.setdefault(child.alternative.var.name, set()).add(type(node).__name__)
        found += any({"ExprCall", "ExprBinary"} <= each for each in used.values())
    assert found > 8


def test_compilers_know_the_outcome_of_most_asserts() -> None:
    """Code after an assert that always fails is unreachable, which optimizers often get wrong."""
    known = asserts = 0
    for seed in range(160):
        for node, _ in walk(m.StatBlock(body=made(seed))):
            if isinstance(node, m.ExprCall) and node.args and node.func.global_ == ASSERT:
                asserts += 1
                known += node.args[0].which in ("bool", "nil")
    assert asserts > 30
    assert known > asserts / 2


def test_functions_of_libraries_that_are_left_out_are_not_called() -> None:
    weights = {"libraries": {signature.library or "globals": 0.0 for signature in SIGNATURES}}
    grammar = grammar_of(weights, runs=False)
    for seed in range(40):
        maker = Maker(RandomChoices(seed), grammar, Scope(), 200)
        for node, _ in walk(m.StatBlock(body=anything.statements(maker, 60))):
            assert not (isinstance(node, m.ExprIndexName) and node.index.which == "builtin")


def test_no_choices_make_almost_nothing() -> None:
    grammar = grammar_of(None, runs=False)
    maker = Maker(BytesChoices(b""), grammar, Scope(), 200)
    [block] = anything.statements(maker, 60)
    assert len(block.block.body) == 1  # type: ignore[union-attr]
