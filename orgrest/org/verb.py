"""Finds requests in tagged headings, as in verb (https://github.com/federicotdn/verb).

    * Users                                :verb:
    template https://example.org/users
    ** Create one
    post
    Content-Type: application/json

    {"name": "Jane"}

A heading belongs to verb if it or an ancestor has the tag `verb`, or if ``#+FILETAGS:`` sets the
tag for the whole file. The request of a heading is the text from the first line that is not a
comment, property, drawer or planning line, up to the next heading. Unlike in verb, a request block
or a results keyword also ends it. If the text of a heading starts with a block, the request in that
block is the heading's only request.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.org import syntax
from orgrest.org.blocks import ALL_LANGUAGES, VERB, Block, Enclosure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.org.blocks import Heading
    from orgrest.org.elements import Elements


def requests(
    elements: Elements, headings: Iterable[Heading], keywords: Iterable[tuple[str, str]]
) -> list[Block]:
    """Return the text below each verb heading as a block of kind ``heading``, in order.

    A heading is left out if its text is empty, or starts with a block or a results keyword.
    `headings` and `keywords` are those of the whole text. `orgrest.http.verb` decides whether the
    text below a heading is a request.
    """
    everywhere = is_file_tag(keywords)
    words = "|".join(re.escape(word) for word in ("TODO", "DONE", *elements.landmarks.todo))
    title = re.compile(rf"\*+ +(?:(?:{words})[ \t]+)?(?:\[#.\][ \t]*)?(?:COMMENT(?:[ \t]+|$))?")
    blocks: list[Block] = []
    for heading in headings:
        if everywhere or VERB in heading.tags:
            block = _request(elements, heading, title)
            blocks += [block] if block is not None else []
    return blocks


def is_file_tag(keywords: Iterable[tuple[str, str]]) -> bool:
    """Return whether ``#+FILETAGS:`` gives the verb tag to every heading."""
    return any(key == "filetags" and VERB in text.split(":") for key, text in keywords)


def _request(elements: Elements, heading: Heading, title: re.Pattern[str]) -> Block | None:
    """Return the text below a heading as a block, or None if there is no such text.

    `title` matches everything on the heading line before the actual title.
    """
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
        region=Enclosure(limit, -1, footnote=False),
        language=VERB,
        name=title.sub("", syntax.TAGS.sub("", elements.lines[heading.line]), 1).strip(" \t")
        or None,
        first=first,
        last=last,
    )


def _first(elements: Elements, at: int, limit: int) -> int | None:
    """Return the index of the line at which the text of a section starts.

    Returns None if the text is empty, or if it starts with a block or a results keyword.
    """
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
    """Return whether a line has a results keyword or starts a request block.

    `text` is the line without leading blanks.
    """
    if text[:2] != "#+":
        return False
    keyword = syntax.KEYWORD.match(text)
    if keyword is not None and keyword[1].lower() == "results":
        return True
    block = syntax.SRC.match(text)
    return block is not None and block[1] in ALL_LANGUAGES
