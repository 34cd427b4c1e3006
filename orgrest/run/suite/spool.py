"""The records of a run on disk, one line of JSON each, in the `--jsonl` file or a temporary file.

Records are written as they arrive. Thus, even a long run needs little memory, and a killed run
leaves its records. With `--jsonl -`, the records also go to standard output. Reports get the
records in the order of the documents.

The first line describes the run (`{"format": 2, ...}`), and the last line is its summary
(`{"summary": ...}`). Truncated lines, for instance after a power failure, are skipped.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from heapq import merge
from operator import itemgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, Self

from orgrest.files import FileError
from orgrest.model import OrgrestError
from orgrest.run.record import OUTCOMES, RECORD, encoded
from orgrest.run.suite.summary import PERCENTILES
from orgrest.structured import json_or, matches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.run.record import Record

FORMAT = 2
_HEAD: Final = {"format": int, "orgrest": str, "started": str}
_COUNTS: Final = ("requests", *OUTCOMES, "assertions", "unasserted")
_OPERATION: Final = {
    "operation": str,
    "summary": (str, None),
    "requests": int,
    "failed": int,
    "statuses": [int, ...],
    "unseen": [str, ...],
}
_SUMMARY: Final = {
    **dict.fromkeys(_COUNTS, int),
    "duration": (int, float),
    "ended": (str, None),
    "percentiles": [
        {
            "place": str,
            "title": str,
            "count": int,
            **dict.fromkeys(("min", *(f"p{part}" for part in PERCENTILES), "max"), (int, float)),
        },
        ...,
    ],
    "openapi": [
        {
            "file": str,
            "operations": [_OPERATION, ...],
            "undescribed": [{"request": str, "requests": int}, ...],
            "unreadable": [str, ...],
        },
        ...,
    ],
}
_LINE: Final = (RECORD, {"summary": _SUMMARY}, _HEAD)
"""The structure of a line, for `structured.matches`."""
_STANDARD_OUTPUT = Path("-")


class Spool:
    """The file of records, as a context manager. Any thread may add records.

    If a record cannot be written, this record and all later ones are kept in memory.
    """

    def __init__(self, path: Path | None, head: Record) -> None:
        """Create the file and write `head` as its first line. Raises FileError.

        The file is temporary if `path` is None or `-`.
        """
        self._lock = threading.Lock()
        self._told = path == _STANDARD_OUTPUT
        self._places: list[tuple[int, int, int, int]] = []
        self._unwritten: list[Record] = []
        self._path = None if self._told else path
        self._end = 0
        try:
            self._stream = _temporary() if self._path is None else _alone(self._path)
        except OSError as error:
            raise _unwritable(self._path, error) from None
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
        """Append the record of a request. Raises FileError, for instance if the disk is full.

        The error is raised only once: later records are not written, but only kept.
        """
        with self._lock:
            if self._unwritten:
                self._unwritten.append(record)
                return
            unit, number = record["order"]
            place = self._end
            try:
                self.write(record)
            except FileError:
                self._unwritten.append(record)
                raise
            self._places.append((unit, number, place, self._end - place))

    def write(self, value: Record) -> None:
        """Append a line that is not the record of a request. Raises FileError."""
        line, path = encoded(value) + b"\n", self._path
        try:
            rest = memoryview(line)
            while rest:  # where little space is left, a write may be incomplete
                rest = rest[self._stream.write(rest) :]
            if self._told:
                path = _STANDARD_OUTPUT
                sys.stdout.buffer.write(line)
                sys.stdout.buffer.flush()
        except OSError as error:
            raise _unwritable(path, error) from None
        self._end += len(line)

    def records(self) -> Iterator[Record]:
        """Yield the records of requests, document by document."""
        unwritten = sorted(self._unwritten, key=itemgetter("order"))
        yield from merge(self._written(), unwritten, key=itemgetter("order"))

    def _written(self) -> Iterator[Record]:
        for _, _, place, length in sorted(self._places):
            self._stream.seek(place)
            yield json.loads(self._stream.read(length))


def _unwritable(path: Path | None, error: OSError) -> FileError:
    """Return the error for a file that cannot be written. `path` is None for a temporary file."""
    if path is not None:
        return FileError(f"could not write the file: {error.strerror}", file=str(path))
    from tempfile import tempdir

    reason = f"could not write a temporary file: {error.strerror} (set TMPDIR to another folder)"
    return FileError(reason, file=tempdir)


def _alone(path: Path) -> IO[bytes]:
    """Open an empty file. Raises FileError if another run is writing to it, otherwise OSError."""
    number = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
    stream = os.fdopen(number, "r+b", buffering=0)
    try:
        with contextlib.suppress(ImportError):  # there is no fcntl on Windows
            import fcntl

            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        stream.close()
        raise FileError(
            "another run is writing to this file: wait until it has finished, or choose another "
            "file",
            file=str(path),
        ) from None
    except OSError:  # some file systems have no locks
        pass
    with contextlib.suppress(OSError):  # a device or a pipe cannot be truncated
        stream.truncate(0)
    return stream


def _temporary() -> IO[bytes]:
    from tempfile import TemporaryFile

    return TemporaryFile(buffering=0)


def read(path: Path) -> tuple[Record, list[Record], Record]:
    """Return the head, the records in order, and the summary from a run file.

    The summary is empty if the run was killed. Truncated lines are skipped. Raises OrgrestError if
    `orgrest test` did not write the file, or if a line is damaged in another way.
    """
    from orgrest.files import read_bytes

    values: list[Record] = []
    for number, line in enumerate(read_bytes(path).split(b"\n"), 1):
        value = json_or(line)
        if value is None:
            continue  # an empty or a truncated line
        if not values and not (matches(value, _HEAD) and value["format"] == FORMAT):
            break
        if not matches(value, _LINE):
            raise OrgrestError(
                "not a record written by `orgrest test`", file=str(path), line=number
            )
        values.append(value)
    if not values:
        raise OrgrestError("not a file written by `orgrest test --jsonl`", file=str(path))
    records = sorted(
        (line_value for line_value in values if "order" in line_value), key=itemgetter("order")
    )
    return (
        values[0],
        records,
        next((line_value["summary"] for line_value in values if "summary" in line_value), {}),
    )
