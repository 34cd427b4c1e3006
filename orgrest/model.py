"""What orgrest's modules hand to each other: places in a file, requests, responses, errors.

Nothing here does anything: the classes are frozen, compare by value, and import nothing of ours, so
that every other module can name them. Text that may have held bytes outside UTF-8 carries them as
surrogate escapes (PEP 383); `to_bytes` gives those bytes back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from typing import TYPE_CHECKING, Self

import attrs

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence

Headers = tuple[tuple[str, str], ...]
"""Header lines in order, names and values spelled as written; a name may come several times."""


def to_bytes(text: str) -> bytes:
    """Return the bytes of `text`: UTF-8, and surrogate escapes as the bytes they carry."""
    return text.encode("utf-8", "surrogateescape")


@attrs.frozen
class Span:
    """A half-open range of character offsets in a `Source`'s text."""

    start: int
    end: int


@attrs.frozen
class Position:
    """A place in a file: line and column, both counted from 1, the column in characters."""

    line: int
    column: int


@attrs.frozen(eq=False)
class Source:
    """A text to parse, and where each of its lines stands in the file that it came from.

    `places` holds, for each line of `text`, the line number in the file and how many characters
    were taken away from the left of that line (indentation, Org's comma). Without `places` the
    text is the file. Compared by identity: two blocks with the same text are two sources.
    """

    text: str
    file: str | None = None
    places: Sequence[tuple[int, int]] | None = None
    _starts: list[int] = attrs.field(init=False, repr=False)

    @_starts.default
    def _line_starts(self) -> list[int]:
        starts = [0]
        at = self.text.find("\n")
        while at >= 0:
            starts.append(at + 1)
            at = self.text.find("\n", at + 1)
        return starts

    def position(self, offset: int) -> Position:
        """Return the file position of the character at `offset` of the text."""
        index = bisect_right(self._starts, offset) - 1
        column = offset - self._starts[index] + 1
        if self.places is None:
            return Position(index + 1, column)
        if not self.places:
            return Position(1, column)
        line, removed = self.places[min(index, len(self.places) - 1)]
        return Position(line, column + removed)

    def offset(self, line: int) -> int:
        """Return the offset of the first character of the text's own line `line` (from 1)."""
        return self._starts[line - 1]


class OrgrestError(Exception):
    """Something that the user can put right: what is wrong (`reason`), and where.

    `file`, `line` and `column` are None where they are not known. `str(error)` reads
    `file:line:column: reason`. Everything that orgrest raises on purpose is one of these. For an
    editor, `code` says in a word what kind of error it is, and `offset` where in the source's text.
    """

    def __init__(
        self,
        reason: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        code: str = "",
        offset: int | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.file = file
        self.line = line
        self.column = column
        self.code = code
        self.offset = offset

    def __str__(self) -> str:
        place = ":".join(
            str(part) for part in (self.file, self.line, self.column) if part is not None
        )
        return f"{place}: {self.reason}" if place else self.reason

    @classmethod
    def at(cls, source: Source, offset: int, reason: str, code: str = "") -> Self:
        """Return the error for the character at `offset` of `source`."""
        position = source.position(offset)
        return cls(
            reason,
            file=source.file,
            line=position.line,
            column=position.column,
            code=code,
            offset=offset,
        )


class RequestSyntaxError(OrgrestError):
    """The text is not a request: a header that is none, a `<<` that never ends ..."""


class ExpansionError(OrgrestError):
    """A request cannot be completed: an undefined `{{name}}`, a file that cannot be read ..."""


UNREACHED = "unreached"
"""The code of a `TransportError` before which nothing was sent: no connection came about."""


class TransportError(OrgrestError):
    """No (whole) response came: refused, timeout, TLS, bad URL, broken protocol ..."""


class CaptureError(OrgrestError):
    """jq is missing, does not accept the program, or fails on the response."""


@attrs.frozen
class Notice:
    """Something odd that does not keep the request from being sent."""

    reason: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    code: str = attrs.field(default="", eq=False)
    offset: int | None = attrs.field(default=None, eq=False)

    __str__ = OrgrestError.__str__

    @classmethod
    def at(cls, source: Source, offset: int, reason: str, code: str) -> Self:
        """Return the notice for the character at `offset` of `source`."""
        place = source.position(offset)
        return cls(reason, source.file, place.line, place.column, code, offset)


@attrs.frozen
class Capture:
    """`-> jq-set-var :name EXPR`: after the response, set `name` to what jq's EXPR gives."""

    name: str
    expression: str
    source: Source
    span: Span


class Credentials(ABC):
    """What the sending of a request makes a header of; `http.auth` has a class for each scheme."""

    @property
    @abstractmethod
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""

    @abstractmethod
    def flow(
        self, request: Request, host: str, target: str
    ) -> Generator[Request, Response, str | None]:
        """Yield what is sent for a request, each time given the response; the last one counts.

        `host` and `target` are those of its URL, as they are sent. Returns what the user should
        know of it, or None. Does no input or output. Raises `TransportError`.
        """

    @abstractmethod
    def curl(self, host: str) -> list[str]:
        """Return the options with which curl sends the same to a host. Raises `TransportError`."""


@attrs.frozen
class ClientCertificate:
    """The certificate that TLS shows to a server: PEM files, the key's passphrase.

    `key` is None where the certificate's file holds the key.
    """

    file: str
    key: str | None = None
    passphrase: str | None = attrs.field(default=None, repr=False)


@attrs.frozen
class Request:
    """A request with every variable replaced, ready to be sent.

    `url` is absolute (http or https) and still as the user wrote it: user info, non-ASCII
    characters and all. `headers` are the user's own only. `body` is None where the request has
    none. `credentials` are those that only the sending makes a header of, `certificate` what TLS
    shows to the origin of `url`. A `streamed` one has to be answered by server-sent events.
    `secrets` are the values that must not stand in a result (all that the document's scope knew
    when the request was completed).
    """

    method: str
    url: str
    headers: Headers = ()
    body: bytes | None = None
    captures: tuple[Capture, ...] = ()
    notices: tuple[Notice, ...] = ()
    secrets: frozenset[str] = attrs.field(default=frozenset(), repr=False)
    file: str | None = None
    line: int | None = None
    column: int | None = None
    credentials: Credentials | None = None
    certificate: ClientCertificate | None = None
    streamed: bool = False

    def header(self, name: str) -> str | None:
        """Return the value of the first header called `name` (any case), or None."""
        return next(find_headers(self.headers, name), None)


@attrs.frozen
class Timing:
    """How the time of an exchange was spent, in seconds.

    `resolve` is for the address of the host, `connect` for TCP (with a SOCKS proxy also its part),
    `tls` for the handshake; None where there was no such phase, as on a connection that was kept.
    `wait` is from the request's first byte to the response's first one, `download` for the rest.
    """

    resolve: float | None = None
    connect: float | None = None
    tls: float | None = None
    wait: float = 0.0
    download: float = 0.0

    def __add__(self, other: Timing) -> Timing:
        """Return the times of two exchanges, one after the other, as on the way of a redirect."""
        return Timing(
            _sum(self.resolve, other.resolve),
            _sum(self.connect, other.connect),
            _sum(self.tls, other.tls),
            self.wait + other.wait,
            self.download + other.download,
        )


def _sum(one: float | None, other: float | None) -> float | None:
    return other if one is None else one + (other or 0.0)


@attrs.frozen
class Certificate:
    """A server's certificate: whose it is, who signed it, and when it expires (seconds since 1970).

    Names are as in `CN=example.org, O=Example`.
    """

    subject: str
    issuer: str
    expires: float


@attrs.frozen
class Redirect:
    """One step on the way to a response: the status that sent us on, and to which URL."""

    status: int
    reason: str
    url: str


@attrs.frozen
class Response:
    """What came back: the final response, its body with transfer and content coding undone.

    `truncated` says that the body was longer than the limit and `body` is only its beginning.
    `duration` is in seconds, all redirects included. `redirects` are the steps followed, in order.
    `url` is the URL that answered. `timing` says how the duration was spent, None for WebSockets.
    `warnings` are for the user to read (a body shorter than announced is an error, not a warning).
    `certificate` is that of the server, where it was verified.
    """

    status: int
    reason: str
    version: str
    headers: Headers
    body: bytes
    duration: float
    url: str
    truncated: bool = False
    redirects: tuple[Redirect, ...] = ()
    warnings: tuple[str, ...] = ()
    timing: Timing | None = attrs.field(default=None, eq=False)
    certificate: Certificate | None = None

    def header(self, name: str) -> str | None:
        """Return the value of the first header called `name` (any case), or None."""
        return next(find_headers(self.headers, name), None)


@attrs.frozen
class Verdict:
    """What came of an assertion about a response, or of a test in a script.

    `name` is the assertion as it is written, or the test's name; `reason` says why it does not
    hold, in a sentence. An assertion also has its parts, and a place in `file`: `subject` and
    `operator`, what was `expected` (with variables replaced) and what is the case (`actual`), both
    as texts that may be cut; None where there is no such value. `difference` has the lines of a
    unified diff from the expected value to the actual one, where both are texts of several lines or
    JSON. Nothing of this is masked: secrets are hidden by who shows it.
    """

    name: str
    held: bool
    reason: str = ""
    subject: str = ""
    operator: str = ""
    expected: str | None = None
    actual: str | None = None
    difference: tuple[str, ...] = ()
    file: str | None = None
    line: int | None = None
    column: int | None = None


def find_headers(headers: Headers, name: str) -> Iterator[str]:
    """Return the values of the headers called `name`, whatever its case, in order."""
    wanted = name.lower()
    return (value for given, value in headers if given.lower() == wanted)
