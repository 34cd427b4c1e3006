"""Rules about extensions of the original schema. The reference is the real Luau, in tests/luau/."""

from __future__ import annotations

import pickle
from collections import Counter

import pytest
from extended import extended_tree
from newer_cases import CASES, FINE

from scriptschema import messages as m
from scriptschema import wire
from scriptschema.base import Message
from scriptschema.luau.names import NameReader
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import RULES, check, is_valid, repair
from scriptschema.versions import Version


@pytest.mark.parametrize("luau", [None, "0.677", "0.711", "today"])
def test_repair_of_any_tree_of_today_leaves_nothing_that_check_finds(luau: str | None) -> None:
    broken = Counter[str]()
    for seed in range(120):
        tree = extended_tree(m.schema("today"), m.ModuleSet, seed, depth=14)
        before = pickle.dumps(tree)
        assert is_valid(tree) == (check(tree) == [])
        assert pickle.dumps(tree) == before
        problems = check(tree, luau=luau)
        broken.update(problem.rule for problem in problems)
        repaired = repair(tree, luau=luau)
        assert check(repaired, luau=luau) == []
        assert (repaired == tree) == (problems == [])
        encoded = wire.encode(repaired, luau=luau or "today", max_depth=400)
        assert wire.decode(m.ModuleSet, encoded, luau="today", max_depth=400) == repaired
    assert {*broken} <= {*RULES}
    if luau in (None, "today"):
        assert {"attribute", "argument", "const", "export", "class", "default"} <= {*broken}
    assert (broken["version"] > 0) == (luau in ("0.677", "0.711"))


def test_a_version_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown version of Luau"):
        check(m.StatBlock(), luau="1.0")


@pytest.mark.parametrize("source", CASES)
def test_a_source_that_breaks_a_rule_is_refused_and_repaired(source: str) -> None:
    rule, repaired, since = CASES[source]
    read = parse(source, luau=since)
    assert not is_valid(read.tree, names=read.names)
    assert [problem.rule for problem in check(read.tree, names=read.names)] == [rule]
    tree = repair(read.tree, names=read.names, luau=since)
    assert " ".join(render(tree.program, names=read.names).split()) == repaired
    again = parse(repaired, names=NameReader(read.names), luau=since)
    assert check(again.tree, names=again.names) == []


@pytest.mark.parametrize("source", FINE)
def test_a_source_that_breaks_no_rule_is_left_alone(source: str) -> None:
    read = parse(source, luau=FINE[source])
    assert read.losses == ()
    assert check(read.tree, names=read.names, luau=FINE[source]) == []


@pytest.mark.parametrize("source", [*CASES, *FINE])
def test_what_is_newer_than_a_version_is_reported_and_left_out(source: str) -> None:
    since = Version.parse(CASES[source][2] if source in CASES else FINE[source])
    tree = parse(source, luau="today").tree
    older = Version(max(since.number - 1, 677))
    told = {problem.rule for problem in check(tree, luau=older)}
    assert ("version" in told) == (since > Version(677) and source not in ONLY_RULES)
    assert check(repair(tree, luau=older), luau=older) == []


ONLY_RULES = {"const function f() end function f() end"}
"""Sources that older versions of Luau accept, but that `check` rejects for every version."""


def test_every_rule_of_today_is_broken_by_a_source_or_a_tree() -> None:
    trees = {"parentheses", "number", "default", "indexer", "version", "pack"}
    broken = {rule for rule, *_ in CASES.values()} | trees
    assert broken >= {"attribute", "argument", "const", "export", "class", "type-function"}


@pytest.mark.parametrize(
    ("rule", "tree"),
    [
        ("parentheses", m.ExprCall(func=m.ExprPrefix(), self_=False, parenless=True)),
        ("number", m.Expr(number=m.ExprConstantNumber(val=0, double=float("nan")))),
        (
            "pack",
            m.TypeArguments(
                items=[
                    m.TypeArgument(
                        pack=m.TypePack(
                            list=m.TypeList(tail=m.TypePack(list=m.TypeList(tail=m.TypePack())))
                        )
                    )
                ]
            ),
        ),
        ("indexer", m.TypeTable(indexer_position=3)),
        (
            "pack",
            m.Type(
                literal=m.TypeLiteral(
                    name=m.Typename(index=1),
                    arguments=m.TypeArguments(
                        items=[m.TypeArgument(type=m.Type(boolean=m.TypeBoolean(val=True)))]
                    ),
                )
            ),
        ),
        (
            "export",
            m.ModuleSet(program=m.StatBlock(body=[m.Stat(local=m.StatLocal(is_exported=True))])),
        ),
        (
            "default",
            m.StatTypeAlias(
                export=False,
                name=m.Typename(index=0),
                type=m.Type(boolean=m.TypeBoolean(val=True)),
                defaults=m.GenericDefaults(types=[m.Type(boolean=m.TypeBoolean(val=True))]),
            ),
        ),
    ],
)
def test_what_no_source_can_say_is_refused_in_trees(rule: str, tree: Message) -> None:
    before = pickle.dumps(tree)
    assert not is_valid(tree)
    assert rule in {problem.rule for problem in check(tree)}
    assert pickle.dumps(tree) == before
    assert check(repair(tree)) == []
