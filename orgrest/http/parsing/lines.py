"""A cursor over the lines of a source, shared by the parsers of its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from orgrest.http.parsing.grammar import ASSERTION
from orgrest.http.syntax import LineState, Template
from orgrest.model import Span

if TYPE_CHECKING:
    import re
    from collections.abc import Sequence

    from orgrest.http.syntax import Assertion

BLANKS = " \t\r"


@attrs.frozen
class Line:
    """A line of the source: its text without trailing blanks, and its start offset."""

    text: str
    start: int
    raw: str

    @property
    def indent(self) -> int:
        """The number of leading blanks."""
        return len(self.text) - len(self.text.lstrip(" \t"))

    @property
    def end(self) -> int:
        """The offset where its text ends."""
        return self.start + len(self.text)

    @property
    def span(self) -> Span:
        """The span of its text."""
        return Span(self.start, self.end)

    def dedented(self, indent: int) -> tuple[str, int]:
        """Return the text without up to `indent` leading blanks, and its new start offset."""
        return _dedent(self.text, self.start, indent)


class Lines:
    """All lines of a source; `at` is the index of the next one to read.

    `state` is the parser's context for the next line; an unclosed here-document keeps it.
    """

    def __init__(self, text: str, part: Span | None = None) -> None:
        """Split a text, or a `part` of it, into lines."""
        self.all: list[Line] = []
        start, end = (0, len(text)) if part is None else (part.start, part.end)
        for raw in text[start:end].split("\n"):  # only LF ends a line
            self.all.append(Line(raw.rstrip(BLANKS), start, raw))
            start += len(raw) + 1
        self.at = 0
        self.unclosed = False
        self.state = LineState()

    @property
    def left(self) -> bool:
        """Whether there are lines left to read."""
        return self.at < len(self.all)

    @property
    def next(self) -> Line:
        """The next line to read."""
        return self.all[self.at]

    def skip_to_comment(self, indent: int = 0) -> None:
        """Advance to the next line that starts with `#` once its indentation is removed."""
        while self.left and not self.next.dedented(indent)[0].startswith("#"):
            self.at += 1

    def here_document(self, word: str | None, indent: int) -> tuple[Template, int] | None:
        """Consume the lines of a here-document and the line that ends it.

        That line is `word`, or starts with `#` if `word` is None. Returns the text and the end
        offset of the whole, or None if it is unclosed: then all lines are consumed.
        """
        pieces: list[tuple[str, int]] = []
        around, self.state = self.state, LineState("quoted")
        while self.left:
            line = self.next
            self.at += 1
            text, start = line.dedented(indent)
            if text == word or (word is None and text.startswith("#")):
                self.state = around
                return joined(pieces or [("", line.start)]), line.end
            if word is not None:
                text, start = _dedent(line.raw.rstrip("\r"), line.start, indent)
            pieces.append((text, start))
        self.unclosed = True
        return None


def one_line(text: str, offset: int) -> Template:
    """Return the template of a text on a single line."""
    return Template(text, ((0, offset),))


def assertion_in(text: str, start: int, end: int) -> Assertion | str | None:
    """Return the assertion that a line (without surrounding blanks) is, None if it has no `??`.

    A line that only looks like an assertion gives the reason why it is not one. `start` and `end`
    are the line's offsets.
    """
    match = ASSERTION.fullmatch(text)
    if match is None:
        return None
    from orgrest.http.assertions.reading import read_assertion

    return read_assertion(one_line(match["text"], start + match.start("text")), Span(start, end))


def joined(pieces: Sequence[tuple[str, int]], mark: str = "\n") -> Template:
    """Join pieces, each with its offset, into one template with `mark` between them."""
    anchors = []
    size = 0
    for text, offset in pieces:
        anchors.append((size, offset))
        size += len(text) + len(mark)
    return Template(mark.join(text for text, _ in pieces), tuple(anchors))


def target_of(
    url: Sequence[tuple[str, int]], version: re.Pattern[str]
) -> tuple[Template, str | None]:
    """Join a URL's lines; return the URL and the HTTP version after its last or first line.

    `version` matches a version at the end of a line, with the blanks before it.
    """
    url, found = list(url), None
    for at in (-1, 0):
        text, offset = url[at]
        if found is None and (match := version.search(text)):
            found = match[1]
            url[at] = (text[: match.start()], offset)
    return joined(url, ""), found


def _dedent(text: str, start: int, indent: int) -> tuple[str, int]:
    removed = min(indent, len(text) - len(text.lstrip(" \t")))
    return text[removed:], start + removed
