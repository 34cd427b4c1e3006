"""Generated programs, and calls of each library member, run in the real Luau.

`pytest --long` tries 2,000 programs of each kind.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import find, settings
from real_luau import RealLuau

from scriptschema import strategies
from scriptschema.choices import BytesChoices, RandomChoices
from scriptschema.generation.programs import (
    Counts,
    calls,
    combinations,
    grammar_of,
    nodes,
    program,
)
from scriptschema.generation.programs.maker import Maker
from scriptschema.generation.programs.scope import Scope
from scriptschema.luau.library import SIGNATURES
from scriptschema.luau.render import render, render_module_set
from scriptschema.messages import ModuleSet, StatBlock
from scriptschema.versions import Version, has


def run(luau: RealLuau, tree: ModuleSet) -> Any:
    sources = render_module_set(tree)
    for text in (sources.module, sources.program):
        assert text is None or luau.compile(text) is None
    return luau.run(sources.program, sources.module, milliseconds=5000)


@pytest.mark.parametrize(
    ("options", "share"),
    [
        ({}, 0.9),
        ({"wrong": 0}, 0.97),
        ({"types": "none", "swarm": True}, 0.9),
        ({"types": "sound"}, 0.97),
        ({"luau": "its own"}, 0.97),
    ],
    ids=["defaults", "nothing wrong", "swarm", "sound types", "what this version has"],
)
def test_programs_compile_and_run_to_their_end(
    luau: RealLuau, long_mode: bool, options: dict[str, Any], share: float
) -> None:
    if "luau" in options:
        options = {"luau": luau.version}
    count = 2000 if long_mode else 100
    answers = [run(luau, program(seed=seed, **options)) for seed in range(count)]
    errors = Counter(answer.error for answer in answers if answer.error)
    assert not any(answer.timeout for answer in answers)
    assert errors.total() <= count * (1 - share), errors
    outputs = Counter(answer.output for answer in answers)
    assert len(outputs) > 0.9 * count
    assert max(len(output) for output in outputs) < 200_000


def test_the_real_luau_is_as_new_as_its_members_and_syntax_say(luau: RealLuau) -> None:
    assert luau.version >= Version(711)
    members = {str(signature): signature.span for signature in SIGNATURES}
    answer = luau.run(
        "".join(
            f"print({name} ~= nil)\n" for name, span in members.items() if has(luau.version, span)
        )
    )
    assert {*answer.output.split()} == {"true"}


def test_programs_of_any_bytes_compile(luau: RealLuau) -> None:
    for seed in range(60):
        data = RandomChoices(seed)
        tree = program(choices=BytesChoices(bytes(data.below(256) for _ in range(600))))
        assert not run(luau, tree).timeout


def test_a_program_prints_the_same_in_every_run(luau: RealLuau) -> None:
    for seed in range(40):
        tree = program(seed=seed)
        assert run(luau, tree) == run(luau, tree)


def test_programs_that_combine_compile_and_run_to_their_end_the_same_each_time(
    luau: RealLuau,
) -> None:
    counts = Counts()
    trees = [program(seed=seed, counts=counts) for seed in range(60)]
    answers = [run(luau, tree) for tree in trees]
    assert sum(1 for answer in answers if answer.error) <= 6
    assert answers == [run(luau, tree) for tree in trees]


def test_large_programs_end_in_time_and_print_little(luau: RealLuau) -> None:
    for seed in range(3):
        answer = run(luau, program(seed=seed, size=20_000))
        assert not answer.timeout
        assert len(answer.output) < 1_000_000


def test_combinations_end_and_no_error_of_theirs_ends_the_program(luau: RealLuau) -> None:
    grammar = grammar_of(None, luau=luau.version)
    counts, outputs = Counts(), Counter[str]()
    for seed in range(400):
        maker = Maker(RandomChoices(seed), grammar, Scope(), 200, counts)
        body = combinations.statement(maker, 60, 60)
        answer = run(luau, ModuleSet(program=StatBlock(body=body)))
        assert answer.error is None, (answer.error, render(body[0]))
        outputs.update(line.partition("\t")[0] for line in answer.output.splitlines())
    assert outputs["true"] > 100
    assert outputs["false"] > 50


FAIL = {"error", "coroutine.yield"}
"""Library members that never return when this test calls them."""


def test_right_arguments_make_every_library_member_return(luau: RealLuau) -> None:
    rounds = 8
    grammar = grammar_of(None, wrong=0, luau=luau.version)
    failed = Counter[str]()
    for signature in SIGNATURES:
        if signature.parameters is None or str(signature) in FAIL:
            continue
        if not has(luau.version, signature.span):
            continue
        lines = []
        for seed in range(rounds):
            maker = Maker(RandomChoices(seed), grammar, Scope(), 40)
            call = calls.call(maker, signature, 40, 60)
            lines.append(f"print('returned', (pcall(function() return {render(call)} end)))")
        answer = luau.run("\n".join(lines))
        assert answer.error is None, answer.error
        failed[str(signature)] += answer.output.split("\n").count("returned\tfalse")
    assert {name: number for name, number in failed.items() if number} == {}


@pytest.mark.parametrize("word", ["coroutine", "while", "string.rep", "pcall"])
def test_a_failing_example_shrinks_to_a_few_lines_that_run(luau: RealLuau, word: str) -> None:
    tree = find(
        strategies.programs(),
        lambda tree: word in render(tree.program),
        settings=settings(max_examples=2000, database=None, derandomize=True),
    )
    assert render(tree.program).count("\n") <= 16
    assert run(luau, tree).error is None


def test_nodes_of_the_language_are_looked_up_by_name() -> None:
    assert render(nodes.call_builtin("type", nodes.string("a"))) == 'type("a")'
