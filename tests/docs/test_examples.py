"""The examples of the README and of all pages in docs/, run exactly as shown.

Each block is run as if pasted alone. A `python` block gets a namespace of its own, in which its
tests are called. A `console` block gets its own copy of `examples/`. Each line after `$ ` is run by
a shell, and the output must be what the block shows; `...` stands for any output.

A tutorial is one session: its blocks share a folder. There, a block with a title is a file of that
name, unless it is a `console` block. The commands of a `console` block with a title run in a second
terminal until another block has `^C`, or until the end.
"""

import doctest
import fcntl
import os
import pty
import re
import shlex
import shutil
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pyte
import pytest
from pages import PAGES, ROOT, Block, blocks, is_tutorial

BLOCKS = [block for page in PAGES for block in blocks(page)]
ALONE = [b for b in BLOCKS if b.language in ("python", "console") and not is_tutorial(b.page)]
COLUMNS = 130  # of the terminal
# What differs from run to run, in what is shown and in what comes.
VARYING = (
    (re.compile(r"\b\d+(\.\d+)? ?(ms|s)\b"), "SECONDS"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"), "DATE"),
    # A campaign's first find, which may depend on how fast the machine is.
    (re.compile(r"^.*\(if\b.*\)$", re.MULTILINE), "CALL(IF)"),
    (re.compile(r"\b\d+:\d\d\b"), "MINUTES"),
    (re.compile(r"^preparing: .*\n", re.MULTILINE), ""),  # only on a busy machine
    (re.compile(r"Python/3\.\d+\.\d+\S*"), "Python/VERSION"),
)


def environment() -> dict[str, str]:
    """The environment of a shell after an install. Scripts can import modules beside them."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    given = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    return {**given, "PATH": path, "TERM": "xterm-256color", "PYTHONUNBUFFERED": "1"}


def same(expected: str, got: str) -> bool:
    for pattern, name in VARYING:
        expected, got = pattern.sub(name, expected), pattern.sub(name, got)
    return doctest.OutputChecker().check_output(expected, got, doctest.ELLIPSIS)


def session(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a console block with its expected output."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        count = 1
        while lines[count - 1].endswith("\\") and lines[count].startswith("> "):
            count += 1
        command = "\n".join([lines[0], *(line[2:] for line in lines[1:count])])
        yield command, "\n".join(lines[count:])


def seen(command: str, folder: Path) -> str:
    """Run a command, and return what a terminal shows in the end."""
    screen = pyte.Screen(COLUMNS, 500)
    stream = pyte.ByteStream(screen)
    fd, tty = pty.openpty()
    fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", screen.lines, COLUMNS, 0, 0))
    shell = subprocess.Popen(
        command, shell=True, cwd=folder, env=environment(),
        stdin=subprocess.DEVNULL, stdout=tty, stderr=tty,
    )  # fmt: skip
    os.close(tty)
    with shell, suppress(OSError):  # which says that nobody writes any more
        while data := os.read(fd, 65536):
            stream.feed(data)
    os.close(fd)
    return "".join(f"{line.rstrip()}\n" for line in screen.display).rstrip("\n") + "\n"


def run_console(block: Block, folder: Path) -> Path:
    """Run the commands of a block, and return the folder in which the next commands run."""
    for command, expected in session(block.text):
        if command.startswith("cd "):
            folder /= command.removeprefix("cd ").strip()
            continue
        shown = seen(command, folder)
        assert same(f"{expected.rstrip()}\n", shown), f"{block}: $ {command}\n{shown}"
    return folder


@contextmanager
def second_terminal(block: Block, folder: Path) -> Iterator[None]:
    [(command, expected)] = session(block.text)
    with subprocess.Popen(
        shlex.split(command),
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            shown = "".join(process.stdout.readline() for _ in expected.splitlines())
            assert same(expected, shown), f"{block}: $ {command}\n{shown}"
            yield
        finally:
            process.terminate()


def test_there_are_examples_to_run() -> None:
    assert {block.language for block in ALONE} == {"python", "console"}
    assert any(is_tutorial(page) for page in PAGES)


@pytest.mark.parametrize("block", ALONE, ids=str)
def test_an_example_does_what_the_page_shows(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    if block.language == "console":
        run_console(block, tmp_path)
        return
    namespace: dict[str, Any] = {"__name__": "example"}
    exec(compile(block.text, str(block), "exec"), namespace)
    for name in [name for name in namespace if name.startswith("test_")]:
        namespace[name]()


@pytest.mark.parametrize("page", [page for page in PAGES if is_tutorial(page)], ids=str)
def test_a_tutorial_can_be_followed_from_top_to_bottom_in_an_empty_folder(
    page: Path, tmp_path: Path
) -> None:
    folder = tmp_path
    with ExitStack() as terminals:
        for block in blocks(page):
            if block.language != "console":
                if block.title:
                    (folder / block.title).write_text(block.text)
            elif block.text == "^C\n":
                terminals.close()  # what runs in the second terminal
            elif block.title:
                terminals.enter_context(second_terminal(block, folder))
            else:
                folder = run_console(block, folder)
