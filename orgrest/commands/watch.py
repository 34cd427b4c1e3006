"""``orgrest FILE --watch``: evaluates documents again when they, or files they read, change.

Changes made by a run do not start the next run.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from orgrest.files import stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from orgrest.files import File, Stamp

EVERY = 0.3  # seconds between two checks of the files


class Watched:
    """The files that a run reads: documents, files named in them, and environment files.

    `named` contains files to watch from the start, such as those of `--env-file`. Other files are
    watched as soon as the run reads them, so that changes during the run are noticed.
    """

    def __init__(self, named: Iterable[Path] = ()) -> None:
        self._stamps: dict[Path, Stamp] = {}
        self._environments: dict[Path, dict[Path, Stamp]] = {}
        self._documents: dict[Path, tuple[File, Stamp]] = {}
        self._written: set[Path] = set()
        for path in named:
            self.read(path)

    def read(self, path: Path) -> None:
        """Watch a file that the run is about to read. The file may be missing."""
        self._stamps.setdefault(path, stamp(path))

    def document(self, file: File, folder: Path) -> None:
        """Watch a document, and the environment files that apply to its folder."""
        self._documents[file.path] = file, None
        self._environments.setdefault(folder, _environment(folder))

    def wrote(self, paths: Iterable[Path]) -> None:
        """Record that the run itself wrote these files."""
        self._written.update(path.resolve() for path in paths)

    def end(self) -> None:
        """Record the state of the files that the run wrote. Called when the run has ended."""
        for path in self._written & set(self._stamps):
            self._stamps[path] = stamp(path)

    def changed(self) -> Path | None:
        """Return a file that has changed since the run read or wrote it, or None."""
        for path, (file, last) in self._documents.items():
            now = stamp(path)
            if now is None or not now[1] or now == last:
                continue  # an editor may still be writing it
            if not file.is_unchanged():
                return path
            self._documents[path] = file, now
        for path, before in self._stamps.items():
            if stamp(path) != before:
                return path
        for folder, files in self._environments.items():
            for path, _ in files.items() ^ _environment(folder).items():
                return path
        return None


def watch(once: Callable[[Watched], int], named: Iterable[Path]) -> int:
    """Evaluate documents now and after each change until Ctrl-C. Return the last exit status.

    `once` evaluates the documents, adds the files that it reads to its argument, and returns the
    exit status. `named` contains other files to watch.
    """
    while True:
        watched = Watched(named)
        status = once(watched)
        watched.end()
        try:
            click.echo("orgrest: waiting for changes (Ctrl-C to stop)", err=True)
            path = _wait(watched)
            click.echo(f"orgrest: {path} changed", err=True)
        except KeyboardInterrupt:
            return status


def _wait(watched: Watched) -> Path:
    before: tuple[Path, Stamp] | None = None
    while True:
        path = watched.changed()
        now = None if path is None else (path, stamp(path))
        if path is not None and now == before:  # an editor has finished writing the file
            return path
        before = now
        time.sleep(EVERY)


def _environment(folder: Path) -> dict[Path, Stamp]:
    from orgrest.http.values import environments

    return {path: stamp(path) for path in environments.files(folder) if path.is_file()}
