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
from orgrest.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LARGEST = 2**20
_MOST = 1000
"""The maximum number of folders remembered."""


class Choices:
    """The choices of one server's user, and the client's `settings`, by name.

    Each option with a `setting` has one. Its `variables` are those of `--var`, which override all
    others: they supply values that most clients cannot prompt for. With `openapi`, descriptions
    beside documents are used.
    """

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {"environments": (), "variables": {}, "openapi": True}
        self._known: dict[str, tuple[str, ...]] | None = None

    def configure(self, given: Any) -> None:
        """Read the client's settings (perhaps in `orgrest`); values of other types are ignored."""
        if isinstance(given, dict):
            given = given.get("orgrest", given)
        for row in OPTIONS if isinstance(given, dict) else ():
            value = _READERS[row.kind](given.get(row.setting)) if row.setting in given else None
            if value is not None:
                self.settings[str(row.setting)] = value

    def of(self, folder: Path) -> tuple[str, ...]:
        """Return the environments of a folder's documents: the user's choice, else the setting."""
        if self._known is None:
            self._known = _read()
        setting: tuple[str, ...] = self.settings["environments"]
        return self._known.get(str(folder), setting)

    def choose(self, folder: Path, names: Sequence[str]) -> None:
        """Store a choice. Raises FileError if writing fails; the choice is in effect anyway."""
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
    """Return the stored choices; empty if the file is missing or not in the expected format."""
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


def _variables(given: Any) -> dict[str, str] | None:
    if not isinstance(given, dict):
        return None
    return {name: value for name, value in given.items() if isinstance(value, str)}


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "text": _names,
    "pairs": _variables,
    "description": lambda given: given if isinstance(given, bool) else None,
}
"""The functions that read a setting, by the kind of its option."""
