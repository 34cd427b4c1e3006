"""Builds the documentation site: `python docs/site/build.py`, and then open build/site/index.html.

The pages in docs/ are copied to build/docs, the pages made from the code are put beside them, and
Zensical makes the site of these, as mkdocs.yml tells it, of which build/ gets a copy that lists all
modules. Ends with a status other than 0 where there is a warning, a link into nothing for example.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import moving
import reference

ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"`[^`\n]+`")
_PATTERN = re.compile(r"^(?P<lead> *- )(?P<folder>\S+)/\*\.md\n", re.MULTILINE)


def gather() -> None:
    """Make build/docs: the pages, and what is made from the code."""
    folder = ROOT / "build/docs"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("site", "*.toml"))
    for path, text in {**reference.pages(), **moving.pages()}.items():
        page = folder / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(text, encoding="utf-8")
    with (folder / "index.md").open("a", encoding="utf-8") as home:
        home.write(f"\nVersion {version('scriptschema')}, under the MIT licence.\n")
    for page in folder.rglob("*.md"):
        lines = page.read_text("utf-8").split("\n")
        shown = [_CODE.sub(_bars, one) if one.startswith("|") else one for one in lines]
        page.write_text("\n".join(shown), encoding="utf-8")
    config = (ROOT / "docs/site/mkdocs.yml").read_text("utf-8")
    listed = _PATTERN.sub(lambda found: _pages(found, config), config)
    (ROOT / "build/mkdocs.yml").write_text(listed, encoding="utf-8")


def _bars(found: re.Match[str]) -> str:
    """Return code of a table with its bars as they are: escaped for GitHub, not for Zensical."""
    return found[0].replace("\\|", "|")


def _pages(found: re.Match[str], config: str) -> str:
    """Return a line of the navigation for each page that a pattern stands for."""
    folder = ROOT / "build/docs"
    pages = (p.relative_to(folder) for p in sorted((folder / found["folder"]).glob("*.md")))
    return "".join(f"{found['lead']}{page}\n" for page in pages if f" {page}\n" not in config)


def main() -> None:
    """Build the site."""
    gather()
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    command += ["--config-file", "build/mkdocs.yml"]
    sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
