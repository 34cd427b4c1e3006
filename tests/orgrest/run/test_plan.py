"""The plan of a document: its steps, with the same identities wherever they are listed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from orgrest.editor import outline
from orgrest.editor.analysis import Analysis
from orgrest.org.blocks import ALL_LANGUAGES
from orgrest.org.document import OrgDocument
from orgrest.run.documents.selection import is_request, plan_of, result_spans, within
from orgrest.run.run import Run
from orgrest.run.settings import Settings

BLOCK = "#+begin_src http\nGET http://h/\n#+end_src\n"
ORG = st.lists(
    st.sampled_from(
        [
            BLOCK,
            f"#+name: a\n{BLOCK}",
            f"#+RESULTS:\n{BLOCK}",
            f"\n#+RESULTS:\n#+begin_quote\n{BLOCK}#+end_quote\n",
            f"\n#+RESULTS:\n:results:\n{BLOCK}:end:\n",
            "\n#+RESULTS: a\n- one\n  #+begin_src http\n  GET http://h/\n  #+end_src\n- two\n",
            "\n#+RESULTS:\nsrc_http{GET http://h/} and call_a()\n",
            "\n#+RESULTS:\n| src_http{GET http://h/} |\n",
            "\n#+RESULTS:\n#+call: a()\n",
            "\n#+RESULTS:\n: src_http{GET http://h/}\n",
            "#+call: a()\n",
            "#+call: b()\n",
            "src_http{GET http://h/}\n",
            "#+begin_src http\n",
            "- item\n  #+begin_src http\n  GET http://h/\n  #+end_src\n",
            "* heading\n",
            "* COMMENT heading\n",
            "* verb :verb:\nget http://h/\n",
            "text\n",
            "\n",
        ]
    ),
    max_size=9,
).map("".join)
HTTP = st.lists(
    st.sampled_from(
        ["GET http://h/\n", "###\n", "### a\n", "# @name a\n", "\n", "run #a\n", "@x = 1\n"]
    ),
    max_size=9,
).map("".join)


@given(ORG)
def test_nothing_in_an_old_result_is_planned(text: str) -> None:
    document = OrgDocument(text)
    requests = [one for one in document.evaluated if is_request(document, one, ALL_LANGUAGES)]
    texts = [(one.start, document.offset(one.last)) for one in document.verb]
    requests = [
        request
        for request in requests
        if request.kind == "heading" or not within(texts, request.start)
    ]
    old = result_spans(document, requests)
    plan = plan_of(document, ALL_LANGUAGES, Settings(languages=ALL_LANGUAGES), "x.org")
    assert not [step for step in plan.steps if within(old, step.id.start)]


@given(ORG, HTTP)
def test_each_step_has_an_identity_and_an_order(org: str, http: str) -> None:
    for text, plain in ((org, False), (http, True)):
        settings = Settings(languages=ALL_LANGUAGES, dry_run=True)
        plan = Run(text, file="x", settings=settings, plain=plain).plan
        starts = [step.id.start for step in plan.steps]
        assert starts == sorted(set(starts))
        assert [step.line for step in plan.steps] == [text.count("\n", 0, at) + 1 for at in starts]


@given(ORG, HTTP)
def test_a_lens_stands_at_nothing_but_a_step(org: str, http: str) -> None:
    for text, kind in ((org, "org"), (http, "http")):
        settings = Settings(languages=ALL_LANGUAGES, dry_run=True)
        run = Run(text, file="x", settings=settings, plain=kind == "http")
        starts = {step.id.start for step in run.plan.steps}
        lenses = outline.lenses(Analysis(text, kind))  # type: ignore[arg-type]  # one of two
        assert set(lenses) <= starts
