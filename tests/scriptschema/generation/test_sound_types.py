"""Sound types: what keeps a type checker from accepting a program does not stand in it.

No type checker of Luau can be installed from a registry, so what its strict mode refuses is looked
for in the trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from scriptschema import messages as m
from scriptschema.base import walk
from scriptschema.choices import BytesChoices
from scriptschema.generation.programs import IDIOMS, Scope, grammar_of, maker_of, program, templates
from scriptschema.generation.programs.idioms import UNTYPED
from scriptschema.generation.programs.maker import Maker
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.render import render

PROGRAMS = 400


@cache
def programs() -> list[m.ModuleSet]:
    return [program(seed=seed, size=300, types="sound") for seed in range(PROGRAMS)]


def calls(callee: str) -> Iterator[m.ExprCall]:
    """The calls of a global in sound programs."""
    for tree in programs():
        for node, _ in walk(tree):
            if isinstance(node, m.ExprCall) and node.func.which == "global_":
                called: Any = node.func.alternative
                if DEFAULT.global_(called.name) == callee:
                    yield node


def constant(expression: m.Expr) -> type | None:
    """The class of a constant, None for anything else."""
    which = expression.which
    return type(expression.alternative) if which in ("number", "string", "bool") else None


def built(text: str, *, typed: bool) -> str:
    template = templates.statements(text, typed=typed)
    types = "sound" if typed else "none"
    maker = maker_of(BytesChoices(b""), grammar_of(None, 0), types, Scope(), 99, Maker)
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
    sound = {idiom.name for idiom in grammar_of(None, types="sound").idioms}
    assert {idiom.name for idiom in grammar_of(None).idioms} - sound == UNTYPED


def test_a_caught_call_of_an_overloaded_member_is_in_a_function() -> None:
    overloaded = {str(one) for one in SIGNATURES if "overloaded" in one.marks}
    overloaded -= {str(one) for one in SIGNATURES if "overloaded" not in one.marks}
    assert "os.date" in overloaded
    inside = 0
    for call in calls("pcall"):
        callee: Any = call.args[0].alternative
        if call.args[0].which == "index_name":
            owner = DEFAULT.global_(callee.expr.alternative.name)
            assert f"{owner}.{DEFAULT.field(callee.index, owner)}" not in overloaded
        inside += call.args[0].which == "function"
    assert inside


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
            maker = maker_of(BytesChoices(data), grammar, "sound", Scope(), 99, Maker)
            [stat] = grammar.declarations[kind].template.make(maker, 20, 60)
            assert len(stat.alternative.types) == 1
