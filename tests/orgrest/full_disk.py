"""Runs programs on a full disk, simulated by a limit on file sizes."""

from __future__ import annotations

import subprocess
import sys

# Under the limit, Python would cut off the .pyc files it writes for imported modules, and no later
# process could import these modules. With `-B` it writes none.
_START = """\
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))
"""


def run_with_full_disk(
    code: str, *arguments: str, most_bytes: int
) -> subprocess.CompletedProcess[str]:
    """Run `code` in a new Python process that can write at most `most_bytes` to a file."""
    return subprocess.run(
        [sys.executable, "-B", "-c", _START.format(most_bytes) + code, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
