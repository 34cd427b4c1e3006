"""The local server of the demo: a few tasks, a login, and responses of several types.

It listens on a free loopback port, in this process, while the tour runs.
"""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "tour-token"  # noqa: S105 - issued by the demo's login

_TASKS = [
    {"id": 1, "title": "Write down the request", "done": True},
    {"id": 2, "title": "Evaluate it", "done": True},
    {"id": 3, "title": "Read the answer below it", "done": False},
]


class _Handler(BaseHTTPRequestHandler):
    """Responds to the requests of the tour."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # send the head and the body in one packet

    def version_string(self) -> str:
        """Return the value of the Server header."""
        return "orgrest-demo"

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        if path.path == "/login":
            self._answer(200, "text/plain", TOKEN)
        elif path.path == "/tasks":
            done = parse_qs(path.query).get("done")
            tasks = [task for task in _TASKS if not done or str(task["done"]).lower() in done]
            self._answer(200, "application/json", json.dumps(tasks))
        elif path.path == "/tasks.csv":
            rows = ["id,title,done", *(",".join(map(str, task.values())) for task in _TASKS)]
            self._answer(200, "text/csv", "\n".join(rows) + "\n")
        elif path.path == "/feed":
            items = "".join(f"<task id='{task['id']}'>{task['title']}</task>" for task in _TASKS)
            self._answer(200, "application/xml", f"<tasks>{items}</tasks>")
        elif path.path == "/me":
            if self.headers["Authorization"] == f"Bearer {TOKEN}":
                self._answer(200, "application/json", '{"name": "you", "tasks": 3}')
            else:
                self._answer(401, "application/json", '{"error": "missing token"}')
        else:
            self._answer(
                404, "application/json", json.dumps({"error": f"no such path: {path.path}"})
            )

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"] or 0)
        sent = self.rfile.read(length).decode("utf-8", "replace")
        try:
            task = json.loads(sent)
        except ValueError:
            self._answer(400, "application/json", '{"error": "invalid JSON"}')
        else:
            self._answer(201, "application/json", json.dumps({"id": 4, "task": task}))

    def _answer(self, status: int, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Do not log anything."""


@contextlib.contextmanager
def serve() -> Iterator[int]:
    """Return a context manager that runs the demo's server and yields the server's port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
