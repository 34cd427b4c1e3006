"""Creates and reads a campaign's folder, and locks it so that no two runs use it simultaneously."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Final, Self

import attrs

from scriptschema import files
from scriptschema.files import FileError
from scriptschema.fuzzing.campaign import config, finds, statistics
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.corpora.folder import name_of
from scriptschema.fuzzing.targets import probing
from scriptschema.fuzzing.targets.outcome import visible

CORPUS: Final = "corpus"
COMPILED: Final = "compiled"
"""The folder in `CORPUS` for programs that are only compiled."""

AFL: Final = "afl"
"""The folder of the AFL++ engine. AFL++'s instances write their output to its subfolder `out`."""

JUDGED: Final = "judged.txt"
"""The file in `AFL` with the names of the inputs that were judged, one per line."""
LOG: Final = "log.txt"
ENDLESS: Final = "endless"
"""The folder of programs that hang in all runs and are probably endless themselves."""

_MOST_ENDLESS: Final = 100
"""The maximum number of programs in `ENDLESS`."""

SEEDS: Final = "seeds.txt"
"""The file with the names of the seed programs that have not been run yet, one per line."""

LOCK: Final = ".lock"

_PATIENCE: Final = 5.0
"""The maximum time, in seconds, to wait for a lock whose owner is no longer running."""


class Campaign:
    """A context manager that locks a campaign's folder for this process.

    `expected` is the configuration for a new campaign. An existing campaign must have the same
    configuration. If `expected` is None, the campaign must exist. Raises FileError, for example if
    another process holds the lock.

    `is_unused` is true for a new campaign until its first programs have run. If an error ends an
    unused campaign, its files are removed, so that the user can run the command again with other
    options.
    """

    def __init__(self, path: Path, expected: Config | None) -> None:
        self.path = path
        self._expected = expected
        self._is_new_folder = False
        self._lock: IO[bytes]
        self.config: Config
        self.is_unused = False

    def __enter__(self) -> Self:
        if self._expected is None:
            config.load(self.path)
        else:
            files.require_parent(self.path)
        with files.errors_of(self.path):
            self._is_new_folder = not self.path.exists()
            self.path.mkdir(exist_ok=True)
            self._require_own()
            _refuse_links(self.path)
            self._lock = files.open_to_append(self.path / LOCK)
        try:
            with files.errors_of(self.path / LOCK):
                self._hold()
            self.config = self._configure()
            self._prepare()
        except BaseException:
            with contextlib.suppress(OSError):  # if the disk is full
                self._lock.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # After Ctrl-C, the campaign can be continued.
        if self.is_unused and kind is not None and issubclass(kind, Exception):
            self._remove()
        self._lock.close()  # releases the lock

    def probe(self) -> None:
        """Determine the targets' properties, and save them. Raises TargetError and FileError."""
        probed = tuple(map(probing.probe, self.config.targets))
        self.config = attrs.evolve(self.config, probed=probed)
        config.save(self.path, self.config)

    def log(self, text: str) -> None:
        """Write a line to the log. Raises FileError."""
        line = visible(" ".join(text.split()))
        statistics.append_line(self.path / LOG, f"{statistics.now()} {line}")

    def keep_endless(self, source: bytes) -> None:
        """Keep a program for the user to examine, if there are not too many. Raises FileError."""
        folder = self.path / ENDLESS
        with files.errors_of(folder):
            files.make_folder(folder, below=self.path)
            path = folder / f"{Path(name_of(source)).stem}.luau"
            if not path.exists() and sum(1 for _ in folder.iterdir()) < _MOST_ENDLESS:
                files.write(path, source, below=self.path)

    def judged(self, names: Iterable[str]) -> None:
        """Record the names of AFL++'s inputs that have been judged. Raises FileError."""
        for name in names:
            statistics.append_line(self.path / AFL / JUDGED, name)

    def _remove(self) -> None:
        """Remove the campaign's files, and the folder if this run created it."""
        for name in (CORPUS, finds.FOLDER, finds.SUSPECTS, AFL, ENDLESS):
            shutil.rmtree(self.path / name, ignore_errors=True)
        with contextlib.suppress(OSError):
            for name in (config.FILE, statistics.FILE, SEEDS, LOG, LOCK):
                (self.path / name).unlink(missing_ok=True)
            if self._is_new_folder:
                self.path.rmdir()

    def _require_own(self) -> None:
        names = [entry.name for entry in self.path.iterdir() if entry.name != LOCK]
        if names and config.FILE not in names and any(name[0] != "." for name in names):
            raise FileError(f"{self.path} is not empty, and not a campaign: choose another folder")

    def _hold(self) -> None:
        """Lock the campaign, or raise FileError if another run has locked it.

        Locking is retried if the lock's owner was killed, because a child process that the owner
        was just starting holds the lock until it calls `exec`.
        """
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                self._lock.seek(0)
                owner = self._lock.read().decode("ascii", "replace").strip() or "unknown"
            if time.monotonic() > end or _is_running(owner):
                raise FileError(
                    f"{self.path} is in use by another run (process {owner}): wait until it has "
                    "finished, or choose another folder"
                )
            time.sleep(0.01)
        self._lock.truncate(0)
        self._lock.write(f"{os.getpid()}\n".encode())
        self._lock.flush()

    def _configure(self) -> Config:
        if self._expected is not None and not (self.path / config.FILE).exists():
            config.save(self.path, self._expected)
            self.is_unused = True
            return self._expected
        existing = config.load(self.path)
        if self._expected is not None and existing != self._expected:
            old, new = ({**each.as_json(), "probed": None} for each in (existing, self._expected))
            names = ", ".join(name for name in old if old[name] != new[name])
            raise FileError(
                f"{self.path} is a campaign that was started with different options ({names}): "
                "to continue it, give only the folder; to start a new campaign, choose another "
                "folder"
            )
        return existing

    def _prepare(self) -> None:
        """Create the folders, and remove incomplete finds of a killed process."""
        with files.errors_of(self.path):
            files.make_folder(self.path / CORPUS, below=self.path)
            for name in (finds.FOLDER, finds.SUSPECTS):
                folder = self.path / name
                files.make_folder(folder, below=self.path)
                for left in folder.glob(".*"):
                    with contextlib.suppress(OSError):
                        shutil.rmtree(left)
                for inside in (folder, *folder.iterdir()):
                    for left in inside.glob(".*"):
                        if left.is_file():
                            left.unlink()


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except (ValueError, OSError):  # unknown, or another user's process
        pass
    return True


def _refuse_links(folder: Path) -> None:
    """Raise FileError if a folder contains a symbolic link.

    Links within AFL++'s folder are allowed, because AFL++ links entries of its queue to each other.
    """
    afl = os.path.join(os.path.realpath(folder), AFL, "")  # noqa: PTH118  # as below
    for inside, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = os.path.join(inside, name)  # noqa: PTH118  # fast
            if not os.path.islink(path):  # noqa: PTH114  # fast
                continue
            here = os.path.join(os.path.realpath(inside), "")  # noqa: PTH118  # as above
            if not (here.startswith(afl) and os.path.realpath(path).startswith(afl)):
                raise FileError(f"{path} is a symbolic link: links in a campaign are not followed")
