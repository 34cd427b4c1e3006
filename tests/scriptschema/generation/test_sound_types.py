"""Sound types: programs contain nothing that a type checker rejects.

No type checker for Luau can be installed from a registry, so the tests search the trees for what
its strict mode rejects.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import pytest

from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.choices import BytesChoices, RandomChoices
from scriptschema.generation.programs import IDIOMS, Scope, grammar_of, program, templates
from scriptschema.generation.programs.idioms import UNTYPED
from scriptschema.generation.programs.maker import Maker
from scriptschema.generation.programs.scope import Alias
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.render import render
from scriptschema.luau.repair import check

PROGRAMS = 400


@cache
def programs() -> list[m.ModuleSet]:
    return [program(seed=seed, size=300, types="sound") for seed in range(PROGRAMS)]


def calls(callee: str, trees: Iterable[m.ModuleSet]) -> Iterator[m.ExprCall]:
    """Return the calls of a global."""
    for tree in trees:
        for node, _ in walk(tree):
            if isinstance(node, m.ExprCall) and node.func.which == "global_":
                called: Any = node.func.alternative
                if DEFAULT.global_(called.name) == callee:
                    yield node


def constant(expression: m.Expr) -> type | None:
    """Return the class of a constant, or None for anything else."""
    which = expression.which
    return type(expression.alternative) if which in ("number", "string", "bool") else None


def built(text: str, *, typed: bool) -> str:
    template = templates.statements(text, typed=typed)
    types = "sound" if typed else "none"
    maker = Maker(BytesChoices(b""), grammar_of(None, 0, types=types), Scope(), 99)
    return render(m.StatBlock(body=template.make(maker, 50, 60))).strip()


@pytest.mark.parametrize(
    ("text", "sound", "otherwise"),
    [
        ("print(UNTYPED(1), 2)", "print(2)", "print(1, 2)"),
        ("print({UNTYPED(1), value = UNTYPED(2), text = 3})", "print({x2 = 3})", None),
        ("print(ONE_OF(UNTYPED(1), 2))", "print(2)", "print(1)"),
        ("if UNTYPED then print(1) end if TYPED then print(2) end", "print(2)", "print(1)"),
        ("if ONE_OF then print(1) elseif UNTYPED then print(2) end", "print(1)", "print(1)"),
        ("if UNTYPED then print(1) end if ONE_OF then elseif UNTYPED then f() end", "", "print(1)"),
    ],
)
def test_what_a_type_checker_refuses_is_left_out_where_types_are_sound(
    text: str, sound: str, otherwise: str | None
) -> None:
    assert built(text, typed=True) == sound
    if otherwise is not None:
        assert built(text, typed=False) == otherwise


def test_idioms_that_a_type_checker_refuses_are_in_other_programs_only() -> None:
    assert {*IDIOMS} > UNTYPED > {"certain error", "assign global"}
    sound = grammar_of(None, types="sound", luau="today", runs=False).idioms
    others = grammar_of(None, luau="today", runs=False).idioms
    assert {each.name for each in others} - {each.name for each in sound} == UNTYPED


def test_a_caught_call_of_a_member_that_can_be_called_in_many_ways_is_in_a_function() -> None:
    numbers = Counter(map(str, SIGNATURES))
    inside = direct = 0
    weights = {"idioms": {name: float(name == "library") for name in IDIOMS}}
    trees = [program(seed=seed, types="sound", weights=weights) for seed in range(100)]
    for call in calls("pcall", trees):
        callee: Any = call.args[0].alternative
        if call.args[0].which == "index_name":
            owner = DEFAULT.global_(callee.expr.alternative.name)
            assert numbers[f"{owner}.{DEFAULT.field(callee.index, owner)}"] == 1
            direct += 1
        inside += call.args[0].which == "function"
    assert inside
    assert direct


def test_constants_of_two_types_are_never_compared() -> None:
    compared = 0
    equality = (m.ExprBinary.Op.CompareEq, m.ExprBinary.Op.CompareNe)
    for tree in programs():
        for node, _ in walk(tree):
            if isinstance(node, m.ExprBinary) and node.op in equality:
                left, right = constant(node.left), constant(node.right)
                compared += 1
                assert left is None or right is None or left == right, render(node)
    assert compared > PROGRAMS / 4


def test_a_table_that_gets_other_keys_later_says_its_type() -> None:
    grammar = grammar_of(None, types="sound")
    for kind in ("map", "array", "strings", "optional"):
        for seed in range(20):
            data = bytes([seed * 13 % 256, seed * 29 % 256] * 40)
            maker = Maker(BytesChoices(data), grammar, Scope(), 99)
            [stat] = grammar.declarations[kind].template.make(maker, 20, 60)
            assert len(stat.alternative.types) == 1


WRITTEN = """
type Box<T, U...> = {value: T, next: Box<T, U...>?, list: array}
local a: Box<integer>, b = {value = 1, list = {}}, 2
local function f<T>(c: T, ...: string | number): (T, <V>(V, T) -> typeof(a))
  return c
end
"""

SOUND = """
type T0<T1, T2...> = {x0: T1, x40: T0<T1, T2...>?, x41: {number}}
local v0: T0<number>, v1 = {x0 = 1, x41 = {}}, 2
local function v2<T3>(v3: T3, ...: string | number): (T3, <T4>(T4, T3) -> typeof(v0))
  return v3
end
"""


def lines_of(types: str, seed: int = 0) -> str:
    grammar = grammar_of(None, types=types)
    maker = Maker(RandomChoices(seed), grammar, Scope(), 99)
    made = templates.statements(WRITTEN, typed=types == "sound").make(maker, 50, 60)
    assert check(m.StatBlock(body=made)) == []
    return re.sub(r"x[4-9]\d?|x[1-3]\d", "x", render(m.StatBlock(body=made)))


def test_a_type_that_is_no_kind_stands_as_it_is_written() -> None:
    expected = SOUND.replace("x40", "x").replace("x41", "x").lstrip()
    assert lines_of("sound") == expected
    assert "type" not in lines_of("none")
    assert ":" not in lines_of("none")


def test_a_type_that_is_no_kind_stands_in_some_programs_with_random_types() -> None:
    found = [lines_of("random", seed) for seed in range(60)]
    assert all(text.startswith("type T0<T1, T2...> = ") for text in found)
    assert any("v0: T0<number>" in text for text in found)
    assert any("v0: T0<number>" not in text for text in found)


def test_no_name_of_a_type_is_given_twice_while_it_is_in_scope() -> None:
    scope = Scope()
    scope.types.append(Alias(scope.new_type()))
    mark = scope.open()
    for _ in range(len(DEFAULT.types) - 1):
        name = scope.new_type()
        assert name not in {alias.name for alias in scope.types}
        scope.types.append(Alias(name))
    scope.close(mark)
    scope.packs.append(1)
    assert {scope.new_type() for _ in range(100)}.isdisjoint({0, 1})


@pytest.mark.parametrize(
    ("body", "called"), [("return a", True), ("return f(a)", False), ("a = f return a", False)]
)
def test_a_function_that_calls_itself_is_not_called_by_others(body: str, called: bool) -> None:
    template = templates.statements(f"local function f(a: number): number {body} end")
    maker = Maker(BytesChoices(b""), grammar_of(None, types="none"), Scope(), 99)
    template.make(maker, 50, 60)
    assert bool(maker.scope.by_kind.get("-> number")) == called


def test_parameters_that_nothing_is_known_of_are_inferred() -> None:
    assert built("local f = function(a, b) return a end", typed=True) == (
        "local v0 = function(v0, v1)\n  return v0\nend"
    )
    assert "(v0: any, v1: number)" in built("local f = function(a, b: number) end", typed=True)


def test_any_type_of_a_sound_program_has_parts_that_a_type_checker_knows() -> None:
    made = Counter()
    for tree in programs():
        for node, _ in walk(tree):
            if isinstance(node, m.Type):
                made[node.which] += 1
    assert {"class_", "ref", None}.isdisjoint(made)
    wanted = {field for field in m.Type.FIELDS if field not in ("class_", "ref")}
    assert {which for which in wanted if made[which] >= PROGRAMS / 50} == wanted


def test_the_alias_of_a_kind_is_the_type_of_what_has_that_kind() -> None:
    grammar = grammar_of(None, types="sound")
    used = 0
    for seed in range(40):
        maker = Maker(RandomChoices(seed), grammar, Scope(), 99)
        text = "ALIAS() ALIAS() local a: map, b: array, c: any = {}, {}, 1"
        *_, local = templates.statements(text, typed=True).make(maker, 80, 60)
        kinds = {alias.name: alias.kind for alias in maker.scope.types}
        for kind, type_ in zip(("map", "array", "any"), local.alternative.types, strict=True):
            if type_.which == "literal":
                assert kinds[type_.alternative.name.index] == kind
                used += 1
    assert used
