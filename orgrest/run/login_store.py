"""Logins that outlive a run: what a person allowed is in a file, their tokens in the keychain.

Each login has a file of its own in `$XDG_CACHE_HOME/orgrest/logins` (`~/.cache/orgrest/logins`): of
which server and client it is, which documents may use it, and where these may send its token. Only
the user may read it. The tokens are in the system's keychain, by `keyring`, if that is installed
and has one. Else nothing is kept: a file encrypted with a key that lies beside it hides nothing.

`ORGREST_LOGINS` is `off`, or names a folder: then the tokens are in its files, too, as they are.
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
    """The kept logins by their keys, 32 hexadecimal digits each; `keychain` keeps their tokens.

    Without that, the tokens stand in the files. What cannot be read counts as not kept.
    """

    def __init__(self, folder: Path, keychain: Any | None) -> None:
        self._folder = folder
        self._keychain = keychain

    @classmethod
    def of_user(cls) -> LoginStore | None:
        """Return that of this process's user, None if they want none.

        Raises OrgrestError if there is no place for one.
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
        """Return what is kept of a login, with its `token` if there is one; None if nothing is."""
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
        """Keep a login. Raises OrgrestError if that fails: then nothing of its token is kept."""
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
        except Exception as error:  # whatever a keychain's module raises
            raise OrgrestError(f"the keychain refuses: {error}") from None

    @contextlib.contextmanager
    def locked(self, key: str) -> Iterator[None]:
        """A context in which no other process refreshes a login.

        Without locks (on Windows, and some file systems), and where another process holds it for
        more than a minute, it goes on.
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
    """Return the system's keychain, or what the user chose for it in keyring; None without one."""
    try:
        from keyring import core

        core.init_backend(limit=core.recommended)
        found = core.get_keyring()
        return found if found.priority > 0 else None
    except Exception:  # not installed, or chosen and not there
        return None
