"""For the tests of runs: a server, a separate folder, and `orgrest test` as users call it."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

import pytest
from servers import RawServer, by_path, closing, echo, response

from orgrest.commands.main import main

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = "Content-Type: application/json"


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def server() -> Iterator[RawServer]:
    answers = {
        "/json": response(b'{"id": 1, "state": "done"}', JSON),
        "/404": response(b"no", status="404 Not Found"),
        "/busy": response(b"later", "Retry-After: 0", status="503 Service Unavailable"),
        "/echo": echo,
        "/short": closing(response(b"x" * 10)[:-3]),
        "/png": response(b"\x89PNG\r\n\x1a\n\0", "Content-Type: image/png"),
    }

    def answer(connection: socket.socket, request: bytes) -> None:
        method, target, rest = request.split(b" ", 2)
        path = target.partition(b"?")[0]
        by_path(answers)(connection, b" ".join((method, path, rest)))

    with RawServer(answer) as running:
        yield running


@pytest.fixture
def paths(server: RawServer) -> Callable[[], list[str]]:
    """Return the methods and paths of the requests that the server received."""

    def asked() -> list[str]:
        return [b" ".join(request.split(b" ", 2)[:2]).decode() for request in server.requests]

    return asked


class Ran:
    """The result of a run: its exit status, its output, and its report as JSON."""

    def __init__(self, status: int, out: str, err: str, report: dict[str, Any]) -> None:
        self.status, self.out, self.err, self.report = status, out, err, report

    @property
    def requests(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.report["requests"]
        return found

    @property
    def outcomes(self) -> list[str]:
        return [request["outcome"] for request in self.requests]


@pytest.fixture
def run(server: RawServer, folder: Path, capfd: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Call `orgrest test`. In documents, HOST stands for the server."""

    def call(*arguments: str, **documents: str) -> Ran:
        for name, text in documents.items():
            file = folder / name.replace("__", "/").replace("_", ".")
            file.parent.mkdir(exist_ok=True)
            file.write_text(text.replace("HOST", server.url))
        before = signal.getsignal(signal.SIGINT)
        with pytest.raises(SystemExit) as ended:
            main(["test", *arguments, "--report-json", "report.json"])
        assert signal.getsignal(signal.SIGINT) is before
        output = capfd.readouterr()
        report = folder / "report.json"
        found = json.loads(report.read_text()) if report.exists() else {}
        report.unlink(missing_ok=True)
        return Ran(int(ended.value.code or 0), output.out, output.err, found)

    return call
