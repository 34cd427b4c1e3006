"""A language server in its own process, a client for it, and a server that it sends requests to."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editors import Editor
from served import GATE, JSON, OTHER_GATE, SECRET, TEXT
from servers import RawServer, by_path, echo, response


@pytest.fixture(scope="session")
def server() -> Iterator[RawServer]:
    def session(connection: socket.socket, request: bytes) -> None:
        known = b"Cookie: id=7" in request
        connection.sendall(response(b"known" if known else b"new", TEXT, "Set-Cookie: id=7"))

    def whoami(connection: socket.socket, request: bytes) -> None:
        given = request.partition(b"Authorization: ")[2].partition(b"\r\n")[0]
        connection.sendall(response(b'{"auth": "%s"}' % given, JSON))

    answers: Any = {
        "/json": response(b'{"a":1}', JSON),
        "/404": response(b"no", TEXT, status="404 Not Found"),
        "/png": response(b"\x89PNG\r\n\x1a\n\0", "Content-Type: image/png"),
        "/snow": response("☃😀".encode(), TEXT),
        "/token": response(b'{"token": "t-1"}', JSON),
        "/me": whoami,
        "/session": session,
        "/echo": echo,
        "/wait": GATE,
        "/other": OTHER_GATE,
    }
    with RawServer(by_path(answers)) as running:
        yield running


@pytest.fixture(scope="session")
def running() -> Iterator[Editor]:
    with Editor(environ={"SECRET": SECRET}) as editor:
        yield editor


@pytest.fixture
def editor(running: Editor) -> Iterator[Editor]:
    running.client.messages.clear()
    running.client.log_messages.clear()
    running.client.shown_documents.clear()
    running.client.progress_reports.clear()
    running.questions.clear()
    running.notified.clear()
    running.answer = None
    running.applying = lambda _: None
    running.delay = None
    yield running
    for buffer in list(running.buffers.values()):
        running.close(buffer)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "my documents"
    made.mkdir()
    return made
