"""Finds the results of blocks, and elements by name, in an Org document.

As in Org, the result of a named block is the first ``#+RESULTS: name`` of the document. The result
of a block without a name is the next element, if that has a results keyword without a name. Only
the types in `syntax.REMOVABLE` count as old results.

Org would write the results of blocks with the same name to the first keyword. Here each block has
its own: the first keyword between the block and the next block with that name. The result of a verb
heading is in its section.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import takewhile
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.org import syntax
from orgrest.org.text import column

if TYPE_CHECKING:
    from orgrest.org.blocks import Block
    from orgrest.org.document import OrgDocument


@classes.frozen
class Result:
    """A results keyword, and the old result below it.

    `keyword` is the index of the keyword's line, and `column` is the keyword's column. The result
    extends from the offset `start` to `end`. `limit` is the line at which the enclosing region
    ends. `hash` is the hash in the keyword's brackets. `kind` is the type of the result, or ""
    without a result.
    """

    keyword: int
    start: int
    end: int
    column: int
    limit: int
    hash: str | None
    kind: str


def result_of(document: OrgDocument, block: Block) -> Result | None:
    """Return the result that belongs to a block or call, or None if it has no result yet."""
    if block.name:
        place = _named_keyword(document, block, block.name)
        return None if place is None else _result_at(document, *place)
    line = _next_element(document, block)
    if line is None:
        return None
    keywords = [line]
    while keywords[-1] < block.region.limit and syntax.is_affiliated(document.lines[keywords[-1]]):
        keywords.append(keywords[-1] + 1)
    last = keywords[-1]
    if last >= block.region.limit or not document.lines[last].strip(" \t"):
        keywords = [line]  # no element follows the keywords
    for at in keywords:
        keyword = _results_keyword(document.lines[at])
        if keyword is not None and not keyword[1] and keyword[0] is not False:
            return _result_at(document, at, block.region.limit)
    return None


def _named_keyword(document: OrgDocument, block: Block, name: str) -> tuple[int, int] | None:
    """Return the lines of a block's results keyword and of the end of its region, or None."""
    keywords = document.results.get(name.lower(), [])
    namesakes = document.namesakes(name)
    number = bisect_left(namesakes, block.start, key=lambda keyword: keyword.start)
    in_section = block.kind == "heading"
    at = bisect_left(keywords, (block.line,)) if number or in_section else 0
    if at == len(keywords):
        return None
    keyword = keywords[at]
    if in_section:
        return keyword if keyword[0] < block.region.limit else None
    is_others = number + 1 < len(namesakes) and namesakes[number + 1].line < keyword[0]
    return None if is_others else keyword


def _next_element(document: OrgDocument, block: Block) -> int | None:
    region = block.region
    after = document.line_of(block.end) + 1
    line = after
    while line < region.limit and not document.lines[line].strip(" \t"):
        line += 1
    nested = region.item >= 0 or region.footnote
    if (
        line >= region.limit
        or (nested and line - after >= 2)  # two blank lines end a list item or footnote
        or (block.indent > region.item >= column(document.lines[line]))  # not in the same item
    ):
        return None
    return line


def _result_at(document: OrgDocument, keyword: int, limit: int) -> Result:
    line = document.lines[keyword]
    hash_, _ = _results_keyword(line) or (None, "")
    kind, end = "", keyword + 1
    if end < limit and document.lines[end].strip(" \t"):
        kind, end = document.removable(keyword + 1, limit)
    return Result(
        keyword=keyword,
        start=document.offset(keyword + 1),
        end=document.offset(end),
        column=column(line),
        limit=limit,
        hash=hash_ if isinstance(hash_, str) else None,
        kind=kind,
    )


def _results_keyword(line: str) -> tuple[str | bool | None, str] | None:
    """Return a results keyword's hash (None without brackets, False if invalid) and its name."""
    match = syntax.KEYWORD.match(line)
    if match is None or match[1].lower() != "results":
        return None
    name = match[3].strip(" \t")
    if match[2] is None:
        return None, name
    hash_ = syntax.HASH.match(match[2])
    return (hash_[1] if hash_ else False), name


def element_named(document: OrgDocument, name: str) -> tuple[str, list[str]] | None:
    """Return the type and the lines of the element called `name`, or None.

    The name is in a ``#+NAME:`` line or, failing that, in a ``#+RESULTS:`` line. If a source block
    has the name, its result is returned. For the types, see `Elements.extent`.
    """
    block = document.block_named(name)
    if block is not None:
        result = result_of(document, block)
        return None if result is None else document.element_at(result.keyword + 1)
    line = document.named.get(name.lower())
    if line is None:
        positions = document.results.get(name.lower())
        if not positions:
            return None
        line = positions[0][0] + 1
    return document.element_at(line)


def is_result(document: OrgDocument, name: str) -> bool:
    """Return whether the element called `name` has a results keyword."""
    line = document.named.get(name.lower())
    if line is None:
        return name.lower() in document.results
    keywords = takewhile(syntax.is_affiliated, reversed(document.lines[:line]))
    return any(_results_keyword(keyword) for keyword in keywords)
