"""Cleans up what runs leave behind: processes that left their session, and temporary folders.

An environment variable identifies the owner of each target process, and of its descendants in any
session. `sweep` kills processes whose owner is gone, and removes folders that no process locks. So
the next run, at the latest, removes what a killed run left behind.

On Linux, a worker also adopts orphans (see `adopt`): processes left behind by its targets become
its own children, even if they have no environment. The worker kills them when the program that
started them has finished. Other processes do so while they run targets (see `adopting`).
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import tempfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Final

OWNER: Final = "SCRIPTSCHEMA_OWNER"
"""The environment variable that identifies the owner by its process ID and start time."""

_PREFIX: Final = "scriptschema-run-"
_LOCK: Final = ".lock"
_PROC: Final = Path("/proc")
_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER, see prctl(2)
_ROUNDS: Final = 20

_adopting = False
_spared: frozenset[int] = frozenset()


def owner_mark() -> str:
    """Return the value of `OWNER` for processes started by this process."""
    return f"{os.getpid()} {_started(os.getpid())}"


def engine_mark() -> str:
    """Return the value of `OWNER` for engines, which run until this process kills them or exits."""
    return f"{owner_mark()} engine"


def adopt() -> None:
    """Make orphaned descendants children of this process, if the system supports it.

    All children of this process must be targets, because `end_orphans` kills all others.
    """
    global _adopting
    with contextlib.suppress(OSError, AttributeError):
        _adopting = ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """Call `adopt` for a block, in a process that has other children, too.

    `end_orphans` then spares the children that exist at the start of the block, and those in the
    session of this process: targets and what they start are in other sessions.
    """
    global _adopting, _spared
    if _adopting:
        yield
        return
    _spared = frozenset(_children())
    adopt()
    try:
        yield
    finally:
        if _adopting:
            ctypes.CDLL(None).prctl(_SUBREAPER, 0, 0, 0, 0)
        _adopting, _spared = False, frozenset()


def end_orphans(known: Collection[int]) -> None:
    """Kill the orphans that this process has adopted.

    `known` are the process IDs of the children that it started. Does nothing in a process that does
    not adopt orphans (see `adopt`).
    """
    if not _adopting:
        return
    for _ in range(_ROUNDS):  # ended processes may leave orphans, too
        orphans = [number for number in _children() if number not in known and _is_left(number)]
        if not orphans:
            return
        for number in orphans:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(number, signal.SIGKILL)
                os.waitpid(number, 0)


def sweep() -> None:
    """Kill leftover processes, and remove leftover folders.

    A process is left over if its owner has ended, or if this process owns it and it is not an
    engine. A folder is left over if no process has locked it.
    """
    for _ in range(_ROUNDS):  # a process may have been forking while the others were ended
        if not end_marked(owner_mark()):
            break
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError), (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)


def end_marked(mine: str) -> int:
    """Kill processes that have the mark `mine` or no living owner, and return their number."""
    ended = 0
    with contextlib.suppress(OSError):
        namespace = (_PROC / "self/ns/pid").readlink()
        for path in _PROC.iterdir():
            if not path.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError):
                mark = _mark_of(path)
                # A process ID has no meaning in another namespace, such as a container's.
                if mark and (path / "ns/pid").readlink() == namespace and _is_over(mark, mine):
                    os.kill(int(path.name), signal.SIGKILL)
                    ended += 1
    return ended


class Folder:
    """A temporary folder, locked until `remove` is called."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        making = self.path / f"{_LOCK}.new"
        self._lock: IO[bytes] = making.open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        making.rename(self.path / _LOCK)  # it never exists unlocked
        _FOLDERS.append(self)

    def remove(self) -> None:
        """Remove the folder with its contents."""
        if self in _FOLDERS:
            for _ in range(_ROUNDS):  # another thread may still write to it
                shutil.rmtree(self.path, ignore_errors=True)
                if not self.path.exists():
                    break
            # Only now: a thread that ends the process must not leave a folder half removed.
            with contextlib.suppress(ValueError):
                _FOLDERS.remove(self)
            self._lock.close()


_FOLDERS: Final[list[Folder]] = []


def remove_folders() -> None:
    """Remove all folders of this process that still exist."""
    for folder in [*_FOLDERS]:
        folder.remove()


def _started(number: int) -> str:
    """Return a process's start time in clock ticks, or an empty string if it has ended."""
    try:
        state, *fields = (_PROC / str(number) / "stat").read_text().rpartition(")")[2].split()
        # A zombie counts as ended: a container without an init process may never reap it.
        return "" if state == "Z" else fields[18]
    except (OSError, IndexError, ValueError):
        return ""


def _mark_of(path: Path) -> str:
    for pair in (path / "environ").read_bytes().split(b"\0"):
        name, _, value = pair.partition(b"=")
        if name == OWNER.encode():
            return value.decode()
    return ""


def _is_over(mark: str, mine: str) -> bool:
    number, started = mark.split()[:2]
    return mark == mine or _started(int(number)) != started


def _is_left(child: int) -> bool:
    if child in _spared:
        return False
    with contextlib.suppress(OSError):  # it has ended: it has no environment any more
        if _mark_of(_PROC / str(child)) == engine_mark():
            return False
    with contextlib.suppress(ProcessLookupError):
        return os.getsid(child) != os.getsid(0)
    return False


def _children() -> Iterator[int]:
    for path in (_PROC / "self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            yield from map(int, path.read_text().split())
