"""A socket that one thread reads from while another writes to it, over TLS as well.

The package `websockets` requires that, which has two problems with TLS. OpenSSL allows only one
call at a time per connection: a request written while the session tickets of TLS 1.3 are read can
get lost. And a read blocks if only those tickets have arrived; closing the socket in another thread
does not wake it, so that a server that never answers would be waited for forever.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import threading
import time
from functools import partial
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_T = TypeVar("_T")

_RECHECK = 1.0
"""The interval in seconds at which waiting threads check whether the socket was closed."""


class ThreadSafeSocket:
    """A connected socket whose calls are serialized, and which waits for the peer between them.

    It implements what `websockets` uses; each call to send ends after `timeout` seconds.
    """

    def __init__(self, connected: socket.socket, timeout: float) -> None:
        connected.setblocking(False)
        self.socket = connected
        self._timeout = timeout
        self._lock = threading.Lock()

    def fileno(self) -> int:
        """Return the file descriptor, -1 after the socket was closed."""
        return self.socket.fileno()

    def settimeout(self, seconds: float | None) -> None:
        """Set how long a call to send may take; it can only be shortened."""
        if seconds is not None:
            self._timeout = min(self._timeout, seconds)

    def recv(self, size: int) -> bytes:
        """Return received bytes, or b"" at the end.

        Raises OSError, also if the socket is closed.
        """
        return self._retried(partial(self.socket.recv, size), selectors.EVENT_READ, None)

    def sendall(self, data: bytes) -> None:
        """Send all of it. Raises OSError: a TimeoutError if the peer does not read it."""
        deadline = time.monotonic() + self._timeout
        left = memoryview(data)
        while left:
            send = partial(self.socket.send, left)
            left = left[self._retried(send, selectors.EVENT_WRITE, deadline) :]

    def shutdown(self, how: int) -> None:
        """Shut the connection down for one side or both, which wakes waiting threads."""
        socket.socket.shutdown(self.socket, how)

    def close(self) -> None:
        """Close the socket, and wake waiting threads."""
        with contextlib.suppress(OSError):
            self.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self.socket.close()

    def _retried(self, call: Callable[[], _T], ready: int, deadline: float | None) -> _T:
        """Call until it is done, and wait between calls until the socket is ready."""
        while True:
            try:
                with self._lock:
                    return call()
            except ssl.SSLWantReadError:
                wanted = selectors.EVENT_READ
            except ssl.SSLWantWriteError:
                wanted = selectors.EVENT_WRITE
            except BlockingIOError:
                wanted = ready
            left = _RECHECK if deadline is None else min(_RECHECK, deadline - time.monotonic())
            if left <= 0:
                raise TimeoutError("the other side does not read")
            with selectors.DefaultSelector() as selector:
                try:
                    selector.register(self.socket, wanted)
                except ValueError as error:
                    raise OSError("the socket was closed") from error
                selector.select(left)
