"""Builds the toy interpreter for each engine. Without the engine, tests are skipped."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from components import require

TOY = Path(__file__).with_name("toy.c")

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Return a function that builds the toy with a compiler and returns the program's path.

    The function skips the test if the compiler is missing.
    """

    def build(name: str, *command: str) -> Path:
        program = tmp_path_factory.mktemp("toy") / name
        require(command[0])
        made = subprocess.run(
            [*command, "-O1", "-o", str(program), str(TOY)], capture_output=True, text=True
        )
        assert made.returncode == 0, made.stdout + made.stderr
        return program

    return build


@pytest.fixture(scope="session")
def toy(build: Build) -> Path:
    """The toy, which runs one source from standard input."""
    return build("plain", "cc")


@pytest.fixture
def seeds(tmp_path: Path) -> Path:
    """A folder of seed programs, each with only one of the constructs that the toy's bug needs."""
    folder = tmp_path / "seeds"
    folder.mkdir()
    for name, source in {
        "while": "local v0 = 3\nwhile v0 > 0 do\n  v0 = v0 - 1\nend\nprint(v0)\n",
        "for": "for v0 = 1, 3 do\n  print(v0)\nend\n",
        "repeat": "local v0 = 0\nrepeat\n  v0 = v0 + 1\nuntil v0 > 3\n",
        "function": "local function v0()\n  print(1)\nend\nv0()\n",
        "if": "if 1 < 2 then\n  print(1)\nend\n",
    }.items():
        (folder / f"{name}.luau").write_text(source)
    return folder
