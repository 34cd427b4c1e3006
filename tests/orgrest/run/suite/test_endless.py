"""Runs that documents try to make endless come to an end, with a report of what was done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from servers import RawServer, by_path, response, silent
from waiting import descendants, is_alive, is_watched, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

XML = b"<a>" * 4000 + b"</a>" * 4000


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    answers = {
        "/a": response(b"1", "Content-Type: text/plain"),
        "/xml": response(XML, "Content-Type: application/xml"),
        "/stall": silent,
    }
    with RawServer(by_path(answers)) as running:
        yield running


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "orgrest", *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )


def nested(folder: Path, server: RawServer) -> None:
    """Write nine files. Each of the first eight runs the next file ten times."""
    for number in range(1, 9):
        (folder / f"f{number}.http").write_text(f"run f{number + 1}.http\n" * 10)
    (folder / "f9.http").write_text(f"GET {server.url}/a\n")


def told(folder: Path) -> tuple[list[dict[str, object]], dict[str, object]]:
    lines = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    return [line for line in lines if "order" in line], lines[-1]["summary"]


ENDLESS = {  # a second request, and what comes of the third
    "xpath": ("GET HOST/xml\n\n?? xpath //a//a//a//a exists\n", "skipped"),
    "stall": ("GET HOST/stall\n", "skipped"),
    "script": ("GET HOST/a\n\n> {%\nfor (;;) {}\n%}\n", "skipped"),
    "sleep": ("# @sleep 999999999\nGET HOST/a\n", "passed"),
    "loop": ("# @loop for 1000000000\nGET HOST/a\n", "passed"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "last"), ENDLESS.values(), ids=list(ENDLESS))
def test_a_run_ends_after_max_time_with_a_record_of_each_request(
    tmp_path: Path, server: RawServer, text: str, last: str
) -> None:
    text = f"### a\nGET HOST/a\n### b\n{text}### c\nGET HOST/a\n".replace("HOST", server.url)
    (tmp_path / "a.http").write_text(text)
    (tmp_path / "b.http").write_text(f"GET {server.url}/a\n")
    arguments = ("a.http", "b.http", "--max-time", "2", "--jsonl", "r.jsonl")
    with start(tmp_path, "test", *arguments) as run:
        run.communicate(timeout=40)
    records, summary = told(tmp_path)
    assert run.returncode == 1
    assert [(record["document"], record["name"], record["outcome"]) for record in records] == [
        ("a.http", "a", "passed"),
        ("a.http", "b", "error"),
        ("a.http", "c", last),
        ("b.http", None, last),
    ]
    assert records[1]["reason"]
    assert summary["ended" if last == "skipped" else "requests"]
    found = Counter(record["outcome"] for record in records)
    assert {word: summary[word] for word in found} == found


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, limits of CPU time end it")
def test_a_run_that_is_killed_leaves_no_process_behind(
    tmp_path: Path, server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.http").write_text(f"GET {server.url}/a\nX: {{{{$secret s}}}}\n")
    (tmp_path / "secrets.toml").write_text(f'[s]\nprovider = "pass"\nhosts = ["{server.url}"]\n')
    (tmp_path / "pass").write_text("#!/bin/sh\nsleep 1000\n")  # a process below another one
    (tmp_path / "pass").chmod(0o755)
    monkeypatch.setenv("ORGREST_SECRETS", str(tmp_path / "secrets.toml"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with start(tmp_path, "a.http") as run:
        below = wait_until(lambda: descendants(run.pid), lambda found: len(found) == 2)
        wait_until(lambda: is_watched(below[0]))
        run.kill()
        run.communicate(timeout=40)
    wait_until(lambda: not any(map(is_alive, below)))


def test_files_that_run_each_other_end_with_the_time(tmp_path: Path, server: RawServer) -> None:
    nested(tmp_path, server)
    with start(tmp_path, "test", "f1.http", "--max-time", "2", "--jsonl", "r.jsonl", "-q") as run:
        _, output = run.communicate(timeout=40)
    assert run.returncode == 1
    assert "--max-time" in output
    assert told(tmp_path)[1]["ended"]


@pytest.mark.parametrize("command", [["test", "f1.http", "-q"], ["f1.http", "-q"]])
def test_files_that_run_each_other_end_with_the_budget(
    tmp_path: Path, server: RawServer, command: list[str]
) -> None:
    nested(tmp_path, server)
    server.requests.clear()
    with start(tmp_path, *command, "--max-requests", "30") as run:
        _, output = run.communicate(timeout=40)
    assert run.returncode == 1
    assert "the run has reached its limit of 30 requests (--max-requests)" in output
    assert len(server.requests) == 30


def test_the_second_signal_ends_a_run_at_once_with_its_reports(
    tmp_path: Path, server: RawServer
) -> None:
    (tmp_path / "a.http").write_text(
        f"GET {server.url}/a\n\n"
        f"###\n# @sleep 60000\nGET {server.url}/a\n\n"  # broken off by the first signal
        f"###\n# @tag teardown\n# @name teardown\n# @sleep 20000\nGET {server.url}/a\n"
        f"###\n# @tag teardown\n# @name late\nGET {server.url}/a\n"
    )
    (tmp_path / "b.http").write_text(f"GET {server.url}/a\n")
    with start(tmp_path, "test", "a.http", "b.http", "--jsonl", "r.jsonl") as run:
        assert run.stderr is not None
        while "passed" not in (line := run.stderr.readline()) and "ok" not in line:
            assert line, "the first request was not told"
        run.send_signal(signal.SIGTERM)
        while "interrupted" not in (line := run.stderr.readline()):
            assert line
        run.send_signal(signal.SIGTERM)
        run.communicate(timeout=40)
    records, summary = told(tmp_path)
    assert run.returncode == 130
    names = [None, None, "teardown", "late", None]
    assert [record["name"] for record in records] == names  # one of each, in order
    outcomes = [record["outcome"] for record in records]
    assert (outcomes[0], outcomes[3:]) == ("passed", ["skipped", "skipped"])
    assert summary["ended"] == "interrupted"
