"""C-c C-c in Org: Emacs stays usable, and the result appears below the right block or nowhere."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from components import needs
from emacs_runs import emacs
from servers import RawServer, by_path, response

pytestmark = needs("emacs")

RUN = """
(defvar said nil)
(advice-add 'message :before (lambda (&rest all) (push (apply #'format all) said)))
(defun pending () (length (buffer-local-value 'orgrest--pending (get-buffer "notes.org"))))
(defun finished () (wait-for (lambda () (= (pending) 0))))
(defun open-gate () (write-region "" nil "gate"))
(defun text () (buffer-substring-no-properties (point-min) (point-max)))
(find-file "notes.org")
"""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[str]:
    """A server that answers requests below /slow only when the file `gate` exists."""
    ended = threading.Event()

    def slow(connection: Any, _: bytes) -> None:
        while not (tmp_path / "gate").exists() and not ended.wait(0.02):
            pass
        connection.sendall(response(b"slow\n", "Content-Type: text/plain"))

    answers: Any = {
        "/fast": response(b"fast\n", "Content-Type: text/plain"),
        "/slow": slow,
        "/image": response(b"\x89PNG\xff\x00\r\n", "Content-Type: image/png"),
    }
    with RawServer(by_path(answers)) as running:
        yield running.url
        ended.set()


def write(folder: Path, *bodies: str, arguments: str = ":results value") -> None:
    blocks = (f"#+begin_src restclient {arguments}\n{body}\n#+end_src\n" for body in bodies)
    (folder / "notes.org").write_text("* A\n" + "\n".join(blocks))


def test_results_arrive_below_their_blocks_while_the_document_is_edited(
    tmp_path: Path, api: str
) -> None:
    write(tmp_path, f"GET {api}/slow", f"GET {api}/fast")
    pending, first, second = emacs(
        tmp_path,
        f"""{RUN}(at "GET") (org-ctrl-c-ctrl-c)
        (at "{api}/fast") (org-ctrl-c-ctrl-c)
        (tell (pending))
        (goto-char (point-min)) (insert "* New\n\n")
        (wait-for (lambda () (= (pending) 1))) (tell (text))
        (at "#+begin_src") (insert "some text\n") (open-gate) (finished)
        (tell (text))""",
    )
    assert pending == 2
    head = "* New\n\n* A\n"
    blocks = [
        f"#+begin_src restclient :results value\nGET {api}/{x}\n#+end_src\n"
        for x in ("slow", "fast")
    ]
    assert first == f"{head}{blocks[0]}\n{blocks[1]}\n#+RESULTS:\nfast\n\n"
    assert second == (
        f"{head}some text\n{blocks[0]}\n#+RESULTS:\nslow\n\n\n{blocks[1]}\n#+RESULTS:\nfast\n\n"
    )


@pytest.mark.parametrize(
    "edit",
    [
        '(at "#+begin_src") (delete-region (point) (search-forward "#+end_src\n"))',
        '(at "#+begin_src") (kill-line 3) (goto-char (point-max)) (insert "\n") (yank)',
        '(at "#+begin_src") (kill-line 3) (yank)',
        '(at "begin_src restclient") (replace-match "begin_src text")',
        "(erase-buffer)",
    ],
)
def test_the_result_of_a_block_that_was_removed_is_not_inserted_elsewhere(
    edit: str, tmp_path: Path, api: str
) -> None:
    write(tmp_path, f"GET {api}/slow", f"GET {api}/fast")
    same, answers = emacs(
        tmp_path,
        f"""{RUN}(at "GET") (org-ctrl-c-ctrl-c)
        {edit}
        (let ((before (text)))
          (open-gate) (finished)
          (tell (if (equal (text) before) t (text))))
        (tell (car said))""",
    )
    assert same is True
    assert answers == "orgrest: the block was removed, so its result was not inserted"


def test_a_killed_block_that_comes_back_by_undo_gets_its_result(tmp_path: Path, api: str) -> None:
    write(tmp_path, f"GET {api}/slow")
    (text,) = emacs(
        tmp_path,
        f"""{RUN}(buffer-enable-undo) (at "GET") (org-ctrl-c-ctrl-c)
        (undo-boundary) (at "#+begin_src") (kill-line 3) (undo-boundary)
        (setq last-command 'ignore) (undo)
        (open-gate) (finished) (tell (text))""",
    )
    assert str(text).endswith("#+end_src\n\n#+RESULTS:\nslow\n\n")


def test_a_block_is_not_sent_twice_at_a_time(tmp_path: Path, api: str) -> None:
    write(tmp_path, f"GET {api}/slow")
    refused, count, text = emacs(
        tmp_path,
        f"""{RUN}(at "GET") (org-ctrl-c-ctrl-c)
        (condition-case problem (org-ctrl-c-ctrl-c)
          (error (tell (error-message-string problem))))
        (tell (pending)) (open-gate) (finished) (org-ctrl-c-ctrl-c) (finished) (tell (text))""",
    )
    assert refused == "This block is being evaluated: M-x orgrest-cancel cancels it"
    assert count == 1
    assert str(text).count("\nslow\n") == 1


def test_the_environment_that_was_chosen_counts_in_the_next_request(
    tmp_path: Path, api: str
) -> None:
    environments = {"dev": {"path": "fast"}, "prod": {"path": "image"}}
    (tmp_path / "http-client.env.json").write_text(json.dumps(environments))
    (tmp_path / "a.http").write_text(f"GET {api}/{{{{path}}}}\n")
    names, answer, sent = emacs(
        tmp_path,
        f"""{RUN}(fset 'completing-read (lambda (_ names &rest _) (tell (vconcat names)) "dev"))
        (find-file "a.http") (orgrest-choose-environment)
        (wait-for (lambda () (string-prefix-p "orgrest: " (or (car said) ""))))
        (tell (car said)) (orgrest-send) (wait-for (lambda () (null orgrest--pending)))
        (tell (car said))""",
    )
    assert names == ["dev", "prod", "no environment"]
    assert answer == "orgrest: environment dev"
    assert f"{api}/fast 200 OK" in str(sent)


def test_cancelling_leaves_the_old_result(tmp_path: Path, api: str) -> None:
    write(tmp_path, f"GET {api}/slow")
    path = tmp_path / "notes.org"
    path.write_text(path.read_text() + "\n#+RESULTS:\n: old\n")
    same, answers = emacs(
        tmp_path,
        f"""{RUN}(at "GET") (let ((before (text)))
          (org-ctrl-c-ctrl-c) (orgrest-cancel) (finished)
          (tell (equal (text) before)))
        (tell (car said))""",
    )
    assert (same, answers) == (True, "orgrest: cancelled")


def test_a_failure_is_reported_with_its_place(tmp_path: Path, api: str) -> None:
    write(tmp_path, "GET http://x/{{nothing}}")
    (answer,) = emacs(tmp_path, f'{RUN}(at "GET") (org-ctrl-c-ctrl-c) (finished) (tell (car said))')
    assert answer == "orgrest: notes.org:3:14: the variable nothing is not defined"


@pytest.mark.parametrize(
    "arguments",
    [
        ":results value :cache yes",
        ':results value :cache yes :var a=(concat "x" "y") b="z"',
        ":results value table",
        ":results value list",
        ":results value drawer",
        ":noheaders :wrap src text",
        ":results silent",
        ":results raw value",
        ":results value :noweb yes :cache yes",
        ":results value :post after(x=*this*)",
        ":eval query :results value",
    ],
)
def test_the_document_is_the_same_as_when_emacs_waits(
    arguments: str, tmp_path: Path, api: str
) -> None:
    after = '\n#+NAME: after\n#+begin_src emacs-lisp :var x=""\n(concat "<" x ">")\n#+end_src\n'
    made = []
    for how in ("(org-babel-execute-src-block)", "(org-ctrl-c-ctrl-c) (finished)"):
        write(
            tmp_path,
            f"GET {api}/fast\n<<after>>" if "noweb" in arguments else f"GET {api}/fast",
            arguments=arguments,
        )
        path = tmp_path / "notes.org"
        path.write_text(path.read_text() + (after if "post" in arguments else ""))
        once, twice, asked = emacs(
            tmp_path,
            f"""(defvar asked 0) (fset 'yes-or-no-p (lambda (_) (setq asked (1+ asked)) t))
            {RUN}(at "GET") {how} (tell (text)) {how} (tell (text)) (tell asked)""",
        )
        made.append([once, twice, asked])
    assert made[0] == made[1]


def test_a_value_from_an_example_block_has_no_line_break_at_its_end(
    tmp_path: Path, api: str
) -> None:
    example = "#+NAME: token\n#+begin_example\ns3cret\n#+end_example\n\n"
    request = f"GET {api}/fast\nAuthorization: Bearer :t"
    write(tmp_path, request, arguments=":results value :var t=token")
    notes = tmp_path / "notes.org"
    notes.write_text(example + notes.read_text())
    [text] = emacs(tmp_path, f"""{RUN}(at "GET") (org-ctrl-c-ctrl-c) (finished) (tell (text))""")
    assert "#+RESULTS:\nfast\n" in text


def test_a_number_can_be_a_value(tmp_path: Path, api: str) -> None:
    write(tmp_path, f"GET {api}/fast\nX: :n", arguments=":results value :var n=number")
    notes = tmp_path / "notes.org"
    notes.write_text(f"#+NAME: number\n: 42\n\n{notes.read_text()}")
    [text] = emacs(tmp_path, f"""{RUN}(at "GET") (org-ctrl-c-ctrl-c) (finished) (tell (text))""")
    assert "#+RESULTS:\nfast\n" in text


def test_what_a_block_refers_to_is_evaluated_once(tmp_path: Path, api: str) -> None:
    (tmp_path / "notes.org").write_text(
        f"""#+NAME: counter
#+begin_src emacs-lisp
(setq evaluated (1+ evaluated))
#+end_src

#+NAME: other
#+begin_src restclient :results value
GET {api}/fast
#+end_src

#+begin_src restclient :results value :var n=counter() o=other()
POST {api}/fast
N: :n

X: :o
#+end_src
"""
    )
    count, text = emacs(
        tmp_path,
        f"""(defvar evaluated 0) {RUN}(at "X: :o") (org-ctrl-c-ctrl-c) (finished)
        (tell evaluated) (tell (text))""",
    )
    assert count == 1
    assert str(text).count("#+RESULTS") == 1


def test_the_request_of_a_verb_heading_is_sent_with_the_same_key(tmp_path: Path, api: str) -> None:
    (tmp_path / "notes.org").write_text(
        f"* API :verb:\ntemplate {api}\n** Fast\nget /fast\n** Slow\nget /slow\n* Other\ntext\n"
    )
    text, nothing = emacs(
        tmp_path,
        f"""{RUN}(at "** Slow") (org-ctrl-c-ctrl-c)
        (at "get /fast") (goto-char (point-min)) (insert "# edited meanwhile\n")
        (open-gate) (finished) (tell (text))
        (at "* Other") (forward-line) (condition-case problem (org-ctrl-c-ctrl-c)
                      (error (tell (error-message-string problem))))""",
    )
    before, _, after = str(text).partition("** Slow\nget /slow\n")
    assert before == f"# edited meanwhile\n* API :verb:\ntemplate {api}\n** Fast\nget /fast\n"
    assert after.lstrip("\n").startswith(
        "#+RESULTS: Slow\n#+begin_src ob-verb-response\nHTTP/1.1 200 OK\n"
    )
    assert after.endswith("* Other\ntext\n")
    assert "nothing useful" in str(nothing)


def test_an_image_is_shown_below_its_block(tmp_path: Path, api: str) -> None:
    write(tmp_path, f"GET {api}/image", arguments="")
    shown, files = emacs(
        tmp_path,
        f"""{RUN}(fset 'display-graphic-p (lambda (&rest _) t))
        (advice-add 'org-display-inline-images :override
          (lambda (_ _ start end) (tell (buffer-substring-no-properties start end))))
        (at "GET") (org-ctrl-c-ctrl-c) (finished) (tell (directory-files "." nil "png"))""",
    )
    assert "[[file:notes-1.png]]" in str(shown)
    assert files == ["notes-1.png"]


def test_a_response_is_sent_again_from_its_buffer_as_the_request_is_now(
    tmp_path: Path, api: str
) -> None:
    (tmp_path / "a.http").write_text(f"### one\nGET {api}/fast\n")
    first, second, gone = emacs(
        tmp_path,
        f"""{RUN}(find-file "a.http") (goto-char (point-max)) (forward-line -1) (orgrest-send)
        (wait-for (lambda () (null orgrest--pending)))
        (with-current-buffer "*orgrest response*" (tell (text)))
        (goto-char (point-min)) (insert "# above\n") (at "/fast") (replace-match "/slow")
        (open-gate)
        (with-current-buffer "*orgrest response*" (call-interactively (key-binding "g")))
        (wait-for (lambda () (null orgrest--pending)))
        (with-current-buffer "*orgrest response*" (tell (text)))
        (set-buffer-modified-p nil) (kill-buffer)
        (with-current-buffer "*orgrest response*"
          (condition-case problem (call-interactively (key-binding "g"))
            (error (tell (error-message-string problem)))))""",
    )
    assert str(first).startswith("fast\n")
    assert str(second).startswith("slow\n")
    assert gone == "The buffer with the request was killed"


def test_a_question_of_the_document_is_asked_and_a_secret_hidden(tmp_path: Path, api: str) -> None:
    (tmp_path / "a.http").write_text(
        f"# @prompt name Who?\nGET {api}/fast\nX: {{{{name}}}}\n\n"
        f"###\nGET {api}/fast\nX: {{{{$password key}}}}\n"
    )
    (tmp_path / "home").mkdir()
    answers = emacs(
        tmp_path,
        f"""{RUN}(fset 'read-string (lambda (question &rest _) (tell (list "seen" question)) "me"))
        (fset 'read-passwd (lambda (question &rest _) (tell (list "hidden" question)) "pw"))
        (find-file "a.http") (orgrest-send) (wait-for (lambda () (null orgrest--pending)))
        (goto-char (point-max)) (orgrest-send) (wait-for (lambda () (null orgrest--pending)))
        (tell (seq-filter (lambda (one) (string-match-p "200 OK" one)) said))""",
    )
    assert [one[0] for one in answers[:-1]] == ["seen", "hidden"]  # type: ignore[index]  # lists
    assert "Who?" in json.dumps(answers[0])
    assert len(answers[-1]) >= 2  # type: ignore[arg-type]  # a list
