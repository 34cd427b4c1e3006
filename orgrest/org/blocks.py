"""The elements of an Org document: headings, and the blocks and calls that can be evaluated.

This module has only data types. `orgrest.org.reader` parses the elements.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orgrest import classes

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUEST_LANGUAGES = frozenset({"restclient", "http", "rest"})
VERB = "verb"
"""The language of verb's blocks, and of the headings that contain verb requests."""
ALL_LANGUAGES = REQUEST_LANGUAGES | {VERB}


@classes.frozen(eq=False)
class Heading:
    """A heading, or the text above the first heading (level 0).

    The keys of `properties` are in upper case. `comment` is true if the heading or an ancestor is a
    COMMENT heading. `tags` include inherited tags.
    """

    level: int
    line: int
    comment: bool
    parent: Heading | None
    properties: dict[str, str]
    tags: frozenset[str] = frozenset()

    def path(self) -> Iterator[Heading]:
        """Yield this heading and its ancestors. The heading with level 0 comes last."""
        here: Heading | None = self
        while here is not None:
            yield here
            here = here.parent


@classes.frozen(eq=False)
class Enclosure:
    """The region around an element, which ends before the line `limit`.

    `item` is the bullet column of the enclosing list item, or -1 outside lists. `footnote` is true
    in a footnote. `inside` contains a pair for each enclosing block or drawer: the kind of its
    closing line (a block type, ``:end:``, ``#+end:``) and the index of its first line.
    """

    limit: int
    item: int
    footnote: bool
    inside: tuple[tuple[str, int], ...] = ()

    def moved(self, lines: int) -> Enclosure:
        """Return the enclosure moved down by a number of lines."""
        inside = self.inside and tuple((kind, line + lines) for kind, line in self.inside)
        return Enclosure(self.limit + lines, self.item, self.footnote, inside)


@classes.frozen
class BabelCall:
    """The parts of ``NAME[inside](arguments) end``. In an inline call, `end` is in brackets."""

    name: str
    inside: str
    arguments: str
    end: str


@classes.frozen(eq=False)
class Block:
    """A source block, a call, or another element that can be evaluated.

    `kind` is ``block``, ``call``, ``inline``, ``inline call``, or ``heading`` for a verb request. A
    verb request's name is the title of its heading, and its body is the text below.

    `start` and `end` are the element's offsets, without affiliated keywords and the final newline.
    `line` is the index of the first line. The body consists of the lines from index `first` up to,
    but not including, `last`. `arguments` are the header arguments in the element itself, and
    `headers` are those in its ``#+HEADER:`` lines. A block may itself be a result: `result` is then
    the index of the results keyword directly above it.
    """

    kind: str
    start: int
    end: int
    line: int
    heading: Heading
    region: Enclosure
    language: str = ""
    switches: str = ""
    arguments: str = ""
    headers: tuple[str, ...] = ()
    name: str | None = None
    indent: int = 0
    first: int = 0
    last: int = 0
    inline: str = ""
    call: BabelCall | None = None
    result: int | None = None

    def moved(self, lines: int, characters: int, heading: Heading) -> Block:
        """Return the block with `lines` added to its line indexes and `characters` to its offsets.

        `heading` becomes the heading of the block.
        """
        return classes.evolve(
            self,
            start=self.start + characters,
            end=self.end + characters,
            line=self.line + lines,
            heading=heading,
            region=self.region.moved(lines),
            first=self.first + lines if self.first else 0,
            last=self.last + lines if self.last else 0,
            result=None if self.result is None else self.result + lines,
        )
