"""The VS Code extension in a real VS Code: `editors/vscode/tests` clicks and reads as users do.

`tox -e vscode` installs that VS Code, makes the package and runs this.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from components import needs, require

FOLDER = Path(__file__).parents[2] / "editors" / "vscode"
NEEDED = (
    FOLDER / "orgrest.vsix",
    FOLDER / "orgrest-universal.vsix",
    FOLDER / "node_modules" / "esbuild",
    FOLDER / "tests" / "node_modules" / "code-server" / "lib" / "vscode" / "node_modules",
)
pytestmark = [
    needs("node"),
    pytest.mark.skipif(
        not all(path.exists() for path in NEEDED),
        reason="VS Code and the extension's package are not installed: tox -e vscode",
    ),
]


def run(folder: Path) -> None:
    command = [require("npm"), "test", "--silent"]
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_the_parts_of_the_extension_hold_without_vs_code() -> None:
    run(FOLDER)


@needs("chromium")
def test_requests_are_sent_and_shown_in_a_real_vs_code() -> None:
    run(FOLDER / "tests")
