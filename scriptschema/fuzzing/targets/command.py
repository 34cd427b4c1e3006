"""The target `command`: starts a process for each run of a program."""

from __future__ import annotations

import contextlib
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Final

from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import Description, TargetError
from scriptschema.fuzzing.targets.leftovers import Folder
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.fuzzing.targets.processes import Watched, split, start, text_of, watch
from scriptschema.fuzzing.targets.reports import bounded, outcome_of, uncaught

_FILE: Final = "{file}"
_VARIANT: Final = "{variant}"

_WRONG: Final = ('error("wrong")', "local nothing print(nothing.field)", "print(1 2", "print(-{})")
"""Programs that end with an error. A target written in another language may report that by an
exception that nothing catches: exceptions of such a class are not the target's own bugs."""


class CommandTarget:
    """Runs a command for each program and variant.

    `{file}` in the command is replaced by the path of a file with the source, beside which is that
    of the module; without it, the command reads the source from standard input. `{variant}` is
    replaced by the words of the variant; without it, they follow the command's first word.
    """

    def __init__(self, description: Description) -> None:
        self.description = description
        self._commands = [self._words(variant) for variant in description.variants]
        self._reads_file = _FILE in description.command
        self._folder = Folder()
        self._path = self._folder.path / "program.luau"
        self._input: bytes = b""
        self._running: tuple[subprocess.Popen[bytes], float] | None = None
        self._normal: frozenset[str] | None = None

    def _words(self, variant: str) -> list[str]:
        words = split(self.description.command)
        more = split(variant) if variant.strip() else []
        if _VARIANT in words:
            at = words.index(_VARIANT)
            return [*words[:at], *more, *words[at + 1 :]]
        if any(_VARIANT in word for word in words):
            return [word.replace(_VARIANT, variant) for word in words]
        return [words[0], *more, *words[1:]]

    def submit(self, sources: Sources, seconds: float) -> None:
        """Start the first run of a program; see `base.Target`. Raises TargetError."""
        self._abandon()
        self._input = sources.program.encode("utf-8", "surrogateescape")
        self._seconds = seconds
        if self._reads_file:
            self._path.write_bytes(self._input)
            module = self._path.with_name("module0.luau")
            if sources.module is not None:
                module.write_bytes(sources.module.encode("utf-8", "surrogateescape"))
            else:
                module.unlink(missing_ok=True)
        self._running = self._start(0)

    def collect(self) -> list[Outcome]:
        """Return the outcomes of all variants. Raises TargetError."""
        found = []
        for number in range(len(self._commands)):
            process, began = self._running or self._start(number)
            self._running = None
            found.append(self._finish(process, began))
        return found

    def close(self) -> None:
        """End the running process."""
        self._abandon()
        self._folder.remove()

    def _abandon(self) -> None:
        if self._running is not None:
            watch(*self._running, seconds=0, most=0)
            self._running = None

    def _start(self, number: int) -> tuple[subprocess.Popen[bytes], float]:
        words = [word.replace(_FILE, str(self._path)) for word in self._commands[number]]
        began = time.monotonic()
        megabytes = self.description.megabytes
        if self._reads_file:
            process = start(words, megabytes, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
            return process, began
        with tempfile.TemporaryFile() as program:
            program.write(self._input)
            program.seek(0)
            return start(words, megabytes, stdin=program.fileno(), stderr=subprocess.PIPE), began

    def _finish(self, process: subprocess.Popen[bytes], began: float) -> Outcome:
        found = watch(process, began, self._seconds, self.description.output)
        output, errors = text_of(found.output), text_of(found.errors)
        if self._reads_file:  # the path differs between workers
            output = output.replace(str(self._path), "program.luau")
            errors = errors.replace(str(self._path), "program.luau")
        if found.flooded:
            return Outcome(outcome.FLOOD, output, "", found.status, (), found.seconds)
        if found.hung:
            message, said = f"no end after {self._seconds:g} s", bounded(errors)
            return Outcome(outcome.HANG, output, message, None, (), found.seconds, said)
        return self._judged(found, output, errors)

    def _judged(self, found: Watched, output: str, errors: str) -> Outcome:
        """Return the outcome of a process that ended without being killed."""
        crash, error = self.description.crash, self.description.error
        matched = re.search(f"(?m)^.*(?:{crash}).*$", errors + output) if crash else None
        if matched is not None:
            kind, said = outcome.INTERNAL, matched[0].strip()
            return Outcome(kind, output, said, found.status, (), found.seconds, bounded(errors))
        if error and re.search(error, errors + output):
            return Outcome(outcome.ERROR, output, errors[:2000], found.status, (), found.seconds)
        given = (found.status, output, errors, found.seconds)
        if uncaught(errors) is None:
            return outcome_of(*given)
        if self._normal is None:
            self._normal = frozenset(self._exceptions())
        return outcome_of(*given, normal=self._normal)

    def _exceptions(self) -> Iterator[str]:
        """Yield the classes of exceptions with which the target reports errors of programs."""
        before, self._normal = self._input, frozenset()
        for program in _WRONG:
            self.submit(Sources(None, program), max(self._seconds, 10))
            process, began = self._running or self._start(0)
            self._running = None
            found = watch(process, began, self._seconds, self.description.output)
            exception = uncaught(text_of(found.errors))
            if exception is not None:
                yield exception[0]
        self._input = before
        if self._reads_file:
            self._path.write_bytes(before)


def version_of(words: list[str]) -> str:
    """Return the first line that a command prints for `--version`; empty if it prints nothing."""
    with contextlib.suppress(TargetError):
        process = start(
            [words[0], "--version"], 1024, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        found = watch(process, time.monotonic(), 5, 10_000)
        if found.status == 0 and found.output.strip():
            return text_of(found.output).strip().splitlines()[0]
    return ""
