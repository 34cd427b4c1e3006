"""Reads a response from a socket within limits, and checks that its body is complete."""

from __future__ import annotations

import http.client
import io
import ssl
import time
import zlib
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

from urllib3.exceptions import DecodeError
from urllib3.response import GzipDecoderState

from orgrest import classes
from orgrest.http.transport.limits import FloodError, OverdueError
from orgrest.http.transport.wire import EVENTS, accept_encoding, show
from orgrest.installing import install_command
from orgrest.model import INTERRUPTED, Response, Timing, TransportError
from orgrest.regular import compiled

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    import urllib3

    from orgrest.http.transport.events import Listener
    from orgrest.http.transport.limits import Limits
    from orgrest.http.transport.wire import Url
    from orgrest.model import Certificate, Headers

PACKAGES = {"br": "brotli", "zstd": "backports.zstd", "gzip": "", "x-gzip": "", "deflate": ""}
"""The content codings that urllib3 supports, each with the package that it requires, or ""."""
WITHOUT_BODY = frozenset({204, 304})
"""The status codes of responses without a body (RFC 9112, section 6.3)."""
_BLANK = (b"\r\n", b"\n")
_LENGTH = compiled(r"0*[0-9]{1,18}")  # Python refuses to read a number of 5,000 digits
_CHUNK_SIZE = compiled(rb"([0-9A-Fa-f]+)[ \t]*(?:;[^\n]*)?\r?\n")
_FIELD = compiled(rb"([!-9;-~]+)([ \t]*):([^\r\n]*)\r?\n")
_FOLDED = compiled(rb"[ \t][^\r\n]*\r?\n")
_LONGEST_LINE = 65_536  # the limit of http.client
LARGEST_HEADER = 256 * 2**10
"""The maximum size of a response's header lines, in bytes."""
_FRAMING = frozenset(
    ("connection", "content-length", "keep-alive", "proxy-connection", "transfer-encoding")
)
"""The headers that http.client and urllib3 need to find the end of a response."""


@classes.define
class Opening:
    """The time that each phase of connecting took, in seconds, or None for a reused connection."""

    resolve: float | None = None
    connect: float | None = None
    tls: float | None = None


@classes.define(eq=False)
class ConnectionExchange:
    """One request on a connection, and the data that the connection records about it.

    `target` and `lines` are sent. Reading fails after the `deadline`, or if the response is larger
    than `budget` bytes. If `last` is set, the connection is closed after the response. If `public`
    is set, only connections to public addresses are allowed. `peer` is the server's address, or ""
    if a proxy is used.
    """

    lines: Headers
    target: str
    deadline: float
    budget: int
    last: bool = False
    public: bool = False
    peer: str = classes.field(default="", init=False)
    reused: bool = classes.field(default=False, init=False)
    opened: Opening = classes.field(init=False)
    began: float = classes.field(factory=time.monotonic, init=False)
    sent: float = classes.field(default=0.0, init=False)
    answered: float = classes.field(default=0.0, init=False)
    certificate: Certificate | None = classes.field(default=None, init=False)


class _LimitedSocket(io.RawIOBase):
    """Reads from a socket within the deadline and byte limit of an exchange.

    http.client gets it instead of the socket.
    """

    def __init__(self, sock: socket.socket, exchange: ConnectionExchange) -> None:
        self._raw = sock.makefile("rb", buffering=0)
        self._sock = sock
        self._silence = self._set = sock.gettimeout()
        self._exchange = exchange
        self._received = 0

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._exchange.deadline - time.monotonic()
        if left <= 0:
            raise OverdueError
        silence = left if self._silence is None else min(left, self._silence)
        if silence != self._set:
            self._sock.settimeout(silence)
            self._set = silence
        try:
            count = self._raw.readinto(buffer)
        except TimeoutError as error:
            if silence == left:
                raise OverdueError from error
            raise
        except ssl.SSLEOFError as error:
            # Servers often end a connection without ending TLS, which is accepted; but OpenSSL 3
            # gives no reason if the connection was reset, and the rest of the body may be lost.
            if error.reason is None and ssl.OPENSSL_VERSION_INFO >= (3,):
                raise ConnectionResetError from None
            cast("Any", self._sock).suppress_ragged_eofs = True  # for later reads
            count = 0
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
    """An http.client response that is read strictly, and within the limits of its exchange.

    `lines` are the header lines, and `fields` maps the lower-case name of each header to its
    values. Bytes that are not UTF-8 become lone surrogates. `codings` are transfer codings other
    than chunked. `spaced` is true if a header had whitespace before its colon.
    """

    def __init__(
        self, sock: socket.socket, *args: Any, exchange: ConnectionExchange, **options: Any
    ) -> None:
        super().__init__(cast("Any", _LimitedSocket(sock, exchange)), *args, **options)
        self.lines: Headers = ()
        self.fields: dict[str, list[str]] = {}
        self.codings: list[str] = []
        self.spaced = False
        self._last = exchange.last

    def begin(self) -> None:
        """Read the status line and the header lines. Interim responses (1xx) are skipped.

        Raises TransportError for malformed lines, which http.client would ignore.
        """
        this = cast("Any", self)
        status = 100
        while 100 <= status < 200 and status != 101:
            version, status, reason = this._read_status()
            if not (version.startswith("HTTP/1.") or version == "HTTP/0.9"):
                raise http.client.UnknownProtocol(version)
            self.lines = tuple(self._header_lines())
        self.code = self.status = status
        self.reason = reason.strip()
        self.version = 10 if version in ("HTTP/1.0", "HTTP/0.9") else 11
        self.headers = self.msg = http.client.HTTPMessage()
        for name, value in self.lines:
            lower = name.lower()
            self.fields.setdefault(lower, []).append(value)
            if lower in _FRAMING and value.isascii():
                self.headers.set_raw(name, value)
        self._read_codings()
        self.length = self._announced_length()
        if status in WITHOUT_BODY or status == 101 or this._method == "HEAD":
            self.length = 0
        endless = self.length is None and not self.chunked
        self.will_close = endless or self._last or status == 101 or this._check_close()

    def _header_lines(self) -> Iterator[tuple[str, str]]:
        """Read the lines up to a blank one, and return their names and values.

        Whitespace at the end of a value is not part of it (RFC 9110, section 5.5), and the lines of
        a folded value are joined by spaces (RFC 9112, section 5.2).
        """
        lines: list[tuple[bytes, bytearray]] = []
        left = LARGEST_HEADER
        while (line := self.fp.readline(left + 1)) not in _BLANK:
            left -= len(line)
            if left < 0:
                size = f"{LARGEST_HEADER // 2**10} KiB"
                raise TransportError(f"the response headers exceed {size}", code=INTERRUPTED)
            field = _FIELD.fullmatch(line)
            if field is not None:
                self.spaced = self.spaced or field[2] != b""
                lines.append((field[1], bytearray(field[3])))
            elif lines and _FOLDED.fullmatch(line):
                lines[-1][1].extend(b" " + line.strip())
            else:
                raise TransportError(_malformed(line), code=INTERRUPTED)
        return (
            (name.decode("ascii"), value.strip(b" \t").decode("utf-8", "surrogateescape"))
            for name, value in lines
        )

    def _announced_length(self) -> int | None:
        """Return Content-Length, which may be a list of equal numbers (RFC 9112, section 6.3).

        Returns None if it has no effect because of Transfer-Encoding. urllib3 raises an error for
        different numbers.
        """
        lengths: set[int] = set()
        for value in self.fields.get("content-length", ()):
            parts = [part.strip() for part in value.split(",")]
            if not all(map(_LENGTH.fullmatch, parts)):
                reason = f"invalid Content-Length in the response: {show(value)}"
                raise TransportError(reason, code=INTERRUPTED)
            lengths.update(map(int, parts))
        return lengths.pop() if lengths and not self.chunked and not self.codings else None

    def _get_chunk_left(self) -> int | None:
        if self.chunk_left == 0:  # at the end of a chunk, where http.client ignores two bytes
            if self.fp.read(2) != b"\r\n":
                raise http.client.IncompleteRead(b"")
            self.chunk_left = None
        return cast("int | None", super()._get_chunk_left())  # type: ignore[misc]  # private

    def _read_next_chunk_size(self) -> int:
        """Read a line with a chunk size, of which http.client also accepts only the beginning."""
        line = self.fp.readline(_LONGEST_LINE + 1)
        if len(line) > _LONGEST_LINE:
            raise http.client.LineTooLong("chunk size")
        size = _CHUNK_SIZE.fullmatch(line)
        if size is None:
            raise http.client.IncompleteRead(line)
        return int(size[1], 16)

    def _read_codings(self) -> None:
        """Read Transfer-Encoding, of which http.client supports only `chunked` (RFC 9112, 6.3)."""
        codings = _codings(self.fields, "transfer-encoding")
        self.chunk_left = None
        self.chunked = codings[-1:] == ["chunked"] and self.status not in WITHOUT_BODY
        if codings[-1:] == ["chunked"]:
            codings = [coding for coding in codings if coding != "chunked"]  # may be repeated
        if any(PACKAGES.get(coding) != "" for coding in codings):
            value = ",".join(self.fields["transfer-encoding"])
            reason = f"unsupported transfer coding in the response: {show(value)}"
            raise TransportError(reason, code=INTERRUPTED)
        self.codings = codings


def _malformed(line: bytes) -> str:
    if not line.endswith(b"\n"):
        return "the connection was closed before the response headers were complete"
    text = line.removesuffix(b"\n").removesuffix(b"\r")
    section = "2.2" if b"\r" in text or text[:1].isspace() else "5"
    shown = show(text.decode("utf-8", "surrogateescape"))
    return f"malformed header line in the response (RFC 9112, section {section}): {shown}"


def read(
    raw: urllib3.BaseHTTPResponse,
    exchange: ConnectionExchange,
    url: Url,
    listener: Listener | None,
    limits: Limits,
) -> Response:
    """Read a response, and at most `limits.body` bytes of its decoded body.

    A `listener` receives server-sent events. Raises TransportError or an error from urllib3 if the
    body is damaged or incomplete; `answer` then returns the response without a body.
    """
    original = cast("HttpResponse", cast("Any", raw)._original_response)
    encodings = _codings(original.fields, "content-encoding")
    codings = (*encodings, *original.codings)
    if codings:  # urllib3 decodes both kinds in reverse order, and takes unknown ones for deflate
        known = list(takewhile(_is_known, reversed(codings)))
        raw.headers["Content-Encoding"] = ", ".join(reversed(known))
    if original.codings:
        cast("Any", raw).length_remaining = None
    limit, why = limits.body, None
    [kind, *_] = original.fields.get("content-type", [""])
    if listener is not None and kind.lower().lstrip().startswith(EVENTS):
        why = listener.read_events(raw)
        body = bytes(listener.body)
    else:
        body = raw.read(limit + 1)
    truncated, decoder = len(body) > limit, cast("Any", raw)._decoder
    if truncated:
        raw.close()
    elif why is None and decoder is not None and raw.tell() and _is_cut_short(decoder):
        coding = show(raw.headers["Content-Encoding"])
        reason = f"the body is truncated: its {coding} data is incomplete"
        raise TransportError(reason, code=INTERRUPTED)
    warnings = (*_oddities(original, encodings), *(() if why is None else (why,)))
    return answer(raw, exchange, url, body[:limit], truncated=truncated, warnings=warnings)


def answer(
    raw: urllib3.BaseHTTPResponse,
    exchange: ConnectionExchange,
    url: Url,
    body: bytes = b"",
    *,
    truncated: bool = True,
    warnings: tuple[str, ...] = (),
) -> Response:
    """Return a response with the part of its body that was read."""
    original = cast("HttpResponse", cast("Any", raw)._original_response)
    opened, end = exchange.opened, time.monotonic()
    wait = max(0.0, exchange.answered - exchange.sent)
    return Response(
        status=original.status,
        reason=original.reason.encode("latin-1").decode("utf-8", "surrogateescape"),
        version="1.0" if original.version == 10 else "1.1",
        headers=original.lines,
        body=body,
        duration=end - exchange.began,
        url=url.text,
        truncated=truncated,
        warnings=warnings,
        timing=Timing(opened.resolve, opened.connect, opened.tls, wait, end - exchange.answered),
        certificate=exchange.certificate,
    )


def _codings(fields: dict[str, list[str]], name: str) -> list[str]:
    """Return the codings that the headers with this lower-case name list, in lower case."""
    codings = (part.strip().lower() for value in fields.get(name, ()) for part in value.split(","))
    return [coding for coding in codings if coding not in ("", "identity")]


def _is_known(coding: str) -> bool:
    package = PACKAGES.get(coding)
    return package == "" or (package is not None and coding in accept_encoding())


def _is_cut_short(decoder: Any) -> bool:
    """Return whether a decoder still expects data, which urllib3 does not report.

    Raises DecodeError if a later gzip member is damaged, which urllib3 ignores.
    """
    if hasattr(decoder, "_decoders"):  # for several codings
        return any(_is_cut_short(inner_decoder) for inner_decoder in decoder._decoders)
    inner = getattr(decoder, "_obj", None)
    if inner is None:  # an unknown version of urllib3: assume that the data is complete
        return False
    if hasattr(inner, "is_finished"):  # a decoder of brotli
        return not inner.is_finished()
    if inner.eof:
        return False
    state = getattr(decoder, "_state", GzipDecoderState.FIRST_MEMBER)
    if state == GzipDecoderState.FIRST_MEMBER:
        return True
    # Garbage after the first member is accepted; zlib detects it from its second byte on.
    try:
        inner.copy().decompress(b"\0")
    except zlib.error as error:
        if "incorrect header check" in str(error):
            return False
        if state == GzipDecoderState.SWALLOW_DATA:
            raise DecodeError(str(error)) from error
    return True


def _oddities(response: HttpResponse, encodings: list[str]) -> Iterator[str]:
    """Yield warnings about the header of a response, which lists the content `encodings`."""
    if response.spaced:
        yield (
            "removed whitespace between the name of a header and the colon (RFC 9112, section 5.1)"
        )
    fields = response.fields
    [announced, *_] = fields.get("content-length", ["0"])
    if response.status == 204 and (announced.strip("0") or "transfer-encoding" in fields):
        yield (
            "the response announces a body, which is not allowed with status 204: it was not read"
        )
    for coding in encodings:
        if _is_known(coding):
            continue
        package = PACKAGES.get(coding)
        hint = f": {install_command(package)}" if package else ""
        yield f"the body is still encoded: unknown encoding {show(coding)}{hint}"
