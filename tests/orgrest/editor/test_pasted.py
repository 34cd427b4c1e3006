"""Requests copied from other tools: once converted, they send what the original would send."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from imports import sent
from recorded import curl, har, requests

from orgrest.editor.pasted import find
from orgrest.editor.regions import Kind
from orgrest.model import Span

AROUND = {
    "http": ("GET http://first/\n\n### pasted\n", "\n### last\nGET http://last/\n"),
    "org": (
        "* Notes\n#+begin_src http\nGET http://first/\n#+end_src\nSome text.\n\n",
        "\n* Heading\n#+begin_src http\nGET http://last/\n#+end_src\n",
    ),
}


def turned(text: str, kind: Kind, selection: Span) -> str | None:
    """Return the text after the action, or None if there is no action."""
    found = find(text, kind, selection)
    if found is None:
        return None
    return text[: found.edit.start] + found.edit.text + text[found.edit.end :]


@pytest.mark.parametrize("kind", ["http", "org"])
@pytest.mark.parametrize("what", ["curl", "har"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(wanted=requests())
def test_what_is_pasted_becomes_the_request_that_it_was(
    wanted: dict[str, Any], what: str, kind: Kind, tmp_path: Path
) -> None:
    names = {name.lower() for name, _ in wanted["headers"]}
    if len(names) < len(wanted["headers"]):
        wanted["headers"] = [pair for pair in wanted["headers"] if pair[0] == "Content-Type"]
    options = {"headers": dict(wanted["headers"]), "method": wanted["method"]}
    if wanted["body"] is not None:
        options["body"] = wanted["body"]
    pasted = {
        "curl": curl(wanted),
        "har": har([wanted]),
    }[what]
    above, below = AROUND[kind]
    text = f"{above}{pasted}\n{below}"
    cursor = len(above) + 1
    after = turned(text, kind, Span(cursor, cursor))
    if after is None:  # a body that a document cannot hold is left as it is
        assert wanted["body"]
        return
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    (folder / f"a.{kind}").write_text(after, "utf-8", newline="")
    first, found, last = sent(folder, f"a.{kind}")
    assert (first.url, last.url) == ("http://first/", "http://last/")
    assert (found.method, found.url) == (wanted["method"], wanted["url"])
    assert found.headers == tuple(wanted["headers"])
    assert (found.body or b"") == (wanted["body"] or "").encode()


def at(marked: str, kind: Kind) -> tuple[str, str] | None:
    """Return the title of the action at `|`, or between two of them, and the resulting text."""
    before, _, rest = marked.partition("|")
    inside, second, after = rest.partition("|")
    selection = Span(len(before), len(before) + len(inside) if second else len(before))
    text = before + inside + after
    found = find(text, kind, selection)
    return None if found is None else (found.title, turned(text, kind, selection) or "")


LINES = "# @no-redirect\n"
BLOCK = f"#+begin_src http\n{LINES}GET http://h/\n#+end_src"


class TestWhere:
    def test_prose_around_a_command_stays(self) -> None:
        marked = "* Log in\nCall it like this:\n\ncurl http://|h/\n\nThat is all.\n"
        assert at(marked, "org") == (
            "Convert the curl command to a request",
            marked.replace("curl http://|h/", BLOCK),
        )

    def test_a_request_above_and_text_below_stay_what_they_are(self) -> None:
        found = at("GET http://a/\n\ncurl |http://h/\n\nPOST http://b/\n", "http")
        assert found is not None
        assert (
            found[1]
            == f"GET http://a/\n\n### GET /\n{LINES}GET http://h/\n\n###\n\nPOST http://b/\n"
        )

    def test_selected_lines_are_what_is_meant(self) -> None:
        marked = "|curl http://a/\ncurl http://b/|\ncurl http://c/\n"
        found = at(marked, "http")
        assert found is not None
        assert found[0] == "Convert the curl command to requests"
        assert "curl http://c/" in found[1]
        assert "GET http://b/" in found[1]

    def test_a_message_with_its_body_becomes_a_block(self) -> None:
        found = at("POST /a HTTP/1.1\nHost: |x.y\n\nbody\n", "org")
        assert found == (
            "Convert the HTTP message to a request",
            "#+begin_src http\n# @title POST /a\nPOST https://x.y/a\n\nbody\n#+end_src\n",
        )

    @pytest.mark.parametrize(
        ("marked", "kind"),
        [
            ("|", "http"),
            ("GET http://|h/\n", "http"),
            ("POST /a HTTP/1.1\nHost: |x.y\n\n", "http"),
            (":a = b\n#\nGET http://h/:a\n\n#\ncurl |http://h/\n", "http"),
            ("{|}", "http"),
            ('{"url": 1, "headers": |', "http"),
            ("curl| is a command for HTTP.", "org"),
            ("#+begin_src sh\ncurl |http://h/\n#+end_src\n", "org"),
            ("#+begin_example\n#+end_src\n\ncurl |http://h/\n#+end_example\n", "org"),
            ("curl http://h/ -d $'a\\n* |b'", "http"),
        ],
    )
    def test_nothing_is_offered_where_nothing_can_be_turned(self, marked: str, kind: Kind) -> None:
        found = at(marked, kind)
        assert found is None or "* b" in found[1]

    def test_below_a_block_it_is_offered_again(self) -> None:
        assert at("#+begin_src sh\nls\n#+end_src\ncurl |http://h/\n", "org") is not None
