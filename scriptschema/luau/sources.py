"""Luau sources in files: their names, and how one or two of them form a program.

A program that requires a module consists of two sources in one folder: `program.luau` and
`module0.luau`. The program refers to the module as `./module0`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final, Unpack

from scriptschema import files
from scriptschema.codec.copying import copy
from scriptschema.luau.names import DEFAULT
from scriptschema.luau.render import RenderOptions, render, render_module_set
from scriptschema.luau.validation.constants import exported_declarations, variables_of
from scriptschema.messages import Local, ModuleSet

PROGRAM: Final = "program.luau"
MODULE: Final = "module0.luau"


def source_files(inputs: Iterable[Path]) -> list[files.Input]:
    """Return the source files to read. Each file's relative path becomes its tree's name.

    In a folder, only `.luau` and `.lua` files are read. A module next to a program is read together
    with it. If a folder holds only a program and its module, the tree has the name of the folder.
    """
    named = set(inputs)
    by_path: dict[Path, files.Input] = {}
    for item in files.expand(inputs):
        relative = item.relative
        if item.path not in named:
            if relative.suffix not in files.SOURCE_ENDINGS:
                continue
            if relative.name == MODULE and item.path.with_name(PROGRAM).is_file():
                continue
            if relative.name == PROGRAM and relative.parent.name:
                beside = {path.name for path in item.path.parent.iterdir()}
                relative = relative.parent if beside == {PROGRAM, MODULE} else relative
        if relative.suffix in files.SOURCE_ENDINGS:
            relative = relative.with_suffix("")
        by_path[item.path] = files.Input(item.path, relative)
    return list(by_path.values())


def module_of(path: Path) -> Path | None:
    """Return the path of the module in the same folder as a source.

    Return None if there is no module in the folder, or if the source itself is the module.
    """
    module = path.with_name(MODULE)
    return module if path.name != MODULE and module.is_file() else None


def read_sources(path: Path) -> tuple[bytes, bytes | None]:
    """Return a program's source and its module's source. Raises FileError if a file cannot be read.

    The module's source is None if the program does not mention a module, or if there is no module.
    """
    with files.errors_of(path):
        if path == files.STANDARD:
            return sys.stdin.buffer.read(), None
        source = path.read_bytes()
        module = module_of(path) if b"./module0" in source else None
        return source, module.read_bytes() if module else None


def source_files_of(
    tree: ModuleSet, name: str, **options: Unpack[RenderOptions]
) -> dict[str, bytes]:
    """Return a tree's sources by file name: `name.luau`, or two files in the folder `name`.

    There are two files if the tree has a module. The program comes last, so that once its file
    exists, both exist. `options` are those of `render`.
    """
    sources = render_module_set(tree, **options)
    if sources.module is None:
        return {f"{name}.luau": encode(sources.program)}
    return {
        f"{name}/{MODULE}": encode(sources.module),
        f"{name}/{PROGRAM}": encode(sources.program),
    }


def one_source(tree: ModuleSet, **options: Unpack[RenderOptions]) -> str:
    """Return a program as a single self-contained source.

    A module becomes a function `require` in this source, which returns what the module exports.
    `options` are those of `render`.
    """
    if tree.module is None:
        return render(tree.program, **options)
    module = copy(tree.module)
    exports: list[Local] = []
    for declaration, _ in exported_declarations(module):
        declaration.is_exported = None  # a function cannot export values
        exports += variables_of(declaration)
    sources = render_module_set(ModuleSet(program=tree.program, module=module), **options)
    names = [options.get("names", DEFAULT).local(variable.name) for variable in exports]
    items = ", ".join(f"{name} = {name}" for name in names)
    returned = f"return table.freeze({{{items}}})\n" if exports else ""
    return f"local function require(_, ...)\n{sources.module}\n{returned}end\n{sources.program}"


def place_of(target: Path, tree: ModuleSet) -> Path:
    """Return where `write_sources` writes a tree: `target`, or a folder if there is a module.

    The folder has the name of `target` without the suffix.
    """
    return target if tree.module is None else target.with_name(target.stem)


def write_sources(
    target: Path, tree: ModuleSet, *, below: Path | None = None, **options: Unpack[RenderOptions]
) -> None:
    """Write a tree's source to the file `target`, or its two sources to a folder (see `place_of`).

    `below` has the same meaning as in `files.write`, and `options` as in `render`. Raises FileError
    if a file cannot be written.
    """
    sources = source_files_of(tree, target.stem, **options)
    for name, data in sources.items():
        path = target if len(sources) == 1 else target.parent / name
        files.write(path, data, below=below or target.parent)


def encode(source: str) -> bytes:
    """Return the source in UTF-8. Lone surrogates become the original bytes."""
    return source.encode("utf-8", "surrogateescape")
