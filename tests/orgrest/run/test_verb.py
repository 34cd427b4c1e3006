"""verb's documents: the requests that are sent, and where the responses are inserted.

`verb/expected.json` has the requests of the documents in `verb/`. If `by` is `verb.el`, a request
is what verb 3.2 in Emacs 28 reads in the same heading. If it is `README`, the request is what
verb's README describes. If it is `error`, orgrest reports an error, even where verb does not,
because it runs Lisp.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from evaluated import Evaluated
from servers import RawServer, response

from orgrest.http.values import Inputs
from orgrest.run.outcomes import EvaluationError, Outcome

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

DOCUMENTS = Path(__file__).with_name("verb")
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((DOCUMENTS / "expected.json").read_text())
HOSTILE = "* Evil :verb:\nget https://evil.example\n#+end_src\n#+begin_src verb\nget /evil\n"


def evaluate(text: str, *, folder: Path = DOCUMENTS, **options: Any) -> Evaluated:
    inputs = Inputs(directory=folder, overrides={"token": "T"}, environ={"USER": "annabel"})
    return Evaluated(text, inputs, file="a.org", **options)


def told(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for outcome in outcomes:
        one: dict[str, Any] = {"line": outcome.line, "name": outcome.name}
        if outcome.reason is not None:
            one["error"] = outcome.reason.reason
        for exchange in outcome.exchanges:
            request = exchange.request
            one |= {"method": request.method, "url": request.url}
            one["headers"] = [list(header) for header in request.headers]
            one["body"] = None if request.body is None else request.body.decode()
        found.append(one)
    return found


@pytest.mark.parametrize("name", sorted(path.name for path in DOCUMENTS.glob("*.org")))
def test_a_document_means_what_verb_reads_in_it(name: str) -> None:
    outcomes = evaluate((DOCUMENTS / name).read_text(), dry_run=True).outcomes
    expected = [{k: v for k, v in one.items() if k != "by"} for one in EXPECTED[name]]
    assert told(outcomes) == expected


@pytest.fixture
def server() -> Iterator[RawServer]:
    def answer(connection: socket.socket, request: bytes) -> None:
        path = request.split(b" ", 2)[1].decode()
        if path == "/redirect":
            moved = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 0\r\n\r\n"
            connection.sendall(moved)
            return
        if path == "/hostile":
            connection.sendall(response(HOSTILE.encode(), "Content-Type: text/plain"))
            return
        body = json.dumps({"path": path, "covers": [7]}).encode()
        connection.sendall(response(body, "Content-Type: application/json", "X-Id: 9"))

    with RawServer(answer) as running:
        yield running


class Sent:
    """A document evaluated with a real server: its text, outcomes, and the request lines."""

    def __init__(self, server: RawServer, text: str, **options: Any) -> None:
        before = len(server.requests)
        done = evaluate(text, url=server.url, **options)
        self.text = done.text.replace(server.url, "HOST")
        self.notices = done.plan.warnings
        lines = [raw.split(b"\r\n", 1)[0].decode() for raw in server.requests[before:]]
        self.lines = [line.removesuffix(" HTTP/1.1") for line in lines]
        self.outcomes, self.states, self.reasons = done.outcomes, done.states, done.reasons


TREE = """* API :verb:
template HOST
Accept: application/json

** List
get /list

** Create
post /create

{"a": 1}
** List
get /again
"""


def test_results_stand_named_below_their_headings_as_ob_verb_wraps_them(server: RawServer) -> None:
    run = Sent(server, TREE)
    assert run.states == ["done"] * 3
    assert run.lines == ["GET /list", "POST /create", "GET /again"]
    assert run.text.startswith(
        """* API :verb:
template HOST
Accept: application/json

** List
get /list

#+RESULTS: List
#+begin_src ob-verb-response
HTTP/1.1 200 OK
"""
    )
    assert (
        """

{
  "path": "/create",
  "covers": [
    7
  ]
}
#+end_src

** List
get /again

#+RESULTS: List
"""
        in run.text
    )


@pytest.mark.parametrize("path", ["/list", "/hostile"])
def test_evaluating_again_sends_the_same_and_changes_nothing(server: RawServer, path: str) -> None:
    text = TREE.replace("/create", path).replace("/again", path)
    first = Sent(server, text)
    bodies = [raw.partition(b"\r\n\r\n")[2] for raw in server.requests]
    second = Sent(server, first.text)
    assert second.text == first.text
    assert second.lines == first.lines
    assert [raw.partition(b"\r\n\r\n")[2] for raw in server.requests[3:]] == bodies
    assert b'{"a": 1}' in bodies


def test_text_below_a_result_stays_and_is_not_sent(server: RawServer) -> None:
    first = Sent(server, TREE, names=("Create",))
    text = first.text.replace("#+end_src\n", "#+end_src\nmy own note\n")
    assert text != first.text
    assert Sent(server, text, names=("Create",)).text == text
    assert server.requests[-1].endswith(b'\r\n\r\n{"a": 1}')


# The bodies are what verb 3.2 in Emacs 28 reads, of the block what ob-verb does.
@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("* A :verb:\npost HOST/\n\nbody\n* B\n", b"body"),
        ("* A :verb:\npost HOST/\n\nbody\n\n* B\n", b"body\n"),
        ("* A :verb:\npost HOST/\n\nbody \n\n\n* B\n", b"body \n\n"),
        ("* A :verb:\npost HOST/\n\nbody", b"body"),
        ("* A :verb:\npost HOST/\n\nbody\n", b"body\n"),
        ("* A :verb:\npost HOST/\n\n#+begin_src json\n{}\n#+end_src", b"{}\n"),
        ("* A\n#+begin_src verb\npost HOST/\n\nbody\n#+end_src\n", b"body"),
        ("* A\n#+begin_src verb\npost HOST/\n\nbody  \n\n\n#+end_src\n", b"body  \n\n"),
        ("* A :verb:\npost HOST/\n\n \n\n", b""),
    ],
)
def test_a_body_ends_as_verb_sends_it_also_with_a_result_below(
    server: RawServer, text: str, body: bytes
) -> None:
    run = Sent(server, text)
    for _ in range(2):
        assert server.requests[-1].partition(b"\r\n\r\n")[2] == body
        again = Sent(server, run.text)
        assert again.text == run.text
        run = again


def test_a_line_or_a_title_chooses_a_heading(server: RawServer) -> None:
    assert Sent(server, TREE, lines=(6,)).lines == ["GET /list"]
    assert Sent(server, TREE, lines=(11,)).lines == ["POST /create"]
    assert Sent(server, TREE, names=("List",)).lines == ["GET /list", "GET /again"]
    with pytest.raises(EvaluationError, match="no request named Delete"):
        Sent(server, TREE, names=("Delete",))


def test_a_template_that_is_chosen_says_what_it_lacks(server: RawServer) -> None:
    run = Sent(server, TREE, lines=(1,))
    assert run.lines == []
    assert run.reasons == [
        "a.org:2:10: no method here or in a parent heading: change `template` to `get` or `post`"
    ]


def test_nothing_without_verbs_tag_or_language_is_sent(server: RawServer) -> None:
    text = "* Plain\nget HOST/a\n** Below :rest:\nget HOST/b\n"
    run = Sent(server, text)
    assert (run.lines, run.text) == ([], text)
    with pytest.raises(EvaluationError, match="no request at this line"):
        Sent(server, text, lines=(2,))


def test_verb_blocks_have_the_results_that_their_op_asks_for(server: RawServer) -> None:
    block = "#+begin_src verb :wrap src ob-verb-response :op send {}\nget HOST/a\n#+end_src\n"
    body = Sent(server, block.format("get-body"))
    head = Sent(server, block.format("get-headers"))
    assert '#+RESULTS:\n#+begin_src ob-verb-response\n{\n  "path": "/a",' in body.text
    assert "X-Id: 9\nContent-Length: 29\n#+end_src" in head.text
    assert "HTTP/1.1" not in head.text
    assert Sent(server, body.text).text == body.text
    plain = Sent(server, "#+begin_src verb :op send get-headers\nget HOST/a\n#+end_src\n")
    assert ": X-Id: 9\n" in plain.text


def test_an_export_or_an_unknown_op_sends_nothing(server: RawServer) -> None:
    block = "#+begin_src verb :op {}\nget HOST/a\n#+end_src\n"
    exported = Sent(server, block.format("export curl"))
    assert (exported.states, exported.lines) == (["skipped"], [])
    unknown = Sent(server, block.format("send everything"))
    assert (unknown.states, unknown.lines) == (["failed"], [])
    assert "send get-body" in unknown.reasons[0]


STORED = """* API :verb:
template HOST
** Book
:properties:
:Verb-Store: book
:end:
get /book
** Cover
get /{{(verb-json-get (oref (verb-stored-response "book") body) covers -1)}}
X-Book: {{(verb-headers-get (verb-stored-response "book") "x-id")}}
"""


def test_a_stored_response_is_requested_once_whoever_needs_it(server: RawServer) -> None:
    assert Sent(server, STORED).lines == ["GET /book", "GET /7"]
    assert Sent(server, STORED, names=("Cover",)).lines == ["GET /book", "GET /7"]
    assert b"\r\nX-Book: 9\r\n" in server.requests[-1]


def test_a_stored_response_that_needs_itself_is_an_error(server: RawServer) -> None:
    text = STORED.replace("get /book", 'get /{{(oref (verb-stored-response "book") body)}}')
    run = Sent(server, text)
    assert run.lines == []
    assert all("book refers to itself" in reason for reason in run.reasons)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ('(verb-json-get (oref (verb-stored-response "book") body) "x")', "nothing found at x"),
        ('(verb-json-get (oref (verb-stored-response "book") body) covers)', "neither text"),
        ('(verb-json-get "[" 0)', "not valid JSON"),
        ('(verb-json-get "[1]")', "verb-json-get TEXT PATH"),
        ('(oref (verb-stored-response "other") body)', "property Verb-Store: other"),
        ('(oref (verb-stored-response "book") status)', "oref (verb-stored-response"),
        ("(oref book body)", "expected a response"),
        ("(oref (verb-stored-response) body)", "(verb-stored-response"),
        ('(verb-headers-get (verb-stored-response "book"))', "expected (verb-headers-get"),
        ('(verb-var "name")', "where NAME is a symbol"),
        ('(getenv "NOWHERE")', "NOWHERE is not set in the environment"),
        ("(verb-var a) (verb-var b)", "one expression"),
        ("(verb-var a", "unclosed"),
        (")", "invalid Lisp"),
        ("()", "Emacs Lisp is not run"),
        ("(verb-var nobody-knows)", "--var 'nobody-knows=VALUE'"),
        ('"a\\nb"', "line break"),
    ],
)
def test_a_tag_that_gives_nothing_says_why_and_is_not_sent(
    server: RawServer, code: str, reason: str
) -> None:
    text = STORED.partition("** Cover")[0] + f"** Bad\nget /bad/{{{{{code}}}}}\n"
    run = Sent(server, text, names=("Bad",))
    assert run.states == ["failed"]
    assert "GET /bad" not in "".join(run.lines)
    assert reason in run.reasons[0]


def test_the_environment_is_read_as_a_secret(server: RawServer) -> None:
    run = Sent(server, '* A :verb:\nget HOST/{{(getenv "USER")}}\n')
    assert run.lines == ["GET /annabel"]
    assert '"path": "/***"' in run.text


def test_properties_change_what_is_sent_or_are_errors(server: RawServer) -> None:
    text = "* A :verb:\n:properties:\n:Verb-{}\n:end:\nget HOST/redirect\n"
    assert Sent(server, text.format("Max-Redirections: 0")).lines == ["GET /redirect"]
    for given in ("Max-Redirections: 3", "Map-Request: f", "Map-Response: f", "Proxy: h:1"):
        run = Sent(server, text.format(given))
        assert (run.states, run.lines) == (["failed"], [])
        assert given.partition(":")[0] in run.reasons[0]


def test_preludes_are_json_in_the_document_or_beside_it(server: RawServer, tmp_path: Path) -> None:
    (tmp_path / "env.json").write_text('{"a": "file", "n": 1.50, "list": []}')
    (tmp_path / "bad.json").write_text("[1]")
    text = "#+verb-prelude: {}\n* A :verb:\nget HOST/{{{{(verb-var a)}}}}/{{{{(verb-var n)}}}}\n"
    assert Sent(server, text.format("env.json"), folder=tmp_path).lines == ["GET /file/1.50"]
    for given, reason in (
        ("env.el", "as JSON"),
        ('(verb-set-var "a" "b")', "without code"),
        ("bad.json", "a JSON object"),
        ("none.json", "none.json"),
    ):
        run = Sent(server, text.format(given), folder=tmp_path)
        assert (run.states, run.lines) == (["failed"], [])
        assert reason in run.reasons[0]


def test_a_body_is_sent_in_the_charset_of_its_content_type(server: RawServer) -> None:
    text = "* A :verb:\npost HOST/\nContent-Type: text/plain; charset={}\n\nä {}\n"
    Sent(server, text.format("latin-1", ""))
    assert server.requests[-1].endswith(b"\r\n\r\n\xe4 \n")
    for charset, more in (("nonsense", ""), ("latin-1", "€")):
        run = Sent(server, text.format(charset, more))
        assert (run.states, run.lines) == (["failed"], [])
        assert f"as {charset}" in run.reasons[0]


def test_a_block_takes_the_response_of_a_verb_block(server: RawServer) -> None:
    text = """#+name: first
#+begin_src verb
get HOST/a
#+end_src

#+begin_src verb :var got=first
post HOST/b

{{(verb-json-get (verb-var got) path)}}
#+end_src
"""
    run = Sent(server, text)
    assert run.lines == ["GET /a", "POST /b"]
    assert server.requests[-1].endswith(b"\r\n\r\n/a")


def test_thousands_of_headings_take_no_longer_each_than_a_few() -> None:
    """With quadratic costs, this would take minutes."""
    text = "* A :verb:\ntemplate https://a.example\n\n" + "body\n" * 1000
    text += "".join(f"** {n}\nget /{n}\n" for n in range(3000))
    outcomes = evaluate(text, dry_run=True).outcomes
    assert len(outcomes) == 3000
    assert outcomes[-1].exchanges[0].request.url == "https://a.example/2999"


def test_an_assertion_below_a_heading_is_checked_and_not_sent(server: RawServer) -> None:
    text = (
        f"* A :verb:\npost {server.url}/a\n# ?? status == 200\n\nbody\n\n"
        "?? status == 500\n# ?? body exists\n"
    )
    [outcome] = evaluate(text).outcomes
    assert [test.held for test in outcome.tests] == [True, False, True]
    assert server.requests[-1].endswith(b"\r\n\r\nbody\n")
