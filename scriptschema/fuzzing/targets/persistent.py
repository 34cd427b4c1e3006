r"""The target `persistent`: a service, which runs many programs one after another.

The protocol: a request is a line of JSON on standard input,

    {"id": 7, "source": "print(1)", "module": null, "variant": "-O2",
     "milliseconds": 5000, "megabytes": 1024}

and its answer is a line of JSON on standard output. The answers are in the order of the requests,
and several requests may be sent before the first answer:

    {"id": 7, "kind": "ok", "output": "1\n", "error": ""}

In a request, `module` is the source that the program requires as `./module0`, or null. `variant` is
one of the target's variants.

In an answer, `kind` is `ok`, `error` (the program ended with a Luau error), `rejected` (it was not
compiled) or another of `outcome.KINDS` that the service detected itself. If the message of an
`error` says that memory was exhausted, it counts as `memory`, unless a string in the program
contains the same words. An answer may also contain `frames` (a list of functions), `report` (a
string) and `coverage`: the coverage counters that the program reached in the target's code, as a
list of their indexes or as a bitmap in base64 (counter 0 is the lowest bit of the first byte).
Counters that an earlier program reached may be left out. Programs that reach new counters are
mutated further. Lines on standard output other than JSON objects with an `id` are ignored.

The service should end a program that exceeds `milliseconds` or `megabytes` with the kind `hang` or
`memory`. A service that exceeds the time limit is killed a little later. A service that crashes is
restarted. Its exit status and the end of its standard error become the outcome of the current
program, together with the last 100 requests that it received. A service may also exit with status 0
between two programs.

Examples are `luau_web.mjs`, `pluau_service.py` and, with coverage, `examples/targets/luau/` for
Luau's C++ interface.
"""

from __future__ import annotations

import base64
import contextlib
import json
import math
import os
import select
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import IO, Any, Final

import attrs

from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.fuzzing.targets.processes import REPORTING, kill, start, text_of
from scriptschema.fuzzing.targets.reports import (
    bounded,
    has_begun,
    is_about_memory,
    outcome_of,
    texts_of,
)

GRACE: Final = 1.0
"""Seconds after a program's time limit in which the service can still report the hang itself."""

STARTING: Final = 30.0
"""Seconds within which a new service must give its first answer. After a restart, the limit is ten
times the measured time, plus one second."""

_STARTS: Final = 0.05
"""If even the fastest runs take at least this many seconds, the service probably starts a process
for each run."""

BESIDES: Final = 512
"""The memory limit of the service process is twice a program's limit plus this, in megabytes."""

_PIECE: Final = 1 << 16
_AHEAD: Final = 1 << 15
"""The number of bytes that can be written to a pipe even if the service reads nothing."""

REQUESTS: Final = 100
"""How many of the last requests to a process are kept, for the outcome if it crashes or fails."""
_MOST: Final = 64 << 20
_MOST_COUNTERS: Final = 1 << 26
_ERRORS: Final = 1 << 20
"""The number of bytes that are kept from the end of standard error. They must include the beginning
of a report, which says what happened. The report of an infinite recursion has 250 frames, which
take 200 kB if the names are long."""


class PersistentTarget:
    """Runs programs in a service, which it starts when needed and restarts after it has ended."""

    def __init__(self, description: Description, words: Sequence[str]) -> None:
        self.description = description
        self._words = [*words]
        self._process: subprocess.Popen[bytes] | None = None
        self._poll = select.poll()  # made once: a selector for each answer is too slow
        self._errors = _Errors()
        self._asked: deque[tuple[int, bytes]] = deque(maxlen=REQUESTS)
        self._received = b""
        self._fresh = True
        self._starting = STARTING
        self._fastest = math.inf  # first run of a process
        self._least = math.inf  # average time of a program's runs
        self._submitted = 0.0
        self._last = 0
        self._requests: list[tuple[int, bytes]] = []
        self._current = b""
        """The request whose answer is being received."""
        self._until_broken = False
        self._sent = 0

    def submit(self, sources: Sources, seconds: float, *, until_broken: bool = False) -> None:
        """Send a program with each variant (see `base.Target`). Raises TargetError."""
        self._seconds = seconds
        self._until_broken = until_broken
        self._submitted = time.monotonic()
        self._requests = []
        source = json.dumps(_unicode(sources.program))  # once: it is long
        module = json.dumps(None if sources.module is None else _unicode(sources.module))
        milliseconds, megabytes = round(seconds * 1000), self.description.megabytes
        for variant in self.description.variants:
            self._last += 1
            request = (
                f'{{"id": {self._last}, "source": {source}, "module": {module}, '
                f'"variant": {json.dumps(variant)}, "milliseconds": {milliseconds}, '
                f'"megabytes": {megabytes}}}\n'
            )
            self._requests.append((self._last, request.encode()))
        self._sent = 0
        self._send()

    def collect(self) -> list[Outcome]:
        """Return the outcomes of all variants. Raises TargetError."""
        outcomes = [*self._outcomes()]
        if all(each.kind in outcome.ORDINARY for each in outcomes):
            # The answers may have been there before they were read.
            lasted = time.monotonic() - self._submitted
            self._least = min(self._least, lasted / len(outcomes))
        if not _STARTS <= self._least < math.inf:
            return outcomes
        return [
            attrs.evolve(each, starting=max(each.starting, min(self._least, each.seconds)))
            for each in outcomes
        ]

    def replay(self, lines: Sequence[str]) -> Outcome | None:
        """Send an outcome's requests to a new process. Return the first `BROKEN` outcome, or None.

        Raises TargetError if the process cannot be started.
        """
        self.close()
        self._until_broken = False
        self._requests = [(json.loads(line)["id"], line.encode() + b"\n") for line in lines]
        self._seconds = max((json.loads(line)["milliseconds"] for line in lines), default=0) / 1000
        self._sent = 0
        return next((each for each in self._outcomes() if each.kind in outcome.BROKEN), None)

    def close(self) -> None:
        """Kill the service, if it is running."""
        if self._process is not None:
            kill(self._process)
            self._process = None

    def _outcomes(self) -> Iterator[Outcome]:
        count = 0
        while count < len(self._requests):
            if self._sent <= count:
                self._sent = count
                self._send()
            received = self._receive(count)
            if received is not None and received.kind in outcome.BROKEN:
                last = self._requests[count][0]
                lines = tuple(line.decode() for number, line in self._asked if number <= last)
                received = attrs.evolve(received, requests=lines)
            count += received is not None
            if self._process is None:  # requests sent ahead go to the next process
                self._sent = count
            if received is not None:
                yield received
                broke = received.kind in outcome.BROKEN and self._process is None
                if broke and self._until_broken:  # a restart takes long
                    yield from [Outcome(outcome.NOT_RUN)] * (len(self._requests) - count)
                    return

    def _send(self) -> None:
        """Send all pending requests if they fit in the pipe, otherwise only the next request."""
        process = self._running()
        data = b"".join(request for _, request in self._requests[self._sent :])
        count = len(self._requests) - self._sent
        if len(data) > _AHEAD:
            data, count = self._requests[self._sent][1], 1
        for number, line in self._requests[self._sent : self._sent + count]:
            self._asked.append((number, line.rstrip()))
        self._sent += count
        if process.stdin is not None:
            with contextlib.suppress(OSError):  # it has exited: `_receive` handles that
                process.stdin.write(data)
                process.stdin.flush()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            self._asked.clear()
            self._process = start(
                self._words,
                2 * self.description.megabytes + BESIDES,
                stdin=subprocess.PIPE,
                stderr=subprocess.PIPE,
                halts=True,  # a report amid many programs would be overlooked
            )
            stream, self._process.stderr = self._process.stderr, None  # the reader closes it
            self._errors = _Errors(stream)
            self._poll = select.poll()
            if self._process.stdout is not None:
                self._poll.register(self._process.stdout, select.POLLIN)
            self._received = b""
            self._fresh = True
        return self._process

    def _receive(self, number: int) -> Outcome | None:
        """Return a request's outcome, or None if the service exited normally before answering."""
        process = self._running()
        identity, self._current = self._requests[number]
        began = time.monotonic()
        limit = began + self._seconds + GRACE + (self._starting if self._fresh else 0)
        waited = False
        while (answer := self._next_answer(identity)) is None:
            left = limit - time.monotonic()
            if left <= 0 and not waited and has_begun(self._errors.text()):
                limit, waited = limit + REPORTING, True
                continue
            if left <= 0 or len(self._received) > _MOST:
                self.close()
                seconds = time.monotonic() - began
                if left > 0:
                    return Outcome(outcome.FLOOD, seconds=seconds)
                message = f"still running after {self._seconds:g} s"
                report = bounded(self._errors.text())
                return Outcome(outcome.HANG, "", message, seconds=seconds, report=report)
            if process.stdout is not None and not self._read(process.stdout.fileno(), left):
                return self._died(process, began)
        seconds = time.monotonic() - began
        result = self._outcome_of(answer, seconds)
        if self._fresh:  # sets the time limit of restarts
            self._starting = min(STARTING, 1 + 10 * seconds)
            # The fastest first run of a process did little more than start.
            self._fastest = min(self._fastest, seconds)
            result = attrs.evolve(result, starting=self._fastest)
        self._fresh = False
        return result

    def _read(self, descriptor: int, seconds: float) -> bool:
        """Read data that arrives within the time limit. Return False at the end of the stream."""
        if not self._poll.poll(seconds * 1000):
            return True
        piece = os.read(descriptor, _PIECE)
        self._received += piece
        return bool(piece)

    def _next_answer(self, identity: int) -> dict[str, Any] | None:
        while b"\n" in self._received:
            line, _, self._received = self._received.partition(b"\n")
            with contextlib.suppress(ValueError, RecursionError):
                answer = json.loads(line)
                if isinstance(answer, dict) and answer.get("id") == identity:
                    return answer
        return None

    def _died(self, process: subprocess.Popen[bytes], began: float) -> Outcome | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE)
        status = process.poll()
        printed = text_of(self._received)
        fresh = self._fresh
        errors = self._errors.text(GRACE)
        if has_begun(errors):
            errors = self._errors.text(REPORTING)
        self.close()
        if status == 0 and not fresh:
            return None
        # Whatever its status, a service that ends during a request has failed.
        seconds = time.monotonic() - began
        given = (status or 1, printed, errors, seconds)
        result = outcome_of(*given, texts=self._texts, is_shared=True)
        if result.kind in outcome.ORDINARY:
            ended = "closed its output" if status is None else f"ended with status {status}"
            message = f"the service {ended}: {errors.strip()[-2000:] or outcome.SILENT}"
            return Outcome(outcome.CRASH, printed, message, status, report=bounded(errors))
        return attrs.evolve(result, status=status)

    def _texts(self) -> str:
        """Return the strings in the current program (see `reports.outcome_of`)."""
        request = json.loads(self._current)
        return texts_of(Sources(request["module"], request["source"]))

    def _outcome_of(self, answer: dict[str, Any], seconds: float) -> Outcome:
        kind, output, error = (answer.get(name) for name in ("kind", "output", "error"))
        if kind not in outcome.KINDS:
            shown = json.dumps(answer)[:200]
            return Outcome(
                outcome.INTERNAL, "", f"the service's answer has no valid `kind`: {shown}"
            )
        output, error = _text(output), _text(error)
        if len(output) > self.description.output:
            return Outcome(outcome.FLOOD, output[: self.description.output], seconds=seconds)
        if kind == outcome.ERROR and is_about_memory(error, self._texts):
            kind = outcome.MEMORY
        if kind == outcome.HANG:  # the service may count instructions, for example
            seconds = max(seconds, self._seconds)
        try:
            coverage = _coverage_of(answer.get("coverage"))
        except ValueError as problem:
            return Outcome(
                outcome.INTERNAL, "", f"the service's answer has invalid coverage: {problem}"
            )
        frames = answer.get("frames") or []
        if not isinstance(frames, list):
            shown = json.dumps(frames)[:200]
            return Outcome(
                outcome.INTERNAL, "", f"`frames` in the service's answer is not a list: {shown}"
            )
        report = _text(answer.get("report")) if kind not in outcome.ORDINARY else ""
        return Outcome(
            str(kind),
            output,
            error,
            None,
            tuple(map(_text, frames)),
            seconds,
            bounded(report),
            coverage=coverage,
        )


class _Errors:
    """Keeps the last `_ERRORS` bytes of a service's standard error, read in a thread.

    A service may write endlessly: a file would fill the disk, and an unread pipe would block it.
    """

    def __init__(self, stream: IO[bytes] | None = None) -> None:
        self._kept = b""
        self._thread = threading.Thread(target=self._read, args=(stream,), daemon=True)
        if stream is not None:
            self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while piece := os.read(stream.fileno(), _PIECE):
                self._kept = (self._kept + piece)[-_ERRORS:]

    def text(self, seconds: float = 0) -> str:
        """Return the text, after waiting up to `seconds` for the stream to end."""
        if seconds and self._thread.is_alive():
            self._thread.join(seconds)
        return text_of(self._kept)


def _text(value: object) -> str:
    """Return text from an answer. Lone surrogates, which UTF-8 cannot encode, are escaped."""
    text = str(value or "")
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _coverage_of(value: object) -> frozenset[int] | None:
    """Return the counter indexes in an answer's `coverage`. Raises ValueError."""
    if value is None:
        return None
    if isinstance(value, str):
        bits = int.from_bytes(base64.b64decode(value, validate=True), "little")
        return frozenset(n for n, bit in enumerate(reversed(f"{bits:b}")) if bit == "1")
    if not isinstance(value, list):
        raise ValueError(f"expected a list or a base64 string, found {type(value).__name__}")
    for number in value:
        if type(number) is not int or not 0 <= number < _MOST_COUNTERS:
            raise ValueError(
                f"expected numbers from 0 to {_MOST_COUNTERS - 1}, found {str(number)[:40]}"
            )
    return frozenset(value)


def _unicode(source: str) -> str:
    return source.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
