"""The real programs that tests use as references, and how to install each of them.

A test that needs a missing program is skipped, with a reason that says what to install. At the end
of a run, `conftest.py` prints a line for each such reason.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec

import pytest

INSTALL = {
    "afl-cc": "apt install afl++",
    "afl-clang-fast": "apt install afl++",
    "afl-fuzz": "apt install afl++",
    "afl-showmap": "apt install afl++",
    "axe-core": "npm ci --prefix tests/orgrest/npm",
    "bash": "apt install bash",
    "cc": "apt install gcc",
    "chromium": "apt install chromium",
    "clang": "apt install clang libclang-rt-dev",
    "clang++": "apt install clang libclang-rt-dev",
    "curl": "apt install curl",
    "emacs": "apt install emacs-nox",
    "fish": "apt install fish",
    "g++": "apt install g++",
    "gpg": "apt install gnupg",
    "jq": "apt install jq",
    "node": "apt install nodejs",
    "npm": "apt install npm",
    "nvim": "apt install neovim",
    "pass": "apt install pass",
    "patch": "apt install patch",
    "protoc": "apt install protobuf-compiler",
    "prove": "apt install perl",
    "zsh": "apt install zsh",
}
"""The command that installs each program on Debian or Ubuntu.

On other systems, the packages have similar names.
"""


def missing(program: str) -> str:
    """Return the reason why a test is skipped."""
    return f"{program} is not installed: {INSTALL[program]}"


def require(program: str) -> str:
    """Return the path of a program, or skip the test if the program is missing."""
    found = shutil.which(program)
    if found is None:
        pytest.skip(missing(program))
    return found


def needs(program: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test if this program is missing."""
    return pytest.mark.skipif(shutil.which(program) is None, reason=missing(program))


needs_engine = pytest.mark.skipif(
    find_spec("quickjs") is None, reason="pip install quickjs-ng: the engine for scripts is missing"
)
"""The mark of a test that runs scripts."""
