"""Runs a real Emacs with the line for the init file that `orgrest emacs` prints."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from click.testing import CliRunner

from orgrest.commands import editor as editor_commands

PRELUDE = """
(require 'json)
(setq make-backup-files nil auto-save-default nil create-lockfiles nil
      org-confirm-babel-evaluate nil)
(defun wait-for (test)
  (let ((end (+ 20 (float-time))))
    (while (and (not (funcall test)) (< (float-time) end)) (accept-process-output nil 0.02))
    (unless (funcall test) (error "Nothing came"))))
(defun tell (value) (princ (concat "\\nTOLD " (json-encode value) "\\n")))
(defun at (text) (goto-char (point-min)) (search-forward text) (goto-char (match-beginning 0)))
"""


def environment(home: Path) -> dict[str, str]:
    home.mkdir(exist_ok=True)
    return {**os.environ, "HOME": str(home), "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}


def init_line() -> str:
    return CliRunner().invoke(editor_commands.emacs).output


def emacs(folder: Path, script: str, *flags: str, line: str | None = None) -> list[object]:
    """Run a Lisp program in Emacs after the init line. Return the values passed to `tell`."""
    path = folder / "script.el"
    path.write_text(f"{line or init_line()}{PRELUDE}{script}")
    done = subprocess.run(
        ["emacs", "--batch", "-Q", *flags, "-l", str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env=environment(folder / "home"),
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    output = (line.partition("TOLD ") for line in done.stdout.split("\n"))
    return [json.loads(value) for _, mark, value in output if mark]
