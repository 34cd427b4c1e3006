"""The records of a run on disk, one line of JSON each: the `--jsonl` file or a temporary file.

Records are written as they arrive, so a run of any length needs little memory, and a killed run
leaves its records; with `--jsonl -` they also go to standard output. Reports read them in the order
of the documents, regardless of the order of the jobs.

The first line describes the run (`{"format": 2, ...}`), the last line is its summary
(`{"summary": ...}`); a truncated line, as after a power failure, is skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Self

from orgrest.files import FileError
from orgrest.model import OrgrestError
from orgrest.run.record import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.run.record import Record

FORMAT = 2
_STANDARD_OUTPUT = Path("-")


class Spool:
    """A context manager for records, which any thread may add and which are read at the end."""

    def __init__(self, path: Path | None, head: Record) -> None:
        """Create the file; a temporary one if `path` is None or `-`. Raises FileError."""
        self._lock = threading.Lock()
        self._told = path == _STANDARD_OUTPUT
        self._places: list[tuple[int, int, int, int]] = []
        self._path = path
        self._end = 0
        try:
            self._stream = _temporary() if path is None or self._told else _alone(path)
        except OSError as error:
            raise FileError(f"cannot be written: {error.strerror}", file=str(path)) from None
        try:
            self.write({"format": FORMAT, **head})
        except FileError:
            self._stream.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def add(self, record: Record) -> None:
        """Write a record. Raises FileError, for instance if the disk is full."""
        with self._lock:
            unit, number = record["order"]
            place = self._end
            self.write(record)
            self._places.append((unit, number, place, self._end - place))

    def write(self, value: Record) -> None:
        """Write a line that is not a record. Raises FileError."""
        line = encoded(value) + b"\n"
        try:
            self._stream.write(line)
            if self._told:
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
        except OSError as error:
            raise FileError(f"cannot be written: {error.strerror}", file=str(self._path)) from None
        self._end += len(line)

    def records(self) -> Iterator[Record]:
        """Yield the records in the order of the documents."""
        for _, _, place, length in sorted(self._places):
            self._stream.seek(place)
            yield json.loads(self._stream.read(length))


def _alone(path: Path) -> IO[bytes]:
    """Open a file that no other run is writing, and empty it. Raises FileError, OSError."""
    number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    stream = os.fdopen(number, "r+b", buffering=0)
    try:
        with contextlib.suppress(ImportError):  # Windows has no fcntl
            import fcntl

            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        raise FileError("another run is writing this file", file=str(path)) from None
    except OSError:  # not every file system has locks
        pass
    with contextlib.suppress(OSError):  # a device or a pipe
        stream.truncate(0)
    return stream


def _temporary() -> IO[bytes]:
    from tempfile import TemporaryFile

    return TemporaryFile(buffering=0)


def read(path: Path) -> tuple[Record, list[Record], Record]:
    """Read the file of a run: its head, its records in order, and its summary.

    The summary is empty if the run was killed. Raises OrgrestError.
    """
    from orgrest.files import read_bytes

    found: list[Record] = []
    for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
        try:
            value = json.loads(line) if line.strip() else None
        except (ValueError, RecursionError):
            continue  # truncated
        if isinstance(value, dict):
            found.append(value)
        elif value is not None:
            raise OrgrestError("not a line of a run", file=str(path), line=number)
    if not found or found[0].get("format") != FORMAT:
        raise OrgrestError("this is not a file of `orgrest test --jsonl`", file=str(path))
    records = sorted((one for one in found if "order" in one), key=itemgetter("order"))
    return found[0], records, next((one["summary"] for one in found if "summary" in one), {})
