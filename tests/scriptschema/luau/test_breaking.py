"""Sources that are not Luau: no parser accepts them. tests/luau tries them with the real Luau."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scriptschema import strategies
from scriptschema.generation.programs import program
from scriptschema.luau.breaking import broken
from scriptschema.luau.parse import ParseError, parse
from scriptschema.luau.render import render


@given(strategies.sources(size=40), st.integers(0) | st.binary(max_size=60))
def test_a_broken_source_is_not_luau(source: str, choices: int | bytes) -> None:
    text = broken(source, choices)
    with pytest.raises(ParseError):
        parse(text)


@pytest.mark.parametrize("source", ["", "\n", "-- only a comment", "--[[ one ]]", "return"])
@pytest.mark.parametrize("choices", [b"", b"\0\xff", b"\xff" * 90, 1, 2])
def test_a_source_of_next_to_nothing_can_be_broken(source: str, choices: int | bytes) -> None:
    with pytest.raises(ParseError):
        parse(broken(source, choices))


def test_the_same_seed_breaks_a_source_in_the_same_way_and_others_in_others() -> None:
    source = render(program(seed=3, size=60).program)
    texts = [broken(source, seed) for seed in range(200)]
    assert texts == [broken(source, seed) for seed in range(200)]
    assert len({*texts}) > 180


def test_parsers_meet_errors_of_many_kinds() -> None:
    said = set()
    for seed in range(600):
        with pytest.raises(ParseError) as caught:
            parse(broken(render(program(seed=seed, size=40).program), seed))
        said.add(str(caught.value).partition(": ")[2])
    assert len(said) > 150


def test_some_are_nested_deeper_than_luau_allows() -> None:
    source = render(program(seed=1, size=40).program)
    assert 1 <= sum(len(broken(source, seed)) > 5_000 for seed in range(400)) <= 40
