"""When a run ends, so do its processes: after `--max-time`, and after each signal.

The work would take minutes. The tests check when the run ends, and what is left of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from components import needs_engine
from servers import RawServer, by_path, response
from waiting import descendants, is_alive, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

XML = b"<a>" * 8000 + b"</a>" * 8000
PLAIN = "Content-Type: text/plain"


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    answers = {
        "/a": response(b"1", PLAIN),
        "/xml": response(XML, "Content-Type: application/xml"),
        "/text": response(b"a" * 40 + b"b", PLAIN),
        "/json": response(b"1", "Content-Type: application/json"),
    }
    with RawServer(by_path(answers)) as running:  # type: ignore[arg-type]  # bytes are answers
        yield running


ENDLESS = {
    "xpath": "GET HOST/xml\n\n" + "?? xpath //a//a//a exists\n" * 20,
    "regex": "GET HOST/text\n\n" + "?? body matches ^(?=(a+)+$)\n" * 20,
    "script": "GET HOST/a\n" + "\n> {%\nfor (;;) {}\n%}\n" * 20,
    "jq": "GET HOST/json\n\n" + "?? jq [range(1e12)] | length == 1\n" * 20,
}
# The limits on time are lifted: only the end of the run ends these.
WITHOUT_LIMITS = """
import signal, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup, which may run the tests, ignores it
from orgrest.http import scripts
from orgrest.http.sandbox import process
from orgrest.rendering import jq
process.FIND_TIMEOUT = 600.0
scripts.Engine.__init__.__defaults__ = (600.0,)
jq.TIMEOUT = 600
from orgrest.commands.main import main
main()
"""


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WITHOUT_LIMITS, *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def busy(run: subprocess.Popen[str]) -> list[int]:
    """Wait until a run's processes are busy or the run has ended, and return their process IDs."""
    seen: set[int] = set()

    def working() -> bool:
        seen.update(descendants(run.pid))
        return run.poll() is not None or any(spent(one) > 20 for one in seen)

    wait_until(working)
    assert seen
    return sorted(seen)


def spent(process: int) -> int:
    """Return a process's CPU time in hundredths of a second."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    return int(stat.rpartition(")")[2].split()[11])


def ended(run: subprocess.Popen[str], working: list[int]) -> None:
    """Wait for the end of a run, and check that its processes ended after the kill."""
    try:
        run.communicate(timeout=100)
    finally:
        run.kill()
    wait_until(lambda: not any(is_alive(one) for one in working))


TEST = ("test", "a.http", "--jsonl", "r.jsonl")
FILE = ("a.http",)
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")


@pytest.mark.slow
@linux
@needs_engine
@pytest.mark.parametrize(
    ("kind", "by", "command"),
    [
        *((kind, signal.SIGINT, command) for kind in ENDLESS for command in (TEST, FILE)),
        *(("xpath", by, FILE) for by in (signal.SIGTERM, signal.SIGHUP)),
        ("xpath", signal.SIGHUP, TEST),
        *((kind, None, TEST) for kind in ENDLESS),
    ],
    ids=str,
)
def test_nothing_outlasts_a_run(
    tmp_path: Path,
    server: RawServer,
    kind: str,
    by: signal.Signals | None,
    command: tuple[str, ...],
) -> None:
    document = f"{ENDLESS[kind]}\n###\n# @name teardown\nGET HOST/a\n"
    (tmp_path / "a.http").write_text(document.replace("HOST", server.url))
    limit = ("--max-time", "5") if by is None else ()
    run = start(tmp_path, *command, *limit)
    working = busy(run)
    if by is not None:
        run.send_signal(by)
    ended(run, working)
    assert run.returncode == (1 if by is None else 130)
    if command == TEST:
        lines = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
        records = [line for line in lines if "order" in line]
        assert [record["outcome"] for record in records] == ["error", "passed"]
        assert lines[-1]["summary"]["ended"]


@pytest.mark.slow
@linux
@needs_engine
def test_a_busy_machine_changes_nothing(tmp_path: Path, server: RawServer) -> None:
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        text = ENDLESS["xpath"].replace("HOST", server.url)
        (tmp_path / "a.http").write_text(text)
        for limit in (("--max-time", "6"), ()):
            run = start(tmp_path, "test", "a.http", *limit)
            working = busy(run)
            if not limit:
                run.send_signal(signal.SIGINT)
            ended(run, working)
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@linux
@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_password_managers_processes_end_with_the_run(
    tmp_path: Path, server: RawServer, monkeypatch: pytest.MonkeyPatch, by: signal.Signals
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    shell = shutil.which("sh")
    (programs / "pass").write_text(f"#!{shell}\nsleep 600 &\nsleep 600\n")
    (programs / "pass").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "config" / "orgrest").mkdir(parents=True)
    host = server.url.removeprefix("http://")
    (tmp_path / "config" / "orgrest" / "secrets.toml").write_text(
        f'[token]\nprovider = "pass"\nhosts = ["http://{host}"]\n'
    )
    (tmp_path / "a.http").write_text(f"GET {server.url}/a\nX: {{{{$secret token}}}}\n")
    run = start(tmp_path, "a.http")
    working = wait_until(lambda: descendants(run.pid), lambda found: len(found) > 2)
    run.send_signal(by)
    ended(run, working)
    assert run.returncode == 130
