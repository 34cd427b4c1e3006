"""Targets leave nothing behind: no process in its own session, no folder, no full disk."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from command import run
from waiting import is_alive, wait_until

from scriptschema.fuzzing.campaign import finds
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.oracles.verdict import Signature, Verdict
from scriptschema.fuzzing.targets import leftovers
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.opening import open_target
from scriptschema.luau.parse import parse

DAEMON = """
import os, sys, time
if os.fork():
    sys.exit()  # the target ends, and what it has started does not
os.setsid()
if os.fork():
    os._exit(0)
open(sys.argv[1], "a").write(f"{os.getpid()}\\n")
os.close(1), os.close(2)
time.sleep(600)
"""


def all_end(processes: list[int]) -> bool:
    return wait_until(lambda: not any(map(is_alive, processes)))


def daemons(note: Path) -> list[int]:
    return [int(line) for line in note.read_text().split()] if note.exists() else []


def a_daemon(folder: Path) -> tuple[Description, Path]:
    script, note = folder / "daemon.py", folder / "note"
    script.write_text(DAEMON)
    return Description("command", f"{sys.executable} -S {script} {note} {{file}}"), note


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")


@needs_proc
def test_a_target_that_forks_twice_and_leaves_its_session_is_ended(tmp_path: Path) -> None:
    target, note = a_daemon(tmp_path)
    with Campaign(tmp_path / "campaign", Config(targets=(target,), size=5)) as campaign:
        alive = []

        def look(event: dict[str, object]) -> None:
            if event["event"] == "progress":
                alive.append(sum(map(is_alive, daemons(note))))

        Session(campaign, programs=15, on_event=look).run()
    assert len(daemons(note)) >= 15
    assert all_end(daemons(note))
    assert max(alive, default=0) <= 4  # each with its program, not all of them at the end


@needs_proc
def test_an_owner_that_ended_and_that_nobody_waited_for_is_gone() -> None:
    owner = subprocess.Popen([sys.executable, "-c", ""])
    stat = Path(f"/proc/{owner.pid}/stat")
    started = stat.read_text().rpartition(")")[2].split()[19]
    assert all_end([owner.pid])
    assert stat.exists()  # as a zombie
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(
        sleep, env={**os.environ, leftovers.OWNER: f"{owner.pid} {started}"}
    ) as left:
        # The environment is the new program's only after a moment.
        wait_until(lambda: b"SCRIPTSCHEMA" in Path(f"/proc/{left.pid}/environ").read_bytes())
        leftovers.sweep()
        assert left.wait(60) == -signal.SIGKILL
    owner.wait()


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("whole_group", [False, True], ids=["the-campaign", "its-workers-too"])
def test_nothing_is_left_of_a_campaign_that_was_killed(tmp_path: Path, whole_group: bool) -> None:
    target, note = a_daemon(tmp_path)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "scriptschema", "fuzz", "-o", str(tmp_path / "campaign")]
    process = subprocess.Popen(
        [*command, "-t", f"command:{target.command} {{variant}}", "--variant=a", "--variant=b"],
        env=environment,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    # Then the trial and the probes are over: it is a worker that runs them.
    wait_until(lambda: len(daemons(note)) >= 10)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
    process.wait()
    if whole_group:  # then it is the next start that clears up
        assert [*tmp_path.glob("scriptschema-run-*")]
        subprocess.run([*command, "-n", "1"], env=environment, check=True, capture_output=True)
    assert all_end(daemons(note))
    wait_until(lambda: not [*tmp_path.glob("scriptschema-run-*")])


def a_daemon_without_environment(folder: Path) -> tuple[Description, Path]:
    script, note = folder / "daemon.sh", folder / "note"
    # Without its environment, it cannot be told from a stranger's process afterwards.
    script.write_text(f"setsid env -i sleep 600 >&- 2>&- &\necho $! >> {note}\n")
    return Description("command", f"sh {script} {{file}}"), note


@needs_proc
def test_nothing_is_left_of_the_trials_of_a_campaign(tmp_path: Path) -> None:
    target, note = a_daemon_without_environment(tmp_path)
    with (
        Campaign(tmp_path / "campaign", Config(targets=(target,))) as campaign,
        subprocess.Popen(["sleep", "600"], start_new_session=True) as other,
    ):
        Session(campaign)
        ended = other.poll()
        other.kill()
    assert ended is None
    assert daemons(note)
    assert all_end(daemons(note))


def a_target_that_stops_its_campaign(
    folder: Path, words: str, stop: str = "INT"
) -> tuple[Description, Path]:
    """Return a target that signals its parent when a program contains `words`, and keeps running.

    It also starts a process in another session. It writes both process IDs to the returned file.
    """
    script, note = folder / "stopping.sh", folder / "note"
    script.write_text(
        f"grep -q '{words}' $2 || exit 0\nsetsid sleep 600 &\nprintf '%s\\n' $$ $! > {note}\n"
        "kill -$1 $PPID\nexec sleep 600\n"
    )
    return Description("command", f"sh {script} {stop} {{file}}", seconds=60.0), note


@needs_proc
@pytest.mark.parametrize("words", ["greeting", "has 7"], ids=["the-trial", "the-probes"])
def test_nothing_runs_on_after_control_c_while_a_campaign_starts(
    tmp_path: Path, words: str
) -> None:
    target, note = a_target_that_stops_its_campaign(tmp_path, words)
    done = run("fuzz", "-t", f"command:{target.command}", "-o", tmp_path / "campaign")
    assert done.returncode == 130, done.stderr
    assert len(daemons(note)) == 2
    assert all_end(daemons(note))


def arguments_for_a_find(command: str, folder: Path, target: Description) -> list[str]:
    config = Config(targets=(target,)).as_json()
    verdict = Verdict(Signature("hang"), "still running")
    find = finds.Find("hang-1", verdict, finds.ShownProgram(4, []), config=config)
    path = finds.add(folder, find, parse("print(7)").tree)
    builds = [f"--build={name}={target.command}" for name in "ab"] if command == "bisect" else []
    return [command, "--trust", str(path), *builds]


@needs_proc
@pytest.mark.parametrize("command", ["reproduce", "bisect", "reduce"])
def test_nothing_is_left_of_the_runs_of_a_find(tmp_path: Path, command: str) -> None:
    target, note = a_daemon_without_environment(tmp_path)
    done = run(*arguments_for_a_find(command, tmp_path, target))
    assert done.returncode == 1, done.stderr
    assert daemons(note)
    assert all_end(daemons(note))


@needs_proc
@pytest.mark.parametrize("command", ["reproduce", "bisect", "reduce"])
def test_nothing_runs_on_after_control_c_while_a_find_is_run(tmp_path: Path, command: str) -> None:
    target, note = a_target_that_stops_its_campaign(tmp_path, "print(7)")
    done = run(*arguments_for_a_find(command, tmp_path, target))
    assert done.returncode == 130, done.stderr
    assert len(daemons(note)) == 2
    assert all_end(daemons(note))


@needs_proc
@pytest.mark.parametrize("command", ["reproduce", "reduce"])
def test_nothing_is_left_after_a_termination_while_a_find_is_run(
    tmp_path: Path, command: str
) -> None:
    target, note = a_target_that_stops_its_campaign(tmp_path, "print(7)", "TERM")
    words = arguments_for_a_find(command, tmp_path, target)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-m", "scriptschema", *words], env=environment, capture_output=True
    )
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip() == b"scriptschema: interrupted"
    assert len(daemons(note)) == 2
    assert all_end(daemons(note))
    assert not [*tmp_path.glob("scriptschema-run-*")]


def test_a_folder_that_is_in_use_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    used = leftovers.Folder()
    left = tmp_path / "scriptschema-run-left"
    left.mkdir()
    (left / ".lock").touch()
    strange = tmp_path / "scriptschema-run-mine"  # it has no lock: it is somebody else's
    strange.mkdir()
    leftovers.sweep()
    assert {*tmp_path.iterdir()} == {used.path, strange}
    used.remove()
    assert {*tmp_path.iterdir()} == {strange}


def test_a_thread_that_ends_the_process_removes_a_folder_that_another_is_removing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    used = leftovers.Folder()
    remove, begun, may_go_on = shutil.rmtree, threading.Event(), threading.Event()

    def slowly(path: Path, *, ignore_errors: bool) -> None:
        if threading.current_thread() is other:
            begun.set()
            may_go_on.wait(60)
        remove(path, ignore_errors=ignore_errors)

    monkeypatch.setattr(shutil, "rmtree", slowly)
    other = threading.Thread(target=used.remove)
    other.start()
    assert begun.wait(60)
    leftovers.remove_folders()
    removed = not used.path.exists()
    may_go_on.set()
    other.join()
    assert removed


def test_endless_standard_error_costs_no_disk_and_little_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    script = tmp_path / "service.py"
    script.write_text("import os\ninput()\nwhile True: os.write(2, b'noise ' * 10_000)")
    target = open_target(Description("persistent", f"{sys.executable} -S {script}"))
    target._starting = 0.5  # type: ignore[attr-defined]
    target.submit(Sources(None, "print(1)"), 0.5)
    [found] = target.collect()
    target.close()
    assert found.kind == "hang"
    assert 0 < len(found.report) <= 1 << 16
    assert [*tmp_path.rglob("*")] == [script]
    command = open_target(Description("command", "sh -c 'yes noise >&2'"))
    command.submit(Sources(None, "print(1)"), 0.5)
    [found] = command.collect()
    command.close()
    assert found.kind == "hang"
    assert 0 < len(found.report) <= 1 << 16


STOPPED_TWICE = """
import os, signal
from scriptschema.fuzzing.targets import processes

def end(*_):
    processes.kill_all_for_good()
    os._exit(3)

signal.signal(signal.SIGTERM, end)
processes.kill_all_for_good()  # as for the first signal
os.kill(os.getpid(), signal.SIGTERM)
signal.pause()
"""


def test_a_worker_that_is_stopped_again_while_it_stops_ends() -> None:
    done = subprocess.run([sys.executable, "-c", STOPPED_TWICE], timeout=60, check=False)
    assert done.returncode == 3
