"""Splits a client's byte stream into messages, and recovers after a malformed one.

Source: the Language Server Protocol, "Base Protocol". Header field names are case-insensitive.
Bytes that are not a message are skipped up to the next one and reported once.
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
    """The stream that pygls reads: each message of `reader` with only a Content-Length header.

    `broken` is called once for each run of bytes that are not a message.
    """

    def __init__(self, reader: AsyncReader, broken: Callable[[], None]) -> None:
        """Wrap `reader`; reads nothing yet."""
        self._reader = reader
        self._broken = broken
        self._next = b""

    async def readline(self) -> bytes:
        """Return the next line of a message's header, b"" once the client has disconnected."""
        if self._next:
            line, self._next = self._next, b""
            return line
        length = await self._length()
        if not length:
            return b""
        self._next = b"\r\n"
        return b"Content-Length: %d\r\n" % length

    async def readexactly(self, count: int) -> bytes:
        """Return a message's body of `count` bytes."""
        return await self._reader.readexactly(count)

    async def _length(self) -> int:
        """Read a header; return its content length, 0 at the end of the stream."""
        length, lost = 0, False
        while line := await self._reader.readline():
            found = _LENGTH.search(line)
            if found is not None:  # also after skipped bytes
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
