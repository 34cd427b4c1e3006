"""``orgrest FILE --watch``: runs again when a document, or a file that it reads, has changed.

Files that a run writes do not start the next run.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, NamedTuple

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from orgrest.files import File

EVERY = 0.3  # seconds between two checks of the files


class _Stamp(NamedTuple):
    modified: int
    size: int
    inode: int


class Watched:
    """The files that a run reads: documents, files that they name, environment files, `named`.

    The state of a file is recorded when the run reads it, so a change during the run counts.
    """

    def __init__(self, named: Iterable[Path] = ()) -> None:
        self._stamps: dict[Path, _Stamp | None] = {}
        self._environments: dict[Path, dict[Path, _Stamp | None]] = {}
        self._documents: dict[Path, tuple[File, _Stamp | None]] = {}
        self._written: set[Path] = set()
        for path in named:
            self.read(path)

    def read(self, path: Path) -> None:
        """Watch a file that the run is about to read; it need not exist."""
        self._stamps.setdefault(path, _stamp(path))

    def document(self, file: File, folder: Path) -> None:
        """Watch a document, and the environment files around its folder."""
        self._documents[file.path] = file, None
        self._environments.setdefault(folder, _environment(folder))

    def wrote(self, paths: Iterable[Path]) -> None:
        """Record that the run itself wrote files."""
        self._written.update(path.resolve() for path in paths)

    def end(self) -> None:
        """Record the end of the run, with the state of the files that it wrote."""
        for path in self._written & set(self._stamps):
            self._stamps[path] = _stamp(path)

    def changed(self) -> Path | None:
        """Return a file that has changed since the run read or wrote it, or None."""
        for path, (file, known) in self._documents.items():
            now = _stamp(path)
            if now is None or not now.size or now == known:
                continue  # an editor may be replacing or writing it
            if not file.is_unchanged():
                return path
            self._documents[path] = file, now
        for path, stamp in self._stamps.items():
            if _stamp(path) != stamp:
                return path
        for folder, before in self._environments.items():
            for path, found in before.items() ^ _environment(folder).items():
                del found
                return path
        return None


def watch(once: Callable[[Watched], int], named: Callable[[], Watched]) -> int:
    """Call `once` repeatedly, with the result of `named`; return the last status on Ctrl-C."""
    while True:
        watched = named()
        status = once(watched)
        watched.end()
        try:
            click.echo("orgrest: waiting for a change (Ctrl-C ends)", err=True)
            path = _wait(watched)
            click.echo(f"orgrest: {path} has changed", err=True)
        except KeyboardInterrupt:
            return status


def _wait(watched: Watched) -> Path:
    """Return a changed file, once it no longer changes: an editor may still be writing it."""
    before: tuple[Path, _Stamp | None] | None = None
    while True:
        path = watched.changed()
        now = None if path is None else (path, _stamp(path))
        if path is not None and now == before:
            return path
        before = now
        time.sleep(EVERY)


def _environment(folder: Path) -> dict[Path, _Stamp | None]:
    from orgrest.http.values import environments

    return {path: _stamp(path) for path in environments.files(folder) if path.is_file()}


def _stamp(path: Path) -> _Stamp | None:
    with contextlib.suppress(OSError, ValueError):
        found = path.stat()
        return _Stamp(found.st_mtime_ns, found.st_size, found.st_ino)
    return None
