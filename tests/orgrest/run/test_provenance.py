"""A secret goes only where its request goes, however its bytes are transformed on the way.

The secrets in a request are known from how it was made. The tests search a second server, and all
files and lines that a run and an export leave, for the secret in common encodings.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from components import needs_engine
from evaluated import Evaluated
from servers import RawServer, response

from orgrest.http.values import Inputs

if TYPE_CHECKING:
    from pathlib import Path

SECRET = 's3"cr&t +v\u00e4lue'
LINES = "first line\nsecond-l1ne"
WORD = "w\u00f6rd-s3cret"
HEAD = "@t = {{$processEnv SECRET}}\n@lines = {{$processEnv LINES}}\n@word = {{$processEnv WORD}}\n"
HEX = "Array.from(String(t)).map(c => c.charCodeAt(0).toString(16)).join('')"
FORM = "Content-Type: application/x-www-form-urlencoded\n"
PART = 'Content-Disposition: form-data; name="a"\n\n'

BODIES = {
    "plain": "POST HOST/\n\n{{t}}\n",
    "form": f"POST HOST/\n{FORM}\na=1&t={{{{t}}}}\n",
    "graphql": 'GRAPHQL HOST/\n\nquery { a(t: "{{t}}") }\n',
    "variables": 'GRAPHQL HOST/\n\nquery q($t: String) { a }\n\n{"t": "{{word}}"}\n',
    "url": "POST HOST/{{t}}?q={{word}}\n",
    "header": "POST HOST/\nAccept: {{word}}\nX-A: {{t}}\n\n{{word}}\n",
    "basic": "POST HOST/\nAuthorization: Basic {{word}} {{word}}\n\n{{word}}\n",
    "expression": "@h := base64(:word)\nPOST HOST/\nX: {{h}}\n\n{{h}} {{word}}\n",
    "json": 'POST HOST/\nContent-Type: application/json\n\n{"a": {"b": "{{word}}"}}\n',
    "mixed": f"POST HOST/\n{FORM}\na=1&t={{{{t}}}}&w={{{{word}}}}&l={{{{lines}}}}\n",
    "multipart": "POST HOST/\nContent-Type: multipart/form-data; boundary=b\n\n"
    f"--b\n{PART}{{{{lines}}}}\n--b--\n",
}
SCRIPTS = {
    "body": f"{{{{\nrequest.body = {HEX}\n}}}}\nPOST HOST/\n\nx\n",
    "variable": f"{{{{\nexports.h = {HEX}\n}}}}\nPOST HOST/\n\n{{{{h}}}}\n",
    "environ": f"{{{{\nexports.h = {HEX.replace('(t)', '(process.env.SECRET)')}\n}}}}\n"
    "POST HOST/\n\n{{h}}\n",
    "url": f"{{{{\nrequest.url = request.url + {HEX}\n}}}}\nPOST HOST/\n",
    "header": f"{{{{\nrequest.headers.Accept = {HEX}\n}}}}\nPOST HOST/\n",
    "method": f"{{{{\nrequest.method = 'A' + {HEX}\n}}}}\nPOST HOST/\n",
    "request": "POST HOST/\n\n{{t}}\n\n{{@request\nrequest.body = "
    "[...request.body].map(c => c.charCodeAt(0).toString(16)).join('-')\n}}\n",
    "expression": "POST HOST/\n\n{{t}} {{[...t].reverse().join('')}}\n",
    "loop": "@loop = {{[...t].map(c => c + '-').join('')}}\n"
    "# @loop for x of [loop, 'x']\nPOST HOST/\n\n{{x}}\n",
    "later": f"{{{{\n$global.h = {HEX}\n}}}}\nGET HOST/one\n###\n"
    "{{\nrequest.body = $global.h\n}}\nPOST HOST/\n\nx\n",
}


def forms(secret: str) -> set[bytes]:
    """Return a secret in common encodings."""
    data = secret.encode()
    texts = {
        secret,
        quote(secret, safe=""),
        quote(secret, safe="").replace("%20", "+"),
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(secret, ensure_ascii=False)[1:-1], ensure_ascii=False)[1:-1],
        secret.replace("\n", "\r\n"),
        data.hex(),
        "".join(f"{ord(one):x}" for one in secret),
        base64.b64encode(data).decode(),
    }
    return {text.encode() for text in texts}


def leaked(text: str, folder: Path) -> tuple[list[bytes], list[str]]:
    """Send a document to a server that redirects. Return what leaked, and the errors."""
    with RawServer(response(b"{}")) as evil:

        def answer(connection, request: bytes) -> None:  # type: ignore[no-untyped-def]  # a socket
            path = request.split(b" ", 2)[1].decode("latin-1")
            place = f"Location: {evil.url}{path}"
            connection.sendall(response(b"", place, status="307 Temporary Redirect"))

        with RawServer(answer) as good:
            environ = {"SECRET": SECRET, "LINES": LINES, "WORD": WORD}
            inputs = Inputs(directory=folder, environ=environ)
            reasons = Evaluated(HEAD + text, inputs, url=good.url).reasons
        assert good.requests
        sent = b"".join(evil.requests)
    return [
        form for secret in (SECRET, LINES, WORD) for form in forms(secret) if form in sent
    ], reasons


@pytest.mark.parametrize("way", BODIES)
def test_a_body_with_a_secret_does_not_follow_in_any_encoding(way: str, tmp_path: Path) -> None:
    found, reasons = leaked(BODIES[way], tmp_path)
    assert found == []
    assert "contains a secret" in reasons[0]


@needs_engine
@pytest.mark.parametrize("way", SCRIPTS)
def test_what_a_script_made_of_a_secret_does_not_follow(way: str, tmp_path: Path) -> None:
    found, _ = leaked(SCRIPTS[way], tmp_path)
    assert found == []


@needs_engine
def test_what_holds_no_secret_follows(tmp_path: Path) -> None:
    text = "{{\nrequest.body = 'of a script'\n}}\nPOST HOST/\n\nx\n"
    with RawServer(response(b"{}")) as other:
        moved = response(b"", f"Location: {other.url}/", status="307 Temporary Redirect")
        with RawServer(moved) as good:
            done = Evaluated(text, Inputs(directory=tmp_path), url=good.url)
            assert (len(done.states), done.reasons) == (1, [])
        assert other.requests[0].endswith(b"of a script")


ORG = """\
#+begin_src http
@t = {{$processEnv WORD}}
POST HOST/?q={{t}}
X: {{t}}

{{t}}
#+end_src
"""


CALLS = """\
@t = {{$processEnv SECRET}}
@word = {{$processEnv WORD}}
{{
request.url = request.url + encodeURIComponent([...t].map(c => c.charCodeAt(0)).join('+'))
}}
POST HOST/
###
{{
request.url = request.url + [...word].map(c => c.charCodeAt(0).toString(2)).join('')
}}
POST HOST/
###
# @loop for x of [[...t].map(c => c.charCodeAt(0)).join('+'), 'x']
POST HOST/

{{x}}
###
GET HOST/

> {%
const made = [...word].map(c => c.charCodeAt(0).toString(2)).join('')
pm.sendRequest('HOST/?q=' + made, () => {})
%}
"""
MADE = {"+".join(str(ord(one)) for one in SECRET), "".join(f"{ord(one):b}" for one in WORD)}


@needs_engine
@pytest.mark.parametrize("status", ["200 OK", "307 Temporary Redirect"])
def test_what_a_script_makes_of_a_secret_is_in_no_report(status: str, tmp_path: Path) -> None:
    with RawServer(response(b"")) as evil:

        def answer(connection, request: bytes) -> None:  # type: ignore[no-untyped-def]  # a socket
            path = request.split(b" ", 2)[1].decode()
            place = f"Location: {evil.url}{path}"
            connection.sendall(response(b"", place, status=status))

        with RawServer(answer) as server:
            (tmp_path / "a.http").write_text(CALLS.replace("HOST", server.url))
            reports = {"--har": "r.har", "--html": "r.html", "--jsonl": "r.jsonl"}
            options = [word for pair in reports.items() for word in pair]
            subprocess.run(
                [sys.executable, "-m", "orgrest", "test", "a.http", *options],
                cwd=tmp_path, capture_output=True, timeout=120, check=False,
                env={**os.environ, "SECRET": SECRET, "WORD": WORD},
            )  # fmt: skip
            sent = b"".join(server.requests).replace(b"%2B", b"+")
    assert all(one.encode() in sent for one in MADE)
    for name in reports.values():
        shown = (tmp_path / name).read_text().replace("%2B", "+")
        assert [one for one in MADE if one in shown] == [], name
    told = b"".join(evil.requests).replace(b"%2B", b"+")
    assert [one for one in MADE if one.encode() in told] == []


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Return what runs and exports of all these documents leave behind, by place."""
    folder = tmp_path_factory.mktemp("left")
    texts = {"a.http": HEAD + "###\n".join(BODIES.values())}
    texts["b.http"] = HEAD + "###\n".join(SCRIPTS.values())
    environ = {**os.environ, "SECRET": SECRET, "LINES": LINES, "WORD": WORD}
    environ |= {"ORGREST_HISTORY": str(folder / "history")}

    def orgrest(*arguments: str) -> bytes:
        command = [sys.executable, "-m", "orgrest", *arguments]
        done = subprocess.run(
            command, cwd=folder, env=environ, capture_output=True, timeout=120, check=False
        )
        return done.stdout + done.stderr

    with RawServer(response(b"{}")) as server:
        for name, text in {**texts, "o.org": ORG}.items():
            (folder / name).write_text(text.replace("HOST", server.url))
        reports = {"--junit": "r.xml", "--tap": "r.tap", "--har": "r.har", "--html": "r.html",
                   "--report-json": "r.json", "--jsonl": "r.jsonl"}  # fmt: skip
        options = [word for pair in reports.items() for word in pair]
        found = {"lines of a test": orgrest("test", *texts, "o.org", *options)}
        found["--json"] = orgrest("--json", *texts)
        found["printed"] = orgrest(*texts)
        found["a dry run"] = orgrest("--dry-run", "--explain", *texts)
        found["a document"] = orgrest("o.org") + (folder / "o.org").read_bytes()
        found["shown history"] = orgrest("history", "show")
        for target in ("curl", "har", "postman", "python"):
            found[f"exported {target}"] = b"".join(
                orgrest("export", "--to", target, name) for name in texts
            )
        assert len(server.requests) > 3 * len({**BODIES, **SCRIPTS})
    found |= {name: (folder / name).read_bytes() for name in reports.values()}
    found["history"] = b"".join(path.read_bytes() for path in (folder / "history").iterdir())
    return found


PLACES = ("lines of a test", "--json", "printed", "a dry run", "a document", "shown history",
          "exported curl", "exported har", "exported postman", "exported python", "r.xml", "r.tap",
          "r.har", "r.html", "r.json", "r.jsonl", "history")  # fmt: skip


@pytest.mark.slow
@needs_engine
@pytest.mark.parametrize("place", PLACES)
def test_no_place_shows_a_secret_in_any_encoding(place: str, left: dict[str, bytes]) -> None:
    assert left[place]
    for secret in (SECRET, LINES, WORD):
        for form in forms(secret) | {quote(quote(secret)).encode(), secret[::-1].encode()}:
            at = left[place].find(form)
            assert at < 0, left[place][max(at - 300, 0) : at + 100]
