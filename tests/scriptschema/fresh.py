"""Runs Python code in a process of its own, in which nothing is imported yet."""

import os
import subprocess
import sys


def printed_by(code: str, **environment: str) -> str:
    """Return what the code prints. It must not fail."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout
