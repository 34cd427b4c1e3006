"""Secrets that Visual Studio's environments name by a provider: .NET's user secrets are read.

    "key": {"provider": "AspnetUserSecrets", "secretName": "config:Key"}

They are in the user's folder, in `secrets.json` below the `UserSecretsId` of the project in the
environment file's folder. Azure Key Vault and Windows' encryption (`Encrypted`) are errors.

Sources: Microsoft's pages "Use .http files" and "Safe storage of app secrets in development", and
.NET's `PathHelper` for the folder.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROVIDERS: Final = frozenset({"aspnetusersecrets", "azurekeyvault", "encrypted"})
_PROJECTS = ("*.csproj", "*.fsproj", "*.vbproj", "Directory.Build.props")
_ID = re.compile(r"<UserSecretsId>\s*([^<>]*?)\s*</UserSecretsId>")
_FOLDER_NAME = re.compile(r"[\w-][\w.-]{0,200}")
_LARGEST = 2**20


def is_provided(value: Mapping[str, Any]) -> bool:
    """Return whether an object in an environment names a provider for its value."""
    provider = value.get("provider")
    known = isinstance(provider, str) and provider.lower() in PROVIDERS
    return known or (provider is not None and "secretName" in value)


def secret(
    text: str, file: Path, environ: Mapping[str, str], read: Callable[[Path], Mapping[str, Any]]
) -> str:
    """Return the value that an object in an environment, as JSON, names.

    `file` is the environment file, `read` returns the object in a JSON file. Raises OrgrestError
    if the provider is not supported, or has no such secret.
    """
    given = json.loads(text)
    provider, name = given["provider"], given.get("secretName")
    if str(provider).lower() != "aspnetusersecrets":
        reason = f"the provider {provider} is not supported (AspnetUserSecrets is)"
        raise OrgrestError(reason, file=str(file), code="no-secret")
    if not isinstance(name, str) or not name:
        raise OrgrestError(f"{provider}: secretName is missing", file=str(file), code="no-secret")
    identity = _identity(file.parent)
    secrets = _folder(environ) / identity / "secrets.json"
    for key, value in _flat(read(secrets)):
        if key.lower() == name.lower():  # keys of .NET's configuration
            return value
    reason = f"there is no user secret {name} of the project {identity} (dotnet user-secrets list)"
    raise OrgrestError(reason, file=str(file), code="no-secret")


def _identity(folder: Path) -> str:
    """Return the `UserSecretsId` of the project in a folder."""
    for pattern in _PROJECTS:
        for project in sorted(folder.glob(pattern)):
            try:
                with project.open("rb") as stream:
                    found = _ID.search(stream.read(_LARGEST).decode("utf-8", "replace"))
            except OSError:
                continue
            if found is not None and _FOLDER_NAME.fullmatch(found[1]):
                return found[1]
    reason = f"no project in {folder} has a UserSecretsId (dotnet user-secrets init)"
    raise OrgrestError(reason, code="no-secret")


def _folder(environ: Mapping[str, str]) -> Path:
    if roaming := environ.get("APPDATA"):
        return Path(roaming, "Microsoft", "UserSecrets")
    if home := environ.get("HOME"):
        return Path(home, ".microsoft", "usersecrets")
    raise OrgrestError("user secrets are below APPDATA or HOME; neither is set", code="no-secret")


def _flat(given: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the keys of a configuration, as `config:Key`, with their values as text."""
    for name, value in given.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}:")
        elif value is not None:
            yield f"{above}{name}", value if isinstance(value, str) else json.dumps(value)
