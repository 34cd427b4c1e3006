"""Answers assembled from cached fragments equal those for a new document, after any edits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from orgrest.editor import outline
from orgrest.editor.analysis import Analysis
from orgrest.editor.positions import Encoding, Text
from orgrest.editor.regions import Kind
from orgrest.editor.server import fragments
from orgrest.editor.server.fragments import Tokens
from orgrest.model import Span

PIECES = {
    "org": [
        "* 50% A 😀\n",
        "#+name: a\n",
        "  #+begin_src restclient :var x=1\n",
        "#+begin_src http\n",
        ":y = 1\n",
        "  GET http://:y/{{x}}/😀\n",
        "A: :y\n",
        "\n",
        '{"b": ":x"}\n',
        "#+end_src\n",
        "  #+end_src\n",
        "-> jq-set-var :z .a\n",
        ":PROPERTIES:\n:header-args: :var y=2\n:END:\n",
        "#+begin_src verb\nget http://x/%d\n#+end_src\n",
        "* B :verb:\ntemplate http://x/\n",
    ],
    "http": [
        "### 50% a 😀\n",
        "# @name a\n",
        "@y = 1\n",
        ":y = 1\n",
        "GET http://{{y}}/😀\n",
        "  POST http://:y/{{a.response.body}}\n",
        "A: {{y}}\n",
        "\n",
        '{"b": "{{y}}"}\n',
        "?? status == 200\n",
        "> {%\nclient.log(1)\n%}\n",
        "# comment\n",
        "<< END\n:y\nEND\n",
        "-> jq-set-var :z .a\n",
        "/* a\n### */\n",
        "# ?? status == 200\n",
        "{{\nexports.y = 1\n}}\n",
        "# @ref a\n",
        "@a = {{y}}\n",
    ],
}
DOCUMENTS = st.sampled_from(["org", "http"]).flatmap(
    lambda kind: st.tuples(
        st.just(kind),
        st.lists(
            st.lists(st.sampled_from(PIECES[kind]), max_size=12).map("".join),
            min_size=2,
            max_size=4,
        ),
    )
)


def _positions(text: Text, start: int, end: int) -> dict[str, Any]:
    places = [text.place(start), text.place(end)]
    first, last = ({"line": place.line, "character": place.character} for place in places)
    return {"start": first, "end": last}


def _symbol(text: Text, one: outline.Symbol) -> dict[str, Any]:
    return {
        "name": one.name,
        "detail": one.detail,
        "kind": fragments.SYMBOLS[one.kind].value,
        "range": _positions(text, one.span.start, one.span.end),
        "selectionRange": _positions(text, one.selection.start, one.selection.end),
        "children": [_symbol(text, child) for child in one.children],
    }


def _data(text: Text, analysis: Analysis) -> list[int]:
    data: list[int] = []
    line = character = 0
    for token in outline.tokens(analysis):
        start, end = text.place(token.start), text.place(token.end)
        same = start.line == line
        data += (start.line - line, start.character - (character if same else 0))
        data += (end.character - start.character, outline.TOKEN_TYPES.index(token.type), 0)
        line, character = start.line, start.character
    return data


def _folds(analysis: Analysis) -> list[Span]:
    return [x for part in analysis.parts for x in outline.folds_of(part, analysis.text)]


def _applied(data: list[int], answer: dict[str, Any]) -> list[int]:
    """Return a client's token data after it has applied an answer to `data`."""
    if "data" in answer:
        return list(answer["data"])
    for edit in answer["edits"]:
        start = edit["start"]
        data = [*data[:start], *edit["data"], *data[start + edit["deleteCount"] :]]
    return data


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@given(DOCUMENTS)
@example(("http", ["GET http://x/\n", "\n\nGET http://x/\n", "GET http://x/\n"]))
@example(("http", ["@a = 1\n### a\nGET http://{{a}}\n", "### a\nGET http://{{a}}\n"]))
@example(("http", ["GET :a\n\n###\nGET :b\n:b = 1\n", "GET :a\n\n###\n:a = 1\nGET :b\n:b = 1\n"]))
@example(("http", ["", "?? status == 200\nGET http://x/\nGET http://x/\n"]))
@settings(deadline=None)
def test_after_any_edits_an_editor_has_the_symbols_folds_and_tokens_of_its_text(
    encoding: Encoding, newline: str, versioned: tuple[Kind, list[str]]
) -> None:
    kind, versions = versioned
    before: Analysis | None = None
    tokens: Tokens | None = None
    data: list[int] = []
    for number, version in enumerate(versions):
        text = Text(version.replace("\n", newline), encoding)
        analysis = Analysis(text.text, kind, before=before)
        fresh = Analysis(text.text, kind, divided=False)
        expected = [_symbol(text, symbol) for symbol in outline.symbols(fresh)]
        assert json.loads(fragments.symbols(analysis, text).text) == expected
        lines = [(text.place(x.start).line, text.place(x.end).line) for x in _folds(fresh)]
        folds = [
            (item["startLine"], item["endLine"])
            for item in json.loads(fragments.folds(analysis, text).text)
        ]
        assert sorted(set(folds)) == sorted(set(lines))
        found = fragments.tokens(analysis, text, str(number))
        whole = json.loads(found.whole().text)
        assert whole == {"resultId": str(number), "data": _data(text, fresh)}
        answer = found.whole() if tokens is None else found.since(tokens)
        data = _applied(data, json.loads(answer.text))
        assert data == whole["data"]
        before, tokens = analysis, found


def test_a_keystroke_costs_a_few_tokens_not_all() -> None:
    block = "### a\nGET http://x/{{y}}\nA: b\n\n"
    text = Text(block * 100)
    before = Analysis(text.text, "http")
    tokens = fragments.tokens(before, text, "1")
    typed = Text(block * 50 + block.replace("A: b", "A: bc") + block * 49)
    after = fragments.tokens(Analysis(typed.text, "http", before=before), typed, "2")
    assert len(after.since(tokens).text) < 200 < len(after.whole().text)
    again = fragments.tokens(Analysis(typed.text, "http"), typed, "3")
    assert json.loads(again.since(after).text) == {"resultId": "3", "edits": []}
