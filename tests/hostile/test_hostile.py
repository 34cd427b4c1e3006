"""Hostile documents and servers: a table of cases, with the required result of each.

`Outcome.check` must hold for every case: no traceback, nothing written but data below the folder,
nothing changed in the document but its results, no secret shown or written, no outside file sent.
`pytest --long` mutates documents and responses, for which only that is checked.
"""

from __future__ import annotations

import gzip
import random
import re
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest
from servers import RawServer, response

from orgrest.commands.main import main
from orgrest.rendering.content import DATA_ENDINGS

if TYPE_CHECKING:
    import socket

SECRET = "hunter2-canary-secret"
OUTSIDE = "outside-canary-content"
TEXT = "Content-Type: text/plain"
JSON = "Content-Type: application/json"


@attrs.frozen
class Case:
    """A document, the server's response to its first request, and the required result.

    `said` must be reported. `kept` must be in the document afterwards, `absent` must not. `sent`
    is the number of requests that reach the server, or None if it does not matter.
    """

    name: str
    document: str
    answer: bytes = response(b"ok", TEXT)
    status: int = 0
    said: str = ""
    absent: str = ""
    kept: str = ""
    sent: int | None = 1

    @property
    def file(self) -> str:
        return "a.http" if not self.document.startswith(("#+", "*", ":")) else "a.org"


def org(arguments: str, body: str = "GET HOST/") -> str:
    return f"#+begin_src http {arguments}\n{body}\n#+end_src\n"


def to(location: str) -> bytes:
    return response(b"", f"Location: {location}", status="302 Found")


CASES = [
    # what is written
    Case("conftest", org(":results file :file conftest.py"), status=1, said="data files", sent=0),
    Case("makefile", "GET HOST/\n\n>>! Makefile\n", status=1, said="data files", sent=0),
    Case("package", "GET HOST/\n\n>>! package.json\n", status=1, said="this name", sent=0),
    Case("hidden", "GET HOST/\n\n>>! .git/hooks.json\n", status=1, said="hidden", sent=0),
    Case("above", "GET HOST/\n\n>>! ../up.json\n", status=1, said="document's folder", sent=0),
    Case("hook", "GET HOST/\n\n>>! lefthook.json\n", status=1, said="this name", sent=0),
    Case("module", org(":results file :file node_modules/x/y.txt"), status=1, said="this name",
         sent=0),
    Case("foreign", "GET HOST/\n\n>>! mine.pdf\n", status=1, said="not written by orgrest", sent=0),
    Case("other document", "GET HOST/\n\n>>! b.org\n", status=1, said="data files", sent=0),
    # what a response is
    Case("link", org(":results value"), response(b"[[shell:ls]]", TEXT), kept="example\n[[shell"),
    Case("heading", org(":results value"), response(b"* TODO x", TEXT), absent="\n* TODO"),
    Case("code", org(":wrap src sh"), response(b"rm -r x", TEXT), absent="src sh\nrm"),
    Case("tangled", org(':results value :wrap "src json :tangle x"'), absent="begin_src json"),
    Case("block end", org(""), response(b"#+end_src\n* x", TEXT), absent="\n* x"),
    Case("export", org(":results value html"), response(b"<script>", TEXT), absent="begin_export"),
    Case("call", org(":results value"), response(b"call_f(1)", TEXT), kept="example\ncall_f"),
    Case("request", org(":results value code"), response(b"GET HOST/", TEXT), said="a request"),
    Case("escape", org(":results value"), response(b"\x1b]0;x\x07", TEXT), absent="\x1b"),
    Case("variables", org(""), response(b"Local Variables:\neval: x\nEnd:", TEXT), absent="bles:"),
    # what is read and run
    Case("outside", "POST HOST/\n\n< ../outside.txt\n", status=1, said="--allow-read", sent=0),
    Case("device", "POST HOST/\n\n< /dev/zero\n", status=1, said="--allow-read", sent=0),
    Case("link out", "POST HOST/\n\n< ./link.txt\n", status=1, said="--allow-read", sent=0),
    Case("lisp", org("", ':x := (delete-file "a")\nGET HOST/:x'), status=1, said="a.org:2", sent=0),
    Case("jq module", org(':jq "import \\"a\\" as x; ."'), response(b"1", JSON), 1, "modules"),
    # what is sent where
    Case("secret", org("", 'GET HOST/\nX: {{$processEnv CANARY}}'), sent=None, status=0),
    Case("scheme", "GET file:///etc/passwd\n", status=1, sent=0),
    Case("to file", "GET HOST/\n", to("file:///etc/x"), 1, "invalid redirect URL"),
    Case("to loop", "GET HOST/\n", to("/"), 1, "redirects", sent=11),
    # how much
    Case("bomb", "GET HOST/\n", response(gzip.compress(bytes(2**25)), "Content-Encoding: gzip")),
    Case("negative", "GET HOST/\n", response(b"", "Content-Length: -5", length=False), 1, "Length"),
    Case("circle", "run a.http\n###\nGET HOST/\n", status=1, said="in a cycle", sent=None),
    Case("no http", "GET HOST/\n", b"220 smtp ready\r\n", 1),
]  # fmt: skip


@attrs.frozen
class Outcome:
    """The result of running a document: its exit status, its output, and the folder."""

    folder: Path
    before: str
    file: str
    status: int
    told: str
    requests: list[bytes]

    @property
    def document(self) -> str:
        return (self.folder / self.file).read_text("utf-8", "surrogateescape")

    def check(self) -> None:
        """Assert what must hold for any document and any server."""
        assert "Traceback" not in self.told
        assert self.status in (0, 1, 2)
        assert SECRET not in self.told
        assert not any(OUTSIDE.encode() in request for request in self.requests)
        around = self.folder.parent
        assert {path.name for path in around.iterdir()} == {"work", "outside.txt", "state"}
        assert (around / "outside.txt").read_text() == OUTSIDE
        assert (self.folder / "mine.pdf").read_text() == "mine"
        for path in self.folder.rglob("*"):
            if path.name in (self.file, "mine.pdf", "link.txt") or path.is_dir():
                continue
            assert path.suffix.lower() in DATA_ENDINGS, path
            assert SECRET.encode() not in path.read_bytes()
        if self.file.endswith(".http"):
            assert self.document == self.before
        assert SECRET not in self.document


def run(
    folder: Path, case: Case, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Outcome:
    """Run a case in its own folder."""
    work = folder / "work"
    work.mkdir(parents=True)
    (folder / "state").mkdir()
    (folder / "outside.txt").write_text(OUTSIDE)
    (work / "mine.pdf").write_text("mine")
    (work / "link.txt").symlink_to(folder / "outside.txt")
    monkeypatch.chdir(work)
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.setenv("CANARY", SECRET)

    def answer(connection: socket.socket, request: bytes) -> None:
        echoed = case.answer if b"X:" not in request else response(request, TEXT)
        connection.sendall(echoed.replace(b"HOST", server.url.encode()))
        if b"Content-Length: " not in echoed or b"-5" in echoed:
            connection.close()

    with RawServer(answer) as server:
        text = case.document.replace("HOST", server.url)
        (work / case.file).write_bytes(text.encode("utf-8", "surrogateescape"))
        with pytest.raises(SystemExit) as ended:
            main([case.file, "--timeout", "10", "--max-requests", "50"])
        printed = capsys.readouterr()
        output = printed.out + printed.err
        return Outcome(work, text, case.file, int(ended.value.code or 0), output, server.requests)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_hostile_document_or_server_does_no_harm(
    tmp_path: Path,
    case: Case,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    done = run(tmp_path / "x", case, monkeypatch, capsys)
    done.check()
    assert done.status == case.status, done.told
    assert case.said in done.told
    assert case.kept in done.document
    assert not case.absent or case.absent not in done.document
    assert case.sent is None or len(done.requests) == case.sent


def mutated(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    """Return `data` with one to four random edits.

    Each edit removes a few bytes, repeats them, or replaces them with bytes from one of `others`.
    """
    for _ in range(chance.randrange(1, 5)):
        at = chance.randrange(len(data) + 1)
        end = min(len(data), at + chance.randrange(12))
        other = chance.choice(others)
        start = chance.randrange(len(other) + 1)
        piece = other[start : start + chance.randrange(40)]
        data = data[:at] + chance.choice([b"", piece, piece, data[at:end] * 3]) + data[end:]
    return data


def test_mutated_documents_and_responses_do_no_harm(
    tmp_path: Path,
    long_mode: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chance = random.Random(None if long_mode else 7)
    documents = [case.document.encode() for case in CASES]
    answers = [case.answer for case in CASES if len(case.answer) < 1000]
    checked = 0
    for number in range(3000 if long_mode else 60):
        document = mutated(chance.choice(documents), chance, documents)
        answer = chance.choice(answers)
        if chance.random() < 0.7:
            head, blank, body = answer.partition(b"\r\n\r\n")
            body = mutated(body, chance, answers)
            head = re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % len(body), head)
            answer = head + blank + body
        text = document.decode("utf-8", "surrogateescape")
        if "HOST" not in text or re.search(r"://(?!HOST)|HOST[^/\s]", text):
            continue  # nothing is sent to hosts that somebody made up
        case = Case(str(number), text, answer, sent=None)
        run(tmp_path / str(number), case, monkeypatch, capsys).check()
        checked += 1
    assert checked > 10
