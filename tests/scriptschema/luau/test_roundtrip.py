"""`parse` reads repaired and rendered trees back: the same tree, except for names.

The names of the tree's indexes are compared by rendering again, the rest of the tree directly.
"""

from __future__ import annotations

import copy
import itertools
import random
from collections.abc import Callable

import pytest
from hypothesis import given

from scriptschema import strategies
from scriptschema.base import Message, walk
from scriptschema.generation.trees import generate
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render, render_module_set
from scriptschema.luau.repair import check, repair
from scriptschema.messages import (
    Expr,
    ExprBinary,
    ExprCast,
    ExprConstantBool,
    ExprGroup,
    ExprIfElse,
    ExprUnary,
    Local,
    ModuleSet,
    Name,
    Stat,
    StatBlock,
    StatReturn,
    Type,
    TypeClass,
    Typename,
    TypePrimitive,
)


def nameless(tree: ModuleSet) -> ModuleSet:
    """Return the tree with index 0 for all names."""
    for message, _ in walk(tree):
        match message:
            case Local():
                message.name = 0
            case Typename():
                message.index = 0
            case TypePrimitive() | TypeClass():
                message.kind = 0
            case Name(which="builtin"):
                message.builtin = 0
            case Name(which="custom"):
                message.custom = 0
    return tree


def assert_comes_back(tree: ModuleSet) -> None:
    sources = render_module_set(tree)
    result = parse(sources.program, module=sources.module)
    assert result.losses == ()
    assert render_module_set(result.tree, names=result.names) == sources
    assert nameless(result.tree) == nameless(tree)


@pytest.mark.parametrize(("size", "count"), [(20, 300), (100, 80), (500, 20), (2000, 5)])
@pytest.mark.parametrize("swarm", [False, True])
def test_a_repaired_tree_comes_back_from_its_source(size: int, count: int, swarm: bool) -> None:
    for seed in range(count):
        assert_comes_back(repair(generate(ModuleSet, seed=seed, size=size, swarm=swarm)))


def damaged(tree: ModuleSet, rng: random.Random) -> ModuleSet:
    """Return the tree with some of its subtrees replaced, swapped and duplicated."""
    for _ in range(rng.randrange(1, 8)):
        holders = [
            message
            for message, _ in walk(tree)
            if type(message) in (Expr, Stat, Type) and message.which is not None
        ]
        one, two = rng.choice(holders), rng.choice(holders)
        if type(one) is not type(two):
            continue
        part = copy.deepcopy(two.alternative)
        setattr(one, two.which or "", part)
    return tree


def test_a_repaired_tree_comes_back_whatever_was_done_to_it_before() -> None:
    rng = random.Random(4)
    for seed in range(60):
        tree = damaged(generate(ModuleSet, seed=seed, size=150), rng)
        assert_comes_back(repair(tree))


@given(strategies.programs(size=60))
def test_programs_are_valid_and_come_back(tree: ModuleSet) -> None:
    assert check(tree) == []
    assert_comes_back(tree)


@given(strategies.sources(size=60))
def test_sources_are_what_render_prints(source: str) -> None:
    result = parse(source)
    assert render(result.tree.program, names=result.names) == source


@given(strategies.sources(size=60, types="none"))
def test_sources_can_be_without_types(source: str) -> None:
    tree = parse(source).tree
    assert not any(isinstance(message, Type) for message, _ in walk(tree))


def test_reading_what_was_read_changes_nothing() -> None:
    """Also for sources that are not canonical: one round trip makes them canonical."""
    for seed in range(20):
        tree: Message = generate(ModuleSet, seed=seed, size=100)
        assert isinstance(tree, ModuleSet)
        first = parse(render(repair(tree).program, types=False))
        text = render(first.tree.program, names=first.names)
        assert parse(text, names=first.names).tree == first.tree


FALSE = Expr(bool=ExprConstantBool(val=False))
Operator, Sign = ExprBinary.Op, ExprUnary.Op
AROUND: list[Callable[[Expr], Expr]] = [
    lambda inner: Expr(group=ExprGroup(expr=inner)),
    lambda inner: Expr(cast=ExprCast(expr=inner, type=Type(primitive=TypePrimitive(kind=0)))),
    *(
        lambda inner, op=op: Expr(unary=ExprUnary(op=op, expr=inner))
        for op in (Sign.Not, Sign.Minus)
    ),
    *(
        lambda inner, op=op: Expr(binary=ExprBinary(op=op, left=inner, right=FALSE))
        for op in (Operator.CompareLt, Operator.CompareLe, Operator.Add, Operator.Pow)
    ),
    *(
        lambda inner, op=op: Expr(binary=ExprBinary(op=op, left=FALSE, right=inner))
        for op in (Operator.CompareLt, Operator.Add, Operator.Pow)
    ),
    lambda inner: Expr(ifelse=ExprIfElse(cond=FALSE, then=FALSE, else_=inner)),
]


def test_groups_casts_and_operators_that_are_valid_come_back() -> None:
    """A group is a problem if the same parentheses are printed without it."""
    valid = 0
    for ways in itertools.chain.from_iterable(
        itertools.product(AROUND, repeat=n) for n in (1, 2, 3)
    ):
        expression = FALSE
        for way in ways:
            expression = way(expression)
        returned = Stat(return_=StatReturn(list=[expression]))
        tree = copy.deepcopy(ModuleSet(program=StatBlock(body=[returned])))
        if check(tree, luau="today"):
            tree = repair(tree, luau="today")
        else:
            valid += 1
        source = render(tree.program)
        assert nameless(parse(source, luau="today").tree) == nameless(tree), source
    assert valid > 1000
