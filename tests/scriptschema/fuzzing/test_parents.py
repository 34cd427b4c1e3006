"""A campaign's corpus stays productive: programs that fail early are rarely mutated."""

import random

import pytest

from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.programs import MOST_PARENTS, Parents, ProgramSource
from scriptschema.fuzzing.campaign.statistics import Interval, shares_ended
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles.normalisation import message_kind
from scriptschema.fuzzing.targets.description import from_word
from scriptschema.generation.programs import program
from scriptschema.messages import ModuleSet, StatBlock

TREE = Index(ModuleSet(program=StatBlock()))


def drawn_among(found: Parents, times: int = 2000) -> dict[str, int]:
    """Return how often each parent is drawn if only the mutants of those named `bad` fail."""
    counts: dict[str, int] = {}
    for _ in range(times):
        parent = found.draw()
        parent.count(ended=not parent.name.startswith("bad"))
        counts[parent.name] = counts.get(parent.name, 0) + 1
    return counts


@pytest.mark.parametrize("known", [True, False])
def test_parents_whose_mutants_fail_are_drawn_seldom(known: bool) -> None:
    found = Parents(random.Random(1))
    for number in range(40):
        bad = number % 4 > 0
        found.add(f"{'bad' if bad else 'good'}{number}", TREE, ended=(not bad) if known else None)
    counts = drawn_among(found)
    good = sum(count for name, count in counts.items() if name.startswith("good"))
    assert good >= 0.85 * sum(counts.values())
    assert len([name for name in counts if name.startswith("good")]) == 10


def test_a_corpus_of_programs_that_all_fail_is_still_mutated() -> None:
    found = Parents(random.Random(1))
    for number in range(9):
        found.add(f"bad{number}", TREE, ended=False)
    assert len(drawn_among(found, 300)) == 9


def test_old_parents_that_fail_leave_first() -> None:
    found = Parents(random.Random(1))
    for number in range(2 * MOST_PARENTS):
        bad = number % 2 > 0
        found.add(f"{'bad' if bad else 'good'}{number}", TREE, ended=not bad)
    left = [parent.name for parent in found._parents]
    assert len(left) == MOST_PARENTS
    assert sum(name.startswith("good") for name in left) > MOST_PARENTS * 0.55
    assert left[-1] == f"bad{2 * MOST_PARENTS - 1}"


def test_messages_that_differ_in_types_operators_and_names_are_of_one_kind() -> None:
    source = "print(1 + nil)"
    kinds = {
        message_kind(f"program.luau:3: attempt to perform arithmetic ({op}) on {one} and {two}", "")
        for op in ("add", "sub", "unm")
        for one in ("nil", "table", "vector")
        for two in ("number", "string")
    }
    assert len(kinds) == 1
    assert message_kind("x:1: attempt to compare nil < number", source) == message_kind(
        "x:9: attempt to compare table <= table", source
    )
    calls = {
        message_kind(f"x:1: attempt to call a {type_} value", source)
        for type_ in ("nil", "number", "thread")
    }
    assert len(calls) == 1
    assert calls.isdisjoint(kinds)


def test_what_a_program_says_itself_is_no_news() -> None:
    source = 'local a = "over" error(a .. " the dog " .. 7)'
    assert message_kind("program:1: over the dog 7", source) == ""
    assert message_kind("program:1: attempt to call a nil value", source) != ""


def test_the_share_of_normal_ends_is_reported_for_each_fifth_of_the_time() -> None:
    intervals = [
        Interval(seconds=second, programs=10, outcomes={"ok": ok, "error": 10 - ok})
        for second, ok in [(10, 10), (20, 8), (30, 6), (50, 0)]
    ]
    assert shares_ended(intervals) == [1.0, 0.8, 0.6, None, 0.0]
    assert shares_ended([]) == [None] * 5


def test_mutants_of_large_programs_are_not_mostly_what_is_left_of_them() -> None:
    config = Config(targets=(from_word("command:true {file}"),), mutants=1.0, compiled=0)
    programs = ProgramSource(config, seed=1)
    for seed in range(10):
        programs.adopt(str(seed), program(seed=seed, size=300), ended=True)
    for _ in range(40):
        programs.next()
    changed = {operator: row[1] for operator, row in programs.operators().items()}
    shrinking = sum(changed[operator] for operator in ("delete", "hoist", "unwrap"))
    assert shrinking < sum(changed.values()) / 3
