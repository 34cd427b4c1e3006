"""Parsing an Org document again after an edit, with the help of the previous result."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orgrest.org import document as org
from orgrest.org import reader
from orgrest.org.blocks import Block, Heading

TEXT = """\
* A heading
** B COMMENT x
* COMMENT nothing of this
* WAIT COMMENT nothing, where WAIT is a keyword
* src_http{GET http://x/} in a title
#+TODO: WAIT | OK

text
- item
  - inner
#+NAME: n
#+HEADER: :var a=1
#+begin_src http :var b=2
  #+begin_src restclient
GET http://x/
  #+end_src
#+end_src
#+RESULTS: n
#+RESULTS:
#+begin_example
#+end_example
#+begin_quote
#+end_quote
:PROPERTIES:
:header-args: :var z=1
:END:
#+PROPERTY: header-args :x 1
[fn:1] a note
call_n(1)
#+CALL: n(a=2)
"""
LINES = TEXT.splitlines()
EDITS = st.tuples(
    st.integers(0), st.sampled_from((0, 0, 1, 9, 60)), st.sampled_from(("", "x", "\n", *LINES))
)


def edited(text: str, edit: tuple[int, int, str]) -> str:
    place = edit[0] % (len(text) + 1)
    return text[:place] + edit[2] + text[place + edit[1] :]


def everything(document: org.OrgDocument) -> object:
    """Return the contents of a document as values that can be compared."""

    def of_heading(heading: Heading) -> list[object]:
        return [(one.level, one.line, one.comment, one.properties) for one in heading.path()]

    def of_block(block: Block) -> list[object]:
        fields = {**vars(block), "region": vars(block.region), "heading": None}
        body = document.body(block)
        return [fields, of_heading(block.heading), body.text, body.places]

    return [
        document.lines,
        [(section.line, section.end, section.start) for section in document.sections],
        document.landmarks,
        document.keywords,
        document.named,
        document.results,
        document.unclosed,
        document.requests,
        document.unclosed_requests,
        [of_block(block) for block in document.blocks],
        [block.start for block in document.namesakes("n")],
    ]


@given(st.lists(st.sampled_from(LINES), max_size=40).map("\n".join), st.lists(EDITS, max_size=4))
@example("", [(0, 0, "* A heading")])
@example("* A heading", [(0, 60, "")])
def test_a_document_read_again_after_edits_is_what_a_fresh_one_is(
    text: str, edits: list[tuple[int, int, str]]
) -> None:
    document = org.OrgDocument(text)
    for edit in edits:
        text = edited(text, edit)
        document = org.OrgDocument(text, document)
        assert everything(document) == everything(org.OrgDocument(text))


def test_typing_reads_the_section_at_hand_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(
        f"* Section {n}\n#+begin_src http\nGET http://x/{n}\n#+end_src\n" for n in range(9)
    )
    before = org.OrgDocument(text)
    read = []
    monkeypatch.setattr(org, "read", lambda part: read.append(part) or reader.read(part))
    org.OrgDocument(text.replace("x/4", "x/44"), before)
    assert read == ["* Section 4\n#+begin_src http\nGET http://x/44\n#+end_src"]
