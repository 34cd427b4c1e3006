"""Each example on the pages about moving from other tools is run, and behaves as the page says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from components import require
from moving_pages import KINDS, MOVING_PAGES, Example, MovingPage

from orgrest.commands.demo_server import serve
from orgrest.commands.main import program

EXAMPLES = [
    pytest.param(page, example, id=f"{page.tool}-{example.title}")
    for page in MOVING_PAGES
    for example in page.examples
    if example.theirs
    and not (page.test.get("foreign") and not example.ours and "imported" not in page.test)
]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serve() as number:
        yield number


def imported(source: str, folder: Path, beside: dict[str, str] | None = None) -> str:
    """Return what an import prints: the document, and the parts that it could not translate."""
    file = folder / "source"
    if beside is None:
        file.write_text(source)
    else:
        file.mkdir()
        for name, content in {**beside, "one.bru": source}.items():
            (file / name).write_text(content)
    done = CliRunner().invoke(program, ["import", str(file)])
    assert done.exit_code == 0, done.output
    return done.output


def run(text: str, test: dict[str, Any], suffix: str, port: int, folder: Path) -> Any:
    """Run orgrest with a document, either sending its requests or printing them."""
    host = f"http://127.0.0.1:{port}"
    file = folder / f"document{suffix}"
    file.write_text(text.replace("HOST", host))
    for name, content in test.get("files", {}).items():
        (folder / name).write_text(content)
    how = ["--stdout"] if suffix == ".org" else []
    how = how if test.get("send") else ["--dry-run"]
    given = ["--var", f"host={host}"] if test.get("send") and suffix != ".org" else []
    given = ["--var", f"host={host}"] if "(verb-var host)" in text else given
    arguments = [str(file), *how, *given, *test.get("arguments", [])]
    return CliRunner().invoke(program, arguments, env=test.get("environ"))


@pytest.mark.parametrize(("page", "example"), EXAMPLES)
def test_what_a_page_says_about_a_spelling_is_true(
    page: MovingPage, example: Example, port: int, tmp_path: Path
) -> None:
    test = example.test
    theirs, ours = example.theirs or "", example.ours
    if test.get("needs"):
        require(test["needs"])
    if "imported" in page.test:
        around = test.get("around", page.test["imported"])
        source = around.replace("ROW", theirs.removesuffix("\n"))
        printed = imported(source, tmp_path, page.test.get("beside"))
        assert (ours or "").strip() in printed, printed
        assert all(text in printed for text in test.get("comes", []))
        return
    suffix, foreign = page.test["suffix"], page.test.get("foreign")
    first = theirs if "error" in test or not foreign else ours or ""
    done = run(first, test, suffix, port, tmp_path)
    if "error" in test:
        assert done.exit_code != 0, done.output
        assert test["error"] in done.output
        if ours is None:
            return
        done = run(ours, test, suffix, port, tmp_path)
    elif ours is not None and not foreign:
        done = run(ours, test, suffix, port, tmp_path)
    assert done.exit_code == test.get("status", 0), done.output
    for text in test["comes"]:
        assert text.replace("PORT", str(port)) in done.output
    assert example.kind != "Not supported", "what is not supported does not work"


@pytest.mark.parametrize("page", MOVING_PAGES, ids=lambda page: page.tool)
def test_a_page_has_the_three_sections(page: MovingPage) -> None:
    assert list(dict.fromkeys(example.kind for example in page.examples)) == list(KINDS)
