"""Names, outline and colours of a document, as editors request them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from editors import Editor
from lsprotocol import types
from pygls.exceptions import JsonRpcException

ORG = """* 😀
#+NAME: login
#+begin_src restclient :var h="x.org"
  GET https://:h/{{h}}
#+end_src
#+CALL: login(h="y")
"""


def test_names_lead_to_where_they_are_set_and_used(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.org", ORG, "org")

    def places(method: str, params: Any) -> list[str]:
        found = buffer.ask(method, params) or []
        assert all(one.uri == buffer.uri for one in found)
        return [
            buffer.text.split("\n")[one.range.start.line][:5] + buffer.shown(one.range)
            for one in found
        ]

    at = buffer.at("{{h|}}")
    definition = types.DefinitionParams(buffer.identifier, at)
    assert places(types.TEXT_DOCUMENT_DEFINITION, definition) == ["#+begh"]
    for every, found in ((True, 4), (False, 2)):
        context = types.ReferenceContext(every)
        references = types.ReferenceParams(context, buffer.identifier, at)
        assert len(places(types.TEXT_DOCUMENT_REFERENCES, references)) == found
    nowhere = types.DefinitionParams(buffer.identifier, buffer.at("* |😀"))
    assert places(types.TEXT_DOCUMENT_DEFINITION, nowhere) == []


def test_a_name_is_changed_everywhere_or_not_at_all(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.org", ORG.replace("\n", "\r\n"), "org")

    def rename(marked: str, new: str) -> Any:
        params = types.RenameParams(buffer.identifier, buffer.at(marked), new)
        return buffer.ask(types.TEXT_DOCUMENT_RENAME, params)

    prepared = buffer.ask(
        types.TEXT_DOCUMENT_PREPARE_RENAME,
        types.PrepareRenameParams(buffer.identifier, buffer.at("CALL: lo|gin")),
    )
    assert buffer.shown(prepared.range) == prepared.placeholder == "login"
    editor.make(rename("CALL: lo|gin", "enter"))
    editor.make(rename("{{h|}}", "host"))
    expected = ORG.replace("login", "enter").replace(":h/", ":host/").replace("{{h}}", "{{host}}")
    expected = expected.replace(":var h=", ":var host=").replace("(h=", "(host=")
    assert buffer.text == expected.replace("\n", "\r\n")
    with pytest.raises(JsonRpcException, match="invalid name"):
        rename("{{ho|st}}", "a b")
    with pytest.raises(JsonRpcException, match="no name to rename at this position"):
        rename("* |😀", "x")
    nothing = types.PrepareRenameParams(buffer.identifier, buffer.at("* |😀"))
    assert buffer.ask(types.TEXT_DOCUMENT_PREPARE_RENAME, nothing) is None


def test_what_another_open_document_uses_is_not_renamed(editor: Editor, folder: Path) -> None:
    lib = "@base = 1\n@own = 2\n# @name login\nGET http://x/{{base}}/{{own}}\n"
    (folder / "lib.http").write_text(lib)
    (folder / "second.http").write_text("GET http://x/{{own}}\n")
    buffer = editor.open(folder / "lib.http", lib, "http")
    text = "# @import lib.http\n# @import second.http\nGET http://x/{{base}}/{{login.id}}\n"
    importing = editor.open(folder / "a.http", text, "http")

    def rename(marked: str) -> Any:
        params = types.RenameParams(buffer.identifier, buffer.at(marked), "new")
        return buffer.ask(types.TEXT_DOCUMENT_RENAME, params)

    def refused(marked: str, reason: str) -> None:
        with pytest.raises(JsonRpcException, match=reason):
            rename(marked)
        # The user is not even asked for the new name.
        params = types.PrepareRenameParams(buffer.identifier, buffer.at(marked))
        with pytest.raises(JsonRpcException, match=reason):
            buffer.ask(types.TEXT_DOCUMENT_PREPARE_RENAME, params)

    refused("@ba|se", r"line 3 of a\.http also uses base: change")
    refused("login|", r"line 3 of a\.http also uses login: change")
    refused("@ow|n", r"line 1 of second\.http also uses own: change it")
    importing.replace("{{base}}", "{{new}}")
    editor.make(rename("@ba|se"))
    assert buffer.text == lib.replace("base", "new")


def test_a_name_that_is_not_defined_here_is_refused_before_a_new_one_is_asked_for(
    editor: Editor, folder: Path
) -> None:
    (folder / "lib.http").write_text("@base = 1\n")
    text = "# @import lib.http\nGET http://x/{{base}}/{{nowhere}}\n"
    buffer = editor.open(folder / "a.http", text, "http")
    for marked, reason in (
        ("{{ba|se", r"base is defined in lib\.http, line 1: rename it there"),
        ("{{now|here", "nowhere is not defined in this document"),
    ):
        params = types.PrepareRenameParams(buffer.identifier, buffer.at(marked))
        with pytest.raises(JsonRpcException, match=reason):
            buffer.ask(types.TEXT_DOCUMENT_PREPARE_RENAME, params)


def test_a_client_that_shows_only_plain_text_gets_no_markdown(folder: Path) -> None:
    editor = Editor()
    assert editor.capabilities.text_document is not None
    hover = types.HoverClientCapabilities(content_format=[types.MarkupKind.PlainText])
    editor.capabilities.text_document.hover = hover
    with editor:
        text = "@v = **`a`**\n# @tag x\nPOST http://x/{{v}}\n"
        buffer = editor.open(folder / "a.http", text, "http")

        def hovered(marked: str) -> str:
            params = types.HoverParams(buffer.identifier, buffer.at(marked))
            contents = buffer.ask(types.TEXT_DOCUMENT_HOVER, params).contents
            assert contents.kind == types.MarkupKind.PlainText
            return str(contents.value)

        assert hovered("{{v|") == "v\n\n**`a`**\n\nset on line 1"
        assert hovered("@t|ag") == "@tag TAG, ...\n\nTags the request, for --tag."
        assert hovered("x/|{{").startswith("POST\n\nhttp://x/")


def test_the_outline_is_shown(editor: Editor, folder: Path) -> None:
    buffer = editor.open(folder / "a.org", ORG, "org")
    (symbol,) = buffer.ask(
        types.TEXT_DOCUMENT_DOCUMENT_SYMBOL, types.DocumentSymbolParams(buffer.identifier)
    )
    assert symbol.name == "login"
    assert [child.name for child in symbol.children] == ["GET https://:h/{{h}}"]
    folds = buffer.ask(
        types.TEXT_DOCUMENT_FOLDING_RANGE, types.FoldingRangeParams(buffer.identifier)
    )
    assert [(fold.start_line, fold.end_line) for fold in folds] == [(2, 4)]


@pytest.mark.parametrize("part", [False, True])
def test_each_part_has_its_colour(editor: Editor, folder: Path, part: bool) -> None:
    buffer = editor.open(folder / "a.http", "# 😀\nGET http://😀/:a\n:a = 1\n", "http")
    if part:
        first = types.Range(types.Position(1, 0), types.Position(1, 99))
        params: Any = types.SemanticTokensRangeParams(buffer.identifier, first)
        data = buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, params).data
    else:
        params = types.SemanticTokensParams(buffer.identifier)
        data = buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, params).data
    legend = editor.initialized.capabilities.semantic_tokens_provider.legend.token_types
    found = []
    line = character = 0
    for i in range(0, len(data), 5):
        line, character = line + data[i], data[i + 1] + (0 if data[i] else character)
        start = types.Position(line, character)
        end = types.Position(line, character + data[i + 2])
        found.append((buffer.shown(types.Range(start, end)), legend[data[i + 3]]))
    expected = [
        ("# 😀", "comment"),
        ("GET", "method"),
        ("http://😀/:a", "string"),
    ]
    assert found[: len(expected)] == expected if not part else found == expected[1:]


def test_imported_files_are_known_as_they_are_in_the_editor(editor: Editor, folder: Path) -> None:
    (folder / "lib.http").write_text("😀 = 1\n# @name login\nGET http://x/\n")
    lib = editor.open(folder / "lib.http", "@base = 1\n# @name login\nGET http://x/\n", "http")
    text = "# @import lib.http\nGET http://x/{{base}}/{{login.id}}\n"
    buffer = editor.open(folder / "a.http", text, "http")
    assert buffer.diagnostics(lambda found: not found) == []

    def definition(marked: str) -> list[tuple[str, int, int]]:
        params = types.DefinitionParams(buffer.identifier, buffer.at(marked))
        found = buffer.ask(types.TEXT_DOCUMENT_DEFINITION, params) or []
        return [
            (one.uri.rpartition("/")[2], one.range.start.line, one.range.start.character)
            for one in found
        ]

    assert definition("{{ba|se") == [("lib.http", 0, 1)]
    assert definition("{{log|in") == [("lib.http", 1, 8)]
    assert definition("import li|b") == [("lib.http", 0, 0)]
    params = types.CompletionParams(buffer.identifier, buffer.at("{{ba|"))
    assert "base" in [x.label for x in buffer.ask(types.TEXT_DOCUMENT_COMPLETION, params).items]
    lib.replace("@base", "@root")
    (found,) = buffer.diagnostics(lambda found: bool(found))
    assert found.code == "undefined-variable"
    editor.close(lib)


def test_a_client_gets_only_the_tokens_that_changed(editor: Editor, folder: Path) -> None:
    text = "### a\nGET http://x/\nA: b\n\n" * 20
    buffer = editor.open(folder / "a.http", text, "http")

    def since(number: str) -> Any:
        params = types.SemanticTokensDeltaParams(buffer.identifier, number)
        return buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, params)

    params = types.SemanticTokensParams(buffer.identifier)
    whole = buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, params)
    buffer.replace("A: b", "A: bcd")
    changed = since(whole.result_id)
    (edit,) = changed.edits
    data = list(whole.data)
    data[edit.start : edit.start + edit.delete_count] = edit.data
    assert len(edit.data) < len(data) / 10
    assert list(since("unknown").data) == data
    other = buffer.ask(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, params)
    assert list(other.data) == data
