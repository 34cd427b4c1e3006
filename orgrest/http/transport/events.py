"""Reads server-sent events (HTML standard, section 9.2), and collects the messages of a stream.

A stream is read until the server ends it, or until a limit on the time, the number of messages or
the size of the body is reached. The messages are the body of the response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import urllib3

from orgrest import classes
from orgrest.http.transport.limits import TIME_OVER, OverdueError
from orgrest.http.transport.wire import EVENTS, show
from orgrest.model import Response, TransportError
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.http.transport.limits import Budget, Limits

_EVENT_END = compiled(rb"(?:\r\n|\n|\r(?!\n)){2}")
_DATA = compiled(rb"(?:^|[\r\n])data:[ ]?([^\r\n]*)")


@classes.define
class Listener:
    """Receives the messages of a stream, counts them, and calls `on_message` for each.

    `most` is the maximum number of messages. `limits` are the limits of the exchange, and `budget`
    is the run's budget.
    """

    most: int
    limits: Limits
    budget: Budget
    on_message: Callable[[str], None] | None = None
    body: bytearray = classes.field(factory=bytearray)
    count: int = 0

    def receive(self, text: bytes) -> None:
        """Count a message, and call `on_message` with its text (up to 10,000 bytes)."""
        self.count += 1
        if self.on_message is not None:
            self.on_message(text[:10_000].decode("utf-8", "backslashreplace"))

    @property
    def is_full(self) -> bool:
        """Whether the maximum number of messages was reached, or the body exceeds its limit."""
        return self.count >= self.most or len(self.body) > self.limits.body

    def why(self) -> str | None:
        """Return a note if the maximum number of messages was reached, otherwise None."""
        if self.count < self.most:
            return None
        return f"stopped reading after {self.most} messages (to read more, use # @messages N)"

    def read_events(self, raw: urllib3.BaseHTTPResponse) -> str | None:
        """Read server-sent events until the stream ends or a limit is reached.

        Returns a note if the limit on the time or on messages was reached, otherwise None. Raises
        urllib3's errors, except for its read timeout.
        """
        parsed = at = 0  # ends of the text that was parsed, and that was searched for event ends
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
        except urllib3.exceptions.ReadTimeoutError as error:
            raw.close()
            return self.timed_out("event", error.__cause__)
        raw.close()
        return self.why()

    def timed_out(self, what: str, error: BaseException | None) -> str:
        """Return a note saying that reading stopped because a time limit was reached.

        `what` is the kind of message, such as "event". `error` is an OverdueError if the whole
        exchange took too long. Otherwise, the server was silent for too long.
        """
        if not isinstance(error, OverdueError):
            return (
                f"stopped reading: no {what} arrived in time (to wait longer, use # @timeout TIME)"
            )
        if self.budget.is_overtime:
            return f"stopped reading: {TIME_OVER}"
        seconds = self.limits.total
        return f"stopped reading after {seconds:g} s (to read longer, use # @timeout TIME)"


def check_events(response: Response) -> None:
    """Raise `TransportError` if a successful response is not an event stream.

    Source: HTML standard, section 9.2.3.
    """
    kind = response.header("Content-Type") or ""
    streams = response.status == 200 and kind.lower().lstrip().startswith(EVENTS)
    if response.status < 400 and not streams:
        status_line = show(f"{response.status} {response.reason}".strip())
        with_type = f" with {show(kind)}" if kind else ""
        raise TransportError(
            f"expected server-sent events, but the server answered {status_line}{with_type}"
        )
