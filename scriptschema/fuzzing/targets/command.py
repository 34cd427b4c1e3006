"""The target `command`, which starts a process for each run of a program."""

from __future__ import annotations

import contextlib
import math
import re
import subprocess
import time
from functools import cached_property, partial
from typing import Final

import attrs

from scriptschema import files
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.calibration import SEVERAL, WRONG, Failed, Normal, learned
from scriptschema.fuzzing.targets.description import Description, TargetError
from scriptschema.fuzzing.targets.leftovers import Folder
from scriptschema.fuzzing.targets.outcome import Outcome
from scriptschema.fuzzing.targets.processes import Watched, kill, split, start, text_of, watch
from scriptschema.fuzzing.targets.reports import bounded, failure_of, outcome_of, texts_of

_FILE: Final = "{file}"
_VARIANT: Final = "{variant}"


class CommandTarget:
    """Runs a command for each program and variant.

    `{file}` in the command is replaced by the path of the source file. The folder of this file also
    contains the program's module. Without `{file}`, the command reads the source from standard
    input.

    `{variant}` is replaced by the words of the variant. Without `{variant}`, these words follow the
    command's first word.
    """

    def __init__(self, description: Description) -> None:
        self.description = description
        self._commands = [self._words(variant) for variant in description.variants]
        self._reads_file = _FILE in description.command
        self._folder = Folder()
        self._path = self._folder.path / "program.luau"
        self._sources = Sources(None, "")
        self._running: tuple[subprocess.Popen[bytes], float] | None = None
        self._fastest = math.inf

    def _words(self, variant: str) -> list[str]:
        words = split(self.description.command)
        more = split(variant) if variant.strip() else []
        if _VARIANT in words:
            at = words.index(_VARIANT)
            return [*words[:at], *more, *words[at + 1 :]]
        if any(_VARIANT in word for word in words):
            return [word.replace(_VARIANT, variant) for word in words]
        return [words[0], *more, *words[1:]]

    def submit(self, sources: Sources, seconds: float, *, until_broken: bool = False) -> None:
        """Start the first run of a program (see `base.Target`). Raises TargetError."""
        self._abandon()
        self._sources = sources
        self._seconds = seconds
        self._until_broken = until_broken
        self._running = self._start(0)

    def collect(self) -> list[Outcome]:
        """Return the outcomes of all variants. Raises TargetError."""
        outcomes = []
        for number in range(len(self._commands)):
            result = self._outcome_of(self._watch(number))
            self._fastest = min(self._fastest, result.seconds)
            # The fastest run did little more than start.
            outcomes.append(attrs.evolve(result, starting=self._fastest))
            if self._until_broken and outcomes[-1].kind in outcome.BROKEN:
                left = len(self._commands) - len(outcomes)
                return outcomes + [Outcome(outcome.NOT_RUN)] * left
        return outcomes

    def close(self) -> None:
        """Terminate the running process, and remove the folder with its files."""
        self._abandon()
        self._folder.remove()

    def _abandon(self) -> None:
        if self._running is not None:
            kill(self._running[0])
            self._running = None

    def _start(self, number: int) -> tuple[subprocess.Popen[bytes], float]:
        words = [word.replace(_FILE, str(self._path)) for word in self._commands[number]]
        megabytes = self.description.megabytes
        self._write_files()
        with self._path.open("rb") as program:
            stdin = subprocess.DEVNULL if self._reads_file else program.fileno()
            began = time.monotonic()
            return start(words, megabytes, stdin=stdin, stderr=subprocess.PIPE), began

    def _write_files(self) -> None:
        """Write the files for a run, because the previous run may have changed or deleted them."""
        module = self._path.with_name("module0.luau")
        try:
            self._path.write_bytes(self._sources.program.encode("utf-8", "surrogateescape"))
            if self._sources.module is not None:
                module.write_bytes(self._sources.module.encode("utf-8", "surrogateescape"))
            else:
                module.unlink(missing_ok=True)
        except OSError as error:
            # Only an error of opening, and not of writing, has the name of the file.
            name, reason = error.filename or self._path, files.reason_of(error)
            raise TargetError(
                f"{self.description.command}: could not write {name}: {reason}"
            ) from None

    def _watch(self, number: int) -> Watched:
        """Wait for the end of a run, which is started if it is not running yet."""
        process, began = self._running or self._start(number)
        self._running = None
        return watch(process, began, self._seconds, self.description.output)

    def _outcome_of(self, watched: Watched) -> Outcome:
        output, errors = text_of(watched.output), text_of(watched.errors)
        if self._reads_file:  # the path differs between workers
            output = output.replace(str(self._path), "program.luau")
            errors = errors.replace(str(self._path), "program.luau")
        if watched.flooded:
            return Outcome(outcome.FLOOD, output, "", watched.status, (), watched.seconds)
        if watched.hung:
            message, report = f"still running after {self._seconds:g} s", bounded(errors)
            return Outcome(outcome.HANG, output, message, None, (), watched.seconds, report)
        return self._judged(watched, output, errors)

    def _judged(self, watched: Watched, output: str, errors: str) -> Outcome:
        """Return the outcome of a process that ended within its limits."""
        crash, error = self.description.crash, self.description.error
        matched = re.search(f"(?m)^.*(?:{crash}).*$", errors + output) if crash else None
        if matched is not None:
            kind, line = outcome.INTERNAL, matched[0].strip()
            return Outcome(kind, output, line, watched.status, (), watched.seconds, bounded(errors))
        if error and re.search(error, errors + output):
            return Outcome(
                outcome.ERROR, output, errors[:2000], watched.status, (), watched.seconds
            )
        given = (watched.status, output, errors, watched.seconds)
        texts = partial(texts_of, self._sources)
        judged = outcome_of(*given, texts=texts)
        if judged.kind not in (outcome.INTERNAL, *outcome.FAILED):
            return judged
        return outcome_of(*given, normal=self._normal, texts=texts)

    @cached_property
    def _normal(self) -> Normal:
        """The target's normal error reports, learned by running erroneous programs."""
        with contextlib.closing(CommandTarget(self.description)) as target:
            ends = map(target._failure, WRONG)
            return learned([end for end in ends if end is not None], target._failure(SEVERAL))

    def _failure(self, program: str) -> Failed | None:
        """Return how an erroneous program fails, or None if it reports no failure in time."""
        self.submit(Sources(None, program), self.description.seconds)
        watched = self._watch(0)
        if watched.hung or watched.flooded:
            return None
        return failure_of(watched.status, text_of(watched.errors))


def version_of(words: list[str]) -> str:
    """Return the first line that a command prints for `--version`, or an empty string."""
    with contextlib.suppress(TargetError):
        process = start(
            [words[0], "--version"], 1024, stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT
        )
        watched = watch(process, time.monotonic(), 5, 10_000)
        if watched.status == 0 and watched.output.strip():
            return text_of(watched.output).strip().splitlines()[0]
    return ""
