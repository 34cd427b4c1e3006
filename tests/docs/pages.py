"""The pages that users read, README included, and the blocks of code in them."""

import re
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *ROOT.glob("*/README.md"), *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w-]*)(?P<info>[^\n`]*)\n"
    r"(?P<text>.*?)^(?P=indent)(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
_TITLE = re.compile(r'title="([^"]*)"')


@attrs.frozen
class Block:
    """A code block: where it starts, its language, its title, and its text."""

    page: Path
    line: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page."""
    return blocks_of(page, page.read_text("utf-8"))


def without_blocks(text: str) -> str:
    """Return `text` with its blocks and comments replaced by spaces. Offsets stay the same."""
    text = _BLOCK.sub(lambda found: " " * len(found[0]), text)
    return re.sub(r"<!--.*?-->", lambda found: " " * len(found[0]), text, flags=re.DOTALL)


def blocks_of(page: Path, text: str) -> Iterator[Block]:
    """Yield the blocks in `text`, which is a part of `page`."""
    for found in _BLOCK.finditer(text):
        title = _TITLE.search(found["info"])
        body = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page, line, found["language"], title[1] if title else "", body)


def is_tutorial(page: Path) -> bool:
    """Return whether a page is one session from top to bottom."""
    return page.name == "tutorial.md" and page.parent.name != "commands"
