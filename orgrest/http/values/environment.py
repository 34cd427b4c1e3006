"""The variables of the environments that are selected for a document."""

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
    """The variables of the `chosen` environments, which are defined in files near a document."""

    def __init__(
        self,
        folder: Path,
        chosen: Sequence[str],
        secrets: Secrets,
        environ: Mapping[str, str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Create the environment without reading any files.

        On first use, files are searched for in `folder` and its parents up to the project's root.
        Their secrets are added to `secrets`. `environ` contains environment variables, which locate
        the user's secrets for .NET projects. `settings` are an editor's settings for VS Code REST
        Client.
        """
        self._of_editor = settings
        self._environ = environ or {}
        self.chosen = chosen
        self._folder = folder
        self._secrets = secrets
        self._every: Environments | None = None
        self._settings: dict[str, Setting] | None = None

    @property
    def every(self) -> Environments:
        """All environments in the files near the document, and in the editor's settings."""
        if self._every is None:
            from orgrest.http.values import environments

            from_files = environments.find(self._folder)
            self._every = from_files.over(self._of_editor) if self._of_editor else from_files
        return self._every

    def settings(self) -> dict[str, Setting]:
        """Return the variables of the selected environments by name.

        Raises `OrgrestError` for an unknown environment.
        """
        if self._settings is None:
            self._settings = self.every.choose(self.chosen)
        return self._settings

    def setting(self, name: str) -> Setting | None:
        """Return the variable with this name in the selected environments, or None.

        Raises `OrgrestError` if an environment is unknown, if the value is null, or if a broken
        file might define another value.
        """
        setting = self.settings().get(name)
        if self.every.broken and not self._is_certain(name, setting):
            self.every.check()
        if setting is not None and setting.error is not None:
            raise setting.error.with_traceback(None)
        return setting

    def readable(self, name: str) -> Setting | None:
        """Return the variable with this name, or None if it is missing, null or in a broken file.

        Raises `OrgrestError` for an unknown environment.
        """
        try:
            setting = self.settings().get(name)
            return None if setting is not None and setting.error is not None else setting
        except OrgrestError:
            if self.every.broken:
                return None
            raise

    def _is_certain(self, name: str, setting: Setting | None) -> bool:
        """Return whether `setting` applies regardless of what the broken files contain."""
        from orgrest.http.values.environments import SHARED

        if setting is None or setting.file not in self.every.certain:
            return False
        last = self.chosen[-1] if self.chosen else SHARED
        return name in self.every.by_name.get(last, {})

    def value(self, name: str) -> str | None:
        """Return the value of a variable in the selected environments, or None.

        A value that is not a string is returned as JSON. Raises `OrgrestError` if an environment is
        unknown, if the value is null, if a broken file might define another value, or if a provider
        does not return the secret.
        """
        setting = self.setting(name)
        if setting is None:
            return None
        from orgrest.http.values.environments import OBJECTS, json_of

        if setting.kind == "provider":
            from orgrest.http.auth import providers

            secret = providers.secret(setting.value, setting.file, self._environ, json_of)
            return self._secrets.add(secret)
        if not setting.secret:
            return setting.value
        if setting.kind != "text" and name not in OBJECTS:
            for text in _texts(setting.data):
                self._secrets.add(text)
        return self._secrets.add(setting.value)

    def values(self) -> dict[str, Any]:
        """Return the JSON values of the variables in the selected environments, by name.

        By default, the environment `$default` is selected. Variables that are null, or whose
        provider does not return a value, are left out. Raises `OrgrestError` if an environment is
        unknown, or if a broken file might define another value.
        """
        variables = {}
        for name, setting in self.settings().items():
            if setting.kind == "provider":
                with suppress(OrgrestError):
                    variables[name] = self.value(name)
            elif setting.error is None:
                text = self.value(name)  # also registers it if it is a secret
                variables[name] = text if setting.kind == "text" else setting.data
        return variables

    def headers(self) -> dict[str, str]:
        """Return the default headers of requests, from settings and Kulala's environments."""
        from orgrest.http.values.environments import DEFAULT_HEADERS, SHARED

        headers = dict(self.every.headers)
        for name in (SHARED, *self.chosen):
            setting = self.every.by_name.get(name, {}).get(DEFAULT_HEADERS)
            given = setting.data if setting is not None and setting.kind == "object" else {}
            headers.update((key, value) for key, value in given.items() if isinstance(value, str))
        return headers

    def others_with(self, name: str) -> list[str]:
        """Return the environments that have a variable with this name."""
        return [
            environment
            for environment in self.every.names
            if name in self.every.by_name[environment]
        ]


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, str):
        yield data
    elif isinstance(data, dict | list):
        for element in data.values() if isinstance(data, dict) else data:
            yield from _texts(element)
