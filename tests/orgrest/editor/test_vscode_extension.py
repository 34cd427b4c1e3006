"""The VS Code extension's statements about orgrest are true; tests/vscode runs the extension."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orgrest import __version__
from orgrest.commands.main import program
from orgrest.http.assertions.operators import OPERATORS
from orgrest.http.assertions.subjects import SUBJECTS
from orgrest.http.parsing.request_file.grammar import METHODS, RARE_METHODS
from orgrest.options import OPTIONS
from orgrest.run.outcomes import EvaluationError
from orgrest.run.writable_files import check

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "editors" / "vscode"


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


SNIPPETS = read("snippets/http.json")


def expanded(body: list[str]) -> str:
    """Return a snippet's text with its default values."""
    text = "\n".join(body)
    while (found := re.sub(r"\$\{\d+:((?:[^${}\\]|\\.|\{\{|(?<=\\\})\})*)\}", r"\1", text)) != text:
        text = found
    return re.sub(r"\\([$}])", r"\1", re.sub(r"(?<!\\)\$\d", "", text))


@pytest.mark.parametrize("name", SNIPPETS)
def test_each_snippet_can_be_sent(name: str, tmp_path: Path) -> None:
    body = SNIPPETS[name]["body"]
    text = expanded(body)
    if name == "Named request" or name == "Prompt" or text.startswith(("@", "Authorization")):
        above = text.startswith(("@", "#"))
        text = f"{text}\nGET https://example.org/" if above else f"GET https://example.org/\n{text}"
    elif text.startswith(("??", ">")):
        text = f"GET https://example.org/\n\n{text}"
    elif text.startswith("<"):
        text = f"{text}\nGET https://example.org/"
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "a.http").write_text(text + "\n")
    secrets = {"PASSWORD": "pw", "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "key"}
    values = [word for one in ("token=t", "name=n") for word in ("--var", one)]
    done = CliRunner().invoke(
        program, [str(tmp_path / "a.http"), "--dry-run", *values], env=secrets
    )
    assert done.exit_code == 0, done.output


def test_the_extension_has_the_version_of_the_package() -> None:
    assert {read(f"{one}.json")["version"] for one in ("package", "package-lock")} == {__version__}


def test_all_methods_subjects_and_operators_are_coloured() -> None:
    rules = read("syntaxes/http.tmLanguage.json")["repository"]
    request = re.compile(rules["request"]["begin"])
    for method in (*METHODS.split("|"), *RARE_METHODS.split("|"), "CUSTOM"):
        found = request.match(f"{method} https://example.org/ HTTP/1.1")
        assert found is not None
        assert method in found.groups()
    subjects, operators = (rule["match"] for rule in rules["assertion"]["patterns"][1:3])
    for subject in SUBJECTS:
        assert re.fullmatch(subjects.replace("\\G", ""), subject), subject
    for operator in OPERATORS:
        assert re.search(operators, f"x {operator} 1"), operator


def test_no_host_of_a_registry_stands_in_the_locks() -> None:
    for name in ("package-lock.json", "tests/package-lock.json"):
        assert '"resolved"' not in (FOLDER / name).read_text()


def test_the_pictures_of_vs_code_are_small() -> None:
    found = list((ROOT / "docs").glob("vscode-*.png"))
    assert found
    assert max(path.stat().st_size for path in found) < 100_000


def test_each_command_and_view_of_the_manifest_is_made_by_the_extension() -> None:
    manifest, sources = (
        read("package.json")["contributes"],
        "".join(path.read_text() for path in sorted((FOLDER / "src").glob("*.ts"))),
    )
    made = sources[sources.index("const commands:") :]
    for command in manifest["commands"]:
        name = command["command"].removeprefix("orgrest.")
        assert re.search(rf"^    {name}: ", made, re.MULTILINE), name
    for command in manifest["views"]["orgrest"]:
        assert f'"{command["id"]}"' in sources


def test_each_setting_that_a_user_finds_in_vs_code_is_read() -> None:
    types = {
        "text": {"type": "array", "items": {"type": "string"}, "default": []},
        "pairs": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
        "description": {"type": "boolean", "default": True},
        "folder": {"type": "array", "items": {"type": "string"}, "default": []},
    }
    properties = read("package.json")["contributes"]["configuration"]["properties"]
    rows = {row.setting: types[row.kind] for row in OPTIONS if row.setting}
    for name, expected in rows.items():
        found = properties[f"orgrest.{name}"]
        assert {key: found[key] for key in expected} == expected, name
    code = "".join(path.read_text() for path in (FOLDER / "src").rglob("*.ts"))
    own = set(re.findall(r"(?:settings\s*\.get(?:<\w+>)?|\bsetting)\(\s*\"([\w.]+)\"", code))
    client = {"trace.server"}  # read by VS Code's client of language servers
    assert {name.removeprefix("orgrest.") for name in properties} == rows.keys() | own | client


def test_the_button_that_allows_writing_finds_the_folder_in_the_refusal(tmp_path: Path) -> None:
    source = (FOLDER / "src" / "extension.ts").read_text()
    pattern = next(
        match for match in re.findall(r"/(\S.*)/\.exec\(", source) if "--allow-write" in match
    )
    with pytest.raises(EvaluationError) as refused:
        check(tmp_path / "b" / "x.json", "../b/x.json", tmp_path / "a" / "a.http", [])
    found = re.search(pattern, refused.value.reason)
    assert found is not None
    assert found[1] == str(tmp_path / "b")
