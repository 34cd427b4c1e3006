"""Finds: a bug each, in a folder of its own, `finds/NAME/`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from scriptschema import files, wire
from scriptschema.files import FileError
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.luau.render import render_module_set
from scriptschema.luau.sources import encode
from scriptschema.messages import ModuleSet

FOLDER: Final = "finds"
SUSPECTS: Final = "suspects"
"""The folder of programs that may show the bug of a find, or another; in the form of finds."""

FILE: Final = "find.json"
PROGRAM: Final = "program"
REDUCED: Final = "reduced"
REQUESTS: Final = "requests.jsonl"


@attrs.define
class Shown:
    """A program that shows a bug: how large it is, and the runs that show it."""

    nodes: int
    runs: list[Run]

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        return {"nodes": self.nodes, "runs": [run.as_json() for run in self.runs]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Shown:
        """The inverse of `as_json`. Raises KeyError and TypeError for anything else."""
        return cls(value["nodes"], [Run.from_json(run) for run in value["runs"]])


@attrs.define
class Find:
    """What `find.json` holds of a bug.

    `is_smallest` says that the reduction came to its end; else a later run goes on with it.
    `count` is how many programs showed it, `first_seen` and `last_seen` are times (ISO 8601, UTC),
    `seconds` how long the campaign had run by then. `origin` says how the program came about: the
    worker's seed, the number of the program, the operator and the corpus file it was mutated by and
    from. `command` runs it again, on what `config`, the campaign's, describes; `versions` are those
    of this package, of Python and the targets; `bisection` says which build is the first that shows
    it, where somebody has looked.
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
        """What the bug is known by."""
        return self.verdict.signature

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        value = attrs.asdict(self, recurse=False)
        value["verdict"] = self.verdict.as_json()
        value["program"] = self.program.as_json()
        value["reduced"] = self.reduced.as_json() if self.reduced else None
        return value

    @classmethod
    def from_json(cls, value: Any) -> Find:
        """The inverse of `as_json`. Raises ValueError for anything else."""
        try:
            found = dict(value)
            found["verdict"] = Verdict.from_json(found["verdict"])
            found["program"] = Shown.from_json(found["program"])
            found["reduced"] = Shown.from_json(found["reduced"]) if found["reduced"] else None
            return cls(**found)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"it describes no find: {error}") from None


def load(folder: Path) -> Find:
    """The find in its folder. Raises FileError."""
    path = folder / FILE
    try:
        return Find.from_json(json.loads(path.read_bytes()))
    except FileNotFoundError:
        raise FileError(f"{folder} is not a find: there is no {FILE} in it") from None
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: {files.reason_of(error)}") from None


def load_all(campaign: Path, among: str = FOLDER) -> Iterator[tuple[Path, Find]]:
    """All finds of a campaign with their folders, the first found first. Raises FileError."""
    folder = campaign / among
    found = []
    if folder.is_dir():
        for path in folder.iterdir():
            if path.is_dir() and not path.name.startswith("."):
                found.append((path, load(path)))
    yield from sorted(found, key=lambda each: (each[1].seconds, each[1].name))


def tree_of(folder: Path, stem: str = PROGRAM) -> ModuleSet:
    """The tree of the program as it was found, or of the `REDUCED`. Raises FileError."""
    return files.read(ModuleSet, folder / f"{stem}.pb")


def source_of(folder: Path, stem: str = PROGRAM) -> str:
    """The source of the program as it was found, or of the `REDUCED`. Raises FileError."""
    path = folder / f"{stem}.luau"
    try:
        return path.read_bytes().decode("utf-8", "backslashreplace")
    except OSError as error:
        raise FileError(f"{path}: {files.reason_of(error)}") from None


def requests_of(folder: Path) -> tuple[str, ...]:
    """The last requests of the process that broke, where there are any. Raises FileError."""
    path = folder / REQUESTS
    try:
        return tuple(path.read_text("utf-8").splitlines())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: {files.reason_of(error)}") from None


def save(folder: Path, find: Find) -> None:
    """Write `find.json` anew; the find's folder must be there. Raises FileError."""
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
    """Make the find's folder, whole or not at all; return it. Raises FileError."""
    target = campaign / among / find.name
    hidden = target.with_name(f".{find.name}.{os.getpid()}")
    try:
        hidden.mkdir(parents=True)
        _write_program(hidden, PROGRAM, tree)
        if reduced is not None:
            _write_program(hidden, REDUCED, reduced)
        if requests:
            (hidden / REQUESTS).write_text("".join(f"{line}\n" for line in requests), "utf-8")
        data = json.dumps(find.as_json(), indent=2) + "\n"
        (hidden / FILE).write_bytes(data.encode())
        hidden.rename(target)
    except OSError as error:
        with contextlib.suppress(OSError):
            shutil.rmtree(hidden)
        raise FileError(f"{target}: {files.reason_of(error)}") from None
    return target


def add_reduced(folder: Path, find: Find, reduced: ModuleSet) -> None:
    """Put the reduced program beside the one that was found, then write `find.json` anew."""
    for name, data in _program_files(REDUCED, reduced).items():
        files.write(folder / name, data)
    save(folder, find)


def remove(folder: Path | None) -> None:
    """Remove a find's folder, if there is one. Raises FileError."""
    if folder is None:
        return
    hidden = folder.with_name(f".{folder.name}.{os.getpid()}")
    try:
        folder.rename(hidden)  # gone at once, or not at all
        shutil.rmtree(hidden)
    except OSError as error:
        raise FileError(f"{folder}: {files.reason_of(error)}") from None


def _program_files(stem: str, tree: ModuleSet) -> dict[str, bytes]:
    sources = render_module_set(tree)
    written = {f"{stem}.pb": wire.encode(tree), f"{stem}.luau": encode(sources.program)}
    if sources.module is not None:
        written["module0.luau"] = encode(sources.module)
    return written


def _write_program(folder: Path, stem: str, tree: ModuleSet) -> None:
    for name, data in _program_files(stem, tree).items():
        (folder / name).write_bytes(data)
