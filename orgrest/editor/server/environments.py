"""The environments chosen in an editor: by the user for a folder, or in the client's settings.

`orgrest/environments.json` in the user's state directory (`$XDG_STATE_HOME`, else `~/.local/state`)
stores the user's choices. It maps each folder to the names chosen for that folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orgrest.files import user_folder, write_result
from orgrest.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_LARGEST = 2**20
_LONGEST = 1e9  # milliseconds
_MOST = 1000
"""The maximum number of folders whose choices are stored."""


class Choices:
    """The environments that the user has chosen, and the client's `settings` by name.

    Each option in `orgrest.options` that has a `setting` can be set in the client by that name.
    `variables` corresponds to `--var`: it overrides all other variables, and supplies values in
    clients that cannot prompt for them. If the setting `openapi` is True, a document that names no
    OpenAPI description uses those in its folder and in the parent folders within the project.
    """

    def __init__(self) -> None:
        self.settings: dict[str, Any] = {
            "environments": (),
            "variables": {},
            "openapi": True,
            "allowWrite": (),
        }
        self.rest_client: dict[str, Any] = {}
        """The settings for VS Code REST Client that the client sent, by their full names."""
        self._known: dict[str, tuple[str, ...]] | None = None

    @property
    def timeout(self) -> float | None:
        """The timeout of a request in seconds, from a setting of REST Client, or None."""
        value = self.rest_client.get("rest-client.timeoutinmilliseconds")
        if not isinstance(value, int | float) or isinstance(value, bool):
            return None
        return value / 1000 if 0 < value < _LONGEST else None

    def configure(self, settings: Any) -> None:
        """Apply the client's settings, which may be nested under the key `orgrest`.

        Invalid values are ignored.
        """
        if isinstance(settings, dict):
            settings = settings.get("orgrest", settings)
        for row in OPTIONS if isinstance(settings, dict) else ():
            value = (
                _READERS[row.kind](settings.get(row.setting)) if row.setting in settings else None
            )
            if value is not None:
                self.settings[str(row.setting)] = value
        if isinstance(settings, dict) and isinstance(settings.get("restClient"), dict):
            self.rest_client = settings["restClient"]

    def of(self, folder: Path) -> tuple[str, ...]:
        """Return the environments that the user chose for a folder, else those in `settings`."""
        if self._known is None:
            self._known = _read()
        setting: tuple[str, ...] = self.settings["environments"]
        return self._known.get(str(folder), setting)

    def choose(self, folder: Path, names: Sequence[str]) -> None:
        """Store the user's choice of environments for a folder.

        Raises FileError if the file cannot be written. The choice takes effect even then.
        """
        choices = {
            folder_name: names
            for folder_name, names in _read().items()
            if folder_name != str(folder)
        }
        choices = dict(list(choices.items())[-_MOST + 1 :])
        choices[str(folder)] = tuple(names)
        self._known = choices
        write_result(_file(), json.dumps(choices, indent=1).encode())


def _file() -> Path:
    return user_folder("state") / "environments.json"


def _read() -> dict[str, tuple[str, ...]]:
    try:
        with _file().open("rb") as stream:
            stored = json.loads(stream.read(_LARGEST))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(stored, dict):
        return {}
    return {folder: _names(names) for folder, names in stored.items()}


def _names(value: Any) -> tuple[str, ...]:
    value = [value] if isinstance(value, str) else value
    return tuple(name for name in value if isinstance(name, str)) if isinstance(value, list) else ()


def _folders(value: Any) -> tuple[Path, ...]:
    return tuple(Path(name) for name in _names(value))


def _variables(given: Any) -> dict[str, str] | None:
    if not isinstance(given, dict):
        return None
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in given.items()
        if isinstance(value, str | int | float)
    }


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "text": _names,
    "folder": _folders,
    "pairs": _variables,
    "description": lambda value: value if isinstance(value, bool) else None,
}
"""The functions that read the value of a setting, by the kind of the option."""
