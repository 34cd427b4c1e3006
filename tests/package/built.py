"""Runs programs for the tests of the packages, and names the files that a build produces."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGES = "scriptschema", "orgrest"


class Built(NamedTuple):
    sdist: Path
    wheel: Path


def run(*command: object, status: int = 0, cwd: Path | None = None, **variables: str) -> str:
    """Run a program and return what it printed to both of its outputs."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "PYTHONSAFEPATH": "1", **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def tool(name: str) -> Path:
    """Return the path of a program in the Python environment of the tests."""
    return Path(sys.executable).with_name(name)
