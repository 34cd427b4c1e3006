"""XPaths and costly JSONPaths are evaluated in a process, which is killed at its time limit."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import is_alive, wait_until

from orgrest.http import responses
from orgrest.http.sandbox import children, process
from orgrest.http.sandbox.child import Child
from orgrest.model import OrgrestError


@pytest.fixture(autouse=True)
def _closed(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]  # a generator
    finder = process.Sandbox()
    monkeypatch.setattr(process, "_FINDER", finder)
    yield
    finder.close()


def test_an_xpath_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "FIND_TIMEOUT", 2.0)
    text = "<a>" * 8000 + "</a>" * 8000
    with pytest.raises(OrgrestError, match=r"XPath //a//a did not finish"):
        responses.all_in_xml(text, "//a//a")
    assert responses.all_in_xml("<r><x>1</x><x>2</x></r>", "//x") == ["1", "2"]  # goes on


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system counts no CPU time")
def test_the_worker_ends_itself_after_its_cpu_time() -> None:
    """Its parent would wait much longer, because a busy machine is slow."""
    worker = Path(process.__file__).with_name("worker.py")
    job = {"find": "XPath", "path": "//a//a", "text": "<a>" * 8000 + "</a>" * 8000, "prefixes": {}}
    ended = subprocess.run(
        [sys.executable, "-I", str(worker)],
        input=b"0.2 %b\n" % json.dumps(job).encode(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ended.returncode == -signal.SIGPROF


def test_a_jsonpath_without_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "FIND_TIMEOUT", 2.0)
    value: object = [1, 2]
    for _ in range(60):
        value = [value, 2, [3]]
    with pytest.raises(OrgrestError, match=r"did not finish|memory limit|returned more"):
        responses.all_found(json.dumps(value), "$..*..*..*..*..*..*")
    assert responses.all_found('{"a": [{"b": 1}]}', "$..*..b") == [1, 1]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("$.a[0].b", [1]),
        ("a[*].b", [1, 2]),
        ("$['a'][1]['b']", [2]),
        ("$..b", [1, 2]),
        ("$.a[?(@.b > 1)].b", [2]),
        ("$..*..b", [1, 2, 1, 2]),
        ("$.a[?search(@.c, 'x.*')].c", ["xyz"]),
        ("$.none", []),
    ],
)
def test_a_path_finds_the_same_in_either_process(path: str, found: list[object]) -> None:
    text = '{"a": [{"b": 1}, {"b": 2, "c": "xyz"}]}'
    assert responses.all_found(text, path) == found
    assert process.find("JSONPath", path if path[0] == "$" else f"$.{path}", text) == found


def test_an_ordinary_path_starts_no_process() -> None:
    code = (
        "from orgrest.http import responses\n"
        "from orgrest.http.sandbox import process\n"
        "assert responses.all_found('{\"a\": [1]}', '$.a[0]') == [1]\n"
        "assert responses.all_found('{\"a\": [1]}', '$..a[*]') == [1]\n"
        "assert process._FINDER._process is None\n"
        "responses.all_in_xml('<a/>', '/a')\n"
        "assert process._FINDER._process is not None\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("path", ["//[", "$[", "$.a[?(@.b"])
def test_a_path_that_is_invalid_is_reported_as_before(path: str) -> None:
    body = "<a/>" if path[0] == "/" else '{"a": 1}'
    with pytest.raises(OrgrestError, match=r"cannot be evaluated|is not a valid JSONPath"):
        responses.all_found(body, path)


LIMITED = """
import resource, sys
sys.path.insert(0, sys.argv[1])
import worker
worker._limit()
for work in (lambda: bytearray(2**31), lambda: open(sys.argv[2], "wb", 0).write(b"x")):
    try:
        work()
    except (MemoryError, OSError) as error:
        print(type(error).__name__)
print(resource.getrlimit(resource.RLIMIT_NPROC))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
def test_the_process_can_take_no_more_than_its_memory_nor_write_nor_start_programs(
    tmp_path: Path,
) -> None:
    folder, file = Path(process.__file__).parent, tmp_path / "written"
    words = [sys.executable, "-I", "-c", LIMITED, str(folder), str(file)]
    ended = subprocess.run(words, capture_output=True, check=True, text=True, env={})
    assert ended.stdout.split("\n") == ["MemoryError", "OSError", "(0, 0)", ""]
    assert file.read_bytes() == b""


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc")
def test_the_process_has_nothing_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORGREST_SECRET", "hidden")
    assert responses.all_in_xml("<r><x>1</x></r>", "//x") == ["1"]
    assert process._FINDER._process is not None
    environment = Path(f"/proc/{process._FINDER._process.pid}/environ").read_bytes()
    assert b"hidden" not in environment
    names = {part.partition(b"=")[0].decode() for part in environment.split(b"\0") if part}
    assert names <= set(process._NEEDED)


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_the_start_of_a_process_does_not_leave_it_running(
    monkeypatch: pytest.MonkeyPatch, kind: signal.Signals
) -> None:
    start: Any = subprocess._fork_exec  # type: ignore[attr-defined]  # private
    started: list[int] = []

    def interrupted(*arguments: Any) -> int:
        started.append(start(*arguments))
        signal.raise_signal(kind)
        return started[-1]

    monkeypatch.setattr(subprocess, "_fork_exec", interrupted)
    before = signal.signal(kind, signal.default_int_handler)
    try:
        with children.of_run(None):
            with pytest.raises(KeyboardInterrupt):
                Child(["sleep", "600"], group=True)
            children.end()
    finally:
        signal.signal(kind, before)
    wait_until(lambda: not is_alive(started[0]))
