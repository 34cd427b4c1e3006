"""Mutants of sources for AFL++, Atheris and similar engines, which tests/engines runs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptschema.choices import RandomChoices
from scriptschema.fuzzing import afl
from scriptschema.fuzzing.afl import MOST, Trimmer
from scriptschema.fuzzing.restriction import Restriction
from scriptschema.fuzzing.source_mutation import (
    CACHED,
    LONGEST,
    WITHOUT,
    SourceMutator,
    features_left_out,
)
from scriptschema.fuzzing.targets.probing import ANNOTATIONS
from scriptschema.luau.parse import parse
from scriptschema.luau.render import render
from scriptschema.luau.repair import check
from scriptschema.versions import Version

SOURCE = b"""local total = 0
for i = 1, 10 do
  total = total + i
end
print(total)
"""
DONOR = b"local function twice(x) return x * 2 end\nprint(twice(21))"


def mutants(source: bytes, count: int = 50, **options: object) -> list[bytes]:
    mutator = SourceMutator()
    return [mutator.mutate(source, RandomChoices(seed), **options) for seed in range(count)]  # type: ignore[arg-type]


def test_mutants_of_a_source_are_programs_that_luau_reads() -> None:
    made = mutants(SOURCE, donor=DONOR)
    assert len({*made, SOURCE}) > 40
    for source in made:
        assert check(parse(source).tree) == []


def test_the_same_choices_give_the_same_mutant_so_that_a_run_can_be_repeated() -> None:
    assert mutants(SOURCE, donor=DONOR) == mutants(SOURCE, donor=DONOR)


def test_parts_of_the_donor_come_in() -> None:
    assert any(b"twice" not in made and b"21" in made for made in mutants(SOURCE, 200, donor=DONOR))


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_a_mutant_comes_of_any_bytes(source: bytes, donor: bytes) -> None:
    made = SourceMutator().mutate(source, RandomChoices(1), donor=donor)
    assert made
    parse(made)


@pytest.mark.parametrize(
    "source",
    [b"", b"((((", b"x" * (LONGEST + 1), b"\x00" * 9, b"(" * 9_000, b"do " * 5_000],
    ids=["nothing", "no program", "too long", "zeros", "deep", "deep blocks"],
)
def test_what_is_no_program_is_replaced_by_one(source: bytes) -> None:
    made = SourceMutator().mutate(source, RandomChoices(3))
    assert made != source
    assert check(parse(made).tree) == []


def test_names_that_are_not_in_the_tables_stay_different_from_one_another() -> None:
    names = [f"a{number}" for number in range(40)]
    source = f"local {', '.join(names)}\nlocal function f(me) return me.one, me.two, Three end"
    tree = SourceMutator().tree_of(source.encode())
    assert tree is not None
    assert check(tree.tree) == []
    statement = tree.tree.program.body[0].local
    assert statement is not None
    assert len({variable.name for variable in statement.vars}) == 40
    customs = {node.custom for node in tree.nodes if type(node).__name__ == "Name"}  # type: ignore[attr-defined]
    assert len(customs) == 3


NEWER = b"""
const big = 9007199254740993i
@native
local function half(x: number): number return x * 0.5 end
print(half(3), integer.add(big, 1i), (half :: any)(7 // 2))
"""


def test_what_is_newer_than_the_schema_stays_in_mutants() -> None:
    mutator = SourceMutator(styles=False)
    made = [mutator.mutate(NEWER, RandomChoices(seed)) for seed in range(40)]
    assert mutator.unreadable == 0
    for text in (b"const ", b"@native", b"0.5", b"93i", b"::"):
        assert sum(text in each for each in made) > 20


def test_what_the_target_does_not_take_is_left_out_of_mutants() -> None:
    mutator = SourceMutator(luau=Version(700))
    for seed in range(40):
        made = mutator.mutate(NEWER, RandomChoices(seed), donor=NEWER)
        assert check(parse(made, luau="0.700").tree, luau="0.700") == []


def test_an_engine_is_reported_the_target_by_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SCRIPTSCHEMA_LUAU", "0.711")
    afl.init(1)
    source = bytes(afl.fuzz(bytearray(NEWER), bytearray(), 1 << 16))
    assert parse(source, luau="0.711")
    assert b"const" in source or b"0.5" in source
    monkeypatch.setenv("SCRIPTSCHEMA_LUAU", "0.2")
    with pytest.raises(SystemExit, match=r"SCRIPTSCHEMA_LUAU: unknown version of Luau '0\.2'"):
        afl.init(1)
    monkeypatch.delenv("SCRIPTSCHEMA_LUAU")
    afl.init(1)


def test_no_mutant_is_longer_than_the_engine_takes() -> None:
    assert all(len(made) <= 120 for made in mutants(SOURCE, 200, max_size=120))
    assert {*mutants(SOURCE, 5, max_size=3)} == {SOURCE}  # where nothing fits it stays


def test_memory_is_bounded_however_many_inputs_there_are() -> None:
    mutator = SourceMutator()
    for number in range(CACHED + 20):
        mutator.tree_of(b"x%d" % number)
    mutator.tree_of(b"print(1)")
    assert len(mutator._trees) == CACHED
    assert b"x0" not in mutator._trees
    read = mutator.parsed
    mutator.tree_of(b"print(1)")
    assert mutator.parsed == read


def test_trimming_offers_ever_shorter_programs_and_ends() -> None:
    mutator = SourceMutator()
    source = b"local a = {1, 2, 3}\nif a then print(#a) else print('no') end\nwhile false do end"
    index = mutator.tree_of(source)
    assert index is not None
    trimmer = Trimmer(source, index)
    offered = 0
    while trimmer.candidate is not None:
        assert len(trimmer.candidate) < len(trimmer.source)
        parse(trimmer.candidate)
        trimmer.answer(b"#" in trimmer.candidate)
        offered += 1
    assert offered <= MOST
    assert b"#" in trimmer.source
    assert len(trimmer.source) < 20
    trimmer.answer(True)  # after the end, nothing happens
    assert b"#" in trimmer.source


def test_afl_is_reported_what_it_asks_for(tmp_path: Path) -> None:
    afl.init(1)
    mutant = afl.fuzz(bytearray(SOURCE), bytearray(DONOR), 1 << 20)
    assert isinstance(mutant, bytearray)  # 4.04c reads bytes as if they were one, and crashes
    described = afl.describe(200)
    assert isinstance(described, bytes)
    operators = {*described.decode().partition("@")[0].split("+")}
    assert operators <= {*afl._engine.sources.mutator.weights}
    assert afl.describe(3) == described[:3]
    assert afl.introspection() == described

    queue = tmp_path / "queue"
    queue.mkdir()
    entry = queue / "id:000001"
    entry.write_bytes(mutant)
    assert afl.queue_new_entry(str(entry), None) is False  # a seed
    assert afl.queue_new_entry(str(entry), "id:000000") is False
    assert afl.queue_new_entry(str(queue / "gone"), "id:000000") is False
    afl.deinit()
    rows = (tmp_path / "scriptschema.txt").read_text().splitlines()
    useful = {row.split()[0] for row in rows if row.endswith(" 1")}
    assert useful == operators


def test_some_mutants_are_written_in_a_style_that_is_reported() -> None:
    mutator = SourceMutator()
    styles = []
    for seed in range(60):
        made = mutator.mutate(SOURCE, RandomChoices(seed), donor=DONOR)
        tree = parse(made).tree.program
        assert made.decode() == render(tree, style=mutator.style)
        styles.append(mutator.style)
    assert 5 < len(styles) - styles.count(None) < 30
    plain = SourceMutator(styles=False)
    for seed in range(60):
        made = plain.mutate(SOURCE, RandomChoices(seed), donor=DONOR)
        assert made.decode() == render(parse(made).tree.program)


def test_afl_is_reported_the_style_and_can_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    described = []
    for style in ("random", "plain"):
        monkeypatch.setenv(afl.STYLE, style)
        afl.init(1)
        for _ in range(40):
            afl.fuzz(bytearray(SOURCE), bytearray(DONOR), 1 << 20)
            described.append(afl.describe(200))
    assert any(b"@" in text for text in described[:40])
    assert not any(b"@" in text for text in described[40:])


def test_afl_continues_when_the_log_cannot_be_written(tmp_path: Path) -> None:
    afl.init(1)
    afl.fuzz(bytearray(SOURCE), bytearray(), 1 << 20)
    afl.queue_new_entry(str(tmp_path / "gone" / "queue" / "id:1"), "id:0")
    afl.deinit()
    assert afl.fuzz(bytearray(SOURCE), bytearray(), 1 << 20)


def test_afl_trims_a_program_and_leaves_alone_what_is_none() -> None:
    afl.init(1)
    assert afl.init_trim(bytearray(b"((")) == 0
    assert afl.init_trim(bytearray(b"")) == 0
    assert (afl.trim(), afl.post_trim(False)) == (bytearray(), MOST)
    steps, step, shortest = afl.init_trim(bytearray(SOURCE)), 0, SOURCE
    while step < steps:
        shorter = bytes(afl.trim())
        assert 0 < len(shorter) < len(shortest)
        taken = b"for" in shorter
        shortest = shorter if taken else shortest
        step = afl.post_trim(taken)
    assert b"for" in shortest
    assert b"print" not in shortest


def test_mutants_and_new_programs_use_none_of_what_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without = frozenset({"Type", "Typename", "string", "string.rep"})
    restriction = Restriction(without)
    mutator = SourceMutator(without=without)
    for source in (SOURCE, b"not ((( Luau"):
        for seed in range(60):
            made = mutator.mutate(source, RandomChoices(seed), donor=b"print(string.rep('a', 3))")
            assert made == source or restriction.admits(parse(made).tree), made
    free = SourceMutator()
    made_freely = [free.mutate(b"((", RandomChoices(seed)) for seed in range(60)]
    trees = [parse(each).tree for each in made_freely]
    assert not all(map(restriction.admits, trees))
    monkeypatch.setenv(WITHOUT, "buffer,math.floor")
    assert features_left_out() == {"buffer", "math.floor"}
    monkeypatch.delenv(WITHOUT)
    assert features_left_out() == frozenset()


@pytest.mark.parametrize(
    "source",
    [
        b"if a then " * 60 + b"print(buffer.len(b))" + b" end" * 60,
        b"print(" + b"(" * 390 + b"1" + b")" * 390 + b")",
    ],
)
def test_a_nested_source_does_not_end_afl_if_something_is_left_out(source: bytes) -> None:
    restriction = Restriction(frozenset({"buffer", "buffer.len"}))
    mutator = SourceMutator(without=restriction.missing)
    made = {mutator.mutate(source, RandomChoices(seed), donor=source) for seed in range(20)}
    assert len(made) > 5
    for each in made - {source}:
        assert restriction.admits(parse(each).tree), each


def test_annotated_sources_are_mutated_without_their_annotations() -> None:
    restriction = Restriction(ANNOTATIONS)
    mutator = SourceMutator(without=restriction.missing)
    source = b"local function f(a: number): number return a :: any end\nprint(f(1))\n"
    made = [mutator.mutate(source, RandomChoices(seed)) for seed in range(30)]
    assert all(restriction.admits(parse(each).tree) for each in made)
    assert sum(b"print" in each and b"function" in each for each in made) > 10
