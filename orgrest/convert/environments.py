"""Writes environments to `http-client.env.json` and its private counterpart.

New entries are added to existing files. It is an error if an existing entry would change.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from orgrest.convert.shared.model import ConversionError, Environment
from orgrest.files import File
from orgrest.http.values.environments import PRIVATE, PUBLIC, SHARED


def merged(folder: Path, environments: Iterable[Environment]) -> dict[Path, str]:
    """Return the contents of a folder's environment files after `environments` are added.

    The result maps paths to contents. Unchanged files are left out. Raises ConversionError if a
    file is not valid JSON, or has a different value for a variable.
    """
    texts_by_path: dict[Path, str] = {}
    environments = tuple(environments)
    for name, secret in ((PUBLIC, False), (PRIVATE, True)):
        new = dict[str, dict[str, str]]()  # several sources may have variables of one environment
        for source in environments:
            values = {key: v for key, v in source.variables if (key in source.secrets) is secret}
            new.setdefault(source.name, {}).update(values)
        new = {key: v for key, v in new.items() if v or not (secret or key == SHARED)}
        if not new:
            continue
        path = folder / name
        whole = _known(path)
        before = json.dumps(whole)
        for environment, values in new.items():
            _merge(whole.setdefault(environment, {}), values, environment, path)
        if json.dumps(whole) != before:
            texts_by_path[path] = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    return texts_by_path


def _known(path: Path) -> dict[str, dict[str, object]]:
    if not path.exists():
        return {}
    try:
        whole = json.loads(File.read(path).text)
    except (ValueError, RecursionError):
        reason = (
            "not plain JSON (it may contain comments or trailing commas), so no environments can "
            "be added"
        )
        raise ConversionError(reason, file=str(path)) from None
    if not isinstance(whole, dict) or not all(isinstance(table, dict) for table in whole.values()):
        raise ConversionError(
            'expected an object for each environment, as in {"dev": {"name": "value"}}',
            file=str(path),
        )
    return whole


def _merge(known: dict[str, object], new: Mapping[str, str], environment: str, path: Path) -> None:
    for name, value in new.items():
        if name in known and known[name] != value:
            reason = (
                f"{name} already has a different value in the environment {environment}, so "
                "nothing was written: rename it there, or write the requests to another "
                "folder"
            )
            raise ConversionError(reason, file=str(path))
        known[name] = value
