"""Finds the documents to test, and reads their rows of data."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orgrest.files import DOCUMENT_SUFFIXES, decode, read_bytes
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})


def find(paths: Iterable[str]) -> list[str]:
    """Return the files that the names, folders and patterns in `paths` refer to.

    The files are in the order of `paths`, without duplicates. Folders are searched recursively for
    documents. The search skips hidden files and folders, symbolic links to folders, and
    `node_modules`, `__pycache__` and `venv`. Raises OrgrestError if nothing is found for one of
    `paths`, or if a folder cannot be read.
    """
    files_found: dict[str, None] = {}
    for name in paths:
        files = list(_found(name))
        if not files:
            if not name:
                raise OrgrestError("a file name is empty (perhaps a shell variable is not set)")
            missing = (
                "documents (.org, .http, .rest) found"
                if Path(name).is_dir()
                else "such file or directory"
            )
            raise OrgrestError(f"no {missing}", file=name)
        files_found.update(dict.fromkeys(files))
    return list(files_found)


def _found(name: str) -> Iterator[str]:
    if not name:  # since `Path("")` is the current folder
        return
    path = Path(name)
    if path.is_dir():
        yield from _below(path)
    elif path.exists():
        yield name
    elif any(character in name for character in "*?["):
        from glob import glob

        for match in sorted(glob(name, recursive=True)):  # noqa: PTH207 - absolute patterns, too
            yield from _below(Path(match)) if Path(match).is_dir() else (match,)


def _below(folder: Path) -> Iterator[str]:
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        raise OrgrestError(
            f"could not read the folder: {error.strerror}", file=str(folder)
        ) from None
    for path in inside:
        if path.name.startswith(".") or path.name in _SKIPPED:
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _below(path)
        elif path.suffix.lower() in DOCUMENT_SUFFIXES and path.is_file():
            yield str(path)


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a data file, each as a dict from variable names to values.

    The file is CSV with a header line, or a JSON list of objects. JSON values other than strings
    become JSON text. Raises OrgrestError if the file is invalid or has no rows.
    """
    text, _ = decode(read_bytes(path))
    shown = str(path)
    data_rows = _of_json(text, shown) if path.suffix.lower() == ".json" else _of_csv(text, shown)
    if not data_rows:
        raise OrgrestError(
            "the data file has no rows: expected CSV with a header line, or a .json file",
            file=shown,
        )
    return data_rows


def _of_csv(text: str, file: str) -> list[dict[str, str]]:
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        names = next(reader, [])
        if not all(names) or len(set(names)) < len(names):
            raise OrgrestError(
                "the first line must give each column a different name", file=file, line=1
            )
        if len(names) == 1 and (mark := re.search(r"[;\t]", names[0])):
            wrong = "semicolons" if mark[0] == ";" else "tabs"
            reason = f"the columns must be separated by commas, found {wrong}"
            raise OrgrestError(reason, file=file, line=1)
        records = []
        for row in reader:
            if row and len(row) != len(names):
                reason = f"expected {len(names)} values, found {len(row)}"
                raise OrgrestError(reason, file=file, line=reader.line_num)
            records += [dict(zip(names, row, strict=True))] if row else []
    except csv.Error as error:
        raise OrgrestError(f"not valid CSV: {error}", file=file, line=reader.line_num) from None
    return records


def _of_json(text: str, file: str) -> list[dict[str, str]]:
    try:
        data: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise OrgrestError(
            f"not valid JSON: {error.msg}", file=file, line=error.lineno, column=error.colno
        ) from None
    except RecursionError:
        raise OrgrestError("the JSON data is nested too deeply", file=file) from None
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise OrgrestError("expected a list of objects: [{...}, ...]", file=file)
    return [
        {
            name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            for name, value in row.items()
        }
        for row in data
    ]
