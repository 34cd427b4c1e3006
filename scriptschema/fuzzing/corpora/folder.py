"""The output folder of a corpus, and the import journal that is kept in the folder.

Trees are files named by a hash of their bytes. This module never deletes trees.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, Self

from scriptschema import files
from scriptschema.generation.bulk import interrupts_later

_HELD: Final = 200
"""The maximum number of buffered journal lines. After a crash, the work for these lines is
repeated."""


def name_of(data: bytes) -> str:
    """Return the name of a tree's file, which depends only on its bytes."""
    return f"{hashlib.blake2b(data, digest_size=16).hexdigest()}.pb"


class CorpusFolder:
    """A folder for trees, created if it is missing. Raises FileError if that fails."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with files.errors_of(path):
            path.mkdir(exist_ok=True)
            self.names = {entry.name for entry in path.glob("[!.]*.pb")}

    def add(self, data: bytes) -> bool:
        """Write a tree unless it is in the folder already. Return whether it was written.

        The write is atomic. Raises FileError.
        """
        name = name_of(data)
        if name in self.names:
            return False
        with interrupts_later():
            files.write(self.path / name, data, below=self.path)
        self.names.add(name)
        return True


class Journal:
    """A hidden file in a corpus, with a line of JSON for each completed item.

    A crash may lose lines, whose items are then processed again. The journal is a context manager.
    Raises FileError if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes]

    def __enter__(self) -> Self:
        with files.errors_of(self.path):
            self._file = files.open_to_append_lines(self.path)
        self._held: list[bytes] = []
        return self

    def __exit__(self, *_: object) -> None:
        with interrupts_later():
            self._flush()
            self._file.close()

    def lines(self) -> Iterator[bytes]:
        """Yield each line of the journal without its line break."""
        self._file.seek(0)
        for line in self._file:
            yield line.rstrip(b"\n")

    def add(self, line: bytes) -> None:
        """Add a line. It may be written to the file later."""
        self._held.append(line)
        if len(self._held) >= _HELD:
            with interrupts_later():
                self._flush()

    def _flush(self) -> None:
        with files.errors_of(self.path):
            self._file.write(b"".join(line + b"\n" for line in self._held))
            self._file.flush()
        self._held.clear()


def line_of(value: object) -> bytes:
    """Return a value as JSON for a line of a journal."""
    return json.dumps(value, separators=(",", ":")).encode()
