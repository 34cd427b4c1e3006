"""Calls at the values at which something changes: each member and value, constant and variable."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from scriptschema.base import walk
from scriptschema.choices import RandomChoices
from scriptschema.generation.programs import Scope, boundaries, grammar_of, maker_of, program
from scriptschema.generation.programs.maker import Maker
from scriptschema.luau.library import SIGNATURES, Signature
from scriptschema.luau.render import render
from scriptschema.luau.repair import check
from scriptschema.messages import ExprCall, ModuleSet, StatBlock

TAKING = [one for one in SIGNATURES if boundaries.takes_limits(one)]


def calls_of(signature: Signature, seeds: range) -> list[ModuleSet]:
    grammar = grammar_of(None)
    found = []
    for seed in seeds:
        maker = maker_of(RandomChoices(seed), grammar, "none", Scope(), 100, Maker)
        stat = boundaries.call_at_limits(maker, signature, 60)
        found.append(ModuleSet(program=StatBlock(body=[stat])))
    return found


def passed(tree: ModuleSet, position: int) -> tuple[str, str] | None:
    """How the argument at a position is given, and as what; None if it is not."""
    printed: Any = tree.program.body[0].alternative
    pcall = printed.expr.args[0].alternative
    function = pcall.args[0].alternative
    outside = dict(zip([a.name for a in function.args], pcall.args[1:], strict=True))
    call = [n for n, _ in walk(function) if isinstance(n, ExprCall)]
    inner: Any = next(c for c in call if render(c).startswith("string.sub("))
    if position >= len(inner.args):
        return None
    argument = inner.args[position]
    if argument.which == "local":
        return "variable", render(outside[argument.alternative.var.name])
    return "constant", render(argument)


def test_each_value_at_a_limit_comes_as_a_constant_and_as_what_is_known_only_at_run_time() -> None:
    [sub] = [one for one in TAKING if str(one) == "string.sub"]
    found: defaultdict[str, set[str]] = defaultdict(set)
    for tree in calls_of(sub, range(1500)):
        for position in (1, 2):
            how = passed(tree, position)
            if how is not None:
                found[how[0]].add(how[1])
    for form in ("constant", "variable"):
        assert {"0", "-1", "1", "2", "3", "4", "-3", "-4", "9", "10"} <= found[form]
        assert {"0 / 0", "1 / 0", "0 / -1", "2 ^ 53", "nil", '"3"'} <= found[form]
        assert any(value.endswith("+ 1 / 2") for value in found[form])


@pytest.mark.parametrize("signature", TAKING, ids=str)
def test_such_a_call_is_valid_whatever_the_member(signature: Signature) -> None:
    trees = calls_of(signature, range(30))
    assert all(check(tree) == [] for tree in trees)
    assert len({render(tree.program) for tree in trees}) > 3


def test_a_member_that_takes_numbers_is_called_so_unless_its_results_vary() -> None:
    names = {str(one) for one in TAKING}
    assert {"string.rep", "table.move", "bit32.replace", "buffer.writei8", "tonumber"} <= names
    assert {"string.format", "string.pack", "utf8.char", "vector.create"} <= names
    assert not {"math.random", "os.date", "debug.info", "string.len", "error"} & names


def test_libraries_that_are_left_out_are_not_called_so_either() -> None:
    names = dict.fromkeys(one.library or "globals" for one in SIGNATURES)
    assert grammar_of({"libraries": dict.fromkeys(names, 0)}).boundaries == ([], [])
    some, _ = grammar_of({"libraries": {"math": 0}}, luau="today").boundaries
    assert {one.library for one in TAKING} - {one.library for one in some} == {"math"}
    assert check(program(seed=1, size=2000, weights={"libraries": dict.fromkeys(names, 0)})) == []
