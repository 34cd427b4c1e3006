"""orgrest in real editors: Emacs with Org, eglot and company.

Each runs without its user's configuration, with its own HOME, and with a server on loopback.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from components import needs
from emacs_runs import emacs, environment, init_line
from hypothesis import given, settings
from hypothesis import strategies as st
from servers import RawServer, by_path, response

from orgrest import __version__
from orgrest.commands import demo_server
from orgrest.commands import editor as editor_commands

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from types import ModuleType

needs_emacs = needs("emacs")
ORGREST_EL = Path(str(files("orgrest.editor") / "orgrest.el"))

# ------------------------------------------------------------------------------------------ set-up


@needs_emacs
def test_the_line_for_the_init_file_works_from_odd_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = tmp_path / 'it\'s "odd" \\ (é)'
    shutil.copytree(ORGREST_EL.parents[1], odd / "orgrest")
    venv.create(odd / "python", symlinks=True)
    python = odd / "python" / "bin" / "python"
    env = {**os.environ, "PYTHONPATH": f"{odd}:{sysconfig.get_paths()['purelib']}"}
    command = [str(python), "-m", "orgrest", "emacs"]
    line = subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout
    assert line.endswith("\n")
    assert line.count("\n") == 1
    (tmp_path / "click.py").write_text("raise SystemExit('the document brought this code')")
    (tmp_path / "a.http").write_text("GET http://127.0.0.1:1/\n")
    monkeypatch.setenv("PYTHONPATH", env["PYTHONPATH"])
    answers = emacs(
        tmp_path,
        """(find-file "a.http") (orgrest-copy-as-curl)
        (tell (list orgrest-command (symbol-name major-mode) (car kill-ring)))""",
        line=line,
    )
    command = "curl \\\n  --location \\\n  --cookie '' \\\n  http://127.0.0.1:1/"
    assert answers == [[[str(python), "-P", "-m", "orgrest"], "orgrest-mode", command]]


@needs_emacs
def test_emacs_starts_when_orgrest_has_been_removed(tmp_path: Path) -> None:
    script = tmp_path / "init.el"
    script.write_text(init_line().replace(str(ORGREST_EL.parent), str(tmp_path / "gone")))
    done = subprocess.run(
        ["emacs", "--batch", "-Q", "-l", str(script), "--eval", "(princ (featurep 'orgrest))"],
        capture_output=True,
        text=True,
        env=environment(tmp_path / "home"),
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "nil")
    assert f"orgrest is no longer in {tmp_path / 'gone'}" in done.stderr


def test_a_folder_whose_name_is_no_text_is_an_error_not_a_broken_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/a\udcff/python")
    done = CliRunner().invoke(editor_commands.emacs)
    assert done.exit_code == 2
    assert "not UTF-8" in done.output


@needs_emacs
def test_the_lisp_compiles_without_a_warning_and_its_documentation_is_in_order(
    tmp_path: Path,
) -> None:
    shutil.copy(ORGREST_EL, tmp_path)
    answers = emacs(
        tmp_path,
        """(require 'checkdoc)
        (setq byte-compile-error-on-warn t)
        (let ((compiled (byte-compile-file "orgrest.el")) problems)
          (with-current-buffer (find-file-noselect "orgrest.el")
            (let ((checkdoc-create-error-function
                   (lambda (text &rest _) (push text problems) nil))
                  (checkdoc-spellcheck-documentation-flag nil))
              (checkdoc-current-buffer t)))
          (tell (list (if compiled t :json-false) (vconcat problems))))""",
    )
    assert answers == [[True, []]]


def test_the_lisp_has_the_version_of_the_package() -> None:
    found = re.search(r"^;; Version: (\S+)$", ORGREST_EL.read_text(), re.MULTILINE)
    assert found
    assert found[1] == __version__


# ------------------------------------------------------------------------------------------- Babel

RUN_ALL = """
(find-file "notes.org")
(org-babel-map-executables nil
  (condition-case problem
      (if (memq (org-element-type (org-element-context)) '(babel-call inline-babel-call))
          (org-babel-lob-execute-maybe)
        (org-babel-execute-src-block))
    (error (tell (error-message-string problem)))))
(save-buffer)
"""


def changing(text: str) -> str:
    return re.sub(r"(Date: |Request duration: ).*", r"\1", text)


def both(tmp_path: Path, text: str, *, times: int = 1) -> tuple[str, str, list[object]]:
    """Evaluate a document with the command and in Emacs. Return both texts and Emacs's messages."""
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for folder in (ours, theirs):
        folder.mkdir(exist_ok=True)
        (folder / "notes.org").write_text(text)
    command = [sys.executable, "-m", "orgrest", "notes.org", "--quiet"]
    for _ in range(times):
        subprocess.run(command, cwd=ours, check=False, capture_output=True)
    answers = emacs(theirs, RUN_ALL * times)
    return *(changing((one / "notes.org").read_text()) for one in (ours, theirs)), answers


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    """The URL of a server that always gives the same responses."""
    answers = {
        "/json": response(b'{"a": [1, 2], "n": "x"}', "Content-Type: application/json"),
        "/text": response(b"one line\n", "Content-Type: text/plain"),
        "/lines": response(b"one\n  two\n\nthree\n", "Content-Type: text/plain"),
        "/org": response(b"* heading\n#+begin_src sh\n:x:\n", "Content-Type: text/plain"),
        "/csv": response(b"a,b\n1,2.5\n10,|x|\n", "Content-Type: text/csv"),
        "/rows": response(b'[{"a": 1, "b": "x"}, {"a": 22}]', "Content-Type: application/json"),
        "/html": response(b"<p>x</p>", "Content-Type: text/html"),
        "/html?q=%41": response(b"<p>x</p>", "Content-Type: text/html"),
        "/image": response(b"\x89PNG\xff\x00\r\n", "Content-Type: image/png"),
        "/live": response(b"=a= ~b~ [[x]]", "Content-Type: text/plain"),
        "/nothing": response(b"", status="204 No Content"),
        "/unicode": response("é ß 日本\n".encode(), "Content-Type: text/plain"),
        "/bad": response(b'{"error": 1}', "Content-Type: application/json", status="400 Bad"),
    }
    with RawServer(by_path({**answers})) as server:
        yield server.url


HEADER_ARGUMENTS = [
    "",
    ":noheaders",
    ":headers only",
    ":jq .a",
    ":jq .n :jq-args -r",
    ":results value",
    ":results value drawer",
    ":results drawer",
    ":results value list",
    ":results value table",
    ":results value verbatim",
    ":results value org",
    ":results value pp",
    ":results value code",
    ":results code",
    ":results value html",
    ":results latex",
    ":wrap foo",
    ":wrap export html",
    ":wrap src text",
    ":results value :wrap example",
    ":results value append",
    ":results prepend",
    ":results silent",
    ":results value file :file out.txt",
    ":results value file :file-ext txt",
    ":results value file :file out.txt :file-desc said",
    ":results value file :output-dir made :file out.txt",
    ":results value file :wrap quote",
    ":results value code file",
    ":cache yes",
    ':var a=1 b="x" :prologue "# hi"',
    ":requests all",
    ":eval no",
]
IMAGE_ARGUMENTS = [
    "",
    ":results value",
    ":results drawer",
    ":wrap quote",
    ":results value list",
    ":results table",
    ":results value html :output-dir made :file out.png",
    ":results value file :output-dir made/too :file out.png",
]
PATHS = [
    "json",
    "text",
    "lines",
    "org",
    "csv",
    "rows",
    "html",
    "image",
    "nothing",
    "unicode",
    "bad",
]


@needs_emacs
@pytest.mark.parametrize("number", range(len(PATHS)))
def test_emacs_writes_the_documents_that_the_command_writes(
    number: int, tmp_path: Path, api: str, long_mode: bool
) -> None:
    path = PATHS[number]
    step = 1 if long_mode else 9
    lines = IMAGE_ARGUMENTS if path == "image" else HEADER_ARGUMENTS[number % step :: step]
    text = "".join(
        f"* Now {line}\n#+begin_src restclient {line}\nGET {api}/{path}\n#+end_src\n\nafter\n"
        for line in lines
    )
    ours, theirs, _ = both(tmp_path, text)
    assert theirs == ours
    made = [
        {
            str(file.relative_to(tmp_path / folder)): file.read_bytes()
            for file in (tmp_path / folder).rglob("*.*")
            if file.is_file()
        }
        for folder in ("ours", "theirs")
    ]
    for file in made[0]:
        if file != "notes.org":
            assert made[1][file] == made[0][file]


MINE = [
    "| mine | table |\n",
    "#+begin_src sh\nmine\n#+end_src\n",
    ": mine\n",
    "1. mine\n2. too\n",
    "\n- mine\n",
    ":MINE:\nd\n:END:\n",
    "\\begin{a}\nmine\n\\end{a}\n",
    "[[file:mine.png]]\n",
    "#+begin_src restclient :eval no\nGET http://mine/\n#+end_src\n",
]
OLD_BLOCK = "#+begin_src html\nold\n#+end_src\n"
OLD_RESULTS = {
    "hello\n": "text",
    "one\n\nthree\n": "lines",
    ":results:\nold\n:end:\n": "csv",
    OLD_BLOCK: "text",
    ": old\n": "org",
    "- old\n": "nothing",
}
ONE_ELEMENT = [": old\n: mine", "- old\n1. mine", "- old\n\n- mine"]


KINDS = [
    *(":results value", ":results value drawer", ":results value pp", ":results value list"),
    *(":results table", ":results value verbatim", ":results value wrap", ":results html"),
    *(":cache yes :results value", ":cache yes :results drawer", ":results value append"),
    ":results value :post same(x=*this*)",
]


@needs_emacs
@pytest.mark.parametrize("shift", range(3))
def test_emacs_keeps_what_is_directly_below_a_result_as_the_command_does(
    shift: int, tmp_path: Path, api: str
) -> None:
    below = [
        (path, f"#+CAPTION: c\n#+RESULTS:\n{old}{mine}")
        for mine in MINE
        for old, path in OLD_RESULTS.items()
        if not (old + mine).startswith(tuple(ONE_ELEMENT))
    ]
    below += [("text", f"#+RESULTS:\n{MINE[-1]}")] * 3
    text = "".join(
        f"* A\n#+begin_src restclient {KINDS[(4 * shift + number) % len(KINDS)]}\n"
        f"GET {api}/{path}\n#+end_src\n\n{rest}"
        for number, (path, rest) in enumerate(below)
    )
    text += "* B\n#+NAME: same\n#+begin_src emacs-lisp :results silent :var x=1\nx\n#+end_src\n"
    ours, theirs, _ = both(tmp_path, text, times=2)
    assert theirs == ours
    assert theirs.count("mine") == text.count("mine")


@needs_emacs
def test_emacs_sends_a_request_directly_below_a_result_as_the_command_does(
    tmp_path: Path, api: str
) -> None:
    block = f"#+begin_src restclient\nGET {api}/json\n#+end_src\n"
    drawer = f"#+begin_src restclient :results value drawer\nGET {api}/text\n#+end_src\n"
    text = f"{block * 3}{drawer * 2}#+CALL: n()\n:D:\n{block}:END:\n"
    text += f"\n#+NAME: n\n{block}\n#+RESULTS: n\n{block}"  # this one may be a response
    ours, theirs, _ = both(tmp_path, text, times=2)
    assert theirs == ours
    assert theirs.count("// GET ") == 6
    assert theirs.count("one line") == 2
    assert theirs.endswith(f"\n#+RESULTS:\n{block}")


@needs_emacs
def test_a_result_that_must_stay_the_same_stays_in_emacs_as_with_the_command(
    tmp_path: Path, api: str
) -> None:
    block = "#+begin_src restclient :expect same {}\nGET {}/{}\n#+end_src\n"
    named = "#+NAME: {}\n" + block
    text = "\n".join(
        [
            block.format(":noheaders", api, "json"),
            named.format("old", ":results value", api, "text") + "\n#+RESULTS: old\nold\n",
            named.format("list", ":results value list", api, "lines")
            + "\n#+RESULTS: list\n- one\n- two\n- four\n",
            f"inline src_restclient[:expect same]{{GET {api}/text}} {{{{{{results(=old=)}}}}}} x\n",
            block.format("", api, "html") + f"\n#+RESULTS:\n{OLD_BLOCK}",
            f"#+begin_src restclient :var x=old :results value\nPOST {api}/text\n\n:x\n#+end_src\n",
        ]
    )
    ours, theirs, answers = both(tmp_path, text, times=2)
    assert theirs == ours
    assert theirs.count("old\n") == 4
    assert "{{{results(=old=)}}}" in theirs
    assert "- four\n" in theirs
    changed = [answer for answer in answers if "the result has changed" in str(answer)]
    assert changed == answers
    assert len(changed) == 8
    assert "\n-- four\n+- three" in str(changed[1])
    (tmp_path / "theirs/notes.org").write_text(text)
    (answer,) = emacs(
        tmp_path / "theirs",
        """(defvar said nil)
        (advice-add 'message :before (lambda (&rest all) (push (apply #'format all) said)))
        (find-file "notes.org") (at "GET") (org-babel-execute-src-block) (tell (vconcat said))""",
    )
    assert "orgrest: :expect same: there is no result in the document yet" in answer


@needs_emacs
def test_evaluating_twice_in_emacs_changes_nothing(tmp_path: Path, api: str) -> None:
    lines = [":results value", ":noheaders", ":cache yes"]
    text = "".join(
        f"#+begin_src restclient {line}\nGET {api}/lines\n#+end_src\n\nafter\n\n" for line in lines
    )
    once, twice = tmp_path / "once", tmp_path / "twice"
    once.mkdir()
    twice.mkdir()
    (once / "notes.org").write_text(text)
    (twice / "notes.org").write_text(text)
    emacs(once, RUN_ALL)
    emacs(twice, RUN_ALL * 2)
    assert changing((twice / "notes.org").read_text()) == changing((once / "notes.org").read_text())


@needs_emacs
def test_blocks_calls_and_variables_work_together_in_emacs(tmp_path: Path, api: str) -> None:
    text = f"""#+PROPERTY: header-args:restclient :var host="{api}" path=":host/text"
#+NAME: table
| a | 1 |
|---+---|
| b | 2 |

#+NAME: text
#+begin_src restclient :results value
GET :path
#+end_src

#+begin_src restclient :var given=text
POST :host/echo
X-Given: :given
#+end_src

#+begin_src restclient :var rows=table n=2.5 :noweb yes
POST :host/echo
<<headers>>

{{"rows": :rows, "n": :n}}
#+end_src

#+NAME: headers
#+begin_src restclient :eval no
X-Given: twice
#+end_src

#+CALL: text()

In a line: src_restclient{{GET :path}} and call_text().
"""
    with RawServer(by_path({"/text": response(b"x y"), "/echo": echo_body})) as server:
        text = text.replace(api, server.url)
        ours, theirs, told = both(tmp_path, text)
    assert told == []
    assert theirs == ours
    assert '[["b", 2]]' in ours
    assert "{{{results(=x y=)}}}" in ours


def echo_body(connection: socket.socket, request: bytes) -> None:
    head, _, body = request.partition(b"\r\n\r\n")
    given = [line for line in head.split(b"\r\n") if line.startswith(b"X-Given")]
    connection.sendall(response(b"\n".join([*given, body]), "Content-Type: text/plain"))


@needs_emacs
def test_another_language_gets_the_body_and_a_request_what_lisp_computes(
    tmp_path: Path, api: str
) -> None:
    text = f"""#+NAME: n
#+begin_src restclient :var path=(concat "js" "on") :jq .n :jq-args -r
GET {api}/:path
#+end_src

#+begin_src emacs-lisp :var x=n
(concat "got " (string-trim x))
#+end_src
"""
    (tmp_path / "notes.org").write_text(text)
    assert emacs(tmp_path, RUN_ALL) == []
    done = (tmp_path / "notes.org").read_text()
    assert done.endswith("#+RESULTS:\n: got x\n")


HOSTILE = """
(defun org-babel-execute:js (body _) (tell (list "run as code" body)))
(defun org-babel-execute:sh (body _) (tell body) nil)
(require 'ox-org)
"""


@needs_emacs
@pytest.mark.parametrize(
    "line", ["", ":results append", ":requests all", ":wrap foo", ":cache yes"]
)
def test_what_a_server_answers_is_never_run_as_code(line: str, tmp_path: Path, api: str) -> None:
    request = f"GET {api}/json"
    if "all" in line:
        request += f"\n###\n{request}"
    block = f"#+begin_src restclient {line}\n{request}\n#+end_src\n"
    text = f"* A\n{block}{block}\n#+begin_src sh\nthe user's\n#+end_src\n"
    (tmp_path / "notes.org").write_text(text)
    answers = emacs(
        tmp_path,
        f"""{HOSTILE}(find-file "notes.org")
        (org-babel-execute-buffer) (org-babel-execute-buffer) (org-babel-execute-subtree)
        (save-buffer)
        (save-excursion (goto-char (point-max))
          (while (re-search-backward "begin_src js" nil t) (org-ctrl-c-ctrl-c)))
        (tell "exported")
        (goto-char (point-min))
        (insert "#+PROPERTY: header-args :exports both\n")
        (org-export-string-as (buffer-string) 'org)""",
    )
    ours = "the user's"
    assert answers == [ours, ours, ours, "exported", ours]
    made = (tmp_path / "notes.org").read_text()
    assert made.count("\n// GET ") == {":results append": 6, ":requests all": 4}.get(line, 2)


@needs_emacs
@pytest.mark.parametrize(("path", "result"), [("lines", "two"), ("json", "{")])
def test_a_block_can_be_evaluated_after_an_export_in_the_buffer_as_it_is(
    tmp_path: Path, api: str, path: str, result: str
) -> None:
    exported = f"#+begin_src restclient :exports results\nGET {api}/json\n#+end_src\n"
    block = f"#+begin_src restclient :results value :exports none\nGET {api}/lines\n#+end_src\n"
    (tmp_path / "notes.org").write_text(f"{exported}\n{block}")
    answers = emacs(
        tmp_path,
        f"""(require 'ox-ascii) (find-file "notes.org")
        (at "/lines") (org-babel-execute-src-block)
        (org-export-to-file 'ascii "notes.txt")
        (goto-char (point-min)) (search-forward "/lines") (replace-match "/{path}")
        (org-babel-execute-src-block)
        (tell (buffer-string))""",
    )
    (text,) = answers
    assert result in text.partition("#+RESULTS:")[2]


@needs_emacs
def test_without_support_for_the_language_of_an_answer_all_requests_are_sent(
    tmp_path: Path, api: str
) -> None:
    block = f"#+begin_src restclient\nGET {api}/json\n#+end_src\n"
    (tmp_path / "notes.org").write_text(f"{block}\n{block}")
    answers = emacs(
        tmp_path,
        """(find-file "notes.org") (org-babel-execute-buffer)
        (tell (how-many "^#.begin_src js" (point-min)))""",
    )
    assert answers == [2]


@needs_emacs
def test_buffers_without_a_file_of_their_own_keep_their_images_apart(
    tmp_path: Path, api: str
) -> None:
    block = f"#+begin_src restclient\nGET {api}/image\n#+end_src\n"
    (tmp_path / "notes.org").write_text(f"* A\n{block}* B\n{block}")
    answers = emacs(
        tmp_path,
        f"""(defun link () (org-babel-execute-src-block)
          (goto-char (point-min)) (search-forward "[[file:")
          (tell (buffer-substring (point) (1- (search-forward "]")))))
        (dolist (name '("*draft*" "*other*" "日本"))
          (with-current-buffer (get-buffer-create name)
            (org-mode) (insert {json.dumps(block)}) (at "GET") (link)))
        (find-file "notes.org")
        (with-current-buffer (make-indirect-buffer (current-buffer) "CAPTURE-notes.org" t)
          (goto-char (point-max)) (search-backward "* B") (org-narrow-to-subtree)
          (search-forward "GET") (link))""",
    )
    assert answers == [
        "buffer-draft--1.png",
        "buffer-other--1.png",
        "buffer-日本-1.png",
        "notes-2.png",
    ]
    assert {file.name for file in tmp_path.glob("*.png")} == set(answers)


@needs_emacs
def test_org_asks_before_it_sends(tmp_path: Path) -> None:
    with RawServer(response(b"x")) as server:
        text = f"#+begin_src restclient\nGET {server.url}/\n#+end_src\n"
        (tmp_path / "notes.org").write_text(text)
        answers = emacs(
            tmp_path,
            """(setq org-confirm-babel-evaluate t)
            (fset 'yes-or-no-p (lambda (question) (tell question) nil))
            (find-file "notes.org") (forward-line) (org-ctrl-c-ctrl-c) (save-buffer)""",
        )
        assert answers == ["Evaluate this restclient code block on your system? "]
        assert server.requests == []
    assert (tmp_path / "notes.org").read_text() == text


@needs_emacs
def test_a_request_that_fails_says_why_and_where_and_keeps_the_old_result(tmp_path: Path) -> None:
    text = "#+begin_src restclient\nGET http://x/{{nothing}}\n#+end_src\n\n#+RESULTS:\n: old\n"
    (tmp_path / "notes.org").write_text(text)
    answers = emacs(tmp_path, RUN_ALL)
    assert answers == ["notes.org:2:14: the variable nothing is not defined"]
    assert (tmp_path / "notes.org").read_text() == text


@needs_emacs
def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    answers = emacs(
        tmp_path,
        """(setq orgrest-command '("/nowhere/orgrest"))
        (with-temp-buffer
          (insert "GET http://127.0.0.1:1/") (orgrest-mode)
          (tell (orgrest-completion-at-point))
          (dolist (command '(orgrest-send orgrest-copy-as-curl))
            (condition-case problem (funcall command)
              (error (tell (error-message-string problem))))))""",
    )
    assert answers[0] is None
    for message in answers[1:]:
        assert "/nowhere/orgrest" in str(message)
        assert "orgrest-command" in str(message)
    assert len(answers) == 3


# ------------------------------------------------------- the line for Emacs, and standard input


@needs_emacs
@settings(max_examples=8)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))))
def test_emacs_reads_every_path_of_the_line_as_it_is(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    written = [editor_commands._lisp(text) for text in texts]
    assert [text for text in written if "\n" in text] == []
    forms = " ".join(f"(tell {text})" for text in written)
    assert emacs(tmp_path_factory.mktemp("read"), forms) == texts


def test_an_option_names_the_file_whose_text_is_on_standard_input(tmp_path: Path, api: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "body.txt").write_text("from a file")

    def run(*arguments: str, text: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "orgrest", *arguments]
        return subprocess.run(
            command, input=text, capture_output=True, text=True, check=False, cwd=tmp_path
        )

    text = f"GET {api}/nothing\n###\nPOST {api}/json\n\n< body.txt\n"
    done = run("-", "--stdin-name", "sub/a.http", "--line", "3", "--json", "--quiet", text=text)
    (line,) = map(json.loads, done.stdout.splitlines())
    assert (line["file"], line["status"], line["language"]) == ("sub/a.http", 200, "js")
    assert line["text"].startswith('{\n  "a"')
    assert "data" not in line
    picture = run("-", "--stdin-name", "a.http", "--json", "-q", text=f"GET {api}/image\n").stdout
    assert base64.b64decode(json.loads(picture)["data"]) == b"\x89PNG\xff\x00\r\n"
    block = f"#+begin_src restclient\nGET {api}/json\n#+end_src\n"
    (tmp_path / "notes.org").write_text(block)
    printed = run("--stdin-name", "notes.org", "--stdout", text=block).stdout
    assert (tmp_path / "notes.org").read_text() == block
    run("notes.org", text="")
    assert changing(printed) == changing((tmp_path / "notes.org").read_text())
    to_curl = ("export", "-", "--to", "curl", "--stdin-name", "sub/a.http", "--line", "3")
    assert "--data-raw" in run(*to_curl, text=text).stdout
    assert "is for standard input," in run("notes.org", "--stdin-name", "x.org", text="").stderr
    needs = run("-", "--stdin-name", "x.org", text=block)
    assert (needs.returncode, "requires --stdout" in needs.stderr) == (2, True)
    wrong = run("-", "--stdin-name", "a.http", text=f"GET {api}/{{{{b}}}}\n")
    assert wrong.stderr.startswith("orgrest: a.http:1:")


# ----------------------------------------------------------------------------------- request files

SAID = """
(defvar said nil)
(advice-add 'message :before (lambda (&rest all) (setq said (apply #'format all))))
"""
SHOWN = """
(defun shown ()
  (wait-for (lambda () (null orgrest--pending)))
  (wait-for (lambda () (get-buffer "*orgrest response*")))
  (with-current-buffer "*orgrest response*"
    (list (symbol-name major-mode) buffer-read-only
          (buffer-substring-no-properties (point-min) (point-max))
          (substring-no-properties header-line-format))))
"""


@needs_emacs
def test_a_request_buffer_is_sent_as_it_stands_and_the_answer_shown_beside_it(
    tmp_path: Path, api: str
) -> None:
    (tmp_path / "body.txt").write_text("from a file")
    (tmp_path / "a.http").write_text(f"GET {api}/text\n\n### second\nGET {api}/nothing\n")
    answers = emacs(
        tmp_path,
        f"""{SHOWN}(find-file "a.http")
        (goto-char (point-max)) (search-backward "nothing") (replace-match "html?q=%41")
        (orgrest-send) (tell (shown))
        (tell (list (buffer-name) (length (window-list)) (key-binding (kbd "C-c C-c"))
                    (with-current-buffer "*orgrest response*" (key-binding "q"))))
        (goto-char (point-min)) (orgrest-send) (tell (shown))
        (at "/text") (replace-match "/json") (orgrest-send) (tell (shown))
        (at "GET") (replace-match "POST") (goto-char (line-end-position)) (insert "\n\n< body.txt")
        (orgrest-send) (tell (car (shown)))""",
    )
    mode, read_only, text, head = answers[0]
    assert (mode, read_only) == ("html-mode", True)
    assert changing(text) == (
        f"<p>x</p>\n<!-- GET {api}/html?q=%41 -->\n<!-- HTTP/1.1 200 OK -->\n"
        "<!-- Content-Type: text/html -->\n<!-- Content-Length: 8 -->\n<!-- Request duration: \n"
    )
    assert re.fullmatch(rf"orgrest: GET {api}/html\?q=%%41 200 OK \d\.\d+ s", head)
    assert answers[1] == ["a.http", 2, "orgrest-send", "quit-window"]
    assert answers[2][0] == "fundamental-mode"
    assert answers[2][2].startswith("one line\n")
    assert answers[3][0] == "js-mode"
    assert answers[4] == "js-mode"


@needs_emacs
def test_an_image_can_be_seen_and_saved(tmp_path: Path, api: str) -> None:
    (tmp_path / "a.http").write_text(f"GET {api}/image\n\n###\nGET {api}/text\n")
    answers = emacs(
        tmp_path,
        f"""{SHOWN}
        (defun save () (with-current-buffer "*orgrest response*"
          (tell (key-binding "s"))
          (condition-case problem (call-interactively (key-binding "s"))
            (error (tell (error-message-string problem))))))
        (fset 'read-file-name (lambda (&rest _) "saved.png"))
        (fset 'y-or-n-p (lambda (question) (tell question) nil))
        (find-file "a.http") (orgrest-send) (tell (caddr (shown))) (save) (save)
        (goto-char (point-max)) (orgrest-send) (tell (caddr (shown))) (save)
        ;; on a terminal no image can be seen, but which one would be
        (fset 'display-images-p (lambda (&rest _) t))
        (fset 'create-image (lambda (data type raw) (list 'image :type 'png :data data)))
        (goto-char (point-min)) (orgrest-send) (shown)
        (with-current-buffer "*orgrest response*"
          (tell (append (plist-get (cdr (get-text-property 1 'display)) :data) nil)))""",
    )
    image = b"\x89PNG\xff\x00\r\n"
    assert answers[0].startswith(f"[8 bytes of image/png: s saves them]\n// GET {api}/image\n")
    assert (tmp_path / "saved.png").read_bytes() == image
    assert answers[1:3] == ["orgrest-save-body"] * 2
    assert "exists" in str(answers[3])
    assert answers[-3:-1] == [
        "orgrest-save-body",
        "The body is text; write the buffer to a file instead",
    ]
    assert answers[-1] == list(image)


@needs_emacs
def test_emacs_stays_usable_while_a_request_is_under_way_and_can_cancel_it(tmp_path: Path) -> None:
    def never(connection: socket.socket, _: bytes) -> None:
        (tmp_path / "seen").touch()
        connection.recv(1)  # until the client is gone

    with RawServer(never) as server:
        (tmp_path / "a.http").write_text(f"GET {server.url}/\n")
        answers = emacs(
            tmp_path,
            SAID
            + """(find-file "a.http")
            (orgrest-send)
            (insert "# typed meanwhile\n")
            (condition-case problem (orgrest-send) (error (tell (error-message-string problem))))
            (wait-for (lambda () (file-exists-p "seen")))
            (orgrest-cancel)
            (wait-for (lambda () (null orgrest--pending)))
            (tell (list said (and (get-buffer "*orgrest response*") t)))
            (condition-case problem (orgrest-cancel) (error (tell (error-message-string problem))))
            """,
        )
    assert answers[0] == "A request is under way: C-c C-k cancels it"
    assert answers[2] == "No request is under way"
    assert answers[1] == ["orgrest: cancelled", None]


@needs_emacs
def test_a_request_that_cannot_be_sent_is_explained_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "a.http").write_text(
        "GET http://127.0.0.1:1/\n\n###\nGET http://x/{{nothing}}\n###\n"
    )
    answers = emacs(
        tmp_path,
        SAID
        + """(find-file "a.http")
        (dolist (line '("127" "nothing"))
          (at line) (orgrest-send)
          (wait-for (lambda () (null orgrest--pending)))
          (tell said))
        (condition-case problem (orgrest-copy-as-curl)
          (error (tell (error-message-string problem))))""",
    )
    assert "refused" in answers[0]
    reason = "the variable nothing is not defined"
    assert answers[1:] == [f"orgrest: {reason}", reason]


@needs_emacs
def test_the_response_before_a_failure_is_not_taken_for_a_new_one(tmp_path: Path, api: str) -> None:
    (tmp_path / "a.http").write_text(f"GET {api}/text\n\n###\nGET http://127.0.0.1:1/%41\n")
    answers = emacs(
        tmp_path,
        f"""{SHOWN}(find-file "a.http")
        (orgrest-send) (shown)
        (goto-char (point-max)) (orgrest-send) (tell (shown))
        (goto-char (point-min)) (orgrest-send) (tell (shown))""",
    )
    (_, _, text, head), (*_, after) = answers
    assert text.startswith("one line\n")
    assert "refused" in head
    assert head.endswith("(below: the response before)")
    assert after.startswith(f"orgrest: GET {api}/text 200 OK 0.")


@needs_emacs
def test_a_request_is_copied_as_a_curl_command_that_sends_it(tmp_path: Path) -> None:
    with RawServer(response(b"x")) as server:
        (tmp_path / "a.http").write_text("")
        (command,) = emacs(
            tmp_path,
            f"""(find-file "a.http")
            (insert "GET {server.url}/other\n###\n:v = it's\n\nPUT {server.url}/\nA: :v\n\nbody")
            (call-interactively (key-binding (kbd "C-c C-u")))
            (tell (current-kill 0))""",
        )
        if shutil.which("curl"):
            subprocess.run(["bash", "-c", str(command)], check=True, capture_output=True)
            assert server.requests[0].startswith(b"PUT / HTTP/1.1\r\n")
            assert b"\r\nA: it's\r\n" in server.requests[0]
    assert "--data-raw" in str(command)


@needs_emacs
def test_in_org_a_block_is_copied_and_sending_points_to_the_key(tmp_path: Path) -> None:
    answers = emacs(
        tmp_path,
        """(find-file "notes.org")
        (insert "#+begin_src http :var p=\\"a\\"\nGET http://x/:p\n#+end_src\n") (at "GET")
        (orgrest-copy-as-curl) (tell (current-kill 0))
        (condition-case problem (orgrest-send) (error (tell (error-message-string problem))))""",
    )
    command = "curl \\\n  --location \\\n  --cookie '' \\\n  http://x/a"
    assert answers == [command, "In Org, C-c C-c evaluates a block"]


@needs_emacs
def test_a_block_being_edited_is_evaluated_with_the_variables_of_its_document(
    tmp_path: Path, api: str
) -> None:
    block = '#+begin_src restclient :var path=(concat "te" "xt")\nGET :host/:path\n#+end_src\n'
    text = f'#+PROPERTY: header-args:restclient :var host="{api}"\n{block}'
    (tmp_path / "notes.org").write_text(text)
    answers = emacs(
        tmp_path,
        """(find-file "notes.org") (at "GET") (org-edit-special)
        (tell (list (symbol-name major-mode) (key-binding (kbd "C-c C-c"))))
        (goto-char (point-max)) (insert "?added")
        (call-interactively (key-binding (kbd "C-c C-c")))
        (tell (list (buffer-name) (key-binding (kbd "C-c C-k"))))
        (with-current-buffer "notes.org" (wait-for (lambda () (null orgrest--pending))))
        (call-interactively (key-binding (kbd "C-c '")))
        (tell (list (buffer-name) (buffer-substring-no-properties (point-min) (point-max))))""",
    )
    assert answers[0] == ["orgrest-mode", "orgrest-send"]
    assert answers[1] == ["*Org Src notes.org[ restclient ]*", "org-edit-src-abort"]
    name, document = answers[2]
    assert name == "notes.org"
    assert re.search(r"\n *GET :host/:path\s+\?added\n#\+end_src\n\n#\+RESULTS:\n", str(document))
    assert f" GET {api}/text?added\n" in str(document)


@needs_emacs
def test_requests_are_found_listed_and_highlighted(tmp_path: Path) -> None:
    text = """# a comment: not a header
### first
:host = http://x
GET :host/a
    ?page=2
Accept: text/{{kind}}

POST {{host}}/b HTTP/1.1
Authorization: Bearer :token

{"Not-A: header": 1}
Neither: this
see https://example.org/ for more
delete all rows
"""
    (tmp_path / "a.http").write_text(text)
    places = ["# a", "first", "host =", "GET", ":host/a", "page", "Accept", "kind", "Bearer"]
    places += ["token", '"Not-A', "Neither", "see", "delete"]
    answers = emacs(
        tmp_path,
        """(find-file "a.http") (font-lock-ensure)
        (dolist (key '("C-c C-n" "C-c C-n" "C-c C-n" "C-c C-p" "C-c C-p"))
          (condition-case problem (call-interactively (key-binding (kbd key)))
            (error (tell (error-message-string problem))))
          (tell (line-number-at-pos)))
        (require 'imenu)
        (tell (mapcar (lambda (entry) (car entry)) (imenu--make-index-alist t)))
        (dolist (place '(PLACES))
          (at place) (tell (get-text-property (point) 'face)))
        """.replace("PLACES", " ".join(json.dumps(place) for place in places)),
    )
    assert answers[:6] == [4, 8, "No request below", 8, 4, "No request above"]
    assert answers[6] == 4
    assert answers[7][-2:] == ["GET :host/a", "POST {{host}}/b HTTP/1.1"]
    assert answers[8:] == [
        "font-lock-comment-face",
        "font-lock-doc-face",
        "font-lock-variable-name-face",
        "font-lock-keyword-face",
        "font-lock-function-name-face",
        "font-lock-type-face",
        "font-lock-type-face",
        "font-lock-constant-face",
        None,
        "font-lock-constant-face",
        None,
        None,
        None,
        None,
    ]


# -------------------------------------------------------------------------------------- completion

COMPLETE = r"""
(defvar calls 0)
(advice-add 'orgrest--items :before (lambda () (setq calls (1+ calls))))
(defun complete-here (mode before after)
  (with-temp-buffer
    (funcall mode)
    (insert before) (save-excursion (insert after))
    (completion-at-point)
    (list (buffer-substring-no-properties (point-min) (point))
          (buffer-substring-no-properties (point) (point-max)))))
"""
COMPLETED = [
    # mode, the text before point and after it; both after completion
    ("orgrest-mode", "GE", "\n", "GET ", "\n"),
    ("orgrest-mode", "GE", " http://x/", "GET ", "http://x/"),
    ("orgrest-mode", "GET http://x/\nauthor", "\n", "GET http://x/\nauthorization: ", "\n"),
    ("orgrest-mode", "GET http://x/\nAuthor", ": x", "GET http://x/\nAuthorization: ", "x"),
    ("orgrest-mode", "GET http://x/\nConte", "nt-Type: a", "GET http://x/\nContent-Type: ", "a"),
    ("orgrest-mode", "GET http://x/\nConte", "nt-T: a", "GET http://x/\nContent-T", ": a"),
    (
        "orgrest-mode",
        ":host = x\nGET http://x/{{h",
        "ost}}/",
        ":host = x\nGET http://x/{{host}}",
        "/",
    ),
    ("orgrest-mode", ":host = x\nGET http://:ho", "/a", ":host = x\nGET http://:host", "/a"),
    ("orgrest-mode", ":v := en", "\n", ":v := env(", "\n"),
    ("orgrest-mode", "# GE", "\n", "# GE", "\n"),
    ("org-mode", "#+begin_src rest\nPAT", "\n#+end_src", "#+begin_src rest\nPATCH ", "\n#+end_src"),
    ("org-mode", "#+begin_src restcl", "\n", "#+begin_src restclient", "\n"),
    ("org-mode", "#+begin_src http :nohea", "\n", "#+begin_src http :noheaders", "\n"),
]
NOT_ASKED = [
    "GE",
    "#+begin_src python\nGE",
    "#+begin_src restclient\nGET http://x/\n#+end_src\nGE",
    "#+begin_src restclient\n* heading\nGE",
    "#+begin_src python :nohea",
]


@needs_emacs
def test_emacs_completes_what_is_typed(tmp_path: Path) -> None:
    forms = " ".join(
        f"(tell (complete-here '{mode} {json.dumps(before)} {json.dumps(after)}))"
        for mode, before, after, _, _ in COMPLETED
    )
    answers = emacs(tmp_path, COMPLETE + forms)
    for found, (_, before, _, then, rest) in zip(answers, COMPLETED, strict=True):
        assert [text.rstrip(" ") for text in found] == [then.rstrip(" "), rest], before
        assert len(found[0]) >= len(then)


@needs_emacs
def test_typing_elsewhere_in_an_org_document_starts_nothing(tmp_path: Path) -> None:
    forms = " ".join(f'(complete-here \'org-mode {json.dumps(one)} "")' for one in NOT_ASKED)
    assert emacs(tmp_path, f"{COMPLETE}{forms} (tell calls)") == [0]


@needs_emacs
def test_one_process_completes_all_and_knows_each_change(tmp_path: Path) -> None:
    answers = emacs(
        tmp_path,
        COMPLETE
        + """
        (defun labels ()
          (pcase (orgrest-completion-at-point)
            (`(,start ,end ,table . ,_)
             (list (length orgrest--servers)
                   (process-id (jsonrpc--process (cdar orgrest--servers)))
                   (all-completions (buffer-substring start end) table)))))
        (find-file "a.http")
        (insert "# é😀\nGET http://x/\nacc") (tell (labels))
        (insert "ept-l") (tell (labels))
        (delete-char -8) (insert "u") (tell (labels))
        (tell (mapcar (lambda (key)
                        (funcall (plist-get (nthcdr 3 (orgrest-completion-at-point)) key)
                                 "user-agent"))
                      '(:annotation-function :company-kind :company-docsig)))
        (insert "ser-agent: x\n\n###\nPO") (tell (labels))
        (find-file "b.http") (insert "PO") (tell (labels))""",
    )
    first, second, third, described, fourth, other = answers
    assert "accept-language" in first[2]
    assert second[2] == ["accept-language"]
    assert "user-agent" in third[2]
    assert described[:2] == ["  header", "property"]
    assert described[2]
    assert fourth[2] == other[2] == ["POST"]
    assert {tuple(one[:2]) for one in (first, second, third, fourth, other)} == {(1, first[1])}


@needs_emacs
def test_a_narrowed_buffer_completes_as_the_whole_does(tmp_path: Path) -> None:
    answers = emacs(
        tmp_path,
        COMPLETE
        + """
        (with-temp-buffer
          (org-mode)
          (insert "#+begin_src restclient\n:host = x\nGET http://:ho\n#+end_src\n")
          (at "GET") (end-of-line) (narrow-to-region (line-beginning-position) (point))
          (completion-at-point)
          (tell (buffer-substring-no-properties (point-min) (point-max))))""",
    )
    assert answers == ["GET http://:host"]


@needs_emacs
def test_a_variable_renamed_above_is_offered_by_its_new_name(tmp_path: Path) -> None:
    answers = emacs(
        tmp_path,
        COMPLETE
        + """
        (defun labels ()
          (pcase (orgrest-completion-at-point)
            (`(,start ,end ,table . ,_)
             (all-completions (buffer-substring start end) table))))
        (find-file "a.http")
        (insert ":host_a = x\nGET http://:ho") (tell (labels))
        (save-excursion (at "host_a") (delete-char 6) (insert "host_b")) (tell (labels))""",
    )
    assert answers == [["host_a"], ["host_b"]]


@needs_emacs
def test_an_orgrest_that_fails_does_not_disturb_typing(tmp_path: Path) -> None:
    program = tmp_path / "broken"
    program.write_text("#!/bin/sh\necho nonsense\nexit 0\n")
    program.chmod(0o755)
    answers = emacs(
        tmp_path,
        f"""(setq orgrest-command '("{program}"))
        (with-temp-buffer (orgrest-mode) (insert "GE") (tell (orgrest-completion-at-point)))""",
    )
    assert answers == [None]


DOCS = Path(__file__).parents[3] / "docs"


def blocks(page: str, language: str) -> list[str]:
    """Return the code blocks of a documentation page."""
    text = (DOCS / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


# ------------------------------------------------------------------------------- VS Code and Helix


def test_the_task_for_vs_code_sends_the_request_and_its_pattern_finds_errors(
    tmp_path: Path, api: str
) -> None:
    settings, tasks, keys = (json.loads(block) for block in blocks("vscode.md", "json"))
    (task,) = tasks["tasks"]
    assert tasks["version"] == "2.0.0"
    assert [key["args"] for key in keys] == [task["label"]]
    path = tmp_path / "a file.http"
    path.write_text(f"GET {api}/text\n\n###\n\nGET {api}/{{{{none}}}}\n")

    def run(line: int) -> subprocess.CompletedProcess[str]:
        known = {"${file}": str(path), "${lineNumber}": str(line)}
        command = [sys.executable, "-m", "orgrest", *(known.get(a, a) for a in task["args"])]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert task["command"] == "orgrest"
    assert run(1).stdout.startswith("one line\n")
    pattern = task["problemMatcher"]["pattern"]
    found = re.search(pattern["regexp"], run(5).stderr, re.MULTILINE)
    assert found
    assert found[pattern["file"]] == str(path)
    assert (found[pattern["line"]], found[pattern["message"]]) == (
        "5",
        "the variable none is not defined",
    )
    path.write_text(
        f"GET {api}/text\n{{{{none}}\n\n###\nGET {api}/text\n?? status == 200\n?? body == a:1: b\n"
        f"\n###\nGET {api}/text\n> {{%\nclient.log('/tmp/x:7: not wrong')\n%}}\n"
    )
    output = run(5).stderr + run(10).stderr
    assert ["ok  status == 200" in output, "note: " in output] == [True, True]
    found = re.findall(pattern["regexp"], output, re.MULTILINE)
    assert [(one[1], one[3].partition(":")[0]) for one in found] == [("7", "FAILED  body == a")]
    package = Path(__file__).parents[3] / "editors" / "vscode" / "package.json"
    known = json.loads(package.read_text())["contributes"]["configuration"]["properties"]
    own = {name: about["default"] for name, about in known.items() if ".trace." not in name}
    assert settings == own


def test_the_settings_for_helix_are_toml_with_its_keys() -> None:
    languages, config = (tomllib.loads(block) for block in blocks("helix.md", "toml"))
    assert set(languages["language-server"]["orgrest"]) <= {"command", "args", "config", "timeout"}
    for language in languages["language"]:
        assert language["language-servers"] == list(languages["language-server"])
        assert set(language) <= {
            "name", "language-id", "scope", "injection-regex", "file-types", "roots", "auto-format",
            "comment-token", "comment-tokens", "block-comment-tokens", "indent", "language-servers",
            "grammar", "formatter", "text-width", "soft-wrap", "diagnostic-severity",
        }  # fmt: skip
    keys = config["keys"]["normal"]["space"]
    variables = {
        name
        for steps in keys.values()
        for step in steps
        for name in re.findall(r"%\{(.*?)\}", step)
    }
    assert variables == {"buffer_name", "cursor_line"}


# ------------------------------------------------------------------------ what a user does at first


@needs_emacs
def test_with_the_one_line_in_a_new_home_a_request_is_typed_sent_and_its_answer_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyte", reason="pyte is not installed: pip install pyte")
    monkeypatch.syspath_prepend(str(DOCS / "site"))
    screenshot = load(DOCS / "site" / "pictures.py")
    (tmp_path / "notes.org").write_text("")
    with demo_server.serve() as port:
        terminal = screenshot.emacs(tmp_path, screenshot.init_line(), "notes.org")
        with terminal:
            terminal.wait_for("notes.org")
            terminal.type("#+begin_src restclient\r#+end_src")
            terminal.type(f"{screenshot.OPEN}GE{screenshot.COMPLETE}")
            terminal.wait_for(r"\bGET\b")
            terminal.type(f"http://127.0.0.1:{port}/login\raccept-lang{screenshot.COMPLETE}")
            terminal.wait_for("accept-language:")
            terminal.type(f"en{screenshot.SEND}")
            terminal.wait_for(r"Evaluate this restclient code block on your system\?")
            terminal.type("yes\r")
            terminal.wait_for("Request duration")
            assert re.search(r"#\+RESULTS:\n#\+BEGIN_SRC text\ntour-token\nGET ", terminal.text)
            terminal.type("\x18\x13")
            terminal.wait_for("Wrote ")
    lines = [line.strip() for line in (tmp_path / "notes.org").read_text().splitlines()]
    assert lines[:6] == [
        "#+begin_src restclient",
        f"GET http://127.0.0.1:{port}/login",
        "accept-language: en",
        "#+end_src",
        "",
        "#+RESULTS:",
    ]


def load(path: Path) -> ModuleType:
    """Import a script from the documentation."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_picture_in_the_documentation_shows_nothing_of_a_machine() -> None:
    text = (DOCS / "emacs.svg").read_text()
    ElementTree.fromstring(text)
    assert "BEGIN_SRC" in text
    assert re.search(r"/(?:home|root|tmp|Users)\b", text) is None


# ------------------------------------------------------------------ with a language server; company


def library(name: str) -> list[str]:
    """Return the flags with which Emacs finds a library that Debian keeps in a separate folder."""
    folders = sorted(Path("/usr/share/emacs/site-lisp/elpa").glob("*/"))
    flags = [part for folder in folders for part in ("-L", str(folder))]
    form = f"(kill-emacs (if (locate-library {json.dumps(name)}) 0 1))"
    for found in ([], flags):
        command = ["emacs", "--batch", "-Q", *found, "--eval", form]
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            return found
    pytest.skip(f"Emacs has no {name}: apt install elpa-{name}")


EGLOT = """
(require 'eglot)
(setq eglot-autoshutdown nil eglot-sync-connect 10)
(defun start ()
  (let ((eglot-connect-timeout 20)) (apply #'eglot (eglot--guess-contact)))
  (wait-for #'eglot-current-server))
(defun run (command)
  (jsonrpc-request (eglot-current-server) :workspace/executeCommand
    (list :command command
          :arguments (vector (list :uri (concat "file://" buffer-file-name)
                                   :line (1- (line-number-at-pos)))))))
(add-hook 'kill-emacs-hook #'eglot-shutdown-all)
"""


@needs_emacs
def test_eglot_finds_the_server_of_both_modes_and_completes_checks_and_sends(
    tmp_path: Path, api: str
) -> None:
    (tmp_path / "a.http").write_text(f"GET {api}/text\n\n###\n\nGET {api}/{{{{none}}}}\n")
    block = f"#+begin_src restclient\nGET {api}/json\n#+end_src\n"
    (tmp_path / "notes.org").write_text(block)
    (setting,) = (block for block in blocks("emacs.md", "emacs-lisp") if "eglot" in block)
    answers = emacs(
        tmp_path,
        f"""{EGLOT}{setting}
        (find-file "a.http") (start)
        (wait-for (lambda () (flymake-diagnostics)))
        (tell (flymake-diagnostic-text (car (flymake-diagnostics))))
        (goto-char (line-end-position)) (insert "\\nContent-Ty")
        (let ((calls 0))
          (advice-add 'orgrest--items :before (lambda () (setq calls (1+ calls))))
          (completion-at-point)
          (tell (list calls (buffer-substring (line-beginning-position) (point)))))
        (tell (plist-get (run "orgrest.send") :text))
        (tell (run "orgrest.copyAsCurl"))
        (set-buffer-modified-p nil)
        (find-file "notes.org") (start) (forward-line)
        (run "orgrest.send")
        (wait-for (lambda () (save-excursion (search-forward "END_SRC" nil t))))
        (tell (buffer-substring-no-properties (point-min) (point-max)))""",
        *library("eglot"),
    )
    diagnostic, (calls, line), text, curl, document = answers
    assert "none" in str(diagnostic)
    assert (calls, str(line).lower().rstrip(": ")) == (0, "content-type")
    assert str(text).startswith("one line\n")
    assert str(curl).startswith("curl")
    assert f"{api}/text" in str(curl)
    command = [sys.executable, "-m", "orgrest", "notes.org"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert changing(str(document)) == changing((tmp_path / "notes.org").read_text())


@needs_emacs
def test_company_offers_what_orgrest_knows_with_its_description(tmp_path: Path) -> None:
    answers = emacs(
        tmp_path,
        """(require 'company)
        (setq company-backends '(company-capf))
        (switch-to-buffer "a") (orgrest-mode) (insert "GET http://x/\\nacc") (company-mode)
        (company-manual-begin)
        (tell (mapcar #'substring-no-properties company-candidates))
        (tell (company-call-backend 'annotation (car company-candidates)))
        (let ((buffer (company-call-backend 'doc-buffer (car company-candidates))))
          (tell (with-current-buffer (if (consp buffer) (car buffer) buffer) (buffer-string))))
        (company-complete-selection)
        (tell (buffer-substring-no-properties (line-beginning-position) (point)))""",
        *library("company"),
    )
    candidates, annotation, documentation, line = answers
    assert "accept" in candidates
    assert "accept-language" in candidates
    assert "header" in str(annotation)
    assert "RFC" in str(documentation)
    assert line == f"{candidates[0]}: "
