"""The elements of an Org document: headings, and the blocks and calls that can be evaluated.

Data only; `orgrest.org.reader` parses them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUEST_LANGUAGES = frozenset({"restclient", "http", "rest"})
VERB = "verb"
"""The language of verb's blocks, and of the headings that hold its requests."""
ALL_LANGUAGES = REQUEST_LANGUAGES | {VERB}


@attrs.frozen(eq=False)
class Heading:
    """A heading, or (level 0) the text before the first; `properties` by upper-case key.

    `comment` is whether it, or an ancestor, is a COMMENT. `tags` include inherited tags.
    """

    level: int
    line: int
    comment: bool
    parent: Heading | None
    properties: dict[str, str]
    tags: frozenset[str] = frozenset()

    def path(self) -> Iterator[Heading]:
        """Yield this heading and its ancestors, level 0 last."""
        here: Heading | None = self
        while here is not None:
            yield here
            here = here.parent


@attrs.frozen(eq=False)
class Region:
    """The region that encloses an element, which ends before the line `limit`.

    `item` is the column of the bullet of the enclosing list item, -1 outside of lists; `footnote`
    is whether the element belongs to a footnote. Two blank lines end both. `inside` are the
    enclosing containers: what closes each (a type of block, ``:end:``, ``#+end:``), and its line.
    """

    limit: int
    item: int
    footnote: bool
    inside: tuple[tuple[str, int], ...] = ()

    def moved(self, lines: int) -> Region:
        """Return the region shifted down by a number of lines."""
        inside = self.inside and tuple((kind, line + lines) for kind, line in self.inside)
        return Region(self.limit + lines, self.item, self.footnote, inside)


@attrs.frozen
class Call:
    """The parts of ``NAME[inside](arguments) end``; in an inline call, the end is in brackets."""

    name: str
    inside: str
    arguments: str
    end: str


@attrs.frozen(eq=False)
class Block:
    """An element that can be evaluated.

    `kind` is ``block``, ``call``, ``inline``, ``inline call``, or ``heading`` for a request of verb
    (`orgrest.org.verb`), whose name is the heading's title and whose body is the text below.

    `start` and `end` are offsets of the element without affiliated keywords and trailing newline.
    `line` is the index of its first line, `first` and `last` the half-open range of the lines of a
    block's body. `arguments` are the header arguments written in the element itself, `headers`
    those of its ``#+HEADER:`` lines in order. `result` is the line index of a results keyword
    directly above: the block is then itself a result, or at the place of a result.
    """

    kind: str
    start: int
    end: int
    line: int
    heading: Heading
    region: Region
    language: str = ""
    switches: str = ""
    arguments: str = ""
    headers: tuple[str, ...] = ()
    name: str | None = None
    indent: int = 0
    first: int = 0
    last: int = 0
    inline: str = ""
    call: Call | None = None
    result: int | None = None

    def moved(self, lines: int, characters: int, heading: Heading) -> Block:
        """Return the block shifted down, below `heading`."""
        return Block(
            self.kind,
            self.start + characters,
            self.end + characters,
            self.line + lines,
            heading,
            self.region.moved(lines),
            self.language,
            self.switches,
            self.arguments,
            self.headers,
            self.name,
            self.indent,
            self.first + lines if self.first else 0,
            self.last + lines if self.last else 0,
            self.inline,
            self.call,
            None if self.result is None else self.result + lines,
        )


@attrs.frozen
class Body:
    """The text of a block as it is evaluated, without Org's escapes and the common indentation.

    `places` has, for each line, its number in the document (from 1) and how many leading characters
    were removed.
    """

    text: str
    places: tuple[tuple[int, int], ...]
