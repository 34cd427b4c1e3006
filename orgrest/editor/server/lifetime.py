"""The lifetime of a server: its temporary folder, and monitoring of the client's process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

_LOOK_EVERY = 1.0
"""The interval in seconds at which the client's process is checked."""


class ScratchFolder:
    """A temporary folder for this server alone, created on first use."""

    def __init__(self) -> None:
        self._path: Path | None = None

    @property
    def path(self) -> Path:
        """The path of the folder, which is created if necessary."""
        if self._path is None:
            self._path = Path(tempfile.mkdtemp(prefix=f"orgrest-{os.getpid()}-"))
        return self._path

    def remove(self) -> None:
        """Remove the folder, if it was created."""
        if self._path is not None:
            shutil.rmtree(self._path, ignore_errors=True)
            self._path = None


async def end_of(process: int) -> None:
    """Wait until a process has ended. Call this only if `can_watch()` is True."""
    while _is_alive(process):
        await asyncio.sleep(_LOOK_EVERY)


def can_watch() -> bool:
    """Return whether this system has a safe way to check that a process is still alive."""
    return hasattr(os, "getuid")  # on Windows, os.kill(pid, 0) would end the process


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # another user's process
        return True
    return True


def remove_leftovers() -> None:
    """Remove temporary folders left behind by servers that were killed."""
    if not can_watch():
        return
    for folder in Path(tempfile.gettempdir()).glob("orgrest-*-*"):
        match = re.fullmatch(r"orgrest-([0-9]{1,9})-[^-]+", folder.name)
        with contextlib.suppress(OSError):
            own = folder.lstat().st_uid == os.getuid() and not folder.is_symlink()
            if match and own and not _is_alive(int(match[1])):
                shutil.rmtree(folder, ignore_errors=True)
