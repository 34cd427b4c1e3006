"""Random documents and a counting server: what orgrest reports is what happened.

Each document is written from a model of its requests. They can share a name, need each other,
capture values, have scripts or loops, have assertions that pass, fail or are misspelt, come from an
imported file, be setups or teardowns, be disabled, or be impossible to send. The server may be
busy, redirect (also in circles), demand credentials, or not respond. The model has a few rules of
its own for what is sent, in which order, and how each request ends. Everything that orgrest reports
about a run (records, HAR, JUnit, HTML, TAP, a dry run, the lenses of editors) is compared with the
model and with what the server received.
"""

from __future__ import annotations

import json
import re
import socket
import tempfile
from collections import Counter
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from components import needs_engine
from evaluated import Evaluated
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from servers import RawServer, response

from orgrest import classes
from orgrest.editor import outline
from orgrest.editor.analysis import Analysis
from orgrest.files import File
from orgrest.http.transport.client import Client
from orgrest.http.values import Inputs
from orgrest.reports import har, html, junit, tap
from orgrest.run.control import Control
from orgrest.run.outcomes import EvaluationError
from orgrest.run.plan import Choice
from orgrest.run.services import Services
from orgrest.run.settings import RetryPolicy, Settings
from orgrest.run.suite import unit

NAMES = ("a", "b", "c")
CAPTURES = ("c0", "c1")
BEFORE = {
    "sets": "< {%\nrequest.variables.set('set', 'by-script');\n%}",
    "throws": "< {%\nthrow new Error('no');\n%}",
}
AFTER = {
    "holds": "> {%\nclient.test('t', () => client.assert(response.status === 200));\n%}",
    "fails": "> {%\nclient.test('t', () => client.assert(response.status === 404));\n%}",
    "throws": "> {%\nthrow new Error('no');\n%}",
}
ARGUMENTS = ("", ":results value", ":results raw", ":headers no", ":wrap example", ":expect 2xx")
LIBRARY = "lib.http"
EXAMPLES = settings(
    max_examples=40,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@classes.frozen(eq=False)
class Request:
    """A request of the model. `need` is the name in a directive, `uses` are names in its URL.

    `via` is what the server does first: it is busy, redirects, or demands credentials. `captures`
    is a variable that is set to its path, `captured` a variable in its URL. `before` and `after`
    are its scripts, `arguments` those of its block.
    """

    path: str
    name: str | None = None
    uses: tuple[str, ...] = ()
    need: str | None = None
    again: bool = False
    turns: int | None = None
    holds: bool | None = None
    trouble: str | None = None
    part: str = "request"
    via: str = ""
    captures: str | None = None
    captured: str | None = None
    before: str | None = None
    after: str | None = None
    arguments: str = ""


@classes.frozen(eq=False)
class Document:
    """A document of the model, and the document that it imports."""

    kind: str
    requests: tuple[Request, ...]
    library: tuple[Request, ...] = ()


@st.composite
def documents(draw: st.DrawFn) -> Document:
    kind = draw(st.sampled_from(["http", "http", "org", "org", "verb"]))
    paths = (f"/r{number}" for number in range(100))
    requests = draw(st.lists(_requests(kind), min_size=1, max_size=6))
    library = draw(st.lists(_requests("lib"), max_size=2)) if kind == "http" else []
    return Document(
        kind,
        tuple(classes.evolve(request, path=next(paths)) for request in requests),
        tuple(classes.evolve(one, path=next(paths)) for one in library),
    )


def _requests(kind: str) -> st.SearchStrategy[Request]:
    name = st.one_of(st.none(), st.sampled_from(NAMES))
    plain = kind != "http"
    org = kind == "org"
    seldom = [None] * 5
    return st.builds(
        Request,
        path=st.just(""),
        name=name,
        uses=st.lists(st.sampled_from(NAMES), max_size=1 if plain else 2).map(tuple),
        need=st.none() if plain else name,
        again=st.booleans() if kind == "http" else st.just(False),
        turns=st.none() if plain else st.sampled_from([None, None, None, 0, 1, 3]),
        holds=st.sampled_from([None, True, False]),
        trouble=st.sampled_from([*[None] * 6, *TROUBLE[kind]]),
        part=st.just("request")
        if kind == "lib"
        else st.sampled_from(["request", "request", "request", "setup", "teardown"]),
        via=st.sampled_from(VIA[kind]),
        captures=st.sampled_from([*seldom, *CAPTURES]) if org else st.none(),
        captured=st.sampled_from([*seldom, *CAPTURES]) if org else st.none(),
        before=st.none() if plain else st.sampled_from([*seldom, *BEFORE]),
        after=st.none() if plain else st.sampled_from([*seldom, *AFTER]),
        arguments=st.sampled_from(ARGUMENTS) if org else st.just(""),
    ).map(partial(_possible, kind))


MISSPELT = {"assertion": "?? statsu == 200", "comment": "# ?? staus == 200"}
"""Misspelt assertions. They must be errors: otherwise, nothing would be checked."""
TROUBLE = {
    "http": ["undefined", "refused", "disabled", "disabled", *MISSPELT],
    "lib": ["undefined", "refused", "disabled", *MISSPELT],
    "org": ["undefined", "refused", "disabled", "language", *MISSPELT],
    "verb": ["undefined", "refused"],
}
VIA = {
    "http": ["", "", "", "/busy", "/moved", "/digest", "/dropped", "/loop"],
    "org": ["", "", "", "/moved", "/dropped", "/loop"],
    "verb": ["", "", "/moved"],
    "lib": ["", "", "/moved"],
}


def _possible(kind: str, request: Request) -> Request:
    """Return a request without features that its language or its other features exclude."""
    if kind == "verb":
        return classes.evolve(request, holds=None)
    if request.trouble == "language":
        return classes.evolve(request, name=None, captures=None, part="request")
    # a block that captures answers with JSON, which others do not use as it is
    return classes.evolve(request, name=None) if request.captures else request


# ------------------------------------------------------------------------------------ as text


def written(document: Document, url: str) -> tuple[str, str]:
    """Return the texts of the document and of its library."""
    if document.kind != "http":
        block = _block if document.kind == "org" else _heading
        return "\n".join(block(request, url) for request in document.requests), ""
    head = f"import {LIBRARY}\n\n" if document.library else ""
    own, library = (
        "".join(_in_file(one, url) for one in every)
        for every in (document.requests, document.library)
    )
    return head + own, library


def _in_file(request: Request, url: str) -> str:
    lines = ["###"]
    lines += [f"# @name {request.name}"] if request.name else []
    lines += (
        [f"# @{'force-ref' if request.again else 'ref'} {request.need}"] if request.need else []
    )
    lines += [f"# @loop for {request.turns}"] if request.turns is not None else []
    lines += [f"# @tag {request.part}"] if request.part != "request" else []
    lines += ["# @disabled"] if request.trouble == "disabled" else []
    lines += [BEFORE[request.before]] if request.before else []
    uses = "".join(f"&{{{{{name}.response.body.$.path}}}}" for name in request.uses)
    uses += "&{{set}}" * (request.before == "sets")
    lines += [
        f"GET {_target(request, url)}?q{uses}{'&{{nowhere}}' * (request.trouble == 'undefined')}"
    ]
    lines += ["Authorization: Digest user password"] if request.via == "/digest" else []
    lines += [""]
    lines += [AFTER[request.after]] if request.after else []
    lines += (
        [f"?? body path {'==' if request.holds else '!='} {request.path}"]
        if request.holds is not None
        else []
    )
    lines += [MISSPELT[request.trouble]] if request.trouble in MISSPELT else []
    return "\n".join([*lines, "", ""])


def _block(request: Request, url: str) -> str:
    lines = [f"* heading {':' + request.part + ':' if request.part != 'request' else ''}"]
    lines += [f"#+name: {request.name}"] if request.name else []
    arguments = "".join(f" :var u{at}={name}" for at, name in enumerate(request.uses))
    arguments += " :eval no" * (request.trouble == "disabled")
    language = "httpp" if request.trouble == "language" else "http"
    lines += [f"#+begin_src {language}{arguments} {request.arguments}".rstrip()]
    uses = "".join(f"&{{{{u{at}}}}}" for at in range(len(request.uses)))
    uses += f"&{{{{{request.captured}}}}}" if request.captured else ""
    lines += [
        f"GET {_target(request, url)}?q{uses}{'&{{nowhere}}' * (request.trouble == 'undefined')}"
    ]
    lines += (
        [f"-> jq-set-var :{request.captures} .path"] if request.captures else ["Accept: text/plain"]
    )
    if request.holds is not None:
        start = "# ?? body path" if request.captures else "?? body"  # restclient's captures
        lines += ["", f"{start} {'==' if request.holds else '!='} {request.path}"]
    lines += ["", MISSPELT[request.trouble]] if request.trouble in MISSPELT else []
    return "\n".join([*lines, "#+end_src", ""])


def _heading(request: Request, url: str) -> str:
    tags = f":verb:{request.part}:" if request.part != "request" else ":verb:"
    lines = [f"* heading {tags}"]
    lines += [":PROPERTIES:", f":Verb-Store: {request.name}", ":END:"] if request.name else []
    uses = "".join(
        f'&{{{{(verb-json-get (oref (verb-stored-response "{name}") body) "path")}}}}'
        for name in request.uses
    )
    uses += "&{{(verb-var nowhere)}}" * (request.trouble == "undefined")
    return "\n".join([*lines, f"get {_target(request, url)}?q{uses}", ""])


def _target(request: Request, url: str) -> str:
    host = "http://127.0.0.1:1" if request.trouble == "refused" else url
    return f"{host}{request.via}{request.path}"


# ------------------------------------------------------------------------- what should happen


@classes.define
class Model:
    """The few rules by which requests are sent. `log` is what the server receives."""

    document: Document
    log: list[str] = classes.field(factory=list)
    came_to: dict[int, list[str]] = classes.field(factory=dict)
    told: set[int] = classes.field(factory=set)
    extra: list[tuple[str, Request]] = classes.field(factory=list)
    captured: dict[str, str] = classes.field(factory=dict)
    _busy: set[str] = classes.field(factory=set)
    _open: list[int] = classes.field(factory=list)

    def run(self) -> list[tuple[Request, list[str]]]:
        """Send everything. Return each request of the document with its iterations' results."""
        done: list[tuple[Request, list[str]]] = []
        parts: dict[str, list[Request]] = {"setup": [], "request": [], "teardown": []}
        for request in self.document.requests:
            parts[request.part].append(request)
        if not parts["request"]:
            return []
        for request in [request for request in parts["request"] if request.trouble == "language"]:
            parts["request"].remove(request)
            done.append((request, ["error"]))
        if not parts["request"]:
            return done
        ready = True
        begun = False
        for request in (*parts["setup"], *parts["request"]):
            if not ready:
                done.append((request, self.came_to.get(id(request)) or ["skipped"]))
                self.told.add(id(request))
                continue
            begun = True
            outcome = self._at_its_place(request)
            done.append((request, outcome))
            ready = request.part != "setup" or all(
                word in ("passed", "skipped") for word in outcome
            )
        done += [(one, self._at_its_place(one)) for one in parts["teardown"] if begun]
        return done

    def _at_its_place(self, request: Request) -> list[str]:
        words: list[str] = []
        if request.trouble != "disabled" or id(request) in self.came_to:
            words = self.send(request, own=True)
        self.told.add(id(request))
        return words or ["skipped"]

    def send(self, request: Request, *, own: bool = False, again: bool = False) -> list[str]:
        """Send a request unless it was sent before. Return the result of each of its iterations.

        With `again`, send it in any case.
        """
        if id(request) in self._open:
            return ["error"]
        anew = id(request) in self.came_to
        if anew and not again:
            return self.came_to[id(request)]
        self._open.append(id(request))
        turns = 1 if request.turns is None or self._is_misspelt(request) else request.turns
        words = []
        for left in reversed(range(turns)):
            words.append(self._turn(request))
            if left and words[-1] == "error":  # the later iterations are not sent
                words.append("skipped")
                break
        self._open.pop()
        if not anew:
            self.came_to[id(request)] = words
        elsewhere = request in self.document.library or id(request) in self.told
        if anew or (not own and elsewhere):
            self.extra += [(word, request) for word in words if word != "skipped"]
        return words

    def _turn(self, request: Request) -> str:
        if self._is_misspelt(request):
            return "error"
        if request.need:
            other = self._meant(request.need, request)
            if other is None or self._is_disabled(other):
                return "error"
            if "error" in self.send(other, again=request.again):
                return "error"
        if request.before == "throws":
            return "error"
        used = ""
        for name in request.uses:
            other = self._meant(name, request)
            if other is None or self._is_disabled(other):
                return "error"
            if "error" in (self.send(other) or ["error"]):
                return "error"
            used += f"&{other.path}"
        if request.captured:
            if request.captured not in self.captured:
                return "error"
            used += f"&{self.captured[request.captured]}"
        if request.trouble in ("undefined", "refused", *MISSPELT):
            return "error"
        used += "&by-script" * (request.before == "sets")
        target = f"{request.via}{request.path}?q{used}"
        if request.via == "/busy" and request.path not in self._busy:
            self._busy.add(request.path)
            self.log.append(target)
        if request.via in ("/dropped", "/loop"):
            self.log.append(target)  # each as often as it is tried
            return "error"
        if request.via in ("/moved", "/digest"):
            self.log.append(target)
        self.log.append(target.removeprefix("/moved"))
        if request.after == "throws":
            return "error"
        if request.captures:
            self.captured[request.captures] = request.path
        return "failed" if request.holds is False or request.after == "fails" else "passed"

    def _is_misspelt(self, request: Request) -> bool:
        """Return whether a misspelt assertion makes a request fail before its first iteration."""
        return self.document.kind == "http" and request.trouble in MISSPELT

    def _is_disabled(self, other: Request) -> bool:
        """Return whether a request is not even sent when another one needs it."""
        return other.trouble == "disabled"

    def _meant(self, name: str, using: Request) -> Request | None:
        """Return the request that a name refers to in another request."""
        document = self.document
        if document.kind != "http":
            return next((request for request in document.requests if request.name == name), None)
        files = [document.requests, document.library]
        if using in document.library:
            files.reverse()
        for place, every in enumerate(files):
            named = [one for one in every if one.name == name]
            if not named:
                continue
            if place:
                return named[-1]
            at = every.index(using)
            above = [one for one in named if every.index(one) < at]
            return above[-1] if above else named[0]
        return None


# ------------------------------------------------------------------------------ what happens


def counting() -> RawServer:
    """Return a server that answers with the path, after doing what the path's prefix demands."""
    seen: set[str] = set()

    def answer(connection: socket.socket, request: bytes) -> None:
        head, target, _ = request.split(b" ", 2)
        path = target.decode().partition("?")[0]
        del head
        if path.startswith("/busy") and path not in seen:
            seen.add(path)
            connection.sendall(response(b"", "Retry-After: 0", status="503 Service Unavailable"))
            return
        if path.startswith("/dropped"):
            connection.shutdown(socket.SHUT_RDWR)
            return
        if path.startswith("/loop"):
            place = target.decode()
            connection.sendall(response(b"again", f"Location: {place}", status="302 Found"))
            return
        if path.startswith("/moved"):
            place = target.decode().removeprefix("/moved")
            connection.sendall(response(b"moved", f"Location: {place}", status="302 Found"))
            return
        if path.startswith("/digest") and b"digest username" not in request.lower():
            challenge = 'WWW-Authenticate: Digest realm="r", nonce="n", qop="auth"'
            connection.sendall(response(b"", challenge, status="401 Unauthorized"))
            return
        path = path.removeprefix("/busy").removeprefix("/digest")
        if b"accept: text/plain" in request.lower():
            connection.sendall(response(path.encode(), "Content-Type: text/plain"))
        else:
            body = json.dumps({"path": path}).encode()
            connection.sendall(response(body, "Content-Type: application/json"))

    return RawServer(answer)


def ran(path: Path) -> list[dict[str, Any]]:
    """Run a document as `orgrest test` does, and return its records in order."""
    records: list[dict[str, Any]] = []
    control = Control(Client)
    try:
        given_ = Settings(retry_policy=RetryPolicy(2, 0.0))
        assert (
            unit.run(
                unit.Unit(0, str(path)),
                given_,
                Services(client=control.client),
                control,
                records.append,
            )
            is None
        )
    finally:
        control.close()
    return sorted(records, key=lambda one: one["order"])


def evaluated(path: Path, text: str, **options: Any) -> list[Any]:
    return Evaluated(text, Inputs(directory=path.parent), file=str(path), **options).outcomes


def attempts(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return everything that was sent for a request."""
    return [
        {**one, **(one["sent"] or {})}
        for last in record["exchanges"]
        for one in (*last["earlier"], last)
    ]


@pytest.mark.slow
@EXAMPLES
@example(
    Document("org", (Request("/r0", "a", ("a",)), Request("/r1", None, ("a",)))),
)
@example(Document("http", (Request("/r0", uses=("a",)), Request("/r1", "a", turns=3))))
@example(Document("http", (Request("/r0", turns=0, trouble="assertion"),)))
@example(Document("http", (Request("/r0", turns=3, trouble="comment"),)))
@given(documents())
def test_what_is_reported_a_document_is_what_happened(document: Document) -> None:
    with tempfile.TemporaryDirectory() as folder, counting() as server:
        path = Path(folder) / ("d.http" if document.kind == "http" else "d.org")
        text, library = written(document, server.url)
        path.write_text(text)
        (Path(folder) / LIBRARY).write_text(library)
        records = ran(path)
        log = [request.split(b" ", 2)[1].decode() for request in server.requests]

        model = Model(document)
        expected = model.run()
        assert _tried(log) == _tried(model.log)
        every = (*document.requests, *document.library)
        thrown = {one.path for one in every if one.after or one.via == "/loop"}
        _check_records(records, expected, model, str(path), thrown)
        _check_exchanges(records, log, server.url)
        _check_reports(records, log, server.url)
        _check_plans(path, text, records, document)


def _tried(log: list[str]) -> list[str]:
    """Return a log in which repeated attempts occur once."""
    return [
        one
        for before, one in pairwise(["", *log])
        if one != before or not one.startswith(("/dropped", "/loop"))
    ]


def _check_records(
    records: list[dict[str, Any]],
    expected: list[tuple[Request, list[str]]],
    model: Model,
    file: str,
    thrown: set[str],
) -> None:
    """Each step has one record, with the outcome that its response implies."""
    words = Counter((one.path, word) for one, every in expected for word in every)
    words += Counter((one.path, word) for word, one in model.extra)
    by_line = _by_line(file)
    found: Counter[tuple[str, str]] = Counter()
    for record in records:
        lines = by_line if record["file"] == file else _by_line(str(Path(file).parent / LIBRARY))
        path = lines[record["line"]]
        found[path, record["outcome"]] += 1
        sent = [exchange for exchange in record["exchanges"] if exchange["response"] is not None]
        if record["outcome"] in ("passed", "failed"):
            assert sent
        else:
            assert not sent or path in thrown
            assert record["reason"]
            assert record["title"] or "unknown request language" in record["reason"]
        if record["outcome"] == "failed":
            assert not all(assertion["passed"] for assertion in record["assertions"])
        if record["outcome"] == "passed":
            assert all(assertion["passed"] for assertion in record["assertions"])
    assert found == words


def _by_line(file: str) -> dict[int, str]:
    """Return the path of each request by its line, or by the block's line in Org."""
    lines = Path(file).read_text().split("\n")
    found: dict[int, str] = {}
    heading = 0
    for number, line in enumerate(lines, 1):
        if line.startswith("* heading"):
            heading = number
        if line.startswith(("GET ", "get ")):
            path = "/" + line.partition("?")[0].rpartition("/")[2]
            found[number] = path
            if lines[number - 2].startswith("#+begin_src"):
                found[number - 1] = path
            if line.startswith("get "):
                found[heading] = path
    return found


def _check_exchanges(records: list[dict[str, Any]], log: list[str], url: str) -> None:
    """The attempts, in the order of their numbers, are the requests in the server's log."""
    every = [attempt for record in records for attempt in attempts(record)]
    every.sort(key=lambda one: one["number"])
    assert [one["number"] for one in every] == list(range(1, len(every) + 1))
    dropped = f"{url}/dropped"
    got = [one for one in every if one["response"] or one["request"]["url"].startswith(dropped)]
    assert [one["request"]["url"].removeprefix(url) for one in got] == log
    for record in records:
        paths = {attempt["request"]["url"].partition("?")[0] for attempt in attempts(record)}
        assert len({path.replace("/moved/", "/") for path in paths}) <= 1


def _check_reports(records: list[dict[str, Any]], log: list[str], url: str) -> None:
    counts = Counter(record["outcome"] for record in records)
    summary = {
        **{word: counts[word] for word in ("passed", "failed", "error", "skipped")},
        "requests": len(records),
        "duration": 0.0,
        "percentiles": [],
    }
    run = {"orgrest": "0", "started": "", "summary": {**summary, "ended": None}}
    if not records:
        return
    entries = json.loads(b"".join(har.pieces(run, records)))["log"]["entries"]
    answered = [entry for entry in entries if entry["response"]["status"]]
    assert [one["request"]["url"].removeprefix(url) for one in answered] == [
        one for one in log if not one.startswith("/dropped")
    ]
    suites = ElementTree.fromstring(b"".join(junit.pieces(run, records)))
    cases = suites.findall(".//testcase")
    assert len(cases) == len(records)
    for case, record in zip(cases, records, strict=True):
        inside = {child.tag for child in case} & {"failure", "error", "skipped"}
        words = {"failed": {"failure"}, "error": {"error"}, "skipped": {"skipped"}}
        assert inside == words.get(record["outcome"], set())
    page = b"".join(html.pieces(run, records)).decode()
    shown = re.findall(r'<details class="request (\w+)">.*?class="place">([^ <]+)', page, re.DOTALL)
    assert shown == [
        (record["outcome"], f"{record['file']}:{record['line']}") for record in records
    ]
    lines = b"".join(tap.pieces(run, records)).decode().split("\n")
    tests = [line for line in lines if line.startswith(("ok", "not ok"))]
    for number, (line, record) in enumerate(zip(tests, records, strict=True), 1):
        held = "not ok" if record["outcome"] in ("failed", "error") else "ok"
        assert line.startswith(f"{held} {number} - {record['file']}:{record['line']} ")
        assert ("# SKIP" in line) == (record["outcome"] == "skipped")


def _check_plans(path: Path, text: str, records: list[dict[str, Any]], document: Document) -> None:
    """A dry run and the lenses of an editor list the steps of the run."""
    dry = [(outcome.line, outcome.name) for outcome in evaluated(path, text, dry_run=True)]
    done = [(outcome.line, outcome.name) for outcome in evaluated(path, text)]
    by_line = _by_line(str(path))
    disabled = {request.path for request in document.requests if request.trouble == "disabled"}
    misspelt = [request.path for request in document.requests if request.trouble == "language"]
    # of a disabled one a dry run does not know whether another needs it, in all its turns
    turns = {path: len([1 for line, _ in dry if by_line[line] == path]) for path in disabled}
    assert [one for one in dry if by_line[one[0]] not in disabled] == [
        one for one in done if by_line[one[0]] not in disabled
    ]
    assert list(dict.fromkeys(dry)) == list(dict.fromkeys(done))
    assert set(turns.values()) <= {1}
    if records:
        own = [
            (record["line"], record["name"]) for record in records if record["file"] == str(path)
        ]
        assert {one for one in own if by_line[one[0]] not in misspelt} <= set(dry)
    kind: Any = "org" if path.suffix == ".org" else "http"
    analysis = Analysis(text, kind, lambda: Inputs(directory=path.parent))
    lines = [text.count("\n", 0, start) + 1 for start in outline.lenses(analysis)]
    steps = [line for line, _ in groupby(line for line, _ in dry)]
    assert lines == steps
    assert len(lines) == len(document.requests) - len(misspelt)


def test_a_choice_reports_what_was_sent_for_it(tmp_path: Path) -> None:
    records: list[dict[str, Any]] = []
    with counting() as server:
        path = tmp_path / "a.http"
        path.write_text(
            f"### login\nGET {server.url}/login\n?? status == 404\n"
            f"### a\nGET {server.url}/a?{{{{login.path}}}}\n### b\nGET {server.url}/b\n"
        )
        control = Control(Client)
        given_ = Settings(choice=Choice(("a",)))
        unit.run(
            unit.Unit(0, str(path)),
            given_,
            Services(client=control.client),
            control,
            records.append,
        )
        control.close()
        assert [request.split(b" ", 2)[1] for request in server.requests] == [
            b"/login",
            b"/a?/login",
        ]
    assert [(record["name"], record["outcome"]) for record in records] == [
        ("login", "failed"),
        ("a", "passed"),
    ]


SENT = {
    "a call of a block below": (
        "org",
        (
            "#+begin_src http :var u=get(id=7)\nGET HOST/a\n#+end_src\n\n#+name: get\n"
            "#+begin_src http :var id=0\nGET HOST/get?{{id}}\n\n?? header X == 1\n#+end_src\n"
        ),
        ["/get?7 failed", "/a passed", "/get?0 failed"],
    ),
    "a call of a teardown": (
        "org",
        (
            "#+begin_src http :var u=clean(id=7)\nGET HOST/a\n#+end_src\n* Clean :teardown:\n"
            "#+name: clean\n#+begin_src http :var id=0\nGET HOST/clean?{{id}}\n#+end_src\n"
        ),
        ["/clean?7 passed", "/a passed", "/clean?0 passed"],
    ),
    "a block that processes its own result": (
        "org",
        "#+name: a\n#+begin_src http :post a(x=*this*) :var x=0\nGET HOST/a\n#+end_src\n",
        ["/a passed", "/a passed"],
    ),
    "a request that is disabled after it was needed": (
        "http",
        (
            "@stop = no\n### b\n# @ref a\nGET HOST/b\n> {% client.global.set('stop', 'yes'); %}\n"
            "### a\n# @disabled stop == 'yes'\nGET HOST/a\n?? status == 404\n"
        ),
        ["/b passed", "/a failed"],
    ),
    "a loop that gets shorter after it was needed": (
        "http",
        (
            "@items = [1,2,3]\n### b\nGET HOST/b?{{a.path}}\n\n{{\nexports.items = [1];\n}}\n"
            "### a\n# @loop for x of items\nGET HOST/{{x}}\n?? body path == /1\n"
        ),
        ["/b?/3 passed", "/1 passed", "/2 failed", "/3 failed"],
    ),
}


@needs_engine
@pytest.mark.parametrize("case", SENT)
def test_each_request_that_was_sent_is_reported_once(tmp_path: Path, case: str) -> None:
    kind, text, expected = SENT[case]
    with counting() as server:
        path = tmp_path / f"a.{kind}"
        path.write_text(text.replace("HOST", server.url))
        records = ran(path)
        log = [request.split(b" ", 2)[1].decode() for request in server.requests]
        reported = [
            f"{exchange['request']['url'].removeprefix(server.url)} {record['outcome']}"
            for record in records
            for exchange in record["exchanges"]
        ]
    assert reported == expected
    assert sorted(one.partition(" ")[0] for one in expected) == sorted(log)
    assert len(records) == len(expected)


@pytest.mark.parametrize("bail", [True, False])
def test_what_was_sent_before_the_end_of_a_run_is_not_called_skipped(
    tmp_path: Path, bail: bool
) -> None:
    records: list[dict[str, Any]] = []
    with counting() as server:
        path = tmp_path / "a.http"
        path.write_text(
            f"### a\nGET {server.url}/a?{{{{login.path}}}}\n?? status == 404\n"
            f"### b\nGET {server.url}/b\n### login\nGET {server.url}/login\n"
        )
        control = Control(Client)
        unit.run(
            unit.Unit(0, str(path)),
            Settings(bail=bail),
            Services(client=control.client),
            control,
            records.append,
        )
        control.close()
    found = [
        (record["name"], record["outcome"]) for record in sorted(records, key=lambda r: r["order"])
    ]
    assert found == [
        ("a", "failed"),
        ("b", "skipped" if bail else "passed"),
        ("login", "passed"),
    ]


@pytest.mark.parametrize("recorded", [True, False])
def test_a_request_that_finishes_as_its_run_is_abandoned_is_recorded_once(
    tmp_path: Path, recorded: bool
) -> None:
    with counting() as server:
        path = tmp_path / "a.http"
        path.write_text(f"### a\nGET {server.url}/a\n### b\nGET {server.url}/b\n")
        control = Control(Client)
        services = Services(client=control.client)
        opened = unit.Opened(unit.Unit(0, str(path)), Settings(), services)
        outcome = next(opened.run.outcomes(control))
        records = list(opened.records(outcome)) if recorded else []
        records += opened.abandon("interrupted")
        control.close()
    found = [(record["name"], record["outcome"], len(record["exchanges"])) for record in records]
    assert found == [("a", "passed", 1), ("b", "skipped", 0)]


@classes.frozen
class Placed:
    """A request for tests of positions. `above` and `below` are the blank lines around its text."""

    above: int
    below: int
    blank: str
    body: bool


PLACED = st.lists(
    st.builds(
        Placed,
        above=st.integers(0, 3),
        below=st.integers(0, 4),
        blank=st.sampled_from(["", "  ", "\t"]),
        body=st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


@EXAMPLES
@given(PLACED, st.sampled_from(["http", "org"]), st.sampled_from(["\n", "\r\n"]))
def test_the_request_at_a_line_is_the_one_above_it_up_to_the_next_separator(
    placed: list[Placed], kind: str, end: str
) -> None:
    with tempfile.TemporaryDirectory() as folder, counting() as server:
        lines: list[str] = []
        owners: list[int | None] = []
        for number, one in enumerate(placed):
            begin = "###" if kind == "http" else "#+begin_src http"
            text = [f"{'POST' if one.body else 'GET'} {server.url}/r{number}"]
            text += ["X: y", "", "a body"] if one.body else []
            blanks = [one.blank] * one.below
            own = [begin, *[one.blank] * one.above, *text, *blanks]
            own += ["#+end_src"] if kind == "org" else []
            lines += own
            owners += [number] * len(own)
            if kind == "org":
                lines += ["", "prose"]
                owners += [None, None]
        path = Path(folder) / f"d.{kind}"
        path.write_bytes(end.join([*lines, ""]).encode())
        for line, owner in enumerate(owners, 1):
            server.requests.clear()
            states = _sent_at(path, line)
            if owner is None:
                assert states == ["no request at this line"]
                assert not server.requests
            else:
                assert states == ["done"]
                assert [request.split(b" ", 2)[1].decode() for request in server.requests] == [
                    f"/r{owner}"
                ]


def _sent_at(path: Path, line: int) -> list[str]:
    """Send the request at a line. Return the states of the outcomes, or the error."""
    try:
        return [outcome.state for outcome in evaluated(path, File.read(path).text, lines=(line,))]
    except EvaluationError as error:
        return [error.reason]


@EXAMPLES
@given(
    st.lists(st.sampled_from([True, True, True, False, None]), min_size=1, max_size=4),
    st.integers(1, 3),
    st.booleans(),
    st.booleans(),
)
def test_with_bail_nothing_is_sent_after_a_failure_in_any_row_of_data_but_teardowns(
    held: list[bool | None], rows: int, setup: bool, teardown: bool
) -> None:
    """`held` says for each request whether its assertion holds, or is None for an error."""
    with tempfile.TemporaryDirectory() as folder, counting() as server:
        path = Path(folder) / "a.http"
        texts = [
            f"###\nGET {server.url}/r{number}?{{{{row}}}}{'{{nowhere}}' * (one is None)}\n"
            f"?? body path {'!=' if one is False else '=='} /r{number}\n"
            for number, one in enumerate(held)
        ]
        texts += [f"### setup\nGET {server.url}/s?{{{{row}}}}\n"] if setup else []
        texts += [f"### teardown\nGET {server.url}/t?{{{{row}}}}\n"] if teardown else []
        path.write_text("\n".join(texts))
        records = _with_rows(path, rows)
        log = [request.split(b" ", 2)[1].decode() for request in server.requests]
    first = next((at for at, one in enumerate(held) if not one), None)
    last = rows if first is None else 1
    expected: list[str] = []
    for row in range(1, last + 1):
        expected += [f"/s?{row}"] if setup else []
        sent = held if first is None else held[: first + (held[first] is False)]
        expected += [f"/r{number}?{row}" for number, _ in enumerate(sent)]
        expected += [f"/t?{row}"] if teardown else []
    assert log == expected
    for record in records:
        assert (record["outcome"] == "skipped") == (not record["exchanges"]) or record["reason"]
        if record["outcome"] == "skipped":
            assert record["reason"] == "an earlier request failed (--bail)"
    words = Counter(record["outcome"] for record in records)
    assert words["failed"] + words["error"] == (first is not None)
    assert {record["row"] for record in records} == set(range(1, rows + 1))


def _with_rows(path: Path, rows: int) -> list[dict[str, Any]]:
    """Run a document with --bail for several rows of data. Return the records in order."""
    records: list[dict[str, Any]] = []
    control = Control(Client)
    try:
        for row in range(1, rows + 1):
            one = unit.Unit(row, str(path), row=row, data={"row": str(row)})
            services = Services(client=control.client)
            unit.run(one, Settings(bail=True), services, control, records.append)
    finally:
        control.close()
    return sorted(records, key=lambda one: one["order"])
