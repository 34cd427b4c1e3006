"""Work that is not linear in its input, in a process that can be killed: the program `sandbox`.

Its jobs come out of documents and servers. The process has no environment, and limits on memory
and CPU time; it is started at the first job, and ends with whoever started it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Final, cast

from orgrest.model import OrgrestError

MAX_OUTPUT: Final = 16 * 2**20
"""How many bytes an answer may have."""
FIND_TIMEOUT: Final = 5.0
"""How many seconds of CPU time a search for a path may take."""

_COUNTS = hasattr(signal, "setitimer")  # CPU time; elsewhere that of a clock counts
_PATIENCE = 60.0
"""How many seconds more there are for a job on a machine that has other things to do."""
_NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


class Sandbox:
    """A process that answers jobs, one at a time; errors are of the class `error`."""

    def __init__(self, error: type[OrgrestError] = OrgrestError) -> None:
        """Start nothing yet."""
        self._error = error
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the process, if one was started."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # a job that the process did not take
                    cast("IO[bytes]", stream).close()
            process.wait()

    def answer(self, job: bytes, what: str, timeout: float) -> dict[str, Any]:
        """Return the answer to a job, a line of JSON.

        `what` names it in errors: where it takes more CPU time than `timeout`, too much memory, or
        returns too much. The process is ended then, and when this is interrupted.
        """
        with self._lock:
            try:
                return self._answer(job, what, timeout)
            except BaseException:
                self.close()
                raise

    def _answer(self, job: bytes, what: str, timeout: float) -> dict[str, Any]:
        process = self._started()
        out: list[bytes] = []
        job = b"%g %b" % (timeout, job)
        talk = threading.Thread(target=_talk, args=(process, job, out), daemon=True)
        talk.start()
        talk.join(timeout + _PATIENCE if _COUNTS else timeout)
        late = talk.is_alive()
        if late:
            process.kill()
            talk.join()
        line = out[0] if out else b""
        if late or (not line and _COUNTS and process.wait() == -signal.SIGPROF):
            raise self._error(f"the {what} did not come to an end within {timeout:g} s")
        if len(line) > MAX_OUTPUT:
            raise self._error(f"the {what} returned more than {MAX_OUTPUT // 2**20} MiB")
        if not line.endswith(b"\n"):
            raise self._error(f"the {what} ended its engine: it took more memory than it may have")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
            sandbox = Path(__file__).with_name("sandbox.py")
            self._process = subprocess.Popen(  # noqa: S603  (our own program, no shell)
                [sys.executable, "-I", str(sandbox)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd=os.sep,
            )
        return self._process


def _talk(process: subprocess.Popen[bytes], job: bytes, out: list[bytes]) -> None:
    stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    try:
        stdin.write(job)
        stdin.flush()
        out.append(stdout.readline(MAX_OUTPUT + 1))
    except (OSError, ValueError):
        return  # the process is gone: there is no answer


_FINDER = Sandbox()


def find(kind: str, path: str, text: str) -> list[Any]:
    """Return all that a path finds in a text: `kind` is `XPath` or `JSONPath`.

    Raises OrgrestError where the path is none, the text not what it is for, or this takes too long.
    """
    job = json.dumps({"find": kind, "path": path, "text": text}).encode() + b"\n"
    answer = _FINDER.answer(job, f"{kind} {path[:200]}", FIND_TIMEOUT)
    if answer["error"] is not None:
        error = answer["error"]
        raise OrgrestError(error if isinstance(error, str) else f"{path}: {error['message']}")
    found: list[Any] = answer["found"]
    return found
