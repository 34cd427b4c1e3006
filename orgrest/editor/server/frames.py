"""Messages of a client taken apart from its bytes, also where one of them is broken.

Source: the Language Server Protocol, "Base Protocol". Names of header fields are read in any case;
bytes that are no message are passed over up to the next one, and are told of once.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygls.io_ import AsyncReader

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,9})[ \t]*\r?\n?\Z", re.IGNORECASE)
_FIELD = re.compile(rb"[!-9;-~]+[ \t]*:[^\r\n]*\r?\n?\Z")


class Frames:
    """What pygls reads from: the messages of `reader`, each below the one header that it knows.

    `broken` is called for bytes that are no message.
    """

    def __init__(self, reader: AsyncReader, broken: Callable[[], None]) -> None:
        """Read nothing yet."""
        self._reader = reader
        self._broken = broken
        self._next = b""

    async def readline(self) -> bytes:
        """Return a line of a message's header, b"" where the client has gone."""
        if self._next:
            line, self._next = self._next, b""
            return line
        length = await self._length()
        if not length:
            return b""
        self._next = b"\r\n"
        return b"Content-Length: %d\r\n" % length

    async def readexactly(self, count: int) -> bytes:
        """Return the bytes of a message."""
        return await self._reader.readexactly(count)

    async def _length(self) -> int:
        """Read a header; return the length that it tells, 0 at the end."""
        length, lost = 0, False
        while line := await self._reader.readline():
            found = _LENGTH.search(line)
            if found is not None:  # behind what was lost, too
                lost |= bool(length) or found.start() > 0
                length = int(found[1])
                if lost or not length:
                    self._broken()
                    lost = False
            elif not line.strip() and length:
                return length
            elif not lost and not _FIELD.match(line):
                if line.strip():
                    lost, length = True, 0
            elif line[:15].lower() == b"content-length:":
                lost = True
        if lost:
            self._broken()
        return 0
