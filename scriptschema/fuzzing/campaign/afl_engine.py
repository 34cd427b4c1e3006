"""AFL++ as the engine of a campaign: its instances run the first target, and we judge their finds.

    with AflEngine(campaign, instances=4) as engine:
        Session(campaign, workers=engine).run()

The target is a command built with AFL++'s compiler. The instances use the mutator of `fuzzing.afl`;
they start from the corpus and from generated programs, are restarted when they end, and continue
where they were when the campaign does. What they keep in `FOLDER/afl/out/NAME/` (queue, crashes,
hangs) is run and judged by a worker as any other program: on all targets, with all oracles.

Source: AFL++'s docs/fuzzing_in_depth.md and docs/env_variables.md.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self

from scriptschema import files
from scriptschema.files import FileError
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.afl import STYLE
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import AFL, CORPUS, Campaign
from scriptschema.fuzzing.campaign.workers import Worker
from scriptschema.fuzzing.source_mutation import VERSION
from scriptschema.fuzzing.targets import leftovers
from scriptschema.fuzzing.targets.processes import split
from scriptschema.generation.programs import program
from scriptschema.luau import sources
from scriptschema.luau.render import render
from scriptschema.messages import ModuleSet

SEEDS: Final = 200
"""The number of generated programs to start from, beside the corpus."""
_SEED_SIZE: Final = 60

_MEASURED: Final = 10
"""Seconds that an instance must have run until its rate says anything."""

_SOON: Final = 10.0
_TRIES: Final = 3
"""An instance that ends within `_SOON` seconds this many times in a row does not work."""

_ENDING: Final = 10.0
"""Seconds that instances have to write their statistics."""

_ENVIRONMENT: Final = MappingProxyType(
    {
        "AFL_PYTHON_MODULE": "scriptschema.fuzzing.afl",
        "AFL_CUSTOM_MUTATOR_ONLY": "1",
        "AFL_AUTORESUME": "1",
        "AFL_NO_UI": "1",
        "AFL_NO_AFFINITY": "1",
        "AFL_SKIP_CPUFREQ": "1",
        "AFL_SKIP_CRASHES": "1",
        "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1",
    }
)


class EngineError(Exception):
    """AFL++ cannot be used; the message says what to do."""


class AflEngine:
    """The instances of AFL++ for a campaign, and the `Workers` of its session: a context manager.

    `instances` is the number of processes of afl-fuzz: the first is the main one.

    Raises EngineError, FileError and TargetError.
    """

    slice_seconds = 2.0

    def __init__(self, campaign: Campaign, instances: int = 1) -> None:
        self.folder = campaign.path / AFL
        self.command = _command_of(campaign.config)
        self.problem = ""
        """Why an instance does not work; empty while all do."""
        self._campaign = campaign
        config = campaign.config
        given = {STYLE: "random" if config.styles else "plain", VERSION: str(config.version or "")}
        self._instances = [_Instance(self.folder, n, self.command, given) for n in range(instances)]
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if shutil.which("afl-fuzz") is None:
            raise EngineError("the engine afl needs AFL++ with Python: apt install afl++")
        try:
            files.make_folder(self.folder / "seeds", below=self._campaign.path)
        except OSError as error:
            raise FileError(f"{self.folder}: {files.reason_of(error)}") from None
        for name, source in _seeds(self._campaign):
            if not (self.folder / "seeds" / name).exists():
                files.write(self.folder / "seeds" / name, source)
        try:
            for instance in self._instances:
                instance.start()
            self._watcher.start()
        except BaseException:  # Ctrl-C, for example
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end()

    def _end(self) -> None:
        self._stopping.set()
        if self._watcher.is_alive():
            self._watcher.join()
        for instance in self._instances:
            instance.interrupt()
        end = time.monotonic() + _ENDING
        for instance in self._instances:
            instance.end(end - time.monotonic())
        leftovers.end_marked(leftovers.engine_mark())  # targets whose instance was killed

    def worker(self, campaign: Campaign, seed: int) -> AflWorker:
        """Return a new worker for a session."""
        return AflWorker(self, campaign, seed)

    def progress(self) -> dict[str, Any]:
        """Return what AFL++ counts, see `counts`."""
        return counts([instance.statistics() for instance in self._instances])

    def _watch(self) -> None:
        """Restart instances that end, until one does not work."""
        while not self._stopping.wait(0.5) and not self.problem:
            for instance in self._instances:
                try:
                    self.problem = self.problem or instance.look()
                except EngineError as error:
                    self.problem = str(error)


def counts(found: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return executions, those of a second, and edges that were covered, of some `fuzzer_stats`.

    The rate is None in the first minute: until then the file has what the seeds' calibration took.
    """
    measured = [each for each in found if int(each.get("run_time", 0)) >= _MEASURED]
    rates = [int(each["execs_done"]) / int(each["run_time"]) for each in measured]
    return {
        "executions": sum(int(each.get("execs_done", 0)) for each in found),
        "executions_per_second": sum(rates) if rates else None,
        "covered": max((int(each.get("edges_found", 0)) for each in found), default=0),
    }


class _Instance:
    """One process of afl-fuzz, with its log."""

    def __init__(
        self, folder: Path, number: int, command: list[str], given: dict[str, str]
    ) -> None:
        self._given = given
        self.name = "main" if number == 0 else f"secondary{number}"
        self._folder = folder
        self._words = ["afl-fuzz", "-i", str(folder / "seeds"), "-o", str(folder / "out")]
        self._words += ["-S" if number else "-M", self.name, *command]
        self._log = folder / f"{self.name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._failures = 0

    def start(self) -> None:
        """Start the process; it resumes if it has been here before."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        # AFL++ has a Python of its own, which finds modules by this variable only.
        modules = map(importlib.import_module, ("scriptschema", "attr"))
        paths = {str(Path(module.__file__ or "").parents[1]) for module in modules}
        environment |= {**_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(sorted(paths))}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", **self._given}
        environment |= {leftovers.OWNER: leftovers.engine_mark()}
        try:
            with files.open_to_append(self._log) as log:
                self._process = subprocess.Popen(  # noqa: S603  # the user's command, by AFL++
                    self._words,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise EngineError(f"afl-fuzz: {files.reason_of(error)}") from None
        self._began = time.monotonic()

    def look(self) -> str:
        """Restart the process if it has ended; return why it does not work, or an empty text."""
        if self._process is None or self._process.poll() is None:
            return ""
        self._kill_group()
        soon = time.monotonic() - self._began < _SOON
        self._failures = self._failures + 1 if soon else 0
        if self._failures == _TRIES:
            return f"{' '.join(self._words)} does not work:\n{self._last_words()}"
        self.start()
        return ""

    def interrupt(self) -> None:
        """Ask the process to end."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)

    def end(self, seconds: float) -> None:
        """Wait for the end of the process, and kill it and its target after some seconds."""
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0, seconds))
        self._kill_group()
        self._process.wait()

    def statistics(self) -> dict[str, str]:
        """Return the fields of `fuzzer_stats`; none before AFL++ has written it."""
        found = {}
        with contextlib.suppress(OSError):
            for line in (self._folder / "out" / self.name / "fuzzer_stats").read_text().split("\n"):
                name, _, value = line.partition(":")
                found[name.strip()] = value.strip()
        return found

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process is not None:
                os.killpg(self._process.pid, signal.SIGKILL)

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        said = [line for line in lines if "[-]" in line or "ABORT" in line or "Location" in line]
        return "\n".join((said or lines)[-15:])


class AflWorker(Worker):
    """A worker process that judges the inputs of AFL++'s instances, or reduces suspects."""

    def __init__(self, engine: AflEngine, campaign: Campaign, seed: int) -> None:
        super().__init__(campaign.config, campaign.path, seed)
        self._engine = engine

    def answer(self) -> Any:
        """Return the next answer. Raises EOFError or OSError if the worker has died.

        Raises EngineError if an instance of AFL++ does not work.
        """
        if self._engine.problem:
            raise EngineError(self._engine.problem)
        return super().answer()


def _command_of(config: Config) -> list[str]:
    """Return the options and the target for afl-fuzz. Raises EngineError."""
    target = config.targets[0]
    if target.kind != "command" or "{variant}" in target.command:
        raise EngineError(
            "the engine afl needs a first target that is a command without variants, built with "
            "AFL++'s compiler: --target 'command:./harness {file}'"
        )
    words = [word.replace("{file}", "@@") for word in split(target.command)]
    return ["-t", f"{round(target.seconds * 1000)}", "-m", "none", "--", *words]


def _seeds(campaign: Campaign) -> Iterator[tuple[str, bytes]]:
    """Yield names and sources of the corpus trees, and of generated programs."""
    for path in (campaign.path / CORPUS).glob("*.pb"):
        tree = encoding.decode(ModuleSet, path.read_bytes())
        yield f"{path.stem}.luau", sources.encode(render(tree.program))
    config = campaign.config
    for number in range(SEEDS):
        tree = program(seed=config.seed + number, size=_SEED_SIZE, luau=config.version)
        yield f"generated{number}.luau", sources.encode(render(tree.program))
