"""Long bodies, and bodies that are not text: what documents show of them, and what files hold."""

from __future__ import annotations

import gc
import json
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from evaluated import Evaluated
from servers import RawServer, by_path, response

from orgrest.editor import babel
from orgrest.http.transport.client import Client
from orgrest.http.transport.limits import BODY_LIMIT
from orgrest.http.values import Inputs
from orgrest.org.arguments import of_block
from orgrest.org.blocks import REQUEST_LANGUAGES
from orgrest.org.document import OrgDocument
from orgrest.run.outcomes import Outcome
from orgrest.run.run import Run
from orgrest.run.services import Services
from orgrest.run.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = "Content-Type: text/plain"
JSON = "Content-Type: application/json"
LINES = "".join(f"line {number}\n" for number in range(1000))
ROWS = json.dumps([[number, "x"] for number in range(500)])
MIB = 2**20


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    answers = {
        "/lines": response(LINES.encode(), TEXT),
        "/rows": response(ROWS.encode(), JSON),
        "/orgish": response(b"* heading\n", TEXT),
        "/png": response(b"\x89PNG\0", "Content-Type: image/png"),
        "/nul": response(bytes(8 * MIB), TEXT),
        "/ascii": response(b"plain text\n" * (8 * MIB // 11), TEXT),
        "/emoji": response("\N{GRINNING FACE}\n".encode() * (8 * MIB // 5), TEXT),
        "/unlabelled": response("\N{GRINNING FACE}\n".encode() * (8 * MIB // 5)),
        "/json": response(b"[" + b'{"a": [1, "b"]},' * (8 * MIB // 16) + b"1]", JSON),
    }
    with RawServer(by_path(answers)) as running:  # type: ignore[arg-type]  # bytes are answers
        yield running


def run(
    server: RawServer, folder: Path, text: str, read: int = BODY_LIMIT, **options: object
) -> tuple[str, list[Outcome]]:
    """Evaluate a document and write its files. Return the new text and the outcomes.

    At most `read` bytes of a body are read.
    """
    inputs = Inputs(directory=folder)
    client = Client(limit=read)
    done = Evaluated(text, inputs, file="notes.org", url=server.url, client=client, **options)
    for outcome in done.outcomes:
        for path, content in outcome.files:
            path.write_bytes(content)
    return done.text, done.outcomes


def block(path: str, arguments: str = "", name: str = "long") -> str:
    return f"#+NAME: {name}\n#+begin_src restclient {arguments}\nGET HOST{path}\n#+end_src\n\n"


def test_of_a_long_body_the_document_shows_the_beginning_and_a_link(
    server: RawServer, tmp_path: Path
) -> None:
    before = block("/lines", ":limit 1k") + "Text below.\n"
    text, (outcome,) = run(server, tmp_path, before)
    assert "line 100\n" in text
    assert "line 200\n" not in text
    assert "The whole body: [[file:notes-long.txt]]\n" in text
    assert (tmp_path / "notes-long.txt").read_text() == LINES
    assert text.endswith("#+END_SRC\n\nText below.\n")
    assert outcome.notes == ("the body is larger than 1024 bytes: at most its beginning is shown",)
    again, _ = run(server, tmp_path, text)
    assert [line for line in again.split("\n") if "duration" not in line] == [
        line for line in text.split("\n") if "duration" not in line
    ]


def test_a_file_with_only_the_beginning_of_a_body_says_so_or_is_not_written(
    server: RawServer, tmp_path: Path
) -> None:
    text, (outcome,) = run(server, tmp_path, block("/lines", ":limit 10"), read=1000)
    assert "Body cut after 1000 bytes: [[file:notes-long.txt]]\n" in text
    assert outcome.reason is None
    for path, arguments in (("/png", ""), ("/lines", ":results file :file notes-x.txt")):
        _, (outcome,) = run(server, tmp_path, block(path, arguments, name="b"), read=4)
        assert str(outcome.reason).endswith(
            "could not save the response: the body is larger than 4 bytes: the rest was not read"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["notes-long.txt"]


def test_the_option_says_how_much_is_shown_and_the_block_wins(
    server: RawServer, tmp_path: Path
) -> None:
    documents = block("/lines", name="a") + block("/lines", ":limit 2k", name="b")
    text, _ = run(server, tmp_path, documents, limit=100)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes-a.txt", "notes-b.txt"]
    assert 1900 < text.count("line ") * len("line 100\n") < 2400


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("value", "line 0\n"),
        ("value raw", "line 0\n"),
        ("value drawer", "line 0\n"),
        ("value org", "line 0\n"),
        ("raw", "line 0\n"),
    ],
)
def test_a_long_result_links_to_the_rest_whatever_its_form(
    server: RawServer, tmp_path: Path, words: str, shown: str
) -> None:
    text, _ = run(server, tmp_path, block("/lines", f":results {words} :limit 1k"))
    assert shown in text
    assert "The whole body: [[file:notes-long.txt]]" in text
    assert (tmp_path / "notes-long.txt").read_text() == LINES


@pytest.mark.parametrize("words", ["table", "list", "file", "value table"])
def test_a_long_list_or_table_is_a_link_because_a_part_of_it_is_none(
    server: RawServer, tmp_path: Path, words: str
) -> None:
    text, _ = run(server, tmp_path, block("/rows", f":results {words} :limit 1k"))
    result = text.partition("#+RESULTS: long\n")[2]
    assert result.strip().startswith("[[file:notes-long.")
    assert result.strip().count("\n") == 0
    (written,) = tmp_path.iterdir()
    assert written.read_text() == ROWS


def test_what_needs_all_of_a_long_body_is_not_given_a_part(
    server: RawServer, tmp_path: Path
) -> None:
    user = "#+begin_src restclient :var x=long\nGET HOST/lines?:x\n#+end_src\n"
    _, outcomes = run(server, tmp_path, block("/lines", ":limit 1k") + user)
    assert [outcome.state for outcome in outcomes] == ["done", "failed"]
    assert f"all of it is needed here: use :limit {len(LINES)}" in str(outcomes[1].reason)
    _, (inline,) = run(server, tmp_path, "src_restclient[:limit 5]{GET HOST/lines}\n")
    assert inline.state == "failed"


def test_a_text_beside_a_link_cannot_become_structure(server: RawServer, tmp_path: Path) -> None:
    requests = "#+begin_src restclient :requests all :results value raw\nGET HOST/png\n#\n"
    text, _ = run(server, tmp_path, f"{requests}GET HOST/orgish\n#+end_src\n")
    assert "\n* heading" not in text
    assert "[[file:" in text


@pytest.mark.parametrize("size", ["0", "x", "-1", "1g", ""])
def test_a_limit_that_is_invalid_is_an_error(server: RawServer, tmp_path: Path, size: str) -> None:
    text, (outcome,) = run(server, tmp_path, block("/lines", f":limit {size}"))
    if not size:
        assert outcome.state == "done"
        return
    assert outcome.state == "failed"
    assert f"found {size}" in str(outcome.reason)
    assert "#+RESULTS" not in text


def test_babel_gets_the_link_and_the_file_of_a_long_body(server: RawServer, tmp_path: Path) -> None:
    text = block("/lines", ":limit 1k").replace("HOST", server.url)
    document = OrgDocument(text)
    (found,) = document.blocks
    call = babel.BabelBlock(
        line=2,
        text=document.body(found).text,
        arguments=of_block(document, found),
        values={},
        literal={},
    )
    with Client() as client:
        run = Run(
            text,
            file="notes.org",
            settings=Settings(Inputs(directory=tmp_path), languages=REQUEST_LANGUAGES),
            services=Services(client=client),
        )
        reply = babel.evaluate(run, call, "notes.org")
    assert "The whole body: [[file:notes-long.txt]]" in str(reply.text)
    assert reply.outcome.files == ((tmp_path / "notes-long.txt", LINES.encode()),)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/nul", "/ascii", "/emoji", "/unlabelled", "/json"])
def test_a_long_body_takes_less_than_five_times_its_memory(
    server: RawServer, tmp_path: Path, path: str
) -> None:
    run(server, tmp_path, block("/lines"))  # what is loaded once does not count
    tracemalloc.start()
    try:
        text, (outcome,) = run(server, tmp_path, block(path))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome.state == "done"
    assert peak < 5 * 8 * MIB
    assert len(text.encode()) < 1.1 * MIB
    assert "[[file:notes-long." in text or "[[file:long.bin" in text
    assert ("\\x00" in text) is False


@pytest.mark.parametrize(
    ("plain", "text"),
    [
        (False, block("/ascii")),
        (
            False,
            block("/ascii") + block("/rows", "", "rows") + block("/lines", ":var x=rows", "other"),
        ),
        (False, "* A :verb:\n:PROPERTIES:\n:Verb-Store: a\n:END:\nget HOST/ascii\n"),
        (
            True,
            "# @name long\nGET HOST/ascii\n\n###\nGET HOST/lines\nX-A: {{long.response.status}}\n",
        ),
    ],
    ids=["block", "reference", "verb", "request file"],
)
def test_after_a_run_its_responses_are_not_kept_until_the_collector_runs(
    server: RawServer, tmp_path: Path, text: str, plain: bool
) -> None:
    def evaluate(text: str) -> list[str]:
        inputs = Inputs(directory=tmp_path)
        return Evaluated(text, inputs, file="notes", url=server.url, plain=plain).states

    evaluate(text.replace("ascii", "lines"))  # what is loaded once does not count
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        states = evaluate(text)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert set(states) == {"done"}
    assert kept < MIB
