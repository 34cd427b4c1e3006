"""The data model that orgrest's modules share: file positions, requests, responses, errors.

Data only: the classes are frozen, compare by value, and import nothing from orgrest, so that every
other module can use them. Bytes that are not valid UTF-8 are kept in text as surrogate escapes (PEP
383); `to_bytes` restores them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from typing import TYPE_CHECKING, ClassVar, Self

import attrs

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

Headers = tuple[tuple[str, str], ...]
"""Header lines in order, names and values spelled as written; a name may occur several times."""


def to_bytes(text: str) -> bytes:
    """Encode `text` as UTF-8, turning surrogate escapes back into the original bytes."""
    return text.encode("utf-8", "surrogateescape")


@attrs.frozen
class Span:
    """A half-open range of character offsets in a `Source`'s text."""

    start: int
    end: int


@attrs.frozen
class Position:
    """A position in a file: line and column, both counted from 1, the column in characters."""

    line: int
    column: int


@attrs.frozen(eq=False)
class Source:
    """A text to parse, and where each of its lines is in the file that it came from.

    `places` holds, for each line of `text`, its line number in the file and how many leading
    characters were removed from it (indentation, Org's comma). Without `places` the text is the
    whole file. Compared by identity: two blocks with the same text are two sources.
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
    """An error that the user can fix: what is wrong (`reason`), and where.

    `file`, `line` and `column` are None if they are not known. `str(error)` reads
    `file:line:column: reason`. Everything that orgrest raises on purpose is one of these. For
    editors, `code` is a short identifier of the kind of error, and `offset` its position in the
    source's text.
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


def explained(error: Exception) -> OrgrestError:
    """Return an unexpected error as one that asks the user to report it; other errors unchanged.

    It has the type and location of the error, not its message, which may hold a secret.
    """
    if isinstance(error, OrgrestError):
        return error
    place, trace = "", error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("orgrest."):
            place = f" in {module}, line {trace.tb_lineno}"
        trace = trace.tb_next
    what = f"{type(error).__name__}{place}"
    found = OrgrestError(
        f"orgrest could not do this: {what}. This is a bug in orgrest: please report it, with what "
        "this needs to happen again",
        code="bug",
    )
    found.__cause__ = error
    return found


class RequestSyntaxError(OrgrestError):
    """The text is not a valid request: a malformed header, a `<<` that never ends ..."""


class ExpansionError(OrgrestError):
    """A request cannot be completed: an undefined `{{name}}`, a file that cannot be read ..."""


UNREACHED = "unreached"
"""The code of a `TransportError` raised before anything was sent: no connection was established."""
BROKEN_OFF = "broken-off"
"""The code of a `TransportError` raised because the run ends: nothing is to be sent again."""


class TransportError(OrgrestError):
    """No complete response arrived: refused, timeout, TLS, bad URL, protocol error ..."""


class CaptureError(OrgrestError):
    """jq is missing, does not accept the program, or fails on the response."""


@attrs.frozen
class Notice:
    """A warning about something that does not prevent the request from being sent."""

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
    """`-> jq-set-var :name EXPR`: after the response, set `name` to the result of jq's EXPR."""

    name: str
    expression: str
    source: Source
    span: Span


class Credentials(ABC):
    """Credentials that become a header only on sending; `http.auth` has a class for each scheme.

    With `one_connection`, their requests share a connection that no other request uses.
    """

    one_connection: ClassVar[bool] = False

    @property
    @abstractmethod
    def secrets(self) -> tuple[str, ...]:
        """The values that must not be shown."""

    @abstractmethod
    def flow(
        self, request: Request, host: str, target: str
    ) -> Generator[Request, Response, str | None]:
        """Yield requests to send, receiving the response to each; the last response is the result.

        `host` and `target` are the request's as they are sent. Returns a warning for the user, or
        None. Performs no I/O. Raises `TransportError`.
        """

    @abstractmethod
    def curl(self, host: str) -> list[str]:
        """Return the equivalent curl options for a host. Raises `TransportError`."""


@attrs.frozen
class ClientCertificate:
    """A TLS client certificate: PEM files, and the key's passphrase.

    `key` is None if the certificate's file also holds the key.
    """

    file: str
    key: str | None = None
    passphrase: str | None = attrs.field(default=None, repr=False)


@attrs.frozen
class Bound:
    """The name of one of the user's secrets, and where it may be sent.

    `hosts` are origins as the file `listed` has them.
    """

    name: str
    hosts: tuple[str, ...]
    listed: str


@attrs.frozen
class Secret:
    """A secret in a text, and where it may be sent; None: to any host that the document names.

    If `text` is empty, the whole text is secret. A secret that is only `possible` may be absent:
    a script that could read it created the text.
    """

    text: str = attrs.field(repr=False)
    bound: Bound | None = None
    possible: bool = False


class Text(str):
    """A text that knows which secrets went into it.

    The methods of `str` return plain texts: code that changes a text passes its `secrets` on.
    """

    __slots__ = ("secrets",)
    secrets: frozenset[Secret]

    def __new__(cls, text: str, secrets: Iterable[Secret] = ()) -> Self:
        """Return `text` with `secrets` recorded as its secrets."""
        made = super().__new__(cls, text)
        made.secrets = frozenset(secrets)
        return made


def secrets_in(text: object) -> frozenset[Secret]:
    """Return the secrets that went into a text; an empty set for a plain `str`."""
    return text.secrets if isinstance(text, Text) else frozenset()


def possible(secrets: Iterable[Secret]) -> frozenset[Secret]:
    """Return `secrets` as secrets that are only possibly in a text."""
    return frozenset(attrs.evolve(one, possible=True) for one in secrets)


@attrs.frozen
class Request:
    """A request with every variable replaced, ready to be sent.

    `url` is absolute (http or https) and as the user wrote it, including user info and non-ASCII
    characters. `headers` are only those that the user gave. `body` is None if the request has none.
    `credentials` become a header only on sending; `certificate` is the client
    certificate for the origin of `url`. A `streamed` request must be answered by server-sent
    events. `secrets` are the values that must not appear in a result: all that the document knew
    when the request was completed. `held` are those that went into its parts, in any encoding, each
    with the part: `method`, `url`, `body`, or a header in lower case. It is sent only where all of
    them may go.
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
    held: frozenset[tuple[str, Secret]] = attrs.field(default=frozenset(), repr=False)

    def header(self, name: str) -> str | None:
        """Return the value of the first header called `name` (any case), or None."""
        return next(find_headers(self.headers, name), None)

    def holds(self, part: str) -> bool:
        """Return whether a secret went into a part, or may have."""
        return any(one == part for one, _ in self.held)

    @property
    def bound(self) -> tuple[Bound, ...]:
        """The bindings of the request's secrets that are bound to hosts."""
        found = {one.bound for _, one in self.held if one.bound is not None}
        return tuple(sorted(found, key=lambda bound: bound.name))


@attrs.frozen
class Timing:
    """The phases of an exchange, in seconds.

    `resolve` is the DNS lookup, `connect` the TCP connection (including a SOCKS proxy's handshake),
    `tls` the TLS handshake; None if there was no such phase, as on a reused connection. `wait` is
    the time from the request's first byte to the response's first byte, `download` the rest.
    """

    resolve: float | None = None
    connect: float | None = None
    tls: float | None = None
    wait: float = 0.0
    download: float = 0.0

    def __add__(self, other: Timing) -> Timing:
        """Return the total of two consecutive exchanges, such as before and after a redirect."""
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
    """A server's certificate: its subject, its issuer, and when it expires (Unix time).

    Names are written like `CN=example.org, O=Example`.
    """

    subject: str
    issuer: str
    expires: float


@attrs.frozen
class Redirect:
    """A redirect that was followed: its status, and the URL it led to."""

    status: int
    reason: str
    url: str


@attrs.frozen
class Response:
    """The final response, its body with transfer and content coding decoded.

    `truncated` means that the body exceeded the limit and `body` is only its beginning. `duration`
    is in seconds, all redirects included. `redirects` are the steps followed, in order. `url` is
    the URL that answered. `timing` breaks the duration down, None for WebSockets. `warnings` are
    for the user to read (a body shorter than announced is an error, not a warning). `certificate`
    is the server's, if it was verified.
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
    """The outcome of an assertion about a response, or of a test in a script.

    `name` is the assertion as written, or the test's name; `reason` says in a sentence why it
    failed. `about_status` means that the response's status was checked, so that a status of 400
    or above may be expected. An assertion also has a position in `file` and its parts:
    `subject`, `operator`, and the `expected` (with variables replaced) and `actual` values, as
    texts that may be truncated, or None if there is no such value. `difference` holds the lines
    of a unified diff from the expected to the actual value, if both are multi-line texts or
    JSON. Nothing here is masked: the code that displays it hides secrets.
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
    about_status: bool = False


def find_headers(headers: Headers, name: str) -> Iterator[str]:
    """Return the values of the headers called `name`, ignoring case, in order."""
    wanted = name.lower()
    return (value for given, value in headers if given.lower() == wanted)
