"""The pictures are up to date: replaying a session gives the same text."""

import re

import pytest
from components import missing, require
from pages import PAGES, ROOT
from site_modules import site_module

pytest.importorskip("pyte")
pictures, terminal = site_module("pictures"), site_module("terminal")
reports = site_module("reports")

VARYING = re.compile(
    r"\d+\.\d+ ?m?s\b|\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC|(?<=orgrest )\d+\.\d+\.\d+"
    r"|(?<=gzip, deflate)(?:, br)?(?:, zstd)?"  # for which packages have to be there
)


@pytest.mark.parametrize("name", sorted(pictures.PICTURES))
def test_a_picture_has_the_text_that_the_program_shows(name: str) -> None:
    if name == "emacs.svg":
        require("emacs")

    def shown(drawing: str) -> list[str]:
        return VARYING.sub("...", " ".join(terminal.text_of(drawing))).split()

    assert shown(pictures.draw(name)) == shown((ROOT / "docs" / name).read_text("utf-8"))


@pytest.mark.skipif(reports.BROWSER is None, reason=missing("chromium"))
@pytest.mark.parametrize("name", sorted(reports.PICTURES))
def test_a_picture_of_a_report_has_the_text_that_the_report_has(name: str) -> None:
    def shown(text: str) -> str:
        return VARYING.sub("...", text)

    assert shown(reports.text_now(name)) == shown(reports.text_of(ROOT / "docs" / name))


def test_every_picture_of_a_page_is_made_by_a_script() -> None:
    image = re.compile(r"!\[[^]]*\]\(\S*?([\w-]+\.\w+)\)")
    shown = {name for page in PAGES for name in image.findall(page.read_text("utf-8"))}
    script = (ROOT / "editors/vscode/tests/pictures.mjs").read_text("utf-8")
    of_vscode = {f"vscode-{name}.png" for name in re.findall(r'await take\("([\w-]+)"', script)}
    assert shown == {*pictures.PICTURES, *reports.PICTURES, *of_vscode}
