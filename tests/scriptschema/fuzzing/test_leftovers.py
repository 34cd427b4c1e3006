"""Targets leave nothing behind: no process in its own session, no folder, no full disk."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from waiting import is_alive, wait_until

from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.campaign.folder import Campaign
from scriptschema.fuzzing.campaign.session import Session
from scriptschema.fuzzing.targets import leftovers
from scriptschema.fuzzing.targets.base import Sources
from scriptschema.fuzzing.targets.description import Description
from scriptschema.fuzzing.targets.opening import open_target

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


def test_a_folder_that_is_in_use_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with leftovers.Folder() as used:
        left = tmp_path / "scriptschema-run-left"
        left.mkdir()
        (left / ".lock").touch()
        strange = tmp_path / "scriptschema-run-mine"  # it has no lock: it is somebody else's
        strange.mkdir()
        leftovers.sweep()
        assert {*tmp_path.iterdir()} == {used.path, strange}
    assert {*tmp_path.iterdir()} == {strange}


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
    command.submit(Sources(None, "print(1)"), 20)
    assert [found.kind for found in command.collect()] == ["flood"]
    command.close()
