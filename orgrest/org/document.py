r"""Parses an Org document: its headings, blocks, calls and names.

An `OrgDocument` is immutable, and can reuse unchanged sections of an earlier version.
`orgrest.org.results` finds the results of blocks, and `orgrest.org.placing` inserts new results.

Sources: Org 9.5's manual (Working with Source Code), its syntax description, and Emacs itself.
Offsets refer to text with ``\n`` line endings. Line indexes start at 0. Parsing takes linear time.
"""

from __future__ import annotations

import itertools
import re
from functools import cached_property
from typing import TYPE_CHECKING

from orgrest.model import Source
from orgrest.org import syntax, verb
from orgrest.org.argument_syntax import Pairs, parse
from orgrest.org.blocks import ALL_LANGUAGES, VERB, Block, Heading
from orgrest.org.elements import Elements, Landmarks
from orgrest.org.reader import Section, read
from orgrest.org.text import blanks, column, unescape
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Iterable

_HEADING = compiled(r"\n\*+ ")


class Placed:
    """A section and its position in the document.

    The section starts at the offset `start`, and consists of the lines from `line` up to, but not
    including, `end`. `heading` is the section's heading.
    """

    __slots__ = ("_blocks", "end", "heading", "line", "section", "start")

    def __init__(self, section: Section, heading: Heading, line: int, end: int, start: int) -> None:
        self.section = section
        self.heading = heading
        self.line = line
        self.end = end
        self.start = start
        self._blocks: list[Block] | None = None

    @property
    def blocks(self) -> list[Block]:
        """The blocks of the section, in document order."""
        if self._blocks is None:
            self._blocks = [
                block.moved(self.line, self.start, self.heading) for block in self.section.blocks
            ]
        return self._blocks


class Inherited:
    """The header arguments that a document's keywords and property drawers give to its blocks."""

    def __init__(self, keywords: Iterable[tuple[str, str]], text: str) -> None:
        """Collect the ``#+PROPERTY:`` lines among the `keywords` of a document with this `text`."""
        lines: dict[str, list[str]] = {}
        for key, value in keywords:
            if key == "property":
                name, _, rest = value.partition(" ")
                name = name.upper()
                if name.endswith("+"):
                    lines.setdefault(name[:-1], []).append(rest)
                else:
                    lines[name] = [rest]
        self._global = {name: " ".join(filter(None, parts)) for name, parts in lines.items()}
        self._has_drawers = ":header-args" in text.lower()
        self._known: dict[tuple[int, str], tuple[Pairs, Pairs]] = {}

    def pairs(self, heading: Heading, language: str) -> tuple[Pairs, Pairs]:
        """Return the header arguments that blocks in `language` below `heading` inherit.

        The first pairs are from ``header-args``, the second from ``header-args:LANGUAGE``.
        """
        at = (heading.line if self._has_drawers else 0, language)
        pairs = self._known.get(at)
        if pairs is None:
            general = self._lookup(heading, "HEADER-ARGS")
            own = self._lookup(heading, f"HEADER-ARGS:{language.upper()}") if language else ()
            pairs = self._known[at] = general, own
        return pairs

    def _lookup(self, heading: Heading, key: str) -> Pairs:
        parts: list[str | None] = []  # starting with the strongest
        for here in heading.path():
            parts += (here.properties.get(key + "+"), here.properties.get(key))
            if parts[-1] is not None:
                break
        else:
            parts.append(self._global.get(key))
        return parse(" ".join(part for part in reversed(parts) if part is not None))


class OrgDocument(Elements):
    """A parsed Org document.

    `sections` contains its sections with their positions. Everything else is computed on first use.
    """

    def __init__(self, text: str, before: OrgDocument | None = None) -> None:
        r"""Parse `text`, whose line endings must be ``\n``.

        Unchanged sections are reused from `before`, the previous version of the document.
        """
        starts = [0, *[match.start() + 1 for match in _HEADING.finditer(text)]]
        if syntax.HEADING.match(text):
            starts.insert(0, 0)  # the text above the first heading is empty
        ends = [start - 1 for start in starts[1:]] + [len(text)]
        known = before._read if before else {}
        self._read: dict[str, Section] = {}
        parsed_sections: list[Section] = []
        for start, end in zip(starts, ends, strict=True):
            part = text[start:end] if end > start else ""
            section = self._read.get(part) or known.get(part) or read(part)
            self._read[part] = section
            parsed_sections.append(section)
        super().__init__(text)
        self._todo = [word for section in parsed_sections for word in section.landmarks.todo]
        is_kept = before is not None and before._todo == self._todo
        self.sections: list[Placed] = self._place(
            parsed_sections, starts, before.sections if before and is_kept else []
        )

    @cached_property
    def landmarks(self) -> Landmarks:
        """The lines at which elements end, and the TODO keywords, for the whole document."""
        landmarks_here = Landmarks(todo=self._todo)
        for placed in self.sections:
            section, line = placed.section, placed.line
            if section.level:
                landmarks_here.headings.append(line)
            for kind, numbers in section.landmarks.closings.items():
                moved = [number + line for number in numbers] if line else numbers
                landmarks_here.closings.setdefault(kind, []).extend(moved)
        return landmarks_here

    def _place(
        self, sections: list[Section], starts: list[int], before: list[Placed]
    ) -> list[Placed]:
        """Return the sections with their positions. Unchanged leading ones come from `before`."""
        words = "|".join(re.escape(word) for word in ("TODO", "DONE", *self._todo))
        comment = re.compile(rf"(?:(?:{words})[ \t]+)?(?:\[#.\][ \t]*)?COMMENT(?:[ \t]|$)")
        is_headed = starts[1:2] == [0]  # and there is no text above the first heading
        if before and is_headed != (before[0].end == 0):
            before = []
        both = zip(before, sections, strict=False)
        blocks = [
            old for old, _ in itertools.takewhile(lambda pair: pair[0].section is pair[1], both)
        ]
        heading = (
            blocks[-1].heading if blocks else Heading(0, 0, False, None, sections[0].properties)
        )
        first = len(blocks)
        line = blocks[-1].end if blocks else 0
        for section, start in zip(sections[first:], starts[first:], strict=True):
            if section.level:
                parent = heading
                while parent.level >= section.level and parent.parent is not None:
                    parent = parent.parent
                is_comment = parent.comment or (
                    "COMMENT" in section.title and bool(comment.match(section.title.lstrip(" \t")))
                )
                tags = parent.tags
                if ":" in section.title and (own := syntax.TAGS.search(f" {section.title}")):
                    tags = tags.union(filter(None, own[1].split(":")))
                heading = Heading(section.level, line, is_comment, parent, section.properties, tags)
            end = 0 if is_headed and not blocks else line + section.height
            blocks.append(Placed(section, heading, line, end, start))
            line = end
        return blocks

    @cached_property
    def blocks(self) -> list[Block]:
        """Everything that can be evaluated, in any language, in document order."""
        return [block for placed in self.sections for block in placed.blocks]

    @cached_property
    def requests(self) -> list[int]:
        """The start offsets of the source blocks in a request language."""
        return [
            block.start + placed.start
            for placed in self.sections
            for block in placed.section.blocks
            if block.kind == "block" and block.language in ALL_LANGUAGES
        ]

    @cached_property
    def keywords(self) -> list[tuple[str, str]]:
        """The ``#+KEY: value`` lines of the document as (lower-case key, value), in order."""
        return [keyword for placed in self.sections for keyword in placed.section.keywords]

    @cached_property
    def inherited(self) -> Inherited:
        """The header arguments that blocks inherit."""
        return Inherited(self.keywords, self.text)

    @cached_property
    def named(self) -> dict[str, int]:
        """The lines of named elements, by lower-case name."""
        lines_by_name: dict[str, int] = {}
        for placed in self.sections:
            for name, at in placed.section.named:
                lines_by_name.setdefault(name, placed.line + at)
        return lines_by_name

    @cached_property
    def results(self) -> dict[str, list[tuple[int, int]]]:
        """The positions of the results keywords, by lower-case name.

        Each pair contains the keyword's line, and the line at which the enclosing region ends.
        """
        results: dict[str, list[tuple[int, int]]] = {}
        for placed in self.sections:
            for name, at, end in placed.section.results:
                results.setdefault(name, []).append((placed.line + at, placed.line + end))
        return results

    @cached_property
    def unclosed(self) -> dict[str, list[int]]:
        """The lines that open an unclosed element, by the kind of closing line that is missing.

        The kinds are ``src``, ``:end:``, ``#+end:`` and so on.
        """
        unclosed: dict[str, list[int]] = {}
        for placed in self.sections:
            for kind, at in placed.section.unclosed:
                unclosed.setdefault(kind, []).append(placed.line + at)
        return unclosed

    @cached_property
    def verb(self) -> list[Block]:
        """The verb requests below headings, in document order."""
        if VERB not in self.text:
            return []
        headings = (section.heading for section in self.sections if section.heading.level)
        return verb.requests(self, headings, self.keywords)

    @cached_property
    def evaluated(self) -> list[Block]:
        """All blocks, including the verb requests below headings, in document order."""
        if not self.verb:
            return self.blocks
        return sorted(self.blocks + self.verb, key=lambda block: block.start)

    @cached_property
    def _namesakes(self) -> dict[str, list[Block]]:
        namesakes: dict[str, list[Block]] = {}
        for block in self.evaluated:
            if block.name:
                namesakes.setdefault(block.name.lower(), []).append(block)
        return namesakes

    def block_named(self, name: str) -> Block | None:
        """Return the first source block with this ``#+NAME:``, ignoring case, or None."""
        namesakes = self.namesakes(name)
        return next((block for block in namesakes if block.kind == "block"), None)

    def call_named(self, name: str) -> Block | None:
        """Return the first ``#+CALL:`` line with this ``#+NAME:``, ignoring case, or None."""
        return next((block for block in self.namesakes(name) if block.kind == "call"), None)

    @cached_property
    def calls_without_target(self) -> list[Block]:
        """The calls of blocks that do not exist."""
        return [
            block
            for block in self.blocks
            if block.call and self.block_named(block.call.name) is None
        ]

    def namesakes(self, name: str) -> list[Block]:
        """Return all blocks and calls with this ``#+NAME:``, ignoring case, in order."""
        return self._namesakes.get(name.lower(), [])

    def block_at(self, line: int) -> Block | None:
        """Return the block at a line number, counted from 1, or None.

        Affiliated keywords belong to their block. For a line outside all blocks, the verb request
        of its section is returned, if there is one.
        """
        section = next(
            (request for request in self.verb if request.line < line <= request.region.limit), None
        )
        if section is not None and line <= section.last:
            return section
        for block in self.blocks:
            first = block.line
            while first and syntax.is_affiliated(self.lines[first - 1]) and block.kind != "inline":
                first -= 1
            if first < line <= self.line_of(block.end) + 1:
                return block
        return section

    def request_languages(self) -> frozenset[str]:
        """Return the languages whose blocks are requests in this document.

        In a document with restclient blocks, http and rest blocks probably belong to another tool.
        """
        every = (block for placed in self.sections for block in placed.section.blocks)
        if any(block.language == "restclient" and block.call is None for block in every):
            return frozenset({"restclient", VERB})
        return ALL_LANGUAGES

    @cached_property
    def unclosed_requests(self) -> list[int]:
        """The line numbers, counted from 1, at which unclosed request blocks begin."""
        line_numbers = []
        for line in self.unclosed.get("src", []):
            match = syntax.SRC.match(self.lines[line].lstrip(" \t"))
            if match is not None and match[1] in ALL_LANGUAGES:
                line_numbers.append(line + 1)
        return line_numbers

    def body(self, block: Block, file: str | None = None) -> Source:
        """Return the text of a block, or the text below a verb heading, as it is evaluated.

        Org's escaping commas are removed. The common indentation is removed unless the block has
        the switch ``-i``. The text below a heading includes the blank lines at the end of its
        section. `file` is the name of the document.
        """
        if block.kind == "heading":
            limit = blank = block.region.limit
            # If a result follows the text directly, the text had no blank lines at its end.
            if block.last < limit and not self.lines[block.last].strip(" \t"):
                while not self.lines[blank - 1].strip(" \t"):
                    blank -= 1
            line_indexes = [*range(block.first, block.last), *range(blank, limit)]
            text = "\n".join(self.lines[line] for line in line_indexes)
            return Source(text, file, tuple((line + 1, 0) for line in line_indexes))
        if block.kind != "block":
            return Source(block.inline, file, ((block.line + 1, self._inline_column(block)),))
        raw = self.lines[block.first : block.last]
        width = 0
        if "-i" not in block.switches.split():
            width = min((column(line) for line in raw if line.strip(" \t")), default=1)
        lines: list[str] = []
        places: list[tuple[int, int]] = []
        for number, line in enumerate(raw, block.first + 1):
            text = line
            if width:
                rest = line.lstrip(" \t")
                text = blanks(line, column(line) - width) + rest if rest else ""
            text = unescape(text)
            lines.append(text)
            places.append((number, len(line) - len(text)))
        return Source("\n".join(lines), file, tuple(places) or ((block.first + 1, 0),))

    def _inline_column(self, block: Block) -> int:
        return self.text.find(block.inline, block.start) - self.offset(block.line)
