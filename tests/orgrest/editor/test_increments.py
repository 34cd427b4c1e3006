"""After any edits, an editor shows the same as for a document that was just opened."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orgrest.editor import navigation, outline
from orgrest.editor.analysis import Analysis
from orgrest.editor.diagnostics.report import Report
from orgrest.editor.hover import hover
from orgrest.editor.names import Names
from orgrest.editor.regions import Kind
from orgrest.model import Span

HTTP = [
    "### a\n",
    "###\n",
    "# @name a\n",
    "# @name b\n",
    "@x = 1\n",
    "@x = {{y}}\n",
    "@y = {{$nothing}}\n",
    "@z = {{x}}{{y}}\n",
    "GET http://x/{{x}}?{{y}}\n",
    "GET http://:y/{{a.response.body.$.t}}\n",
    "POST http://x/\nContent-Type: application/json\n\n{{{z}}\n",
    "X: {{z}}\n",
    "\n",
    "{{b.token}} {{a.token}}\n",
    "# @ref b\n",
    "?? status == 200\n",
    "?? nothing\n",
    "# ?? status == 200\n",
    '> {% client.global.set("y", 1) %}\n',
    "{{\nexports.z = 1\n}}\n",
    "{{\nexports.z = 1\n",
    "/* a\n",
    "/* a */\n",
    "Accept: */*\n",
    "*/\n",
]
RESTCLIENT = [
    "### a\n",
    "# comment\n",
    ":x = 1\n",
    ":y = :x\n",
    ":z := (foo)\n",
    "GET http://:x/:y\n",
    "POST http://x/:z\n",
    "A: :y\n",
    ":y\n",
    "\n",
    '{"b": ":x"}\n',
    "-> jq-set-var :z .a\n",
    "# ?? status == 200\n",
    "?? nothing\n",
    ":t = <<END\na\nEND\n",
    "<<\n",
    "A: <<x>>\n",
    "#\n",
]
ORG = [
    "* A\n",
    "#+name: a\n",
    "#+begin_src restclient :var x=1\n",
    "#+begin_src http :var y=a\n",
    "#+end_src\n",
    "#+PROPERTY: header-args :var z=2\n",
    "#+call: a(x=2)\n",
    "#+RESULTS: a\n",
    *RESTCLIENT[2:],
]


def _versions(pieces: list[str]) -> st.SearchStrategy[list[str]]:
    """Return versions of a text, each with a few pieces of the previous one replaced."""
    some = st.lists(st.sampled_from(pieces), max_size=4)

    def edited(first: list[str], edits: list[tuple[int, int, list[str]]]) -> list[str]:
        versions, now = ["".join(first)], first
        for at, count, new in edits:
            start = at % (len(now) + 1)
            now = [*now[:start], *new, *now[start + count :]]
            versions.append("".join(now))
        return versions

    edits = st.lists(st.tuples(st.integers(0, 99), st.integers(0, 3), some), min_size=1, max_size=4)
    first = st.lists(st.sampled_from(pieces), min_size=4, max_size=24)
    return st.builds(edited, first, edits)


DOCUMENTS = st.one_of(
    st.tuples(st.just("http"), _versions(HTTP)),
    st.tuples(st.just("http"), _versions(RESTCLIENT)),
    st.tuples(st.just("org"), _versions(ORG)),
)


def _shown(analysis: Analysis, names: Names, report: Report) -> dict[str, Any]:
    """Return everything that an editor shows for a text."""
    text, parts, context = analysis.text, analysis.parts, analysis.new_context()
    return {
        "diagnostics": set(report.diagnostics),
        "hints": navigation.hints(analysis, names, Span(0, len(text))),
        "links": [x for part in parts for x in navigation.links_of(analysis, part, context)],
        "lenses": outline.lenses(analysis),
        "symbols": outline.symbols(analysis),
        "tokens": outline.tokens(analysis),
        "folds": [x for part in parts for x in outline.folds_of(part, text)],
        "names": {(variable.name, variable.span, variable.role) for variable in names.variables},
        "hover": [hover(analysis, names, at) for at in range(0, len(text), 5)],
    }


@given(DOCUMENTS)
@example(("http", ["@x = {{y}}\n\n###\nGET http://{{x}}\n", "@x = 1\n\n###\nGET http://{{x}}\n"]))
@example(("http", ["GET {{a}}\n###\nGET {{b}}\n", "GET {{a}}\n###\n@a = b\nGET {{b}}\n"]))
@example(("http", ["GET http://{{x}}\n### a\n@x = 1\n"]))
@settings(deadline=None)
def test_after_any_edits_an_editor_shows_what_it_shows_of_a_text_that_it_opens(
    versioned: tuple[Kind, list[str]],
) -> None:
    kind, versions = versioned
    analysis: Analysis | None = None
    names: Names | None = None
    report: Report | None = None
    for text in versions:
        analysis = Analysis(text, kind, before=analysis)
        names, report = Names(analysis, names), Report(analysis, report)
        fresh = Analysis(text, kind, divided=False)
        assert _shown(analysis, names, report) == _shown(fresh, Names(fresh), Report(fresh))


@pytest.mark.parametrize("kind", ["org", "http"])
def test_what_was_known_of_earlier_texts_is_freed_while_a_user_types(kind: Kind) -> None:
    block = "#+begin_src http :var x=1\nGET http://:x/\n#+end_src\n"
    text = block if kind == "org" else "### a\nGET x\n"
    analysis: Analysis | None = None
    report: Report | None = None
    earlier: list[weakref.ref[Analysis]] = []
    gc.disable()  # which is rare in a server
    try:
        for number in range(4):
            analysis = Analysis(f"{text}{text}# {number}\n", kind, before=analysis)
            report = Report(analysis, report)
            earlier.append(weakref.ref(analysis))
    finally:
        gc.enable()
    assert [one() is None for one in earlier] == [True, True, True, False]
