"""Runs untrusted jobs in a separate process (`worker`).

Jobs come from documents and servers, and may take more than linear time. The process has limits on
memory and CPU time, and almost no environment variables. It is started for the first job, and ends
when its parent ends.
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
from typing import IO, TYPE_CHECKING, Any, Final, cast

from orgrest.http.sandbox import answers, children
from orgrest.http.sandbox.child import Child
from orgrest.model import BROKEN_OFF, OrgrestError
from orgrest.structured import json_or, matches

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_OUTPUT: Final = 16 * 2**20
"""The maximum size of an answer, in bytes."""
FIND_TIMEOUT: Final = 5.0
"""The CPU time that the evaluation of a path may take, in seconds."""

_COUNTS = hasattr(signal, "setitimer")  # limits CPU time; elsewhere, wall-clock time is limited
_PATIENCE = 60.0
"""Additional seconds of wall-clock time for a job, in case the machine is busy."""
_NEEDED = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


class Sandbox:
    """A process that runs jobs, one at a time. `error` is the exception raised for failed jobs."""

    def __init__(self, error: type[OrgrestError] = OrgrestError) -> None:
        """Prepare the process. It is started when it gets its first job."""
        self._error = error
        self._process: Child | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """Stop the process if it was started."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):  # the process did not read the whole job
                    cast("IO[bytes]", stream).close()
            process.wait()

    def answer(self, job: bytes, what: str, timeout: float, shape: object) -> dict[str, Any]:
        """Run a job (a line of JSON), and return its answer.

        `what` names the job in error messages. `timeout` is in seconds of CPU time. Raises the
        sandbox's `error` if the job exceeds a limit, or if the answer is larger than `MAX_OUTPUT`
        or does not have the given `shape`. Raises OrgrestError if the run ends. Any exception, even
        an interruption, kills the process.
        """
        with self._lock:
            try:
                return self._answer(job, what, timeout, shape)
            except BaseException:
                self.close()
                raise

    def _answer(self, job: bytes, what: str, timeout: float, shape: object) -> dict[str, Any]:
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
        if process.broken_off:
            raise self._error(
                f"the {what} was interrupted, because the run has ended", code=BROKEN_OFF
            )
        if late or (not line and _COUNTS and process.wait() == -signal.SIGPROF):
            raise self._error(f"the {what} did not finish within {timeout:g} s")
        if len(line) > MAX_OUTPUT:
            raise self._error(f"the {what} returned more than {MAX_OUTPUT // 2**20} MiB")
        if not line.endswith(b"\n"):
            raise self._error(f"the {what} exceeded its memory limit")
        answer: dict[str, Any] = json_or(line, {})
        if not matches(answer, shape):
            reason = (
                f"could not read the result of the {what}: it modified JavaScript's "
                "built-in objects, or "
            )
            raise self._error(
                f"{reason}returned a value nested more than {answers.MAX_DEPTH} levels deep"
            )
        return answer

    def _started(self) -> Child:
        children.check()
        if self._process is not None and self._process.broken_off:
            self.close()
        if self._process is None:
            environment = {name: os.environ[name] for name in _NEEDED if name in os.environ}
            worker = Path(__file__).with_name("worker.py")
            self._process = Child(
                [sys.executable, "-I", str(worker)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment,
                cwd=os.sep,
            )
        self._process.works_for = threading.current_thread()
        return self._process


def _talk(process: subprocess.Popen[bytes], job: bytes, out: list[bytes]) -> None:
    stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
    try:
        stdin.write(job)
        stdin.flush()
        out.append(stdout.readline(MAX_OUTPUT + 1))
    except (OSError, ValueError):
        return  # the process has ended, so there is no answer


_FINDER = Sandbox()


def find(kind: str, path: str, text: str, prefixes: Mapping[str, str] | None = None) -> list[Any]:
    """Return all matches of a path in `text`, an XML or JSON document.

    `kind` is `XPath` or `JSONPath`. `prefixes` maps namespace prefixes in the path to namespaces.
    Raises OrgrestError if the path or the text is malformed, or if the evaluation takes too long.
    """
    job = {"find": kind, "path": path, "text": text, "prefixes": dict(prefixes or {})}
    data = json.dumps(job).encode() + b"\n"
    answer = _FINDER.answer(data, f"{kind} {path[:200]}", FIND_TIMEOUT, answers.MATCHES)
    if answer["error"] is not None:
        error = answer["error"]
        raise OrgrestError(error if isinstance(error, str) else f"{path}: {error['message']}")
    matches: list[Any] = answer["found"]
    return matches
