"""Streams of messages: server-sent events and WebSockets.

They are read until the server ends them, a limit of time or number is reached, or the body has its
maximum size; the messages received are the response's body. Server-sent events (the HTML standard,
section 9.2) are what a server answers to a request that accepts `text/event-stream`; of a WebSocket
(RFC 6455, by the package `websockets`) each message is a line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
import urllib3

from orgrest.http.transport.urls import show
from orgrest.model import Request, Response, TransportError, find_headers

if TYPE_CHECKING:
    from collections.abc import Callable

EVENTS = "text/event-stream"
SILENCE = 10.0
"""The seconds without a message that end a stream, unless the request has its own limit."""
MOST = 1000
"""The number of messages that ends a stream, unless the request has its own limit."""

_EVENT_END = re.compile(rb"(?:\r\n|\n|\r(?!\n)){2}")
_DATA = re.compile(rb"(?:^|[\r\n])data:[ ]?([^\r\n]*)")


@attrs.define
class Listener:
    """Receives the messages of a stream: counts them, keeps them up to a size, passes them on."""

    most: int
    limit: int
    on_message: Callable[[str], None] | None = None
    body: bytearray = attrs.field(factory=bytearray)
    count: int = 0

    def receive(self, text: bytes) -> None:
        """Take a message."""
        self.count += 1
        if self.on_message is not None:
            self.on_message(text[:10_000].decode("utf-8", "backslashreplace"))

    @property
    def is_full(self) -> bool:
        """Whether enough messages were received."""
        return self.count >= self.most or len(self.body) > self.limit

    def why(self) -> str | None:
        """Say that a stream was closed early because of the number of messages, if so."""
        if self.count < self.most:
            return None
        return f"not listened to any longer after {self.most} messages (# @messages N)"


def wants_events(request: Request) -> bool:
    """Tell whether a request asks for server-sent events."""
    accepted = find_headers(request.headers, "Accept")
    return any(EVENTS in value.lower() for value in accepted)


def is_events(content_type: str) -> bool:
    """Tell whether a Content-Type is that of a stream of server-sent events."""
    return content_type.lower().lstrip().startswith(EVENTS)


def check_events(response: Response) -> None:
    """Raise `TransportError` for a success that is not a stream (HTML standard, section 9.2.3)."""
    kind = response.header("Content-Type") or ""
    if response.status < 400 and not (response.status == 200 and is_events(kind)):
        answered = show(f"{response.status} {response.reason}".strip())
        told = f" with {show(kind)}" if kind else ""
        raise TransportError(f"no server-sent events came: the server answered {answered}{told}")


def read_events(raw: urllib3.BaseHTTPResponse, listener: Listener) -> str | None:
    """Read server-sent events into a listener; return why reading stopped, None at their end.

    Raises what urllib3 does, except for a server that is silent for too long.
    """
    parsed = at = 0  # the ends of the text parsed, and of the text searched for event ends
    try:
        while not listener.is_full:
            chunk = raw.read1(65_536)
            if not chunk:
                return None
            listener.body += chunk
            while not listener.is_full and (end := _EVENT_END.search(listener.body, at)):
                found = _DATA.findall(listener.body[parsed : end.end()])
                parsed = at = end.end()
                if found:
                    listener.receive(b"\n".join(found))
            if listener.count >= listener.most:
                del listener.body[parsed:]
            at = max(parsed, len(listener.body) - 3)
    except urllib3.exceptions.ReadTimeoutError:
        raw.close()
        return "not listened to any longer: no event came in time (# @timeout TIME)"
    raw.close()
    return listener.why()
