"""Server-sent events (the HTML standard, section 9.2), and the listener of a message stream.

A stream is read until the server ends it, a limit of time or number is reached, or the body has its
maximum size; the messages received are the response's body. A server answers with events if the
request accepts `text/event-stream`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs
import urllib3

from orgrest.http.transport.wire import EVENTS, show
from orgrest.model import Response, TransportError

if TYPE_CHECKING:
    from collections.abc import Callable

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
        """Count, keep and pass on a message."""
        self.count += 1
        if self.on_message is not None:
            self.on_message(text[:10_000].decode("utf-8", "backslashreplace"))

    @property
    def is_full(self) -> bool:
        """Whether enough messages were received."""
        return self.count >= self.most or len(self.body) > self.limit

    def why(self) -> str | None:
        """Return a note if a stream was closed early because of the number of messages."""
        if self.count < self.most:
            return None
        return f"not listened to any longer after {self.most} messages (# @messages N)"

    def read_events(self, raw: urllib3.BaseHTTPResponse) -> str | None:
        """Read server-sent events; return why reading stopped, None at their end.

        Raises urllib3's errors, except for a server that is silent for too long.
        """
        parsed = at = 0  # the ends of the text parsed, and of the text searched for event ends
        try:
            while not self.is_full:
                chunk = raw.read1(65_536)
                if not chunk:
                    return None
                self.body += chunk
                while not self.is_full and (end := _EVENT_END.search(self.body, at)):
                    data = _DATA.findall(self.body[parsed : end.end()])
                    parsed = at = end.end()
                    if data:
                        self.receive(b"\n".join(data))
                if self.count >= self.most:
                    del self.body[parsed:]
                at = max(parsed, len(self.body) - 3)
        except urllib3.exceptions.ReadTimeoutError:
            raw.close()
            return "not listened to any longer: no event came in time (# @timeout TIME)"
        raw.close()
        return self.why()


def check_events(response: Response) -> None:
    """Raise `TransportError` for a success that is not a stream (HTML standard, section 9.2.3)."""
    kind = response.header("Content-Type") or ""
    streams = response.status == 200 and kind.lower().lstrip().startswith(EVENTS)
    if response.status < 400 and not streams:
        answered = show(f"{response.status} {response.reason}".strip())
        told = f" with {show(kind)}" if kind else ""
        raise TransportError(f"no server-sent events came: the server answered {answered}{told}")
