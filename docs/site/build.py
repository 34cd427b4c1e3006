"""Builds the documentation site: run `python docs/site/build.py`, then open build/site/index.html.

The pages in docs/ are copied to build/docs and completed with what is generated from the code, and
Zensical builds the site from them. build/mkdocs.yml is a copy of docs/site/mkdocs.yml that lists
all modules. A warning, such as a dead link, makes the exit status other than 0.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
NEEDED = ("orgrest", "scriptschema", "mkdocstrings", "zensical")
_CODE = re.compile(r"`[^`\n]+`")
_PATTERN = re.compile(r"^(?P<lead> *- )(?P<folder>\S+)/\*\.md\n", re.MULTILINE)


def gather() -> set[str]:
    """Make build/docs: the pages of docs/ with generated ones, whose paths are returned."""
    import reference

    import orgrest
    import scriptschema

    folder = ROOT / "build/docs"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder, ignore=shutil.ignore_patterns("site"))
    generated = reference.pages()
    for path, text in generated.items():
        page = folder / path
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(reference.head(page) + text, encoding="utf-8")
    with (folder / "index.md").open("a", encoding="utf-8") as home:
        versions = f"scriptschema {scriptschema.__version__}, orgrest {orgrest.__version__}"
        home.write(f"\n{versions}, under the MIT licence.\n")
    for page in folder.rglob("*.md"):
        lines = page.read_text("utf-8").split("\n")
        shown = [_CODE.sub(_bars, one) if one.startswith("|") else one for one in lines]
        page.write_text("\n".join(shown), encoding="utf-8")
    config = (ROOT / "docs/site/mkdocs.yml").read_text("utf-8")
    listed = _PATTERN.sub(lambda found: _pages(found, config), config)
    (ROOT / "build/mkdocs.yml").write_text(listed, encoding="utf-8")
    return {path.removesuffix(".md") + ".html" for path in generated}


def order_search(generated: set[str]) -> None:
    """Rewrite the search index: guides before generated pages, and no names of internal modules.

    The search ranks a match in a title above one in a text, so every guide would come after all
    commands and names with the same word. Titles of generated pages are therefore not searched,
    only their text, which begins with the title.
    """
    site = ROOT / "build/site"
    index = json.loads((site / "search.json").read_text("utf-8"))
    guides, reference = [], []
    for item in index["items"]:
        page, _, name = item["location"].partition("#")
        if page not in generated:
            guides.append(item)
        elif "/api/" not in page or _is_searched(name):
            reference.append(_unranked(item))
    written = json.dumps({**index, "items": guides + reference})
    (site / "search.json").write_text(written, encoding="utf-8")
    (site / "search.js").write_text(f"var __index = {written}", encoding="utf-8")


def _is_searched(name: str) -> bool:
    """Return whether users import a name: a class or function of a module of scriptschema."""
    module, _, own = name.rpartition(".")
    return (
        name.startswith("scriptschema.")
        and len(module.split(".")) <= 3
        and _is_module(module)
        and re.match(r"[A-Za-z][a-z0-9_]|[A-Z]+[a-z]", own) is not None
    )


@cache
def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # a class, for what is in it
        return False


def _unranked(item: dict[str, Any]) -> dict[str, Any]:
    """Return an entry whose title looks the same and matches no query."""
    title = re.sub(r" *<small>.*?</small>|</?code>", "", item["title"])
    name = item["location"].partition("#")[2] if "/api/" in item["location"] else title
    hidden = re.sub(r"[^\W_]+", lambda word: f"\N{WORD JOINER}{word[0]}", title)
    text = f"<p>{name}</p> {item['text']}"
    return {**item, "title": hidden, "text": text, "path": item["path"][:2]}


def _bars(found: re.Match[str]) -> str:
    """Return code in a table with its bars unescaped. GitHub needs escapes, Zensical shows them."""
    return found[0].replace("\\|", "|")


def _pages(found: re.Match[str], config: str) -> str:
    """Return a line of the navigation for each page that matches a pattern."""
    folder = ROOT / "build/docs"
    pages = (p.relative_to(folder) for p in sorted((folder / found["folder"]).glob("*.md")))
    return "".join(f"{found['lead']}{page}\n" for page in pages if f" {page}\n" not in config)


def main() -> None:
    """Build the site."""
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.exit(
            f"build.py: {', '.join(missing)} cannot be imported by {sys.executable}.\n"
            "Install them in the repository's folder, and use that environment:\n"
            "  python3 -m venv .venv && .venv/bin/pip install . zensical mkdocstrings-python\n"
            "  .venv/bin/python docs/site/build.py"
        )
    generated = gather()
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    command += ["--config-file", "build/mkdocs.yml"]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    if status == 0:
        order_search(generated)
    sys.exit(status)


if __name__ == "__main__":
    main()
