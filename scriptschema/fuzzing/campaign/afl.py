"""AFL++ as the engine of a campaign.

    with AflEngine(campaign, instances=4) as engine:
        Session(campaign, workers=engine).run()

The campaign's first target must be a command built with AFL++'s compiler. AFL++'s instances run it
with the mutator of `fuzzing.afl`, starting from the corpus and from generated programs. A worker
judges the inputs that AFL++ keeps in `FOLDER/afl/out/NAME/` (queue, crashes, hangs) on all targets
and with all oracles. Instances that end are restarted, and resume when the campaign resumes.

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
from scriptschema.choices import RandomChoices
from scriptschema.codec.copying import copy
from scriptschema.files import ReportedError
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.afl import STYLE
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import AFL, CORPUS, JUDGED, Campaign
from scriptschema.fuzzing.campaign.programs import MadeProgram, ProgramSource
from scriptschema.fuzzing.campaign.workers import Worker, Workers
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.restriction import Restriction
from scriptschema.fuzzing.source_mutation import VERSION, WITHOUT, SourceMutator, new_program
from scriptschema.fuzzing.targets import leftovers, outcome
from scriptschema.fuzzing.targets.processes import kill_group, split
from scriptschema.generation.bulk import interrupts_later
from scriptschema.luau import sources
from scriptschema.luau.render import render
from scriptschema.luau.sources import encode
from scriptschema.messages import ExprCall, ModuleSet

SEEDS: Final = 200
"""The number of generated programs that the instances start from, in addition to the corpus."""
_SEED_SIZE: Final = 60

_MEASURED: Final = 10
"""Seconds that an instance must run before its rate is meaningful."""

_SOON: Final = 10.0
_TRIES: Final = 3
"""If an instance exits this many times in succession, each time within `_SOON` seconds of its
start, it counts as not working."""

_ENDING: Final = 10.0
"""The time in seconds that instances have to write their statistics before they are killed."""

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


class EngineError(ReportedError):
    """AFL++ cannot be used. The message says why, or what to do."""


class AflEngine(Workers):
    """Runs AFL++ instances for a campaign, and creates the workers of its session.

    It is a context manager. `instances` is the number of afl-fuzz processes. The first is AFL++'s
    main instance. They start with the first worker: then the targets' version is known, and the
    corpus contains the user's seeds. Raises EngineError, FileError and TargetError.
    """

    def __init__(self, campaign: Campaign, instances: int = 1) -> None:
        super().__init__(slice_seconds=2.0)
        self.folder = campaign.path / AFL
        self.command = _command_of(campaign.config)
        self.problem = ""
        """The reason why an instance does not work, or an empty string while all instances work."""
        self._campaign = campaign
        self._count = instances
        self._instances: list[_Instance] = []
        self._stopping = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if shutil.which("afl-fuzz") is None:
            raise EngineError("--engine afl requires AFL++ with Python support: apt install afl++")
        return self

    def __exit__(self, *_: object) -> None:
        with interrupts_later():  # a second Ctrl-C must not leave an instance running
            self._end()

    def _start(self) -> None:
        config = self._campaign.config
        options = {
            STYLE: "random" if config.styles else "plain",
            VERSION: str(config.version or ""),
            WITHOUT: ",".join(sorted(config.missing())),
        }
        with files.errors_of(self.folder):
            files.make_folder(self.folder / "seeds", below=self._campaign.path)
        for name, source in _seeds(self._campaign):
            if not (self.folder / "seeds" / name).exists():
                files.write(self.folder / "seeds" / name, source)
        for number in range(self._count):
            self._instances.append(_Instance(self.folder, number, self.command, options))
            self._instances[-1].start()
        self._watcher.start()

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
        if not self._instances:
            self._start()
        return AflWorker(self, campaign, seed)

    def progress(self) -> dict[str, Any]:
        """Return a summary of the instances' statistics: the result of `counts`."""
        return counts([instance.statistics() for instance in self._instances])

    def _watch(self) -> None:
        while not self._stopping.wait(0.5) and not self.problem:
            for instance in self._instances:
                try:
                    self.problem = self.problem or instance.check()
                except EngineError as error:
                    self.problem = str(error)


def counts(statistics: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return the executions, executions per second and covered edges of all instances together.

    `statistics` contains each instance's `fuzzer_stats`. The rate is None until an instance has run
    for ten seconds, because AFL++ first calibrates its seeds.
    """
    measured = [fields for fields in statistics if int(fields.get("run_time", 0)) >= _MEASURED]
    rates = [int(fields["execs_done"]) / int(fields["run_time"]) for fields in measured]
    return {
        "executions": sum(int(fields.get("execs_done", 0)) for fields in statistics),
        "executions_per_second": sum(rates) if rates else None,
        "covered": max((int(fields.get("edges_found", 0)) for fields in statistics), default=0),
    }


class _Instance:
    """An afl-fuzz process and its log."""

    def __init__(
        self, folder: Path, number: int, command: list[str], options: dict[str, str]
    ) -> None:
        self._options = options
        self.name = "main" if number == 0 else f"secondary{number}"
        self._folder = folder
        self._words = ["afl-fuzz", "-i", str(folder / "seeds"), "-o", str(folder / "out")]
        self._words += ["-S" if number else "-M", self.name, *command]
        self._log = folder / f"{self.name}.log"
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0
        self._failures = 0

    def start(self) -> None:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        # AFL++ embeds its own Python, which finds modules only through this variable.
        modules = map(importlib.import_module, ("scriptschema", "attr"))
        paths = {str(Path(module.__file__ or "").parents[1]) for module in modules}
        environment |= {**_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(sorted(paths))}
        environment |= {"PYTHONDONTWRITEBYTECODE": "1", **self._options}
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

    def check(self) -> str:
        """Restart the process if it has ended. Return an error if it keeps ending, or ""."""
        if self._process is None or self._process.poll() is None:
            return ""
        kill_group(self._process)
        soon = time.monotonic() - self._began < _SOON
        self._failures = self._failures + 1 if soon else 0
        if self._failures == _TRIES:
            return f"{' '.join(self._words)} does not work:\n{self._last_errors()}"
        self.start()
        return ""

    def interrupt(self) -> None:
        """Ask the process to end."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)

    def end(self, seconds: float) -> None:
        """Wait for the process to end. Kill it and its target after `seconds`."""
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0, seconds))
        kill_group(self._process)
        self._process.wait()

    def statistics(self) -> dict[str, str]:
        fields = {}
        with contextlib.suppress(OSError):
            for line in (self._folder / "out" / self.name / "fuzzer_stats").read_text().split("\n"):
                name, _, value = line.partition(":")
                fields[name.strip()] = value.strip()
        return fields

    def _last_errors(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        errors = [line for line in lines if "[-]" in line or "ABORT" in line or "Location" in line]
        return "\n".join((errors or lines)[-15:])


class AflWorker(Worker):
    """A worker process that judges the inputs of AFL++'s instances, or reduces suspects."""

    def __init__(self, engine: AflEngine, campaign: Campaign, seed: int) -> None:
        super().__init__(campaign.config, campaign.path, seed, programs=Inputs)
        self._engine = engine

    def answer(self) -> Any:
        """Return the next answer.

        Raises EOFError or OSError if the worker has died, and EngineError if an instance of AFL++
        does not work.
        """
        if self._engine.problem:
            raise EngineError(self._engine.problem)
        return super().answer()


def _command_of(config: Config) -> list[str]:
    """Return afl-fuzz's options and the first target's command. Raises EngineError."""
    target = config.targets[0]
    if target.kind != "command" or any(target.variants) or "{variant}" in target.command:
        raise EngineError(
            "--engine afl requires a command without variants, built with AFL++'s compiler, "
            "as the first target, for example --target 'command:./harness {file}'"
        )
    words = [word.replace("{file}", "@@") for word in split(target.command)]
    return ["-t", f"{round(target.seconds * 1000)}", "-m", "none", "--", *words]


def _seeds(campaign: Campaign) -> Iterator[tuple[str, bytes]]:
    config = campaign.config
    restriction = Restriction(config.missing())
    for path in (campaign.path / CORPUS).glob("*.pb"):
        tree = encoding.decode(ModuleSet, path.read_bytes())
        if not restriction.admits(tree):
            tree = restriction.strip(tree)
        yield f"{path.stem}.luau", sources.encode(render(tree.program))
    for number in range(SEEDS):
        choices = RandomChoices(config.seed + number)
        tree = new_program(choices, _SEED_SIZE, config.types, config.version, restriction)
        yield f"generated{number}.luau", sources.encode(render(tree.program))


_CLAIMS: Final = MappingProxyType({"crashes": outcome.CRASH, "hangs": outcome.HANG, "queue": ""})
"""The outcome that AFL++ reports for the inputs in each of its folders (empty for `queue`)."""


class Inputs(ProgramSource):
    """Supplies the inputs that AFL++ has found and no worker has judged yet, crashes first.

    `folder` is the campaign's folder.
    """

    def __init__(self, config: Config, seed: int, folder: Path) -> None:
        super().__init__(config, seed)
        self._folder = folder / AFL
        self._sources = SourceMutator(luau=config.version)
        self._done: set[str] = set()
        self._waiting: list[tuple[str, Path]] = []
        self._unreadable: list[str] = []
        self._read = 0

    def next(self) -> MadeProgram | None:
        """Return the next input as a program, or None if no input is waiting."""
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
                text = f"saved by AFL++ in its folder {path.parent.name}: {path.name}"
                claim = Verdict(Signature(kind), text)
            origin = {"engine": "afl", "input": name}
            tree, style = _styled(name, source, index.tree)
            program = MadeProgram(tree, origin, style, claim=claim)
            admitted = claim or self.restriction.admits(program.tree)
            return program if admitted else self.stripped(program)
        return None

    def put_back(self, program: MadeProgram) -> None:
        """Put back a program that was not judged.

        `next` will return it again, unless another worker has judged it by then.
        """
        name = program.origin["input"]
        self._done.discard(name)
        self._waiting.append((name, self._folder / "out" / name))

    def unreadable(self) -> list[str]:
        """Return the names of crash and hang inputs that are not Luau.

        Only inputs that were read since the last call are included.
        """
        names, self._unreadable = self._unreadable, []
        return names

    def _read_judged(self) -> None:
        with contextlib.suppress(FileNotFoundError), (self._folder / JUDGED).open("rb") as file:
            file.seek(self._read)
            lines = file.read().rpartition(b"\n")[0]
            self._read += len(lines) + bool(lines)
            self._done.update(lines.decode("utf-8", "backslashreplace").split("\n"))

    def _unjudged(self) -> Iterator[tuple[str, Path]]:
        for kind in ("queue", "hangs", "crashes"):  # `next` takes inputs from the end
            for path in sorted((self._folder / "out").glob(f"*/{kind}/id:*"), reverse=True):
                name = str(path.relative_to(self._folder / "out"))
                if name not in self._done and ",sync:" not in name:
                    yield name, path


def _styled(name: str, source: bytes, tree: ModuleSet) -> tuple[ModuleSet, int | None]:
    """Return an input's tree and its style, the number after `@` in its name.

    The style is None if the tree, written in that style, differs from `source`. If a style omits a
    call's parentheses, `tree` may lack them. The returned tree then has them.
    """
    match = re.search(r"@([0-9]{1,9})", name)
    if match is not None:
        style = int(match[1])
        for each in (tree, _with_parentheses(tree)):
            if encode(render(each.program, style=style)) == source:
                return each, style
    return tree, None


def _with_parentheses(tree: ModuleSet) -> ModuleSet:
    copied = copy(tree)
    for node, _ in walk(copied):
        if isinstance(node, ExprCall):
            node.parenless = None
    return copied
