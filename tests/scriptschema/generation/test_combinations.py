"""Every possible pair of operation, source, surroundings and value occurs in programs.

The pairs are counted in 5,000 finished programs (`combined.py`).
"""

from __future__ import annotations

from collections import Counter

import pytest
from combined import Pair, pairs_in, possible_pairs

from scriptschema.choices import BytesChoices, RandomChoices
from scriptschema.fuzzing.index import Index
from scriptschema.generation.programs import (
    Counts,
    Scope,
    combinations,
    grammar_of,
    program,
)
from scriptschema.generation.programs.maker import Maker
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import check
from scriptschema.messages import ModuleSet, StatBlock
from scriptschema.versions import Version


def counted(programs: int, luau: Version | None = None) -> Counter[Pair]:
    counts, found = Counts(), Counter[Pair]()
    for seed in range(programs):
        found.update(pairs_in(program(seed=seed, counts=counts, luau=luau)))
    return found


@pytest.mark.slow
def test_every_pair_that_can_occur_occurs_five_times() -> None:
    found = counted(5000)
    wanted = possible_pairs()
    assert len(wanted) > 8000
    assert {pair: found[pair] for pair in wanted if found[pair] < 5} == {}


def test_native_functions_are_around_where_a_version_has_them() -> None:
    found = counted(300, Version.parse("today"))
    native = [pair for pair in found if pair[-1] == "native function"]
    assert len(native) > 150
    assert {pair[-1] for pair in possible_pairs()}.isdisjoint(["native function"])
    assert ("operation", "surroundings", "+", "native function") in possible_pairs(
        Version.parse("today")
    )


def test_what_was_made_least_comes_next() -> None:
    def rare(counts: list[Counts]) -> int:
        found = Counter[Pair]()
        for seed in range(300):
            found.update(pairs_in(program(seed=seed, counts=counts[seed % len(counts)])))
        return sum(1 for pair in possible_pairs() if not found[pair])

    assert rare([Counts()]) < rare([Counts() for _ in range(300)])


def test_a_program_without_counts_is_the_same_whatever_was_made_before() -> None:
    alone = [program(seed=seed) for seed in range(30)]
    counts = Counts()
    together = [program(seed=seed, counts=counts) for seed in range(30)]
    assert [program(seed=seed) for seed in range(30)] == alone
    assert together[1:] != alone[1:]


@pytest.mark.parametrize("options", [{}, {"types": "none"}, {"types": "sound"}, {"luau": "today"}])
def test_a_statement_is_valid_and_no_deeper_than_it_says(options: dict[str, str]) -> None:
    grammar = grammar_of(None, **options)
    counts = Counts()
    for seed in range(400):
        maker = Maker(RandomChoices(seed), grammar, Scope(), 200, counts)
        room = combinations.LEVELS + seed % 20  # more room also allows callbacks
        tree = ModuleSet(program=StatBlock(body=combinations.statement(maker, 60, room)))
        assert check(tree, luau=options.get("luau")) == []
        assert Index(tree).heights[0] <= room + 2


def test_a_campaign_without_certain_globals_makes_no_callbacks_with_them() -> None:
    grammar = grammar_of(None, without=frozenset(["xpcall", "setmetatable", "rawequal"]))
    for seed in range(200):
        maker = Maker(RandomChoices(seed), grammar, Scope(), 200, Counts())
        body = combinations.statement(maker, 60, combinations.LEVELS + 20)
        source = render(StatBlock(body=body))
        assert "xpcall(error" not in source
        assert "(setmetatable({}, {" not in source
        assert "rawequal" not in source


def test_a_campaign_uses_many_different_idioms() -> None:
    together = Counts()
    alone: set[str] = set()
    for seed in range(200):
        program(seed=seed, size=200, counts=together)
        counts = Counts()
        program(seed=seed, size=200, counts=counts)
        alone.update(counts.idioms)
    assert len(together.idioms) > max(150, 1.15 * len(alone))


def test_libraries_that_are_left_out_are_not_called() -> None:
    libraries = {signature.library or "globals": 0.0 for signature in SIGNATURES}
    none, _ = grammar_of({"libraries": libraries}).operations
    assert {operation.library for operation in none} == {""}
    some, _ = grammar_of({"libraries": {"math": 0}}, luau="today").operations
    assert {""} | {*libraries} - {operation.library for operation in some} == {"", "math"}
    assert check(program(seed=1, size=2000, weights={"libraries": libraries})) == []


def test_no_choices_make_no_such_statement() -> None:
    maker = Maker(BytesChoices(b""), grammar_of(None), Scope(), 200)
    assert combinations.statements(maker, 100, 99) == []


@pytest.mark.parametrize(
    ("source", "pair"),
    [
        ("print(1 + 2 ^ 53)", ("operation", "value", "+ 1", "int53")),
        ("local v0 = 0 / 0 print(-v0)", ("operation", "value", "unary - 0", "nan")),
        ("x1 = 1 / 0 print(x1 % 2)", ("source", "value", "global", "infinity")),
        ("do x1 = 1 print(x1) end do x1 = -0 print(#x1) end", ("source", "value", "global", "-0")),
        ("local v0 = math.abs print(v0(-3))", ("operation", "value", "math.abs 0", "negative")),
        ("for _, v1 in {-0} do print(#v1) end", ("source", "value", "loop variable", "-0")),
        ("print(string.sub('abc', 4))", ("operation", "value", "string.sub 1", "off by one")),
        (
            "local v0 = buffer.create(0) print(buffer.len(v0))",
            ("source", "value", "local", "empty"),
        ),
        (
            "print(pcall(function(v1: number) return math.abs(v1) end, -3))",
            ("source", "value", "annotated parameter", "negative"),
        ),
        (
            "print(pcall(function(...) return math.abs(...) end, 1))",
            ("operation", "surroundings", "math.abs", "varargs"),
        ),
        (
            "local function v0(v1) return v1 .. 'a' end print(v0(''))",
            ("value", "surroundings", "empty", "inlined function"),
        ),
        (
            "local v0 = {__concat = rawequal} print(setmetatable({}, v0) .. 'a')",
            ("operation", "source", "__concat 0", "call"),
        ),
        (
            "coroutine.resume(coroutine.create(function() return #{} end))",
            ("operation", "surroundings", "#", "coroutine"),
        ),
    ],
)
def test_what_is_counted_is_what_a_program_says(source: str, pair: Pair) -> None:
    tree = parse(source).tree
    assert pair in {*pairs_in(tree)}, render(tree.program)
