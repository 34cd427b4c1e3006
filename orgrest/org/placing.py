"""Computes the edit that inserts a result into an Org document and replaces the old result.

The rules are those of Org 9.5, except where Org would lose or repeat text. A request block is never
removed as an old result. Old prose is recognized by its text, so that paragraphs do not accumulate
with each evaluation.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.model import OrgrestError
from orgrest.org import syntax
from orgrest.org.blocks import ALL_LANGUAGES
from orgrest.org.results import result_of
from orgrest.org.text import Edit, column, indent, unescape
from orgrest.regular import compiled

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.org.blocks import BabelCall, Block
    from orgrest.org.document import OrgDocument
    from orgrest.org.results import Result

_INLINE_RESULT = compiled(r"[ \t]*\{\{\{results\(.*?\)\}\}\}")
_EXAMPLE = compiled(r"#\+begin_example\n(.*)#\+end_example\n", re.DOTALL)
_REQUEST_LINE = compiled(r"[ \t]*[A-Za-z-]+ +(?:https?://|:|/|\{\{)\S")


class PlacingError(OrgrestError):
    """Raised if a result cannot be inserted into a document."""


@classes.frozen(eq=False)
class Placing:
    """The place of a result, for an editor whose text may have changed since the evaluation.

    `start`, `kind` and `name` describe the block in the evaluated text. `request` contains the
    block's body at that time, without trailing whitespace, and the block's call or None. Header
    arguments and indentation are not included, since they may change while the request is being
    sent.
    """

    start: int
    kind: str
    name: str | None
    request: tuple[str, BabelCall | None]
    _make: Callable[[OrgDocument, Block], Edit]

    def edit(self, document: OrgDocument, block: Block) -> Edit:
        """Return the edit that inserts the result below `block` in the current `document`.

        Raises PlacingError if the block's request has changed since it was evaluated. Also
        raises it if the result would close an element that is open above it.
        """
        if (document.body(block).text.rstrip(), block.call) != self.request:
            raise PlacingError(
                "the request was changed in the meantime: its result is shown, but not inserted"
            )
        edit = self._make(document, block)
        check_open(document, edit, block)
        return edit


def check_open(document: OrgDocument, edit: Edit, block: Block) -> None:
    """Raise PlacingError if a result would close an element that is open above it.

    `edit` inserts the result of `block`.
    """
    opened = closes(document, edit, block)
    if opened is not None:
        raise PlacingError(
            "the last line of this result would close the block or drawer that starts on line "
            f"{opened}: use another form of result (:wrap, :results) or, if that block or "
            "drawer is never closed, add its end line"
        )


def place(
    document: OrgDocument,
    block: Block,
    text: str,
    *,
    mode: str = "replace",
    digest: str | None = None,
    prose: bool = False,
) -> Edit:
    """Return the edit that inserts `text` as the result of a block or call.

    `text` is empty or consists of whole lines without indentation. `mode` is ``replace``,
    ``append`` or ``prepend``. `digest` is the hash of a cached block. If it differs from the old
    result's hash, the old result is replaced in every mode, as in Org. `prose` means that no
    delimiter marks the end of the result, so the lines directly below the keyword count as the old
    result. A request block there is kept.
    """
    result = result_of(document, block)
    if result is not None and mode != "replace" and digest in (None, result.hash):
        at = result.end if mode == "append" else result.start
        return Edit(at, at, _missing_newline(document, result) + indent(text, result.column))
    room = room_for(document, block, result, text, digest=digest, prose=prose)
    if result is None:
        return _new(document, block, text, digest, room)
    if digest not in (None, result.hash):
        return _renew(document, block, result, text, digest, room)
    new = indent(text, result.column)
    return Edit(room.start, room.end, _missing_newline(document, result) + new + room.text)


def _missing_newline(document: OrgDocument, result: Result) -> str:
    return "" if document.lines[result.keyword + 1 :] else "\n"


def room_for(
    document: OrgDocument,
    block: Block,
    result: Result | None,
    text: str,
    *,
    digest: str | None = None,
    prose: bool = False,
) -> Edit:
    """Return the edit that makes room for `text`, the new result of a block or call.

    The edit removes the old `result`, if any, and inserts blank lines that separate `text` from the
    text below. A request block directly below the keyword is kept, and gets another keyword. For
    the other parameters, see `place` (with the mode ``replace``).
    """
    if result is None:
        line = document.line_of(block.end) + 1
        at = document.offset(line)
        return Edit(at, at, _gap(document, text, block.indent, line, prose=False))
    end = result.end
    holds = _holds_request(document, result)
    kept = holds or result.start <= block.start < end
    if kept:
        end, prose = result.start, False
    new = indent(text, result.column)
    end = _old_end(document, result, new, end, prose=prose)
    if digest not in (None, result.hash) and result.hash is not None and not kept:
        end = max(end, element_end(document, result))
    changed = document.text[result.start : end] != new
    below = document.line_of(end) if document.text[end:] else len(document.lines)
    gap = _gap(document, text, result.column, below, prose=prose and changed)
    if not new and result.start < end and _is_text(document, below):
        gap = "\n"  # keeps the text below from becoming the result
    if new and holds and result.kind == "src" and end == result.start:
        gap = indent("#+RESULTS:\n", result.column)  # a later run does not send it, either
    return Edit(result.start, end, gap)


def element_end(document: OrgDocument, result: Result) -> int:
    """Return the offset at which the element below a results keyword ends. It may have any type."""
    line = result.keyword + 1
    if line < result.limit and document.lines[line].strip(" \t"):
        return document.offset(document.extent(line, result.limit)[1])
    return result.start


def _old_end(document: OrgDocument, result: Result, new: str, end: int, *, prose: bool) -> int:
    """Return the offset at which the old result ends: `end`, as in Org, or further down."""
    if new and document.text.startswith(new, result.start) and result.start + len(new) >= end:
        return result.start + len(new)
    if prose:
        return max(end, _prose_end(document, result, new))
    return _wrapped_end(document, result, new) if result.end == result.start else end


def _wrapped_end(document: OrgDocument, result: Result, new: str) -> int:
    """Return the end of the block below the keyword if `new` is a block of the same kind.

    Org would keep the old block and insert `new` above it.
    """
    line = result.keyword + 1
    opening = new.split("\n", 1)[0].split()[:1]
    wrapped = bool(opening) and opening[0].lower().startswith("#+begin_")
    if wrapped and line < result.limit and document.lines[line].split()[:1] == opening:
        kind, end = document.extent(line, result.limit)
        return document.offset(end) if kind != "text" else result.start
    return result.start


def _gap(document: OrgDocument, text: str, width: int, line: int, *, prose: bool) -> str:
    """Return the blank lines that separate an inserted result from the text below `line`.

    Otherwise, this text would become part of the result, and would later be removed with it.
    """
    below = line
    while below < len(document.lines) and not document.lines[below].strip(" \t"):
        below += 1
    if below == len(document.lines):
        return ""
    first_line = document.lines[below]
    bare = first_line.lstrip(" \t")
    if syntax.ITEM.match(text):
        here = column(first_line)
        item = syntax.ITEM.match(first_line, len(first_line) - len(bare))
        joins = here > width or (here == width and item)
        return "\n" * (2 - (below - line)) if joins else ""  # two blank lines end a list
    if below > line:
        return ""
    last = text.rstrip("\n").rpartition("\n")[2].lstrip(" \t")
    if syntax.FIXED.match(last):
        joins = syntax.FIXED.match(bare)
    elif last.startswith("|"):
        joins = bare.startswith("|") or bare.lower().startswith("#+tblfm:")
    else:
        joins = prose and _is_prose(last) and _is_prose(bare)
    return "\n" if joins else ""


def _is_text(document: OrgDocument, line: int) -> bool:
    """Return whether `line` exists and is not blank."""
    return line < len(document.lines) and bool(document.lines[line].strip(" \t"))


def _new(document: OrgDocument, block: Block, text: str, digest: str | None, room: Edit) -> Edit:
    line = document.line_of(block.end) + 1
    keyword = "#+RESULTS" + (f"[{digest}]" if digest else "") + ":"
    if block.name is not None:
        keyword += " " + block.name
    text_below = _is_text(document, line)
    before = "" if line < len(document.lines) else "\n"
    # A blank line added below a heading's request would become a part of its body.
    if block.kind != "heading" or (line < len(document.lines) and not text_below):
        before += "\n"
    gap = room.text or ("\n" if text_below else "")
    return Edit(room.start, room.end, before + indent(f"{keyword}\n{text}", block.indent) + gap)


def _renew(
    document: OrgDocument, block: Block, result: Result, text: str, digest: str, room: Edit
) -> Edit:
    keyword = f"#+RESULTS[{digest}]:" + (f" {block.name}" if block.name is not None else "")
    above = ""
    if room.end > result.start:
        line = result.keyword + 1
        while syntax.is_affiliated(document.lines[line]) and document.offset(line + 1) < room.end:
            above += document.lines[line] + "\n"
            line += 1
    new = above + indent(f"{keyword}\n{text}", result.column)
    below = document.line_of(room.end) if document.text[room.end :] else len(document.lines)
    gap = room.text or ("\n" if _is_text(document, below) else "")
    return Edit(document.offset(result.keyword), room.end, new + gap)


def _line_after_prose(document: OrgDocument, line: int, limit: int, *, mixed: bool = True) -> int:
    """Return the first line at or after `line` that does not belong to prose, or `limit`.

    If `mixed` is true, lists, tables and the like count as prose.
    """
    while line < limit:
        stripped = document.lines[line].lstrip(" \t")
        if not stripped or stripped.startswith("#+") or syntax.DRAWER.match(stripped):
            break
        if not mixed and not _is_prose(stripped):
            break
        line += 1
    return line


def _is_prose(line: str) -> bool:
    return not syntax.SEPARATE.match(line) and not syntax.LINK_LINE.match(line)


def _prose_end(document: OrgDocument, result: Result, new: str) -> int:
    """Return the offset at which an old result without delimiters ends.

    The old result is the text directly below the keyword, with the following lines and paragraphs
    that are also in the new result, `new`.
    """
    framed = _EXAMPLE.fullmatch(new)  # the old prose may have become an example
    bare = unescape(framed[1]) if framed else new
    first = result.keyword + 1
    if result.kind:
        line = document.line_of(result.end)
    else:
        line = _line_after_prose(document, first, result.limit, mixed=False)
        lines = Counter(bare.split("\n"))
        lines.subtract(document.lines[first:line])
        end = _line_after_prose(document, line, result.limit)
        while line < end and lines[document.lines[line]] > 0:
            lines[document.lines[line]] -= 1
            line += 1
        if line == first:
            return result.end
    known = Counter(chunk.strip("\n") for chunk in bare.split("\n\n") if chunk.strip())
    known.subtract(["\n".join(document.lines[first:line])])
    while True:
        after = line
        while after < result.limit and not document.lines[after].strip(" \t"):
            after += 1
        end = _line_after_prose(document, after, result.limit)
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


def _holds_request(document: OrgDocument, result: Result) -> bool:
    """Return whether the element below a results keyword is or contains a user's request block."""
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


def place_inline(document: OrgDocument, block: Block, text: str) -> Edit:
    """Return the edit that puts `text` after an inline block, replacing the result there."""
    old = _INLINE_RESULT.match(document.text, block.end)
    return Edit(block.end, old.end() if old else block.end, f" {{{{{{results({text})}}}}}}")


def closes(document: OrgDocument, edit: Edit, block: Block) -> int | None:
    """Return the line number, from 1, of an element that a result would close by mistake, or None.

    `edit` inserts the result of `block`. A line of the result may look like the end of an element
    that encloses the block, or of an unclosed element above it.
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
    headings = document.landmarks.headings
    section = bisect_right(headings, line - 1)
    start = headings[section - 1] if section else 0
    for kind in kinds:
        opened = document.unclosed.get(kind, [])
        at = bisect_left(opened, start)
        if at < len(opened) and opened[at] < line:
            return opened[at] + 1
    return None
