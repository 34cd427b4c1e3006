"""Assertions in an editor: completion, explanations and results."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest
from evaluated import Evaluated
from servers import RawServer, by_path, response

from orgrest.editor.analysis import Analysis
from orgrest.editor.assertions import LastOutcomes, Sent
from orgrest.editor.completion import complete
from orgrest.editor.completion.cursor import Cursor
from orgrest.editor.diagnostics.report import Report
from orgrest.editor.hover import hover
from orgrest.editor.names import Names
from orgrest.editor.outline import tokens
from orgrest.http.assertions import OPERATORS, SUBJECTS
from orgrest.http.values import Inputs

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from orgrest.editor.regions import Kind

GET = "GET http://example.org/\n\n"
ORG = "#+begin_src restclient\nGET http://example.org/\n"
SUBJECT_NAMES = sorted(SUBJECTS)
OPERATOR_NAMES = [*OPERATORS, "not"]


# -------------------------------------------------------------------------------------- completion


def offered(marked: str, kind: Kind = "http") -> list[str]:
    found = complete(
        Cursor(marked.replace("|", ""), marked.index("|"), document=kind, files=folder)
    )
    return [one.label for one in found]


def folder(path: str) -> list[str]:
    return ["user.json"] if path == "schemas/" else ["schemas/"]


@pytest.mark.parametrize(
    ("marked", "kind", "labels"),
    [
        (f"{GET}?? |", "http", SUBJECT_NAMES),
        (f"{GET}?? st|", "http", ["status"]),
        (f"{GET}??|", "http", SUBJECT_NAMES),
        (f"{GET}?? status |", "http", OPERATOR_NAMES),
        (f"{GET}?? body a.b isU|", "http", ["isUuid"]),
        (f"{GET}?? body a.b not isU|", "http", ["isUuid"]),
        (f"{GET}?? eventually 3s stat|", "http", ["status"]),
        (f"{GET}?? certificate d|", "http", ["days"]),
        (f"{GET}?? certificate days >|", "http", [">", ">="]),
        (f"{GET}?? header |", "http", []),
        (f"{GET}?? status == |", "http", []),
        (f"{GET}?? nothing |", "http", []),
        (f"{GET}?? body schema sch|", "http", ["schemas/"]),
        (f"{GET}?? body schema schemas/u|", "http", ["user.json"]),
        (f"@id = 1\n{GET}?? status == {{{{i|", "http", ["id"]),
        (f"{GET}# ?? st|", "http", ["status"]),
        (f"{GET}// ?? st|", "http", ["status"]),
        (f"{ORG}# ?? st|\n#+end_src\n", "org", ["status"]),
        (f"{ORG}?? st|\n#+end_src\n", "org", ["status"]),
        (f"{ORG}# ?? body isIso|\n#+end_src\n", "org", ["isIsoDate"]),
        ("#+begin_src restclient :expect |\n#+end_src\n", "org", ["200", "2xx", "same"]),
    ],
)
def test_what_may_be_typed_in_an_assertion_is_offered(
    marked: str, kind: Kind, labels: list[str]
) -> None:
    assert offered(marked, kind) == labels


def test_a_subject_that_is_put_in_leads_on_to_its_operator() -> None:
    text = f"{GET}?? bod"
    (one,) = complete(Cursor(text, len(text), document="http"))
    assert text[: one.span.start] + one.insert == f"{GET}?? body "
    assert SUBJECTS["body"].description in one.documentation


# ------------------------------------------------------------------------------------------- hover


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"{GET}?? body a not isUuid\n", "http"),
        (f"{ORG}# ?? body a not isUuid\n#+end_src\n", "org"),
    ],
)
def test_hover_says_what_an_assertion_means(text: str, kind: Kind) -> None:
    analysis = Analysis(text, kind, Inputs)
    found = hover(analysis, Names(analysis), text.index("isUuid") + 2)
    assert found is not None
    assert SUBJECTS["body"].description in found[0]
    assert f"Negated: {OPERATORS['isUuid'].description}" in found[0]
    assert "?? body a not isUuid" in text[found[1].start : found[1].end]


def test_what_is_no_assertion_and_no_expectation_is_marked_at_its_line() -> None:
    text = "#+begin_src restclient :expect well\nGET http://h/\n# ?? stats == 200\n#+end_src\n"
    found = {
        diagnostic.code: diagnostic
        for diagnostic in Report(Analysis(text, "org", Inputs)).diagnostics
    }
    assert set(found) == {"bad-assertion", "bad-argument"}
    wrong = found["bad-assertion"]
    assert text[wrong.span.start : wrong.span.end] == "# ?? stats == 200"
    assert ":expect requires `same` or statuses" in found["bad-argument"].message


# -------------------------------------------------------------------------------------- outcomes


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    kind = "Content-Type: application/json"
    body = json.dumps({"a": [1, 2], "s": "hunter2-hunter2"}).encode()
    with RawServer(by_path({"/a": response(body, kind)})) as running:
        yield running


class Sending:
    """A document whose requests were all sent."""

    def __init__(self, server: RawServer, folder: Path, text: str, kind: Kind) -> None:
        self.kind = kind
        self.text = text.replace("HOST", server.url)
        self.folder = folder
        self.last = LastOutcomes()
        self.send()

    def send(self) -> None:
        sent = Sent(self.analysis(self.text))
        inputs = Inputs(directory=self.folder, secrets=["hunter2-hunter2"])
        done = Evaluated(self.text, inputs, file="a", plain=self.kind == "http")
        for outcome in done.outcomes:
            self.last.keep(sent, outcome)
        self.text = done.text

    def analysis(self, text: str) -> Analysis:
        return Analysis(text, self.kind, partial(Inputs, directory=self.folder))

    def marked(self, text: str | None = None) -> list[tuple[str, str]]:
        """Return the marked parts of a text, with their messages."""
        text = self.text if text is None else text
        found = self.last.diagnostics(self.analysis(text))
        assert {(one.severity, one.code) for one in found} <= {("error", "failed-assertion")}
        return [(text[one.span.start : one.span.end], one.message) for one in found]

    def lenses(self) -> list[str]:
        return list(self.last.summaries(self.analysis(self.text)).values())


def test_a_failure_is_marked_at_its_line_as_long_as_that_says_the_same(
    server: RawServer, tmp_path: Path
) -> None:
    done = Sending(
        server,
        tmp_path,
        "GET HOST/a\n\n?? status == 200\n?? body a == [1, 3]\n?? body s == 5\n###\nGET HOST/a\n",
        "http",
    )
    first, second = done.marked()
    assert first[0] == "body a == [1, 3]"
    assert first[1].startswith("body a == [1, 3]: body a is [1, 2]\n@@")
    assert "+  2" in first[1]
    assert second == ("body s == 5", "body s == 5: body s is ***")
    below = "# a comment above\n" + done.text
    assert [text for text, _ in done.marked(below)] == ["body a == [1, 3]", "body s == 5"]
    assert done.marked(done.text.replace("[1, 3]", "[1, 2]")) == [second]
    assert done.marked(done.text.replace("/a\n\n?", "/b\n\n?")) == []


def test_failures_in_org_stay_at_their_lines_when_results_come_between(
    server: RawServer, tmp_path: Path
) -> None:
    one = "#+begin_src restclient{}\nGET HOST/a\n# ?? status == 404\n#+end_src\n\n"
    text = one.format(" :expect 5xx") + one.format("")
    done = Sending(server, tmp_path, text, "org")
    assert "#+RESULTS" in done.text
    assert sorted(text for text, _ in done.marked()) == sorted(
        ["status == 404", "status == 404", f"GET {server.url}/a"]
    )
    assert len(done.lenses()) == 2
    assert "2 of 2 assertions FAILED: status == 5xx" in done.lenses()[0]


def test_a_lens_says_what_came_of_the_last_run(server: RawServer, tmp_path: Path) -> None:
    done = Sending(
        server,
        tmp_path,
        "GET HOST/a\n\n?? status == 200\n?? body a exists\n"
        "###\nGET HOST/a?b\n###\nGET HOST/{{c}}\n",
        "http",
    )
    first, second, third = done.lenses()
    assert first.startswith("200 in 0.")
    assert first.endswith(" s, 2 assertions passed")
    assert second.startswith("404 in ")
    assert "assertion" not in second
    assert third == "failed: the variable c is not defined"


def test_two_requests_of_a_block_share_its_lens(server: RawServer, tmp_path: Path) -> None:
    text = (
        "#+begin_src restclient :requests all :results none\nGET HOST/a\n# ?? status == 200\n#\n"
        "GET HOST/a\n# ?? status == 201\n#+end_src\n"
    )
    done = Sending(server, tmp_path, text, "org")
    (lens,) = done.lenses()
    assert "1 assertion passed; 200 in" in lens
    assert [text for text, _ in done.marked()] == ["status == 201"]


def test_the_parts_of_an_assertion_have_their_colours() -> None:
    text = f"@n = 1\n{GET}?? status == {{{{n}}}}0\n?? $.a exists\n"
    analysis = Analysis(text, "http", Inputs)
    found = [(text[token.start : token.end], token.type) for token in tokens(analysis)]
    assert found[-5:] == [
        ("??", "operator"),
        ("status", "property"),
        ("{{n}}", "variable"),
        ("0", "string"),
        ("??", "operator"),
    ]
