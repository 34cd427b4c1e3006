"""The history: requests and responses of earlier runs, kept in the user's cache folder.

Each run that sends something has its own file, so concurrent runs cannot damage each other's: a
line of JSON for the run, then a line for each outcome as it arrives, in the format of reports
(`record`: without secrets, bodies cut). Only the user may read the files. Their number and size are
bounded: creating a file removes the oldest. If a file cannot be written, the history of that run
ends with a message to the user; the run itself continues.

The folder is `$XDG_CACHE_HOME/orgrest/history` (`~/.cache/orgrest/history`). `ORGREST_HISTORY`
names another folder, or is `off`.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from orgrest.model import OrgrestError, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from orgrest.run.outcomes import Outcome
    from orgrest.run.record import Record

VARIABLE = "ORGREST_HISTORY"
FORMAT = 1
MOST_RUNS = 200
MOST_BYTES = 64 * 2**20
"""The maximum number and total size of the files; the last run is kept in any case."""
MOST_OF_RUN = 8 * 2**20
"""The maximum number of bytes kept of one run; later outcomes are dropped."""
_NAME = re.compile(r"(?P<id>\d{8}-\d{6}-\d{6}-[0-9a-f]{4})\.jsonl")
_LONGEST_LINE = 2 * MOST_OF_RUN


def folder() -> Path | None:
    """Return the folder of the history; None if it is off. Raises OrgrestError if it is unknown."""
    given = os.environ.get(VARIABLE, "")
    if given == "off":
        return None
    if given:
        path = Path(given)
        if path.is_absolute():
            return path
        raise OrgrestError(f"{VARIABLE} is `off` or an absolute path, not {given}")
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    except RuntimeError as error:
        raise OrgrestError(f"{error} ({VARIABLE}=off keeps none)") from None
    return base / "orgrest" / "history"


class History:
    """The history of one run; thread-safe. Its file is created with its first line.

    `notify` gets one line if the history cannot be written.
    """

    def __init__(self, notify: Callable[[str], None]) -> None:
        self._notify = notify
        self._lock = threading.Lock()
        self._number: int | None = None
        self._size = 0
        self._count = 0
        self._ended = False

    def keep(self, outcome: Outcome, document: str) -> None:
        """Record an outcome of the file `document`, if anything was sent for it."""
        if self._ended or not (outcome.exchanges or outcome.broken):
            return
        with self._lock:
            if self._ended:
                return
            try:
                from orgrest.run.record import encoded, of_outcome

                if self._number is None:
                    self._number = self._create()
                    if self._number is None:
                        return
                self._count += 1
                place = {"order": [0, self._count], "document": document, "file": document}
                line = encoded(of_outcome(outcome, place, fail=False))
                if self._size + len(line) >= MOST_OF_RUN:
                    line = encoded({"more": True})
                    self._ended = True
                self._write(line + b"\n", self._number)
            except OSError as error:
                self._fail(error.strerror or str(error))
            except Exception as error:
                self._fail(str(explained(error)))

    def close(self) -> None:
        """Close the file; nothing is kept from now on."""
        with self._lock:
            self._ended = True
            if self._number is not None:
                os.close(self._number)
                self._number = None

    def _create(self) -> int | None:
        from datetime import UTC, datetime

        from orgrest.run.record import encoded

        place = folder()
        if place is None:
            self._ended = True
            return None
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        now = time.time()
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(now)) + f"-{int(now % 1 * 1e6):06}"
        path = place / f"{stamp}-{os.urandom(2).hex()}.jsonl"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        number = os.open(path, flags, 0o600)
        started = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
        head = {"history": FORMAT, "started": started, "directory": str(Path.cwd())}
        self._write(encoded(head) + b"\n", number)
        _prune(place, path.name)
        return number

    def _write(self, line: bytes, number: int) -> None:
        """Append a line; if the disk is full, the partial line is removed."""
        try:
            written = os.write(number, line)
            if written < len(line):
                os.write(number, line[written:])
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(number, self._size)
            raise
        self._size += len(line)

    def _fail(self, why: str) -> None:
        self._ended = True
        self._notify(f"the history of this run is not kept: {why} ({VARIABLE}=off turns it off)")


def _files(place: Path) -> list[tuple[str, int]]:
    """Return the names and sizes of the history's files, the oldest first."""
    found: list[tuple[str, int]] = []
    try:
        with os.scandir(place) as entries:
            for one in entries:
                if _NAME.fullmatch(one.name) and one.is_file(follow_symlinks=False):
                    with contextlib.suppress(FileNotFoundError):  # just removed by another run
                        found.append((one.name, one.stat(follow_symlinks=False).st_size))
    except FileNotFoundError:
        return []
    return sorted(found)


def _prune(place: Path, own: str) -> None:
    """Remove the oldest files until the rest, plus room for this run, is within the limits."""
    others = [one for one in _files(place) if one[0] != own]
    count, size = len(others) + 1, sum(one[1] for one in others) + MOST_OF_RUN
    for name, bytes_ in others:
        if count <= MOST_RUNS and size <= MOST_BYTES:
            return
        with contextlib.suppress(OSError):  # removed by another run, or open on Windows
            (place / name).unlink()
        count, size = count - 1, size - bytes_


@attrs.frozen
class KeptRun:
    """A run of the history: its id, when it started, the folder it was started in, its records.

    `cut`: whether it sent more than was kept.
    """

    id: str
    started: str
    directory: str
    records: tuple[Record, ...] = attrs.field(repr=False)
    cut: bool = False

    @property
    def documents(self) -> tuple[str, ...]:
        """The files of its documents."""
        return tuple(dict.fromkeys(one["document"] for one in self.records))


def runs() -> Iterator[KeptRun]:
    """Yield the runs of the history, the latest first. Raises OrgrestError.

    Lines cut off by a kill or a full disk are omitted, and so are runs removed in the meantime.
    """
    place = folder()
    if place is None:
        raise OrgrestError(f"the history is off: {VARIABLE} says so")
    try:
        names = [name for name, _ in _files(place)]
    except OSError as error:
        raise OrgrestError(f"cannot be read: {error.strerror}", file=str(place)) from None
    for name in reversed(names):
        try:
            with (place / name).open("rb") as stream:
                data = stream.read(_LONGEST_LINE)
        except FileNotFoundError:
            continue
        except OSError as error:
            reason = f"cannot be read: {error.strerror}"
            raise OrgrestError(reason, file=str(place / name)) from None
        found = _read(name, data)
        if found is not None:
            yield found


def _read(name: str, data: bytes) -> KeptRun | None:
    lines: list[Record] = []
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):  # cut off
            value = json.loads(line)
            if isinstance(value, dict):
                lines.append(value)
    if not lines or lines[0].get("history") != FORMAT:
        return None
    head, *rest = lines
    records = tuple(one for one in rest if {"exchanges", "document", "file"} <= one.keys())
    cut = any("more" in one for one in rest)
    started, directory = head.get("started"), head.get("directory")
    if not (isinstance(started, str) and isinstance(directory, str)):
        return None
    return KeptRun(name.removesuffix(".jsonl"), started, directory, records, cut=cut)


def run_called(which: str, among: Iterable[KeptRun]) -> KeptRun:
    """Return a run by its id, a prefix of its id, or its number, counted from the latest run (1).

    `among` are the numbered runs, the latest first. Raises OrgrestError if no run, or more than
    one, has this id or number.
    """
    if which.isdecimal() and len(which) < 5:
        for number, one in enumerate(among, 1):
            if number == int(which):
                return one
        raise OrgrestError(f"the history has no run {which}: `orgrest history` lists them")
    found = [one for one in runs() if one.id.startswith(which)]
    if len(found) != 1:
        what = "several runs begin" if found else "no run begins"
        raise OrgrestError(f"{what} with {which}: `orgrest history` lists them")
    return found[0]
