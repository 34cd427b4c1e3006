r"""An Org document: its text, and where its headings, source blocks, calls and names are.

A `Document` reads a text once and changes nothing; a section that an earlier text of the document
had, too, is not read again. `orgrest.org.results` finds the results of its
blocks, `orgrest.org.placing` gives the edits that put new ones in.

Rules: what Org 9.5 does, as its manual (Working with Source Code) and its syntax description say
and Emacs shows. Offsets are into the text, whose line ends are ``\n`` (`orgrest.files` knows what
they were in the file); line indexes count from 0. Time grows linearly with the text.
"""

from __future__ import annotations

import itertools
import re
from functools import cached_property
from typing import TypeAlias

from orgrest.org import syntax, verb
from orgrest.org.blocks import ALL_LANGUAGES, VERB, Block, Body, Heading
from orgrest.org.elements import Elements, Landmarks
from orgrest.org.reader import Section, read
from orgrest.org.text import blanks, column, unescape

_HEADING = re.compile(r"^\*+ ", re.MULTILINE)
Placed: TypeAlias = tuple[Section, Heading, list[Block]]
"""A section, with its heading and blocks where they stand."""


class Document(Elements):
    """An Org text, read once.

    `blocks` are all things that can be evaluated, in the order of the text, in any language.
    `keywords` are the document's ``#+KEY: value`` lines as (lower-case key, value), in order.
    By lower-case name: `named` has the lines of named elements, `results` those of the results
    keywords, each with the line where what encloses it ends. `unclosed` are the lines that open
    something which nothing closes, by what would (``src``, ``:end:``, ``#+end:``). `requests` are
    the offsets where source blocks start that are in a language of requests. `sections` are the
    sections, each with its heading and blocks.
    """

    def __init__(self, text: str, before: Document | None = None) -> None:
        r"""Read `text`, whose line ends are ``\n``; `before` is what it was read to earlier."""
        self.keywords: list[tuple[str, str]] = []
        self.named: dict[str, int] = {}
        self.results: dict[str, list[tuple[int, int]]] = {}
        self.unclosed: dict[str, list[int]] = {}
        self._read: dict[str, Section] = {}
        starts = [0, *(one.start() for one in _HEADING.finditer(text, 1))]
        if syntax.HEADING.match(text):
            starts.insert(0, 0)  # nothing stands above the first heading
        ends = [start - 1 for start in starts[1:]] + [len(text)]
        known = before._read if before else {}
        found: list[Section] = []
        for start, end in zip(starts, ends, strict=True):
            part = text[start:end] if end > start else ""
            section = self._read.get(part) or known.get(part) or read(part)
            self._read[part] = section
            found.append(section)
        super().__init__(text, self._landmarks(found, text, starts))
        is_kept = before is not None and before.landmarks.todo == self.landmarks.todo
        self.sections: list[Placed] = self._place(
            found, starts, before.sections if before and is_kept else []
        )
        self._take(found)
        self.blocks = [block for _, _, blocks in self.sections for block in blocks]
        self.requests = [
            block.start
            for block in self.blocks
            if block.kind == "block" and block.language in ALL_LANGUAGES
        ]

    @staticmethod
    def _landmarks(sections: list[Section], text: str, starts: list[int]) -> Landmarks:
        """Put the sections' landmarks together."""
        found = Landmarks()
        line = at = 0
        for section, start in zip(sections, starts, strict=True):
            line += text.count("\n", at, start)
            at = start
            if section.level:
                found.headings.append(line)
            for kind, numbers in section.landmarks.closings.items():
                moved = [number + line for number in numbers] if line else numbers
                found.closings.setdefault(kind, []).extend(moved)
            found.todo.extend(section.landmarks.todo)
        return found

    def _place(
        self, sections: list[Section], starts: list[int], before: list[Placed]
    ) -> list[Placed]:
        """Put the blocks of the sections where they stand, below their headings.

        The sections that `before` begins with stand where they stood.
        """
        words = "|".join(re.escape(word) for word in ("TODO", "DONE", *self.landmarks.todo))
        comment = re.compile(rf"(?:(?:{words})[ \t]+)?(?:\[#.\][ \t]*)?COMMENT(?:[ \t]|$)")
        both = zip(before, sections, strict=False)
        found = [old for old, _ in itertools.takewhile(lambda one: one[0][0] is one[1], both)]
        heading = found[-1][1] if found else Heading(0, 0, False, None, sections[0].properties)
        first = len(found)
        lines = [0, *self.headings]
        for section, start, line in zip(
            sections[first:], starts[first:], lines[first:], strict=True
        ):
            if section.level:
                parent = next(one for one in heading.path() if one.level < section.level)
                is_comment = parent.comment or bool(comment.match(section.title.lstrip(" \t")))
                tags = parent.tags
                if own := syntax.TAGS.search(f" {section.title}"):
                    tags = tags.union(filter(None, own[1].split(":")))
                heading = Heading(section.level, line, is_comment, parent, section.properties, tags)
            blocks = [one.moved(line, start, heading) for one in section.blocks]
            found.append((section, heading, blocks))
        return found

    def _take(self, sections: list[Section]) -> None:
        """Take in what else the sections hold."""
        for section, line in zip(sections, [0, *self.headings], strict=True):
            self.keywords += section.keywords
            for name, at in section.named:
                self.named.setdefault(name, line + at)
            for name, at, end in section.results:
                self.results.setdefault(name, []).append((line + at, line + end))
            for kind, at in section.unclosed:
                self.unclosed.setdefault(kind, []).append(line + at)

    @cached_property
    def verb(self) -> list[Block]:
        """The requests of verb that stand below headings, in the order of the text."""
        headings = (heading for _, heading, _ in self.sections if heading.level)
        return verb.requests(self, headings, self.keywords)

    @cached_property
    def evaluated(self) -> list[Block]:
        """The blocks, and the requests of verb below headings, in the order of the text."""
        if not self.verb:
            return self.blocks
        return sorted(self.blocks + self.verb, key=lambda block: block.start)

    @cached_property
    def _namesakes(self) -> dict[str, list[Block]]:
        found: dict[str, list[Block]] = {}
        for block in self.evaluated:
            if block.name:
                found.setdefault(block.name.lower(), []).append(block)
        return found

    def block_named(self, name: str) -> Block | None:
        """Find the first source block with this ``#+NAME:``, whatever the case."""
        found = self.namesakes(name)
        return next((block for block in found if block.kind == "block"), None)

    def namesakes(self, name: str) -> list[Block]:
        """Give all blocks and calls with this ``#+NAME:``, whatever the case, in order."""
        return self._namesakes.get(name.lower(), [])

    def block_at(self, line: int) -> Block | None:
        """Find the block whose lines, affiliated keywords included, hold the line (from 1).

        Outside of blocks that can be sent, that is verb's request of the section around the line.
        """
        section = next((one for one in self.verb if one.line < line <= one.region.limit), None)
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
        """Give the languages whose blocks are requests here.

        A document that has restclient blocks is taken for one of ob-restclient's: its blocks in
        http and rest are some other tool's.
        """
        used = {block.language for block in self.blocks if block.call is None}
        return frozenset({"restclient", VERB}) if "restclient" in used else ALL_LANGUAGES

    def unclosed_requests(self) -> list[int]:
        """Give the lines (from 1) that open a block of requests that nothing closes."""
        found = []
        for line in self.unclosed.get("src", []):
            match = syntax.SRC.match(self.lines[line].lstrip(" \t"))
            if match is not None and match[1] in ALL_LANGUAGES:
                found.append(line + 1)
        return found

    def body(self, block: Block) -> Body:
        """Give a source block's body as it is evaluated.

        One comma of Org's escapes is taken away, and the indentation that all lines share (unless
        the block has the switch ``-i``).
        """
        if block.kind == "heading":
            taken = self.lines[block.first : block.last]
            return Body("\n".join(taken), tuple((n + 1, 0) for n in range(block.first, block.last)))
        if block.kind != "block":
            return Body(block.inline, ((block.line + 1, self._inline_column(block)),))
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
        return Body("\n".join(lines), tuple(places) or ((block.first + 1, 0),))

    def _inline_column(self, block: Block) -> int:
        return self.text.find(block.inline, block.start) - self.offset(block.line)
