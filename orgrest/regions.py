"""Where a file holds requests, and the way between offsets in these stretches and in the file.

A request file is one region; an Org document has one for each source block in a request language,
whose text is the block's body as it is evaluated (indentation and Org's commas taken away). What
an editor wants to know is asked of a region's `parsed` document, and told in the file's offsets.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from orgrest import org, requests
from orgrest.model import Source, Span

if TYPE_CHECKING:
    from orgrest import syntax

Kind: TypeAlias = Literal["org", "http"]
"""What a file is: an Org document, or a file of requests."""

_FENCE = re.compile(r"^[ \t]*#\+(begin|end)_(\S+)", re.IGNORECASE | re.MULTILINE)
_HEADING = re.compile(r"^\*+ ", re.MULTILINE)


class Region:
    """A stretch of a file that the request language rules.

    `source` is its text; `block` the Org block around it (None in a request file), whose offsets
    and lines count from `base`, the offset in the file of the text in which it was found. `span` is
    where the region stands in the file.
    """

    def __init__(
        self, source: Source, starts: list[int], span: Span, grown: list[int] | None = None
    ) -> None:
        """Make a region out of its text and the offsets in the file where its lines start.

        `grown` is by how many blanks each line is longer than in the file: a tab of which a part
        was taken away becomes blanks.
        """
        self.source = source
        self.span = span
        self.block: org.Block | None = None
        self.base = 0
        self._starts = starts
        self._grown = grown or [0] * len(starts)
        self._lines = [0]
        for line in source.text.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)

    @cached_property
    def parsed(self) -> syntax.Document:
        """The requests of the region."""
        return requests.parse(self.source)

    def to_file(self, offset: int) -> int:
        """Return the offset in the file of the character at `offset` of the region's text."""
        line = min(bisect_right(self._lines, offset) - 1, len(self._starts) - 1)
        return self._starts[line] + max(offset - self._lines[line] - self._grown[line], 0)

    def from_file(self, offset: int) -> int:
        """Return the offset in the region's text of a character of the file.

        What was taken away at the left of a line counts as that line's start.
        """
        line = max(bisect_right(self._starts, offset) - 1, 0)
        if line + 1 < len(self._starts) and offset >= self._ends(line) + 1:
            return self._lines[line + 1]
        within = max(offset - self._starts[line], 0)
        if within:
            within = min(within + self._grown[line], self._length(line))
        return self._lines[line] + within

    def _length(self, line: int) -> int:
        return self._lines[line + 1] - self._lines[line] - 1

    def _ends(self, line: int) -> int:
        return self._starts[line] + self._length(line) - self._grown[line]

    def to_file_span(self, span: Span) -> Span:
        """Return the span in the file of a span of the region's text."""
        return Span(self.to_file(span.start), self.to_file(span.end))


def regions(text: str, kind: Kind, file: str | None = None) -> list[Region]:
    """Return the regions of a file, in order.

    The text of an Org document has LF line ends, as everywhere in `orgrest.org`.
    """
    if kind == "http":
        return [_whole(text, file)]
    return of_document(org.Document(text), file)


def of_document(document: org.Document, file: str | None = None) -> list[Region]:
    """Return the regions of an Org document, in order."""
    return [
        _of_block(document, block, file, 0, 0)
        for block in document.blocks
        if block.kind == "block" and block.language in org.REQUEST_LANGUAGES
    ]


def region_at(text: str, offset: int, kind: Kind, file: str | None = None) -> Region | None:
    """Return the region around `offset`, or None; the rest of a long document is hardly read.

    A block that is not closed yet, before the next heading or the end of the text, is one here: it
    is being typed.
    """
    if kind == "http":
        return _whole(text, file)
    start = _section_start(text, offset)
    opened: re.Match[str] | None = None
    for fence in _FENCE.finditer(text, start, _line_end(text, offset)):
        if opened is None and fence[1].lower() == "begin":
            opened = fence
        elif opened is not None and fence[1].lower() == "end" and _same(opened, fence):
            if offset < fence.start():
                break
            opened = None
        elif opened is not None and not _verbatim(opened):
            opened = fence  # blocks of other kinds may hold blocks
    if opened is None or opened[2].lower() != "src" or offset <= _line_end(text, opened.start()):
        return None
    return _between(text, opened, offset, file)


def _between(text: str, opened: re.Match[str], offset: int, file: str | None) -> Region | None:
    """Return the region of the source block that `opened` opens, where it holds `offset`."""
    section_end = _section_end(text, opened.start())
    end = section_end
    closed = False
    for fence in _FENCE.finditer(text, opened.end(), section_end):
        if fence[1].lower() == "end" and _same(opened, fence):
            end, closed = _line_end(text, fence.start()), True
            if offset >= fence.start():
                return None
            break
    part = text[opened.start() : end]
    if not closed:
        part = part.rstrip("\n") if offset < opened.start() + len(part.rstrip("\n")) else part
        part += "\n#+end_src"
    document = org.Document(part)
    block = document.blocks[0] if document.blocks else None
    if block is None or block.kind != "block" or block.language not in org.REQUEST_LANGUAGES:
        return None
    return _of_block(document, block, file, opened.start(), text.count("\n", 0, opened.start()))


def _same(opened: re.Match[str], fence: re.Match[str]) -> bool:
    return opened[2].lower() == fence[2].lower()


def _verbatim(opened: re.Match[str]) -> bool:
    return opened[2].lower() in ("src", "example", "export", "comment", "verse")


def _section_start(text: str, offset: int) -> int:
    """Return where the section around `offset` starts: a heading ends all blocks."""
    at = _line_end(text, offset)
    while (found := text.rfind("\n*", 0, at)) >= 0:
        if _HEADING.match(text, found + 1):
            return found + 1
        at = found
    return 0


def _section_end(text: str, offset: int) -> int:
    heading = _HEADING.search(text, offset)
    return heading.start() if heading else len(text)


def _line_end(text: str, offset: int) -> int:
    end = text.find("\n", offset)
    return len(text) if end < 0 else end


def _whole(text: str, file: str | None) -> Region:
    starts = [0]
    while (at := text.find("\n", starts[-1])) >= 0:
        starts.append(at + 1)
    return Region(Source(text, file=file), starts, Span(0, len(text)))


def _of_block(
    document: org.Document, block: org.Block, file: str | None, base: int, line: int
) -> Region:
    body = document.body(block)
    places = tuple((number + line, removed) for number, removed in body.places)
    starts = [
        base + document.offset(number - 1) + max(removed, 0) for number, removed in body.places
    ]
    end = base + document.offset(block.last)
    begin = base + document.offset(block.first)
    region = Region(
        Source(body.text, file=file, places=places),
        starts or [begin],
        Span(begin, end),
        [max(-removed, 0) for _, removed in body.places],
    )
    region.block, region.base = block, base
    return region
