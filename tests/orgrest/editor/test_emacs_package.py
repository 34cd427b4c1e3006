"""orgrest.el as a package for Emacs: installed from the file, linted, and used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from components import needs
from servers import RawServer, by_path, response

from orgrest import editor

ORGREST_EL = Path(editor.__file__).with_name("orgrest.el")
LINTER = Path("/usr/share/emacs/site-lisp/elpa")  # where Debian has elpa-package-lint

pytestmark = needs("emacs")


def emacs(home: Path, script: str, status: int = 0) -> str:
    """Run a script in Emacs, with packages below `home`. Return its output and messages."""
    start = f"""(progn (require 'package)
      (setq package-user-dir "{home}/elpa" package-archives nil org-confirm-babel-evaluate nil
            make-backup-files nil)
      (package-initialize))"""
    done = subprocess.run(
        ["emacs", "--batch", "-Q", "--eval", start, "--eval", f"(progn {script})"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        cwd=home,
        env={
            **{name: value for name, value in os.environ.items() if "proxy" not in name.lower()},
            "HOME": str(home),
            "LC_ALL": "C.UTF-8",
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        check=False,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def test_the_package_installs_from_its_file_and_evaluates_requests(tmp_path: Path) -> None:
    answers = emacs(tmp_path, f'(package-install-file "{ORGREST_EL}")')
    assert "Warning" not in answers
    assert "Error" not in answers
    with RawServer(
        by_path({"/": response(b'{"a":1}', "Content-Type: application/json")})
    ) as server:
        notes, calls = tmp_path / "notes.org", tmp_path / "calls.http"
        notes.write_text(f"#+begin_src restclient\nGET {server.url}/\n#+end_src\n")
        calls.write_text(f"GET {server.url}/\n")
        # The lines of docs/emacs.md; then as after the next start of Emacs.
        answers = emacs(
            tmp_path,
            """(with-eval-after-load 'org (require 'orgrest))
            (find-file "calls.http")
            (message "The mode is %s" major-mode)
            (find-file "notes.org")
            (goto-char (point-min))
            (org-ctrl-c-ctrl-c)
            (with-timeout (60) (while orgrest--pending (accept-process-output nil 0.1)))
            (save-buffer)""",
        )
    assert "The mode is orgrest-mode" in answers
    assert '#+RESULTS:\n#+BEGIN_SRC js\n{\n  "a": 1\n}' in notes.read_text()


def test_package_lint_finds_nothing_in_the_file_of_a_release(tmp_path: Path) -> None:
    if not list(LINTER.glob("package-lint-*")):
        pytest.skip("package-lint is not installed: apt install elpa-package-lint")
    page = (Path(__file__).parents[3] / "docs" / "releasing.md").read_text()
    command = re.search(r"^ *(sed .* orgrest/editor/orgrest.el > orgrest.el)$", page, re.MULTILINE)
    assert command
    environment = {**os.environ, "URL": "https://example.org/orgrest"}
    program = command[1].replace("orgrest/editor/orgrest.el", str(ORGREST_EL))
    subprocess.run(["bash", "-c", program], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "orgrest.el").read_text().count("\n") == 1 + ORGREST_EL.read_text().count(
        "\n"
    )
    answers = emacs(
        tmp_path,
        f"""(add-to-list 'package-directory-list "{LINTER}")
        (package-initialize)
        (require 'package-lint)
        (find-file "orgrest.el")
        (dolist (found (package-lint-buffer))
          (princ (format "%s:%s: %s\\n" (nth 0 found) (nth 2 found) (nth 3 found))))""",
    )
    assert re.findall(r"^\d+:(?:warning|error): .*", answers, re.MULTILINE) == []
