"""The history of runs, comparisons with it, and runs that are repeated after changes."""

from __future__ import annotations

import contextlib
import json
import signal
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from components import require
from full_disk import run_with_full_disk
from hypothesis import given
from hypothesis import strategies as st
from servers import RawServer, by_path, closing, echo, response

from orgrest.run import history
from orgrest.run.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = "Content-Type: application/json"
TEXT = "Content-Type: text/plain"
ORGREST = [sys.executable, "-m", "orgrest"]
LONG = 70_000


class Server(RawServer):
    """Answers with `body`, which a test may change."""

    body: bytes = b'{"a": 1}'
    head: tuple[str, ...] = (JSON,)
    status = "200 OK"


@pytest.fixture
def server() -> Iterator[Server]:
    def answer(connection, _: bytes) -> None:
        connection.sendall(response(running.body, *running.head, status=running.status))

    with Server(lambda *given: by_path({"/": answer, "/echo": echo})(*given)) as running:
        yield running


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "docs").mkdir()
    monkeypatch.chdir(tmp_path / "docs")
    monkeypatch.setenv("ORGREST_HISTORY", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def document(tmp_path: Path, server: Server) -> Callable[..., Path]:
    def write(text: str = "### one\nGET HOST/\n", name: str = "a.http") -> Path:
        path = tmp_path / "docs" / name
        path.write_text(text.replace("HOST", server.url))
        return path

    return write


OTHER = '#+NAME: other\n#+begin_src emacs-lisp :var x=""\n"computed"\n#+end_src\n'
ORG = "#+NAME: one\n#+begin_src restclient\nGET HOST/\n#+end_src\n"


# ----------------------------------------------------------------------------------- what is kept


def test_what_was_sent_and_answered_can_be_read_again(orgrest, document, server) -> None:
    document("### one\nPOST HOST/\nX-A: b\n\nthe body\n")
    server.head = (JSON, "X-Of: the server")
    orgrest("a.http", "-q")
    (line,) = orgrest("history").lines
    assert line.split()[0] == "1"
    assert line.endswith("  a.http  1 request")
    shown = orgrest("history", "show").lines
    assert shown[0] == "# a.http:2 one  passed"
    assert shown[1] == f"POST {server.url}/"
    for expected in ("X-A: b", "the body", "HTTP/1.1 200 OK", "X-Of: the server", '{"a": 1}'):
        assert expected in shown
    record = json.loads(orgrest("history", "show", "--json", "--name", "one").out)
    assert record["exchanges"][0]["response"]["body"]["text"] == '{"a": 1}'
    run = json.loads(orgrest("history", "list", "--json").out)
    assert (run["requests"], run["failed"]) == (1, 0)
    assert orgrest("history", "show", run["run"]).lines == shown
    assert orgrest("history", "show", run["run"][:17]).lines == shown


def test_each_attempt_and_redirect_is_shown(orgrest, document) -> None:
    busy = response(b"", "Retry-After: 0", status="503 Service Unavailable")
    moved = response(b"", "Location: /new", status="302 Found")
    answers = iter([busy, moved, busy, moved, response(b"{}")])
    with RawServer(lambda connection, _: connection.sendall(next(answers))) as server:
        document(f"GET {server.url}/old\n")
        assert orgrest("test", "a.http", "-q", "--retry", "2").status == 0
    shown = orgrest("history", "show").lines
    assert shown[1:6] == [
        f"# attempt: GET {server.url}/old  503",
        f"# redirect: GET {server.url}/old  302",
        f"# attempt: GET {server.url}/new  503",
        f"# redirect: GET {server.url}/old  302",
        f"GET {server.url}/old",
    ]
    answered = shown.index(f"# response to: GET {server.url}/new")
    assert shown[answered + 1] == "HTTP/1.1 200 OK"


def test_a_request_without_an_answer_is_kept_with_the_reason(orgrest, document) -> None:
    document("### one\nGET http://127.0.0.1:1/\n\n### two\nGET HOST/\n")
    assert orgrest("a.http", "-q").status == 1
    assert "2 requests, 1 error\n" in orgrest("history").out
    assert "# no response: " in orgrest("history", "show", "--name", "one").out
    assert orgrest("history", "show", "--name", "a.http:5").lines[0] == "# a.http:5 two  passed"


def test_only_the_user_can_read_the_history(orgrest, document, folder) -> None:
    document()
    orgrest("a.http")
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_no_secret_gets_into_the_history(orgrest, document, folder, monkeypatch) -> None:
    monkeypatch.setenv("TOKEN", "s3cret-value")
    document(
        "### one\nPOST HOST/echo\nX: {{$processEnv TOKEN}}\nY: b {{$env.TOKEN}}\n\n{{$env.TOKEN}}\n"
    )
    assert orgrest("a.http", "-q").status == 0
    (file,) = folder.iterdir()
    assert b"s3cret" not in file.read_bytes()
    assert file.read_bytes().count(b"***") >= 6  # sent and sent back


@pytest.mark.parametrize("option", [["--dry-run"], ["--name", "none"]])
def test_a_run_that_sends_nothing_leaves_nothing(orgrest, document, folder, option) -> None:
    document()
    orgrest("a.http", *option)
    assert not folder.exists()
    assert orgrest("history").out == ""
    assert orgrest("history", "show").status == 2


def test_the_history_can_be_turned_off(orgrest, document, folder, monkeypatch) -> None:
    monkeypatch.setenv("ORGREST_HISTORY", "off")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    document()
    called = orgrest("a.http", "-q")
    assert (called.status, called.err) == (0, "")
    assert not folder.exists()
    assert "ORGREST_HISTORY" in orgrest("history").err


def test_it_is_in_the_cache_folder_by_default(orgrest, document, folder, monkeypatch) -> None:
    monkeypatch.delenv("ORGREST_HISTORY")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    document()
    orgrest("a.http", "-q")
    assert len(list((folder / "orgrest" / "history").iterdir())) == 1
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(folder / "home"))
    orgrest("a.http", "-q")
    assert len(list((folder / "home" / ".cache" / "orgrest" / "history").iterdir())) == 1
    monkeypatch.setenv("ORGREST_HISTORY", "here")
    assert orgrest("a.http", "-q").err.count("an absolute path") == 1


def test_a_folder_that_cannot_be_written_costs_a_line_and_nothing_else(
    orgrest, document, folder
) -> None:
    folder.write_text("a file")
    document("### one\nGET HOST/\n\n### two\nGET HOST/\n")
    called = orgrest("a.http", "-q")
    assert (called.status, called.out.count('"a": 1')) == (0, 2)
    (line,) = called.err.splitlines()
    assert line.startswith("orgrest: could not save the history of this run: ")
    assert "ORGREST_HISTORY=off" in line


def test_a_full_disk_costs_a_line_and_leaves_whole_lines(document, server, orgrest) -> None:
    document("".join(f"### r{n}\nGET HOST/\n\n" for n in range(5)))
    run = "from orgrest.commands.main import main; main(['a.http'])"
    done = run_with_full_disk(run, most_bytes=3000)
    assert (done.returncode, len(server.requests)) == (0, 5)
    assert done.stderr.count("could not save the history of this run: File too large") == 1
    kept = orgrest("history", "show", "--json").lines
    assert 0 < len(kept) < 5
    assert [json.loads(line)["name"] for line in kept] == [f"r{n}" for n in range(len(kept))]


def test_runs_at_the_same_time_do_not_mix(document, orgrest) -> None:
    count, requests = 6, 8
    for number in range(count):
        text = "".join(f"### r{number}\nGET HOST/\n\n" for _ in range(requests))
        document(text, f"{number}.http")
    running = [
        subprocess.Popen([*ORGREST, "-q", f"{number}.http"], stdout=subprocess.DEVNULL)
        for number in range(count)
    ]
    assert [one.wait(60) for one in running] == [0] * count
    runs = [json.loads(line) for line in orgrest("history", "list", "--json").lines]
    assert sorted(len(run["documents"]) for run in runs) == [1] * count
    for run in runs:
        found = [
            json.loads(line) for line in orgrest("history", "show", run["run"], "--json").lines
        ]
        (number,) = {record["name"] for record in found}
        assert run["documents"][0].endswith(f"{number[1:]}.http")
        assert [record["order"][1] for record in found] == list(range(1, requests + 1))


def test_the_oldest_runs_make_room_for_new_ones(orgrest, document, folder, monkeypatch) -> None:
    monkeypatch.setattr(history, "MOST_RUNS", 3)
    other = folder / "notes.jsonl"
    for number in range(5):
        document(name=f"{number}.http")
        orgrest(f"{number}.http", "-q")
        other.write_text("not ours")
    assert [line.split()[4] for line in orgrest("history").lines] == ["4.http", "3.http", "2.http"]
    assert other.read_text() == "not ours"
    monkeypatch.setattr(history, "MOST_BYTES", history.MOST_OF_RUN)
    orgrest("0.http", "-q")
    assert len(orgrest("history").lines) == 1


def test_of_a_very_long_run_the_beginning_is_kept_and_said_to_be(
    orgrest, document, monkeypatch
) -> None:
    monkeypatch.setattr(history, "MOST_OF_RUN", 3000)
    document("".join(f"### r{n}\nGET HOST/\n\n" for n in range(9)))
    orgrest("a.http", "-q")
    (line,) = orgrest("history").lines
    assert line.endswith("requests (and more that were not saved)")


def test_what_a_killed_run_left_is_read(orgrest, document, folder) -> None:
    document("### one\nGET HOST/\n\n### two\nGET HOST/\n")
    orgrest("a.http", "-q")
    (file,) = folder.iterdir()
    for cut in (
        file.read_bytes()[:-40],
        file.read_bytes()[:20],
        b"\xff[[[",
        b'{"history": 1}\n',
        b"",
    ):
        file.write_bytes(cut)
        listed = orgrest("history")
        assert (listed.status, listed.err) == (0, "")
        if len(cut) > 40:
            assert listed.out.endswith(" 1 request\n")


def test_a_damaged_record_costs_only_itself(orgrest, document, folder) -> None:
    document("### one\nGET HOST/\n\n### two\nGET HOST/\n")
    orgrest("a.http", "-q")
    (file,) = folder.iterdir()
    file.write_text(file.read_text().replace('"exchanges":[{', '"exchanges":[3,{', 1))
    shown = orgrest("history", "show")
    assert (shown.status, shown.err) == (0, "")
    assert [line for line in shown.lines if line.startswith("#")] == ["# a.http:5 two  passed"]


def test_runs_of_tests_are_kept(orgrest, document) -> None:
    document("### setup\nGET HOST/\n\n### one\n# @name one\nGET HOST/\n?? status == 404\n")
    orgrest("test", "a.http", "-q")
    shown = orgrest("history", "show").lines
    assert "# a.http:6 one  failed" in shown
    assert any(line.startswith("# FAILED  status == 404") for line in shown)


MIXED = """### unknown
GET HOST/{{nope}}

### wrong
GET HOST/
?? status == 404

### broken
GET BROKEN

### also unknown
GET HOST/{{nope}}

### right
GET HOST/
"""


@pytest.mark.parametrize(
    ("command", "failed"), [(("test",), 2), ((), 1), (("--fail",), 2)], ids=["test", "", "--fail"]
)
def test_the_history_counts_what_the_run_counted(
    orgrest, document, command: tuple[str, ...], failed: int
) -> None:
    with RawServer(response(b"", status="500 Broken")) as broken:
        document(MIXED.replace("BROKEN", broken.url))
        orgrest(*command, "a.http")
    [row] = map(json.loads, orgrest("history", "list", "--json").lines)
    assert (row["requests"], row["failed"], row["error"]) == (5, failed, 2)
    assert orgrest("history").out.endswith(f"  5 requests, {failed} failed, 2 errors\n")
    shown = orgrest("history", "show").lines
    assert shown[0].startswith("# a.http:2 unknown  error: ")
    if failed == 2:
        assert any(
            line.startswith("# a.http:9 broken  failed: the status is 500") for line in shown
        )


def test_a_request_that_could_not_be_sent_is_not_compared(orgrest, document) -> None:
    for text in ("GET HOST/", "GET HOST/", "GET HOST/\n### two\nGET HOST/{{nope}}"):
        document(f"### one\n{text}\n")
        orgrest("a.http", "-q")
    document("### one\nGET HOST/{{nope}}\n### two\nGET HOST/\n")
    orgrest("a.http", "-q")
    assert "2 requests, 1 error" in orgrest("history", "list", "-n", "1").out
    assert orgrest("diff", "one").status == 0
    assert "only one response to two" in orgrest("diff", "two").err


def test_a_run_that_sent_nothing_is_not_kept(orgrest, document) -> None:
    document("GET HOST/{{nope}}\n")
    orgrest("test", "a.http")
    assert orgrest("history").out == ""


def test_wrong_runs_are_said_to_be(orgrest, document) -> None:
    assert "no run 1" in orgrest("history", "show").err
    document()
    orgrest("a.http", "-q")
    orgrest("a.http", "-q")
    for which, why in (
        ("7", "no run 7"),
        ("2", ""),
        ("xyz", "no run has an id that starts"),
        ("20", "no run 20"),
    ):
        called = orgrest("history", "show", which)
        assert (called.status == 0) == (not why)
        assert why in called.err
    year = json.loads(orgrest("history", "list", "--json").lines[0])["run"][:6]
    assert "several runs have ids that start" in orgrest("history", "show", year).err
    assert "has no request named x" in orgrest("history", "show", "--name", "x").err


# ------------------------------------------------------------------------------------ comparisons


def twice(orgrest, document, server, before: bytes, after: bytes, *options: str) -> Any:
    document()
    for server.body in (before, after):
        orgrest("a.http", "-q")
    return orgrest("diff", "one", *options)


def test_json_is_compared_by_structure(orgrest, document, server) -> None:
    before = b'{"a": 1, "gone": null, "items": [{"id": 1, "v": "x"}, {"id": 2}], "t": true}'
    after = b'{"t": 1, "items": [{"id": 0}, {"id": 1, "v": "y"}, {"id": 2}],\n"a": 1, "new-": []}'
    called = twice(orgrest, document, server, before, after, "--volatile", "content-LENGTH")
    assert called.status == 1
    assert called.lines == [
        "body.gone: removed null",
        "body.items[0].id: 1 -> 0",
        'body.items[0].v: removed "x"',
        'body.items[1]: added {"id": 1, "v": "y"}',
        "body.t: true -> 1",
        'body["new-"]: added []',
    ]


def test_the_same_response_is_said_to_be_the_same(orgrest, document, server) -> None:
    called = twice(
        orgrest, document, server, b'{"a": [1]}', b'{"a":  [1]}', "--volatile", "Content-Length"
    )
    assert (called.status, called.out) == (0, "")


def test_text_is_compared_by_lines(orgrest, document, server) -> None:
    server.head = (TEXT,)
    called = twice(orgrest, document, server, b"one\ntwo\n", b"one\nTWO\n")
    assert (called.status, called.lines[0]) == (1, "body:")
    assert {"  -two", "  +TWO"} <= set(called.lines)


def test_status_and_headers_are_compared(orgrest, document, server) -> None:
    document()
    server.head = (JSON, "Date: 1", "X-Id: 1", "X-Old: a")
    orgrest("a.http", "-q")
    server.head, server.status = (JSON, "Date: 2", "X-Id: 2", "X-New: b"), "404 Not Found"
    orgrest("a.http", "-q")
    called = orgrest("diff", "one", "--volatile", "X-Id", "--json")
    found = json.loads(called.out)
    assert [
        (difference["place"], difference["old"], difference["new"])
        for difference in found["differences"]
    ] == [
        ("status", "200", "404"),
        ("header x-old", '"a"', None),
        ("header x-new", None, '"b"'),
    ]
    document("### one\nGET http://127.0.0.1:1/\n")
    orgrest("a.http", "-q")
    assert orgrest("diff", "one").lines[0].startswith('answer: "answered" -> "')


def test_a_response_that_broke_off_is_not_said_to_be_empty(orgrest, document) -> None:
    whole = response(b"some text")
    answers = iter((closing(whole), closing(whole[:-3])))
    with RawServer(lambda *given: next(answers)(*given)) as server:
        document(f"### one\nGET {server.url}\n")
        for _ in range(2):
            orgrest("a.http", "-q")
    reason = "the connection was closed after 6 of 9 bytes"
    assert orgrest("diff", "one").lines == [f'answer: "answered" -> "{reason}"']
    shown = orgrest("history", "show", "--name", "one").out
    assert f"error: {reason}" in shown
    assert "HTTP/1.1 200 OK" in shown
    assert "[truncated" not in shown


def test_requests_without_any_response_are_not_said_to_be_the_same(orgrest, document) -> None:
    document("### one\nGET http://127.0.0.1:1/\n")
    for _ in range(2):
        orgrest("a.http", "-q")
    called = orgrest("diff", "one")
    assert (called.status, called.out) == (2, "")
    assert "nothing to compare: neither run got a response (connection to " in called.err


def test_bodies_that_differ_behind_what_is_kept_are_not_the_same(orgrest, document, server) -> None:
    long = b"x" * LONG
    server.head = (TEXT,)
    called = twice(orgrest, document, server, long + b"a", long + b"b")
    assert called.status == 1
    assert "after the part that was saved" in called.out
    server.head = ("Content-Type: image/png",)
    called = twice(orgrest, document, server, b"\x89PNG\r\n\x1a\n\0a", b"\x89PNG\r\n\x1a\n\0b")
    assert called.out.startswith("body: 10 bytes, sha256 ")
    server.head = (TEXT,)
    lines = b"\n" * 5000
    called = twice(orgrest, document, server, lines + b"a", lines + b"b")
    assert called.status == 1


def test_a_response_is_compared_with_that_of_the_same_document(orgrest, document, server) -> None:
    for number, name in enumerate(("a.http", "b.http", "a.http"), 1):
        document(name=name)
        server.body = b'{"a": %d}' % number
        orgrest(name, "-q")
    assert orgrest("diff", "one").lines == ["body.a: 1 -> 3"]
    assert orgrest("diff", "one", "--with", "2").lines == ["body.a: 2 -> 3"]
    orgrest("b.http", "-q")
    assert orgrest("diff", "one").lines == ["body.a: 2 -> 3"]
    document(name="c.http")
    orgrest("c.http", "-q")
    called = orgrest("diff", "one")
    assert (called.status, called.out) == (2, "")
    assert "has only one response" in called.err


def test_a_run_can_be_chosen_to_compare_with(orgrest, document, server) -> None:
    document()
    for number in (1, 2, 3):
        server.body = b'{"a": %d}' % number
        orgrest("a.http", "-q")
    assert orgrest("diff", "one").lines == ["body.a: 2 -> 3"]
    assert orgrest("diff", "one", "--with", "3").lines == ["body.a: 1 -> 3"]
    document("### other\nGET HOST/\n")
    orgrest("a.http", "-q")
    for arguments in (["other"], ["one", "--with", "1"], ["none"]):
        called = orgrest("diff", *arguments)
        assert (called.status, called.out) == (2, "")
    assert orgrest("diff", "one", "--with", "1", "--stored").status == 2


def test_the_last_response_is_not_said_to_be_the_same_as_itself(orgrest, document, server) -> None:
    document()
    for number in (1, 2):
        server.body = b'{"a": %d}' % number
        orgrest("a.http", "-q")
    last = json.loads(orgrest("history", "list", "--json").lines[0])["run"]
    for run in ("1", last):
        called = orgrest("diff", "one", "--with", run)
        assert (called.status, called.out) == (2, "")
        assert f"run {run} has no earlier response to one" in called.err


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        (JSON, b'{"a": 1}', b'{"a": 2}', ["body.a: 1 -> 2"]),
        (JSON, b'{"a": 1}', b'{"a": 1}', []),
        (
            TEXT,
            b"one\ntwo\n",
            b"one\nTWO\n",
            ["body:", "  @@ -1,2 +1,2 @@", "   one", "  -two", "  +TWO"],
        ),
    ],
)
def test_the_result_in_a_document_is_compared(
    orgrest, document, server, kind, old, new, expected
) -> None:
    path = document(ORG, "a.org")
    server.head, server.body = (kind,), old
    orgrest("a.org", "-q")
    stored = path.read_text()
    server.body = new
    orgrest("test", "a.org", "-q")
    assert path.read_text() == stored
    called = orgrest("diff", "one", "--stored")
    assert (called.lines, called.status) == (expected, int(bool(expected)))
    server.status = "500 Oh"
    orgrest("test", "a.org", "-q")
    assert orgrest("diff", "one", "--stored").lines == ["status: 200 -> 500", *expected]


FORMS = (
    *("", ":noheaders", ":results verbatim", ":results append", ":results code", ":results org"),
    *(":results html", ":results latex", ":results drawer", ":results list", ":headers yes"),
    *(":results value", ":results value drawer", ":results value list", ":results value table"),
    *(":results value verbatim", ":results value :wrap quote", ":wrap quote", ":wrap src js"),
    *(":results value :wrap src js", ":wrap example", ":results value raw", ":limit 1M"),
)
BODIES = {
    "path": (TEXT, b"/ok\n", b"/no\n"),
    "paragraphs": (TEXT, b"one\n\ntwo\n* three\n", b"one\n\ntwo\n* four\n"),
    "like-a-head": (TEXT, b"GET /x\nHELLO world\nHTTP/1.1 1\na\n", b"GET /x\nHELLO you\nb\n"),
    "object": (JSON, b'{"b": [1, {"a": null}], "c": "x"}', b'{"b": [1, {"a": 0}], "c": "x"}'),
    "number": (JSON, b"1", b"2"),
    "markup": ("Content-Type: application/xml", b"<a><b/></a>", b"<a><c/></a>"),
    "page": ("Content-Type: text/html", b"<p>one</p>", b"<p>two</p>"),
    "nothing": (JSON, b"", b"{}"),
}


@pytest.mark.parametrize("form", FORMS)
def test_only_what_differs_from_the_document_is_reported_whatever_the_form(
    orgrest, document, form: str
) -> None:
    head, version = "X-Unique: 1", 1

    def answer(connection, request: bytes) -> None:
        kind, *bodies = BODIES[request.split(b" ", 2)[1][1:].decode()]
        connection.sendall(response(bodies[version - 1], kind, head))

    with RawServer(answer) as server:
        blocks = (
            f"#+NAME: {name}\n#+begin_src restclient {form}\nGET {server.url}/{name}\n"
            "?? status == 200\n#+end_src\n\nText below.\n\n"
            for name in BODIES
        )
        document("".join(blocks), "a.org")
        orgrest("a.org", "-q")
        head = "X-Unique: 2"
        orgrest("test", "a.org", "-q")
        for name in BODIES:
            called = orgrest("diff", name, "--stored")
            assert (name, called.status, called.out) == (name, 0, "")
        version = 2
        orgrest("test", "a.org", "-q")
        for name in BODIES:
            called = orgrest("diff", name, "--stored")
            assert (name, called.status, called.out[:4]) == (name, 1, "body")


@pytest.mark.parametrize(
    ("form", "why"),
    [
        (":limit 8", "only the beginning"),
        (":limit 8 :results value", "only the beginning"),
        (":results file", "a link to a file"),
        (":headers only", "does not contain the body"),
        (":post other(x=*this*)", "computed from the response"),
    ],
)
def test_a_result_without_the_whole_body_is_not_said_to_differ(
    orgrest, document, server, form: str, why: str
) -> None:
    document(
        f"#+NAME: one\n#+begin_src restclient {form}\nGET HOST/\n#+end_src\n\n" + OTHER, "a.org"
    )
    server.body = b'{"a": "long enough"}'
    orgrest("a.org", "-q")
    called = orgrest("diff", "one", "--stored")
    assert (called.status, called.out) == (2, "")
    assert why in called.err


@pytest.mark.parametrize("volatile", [".now .id", '/"(now|id)": \\d+/'])
def test_a_comparison_with_a_document_ignores_what_the_document_calls_volatile(
    orgrest, document, server, volatile: str
) -> None:
    require("jq")
    document(ORG.replace("restclient", f"restclient :volatile {volatile} :expect same"), "a.org")
    for body in (b'{"now": 1, "id": 2, "a": 3}', b'{"now": 4, "id": 5, "a": 3}'):
        server.body = body
        assert orgrest("a.org", "-q").status == 0
        assert orgrest("test", "a.org", "-q").status == 0
        assert orgrest("diff", "one", "--stored").lines == []
        server.body = b'{"now": 6, "id": 7, "a": 3}'
        assert orgrest("test", "a.org", "-q").status == 0
        called = orgrest("diff", "one", "--stored")
        assert (called.lines, called.status) == ([], 0)
    server.body = b'{"now": 1, "id": 2, "a": 4}'
    orgrest("test", "a.org", "-q")
    assert orgrest("diff", "one", "--stored").status == 1


def test_the_output_of_jq_in_a_document_is_compared(orgrest, document, server) -> None:
    require("jq")
    document(ORG.replace("restclient", "restclient :jq .a"), "a.org")
    server.body = b'{"a": [1], "b": 1}'
    orgrest("a.org", "-q")
    server.body = b'{"a": [1], "b": 2}'
    orgrest("test", "a.org", "-q")
    assert orgrest("diff", "one", "--stored").status == 0
    server.body = b'{"a": [2], "b": 2}'
    orgrest("test", "a.org", "-q")
    assert orgrest("diff", "one", "--stored").lines == ["body[0]: 1 -> 2"]


def test_what_cannot_be_compared_with_the_document_says_why(orgrest, document, server) -> None:
    document()
    orgrest("a.http", "-q")
    assert "request files contain no results" in orgrest("diff", "one", "--stored").err
    document(ORG, "a.org")
    for head, body, why in (
        (TEXT, b"x" * LONG, "only the beginning"),
        ("Content-Type: image/png", b"\x89PNG\0", "binary"),
    ):
        server.head, server.body = (head,), body
        orgrest("a.org", "-q")
        called = orgrest("diff", "one", "--stored")
        assert (called.status, why in called.err) == (2, True), called.err
    document(ORG, "a.org")
    assert "no result for a block named one" in orgrest("diff", "one", "--stored").err
    document(ORG.replace("HOST", "http://127.0.0.1:1"), "a.org")
    orgrest("a.org", "-q")
    document(ORG + "\n#+RESULTS: one\n: x\n", "a.org")
    assert "got no response" in orgrest("diff", "one", "--stored").err


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 2) | st.floats(0, 2) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab.", max_size=2), inner),
    max_leaves=12,
)


def record(body: str) -> dict:
    found = {"type": "", "size": len(body), "cut": False, "text": body}
    answer = {"status": 200, "headers": [], "body": found}
    return {"exchanges": [{"request": {}, "response": answer, "error": None}]}


@given(VALUES, VALUES)
def test_two_json_bodies_are_the_same_exactly_if_their_values_are(one, other) -> None:
    def canonical(value) -> str:
        return json.dumps(value, sort_keys=True)

    found = compare(record(json.dumps(one)), record(json.dumps(other, indent=1)))
    assert (found == []) == (canonical(one) == canonical(other))


@given(st.lists(st.integers(), max_size=6), st.lists(st.integers(), max_size=6), st.integers())
def test_an_inserted_item_is_the_only_difference(before, after, new) -> None:
    old, changed = json.dumps(before + after), json.dumps([*before, new, *after])
    (found,) = compare(record(old), record(changed))
    assert (found.old, found.new) == (None, str(new))


def test_json_nested_too_deep_is_compared_as_text() -> None:
    deep = "[" * 100_000
    assert compare(record(deep), record(deep + "1"))


# ---------------------------------------------------------------------------- --watch


class Watching:
    """A run with --watch. `waits` returns when the run waits for the next change."""

    def __init__(self, server: Server, *arguments: str) -> None:
        self._server = server
        self.process = subprocess.Popen(
            [*ORGREST, *arguments, "--watch", "-q"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )

    def waits(self) -> None:
        """Read the output until the run waits for a change."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if b"waiting" in line:
                return
        raise AssertionError("exit status")

    def __enter__(self) -> Watching:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        self.process.communicate()


def test_a_run_follows_what_it_reads(document, server, tmp_path) -> None:
    docs = tmp_path / "docs"
    document("import ./b.http\n\n### one\nPOST HOST/echo\n\n< body.json\n<> {{x}}\n")
    document("@y = 1\n", "b.http")
    (docs / "more.env").write_text("x=1\n")
    with Watching(server, "a.http", "--env-file", "given.env", "--env", "more") as watching:
        watching.waits()  # given.env is not there
        for count, (name, text) in enumerate(
            [
                ("given.env", "A=1\n"),
                ("body.json", "[1]"),
                ("body.json", "[2]"),
                ("more.env", "x=2\n"),
                ("b.http", "@y = 2\n"),
                ("other.env", "x=3\n"),
            ]
        ):
            (docs / name).write_text(text)
            watching.waits()
            assert len(server.requests) == count, name
        document("### one\nGET HOST/\n")
        watching.waits()
        assert server.requests[-1].startswith(b"GET / ")
    assert b"[1]" in server.requests[0]
    assert b"[2]" in server.requests[1]


def test_what_a_run_writes_does_not_start_the_next(document, server, tmp_path) -> None:
    path = document(
        ORG + "\n#+begin_src restclient\nPOST HOST/echo\n\n< a-out.json\n#+end_src\n", "a.org"
    )
    (tmp_path / "docs" / "a-out.json").write_text("{}")
    with Watching(server, "a.org") as watching:
        watching.waits()
        assert "RESULTS" in path.read_text()
        path.touch()
        time.sleep(1.5)  # several looks at the files
        assert len(server.requests) == 2
        server.body = b'{"a": 2}'
        changed = path.with_suffix(".new")
        changed.write_text(path.read_text() + "\n* more\n")
        changed.replace(path)
        watching.waits()
        assert len(server.requests) == 4
        assert '"a": 2' in path.read_text()
        watching.process.send_signal(signal.SIGINT)
        assert watching.process.wait(30) == 0


SAVES_AND_READS = "### one\nGET HOST/\n>>! out.bin\n\n### two\nPOST HOST/echo\n\n< out.bin\n"
BLOCKS = """\
#+begin_src http :results silent
GET HOST/

>>! out.bin
#+end_src

#+begin_src http
POST HOST/echo

< out.bin
#+end_src
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.http", SAVES_AND_READS),
        ("a.http", "import ./b.http\n\n### two\n# @ref one\nPOST HOST/echo\n\n< out.bin\n"),
        ("a.org", BLOCKS),
    ],
)
def test_a_file_that_the_run_saves_and_reads_does_not_start_the_next(
    document, server, name: str, text: str
) -> None:
    document(SAVES_AND_READS, "b.http")
    document(text, name)
    with Watching(server, name) as watching:
        watching.waits()
        assert server.requests[1].endswith(b'{"a": 1}')
        time.sleep(1)
        assert len(server.requests) == 2


def test_a_document_that_is_not_there_yet_is_waited_for(document, server) -> None:
    with Watching(server, "a.http") as watching:
        watching.waits()
        path = document()
        watching.waits()
        assert len(server.requests) == 1
        other = path.with_suffix(".tmp")
        other.write_text(path.read_text().replace("/\n", "/echo\n"))
        other.replace(path)  # as editors save
        watching.waits()
        assert server.requests[-1].startswith(b"GET /echo ")


def test_standard_input_cannot_be_watched(orgrest) -> None:
    assert orgrest("-", "--watch").status == 2


def test_a_document_is_run_when_its_editor_has_written_all_of_it(document, server) -> None:
    path = document("### one\nGET HOST/\n")
    text = path.read_text()
    with Watching(server, "a.http") as watching:
        watching.waits()
        path.write_text("")
        time.sleep(1)  # several looks at the file
        with path.open("w") as stream:
            for part in (text, "\n### two\n", text.split("\n", 1)[1].replace("GET", "PUT")):
                stream.write(part)
                stream.flush()
                time.sleep(0.1)
        watching.waits()
        assert [request.split(b" ", 1)[0] for request in server.requests] == [
            b"GET",
            b"GET",
            b"PUT",
        ]
