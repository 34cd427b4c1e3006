"""History, cookies, variables and pasted requests, as a real client receives them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from components import needs_engine
from editors import Editor, plain
from pygls.exceptions import JsonRpcException
from servers import RawServer, by_path, response

JSON = "Content-Type: application/json"
SECRET = "hunter2-hunter2"
EXPERIMENTAL = {"orgrest": {"responses": True, "prompts": True, "outcomes": True}}


@pytest.fixture(scope="module")
def server() -> Iterator[RawServer]:
    answers: Any = {
        "/json": response(b'{"a":1}', JSON, "Set-Cookie: session=abcdefgh; Max-Age=9999"),
        "/secret": response(b'{"password": "%s"}' % SECRET.encode(), JSON),
        "/png": response(b"\x89PNG\r\n\x1a\n\0", "Content-Type: image/png"),
        "/big": response(b"[%s]" % b", ".join([b'"%s"' % (b"x" * 1000)] * 100), JSON),
    }
    with RawServer(by_path(answers)) as running:
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def running(home: Path) -> Iterator[Editor]:
    environ = {"HOME": str(home), "ORGREST_HISTORY": str(home / "history")}
    with Editor(environ=environ, experimental=EXPERIMENTAL) as editor:
        yield editor


def ask(editor: Editor, what: str, **params: Any) -> Any:
    return plain(editor.request(f"orgrest/{what}", params))


def runs(editor: Editor, folder: Path) -> list[Any]:
    return list(ask(editor, "history", folders=[folder.as_uri()])["runs"])


def test_what_was_sent_before_is_listed_the_last_first_for_the_folder_that_is_open(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    text = f"### One\n# @name one\nGET {server.url}/json\n\n?? status == 201\n\n### Two\nGET http://127.0.0.1:9/two\n"
    buffer = editor.open(tmp_path / "a.http", text, "http")
    buffer.command("orgrest.send", 2)
    buffer.command("orgrest.sendAllAbove", 7)
    last, first = runs(editor, tmp_path)
    assert runs(editor, tmp_path / "elsewhere") == []
    assert last["run"] in {run["run"] for run in ask(editor, "history")["runs"]}
    [one] = first["requests"]
    assert one == {
        "number": 0,
        "uri": buffer.uri,
        "line": 2,
        "name": "one",
        "outcome": "failed",
        "method": "GET",
        "url": f"{server.url}/json",
        "status": 200,
    }
    assert [(x["name"], x["outcome"], x["status"]) for x in last["requests"]] == [
        ("one", "failed", 200),
        ("Two", "error", None),
    ]


def test_a_request_of_an_imported_file_can_be_opened_wherever_it_was_sent(
    editor: Editor, server: RawServer, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.http").write_text("run ./lib.http\n")
    (tmp_path / "sub/lib.http").write_text(f"GET {server.url}/json\n")
    environ = os.environ | {"HOME": str(home), "ORGREST_HISTORY": str(home / "history")}
    command = [sys.executable, "-m", "orgrest", "test", "-q", "sub/a.http"]
    subprocess.run(command, cwd=tmp_path, env=environ, check=True)
    [run] = runs(editor, tmp_path)
    assert [one["uri"] for one in run["requests"]] == [(tmp_path / "sub/lib.http").as_uri()]


def test_the_history_of_a_folder_is_cleared_and_that_of_others_is_kept(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "a.http"
        editor.open(path, f"GET {server.url}/json\n", "http").command("orgrest.send", 0)
    cleared = ask(editor, "history", folders=[(tmp_path / "one").as_uri()], clear=True)
    assert cleared == {"runs": []}
    assert runs(editor, tmp_path / "one") == []
    assert len(runs(editor, tmp_path / "other")) == 1


def test_a_response_of_the_history_is_reported_as_when_it_came(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    for path, (pretty, language) in {
        "json": ('{\n  "a": 1\n}', "json"),
        "png": ("", "plaintext"),
    }.items():
        buffer = editor.open(tmp_path / f"{path}.http", f"GET {server.url}/{path}\n", "http")
        editor.notified.clear()
        buffer.command("orgrest.send", 0)
        [told] = editor.wait_for(lambda: editor.notified)
        run = runs(editor, tmp_path)[0]["run"]
        found = ask(editor, "history", run=run, number=0)
        assert found["request"] == told["request"] == {"uri": buffer.uri, "line": 0}
        now, then = (x["record"]["exchanges"][0]["response"]["body"] for x in (told, found))
        assert (then["pretty"], then["language"]) == (pretty, language)
        assert then.pop("uri") != now.pop("uri")
        assert then == now
        assert found["record"]["started"] == told["record"]["started"]


def test_of_a_long_body_the_history_says_that_it_has_the_beginning(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    buffer = editor.open(tmp_path / "big.http", f"GET {server.url}/big\n", "http")
    buffer.command("orgrest.send", 0)
    found = ask(editor, "history", run=runs(editor, tmp_path)[0]["run"], number=0)
    body = found["record"]["exchanges"][0]["response"]["body"]
    assert body["cut"]
    assert body["problem"] == "[truncated: the history keeps only the beginning of this body]"
    assert body["pretty"].startswith('["xxx')


def test_a_request_that_the_history_has_not_is_an_error(editor: Editor) -> None:
    with pytest.raises(JsonRpcException, match="no run has an id that starts with 19990101"):
        ask(editor, "history", run="19990101", number=0)
    with pytest.raises(JsonRpcException, match="expected the id of a run and the"):
        ask(editor, "history", run="1")
    with pytest.raises(JsonRpcException, match="expected the id of a run and the"):
        ask(editor, "history", run=[], number="x")


def test_no_history_is_said_to_be_none(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "ORGREST_HISTORY": "off"}
    with (
        Editor(environ=environ, experimental=EXPERIMENTAL) as editor,
        pytest.raises(JsonRpcException, match="the history is turned off by"),
    ):
        ask(editor, "history")


def test_cookies_and_variables_of_a_document_are_shown_without_secrets_and_cleared(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    text = (
        f"#+begin_src restclient\nGET {server.url}/json\n-> jq-set-var :a .a\n#+end_src\n"
        f"#+begin_src http\nGET {server.url}/json?{{{{$password Token?}}}}\n#+end_src\n"
        f"#+begin_src restclient\nGET {server.url}/secret\n-> jq-set-var :held .password\n"
        "#+end_src\n"
    )
    buffer = editor.open(tmp_path / "session.org", text, "org")
    identifier = {"uri": buffer.uri}
    editor.typed = SECRET
    assert ask(editor, "session", textDocument=identifier) == {"cookies": [], "variables": []}
    for line in (8, 5, 1):  # results move what is below them
        buffer.command("orgrest.send", line)
    found = ask(editor, "session", textDocument=identifier)
    [cookie] = found["cookies"]
    assert cookie.pop("expires").startswith("20")
    assert cookie == {"name": "session", "domain": "127.0.0.1", "path": "/"}
    held = {"name": "held", "value": "***"}
    assert found["variables"] == [held, {"name": "a", "value": "1"}]
    count = len(server.requests)
    left = ask(editor, "session", textDocument=identifier, clear="cookies")
    assert left == {"cookies": [], "variables": found["variables"]}
    buffer.command("orgrest.send", 1)
    assert b"Cookie:" not in server.requests[count]
    assert ask(editor, "session", textDocument=identifier, clear="variables")["variables"] == []
    with pytest.raises(JsonRpcException, match="`clear` must be `cookies` or `variables`"):
        ask(editor, "session", textDocument=identifier, clear="all")


def test_a_server_that_replaces_a_killed_one_knows_its_cookies_and_variables(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    text = (
        f"#+begin_src restclient\nGET {server.url}/json\n-> jq-set-var :a .a\n#+end_src\n"
        f"#+begin_src http\nGET {server.url}/png?{{{{a}}}}\n#+end_src\n"
    )
    buffer = editor.open(tmp_path / "kept.org", text, "org")
    identifier = {"uri": buffer.uri}
    buffer.command("orgrest.send", 1)
    known = ask(editor, "session", textDocument=identifier, state=True)
    state = known.pop("state")
    with Editor(experimental=EXPERIMENTAL) as other:
        again = other.open(tmp_path / "kept.org", text, "org")
        for bad in ("", "[]", "{}", state.replace('"wide"', '"broad"')):
            with pytest.raises(JsonRpcException, match="expected a state"):
                ask(other, "session", textDocument=identifier, state=bad)
        assert ask(other, "session", textDocument=identifier, state=state) == known
        again.command("orgrest.send", 5)
        assert server.requests[-1].startswith(b"GET /png?1 ")
        assert b"Cookie: session=abcdefgh\r\n" in server.requests[-1]


@needs_engine
def test_what_a_script_sets_for_all_requests_lasts_until_it_is_cleared(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    text = (
        f"GET {server.url}/json\n\n"
        '> {% client.global.set("token", "t" + response.body.a) %}\n\n'
        f"###\nGET {server.url}/png?{{{{token}}}}\n"
    )
    buffer = editor.open(tmp_path / "script.http", text, "http")
    identifier = {"uri": buffer.uri}
    assert buffer.command("orgrest.send", 0)["outcome"] == "passed"
    found = ask(editor, "session", textDocument=identifier)["variables"]
    assert found == [{"name": "token", "value": "t1"}]
    buffer.command("orgrest.send", 5)
    assert server.requests[-1].startswith(b"GET /png?t1 ")
    assert ask(editor, "session", textDocument=identifier, clear="variables")["variables"] == []
    count = len(server.requests)
    assert buffer.command("orgrest.send", 5)["outcome"] == "error"
    assert len(server.requests) == count


@pytest.mark.parametrize(
    ("before", "given", "after"),
    [
        ("|", "curl -LX PUT https://a.org/a -b ''", "### PUT /a\nPUT https://a.org/a\n"),
        (
            "### Mine\n|\n\n###\nGET https://example.org/\n",
            "curl https://example.org/b\r\n",
            "# @no-redirect\nGET https://example.org/b\n",
        ),
    ],
)
def test_a_pasted_curl_command_becomes_a_request(
    editor: Editor, tmp_path: Path, before: str, given: str, after: str
) -> None:
    buffer = editor.open(tmp_path / "p.http", before.replace("|", ""), "http")
    line = before[: before.index("|")].count("\n")
    where = {"line": line, "character": 0}
    found = ask(
        editor,
        "pasted",
        textDocument={"uri": buffer.uri},
        range={"start": where, "end": where},
        text=given,
    )
    assert found["title"] == "Convert the curl command to a request"
    assert found["text"] == after


@pytest.mark.parametrize("given", [{}, {"range": {}}])
def test_pasted_content_without_a_range_is_the_error_of_the_client(
    editor: Editor, tmp_path: Path, given: dict[str, Any]
) -> None:
    buffer = editor.open(tmp_path / "p.http", "\n", "http")
    with pytest.raises(JsonRpcException, match="the parameter range is missing"):
        ask(editor, "pasted", textDocument={"uri": buffer.uri}, text="curl http://h/", **given)


@pytest.mark.parametrize(
    ("before", "given"),
    [("|", "just text"), ("GET https://example.org/?q=|", "curl https://example.org/b")],
)
def test_other_text_and_other_places_are_pasted_as_they_are(
    editor: Editor, tmp_path: Path, before: str, given: str
) -> None:
    buffer = editor.open(tmp_path / "p.http", before.replace("|", ""), "http")
    where = {"line": 0, "character": before.index("|")}
    params = {
        "textDocument": {"uri": buffer.uri},
        "range": {"start": where, "end": where},
        "text": given,
    }
    assert ask(editor, "pasted", **params) is None
    with pytest.raises(JsonRpcException):
        ask(editor, "pasted", **{**params, "text": 1})


def test_a_client_that_shows_outcomes_gets_lenses_that_stay_where_they_are(
    editor: Editor, server: RawServer, tmp_path: Path
) -> None:
    buffer = editor.open(tmp_path / "a.http", f"GET {server.url}/json\n", "http")
    before = [lens.command.title for lens in buffer.lenses()]
    buffer.command("orgrest.send", 0)
    assert [lens.command.title for lens in buffer.lenses()] == before == ["Send request"]
