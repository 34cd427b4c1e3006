"""Orgrest's shared data types: file positions, requests, responses and errors.

This module imports almost nothing, so that all others can import it. Its types are frozen and,
except for `Source`, compared by value. Bytes that are not valid UTF-8 become surrogate escapes in
strings (PEP 383). `to_bytes` restores them.
"""

from __future__ import annotations

import itertools
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Self

from orgrest import classes

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

Headers = tuple[tuple[str, str], ...]
"""Header lines in order, with names and values as written. A name may occur several times."""


def to_bytes(text: str) -> bytes:
    """Return `text` in UTF-8, with surrogate escapes turned back into the original bytes."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return whole(text).encode()


def whole(text: str) -> str:
    """Return `text` with each surrogate replaced by U+FFFD, as JavaScript's `TextEncoder` does."""
    return text if text.isascii() else re.sub("[\ud800-\udfff]", "\ufffd", text)


def short(text: str, most: int = 60) -> str:
    """Return `text`, shortened to at most `most` characters for use in a message.

    `masking.mask_message` also masks a secret whose end is cut off.
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def size_text(count: int) -> str:
    """Return a number of bytes as text, such as `16 MiB` or `500 bytes`."""
    return f"{count // 2**20} MiB" if count % 2**20 == 0 and count else f"{count} bytes"


@classes.frozen
class Span:
    """A range of character offsets in a text, from `start` up to but excluding `end`."""

    start: int
    end: int

    def reaches(self, offset: int) -> bool:
        """Return whether an offset is in the range or directly after it."""
        return self.start <= offset <= self.end

    def touches(self, other: Span) -> bool:
        """Return whether two ranges overlap or are adjacent."""
        return self.start <= other.end and other.start <= self.end


@classes.frozen
class Position:
    """A position in a file: line and column (in characters), both counted from 1."""

    line: int
    column: int


def end_of_line(text: str, offset: int) -> int:
    """Return the offset at which the line around an offset ends, before its newline."""
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def line_starts(lines: list[str]) -> list[int]:
    r"""Return the start offset of each line in a text, and of an imaginary line after the last."""
    sizes = map((1).__add__, map(len, lines))
    return list(itertools.accumulate(sizes, initial=0))


@classes.frozen(eq=False)
class Source:
    """A text to parse, and where its lines are in a file.

    For each line of the text, `places` contains the line number in the file and how many characters
    (indentation, Org's comma) were removed from the beginning. If `places` is None, the text is the
    whole file. Sources are compared by identity: blocks with the same text have different sources.
    """

    text: str
    file: str | None = None
    places: Sequence[tuple[int, int]] | None = None
    _held: dict[str, bool] = classes.field(factory=dict, init=False, repr=False)  # by mark

    @cached_property
    def _starts(self) -> list[int]:
        return line_starts(self.text.split("\n"))[:-1]

    def holds(self, mark: str) -> bool:
        """Return whether the text contains `mark`. The result is cached."""
        if mark not in self._held:
            self._held[mark] = mark in self.text
        return self._held[mark]

    def position(self, offset: int) -> Position:
        """Return the position in the file of the character at `offset` in the text."""
        index = bisect_right(self._starts, offset) - 1
        column = offset - self._starts[index] + 1
        if self.places is None:
            return Position(index + 1, column)
        if not self.places:
            return Position(1, column)
        line, removed = self.places[min(index, len(self.places) - 1)]
        return Position(line, column + removed)

    def offset(self, line: int) -> int:
        """Return the offset at which a line of the text starts. Lines are counted from 1."""
        return self._starts[line - 1]


class OrgrestError(Exception):
    """The base class of orgrest's errors: a `reason` and a position in a file.

    `file`, `line` and `column` are None if unknown. `str(error)` is `file:line:column: reason`. For
    editors, `code` identifies the kind of error, and `offset` is an offset in the source.
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
        """Return an error at `offset` in `source`."""
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
    """Return an unexpected exception as an OrgrestError that asks the user to report the bug.

    The error contains the type and location of the exception, but not its message, which may
    contain a secret. An OrgrestError is returned unchanged.
    """
    if isinstance(error, OrgrestError):
        return error
    place, trace = "", error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if module.startswith("orgrest."):
            place = f" in {module}, line {trace.tb_lineno}"
        trace = trace.tb_next
    kind = f"{type(error).__name__}{place}"
    internal = OrgrestError(
        f"internal error: {kind}. This is a bug in orgrest: please report it, with the steps "
        "to reproduce it",
        code="bug",
    )
    internal.__cause__ = error
    return internal


class RequestSyntaxError(OrgrestError):
    """Raised if the text of a request is invalid, for example because a header is malformed."""


class ExpansionError(OrgrestError):
    """Raised if a request cannot be expanded, for example because `{{name}}` is undefined."""


UNREACHED, INTERRUPTED, BROKEN_OFF = "unreached", "interrupted", "broken-off"
"""Codes of errors: no connection was made, an exchange was interrupted, the run ended first."""
BAD_CERTIFICATE = "bad-certificate"
"""The code of an error: the server's certificate is invalid."""
REDIRECTS = "too-many-redirects"
"""The code of an error: the server redirects too often."""
BAD_LENGTH = "bad-length"
"""The code of an error: the Content-Length in the document differs from the body's length."""


class TransportError(OrgrestError):
    """Raised if no complete response arrived, for example because of a timeout or a TLS error."""


@classes.frozen
class Notice:
    """A warning about something that does not prevent the request from being sent."""

    reason: str
    file: str | None = None
    line: int | None = None
    column: int | None = None
    code: str = classes.field(default="", eq=False)
    offset: int | None = classes.field(default=None, eq=False)

    __str__ = OrgrestError.__str__

    @classmethod
    def at(cls, source: Source, offset: int, reason: str, code: str) -> Self:
        """Return a notice at `offset` in `source`."""
        place = source.position(offset)
        return cls(reason, source.file, place.line, place.column, code, offset)


@classes.frozen
class Capture:
    """A capture `-> jq-set-var :name EXPR`, which stores a jq program's value in a variable.

    For Kulala's `# @env-json-key name path`, `path` is set, and `expression` is derived from it.
    """

    name: str
    expression: str
    source: Source
    span: Span
    path: str | None = None


class Credentials(ABC):
    """Credentials from which a header is computed when a request is sent. See `http.auth`.

    If `one_connection` is true, the requests of `flow` share a connection that nothing else uses.
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
        """Yield the requests to send. The caller passes each response back to the generator.

        `host` and `target` are the host and request target that are sent. Returns a warning for the
        user, or None. Raises TransportError.
        """

    @abstractmethod
    def curl(self, host: str) -> list[str]:
        """Return curl's options for these credentials and this host. Raises TransportError."""


@classes.frozen
class ClientCertificate:
    """A TLS client certificate: its PEM files, and the passphrase of the key.

    `key` is None if `file` also contains the key.
    """

    file: str
    key: str | None = None
    passphrase: str | None = classes.field(default=None, repr=False)


@classes.frozen
class Bound:
    """A binding: the name of a secret or token, and the hosts that it may be sent to.

    `hosts` contains origins, host names (for HTTPS) and patterns such as `*.example.com`. `listed`
    is the source of these hosts, for messages: a file's path, or the user's permissions.
    """

    name: str
    hosts: tuple[str, ...]
    listed: str


@classes.frozen
class Secret:
    """A secret in a string.

    If `text` is empty, the whole string is secret. If `bound` is None, any host in the document may
    receive the secret. A `possible` secret may or may not be in the string, which was created by a
    script that could read the secret.
    """

    text: str = classes.field(repr=False)
    bound: Bound | None = None
    possible: bool = False


class Text(str):
    """A string with the secrets that it contains.

    The methods of `str` return a plain `str`, so code that uses them must copy the `secrets`.
    """

    __slots__ = ("secrets",)
    secrets: frozenset[Secret]

    def __new__(cls, text: str, secrets: Iterable[Secret] = ()) -> Self:
        """Return `text` as a Text that contains `secrets`."""
        instance = super().__new__(cls, text)
        instance.secrets = frozenset(secrets)
        return instance


def secrets_in(text: object) -> frozenset[Secret]:
    """Return the secrets in `text`, or an empty set for a plain `str`."""
    return text.secrets if isinstance(text, Text) else frozenset()


def possible(secrets: Iterable[Secret]) -> frozenset[Secret]:
    """Return `secrets` marked as possible: a string may or may not contain them."""
    return frozenset(classes.evolve(secret, possible=True) for secret in secrets)


@classes.frozen
class Request:
    """A request with every variable replaced, ready to be sent.

    `url` is absolute (http or https), spelled as the user wrote it, including user info and
    non-ASCII characters. `headers` contains only the headers in the document. `body` is None if
    there is no body. `credentials` become a header when the request is sent. `certificate` is the
    client certificate for the origin of `url`. A `streamed` request must be answered with
    server-sent events.

    `secrets` are the values that must not appear in a result: all secrets that were known when the
    request was expanded. `held` contains a pair (part, secret) for each secret in the request,
    where the secret may be encoded. The part is `method`, `url`, `body` or a header's name in lower
    case. The request is sent only to hosts that may receive all of these secrets.
    """

    method: str
    url: str
    headers: Headers = ()
    body: bytes | None = None
    captures: tuple[Capture, ...] = ()
    notices: tuple[Notice, ...] = ()
    secrets: frozenset[str] = classes.field(default=frozenset(), repr=False)
    file: str | None = None
    line: int | None = None
    column: int | None = None
    credentials: Credentials | None = None
    certificate: ClientCertificate | None = None
    streamed: bool = False
    held: frozenset[tuple[str, Secret]] = classes.field(default=frozenset(), repr=False)

    def header(self, name: str) -> str | None:
        """Return the value of the first header called `name`, ignoring case, or None."""
        return find_header(self.headers, name)

    def holds(self, part: str) -> bool:
        """Return whether a part of the request contains a secret, or may contain one."""
        return any(name == part for name, _ in self.held)

    @property
    def bound(self) -> tuple[Bound, ...]:
        """The bindings of the request's secrets to hosts."""
        bindings = {secret.bound for _, secret in self.held if secret.bound is not None}
        return tuple(sorted(bindings, key=lambda bound: bound.name))


@classes.frozen
class Timing:
    """The durations of an exchange's phases, in seconds.

    `resolve` is the DNS lookup, `connect` the TCP connection (including a SOCKS proxy's handshake),
    and `tls` the TLS handshake. Phases that did not take place, for example on a reused connection,
    are None. `wait` lasts from the first byte of the request to the first byte of the response, and
    `download` from then to the end.
    """

    resolve: float | None = None
    connect: float | None = None
    tls: float | None = None
    wait: float = 0.0
    download: float = 0.0

    def __add__(self, other: Timing) -> Timing:
        """Return the total of two timings, such as those before and after a redirect."""
        resolve, connect = _sum(self.resolve, other.resolve), _sum(self.connect, other.connect)
        wait, download = self.wait + other.wait, self.download + other.download
        return Timing(resolve, connect, _sum(self.tls, other.tls), wait, download)


def _sum(first: float | None, second: float | None) -> float | None:
    return second if first is None else first + (second or 0.0)


@classes.frozen
class Certificate:
    """The certificate of a server: its subject, its issuer and its expiry (Unix time).

    Names are written like `CN=example.org, O=Example`.
    """

    subject: str
    issuer: str
    expires: float


@classes.frozen
class Redirect:
    """A redirect that was followed: its status and its target URL."""

    status: int
    reason: str
    url: str


@classes.frozen
class Response:
    """The final response to a request, without the transfer and content codings of its body.

    If `truncated` is true, the body exceeded the limit, and `body` is only its beginning.
    `duration` is in seconds and includes all redirects. `redirects` are in order, and `url` is the
    URL after them. `timing` is None for WebSockets. `warnings` are messages for the user.
    `certificate` is the server's certificate, or None if it was not verified.
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
    timing: Timing | None = classes.field(default=None, eq=False)
    certificate: Certificate | None = None

    def header(self, name: str) -> str | None:
        """Return the value of the first header called `name`, ignoring case, or None."""
        return find_header(self.headers, name)

    @cached_property
    def codec(self) -> tuple[str, str | None]:
        """The codec for `body`, and its charset if that is unknown (see `charsets.codec_of`)."""
        from orgrest.charsets import codec_of

        return codec_of(self.body, self.header("Content-Type") or "")

    @property
    def unread(self) -> str:
        """Why `body` is only the beginning, or "" if it is complete."""
        if not self.truncated:
            return ""
        return f"the body is larger than {size_text(len(self.body))}: the rest was not read"

    def whole_body(self) -> bytes:
        """Return the complete body. Raises OrgrestError if only its beginning was read."""
        if self.truncated:
            raise OrgrestError(self.unread)
        return self.body


@classes.frozen
class Verdict:
    """The outcome of an assertion about a response, or of a test in a script.

    `name` is the assertion as written, or the test's name. `reason` explains a failure. If
    `about_status` is true, the status was checked, so a status of 400 or more may be intended.

    The other fields describe an assertion. In `expected`, variables are replaced. `expected` and
    `actual` may be truncated, or None if missing. If both are multi-line strings or JSON,
    `difference` contains the lines of a unified diff from `expected` to `actual`. Nothing is
    masked: code that displays a verdict must hide the secrets.
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


def find_header(headers: Iterable[tuple[str, str]], name: str) -> str | None:
    """Return the value of the first header called `name`, ignoring case, or None."""
    lower = name.lower()
    for header, value in headers:
        if header.lower() == lower:
            return value
    return None


def find_headers(headers: Iterable[tuple[str, str]], name: str) -> Iterator[str]:
    """Return the values of the headers called `name`, ignoring case, in order."""
    lower = name.lower()
    return (value for header, value in headers if header.lower() == lower)
