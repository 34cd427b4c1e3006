"""Each change shown in docs/changes.md can be applied to this commit.

With `--long`, the test of each change is also run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from pages import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SECTION = re.compile(
    r"^## (?P<title>[^\n]+)\n(?:(?!^## ).)*?Test: `(?P<test>[^`]+)`\.\n\n"
    r"```diff\n(?P<diff>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
CHANGES = [*SECTION.finditer((ROOT / "docs/changes.md").read_text("utf-8"))]
EACH = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["title"])


def apply(change: re.Match[str], folder: Path, *options: str) -> None:
    command = ["git", "apply", *options, "-"]
    # Outside a repository, because `git apply` would use a repository above the folder.
    alone = {**os.environ, "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    done = subprocess.run(
        command, cwd=folder, input=change["diff"], text=True, capture_output=True, env=alone
    )
    assert done.returncode == 0, done.stderr


def test_there_are_changes_to_try() -> None:
    assert len(CHANGES) == 10


@EACH
def test_a_change_that_is_shown_can_be_made(change: re.Match[str]) -> None:
    apply(change, ROOT, "--check")


@pytest.mark.long
@EACH
def test_a_change_that_is_shown_passes_its_test(change: re.Match[str], tmp_path: Path) -> None:
    for name in ("scriptschema", "orgrest", "tests", "pyproject.toml"):
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copied(ROOT / name, tmp_path / name)
    apply(change, tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", *change["test"].split()]
    own = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=own, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
