"""Creates temporary files for saving documents, and removes those left by killed runs."""

from __future__ import annotations

import contextlib
import os
import re
import stat
import time
from functools import lru_cache
from pathlib import Path

from orgrest.regular import compiled

try:
    import fcntl
except ImportError:  # Windows has no fcntl
    fcntl = None  # type: ignore[assignment]

_RANDOM = 4  # bytes in the name of a temporary file
_TEMPORARY = compiled(rf"\.(.+)\.[0-9a-f]{{{2 * _RANDOM}}}", re.DOTALL)
_LEFT_AFTER = 3600.0  # seconds after which an unlockable file counts as left by a killed run


def create(target: Path) -> tuple[Path, int]:
    """Create a temporary file next to `target`. Return its path and its file descriptor.

    The file is locked until the descriptor is closed, so an unlocked file was left by a killed run.
    Raises OSError.
    """
    while True:
        name = target.with_name(f".{target.name}.{os.urandom(_RANDOM).hex()}")
        number = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        if fcntl is None:
            return name, number
        with contextlib.suppress(OSError):  # not every file system has locks
            fcntl.flock(number, fcntl.LOCK_EX)
        if os.fstat(number).st_nlink:
            return name, number
        os.close(number)  # another run removed it before it was locked


@lru_cache(64)
def _leftovers(folder: Path) -> dict[str, list[Path]]:
    """Return the temporary files that killed runs left in a folder, by their final names."""
    leftovers: dict[str, list[Path]] = {}
    with contextlib.suppress(OSError):
        for entry in os.scandir(folder):
            match = _TEMPORARY.fullmatch(entry.name)
            if match and entry.is_file(follow_symlinks=False):
                with contextlib.suppress(OSError):
                    if _is_leftover(Path(entry.path)):
                        leftovers.setdefault(match[1], []).append(Path(entry.path))
    return leftovers


def _is_leftover(path: Path) -> bool:
    status = path.stat()
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        return False
    if fcntl is None:
        return time.time() - status.st_mtime > _LEFT_AFTER
    with path.open("rb") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # a file system without locks
            return time.time() - status.st_mtime > _LEFT_AFTER
    return True


def remove_left(target: Path) -> None:
    """Remove the temporary files of runs that were killed while they wrote `target`."""
    for path in _leftovers(target.parent).pop(target.name, ()):
        with contextlib.suppress(OSError):
            path.unlink()


def copy_owner(target: Path, number: int) -> None:
    """Give a temporary file the mode, owner and extended attributes of `target`.

    `number` is the temporary file's descriptor. Without a `target`, the file gets the default mode.
    """
    try:
        old = target.stat()
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        os.fchmod(number, 0o666 & ~mask)
        return
    new = os.fstat(number)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with contextlib.suppress(PermissionError):
            os.fchown(number, old.st_uid, old.st_gid)
    os.fchmod(number, stat.S_IMODE(old.st_mode))
    if hasattr(os, "listxattr"):  # Linux, which also stores access control lists as attributes
        with contextlib.suppress(OSError):  # the file system has no attributes
            for name in os.listxattr(target):
                with contextlib.suppress(OSError):  # some can only be set by the system
                    os.setxattr(number, name, os.getxattr(target, name))
