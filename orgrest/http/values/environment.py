"""The variables of the environments chosen for a document."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from orgrest.http.values.environments import Environments, Setting
    from orgrest.http.values.secrets import Secrets


class Environment:
    """The variables of the `chosen` environments, which are in files around a document."""

    def __init__(
        self,
        folder: Path,
        chosen: Sequence[str],
        secrets: Secrets,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """Search from `folder` upwards, on first use; secret values are added to `secrets`.

        `environ` locates the user's secrets of .NET projects.
        """
        self._environ = environ or {}
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
        """Return whether no unreadable file could override this value."""
        from orgrest.http.values.environments import SHARED

        if found is None or found.file not in self.every.certain:
            return False
        last = self.chosen[-1] if self.chosen else SHARED
        return name in self.every.by_name.get(last, {})

    def value(self, name: str) -> str | None:
        """Return the value of a name in the chosen environments, or None.

        The value of an object is its JSON, which may be searched for members. Raises `OrgrestError`
        as `setting` does, and for a secret that its provider does not return.
        """
        setting = self.setting(name)
        if setting is None:
            return None
        from orgrest.http.values.environments import OBJECTS, json_of

        if setting.kind == "provider":
            from orgrest.http.auth import providers

            found = providers.secret(setting.value, setting.file, self._environ, json_of)
            return self._secrets.add(found)
        if not setting.secret:
            return setting.value
        if setting.kind != "text" and name not in OBJECTS:
            for text in _texts(setting.data):
                self._secrets.add(text)
        return self._secrets.add(setting.value)

    def values(self) -> dict[str, Any]:
        """Return the variables of the chosen environments as JSON; {} without a choice.

        Variables that are null, or that their provider does not return, are left out. Raises
        `OrgrestError` as `setting` does.
        """
        found = {}
        for name, one in self.settings().items() if self.chosen else ():
            if one.kind == "provider":
                with suppress(OrgrestError):
                    found[name] = self.value(name)
            elif one.error is None:
                text = self.value(name)  # which registers a secret
                found[name] = text if one.kind == "text" else one.data
        return found

    def headers(self) -> dict[str, str]:
        """Return the default headers of requests: of settings, and Kulala's of environments."""
        from orgrest.http.values.environments import DEFAULT_HEADERS, SHARED

        found = dict(self.every.headers)
        for name in (SHARED, *self.chosen):
            setting = self.every.by_name.get(name, {}).get(DEFAULT_HEADERS)
            given = setting.data if setting is not None and setting.kind == "object" else {}
            found.update((key, value) for key, value in given.items() if isinstance(value, str))
        return found

    def others_with(self, name: str) -> list[str]:
        """Return the environments not chosen that have a variable of this name."""
        return [one for one in self.every.names if name in self.every.by_name[one]]


def _texts(data: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for one in data.values() if isinstance(data, dict) else data:
            yield from _texts(one)
