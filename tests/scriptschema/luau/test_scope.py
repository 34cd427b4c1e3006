"""A scope has exactly the variables that a program can use there, for `check` and for mutators."""

from __future__ import annotations

import random
from typing import Any

import pytest

from scriptschema import messages as m
from scriptschema.base import Message, Path, walk
from scriptschema.fuzzing.context import context_of
from scriptschema.fuzzing.index import Index
from scriptschema.generation.trees import generate
from scriptschema.luau.names import SELF, Names
from scriptschema.luau.parse import parse
from scriptschema.luau.repair import check, repair

CASES = {
    # source, with here() where to look; locals; types; in a loop; a vararg
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
        "local function f<T, P...>(a) return here() end", "f a", "T", False, False,
    ),
    "the types of parameters": (
        "local function f<T>(a: typeof(here())) end", "f", "T", False, True,
    ),
    "the types of a method's parameters": (
        "function x:m(p: typeof(here())) end", "", "", False, True,
    ),
    "the generics of a type alias": ("type T<U> = typeof(here())", "", "T U", False, True),
    "the generics of a function type": (
        "type T = <U>(typeof(here())) -> ()", "", "T U", False, True,
    ),
    "a required module": ('local m = require("./module0"); here()', "m", "", False, True),
}  # fmt: skip


def here(tree: Message, names: Names) -> m.ExprCall:
    """Return the call of `here`."""
    [call] = (
        node
        for node, _ in walk(tree)
        if isinstance(node, m.ExprCall)
        and node.func.global_ is not None
        and names.global_(node.func.global_.name) == "here"
    )
    return call


def rules_broken_by(tree: Message, call: m.ExprCall, argument: m.Expr, names: Names) -> set[str]:
    """Return the rules that the tree breaks with `argument` in the call. The tree is restored."""
    call.args.append(argument)
    problems = check(tree, names=names)
    call.args.pop()
    return {f"{problem.rule} {str(problem.path).split('.')[-1]}" for problem in problems}


def function_of(type_: m.TypeLiteral) -> m.Expr:
    function = m.ExprFunction(
        args=[m.Local(name=0)],
        vararg=False,
        body=m.StatBlock(),
        types=[m.Type(literal=type_)],
    )
    return m.Expr(function=function)


@pytest.mark.parametrize("case", CASES)
def test_what_is_visible_at_a_place_can_be_used_there_and_nothing_else(case: str) -> None:
    source, locals_, types, _, vararg = CASES[case]
    result = parse(source)
    names = result.names
    call = here(result.tree, names)

    def allowed(argument: m.Expr, *rules: str) -> bool:
        broken = rules_broken_by(result.tree, call, argument, names)
        return not any(rule.startswith(rules) for rule in broken)

    visible = [
        name
        for index, name in enumerate(names.locals)
        if allowed(m.Expr(local=m.ExprLocal(var=m.Local(name=index))), "local", "until")
    ]
    assert sorted(visible) == sorted(locals_.split())
    found = []
    for index, name in enumerate(names.types):
        literal = m.TypeLiteral(name=m.Typename(index=index))
        if allowed(function_of(literal), "type"):
            found.append(name)
    assert sorted(found) == sorted(types.split())
    assert allowed(m.Expr(varargs=m.ExprVarargs()), "vararg") == vararg


# A mutator takes parameters for visible in their types as well, but only uses what has a kind; and
# in the condition of a repeat, where it changes nothing, what a continue jumps over.
OF_NO_KIND = {"the types of parameters", "the types of a method's parameters"}


@pytest.mark.parametrize("case", CASES)
def test_a_mutator_knows_what_is_visible_at_a_place(case: str) -> None:
    source, locals_, _, loop, vararg = CASES[case]
    result = parse(source)
    index = Index(result.tree)
    call = here(result.tree, result.names)
    [number] = (number for number, node in enumerate(index.nodes) if node is call)
    context = context_of(index, number)
    found = {result.names.local(name) for name in context.variables}
    visible = {*locals_.split()}
    assert found >= visible
    if case in OF_NO_KIND:
        surplus = {n for n in context.variables if result.names.local(n) not in visible}
        assert not any(context.variables[name] for name in surplus)
        return
    assert found == visible or context.condition
    assert (context.loop, context.vararg) == (loop, vararg)


def test_the_module_and_the_program_are_functions_apart() -> None:
    tree = parse("local a; here()", module="local b; here() return 1").tree
    index = Index(tree)
    contexts = [context_of(index, number) for number in index.of(m.ExprCall)]
    assert [len(context.variables) for context in contexts] == [1, 1]
    assert contexts[0].variables.keys() != contexts[1].variables.keys()


LOCALS = [*range(5), SELF]


def changed(tree: Message, path: Path, **alternative: Any) -> set[str]:
    """Return the rules that the tree breaks with another value at this path. It is restored."""
    node: Any = tree
    for name, index in path.steps():
        node = getattr(node, name) if index is None else getattr(node, name)[index]
    which, before = node.which, node.alternative
    for name, value in alternative.items():
        setattr(node, name, value)
    rules = {problem.rule for problem in check(tree)}
    setattr(node, which, before)
    return rules


@pytest.mark.parametrize("seed", range(60))
def test_what_a_mutator_takes_for_visible_can_be_used_and_nothing_else(seed: int) -> None:
    tree = generate(seed=seed, size=120)
    for node, _ in walk(tree):
        if isinstance(node, m.Local):
            node.name = LOCALS[node.name % len(LOCALS)]
    tree = repair(tree)
    index = Index(tree)
    places = [*walk(tree)]
    choose = random.Random(seed)
    for cls in (m.Expr, m.Stat):
        numbers = index.of(cls)
        for number in choose.sample(numbers, min(6, len(numbers))):
            path = places[number][1]
            context = context_of(index, number)
            if cls is m.Stat:
                assert ("loop" not in changed(tree, path, break_=m.StatBreak())) == context.loop
                continue
            assert ("vararg" not in changed(tree, path, varargs=m.ExprVarargs())) == context.vararg
            for name in LOCALS:
                rules = changed(tree, path, local=m.ExprLocal(var=m.Local(name=name)))
                hidden = "until" in rules and context.condition
                visible = rules.isdisjoint({"local", "until"}) or hidden
                assert visible == (name in context.variables), (path, name)
