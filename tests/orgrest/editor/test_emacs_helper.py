"""Emacs and its language server: one process, evaluation in the background, cancelling."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from components import needs
from emacs_runs import emacs
from servers import RawServer, by_path, response

needs_emacs = needs("emacs")

RUN = """
(defun run (text)
  (at text)
  (condition-case problem (progn (org-babel-execute-src-block) (tell "done"))
    (error (tell (error-message-string problem)))
    (quit (tell "quit"))))
(defun server () (jsonrpc--process (cdar orgrest--servers)))
(defun who () (tell (process-id (server))))
(find-file "notes.org")
"""


@pytest.fixture
def api() -> Iterator[str]:
    with RawServer(by_path({"/json": response(b'{"a":1}')})) as running:
        yield running.url


def document(folder: Path, *requests: str) -> Path:
    path = folder / "notes.org"
    path.write_text(
        "".join(f"#+begin_src restclient\n{request}\n#+end_src\n\n" for request in requests)
    )
    return path


@needs_emacs
def test_one_process_evaluates_all_blocks_also_after_one_that_fails(
    tmp_path: Path, api: str
) -> None:
    path = document(tmp_path, f"GET {api}/json", "GET http://{{none}}/", f"HEAD {api}/json")
    answers = emacs(
        tmp_path,
        f'{RUN}(run "GET {api}") (who) (run "GET http://{{{{") (who) (run "HEAD") (who)'
        "(save-buffer)",
    )
    done, first, failed, second, again, third = answers
    assert [done, again] == ["done", "done"]
    assert "none is not defined" in str(failed)
    assert first == second == third is not None
    assert path.read_text().count("#+RESULTS:") == 2


@needs_emacs
def test_a_process_that_was_killed_is_started_again(tmp_path: Path, api: str) -> None:
    document(tmp_path, f"GET {api}/json")
    answers = emacs(
        tmp_path,
        f'{RUN}(run "GET") (who) (kill-process (server))'
        "(wait-for (lambda () (null orgrest--servers)))"
        '(run "GET") (who)',
    )
    assert [answers[0], answers[2]] == ["done", "done"]
    assert answers[1] != answers[3]


@needs_emacs
def test_a_changed_environment_counts_for_the_next_block(tmp_path: Path, api: str) -> None:
    path = document(tmp_path, f':a := env("WHERE")\nGET {api}/:a')
    answers = emacs(
        tmp_path,
        f'{RUN}(setenv "WHERE" "none") (run ":a :=")'
        '(setenv "WHERE" "json") (run ":a :=") (save-buffer)',
    )
    assert answers == ["done", "done"]
    assert '"a": 1' in path.read_text()


@needs_emacs
def test_quitting_ends_the_request_that_is_under_way(tmp_path: Path, api: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        document(tmp_path, f"GET {url}/", f"HEAD {api}/json")
        answers = emacs(
            tmp_path,
            f'{RUN}(run-at-time 3 nil (lambda () (setq quit-flag t)))(run "GET") (run "HEAD")',
        )
    assert answers == ["quit", "done"]


@needs_emacs
def test_a_program_that_cannot_serve_says_why(tmp_path: Path, api: str) -> None:
    document(tmp_path, f"GET {api}/json")
    broken = tmp_path / "broken"
    # It ends after Emacs has written to it: SIGPIPE would end a batch Emacs.
    broken.write_text("#!/bin/sh\necho 'orgrest: it is broken' >&2\nsleep 1\nexit 3\n")
    broken.chmod(0o755)
    answers = emacs(tmp_path, f'{RUN}(setq orgrest-command (list "{broken}")) (run "GET")')
    assert answers == ["it is broken"]


@needs_emacs
def test_a_process_that_is_not_used_ends(tmp_path: Path, api: str) -> None:
    document(tmp_path, f"GET {api}/json")
    answers = emacs(
        tmp_path,
        f'(setq orgrest--idle 0.2){RUN}(run "GET")'
        "(wait-for (lambda () (null orgrest--servers)))"
        "(tell (mapcar (lambda (one) (buffer-name one))"
        ' (seq-filter (lambda (one) (string-match "orgrest.*\\\\(output\\\\|stderr\\\\)"'
        " (buffer-name one))) (buffer-list))))",
    )
    assert answers == ["done", None]
