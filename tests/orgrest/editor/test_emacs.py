"""The real Org in Emacs finds the same blocks and results in orgrest's output.

Emacs runs without any configuration and without a network. Where Babel itself places results,
ob-restclient is replaced by a function that returns a fixed text.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
from typing import TYPE_CHECKING

import pytest
from components import needs
from evaluated import Evaluated
from servers import RawServer, response

from orgrest import classes
from orgrest.http.values import Inputs
from orgrest.org.arguments import of_block
from orgrest.org.document import OrgDocument
from orgrest.org.placing import closes, place
from orgrest.org.results import result_of
from orgrest.org.text import escape
from orgrest.rendering.pretty import xml_text
from orgrest.run.documents.org_file import OrgFile
from orgrest.run.outcomes import Exchange
from orgrest.run.plan import StepId
from orgrest.run.run import Run
from orgrest.run.settings import Settings
from orgrest.run.stages import send

if TYPE_CHECKING:
    from pathlib import Path

    from orgrest.model import Request, Response
    from orgrest.run.job import Job

pytestmark = needs("emacs")

RESULT = '#+BEGIN_SRC js\n{\n  "a": 1\n}\n#+END_SRC\n'

LOOK = r"""
(require 'org) (require 'ob) (require 'json)
(setq org-inhibit-startup t make-backup-files nil)
(defun look ()
  (let (blocks results headings)
    (org-element-map (org-element-parse-buffer) '(src-block headline)
      (lambda (e)
        (if (eq (org-element-type e) 'headline)
            (push (org-element-property :raw-value e) headings)
          (push (vector (line-number-at-pos (org-element-property :post-affiliated e))
                        (org-element-property :language e)
                        (if (plist-member (cadr e) :results) t :json-false)
                        (org-element-property :value e))
                blocks)
          (when (equal (org-element-property :language e) "restclient")
            (save-excursion
              (goto-char (org-element-property :post-affiliated e))
              (let ((at (org-babel-where-is-src-block-result)))
                (push (if at (line-number-at-pos at) nil) results))))))
      nil nil nil t)
    (list (cons 'blocks (vconcat (nreverse blocks)))
          (cons 'results (vconcat (nreverse results)))
          (cons 'headings (vconcat (nreverse headings))))))
(dolist (file command-line-args-left)
  (with-temp-buffer
    (let ((coding-system-for-read 'utf-8-unix)) (insert-file-contents file))
    (org-mode)
    (princ (encode-coding-string (json-encode (look)) 'utf-8)) (princ "\n")))
"""

PLACE = r"""
(require 'org) (require 'ob)
(setq org-confirm-babel-evaluate nil make-backup-files nil org-inhibit-startup t
      auto-mode-alist '(("" . org-mode)))
(defvar org-babel-default-header-args:restclient '((:results . "raw")))
(defun org-babel-execute:restclient (body params) TEXT)
(defun org-babel-variable-assignments:restclient (params)
  (mapcar (lambda (v) (format ":%s = %s" (car v) (cdr v))) (org-babel--get-vars params)))
(dolist (file command-line-args-left)
  (with-current-buffer (find-file-noselect file)
    (org-babel-map-executables nil
      (cond ((eq (org-element-type (org-element-context)) 'babel-call)
             (org-babel-lob-execute-maybe))
            ((equal (car (org-babel-get-src-block-info 'light)) "restclient")
             (org-babel-execute-src-block))))
    (save-buffer)))
"""

HASH = r"""
(require 'org) (require 'ob)
(defvar org-babel-default-header-args:restclient '((:results . "raw")))
(defun org-babel-variable-assignments:restclient (params)
  (mapcar (lambda (v) (format ":%s = %s" (car v) (cdr v))) (org-babel--get-vars params)))
(find-file (car command-line-args-left))
(org-mode)
(org-babel-map-src-blocks nil
  (princ (org-babel-sha1-hash (org-babel-get-src-block-info))) (princ "\n"))
"""


def emacs(folder: Path, script: str, *files: Path) -> str:
    path = folder / "script.el"
    path.write_text(script)
    command = ["emacs", "--batch", "-Q", "-l", str(path), *map(str, files)]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@classes.frozen
class Seen:
    """What Org finds in a document."""

    blocks: list[tuple[int, str, bool, str]]
    results: list[int | None]
    headings: list[str]

    @property
    def own(self) -> list[tuple[str, str]]:
        """Return the blocks that are not results."""
        return [(language, value) for _, language, result, value in self.blocks if not result]


def look(folder: Path, *texts: str) -> list[Seen]:
    files = []
    for number, text in enumerate(texts):
        files.append(folder / f"{number}.org")
        files[-1].write_bytes(text.encode())
    found = []
    for line in emacs(folder, LOOK, *files).splitlines():
        seen = json.loads(line)
        blocks = [tuple(block) for block in seen["blocks"]]
        found.append(Seen(blocks, list(seen["results"]), list(seen["headings"])))
    assert len(found) == len(texts)
    return found


BLOCK = "#+begin_src restclient{}\nGET http://127.0.0.1:1/\n#+end_src\n"
WORDS = ["", "", "", " :results silent", " :results append", " :results prepend", " :wrap foo"]
WORDS += [" :results drawer", " :results org", " :results pp", " :cache yes"]
OLD = [
    ": OLD\n",
    "#+begin_example\nOLD\n#+end_example\n",
    "#+BEGIN_SRC js\nOLD\n#+END_SRC\n",
    ":results:\nOLD\n:end:\n",
    "| a | b |\n",
    "| a |\n#+TBLFM: $1=2\n",
    "- a\n- b\n  - c\n\n  d\n",
    "a paragraph\nof two lines\n",
    "#+begin_quote\nq\n#+end_quote\n",
    "[[file:x.png]]\n",
    "[[file:x.png]] text\n",
    "\\begin{a}\nx\n\\end{a}\n",
    "\n: behind a blank line\n",
    "#+begin_foo\nz\n#+end_foo\n",
    "",
    "#+CAPTION: c\n: OLD\n",
    "-----\n",
    "# comment\n",
    "#+begin_verse\nz\n#+end_verse\n",
    "* heading\n",
]
OTHER = ["text\n", "\n", "* H\n", "** H\n", "- i\n", ": f\n", "| t |\n", "#+begin_src restclient\n"]
OTHER += ["#+begin_example\n" + BLOCK.format("") + "#+end_example\n", "#+begin_quote\n", ":d:\n"]
CONTAINERS = [
    ("#+begin_quote\n", "#+end_quote\n"),
    (":D:\n", ":END:\n"),
    ("#+BEGIN: d\n", "#+END:\n"),
]


class Writer:
    """Writes documents with anything that may surround a block. A seed determines the documents."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def document(self) -> str:
        return "".join(self.piece(0) for _ in range(self.random.randint(1, 4))).rstrip("\n") + "\n"

    def piece(self, depth: int) -> str:
        pick = self.random
        kind = pick.random()
        if kind < 0.5 or depth > 2:
            return self.block()
        if kind < 0.6:
            return pick.choice(OTHER)
        body = "".join(self.piece(depth + 1) for _ in range(pick.randint(1, 2)))
        if kind < 0.8:
            inner = self.indented(body, pick.choice(["  ", "   ", "    "]))
            return (
                pick.choice(["- i\n", "  - i\n", "1. i\n", " * i\n"])
                + inner
                + pick.choice(["", "\n"])
            )
        if kind < 0.9:
            opening, closing = pick.choice(CONTAINERS)
            return opening + body + closing
        return self.indented(body, pick.choice(["  ", "\t", "        "]))

    def indented(self, text: str, by: str) -> str:
        return "".join(by + line if line.strip() else line for line in text.splitlines(True))

    def block(self) -> str:
        pick = self.random
        name = pick.choice([None, None, None, "a", "b"])
        text = f"#+NAME: {name}\n" if name else ""
        if pick.random() < 0.1:
            text += "#+HEADER: :results drawer\n"
        text += BLOCK.format(pick.choice(WORDS)) + pick.choice(["", "\n", "\n", "\n\n", "\n\n\n"])
        if pick.random() < 0.6:
            keyword = pick.choice(["#+RESULTS:", "#+results:", "#+RESULTS[0123abcd]:"])
            whose = pick.choice([name, name, None, "zz"])
            text += pick.choice(["", "", "#+CAPTION: x\n", "# c\n"]) + keyword
            text += (f" {whose}" if whose else "") + "\n" + pick.choice(OLD)
        if pick.random() < 0.5:
            text += pick.choice(["\n", "text\n", "\n\ntext\n"])
        return text


def place_all(
    text: str, folder: Path, monkeypatch: pytest.MonkeyPatch, result: str = RESULT
) -> str:
    """Evaluate `text` with orgrest, with `result` as every response."""

    class Fixed:
        body, head, language, data, extension, notes = result, (), "js", None, "", ()
        value = text = result

        def block(self) -> str:
            return result

        def uncut(self) -> str:
            return result

    monkeypatch.setattr("orgrest.rendering.results.render", lambda *_, **__: Fixed())

    def answered(job: Job, request: Request) -> Exchange:
        job.attempts.append(Exchange(request, response_of_nothing()))
        return job.attempts[-1]

    monkeypatch.setattr(send, "_once", answered)
    inputs = Inputs(directory=folder)
    evaluation = Run(
        text,
        file="x.org",
        settings=Settings(inputs),
    )
    reasons = [outcome.reason for outcome in evaluation.outcomes() if outcome.reason]
    assert [str(reason) for reason in reasons if reason.code != "no-request"] == []
    return evaluation.document.text


def response_of_nothing() -> Response:
    from orgrest.model import Response

    return Response(200, "OK", "HTTP/1.1", (), b"", 0.1, "http://127.0.0.1:1/")


def differs_on_purpose(text: str) -> bool:
    """Return whether orgrest deliberately places results in `text` differently from Emacs.

    Emacs deletes a block that directly follows a results keyword, or that is in a list directly
    below one. It inserts results that close an unclosed element. If blocks have the same name, it
    gives them one result, because it rereads parts of the document from a stale cache. If a block
    is cached, it deletes text below a results keyword without a hash.
    """
    document = OrgDocument(text)
    names = [block.name for block in document.blocks if block.name]
    results = [result_of(document, block) for block in document.blocks]
    return (
        len(set(names)) < len(names)
        or any(
            result.start <= block.start < result.end
            for result in results
            for block in document.blocks
            if result is not None and block.language == "restclient"
        )
        or any(
            result.hash is None and not result.kind and ":cache yes" in block.arguments
            for block, result in zip(document.blocks, results, strict=True)
            if result is not None
        )
        or any(
            closes(document, place(document, block, RESULT + ":end:\n"), block)
            for block in document.blocks
        )
    )


def test_org_finds_the_same_blocks(tmp_path: Path) -> None:
    texts = [Writer(seed).document() for seed in range(60)]
    for text, seen in zip(texts, look(tmp_path, *texts), strict=True):
        ours = [(block.line + 1, block.language) for block in OrgDocument(text).blocks]
        assert ours == [(line, language or "") for line, language, _, _ in seen.blocks], text


def test_org_finds_results_where_orgrest_does(tmp_path: Path) -> None:
    texts = [Writer(seed).document() for seed in range(60)]
    for text, seen in zip(texts, look(tmp_path, *texts), strict=True):
        document = OrgDocument(text)
        ours = [block for block in document.blocks if block.language == "restclient"]
        for block, theirs in zip(ours, seen.results, strict=True):
            found = result_of(document, block)
            if not block.name or len(document.namesakes(block.name)) == 1:
                assert (found and found.keyword + 1) == theirs, text


def test_babel_places_results_as_orgrest_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [text for seed in range(60) if not differs_on_purpose(text := Writer(seed).document())]
    assert len(texts) > 30
    files = [tmp_path / f"{number}" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text)
    emacs(tmp_path, PLACE.replace("TEXT", json.dumps(RESULT)), *files)
    for file, text in zip(files, texts, strict=True):
        assert place_all(text, tmp_path, monkeypatch) == file.read_text(), text


SOURCES = [" example", " src", " src json", " src text"]


@pytest.mark.parametrize(
    ("result", "kinds"),
    [
        ("a, b \\\\, c", ["pp", "org", *(f"pp :wrap{source}" for source in SOURCES)]),
        ("a, b, c", ["drawer", "pp :wrap", "pp :wrap foo bar"]),
    ],
)
def test_babel_writes_inline_results_as_orgrest_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, result: str, kinds: list[str]
) -> None:
    # (With ob-restclient's own raw, Emacs piles the results up and escapes nothing.)
    given = (f":results value {kind}" for kind in kinds)
    text = "".join(f"- see src_restclient[{words}]{{GET http://h/}}, then\n" for words in given)
    file = tmp_path / "inline"
    file.write_text(text)
    emacs(tmp_path, PLACE.replace("TEXT", json.dumps(result)), file)
    ours = place_all(text, tmp_path, monkeypatch, result)
    assert ours == file.read_text()
    assert place_all(ours, tmp_path, monkeypatch, result) == ours


HOSTILE = [
    b"* heading\n** TODO another\n",
    b"#+end_src\n* h\n",
    b"#+END_SRC\n#+begin_src emacs-lisp\n(kill-emacs)\n#+end_src\n",
    b"#+RESULTS:\n: x\n",
    b":end:\n* h\n:PROPERTIES:\n",
    b"#+end_example\n* h\n",
    b",* a\n,,#+b\n",
    b"- a\n\n\n* h\n",
    b"| a |\n#+TBLFM: $1='(kill-emacs)\n",
    b"#+begin_src restclient\nGET http://127.0.0.1:1/\n#+end_src\n",
    b"\r* h\r\n\x0c* h\n\x85* h\n\xe2\x80\xa8* h\n",
    b"[fn:1] x\n\n* h\n",
    b"\\begin{a}\n\n* h\n",
    b'{"a": "* h\\n#+end_src\\n* i"}',
    b"<a>\n* h\n<b/>\n</a>",
    b"",
]
KINDS = ["text/plain", "application/json", "text/html", "application/xml"]
LINES = ["", ":noheaders", ":results value", ":results value drawer", ":results value list"]
LINES += [":results table", ":results value pp", ":results value org", ":results code"]
LINES += [":results value html", ":wrap quote", ":results value :wrap src text", ":results drawer"]


def test_no_response_changes_what_org_sees_outside_its_result(tmp_path: Path) -> None:
    wanted: list[tuple[bytes, str]] = []

    def answer(connection, _: bytes) -> None:
        body, kind = wanted[-1]
        head = [f"Content-Type: {kind}", b"X-A: * h", b"X-B: #+end_src\x0b* h"]
        connection.sendall(response(body, *head, status=b"200 * h"))

    before: list[str] = []
    after: list[str] = []
    with RawServer(answer) as server:
        block = "#+begin_src restclient {}\nGET " + server.url + "/\n#+end_src\n"
        for number, body in enumerate(HOSTILE):
            for line in LINES[number % 3 :: 3]:
                wanted.append((body, KINDS[number % len(KINDS)]))
                # (A result that would close an open element is refused.)
                drawers = "drawer" in line or b":end:" in body
                opening, closing = CONTAINERS[2] if drawers else CONTAINERS[1]
                text = (
                    f"* One\n#+NAME: n\n{block.format(line)}\ntext\n** Two\n- item\n"
                    + "".join(f"  {row}\n" for row in block.format(line).splitlines())
                    + f"- next\n* Three\n{opening}{block.format(line)}{closing}end\n"
                )
                inputs = Inputs(directory=tmp_path)
                before.append(text)
                after.append(Evaluated(text, inputs, file="x.org").text)
    seen = look(tmp_path, *before, *after)
    for old, new, text in zip(seen[: len(before)], seen[len(before) :], after, strict=True):
        assert new.headings == old.headings == ["One", "Two", "Three"], text
        ours = [value for language, value in new.own if language == "restclient"]
        assert ours == [value for _, value in old.own], text
        assert None not in new.results[: len(old.results)], text


# What restclient does to an XML response, on each line of a file.
INDENT = r"""
(require 'nxml-mode)
(dolist (line (with-temp-buffer
                (insert-file-contents (car command-line-args-left))
                (split-string (buffer-string) "\n" t)))
  (with-temp-buffer
    (insert line)
    (nxml-mode)
    (setq indent-tabs-mode nil)
    (goto-char (point-min))
    (while (search-forward-regexp ">[ \\t]*<" nil t) (backward-char) (insert "\n"))
    (indent-region (point-min) (point-max))
    (princ (concat (buffer-string) "\0"))))
"""


def test_xml_stands_as_restclient_and_nxml_mode_lay_it_out(tmp_path: Path) -> None:
    chance = random.Random(7)

    def element(depth: int) -> str:
        name = chance.choice("abc")
        if depth == 6 or chance.random() < 0.2:
            return chance.choice([f"<{name}/>", f"<{name}></{name}>"])
        texts = ["t", "x", "foo bar", " y", "1 ", "<!-- c -->"]
        inner = [
            element(depth + 1) if chance.random() < 0.7 else chance.choice(texts)
            for _ in range(chance.randrange(5))
        ]
        return f"<{name}>{''.join(inner)}</{name}>"

    documents = [f"<r><s/>{element(0)}{element(0)}</r>" for _ in range(100)]
    (tmp_path / "in.xml").write_text("\n".join(documents))
    (tmp_path / "indent.el").write_text(INDENT)
    done = subprocess.run(
        ["emacs", "-Q", "--batch", "-l", tmp_path / "indent.el", tmp_path / "in.xml"],
        env={**os.environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = done.stdout.split("\0")[:-1]
    for document, laid_out in zip(documents, theirs, strict=True):
        assert xml_text(document) == re.sub(" +$", "", laid_out, flags=re.MULTILINE)


def test_a_cached_block_has_the_hash_that_org_gives_it(tmp_path: Path) -> None:
    lines = [
        ":cache yes",
        ":cache yes :results value drawer :noheaders",
        ':cache yes :var b="x y" :var a=1 c=2.50 :jq .a',
        ':cache yes :results append list value :prologue "# x" :epilogue "y" :wrap src json',
        ':cache yes :file "a b.json" :file-desc :timeout 5 :var q="é\\"\\\\"',
        ":cache yes :eval yes :exports both :headers only :results silent html",
        ":cache yes :var a=id b=rows[0,0] c=rows[,1] d=rows",
        ':cache yes :var e=\'("1" 02 (nil "x")) f=\'() g=1e15',
        ':cache yes :var first="again" own=1',
    ]
    data = (
        '#+PROPERTY: header-args:restclient :var first="1" second="2"\n\n#+NAME: id\n: 042\n\n'
        '#+NAME: rows\n| 01234 | 2.50 |\n| 1e3 | "007" |\n| 1-2 | a b |\n\n'
    )
    text = data + "".join(
        f"#+begin_src restclient {line}\n  GET http://x/\n\n  ,* body\n#+end_src\n\n"
        for line in lines
    )
    path = tmp_path / "hash.org"
    path.write_text(text)
    theirs = emacs(tmp_path, HASH, path).split()
    settings = Settings(inputs=Inputs(directory=tmp_path))
    org_file = Run(text, file="hash.org", settings=settings).document
    assert isinstance(org_file, OrgFile)
    for block, theirs_now in zip(org_file.edited.document.blocks, theirs, strict=True):
        arguments = of_block(org_file.edited.document, block)
        task = org_file.task(block, StepId("hash.org", block.start), arguments)
        assert task.digest == theirs_now, block.arguments


def test_org_reads_escaped_text_as_it_was(tmp_path: Path) -> None:
    bodies = ["* a\n,* b\n#+c\n ,#+d\n", ",,* a\n", "plain\n"]
    texts = [f"#+begin_src text\n{escape(body)}#+end_src\n" for body in bodies]
    for body, text, seen in zip(bodies, texts, look(tmp_path, *texts), strict=True):
        document = OrgDocument(text)
        assert seen.blocks[0][3] == body == document.body(document.blocks[0]).text + "\n"
