"""Explains network errors in plain words, using a table of exceptions and their messages."""

from __future__ import annotations

import http.client
import socket
import ssl
from typing import TYPE_CHECKING, Any, TypeAlias

import urllib3

from orgrest.http.transport.limits import FloodError, OverdueError
from orgrest.http.transport.wire import show
from orgrest.model import BAD_CERTIFICATE, INTERRUPTED, UNREACHED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.http.transport.limits import Limits
    from orgrest.model import Response

    Phrase: TypeAlias = "Callable[[Any, Limits], str | None]"


def explain(
    error: BaseException,
    limits: Limits,
    *,
    forwarded: bool = False,
    response: Response | None = None,
) -> str:
    """Explain an error from urllib3, http.client or the operating system in plain words.

    `limits` are the limits of the failed exchange. If `forwarded` is true, a proxy forwards the
    request, so the connection is that to the proxy. `response` is the response whose body could not
    be read.
    """
    causes = list(_causes(error))
    reasons = (_explain_one(cause, limits) for cause in causes)
    explanation = next(filter(None, reasons), None)
    reason = explanation or show(str(causes[0]) or type(causes[0]).__name__)
    if response is not None and response.status >= 400:
        reason += f"; the status is {response.status} {show(response.reason)}".rstrip()
    by_proxy = any(isinstance(cause, urllib3.exceptions.ProxyError) for cause in causes)
    return f"through the proxy: {reason}" if by_proxy or forwarded else reason


def is_closed(error: BaseException) -> bool:
    """Return whether an error means that the other side closed the connection."""
    closed = (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError)
    return any(isinstance(cause, closed) for cause in _causes(error))


def is_timeout(error: BaseException) -> bool:
    """Return whether an error means that a time limit was exceeded."""
    kinds = (TimeoutError, urllib3.exceptions.TimeoutError)
    return any(isinstance(cause, kinds) for cause in _causes(error))


def code_of(error: BaseException) -> str:
    """Return UNREACHED if no connection was established, otherwise INTERRUPTED.

    Return BAD_CERTIFICATE if the server's certificate is invalid.
    """
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in _causes(error)):
        return BAD_CERTIFICATE
    unmade = (_ERRORS.NewConnectionError, _ERRORS.ConnectTimeoutError)
    reached = not any(isinstance(cause, unmade) for cause in _causes(error))
    return INTERRUPTED if reached else UNREACHED


def _explain_one(error: BaseException, limits: Limits) -> str | None:
    if type(error) in _EXACT:
        return _EXACT[type(error)](error, limits)
    for kind, phrase in _PHRASES.items():
        if isinstance(error, kind):
            return phrase(error, limits)
    return None


def _incomplete(error: http.client.IncompleteRead, _: Limits) -> str:
    received = error.partial if isinstance(error.partial, int) else len(error.partial)
    if error.expected is None or isinstance(error, urllib3.exceptions.InvalidChunkLength):
        return "the chunked response is incomplete or damaged"
    return f"the connection was closed after {received} of {received + error.expected} bytes"


def _not_http(error: http.client.BadStatusLine, _: Limits) -> str:
    return f"the response is not HTTP: it starts with {show(str(error.args[0]), 80)}"


def _unmade(error: urllib3.exceptions.NewConnectionError, _: Limits) -> str | None:
    if not isinstance(error.__cause__, ConnectionRefusedError):
        return None
    host = show(error.conn.host)
    return f"connection to {host}:{error.conn.port} refused"


def _system(error: OSError, _: Limits) -> str | None:
    if isinstance(error, (socket.gaierror, TimeoutError, ConnectionRefusedError)):
        return None  # the wrapping exception says more
    return show(error.strerror or str(error)).lower()


_ERRORS = urllib3.exceptions

# Classes whose subclasses have other meanings: they match only exactly.
_EXACT: dict[type[BaseException], Phrase] = {
    _ERRORS.ConnectTimeoutError: lambda _, limits: f"could not connect within {limits.connect:g} s",
}
# The first match is used, so a subclass must precede its base class.
_PHRASES: dict[type[BaseException], Phrase] = {
    OverdueError: lambda _, limits: f"the response was not complete after {limits.total:g} s",
    FloodError: lambda *_: "gave up because the server kept sending data",
    _ERRORS.NameResolutionError: lambda e, _: (
        f"could not resolve the host name {show(e.conn.host)}"
    ),
    _ERRORS.NewConnectionError: _unmade,
    _ERRORS.ReadTimeoutError: lambda _, limits: f"no response within {limits.silence:g} s",
    ssl.SSLCertVerificationError: lambda e, _: (
        f"the server's TLS certificate is invalid: {e.verify_message}"
    ),
    ssl.SSLEOFError: lambda *_: (
        "TLS failed: the server closed the connection without giving a reason (it may require a "
        "client certificate, or not trust the one that was sent)"
    ),
    ssl.SSLError: lambda e, _: f"TLS failed: {(e.reason or str(e)).replace('_', ' ').lower()}",
    http.client.RemoteDisconnected: lambda *_: (
        "the server closed the connection without a response"
    ),
    http.client.LineTooLong: lambda *_: (
        "the status line or a chunk's size in the response is longer than 65536 bytes"
    ),
    http.client.BadStatusLine: _not_http,
    http.client.UnknownProtocol: lambda e, _: (
        f"the response is not HTTP/1.x: {show(str(e.args[0]))}"
    ),
    http.client.IncompleteRead: _incomplete,
    ConnectionResetError: lambda *_: "the server reset the connection",
    _ERRORS.InvalidHeader: lambda e, _: (
        f"the response headers contradict each other: {show(str(e))}"
    ),
    _ERRORS.DecodeError: lambda *_: (
        "could not decode the body: it does not match its Content-Encoding"
    ),
    OSError: _system,
}


def _causes(error: BaseException) -> Iterator[BaseException]:
    errors: list[BaseException] = []
    queue = [error]
    while queue:
        current = queue.pop(0)
        if current in errors:
            continue
        errors.append(current)
        # urllib3 nests errors as causes and as arguments.
        inner = [a for a in (*current.args, current.__cause__) if isinstance(a, BaseException)]
        queue += inner
    return reversed(errors)
