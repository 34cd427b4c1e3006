"""The regions of a file that contain requests, and how their offsets map to offsets in the file.

A request file has a region for each part that can be parsed separately. An Org document has a
region for each source block in a request language. The region's text is the body of the block as it
is evaluated, without indentation and without Org's escaping commas.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property, partial
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar

from orgrest import classes
from orgrest.http.parsing import dialects
from orgrest.model import Source, Span, end_of_line, line_starts
from orgrest.org import document as org
from orgrest.org.blocks import REQUEST_LANGUAGES, Block, Heading
from orgrest.org.syntax import VERBATIM_BLOCKS

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from orgrest.http import syntax
    from orgrest.org.reader import Section

Kind: TypeAlias = Literal["org", "http"]
"""The kind of a file: an Org document or a request file."""

FENCE = re.compile(r"^[ \t]*#\+(begin|end)_(\S+)", re.IGNORECASE | re.MULTILINE)
"""Matches the first or last line of a block."""
_HEADING = re.compile(r"^\*+ ", re.MULTILINE)


K = TypeVar("K", bound="Hashable")
V = TypeVar("V")


class VersionCache(Generic[K, V]):
    """A cache of values that is carried over from one version of a document to the next.

    Entries that a version does not use are dropped, unless that version uses no entries at all.
    """

    def __init__(self, before: VersionCache[K, V] | None = None) -> None:
        """Create a cache that reuses the entries of `before`, the cache of an earlier version."""
        self._now: dict[K, V] = {}
        self._before: dict[K, V] = (before._now or before._before) if before else {}

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the cached value of `key`, which is computed with `make` if necessary."""
        value = self._now.get(key)
        if value is None:
            value = self._before.get(key)
            if value is None:
                value = make()
            self._now[key] = value
        return value


def unchanged(old: Sequence[object], new: Sequence[object]) -> tuple[int, int]:
    """Return the lengths of the common prefix and suffix of two versions, which do not overlap."""
    most = min(len(old), len(new))
    top = next(
        (at for at, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), most
    )
    both = zip(reversed(old), reversed(new), strict=False)
    end = next((at for at, pair in enumerate(both) if pair[0] != pair[1]), most)
    return top, min(end, most - top)


@classes.frozen(eq=False)
class LineMap:
    """The text of a region, and the position of each of its lines in the file.

    `lines` contains the offset in `text` at which each line starts. `starts` contains the offset at
    which each line starts in the file, relative to the region. `removed` contains the number of
    leading characters removed from each line. The number is negative if spaces replaced part of a
    tab.
    """

    text: str
    lines: list[int]
    starts: list[int]
    removed: list[int]


@classes.frozen(eq=False)
class _Body:
    """A block's body: its line map, its span in the Org section, and the block's index there."""

    line_map: LineMap
    index: int
    span: Span


class LineMaps:
    """A cache of the line maps of block bodies, both by section and by the text of their lines.

    A key of `of_lines` also contains whether the lines keep their indentation.
    """

    def __init__(self, before: LineMaps | None = None) -> None:
        self.of_sections: VersionCache[Section, list[_Body]] = VersionCache(
            before.of_sections if before else None
        )
        self.of_lines: VersionCache[tuple[str, bool], LineMap] = VersionCache(
            before.of_lines if before else None
        )


class Region:
    """A part of a file that is written in a request language.

    `span` is the region's position in the file. `around` is the text of the Org document, and
    `base` is the offset in `around` at which parsing started. `block` is the Org block around the
    region, with offsets relative to `base`. `kept` is the same block, with offsets relative to its
    section. In a request file, `block` and `kept` are None.
    """

    def __init__(
        self,
        line_map: LineMap,
        span: Span,
        *,
        block: tuple[org.Placed, int] | None = None,
        base: int = 0,
        around: str = "",
        restclients: bool | None = None,
    ) -> None:
        """Create a region with the lines in `line_map`, at `span` in the file.

        `block` is the section of the Org block around the region, with the block's index in the
        section. For a part of a request file, `restclients` is whether the file is in restclient's
        language.
        """
        self.text = line_map.text
        self.span = span
        self.kept = block[0].section.blocks[block[1]] if block is not None else None
        self.base = base
        self.around = around
        self.restclients = restclients
        self._block = block
        self._line_map = line_map

    @property
    def block(self) -> Block | None:
        """The Org block around the region. Its offsets and lines are relative to `base`."""
        return None if self._block is None else self._block[0].blocks[self._block[1]]

    @property
    def block_start(self) -> int | None:
        """The start of the Org block around the region, relative to `base`, or None."""
        if self._block is None or self.kept is None:
            return None
        return self._block[0].start + self.kept.start

    @property
    def heading(self) -> Heading | None:
        """The heading above the Org block around the region, or None in a request file."""
        return None if self._block is None else self._block[0].heading

    @cached_property
    def source(self) -> Source:
        """The text to parse. For an Org block, it has the position of each line in the file."""
        if self.block is None:
            return Source(self.text)
        first = self.around.count("\n", 0, self.base) + self.block.first + 1
        places = tuple((first + at, removed) for at, removed in enumerate(self._line_map.removed))
        return Source(self.text, places=places)

    @property
    def language(self) -> str | None:
        """The language of the Org block around the region, or None in a request file."""
        return self.kept.language if self.kept else None

    @property
    def in_restclient(self) -> bool:
        """Whether the whole document, judging by its syntax, is in restclient's language."""
        return bool(self.around) and dialects.is_restclient_around(self.around)

    def parse(self, names: Iterable[str] = ()) -> syntax.Document:
        """Return the parse result of the region. `names` contains the variables of its block."""
        if self.restclients is not None:
            part = Span(0, len(self.text))
            return dialects.read_part(self.source, part, is_restclients=self.restclients)
        return dialects.read(self.source, self.language, names, self.around)

    def to_file(self, offset: int) -> int:
        """Return the offset in the file for an offset in the region's text."""
        line_map = self._line_map
        line = min(bisect_right(line_map.lines, offset), len(line_map.starts)) - 1
        within = max(offset - line_map.lines[line] + line_map.removed[line], 0)
        return self.span.start + line_map.starts[line] + within

    def from_file(self, offset: int) -> int:
        """Return the offset in the region's text for an offset in the file.

        An offset in removed leading characters is mapped to the start of the line.
        """
        line_map, offset = self._line_map, offset - self.span.start
        line = max(bisect_right(line_map.starts, offset) - 1, 0)
        within = max(offset - line_map.starts[line] - line_map.removed[line], 0)
        return line_map.lines[line] + min(
            within, line_map.lines[line + 1] - line_map.lines[line] - 1
        )

    def to_file_span(self, span: Span) -> Span:
        """Return the span in the file for a span of the region's text."""
        return Span(self.to_file(span.start), self.to_file(span.end))


def regions(text: str, kind: Kind) -> list[Region]:
    """Return the regions of a file in document order.

    The text of an Org document must have LF line endings, as everywhere in `orgrest.org`.
    """
    if kind == "http":
        return [_whole(text)]
    return of_document(org.OrgDocument(text))


def of_request_file(text: str, line_maps: LineMaps) -> list[Region]:
    """Return the regions of a request file, in order, and update the cache `line_maps`."""
    restclients, starts = dialects.parts(text)
    if len(starts) == 1:
        return [_whole(text)]
    parts: list[Region] = []
    for start, following in zip(starts, [*starts[1:], len(text) + 1], strict=True):
        part = text[start : following - 1]
        line_map = line_maps.of_lines.get((part, False), partial(_of_lines, part))
        parts.append(Region(line_map, Span(start, following - 1), restclients=restclients))
    return parts


def of_document(document: org.OrgDocument, line_maps: LineMaps | None = None) -> list[Region]:
    """Return the regions of an Org document, in order, and update the cache `line_maps`."""
    return list(_of_sections(document, document.text, line_maps or LineMaps()))


def region_at(text: str, offset: int) -> Region | None:
    """Return the region of an Org document around `offset`, or None.

    Only the section around the offset is parsed. An unclosed block is also a region, because the
    user may still be typing it.
    """
    start = _section_start(text, offset)
    opened: re.Match[str] | None = None
    for fence in FENCE.finditer(text, start, end_of_line(text, offset)):
        if opened is None and fence[1].lower() == "begin":
            opened = fence
        elif opened is not None and fence[1].lower() == "end" and _same(opened, fence):
            if offset < fence.start():
                break
            opened = None
        elif opened is not None and not _verbatim(opened):
            opened = fence  # blocks of other kinds may hold blocks
    if opened is None or opened[2].lower() != "src" or offset <= end_of_line(text, opened.start()):
        return None
    return _between(text, opened, offset)


def _between(text: str, opened: re.Match[str], offset: int) -> Region | None:
    """Return the region of the source block that begins with the match `opened`, or None.

    Returns None if `offset` is on or below the block's end line, or if the block has no requests.
    """
    section_end = _section_end(text, opened.start())
    end = section_end
    closed = False
    for fence in FENCE.finditer(text, opened.end(), section_end):
        if fence[1].lower() == "end" and _same(opened, fence):
            end, closed = end_of_line(text, fence.start()), True
            if offset >= fence.start():
                return None
            break
    part = text[opened.start() : end]
    if not closed:
        part = part.rstrip("\n") if offset < opened.start() + len(part.rstrip("\n")) else part
        part += "\n#+end_src"
    document = org.OrgDocument(part)
    block = document.blocks[0] if document.blocks else None
    if block is None or block.kind != "block" or block.language not in REQUEST_LANGUAGES:
        return None
    return next(_of_sections(document, text, LineMaps(), opened.start()))


def _same(opened: re.Match[str], fence: re.Match[str]) -> bool:
    return opened[2].lower() == fence[2].lower()


def _verbatim(opened: re.Match[str]) -> bool:
    return opened[2].lower() in VERBATIM_BLOCKS


def _section_start(text: str, offset: int) -> int:
    """Return the start of the section around `offset`: its heading, or the start of the text.

    A block around `offset` begins in this section, because blocks cannot contain headings.
    """
    at = end_of_line(text, offset)
    while (start := text.rfind("\n*", 0, at)) >= 0:
        if _HEADING.match(text, start + 1):
            return start + 1
        at = start
    return 0


def _section_end(text: str, offset: int) -> int:
    heading = _HEADING.search(text, offset)
    return heading.start() if heading else len(text)


def _whole(text: str) -> Region:
    return Region(_of_lines(text), Span(0, len(text)))


def _of_lines(text: str) -> LineMap:
    """Return a line map for text whose lines are the same in the file."""
    lines = line_starts(text.split("\n"))
    starts = lines[:-1]
    return LineMap(text, lines, starts, [0] * len(starts))


def _line_map(document: org.OrgDocument, block: Block) -> LineMap:
    body = document.body(block)
    removed = [removed for _, removed in body.places or ()]
    begin = document.offset(block.first)
    starts = [document.offset(block.first + at) - begin for at in range(len(removed))]
    return LineMap(body.text, line_starts(body.text.split("\n")), starts, removed)


def _of_sections(
    document: org.OrgDocument, around: str, line_maps: LineMaps, base: int = 0
) -> Iterator[Region]:
    """Yield the regions of a document that starts at offset `base` in the text `around`."""
    for placed in document.sections:
        make = partial(_bodies, document, placed, line_maps)
        for body in line_maps.of_sections.get(placed.section, make):
            start = base + placed.start
            span = Span(start + body.span.start, start + body.span.end)
            block = placed, body.index
            yield Region(body.line_map, span, block=block, base=base, around=around)


def _bodies(document: org.OrgDocument, placed: org.Placed, line_maps: LineMaps) -> list[_Body]:
    bodies: list[_Body] = []
    for index, block in enumerate(placed.blocks):
        if block.kind != "block" or block.language not in REQUEST_LANGUAGES:
            continue
        begin, end = document.offset(block.first), document.offset(block.last)
        key = document.text[begin:end], "-i" in block.switches.split()
        line_map = line_maps.of_lines.get(key, partial(_line_map, document, block))
        bodies.append(_Body(line_map, index, Span(begin - placed.start, end - placed.start)))
    return bodies
