"""A program in a terminal, as somebody sees and uses it, and a drawing of what the terminal shows.

`pictures.py` has the sessions that the documentation's pictures show.
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
import termios
import time
from collections.abc import Iterator
from html import escape, unescape
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import pyte

CELL, LINE, SIZE, MARGIN, BAR = 8.43, 18, 14, 14, 34
FOREGROUND, BACKGROUND, TITLE_BAR = "#ffffff", "#000000", "#2b2e36"
NAMED = {
    "black": "#000000", "red": "#e06c75", "green": "#98c379", "brown": "#e5c07b",
    "blue": "#61afef", "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#dcdfe4",
}  # fmt: skip


_TAKE_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execvp(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """A program in its own terminal, with a screen and a keyboard."""

    def __init__(
        self, command: list[str], env: dict[str, str], cwd: Path, size: tuple[int, int]
    ) -> None:
        """Start the program in a terminal of so many columns and rows."""
        columns, rows = size
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self._fd, tty = pty.openpty()
        fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
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
        """The text on the screen."""
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

    def wait_for(self, pattern: str, seconds: float = 120) -> None:
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
    cells = ((column, screen.buffer[row][column]) for column in range(screen.columns))
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
            shown = text.strip().replace(" ", "\N{NO-BREAK SPACE}")  # browsers draw several as one
            weight = ' font-weight="bold"' if bold else ""
            yield (
                f'<text x="{left + start * CELL:.1f}" y="{top + 13}" fill="{front}"{weight} '
                f'textLength="{len(shown) * CELL:.1f}">{escape(shown)}</text>'
            )


def svg(screen: Any, title: str) -> str:
    """Draw a terminal's screen."""
    width = screen.columns * CELL + 2 * MARGIN
    height = BAR + 2 * MARGIN + screen.lines * LINE
    buttons = "".join(
        f'<circle cx="{20 + 20 * number}" cy="{BAR / 2}" r="6" fill="{color}"/>'
        for number, color in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    fonts = f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="{SIZE}"'
    view = f'viewBox="0 0 {width:.0f} {height}"'
    bar = f"M0 {BAR}V9a9 9 0 0 1 9-9h{width - 18:.0f}a9 9 0 0 1 9 9V{BAR}z"
    place = f'x="{width / 2:.0f}" y="{BAR / 2 + 5:.0f}" text-anchor="middle"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view} {fonts}>',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width:.0f}" height="{height}" rx="9" fill="{BACKGROUND}"/>',
        f'<path d="{bar}" fill="{TITLE_BAR}"/>',
        buttons,
        f'<text {place} fill="#b6bdca" font-family="sans-serif">{escape(title)}</text>',
    ]
    for row in range(screen.lines):
        lines += _row(screen, row)
    return "\n".join([*lines, "</svg>", ""])


def text_of(drawing: str) -> list[str]:
    """Return the words in a drawing, in order, without positions and styles."""
    found = re.findall(r"<text[^>]*>([^<]*)</text>", drawing)
    return [word for text in found for word in unescape(text).split()]
