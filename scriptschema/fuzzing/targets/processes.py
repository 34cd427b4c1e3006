"""Target processes: started in a separate session, limited, watched, and killed as a group."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import selectors
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Final

import attrs

from scriptschema.files import reason_of
from scriptschema.fuzzing.targets import leftovers
from scriptschema.fuzzing.targets.description import TargetError
from scriptschema.fuzzing.targets.reports import has_begun

_PIECE: Final = 1 << 16
_ERRORS: Final = 1 << 19
"""The number of bytes that are kept from the start of standard error, and from its end."""

REPORTING: Final = 20.0
"""Seconds after a run's time limit in which a sanitizer can still finish a report."""

_GLANCE: Final = 0.1
"""Seconds between checks of a process while it writes nothing."""


def split(command: str) -> list[str]:
    """Split a command into words as a shell does. Raises TargetError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise TargetError(f"cannot parse the command {command!r}: {error}") from None
    if not words:
        raise TargetError("the command is empty")
    return words


def start(
    words: list[str],
    megabytes: int,
    *,
    stdin: int,
    stderr: int | IO[bytes],
    halts: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a command in a separate session with a memory limit. Raises TargetError.

    The limit is set just after the start, so a fast process may exceed it. Reserved memory that is
    not used does not count.

    If `halts` is true, a sanitizer ends the process after its first report, unless the user's own
    sanitizer options (see `SANITIZERS`) say otherwise.
    """
    sanitized = any(map(_is_sanitized, words))  # `env` or a script may start it
    limit = {"hard_rss_limit_mb": megabytes} if sanitized else {}
    limit |= {"halt_on_error": 1} if halts else {}
    environment = {**os.environ, leftovers.OWNER: leftovers.owner_mark()}
    for name, options in SANITIZERS.items():
        ours = [f"{option}={value}" for option, value in (options | limit).items()]
        environment[name] = ":".join([*ours, *filter(None, [os.environ.get(name)])])
    try:
        with _STARTING:
            process = subprocess.Popen(  # noqa: S603  # the user's command
                words,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=environment,
                start_new_session=True,
            )
            _RUNNING.add(process)
    except OSError as error:
        raise TargetError(f"{words[0]}: {reason_of(error)}") from None
    # RLIMIT_DATA would count AddressSanitizer's shadow memory, but not what Node only reserves.
    if not sanitized and hasattr(resource, "prlimit"):
        with contextlib.suppress(OSError, ValueError):  # it may have exited already
            limits = (megabytes << 20, resource.getrlimit(resource.RLIMIT_DATA)[1])
            resource.prlimit(process.pid, resource.RLIMIT_DATA, limits)
    return process


_SIGNALS: Final = {"handle_abort": 1, "handle_sigill": 1, "handle_sigbus": 1, "handle_sigfpe": 1}
SANITIZERS: Final[Mapping[str, dict[str, int]]] = {
    "ASAN_OPTIONS": _SIGNALS,
    "UBSAN_OPTIONS": {"print_stacktrace": 1, **_SIGNALS},
}
"""The options, by environment variable, that make sanitizers include a stack trace in each report.
The user's own options follow these and take precedence."""

_SANITIZED: Final[dict[str, bool]] = {}
_LONGEST_SCRIPT: Final = 1 << 16
_WORD: Final = re.compile(r"[^\s'\"();|&<>=`]+")


def _is_sanitized(program: str) -> bool:
    """Return whether a program, or one that its script names, has AddressSanitizer."""
    if program not in _SANITIZED:
        path = shutil.which(program)
        data = _start_of(path) if path else b""
        sanitized = b"__asan_init" in data
        if path and data.startswith(b"#!"):
            text = text_of(data[:_LONGEST_SCRIPT])
            names = {name for name in _WORD.findall(text) if "/" in name or "$" not in name}
            beside = Path(path).resolve().parent
            files = [shutil.which(name) for name in names]
            files += [str(beside / name.rpartition("/")[2]) for name in names if "/" in name]
            sanitized = any(b"__asan_init" in _start_of(each) for each in {*files} if each)
        _SANITIZED[program] = sanitized
    return _SANITIZED[program]


def _start_of(path: str) -> bytes:
    with contextlib.suppress(OSError):
        if Path(path).is_file():
            return Path(path).read_bytes()
    return b""


_RUNNING: Final[set[subprocess.Popen[bytes]]] = set()
# A signal handler may need the lock while its own thread holds it.
_STARTING: Final = threading.RLock()


def kill_all_for_good() -> None:
    """Call `kill_all`, and prevent other threads from starting more processes.

    A signal handler may call this at any time, even during an earlier call.
    """
    _STARTING.acquire()
    kill_all()


def kill_all() -> None:
    """Kill all processes that this one started, and remove its temporary folders."""
    for process in [*_RUNNING]:
        kill_group(process)
    leftovers.end_orphans({process.pid for process in _RUNNING})
    leftovers.remove_folders()


@contextlib.contextmanager
def leaving_nothing() -> Iterator[None]:
    """Kill the processes that targets leave behind in a block, at the latest at its end.

    It is for processes that are not workers.
    """
    with leftovers.adopting():
        try:
            yield
        finally:
            leftovers.end_orphans({process.pid for process in _RUNNING})
            leftovers.sweep()


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and the rest of its process group, without waiting for them to end."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and all others in its session, even if the process itself has ended."""
    kill_group(process)
    process.wait()
    _RUNNING.discard(process)
    leftovers.end_orphans({other.pid for other in _RUNNING})
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


@attrs.define
class Watched:
    """The result of a process that exited, or was killed for exceeding its time or output limit."""

    status: int = 0
    output: bytes = b""
    errors: bytes = b""
    hung: bool = False
    flooded: bool = False
    seconds: float = 0.0


def watch(process: subprocess.Popen[bytes], began: float, seconds: float, most: int) -> Watched:
    """Read a process's output until it exits or exceeds a limit, and return the result.

    `began` is the monotonic time of the start, `seconds` is the time limit, and `most` is the limit
    of standard output in bytes. If a sanitizer has started a report, it gets more time to finish.
    At the end, the process and those that it started are killed.

    Long standard error is shortened to its start and its end, because a target may write a lot
    before it crashes.
    """
    watched = Watched()
    output, errors = bytearray(), bytearray()
    waited = False
    try:
        with selectors.DefaultSelector() as selector:
            for stream, kept in ((process.stdout, output), (process.stderr, errors)):
                if stream is not None:
                    selector.register(stream, selectors.EVENT_READ, kept)
            while selector.get_map():
                left = began + seconds - time.monotonic()
                ready = selector.select(min(max(left, 0), _GLANCE))
                for key, _ in ready:
                    piece = os.read(key.fd, _PIECE)
                    if not piece:
                        selector.unregister(key.fileobj)
                    key.data.extend(piece)
                if len(output) > most:
                    watched.flooded = True
                    break
                if len(errors) > 3 * _ERRORS:
                    del errors[_ERRORS:-_ERRORS]
                if left <= 0 or (not ready and process.poll() is not None):
                    if not waited and left <= 0 and has_begun(text_of(errors)):
                        seconds, waited = seconds + REPORTING, True
                        continue
                    break  # a child of the exited process may keep its output open
        try:
            process.wait(max(0, began + seconds - time.monotonic()) if not watched.flooded else 0)
        except subprocess.TimeoutExpired:
            watched.hung = not watched.flooded
        watched.seconds = time.monotonic() - began
    finally:  # also on Ctrl-C, which does not reach its session
        kill(process)
    watched.status = process.returncode
    if len(errors) > 2 * _ERRORS:
        errors[_ERRORS:-_ERRORS] = b"\n[...]\n"
    watched.output, watched.errors = bytes(output[:most]), bytes(errors)
    return watched


def text_of(data: bytes | bytearray) -> str:
    r"""Return bytes decoded as UTF-8. Bytes that are not UTF-8 become `\xNN`."""
    return data.decode("utf-8", "backslashreplace")
