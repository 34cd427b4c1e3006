"""What an editor knows about request files that import others."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from orgrest.editor.analysis import Analysis
from orgrest.editor.completion import complete
from orgrest.editor.completion.cursor import Cursor
from orgrest.editor.completion.model import Imported
from orgrest.editor.diagnostics.report import Report
from orgrest.editor.hover import hover
from orgrest.editor.names import Names, Occurrence, RenameError
from orgrest.editor.used_files import RequestFiles
from orgrest.http.values import Inputs

TEXT = """\
# @import ./lib.http
import sub/more.http
run #whole file

### own
GET {{base}}/{{deep}}/{{login.token}}
X: {{login.response.headers.X-Id}}
# @ref again
"""
LIB = """\
@base = http://example.org
@other = {{base}}/x

# @name login
POST {{base}}/login

### whole file
GET {{base}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "lib.http").write_text(LIB)
    (tmp_path / "sub" / "more.http").write_text("import ./deep.http\n")
    (tmp_path / "sub" / "deep.http").write_text(
        "@deep = 3\n### again\nGET http://x/\n".replace("\n", "\r\n"), newline=""
    )
    return tmp_path


def analysed(
    folder: Path,
    text: str = TEXT,
    before: Analysis | None = None,
    files: RequestFiles | None = None,
) -> Analysis:
    scope = partial(Inputs, directory=folder)
    return Analysis(text, "http", scope, before, name="a.http", files=files)


def occurrence(names: Names, word: str) -> Occurrence:
    found = names.at(names.analysis.text.index(word))
    assert found is not None
    return found


def test_what_imported_files_define_and_name_is_no_problem(folder: Path) -> None:
    assert Report(analysed(folder)).diagnostics == ()


def test_what_the_scripts_of_imported_files_set_is_no_problem(folder: Path) -> None:
    script = "{{\nexports.tenant = 'a';\nexports.sign = (text) => text;\n}}\n"
    (folder / "scripts.http").write_text(script)
    text = "# @import scripts.http\n###\nGET http://x/{{tenant}}/{{sign(tenant)}}\n"
    assert Report(analysed(folder, text)).diagnostics == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("import lib.http\nGET http://x/{{nowhere}}\n", ["the variable nowhere is not defined"]),
        ("import lib.http\n# @ref no\nGET http://x/\n", ["no request named no; available:"]),
        ("import lib.http\nrun #no\n", ["no request named no; available: login, whole file"]),
        ("import none.http\nGET http://x/{{unknown}}\n", ["could not read none.http"]),
        ("import ../none.http\n", ["../none.http is outside the document's folder"]),
        ("# @import {{v}}/a.http\n", ["the path of an import cannot contain variables"]),
        ("import bad.http\n", ["bad.http:1:8: could not read none.http"]),
        (
            "import circle.http\n",
            ["import each other; each is read once: a.http -> circle.http -> a.http"],
        ),
    ],
)
def test_what_is_wrong_with_imports_is_reported_at_their_line(
    folder: Path, text: str, found: list[str]
) -> None:
    (folder / "bad.http").write_text("import none.http\n")
    (folder / "circle.http").write_text("import a.http\n")
    (folder / "a.http").write_text(text)
    diagnostics = Report(analysed(folder, text)).diagnostics
    assert len(diagnostics) == len(found)
    for one, part in zip(diagnostics, found, strict=True):
        assert part in one.message
        assert one.span.start > 0


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("base}}/{{deep", ["http://example.org", "set in lib.http, line 1"]),
        ("deep}}", ["3", "set in sub/deep.http, line 1"]),
        ("login.token", ["POST {{base}}/login", "defined in lib.http, line 4"]),
        ("response.headers", ["POST {{base}}/login", "lib.http, line 4, which is sent first"]),
        ("again", ["GET http://x/", "sub/deep.http, line 2"]),
        ("whole file", ["GET {{base}}", "lib.http, line 7"]),
    ],
)
def test_hover_tells_the_value_and_the_file_that_it_comes_from(
    folder: Path, word: str, expected: list[str]
) -> None:
    analysis = analysed(folder)
    hover_text = hover(analysis, Names(analysis), TEXT.index(word))
    assert hover_text is not None
    assert all(part in hover_text[0] for part in expected), hover_text


@pytest.mark.parametrize(
    ("word", "file", "line", "text"),
    [
        ("login.response", "lib.http", 4, "login"),
        ("whole file", "lib.http", 7, "whole file"),
        ("base}}", "lib.http", 1, "base"),
        ("deep}}", "deep.http", 1, "deep"),
        ("again", "deep.http", 2, "again"),
    ],
)
def test_a_name_leads_into_the_file_that_has_it(
    folder: Path, word: str, file: str, line: int, text: str
) -> None:
    names = Names(analysed(folder))
    place = names.in_file(occurrence(names, word))
    assert place is not None
    assert (place.file.path.name, place.line) == (file, line)
    assert place.file.document.source.text[place.span.start : place.span.end] == text


def test_the_documents_own_definition_goes_before_an_imported_one(folder: Path) -> None:
    names = Names(analysed(folder, "@base = mine\n" + TEXT))
    one = occurrence(names, "base}}")
    assert names.in_file(one) is None
    assert [found.span.start for found in names.definitions(one)] == [1]


def test_the_path_of_an_import_leads_to_its_file(folder: Path) -> None:
    analysis = analysed(folder)
    found = [analysis.import_at(TEXT.index(word)) for word in ("lib.http", "more.http", "### own")]
    assert [file.path.name if file else None for file in found] == ["lib.http", "more.http", None]


def test_what_another_file_names_is_renamed_there(folder: Path) -> None:
    names = Names(analysed(folder))
    with pytest.raises(RenameError, match=r"login is defined in lib\.http, line 4: rename"):
        names.rename(occurrence(names, "login.response"), "enter")
    with pytest.raises(RenameError, match=r"base is defined in lib\.http, line 1: rename"):
        names.rename(occurrence(names, "base}}"), "root")


@pytest.mark.parametrize(
    ("lib", "word", "reason"),
    [
        ("### a\nGET http://x/{{down}}\n", "down", "line 2 of lib.http also uses down"),
        ("### a\nGET {{down.length}}\n", "down", "line 2 of lib.http also uses down"),
        ("### a\nGET {{call.response.body.id}}\n", "call", "line 2 of lib.http also uses call"),
        ("### a\n# @ref call\nGET x\n", "call", "line 2 of lib.http also uses call: change it"),
        ("import sub/more.http\n", "down", "line 1 of sub/more.http also uses down"),
        ("GET x\n\n> {%\nf(down)\n%}\n", "down", "the JavaScript on line 4 of lib.http also uses"),
        ("POST x\n\n<@ ./body.txt\n", "down", "line 1 of ./body.txt also uses down"),
        ("GET x\nAuthorization: oauth2\n", "oauth2_scope", "header on line 2 of lib.http uses"),
        ("@down = 2\n# @name call\nGET x/{{down}}/{{call.a}}\n", "down", ""),
        ("@down = 2\n# @name call\nGET x/{{down}}/{{call.a}}\n", "call", ""),
        ("GET x/down/call\n", "call", ""),
    ],
)
def test_what_an_imported_file_uses_is_not_renamed(
    folder: Path, lib: str, word: str, reason: str
) -> None:
    (folder / "lib.http").write_text(lib)
    (folder / "body.txt").write_text("{{down}}")
    (folder / "sub" / "more.http").write_text("GET {{down}}\n")
    text = "# @import lib.http\n@down = 1\n@oauth2_scope = s\n###\n# @name call\nGET http://x/{{down}}\n"
    names = Names(analysed(folder, text))
    if reason:
        with pytest.raises(RenameError, match=reason):
            names.rename(occurrence(names, word), "new")
    else:
        assert names.rename(occurrence(names, word), "new")


def test_a_changed_file_is_read_again_and_only_then(folder: Path) -> None:
    opened: dict[Path, str] = {}
    files = RequestFiles(opened.get)
    first = analysed(folder, files=files)
    again = analysed(folder, before=first, files=files)
    assert first.imports is not None
    assert again.imports is not None
    assert [file.document for file in again.imports.files] == [
        file.document for file in first.imports.files
    ]
    assert first.is_current()
    (folder / "lib.http").write_text(LIB.replace("base", "root"))
    os.utime(folder / "lib.http", ns=(1, 1))
    assert not first.is_current()
    report = Report(analysed(folder, before=again, files=files), Report(again))
    assert [diagnostic.code for diagnostic in report.diagnostics] == ["undefined-variable"]
    opened[folder / "lib.http"] = LIB  # as the editor has it, not saved
    assert Report(analysed(folder, files=files)).diagnostics == ()
    (folder / "lib.http").unlink()
    del opened[folder / "lib.http"]
    assert not first.is_current()
    assert not analysed(folder, files=files).is_current()


def test_an_imported_file_that_changes_while_it_is_read_is_read_again(folder: Path) -> None:
    texts = {folder / "lib.http": ""}

    def opened(path: Path) -> str | None:
        if path.name == "deep.http":  # it is read after lib.http
            texts[folder / "lib.http"] = LIB
        return texts.get(path)

    files = RequestFiles(opened)
    first = analysed(folder, files=files)
    assert Report(first).diagnostics
    assert not first.is_current()
    again = analysed(folder, before=first, files=files)
    assert Report(again).diagnostics == ()
    assert again.is_current()


def offered(marked: str) -> dict[str, str]:
    at = marked.index("|")
    found = complete(
        Cursor(
            marked[:at] + marked[at + 1 :],
            at,
            document="http",
            files=lambda folder: {"": ["lib.http", "sub/"], "sub/": ["more.http"]}.get(folder, []),
            imported=lambda: Imported(
                {"base": ("http://x", "lib.http, line 1")}, {"login": "lib.http"}
            ),
        )
    )
    return {one.label: one.documentation for one in found}


@pytest.mark.parametrize(
    ("marked", "label", "documentation"),
    [
        ("# @import l|", "lib.http", "A file."),
        ("import |", "sub/", "A folder."),
        ("run sub/m|", "more.http", "A file."),
        ("import lib.http\nrun #lo|", "login", "lib.http"),
        ("import lib.http\n# @ref |", "login", "lib.http"),
        ("import lib.http\nGET {{ba|", "base", "http://x\n\nlib.http, line 1"),
        ("import lib.http\nGET {{login.resp|", "login.response.body", "lib.http"),
    ],
)
def test_paths_and_what_files_bring_is_offered(marked: str, label: str, documentation: str) -> None:
    assert documentation in offered(marked)[label]


def test_no_path_is_offered_in_a_body() -> None:
    assert "lib.http" not in offered("POST http://x/\n\nimport l|")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "# @name a\nGET http://x/\n###\n# @name a\nGET http://x/{{a.response.status}}\n",
            ["also"],
        ),
        (
            "### a\nGET http://x/\n### a\nGET http://x/\n",
            ["the request at line 2 is also named a:"],
        ),
        ("# @name r0\nGET http://x/{{r0.response.body.$.id}}\n", ["refers to itself: r0 -> r0"]),
        (
            "### a\nGET http://x/{{b.id}}\n### b\n# @ref a\nGET http://x/\n",
            ["a refers to itself: a -> b -> a"],
        ),
        (
            "import back.http\n### a\nGET http://x/{{far.id}}\n### b\nGET http://x/{{far.id}}\n",
            ["a refers to itself: a -> far -> a"],
        ),
        (
            "import round.http\n### a\nGET http://x/{{r1.id}}\n",
            ["r1 refers to itself: r1 -> r2 -> r1"],
        ),
        ("### a\nGET http://x/\n\n?? body id == {{a.id}}\n### b\nGET http://x/{{a.id}}\n", []),
    ],
)
def test_names_that_stand_twice_and_real_circles_are_reported_while_typing(
    folder: Path, text: str, found: list[str]
) -> None:
    (folder / "back.http").write_text("### far\n# @ref a\nGET http://x/\n")
    (folder / "round.http").write_text(
        "### r1\nGET http://x/{{r2.id}}\n### r2\nGET http://x/{{r1.id}}\n"
    )
    diagnostics = Report(analysed(folder, text)).diagnostics
    assert len(diagnostics) == len(found), diagnostics
    assert all(part in one.message for part, one in zip(found, diagnostics, strict=True))
