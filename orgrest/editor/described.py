"""The OpenAPI descriptions of documents, for editors: each read again only if it changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from orgrest.model import OrgrestError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orgrest.description.model import Description
    from orgrest.description.nodes import Stamp
    from orgrest.http.values import Context

LARGEST = 4 * 2**20
"""The size in bytes from which one is not read for an editor: typing waits for it."""
LARGEST_BESIDE = 2**19
"""The size of one that nobody asked for."""
_MOST_KNOWN = 16
_TOO_LARGE = f"this description is larger than {LARGEST // 2**20} MiB: only runs read it"


class Described:
    """A cache of descriptions; one that cannot be read is None, and a run tells why.

    With `found_beside`, those count, too, that a document does not name but that are beside it.
    """

    def __init__(self) -> None:
        self.found_beside = True
        self._known: dict[Path, tuple[Stamp, Description | OrgrestError]] = {}

    def get(self, name: str, context: Context) -> Description | None:
        """Return the description in a file as a document names it, None if it cannot be read."""
        found = self.read(name, context)
        return None if isinstance(found, OrgrestError) else found

    def read(
        self, name: str, context: Context, largest: int | None = None
    ) -> Description | OrgrestError:
        """Return the description in a file as a document names it, or why it cannot be read."""
        from orgrest.description.nodes import stamp

        largest = LARGEST if largest is None else largest
        try:
            path = context.locate(name)
        except OrgrestError as error:
            return error
        now = stamp(path)
        known = self._known.get(path)
        if known is not None and known[0] == now and _is_current(known[1]):
            return known[1]
        is_small = now is not None and now[1] <= largest
        found = _read(path, name, context, largest) if is_small else OrgrestError(_TOO_LARGE)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[path] = now, found
        return found

    def beside(self, context: Context) -> Iterator[Description]:
        """Yield the descriptions beside a document that can be read."""
        if not self.found_beside:
            return
        from orgrest.description.beside import beside

        for path in beside(context.directory):
            found = self.read(os.path.relpath(path, context.directory), context, LARGEST_BESIDE)
            if not isinstance(found, OrgrestError):
                yield found


def _is_current(given: Description | OrgrestError) -> bool:
    """Tell whether none of the files to which a description refers has changed."""
    from orgrest.description.nodes import stamp

    if isinstance(given, OrgrestError):
        return True
    return all(stamp(path) == known for path, known in given.documents.looked_at.items())


def _read(path: Path, name: str, context: Context, largest: int) -> Description | OrgrestError:
    from orgrest.description.files import read

    try:
        return read(path, name, context.locate, largest)
    except OrgrestError as error:
        return error
