"""The files that a script loads with `require`: scripts beside the document, and npm packages.

They are read before the script runs, since scripts cannot access files. The code is searched,
recursively, for calls to `require` with a constant name. Names are resolved as in Node
(https://nodejs.org/api/modules.html), but only to files that the document may read.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Final

from orgrest.model import OrgrestError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orgrest.http.scripts import ScriptFile
    from orgrest.http.values import Context

_REQUIRE: Final = compiled(r"""\brequire\(\s*(["'`])([^"'`\\\n]{1,200})\1\s*\)""")
_MOST_BYTES: Final = 8 * 2**20
_MOST_FILES: Final = 2000


def required(code: str, context: Context) -> tuple[dict[str, str], dict[str, ScriptFile]]:
    """Return the files that a script requires: their paths by name, and all files by path.

    A name without a file is omitted, since it may be one of the sandbox's own modules. If it is
    not, requiring that name is an error in the script.

    Raises OrgrestError if a file is not UTF-8, if there are more than 2,000 files, or if their
    total size exceeds 8 MiB.
    """
    if "require" not in code:
        return {}, {}
    from orgrest.http.scripts import ScriptFile

    folder = context.directory.resolve()
    names = _names(code, folder, context)
    files: dict[str, ScriptFile] = {}
    waiting, size = list(names.values()), 0
    while waiting:
        path = waiting.pop()
        key = _key(path, folder)
        if key in files:
            continue
        data = context.read(str(path))
        size += len(data)
        if size > _MOST_BYTES or len(files) == _MOST_FILES:
            raise OrgrestError(
                f"the script requires more than {_MOST_FILES} files or {_MOST_BYTES // 2**20} MiB"
            )
        try:
            source = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise OrgrestError(f"{key} is not UTF-8 (byte {error.start})") from None
        required_by_file = {} if path.suffix == ".json" else _names(source, path.parent, context)
        waiting += required_by_file.values()
        requires = {
            name: _key(required_path, folder) for name, required_path in required_by_file.items()
        }
        files[key] = ScriptFile(source, requires)
    return {name: _key(path, folder) for name, path in names.items()}, files


def _key(path: Path, folder: Path) -> str:
    """Return a path relative to `folder`, so that scripts learn nothing about the machine."""
    return os.path.relpath(path, folder).replace(os.sep, "/")


def _names(code: str, folder: Path, context: Context) -> dict[str, Path]:
    names = dict.fromkeys(match[2] for match in _REQUIRE.finditer(code))
    resolved = ((name, _resolve(name, folder, context)) for name in names)
    return {name: path for name, path in resolved if path is not None}


def _resolve(name: str, folder: Path, context: Context) -> Path | None:
    if name.startswith(("./", "../")):
        return _file(folder / name, context)
    for parent in (folder, *folder.parents):
        if (path := _file(parent / "node_modules" / name, context)) is not None:
            return path
    return None


def _file(path: Path, context: Context) -> Path | None:
    """Return the file for a path that may lack a suffix or be a package's folder, or None."""
    for candidate in _candidates(path, context):
        try:
            return context.locate(str(candidate))
        except OrgrestError:
            continue  # missing, or the document may not read it
    return None


def _candidates(path: Path, context: Context) -> Iterator[Path]:
    yield from _with_suffixes(path)
    try:
        main = json.loads(context.read(str(path / "package.json")))["main"]
    except (OrgrestError, ValueError, KeyError, TypeError, RecursionError):
        main = "index.js"
    yield from _with_suffixes(path / str(main))
    yield path / str(main) / "index.js"


def _with_suffixes(path: Path) -> Iterator[Path]:
    yield path
    yield path.with_name(f"{path.name}.js")
    yield path.with_name(f"{path.name}.json")
