"""Makes the pictures of the documentation, each from a session with the real program.

`python docs/site/pictures.py` plays the sessions as somebody would type them, and draws what the
terminal then shows. Needs the package pyte, and for docs/emacs.svg Emacs with Org and company.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from terminal import Terminal, svg

from orgrest.commands import demo_server

DOCS = Path(__file__).parents[1]

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


def emacs(home: Path, init: str, file: str) -> Terminal:
    """Start Emacs in a terminal, with this in its init file, on a file in `home`."""
    folder = home / ".emacs.d"
    folder.mkdir()
    (folder / "init.el").write_text(init)
    env = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    env |= {"HOME": str(home), "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    return Terminal(["emacs", "-nw", file], {**env, "LANG": "C.UTF-8"}, home, (84, 36))


def init_line() -> str:
    """Return what `orgrest emacs` prints."""
    command = [sys.executable, "-m", "orgrest", "emacs"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def play(terminal: Terminal) -> None:
    """Type a request, evaluate it, and begin another."""
    terminal.wait_for("Notes on the tasks API")
    terminal.type(f"{END}#+begin_src restclient :jq .[0]\rGE{COMPLETE}")
    terminal.wait_for(r"\bGET\b")
    terminal.type(f":host/tasks?done=true\r#+end_src{UP}{SEND}")
    terminal.wait_for("RESULTS")
    terminal.type(f"{END}\r#+begin_src restclient\r#+end_src{OPEN}PO{COMPLETE}")
    terminal.wait_for(r"\bPOST\b")
    terminal.type(":host/tasks\rAccept: application/json\rConten")
    terminal.wait_for("Content-Type +header")


def draw_emacs(home: Path) -> str:
    """Draw Emacs with the line that `orgrest emacs` prints and no more."""
    with demo_server.serve() as port:
        (home / "notes.org").write_text(DOCUMENT.format(port=port))
        with emacs(home, init_line() + LOOK, "notes.org") as terminal:
            play(terminal)
            return svg(terminal.screen, "notes.org - Emacs").replace(f":{port}", ":8000")


SESSION = (
    "scriptschema generate --programs --size 30 --seed 5 -n 1 -o programs",
    "scriptschema render programs/5.pb",
    "scriptschema show programs/5.pb",
)


def draw_scriptschema(home: Path) -> str:
    """Draw a shell in which a program is generated, printed and shown as a tree."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": path, "HOME": str(home), "TERM": "xterm-256color", "LANG": "C.UTF-8"}
    env |= {"PS1": "$ ", "COLORTERM": "truecolor"}
    command = ["bash", "--norc", "--noprofile"]
    with Terminal(command, env, home, (84, 27)) as terminal:
        terminal.wait_for(r"(?m)^\$")
        for number, line in enumerate(SESSION, 2):
            terminal.type(f"{line}\r")
            terminal.wait_for(rf"(?ms)(^\$.*){{{number}}}")
        return svg(terminal.screen, "scriptschema")


PICTURES: Mapping[str, Callable[[Path], str]] = {
    "emacs.svg": draw_emacs,
    "scriptschema.svg": draw_scriptschema,
}
"""What draws each picture in docs/."""


def draw(name: str) -> str:
    """Play the session of a picture in an empty folder, and return the drawing."""
    with tempfile.TemporaryDirectory() as folder:
        return PICTURES[name](Path(folder))


def main() -> None:
    """Make all pictures."""
    for name in PICTURES:
        (DOCS / name).write_text(draw(name))


if __name__ == "__main__":
    main()
