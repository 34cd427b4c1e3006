"""The example that fuzzes with Atheris, run as its docstring says."""

import subprocess
import sys
from pathlib import Path

import pytest

from scriptschema.fuzzing import atheris as mutators
from scriptschema.luau.parse import ParseError, parse

EXAMPLE = Path(__file__).parents[2] / "examples" / "fuzz_tree_sitter.py"


def is_program(source: bytes) -> bool:
    try:
        parse(source)
    except ParseError:
        return False
    return True


@pytest.mark.slow
def test_the_example_fills_a_corpus_with_programs_from_nothing(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    done = subprocess.run(
        [sys.executable, EXAMPLE, "-len_control=0", "-max_len=20000", "-runs=120", tmp_path],
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "CustomCrossOver-" in done.stderr
    found = [path.read_bytes() for path in tmp_path.iterdir()]
    assert len(found) > 20
    assert sum(is_program(source) for source in found) > 0.9 * len(found)


def test_a_crossover_brings_a_part_of_the_second_program_into_the_first() -> None:
    first, second = b"print('first')\nprint(1)", b"local t = {'second', 2}\nprint(#t)"
    made = {mutators.custom_crossover(first, second, 500, seed) for seed in range(40)}
    assert any(b"first" in each and b"second" in each for each in made)
    assert {mutators.custom_crossover(first, second, 500, 7)} == {
        mutators.custom_crossover(first, second, 500, 7)
    }


def test_the_engine_gets_neither_nothing_nor_too_much() -> None:
    for size in (1, 2, 50, 5000):
        for source in (b"", b"\n", b"((", b"print(1)"[:size]):
            assert 0 < len(mutators.custom_mutator(source, size, 1)) <= size
            assert 0 < len(mutators.custom_crossover(source, b"print(2)", size, 1)) <= size
