"""Imports trees from files of any kind into a corpus, and exports them in any format."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import attrs

from scriptschema import files, wire
from scriptschema.codec.errors import FormatError
from scriptschema.files import FileError, Form, Input
from scriptschema.fuzzing.corpora.folder import CorpusFolder, Journal, line_of
from scriptschema.fuzzing.corpora.reading import Found, Reader, Report
from scriptschema.generation.bulk import interrupts_later
from scriptschema.luau import sources

JOURNAL: Final = ".imported"
"""The file in a corpus that lists the imported files, so that they are not read again."""


@attrs.define
class Counts:
    """The result of an import or export.

    `new` is the number of trees that were added. `known` is the number of trees that were already
    there.
    """

    new: int = 0
    known: int = 0
    skipped: int = 0
    """The number of files that are unchanged since an earlier import, and were not read again."""
    incomplete: int = 0
    """The number of sources that the schema cannot represent completely."""


def import_trees(
    items: Iterable[Input | FileError], folder: Path, reader: Reader, report: Report
) -> Counts:
    """Add the files' trees to the corpus `folder`, and return the counts.

    Each tree is stored only once. The import continues after errors. A file that was imported
    before is read again only if its size or modification time has changed. Raises FileError if the
    corpus cannot be written.
    """
    counts = Counts()
    corpus = CorpusFolder(folder)
    with Journal(folder / JOURNAL) as journal:
        done = set(journal.lines())
        for item in items:
            if isinstance(item, FileError):
                report(item)
                continue
            line = _line_of(item, reader)
            if line in done:
                counts.skipped += 1
                continue
            sound = True
            for tree in reader.read(item):
                if isinstance(tree, FileError):
                    sound = False
                    report(tree)
                    continue
                counts.incomplete += tree.losses > 0
                if corpus.add(tree.data):
                    counts.new += 1
                else:
                    counts.known += 1
            if sound and line is not None:
                journal.add(line)
    return counts


def _line_of(item: Input, reader: Reader) -> bytes | None:
    """Return a file's line in the journal, or None if it is not a regular file."""
    if item.path == files.STANDARD:
        return None
    try:
        status = item.path.stat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    how = [reader.cls.__name__, reader.form, reader.unknown, reader.streams]
    how += [str(reader.luau)] if reader.luau else []
    return line_of([os.path.abspath(item.path), status.st_size, status.st_mtime_ns, *how])  # noqa: PTH100  # links stay


def export_trees(
    items: Iterable[Input | FileError], folder: Path, form: Form, reader: Reader, report: Report
) -> Counts:
    """Write the files' trees into `folder`, each as a file of format `form`.

    Each file has the name of its input with the suffix of the format. The trees of a stream are
    numbered from 0. Existing files are not replaced. A program with a module becomes a folder of
    two sources.

    The export continues after trees that cannot be read, or cannot be written in this format.
    Raises FileError if the folder cannot be written.
    """
    counts = Counts()
    ending = files.ending_of(form)
    written_by: dict[Path, Path] = {}
    for item in items:
        if isinstance(item, FileError):
            report(item)
            continue
        stem = folder / _stem_of(item.relative)
        other = written_by.setdefault(stem, item.path)
        if other != item.path:
            report(FileError(f"{item.path} and {other} would both be written to {stem}{ending}"))
            continue
        if _is_there(stem, ending):
            counts.known += 1
            continue
        streams = reader.streams or item.path.suffix == files.STREAM_ENDING
        for number, tree in enumerate(reader.read(item)):
            target = stem.with_name(f"{stem.name}-{number}") if streams else stem
            if isinstance(tree, FileError):
                report(tree)
            elif streams and _is_there(target, ending):
                counts.known += 1
            else:
                try:
                    written = _files_of(tree, form, ending, target.name, reader)
                except (FormatError, ValueError) as error:
                    report(FileError(f"{tree.name}: {error}"))
                    continue
                with interrupts_later():
                    for name, data in written.items():
                        files.write(target.parent / name, data, below=folder)
                counts.new += 1
                counts.incomplete += tree.losses > 0
    return counts


def _stem_of(path: Path) -> Path:
    is_known = path.suffix in files.ALL_ENDINGS or path.suffix == files.STREAM_ENDING
    return path.with_suffix("") if is_known else path


def _is_there(stem: Path, ending: str) -> bool:
    return stem.with_name(stem.name + ending).exists() or (stem / sources.PROGRAM).exists()


def _files_of(found: Found, form: Form, ending: str, name: str, reader: Reader) -> dict[str, bytes]:
    if form == "binary":
        return {name + ending: found.data}
    tree: Any = wire.decode(reader.cls, found.data, luau=reader.luau)
    if form != "luau":
        return {name + ending: files.serialize(tree, form, reader.luau)}
    return sources.source_files_of(tree, name)


def export_stream(
    items: Iterable[Input | FileError], path: Path, reader: Reader, report: Report
) -> Counts:
    """Write the trees of the files to a stream file, completely or not at all.

    Raises FileError if it cannot be written.
    """
    counts = Counts()
    with files.errors_of(path), files.replacing(path) as file:
        for tree in reader.read_all(items, report):
            file.write(files.delimited(tree.data))
            counts.new += 1
            counts.incomplete += tree.losses > 0
    return counts
