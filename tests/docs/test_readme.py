"""The README's examples, run as they stand.

A `python` block runs in one namespace with those before it, and its tests are called. In a
`console` block each line after `$ ` is run by a shell in a copy of `examples/`, and what it prints
must be what the block shows; a line `...` stands for any lines.
"""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BLOCKS = re.findall(
    r"^```(python|console)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE
)
NAMESPACE: dict[str, Any] = {}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("readme")
    shutil.copytree(ROOT / "examples", path / "examples")
    return path


def test_the_readme_has_examples_of_both_kinds() -> None:
    assert {kind for kind, _ in BLOCKS} == {"python", "console"}


@pytest.mark.parametrize(
    ("kind", "text"), BLOCKS, ids=[f"{k}-{t.splitlines()[0][:40]}" for k, t in BLOCKS]
)
def test_example(kind: str, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    if kind == "python":
        exec(compile(text, "README.md", "exec"), NAMESPACE)
        for name in [n for n in NAMESPACE if n.startswith("test_")]:
            NAMESPACE.pop(name)()
        return
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        done = subprocess.run(
            command,
            shell=True,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        matches = doctest.OutputChecker().check_output(expected, done.stdout, doctest.ELLIPSIS)
        assert matches, f"$ {command}\n{done.stdout}"
