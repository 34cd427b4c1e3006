"""Writes environments as entries of `http-client.env.json` and its private sibling.

Existing files are merged: their entries stay, and an entry that would change is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from orgrest.convert.shared.model import ConversionError, Environment
from orgrest.files import File
from orgrest.http.values.environments import SHARED

PUBLIC: Final = "http-client.env.json"
PRIVATE: Final = "http-client.private.env.json"


def merged(folder: Path, environments: Iterable[Environment]) -> dict[Path, str]:
    """Return the new texts of a folder's environment files with these environments, by path.

    Raises ConversionError if an existing file is not JSON, or has another value for a variable.
    """
    found: dict[Path, str] = {}
    environments = tuple(environments)
    for name, secret in ((PUBLIC, False), (PRIVATE, True)):
        new = {
            one.name: {key: v for key, v in one.variables if (key in one.secrets) is secret}
            for one in environments
        }
        new = {key: v for key, v in new.items() if v or not (secret or key == SHARED)}
        if not new:
            continue
        path = folder / name
        whole = _known(path)
        before = json.dumps(whole)
        for environment, values in new.items():
            _merge(whole.setdefault(environment, {}), values, environment, path)
        if json.dumps(whole) != before:
            found[path] = json.dumps(whole, indent=2, ensure_ascii=False) + "\n"
    return found


def shared(variables: Mapping[str, str]) -> Environment:
    """Return the environment of variables that are shared by all environments."""
    return Environment(SHARED, tuple(variables.items()))


def _known(path: Path) -> dict[str, dict[str, object]]:
    if not path.exists():
        return {}
    try:
        whole = json.loads(File.read(path).text)
    except (ValueError, RecursionError):
        reason = "this file has to be plain JSON, that the environments can be added to it"
        raise ConversionError(reason, file=str(path)) from None
    if not isinstance(whole, dict) or not all(isinstance(one, dict) for one in whole.values()):
        raise ConversionError("environments are an object of objects", file=str(path))
    return whole


def _merge(known: dict[str, object], new: Mapping[str, str], environment: str, path: Path) -> None:
    for name, value in new.items():
        if name in known and known[name] != value:
            reason = (
                f"{name} has another value in the environment {environment} already: nothing is "
                "written; rename it there, or write the requests into another folder"
            )
            raise ConversionError(reason, file=str(path))
        known[name] = value
