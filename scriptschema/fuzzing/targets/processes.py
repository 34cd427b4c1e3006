"""Processes of targets: started in a session of their own, limited, watched, and ended with all."""

from __future__ import annotations

import contextlib
import os
import resource
import selectors
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Final

import attrs

from scriptschema.files import reason_of
from scriptschema.fuzzing.targets import leftovers
from scriptschema.fuzzing.targets.description import TargetError

_PIECE: Final = 1 << 16
_GLANCE: Final = 0.1
"""Seconds after which a process that says nothing is looked at."""


def split(command: str) -> list[str]:
    """The words of a command, as a shell would split them. Raises TargetError."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise TargetError(f"the command {command!r} cannot be split: {error}") from None
    if not words:
        raise TargetError("the command is empty")
    return words


def start(
    words: list[str],
    megabytes: int,
    folder: Path | None = None,
    *,
    stdin: int,
    stderr: int | IO[bytes],
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own, with limited memory. Raises TargetError.

    The limit is that of data, which leaves out what is reserved only: node and WebAssembly reserve
    much. A program with AddressSanitizer has its own limit, since its shadow would count.
    """
    sanitized = _is_sanitized(words[0])
    limit = {"hard_rss_limit_mb": megabytes} if sanitized else {}
    environment = {**os.environ, leftovers.OWNER: leftovers.owner_mark()}
    for name, options in SANITIZERS.items():
        ours = [f"{option}={value}" for option, value in (options | limit).items()]
        environment[name] = ":".join([*ours, *filter(None, [os.environ.get(name)])])
    try:
        with _STARTING:
            process = subprocess.Popen(  # noqa: S603  # the command is the user's own
                words,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=stderr,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
            _RUNNING.add(process)
    except OSError as error:
        raise TargetError(f"{words[0]}: {reason_of(error)}") from None
    if not sanitized and hasattr(resource, "prlimit"):
        with contextlib.suppress(OSError, ValueError):  # it may have ended by now
            limits = (megabytes << 20, resource.getrlimit(resource.RLIMIT_DATA)[1])
            resource.prlimit(process.pid, resource.RLIMIT_DATA, limits)
    return process


_SIGNALS: Final = {"handle_abort": 1, "handle_sigill": 1, "handle_sigbus": 1, "handle_sigfpe": 1}
SANITIZERS: Final[Mapping[str, dict[str, int]]] = {
    "ASAN_OPTIONS": _SIGNALS,
    "UBSAN_OPTIONS": {"print_stacktrace": 1, **_SIGNALS},
}
"""What sanitizers are told, by variable, so that each end has a stack; what the user says counts
more, since it comes later."""

_SANITIZED: Final[dict[str, bool]] = {}


def _is_sanitized(program: str) -> bool:
    if program not in _SANITIZED:
        path = shutil.which(program)
        data = b""
        with contextlib.suppress(OSError):
            data = Path(path).read_bytes() if path else b""
        _SANITIZED[program] = b"__asan_init" in data
    return _SANITIZED[program]


_RUNNING: Final[set[subprocess.Popen[bytes]]] = set()
_STARTING: Final = threading.Lock()


def kill_all_for_good() -> None:
    """End all processes that were started here, and let no other thread start more."""
    _STARTING.acquire()
    kill_all()


def kill_all() -> None:
    """End all processes that were started here, before this one ends in a hurry."""
    for process in [*_RUNNING]:
        _kill_group(process)
    leftovers.end_orphans({process.pid for process in _RUNNING})
    leftovers.remove_folders()


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and all others of its session, also those that outlived it."""
    _kill_group(process)
    process.wait()
    _RUNNING.discard(process)
    leftovers.end_orphans({other.pid for other in _RUNNING})
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


@attrs.define
class Watched:
    """What a process did until its end, or until it was ended for taking or writing too much."""

    status: int = 0
    output: bytes = b""
    errors: bytes = b""
    hung: bool = False
    flooded: bool = False
    seconds: float = 0.0


def watch(process: subprocess.Popen[bytes], began: float, seconds: float, most: int) -> Watched:
    """Read what a process writes until it ends, for so long and so many bytes at most; then kill.

    Also what it has started is ended.
    """
    found = Watched()
    pieces: Mapping[str, list[bytes]] = {"output": [], "errors": []}
    size = 0
    with selectors.DefaultSelector() as selector:
        for stream, name in ((process.stdout, "output"), (process.stderr, "errors")):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, name)
        while selector.get_map():
            left = began + seconds - time.monotonic()
            ready = selector.select(min(max(left, 0), _GLANCE))
            if not ready and (left <= 0 or process.poll() is not None):
                break  # who was started by a process that has ended may still hold its output
            for key, _ in ready:
                piece = os.read(key.fd, _PIECE)
                if not piece:
                    selector.unregister(key.fileobj)
                pieces[key.data].append(piece)
                size += len(piece)
            if size > most:
                found.flooded = True
                break
    try:
        process.wait(max(0, began + seconds - time.monotonic()) if not found.flooded else 0)
    except subprocess.TimeoutExpired:
        found.hung = not found.flooded
    found.seconds = time.monotonic() - began
    kill(process)
    found.status = process.returncode
    found.output = b"".join(pieces["output"])[:most]
    found.errors = b"".join(pieces["errors"])[:most]
    return found


def text_of(data: bytes) -> str:
    r"""Bytes as text; those that are not UTF-8 as `\xNN`."""
    return data.decode("utf-8", "backslashreplace")
