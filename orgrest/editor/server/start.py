"""Starts the language server on standard input and output or on a TCP port.

The bytes from a client are split into messages here, so that the server can recover from malformed
messages. Bytes between messages are skipped and reported once. The names of header fields are
case-insensitive. Source: the Language Server Protocol, "Base Protocol".
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import re
import signal
import sys
import threading
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.io_ import StdinAsyncReader, StdoutWriter, run_async

from orgrest.editor.server.features.table import make_server
from orgrest.editor.server.lifetime import remove_leftovers
from orgrest.rendering.sanitize import visible

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygls.io_ import AsyncReader

    from orgrest.editor.server.server import Server

_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,9})[ \t]*\r?\n?\Z", re.IGNORECASE)
_FIELD = re.compile(rb"[!-9;-~]+[ \t]*:[^\r\n]*\r?\n?\Z")
_LONG = 200
"""The maximum length of each of the two texts in a log line, in characters."""


def _favour_typing() -> None:
    """Switch threads often and collect garbage rarely, for fast responses while a user types."""
    sys.setswitchinterval(0.0005)
    # A full collection of a long document's analysis is slow. Analyses have no reference cycles.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


class _OneLine(logging.Formatter):
    """Formats log records as single lines without tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the first line of a message, then the exception or else the last line.

        Both parts are truncated to `_LONG` characters.
        """
        first, *more = record.getMessage().strip().splitlines() or [""]
        error = record.exc_info[1] if record.exc_info else None
        last = str(error) if error is not None else more[-1] if more else ""
        shortened = (x if len(x) <= _LONG else f"{x[:_LONG]}..." for x in (first, last) if x)
        return visible(f"orgrest: {': '.join(shortened)}", one_line=True)


def _log_in_short() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])


def _clean_up_when_ended(server: Server) -> None:
    def end(number: int, _: object) -> None:
        server.stop()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)  # an exit would wait for the thread that reads input

    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), end)


class _Frames:
    """Passes the messages from `reader` to pygls, each with only a Content-Length header.

    `broken` is called once for each sequence of bytes between messages.
    """

    def __init__(self, reader: AsyncReader, broken: Callable[[], None]) -> None:
        """Wrap `reader` without reading from it yet."""
        self._reader = reader
        self._broken = broken
        self._next = b""

    async def readline(self) -> bytes:
        """Return the next line of a header, or b"" once the client has disconnected."""
        if self._next:
            line, self._next = self._next, b""
            return line
        length = await self._length()
        if not length:
            return b""
        self._next = b"\r\n"
        return b"Content-Length: %d\r\n" % length

    async def readexactly(self, count: int) -> bytes:
        return await self._reader.readexactly(count)

    async def _length(self) -> int:
        """Read a header. Return the length of the message's body, or 0 if the stream ends."""
        length, lost = 0, False
        while line := await self._reader.readline():
            match = _LENGTH.search(line)
            if match is not None:  # also after skipped bytes
                lost |= bool(length) or match.start() > 0
                length = int(match[1])
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


def serve_stdio() -> int:
    """Serve the client on standard input and output, and return the exit status."""
    server = make_server()
    remove_leftovers()
    _favour_typing()
    _log_in_short()
    _clean_up_when_ended(server)
    server.protocol.set_writer(StdoutWriter(sys.stdout.buffer))
    try:
        with contextlib.suppress(BrokenPipeError, KeyboardInterrupt, SystemExit):
            asyncio.run(_serve(server, StdinAsyncReader(sys.stdin.buffer, server.thread_pool)))
    finally:
        server.stop()
        server.shutdown()  # type: ignore[no-untyped-call]  # pygls' own
    return 0 if server.protocol.ended_well else 1


def serve_tcp(host: str, port: int, announce: Callable[[int], None]) -> int:
    """Serve the first client that connects over TCP, and return the exit status.

    If `port` is 0, the system chooses a port. `announce` is called with the port. Raises OSError if
    the server cannot listen on the address.
    """
    server = make_server()
    _favour_typing()
    _log_in_short()
    _clean_up_when_ended(server)
    try:
        with contextlib.suppress(SystemExit, KeyboardInterrupt):
            asyncio.run(_serve_one(server, host, port, announce))
    finally:
        server.stop()
    return 0 if server.protocol.ended_well else 1


async def _serve_one(server: Server, host: str, port: int, announce: Callable[[int], None]) -> None:
    connected: asyncio.Future[tuple[asyncio.StreamReader, asyncio.StreamWriter]]
    connected = asyncio.get_running_loop().create_future()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connected.done():
            writer.close()
        else:
            connected.set_result((reader, writer))

    listener = await asyncio.start_server(accept, host, port)
    announce(listener.sockets[0].getsockname()[1])
    reader, writer = await connected
    listener.close()
    server.protocol.set_writer(writer)
    with contextlib.suppress(OSError, EOFError, ValueError):  # disconnected, or not LSP
        await _serve(server, reader)
    writer.close()


async def _serve(server: Server, reader: AsyncReader) -> None:
    def broken() -> None:
        server.protocol.refuse(
            types.ErrorCodes.ParseError, "not a language server message: invalid bytes"
        )

    await run_async(
        stop_event=threading.Event(),
        reader=_Frames(reader, broken),
        protocol=server.protocol,
        error_handler=server.report_server_error,
    )
