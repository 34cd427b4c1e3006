"""What Org Babel receives for a block: the request `orgrest/babel` from a real client."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from editors import Editor, plain
from pygls.exceptions import JsonRpcException
from servers import RawServer, by_path, response

POST = [["post", "f(x=*this*)"]]
ROWS = b'[{"a": 1, "b": "x"}, {"a": 22}]'


@pytest.fixture(scope="module")
def api() -> Iterator[str]:
    answers: Any = {
        "/json": response(b'{"a": [1, 2], "n": "x"}', "Content-Type: application/json"),
        "/text": response(b"one line\n", "Content-Type: text/plain"),
        "/lines": response(b"one\n  two\n\nthree\n", "Content-Type: text/plain"),
        "/rows": response(ROWS, "Content-Type: application/json"),
        "/live": response(b"=a= ~b~ [[x]]", "Content-Type: text/plain"),
    }
    with RawServer(by_path(answers)) as server:
        yield server.url


def ask(editor: Editor, folder: Path, body: str, **changes: Any) -> Any:
    """Request the evaluation of a block as orgrest.el does, with some changes."""
    document = changes.pop("document", f"* A\n#+begin_src restclient\n{body}\n#+end_src\n")
    buffer = editor.open(folder / "notes.org", document, "org")
    params = {
        "textDocument": {"uri": buffer.uri},
        "line": 3,
        "body": body,
        "arguments": [],
        "results": ["raw", "replace"],
        "values": [],
        "literal": [],
        **changes,
    }
    try:
        return plain(editor.request("orgrest/babel", params))
    finally:
        editor.close(buffer)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"line": "3"}, "the parameter line is missing"),
        ({"arguments": {}}, "the parameter arguments is missing"),
        ({"arguments": [["jq"]]}, "header arguments and variables must be"),
        ({"values": ["a"]}, "header arguments and variables must be"),
        ({"textDocument": {"uri": "file:///nowhere.org"}}, "nowhere.org"),
    ],
)
def test_nonsense_from_an_editor_is_refused_with_the_reason(
    changes: dict[str, Any], message: str, editor: Editor, tmp_path: Path
) -> None:
    with pytest.raises(JsonRpcException, match=message):
        ask(editor, tmp_path, "GET http://x", **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"line": 1}, "notes.org:1: no request block at this position"),
        ({"line": 99}, "notes.org:99: no request block at this position"),
        (
            {"body": "GET nowhere"},
            "notes.org:2:5: expected an absolute http or https URL, found nowhere",
        ),
        ({"body": "\nGET http://x/{{a}}", "values": [["a", ":a"]]}, "refers to itself"),
        (
            {"arguments": [["timeout", "soon"]]},
            "notes.org:3: :timeout must be a number of seconds,",
        ),
        ({"arguments": [["jq", "."]], "body": ":a = <<"}, "never closed"),
        ({"results": ["list", "value", "raw"], "arguments": POST}, "looks like Org markup"),
        ({"results": ["value", "html"], "arguments": POST}, "when exported, it could run scripts"),
        ({"results": ["file"], "arguments": [["file", "../x"]]}, "inside the document's folder"),
    ],
)
def test_a_block_that_cannot_be_evaluated_is_reported_with_its_place(
    changes: dict[str, Any], message: str, editor: Editor, tmp_path: Path, api: str
) -> None:
    body = changes.pop("body", f"GET {api}/live")
    document = f"* A\n#+begin_src restclient\nGET {api}/json\n#+end_src\n"
    with pytest.raises(JsonRpcException) as raised:
        ask(editor, tmp_path, body, document=document, **changes)
    assert message in raised.value.message
    assert str(tmp_path) not in raised.value.message.partition(" ")[0]


def test_org_gets_the_text_of_the_result(editor: Editor, tmp_path: Path, api: str) -> None:
    def text(body: str = f"GET {api}/json", **changes: Any) -> Any:
        return ask(editor, tmp_path, body, **changes)["text"]

    json_body = '{\n  "a": [\n    1,\n    2\n  ],\n  "n": "x"\n}\n'
    block = f"#+BEGIN_SRC js\n{json_body}// GET {api}/json\n// HTTP/1.1 200 OK\n"
    assert text().startswith(block)
    assert text(results=["code"]).startswith(block)
    assert text(f"GET {api}/lines", results=["list", "value", "raw"]) == "- one\n- two\n- three\n"
    assert text(f"GET {api}/text", results=["html", "value"]) == (
        "#+begin_src html\none line\n\n#+end_src\n"
    )
    two = f"GET {api}/text\n###\nGET {api}/text"
    block = "#+BEGIN_SRC text\none line\n\n#+END_SRC\n"
    shown = text(two, arguments=[["requests", "all"], ["noheaders", None]])
    assert shown == f":results:\n{block}{block}:end:\n"


def test_org_gets_values_where_it_goes_on_with_them(
    editor: Editor, tmp_path: Path, api: str
) -> None:
    def result(body: str = f"GET {api}/json", **changes: Any) -> Any:
        return ask(editor, tmp_path, body, **changes)["result"]

    json_body = '{\n  "a": [\n    1,\n    2\n  ],\n  "n": "x"\n}\n'
    assert result(results=["raw", "silent"]) == json_body.removesuffix("\n")
    assert result(results=["code"], arguments=POST).startswith(f"{json_body}// GET")
    assert result(f"GET {api}/rows", results=["raw", "table", "value"], arguments=POST) == [
        ["a", "b"],
        None,
        ["1", "x"],
        ["22", ""],
    ]
    assert result(f"GET {api}/lines", results=["list", "value"], arguments=POST) == [
        *("one", "two", "three"),
    ]
    inline = f"* A\nsrc_restclient{{GET {api}/text}}\n"
    there: dict[str, Any] = {"document": inline, "line": 2, "body": f"GET {api}/text"}
    assert result(**there) == "{{{results(=one line=)}}}"
    assert result(**there, results=["drawer"]) == "one line"


def test_a_result_that_would_end_the_drawer_around_the_block_is_refused(
    editor: Editor, tmp_path: Path, api: str
) -> None:
    document = f":D:\n#+begin_src restclient\nGET {api}/text\n#+end_src\n:END:\n"
    with pytest.raises(JsonRpcException, match=r"would close the block or drawer .* line 1"):
        ask(editor, tmp_path, f"GET {api}/text", document=document, results=["value", "drawer"])


def test_what_is_secret_stays_so_in_what_emacs_gets(tmp_path: Path) -> None:
    body = ':t := env("ORGREST_TEST_TOKEN")\nGET {}/?:t\nA: :t'
    hush = {"ORGREST_TEST_TOKEN": "hush-hush"}
    with (
        RawServer(response(b"it is hush-hush", "Content-Type: text/plain")) as server,
        Editor(environ=hush) as editor,
    ):
        assert "hush" not in str(ask(editor, tmp_path, body.format(server.url)))
        for url in ("http://127.0.0.1:1", "ftp://"):
            with pytest.raises(JsonRpcException) as raised:
                ask(editor, tmp_path, body.format(url))
            assert "hush" not in raised.value.message
        assert b"A: hush-hush" in server.requests[0]


def test_cancelling_ends_the_evaluation(editor: Editor, tmp_path: Path) -> None:
    seen = threading.Event()

    def never(connection: Any, _: bytes) -> None:
        seen.set()
        connection.recv(1)

    with RawServer(never) as server:
        body = f"GET {server.url}/"
        text = f"* A\n#+begin_src restclient\n{body}\n#+end_src\n"
        buffer = editor.open(tmp_path / "notes.org", text, "org")
        empty: dict[str, Any] = {"arguments": [], "results": [], "values": [], "literal": []}
        where = {"textDocument": {"uri": buffer.uri}, "line": 3, "body": body}
        future = editor.start("orgrest/babel", where | empty)
        assert seen.wait(60)
        assert buffer.command("orgrest.cancel") == 1
        with pytest.raises(JsonRpcException, match="cancelled"):
            future.result(60)


def test_a_block_sends_the_cookies_that_another_block_received(
    editor: Editor, tmp_path: Path, server: RawServer
) -> None:
    body = f"GET {server.url}/session"
    block = f"#+begin_src restclient\n{body}\n#+end_src\n"
    buffer = editor.open(tmp_path / "notes.org", f"{block}\n{block}", "org")
    empty: dict[str, Any] = {"arguments": [], "results": ["silent"], "values": [], "literal": []}
    answers = [
        plain(
            editor.request(
                "orgrest/babel",
                {"textDocument": {"uri": buffer.uri}, "line": line, "body": body, **empty},
            )
        )["result"]
        for line in (2, 6)
    ]
    assert answers == ["new", "known"]


@pytest.mark.parametrize("results", [["raw", "replace"], ["value"], ["silent"]])
def test_an_assertion_that_fails_is_a_message_even_if_the_result_does_not_list_it(
    editor: Editor, tmp_path: Path, api: str, results: list[str]
) -> None:
    body = f"GET {api}/json\n# ?? body n == x\n# ?? body n == y"
    answer = ask(editor, tmp_path, body, results=results, arguments=[["expect", "404"]])
    assert answer["notes"] == [
        "FAILED  status == 404: status is 200",
        "FAILED  body n == y: body n is x",
    ]


def test_a_snapshot_that_is_not_inserted_is_refused_before_anything_is_sent(
    editor: Editor, tmp_path: Path, api: str
) -> None:
    header = ":results silent :expect same"
    document = f"* A\n#+begin_src restclient {header}\nGET {api}/nowhere\n#+end_src\n"
    changes: Any = {"document": document, "arguments": [["expect", "same"]]}
    with pytest.raises(JsonRpcException, match="requires a result that replaces"):
        ask(editor, tmp_path, f"GET {api}/nowhere", results=["silent"], **changes)


def test_a_result_file_that_is_refused_is_refused_before_anything_is_sent(
    editor: Editor, tmp_path: Path, api: str
) -> None:
    arguments = [["file", "package.json"]]
    with pytest.raises(JsonRpcException, match="another tool might use"):
        ask(editor, tmp_path, f"DELETE {api}/x", results=["file"], arguments=arguments)
