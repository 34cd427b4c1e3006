"""How long an editor waits for `orgrest lsp`: at start-up and after each keystroke.

A client that does nothing else sends requests to a real server process over its standard input and
output. Start-up is the time from the start of the process to the response with the first
completion. Then a character is typed in the middle of documents of several sizes. Completion is
requested immediately, as in an editor, or (busy) after the server has begun to look for problems.
Diagnostics arrive without a request; the pause before they start is excluded.

In a document of 2,000 blocks, hover, rename and symbols are requested right after a keystroke.
Also, all requests that VS Code sends after a pause in typing are sent one after the other. For a
pause, the processor time of the server and the bytes of its responses are measured, including
diagnostics.

The goals for 20,000 lines: completion within 20 ms, diagnostics within 200 ms. The goals for 2,000
blocks: hover, rename and symbols within 50 ms, and 60 ms of processor time for a pause.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.timing import table, verdict

SIZES = (200, 2_000, 20_000)
BLOCKS = 2_000
REQUESTS: dict[str, dict[str, Any]] = {
    "textDocument/hover": {},
    "textDocument/rename": {"newName": "number"},
    "textDocument/documentSymbol": {},
}
PAUSE = (
    "textDocument/completion",
    "textDocument/documentSymbol",
    "textDocument/semanticTokens/full/delta",
    "textDocument/inlayHint",
    "textDocument/codeLens",
    "textDocument/foldingRange",
    "textDocument/documentLink",
)
VSCODE: dict[str, Any] = {
    "textDocument": {
        "completion": {"completionList": {"itemDefaults": ["editRange"]}},
        "documentSymbol": {"hierarchicalDocumentSymbolSupport": True},
        "semanticTokens": {
            "requests": {"full": {"delta": True}},
            "tokenTypes": [],
            "tokenModifiers": [],
            "formats": ["relative"],
        },
        "publishDiagnostics": {"versionSupport": True},
    }
}
"""The client capabilities of VS Code that the measured part of the server uses."""
ORG = """* Request {0}
Some text about it.

#+NAME: request-{0}
#+begin_src restclient :var host="example.org"
:id = {0}
POST https://:host/tasks/:id?x={{{{id}}}}
Content-Type: application/json
Accept: application/json

{{"a": ":id",
 "b": [1, 2, 3]}}
#+end_src

#+RESULTS: request-{0}
#+BEGIN_SRC js
{{"a": 1}}
#+END_SRC

"""
COMMON = """### request {0}
# @name request{0}
@id{0} = {0}
POST https://example.org/tasks/{{{{id{0}}}}}?x={{{{id0}}}}
Content-Type: application/json
Accept: application/json

{{"a": "{{{{id{0}}}}}",
 "b": [1, 2, 3]}}

"""
HTTP = """### request {0}
:id = {0}
POST https://example.org/tasks/:id?x={{{{id}}}}
Content-Type: application/json
Accept: application/json

{{"a": ":id",
 "b": [1, 2, 3]}}

"""

BLOCKS_OF = {"org": ORG, "http": HTTP, "rest": COMMON}
"""A block for each suffix of documents.

`http` is in restclient's dialect, `rest` in the syntax that the other dialects share.
"""


class Client:
    """A client that sends the required messages and reads the responses."""

    def __init__(self, capabilities: Any = None) -> None:
        self.started = time.perf_counter()
        self.size = 0
        """How many bytes the last message had."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "orgrest", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._number = 0
        self._seen = 0
        self.ask(
            "initialize", {"processId": None, "rootUri": None, "capabilities": capabilities or {}}
        )
        self.tell("initialized", {})

    def tell(self, method: str, params: Any) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def type(self, uri: str, version: int, place: dict[str, int], text: str) -> None:
        """Insert text into a document, which then has the given version."""
        change = {"range": {"start": place, "end": place}, "text": text}
        document = {"uri": uri, "version": version}
        params = {"textDocument": document, "contentChanges": [change]}
        self.tell("textDocument/didChange", params)

    def ask(self, method: str, params: Any) -> Any:
        """Send a request, wait for the response and return its result."""
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while (message := self.read()).get("id") != self._number:
            pass
        return message["result"]

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self._process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Wait for the next message and return it."""
        stream = self._process.stdout
        assert stream is not None
        length = 0
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        if not length:
            raise SystemExit("the server has ended")
        self.size = length
        message: dict[str, Any] = json.loads(stream.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self._seen = message["params"].get("version")
        return message

    def diagnostics(self, version: int) -> None:
        """Wait for the diagnostics of a version of a document."""
        while self._seen != version:
            self.read()

    def cpu(self) -> float:
        """Return the seconds of processor time that the server has used (on Linux)."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """Shut the server down."""
        self.ask("shutdown", None)
        self.tell("exit", None)
        self._process.communicate()


@contextmanager
def client(capabilities: Any = None) -> Iterator[Client]:
    """Yield a client with a server, and shut it down at the end."""
    made = Client(capabilities)
    try:
        yield made
    finally:
        made.close()


def document(kind: str, lines: int) -> str:
    """Return the text of a document with about `lines` lines."""
    block = BLOCKS_OF[kind]
    return "".join(block.format(number) for number in range(lines // block.count("\n") + 1))


def open_document(server: Client, folder: Path, kind: str, text: str) -> str:
    """Open a document in the server; return its URI."""
    uri = (folder / f"notes.{kind}").as_uri()
    item = {"uri": uri, "languageId": kind, "version": 1, "text": text}
    server.tell("textDocument/didOpen", {"textDocument": item})
    return uri


def start_up(folder: Path, rounds: int) -> float:
    """Return the best time from the start of a server to its first completion, in seconds."""
    best = float("inf")
    for _ in range(rounds):
        with client() as server:
            uri = open_document(server, folder, "http", "GET http://example.org/\nAcc\n")
            position = {"line": 1, "character": 3}
            answer = server.ask(
                "textDocument/completion", {"textDocument": {"uri": uri}, "position": position}
            )
            best = min(best, time.perf_counter() - server.started)
            assert "Accept" in [item["label"] for item in answer["items"]]
    return best


def keystrokes(folder: Path, kind: str, lines: int, rounds: int) -> list[list[float]]:
    """Type in a document; return three sorted lists of seconds.

    They are the times of completion, of completion while the server is busy, and of diagnostics.
    """
    from orgrest.editor.server.server import DELAY

    text = document(kind, lines)
    rows = text.split("\n")
    line = next(i for i in range(len(rows) // 2, len(rows)) if rows[i].startswith("Accept"))
    times: list[list[float]] = [[], [], []]
    with client() as server:
        uri = open_document(server, folder, kind, text)
        server.diagnostics(1)
        place = {"line": line, "character": 3}
        where = {"textDocument": {"uri": uri}, "position": place}
        for version in range(2, 2 * rounds + 2):
            busy = version % 2
            server.type(uri, version, place, "xy"[busy])
            typed = time.perf_counter()
            time.sleep(busy * (DELAY + 0.01))
            start = time.perf_counter()
            server.ask("textDocument/completion", where)
            times[busy].append(time.perf_counter() - start)
            server.diagnostics(version)
            if not busy:
                times[2].append(time.perf_counter() - typed - DELAY)
    return [sorted(durations) for durations in times]


def requests(folder: Path, blocks: int, rounds: int) -> dict[str, float]:
    """Return the median seconds of each of `REQUESTS`, sent after an edit of a document."""
    text = document("org", blocks * ORG.count("\n"))
    rows = text.split("\n")
    line = next(i for i in range(len(rows) // 2, len(rows)) if rows[i].startswith("POST"))
    name = {"line": line, "character": rows[line].index(":id") + 1}
    typed = {"line": line + 1, "character": 3}
    times: dict[str, list[float]] = {method: [] for method in REQUESTS}
    with client() as server:
        uri = open_document(server, folder, "org", text)
        server.diagnostics(1)
        version = 1
        for _ in range(rounds):
            for method, more in REQUESTS.items():
                version += 1
                server.type(uri, version, typed, "x")
                params = {"textDocument": {"uri": uri}, "position": name, **more}
                start = time.perf_counter()
                server.ask(method, params)
                times[method].append(time.perf_counter() - start)
                server.diagnostics(version)
    return {method: sorted(durations)[len(durations) // 2] for method, durations in times.items()}


def pauses(folder: Path, kind: str, blocks: int, rounds: int) -> list[tuple[str, float, float]]:
    """Send the requests that VS Code sends after each edit; return the cost of each request.

    The cost is the processor time in seconds and the size of the response in kilobytes, as means of
    all rounds. There is an entry for each request in `PAUSE`, for the diagnostics, and for the
    whole pause.
    """
    text = document(kind, blocks * BLOCKS_OF[kind].count("\n"))
    rows = text.split("\n")
    line = next(i for i in range(len(rows) // 2, len(rows)) if rows[i].startswith("Accept"))
    place = {"line": line, "character": 3}
    totals = {method: [0.0, 0.0] for method in (*PAUSE, "diagnostics", "in all")}
    with client(VSCODE) as server:
        uri = open_document(server, folder, kind, text)
        server.diagnostics(1)
        where: dict[str, Any] = {"textDocument": {"uri": uri}}
        known = server.ask("textDocument/semanticTokens/full", where).get("resultId")
        for version in range(2, rounds + 2):
            first = before = server.cpu()
            server.type(uri, version, place, "xy"[version % 2])
            total = 0
            for method in PAUSE:
                more: dict[str, Any] = {"position": place} if method.endswith("completion") else {}
                if method.endswith("inlayHint"):
                    ends = [{"line": line + by, "character": 0} for by in (-30, 30)]
                    more = {"range": {"start": ends[0], "end": ends[1]}}
                asked = method
                if method.endswith("delta"):
                    more, asked = (
                        ({"previousResultId": known}, method) if known else ({}, method[:-6])
                    )
                answer = server.ask(asked, where | more)
                if method.endswith("delta"):
                    known = answer.get("resultId")
                now = server.cpu()
                totals[method][0] += now - before
                totals[method][1] += server.size
                total += server.size
                before = now
            server.diagnostics(version)
            now = server.cpu()
            totals["diagnostics"][0] += now - before
            totals["diagnostics"][1] += server.size
            totals["in all"][0] += now - first
            totals["in all"][1] += total + server.size
    return [
        (name, seconds / rounds, size / rounds / 1024) for name, (seconds, size) in totals.items()
    ]


def main(smoke: bool) -> None:
    """Print all figures; with `smoke`, only check that the measurement works."""
    sizes, rounds = (SIZES[:1], 3) if smoke else (SIZES, 50)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        seconds = start_up(folder, 1 if smoke else 5)
        print(f"From the start of the process to the first completion: {seconds:.2f} s\n")
        rows, last = [], {}
        for kind in ("org", "http"):
            for lines in sizes:
                durations = keystrokes(folder, kind, lines, rounds)
                last[kind] = durations
                cells = [
                    f"{times[int(part * (len(times) - 1))] * 1000:.1f}"
                    for times in durations
                    for part in (0.5, 0.99)
                ]
                rows.append([f"{kind}, {lines:,} lines", *cells])
        header = ["ms", "completion", "99 %", "busy", "99 %", "diagnostics", "99 %"]
        table(header, rows, "After a keystroke: median and 99th percentile")
        asked = requests(folder, 20 if smoke else BLOCKS, 1 if smoke else 10)
        table(
            ["ms", "median"],
            [[method, f"{seconds * 1000:.1f}"] for method, seconds in asked.items()],
            f"After a keystroke in a document of {20 if smoke else BLOCKS:,} blocks",
        )
        for kind in BLOCKS_OF:
            means = pauses(folder, kind, 20 if smoke else BLOCKS, 1 if smoke else 10)
            table(
                ["", "CPU in ms", "KiB"],
                [[name, f"{cpu * 1000:.0f}", f"{size:.1f}"] for name, cpu, size in means],
                f"What VS Code asks after a pause: {kind}, {20 if smoke else BLOCKS:,} blocks",
            )
            if not smoke:
                verdict(f"{kind}: CPU of a pause in ms", means[-1][1] * 1e3, 60, least=False)
        for method, seconds in () if smoke else asked.items():
            verdict(f"{method} in ms", seconds * 1e3, 50, least=False)
        for kind, (completions, _, diagnostics) in () if smoke else last.items():
            middle = rounds // 2
            verdict(f"{kind}: completion in ms", completions[middle] * 1e3, 20, least=False)
            verdict(f"{kind}: diagnostics in ms", diagnostics[middle] * 1e3, 200, least=False)
