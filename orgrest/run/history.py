"""The history: requests and responses of earlier runs, stored in the user's cache folder.

Each run that sends requests writes a separate file, so concurrent runs cannot damage each other's
files. A file contains a line of JSON for the run, and then a line for each outcome, including
requests that could not be sent because of an error. The lines have the format of reports (see
`record`: secrets are masked and long bodies are cut). Only the user may read the files. Their
number and size are limited: creating a file removes the oldest files. If a file cannot be written,
the user gets a message, and the run continues without a history.

The folder is `$XDG_CACHE_HOME/orgrest/history` (`~/.cache/orgrest/history`). The environment
variable `ORGREST_HISTORY` selects another folder. If it is `off`, the history is turned off.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.files import user_folder
from orgrest.model import OrgrestError, explained
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from orgrest.run.outcomes import Outcome
    from orgrest.run.record import Record

VARIABLE = "ORGREST_HISTORY"
FORMAT = 1
MOST_RUNS = 200
MOST_BYTES = 64 * 2**20
"""The maximum total size of all files, in bytes.

The last run is kept even if it exceeds this limit or `MOST_RUNS`.
"""
MOST_OF_RUN = 8 * 2**20
"""The maximum number of bytes that are kept of one run. Later outcomes are dropped."""
_NAME = compiled(r"(?P<id>\d{8}-\d{6}-\d{6}-[0-9a-f]{4})\.jsonl")
_LONGEST_LINE = 2 * MOST_OF_RUN
_MOST_WAITING = 1000
"""After this number of errors, a file is created even if nothing has been sent."""


def folder() -> Path | None:
    """Return the history folder, or None if the history is turned off.

    Raises OrgrestError if `ORGREST_HISTORY` is neither `off` nor an absolute path, or if the home
    folder is unknown.
    """
    configured = os.environ.get(VARIABLE, "")
    if configured == "off":
        return None
    if configured:
        path = Path(configured)
        if path.is_absolute():
            return path
        raise OrgrestError(f"{VARIABLE} must be `off` or an absolute path, found {configured}")
    try:
        return user_folder("cache") / "history"
    except RuntimeError as error:
        raise OrgrestError(f"{error} (set {VARIABLE}=off to turn the history off)") from None


class History:
    """The history of one run. This class is thread-safe.

    The run's file is created when the first request has been sent. If it cannot be written,
    `notify` is called once with a message for the user. `fail` says whether a status of 400 or
    above is a failure in this run (see `of_outcome`).
    """

    def __init__(self, notify: Callable[[str], None], *, fail: bool = False) -> None:
        self._notify = notify
        self._fails = fail
        self._waiting: list[bytes] = []  # errors before the first request that was sent
        self._lock = threading.Lock()
        self._number: int | None = None
        self._size = 0
        self._count = 0
        self._ended = False

    def keep(self, outcome: Outcome, document: str) -> None:
        """Record an outcome if anything was sent for it, or if it is an error.

        `document` is the document's path.
        """
        sent = outcome.exchanges or outcome.broken
        if self._ended or not (sent or _is_error(outcome)):
            return
        with self._lock:
            if self._ended:
                return
            try:
                from orgrest.run.record import encoded, of_outcome

                self._count += 1
                place = {"order": [0, self._count], "document": document, "file": document}
                self._waiting.append(encoded(of_outcome(outcome, place, fail=self._fails)))
                if self._number is None:
                    self._number = self._create() if sent or self._count >= _MOST_WAITING else None
                    if self._number is None:
                        return
                lines, self._waiting = self._waiting, []
                for line in lines:
                    if self._size + len(line) >= MOST_OF_RUN:
                        self._write(encoded({"more": True}) + b"\n", self._number)
                        self._ended = True
                        return
                    self._write(line + b"\n", self._number)
            except OSError as error:
                self._fail(error.strerror or str(error))
            except Exception as error:
                self._fail(str(explained(error)))

    def close(self) -> None:
        """Close the file. Later outcomes are not recorded."""
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
        """Append a line, or nothing if that fails, for instance because the disk is full."""
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
        self._notify(
            f"could not save the history of this run: {why} (set {VARIABLE}=off to turn it off)"
        )


def _is_error(outcome: Outcome) -> bool:
    reason = outcome.reason
    return outcome.state == "failed" and reason is not None and reason.code != "no-request"


def _files(place: Path) -> list[tuple[str, int]]:
    """Return the name and size of each history file, the oldest first."""
    files: list[tuple[str, int]] = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    with contextlib.suppress(FileNotFoundError):  # just removed by another run
                        files.append((entry.name, entry.stat(follow_symlinks=False).st_size))
    except FileNotFoundError:
        return []
    return sorted(files)


def _prune(place: Path, own: str) -> None:
    """Remove the oldest files until a run of the maximum size would fit."""
    other_files = [file for file in _files(place) if file[0] != own]
    count, size = len(other_files) + 1, sum(file[1] for file in other_files) + MOST_OF_RUN
    for name, bytes_ in other_files:
        if count <= MOST_RUNS and size <= MOST_BYTES:
            return
        with contextlib.suppress(OSError):  # removed by another run, or open on Windows
            (place / name).unlink()
        count, size = count - 1, size - bytes_


@classes.frozen
class KeptRun:
    """A run in the history.

    `directory` is its working folder. If `cut` is true, the run exceeded `MOST_OF_RUN` bytes, and
    its last outcomes are missing.
    """

    id: str
    started: str
    directory: str
    records: tuple[Record, ...] = classes.field(repr=False)
    cut: bool = False

    @property
    def documents(self) -> tuple[str, ...]:
        """The paths of the documents in this run, each once."""
        return tuple(dict.fromkeys(record["document"] for record in self.records))

    def is_below(self, folders: Collection[Path]) -> bool:
        """Return whether one of the documents is in or below one of `folders`."""
        paths = [Path(self.directory, document) for document in self.documents]
        return any(path.is_relative_to(folder) for path in paths for folder in folders)


def runs(folders: Collection[Path] = ()) -> Iterator[KeptRun]:
    """Yield the runs in the history, the latest first.

    If `folders` are given, only runs of documents in or below them are yielded. Damaged and
    incomplete lines are skipped, and so are runs that are removed in the meantime. Raises
    OrgrestError if the history is turned off or cannot be read.
    """
    place = folder()
    if place is None:
        raise OrgrestError(f"the history is turned off by {VARIABLE}")
    try:
        names = [name for name, _ in _files(place)]
    except OSError as error:
        raise OrgrestError(
            f"could not read the folder: {error.strerror}", file=str(place)
        ) from None
    for name in reversed(names):
        try:
            with (place / name).open("rb") as stream:
                data = stream.read(_LONGEST_LINE)
        except FileNotFoundError:
            continue
        except OSError as error:
            reason = f"could not read the run: {error.strerror}"
            raise OrgrestError(reason, file=str(place / name)) from None
        run = _read(name, data)
        if run is not None and (not folders or run.is_below(folders)):
            yield run


def forget(unwanted: Iterable[KeptRun]) -> None:
    """Remove runs from the history. Raises OrgrestError if a file cannot be removed."""
    place = folder()
    if place is None:
        return
    for run in unwanted:
        path = place / f"{run.id}.jsonl"
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            reason = f"could not remove the run: {error.strerror}"
            raise OrgrestError(reason, file=str(path)) from None


def _read(name: str, data: bytes) -> KeptRun | None:
    from orgrest.run.record import OUTCOME
    from orgrest.structured import matches

    lines: list[Record] = []
    for line in data.split(b"\n"):
        with contextlib.suppress(ValueError, RecursionError):  # an incomplete line
            value = json.loads(line)
            if isinstance(value, dict):
                lines.append(value)
    if not lines or lines[0].get("history") != FORMAT:
        return None
    head, *rest = lines
    records = tuple(record for record in rest if matches(record, OUTCOME))
    cut = any("more" in record for record in rest)
    started, directory = head.get("started"), head.get("directory")
    if not (isinstance(started, str) and isinstance(directory, str)):
        return None
    return KeptRun(name.removesuffix(".jsonl"), started, directory, records, cut=cut)


def run_called(which: str, among: Iterable[KeptRun]) -> KeptRun:
    """Return the run that `which` identifies: its id, the beginning of its id, or its index.

    Index 1 is the first run in `among`. Raises OrgrestError if no run matches, or if several ids
    begin with `which`.
    """
    if which.isdecimal() and len(which) < 5:
        for number, run in enumerate(among, 1):
            if number == int(which):
                return run
        raise OrgrestError(f"no run {which} in the history: `orgrest history` lists the runs")
    matches = [run for run in runs() if run.id.startswith(which)]
    if len(matches) != 1:
        reason = "several runs have ids that start" if matches else "no run has an id that starts"
        raise OrgrestError(f"{reason} with {which}: `orgrest history` lists the runs")
    return matches[0]
