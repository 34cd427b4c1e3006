"""How Org parses results: a response is never anything but plain text, verbatim text or code.

The references are the real `org-element` and Org's export to HTML. One Emacs, without any
configuration, reads all documents of a test.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from orgrest.org import data
from orgrest.org.arguments import of_block
from orgrest.org.document import OrgDocument
from orgrest.org.placing import place, place_inline
from orgrest.org.results import element_named
from orgrest.org.text import escape
from orgrest.rendering import layout
from orgrest.rendering.sanitize import is_plain, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    shutil.which("emacs") is None, reason="Emacs is not installed: apt install emacs-nox"
)

JUDGE = r"""
(require 'org) (require 'ox-html) (require 'json) (require 'cl-lib)
(setq org-inhibit-startup t make-backup-files nil org-list-allow-alphabetical t
      org-export-use-babel nil org-export-with-broken-links t)
(defun judge (text)
  (with-temp-buffer
    (insert text)
    (delay-mode-hooks (org-mode))
    (org-macro-initialize-templates)
    (org-macro-replace-all (append org-macro-templates '(("results" . "$1"))))
    (let (found)
      (org-element-map (org-element-parse-buffer)
                       (append '(plain-text) org-element-all-elements org-element-all-objects)
        (lambda (e)
          (let ((type (org-element-type e)))
            (push (if (eq type 'entity)
                      (concat "entity " (org-element-property :name e))
                    (symbol-name type))
                  found))))
      (vector (vconcat (delete-dups found))
              (if (string-match-p "<script>" text)
                  (condition-case e (org-export-as 'html nil nil t '(:with-toc nil))
                    (error (format "ERROR %S" e)))
                "")))))
(let* ((cases (with-temp-buffer (insert-file-contents "cases.json") (json-parse-buffer))))
  (with-temp-file "found.json"
    (let ((coding-system-for-write 'utf-8))
      (set-buffer-file-coding-system 'utf-8)
      (insert (json-encode (mapcar #'judge (append cases nil)))))))
"""

INERT = {
    *("org-data", "headline", "section", "paragraph", "plain-text", "keyword"),
    *("src-block", "example-block", "fixed-width", "comment-block", "verbatim", "code"),
    *("table", "table-row", "table-cell", "plain-list", "item", "entity vert"),
    *("drawer", "special-block", "quote-block", "center-block", "verse-block"),
}
"""The types that Org may find in a result: text, verbatim text, code, and their containers."""

MARKUP = [
    *("@@html:<script>alert(1)</script>@@", "@@latex:\\x@@", "[[elisp:(delete-file \"x\")]]"),
    *("[[shell:ls]]", "<elisp:(x)>", "<shell:ls>", "[[file:/etc/passwd]]", "\\(\\input{/etc/x}\\)"),
    *("$x$", "$$x$$", "\\[x\\]", "\\alpha", "\\vert{}", "\\\\", "<2024-01-01 Mon>", "[2024-01-01]"),
    *("<2024-01-01>--<2024-01-02>", "SCHEDULED: <2024-01-01>", "CLOCK: [2024-01-01 Mon 10:00]"),
    *("CLOCK: => 1:00", "<<<radio>>>", "<<target>>", "[cite:@x]", "[cite/t:see @x]", "[fn:1]"),
    *("[fn:: inline]", "[fn:1] x", "call_f(1)", "src_sh{ls}", "src_sh[:x]{ls}", "{{{m(x)}}}"),
    *("*bold*", "/it/", "_under_", "+gone+", "=v=", "~c~", "a_b", "a^2", "a_{b}", "x_*", "[1/2]"),
    *("[50%]", "[%]", "https://x/", "mailto:a@b", "file:x", "doi:1", "id:x", "help:x", "a:b", "[["),
    *("]]", "* h", "** TODO x", "#+begin_src sh\nls\n#+end_src", "#+CALL: f()", "#+NAME: x"),
    *("#+INCLUDE: \"/etc/passwd\"", "# comment", "#", "#tag", "- a", "+ a", " * a", "1. a", "1) a"),
    *("a. x", "- [ ] x", "- t :: d", "[@5] x", "[ ] x", "t :: d", "| a | b |", "|--|"),
    *("+--+\n| a |", ": fixed", ":d:", ":END:", ":results:", "-----", "%%(l)"),
    *("<%%(x)>", "\\begin{a}", "\\end{a}", "DEADLINE: <2024-01-01>", "CLOSED: x", "%%"),
    *("=', '~", "=1+1", ":=1", "='(shell-command \"ls\")", "<10>", "<r>", "/", "!", "$", "^", "_"),
    *("<script>alert(1)</script>", "<p class=\"a\">x</p>", "<a:b>", "&lt;", "\\n", "\\u00e9"),
    *("Local Variables:", "\u00a0", "\u2003*b*\u2003", "日本http://x", "é*b*é", "x[0]", "[1, 2]"),
    *('{"a": 1, "b": [true, null]}', '"t": "10:20:30"', "2024-01-01T10:20:30Z", "a=1&b=2", "5 * 3"),
]  # fmt: skip
PLAIN = ["", "x", "a b", "word", '"', "(", ")", "'", "{", "}", "1", "-1", ",", ".", ":", "=", "~"]

RESULTS = [
    *("value", "value raw", "value drawer", "value list", "table", "value html", "value latex"),
    *("value org", "value code", "value pp", "html", "latex", "list", "drawer", "raw", ""),
    *("value list drawer", "table drawer", "value list raw", "verbatim value"),
]
WRAPS = [*("quote", "center", "verse", "foo", "comment", "example", "src sh", "export html")]
WRAPS += ["", "export"]
LINES = [f":results {words}" for words in RESULTS]
LINES += [f":results {words} :wrap {wrap}" for words in ("value", "table", "") for wrap in WRAPS]

MARK = "<script>alert(1)</script>"


def judged(documents: list[str], folder: Path) -> Iterator[tuple[set[str], str]]:
    """Return what Org finds in each document, and the HTML that it exports."""
    (folder / "cases.json").write_text(json.dumps(documents), "utf-8")
    (folder / "judge.el").write_text(JUDGE)
    subprocess.run(
        ["emacs", "-Q", "--batch", "-l", "judge.el"],
        cwd=folder,
        check=True,
        capture_output=True,
        env={**os.environ, "HOME": str(folder), "LC_ALL": "C.UTF-8"},
        timeout=300,
    )
    for found, html in json.loads((folder / "found.json").read_text("utf-8")):
        yield set(found), html


def bodies(number: int, chance: random.Random) -> list[str]:
    """Return each piece of markup by itself, and `number` random combinations of several pieces."""
    found = [*MARKUP, *(f"x {one} y" for one in MARKUP), *(f'"{one}"' for one in MARKUP)]
    for _ in range(number):
        pieces = chance.choices([*MARKUP, *PLAIN], k=chance.randrange(1, 6))
        joints = chance.choices(["", " ", "\n", "\n\n", ",", "\t", "|", "=", "~"], k=len(pieces))
        found.append("".join(a + b for a, b in zip(pieces, joints, strict=True)))
    return [visible(one).strip("\n") + "\n" for one in found if one.strip()]


def written(line: str, body: str) -> str:
    """Return a document with a result, as orgrest writes it."""
    text = f"* H\n#+begin_src restclient {line}\nGET x\n#+end_src\n* after\n"
    document = OrgDocument(text)
    arguments = of_block(document, document.blocks[0])
    block = f"#+BEGIN_SRC text\n{escape(body)}#+END_SRC\n"
    shown = layout.show(arguments, [body], [block], "restclient")
    edit = place(document, document.blocks[0], shown.text, prose=shown.prose)
    return text[: edit.start] + edit.text + text[edit.end :]


def test_org_finds_markup_in_what_is_not_protected(tmp_path: Path) -> None:
    texts = ["@@html:<script>alert(1)</script>@@", "[[shell:ls]]", "<2024-01-01>", "a_b", "- [ ] x"]
    texts += ["| a |\n#+TBLFM: $1=1", "CLOCK: => 1:00", "{{{results(*b*)}}}", "\\(x\\)"]
    found = list(judged([f"* H\n{text}\n* after\n" for text in texts], tmp_path))
    assert MARK in found[0][1]
    assert [sorted(kinds - INERT)[:1] for kinds, _ in found] == [
        *(["export-snippet"], ["link"], ["timestamp"], ["subscript"], []),
        *([], ["clock"], ["bold"], ["latex-fragment"]),
    ]


def test_org_finds_only_text_verbatim_and_code_in_a_result(tmp_path: Path, long_mode: bool) -> None:
    chance = random.Random(21)
    given = [
        (line, body)
        for number, body in enumerate(bodies(4000 if long_mode else 200, chance))
        for line in (LINES if long_mode else [LINES[number % len(LINES)], *chance.sample(LINES, 2)])
    ]
    # the frame that ob-restclient's list has as items is no response's
    documents = [re.sub(r"(?m)^- #\+(BEGIN|END)_SRC", "- ", written(*one)) for one in given]
    live = []
    for one, document, (found, html) in zip(
        given, documents, judged(documents, tmp_path), strict=True
    ):
        kinds = found - INERT
        if kinds or MARK in html or html.startswith("ERROR"):
            live.append((one, sorted(kinds), document, html if not kinds else ""))
    assert not live, f"{len(live)} of {len(given)}: {live[:8]}"


def test_org_reads_a_plain_text_as_paragraphs_without_markup(
    tmp_path: Path, long_mode: bool
) -> None:
    chance = random.Random(22)
    alphabet = [
        *"ab1 \n\t*/_=~+-^$\\[](){}<>|#:;.,!?'\"@%&é日\u00a0\u2003",
        "\\b",
        "http",
        "2024-01",
    ]
    texts = ["".join(chance.choices(alphabet, k=chance.randrange(1, 9))) for _ in range(60000)]
    texts = [text for text in texts if is_plain(text)][: 20000 if long_mode else 3000]
    assert len(texts) >= 3000
    documents = [f"* H\n{text}\n* after\n" for text in texts]
    allowed = {"org-data", "headline", "section", "paragraph", "plain-text"}
    for text, (found, _) in zip(texts, judged(documents, tmp_path), strict=True):
        assert found <= allowed, (text, found - allowed)


def test_an_inline_result_is_nothing_but_text_verbatim_or_code(tmp_path: Path) -> None:
    words = ["value", "value raw", "value html", "value latex", "value code", "value org", "raw"]
    lines = [f":results {word}" for word in words]
    lines += [f":results value :wrap {one}" for one in ("export html", "src js", "example", "foo")]
    given: list[tuple[str, str]] = []
    documents = []
    chance = random.Random(23)
    for body in bodies(100, chance):
        for line in chance.sample(lines, 3):
            text = f"* H\nsee src_restclient[{line}]{{GET x}} there\n* after\n"
            document = OrgDocument(text)
            (block,) = document.evaluated
            arguments = of_block(document, block)
            shown = layout.inline(arguments, body.rstrip("\n"), "restclient")
            if shown is not None:
                edit = place_inline(document, block, shown)
                given.append((line, body))
                documents.append(text[: edit.start] + edit.text + text[edit.end :])
    assert len(given) > 300
    for one, document, (found, html) in zip(
        given, documents, judged(documents, tmp_path), strict=True
    ):
        kinds = found - INERT - {"inline-src-block"}
        assert not kinds, (one, kinds, document)
        assert MARK not in html, (one, document, html)


def test_what_looks_like_text_to_everybody_is_left_as_it_is() -> None:
    kept = [
        '{\n  "name": "Ann",\n  "age": 42,\n  "tags": [\n    "a"\n  ],\n  "on": true\n}\n',
        "one\ntwo\n",
        "<p>Hello, world!</p>\n",
        "It is 10:20, and 5 * 3 = 15.\n",
        "[1, 2, 3]\n",
        '"2024-01-01T10:20:30Z"\n',
        "name,age\nAnn,42\n",
    ]
    for text in kept:
        assert is_plain(text), text


@pytest.mark.parametrize("text", [MARK, "a_b", "https://x/?a=1", "~", "=1+1", "x|y_z", "[[a]]"])
def test_a_cell_or_item_that_is_protected_is_read_back_as_it_was(text: str) -> None:
    for made in (layout.table(json.dumps([[text]])), layout.listed(f"{text}\n")):
        element = element_named(OrgDocument(f"#+RESULTS: n\n{made}"), "n")
        assert element is not None
        assert data.selected(data.read(element, is_result=True), "n") in ([text], [[text]])
