"""A campaign from somebody else runs none of its commands before its recipient agrees."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import run_here

from scriptschema.commands.trust import commands_of
from scriptschema.fuzzing.campaign import config
from scriptschema.fuzzing.campaign.config import Config
from scriptschema.fuzzing.targets.description import from_word


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "scriptschema" / "trusted.jsonl"


@pytest.fixture
def received(tmp_path: Path, state: Path) -> Path:
    """A campaign from somebody else, with a find, whose command leaves a mark."""
    made = tmp_path / "made"
    script = tmp_path / "target.sh"
    script.write_text("if grep -q end $1; then kill -SEGV $$; fi\n")
    word = f"command:sh {script} {{file}}"
    done = run_here("fuzz", "-t", word, "-o", made, "--count", 3, "--seed", 1)
    assert done.returncode == 0, done.stderr
    received = tmp_path / "received"
    shutil.move(made, received)
    mark = tmp_path / "mark"
    for path in (received / config.FILE, *received.glob("finds/*/find.json")):
        path.write_text(path.read_text().replace(f"sh {script}", f"sh {tmp_path / 'evil.sh'}"))
    (tmp_path / "evil.sh").write_text(f"touch {mark}; exec sh {script} $1\n")
    return received


def commands(received: Path) -> list[list[object]]:
    [find, *_] = sorted((received / "finds").iterdir())
    builds = ("--build", "a=true {file}", "--build", "b=true {file}")
    return [
        ["fuzz", "-o", received, "--count", 1],
        ["reproduce", find],
        ["reproduce", find, "--replay"],
        ["reduce", find],
        ["bisect", find, *builds],
    ]


def test_without_a_terminal_nothing_runs_and_the_command_is_shown(
    received: Path, tmp_path: Path
) -> None:
    for words in commands(received):
        done = run_here(*words)
        assert done.returncode == 2, words
        assert f"sh {tmp_path / 'evil.sh'} {{file}}".encode() in done.stderr
        assert b"--trust" in done.stderr
        assert not (tmp_path / "mark").exists(), words


def test_trust_is_remembered_for_the_folder_and_the_command_and_not_in_the_campaign(
    received: Path, tmp_path: Path, state: Path
) -> None:
    [find, *_] = sorted((received / "finds").iterdir())
    assert run_here("reproduce", find, "--trust").returncode == 0
    assert (tmp_path / "mark").exists()
    line = json.loads(state.read_text().splitlines()[-1])
    assert line == [str(received), f"sh {tmp_path / 'evil.sh'} {{file}}"]
    assert run_here("reproduce", find).returncode == 0
    assert run_here("reduce", find).returncode == 0
    shutil.copytree(received, tmp_path / "copy")
    assert run_here("reproduce", tmp_path / "copy" / "finds" / find.name).returncode == 2
    path = find / "find.json"
    path.write_text(path.read_text().replace("evil.sh {file}", "evil.sh {file} more"))
    done = run_here("reproduce", find)
    assert (done.returncode, b"evil.sh {file} more" in done.stderr) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "status"), [("n\n", 1), ("y\n", 0)])
def test_on_a_terminal_the_user_is_asked(
    received: Path, tmp_path: Path, answer: str, status: int
) -> None:
    [find, *_] = sorted((received / "finds").iterdir())
    parent, child = os.openpty()
    words = [sys.executable, "-m", "scriptschema", "reproduce", str(find)]
    with subprocess.Popen(words, stdin=child, stderr=child, stdout=subprocess.DEVNULL) as process:
        os.close(child)
        shown = b""
        while b"[y/N]" not in shown:
            shown += os.read(parent, 4096)
        os.write(parent, answer.encode())
        assert process.wait() == status
    os.close(parent)
    assert (tmp_path / "mark").exists() == (status == 0)
    assert b"evil.sh" in shown


def test_who_made_a_campaign_is_not_asked(tmp_path: Path, state: Path) -> None:
    word = "command:true {file}"
    folder = tmp_path / "mine"
    assert run_here("fuzz", "-t", word, "-o", folder, "--count", 1).returncode == 0
    assert run_here("fuzz", "-o", folder, "--count", 1).returncode == 0
    assert not any("trusted" in path.name for path in folder.rglob("*"))


def test_all_that_a_campaign_runs_is_shown(tmp_path: Path) -> None:
    given = Config(
        targets=(from_word("command:a {file}"), from_word("persistent:b")),
        checker="c",
        printer="d",
        judge="e:f",
    )
    assert commands_of(given) == ["a {file}", "b", "c", "d", "the Python function e:f"]
    from_web = Config(targets=(from_word("luau-web:here"),))
    assert commands_of(from_web) == ["luau-web in here"]


def test_a_damaged_list_of_what_is_trusted_trusts_nothing(received: Path, state: Path) -> None:
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_bytes(b'{"a": 1}\n[1]\n\xff\n[["x"], "y"]\n')
    [find, *_] = sorted((received / "finds").iterdir())
    assert run_here("reproduce", find).returncode == 2


def test_a_confirmation_that_cannot_be_saved_is_said_to_be_asked_for_again(
    received: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    [find, *_] = sorted((received / "finds").iterdir())
    done = run_here("reproduce", find, "--trust")
    assert done.returncode == 0
    assert b"could not remember that you agreed, so the next run asks again: " in done.stderr
