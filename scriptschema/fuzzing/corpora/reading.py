"""Reads the trees of a corpus: selects files, detects their format, reports errors.

A corpus is not trusted: it may contain links, pipes, broken files and huge files. In a folder, only
regular files are read, because reading a pipe could block. Links to folders are not followed, and
at most `LIMIT` bytes of a file or tree are read into memory. If a file or tree cannot be read, an
error is yielded, and reading continues.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, Final

import attrs

from scriptschema import files, interop, wire
from scriptschema.base import Message
from scriptschema.files import FileError, Form, Input, name_of
from scriptschema.fuzzing import encoding
from scriptschema.luau import sources
from scriptschema.luau.parse import COMMENTS, ParseError, parse
from scriptschema.luau.repair import repair_in_place
from scriptschema.messages import ModuleSet
from scriptschema.versions import TODAY, Version

Report = Callable[[FileError], None]
"""Called with an error for each file or tree that cannot be used."""

LIMIT: Final = 64 << 20
"""The maximum size in bytes of a file with a single tree, and of each tree in a stream."""

AFL_FOLDERS: Final = ("crashes", "hangs", "queue")
"""Folders where an instance of AFL++ keeps inputs, in files whose names start with `id`."""


@attrs.frozen
class Found:
    """A tree of a corpus: where it was found, its canonical bytes, and the result of `wire.scan`.

    `losses` is the number of constructs in a source that the schema cannot represent, without
    comments.
    """

    name: str
    data: bytes
    scan: wire.Scan
    losses: int = 0


@attrs.frozen
class Reader:
    """Reads the trees of a corpus, which are messages of class `cls`.

    `form` is the format of the files. If it is None, the suffix of each file determines the format.
    Files with an unknown suffix are tried as binary, text format and Luau source, in this order.

    If `streams` is true, every file is a stream of many trees, each preceded by its length.
    Otherwise, only files with the stream suffix are streams. `luau` is the version of Luau whose
    extensions are read. `unknown` selects how unknown fields are handled.
    """

    cls: type[Message] = ModuleSet
    form: Form | None = None
    unknown: interop.Unknown = files.ERROR
    streams: bool = False
    luau: Version | None = None

    def scan(self, data: bytes) -> wire.Scan:
        """Return the scan of a tree, given its bytes."""
        return wire.scan(self.cls, data, luau=self.luau)

    def read(self, item: Input) -> Iterator[Found | FileError]:
        """Yield the trees of a file one at a time, and an error for each unreadable tree."""
        name = files.name_of(item.path)
        try:
            with _opened(item) as file:
                if self.streams or item.path.suffix == files.STREAM_ENDING:
                    for position, data in files.read_delimited(file, LIMIT):
                        where = f"{name}: tree at byte {position}"
                        yield self._tree(where, data, item, self.form or "binary")
                else:
                    form = self.form or files.ALL_ENDINGS.get(item.path.suffix)
                    yield self._tree(name, _read(file), item, form)
        except (OSError, FileError) as error:
            yield FileError(f"{name}: {files.reason_of(error)}")

    def read_all(self, items: Iterable[Input | FileError], report: Report) -> Iterator[Found]:
        """Yield the trees of all files. Report the errors in `items`, and unreadable trees."""
        for item in items:
            for tree in [item] if isinstance(item, FileError) else self.read(item):
                if isinstance(tree, FileError):
                    report(tree)
                else:
                    yield tree

    def _tree(self, name: str, data: bytes, item: Input, form: Form | None) -> Found | FileError:
        try:
            if form is not None:
                return self._canonical(name, data, form, item)
            return self._guess(name, data, item)
        except ParseError as error:
            return FileError(f"{name}:{error}")
        except (OSError, FileError, wire.WireError, interop.FormatError) as error:
            return FileError(f"{name}: {files.reason_of(error)}")

    def _canonical(self, name: str, data: bytes, form: Form, item: Input) -> Found:
        if form == "binary":
            return Found(
                name, *wire.canonical(self.cls, data, unknown=self.unknown, luau=self.luau)
            )
        losses = 0
        if form != "luau":
            tree = files.parse(self.cls, data, form, self.unknown, self.luau)
        elif self.cls is not ModuleSet:
            raise FileError(f"sources can only be read as ModuleSets, not as {self.cls.__name__}")
        else:
            # Each source is parsed with separate names, which stay distinct in the built-in tables.
            result = parse(data, module=_module(item, data), luau=self.luau)
            tree = result.tree
            losses = sum(loss.what not in COMMENTS for loss in result.losses)
        data = wire.encode(tree, luau=self.luau)
        return Found(name, data, self.scan(data), losses)

    def _guess(self, name: str, data: bytes, item: Input) -> Found:
        try:
            return Found(name, *wire.canonical(self.cls, data, unknown=files.ERROR, luau=self.luau))
        except wire.WireError as error:
            reasons = [f"not binary format ({error})"]
        try:
            return self._canonical(name, data, "text", item)
        except (interop.FormatError, wire.WireError) as error:
            reasons.append(f"not text format ({error})")
        try:
            return self._canonical(name, data, "luau", item)
        except (ParseError, FileError, wire.WireError) as error:
            reasons.append(f"not Luau source ({error})")
        raise FileError(f"unknown format: {', '.join(reasons)}")


def corpus_files(paths: Iterable[Path]) -> Iterator[Input | FileError]:
    """Yield the named files, and all files below the named folders in sorted order.

    In folders, hidden files and AFL++ files that are not inputs are skipped. A `module0.luau`
    beside a `program.luau` is also skipped, because it is read with the program.
    """
    for path in paths:
        if path != files.STANDARD and path.is_dir():
            yield from _below(path)
        else:
            yield Input(path, Path(path.name))


def _below(folder: Path) -> Iterator[Input | FileError]:
    left = [os.fspath(folder)]
    while left:
        path = left.pop()
        try:
            with os.scandir(path) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            yield FileError(f"{path}: {files.reason_of(error)}")
            continue
        names = {entry.name for entry in entries}
        of_afl = "fuzzer_stats" in names
        inputs_of_afl = _holds_inputs_of_afl(Path(path))
        inside = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not of_afl or entry.name in AFL_FOLDERS:
                    inside.append(entry.path)
            elif of_afl or (inputs_of_afl and not entry.name.startswith("id")):
                continue
            elif _is_linked_folder(entry):
                yield FileError(f"{entry.path}: a link to a folder, which is not followed")
            elif entry.name != sources.MODULE or sources.PROGRAM not in names:
                file = Path(entry.path)
                yield Input(file, file.relative_to(folder), in_folder=True)
        left += reversed(inside)


def _is_linked_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_symlink() and entry.is_dir()
    except OSError:  # a cycle of links; opening the file reports it
        return False


def _holds_inputs_of_afl(folder: Path) -> bool:
    return folder.name in AFL_FOLDERS and (folder.parent / "fuzzer_stats").is_file()


@contextlib.contextmanager
def _opened(item: Input) -> Iterator[IO[bytes]]:
    if item.path == files.STANDARD:
        yield sys.stdin.buffer
        return
    # Opening a pipe without a writer would block.
    descriptor = os.open(item.path, os.O_RDONLY | (os.O_NONBLOCK if item.in_folder else 0))
    with os.fdopen(descriptor, "rb") as file:
        if item.in_folder and not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileError("not a regular file")
        yield file


def _read(file: IO[bytes]) -> bytes:
    data = file.read(LIMIT + 1)
    if len(data) > LIMIT:
        raise FileError(f"larger than {LIMIT >> 20} MiB, the maximum for a tree")
    return data


def _module(item: Input, source: bytes) -> bytes | None:
    """Return the module that a program requires, if it is beside the program."""
    if b"./module0" not in source or item.path == files.STANDARD:
        return None
    module = sources.module_of(item.path)
    if module is None:
        return None
    with _opened(Input(module, Path(module.name), in_folder=True)) as file:
        return _read(file)


def require_apart(inputs: Iterable[Path], output: Path) -> None:
    """Raise FileError if `output` is an input folder or inside one."""
    target = output.resolve()
    for path in inputs:
        if path != files.STANDARD and path.is_dir() and target.is_relative_to(path.resolve()):
            raise FileError(f"{output} is inside {path}, which is an input: choose another folder")
    if output.exists() and not output.is_dir():
        raise FileError(f"{output}: {os.strerror(errno.ENOTDIR)}")
    files.require_parent(output)


@attrs.frozen
class Seeds:
    """Programs that a campaign starts with, as encoded trees.

    `incomplete` is the number of sources that the schema cannot represent completely. `without`
    lists the names of the programs from which a module was left out. `repaired` lists the names of
    the other programs that had to be repaired.
    """

    programs: list[bytes]
    incomplete: int
    without: list[str]
    repaired: list[str]


def read_seeds(folder: Path, report: Report, luau: Version | None = None) -> Seeds:
    """Return the programs in `folder`, repaired for `luau` and without their modules.

    Unusable files are reported. Raises FileError if no file is usable.
    """
    programs: dict[bytes, bool] = {}
    without: list[str] = []
    repaired: list[str] = []
    reader = Reader(luau=luau)
    for tree in reader.read_all(corpus_files([folder]), report):
        try:
            program = encoding.decode(ModuleSet, tree.data)
            has_module = program.module is not None
            program.module = None
            problems = repair_in_place(program, luau=luau)
            data = encoding.encode(program)
            encoding.decode(ModuleSet, data)  # fails if repair made it too deep
        except wire.WireError as error:
            report(FileError(f"{tree.name}: {error}"))
            continue
        programs[data] = tree.losses > 0
        if has_module:
            without.append(tree.name)
        elif problems:
            repaired.append(tree.name)
    if not programs:
        raise FileError(f"{name_of(folder)} contains no programs that can be used")
    return Seeds([*programs], sum(programs.values()), without, repaired)


def read_trees(folder: Path, report: Report = lambda _: None) -> Iterator[bytes]:
    """Yield the encoded trees in a campaign's corpus.

    Problems are reported, such as a `.pb` file that is not a tree. Files with other suffixes are
    ignored.
    """
    items = (
        item
        for item in corpus_files([folder])
        if isinstance(item, FileError) or files.ENDINGS.get(item.path.suffix) == "binary"
    )
    for tree in Reader(form="binary", luau=TODAY).read_all(items, report):
        yield tree.data
