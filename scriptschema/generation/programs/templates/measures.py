"""A cache of the sizes and needs of templates, so that few of them have to be compiled.

A program uses about a tenth of the templates, but choosing them takes the sizes and needs of all,
which are only known after compiling. So they are kept in `$XDG_CACHE_HOME/scriptschema/templates`
(`~/.cache/scriptschema/templates`), in a file named after the digest of the package's own code and
templates. It may be deleted at any time. A file that another user owns or can write, or that is
damaged, is not read.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import scriptschema
from scriptschema.generation.programs.maker import Template

_NUMBERS: Final = ("fixed", "weight", "levels", "declares", "heavy")
_FLAGS: Final = ("vararg", "loop", "returns", "repeats")

Row = list[Any]
"""The numbers, the flags and the needs of a template."""


def restore(template: Template, source: str, typed: bool, newer: bool) -> bool:
    """Fill in the cached measures of a template; return whether there are any."""
    row = _rows().get(_key(source, typed, newer))
    if row is None:
        return False
    for name, value in zip((*_NUMBERS, *_FLAGS), row, strict=False):
        setattr(template, name, value)
    template.needs = {*row[-1]}
    return True


def note(template: Template, source: str, typed: bool, newer: bool) -> None:
    """Record the measures of a compiled template, for `save`."""
    values = [getattr(template, name) for name in (*_NUMBERS, *_FLAGS)]
    _new[_key(source, typed, newer)] = [*values, sorted(template.needs)]


def save() -> None:
    """Write the measures recorded since the last time, if possible."""
    path = _path()
    if not _new or path is None:
        return
    rows = _rows()
    rows.update(_new)
    _new.clear()
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(path.parent.stat()):
            return
        with contextlib.suppress(FileNotFoundError), _temporary(path.parent) as temporary:
            temporary.write_text(json.dumps(rows), encoding="utf-8")
            temporary.replace(path)


_new: Final[dict[str, Row]] = {}


@cache
def _rows() -> dict[str, Row]:
    path = _path()
    if path is None:
        return {}
    try:
        with path.open(encoding="utf-8") as file:
            rows = json.load(file) if _is_ours(os.fstat(file.fileno())) else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return rows if isinstance(rows, dict) and all(map(_is_row, rows.values())) else {}


def _is_row(row: object) -> bool:
    if not isinstance(row, list) or len(row) != len(_NUMBERS) + len(_FLAGS) + 1:
        return False
    *values, needs = row
    types = [type(value) for value in values]
    return (
        types == [int] * len(_NUMBERS) + [bool] * len(_FLAGS)
        and isinstance(needs, list)
        and all(isinstance(kind, str) for kind in needs)
    )


def _is_ours(found: os.stat_result) -> bool:
    return found.st_uid == os.getuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    descriptor, name = tempfile.mkstemp(dir=folder)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _key(source: str, typed: bool, newer: bool) -> str:
    return blake2b(f"{typed}{newer}{source}".encode(), digest_size=12).hexdigest()


@cache
def _path() -> Path | None:
    """Return the cache's file, or None if nothing can be cached."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(given) if Path(given).is_absolute() else Path.home() / ".cache"
        content = digest(Path(scriptschema.__file__).parent)
    except (OSError, RuntimeError):  # no home folder; or the package is in an archive
        return None
    if not hasattr(os, "getuid"):
        return None
    return base / "scriptschema" / "templates" / f"{content}.json"


def digest(package: Path) -> str:
    """Return the digest of the package's own code, which determines the measures of templates."""
    found = blake2b(digest_size=16)
    for path in sorted(package.rglob("*")):
        if path.suffix in (".py", ".luau") and "fuzzing" not in path.parts:
            data = path.read_bytes()
            found.update(f"{path.relative_to(package)}\0{len(data)}\0".encode() + data)
    return found.hexdigest()
