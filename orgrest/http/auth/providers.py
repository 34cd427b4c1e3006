"""Reads the .NET user secrets that Visual Studio environments refer to.

    "key": {"provider": "AspnetUserSecrets", "secretName": "config:Key"}

User secrets are in a file `secrets.json` below the user's home. Its folder is named after the
`UserSecretsId` of the project in the environment file's folder. Other providers (`AzureKeyVault`,
`Encrypted`) are not supported.

Sources: Microsoft's pages "Use .http files" and "Safe storage of app secrets in development", and
.NET's `PathHelper`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from orgrest.model import OrgrestError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PROVIDERS: Final = frozenset({"aspnetusersecrets", "azurekeyvault", "encrypted"})
_PROJECTS = ("*.csproj", "*.fsproj", "*.vbproj", "Directory.Build.props")
_ID = compiled(r"<UserSecretsId>\s*([^<>]*?)\s*</UserSecretsId>")
_FOLDER_NAME = compiled(r"[\w-][\w.-]{0,200}")
_LARGEST = 2**20


def is_provided(value: Mapping[str, Any]) -> bool:
    """Return whether an object in an environment refers to a secret that a provider supplies."""
    provider = value.get("provider")
    is_supported = isinstance(provider, str) and provider.lower() in PROVIDERS
    return is_supported or (provider is not None and "secretName" in value)


def secret(
    text: str, file: Path, environ: Mapping[str, str], read: Callable[[Path], Mapping[str, Any]]
) -> str:
    """Return the secret that an object in an environment file refers to.

    `text` is the object as JSON, `file` is the environment file, and `read` parses a JSON file.
    Raises OrgrestError if the provider is not supported, or has no such secret.
    """
    reference = json.loads(text)
    provider, name = reference["provider"], reference.get("secretName")
    if str(provider).lower() != "aspnetusersecrets":
        reason = f"the provider {provider} is not supported (only AspnetUserSecrets is)"
        raise OrgrestError(reason, file=str(file), code="no-secret")
    if not isinstance(name, str) or not name:
        reason = f"the provider {provider} requires a secretName"
        raise OrgrestError(reason, file=str(file), code="no-secret")
    identity = _user_secrets_id(file.parent)
    secrets = _folder(environ) / identity / "secrets.json"
    for key, value in _flat(read(secrets)):
        if key.lower() == name.lower():  # .NET ignores case in keys
            return value
    reason = (
        f"no user secret {name} in the project {identity} (list them with dotnet user-secrets list)"
    )
    raise OrgrestError(reason, file=str(file), code="no-secret")


def _user_secrets_id(folder: Path) -> str:
    for pattern in _PROJECTS:
        for project in sorted(folder.glob(pattern)):
            try:
                with project.open("rb") as stream:
                    match = _ID.search(stream.read(_LARGEST).decode("utf-8", "replace"))
            except OSError:
                continue
            if match is not None and _FOLDER_NAME.fullmatch(match[1]):
                return match[1]
    reason = (
        f"no project in {folder} has a UserSecretsId (create one with dotnet user-secrets init)"
    )
    raise OrgrestError(reason, code="no-secret")


def _folder(environ: Mapping[str, str]) -> Path:
    if roaming := environ.get("APPDATA"):
        return Path(roaming, "Microsoft", "UserSecrets")
    if home := environ.get("HOME"):
        return Path(home, ".microsoft", "usersecrets")
    raise OrgrestError(
        "could not find the user secrets: neither APPDATA nor HOME is set", code="no-secret"
    )


def _flat(configuration: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in configuration.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{above}{name}:")
        elif value is not None:
            yield f"{above}{name}", value if isinstance(value, str) else json.dumps(value)
