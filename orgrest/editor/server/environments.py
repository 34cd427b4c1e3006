"""The environments chosen in editors: by the user for a folder, or in the client's settings.

Choices are stored in the user's state directory (`$XDG_STATE_HOME`, else `~/.local/state`), in
`orgrest/environments.json`: an object that maps each folder to the names chosen for it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orgrest.files import write_result

if TYPE_CHECKING:
    from collections.abc import Sequence

_LARGEST = 2**20
_MOST = 1000
"""The maximum number of folders remembered."""


class Choices:
    """The choices of one server's user; `setting` has the environments of the client's settings.

    `variables` are those of the client's settings. Like `--var`, they override all others: they
    supply values that most clients cannot be asked for. With `beside`, OpenAPI descriptions beside
    documents count.
    """

    def __init__(self) -> None:
        self.beside = True
        self.setting: tuple[str, ...] = ()
        self.variables: dict[str, str] = {}
        self._known: dict[str, tuple[str, ...]] | None = None

    def configure(self, given: Any) -> None:
        """Read the client's settings: `environments`, `variables`, `openapi` (or in `orgrest`)."""
        if isinstance(given, dict):
            given = given.get("orgrest", given)
        if isinstance(given, dict) and "environments" in given:
            self.setting = _names(given["environments"])
        if isinstance(given, dict) and isinstance(given.get("openapi"), bool):
            self.beside = given["openapi"]
        if isinstance(given, dict) and isinstance(given.get("variables"), dict):
            found = given["variables"].items()
            self.variables = {name: one for name, one in found if isinstance(one, str)}

    def of(self, folder: Path) -> tuple[str, ...]:
        """Return the environments of a folder's documents: the user's choice, else the setting."""
        if self._known is None:
            self._known = _read()
        return self._known.get(str(folder), self.setting)

    def choose(self, folder: Path, names: Sequence[str]) -> None:
        """Store a choice. If writing fails, it raises FileError, but the choice is in effect."""
        known = {one: given for one, given in _read().items() if one != str(folder)}
        known = dict(list(known.items())[-_MOST + 1 :])
        known[str(folder)] = tuple(names)
        self._known = known
        write_result(_file(), json.dumps(known, indent=1).encode())


def _file() -> Path:
    given = os.environ.get("XDG_STATE_HOME", "")
    state = Path(given) if Path(given).is_absolute() else Path.home() / ".local" / "state"
    return state / "orgrest" / "environments.json"


def _read() -> dict[str, tuple[str, ...]]:
    """Return the stored choices; none if the file is missing or not in the expected format."""
    try:
        with _file().open("rb") as stream:
            found = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {folder: _names(names) for folder, names in found.items()}


def _names(given: Any) -> tuple[str, ...]:
    """Return the names in a JSON value that is a name or a list of names."""
    given = [given] if isinstance(given, str) else given
    return tuple(one for one in given if isinstance(one, str)) if isinstance(given, list) else ()
