"""The pages that users read, README included, and the blocks of code in them."""

import re
from collections.abc import Iterator
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(
    r"^(?P<indent> *)(?P<fence>`{3,})(?P<language>[\w-]*)(?P<info>[^\n`]*)\n"
    r"(?P<text>.*?)^(?P=indent)(?P=fence)$",
    re.DOTALL | re.MULTILINE,
)
_TITLE = re.compile(r'title="([^"]*)"')


@attrs.frozen
class Block:
    """A block: where it begins, its language, the title above it, and its text."""

    page: Path
    line: int
    language: str
    title: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    """Yield the blocks of a page."""
    text = page.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        title = _TITLE.search(found["info"])
        body = re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE)
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page, line, found["language"], title[1] if title else "", body)


def is_tutorial(page: Path) -> bool:
    """Tell whether a page is one session from its top to its bottom."""
    return page.name == "tutorial.md"
