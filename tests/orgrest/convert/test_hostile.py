"""Imports of untrusted files: nothing in them becomes a setting or a link in the user's editor."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from components import needs
from imports import imported, sent

from orgrest.convert.shared import documents
from orgrest.org.lisp import unquote
from orgrest.rendering.sanitize import without_links

EVIL = "-*- eval: (setq owned t) -*-"
LOCAL = "Local Variables:\neval: (setq owned t)\nEnd:"
LINK = "[[elisp:(setq owned t)][x]] elisp:(x) <elisp:(x)> src_emacs-lisp{(setq owned t)}"


def collection(text: str, value: str, body: str) -> str:
    """Return a Postman collection in which every name and description is `text`."""
    request = {"method": "POST", "url": "http://h/", "description": text,
               "header": [{"key": "X", "value": part} for part in value.split("\n")],
               "body": {"mode": "raw", "raw": body}}  # fmt: skip
    event = {"listen": "test", "script": {"exec": [f"// {part}" for part in text.split("\n")]}}
    item = {"name": text, "request": request, "event": [event]}
    folder = {"name": text, "description": text, "item": [item]}
    schema = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
    return json.dumps({
        "info": {"name": text, "description": text, "schema": schema},
        "item": [folder, item],
        "variable": [{"key": text, "value": value}],
    })  # fmt: skip


OPENED = """(progn
  (setq owned nil enable-local-variables :all enable-local-eval t enable-dir-local-variables nil
        org-link-elisp-confirm-function nil browse-url-browser-function #'ignore)
  (with-current-buffer (find-file-noselect (car command-line-args-left))
    (when (derived-mode-p 'org-mode)
      (goto-char (point-min))
      (while (re-search-forward "elisp:?\\\\|^\\\\*" nil t)
        (save-excursion (ignore-errors (backward-char 2)) (ignore-errors (org-open-at-point))))))
  (princ (if owned "owned" "safe")))"""


def opened(path: Path) -> str:
    """Return "owned" if Emacs runs code from a file, "safe" otherwise."""
    done = subprocess.run(
        ["emacs", "--batch", "-Q", "--eval", OPENED, str(path)],
        capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout[-5:].strip("\n")


@needs("emacs")
@pytest.mark.parametrize("output", ["out.http", "out.org"])
@pytest.mark.parametrize(
    ("text", "value", "body"),
    [
        (EVIL, "v", "b"),
        ("name", EVIL, "b"),
        (LOCAL, "v", "b"),
        ("name", "v", LOCAL),
        ("name", LOCAL, "b"),
        (LINK, "v", "b"),
        ("name", LINK, "b"),
    ],
)
def test_nothing_of_an_import_runs_in_emacs(
    text: str, value: str, body: str, output: str, tmp_path: Path
) -> None:
    assert imported(tmp_path, collection(text, value, body), output=output).exit_code == 0
    assert opened(tmp_path / output).endswith("safe")


@needs("emacs")
def test_emacs_would_run_it(tmp_path: Path) -> None:
    (tmp_path / "a.org").write_text(f"# {EVIL}\n")
    (tmp_path / "b.org").write_text(f"# a\n# {LINK}\n")
    (tmp_path / "c.org").write_text(f"{LOCAL}\n")
    assert [opened(tmp_path / one) for one in ("a.org", "b.org", "c.org")] == ["owned"] * 3


@pytest.mark.parametrize("output", ["out.http", "out.org"])
def test_a_body_with_settings_for_emacs_is_sent_as_it_is(output: str, tmp_path: Path) -> None:
    imported(tmp_path, collection("name", "v", LOCAL), output=output)
    assert {request.body for request in sent(tmp_path, output)} == {LOCAL.encode()}
    assert "eval" not in (tmp_path / output).read_text()


@pytest.mark.parametrize("output", ["out.http", "out.org"])
def test_a_body_with_a_nul_leaves_the_document_readable(output: str, tmp_path: Path) -> None:
    imported(tmp_path, collection("name", "v", "a\0b"), output=output)
    assert {request.body for request in sent(tmp_path, output)} == {b"a\0b"}


def test_a_link_in_a_variable_is_the_same_text_and_no_link() -> None:
    value = '[[elisp:(a)]] <shell:b> "http://c" \\ x:y'
    quoted = documents._quoted(value)
    assert unquote(quoted) == value
    assert without_links(quoted) == quoted
