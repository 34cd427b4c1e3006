"""Finds: bugs that a campaign found, each stored immediately in its folder `finds/NAME/`.

    store = FindStore(folder, config, versions, seconds, on_find)
    find = store.add(suspect, verdict)       adds a new find
    store.put_reduced(find, reduced)         stores a smaller program for the find
    store.count(find)                        counts another program that shows the bug
    store.drop(find)                         removes a duplicate, a known bug, or a non-bug

`triage` decides which suspects become finds.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from scriptschema import files
from scriptschema.files import FileError
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.statistics import now
from scriptschema.fuzzing.corpora.folder import name_of
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.oracles import differential, round_trip
from scriptschema.fuzzing.oracles.construct import SPELLING, construct_of, text_of
from scriptschema.fuzzing.oracles.judging import broken, is_clear
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import outcome
from scriptschema.fuzzing.targets.base import Spelling, written
from scriptschema.fuzzing.targets.description import TargetError, from_table
from scriptschema.fuzzing.targets.outcome import Run
from scriptschema.fuzzing.targets.reports import outcome_of, texts_of
from scriptschema.fuzzing.uncalled import body_of, runs_nothing
from scriptschema.luau.sources import encode
from scriptschema.messages import ModuleSet
from scriptschema.versions import TODAY

FOLDER: Final = "finds"
SUSPECTS: Final = "suspects"
MEMBERS: Final = "members"
"""The folder of a find's members. They are stored like finds, and so are those in `SUSPECTS`."""

FILE: Final = "find.json"
PROGRAM: Final = "program"
REDUCED: Final = "reduced"
REQUESTS: Final = "requests.jsonl"


@attrs.define
class ShownProgram:
    """A program that shows a bug, with its runs and its style.

    `nodes` is its number of nodes, or of words if its source is not valid Luau.
    """

    nodes: int
    runs: list[Run]
    style: Spelling = None

    @property
    def is_luau(self) -> bool:
        """Whether the source is valid Luau, so that the program has a tree."""
        return not isinstance(self.style, str)

    @property
    def size(self) -> str:
        """The size as text, such as `9 nodes`."""
        unit = "node" if self.is_luau else "word"
        return f"{self.nodes:,} {unit}{'' if self.nodes == 1 else 's'}"

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ShownProgram:
        """Return the program that JSON data describes.

        Raises KeyError or TypeError for invalid data.
        """
        runs = [Run.from_json(run) for run in value["runs"]]
        return cls(value["nodes"], runs, value.get("style"))


@attrs.define
class Find:
    """The content of `find.json`.

    `count` is the number of programs that showed the bug. `first_seen` and `last_seen` are times
    (ISO 8601, UTC). `seconds` is how long the campaign had run when the bug was found.
    `is_smallest` is false if a later run will continue the reduction. `bisection` is the result of
    the last bisection, or empty. `operations` are those that the reduced program's bug needs, or
    None if not known.

    `origin` describes how the program was generated, for example by the worker's seed, and a
    mutant's operators and parent. `only_compiled` is true if the program executes no code. `config`
    is the campaign's configuration. `versions` maps this package, Python and the targets to their
    versions.
    """

    name: str
    verdict: Verdict
    program: ShownProgram
    reduced: ShownProgram | None = None
    count: int = 1
    first_seen: str = ""
    last_seen: str = ""
    seconds: float = 0.0
    origin: dict[str, Any] = attrs.field(factory=dict)
    versions: dict[str, str] = attrs.field(factory=dict)
    reduction_tests: int = 0
    is_smallest: bool = False
    only_compiled: bool = False
    bisection: str = ""
    operations: list[str] | None = None
    config: dict[str, Any] = attrs.field(factory=dict)

    @property
    def signature(self) -> Signature:
        """The signature of the bug."""
        return self.verdict.signature

    @property
    def smallest(self) -> ShownProgram:
        """The reduced program, or the original program if it has not been reduced yet."""
        return self.reduced or self.program

    @property
    def is_unreduced(self) -> bool:
        """Whether the next run of the campaign reduces the program further."""
        return not (self.reduced and self.is_smallest) and self.signature.kind != outcome.ONCE

    @property
    def stem(self) -> str:
        """The name of the files of `smallest`, without the suffix."""
        return REDUCED if self.reduced else PROGRAM

    def as_json(self) -> dict[str, Any]:
        """Return all fields as JSON data, except those of outcomes in `_NOT_STORED`."""
        return attrs.asdict(self, filter=attrs.filters.exclude(*_NOT_STORED))

    @classmethod
    def from_json(cls, value: Any, folder: Path | None = None) -> Find:
        """Return the find that JSON data describes. `folder` contains the programs, if given.

        Raises ValueError for invalid data. Raises FileError if the programs cannot be read.
        """
        try:
            fields = dict(value)
            fields.pop("command", None)  # written by earlier versions (see `command_of`)
            fields["verdict"] = Verdict.from_json(fields["verdict"])
            fields["program"] = ShownProgram.from_json(fields["program"])
            fields["reduced"] = (
                ShownProgram.from_json(fields["reduced"]) if fields["reduced"] else None
            )
            find = cls(**fields)
            find._require_types()
            find._update_signature(folder)
        except (KeyError, TypeError, AttributeError, TargetError) as error:
            raise ValueError(f"invalid description of a find: {error}") from None
        return find

    def _require_types(self) -> None:
        """Raise TypeError for a number, text or truth value that is something else."""
        owners: tuple[Any, ...] = (self, self.program, self.reduced or self.program)
        for owner in owners:
            for field in attrs.fields(owner.__class__):
                wanted, value = _WANTED.get(str(field.type)), getattr(owner, field.name)
                if wanted is not None and not isinstance(value, wanted[0]):
                    raise TypeError(f"{field.name} must be {wanted[1]}, found {value!r}")

    def _update_signature(self, folder: Path | None) -> None:
        """Give the signature the form that a new find's has.

        Earlier versions left something out, such as the exception's class, or put in what the
        parser said about the output of a printer, or folders of targets.
        """
        targets = [run.target for run in self.smallest.runs]
        signature = differential.updated(round_trip.updated(self.verdict), targets)
        self.verdict = attrs.evolve(self.verdict, signature=signature)
        verdict = broken([self._reread(run, folder) for run in self.smallest.runs])
        if verdict is None or not self.smallest.is_luau:
            return
        if self.signature.seen.kind == verdict.signature.kind:
            is_once = self.signature.kind == outcome.ONCE
            detail = str(verdict.signature) if is_once else verdict.signature.detail
            signature = attrs.evolve(self.signature, detail=detail)
            self.verdict = attrs.evolve(self.verdict, signature=signature)

    def _reread(self, run: Run, folder: Path | None) -> Run:
        """Return a run with the error, the frames and the exception that its report shows today."""
        ended = run.outcome
        # The answers of services, which contain the frames, have no status.
        if ended.status is None or not ended.report or ended.kind not in _REREAD:
            return run

        def texts() -> str:
            shown = self.smallest
            return texts_of(written(tree_of(folder, self.stem), shown.style)) if folder else ""

        targets = [
            target
            for target in map(from_table, self.config.get("targets", ()))
            if run.target in map(target.run_name, target.variants)
        ]
        if any(target.crash for target in targets):  # the error may be a match of this pattern
            return run
        is_shared = any(target.kind != "command" for target in targets)
        read = outcome_of(ended.status, "", ended.report, 0, texts=texts, is_shared=is_shared)
        if ended.kind != read.kind:
            return run
        read = attrs.evolve(ended, error=read.error, frames=read.frames, exception=read.exception)
        return attrs.evolve(run, outcome=read)


_REREAD: Final = frozenset([outcome.CRASH, outcome.INTERNAL, outcome.SANITIZER])
"""The kinds of outcomes in which earlier versions may have read something else."""

_NOT_STORED: Final = ("requests", "coverage", "starting")
"""The fields of an outcome that a find does not contain."""

_WANTED: Final[dict[str, tuple[type | tuple[type, ...], str]]] = {
    "bool": (bool, "true or false"),
    "int": (int, "a whole number"),
    "float": ((int, float), "a number"),
    "str": (str, "a string"),
}
"""The types of fields, with what the JSON data of such a field must be."""


@attrs.frozen
class _Program:
    """A program, as the bytes of its tree."""

    data: bytes

    @property
    def tree(self) -> ModuleSet:
        """A new copy of the program's tree."""
        return encoding.decode(ModuleSet, self.data)


@attrs.frozen
class Suspect(_Program):
    """A program with a verdict.

    `requests` are the latest requests to the service that crashed or failed, or empty. `exception`
    is the exception message that a reduction must keep (see `exception_of`), or empty.
    """

    verdict: Verdict
    runs: list[Run]
    origin: dict[str, Any]
    requests: tuple[str, ...] = ()
    style: Spelling = None
    exception: str = ""

    def seen_once(self) -> Suspect:
        """Return a copy of the suspect with a signature that marks the bug as not reproduced."""
        signature = Signature(outcome.ONCE, str(self.verdict.signature))
        return attrs.evolve(self, verdict=attrs.evolve(self.verdict, signature=signature))


@attrs.frozen
class Reduced(_Program):
    """The smallest program found by a reduction.

    `nodes` is its number of nodes, or its number of `words` if its source is not valid Luau.
    `tests` is the number of programs that the reduction tried. `is_smallest` is false if the
    reduction ended early or is not reliable.
    """

    nodes: int
    verdict: Verdict
    runs: list[Run]
    construct: frozenset[str]
    operations: frozenset[str]
    tests: int
    is_smallest: bool = True
    style: Spelling = None

    def put_into(self, find: Find) -> None:
        """Store the result of the reduction in a find."""
        find.reduced = ShownProgram(self.nodes, self.runs, self.style)
        find.reduction_tests += self.tests
        find.is_smallest = self.is_smallest
        find.operations = sorted(self.operations)


def words(text: str) -> list[str]:
    """Split `text` into words, runs of whitespace, and other single characters."""
    return re.findall(r"\s+|\w+|[^\w\s]", text)


def size_of(tree: ModuleSet, spelling: Spelling) -> int:
    """Return the number of nodes of a program, or its number of words if it has no tree."""
    return len(words(spelling)) if isinstance(spelling, str) else len(Index(tree))


def load(folder: Path) -> Find:
    """Return the find in `folder`. Raises FileError."""
    path = folder / FILE
    data = files.content_of(path)
    if data is None:
        raise FileError(f"{folder} is not a find: it contains no {FILE}")
    try:
        find = Find.from_json(json.loads(data), folder)
    except ValueError as error:
        raise FileError(
            f"{path} cannot be read ({error}): restore the file, or remove the folder {folder}"
        ) from None
    _add_construct(find, folder)
    return find


def _add_construct(find: Find, folder: Path) -> None:
    """Give a reduced find of an earlier version the construct that its signature may lack."""
    if find.reduced is None or find.signature.construct or is_clear(find.signature):
        return
    construct = construct_of_reduced(tree_of(folder, REDUCED), find.reduced.style)
    signature = attrs.evolve(find.signature, construct=text_of(construct))
    find.verdict = attrs.evolve(find.verdict, signature=signature)
    if not find.reduced.is_luau:
        find.is_smallest = False  # the next run finds out which of the words the bug needs


def construct_of_reduced(tree: ModuleSet, spelling: Spelling = None) -> frozenset[str]:
    """Return the construct of a program, without a function that only keeps it from being run.

    If the bug needs a style, this is the construct.
    """
    if isinstance(spelling, int):
        return frozenset([SPELLING])
    code = body_of(tree) if runs_nothing(tree) else tree
    return construct_of(code if code.program.body else tree, spelling)


def load_all(campaign: Path, among: str = FOLDER) -> Iterator[tuple[Path, Find]]:
    """Yield (folder, find) for each find of a campaign, the oldest first.

    `among` is the name of the folder that contains the finds. Raises FileError.
    """
    loaded = [(path, load(path)) for path in folders_in(campaign, among)]
    yield from sorted(loaded, key=lambda each: (each[1].seconds, each[1].name))


def folders_in(campaign: Path, among: str = FOLDER) -> Iterator[Path]:
    """Yield the folders of a campaign's finds. `among` is as in `load_all`."""
    folder = campaign / among
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.name.startswith("."):
            yield path


def command_of(folder: Path, find: Find) -> str:
    """Return the command that reproduces the find in `folder` on its campaign's targets."""
    # A find does not store this command, because its campaign can be moved or copied.
    replay = ["--replay"] if find.signature.kind == outcome.ONCE else []
    return shlex.join(["scriptschema", "reproduce", str(folder), *replay])


def tree_of(folder: Path, stem: str = PROGRAM) -> ModuleSet:
    """Return the tree of a find's original program. Raises FileError.

    If `stem` is `REDUCED`, return the tree of the reduced program.
    """
    return files.read(ModuleSet, folder / f"{stem}.pb", luau=TODAY)


def source_of(folder: Path, stem: str = PROGRAM) -> str:
    r"""Return the source of a find's original program as text. Raises FileError.

    If `stem` is `REDUCED`, return the source of the reduced program. Bytes that are not UTF-8
    become escapes such as `\xff`, so the text is for display only.
    """
    return source_bytes_of(folder, stem).decode("utf-8", "backslashreplace")


def source_bytes_of(folder: Path, stem: str = PROGRAM) -> bytes:
    """Return the exact source of a find's original program. Raises FileError.

    If `stem` is `REDUCED`, return the source of the reduced program.
    """
    path = folder / f"{stem}.luau"
    with files.errors_of(path):
        return path.read_bytes()


def requests_of(folder: Path) -> tuple[str, ...]:
    """Return the last requests to the process that crashed or failed, or () if none were stored.

    Raises FileError.
    """
    path = folder / REQUESTS
    try:
        return tuple(path.read_text("utf-8").splitlines())
    except FileNotFoundError:
        return ()
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: {files.reason_of(error)}") from None


def suspect_of(find: Find, folder: Path) -> Suspect:
    """Return a suspect with the smallest known program of the find in `folder`.

    Raises FileError.
    """
    shown = find.smallest
    verdict = attrs.evolve(find.verdict, signature=find.signature.bare)
    data = encoding.encode(tree_of(folder, find.stem))
    requests = requests_of(folder)
    return Suspect(data, verdict, shown.runs, find.origin, requests, shown.style)


def save(folder: Path, find: Find) -> None:
    """Rewrite `find.json` in the folder of a find. Raises FileError."""
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
    """Create a find's folder atomically, with its programs and requests, and return its path.

    `among` is the name of the parent folder. Raises FileError.
    """
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
    """Write the reduced program of a find into its folder, and rewrite `find.json`."""
    _write_program(folder, REDUCED, reduced, find.smallest.style)
    save(folder, find)


def remove(folder: Path | None) -> None:
    """Remove a find's folder, or do nothing if `folder` is None. Raises FileError."""
    if folder is None:
        return
    hidden = folder.with_name(f".{folder.name}.{os.getpid()}")
    with files.errors_of(folder):
        folder.rename(hidden)  # makes the removal atomic
        shutil.rmtree(hidden)


def move(folder: Path, target: Path) -> None:
    """Move the folder of a find or member to `target`, which is in `members/` of another find.

    Raises FileError.
    """
    with files.errors_of(target):
        files.make_folder(target.parent, below=target.parents[2])  # the folder of all finds
        folder.rename(target)


def _write_program(folder: Path, stem: str, tree: ModuleSet, style: Spelling) -> None:
    sources = written(tree, style)
    files.write(folder / f"{stem}.pb", encoding.encode(tree))
    files.write(folder / f"{stem}.luau", encode(sources.program))
    if sources.module is not None:
        files.write(folder / "module0.luau", encode(sources.module))


FindHandler = Callable[[str, Find], None]
"""A function that is called with an event and a find. The event is `find` for a new find, `reduced`
after its reduction, or `retracted` if the find turns out to be a duplicate or a known bug, or if it
is a hang or memory exhaustion that cannot be reproduced."""


class FindStore:
    """The finds of a campaign.

    `by_name` maps names to finds. `new` contains the finds of this run. `versions` maps the targets
    to their versions. `seconds` returns how long the campaign has run. `on_find` is called for each
    new, reduced or retracted find. Methods may raise FileError.
    """

    def __init__(
        self,
        path: Path,
        config: Config,
        versions: dict[str, str],
        seconds: Callable[[], float],
        on_find: FindHandler,
    ) -> None:
        self.path = path
        self.new: list[Find] = []
        self._config = config
        self._versions = versions
        self._seconds = seconds
        self._on_find = on_find
        self._changed: set[str] = set()
        self.by_name = {find.name: find for _, find in load_all(path)}

    def __len__(self) -> int:
        """Return the number of finds."""
        return len(self.by_name)

    def folder(self, find: Find) -> Path:
        """Return the folder of a find."""
        return self.path / FOLDER / find.name

    def find_of(self, suspect: Suspect, verdict: Verdict, *, apart: bool) -> Find:
        """Return a find for a suspect's program, without adding the find to the store.

        If `apart` is true, the find's name depends on the program as well as the signature.
        """
        time = now()
        tree = suspect.tree
        name = verdict.signature.name
        if apart:
            name += f"-{name_of(suspect.data)[:8]}"
        program = ShownProgram(size_of(tree, suspect.style), suspect.runs, suspect.style)
        return Find(
            name=name,
            verdict=verdict,
            program=program,
            first_seen=time,
            last_seen=time,
            seconds=round(self._seconds(), 1),
            origin=suspect.origin,
            versions=self._versions,
            only_compiled=program.is_luau and runs_nothing(tree),
            config=self._config.as_json(),
        )

    def add(self, suspect: Suspect, verdict: Verdict, reduced: Reduced | None = None) -> Find:
        """Add a find for a suspect, with its reduction if known, and return the find."""
        # Names are chosen before reduction, so another find may have the same signature and name.
        apart = verdict.signature.name in self.by_name
        find = self.find_of(suspect, verdict, apart=apart)
        if reduced is None:
            add(self.path, find, suspect.tree, requests=suspect.requests)
        else:
            reduced.put_into(find)
            add(self.path, find, suspect.tree, reduced.tree)
        self.by_name[find.name] = find
        self.new.append(find)
        self._on_find("find", find)
        return find

    def put_reduced(self, find: Find, reduced: Reduced) -> None:
        """Replace a find's reduced program and its verdict with the result of a reduction."""
        reduced.put_into(find)
        find.verdict = reduced.verdict
        add_reduced(self.folder(find), find, reduced.tree)
        self._on_find("reduced", find)

    def count(self, find: Find, count: int = 1) -> None:
        """Add `count` to the number of programs that showed the find's bug.

        Does nothing if the find was dropped.
        """
        if find.name in self.by_name:
            find.count += count
            find.last_seen = now()
            self._changed.add(find.name)

    def drop(self, find: Find, into: Path | None = None) -> None:
        """Remove a find that is a duplicate, a known bug, or not a bug.

        The find's folder is moved to the path `into`, or deleted if `into` is None.
        """
        del self.by_name[find.name]
        self._changed.discard(find.name)
        self.new = [each for each in self.new if each is not find]
        if into is None:
            remove(self.folder(find))
        else:
            move(self.folder(find), into)
        self._on_find("retracted", find)

    def save(self) -> None:
        """Rewrite `find.json` for each find whose count has changed."""
        for name in self._changed:
            find = self.by_name[name]
            save(self.folder(find), find)
        self._changed.clear()
