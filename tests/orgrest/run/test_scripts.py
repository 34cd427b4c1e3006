"""Scripts of httpyac's, as they are: when they run, what they see, what they change in requests.

What is expected is what httpyac 6.16.7 sent of the same text to a recording server, and the outcome
that it gave each test, where nothing else is said.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from servers import RawServer, response

from orgrest.http.transport import Client
from orgrest.http.values import Inputs
from orgrest.run.outcomes import Outcome
from orgrest.run.run import Run
from orgrest.run.settings import Settings

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    find_spec("quickjs") is None, reason="pip install quickjs: the engine for scripts is missing"
)


@pytest.fixture(scope="module")
def recorder() -> Iterator[RawServer]:
    def answer(connection: socket.socket, request: bytes) -> None:
        path = request.split(b" ", 2)[1].decode()
        body = json.dumps({"path": path, "token": f"t{path}", "id": 41, "list": [1, "two"]})
        connection.sendall(response(body.encode(), "Content-Type: application/json", "X-Id: 9"))

    with RawServer(answer) as running:
        yield running


class Ran:
    """The outcomes of a request file, and what arrived: method, path, headers, body."""

    def __init__(self, server: RawServer, folder: Path, text: str, **options: Any) -> None:
        server.requests.clear()
        inputs = Inputs(directory=folder, **options.pop("inputs", {}))
        with Client() as client:
            run = Run(
                text.replace("HOST", server.url),
                file="a.http",
                settings=attrs.evolve(Settings(**options), inputs=inputs),
                client=client,
                plain=True,
            )
            self.outcomes: list[Outcome] = list(run.outcomes())
        self.raw = list(server.requests)

    @property
    def sent(self) -> list[str]:
        return [" ".join(one.decode().split(" ", 2)[:2]) for one in self.raw]

    def header(self, name: str, index: int = -1) -> list[str]:
        lines = self.raw[index].decode().partition("\r\n\r\n")[0].split("\r\n")[1:]
        pairs = (line.partition(": ") for line in lines)
        return [value for found, _, value in pairs if found.lower() == name.lower()]

    def body(self, index: int = -1) -> str:
        return self.raw[index].decode().partition("\r\n\r\n")[2]

    @property
    def reasons(self) -> list[str]:
        return [str(one.reason) for one in self.outcomes if one.reason is not None]

    @property
    def states(self) -> list[str]:
        return [one.state for one in self.outcomes]

    @property
    def tests(self) -> list[tuple[str, bool]]:
        return [(test.name, test.held) for one in self.outcomes for test in one.tests]

    @property
    def log(self) -> list[str]:
        notes = (note for one in self.outcomes for note in one.notes)
        return [note.removeprefix("log: ") for note in notes if note.startswith("log: ")]


@pytest.fixture
def run(recorder: RawServer, tmp_path: Path):  # type: ignore[no-untyped-def]  # a function of Ran
    def start(text: str, **options: Any) -> Ran:
        return Ran(recorder, tmp_path, text, **options)

    return start


# --------------------------------------------------------------------------------- when they run


def test_a_script_below_the_body_runs_after_the_response_and_changes_nothing_sent(run) -> None:
    done = run(
        "{{\nexports.n = 1;\n}}\nGET HOST/n/{{n}}\n\n{{\nexports.n = 2;\n}}\n"
        "###\nGET HOST/then/{{n}}\n"
    )
    assert done.sent == ["GET /n/1", "GET /then/2"]


def test_scripts_run_at_the_moments_that_they_name(run) -> None:
    done = run(
        "{{+\nconsole.log('every');\n}}\n"
        "{{@after\nconsole.log('end');\n}}\n{{\nconsole.log('above');\n}}\n"
        "{{@response\nconsole.log('response');\n}}\n{{@request\nconsole.log('request');\n}}\n"
        "POST HOST/a\n\nbody\n\n{{\nconsole.log('below', response.statusCode);\n}}\n"
        "{{@js\nconsole.log('below, too');\n}}\n###\nGET HOST/b\n"
    )
    assert done.log == [
        "every",
        "above",
        "request",
        "response",
        "below 200",
        "below, too",
        "end",
        "every",
    ]


def test_a_script_of_the_file_runs_once_and_that_for_a_moment_for_each_request(run) -> None:
    done = run(
        "{{\nconsole.log('once');\n}}\n###\n{{@response\nconsole.log('each');\n}}\n"
        "{{@request\nrequest.headers['X-Global'] = 'yes';\n}}\n###\nGET HOST/a\n###\nGET HOST/b\n"
    )
    assert done.log == ["once", "each", "each"]
    assert done.header("x-global", 0) == done.header("x-global", 1) == ["yes"]


def test_when_a_script_of_the_file_fails_no_request_is_sent(run) -> None:
    done = run("{{\nnothing();\n}}\n###\nGET HOST/a\n###\nGET HOST/b\n")
    assert (done.sent, done.states) == ([], ["failed", "failed"])
    assert done.reasons == ["a.http:2: script: ReferenceError: 'nothing' is not defined"] * 2


@pytest.mark.parametrize("moment", ["", "@request"])
def test_a_cancelled_request_is_not_sent_and_runs_no_further_script(run, moment: str) -> None:
    done = run(
        f"{{{{{moment}\nexports.$cancel = true;\n}}}}\n{{{{@request\nconsole.log('no');\n}}}}\n"
        "GET HOST/a\n\n{{\nconsole.log('no');\n}}\n###\nGET HOST/b\n"
    )
    assert (done.sent, done.states, done.log) == (["GET /b"], ["skipped", "done"], [])


def test_a_dry_run_runs_what_needs_no_response(run) -> None:
    done = run(
        "{{\nexports.n = 1;\n}}\nGET HOST/n/{{n}}\n\n{{@request\nrequest.url += '?b=2';\n}}\n"
        "{{\nexports.n = response.parsedBody.id;\n}}\n###\nGET HOST/then/{{n}}\n",
        dry_run=True,
    )
    assert done.sent == []
    urls = [one.exchanges[0].request.url.split("/", 3)[3] for one in done.outcomes]
    assert urls == ["n/1?b=2", "then/1"]


# ----------------------------------------------------------------- what they change in requests


def test_a_request_is_sent_as_the_script_above_it_left_it(run) -> None:
    done = run(
        "@key = secret\n{{\nrequest.method = 'PUT';\nrequest.url = 'HOST/changed/{{key}}';\n"
        "request.body = JSON.stringify({k: '{{key}}'});\n"
        "request.headers = {'Content-Type': 'application/json'};\n}}\nPOST HOST/old\nX-Old: 1\n"
    )
    assert done.sent == ["PUT /changed/secret"]
    assert done.body() == '{"k":"secret"}'
    assert done.header("content-type") == ["application/json"]
    assert done.header("x-old") == []


def test_a_request_is_signed_by_a_script_that_has_what_is_sent(run) -> None:
    done = run(
        "@key = secret\n{{\nrequest.headers['X-Above'] = request.url.split('?')[1];\n"
        "request.headers.accept = 'text/x';\n}}\n"
        "POST HOST/sign?a={{key}}\nAccept: application/json\nX-A: 1\nX-A: 2\n\n"
        '{"a": "{{key}}"}\n\n{{@request\nrequest.headers["X-Length"] = request.body.length;\n'
        "request.url += '&b=2';\nrequest.body += '!';\n}}\n"
    )
    assert done.sent == ["POST /sign?a=secret&b=2"]
    assert done.body() == '{"a": "secret"}!'
    assert done.header("accept") == ["text/x"]
    assert done.header("x-a") == ["1", "2"]
    assert done.header("x-above") == ["a=secret"]
    assert done.header("x-length") == ["15"]


def test_a_body_that_is_no_text_is_sent_as_it_is_where_a_script_leaves_it(
    run, tmp_path: Path
) -> None:
    (tmp_path / "data.bin").write_bytes(b"\xff\x00\xfe")
    done = run("POST HOST/\n\n< data.bin\n\n{{@request\nrequest.headers.a = 'b';\n}}\n")
    assert done.raw[0].endswith(b"\xff\x00\xfe")
    assert done.raw[0].count(b"a: b") == 1


@pytest.mark.parametrize(
    ("moment", "code", "said"),
    [
        ("", "request.timeout = 5", "request.timeout is not known here"),
        ("", "request.body = {a: 1}", "request.body is a text, not object"),
        ("", "request.method = 'A B'", "made of the method what is none: 'A B'"),
        ("@request", "request.url = 'file:///etc/passwd'", "made of the URL what is none"),
        ("@request", "request.headers['a b'] = 1", "made a header that cannot be sent: 'a b'"),
        ("@request", "request.headers.a = 'b\\r\\nc: d'", "made a header that cannot be sent"),
        ("", "request.headers.a = 'b\\r\\nc: d'", "holds a line break"),
        ("", "request.url = '/x{{' + 'key}}'", "puts {{key}} into the request, which stands"),
    ],
)
def test_a_change_that_cannot_be_sent_is_told_and_nothing_is_sent(
    run, moment: str, code: str, said: str
) -> None:
    done = run(f"@key = secret\n{{{{{moment}\n{code}\n}}}}\nPOST HOST/\n\nbody\n")
    assert (done.sent, done.states) == ([], ["failed"])
    assert said in done.reasons[0]


def test_no_text_of_a_server_takes_a_value_into_a_request(run, tmp_path: Path) -> None:
    (tmp_path / "http-client.private.env.json").write_text('{"dev": {"key": "hidden-key"}}')
    text = (
        "GET HOST/{{key}}\n###\nGET HOST/%7B%7Bkey%7D%7D\n###\n"
        "{{\nrequest.body = decodeURIComponent(response.parsedBody.path);\n}}\nPOST HOST/\n"
    )
    done = run(text, inputs={"environments": ("dev",)})
    assert done.states == ["done", "done", "failed"]
    assert len(done.sent) == 2


def test_credentials_do_not_go_to_the_server_that_a_script_chooses(run) -> None:
    done = run(
        "{{@request\nrequest.url = 'http://localhost:1/';\n}}\n"
        "GET HOST/\nAuthorization: Digest user password\n"
    )
    assert done.sent == []
    assert "has credentials for its server" in done.reasons[0]


def test_a_body_with_files_is_not_changed_where_they_are_not_seen(run, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("data")
    text = "{{MOMENT\nrequest.body += '!';\n}}\nPOST HOST/\n\n< data.txt\n"
    assert "which a script above the request does not see" in run(
        text.replace("MOMENT", "")
    ).reasons[0]  # fmt: skip
    assert run(text.replace("MOMENT", "@request")).body() == "data!"
