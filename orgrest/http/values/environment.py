"""The variables of the environments chosen for a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from orgrest.http.values.environments import Environments, Setting
    from orgrest.http.values.secrets import Secrets


class Environment:
    """The variables of the `chosen` environments, which are in files around a document."""

    def __init__(self, folder: Path, chosen: Sequence[str], secrets: Secrets) -> None:
        """Search from `folder` upwards, on first use; secret values are added to `secrets`."""
        self.chosen = chosen
        self._folder = folder
        self._secrets = secrets
        self._every: Environments | None = None
        self._settings: dict[str, Setting] | None = None

    @property
    def every(self) -> Environments:
        """All environments in the files around the document."""
        if self._every is None:
            from orgrest.http.values import environments

            self._every = environments.find(self._folder)
        return self._every

    def settings(self) -> dict[str, Setting]:
        """Return the variables of the chosen environments by name.

        Raises `OrgrestError` for an unknown environment.
        """
        if self._settings is None:
            self._settings = self.every.choose(self.chosen)
        return self._settings

    def setting(self, name: str) -> Setting | None:
        """Return the variable of this name in the chosen environments, or None.

        Raises `OrgrestError` for an unknown environment, for a null, and for a broken file that
        might define another value.
        """
        found = self.settings().get(name)
        if self.every.broken and not self._is_certain(name, found):
            self.every.check()
        if found is not None and found.error is not None:
            raise found.error.with_traceback(None)
        return found

    def readable(self, name: str) -> Setting | None:
        """Return the variable of this name in the files that can be read, or None.

        Raises `OrgrestError` for an unknown environment.
        """
        try:
            found = self.settings().get(name)
            return None if found is not None and found.error is not None else found
        except OrgrestError:
            if self.every.broken:
                return None
            raise

    def _is_certain(self, name: str, found: Setting | None) -> bool:
        """Tell whether no unreadable file could define another value."""
        from orgrest.http.values.environments import SHARED

        if found is None or found.file not in self.every.certain:
            return False
        last = self.chosen[-1] if self.chosen else SHARED
        return name in self.every.by_name.get(last, {})

    def value(self, name: str) -> str | None:
        """Return the value of a name in the chosen environments, or None.

        Raises `OrgrestError` as `setting` does.
        """
        setting = self.setting(name)
        if setting is None:
            return None
        return self._secrets.add(setting.value) if setting.secret else setting.value

    def file_of(self, name: str) -> str:
        """Return the name of the file that defines a variable, or an empty text."""
        setting = self.setting(name)
        return setting.file.name if setting is not None else ""

    def values(self) -> dict[str, str]:
        """Return the variables of the chosen environments; empty if none is chosen.

        Raises `OrgrestError` as `setting` does.
        """
        every = self.settings() if self.chosen else {}
        return {name: self.value(name) or "" for name, one in every.items() if one.error is None}

    def others_with(self, name: str) -> list[str]:
        """Return the environments not chosen that have a variable of this name."""
        return [one for one in self.every.names if name in self.every.by_name[one]]
