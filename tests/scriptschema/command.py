"""Runs the command line: in its own process, with pipes or on a terminal, or in this process.

Most tests use this process, which is many times faster.
"""

import contextlib
import os
import pty
import subprocess
import sys

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
