"""Requests in headings, as verb (https://github.com/federicotdn/verb) has them, found by tag.

    * Users                                :verb:
    template https://example.org/users
    ** Create one
    post
    Content-Type: application/json

    {"name": "Jane"}

A heading is verb's if it or an ancestor has the tag `verb`, or ``#+FILETAGS:`` sets it for all. Its
request is the text from the first line that is not a comment, property, drawer or planning line, up
to the next heading. Unlike in verb, which would send those lines, too, it also ends at its own
result and at a request block; a heading whose text begins with a block has only the block's
request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.org import syntax
from orgrest.org.blocks import ALL_LANGUAGES, VERB, Block, Region

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.org.blocks import Heading
    from orgrest.org.elements import Elements


def requests(
    elements: Elements, headings: Iterable[Heading], keywords: Iterable[tuple[str, str]]
) -> list[Block]:
    """Return the texts below verb's headings as blocks of the kind ``heading``, in order.

    `headings` and `keywords` are those of the whole text. `orgrest.http.verb` decides whether a
    text is a request.
    """
    everywhere = is_file_tag(keywords)
    words = "|".join(re.escape(word) for word in ("TODO", "DONE", *elements.landmarks.todo))
    title = re.compile(rf"\*+ +(?:(?:{words})[ \t]+)?(?:\[#.\][ \t]*)?(?:COMMENT(?:[ \t]+|$))?")
    found: list[Block] = []
    for heading in headings:
        if everywhere or VERB in heading.tags:
            block = _request(elements, heading, title)
            found += [block] if block is not None else []
    return found


def is_file_tag(keywords: Iterable[tuple[str, str]]) -> bool:
    """Return whether ``#+FILETAGS:`` gives every heading verb's tag."""
    return any(key == "filetags" and VERB in text.split(":") for key, text in keywords)


def _request(elements: Elements, heading: Heading, title: re.Pattern[str]) -> Block | None:
    """Return the text below a heading; `title` matches what precedes the heading's own words."""
    limit = elements.section_end(heading.line)
    first = _first(elements, heading.line + 1, limit)
    if first is None:
        return None
    last = first + 1
    for line in range(first + 1, limit):
        if _ends_request(elements.lines[line].lstrip(" \t")):
            break
        if elements.lines[line].strip():
            last = line + 1
    return Block(
        kind="heading",
        start=elements.offset(heading.line),
        end=elements.offset(last - 1) + len(elements.lines[last - 1]),
        line=heading.line,
        heading=heading,
        region=Region(limit, -1, footnote=False),
        language=VERB,
        name=title.sub("", syntax.TAGS.sub("", elements.lines[heading.line]), 1).strip(" \t")
        or None,
        first=first,
        last=last,
    )


def _first(elements: Elements, at: int, limit: int) -> int | None:
    """Find the first line of a section's text, None if it has none or begins with a block."""
    while at < limit:
        text = elements.lines[at].lstrip(" \t")
        opened = syntax.opening(text)
        if opened is not None and opened[1] == "drawer":
            at = elements.closing(opened[0], at, limit) or at
        elif opened is not None or _ends_request(text):
            return None
        elif text.strip() and text[0] not in "#:" and not syntax.PLANNING.match(text):
            return at
        at += 1
    return None


def _ends_request(text: str) -> bool:
    """Return whether a line, without leading blanks, has a results keyword or begins a request."""
    if text[:2] != "#+":
        return False
    keyword = syntax.KEYWORD.match(text)
    if keyword is not None and keyword[1].lower() == "results":
        return True
    block = syntax.SRC.match(text)
    return block is not None and block[1] in ALL_LANGUAGES
