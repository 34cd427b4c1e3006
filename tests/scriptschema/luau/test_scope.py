"""What `scope_at` says is visible at a place is what a program can use there."""

from __future__ import annotations

import random
from typing import Any

import pytest

from scriptschema.base import Message, Path, walk
from scriptschema.generation.trees import generate
from scriptschema.luau.names import Names
from scriptschema.luau.parse import parse
from scriptschema.luau.repair import check, repair
from scriptschema.luau.scope import Scope, scope_at
from scriptschema.messages import (
    Expr,
    ExprLocal,
    ExprVarargs,
    Local,
    Stat,
    StatBreak,
    Type,
    TypeLiteral,
    Typename,
)

CASES = {
    # source, with here() or HERE where to look; locals; types and packs; in a loop; a vararg
    "locals, once they are declared": (
        "local a, b = 1; local c = here(); local d", "a b", "", False, True,
    ),
    "a local of an outer block, and one that hides it": (
        "local a, b; do local a, c; do local d end here() end", "a b c", "", False, True,
    ),
    "a function sees itself, its parameters and what is around it": (
        "local a; local function f(p, ...) return here() end", "a f p", "", False, True,
    ),
    "a function that is assigned does not see its local": (
        "local f = function(p) return here() end", "p", "", False, False,
    ),
    "a method sees self": ("function x:m(p) here() end", "self p", "", False, False),
    "a function's name is looked up outside": ("function x.m(p) end here()", "", "", False, True),
    "the variables of a loop": ("for i = 1, 2 do here() end", "i", "", True, True),
    "the bounds of a loop": ("for i = 1, here() do end", "", "", False, True),
    "the variables of a for-in": ("for k, v in x do here() end", "k v", "", True, True),
    "a while": ("while here() do end", "", "", False, True),
    "the body of a while": ("while x do local a; here() end", "a", "", True, True),
    "a function in a loop": ("while x do f(function() here() end) end", "", "", False, False),
    "a loop in a loop, and behind it": (
        "while x do while y do end here() end", "", "", True, True,
    ),
    "until sees the locals of the body": (
        "repeat local a until here()", "a", "", False, True,
    ),
    "but not those that a continue jumps over": (
        "repeat local a; if x then do continue end end local b until here()", "a", "", False, True,
    ),
    "the continue of another loop": (
        "repeat local a; while x do continue end local b until here()", "a b", "", False, True,
    ),
    "until in an outer loop": (
        "while x do repeat until here() end", "", "", True, True,
    ),
    "the types of a block, before and behind": (
        "type T = any; local a = here(); type U = any; do type V = any end", "", "T U", False, True,
    ),
    "the types of a repeat": ("repeat type T = any until here()", "", "T", False, True),
    "the generics of a function": (
        "local function f<T, P...>(a) return here() end", "f a", "T P...", False, False,
    ),
    "the types of parameters": (
        "local function f<T>(a: typeof(here())) end", "f", "T", False, True,
    ),
    "the generics of a type alias": ("type T<U> = typeof(here())", "", "T U", False, True),
    "the generics of a function type": (
        "type T = <U>(typeof(here())) -> ()", "", "T U", False, True,
    ),
    "a required module": ('local m = require("./module0"); here()', "m", "", False, True),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_visible_at_a_place_is_known(case: str) -> None:
    source, locals_, types, loop, vararg = CASES[case]
    result = parse(source)
    names = result.names
    [path] = (
        path
        for node, path in walk(result.tree)
        if node.which == "global_" and names.global_(node.alternative.name) == "here"
    )
    scope = scope_at(result.tree, path, names=names)
    assert [binding.name for binding in scope.visible_locals()] == locals_.split()
    packs = [f"{name}..." for name in scope.packs.visible]
    assert [*scope.types.visible, *packs] == types.split()
    assert (scope.function.loop is not None) == loop
    assert scope.function.vararg == vararg


def test_the_module_and_the_program_are_functions_apart() -> None:
    tree = parse("local a; here()", module="local b; here() return 1").tree
    paths = [path for node, path in walk(tree) if node.which == "call"]
    assert [str(path).split(".")[0] for path in paths] == ["module", "program"]
    scopes = [scope_at(tree, path) for path in paths]
    assert [scope.function.module for scope in scopes] == [True, False]
    assert [len(scope.visible_locals()) for scope in scopes] == [1, 1]


def test_a_path_that_leads_nowhere_is_an_error() -> None:
    tree = parse("local a").tree
    with pytest.raises(IndexError):
        scope_at(tree, Path(Path(Path(), "program"), "body", 7))
    with pytest.raises(AttributeError):
        scope_at(tree, Path(Path(), "nothing"))


FEW = Names(locals=("a", "b", "c", "d", "self"), types=("T", "U", "V"))


def changed(tree: Message, path: Path, **alternative: Any) -> set[str]:
    """The rules that the tree breaks with something else at this path; it is left as it was."""
    node: Any = tree
    for name, index in path.steps():
        node = getattr(node, name) if index is None else getattr(node, name)[index]
    which, before = node.which, node.alternative
    for name, value in alternative.items():
        setattr(node, name, value)
    rules = {problem.rule for problem in check(tree, names=FEW)}
    setattr(node, which, before)
    return rules


@pytest.mark.parametrize("seed", range(60))
def test_what_is_visible_can_be_used_and_nothing_else(seed: int) -> None:
    tree = repair(generate(seed=seed, size=120), names=FEW)
    places = [*walk(tree)]
    choose = random.Random(seed)
    for kind, ask in ((Expr, expected_of_expr), (Type, expected_of_type), (Stat, expected_of_stat)):
        found = [path for node, path in places if isinstance(node, kind)]
        for path in choose.sample(found, min(4, len(found))):
            scope = scope_at(tree, path, names=FEW)
            for alternative, rule, allowed in ask(scope):
                assert (rule not in changed(tree, path, **alternative)) == allowed, (path, rule)


def expected_of_expr(scope: Scope) -> list[tuple[dict[str, Message], str, bool]]:
    visible = {binding.name for binding in scope.visible_locals()}
    hidden = {*scope.locals.visible} - visible
    cases: list[tuple[dict[str, Message], str, bool]] = [
        (
            {"local": ExprLocal(var=Local(name=index))},
            "until" if name in hidden else "local",
            name in visible,
        )
        for index, name in enumerate(FEW.locals)
    ]
    return [*cases, ({"varargs": ExprVarargs()}, "vararg", scope.function.vararg)]


def expected_of_type(scope: Scope) -> list[tuple[dict[str, Message], str, bool]]:
    return [
        (
            {"literal": TypeLiteral(name=Typename(index=index))},
            "type",
            name in scope.types.visible,
        )
        for index, name in enumerate(FEW.types)
    ]


def expected_of_stat(scope: Scope) -> list[tuple[dict[str, Message], str, bool]]:
    return [({"break_": StatBreak()}, "loop", scope.function.loop is not None)]
