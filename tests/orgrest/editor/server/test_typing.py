"""What an editor shows and offers while the user types."""

from __future__ import annotations

import shlex
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from editors import Buffer, Editor, plain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from served import BLOCK
from servers import RawServer, closing, response

PIECES = st.sampled_from(["a", "é", "€", "😀", "\t", "\n", "\r\n", "x y", "#", "\u2028", "\x0c"])
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.floats(0, 1), st.lists(PIECES, max_size=4).map("".join)),
    min_size=1,
    max_size=12,
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_after_any_edits_the_server_has_the_editors_text(tmp_path: Path, encoding: str) -> None:
    """The text is the body of a request, which comes back as a curl command."""
    head, foot = "POST http://x/\n\n<<END\n", "\nEND\n"
    with Editor(encoding) as editor:
        numbers = count()

        @settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
        @given(EDITS)
        def check(edits: list[tuple[float, float, str]]) -> None:
            buffer = editor.open(tmp_path / f"{next(numbers)}.http", head + "b😀" + foot, "http")
            for first, second, new in edits:
                size = len(buffer.text) - len(head) - len(foot)
                start, end = sorted((int(first * size), int(second * size)))
                start, end = start + len(head), end + len(head)
                if "\r\n" in (buffer.text[start - 1 : start + 1], buffer.text[end - 1 : end + 1]):
                    continue  # no editor puts the cursor there
                if new.endswith("\r\n") or not new.endswith("\r"):
                    buffer.edit(start, end, new)
            body = buffer.text[len(head) : len(buffer.text) - len(foot)]
            command = shlex.split(buffer.command("orgrest.copyAsCurl"))
            lines = body.replace("\r\n", "\n").split("\n")
            expected = "\n".join(line.rstrip("\r") for line in lines)
            assert command[command.index("--data-raw") + 1] == expected
            editor.close(buffer)

        check()


def test_what_is_wrong_is_shown_while_typing(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.http", ":nam = 1\n😀\n\tGET http://x/{{name}}\n", "http")
    (found,) = buffer.diagnostics()
    assert buffer.shown(found.range) == "{{name}}"
    assert (found.code, found.source) == ("undefined-variable", "orgrest")
    buffer.replace(":nam ", ":name ")
    assert buffer.diagnostics(lambda found: not found) == []
    buffer.replace(":name ", ":nam ")
    for _ in range(20):
        buffer.edit(0, 0, "x\n")
    buffer.replace("GET", "get")
    buffer.diagnostics(
        lambda found: [one.code for one in found] == ["unknown-method", "undefined-variable"]
    )
    editor.close(buffer)
    assert buffer.diagnostics(lambda found: not found) == []


def test_a_client_that_asks_for_what_is_wrong_is_reported_and_not_shown_it_twice(
    folder: Path,
) -> None:
    editor = Editor()
    assert editor.capabilities.text_document is not None
    editor.capabilities.text_document.diagnostic = types.DiagnosticClientCapabilities()
    with editor:
        buffer = editor.open(folder / "a.http", ":a = 1\nGET http://x/{{name}}\n", "http")

        def pull(known: str | None = None) -> Any:
            given = types.DocumentDiagnosticParams(buffer.identifier, previous_result_id=known)
            return buffer.ask(types.TEXT_DOCUMENT_DIAGNOSTIC, given)

        first = pull()
        assert [item.code for item in first.items] == ["undefined-variable"]
        buffer.edit(len(buffer.text), len(buffer.text), "\n")
        again = pull(first.result_id)
        assert (again.kind, again.result_id) == ("unchanged", first.result_id)
        buffer.replace("{{name}}", "")
        assert list(pull(first.result_id).items) == []
        buffer.replace("GET", "get")
        assert [item.code for item in pull().items] == ["unknown-method"]
        time.sleep(0.4)  # longer than the server waits for a pause
        assert editor.client.diagnostics == {}


def test_the_arguments_of_a_function_are_reported_while_they_are_typed(
    editor: Editor, folder: Path
) -> None:
    text = ':a := base64(env("X", "y"))\nGET http://x/env(\n'
    buffer = editor.open(folder / "a.http", text, "http")

    def told(at: int) -> tuple[str, str, str] | None:
        place = (types.TextDocumentIdentifier(buffer.uri), buffer.position(at))
        found = buffer.ask("textDocument/signatureHelp", types.SignatureHelpParams(*place))
        if found is None:
            return None
        (one,) = found.signatures
        start, end = one.parameters[found.active_parameter].label
        return one.label, one.label[start:end], one.documentation

    about = "An environment variable, or else a variable from the env file."
    assert told(text.index('"X') + 1) == ('env("NAME", ...)', '"NAME"', about)
    assert told(text.index('"y')) == ('env("NAME", ...)', "...", about)
    assert (told(text.index("env")) or "")[:2] == ("base64(...)", "...")
    assert told(text.index("))") + 2) is None
    assert told(text.index("env(\n") + 4) is None


def test_half_a_character_breaks_nothing(editor: Editor, server: RawServer, folder: Path) -> None:
    text = f':a := base64("\ud83d")\nPOST {server.url}/echo\nA: :a\n\n\udc80{{{{x}}}}\n'
    buffer = editor.open(folder / "a.http", text, "http")
    (found,) = buffer.diagnostics()
    assert buffer.shown(found.range) == "{{x}}"
    buffer.replace("{{x}}", "y")
    assert buffer.command("orgrest.send", 1)["outcome"] == "passed"
    assert b"\xef\xbf\xbdy" in server.requests[-1]


def test_completion_knows_the_document_and_its_folder(editor: Editor, folder: Path) -> None:
    (folder / "body.json").write_text("{}")
    text = "😀\r\n:host = 1\r\nPOST http://x/:ho\r\nAcc\r\n\r\n< bo\r\n"
    buffer = editor.open(folder / "a.http", text, "http")

    def complete(marked: str) -> dict[str, str]:
        params = types.CompletionParams(buffer.identifier, buffer.at(marked))
        return {
            item.label: buffer.text[: buffer.offset(item.text_edit.range.start)]
            + item.text_edit.new_text
            + buffer.text[buffer.offset(item.text_edit.range.end) :]
            for item in buffer.ask(types.TEXT_DOCUMENT_COMPLETION, params).items
        }

    assert complete("Acc|")["Accept"] == text.replace("Acc", "Accept: ")
    assert any("POST http://x/:host\r\n" in after for after in complete("/:ho|").values())
    assert any("< body.json\r\n" in after for after in complete("< bo|").values())


def test_fixes_are_offered_where_something_is_wrong(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.http", "POST http://x/\r\n{}\r\n", "http")

    def actions(line: int, *kinds: str) -> list[types.CodeAction]:
        where = types.Range(types.Position(line, 0), types.Position(line, 99))
        context = types.CodeActionContext([], only=list(kinds) or None)
        params = types.CodeActionParams(buffer.identifier, where, context)
        found: list[types.CodeAction] = list(buffer.ask(types.TEXT_DOCUMENT_CODE_ACTION, params))
        return found

    assert [action.title for action in actions(0)] == [
        "Send request",
        "Send all above",
        "Copy as curl",
        "Select environment",
    ]
    assert actions(0, "refactor") == []
    assert actions(0, "quickfix") == []
    (fix,) = actions(1, "quickfix")
    assert fix.edit is not None
    editor.make(fix.edit)
    assert buffer.text == "POST http://x/\r\n\r\n{}\r\n"
    assert fix.is_preferred
    text = BLOCK.format("http://x").replace(":noheaders", ":noheadrs")
    buffer = editor.open(folder / "b.org", text, "org")
    (guess,) = actions(0, "quickfix")
    assert (guess.title, guess.is_preferred) == ("Replace with :noheaders", False)
    notes = editor.open(folder / "a.org", "text\n#+CALL: x()\n" + BLOCK.format("http://x"), "org")
    buffer = notes
    assert len(actions(3, "source")) == 4
    assert actions(0) == []


def test_a_pasted_curl_command_becomes_a_request(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"### a\r\ncurl {server.url}/json \\\r\n  -H 'X-A: b'\r\n"
    buffer = editor.open(folder / "a.http", text, "http")
    where = types.Range(types.Position(1, 2), types.Position(1, 2))
    context = types.CodeActionContext([], only=["quickfix"])
    params = types.CodeActionParams(buffer.identifier, where, context)
    actions = buffer.ask(types.TEXT_DOCUMENT_CODE_ACTION, params)
    (one,) = [
        action for action in actions if action.title == "Convert the curl command to a request"
    ]
    editor.make(one.edit)
    assert buffer.text == (f"### a\r\n# @no-redirect\r\nGET {server.url}/json\r\nX-A: b\r\n")
    assert buffer.command("orgrest.send", 1)["outcome"] == "passed"
    assert b"X-A: b" in server.requests[-1]


def test_lenses_send_what_they_stand_above(editor: Editor, server: RawServer, folder: Path) -> None:
    text = f"GET {server.url}/404\n###\nGET {server.url}/json\n"
    buffer = editor.open(folder / "a.http", text, "http")
    lenses = buffer.lenses()
    titles = [(lens.range.start.line, lens.command.title) for lens in lenses]
    assert titles == [(0, "Send request"), (2, "Send request"), (2, "Send all above")]
    command = lenses[1].command
    params = types.ExecuteCommandParams(command.command, command.arguments)
    found = plain(editor.request(types.WORKSPACE_EXECUTE_COMMAND, params))
    assert found["status"] == 200


def test_what_came_of_assertions_is_shown_at_their_lines_and_above_the_request(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"GET {server.url}/json\n\n?? status == 200\n?? body a == 2\n"
    buffer = editor.open(folder / "a.http", text, "http")
    sent = buffer.command("orgrest.send", 0)
    assert sent["message"].endswith(" s, 1 of 2 assertions FAILED: body a == 2")
    (found,) = buffer.diagnostics(lambda found: len(found) == 1)
    assert buffer.shown(found.range) == "body a == 2"
    assert (found.code, found.message) == ("failed-assertion", "body a == 2: body a is 1")
    lenses = buffer.lenses()
    assert "1 of 2 assertions FAILED: body a == 2" in lenses[0].command.title
    buffer.replace("a == 2", "a == 1")
    buffer.diagnostics(lambda found: not found)
    buffer.command("orgrest.send", 0)
    lenses = buffer.lenses()
    assert lenses[0].command.title.endswith("2 assertions passed")


def test_other_documents_are_left_alone(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.txt", "GET {{x}}\n", "plaintext")
    where = buffer.at("G|ET")
    identifier = buffer.identifier
    everything = types.Range(types.Position(0, 0), types.Position(1, 0))
    asked: list[tuple[str, Any]] = [
        (types.TEXT_DOCUMENT_COMPLETION, types.CompletionParams(identifier, where)),
        (types.TEXT_DOCUMENT_HOVER, types.HoverParams(identifier, where)),
        (types.TEXT_DOCUMENT_DEFINITION, types.DefinitionParams(identifier, where)),
        (
            types.TEXT_DOCUMENT_REFERENCES,
            types.ReferenceParams(types.ReferenceContext(True), identifier, where),
        ),
        (types.TEXT_DOCUMENT_RENAME, types.RenameParams(identifier, where, "x")),
        (types.TEXT_DOCUMENT_PREPARE_RENAME, types.PrepareRenameParams(identifier, where)),
        (types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(identifier)),
        (types.TEXT_DOCUMENT_FOLDING_RANGE, types.FoldingRangeParams(identifier)),
        (types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, types.SemanticTokensParams(identifier)),
        (types.TEXT_DOCUMENT_CODE_LENS, types.CodeLensParams(identifier)),
        (
            types.TEXT_DOCUMENT_CODE_ACTION,
            types.CodeActionParams(identifier, everything, types.CodeActionContext([])),
        ),
    ]
    assert [buffer.ask(method, params) for method, params in asked] == [None] * len(asked)
    buffer.replace("GET", "PUT")
    assert editor.client.diagnostics.get(buffer.uri) is None


def test_a_document_without_a_file_has_no_folder(editor: Editor, server: RawServer) -> None:
    buffer = Buffer(editor, Path("/"), f"POST {server.url}/json\n\n< pyproject.toml\n")
    buffer.uri = "untitled:Untitled-1"
    item = types.TextDocumentItem(buffer.uri, "http", 1, buffer.text)
    editor.notify(types.TEXT_DOCUMENT_DID_OPEN, types.DidOpenTextDocumentParams(item))
    assert buffer.command("orgrest.send")["outcome"] == "error"
    editor.buffers[buffer.uri] = buffer
    buffer.replace("< pyproject.toml", "x")
    assert buffer.command("orgrest.send")["status"] == 200


@pytest.mark.parametrize(
    ("command", "arguments", "reason"),
    [
        ("orgrest.send", None, "the argument must be"),
        ("orgrest.send", ["x"], "the argument must be"),
        (
            "orgrest.send",
            [{"uri": "file:///nowhere.org"}],
            "not an open Org document or request file",
        ),
        ("orgrest.send", [{"uri": "URI", "line": -1}], "a number, counted from 0"),
        ("orgrest.send", [{"uri": "URI", "line": "1"}], "a number, counted from 0"),
        ("orgrest.explode", [{"uri": "URI"}], "unknown command"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused(
    editor: Editor, folder: Path, command: str, arguments: Any, reason: str
) -> None:
    buffer = editor.open(folder / "a.http", "GET http://x/\n", "http")
    if arguments and isinstance(arguments[0], dict) and arguments[0]["uri"] == "URI":
        arguments = [{**arguments[0], "uri": buffer.uri}]
    params = types.ExecuteCommandParams(command, arguments)
    with pytest.raises(JsonRpcException, match=reason):
        editor.request(types.WORKSPACE_EXECUTE_COMMAND, params)


def test_a_lens_that_is_none_stays_without_a_command(editor: Editor, folder: Path) -> None:
    where = types.Range(types.Position(0, 0), types.Position(0, 0))
    for data in (None, ["orgrest.send", 10**9], ["rm", 1], "x", {"a": 1}):
        lens = types.CodeLens(where, data=data)
        assert editor.request(types.CODE_LENS_RESOLVE, lens).command is None


def _offered(buffer: Buffer, marked: str) -> Any:
    params = types.CompletionParams(buffer.identifier, buffer.at(marked))
    return buffer.ask(types.TEXT_DOCUMENT_COMPLETION, params)


def test_completions_say_once_what_they_replace_to_a_client_that_can_read_that(
    editor: Editor, folder: Path
) -> None:
    text = "@one = 1\n@other = 2\nGET http://{{o}}\nAcc\n"
    buffer = editor.open(folder / "a.http", text, "http")
    plain_list = _offered(buffer, "{{o|}}")
    modern = Editor()
    modern.capabilities.text_document.completion.completion_list = (  # type: ignore[union-attr]
        types.CompletionListCapabilities(item_defaults=["editRange"])
    )
    with modern:
        same = modern.open(folder / "a.http", text, "http")
        found = _offered(same, "{{o|}}")
        assert found.item_defaults.edit_range == plain_list.items[0].text_edit.range
        assert all(item.text_edit is None for item in found.items)
        assert [item.text_edit_text or item.label for item in found.items] == [
            item.text_edit.new_text for item in plain_list.items
        ]
        assert {"one", "other"} <= {item.label for item in found.items}
        header = _offered(same, "Acc|")
        (accept,) = [item for item in header.items if item.label == "Accept"]
        assert accept.text_edit_text == "Accept: "
        assert _offered(same, "1|\n@").items == ()


def test_headers_that_requests_have_often_are_offered_first(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.http", "GET http://x/\nCon\n", "http")
    items = sorted(_offered(buffer, "Con|").items, key=lambda one: one.sort_text)
    assert [item.label for item in items][:2] == ["Content-Type", "Connection"]
    assert items[-1].label != "Content-Type"
    editor.close(buffer)


def test_paths_of_an_earlier_response_are_offered_once_it_arrived(
    editor: Editor, folder: Path
) -> None:
    body = b'{"token": "t", "users": [{"name": "n"}]}'
    answer = closing(response(body, "Content-Type: application/json", "X-Id: 7"))
    with RawServer(answer) as server:
        text = (
            f"### one\n# @name one\nGET {server.url}/\n\n"
            "###\nGET http://x/{{one.response.body.$.}}\n"
        )
        buffer = editor.open(folder / "a.http", text, "http")

        def offered(marked: str) -> set[str]:
            found = _offered(buffer, marked).items
            return {one.label.removeprefix("one.response.") for one in found}

        assert offered("body.$.|") == set()
        assert buffer.command("orgrest.send", 2)["outcome"] == "passed"
        users = {"body.$.users[0].name"}
        above = {"body.$.token", "body.$.users", "body.$.users[0]"}
        assert offered("body.$.|") == users | above
        buffer.replace("body.$.", "body.$.users[0].")
        assert offered("body.$.users[0].|") == users
        buffer.replace("body.$.users[0].", "headers.")
        assert "headers.X-Id" in offered("headers.|")
        editor.close(buffer)


@pytest.mark.parametrize("kind", ["http", "org"])
def test_paths_in_an_assertion_are_offered_once_the_response_arrived(
    editor: Editor, folder: Path, kind: str
) -> None:
    body = b'{"token": "t", "users": [{"name": "n"}]}'
    answer = closing(response(body, "Content-Type: application/json", "X-Id: 7"))
    with RawServer(answer) as server:
        request = f"GET {server.url}/?a=1\n\n?? body $.a exists\n"
        text = f"#+begin_src http\n{request}#+end_src\n" if kind == "org" else request
        buffer = editor.open(folder / f"a.{kind}", text, kind)

        def offered(marked: str) -> set[str]:
            return {one.label for one in _offered(buffer, marked).items}

        assert offered("body $.|") == set()
        assert buffer.command("orgrest.send", buffer.line("GET"))["outcome"] == "failed"
        assert offered("body $.|") == {"$.token", "$.users", "$.users[0]", "$.users[0].name"}
        buffer.replace("body $.a", "body us")
        assert offered("body us|") == {"users", "users[0]", "users[0].name"}
        buffer.replace("body us", "header X-")
        assert offered("header X-|") == {"X-Id"}
        editor.close(buffer)


@pytest.mark.parametrize(
    "request_text",
    [
        "GET {{ host }}/x",
        "GET HOST/{{$randomInt 1 5}}",
        "GET HOST/\n  ?a=1\n  &b=2",
        "GET HOST/a b",
        "HOST/",
        "PROPFIND HOST/",
        "get HOST/",
        'POST HOST/graphql\nA: b\n\n{"query": "{a}"}',
    ],
)
def test_paths_in_an_assertion_are_those_of_its_own_request(
    editor: Editor, folder: Path, request_text: str
) -> None:
    bodies = [b'{"first": 1}', b'{"second": 1}']
    with RawServer(lambda connection, _: connection.sendall(response(bodies.pop(0)))) as server:
        above = "POST HOST/graphql\nA: b\n\n{}\n\n###\n"
        below = f"{request_text}\n\n?? body $.x exists\n\n###\nGET HOST/\n"
        text = f"@host = HOST\n{above}{below}".replace("HOST", server.url)
        buffer = editor.open(folder / "a.http", text, "http")
        buffer.command("orgrest.send", 1)
        assert [one.label for one in _offered(buffer, "body $.|").items] == []
        line = text.split("###\n")[0].count("\n") + 1
        buffer.command("orgrest.send", line)
        assert [one.label for one in _offered(buffer, "body $.|").items] == ["$.second"]
        editor.close(buffer)
