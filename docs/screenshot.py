"""Makes docs/emacs.svg: Emacs in a terminal, with the line that `orgrest emacs` prints and no more.

`python docs/screenshot.py` plays a session against the demo's server, as somebody would type it,
and draws what the terminal then shows. Needs Emacs with Org and company, and the package pyte.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import pyte

from orgrest.commands import demo_server

COLUMNS, ROWS = 84, 36
CELL, LINE, SIZE, MARGIN, BAR = 8.43, 18, 14, 14, 34
FOREGROUND, BACKGROUND, TITLE_BAR = "#ffffff", "#000000", "#2b2e36"
NAMED = {
    "black": "#000000", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b",
    "blue": "#61afef", "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#dcdfe4",
}  # fmt: skip

LOOK = """
(setq native-comp-async-report-warnings-errors nil)
(menu-bar-mode -1)
(load-theme 'modus-vivendi t)
(setq inhibit-startup-screen t ring-bell-function 'ignore make-backup-files nil
      org-confirm-babel-evaluate nil org-startup-folded nil
      company-idle-delay 0.1 company-minimum-prefix-length 3 company-tooltip-align-annotations t
      company-tooltip-limit 6)
(global-company-mode)
(electric-indent-mode -1)
(setq-default mode-line-format '(" %b  (%m)  %l:%c"))
"""

# Keys as Emacs binds them: M->, C-p, C-a C-o, M-TAB, C-c C-c
END, UP, OPEN, COMPLETE, SEND = "\x1b>", "\x10", "\x01\x0f", "\x1b\t", "\x03\x03"

DOCUMENT = """\
#+TITLE: Notes on the tasks API
#+PROPERTY: header-args:restclient :var host="http://127.0.0.1:{port}"

"""


_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A program in a terminal of its own: what it shows, and a keyboard."""

    def __init__(self, command: list[str], env: dict[str, str], cwd: Path) -> None:
        """Start the program."""
        self.screen = pyte.Screen(COLUMNS, ROWS)
        self._stream = pyte.ByteStream(self.screen)
        self._fd, tty = pty.openpty()
        fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._process = subprocess.Popen(  # noqa: S603 - no shell, our own command
            [sys.executable, "-c", _TAKE_TERMINAL, *command],
            stdin=tty, stdout=tty, stderr=tty, env=env, cwd=cwd, start_new_session=True,
        )  # fmt: skip
        os.close(tty)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._fd)

    @property
    def text(self) -> str:
        """What the terminal shows."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, seconds: float) -> bool:
        """Take in what the program writes; tell whether there was something."""
        if not select.select([self._fd], [], [], seconds)[0]:
            return False
        try:
            self._stream.feed(os.read(self._fd, 65536))
        except OSError:  # it has ended
            return False
        return True

    def wait_for(self, pattern: str, seconds: float = 30) -> None:
        """Wait until a regular expression matches what is shown, and nothing more comes."""
        end = time.monotonic() + seconds
        while re.search(pattern, self.text) is None:
            if time.monotonic() > end:
                raise TimeoutError(f"{pattern} did not come up:\n{self.text}")
            self.read(0.1)
        while self.read(0.3):
            pass

    def type(self, keys: str) -> None:
        """Press keys, one after the other, and let the program show each."""
        for key in re.findall(r"\x1b?.", keys, re.DOTALL):
            os.write(self._fd, key.encode())
            while self.read(0.01):
                pass


def emacs(home: Path, init: str, file: str) -> Terminal:
    """Start Emacs in a terminal, with this in its init file, on a file in `home`."""
    folder = home / ".emacs.d"
    folder.mkdir()
    (folder / "init.el").write_text(init)
    env = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    env |= {"HOME": str(home), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    return Terminal(["emacs", "-nw", file], {**env, "LANG": "C.UTF-8"}, home)


def init_line() -> str:
    """Return what `orgrest emacs` prints."""
    command = [sys.executable, "-m", "orgrest", "emacs"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603 - our own command


def play(terminal: Terminal) -> None:
    """Type a request, evaluate it, and begin another."""
    terminal.wait_for("Notes on the tasks API")
    terminal.type(f"{END}#+begin_src restclient :jq .[0]\rGE{COMPLETE}")
    terminal.wait_for(r"\bGET\b")
    terminal.type(f":host/tasks?done=true\r#+end_src{UP}{SEND}")
    terminal.wait_for("Request duration")
    terminal.type(f"{END}\r#+begin_src restclient\r#+end_src{OPEN}PO{COMPLETE}")
    terminal.wait_for(r"\bPOST\b")
    terminal.type(":host/tasks\rAccept: application/json\rConten")
    terminal.wait_for("Content-Type +header")


# ---------------------------------------------------------------------------------------- drawing


def _color(name: str, default: str) -> str:
    if name == "default":
        return default
    return NAMED.get(name.removeprefix("bright"), f"#{name}")


def _style(cell: Any) -> tuple[str, str, bool]:
    front, back = _color(cell.fg, FOREGROUND), _color(cell.bg, BACKGROUND)
    return (back, front, cell.bold) if cell.reverse else (front, back, cell.bold)


def _row(screen: Any, row: int) -> Iterator[str]:
    top = BAR + MARGIN + row * LINE
    cells = ((column, screen.buffer[row][column]) for column in range(COLUMNS))
    at = 0
    for (front, back, bold), run in groupby(cells, key=lambda pair: _style(pair[1])):
        text = "".join(cell.data for _, cell in run)
        left, width = MARGIN + at * CELL, len(text) * CELL
        at += len(text)
        if back != BACKGROUND:
            where = f'x="{left:.1f}" y="{top}" width="{width:.1f}" height="{LINE}"'
            yield f'<rect {where} fill="{back}"/>'
        if text.strip():
            start = len(text) - len(text.lstrip())
            shown = text.strip()
            weight = ' font-weight="bold"' if bold else ""
            yield (
                f'<text x="{left + start * CELL:.1f}" y="{top + 13}" fill="{front}"{weight} '
                f'textLength="{len(shown) * CELL:.1f}">{escape(shown)}</text>'
            )


def svg(screen: Any, title: str) -> str:
    """Draw a terminal's screen."""
    width, height = COLUMNS * CELL + 2 * MARGIN, BAR + 2 * MARGIN + ROWS * LINE
    buttons = "".join(
        f'<circle cx="{20 + 20 * number}" cy="{BAR / 2}" r="6" fill="{color}"/>'
        for number, color in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    fonts = f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}"'
    view = f'viewBox="0 0 {width:.0f} {height}"'
    bar = f"M0 {BAR}V9a9 9 0 0 1 9-9h{width - 18:.0f}a9 9 0 0 1 9 9V{BAR}z"
    place = f'x="{width / 2:.0f}" y="{BAR / 2 + 5:.0f}" text-anchor="middle"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} {fonts} xml:space="preserve">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:.0f}" height="{height}" rx="9" fill="{BACKGROUND}"/>',
        f'<path d="{bar}" fill="{TITLE_BAR}"/>',
        buttons,
        f'<text {place} fill="#b6bdca" font-family="sans-serif">{escape(title)}</text>',
    ]
    for row in range(ROWS):
        lines += _row(screen, row)
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Play the session and write the picture."""
    with tempfile.TemporaryDirectory() as folder, demo_server.serve() as port:
        home = Path(folder)
        (home / "notes.org").write_text(DOCUMENT.format(port=port))
        with emacs(home, init_line() + LOOK, "notes.org") as terminal:
            play(terminal)
            drawn = svg(terminal.screen, "notes.org - Emacs").replace(f":{port}", ":8000")
    Path(__file__).with_name("emacs.svg").write_text(drawn)


if __name__ == "__main__":
    main()
