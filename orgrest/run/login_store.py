"""Logins that outlive a run: permissions in files, tokens in the keychain.

Each login has a separate file in `$XDG_CACHE_HOME/orgrest/logins` (`~/.cache/orgrest/logins`): its
server and client, the documents that may use it, and where these may send its token. Only the user
may read it. The tokens are in the system's keychain, by `keyring`, if that is installed and has a
keychain. Otherwise nothing is kept: encryption with a key stored next to the file protects nothing.

`ORGREST_LOGINS` is `off`, or names a folder: its files then contain the tokens, too, unencrypted.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from orgrest.files import FileError, write_private
from orgrest.installing import install_command
from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "ORGREST_LOGINS"
FORMAT = 1
_SERVICE = "orgrest login"
_NAME = re.compile(r"[0-9a-f]{32}\.json")
_LARGEST = 2**20
_PATIENCE = 60.0  # seconds for another process to refresh a login
_PAUSE = 0.05


class LoginStore:
    """The kept logins by their keys, 32 hexadecimal digits each; `keychain` stores their tokens.

    Without a keychain, the tokens are in the files. Unreadable logins count as missing.
    """

    def __init__(self, folder: Path, keychain: Any | None) -> None:
        self._folder = folder
        self._keychain = keychain

    @classmethod
    def of_user(cls) -> LoginStore | None:
        """Return the store of this process's user; None if it is turned off.

        Raises OrgrestError if there is no keychain, or the configured folder is not absolute.
        """
        given = os.environ.get(VARIABLE, "")
        if given == "off":
            return None
        if given:
            if not Path(given).is_absolute():
                raise OrgrestError(f"{VARIABLE} is `off` or an absolute path, not {given}")
            return cls(Path(given), None)
        keychain = _keychain()
        if keychain is None:
            reason = f"there is no keychain (`{install_command('keyring')}` uses the system's)"
            raise OrgrestError(f"{reason}; with {VARIABLE}=FOLDER, a file there has the tokens")
        return cls(_default_folder(), keychain)

    def read(self, key: str) -> dict[str, Any] | None:
        """Return a kept login, with its `token` if there is one; None if it is not kept."""
        try:
            with (self._folder / f"{key}.json").open("rb") as stream:
                found = json.loads(stream.read(_LARGEST))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or found.pop("login", None) != FORMAT:
            return None
        if self._keychain is not None:
            found["token"] = self._secret(key)
        return found

    def write(self, key: str, login: dict[str, Any]) -> None:
        """Store a login. Raises OrgrestError if that fails; its token is then not stored."""
        told = {"login": FORMAT, **login}
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._keychain is not None:
                token = json.dumps(told.pop("token"))
                self._keychain.set_password(_SERVICE, key, token)
            data = json.dumps(told, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass")
            write_private(self._folder / f"{key}.json", data)
        except FileError:
            raise
        except OSError as error:
            raise OrgrestError(f"{self._folder}: {error.strerror or error}") from None
        except Exception as error:  # keychain modules raise exceptions of any type
            raise OrgrestError(f"the keychain refuses: {error}") from None

    @contextlib.contextmanager
    def locked(self, key: str) -> Iterator[None]:
        """A context in which no other process refreshes a login.

        It is entered without the lock if there are no locks (on Windows, and some file systems) or
        if another process holds the lock for more than a minute.
        """
        try:
            import fcntl

            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
            number = os.open(self._folder / f"{key}.lock", flags, 0o600)
        except (ImportError, OSError):
            yield
            return
        try:
            end = time.monotonic() + _PATIENCE
            while time.monotonic() < end:
                try:
                    fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    time.sleep(_PAUSE)
                except OSError:
                    break
            yield
        finally:
            os.close(number)

    def remove(self, key: str) -> None:
        """Forget a login. Raises OrgrestError if its token may still be there."""
        if self._keychain is not None:
            try:
                if self._keychain.get_password(_SERVICE, key) is not None:
                    self._keychain.delete_password(_SERVICE, key)
            except Exception as error:
                raise OrgrestError(f"the keychain refuses: {error}") from None
        try:
            for kind in ("json", "lock"):
                (self._folder / f"{key}.{kind}").unlink(missing_ok=True)
        except OSError as error:
            raise OrgrestError(f"{self._folder}: {error.strerror or error}") from None

    def all(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the kept logins with their keys."""
        try:
            files = sorted(self._folder.iterdir())
        except OSError:
            return
        for file in files:
            if _NAME.fullmatch(file.name) and (found := self.read(file.stem)) is not None:
                yield file.stem, found

    def _secret(self, key: str) -> Any:
        try:
            given = self._keychain.get_password(_SERVICE, key)  # type: ignore[union-attr]  # as asked before
            return None if given is None else json.loads(given)
        except Exception:  # locked, or not ours
            return None


def _default_folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME", "")
    try:
        base = Path(cache) if Path(cache).is_absolute() else Path.home() / ".cache"
    except RuntimeError as error:
        raise OrgrestError(str(error)) from None
    return base / "orgrest" / "logins"


def _keychain() -> Any | None:
    """Return the system's keychain, or the one configured in keyring; None if there is neither."""
    try:
        from keyring import core

        core.init_backend(limit=core.recommended)
        found = core.get_keyring()
        return found if found.priority > 0 else None
    except Exception:  # not installed, or chosen and not there
        return None
