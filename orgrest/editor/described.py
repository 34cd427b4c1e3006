"""The OpenAPI descriptions that documents name, for editors: each read again only if it changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from pathlib import Path

    from orgrest.description.model import Description
    from orgrest.http.values import Scope

LARGEST = 4 * 2**20
"""The size in bytes from which one is not read for an editor: typing waits for it."""
_MOST_KNOWN = 8
_TOO_LARGE = f"this description is larger than {LARGEST // 2**20} MiB: only runs read it"


class Described:
    """A cache of descriptions; one that cannot be read is None, and a run tells why."""

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int], Description | OrgrestError]] = {}

    def get(self, name: str, scope: Scope) -> Description | None:
        """Return the description in a file as a document names it, None if it cannot be read."""
        found = self.read(name, scope)
        return None if isinstance(found, OrgrestError) else found

    def read(self, name: str, scope: Scope) -> Description | OrgrestError:
        """Return the description in a file as a document names it, or why it cannot be read."""
        try:
            path = scope.locate(name)
            state = path.stat()
        except OrgrestError as error:
            return error
        except OSError as error:
            return OrgrestError(f"cannot read {name}: {error.strerror}")
        stamp = state.st_mtime_ns, state.st_size
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        found = _read(path, name) if state.st_size <= LARGEST else OrgrestError(_TOO_LARGE)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[path] = stamp, found
        return found


def _read(path: Path, name: str) -> Description | OrgrestError:
    from orgrest.description.model import Description
    from orgrest.files import read_bytes

    try:
        return Description.read(read_bytes(path), name)
    except OrgrestError as error:
        return error
