"""Reads a response within limits: the socket's input, the body, and whether it is complete."""

from __future__ import annotations

import http.client
import io
import time
import zlib
from typing import TYPE_CHECKING, Any, cast

import attrs
from urllib3.response import GzipDecoderState

from orgrest.http.transport.wire import EVENTS, accept_encoding, show
from orgrest.installing import install_command
from orgrest.model import Response, Timing, TransportError

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    import urllib3

    from orgrest.http.transport.events import Listener
    from orgrest.http.transport.limits import Limits
    from orgrest.http.transport.wire import Url
    from orgrest.model import Certificate, Headers

DAMAGED_CHUNKS = "the response ends inside a chunk, or its chunks are damaged"
PACKAGES = {"br": "brotli", "zstd": "backports.zstd", "gzip": "", "x-gzip": "", "deflate": ""}
"""The codings that urllib3 supports, each with the package that it needs, "" for none."""
WITHOUT_BODY = frozenset({204, 304})
"""The statuses of responses that end with their header (RFC 9112, section 6.3)."""


@attrs.define
class Opening:
    """The seconds that the phases of connecting took; None for a reused connection."""

    resolve: float | None = None
    connect: float | None = None
    tls: float | None = None


@attrs.define(eq=False)
class Exchange:
    """One request on a connection: its inputs, and the connection's records about it.

    `target` and `lines` are sent. Reading the response fails at the `deadline`, and after `budget`
    bytes; with `last` the connection is closed after it. With `public`, only public addresses are
    connected to. `peer` is the address connected to, "" through a proxy.
    """

    lines: Headers
    target: str
    deadline: float
    budget: int
    last: bool = False
    public: bool = False
    peer: str = attrs.field(default="", init=False)
    reused: bool = attrs.field(default=False, init=False)
    opened: Opening = attrs.field(init=False)
    began: float = attrs.field(factory=time.monotonic, init=False)
    sent: float = attrs.field(default=0.0, init=False)
    answered: float = attrs.field(default=0.0, init=False)
    certificate: Certificate | None = attrs.field(default=None, init=False)


class OverdueError(TimeoutError):
    """The whole exchange took too long."""


class FloodError(OSError):
    """The server keeps sending bytes that never form a body."""


class _LimitedReader(io.RawIOBase):
    """A socket's input until a deadline and up to a number of bytes."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, exchange: Exchange) -> None:
        self._raw = raw
        self._sock = sock
        self._silence = sock.gettimeout()
        self._exchange = exchange
        self._received = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._exchange.deadline - time.monotonic()
        if left <= 0:
            raise OverdueError
        silence = left if self._silence is None else min(left, self._silence)
        self._sock.settimeout(silence)
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError as error:
            if silence == left:
                raise OverdueError from error
            raise
        if not self._received:
            self._exchange.answered = time.monotonic()
        self._received += count or 0
        if self._received > self._exchange.budget:
            raise FloodError
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class HttpResponse(http.client.HTTPResponse):
    """http.client's response, read within limits; interim responses (1xx) are skipped."""

    def __init__(self, sock: socket.socket, *args: Any, exchange: Exchange, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        raw = self.fp.detach()
        self.fp = io.BufferedReader(_LimitedReader(raw, sock, exchange))
        self._last = exchange.last

    def begin(self) -> None:
        """Read the response's header."""
        super().begin()
        while 100 <= self.status < 200 and self.status != 101:
            self.headers = cast("http.client.HTTPMessage", None)  # the initial value for begin()
            super().begin()
        for length in self.headers.get_all("Content-Length", []):
            if not all(
                part.strip().isascii() and part.strip().isdigit() for part in length.split(",")
            ):
                raise TransportError(f"the response's Content-Length is no length: {show(length)}")
        if self._last or self.status == 101:
            self.will_close = True


def read(
    raw: urllib3.BaseHTTPResponse,
    exchange: Exchange,
    url: Url,
    listener: Listener | None,
    limits: Limits,
) -> Response:
    """Read a response, with a limit on its decoded body; a `listener` gets its events."""
    original = cast("http.client.HTTPResponse", cast("Any", raw)._original_response)
    if raw.status in WITHOUT_BODY:
        original.chunked = False  # else http.client waits for chunks
    limit, why = limits.body, None
    try:
        kind = str(original.headers.get("Content-Type", ""))
        if listener is not None and kind.lower().lstrip().startswith(EVENTS):
            why = listener.read_events(raw)
            body = bytes(listener.body)
        else:
            body = raw.read(limit + 1)
    except ValueError as error:  # http.client's word for a chunk of negative size
        raw.close()
        raise TransportError(DAMAGED_CHUNKS) from error
    truncated, decoder = len(body) > limit, cast("Any", raw)._decoder
    if truncated:
        raw.close()
    elif why is None and decoder is not None and raw.tell() and _is_cut_short(decoder):
        coding = show(raw.headers["Content-Encoding"])
        raise TransportError(f"the body is cut short: its {coding} data never comes to an end")
    opened, end = exchange.opened, time.monotonic()
    wait = max(0.0, exchange.answered - exchange.sent)
    return Response(
        status=raw.status,
        reason=_text(original.reason),
        version="1.0" if original.version == 10 else "1.1",
        headers=tuple((_text(n), _text(v)) for n, v in original.headers.items()),
        body=body[:limit],
        duration=end - exchange.began,
        url=url.text,
        truncated=truncated,
        warnings=(*_oddities(original), *(() if why is None else (why,))),
        timing=Timing(opened.resolve, opened.connect, opened.tls, wait, end - exchange.answered),
        certificate=exchange.certificate,
    )


def _text(latin: str) -> str:
    """Convert text that http.client decoded as Latin-1 to UTF-8, with other bytes escaped."""
    return latin.encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def _is_cut_short(decoder: Any) -> bool:
    """Return whether one of urllib3's decoders expects more data, which they do not report."""
    if hasattr(decoder, "_decoders"):  # for several codings
        return any(_is_cut_short(one) for one in decoder._decoders)
    inner = getattr(decoder, "_obj", None)
    if inner is None:  # an unknown version of urllib3: assume completeness
        return False
    if hasattr(inner, "is_finished"):  # brotli's
        return not inner.is_finished()
    if inner.eof:
        return False
    state = getattr(decoder, "_state", GzipDecoderState.FIRST_MEMBER)
    if state == GzipDecoderState.OTHER_MEMBERS:
        # Garbage after the first member is accepted; zlib detects it from its second byte on.
        try:
            inner.copy().decompress(b"\0")
        except zlib.error as error:
            return "incorrect header check" not in str(error)
    return bool(state != GzipDecoderState.SWALLOW_DATA)


def _oddities(response: http.client.HTTPResponse) -> Iterator[str]:
    """Return warnings about a response's header."""
    if response.headers.defects:
        yield "the response's header holds a line that is none; the lines below it are lost"
    announced = response.headers.get("Content-Length", "0").strip("0")
    if response.status == 204 and (announced or "Transfer-Encoding" in response.headers):
        yield "the response announces a body, which one with status 204 never has: it is not read"
    codings = response.headers.get("Content-Encoding", "")
    for coding in filter(None, (part.strip().lower() for part in codings.split(","))):
        package = PACKAGES.get(coding)
        if coding == "identity" or package == "" or (package and coding in accept_encoding()):
            continue
        hint = f": {install_command(package)}" if package else ""
        yield f"the body is still encoded as {show(coding)}, which is not understood{hint}"
