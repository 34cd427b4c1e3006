"""Runs the command line: in its own process, with pipes or on a terminal, or in this process.

Most tests use this process, which is many times faster.
"""

import contextlib
import os
import pty
import subprocess
import sys

import click
from click.testing import CliRunner

from scriptschema.commands.main import main


def run(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "scriptschema", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
    )


def on_a_terminal(*arguments: object, stream: str) -> tuple[int, bytes]:
    """Run with standard output or error on a terminal. Return the exit status and the output."""
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "scriptschema", *map(str, arguments)],
        env={"TERM": "xterm-256color", **os.environ, "COLUMNS": "80"},
        **{stream: child},
    )
    os.close(child)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux tells that the other end was closed
        while piece := os.read(parent, 4096):
            shown += piece
    os.close(parent)
    return process.wait(), shown


def ok(*arguments: object, stdin: bytes = b"") -> bytes:
    done = run(*arguments, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def run_here(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    done = CliRunner().invoke(main, [str(argument) for argument in arguments], stdin)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(
        arguments, done.exit_code, done.stdout_bytes, done.stderr_bytes
    )


def ok_here(*arguments: object, stdin: bytes = b"") -> bytes:
    done = run_here(*arguments, stdin=stdin)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def commands(
    group: click.Group = main, path: str = "scriptschema"
) -> list[tuple[str, click.Command]]:
    """Return each command of a group and of its nested groups, preceded by its full name."""
    context = click.Context(group)
    found = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found.append((f"{path} {name}", command))
        found += commands(command, f"{path} {name}") if isinstance(command, click.Group) else []
    return found
