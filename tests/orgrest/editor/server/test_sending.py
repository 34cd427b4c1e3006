"""A request sent from an Org document: its result is inserted below it, or shown separately."""

from __future__ import annotations

import json
from itertools import takewhile
from pathlib import Path

import pytest
from editors import TIMEOUT, Buffer, Editor, plain
from lsprotocol import types
from served import BLOCK, GATE, OTHER_GATE, RESULT
from servers import RawServer

from orgrest.commands.main import main


def test_a_response_stands_under_its_block(editor: Editor, server: RawServer, folder: Path) -> None:
    text = f"* One\n{BLOCK.format(server.url)}\n* Two\n{BLOCK.format(server.url)}rest\n"
    buffer = editor.open(folder / "notes.org", text, "org")
    found = buffer.command("orgrest.send", 8)
    assert buffer.text == text.replace("#+end_src\nrest", f"#+end_src\n{RESULT}\nrest")
    assert found["outcome"] == "passed"
    assert found["line"] == 6
    assert found["status"] == 200
    assert found["duration"] > 0
    assert found["message"].startswith(f"GET {server.url}/json 200 OK")
    assert editor.messages == []
    again = buffer.text
    assert buffer.command("orgrest.send", 7)["outcome"] == "passed"
    assert buffer.text == again


def test_the_text_in_the_editor_counts_not_the_file(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    path = folder / "notes.org"
    path.write_text("something else")
    buffer = editor.open(path, BLOCK.format("http://127.0.0.1:1"), "org")
    buffer.replace("http://127.0.0.1:1", server.url)
    assert buffer.command("orgrest.send", 1)["outcome"] == "passed"
    assert path.read_text() == "something else"


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_a_result_has_the_line_ends_of_its_document(
    editor: Editor, server: RawServer, folder: Path, line_end: str
) -> None:
    text = f"😀 é\n{BLOCK.format(server.url)}".replace("\n", line_end)
    buffer = editor.open(folder / "notes.org", text, "org")
    assert buffer.command("orgrest.send", 2)["outcome"] == "passed"
    assert buffer.text == text + RESULT.replace("\n", line_end)


def test_a_result_lands_below_its_block_wherever_that_is_by_then(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = f"above\n\n{BLOCK.format(server.url).replace('/json', '/wait')}below\n"
    buffer = editor.open(folder / "notes.org", text, "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 3)
        gate.wait()
        buffer.edit(0, 0, "😀 first\n")
        buffer.replace("above\n", "")
        buffer.edit(buffer.text.index("\n#+begin") + 1, buffer.text.index("\n#+begin") + 1, "new\n")
        buffer.replace(":noheaders", ":noheaders :x y")
        buffer.replace("below", "below, changed")
        typed = buffer.text
        buffer.settle()
        gate.opened.set()
        assert plain(sent.result(TIMEOUT))["outcome"] == "passed"
    assert buffer.text == typed.replace("#+end_src\n", f"#+end_src\n{RESULT}\n")


def test_two_results_on_their_way_land_below_their_blocks(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url)
    blocks = [block.replace("/json", "/other"), block.replace("/json", "/wait")]
    text = f"{blocks[0]}\n* two\n{blocks[1]}"
    buffer = editor.open(folder / "notes.org", text, "org")
    with GATE as gate, OTHER_GATE as other:
        first = editor.start_run("orgrest.send", buffer.uri, 1)
        other.wait()
        second = editor.start_run("orgrest.send", buffer.uri, buffer.line("/wait"))
        gate.wait()
        buffer.edit(0, 0, "new\n")
        buffer.settle()
        gate.opened.set()
        assert plain(second.result(TIMEOUT))["outcome"] == "passed"
        buffer.edit(0, 0, "newer\n")
        buffer.settle()
        other.opened.set()
        assert plain(first.result(TIMEOUT))["outcome"] == "passed"
    expected = text.replace("#+end_src\n\n*", f"#+end_src\n{RESULT}\n*") + RESULT
    assert buffer.text == f"newer\nnew\n{expected}"


def test_what_an_editor_sends_is_in_the_history(
    editor: Editor, server: RawServer, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    buffer = editor.open(folder / "kept.http", f"### kept\nGET {server.url}/json\n", "http")
    assert (
        plain(editor.start_run("orgrest.send", buffer.uri, 1).result(TIMEOUT))["outcome"]
        == "passed"
    )
    with pytest.raises(SystemExit):
        main(["history", "show", "--all", "--name", "kept", "--json"])
    record = json.loads(capsys.readouterr().out)
    assert record["document"] == str((folder / "kept.http").resolve())
    assert record["exchanges"][0]["response"]["body"]["text"] == '{"a":1}'


def test_a_result_lands_right_in_a_text_that_was_sent_whole(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "notes.org", text, "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 1)
        gate.wait()
        buffer.text = f"new\n{BLOCK.format('http://other')}\n{text}"
        buffer.version += 1
        editor.notify(
            types.TEXT_DOCUMENT_DID_CHANGE,
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(buffer.version, buffer.uri),
                [types.TextDocumentContentChangeWholeDocument(buffer.text)],
            ),
        )
        typed = buffer.text
        buffer.settle()
        gate.opened.set()
        assert plain(sent.result(TIMEOUT))["outcome"] == "passed"
    assert buffer.text.count("#+RESULTS") == 1
    assert buffer.text.replace(RESULT, "").replace("\n", "") == typed.replace("\n", "")


def test_a_result_whose_block_is_gone_is_shown_instead(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    other = BLOCK.format(server.url)
    block = BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "notes.org", f"* A\n{block}{other}", "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 2)
        gate.wait()
        buffer.replace(block, "")
        buffer.settle()
        gate.opened.set()
        found = plain(sent.result(TIMEOUT))
    assert buffer.text == f"* A\n{other}"
    assert found["outcome"] == "error"
    assert "longer exists:" in found["message"]
    assert '"a": 1' in found["text"]
    assert any("longer exists:" in message for message in editor.messages)
    assert [document.uri for document in editor.client.shown_documents] == [found["uri"]]


@pytest.mark.parametrize("name", ["", "#+NAME: it\n"])
def test_an_answer_never_stands_below_a_request_that_did_not_get_it(
    editor: Editor, server: RawServer, folder: Path, name: str
) -> None:
    block = name + BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "notes.org", f"* A\n{block}", "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 2 + bool(name))
        gate.wait()
        buffer.replace(f"GET {server.url}/wait", "DELETE http://prod/everything")
        buffer.settle()
        typed = buffer.text
        gate.opened.set()
        found = plain(sent.result(TIMEOUT))
    assert buffer.text == typed
    assert found["outcome"] == "error"
    assert found["message"] == (
        "the request was changed in the meantime: its result is shown, but not inserted"
    )
    assert '"a": 1' in found["text"]


def test_a_named_block_that_was_written_anew_gets_its_result(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = "#+NAME: it\n" + BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "notes.org", block, "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 2)
        gate.wait()
        buffer.replace(block, "")
        buffer.edit(0, 0, f"new\n{block}")
        buffer.settle()
        gate.opened.set()
        assert plain(sent.result(TIMEOUT))["outcome"] == "passed"
    assert "#+RESULTS: it\n" in buffer.text


@pytest.mark.parametrize("fails", [False, True])
def test_typing_while_the_result_is_put_in_only_delays_it(
    editor: Editor, server: RawServer, folder: Path, fails: bool
) -> None:
    buffer = editor.open(folder / "notes.org", BLOCK.format(server.url), "org")
    typed = iter(["a\n", "b\n"])

    def type_on(changed: Buffer) -> str | None:
        if new := next(typed, None):
            editor._change(changed, [(0, 0, new)])
            if fails:
                raise ValueError("outdated")
        return None

    editor.applying = type_on
    assert buffer.command("orgrest.send", 1)["outcome"] == "passed"
    assert buffer.text == f"b\na\n{BLOCK.format(server.url)}{RESULT}"


def test_an_editor_that_refuses_a_result_is_shown_it(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    buffer = editor.open(folder / "notes.org", BLOCK.format(server.url), "org")
    editor.applying = lambda _: "read-only"
    found = buffer.command("orgrest.send", 1)
    assert found["outcome"] == "error"
    assert "read-only" in found["message"]
    assert '"a": 1' in found["text"]


def test_an_editor_that_fails_to_put_a_result_in_is_shown_it(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    buffer = editor.open(folder / "notes.org", BLOCK.format(server.url), "org")

    def fail(_: Buffer) -> str | None:
        raise ValueError("out of order")

    editor.applying = fail
    found = buffer.command("orgrest.send", 1)
    assert found["outcome"] == "error"
    assert "out of order" in found["message"]
    assert '"a": 1' in found["text"]


def test_a_result_that_would_close_what_was_opened_meanwhile_is_shown(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url).replace("/json", "/wait").replace("noheaders", "wrap quote")
    buffer = editor.open(folder / "notes.org", f"above\n{block}", "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 2)
        gate.wait()
        buffer.edit(0, 0, "#+begin_quote\n")
        buffer.settle()
        typed = buffer.text
        gate.opened.set()
        found = plain(sent.result(TIMEOUT))
    assert buffer.text == typed
    assert found["outcome"] == "error"
    assert "would close" in found["message"]
    assert '"a": 1' in found["text"]


def test_what_is_odd_about_a_request_goes_to_the_log(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    buffer = editor.open(folder / "a.http", f"GET {server.url}/json\nA: :b\n", "http")
    assert buffer.command("orgrest.send")["outcome"] == "passed"
    (found,) = editor.wait_for(lambda: editor.client.log_messages)
    assert "undefined variable b:" in found.message


def test_a_file_that_cannot_be_written_is_reported(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    (folder / "notes-o").write_text("")
    text = (
        f"#+begin_src http :results file :file notes-o/a.json\nGET {server.url}/json\n#+end_src\n"
    )
    buffer = editor.open(folder / "notes.org", text, "org")
    buffer.command("orgrest.send", 1)
    assert any("could not write" in message for message in editor.messages)


def test_a_document_that_was_closed_meanwhile_is_left_alone(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url).replace("/json", "/wait")
    buffer = editor.open(folder / "notes.org", block, "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 1)
        gate.wait()
        editor.client.diagnostics[buffer.uri] = [None]  # type: ignore[list-item]  # until it is closed
        editor.close(buffer)
        buffer.diagnostics(lambda found: not found)
        gate.opened.set()
        found = plain(sent.result(TIMEOUT))
    assert found["outcome"] == "error"
    assert "closed" in found["message"]


def test_all_above_are_sent_in_order_with_what_they_capture(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = (
        f"#+begin_src http :noheaders\nGET {server.url}/token\n-> jq-set-var :t .token\n#+end_src\n"
        f"#+begin_src http :noheaders\nGET {server.url}/echo\nX-Token: :t\n#+end_src\n"
        f"#+begin_src http :noheaders\nGET {server.url}/json\n#+end_src\n"
    )
    buffer = editor.open(folder / "notes.org", text, "org")
    found = buffer.command("orgrest.sendAllAbove", 5)
    assert [result["outcome"] for result in found["results"]] == ["passed", "passed"]
    assert "X-Token: t-1" in buffer.text
    assert buffer.text.count("#+RESULTS:") == 2
    assert len(buffer.command("orgrest.sendAllAbove", 99)["results"]) == 3
    assert buffer.text.count("#+RESULTS:") == 3


@pytest.mark.parametrize("whole", [True, False])
def test_every_block_gets_its_result_however_the_client_sends_its_changes(
    editor: Editor,
    server: RawServer,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    whole: bool,
) -> None:
    block = f"#+begin_src http\nGET {server.url}/json\n#+end_src\n"
    buffer = editor.open(folder / "notes.org", f"{block}\n{block}\n{block}", "org")

    def in_common(one: str, other: str) -> int:
        return sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
        )

    def change(buffer: Buffer, edits: list[tuple[int, int, str]]) -> None:
        old = buffer.text
        for start, end, new in edits:
            buffer.text = buffer.text[:start] + new + buffer.text[end:]
        at = in_common(old, buffer.text)
        rest = in_common(old[at:][::-1], buffer.text[at:][::-1])
        buffer.version += 1
        new = buffer.text[at : len(buffer.text) - rest]
        before = Buffer(editor, buffer.path, old)
        changes: list[types.TextDocumentContentChangeEvent] = [
            types.TextDocumentContentChangeWholeDocument(buffer.text)
            if whole
            else types.TextDocumentContentChangePartial(before.range(at, len(old) - rest), new)
        ]
        identifier = types.VersionedTextDocumentIdentifier(buffer.version, buffer.uri)
        editor.client.text_document_did_change(
            types.DidChangeTextDocumentParams(identifier, changes)
        )

    monkeypatch.setattr(editor, "_change", change)
    found = buffer.command("orgrest.sendAllAbove", 99)
    assert [result["outcome"] for result in found["results"]] == ["passed"] * 3
    assert buffer.text.count("#+RESULTS:") == 3


def test_every_block_gets_its_result_in_an_editor_that_reports_changes_late(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url)
    editor.delay = 0.15
    buffer = editor.open(folder / "notes.org", f"{block}\n{block}\n{block}", "org")
    buffer.edit(0, 0, "* typed\n")
    found = buffer.command("orgrest.sendAllAbove", 99)
    assert [result["outcome"] for result in found["results"]] == ["passed"] * 3
    below = block + RESULT
    assert buffer.text == f"* typed\n{below}\n{below}\n{below}"


def test_no_result_lands_amid_what_was_typed_but_not_reported_yet(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url).replace("/json", "/wait")
    editor.delay = 0.15
    buffer = editor.open(folder / "notes.org", f"* Notes\n{block}", "org")
    with GATE as gate:
        sent = editor.start_run("orgrest.send", buffer.uri, 2)
        gate.wait()
        buffer.edit(8, 8, "typed\n" * 20)
        gate.opened.set()
        assert plain(sent.result(TIMEOUT))["outcome"] == "passed"
    assert buffer.text == "* Notes\n" + "typed\n" * 20 + block + RESULT


def test_an_editor_that_does_not_report_a_result_is_shown_the_others(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    block = BLOCK.format(server.url)
    editor.delay = TIMEOUT
    buffer = editor.open(folder / "notes.org", f"{block}\n{block}\n{block}", "org")
    first, *others = buffer.command("orgrest.sendAllAbove", 99)["results"]
    assert buffer.text == f"{block}{RESULT}\n{block}\n{block}"
    assert first["outcome"] == "passed"
    assert [other["outcome"] for other in others] == ["error"] * 2
    assert all('"a": 1' in other["text"] for other in others)
    buffer.settle()  # it reports its changes before it sends a request
    assert buffer.command("orgrest.send", buffer.line(block))["outcome"] == "passed"


def test_a_result_that_is_already_there_does_not_modify_the_document(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    buffer = editor.open(folder / "notes.org", BLOCK.format(server.url) + RESULT, "org")
    assert buffer.command("orgrest.send", 1)["outcome"] == "passed"
    assert buffer.version == 1


def test_what_is_odd_about_the_choice_is_reported_when_all_above_are_sent(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = (
        f"#+begin_src restclient :noheaders\nGET {server.url}/json\n#+end_src\n"
        f"#+begin_src http\nGET {server.url}/json\n#+end_src\n"
    )
    buffer = editor.open(folder / "notes.org", text, "org")
    assert len(buffer.command("orgrest.sendAllAbove", 99)["results"]) == 1
    (said,) = [
        message.message
        for message in editor.client.messages
        if "ignored in a restclient document (to send it, too, use --lang" in message.message
    ]
    assert "notes.org: line 4: 1 block in http ignored in a restclient document" in said


def test_a_syntax_error_elsewhere_breaks_nothing(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    bad = '#+begin_src restclient :jq "x\nGET nowhere\nno header\n#+end_src\n'
    buffer = editor.open(folder / "n.org", f"{bad}\n{BLOCK.format(server.url)}\n{bad}", "org")
    line = buffer.line("GET http")
    assert buffer.command("orgrest.send", line)["outcome"] == "passed"
    assert buffer.text == f"{bad}\n{BLOCK.format(server.url)}{RESULT}\n{bad}"
    hover = buffer.ask(
        types.TEXT_DOCUMENT_HOVER,
        types.HoverParams(buffer.identifier, buffer.at("G|ET http")),
    )
    assert "**GET**" in hover.contents.value
    assert len(buffer.diagnostics()) >= 2


def test_a_place_without_a_request_is_reported(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "notes.org", "text\n", "org")
    found = buffer.command("orgrest.send", 0)
    assert found == {"line": 0, "outcome": "error", "message": "no request at this line"}
    assert editor.messages == ["orgrest: no request at this line"]


@pytest.mark.parametrize(("answer", "outcome"), [("Evaluate", "passed"), (None, "skipped")])
def test_a_block_that_wants_a_question_asks_it(
    editor: Editor, server: RawServer, folder: Path, answer: str | None, outcome: str
) -> None:
    text = BLOCK.format(server.url).replace(":noheaders", ":noheaders :eval query")
    buffer = editor.open(folder / "notes.org", text, "org")
    editor.answer = answer
    assert buffer.command("orgrest.send", 1)["outcome"] == outcome
    assert len(editor.questions) == 1
    assert ("RESULTS" in buffer.text) == (outcome == "passed")


def test_a_result_may_go_to_a_file_in_the_documents_folder_only(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    text = (
        f"#+begin_src http :results file :file notes-o/a.json\nGET {server.url}/json\n#+end_src\n"
    )
    buffer = editor.open(folder / "notes.org", text, "org")
    assert buffer.command("orgrest.send", 1)["outcome"] == "passed"
    assert (folder / "notes-o" / "a.json").read_text() == '{"a":1}'
    assert "[[file:notes-o/a.json]]" in buffer.text
    outside = editor.open(folder / "b.org", text.replace("notes-o/a", "../a"), "org")
    assert outside.command("orgrest.send", 1)["outcome"] == "error"
    assert not (folder.parent / "a.json").exists()


def test_a_document_cannot_have_files_elsewhere_sent(
    editor: Editor, server: RawServer, folder: Path
) -> None:
    (folder.parent / "private").write_text("private")
    text = f"POST {server.url}/echo\n\n< ../private\n"
    buffer = editor.open(folder / "a.http", text, "http")
    before = len(server.requests)
    found = buffer.command("orgrest.send", 0)
    assert found["outcome"] == "error"
    assert "outside the document's folder" in found["message"]
    assert len(server.requests) == before
