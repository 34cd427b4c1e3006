"""Finds header arguments and the names of blocks and calls in an Org document.

`orgrest.org.arguments` evaluates header arguments, but an editor needs the offsets at which they
are written: at a block, in ``#+HEADER:`` lines above it, or in properties.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.model import Span
from orgrest.org import argument_syntax
from orgrest.org import document as org
from orgrest.org.blocks import Block
from orgrest.org.syntax import NAME_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

_PROPERTY = re.compile(
    r"[ \t]*(?:#\+property:[ \t]+header-args(?P<keyword>\S*)|:header-args(?P<drawer>\S*):)"
    r"[ \t]+(?P<given>.*)",
    re.IGNORECASE,
)
_KEYWORD_LINE = re.compile(r"[ \t]*#\+(\w+)(?:\[.*?\])?:[ \t]*(.*)")
_VAR = re.compile(r":?var[ \t]+")


def _keywords_above(document: org.OrgDocument, block: Block) -> Iterator[tuple[str, str, int]]:
    """Yield (key, value, value offset) for the keyword lines directly above, from the bottom up."""
    for number in range(block.line - 1, -1, -1):
        match = _KEYWORD_LINE.match(document.lines[number])
        if match is None:
            break
        yield match[1].lower(), match[2], document.offset(number) + match.start(2)


def texts_of(document: org.OrgDocument | None, block: Block | None) -> Iterator[tuple[str, int]]:
    """Yield (text, offset) for each string of header arguments in or above a block's first line.

    In a request file, there is neither a `document` nor a `block`, so nothing is yielded.
    """
    if document is None or block is None:
        return
    line = document.lines[block.line]
    start = document.offset(block.line)
    if block.kind == "block":
        yield block.arguments, start + line.rfind(block.arguments)
    elif block.arguments:  # of an inline block
        yield block.arguments, document.text.index("[", block.start) + 1
    for key, text, at in _keywords_above(document, block):
        if key in ("header", "headers"):
            yield text, at


def name_span(document: org.OrgDocument, block: Block) -> Span | None:
    """Return the span of a block's name, or None if the block does not have a name."""
    for key, text, at in _keywords_above(document, block):
        if key in NAME_KEYWORDS and block.name and text.strip() == block.name:
            return Span(at, at + len(block.name))
    return None


def variable_span(document: org.OrgDocument, block: Block, variable: str) -> Span | None:
    """Return the span where a block's own lines set `variable` with `:var`, or None."""
    for text, start in texts_of(document, block):
        for assignment in assignments(text):
            if assignment.name == variable:
                return assignment.span(start)
    return None


def line_span(document: org.OrgDocument, line: int) -> Span:
    """Return the span of a line without the whitespace at its ends. Lines are counted from 0."""
    text = document.lines[line]
    start = document.offset(line)
    return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))


def of_properties(
    document: org.OrgDocument, first: int = 0, last: int | None = None
) -> Iterator[tuple[str, int, str]]:
    """Yield (text, offset, language) for each property that sets header arguments.

    The language "" means all languages. Only lines from `first` up to, but not including, `last`
    are searched, counted from 0.
    """
    if first == 0 and last is None and "header-args" not in document.text.lower():
        return
    for number, line in enumerate(document.lines[first:last], first):
        if "header-args" in line.lower() and (match := _PROPERTY.match(line)):
            language = (match["keyword"] or match["drawer"] or "").strip(":+").lower()
            start = document.offset(number) + match.start("given")
            yield match["given"].rstrip(" \t"), start, language


def called_at(text: str, block: Block) -> int:
    """Return the offset of NAME in ``#+CALL: NAME(`` or ``call_NAME(``."""
    name = block.call.name if block.call is not None else ""
    mark = ":" if block.kind == "call" else "_"
    return text.index(name, text.index(mark, block.start) + 1)


def names_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield (name with its leading colon, index) for each header argument in `text`."""
    at = 0
    for number, piece in enumerate(argument_syntax.split(text, " \t", ":")):
        if number:
            at += 1  # the space or tab; the colon belongs to the name
            piece = ":" + piece
        stripped = piece.lstrip()
        name = stripped.split(None, 1)[0] if stripped else ""
        if name.startswith(":"):
            yield name, at + len(piece) - len(stripped)
        at += len(piece)


@classes.frozen
class Assignment:
    """A variable that ``:var`` sets: its name and value as written, with their offsets."""

    name: str
    start: int
    value: str
    value_start: int

    def span(self, at: int) -> Span:
        """Return the span of the name, if the header arguments begin at the offset `at`."""
        return Span(at + self.start, at + self.start + len(self.name))


def assignments(text: str) -> Iterator[Assignment]:
    """Yield the variables that the header arguments in `text` set with ``:var``."""
    at = 0
    for number, piece in enumerate(argument_syntax.split(text, " \t", ":")):
        start = at + 2 * (number > 0)
        at = start + len(piece)
        match = _VAR.match(piece)
        if match is None:
            continue
        words: list[tuple[str, int]] = []
        word_at = start + match.end()
        for word in argument_syntax.split(piece[match.end() :], " \t", ""):
            if word:
                words.append((word, word_at))
            word_at += len(word) + 1
        for index, (word, word_at) in enumerate(words):
            name, equals, value = word.partition("=")
            value_at = word_at + len(name) + 1
            following = words[index + 1 : index + 3]
            if not equals and following and following[0][0].startswith("="):
                (equals_and_value, value_at), *following = following
                equals, value, value_at = "=", equals_and_value[1:], value_at + 1
            if not value and following:
                value, value_at = following[0]
            if name and equals:
                yield Assignment(name, word_at, value, value_at)
