"""Reliable runs: bad servers, long runs, full disks, terminals."""

from __future__ import annotations

import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from full_disk import run_with_full_disk
from servers import RawServer, by_path, closing, reset, response, silent, stalling
from waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator


def drip(connection: socket.socket, _: bytes) -> None:
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(40):
        connection.sendall(b"x")
        time.sleep(0.2)


BAD = {
    "/reset": reset,
    "/stall": stalling(b"HTTP/1.1 200 OK\r\nContent-Le"),
    "/drip": drip,
    "/silent": silent,
    "/close": closing(b""),
    "/short": closing(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"),
    "/chunks": closing(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\nabc"),
    "/noise": closing(b"\x16\x03\x01\x00\x00"),
    "/loop": response(b"", "Location: /loop", status="302 Found"),
    "/two": closing(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc"),
    "/fine": response(b"{}"),
}


@pytest.fixture
def bad() -> Iterator[RawServer]:
    with RawServer(by_path(BAD)) as server:
        yield server


@pytest.mark.parametrize("jobs", ["1", "8"])
def test_every_request_to_a_bad_server_has_an_outcome_in_time(run, bad: RawServer, jobs) -> None:
    limit = "# @timeout 400 ms\n"
    documents = {
        f"{number:02}_http": f"{limit}GET {bad.url}{path}\n\n###\nGET {bad.url}/fine\n"
        for number, path in enumerate(BAD)
    }
    done = run("-j", jobs, ".", **documents)
    assert [request["file"] for request in done.requests] == [
        f"{number:02}.http" for number in range(len(BAD)) for _ in range(2)
    ]
    assert done.outcomes[1::2] == ["passed"] * len(BAD)
    assert done.outcomes[0:-2:2] == ["error"] * (len(BAD) - 1)
    assert all(request["reason"] for request in done.requests if request["outcome"] == "error")


_MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def test_a_long_run_by_many_jobs_is_in_order_and_small(
    folder: Path, long_mode: bool, server: RawServer
) -> None:
    documents, each = (500, 20) if long_mode else (24, 4)
    (folder / "docs").mkdir()
    text = f"GET {server.url}/json\n?? status == 200\n?? body id == 1\n\n###\n" * each
    for number in range(documents):
        (folder / f"docs/d{number:03}.http").write_text(text)
    reports = ("--report-json", "r.json", "--html", "r.html", "--junit", "r.xml", "--har", "r.har")
    command = [sys.executable, "-m", "orgrest", "test", "-q", "-j", "32", "docs", *reports]
    # By a small process: what a process has when it starts another counts as the other's memory.
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, *command], capture_output=True, text=True, check=True
    )
    found = json.loads((folder / "r.json").read_text())["requests"]
    places = [(one["file"], one["line"]) for one in found]
    assert len(places) == documents * each
    assert places == sorted(places)
    assert int(done.stdout) < 150 * 1024


def test_a_full_disk_is_reported_and_no_success(run, server: RawServer) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    done = run("a.http", "--jsonl", "/dev/full", a_http="GET HOST/json")
    assert done.status == 1
    assert "/dev/full: could not write the file: No space left" in done.err
    assert server.requests == []
    done = run("a.http", "--junit", "/dev/full", a_http="GET HOST/json")
    assert done.status == 1
    assert "/dev/full: could not write the file: No space left" in done.err


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits on the sizes of files")
@pytest.mark.parametrize("jobs", ["1", "3"])
def test_a_disk_that_becomes_full_ends_the_run_and_what_was_sent_is_shown(
    folder: Path, server: RawServer, jobs: str
) -> None:
    step = f"### NAME\nGET {server.url}/json\n?? status == 200\n\n"
    steps = "".join(step.replace("NAME", f"r{number}") for number in range(6))
    for name in "abc":
        text = f"{steps}### end\n# @name teardown\nGET {server.url}/json\n?? status == 200\n"
        (folder / f"{name}.http").write_text(text)
    done = limited(3000, "-j", jobs, "a.http", "b.http", "c.http", "--tap", "r.tap")
    assert done.returncode == 1
    assert "orgrest: r.jsonl: could not write the file: File too large\n" in done.stderr
    shown = sum(line.startswith("ok ") for line in done.stderr.splitlines())
    assert shown == len(server.requests)
    assert "3 documents: " in done.stderr
    _, plan, *lines, end = (folder / "r.tap").read_text().splitlines()
    assert (plan, end) == ("1..21", "Bail out! r.jsonl: could not write the file: File too large")
    assert sum(line.startswith("ok ") and "# SKIP" not in line for line in lines) == shown
    numbers = [line.split()[1] for line in lines if line.startswith("ok ")]
    assert numbers == [str(number) for number in range(1, 22)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits on the sizes of files")
def test_a_full_temporary_folder_is_named_and_the_report_has_what_was_sent(
    folder: Path, server: RawServer
) -> None:
    step = f"### NAME\nGET {server.url}/json\n\n"
    (folder / "a.http").write_text("".join(step.replace("NAME", f"r{n}") for n in range(6)))
    code = "from orgrest.commands.main import main; main()"
    done = run_with_full_disk(code, "test", "a.http", "--tap", "r.tap", most_bytes=3000)
    assert done.returncode == 1
    reason = "could not write a temporary file: File too large (set TMPDIR to another folder)"
    assert f"orgrest: {tempfile.gettempdir()}: {reason}\n" in done.stderr
    lines = (folder / "r.tap").read_text().splitlines()
    sent = [line for line in lines if line.startswith("ok ") and "# SKIP" not in line]
    assert 0 < len(sent) == len(server.requests) < 6
    assert sum("# SKIP" in line for line in lines) == 6 - len(sent)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limits on the sizes of files")
def test_a_summary_that_does_not_fit_on_the_disk_is_no_success(
    folder: Path, server: RawServer
) -> None:
    (folder / "a.http").write_text(f"GET {server.url}/json\n?? status == 200\n")
    assert limited(10**6, "a.http").returncode == 0
    size = (folder / "r.jsonl").stat().st_size
    done = limited(size - 20, "a.http", "--junit", "j.xml")
    assert done.returncode == 1
    assert (folder / "j.xml").exists()
    assert "r.jsonl: could not write the file: File too large" in done.stderr


def limited(size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run tests with the file r.jsonl, in a process whose files have at most `size` bytes."""
    code = "from orgrest.commands.main import main; main()"
    return run_with_full_disk(code, "test", *arguments, "--jsonl", "r.jsonl", most_bytes=size)


def test_on_a_terminal_the_run_shows_how_far_it_is(folder: Path, server: RawServer) -> None:
    pty = pytest.importorskip("pty")
    for number in range(6):
        (folder / f"d{number}.http").write_text(f"GET {server.url}/json\n?? status == {number}\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "orgrest", "test", "."]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    message = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # its other side is closed
            break
        if not chunk:
            break
        message += chunk
    os.close(ours)
    assert process.wait() == 1
    assert b"Documents" in message
    assert message.count(b"FAILED") == 6
    assert b"\x1b[31mFAILED" in message
    assert b"6 documents" in message


class TestReport:
    def test_reports_are_made_of_what_a_killed_run_left(self, run, folder: Path) -> None:
        run("a.http", "--jsonl", "r.jsonl", a_http="GET HOST/json\n\n###\nGET HOST/short\n")
        lines = (folder / "r.jsonl").read_bytes().splitlines(keepends=True)
        (folder / "cut.jsonl").write_bytes(b"".join(lines[:3])[:-20])
        written = ("--report-json", "-", "--html", "cut.html", "--junit", "cut.xml")
        done = self.call("cut.jsonl", *written, "--tap", "cut.tap")
        assert done.returncode == 1
        assert done.stderr.startswith("orgrest: cut.jsonl: the run was killed or has not ended yet")
        report = json.loads(done.stdout)
        assert (report["summary"]["passed"], report["summary"]["error"]) == (1, 1)
        assert report["summary"]["ended"] == "the run was killed"
        assert "1 passed" in (folder / "cut.html").read_text()
        suites = ElementTree.parse(folder / "cut.xml").getroot()
        assert (suites.attrib["tests"], suites.attrib["errors"]) == ("2", "1")
        [error] = suites.findall("./testsuite/testcase/error")
        assert error.attrib["message"] == "the run was killed"
        assert (folder / "cut.tap").read_text().endswith("\nBail out! the run was killed\n")

    def test_a_report_of_a_run_that_was_killed_at_its_start_is_an_error(
        self, run, folder: Path
    ) -> None:
        run("a.http", "--jsonl", "r.jsonl", a_http="GET HOST/json\n")
        (folder / "cut.jsonl").write_bytes((folder / "r.jsonl").read_bytes().splitlines()[0])
        done = self.call("cut.jsonl", "--tap", "-")
        assert done.returncode == 1
        assert done.stdout.splitlines()[1:3] == ["1..1", "not ok 1 - cut.jsonl end of the run"]

    def test_reports_made_later_are_those_of_the_run(self, run, folder: Path) -> None:
        documents = {f"{name}_http": "GET HOST/json\n?? status == 200\n" for name in "abc"}
        report = run("-j", "3", "--repeat", "2", ".", "--jsonl", "r.jsonl", **documents).report
        later = json.loads(self.call("r.jsonl", "--report-json", "-").stdout)
        assert later["summary"]["percentiles"]
        assert [request["order"] for request in later["requests"]] == [
            request["order"] for request in report["requests"]
        ]

    @pytest.mark.parametrize(
        ("arguments", "why"),
        [
            (("missing.jsonl", "--tap", "-"), "could not read"),
            (("a.http", "--tap", "-"), "not a file written by"),
            (("a.http",), "no report requested: use"),
            (("a.http", "--tap", "-", "--report-json", "-"), "only one report"),
        ],
    )
    def test_wrong_usage_is_status_2(self, folder: Path, arguments: tuple[str], why: str) -> None:
        (folder / "a.http").write_text("GET http://127.0.0.1/")
        done = self.call(*arguments)
        assert done.returncode == 2
        assert why in done.stderr

    @staticmethod
    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "orgrest", "report", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)


def test_reports_and_history_stay_whole_whoever_writes_and_is_killed(
    folder: Path, server: RawServer, monkeypatch: pytest.MonkeyPatch, long_mode: bool
) -> None:
    kept = folder / "history"
    monkeypatch.setenv("ORGREST_HISTORY", str(kept))
    (folder / "a.http").write_text(f"GET {server.url}/json\n\n###\n" * 30)
    command = [sys.executable, "-m", "orgrest", "test", "a.http", "-q", "--report-json", "r.json"]
    command += ["--jsonl", "r.jsonl"]
    chance = random.Random(7)
    for _ in range(20 if long_mode else 2):
        runs = [
            subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
            for _ in range(5)
        ]
        wait_until(lambda: len(server.requests) > 20)
        for run in runs[:2]:
            time.sleep(chance.random() / 10)
            run.kill()
        output = [run.communicate(timeout=100)[1] for run in runs]
        server.requests.clear()
        for run, said in zip(runs, output, strict=True):
            assert run.returncode in (0, -9) or "another run is writing to this file" in said
        if (folder / "r.json").exists():
            assert len(json.loads((folder / "r.json").read_text())["requests"]) == 30
        heads = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()[:-1]]
        # A run that was killed at its start has written only the head, or nothing yet.
        assert ["format" in head for head in heads] == [at == 0 for at in range(len(heads))]
    for file in kept.iterdir():
        lines = file.read_bytes().split(b"\n")
        assert [json.loads(line) for line in lines[:-1]]
