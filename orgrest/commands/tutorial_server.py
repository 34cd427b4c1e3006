"""A server with a list of tasks, for orgrest's tutorial. It needs only Python.

Start it with `python3 tasks.py`. It serves http://127.0.0.1:8931 until Ctrl-C, and saves nothing.

    POST /login          {"password": "..."} returns a token; the password is "open sesame"
    GET /tasks           returns all tasks; ?done=true returns only those that are done
    POST /tasks          {"title": "..."} adds a task; needs "Authorization: Bearer TOKEN"
"""

import contextlib
import json
import secrets
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

PORT = 8931
TASKS = [
    {"id": 1, "title": "Write down a request", "done": True},
    {"id": 2, "title": "Check it in CI", "done": False},
]
TOKENS: set[str] = set()


class Handler(BaseHTTPRequestHandler):
    """Answers requests in JSON."""

    protocol_version = "HTTP/1.1"

    def version_string(self) -> str:
        """Return the value of the Server header."""
        return "tasks"

    def do_GET(self) -> None:
        """Respond with the tasks."""
        url = urlsplit(self.path)
        if url.path != "/tasks":
            self.answer(404, {"error": f"no such path: {url.path}"})
            return
        done = parse_qs(url.query).get("done")
        self.answer(200, [each for each in TASKS if not done or str(each["done"]).lower() in done])

    def do_POST(self) -> None:
        """Log in, or add a task."""
        data = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or "{}")
        if self.path == "/login":
            if data.get("password") == "open sesame":
                TOKENS.add(token := secrets.token_hex(8))
                self.answer(200, token)
            else:
                self.answer(403, {"error": "wrong password"})
        elif self.headers["Authorization"] not in {f"Bearer {token}" for token in TOKENS}:
            self.answer(401, {"error": "log in first"})
        else:
            self.answer(201, {"id": 3, "title": data.get("title"), "done": False})

    def answer(self, status: int, value: object) -> None:
        """Respond with a value as JSON. A string is sent unchanged."""
        body = (value if isinstance(value, str) else json.dumps(value)).encode()
        self.send_response(status)
        kind = "text/plain" if isinstance(value, str) else "application/json"
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Do not log anything."""


if __name__ == "__main__":
    print(f"The tasks are at http://127.0.0.1:{PORT}/tasks; press Ctrl-C to stop.", flush=True)  # noqa: T201  # a program
    with contextlib.suppress(KeyboardInterrupt):
        ThreadingHTTPServer(("127.0.0.1", PORT), Handler).serve_forever()
