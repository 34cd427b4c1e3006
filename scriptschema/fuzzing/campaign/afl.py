"""AFL++ as the engine of a campaign: its instances run the first target, and we judge its inputs.

    with AflEngine(campaign, instances=4) as engine:
        Session(campaign, workers=engine).run()

The target is a command built with AFL++'s compiler. The instances use the mutator of `fuzzing.afl`;
they start from the corpus and from generated programs, are restarted when they end, and resume when
the campaign does. The inputs that they keep in `FOLDER/afl/out/NAME/` (queue, crashes, hangs) are
run and judged by a worker like any other program: on all targets, with all oracles.

Source: AFL++'s docs/fuzzing_in_depth.md and docs/env_variables.md.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Self

from scriptschema import files
from scriptschema.base import walk
from scriptschema.codec.copying import copy
from scriptschema.files import FileError
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.afl import STYLE
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import AFL, CORPUS, JUDGED, Campaign
from scriptschema.fuzzing.campaign.programs import Made, ProgramSource
from scriptschema.fuzzing.campaign.workers import Worker
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.source_mutation import VERSION, SourceMutator
from scriptschema.fuzzing.targets import leftovers, outcome
from scriptschema.fuzzing.targets.processes import split
from scriptschema.generation.programs import program
from scriptschema.luau import sources
from scriptschema.luau.render import render
from scriptschema.luau.sources import encode
from scriptschema.messages import ExprCall, ModuleSet

SEEDS: Final = 200
"""The number of generated programs to start from, in addition to the corpus."""
_SEED_SIZE: Final = 60

_MEASURED: Final = 10
"""Seconds that an instance must have run before its rate is meaningful."""

_SOON: Final = 10.0
_TRIES: Final = 3
"""An instance fails after this many consecutive exits, each within `_SOON` seconds."""

_ENDING: Final = 10.0
"""The time limit in seconds for instances to write their statistics when they end."""

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

    def __exit__(self, *_: object) -> None:
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
        """Return AFL++'s figures, see `counts`."""
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
    """Return the executions, executions per second and covered edges from some `fuzzer_stats`.

    The rate is None in the first minute, when the file only covers the calibration of the seeds.
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
        """Start the process; it resumes an earlier run of the instance."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        # AFL++ embeds its own Python, which finds modules only through this variable.
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
        """Wait for the process to end; after `seconds`, kill it and its target."""
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0, seconds))
        self._kill_group()
        self._process.wait()

    def statistics(self) -> dict[str, str]:
        """Return the fields of `fuzzer_stats`; empty before AFL++ has written it."""
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
        super().__init__(campaign.config, campaign.path, seed, programs=Inputs)
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


_CLAIMS: Final = MappingProxyType({"crashes": outcome.CRASH, "hangs": outcome.HANG, "queue": ""})
"""The outcome that AFL++ claims for the inputs in each of its folders."""


class Inputs(ProgramSource):
    """The inputs of the campaign in `folder` that have not been judged, crashes first."""

    def __init__(self, config: Config, seed: int, folder: Path) -> None:
        super().__init__(config, seed)
        self._folder = folder / AFL
        self._sources = SourceMutator(luau=config.version)
        self._done: set[str] = set()
        self._waiting: list[tuple[str, Path]] = []
        self._unreadable: list[str] = []
        self._read = 0

    def next(self) -> Made | None:
        """Return the program of the next input; None if no input is waiting."""
        self._read_judged()
        self._waiting = self._waiting or [*self._unjudged()]
        while self._waiting:
            name, path = self._waiting.pop()
            if name in self._done:
                continue
            self._done.add(name)
            try:
                source = path.read_bytes()
                index = self._sources.tree_of(source)
            except FileNotFoundError:  # AFL++ removes inputs that it has trimmed
                continue
            kind = _CLAIMS[path.parent.name]
            if index is None:
                self._unreadable += [name] if kind else []
                continue
            claim = None
            if kind:
                text = f"AFL++ saved it among its {path.parent.name}: {path.name}"
                claim = Verdict(Signature(kind), text)
            origin = {"engine": "afl", "input": name}
            tree, style = _styled(name, source, index.tree)
            made = Made(tree, origin, style, claim=claim)
            return made if claim or self.admits(encoding.encode(made.tree)) else self.stripped(made)
        return None

    def put_back(self, made: Made) -> None:
        """Take back a program that was not judged; another worker may judge it first."""
        name = made.origin["input"]
        self._done.discard(name)
        self._waiting.append((name, self._folder / "out" / name))

    def unreadable(self) -> list[str]:
        """Return the names of crashes and hangs since the last call that are not Luau."""
        names, self._unreadable = self._unreadable, []
        return names

    def _read_judged(self) -> None:
        """Read the names of inputs that any worker has judged since the last call."""
        with contextlib.suppress(FileNotFoundError), (self._folder / JUDGED).open("rb") as file:
            file.seek(self._read)
            lines = file.read().rpartition(b"\n")[0]
            self._read += len(lines) + bool(lines)
            self._done.update(lines.decode("utf-8", "backslashreplace").split("\n"))

    def _unjudged(self) -> Iterator[tuple[str, Path]]:
        """Yield the inputs that have not been judged, crashes last: the caller takes the last."""
        for kind in ("queue", "hangs", "crashes"):
            for path in sorted((self._folder / "out").glob(f"*/{kind}/id:*"), reverse=True):
                name = str(path.relative_to(self._folder / "out"))
                if name not in self._done and ",sync:" not in name:
                    yield name, path


def _styled(name: str, source: bytes, tree: ModuleSet) -> tuple[ModuleSet, int | None]:
    """Return the tree, and the style in an input's name if the source is the tree in that style.

    Calls without parentheses may come from the style instead of the tree.
    """
    found = re.search(r"@([0-9]{1,9})", name)
    if found is not None:
        style = int(found[1])
        for each in (tree, _in_parentheses(tree)):
            if encode(render(each.program, style=style)) == source:
                return each, style
    return tree, None


def _in_parentheses(tree: ModuleSet) -> ModuleSet:
    """Return a copy in which all calls have parentheses."""
    copied = copy(tree)
    for node, _ in walk(copied):
        if isinstance(node, ExprCall):
            node.parenless = None
    return copied
