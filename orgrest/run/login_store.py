"""Stores logins for later runs: permissions in files, tokens in the keychain.

Each login has a separate file in `$XDG_CACHE_HOME/orgrest/logins` (`~/.cache/orgrest/logins`). It
contains the server, the client, and the documents that may use the login, each with the
destinations of the token. Only the user may read the file. `keyring` stores the tokens in the
system's keychain. If `keyring` is not installed or finds no keychain, nothing is stored: it would
be pointless to encrypt the tokens with a key that is stored next to them.

If the environment variable `ORGREST_LOGINS` is `off`, nothing is stored. If it is a folder's path,
files in that folder contain the logins and their tokens, unencrypted.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orgrest.files import FileError, locked, user_folder, write
from orgrest.installing import install_command
from orgrest.model import OrgrestError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager

VARIABLE = "ORGREST_LOGINS"
FORMAT = 1
_SERVICE = "orgrest login"
_NAME = compiled(r"[0-9a-f]{32}\.json")
_LARGEST = 2**20
_PATIENCE = 60.0  # seconds to wait while another process refreshes a login


class LoginStore:
    """The stored logins, each with a key of 32 hexadecimal digits.

    `keychain` stores the tokens. If it is None, the files in `folder` contain the tokens. A login
    that cannot be read counts as missing.
    """

    def __init__(self, folder: Path, keychain: Any | None) -> None:
        self._folder = folder
        self._keychain = keychain

    @classmethod
    def of_user(cls) -> LoginStore | None:
        """Return the current user's login store, or None if it is turned off.

        Raises OrgrestError if there is no keychain, or if `ORGREST_LOGINS` is a relative path.
        """
        configured = os.environ.get(VARIABLE, "")
        if configured == "off":
            return None
        if configured:
            if not Path(configured).is_absolute():
                raise OrgrestError(
                    f"{VARIABLE} must be `off` or an absolute path, found {configured}"
                )
            return cls(Path(configured), None)
        keychain = _keychain()
        if keychain is None:
            install = install_command("keyring")
            reason = f"no keychain is available (to use the system's keychain, run `{install}`)"
            raise OrgrestError(f"{reason}; to store tokens in files instead, set {VARIABLE}=FOLDER")
        try:
            return cls(user_folder("cache") / "logins", keychain)
        except RuntimeError as error:
            raise OrgrestError(str(error)) from None

    def read(self, key: str) -> dict[str, Any] | None:
        """Return the login stored under `key`, including its `token`, or None if it is missing."""
        try:
            with (self._folder / f"{key}.json").open("rb") as stream:
                login = json.loads(stream.read(_LARGEST))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(login, dict) or login.pop("login", None) != FORMAT:
            return None
        if self._keychain is not None:
            login["token"] = self._secret(key)
        return login

    def write(self, key: str, login: dict[str, Any]) -> None:
        """Store a login under `key`.

        Raises OrgrestError if that fails. The keychain may contain the new token even if the file
        could not be written.
        """
        stored = {"login": FORMAT, **login}
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._keychain is not None:
                token = json.dumps(stored.pop("token"))
                self._keychain.set_password(_SERVICE, key, token)
            data = json.dumps(stored, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
            write(self._folder / f"{key}.json", data, private=True)
        except FileError:
            raise
        except OSError as error:
            raise OrgrestError(f"{self._folder}: {error.strerror or error}") from None
        except Exception as error:  # keychain modules raise exceptions of any type
            raise OrgrestError(f"the keychain reported an error: {error}") from None

    def locked(self, key: str) -> AbstractContextManager[None]:
        """Return a context manager that prevents other processes from refreshing the login.

        It locks nothing on systems without file locks (Windows, some file systems), or if another
        process holds the lock for more than a minute.
        """
        return locked(self._folder / f"{key}.lock", seconds=_PATIENCE, create=True)

    def remove(self, key: str) -> None:
        """Remove a login.

        Raises OrgrestError if that fails. In that case, the login's token may still exist.
        """
        if self._keychain is not None:
            try:
                if self._keychain.get_password(_SERVICE, key) is not None:
                    self._keychain.delete_password(_SERVICE, key)
            except Exception as error:
                raise OrgrestError(f"the keychain reported an error: {error}") from None
        try:
            for kind in ("json", "lock"):
                (self._folder / f"{key}.{kind}").unlink(missing_ok=True)
        except OSError as error:
            raise OrgrestError(f"{self._folder}: {error.strerror or error}") from None

    def all(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield all stored logins as (key, login) pairs."""
        try:
            files = sorted(self._folder.iterdir())
        except OSError:
            return
        for file in files:
            if _NAME.fullmatch(file.name) and (login := self.read(file.stem)) is not None:
                yield file.stem, login

    def _secret(self, key: str) -> Any:
        try:
            stored = self._keychain.get_password(_SERVICE, key)  # type: ignore[union-attr]  # checked by the caller
            return None if stored is None else json.loads(stored)
        except Exception:  # the keychain is locked, or the entry is another program's
            return None


def _keychain() -> Any | None:
    try:
        from keyring import core

        core.init_backend(limit=core.recommended)
        keychain = core.get_keyring()
        return keychain if keychain.priority > 0 else None
    except Exception:  # keyring is not installed, or the configured keychain does not exist
        return None
