"""Parses one section of an Org text: its blocks, calls, keywords and names.

The rules are those of Org's parser: an example block hides its contents, a heading ends everything,
and an unclosed element is text. The parser makes a single pass over the section's lines, and needs
no other text. Therefore a `Section` can be reused as long as its text is unchanged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from orgrest import classes
from orgrest.model import line_starts
from orgrest.org import inline, syntax
from orgrest.org.blocks import BabelCall, Block, Enclosure, Heading
from orgrest.org.elements import landmarks_of
from orgrest.org.text import column

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from orgrest.org.elements import Landmarks

# The most containers recorded around a line; recording all would take quadratic memory.
_MAX_INSIDE = 20
_NOWHERE = Heading(0, 0, False, None, {})


@classes.frozen(eq=False)
class Section:
    """A heading with the text up to the next heading, or the text above the first heading.

    All lines and offsets are relative to the start of the section.
    """

    level: int  # 0 without a heading
    title: str
    properties: dict[str, str]
    landmarks: Landmarks
    height: int  # lines
    blocks: list[Block] = classes.field(factory=list)  # with a placeholder as their heading
    keywords: list[tuple[str, str]] = classes.field(factory=list)  # (lower-case key, value)
    named: list[tuple[str, int]] = classes.field(factory=list)  # (lower-case name, line)
    # (lower-case name in a results keyword, its line, the line at which its region ends)
    results: list[tuple[str, int, int]] = classes.field(factory=list)
    # (the kind of closing line that is missing: `src`, `:end:`, `#+end:` ..., opening line)
    unclosed: list[tuple[str, int]] = classes.field(factory=list)
    # (first line, last line) of elements that contain plain text, such as source blocks
    verbatim: list[tuple[int, int]] = classes.field(factory=list)


def read(text: str) -> Section:
    """Parse the section in `text`, in which only the first line may be a heading."""
    lines = text.split("\n")
    landmarks = landmarks_of(lines)
    if landmarks.headings:
        stars, _, title = lines[0].partition(" ")
        section = Section(len(stars), title, _properties(lines, 1), landmarks, len(lines))
    else:
        section = Section(0, "", _properties(lines, 0, top=True), landmarks, len(lines))
    _Reader(text, lines, section).read()
    return section


class _Reader:
    """A single-pass parser that fills in a section."""

    def __init__(self, text: str, lines: list[str], section: Section) -> None:
        self._section = section
        self._text = text
        self._lines = lines
        self._starts: list[int] = []
        # The region around the current line: the line that ends it, the bullet columns of its list
        # items, whether it is a footnote, and its containers. `_outer` is a stack of the same
        # values for the enclosing regions.
        self._limit = len(self._lines)
        self._items: list[int] = []
        self._footnote = False
        self._inside: tuple[tuple[str, int], ...] = ()
        self._outer: list[tuple[int, list[int], bool, tuple[tuple[str, int], ...]]] = []
        self._above: list[int] = []  # the affiliated keywords directly above

    def read(self) -> None:
        """Parse all lines."""
        lines, count = self._lines, len(self._lines)
        inlines = "src_" in self._text or "call_" in self._text
        special: dict[str, Callable[[int, str], int | None]] = {
            "#": self._keyword,
            ":": self._opening,
            "\\": self._opening,
            "[": self._footnoted,
        }
        at = blanks = 0
        if self._section.level:
            if inlines:
                self._inlines(0)
            at = 1
        while at < count:
            line = lines[at]
            if at == self._limit:  # the line that closes a container
                self._limit, self._items, self._footnote, self._inside = self._outer.pop()
                self._above = []
                at += 1
                blanks = 0
                continue
            text = line.lstrip(" \t")
            if not text:
                blanks += 1
                if blanks == 2:
                    self._items, self._footnote = [], False
                self._above = []
                at += 1
                continue
            blanks = 0
            first = text[0]
            item = first in "-+*0123456789" and syntax.ITEM.match(line, len(line) - len(text))
            if item or self._items:
                self._follow_list(column(line), is_item=bool(item))
            if first in special:
                after = special[first](at, text)
                if after is not None:
                    at = after
                    continue
            if self._above:
                self._record_name(at)
            if inlines and first not in "#:" and ("src_" in line or "call_" in line):
                self._inlines(at)
            at += 1

    def _offset(self, line: int) -> int:
        if not self._starts:
            self._starts = line_starts(self._lines)
        return self._starts[line]

    # the region around a line

    def _enter(self, kind: str, at: int, end: int) -> None:
        self._outer.append((self._limit, self._items, self._footnote, self._inside))
        self._inside = (*self._inside[-_MAX_INSIDE:], (kind, at))
        self._limit, self._items, self._footnote, self._above = end, [], False, []

    def _follow_list(self, width: int, *, is_item: bool) -> None:
        while self._items and self._items[-1] >= width:
            self._items.pop()
        if is_item:
            self._items.append(width)

    # lines that begin with a special character: each method returns the line to continue with, None
    # if the line is text

    def _footnoted(self, at: int, _text: str) -> None:
        if syntax.FOOTNOTE.match(self._lines[at]):
            self._items, self._footnote = [], True

    def _opening(self, at: int, text: str) -> int | None:
        opened = syntax.opening(text)
        if opened is None:
            return None
        kind, element = opened
        end = self._section.landmarks.closing(kind, at, self._limit)
        if end is None:
            if element != "latex":
                self._section.unclosed.append((kind, at))
            return None
        if element == "src":
            self._source(at, end, text)
        if self._above and element != "dynamic":
            self._record_name(at)
        if element == "latex" or element in syntax.VERBATIM_BLOCKS:
            self._section.verbatim.append((at, end))
            self._above = []
            return end + 1
        self._enter(kind, at, end)
        return at + 1

    def _keyword(self, at: int, text: str) -> int | None:
        if text[1:2] != "+":
            return None
        kind = text[2:9].lower()
        if kind.startswith("begin_") or kind in ("begin:", "begin: "):
            return self._opening(at, text)
        if kind.startswith("call:"):
            self._call(at)
            self._above = []  # the name belongs to its result
            return None
        match = syntax.KEYWORD.match(text)
        if match is None:
            return None
        if not syntax.is_affiliated(text):
            self._section.keywords.append((match[1].lower(), match[3].strip(" \t")))
            return None
        if match[1].lower() == "results":
            name = match[3].strip(" \t").lower()
            if name:
                self._section.results.append((name, at, self._limit))
        if at + 1 < self._limit and self._lines[at + 1].strip(" \t"):
            self._above.append(at)
        else:
            self._above = []
        return at + 1

    def _record_name(self, at: int) -> None:
        name = _keywords(self._lines, self._above)[0]
        if name:
            self._section.named.append((name.lower(), at))
        self._above = []

    # elements that can be evaluated

    def _source(self, at: int, end: int, text: str) -> None:
        language, switches, arguments = (syntax.SRC.findall(text) or [("", "", "")])[0]
        name, headers, result = _keywords(self._lines, self._above)
        self._add(
            "block",
            self._offset(at),
            self._offset(end) + len(self._lines[end]),
            at,
            language=language,
            switches=switches.strip(" \t"),
            arguments=arguments.strip(),
            headers=headers,
            name=name,
            indent=column(self._lines[end]),
            first=at + 1,
            last=end,
            result=result,
        )

    def _call(self, at: int) -> None:
        line = self._lines[at]
        match = syntax.CALL.match(line)
        if match is None:
            return
        close = inline.closing_brackets(line).get(match.end())
        if close is None:
            return
        name, headers, _ = _keywords(self._lines, self._above)
        start = self._offset(at)
        call = BabelCall(
            match[1].strip(" \t"),
            (match[2] or "")[1:-1],
            line[match.end() + 1 : close - 1],
            line[close:].strip(" \t"),
        )
        self._add(
            "call",
            start,
            start + len(line),
            at,
            headers=headers,
            name=name,
            indent=column(line),
            call=call,
        )

    def _inlines(self, at: int) -> None:
        start = self._offset(at)
        for span in inline.find(self._lines[at]):
            parts: dict[str, Any] = {
                "language": span.language,
                "arguments": span.inside,
                "inline": span.body,
            }
            if not span.language:
                parts = {"call": BabelCall(span.name, span.inside, span.body, span.final)}
            kind = "inline" if span.language else "inline call"
            self._add(kind, start + span.start, start + span.end, at, **parts)

    def _add(self, kind: str, start: int, end: int, line: int, **more: Any) -> None:
        item = self._items[-1] if self._items else -1
        region = Enclosure(self._limit, item, self._footnote, self._inside)
        self._section.blocks.append(Block(kind, start, end, line, _NOWHERE, region, **more))


def _keywords(
    lines: Sequence[str], above: Sequence[int]
) -> tuple[str | None, tuple[str, ...], int | None]:
    """Return the name, header arguments and results keyword's line from affiliated keywords."""
    name: str | None = None
    headers: list[str] = []
    result: int | None = None
    for number in above:
        match = syntax.KEYWORD.match(lines[number])
        if match is None:
            continue
        key = syntax.TODAY.get(match[1].lower(), match[1].lower())
        if key == "name":
            name = match[3].strip(" \t")
        elif key == "header":
            headers.append(match[3])
        elif key == "results":
            result = number
    return name, tuple(headers), result


def _properties(lines: Sequence[str], at: int, *, top: bool = False) -> dict[str, str]:
    """Return the properties in the drawer at line `at`, or {} if it is not a valid drawer."""
    count = len(lines)
    if top:
        while at < count and (not lines[at].strip() or re.match(r"[ \t]*#(?: |$)", lines[at])):
            at += 1
    elif at < count and syntax.PLANNING.match(lines[at]):
        at += 1
    properties: dict[str, str] = {}
    if at >= count or lines[at].strip(" \t").upper() != ":PROPERTIES:":
        return properties
    for number in range(at + 1, count):
        match = syntax.PROPERTY.match(lines[number])
        if match is None:
            return {}
        key = match[1].upper()
        if key == "END":
            return properties
        value = (match[2] or "").strip(" \t")
        if key.endswith("+") and key in properties:
            properties[key] += f" {value}"
        properties.setdefault(key, value)  # as in Org, the first value counts
    return {}
