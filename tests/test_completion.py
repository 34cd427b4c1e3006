"""Completion in the real bash, zsh and fish, with keys typed at their terminals."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
from components import require

# How each shell is started, without the user's configuration, and prepared for a program.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$({0} completion bash)"\r'),
    "zsh": (["zsh", "-f", "-i"], 'eval "$({0} completion zsh)"\r'),
    "fish": (["fish", "--no-config", "-i"], "{0} completion fish | source\r"),
}
# What is typed before TAB, and the line that it becomes.
LINES = {
    "orgrest em": "orgrest emacs",
    "orgrest --dry": "orgrest --dry-run",
    "orgrest no": "orgrest notes.org",
    "orgrest --dry-run no": "orgrest --dry-run notes.org",
    "orgrest notes.org --expl": "orgrest notes.org --explain",
    "orgrest lsp --t": "orgrest lsp --tcp",
    "orgrest test folder/ca": "orgrest test folder/calls.http",
    "orgrest --save ea": "orgrest --save each",
    "scriptschema gen": "scriptschema generate",
    "scriptschema corpus dist": "scriptschema corpus distill",
    "scriptschema convert tree.pb --to js": "scriptschema convert tree.pb --to json",
    "scriptschema show --message ExprBin": "scriptschema show --message ExprBinary",
    "scriptschema show tr": "scriptschema show tree.pb",
}
# Makes standard input the terminal of the session, as a window for terminals does.
AT_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""
PATIENCE = 180
"""The number of seconds after which a shell is considered to hang. Usually, it needs only a few."""


def typed(command: list[str], keys: str, until: Path, folder: Path) -> str:
    """Type keys at a program's terminal until a file exists. Return what the terminal showed."""
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "TERM": "xterm",
        "LC_ALL": "C.UTF-8",
    }
    terminal, end_of_child = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", AT_TERMINAL, *command],
        stdin=end_of_child,
        stdout=end_of_child,
        stderr=end_of_child,
        cwd=folder,
        env=environment,
        start_new_session=True,
    )
    os.close(end_of_child)
    shown, left, end = b"", keys.encode(), time.monotonic() + PATIENCE
    try:
        while not until.exists() and time.monotonic() < end:
            readable, writable, _ = select.select([terminal], [terminal] if left else [], [], 0.1)
            if readable:
                shown += os.read(terminal, 65536)
            if writable:
                left = left[os.write(terminal, left[:512]) :]
    except OSError:  # it has ended
        pass
    finally:
        os.close(terminal)
        child.kill()
        child.wait()
    return shown.decode(errors="replace")


def test_a_description_with_a_comma_is_shown_as_a_whole_in_fish(tmp_path: Path) -> None:
    require("fish")
    line = "complete -C 'orgrest history l'"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    shown = subprocess.run(
        ["fish", "--no-config", "-c", f"orgrest completion fish | source; {line}"],
        env={**os.environ, "PATH": path, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown == "list\tList the most recent runs, newest first.\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_completes_commands_options_values_and_files(shell: str, tmp_path: Path) -> None:
    require(shell)
    (tmp_path / "notes.org").touch()
    (tmp_path / "tree.pb").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "calls.http").touch()
    command, load = SHELLS[shell]
    keys = "autoload -U compinit; compinit -u\r" if shell == "zsh" else ""
    keys += "".join(load.format(program) for program in ("orgrest", "scriptschema"))
    for number, line in enumerate(LINES):
        # The line is not run, but printed: Ctrl-A goes to its beginning, Ctrl-E to its end.
        keys += f"{line}\t\x01echo \x05 > {number}\r"
    done = tmp_path / "done"
    screen = typed(command, f"{keys}touch {done.name}\rexit\r", done, tmp_path)
    found = [tmp_path / str(number) for number in range(len(LINES))]
    completed = [file.read_text().strip() if file.exists() else None for file in found]
    assert dict(zip(LINES, completed, strict=True)) == LINES, screen
