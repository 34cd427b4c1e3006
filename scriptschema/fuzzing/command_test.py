"""Uses a command as the test of a reduction. The test passes if the command's exit status is 0.

The command is split into words as in a shell, but runs without a shell. `{}` or `{file}` in a word
is replaced with the name of a file that contains the tree's Luau source. `{.pb}`, `{.textproto}`
and `{.json}` are replaced with the name of a file that contains the tree in that format. A command
without placeholders reads the source from standard input.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
import time
from pathlib import Path
from threading import Lock
from typing import Final

from scriptschema import files
from scriptschema.fuzzing.targets.outcome import OUTPUT, visible
from scriptschema.fuzzing.targets.processes import kill_group
from scriptschema.luau import sources
from scriptschema.luau.names import DEFAULT, Names
from scriptschema.messages import ModuleSet
from scriptschema.versions import TODAY

MAX_TIME: Final = 60.0
"""The time limit in seconds for the command on the original tree."""

LEAST_TIME: Final = 1.0
TIMES: Final = 10
"""The time limit is `TIMES` times the duration of the latest interesting run, but at least
`LEAST_TIME` seconds."""

_PLACEHOLDER: Final = re.compile(r"\{(\.\w+)?\}|(?<!\$)\{file\}")


class CommandError(Exception):
    """A command cannot be run. The message names the command and says why."""


class CommandTest:
    """A test that runs a command to decide whether a tree, or its source, is interesting.

    `names` are the name tables for sources. `limit` is the command's time limit in seconds. It
    adapts to the duration of interesting runs, and never exceeds `max_time`. Several threads can
    test trees simultaneously.

    Raises CommandError if the command is invalid or cannot be run. Also raises it if the command
    reaches the time limit before it has succeeded once.
    """

    def __init__(self, command: str, *, names: Names = DEFAULT, max_time: float = MAX_TIME) -> None:
        try:
            self.words = shlex.split(command)
        except ValueError as error:
            raise CommandError(f"cannot parse the command {command!r}: {error}") from None
        if not self.words:
            raise CommandError("the command is empty")
        self.names = names
        self.max_time = self.limit = max_time
        self._succeeded = False
        self.endings = {match[1] for word in self.words for match in _PLACEHOLDER.finditer(word)}
        unknown = self.endings - {None, *files.ALL_ENDINGS}
        if unknown:
            known = ", ".join(f"{{{ending}}}" for ending in files.ENDINGS)
            raise CommandError(f"unknown placeholder {{{min(unknown)}}}; available: {{}}, {known}")
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = Lock()

    @property
    def reads_source(self) -> bool:
        """Whether the command receives only the source of a tree, not the tree itself."""
        return self.endings <= {None, *files.SOURCE_ENDINGS}

    def __call__(self, tree: ModuleSet) -> bool:
        """Return whether the command exits with status 0 for a tree. Raises CommandError."""
        with tempfile.TemporaryDirectory(prefix="scriptschema-") as name:
            return self._holds(Path(name), self._files_of(tree))

    def output(self, tree: ModuleSet, limit: int) -> bytes | None:
        """Return at most `limit` bytes of the command's output for a tree, or None after a timeout.

        The exit status does not matter. Raises CommandError.
        """
        with tempfile.TemporaryDirectory(prefix="scriptschema-") as name:
            path = Path(name) / "output"
            with path.open("wb") as printed:
                words, program = self._prepare(Path(name), self._files_of(tree))
                if self._run(words, program, printed.fileno()) is None:
                    return None
            with path.open("rb") as file:
                return file.read(limit)

    def ending_for(self, program: ModuleSet | bytes) -> tuple[bool, str]:
        """Return whether the test passes for a tree or a source, and how the command ended.

        The text contains the exit status and what the command printed. Raises CommandError.
        """
        written = (
            {"program.luau": program} if isinstance(program, bytes) else self._files_of(program)
        )
        with tempfile.TemporaryDirectory(prefix="scriptschema-") as name:
            path = Path(name) / "output"
            with path.open("wb") as printed:
                words, place = self._prepare(Path(name), written)
                status = self._run(words, place, printed.fileno(), printed.fileno())
            with path.open("rb") as file:
                text = file.read(OUTPUT).decode("utf-8", "replace").rstrip()
        end = f"ended with status {status}" if status is not None else f"ran for {self.limit:g} s"
        return status == 0, f"{end} and printed" + (f":\n{visible(text)}" if text else " nothing")

    def holds_for(self, source: str) -> bool:
        """Return whether the command exits with status 0 for a program without a module.

        `source` is the program's source. Raises CommandError.
        """
        with tempfile.TemporaryDirectory(prefix="scriptschema-") as name:
            return self._holds(Path(name), {"program.luau": sources.encode(source)})

    def close(self) -> None:
        """Kill the commands that are running."""
        with self._lock:
            for process in self._running:
                kill_group(process)

    def _files_of(self, tree: ModuleSet) -> dict[str, bytes]:
        written = sources.source_files_of(tree, "program", names=self.names)
        for ending in self.endings & {*files.ENDINGS}:
            form = files.ENDINGS[ending or ""]
            try:
                written[f"tree{ending}"] = files.serialize(tree, form, TODAY)
            except ValueError as error:
                raise CommandError(
                    "cannot write the tree to a file for the placeholder "
                    f"{{{ending}}} in the command: {error}"
                ) from None
        return written

    def _prepare(self, folder: Path, written: dict[str, bytes]) -> tuple[list[str], str]:
        """Write the files. Return the command's words and the path of the program's source."""
        for name, data in written.items():
            path = folder / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        program = str(folder / next(name for name in written if name.endswith("program.luau")))

        def file_of(placeholder: re.Match[str]) -> str:
            ending = placeholder[1]
            return str(folder / f"tree{ending}") if ending in files.ENDINGS else program

        return [_PLACEHOLDER.sub(file_of, word) for word in self.words], program

    def _holds(self, folder: Path, written: dict[str, bytes]) -> bool:
        words, program = self._prepare(folder, written)
        start = time.monotonic()
        status = self._run(words, program, subprocess.DEVNULL)
        if status is None and not self._succeeded:
            raise CommandError(
                f"the command was stopped after {self.limit:g} s, before it had succeeded once: "
                "use --timeout to give it more time"
            )
        holds = status == 0
        if holds:
            self._succeeded = True
            took = time.monotonic() - start
            self.limit = min(self.max_time, max(LEAST_TIME, TIMES * took))
        return holds

    def _run(
        self, words: list[str], program: str, output: int, errors: int = subprocess.DEVNULL
    ) -> int | None:
        with Path(os.devnull if self.endings else program).open("rb") as standard_input:
            try:
                process = subprocess.Popen(  # noqa: S603  # the command is the user's own
                    words,
                    stdin=standard_input,
                    stdout=output,
                    stderr=errors,
                    start_new_session=True,  # so that `kill_group` ends its processes, too
                )
            except OSError as error:
                raise CommandError(f"{words[0]}: {files.reason_of(error)}") from None
        with self._lock:
            self._running.add(process)
        try:
            return process.wait(self.limit)
        except subprocess.TimeoutExpired:
            return None
        finally:  # also on Ctrl-C, which does not reach its session
            kill_group(process)
            process.wait()
            with self._lock:
                self._running.discard(process)
