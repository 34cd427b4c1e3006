"""What the tests of the language server send, and responses that a test holds back."""

from __future__ import annotations

import socket
import threading

from editors import TIMEOUT
from servers import response

JSON = "Content-Type: application/json"
TEXT = "Content-Type: text/plain"
BLOCK = "#+begin_src restclient :noheaders\nGET {}/json\n#+end_src\n"
RESULT = '\n#+RESULTS:\n#+BEGIN_SRC js\n{\n  "a": 1\n}\n#+END_SRC\n'
SECRET = "hunter2-hunter2"


class Gate:
    """A server's response that waits until a test releases it."""

    def __init__(self) -> None:
        self.asked = threading.Semaphore(0)
        self.opened = threading.Event()

    def __call__(self, connection: socket.socket, _: bytes) -> None:
        self.asked.release()
        self.opened.wait(TIMEOUT)
        connection.sendall(response(b'{"a":1}', JSON))

    def __enter__(self) -> Gate:
        self.__init__()  # type: ignore[misc]  # as new
        return self

    def __exit__(self, *_: object) -> None:
        self.opened.set()

    def wait(self) -> None:
        assert self.asked.acquire(timeout=TIMEOUT)


GATE = Gate()
OTHER_GATE = Gate()
