"""Seeds: programs that a campaign starts with, from a folder of sources or trees.

They enter the corpus whatever they show, and are run before other programs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs

from scriptschema import wire
from scriptschema.files import FileError, name_of
from scriptschema.fuzzing import encoding
from scriptschema.fuzzing.corpora.reading import Reader, corpus_files
from scriptschema.luau.repair import repair
from scriptschema.messages import ModuleSet
from scriptschema.versions import Version


@attrs.frozen
class Seeds:
    """Programs as encoded trees; `incomplete` of them are sources of which a part is lost."""

    programs: list[bytes]
    incomplete: int


def read(
    folder: Path, on_problem: Callable[[FileError], None], luau: Version | None = None
) -> Seeds:
    """Return the programs in `folder`, repaired for `luau` and without their modules.

    `on_problem` is called for each file that cannot be taken. Raises FileError if none can be.
    """
    found: dict[bytes, bool] = {}
    reader = Reader(luau=luau)
    for item in corpus_files([folder]):
        for tree in [item] if isinstance(item, FileError) else reader.read(item):
            if isinstance(tree, FileError):
                on_problem(tree)
                continue
            try:
                program = encoding.decode(ModuleSet, tree.data).program
                data = encoding.encode(repair(ModuleSet(program=program), luau=luau))
                encoding.decode(ModuleSet, data)  # it may have become deeper
            except wire.WireError as error:
                on_problem(FileError(f"{tree.name}: {error}"))
                continue
            found[data] = tree.losses > 0
    if not found:
        raise FileError(f"{name_of(folder)}: there is no program in it that can be taken")
    return Seeds([*found], sum(found.values()))
