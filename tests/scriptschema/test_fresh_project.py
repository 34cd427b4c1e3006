"""A first property test in a new project: in an empty folder, without Hypothesis's database."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAD = """\
from hypothesis import given
from hypothesis import strategies as st
from scriptschema import strategies
from scriptschema.messages import Expr, ModuleSet, StatBlock
"""

TEST = """
@given({strategy})
def test_{number}(example):
    assert example is not None
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "strategies",
    [
        ("strategies.module_sets()", "strategies.sources()", "strategies.exprs()"),
        ("strategies.programs()", "st.from_type(Expr)", "strategies.encoded(ModuleSet)"),
        *(
            pytest.param(names, marks=pytest.mark.long)
            for names in [
                ("strategies.blocks()", "strategies.types()", "strategies.mutated(StatBlock())"),
                ("strategies.damaged(ModuleSet)", "strategies.stats()", "st.builds(ModuleSet)"),
            ]
        ),
    ],
)
def test_the_first_property_test_of_a_project_passes(
    strategies: tuple[str, ...], tmp_path: Path
) -> None:
    # Without the variables by which Hypothesis knows CI, where it is more patient.
    environment = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    tests = [TEST.format(strategy=s, number=n) for n, s in enumerate(strategies)]
    for attempt in range(3):  # its patience ends by the clock, also where the machine is busy
        folder = tmp_path / str(attempt)
        folder.mkdir()
        (folder / "test_first.py").write_text(HEAD + "".join(tests))
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"],
            cwd=folder,
            env=environment | {"HOME": str(folder)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            break
    assert f"{len(strategies)} passed" in done.stdout, done.stdout
