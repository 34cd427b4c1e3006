"""Luau sources in files: their names, and how one or two of them form a program.

A program that requires a module is two sources: a folder that holds `program.luau` and
`module0.luau`, the name by which the program requires it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Unpack

from scriptschema import files
from scriptschema.luau.render import RenderOptions, render_module_set
from scriptschema.messages import ModuleSet

PROGRAM: Final = "program.luau"
MODULE: Final = "module0.luau"
ENDINGS: Final = (".luau", ".lua")


def source_files(inputs: Iterable[Path]) -> list[files.Input]:
    """Return the sources to read, each with the name of its tree.

    In a folder these are the files with the extension of a source. A module next to a program is
    read with it, and a folder that holds nothing else gives its name to the tree.
    """
    named = set(inputs)
    found: dict[Path, files.Input] = {}
    for item in files.expand(inputs):
        relative = item.relative
        if item.path not in named:
            if relative.suffix not in ENDINGS:
                continue
            if relative.name == MODULE and item.path.with_name(PROGRAM).is_file():
                continue
            if relative.name == PROGRAM and relative.parent.name:
                beside = {path.name for path in item.path.parent.iterdir()}
                relative = relative.parent if beside == {PROGRAM, MODULE} else relative
        if relative.suffix in ENDINGS:
            relative = relative.with_suffix("")
        found[item.path] = files.Input(item.path, relative)
    return list(found.values())


def module_of(path: Path) -> Path | None:
    """Return the module next to a source that is not itself a module, if any."""
    module = path.with_name(MODULE)
    return module if path.name != MODULE and module.is_file() else None


def read_sources(path: Path) -> tuple[bytes, bytes | None]:
    """Return the source in a file, and its module's if it mentions it; raises FileError."""
    try:
        if path == files.STANDARD:
            return sys.stdin.buffer.read(), None
        source = path.read_bytes()
        module = module_of(path) if b"./module0" in source else None
        return source, module.read_bytes() if module else None
    except OSError as error:
        raise files.FileError(f"{path}: {files.reason_of(error)}") from None


def source_files_of(
    tree: ModuleSet, name: str, **options: Unpack[RenderOptions]
) -> dict[str, bytes]:
    """Return a tree's sources by file: `name` with an extension, or two files in a folder `name`.

    `options` are those of `render`. The program comes last: if it exists, all files do.
    """
    sources = render_module_set(tree, **options)
    if sources.module is None:
        return {f"{name}.luau": encode(sources.program)}
    return {
        f"{name}/{MODULE}": encode(sources.module),
        f"{name}/{PROGRAM}": encode(sources.program),
    }


def one_source(tree: ModuleSet, **options: Unpack[RenderOptions]) -> str:
    """Return the source of a program with its module, if it has one, as a function `require`.

    So it runs without another file. `options` are those of `render`.
    """
    sources = render_module_set(tree, **options)
    if sources.module is None:
        return sources.program
    return f"local function require(_, ...)\n{sources.module}\nend\n{sources.program}"


def write_sources(
    target: Path, tree: ModuleSet, *, below: Path | None = None, **options: Unpack[RenderOptions]
) -> None:
    """Write a tree's source to the file `target`, or two to a folder of that name, less extension.

    `below` is that of `files.write`, `options` are those of `render`. Raises FileError.
    """
    sources = source_files_of(tree, target.stem, **options)
    for name, data in sources.items():
        path = target if len(sources) == 1 else target.parent / name
        files.write(path, data, below=below or target.parent)


def encode(source: str) -> bytes:
    """The bytes of a source."""
    return source.encode("utf-8", "surrogateescape")
