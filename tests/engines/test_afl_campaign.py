"""A campaign with AFL++ as its engine, on the toy: finds, reduction, resuming, and ending."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from components import require
from waiting import wait_until

from scriptschema.fuzzing.campaign import finds


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "scriptschema", "fuzz", *map(str, arguments)]


def running(folder: Path) -> list[str]:
    """Return the command lines of AFL++'s processes for a campaign."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
        if line.startswith("afl-fuzz") and str(folder) in line:
            found.append(line)
    return found


@pytest.fixture(scope="module")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("afl-cc")
    program = tmp_path_factory.mktemp("harness") / "toy"
    toy = Path(__file__).with_name("toy.c")
    subprocess.run(["afl-cc", "-O1", "-o", program, toy], check=True, capture_output=True)
    return program


def test_a_bug_is_found_by_afl_reduced_here_and_reported_once_also_after_a_kill(
    harness: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "campaign"
    arguments = ("-o", folder, "--json")
    process = subprocess.Popen(
        command("--engine", "afl", "-t", harness, "--timeout", 1, *arguments),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    events = []
    for line in process.stdout:
        events.append(json.loads(line))
        if events[-1]["event"] == "find":
            break
    path = folder / "afl" / "judged.txt"  # written after the find, which is judged again if need be
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") > 100)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    judged = path.read_text().splitlines()
    assert len(judged) == len({*judged})

    done = subprocess.run(
        command(*arguments, "--for", "8s"), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    after = path.read_text().splitlines()
    assert after[: len(judged)] == judged
    assert len(after) == len({*after})
    end = [json.loads(line) for line in done.stdout.splitlines()][-1]
    assert end["executions"] > 0
    assert end["covered"] > 0
    assert end["programs"] > 0
    found = [find for _, find in finds.load_all(folder)]
    assert found
    assert len({find.signature for find in found}) == len(found)
    for find in found:
        assert find.origin["engine"] == "afl"
        assert find.reduced is None or find.reduced.nodes <= 40
    assert any(find.reduced is not None for find in found)  # on a busy machine not all in time
    assert running(folder) == []


def test_afl_starts_from_the_seeds_of_a_new_campaign(harness: Path, tmp_path: Path) -> None:
    folder, seeds = tmp_path / "campaign", tmp_path / "seeds"
    seeds.mkdir()
    (seeds / "own.luau").write_text("local function own() return 4321 end")
    arguments = ("--engine", "afl", "-t", harness, "-o", folder, "--seeds", seeds, "--for", "3s")
    subprocess.run(command(*arguments), check=True, timeout=300, capture_output=True)
    assert any("4321" in path.read_text() for path in (folder / "afl" / "seeds").iterdir())


def test_a_program_that_was_not_built_for_afl_is_reported(build: Any, tmp_path: Path) -> None:
    plain = build("plain", "cc")
    require("afl-fuzz")
    done = subprocess.run(
        command("--engine", "afl", "-t", plain, "-o", tmp_path / "campaign", "--for", "60s"),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 1
    assert "does not work" in done.stderr
    assert "instrument" in done.stderr
    assert running(tmp_path) == []


def test_ctrl_c_ends_all_instances_and_says_how_to_continue(harness: Path, tmp_path: Path) -> None:
    folder = tmp_path / "campaign"
    process = subprocess.Popen(
        command("--engine", "afl", "-t", harness, "-o", folder, "--jobs", 2),
        stderr=subprocess.PIPE,
        text=True,
    )
    wait_until(
        lambda: len(running(folder)) == 2
    )  # may still be starting: nothing must be left then, either
    os.kill(process.pid, signal.SIGINT)
    _, output = process.communicate(timeout=120)
    assert "to continue, run `scriptschema fuzz" in output
    assert running(folder) == []
