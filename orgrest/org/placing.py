"""Places a result: the edit that inserts it into an Org document, replacing the old result.

The rules are Org 9.5's, except where those would lose text: ``replace`` removes the element below
the keyword if it is of a type that results have, and otherwise puts the new result above it. Beyond
Org, the result of the last run is recognized by its text, so that evaluating again does not pile up
paragraphs; a request block is never a result and is kept.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from orgrest.org import syntax
from orgrest.org.blocks import ALL_LANGUAGES
from orgrest.org.results import result_of
from orgrest.org.text import Edit, column, indent, unescape

if TYPE_CHECKING:
    from orgrest.org.blocks import Block
    from orgrest.org.document import Document
    from orgrest.org.results import Result

_INLINE_RESULT = re.compile(r"[ \t]*\{\{\{results\(.*?\)\}\}\}")
_EXAMPLE = re.compile(r"#\+begin_example\n(.*)#\+end_example\n", re.DOTALL)
_REQUEST_LINE = re.compile(r"[ \t]*[A-Za-z-]+ +(?:https?://|:|/|\{\{)\S")


def place(
    document: Document,
    block: Block,
    text: str,
    *,
    mode: str = "replace",
    digest: str | None = None,
    prose: bool = False,
) -> Edit:
    """Return the edit that inserts `text` as the result of a block or call.

    `text` is empty or whole lines, not indented. `mode` is ``replace``, ``append`` or ``prepend``.
    `digest` is the hash of a cached block; if it is new or has changed, Org rewrites the keyword in
    every mode. `prose` means that results of this kind have no delimiters in Org, so that the lines
    directly below the keyword are the old result. A request block below the keyword is kept: it is
    the user's, not a result.
    """
    result = result_of(document, block)
    if result is None:
        return _new(document, block, text, digest)
    start, end = result.start, result.end
    if start <= block.start < end or _holds_request(document, result):
        end = start
    head = "" if document.lines[result.keyword + 1 :] else "\n"
    new = indent(text, result.column)
    if digest is not None and result.hash != digest:
        if result.hash is None:  # not cached before: only what Org would remove is its result
            end = _old_end(document, result, new, end, prose=prose)
        elif end == result.end:
            end = _element_end(document, result)
        return _renew(document, block, result, text, digest, end)
    if mode == "append":
        return Edit(result.end, result.end, head + new)
    if mode == "prepend":
        return Edit(start, start, head + new)
    end = _old_end(document, result, new, end, prose=prose)
    gap = _gap(document, text, result.column, document.line_of(end))
    if not new and start < end and document.text[end : end + 1].strip():
        gap = "\n"  # separates the text below, which would be read as the result
    return Edit(start, end, head + new + gap)


def _element_end(document: Document, result: Result) -> int:
    """Find the end of the element below a keyword; with a hash, any type counts as a result."""
    line = result.keyword + 1
    if line < result.limit and document.lines[line].strip(" \t"):
        return document.offset(document.extent(line, result.limit)[1])
    return result.start


def _old_end(document: Document, result: Result, new: str, end: int, *, prose: bool) -> int:
    """Find the end of the old result, which for Org ends at `end`."""
    if new and document.text.startswith(new, result.start) and result.start + len(new) >= end:
        return result.start + len(new)
    if prose:
        return max(end, _prose_end(document, result, new))
    return _wrapped_end(document, result, new) if result.end == result.start else end


def _wrapped_end(document: Document, result: Result, new: str) -> int:
    """Find the end of an old result in a wrapper that Org would keep but `new` has, too."""
    line = result.keyword + 1
    opening = new.split("\n", 1)[0].split()[:1]
    wrapped = bool(opening) and opening[0].lower().startswith("#+begin_")
    if wrapped and line < result.limit and document.lines[line].split()[:1] == opening:
        kind, end = document.extent(line, result.limit)
        return document.offset(end) if kind != "text" else result.start
    return result.start


def _gap(document: Document, text: str, width: int, line: int) -> str:
    """Return the blank lines that separate a list inserted before a line from a list below it.

    Two blank lines end a list; with fewer, the text below would become part of the result.
    """
    if not syntax.ITEM.match(text):
        return ""
    below = line
    while below < len(document.lines) and not document.lines[below].strip(" \t"):
        below += 1
    if below == len(document.lines) or below - line >= 2:
        return ""
    found = document.lines[below]
    here = column(found)
    item = syntax.ITEM.match(found, len(found) - len(found.lstrip(" \t")))
    joins = here > width or (here == width and item)
    return "\n" * (2 - (below - line)) if joins else ""


def _new(document: Document, block: Block, text: str, digest: str | None) -> Edit:
    line = document.line_of(block.end) + 1
    at = document.offset(line)
    keyword = "#+RESULTS" + (f"[{digest}]" if digest else "") + ":"
    if block.name is not None:
        keyword += " " + block.name
    below = document.lines[line] if line < len(document.lines) else None
    before = "\n" if below is None else ""
    # A blank line added below a heading's request would become a part of its body.
    if block.kind != "heading" or (below is not None and not below.strip(" \t")):
        before += "\n"
    gap = _gap(document, text, block.indent, line)
    if not gap and below is not None and below.strip(" \t"):
        gap = "\n"
    return Edit(at, at, before + indent(f"{keyword}\n{text}", block.indent) + gap)


def _renew(
    document: Document, block: Block, result: Result, text: str, digest: str, end: int
) -> Edit:
    """Rewrite keyword and result, replacing the old result, which ends at the offset `end`."""
    keyword = f"#+RESULTS[{digest}]:" + (f" {block.name}" if block.name is not None else "")
    above = ""
    if end > result.start:
        line = result.keyword + 1
        while syntax.is_affiliated(document.lines[line]) and document.offset(line + 1) < end:
            above += document.lines[line] + "\n"
            line += 1
    new = above + indent(f"{keyword}\n{text}", result.column)
    if end < len(document.text) and document.lines[document.line_of(end)].strip(" \t"):
        new += "\n"
    return Edit(document.offset(result.keyword), end, new)


def _prose_lines(document: Document, line: int, limit: int, *, mixed: bool = True) -> int:
    """Find where plain text ends: at a blank line or any other element.

    With `mixed`, lists, tables and the like may belong to it.
    """
    while line < limit:
        stripped = document.lines[line].lstrip(" \t")
        if not stripped or stripped.startswith("#+") or syntax.DRAWER.match(stripped):
            break
        if not mixed and syntax.SEPARATE.match(stripped):
            break
        line += 1
    return line


def _prose_end(document: Document, result: Result, new: str) -> int:
    """Find the end of an old result without delimiters.

    It includes at least the lines below the keyword; further paragraphs belong to it as long as the
    new result has them, too. So do as many trailing blank lines as the new result has.
    """
    line = document.line_of(result.end) if result.kind else result.keyword + 1
    if not result.kind:
        kinds = {kind for text in new.split("\n") if (kind := syntax.SEPARATE.match(text.lstrip()))}
        line = _prose_lines(document, line, result.limit, mixed=bool({k[0] for k in kinds} - {""}))
        if line == result.keyword + 1:
            return result.end
    framed = _EXAMPLE.fullmatch(new)  # the old prose may have become an example
    bare = unescape(framed[1]) if framed else new
    known = Counter(chunk.strip("\n") for chunk in bare.split("\n\n") if chunk.strip())
    known.subtract(["\n".join(document.lines[result.keyword + 1 : line])])
    while True:
        after = line
        while after < result.limit and not document.lines[after].strip(" \t"):
            after += 1
        end = _prose_lines(document, after, result.limit)
        paragraph = "\n".join(document.lines[after:end])
        if after == line or known[paragraph] < 1:
            break
        known[paragraph] -= 1
        line = end
    blanks = len(new) - len(new.rstrip("\n")) - 1
    while blanks > 0 and line < result.limit and not document.lines[line].strip(" \t"):
        line += 1
        blanks -= 1
    return document.offset(line)


def _holds_request(document: Document, result: Result) -> bool:
    """Return whether a request block that the user wrote is below a results keyword.

    It may be in a list that continues the result's.
    """
    if result.kind == "list":
        at = bisect_left(document.requests, result.start)
        return at < len(document.requests) and document.requests[at] < result.end
    if result.kind != "src":
        return False
    line = result.keyword + 1
    while syntax.is_affiliated(document.lines[line]):
        line += 1
    match = syntax.SRC.match(document.lines[line].lstrip(" \t"))
    if match is None or match[1] not in ALL_LANGUAGES:
        return False
    body = document.lines[line + 1 : document.line_of(result.end)]
    return any(_REQUEST_LINE.match(line) for line in body)


def place_inline(document: Document, block: Block, text: str) -> Edit:
    """Return the edit that puts `text` after an inline block, replacing the result there."""
    old = _INLINE_RESULT.match(document.text, block.end)
    return Edit(block.end, old.end() if old else block.end, f" {{{{{{results({text})}}}}}}")


def closes(document: Document, edit: Edit, block: Block) -> int | None:
    """Find the line (from 1) of an element that inserting the result of `block` would close.

    Either it encloses the block and would end too early, or it is unclosed, and the text after its
    line would end up inside a block or drawer.
    """
    lines = edit.text.split("\n")
    kinds = {kind for line in lines if (kind := syntax.closing(line.lstrip(" \t")))}
    if block.end <= edit.start <= document.offset(block.region.limit):
        for kind, line in block.region.inside:
            if kind in kinds:
                return line + 1
    if not document.unclosed:
        return None
    line = document.line_of(edit.start)
    section = bisect_right(document.headings, line - 1)
    start = document.headings[section - 1] if section else 0
    for kind in kinds:
        opened = document.unclosed.get(kind, [])
        at = bisect_left(opened, start)
        if at < len(opened) and opened[at] < line:
            return opened[at] + 1
    return None
