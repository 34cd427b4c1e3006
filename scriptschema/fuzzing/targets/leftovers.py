"""What must not outlive a run: processes that leave their session, temporary folders.

Every process that is started for a target has a variable in its environment that says who started
it, and so has all that it starts, whatever session that is in. `sweep` ends what belongs to
somebody who is gone, and removes folders whose owner no longer locks them: a run that was killed
leaves nothing but until the next one.

A worker adopts orphans besides (`adopt`; Linux): what its targets leave is then its own child, and
is ended with the program that started it.
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
from typing import IO, Final, Self

OWNER: Final = "SCRIPTSCHEMA_OWNER"
"""The variable; its value is the process's number and when it was started."""

_PREFIX: Final = "scriptschema-run-"
_LOCK: Final = ".lock"
_PROC: Final = Path("/proc")
_SUBREAPER: Final = 36  # PR_SET_CHILD_SUBREAPER, see prctl(2)
_ROUNDS: Final = 20

_adopting = False


def owner_mark() -> str:
    """The variable's value for what this process starts."""
    return f"{os.getpid()} {_started(os.getpid())}"


def adopt() -> None:
    """Become the parent of what the processes that are started here leave, if the system can.

    Only for a process whose children are all targets: `end_orphans` ends all others.
    """
    global _adopting
    with contextlib.suppress(OSError, AttributeError):
        _adopting = ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0) == 0


def end_orphans(known: Collection[int]) -> None:
    """End the children of this process that are none of those `known`, if it adopts orphans."""
    if not _adopting:
        return
    for _ in range(_ROUNDS):  # what is ended may leave orphans itself
        orphans = [number for number in _children() if number not in known]
        if not orphans:
            return
        for number in orphans:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(number, signal.SIGKILL)
                os.waitpid(number, 0)


def sweep() -> None:
    """End processes and remove folders of this process, and of all that are gone."""
    for _ in range(_ROUNDS):  # a process may have been forking while the others were ended
        if not _end_marked(owner_mark()):
            break
    with contextlib.suppress(OSError):
        for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
            with contextlib.suppress(OSError), (folder / _LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)


def _end_marked(mine: str) -> int:
    """End the processes of this one, and of all that are gone; return how many there were."""
    ended = 0
    with contextlib.suppress(OSError):
        namespace = (_PROC / "self/ns/pid").readlink()
        for path in _PROC.iterdir():
            if not path.name.isdigit():
                continue
            with contextlib.suppress(OSError, ValueError):
                mark = _mark_of(path)
                # A number means nothing in another namespace, such as a container's.
                if mark and (path / "ns/pid").readlink() == namespace and _is_over(mark, mine):
                    os.kill(int(path.name), signal.SIGKILL)
                    ended += 1
    return ended


class Folder:
    """A temporary folder: a context, or until `remove`. It is locked as long as it is in use."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        making = self.path / f"{_LOCK}.new"
        self._lock: IO[bytes] = making.open("wb")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        making.rename(self.path / _LOCK)  # it is never there without being held
        _FOLDERS.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        if self in _FOLDERS:
            _FOLDERS.remove(self)
            for _ in range(_ROUNDS):  # another thread may be writing
                shutil.rmtree(self.path, ignore_errors=True)
                if not self.path.exists():
                    break
            self._lock.close()


_FOLDERS: Final[list[Folder]] = []


def remove_folders() -> None:
    """Remove all folders that this process has, before it ends in a hurry."""
    for folder in [*_FOLDERS]:
        folder.remove()


def _started(number: int) -> str:
    """When a process was started, in the system's ticks; empty for one that is not there."""
    try:
        return (_PROC / str(number) / "stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _mark_of(path: Path) -> str:
    for pair in (path / "environ").read_bytes().split(b"\0"):
        name, _, value = pair.partition(b"=")
        if name == OWNER.encode():
            return value.decode()
    return ""


def _is_over(mark: str, mine: str) -> bool:
    number, _, started = mark.partition(" ")
    return mark == mine or _started(int(number)) != started


def _children() -> Iterator[int]:
    for path in (_PROC / "self/task").glob("*/children"):
        with contextlib.suppress(OSError):
            yield from map(int, path.read_text().split())
