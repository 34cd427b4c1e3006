"""The folder that a corpus is written to, and what is remembered there of an import.

Trees are files named by a hash of their bytes. Nothing here deletes any.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, Self

from scriptschema import files
from scriptschema.files import FileError
from scriptschema.generation.bulk import interrupts_later

_HELD: Final = 200
"""How many lines of a journal are buffered; after a crash their work is done again."""


def name_of(data: bytes) -> str:
    """The name of a tree's file: the same bytes, the same name."""
    return f"{hashlib.blake2b(data, digest_size=16).hexdigest()}.pb"


class CorpusFolder:
    """A folder that trees are added to; created if missing. Raises FileError if it cannot be."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(exist_ok=True)
            self.names = {entry.name for entry in path.iterdir() if entry.name[0] != "."}
        except OSError as error:
            raise FileError(f"{path}: {files.reason_of(error)}") from None

    def add(self, data: bytes) -> bool:
        """Write a tree if it is not there yet, whole or not at all; return whether it was not.

        Raises FileError.
        """
        name = name_of(data)
        if name in self.names:
            return False
        with interrupts_later():
            files.write(self.path / name, data, below=self.path)
        self.names.add(name)
        return True


class Journal:
    """A hidden file in a corpus, a line for each thing that was done; lost lines do no harm.

    A line is any value as JSON; other lines are ignored. Raises FileError where
    the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes]

    def __enter__(self) -> Self:
        try:
            self._file = files.open_to_append(self.path)
            if self._file.tell():
                self._file.seek(-1, os.SEEK_END)
                if self._file.read() != b"\n":  # a line that was cut off
                    self._file.write(b"\n")
        except OSError as error:
            raise FileError(f"{self.path}: {files.reason_of(error)}") from None
        self._held: list[bytes] = []
        return self

    def __exit__(self, *_: object) -> None:
        with interrupts_later():
            self._flush()
            self._file.close()

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that are there."""
        self._file.seek(0)
        for line in self._file:
            yield line.rstrip(b"\n")

    def add(self, line: bytes) -> None:
        """Add a line, which is written soon."""
        self._held.append(line)
        if len(self._held) >= _HELD:
            with interrupts_later():
                self._flush()

    def _flush(self) -> None:
        try:
            self._file.write(b"".join(line + b"\n" for line in self._held))
            self._file.flush()
        except OSError as error:
            raise FileError(f"{self.path}: {files.reason_of(error)}") from None
        self._held.clear()


def line_of(value: object) -> bytes:
    """A value as a journal's line."""
    return json.dumps(value, separators=(",", ":")).encode()
