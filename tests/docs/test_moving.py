"""Each row of the tables on moving from other tools is tried: what they say is the same is."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from components import require
from site_modules import site_module

from orgrest.commands.demo_server import serve
from orgrest.commands.main import program

moving = site_module("moving")
TABLES = {tool: moving.table(tool) for tool in moving.TOOLS}
ROWS = [
    pytest.param(tool, kind, row, id=f"{tool}-{row['what']}")
    for tool, data in TABLES.items()
    for kind in moving.KINDS
    for row in data.get(kind, [])
    if row["theirs"].strip()
    and not (data.get("foreign") and "ours" not in row and "imported" not in data)
]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serve() as number:
        yield number


def imported(
    row: dict[str, Any], around: str, folder: Path, beside: dict[str, str] | None = None
) -> str:
    """Return what an import prints of what stands on the left, and what it complains of."""
    file = folder / "source"
    text = around.replace("ROW", row["theirs"].strip("\n"))
    if beside is None:
        file.write_text(text)
    else:
        file.mkdir()
        for name, content in {**beside, "one.bru": text}.items():
            (file / name).write_text(content)
    done = CliRunner().invoke(program, ["import", str(file)])
    assert done.exit_code == 0, done.output
    return done.output


def run(text: str, row: dict[str, Any], suffix: str, port: int, folder: Path) -> Any:
    host = f"http://127.0.0.1:{port}"
    file = folder / f"document{suffix}"
    file.write_text(text.lstrip("\n").replace("HOST", host))
    how = ["--stdout"] if suffix == ".org" else []
    how = how if row.get("send") else ["--dry-run"]
    given = ["--var", f"host={host}"] if row.get("send") and suffix != ".org" else []
    given = ["--var", f"host={host}"] if "(verb-var host)" in text else given
    arguments = [str(file), *how, *given, *row.get("arguments", [])]
    return CliRunner().invoke(program, arguments, env=row.get("environ"))


@pytest.mark.parametrize(("tool", "kind", "row"), ROWS)
def test_what_a_table_says_of_a_spelling_is_true(
    tool: str, kind: str, row: dict[str, Any], port: int, tmp_path: Path
) -> None:
    if row.get("needs"):
        require(row["needs"])
    if "imported" in TABLES[tool]:
        printed = imported(
            row, row.get("around", TABLES[tool]["imported"]), tmp_path, TABLES[tool].get("beside")
        )
        assert row.get("ours", "").strip() in printed, printed
        assert all(text in printed for text in row.get("comes", []))
        return
    suffix, foreign = TABLES[tool]["suffix"], TABLES[tool].get("foreign")
    written = row["theirs"] if "error" in row or not foreign else row["ours"]
    done = run(written, row, suffix, port, tmp_path)
    if "error" in row:
        assert done.exit_code != 0, done.output
        assert row["error"] in done.output
        if "ours" not in row:
            return
        done = run(row["ours"], row, suffix, port, tmp_path)
    elif "ours" in row and not foreign:
        done = run(row["ours"], row, suffix, port, tmp_path)
    assert done.exit_code == row.get("status", 0), done.output
    for text in row["comes"]:
        assert text.replace("PORT", str(port)) in done.output
    assert kind != "missing", "what is not there does not work"


@pytest.mark.parametrize("tool", moving.TOOLS)
def test_a_page_has_the_three_tables(tool: str) -> None:
    assert all(TABLES[tool].get(kind) for kind in moving.KINDS)
    page = moving.pages()[f"orgrest/moving/{tool}.md"]
    assert page.count("| --- ") >= 6
