"""Finds: bugs that a campaign found, each in its folder `finds/NAME/`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from scriptschema import files
from scriptschema.files import FileError
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign.writing import Spelling, written
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.luau.sources import encode
from scriptschema.messages import ModuleSet
from scriptschema.versions import TODAY

FOLDER: Final = "finds"
SUSPECTS: Final = "suspects"
"""The folder of suspects: programs that may show a known or a new bug, stored like finds."""

FILE: Final = "find.json"
PROGRAM: Final = "program"
REDUCED: Final = "reduced"
REQUESTS: Final = "requests.jsonl"


@attrs.define
class Shown:
    """A program that shows a bug: its size, its runs, and how it is written."""

    nodes: int
    runs: list[Run]
    style: Spelling = None

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON data."""
        runs = [run.as_json() for run in self.runs]
        return {"nodes": self.nodes, "runs": runs, "style": self.style}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Shown:
        """Invert `as_json`. Raises KeyError or TypeError for other data."""
        runs = [Run.from_json(run) for run in value["runs"]]
        return cls(value["nodes"], runs, value.get("style"))


@attrs.define
class Find:
    """The content of `find.json`.

    `is_smallest` says that the reduction was completed; otherwise a later run continues it. `count`
    is the number of programs that showed the bug; `first_seen` and `last_seen` are times (ISO 8601,
    UTC); `seconds` is how long the campaign had run when it was found. `origin` describes how the
    program was made: the worker's seed, the number of the program, and the operator and corpus file
    of a mutant. `command` reproduces the find on the targets of `config`, the campaign's
    configuration. `versions` are those of this package, Python and the targets. `bisection` is the
    result of a bisection, if there was one.
    """

    name: str
    verdict: Verdict
    program: Shown
    reduced: Shown | None = None
    count: int = 1
    first_seen: str = ""
    last_seen: str = ""
    seconds: float = 0.0
    origin: dict[str, Any] = attrs.field(factory=dict)
    command: str = ""
    versions: dict[str, str] = attrs.field(factory=dict)
    reduction_tests: int = 0
    is_smallest: bool = False
    bisection: str = ""
    config: dict[str, Any] = attrs.field(factory=dict)

    @property
    def signature(self) -> Signature:
        """The signature of the bug."""
        return self.verdict.signature

    @property
    def smallest(self) -> Shown:
        """The reduced program, or the original one if there is none."""
        return self.reduced or self.program

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON data."""
        value = attrs.asdict(self, recurse=False)
        value["verdict"] = self.verdict.as_json()
        value["program"] = self.program.as_json()
        value["reduced"] = self.reduced.as_json() if self.reduced else None
        return value

    @classmethod
    def from_json(cls, value: Any) -> Find:
        """Invert `as_json`. Raises ValueError for other data."""
        try:
            found = dict(value)
            found["verdict"] = Verdict.from_json(found["verdict"])
            found["program"] = Shown.from_json(found["program"])
            found["reduced"] = Shown.from_json(found["reduced"]) if found["reduced"] else None
            return cls(**found)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it describes no find: {error}") from None


def load(folder: Path) -> Find:
    """Read the find in `folder`. Raises FileError."""
    path = folder / FILE
    try:
        return Find.from_json(json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise FileError(f"{folder} is not a find: there is no {FILE} in it") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: {files.reason_of(error)}") from None


def load_all(campaign: Path, among: str = FOLDER) -> Iterator[tuple[Path, Find]]:
    """Yield all finds of a campaign with their folders, the oldest first. Raises FileError."""
    folder = campaign / among
    found = []
    if folder.is_dir():
        for path in folder.iterdir():
            if path.is_dir() and not path.name.startswith("."):
                found.append((path, load(path)))
    yield from sorted(found, key=lambda each: (each[1].seconds, each[1].name))


def tree_of(folder: Path, stem: str = PROGRAM) -> ModuleSet:
    """Return the tree of the original program, or of the `REDUCED` one. Raises FileError."""
    return files.read(ModuleSet, folder / f"{stem}.pb", luau=TODAY)


def source_of(folder: Path, stem: str = PROGRAM) -> str:
    """Return the source of the original program, or of the `REDUCED` one. Raises FileError."""
    path = folder / f"{stem}.luau"
    try:
        return path.read_bytes().decode("utf-8", "backslashreplace")
    except OSError as error:
        raise FileError(f"{path}: {files.reason_of(error)}") from None


def requests_of(folder: Path) -> tuple[str, ...]:
    """Return the last requests to the process that broke, if stored. Raises FileError."""
    path = folder / REQUESTS
    try:
        return tuple(path.read_text("utf-8").splitlines())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: {files.reason_of(error)}") from None


def save(folder: Path, find: Find) -> None:
    """Rewrite `find.json` in the find's existing folder. Raises FileError."""
    data = json.dumps(find.as_json(), indent=2) + "\n"
    files.write(folder / FILE, data.encode())


def add(
    campaign: Path,
    find: Find,
    tree: ModuleSet,
    reduced: ModuleSet | None = None,
    *,
    requests: Sequence[str] = (),
    among: str = FOLDER,
) -> Path:
    """Create the find's folder atomically; return its path. Raises FileError."""
    target = campaign / among / find.name
    hidden = target.with_name(f".{find.name}.{os.getpid()}")
    try:
        files.make_folder(hidden, below=campaign)
        _write_program(hidden, PROGRAM, tree, find.program.style)
        if reduced is not None:
            _write_program(hidden, REDUCED, reduced, find.smallest.style)
        if requests:
            files.write(hidden / REQUESTS, "".join(f"{line}\n" for line in requests).encode())
        save(hidden, find)
        hidden.rename(target)
    except (OSError, FileError) as error:
        with contextlib.suppress(OSError):
            shutil.rmtree(hidden)
        raise FileError(f"{target}: {files.reason_of(error)}") from None
    return target


def add_reduced(folder: Path, find: Find, reduced: ModuleSet) -> None:
    """Store the reduced program beside the original, then rewrite `find.json`."""
    _write_program(folder, REDUCED, reduced, find.smallest.style)
    save(folder, find)


def remove(folder: Path | None) -> None:
    """Remove a find's folder, if there is one. Raises FileError."""
    if folder is None:
        return
    hidden = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        folder.rename(hidden)  # makes the removal atomic
        shutil.rmtree(hidden)
    except OSError as error:
        raise FileError(f"{folder}: {files.reason_of(error)}") from None


def _program_files(stem: str, tree: ModuleSet, style: Spelling) -> dict[str, bytes]:
    sources = written(tree, style)
    found = {f"{stem}.pb": encoding.encode(tree), f"{stem}.luau": encode(sources.program)}
    if sources.module is not None:
        found["module0.luau"] = encode(sources.module)
    return found


def _write_program(folder: Path, stem: str, tree: ModuleSet, style: Spelling) -> None:
    for name, data in _program_files(stem, tree, style).items():
        files.write(folder / name, data)
