"""Finds requests in tagged headings, as in verb (https://github.com/federicotdn/verb).

    * Users                                :verb:
    template https://example.org/users
    ** Create one
    post
    Content-Type: application/json

    {"name": "Jane"}

A heading belongs to verb if it or an ancestor has the tag `verb`, or if ``#+FILETAGS:`` sets the
tag for the whole file. The request is the text below, up to the next heading, without comments,
properties, drawers and planning lines at the start. Unlike in verb, a request block or a results
keyword also ends the request. If the text starts with a block, only the block can be a request.
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
    """Return a block of kind ``heading`` for the text below each verb heading, in order.

    A heading is left out if its text is empty, or starts with a block or a results keyword.
    `orgrest.http.verb` decides whether the text is a request.
    """
    everywhere = is_file_tag(keywords)
    words = "|".join(re.escape(word) for word in ("TODO", "DONE", *elements.landmarks.todo))
    before_title = re.compile(
        rf"\*+ +(?:(?:{words})[ \t]+)?(?:\[#.\][ \t]*)?(?:COMMENT(?:[ \t]+|$))?"
    )
    blocks: list[Block] = []
    for heading in headings:
        if everywhere or VERB in heading.tags:
            block = _request(elements, heading, before_title)
            blocks += [block] if block is not None else []
    return blocks


def is_file_tag(keywords: Iterable[tuple[str, str]]) -> bool:
    """Return whether ``#+FILETAGS:`` gives the verb tag to every heading."""
    return any(key == "filetags" and VERB in text.split(":") for key, text in keywords)


def _request(elements: Elements, heading: Heading, before_title: re.Pattern[str]) -> Block | None:
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
        name=before_title.sub("", syntax.TAGS.sub("", elements.lines[heading.line]), 1).strip(" \t")
        or None,
        first=first,
        last=last,
    )


def _first(elements: Elements, at: int, limit: int) -> int | None:
    """Return the line at which a section's request starts, or None if there is no request."""
    while at < limit:
        text = elements.lines[at].lstrip(" \t")
        opened = syntax.opening(text)
        if opened is not None and opened[1] == "drawer":
            at = elements.landmarks.closing(opened[0], at, limit) or at
        elif opened is not None or _ends_request(text):
            return None
        elif text.strip() and text[0] not in "#:" and not syntax.PLANNING.match(text):
            return at
        at += 1
    return None


def _ends_request(text: str) -> bool:
    if text[:2] != "#+":
        return False
    keyword = syntax.KEYWORD.match(text)
    if keyword is not None and keyword[1].lower() == "results":
        return True
    block = syntax.SRC.match(text)
    return block is not None and block[1] in ALL_LANGUAGES
