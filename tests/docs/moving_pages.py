"""The examples of the pages in docs/orgrest/moving, with the expected result of each.

A page has three sections, with an example below each third-level heading: a block in the other
tool's format and, if it differs, the same in orgrest's format. Comments (`<!-- test ... -->`)
contain TOML with what only the test needs.

Settings of a page:

- `suffix`: the suffix of its documents;
- `foreign`: whether the first block of an example is in a format that orgrest can only import;
- `imported`: on pages about imports, the text in which the first block replaces ROW;
- `beside`: other files of the import, by name.

Settings of an example:

- `comes`: texts that must appear in the output;
- `error`: text that must appear in the error message for the first block;
- `files`: the content of files beside the document, by name;
- `arguments`, `environ`: the arguments and environment variables of the command;
- `status`: the expected exit status, by default 0;
- `send`: whether to send the requests to the demo server (otherwise, it is a dry run);
- `around`: a text that is used instead of `imported`;
- `needs`: the program that the test needs.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import attrs
from pages import ROOT, blocks_of, without_blocks

FOLDER = ROOT / "docs/orgrest/moving"
KINDS = ("The same", "Intentional differences", "Not supported")
_COMMENT = re.compile(r"^<!-- test\n(.*?)^-->\n", re.DOTALL | re.MULTILINE)


@attrs.frozen
class Example:
    """An example on a page: its section, its heading, its blocks, and the test's settings."""

    kind: str
    title: str
    theirs: str | None
    ours: str | None
    test: dict[str, Any]


@attrs.frozen
class MovingPage:
    """A page: its tool, the test's settings for all examples, and the examples."""

    tool: str
    test: dict[str, Any]
    examples: list[Example]


def moving_page(path: Path) -> MovingPage:
    """Read a page."""
    text = path.read_text("utf-8")
    marks = [*re.finditer(r"^##(#?) (.*)\n", without_blocks(text), re.MULTILINE)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    kind, examples = "", []
    for mark, end in zip(marks, ends, strict=True):
        if not mark[1]:
            kind = mark[2]
            continue
        body = text[mark.end() : end]
        found = [block.text for block in blocks_of(path, body)]
        assert len(found) <= 2, f"{path}: {mark[2]}: more than two blocks"
        theirs, ours = [*found, None, None][:2]
        examples.append(Example(kind, mark[2], theirs, ours, _test(body)))
    return MovingPage(path.stem, _test(text[: marks[0].start()]), examples)


def _test(text: str) -> dict[str, Any]:
    found = _COMMENT.search(text)
    assert found or "<!-- test" not in text, text
    return tomllib.loads(found[1]) if found else {}


MOVING_PAGES = [moving_page(path) for path in sorted(FOLDER.glob("*.md"))]
