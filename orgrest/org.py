r"""Org text: where blocks, calls, data and results of a document are, and where a result goes.

A `Document` reads a text once and knows its headings, source blocks, ``#+CALL:`` lines, inline
blocks, named elements and results. It changes nothing: `Document.place` gives an `Edit`, a span of
the text and its replacement, and every character outside the spans stays as it is.

Rules: what Org 9.5 does, as its manual (Working with Source Code) and its syntax description say
and Emacs shows. A block is one when Org's parser sees one: an example block hides what is in it, a
heading ends everything, what is never closed is text. Offsets are into the text, whose line ends
are ``\n`` (`orgrest.files` knows what they were in the file); line indexes count from 0.

Strategy: a first pass notes the lines that close something, so that the second finds the end of a
block by bisection and goes over every line once. Time grows linearly with the text.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

REQUEST_LANGUAGES = frozenset({"restclient", "http", "rest"})

_HEADING = re.compile(r"\*+ ")
_KEYWORD = re.compile(r"[ \t]*#\+([^\s:\[]+)(?:\[(.*)\])?:[ \t]*(.*)")
_END = re.compile(r"#\+end_(\S+)[ \t]*$", re.IGNORECASE)
_DYNAMIC_END = re.compile(r"#\+end:?[ \t]*$", re.IGNORECASE)
_DRAWER = re.compile(r":([\w-]+):[ \t]*$")
_PROPERTY = re.compile(r"[ \t]*:(\S+):(?:[ \t](.*))?$")
_SRC = re.compile(
    r"#\+begin_src(?:[ \t]+(\S+))?"
    r"((?:[ \t]+(?:-(?:l[ \t]+\".+?\"|[ikr])|[-+]n(?:[ \t]*[0-9]+)?)(?=[ \t]|$))*)(.*)$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:[-+]|(?<=[ \t])\*|[0-9]+[.)])(?:[ \t]|$)")
_FOOTNOTE = re.compile(r"\[fn:[-\w]+\]")
_LATEX_BEGIN = re.compile(r"\\begin\{([A-Za-z0-9*]+)\}")
_LATEX_END = re.compile(r"\\end\{([A-Za-z0-9*]+)\}[ \t]*$")
_PLANNING = re.compile(r"[ \t]*(?:SCHEDULED|DEADLINE|CLOSED):")
_LINK_LINE = re.compile(r"[ \t]*\[\[(?:[^\]\[\\]|\\.)+\](?:\[[^\n]+?\])?\][ \t]*$")
_RULE = re.compile(r"-{5,}[ \t]*$")
_COMMENT = re.compile(r"#(?: |$)")
_SEPARATE = re.compile(
    r"$|\||:(?: |$)|:[-\w]+:[ \t]*$|#(?:[ +]|$)|-{5,}[ \t]*$|(?:[-+]|[0-9]+[.)])(?:[ \t]|$)"
    r"|\[fn:|\\begin\{"
)
_FIXED = re.compile(r":(?: |$)")
_CALL = re.compile(r"[ \t]*#\+call:[ \t]+([^()\[\]\n]+?)(\[[^\]\[\n]*\])?(?=\()", re.IGNORECASE)
# (Names are bounded, as a line of nothing else would take quadratic time.)
_INLINE = re.compile(r"(?<!\w)(?:src_([^\s\[{]{1,99}+)|call_([^\s()\[\]{}]{1,999}+))(?=[\[({])")
_VERBATIM_OPENS = re.compile(r"(?:^|(?<=[\s\-('\"{]))[=~](?=\S)")
_VERBATIM_CLOSES = re.compile(r"(?<=\S)[=~](?=$|[\s\-.,:!?;'\")}\[\\])")
_INLINE_RESULT = re.compile(r"[ \t]*\{\{\{results\(.*?\)\}\}\}")
_HASH = re.compile(r"(?:\(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\)[ \t]*)?([0-9a-f]+)$", re.IGNORECASE)
_STRUCTURE = re.compile(r"^([ \t]*)(?=,*(?:\*|#\+))", re.MULTILINE)
_ESCAPED = re.compile(r"^([ \t]*,*),(?=\*|#\+)", re.MULTILINE)
_REQUEST_LINE = re.compile(r"[ \t]*[A-Za-z-]+ +(?:https?://|:|/|\{\{)\S")

# Old spellings of the affiliated keywords; both columns are what may stand above an element.
_TODAY = {
    "data": "name",
    "label": "name",
    "resname": "name",
    "source": "name",
    "srcname": "name",
    "tblname": "name",
    "headers": "header",
    "result": "results",
}
NAME_KEYWORDS = frozenset({"name", *(key for key, today in _TODAY.items() if today == "name")})
_AFFILIATED = frozenset({"caption", "header", "name", "plot", "results", *_TODAY})
_VERBATIM_BLOCKS = frozenset({"src", "example", "export", "comment", "verse"})
_PLAIN_CONTAINERS = frozenset({"quote", "center"})
# What Org takes for an old result, and so removes, when it stands directly below a results keyword.
_REMOVABLE = frozenset(
    {"src", "example", "export", "special", "fixed", "drawer", "table", "list", "latex"}
)


def escape(text: str) -> str:
    """Put a comma before what Org would read as a heading or keyword at the start of a line.

    The rule of the manual's "Literal Examples": lines whose first characters are commas, if any,
    and then ``*`` or ``#+`` get one comma more.
    """
    return _STRUCTURE.sub(r"\1,", text)


def unescape(text: str) -> str:
    """Take away the commas that `escape` puts in."""
    return _ESCAPED.sub(r"\1", text)


def column(line: str) -> int:
    """Give the column of the first character that is no blank; a tab reaches to the next 8th."""
    blanks = line[: len(line) - len(line.lstrip(" \t"))]
    return len(blanks.expandtabs(8)) if "\t" in blanks else len(blanks)


def indentation(width: int) -> str:
    """Give blanks `width` columns wide as Emacs writes them: tabs as far as they reach."""
    return "\t" * (width // 8) + " " * (width % 8)


def _blanks(line: str, width: int) -> str:
    """Give the blanks of a line up to a column; a tab that reaches beyond it becomes blanks."""
    at = 0
    for index, blank in enumerate(line):
        after = at + 8 - at % 8 if blank == "\t" else at + 1
        if after > width:
            return line[:index] + " " * (width - at)
        at = after
    return ""


def indent(text: str, width: int) -> str:
    """Move the lines of `text` to the right; blank lines become empty. Nothing happens for 0."""
    if width == 0:
        return text
    return "\n".join(
        indentation(column(line) + width) + line.lstrip(" \t") if line.strip(" \t") else ""
        for line in text.split("\n")
    )


@attrs.frozen
class Edit:
    """A change: the characters from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


def apply(text: str, edits: Iterable[Edit]) -> str:
    """Return `text` with the `edits` made; insertions at one offset stand in the order given.

    Raises ValueError where two edits overlap.
    """
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        if edit.start < at:
            raise ValueError(f"two edits overlap at offset {edit.start}")
        parts += (text[at : edit.start], edit.text)
        at = edit.end
    parts.append(text[at:])
    return "".join(parts)


@attrs.frozen(eq=False)
class Heading:
    """A heading, or (level 0) what stands before the first one; `properties` by upper-case key.

    `comment` tells whether it, or one above it, is a COMMENT.
    """

    level: int
    line: int
    comment: bool
    parent: Heading | None
    properties: dict[str, str]

    def path(self) -> Iterator[Heading]:
        """Yield this heading and the ones above it, level 0 last."""
        here: Heading | None = self
        while here is not None:
            yield here
            here = here.parent


@attrs.frozen(eq=False)
class Region:
    """What encloses an element: it ends before the line `limit`, or sooner.

    `item` is the column of the bullet of the list item around the element, -1 without one;
    `footnote` tells that it belongs to a footnote. Two blank lines end both. `inside` are the
    containers around it: what would close each (a type of block, ``:end:``, ``#+end:``), its line.
    """

    limit: int
    item: int
    footnote: bool
    inside: tuple[tuple[str, int], ...] = ()


@attrs.frozen
class Call:
    """The parts of ``NAME[inside](arguments) end``; inline, the end stands in brackets, too."""

    name: str
    inside: str
    arguments: str
    end: str


@attrs.frozen(eq=False)
class Block:
    """What can be evaluated; `kind` is ``block``, ``call``, ``inline`` or ``inline call``.

    `start` and `end` are offsets of the element without affiliated keywords and without its last
    line end. `line` is the index of its first line, `first` and `last` the half-open range of the
    lines of a block's body. `arguments` are the header arguments written in the element itself,
    `headers` those of its ``#+HEADER:`` lines in their order. `result` is the index of a results
    keyword directly above: the block is itself a result then, or stands where one belongs.
    """

    kind: str
    start: int
    end: int
    line: int
    heading: Heading
    region: Region
    language: str = ""
    switches: str = ""
    arguments: str = ""
    headers: tuple[str, ...] = ()
    name: str | None = None
    indent: int = 0
    first: int = 0
    last: int = 0
    inline: str = ""
    call: Call | None = None
    result: int | None = None

    @property
    def commented(self) -> bool:
        """Whether a heading above is a COMMENT."""
        return self.heading.comment


@attrs.frozen
class Body:
    """The text of a block as it is evaluated, without Org's escapes and the common indentation.

    `places` has, for each line, its number in the document (from 1) and how many characters were
    taken away at its left.
    """

    text: str
    places: tuple[tuple[int, int], ...]


@attrs.frozen
class Result:
    """A results keyword at line `keyword`, and the old result from `start` to `end` below it.

    `column` is the keyword's, `limit` the line where what encloses it ends, `hash` what stands in
    its brackets, `kind` the type of the element below ("" for none).
    """

    keyword: int
    start: int
    end: int
    column: int
    limit: int
    hash: str | None
    kind: str


class Document:
    """An Org text, read once.

    `blocks` are all things that can be evaluated, in the order of the text, in any language.
    `keywords` are the document's ``#+KEY: value`` lines as (lower-case key, value), in order.
    """

    def __init__(self, text: str) -> None:
        r"""Read `text`, whose line ends are ``\n``."""
        self.text = text
        self.lines = text.split("\n")
        self.blocks: list[Block] = []
        self.keywords: list[tuple[str, str]] = []
        self._starts = list(itertools.accumulate((len(x) + 1 for x in self.lines), initial=0))
        # lower-case name -> line of the named element; of the results keyword, and its limit
        self._named: dict[str, int] = {}
        self._results: dict[str, tuple[int, int]] = {}
        self._by_name: dict[str, Block] = {}
        self._reader = _Reader(self)
        self._reader.read()
        self._requests = [
            block.start
            for block in self.blocks
            if block.kind == "block" and block.language in REQUEST_LANGUAGES
        ]
        for block in self.blocks:
            if block.name and block.kind == "block":
                self._by_name.setdefault(block.name.lower(), block)

    def offset(self, line: int) -> int:
        """Give the offset where the line with this index starts; past the last, the text's end."""
        return min(self._starts[min(line, len(self.lines))], len(self.text))

    def line_of(self, offset: int) -> int:
        """Give the index of the line that holds this offset."""
        return bisect_right(self._starts, offset) - 1

    def block_named(self, name: str) -> Block | None:
        """Find the first source block with this ``#+NAME:``, whatever the case."""
        return self._by_name.get(name.lower())

    def block_at(self, line: int) -> Block | None:
        """Find the block whose lines, affiliated keywords included, hold the line (from 1)."""
        for block in self.blocks:
            first = block.line
            while first and _affiliated(self.lines[first - 1]) and block.kind != "inline":
                first -= 1
            if first < line <= self.line_of(block.end) + 1:
                return block
        return None

    def request_languages(self) -> frozenset[str]:
        """Give the languages whose blocks are requests here.

        A document that has restclient blocks is taken for one of ob-restclient's: its blocks in
        http and rest are some other tool's.
        """
        used = {block.language for block in self.blocks if block.call is None}
        return frozenset({"restclient"}) if "restclient" in used else REQUEST_LANGUAGES

    def unclosed_requests(self) -> list[int]:
        """Give the lines (from 1) that open a block of requests that nothing closes."""
        found = []
        for line in self._reader.unclosed.get("src", []):
            match = _SRC.match(self.lines[line].lstrip(" \t"))
            if match is not None and match[1] in REQUEST_LANGUAGES:
                found.append(line + 1)
        return found

    def element_named(self, name: str) -> tuple[str, list[str]] | None:
        """Find what stands under ``#+NAME: name``, or else under ``#+RESULTS: name``.

        Gives the element's type (``table``, ``list``, ``fixed``, ``example``, ``text`` ...) and its
        lines; None when there is no such name. A source block stands for its result.
        """
        block = self.block_named(name)
        if block is not None:
            result = self.result(block)
            return None if result is None else self.element_at(result.keyword + 1)
        line = self._named.get(name.lower())
        if line is None:
            found = self._results.get(name.lower())
            if found is None:
                return None
            line = found[0] + 1
        return self.element_at(line)

    def element_at(self, line: int) -> tuple[str, list[str]]:
        """Give the type and the lines of the element that starts at the line with this index."""
        return self._reader.element(line, self._reader.section_end(line))

    def body(self, block: Block) -> Body:
        """Give a source block's body as it is evaluated.

        One comma of Org's escapes is taken away, and the indentation that all lines share (unless
        the block has the switch ``-i``).
        """
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
                text = _blanks(line, column(line) - width) + rest if rest else ""
            text = unescape(text)
            lines.append(text)
            places.append((number, len(line) - len(text)))
        return Body("\n".join(lines), tuple(places) or ((block.first + 1, 0),))

    def _inline_column(self, block: Block) -> int:
        at = self.text.find(block.inline, block.start)
        return at - self._starts[block.line]

    # results

    def result(self, block: Block) -> Result | None:
        """Find the result that belongs to a block or call, or None where there is none yet.

        A named one's is the first ``#+RESULTS: name`` of the document; a nameless one's is the
        next element, if that carries a nameless results keyword.
        """
        if block.name:
            found = self._results.get(block.name.lower())
            return None if found is None else self._result_at(*found)
        line = self._following(block)
        if line is None:
            return None
        keywords = [line]
        while keywords[-1] < block.region.limit and _affiliated(self.lines[keywords[-1]]):
            keywords.append(keywords[-1] + 1)
        last = keywords[-1]
        if last >= block.region.limit or not self.lines[last].strip(" \t"):
            keywords = [line]  # keywords with nothing below them belong to nothing
        for at in keywords:
            keyword = _results_keyword(self.lines[at])
            if keyword is not None and not keyword[1] and keyword[0] is not False:
                return self._result_at(at, block.region.limit)
        return None

    def _following(self, block: Block) -> int | None:
        """Find the line of the element after `block` in the same region."""
        region = block.region
        after = self.line_of(block.end) + 1
        line = after
        while line < region.limit and not self.lines[line].strip(" \t"):
            line += 1
        nested = region.item >= 0 or region.footnote
        if (
            line >= region.limit
            or (nested and line - after >= 2)
            or (region.item >= 0 and column(self.lines[line]) <= region.item)
        ):
            return None
        return line

    def _result_at(self, keyword: int, limit: int) -> Result:
        line = self.lines[keyword]
        hash_, _ = _results_keyword(line) or (None, "")
        kind, end = "", keyword + 1
        if end < limit and self.lines[end].strip(" \t"):
            kind, end = self._reader.removable(keyword + 1, limit)
        return Result(
            keyword=keyword,
            start=self.offset(keyword + 1),
            end=self.offset(end),
            column=column(line),
            limit=limit,
            hash=hash_ if isinstance(hash_, str) else None,
            kind=kind,
        )

    def place(
        self,
        block: Block,
        text: str,
        *,
        mode: str = "replace",
        digest: str | None = None,
        prose: bool = False,
    ) -> Edit:
        """Give the edit that puts `text` in as the result of a block or call.

        `text` is empty or whole lines, not indented. `mode` is ``replace``, ``append`` or
        ``prepend``. `digest` is the hash of a cached block. `prose` tells that results of this kind
        have no delimiters in Org, so that the lines directly below the keyword are the old one.
        A request block under the keyword stays: it is no answer but somebody's.
        """
        result = self.result(block)
        if result is None:
            return self._new(block, text, digest)
        start, end = result.start, result.end
        if start <= block.start < end or self._holds_request(result):
            end = start
        head = "" if self.lines[result.keyword + 1 :] else "\n"
        if digest is not None and result.hash != digest:
            return self._renew(block, result, text, digest, keeps=end < result.end)
        new = indent(text, result.column)
        if mode == "append":
            return Edit(result.end, result.end, head + new)
        if mode == "prepend":
            return Edit(start, start, head + new)
        if new and self.text.startswith(new, start) and start + len(new) >= end:
            end = start + len(new)
        elif prose:
            end = max(end, self._prose_end(result, new))
        elif result.end == start:
            end = self._wrapped_end(result, new)
        gap = self._gap(text, result.column, self.line_of(end))
        if not new and start < end and self.text[end : end + 1].strip():
            gap = "\n"  # what follows is not to stand where a result does
        return Edit(start, end, head + new + gap)

    def _wrapped_end(self, result: Result, new: str) -> int:
        """Find the end of an old result in a wrapper that Org does not remove, but `new` has."""
        line = result.keyword + 1
        opening = new.split("\n", 1)[0].split()[:1]
        wrapped = bool(opening) and opening[0].lower().startswith("#+begin_")
        if wrapped and line < result.limit and self.lines[line].split()[:1] == opening:
            kind, end = self._reader.extent(line, result.limit)
            return self.offset(end) if kind != "text" else result.start
        return result.start

    def _gap(self, text: str, width: int, line: int) -> str:
        """Give the blank lines that keep a list, put in before a line, apart from one below it.

        Two end a list; with fewer, what follows would be a part of the result.
        """
        if not _ITEM.match(text):
            return ""
        below = line
        while below < len(self.lines) and not self.lines[below].strip(" \t"):
            below += 1
        if below == len(self.lines) or below - line >= 2:
            return ""
        found = self.lines[below]
        here = column(found)
        item = _ITEM.match(found, len(found) - len(found.lstrip(" \t")))
        joins = here > width or (here == width and item)
        return "\n" * (2 - (below - line)) if joins else ""

    def _new(self, block: Block, text: str, digest: str | None) -> Edit:
        line = self.line_of(block.end) + 1
        at = self.offset(line)
        keyword = "#+RESULTS" + (f"[{digest}]" if digest else "") + ":"
        if block.name is not None:
            keyword += " " + block.name
        new = (
            ("" if line < len(self.lines) else "\n")
            + "\n"
            + indent(f"{keyword}\n{text}", block.indent)
        )
        gap = self._gap(text, block.indent, line)
        if not gap and line < len(self.lines) and self.lines[line].strip(" \t"):
            gap = "\n"
        return Edit(at, at, new + gap)

    def _renew(self, block: Block, result: Result, text: str, digest: str, *, keeps: bool) -> Edit:
        """Write keyword and result anew, as Org does when a hash has changed.

        The element below the keyword goes, whatever its type, unless it is one to keep.
        """
        end = result.start
        keyword = f"#+RESULTS[{digest}]:" + (f" {block.name}" if block.name is not None else "")
        line = result.keyword + 1
        above = ""
        if line < result.limit and self.lines[line].strip(" \t"):
            while _affiliated(self.lines[line]) and line + 1 < result.limit:
                above += self.lines[line] + "\n"
                line += 1
            if not keeps:
                end = self.offset(self._reader.extent(line, result.limit)[1])
        new = above + indent(f"{keyword}\n{text}", result.column)
        following = self.line_of(end)
        if end < len(self.text) and self.lines[following].strip(" \t"):
            new += "\n"
        return Edit(self.offset(result.keyword), end, new)

    def _prose_lines(self, line: int, limit: int, *, mixed: bool = True) -> int:
        """Find where the lines end that are text: at a blank line or anything with a syntax.

        With `mixed`, lists, tables and the like may belong to it.
        """
        while line < limit:
            stripped = self.lines[line].lstrip(" \t")
            if not stripped or stripped.startswith("#+") or _DRAWER.match(stripped):
                break
            if not mixed and _SEPARATE.match(stripped):
                break
            line += 1
        return line

    def _prose_end(self, result: Result, new: str) -> int:
        """Find the end of an old result without delimiters.

        It has at least the lines below the keyword; further paragraphs belong to it as long as they
        stand in the new one as well. Blank lines go with it, as many as the new one ends in.
        """
        line = self.line_of(result.end) if result.kind else result.keyword + 1
        if not result.kind:
            kinds = {kind for text in new.split("\n") if (kind := _SEPARATE.match(text.lstrip()))}
            line = self._prose_lines(line, result.limit, mixed=bool({k[0] for k in kinds} - {""}))
            if line == result.keyword + 1:
                return result.end
        known = Counter(chunk.strip("\n") for chunk in new.split("\n\n") if chunk.strip())
        known.subtract(["\n".join(self.lines[result.keyword + 1 : line])])
        while True:
            after = line
            while after < result.limit and not self.lines[after].strip(" \t"):
                after += 1
            end = self._prose_lines(after, result.limit)
            paragraph = "\n".join(self.lines[after:end])
            if after == line or known[paragraph] < 1:
                break
            known[paragraph] -= 1
            line = end
        blanks = len(new) - len(new.rstrip("\n")) - 1
        while blanks > 0 and line < result.limit and not self.lines[line].strip(" \t"):
            line += 1
            blanks -= 1
        return self.offset(line)

    def _holds_request(self, result: Result) -> bool:
        """Tell whether below a results keyword stands a request block that somebody wrote.

        It may be in a list that runs on from the result's.
        """
        if result.kind == "list":
            at = bisect_left(self._requests, result.start)
            return at < len(self._requests) and self._requests[at] < result.end
        if result.kind != "src":
            return False
        line = result.keyword + 1
        while _affiliated(self.lines[line]):
            line += 1
        match = _SRC.match(self.lines[line].lstrip(" \t"))
        if match is None or match[1] not in REQUEST_LANGUAGES:
            return False
        body = self.lines[line + 1 : self.line_of(result.end)]
        return any(_REQUEST_LINE.match(line) for line in body)

    def place_inline(self, block: Block, text: str) -> Edit:
        """Give the edit that puts `text` after an inline block, in place of the result there."""
        old = _INLINE_RESULT.match(self.text, block.end)
        return Edit(block.end, old.end() if old else block.end, f" {{{{{{results({text})}}}}}}")

    def closes(self, edit: Edit, block: Block) -> int | None:
        """Find the line (from 1) of an opening that the result of `block`, put in, would close.

        It encloses the block, and would then end there; or nothing closes it, and what follows its
        line would then be inside a block or drawer.
        """
        kinds = set(_closings(edit.text.split("\n")))
        if block.end <= edit.start <= self.offset(block.region.limit):
            for kind, line in block.region.inside:
                if kind in kinds:
                    return line + 1
        if not self._reader.unclosed:
            return None
        line = self.line_of(edit.start)
        section = bisect_right(self._reader.headings, line - 1)
        start = self._reader.headings[section - 1] if section else 0
        for kind in kinds:
            opened = self._reader.unclosed.get(kind, [])
            at = bisect_left(opened, start)
            if at < len(opened) and opened[at] < line:
                return opened[at] + 1
        return None


def _affiliated(line: str) -> bool:
    match = _KEYWORD.match(line)
    if match is None:
        return False
    key = match[1].lower()
    return key in _AFFILIATED or key.startswith("attr_")


def _closings(lines: Iterable[str]) -> Iterator[str]:
    """Find what the lines close: a type of block, ``#+end:`` or ``:end:``."""
    for line in lines:
        text = line.lstrip(" \t")
        if text[:5].lower() == "#+end":
            if match := _END.match(text):
                yield match[1].lower()
            elif _DYNAMIC_END.match(text):
                yield "#+end:"
        elif text[:5].lower() == ":end:" and not text[5:].strip(" \t"):
            yield ":end:"


def _results_keyword(line: str) -> tuple[str | bool | None, str] | None:
    """Read a results keyword: its hash (False for brackets that hold none) and its name."""
    match = _KEYWORD.match(line)
    if match is None or match[1].lower() != "results":
        return None
    name = match[3].strip(" \t")
    if match[2] is None:
        return None, name
    hash_ = _HASH.match(match[2])
    return (hash_[1] if hash_ else False), name


class _Reader:
    """Goes over the lines of a document and fills it."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.lines = document.lines
        # by what they close (`src`, `:end:`, `#+end:`, `\end{x}`): the lines that close something
        self.closings: dict[str, list[int]] = {}
        self.headings: list[int] = []
        # likewise: the lines that open something and find nothing that closes it
        self.unclosed: dict[str, list[int]] = {}
        self.comment = re.compile("")

    def read(self) -> None:
        self._note_closings()
        self._walk()

    def _note_closings(self) -> None:
        note = self.closings
        todo = ["TODO", "DONE"]
        for number, line in enumerate(self.lines):
            text = line.lstrip(" \t")
            first = text[:1]
            if first == "*":
                if len(text) == len(line) and _HEADING.match(line):
                    self.headings.append(number)
            elif first == "#":
                if text[:5].lower() == "#+end":
                    if match := _END.match(text):
                        note.setdefault(match[1].lower(), []).append(number)
                    elif _DYNAMIC_END.match(text):
                        note.setdefault("#+end:", []).append(number)
                elif "TODO:" in text[:12].upper() and (match := _KEYWORD.match(text)):
                    todo += re.findall(r"[^\s|(]+(?=\(|\s|$)", match[3])
            elif first == ":":
                if text[:5].lower() == ":end:" and not text[5:].strip(" \t"):
                    note.setdefault(":end:", []).append(number)
            elif first == "\\" and (match := _LATEX_END.match(text)):
                note.setdefault("\\" + match[1], []).append(number)
        words = "|".join(re.escape(word) for word in todo)
        self.comment = re.compile(rf"(?:(?:{words})[ \t]+)?(?:\[#.\][ \t]*)?COMMENT(?:[ \t]|$)")

    def closing(self, kind: str, line: int, limit: int) -> int | None:
        """Find the first line after `line` and before `limit` that closes `kind`."""
        lines = self.closings.get(kind)
        if lines is None:
            return None
        at = bisect_right(lines, line)
        return lines[at] if at < len(lines) and lines[at] < limit else None

    def section_end(self, line: int) -> int:
        """Find the first heading after `line`, or the end."""
        at = bisect_right(self.headings, line)
        return self.headings[at] if at < len(self.headings) else len(self.lines)

    def _walk(self) -> None:
        document, lines, count = self.document, self.lines, len(self.lines)
        inline = "src_" in document.text or "call_" in document.text
        heading = Heading(0, 0, False, None, self._properties(0, top=True))
        limit = section = self.headings[0] if self.headings else count
        outer: list[tuple[int, list[int], bool, tuple[tuple[str, int], ...]]] = []
        inside: tuple[tuple[str, int], ...] = ()
        items: list[int] = []
        footnote = False
        blanks = 0
        above: list[int] = []
        at = 0
        while at < count:
            if at == limit and outer:  # the line that closes a container
                limit, items, footnote, inside = outer.pop()
                at += 1
                blanks, above = 0, []
                continue
            line = lines[at]
            text = line.lstrip(" \t")
            if not text:
                blanks += 1
                if blanks == 2:
                    items, footnote = [], False
                above = []
                at += 1
                continue
            blanks = 0
            first = text[0]
            if at == limit:  # a heading
                heading = self._heading(at, heading)
                limit = section = self.section_end(at)
                items, footnote, above = [], False, []
                if inline and ("src_" in line or "call_" in line):
                    self._inline(at, heading, Region(limit, -1, False))
                at += 1
                continue
            is_item = first in "-+*0123456789" and _ITEM.match(line, len(line) - len(text))
            if items or is_item:
                here = column(line)
                while items and items[-1] >= here:
                    items.pop()
                if is_item:
                    items.append(here)
            if first == "#" and text[1:2] == "+":
                kind = text[2:9].lower()
                if kind.startswith("begin_"):
                    name = text[8:].split(None, 1)[0].lower() if text[8:].strip() else ""
                    end = self.closing(name, at, limit)
                    if end is not None:
                        region = Region(limit, items[-1] if items else -1, footnote, inside)
                        if name == "src":
                            self._source(at, end, text, above, heading, region)
                        if above:
                            self._name(above, at)
                        above = []
                        if name in _VERBATIM_BLOCKS:
                            at = end + 1
                        else:
                            outer.append((limit, items, footnote, inside))
                            inside = (*inside[-20:], (name, at))
                            limit, items, footnote = end, [], False
                            at += 1
                        continue
                    self.unclosed.setdefault(name, []).append(at)
                elif kind == "begin: " or kind == "begin:":
                    end = self.closing("#+end:", at, limit)
                    if end is not None:
                        outer.append((limit, items, footnote, inside))
                        inside = (*inside[-20:], ("#+end:", at))
                        limit, items, footnote, above = end, [], False, []
                        at += 1
                        continue
                    self.unclosed.setdefault("#+end:", []).append(at)
                elif kind.startswith("call:"):
                    self._call(
                        at,
                        above,
                        heading,
                        Region(limit, items[-1] if items else -1, footnote, inside),
                    )
                    above = []  # the name is that of its result
                elif match := _KEYWORD.match(text):
                    key = match[1].lower()
                    if key in _AFFILIATED or key.startswith("attr_"):
                        if key == "results":
                            found = match[3].strip(" \t").lower()
                            if found:
                                document._results.setdefault(found, (at, limit))
                        if at + 1 < limit and lines[at + 1].strip(" \t"):
                            above.append(at)
                        else:
                            above = []
                        at += 1
                        continue
                    document.keywords.append((key, match[3].strip(" \t")))
            elif first == ":" and (match := _DRAWER.match(text)):
                end = self.closing(":end:", at, limit)
                if match[1].lower() == "end":
                    pass
                elif end is None:
                    self.unclosed.setdefault(":end:", []).append(at)
                else:
                    if above:
                        self._name(above, at)
                    outer.append((limit, items, footnote, inside))
                    inside = (*inside[-20:], (":end:", at))
                    limit, items, footnote, above = end, [], False, []
                    at += 1
                    continue
            elif first == "\\" and (match := _LATEX_BEGIN.match(text)):
                end = self.closing("\\" + match[1], at, limit)
                if end is not None:
                    if above:
                        self._name(above, at)
                    above = []
                    at = end + 1
                    continue
            elif first == "[" and _FOOTNOTE.match(line):
                items, footnote = [], True
            if above:
                self._name(above, at)
                above = []
            if inline and first not in "#:" and ("src_" in line or "call_" in line):
                self._inline(
                    at, heading, Region(limit, items[-1] if items else -1, footnote, inside)
                )
            at += 1
        _ = section

    def _heading(self, at: int, before: Heading) -> Heading:
        stars, _, title = self.lines[at].partition(" ")
        level = len(stars)
        parent = next(h for h in before.path() if h.level < level)
        comment = parent.comment or bool(self.comment.match(title.lstrip(" \t")))
        return Heading(level, at, comment, parent, self._properties(at + 1))

    def _properties(self, at: int, *, top: bool = False) -> dict[str, str]:
        """Read the property drawer that starts at a line; at the top, comments may stand before."""
        lines, count = self.lines, len(self.lines)
        if top:
            while at < count and (not lines[at].strip() or re.match(r"[ \t]*#(?: |$)", lines[at])):
                at += 1
        elif at < count and _PLANNING.match(lines[at]):
            at += 1
        found: dict[str, str] = {}
        if at >= count or lines[at].strip(" \t").upper() != ":PROPERTIES:":
            return found
        for number in range(at + 1, count):
            match = _PROPERTY.match(lines[number])
            if match is None:
                return {}
            if match[1].upper() == "END":
                return found
            key = match[1].upper()
            value = (match[2] or "").strip(" \t")
            if key.endswith("+") and key in found:
                value = f"{found[key]} {value}"
            found[key] = value
        return {}

    def _keywords(self, above: list[int]) -> tuple[str | None, tuple[str, ...], int | None]:
        """Read affiliated keywords: the name, the header lines, the line of a results keyword."""
        name: str | None = None
        headers: list[str] = []
        result: int | None = None
        for number in above:
            match = _KEYWORD.match(self.lines[number])
            if match is None:
                continue
            key = _TODAY.get(match[1].lower(), match[1].lower())
            if key == "name":
                name = match[3].strip(" \t")
            elif key == "header":
                headers.append(match[3])
            elif key == "results":
                result = number
        return name, tuple(headers), result

    def _name(self, above: list[int], at: int) -> None:
        name = self._keywords(above)[0]
        if name:
            self.document._named.setdefault(name.lower(), at)

    def _source(
        self, at: int, end: int, text: str, above: list[int], heading: Heading, region: Region
    ) -> None:
        language, switches, arguments = (_SRC.findall(text) or [("", "", "")])[0]
        name, headers, result = self._keywords(above) if above else (None, (), None)
        document = self.document
        document.blocks.append(
            Block(
                kind="block",
                start=document.offset(at),
                end=document.offset(end) + len(self.lines[end]),
                line=at,
                heading=heading,
                region=region,
                language=language,
                switches=switches.strip(" \t"),
                arguments=arguments.strip(),
                headers=headers,
                name=name,
                indent=column(self.lines[end]),
                first=at + 1,
                last=end,
                result=result,
            )
        )

    def _call(self, at: int, above: list[int], heading: Heading, region: Region) -> None:
        line = self.lines[at]
        match = _CALL.match(line)
        if match is None:
            return
        close = _closing_brackets(line).get(match.end())
        if close is None:
            return
        name, headers, _ = self._keywords(above) if above else (None, (), None)
        document = self.document
        document.blocks.append(
            Block(
                kind="call",
                start=document.offset(at),
                end=document.offset(at) + len(line),
                line=at,
                heading=heading,
                region=region,
                headers=headers,
                name=name,
                indent=column(line),
                call=Call(
                    match[1].strip(" \t"),
                    (match[2] or "")[1:-1],
                    line[match.end() + 1 : close - 1],
                    line[close:].strip(" \t"),
                ),
            )
        )

    def _inline(self, at: int, heading: Heading, region: Region) -> None:
        line = self.lines[at]
        document = self.document
        hidden = sorted([*_verbatim(line), *_inline_results(line)])
        hidden_ends = list(itertools.accumulate((end for _, end in hidden), max))
        closing = _closing_brackets(line)
        done = 0
        for match in _INLINE.finditer(line):
            start, here = match.start(), match.end()
            at_hidden = bisect_right(hidden, (start, len(line))) - 1
            if start < done or (at_hidden >= 0 and start < hidden_ends[at_hidden]):
                continue
            inside = ""
            if line[here] == "[" and here in closing:
                inside, here = line[here + 1 : closing[here] - 1], closing[here]
            opening = "{" if match[1] else "("
            if line[here : here + 1] != opening or here not in closing:
                continue
            body, here = line[here + 1 : closing[here] - 1], closing[here]
            final = ""
            if not match[1] and line[here : here + 1] == "[" and here in closing:
                final, here = line[here + 1 : closing[here] - 1], closing[here]
            document.blocks.append(
                Block(
                    kind="inline" if match[1] else "inline call",
                    start=document.offset(at) + start,
                    end=document.offset(at) + here,
                    line=at,
                    heading=heading,
                    region=region,
                    language=match[1] or "",
                    arguments=inside if match[1] else "",
                    inline=body if match[1] else "",
                    call=None if match[1] else Call(match[2], inside, body, final),
                )
            )
            done = here

    # single elements

    def removable(self, at: int, limit: int) -> tuple[str, int]:
        """Tell the type of the element at a line, and the line after it if Org would remove it."""
        if _LINK_LINE.match(self.lines[at]):
            return "link", at + 1
        kind, end = self.extent(at, limit)
        return (kind, end) if kind in _REMOVABLE else ("", at)

    def element(self, at: int, limit: int) -> tuple[str, list[str]]:
        """Give the type and the lines of the element at a line."""
        if at >= limit or not self.lines[at].strip(" \t"):
            return "", []
        kind, end = self.extent(at, limit)
        while at < end and _affiliated(self.lines[at]):
            at += 1
        return kind, self.lines[at:end]

    def extent(self, at: int, limit: int) -> tuple[str, int]:
        """Give the type of the element at a line, and the line after it."""
        lines = self.lines
        while at + 1 < limit and _affiliated(lines[at]) and lines[at + 1].strip(" \t"):
            at += 1
        text = lines[at].lstrip(" \t")
        end: int | None
        if text[:8].lower() == "#+begin_" and text[8:].strip():
            name = text[8:].split(None, 1)[0].lower()
            end = self.closing(name, at, limit)
            if end is not None:
                known = name in _VERBATIM_BLOCKS or name in _PLAIN_CONTAINERS
                return (name if known else "special"), end + 1
        elif text[:9].lower() in ("#+begin:", "#+begin: "):
            end = self.closing("#+end:", at, limit)
            if end is not None:
                return "dynamic", end + 1
        elif (match := _DRAWER.match(text)) and match[1].lower() != "end":
            end = self.closing(":end:", at, limit)
            if end is not None:
                return "drawer", end + 1
        elif _FIXED.match(text):
            return "fixed", self._while(at, limit, lambda line: bool(_FIXED.match(line)))
        elif text[0] == "|":
            end = self._while(at, limit, lambda line: line.startswith("|"))
            formula = re.compile(r"#\+tblfm:", re.IGNORECASE)
            return "table", self._while(end, limit, lambda line: bool(formula.match(line)))
        elif match := _LATEX_BEGIN.match(text):
            end = self.closing("\\" + match[1], at, limit)
            if end is not None:
                return "latex", end + 1
        elif _ITEM.match(lines[at], len(lines[at]) - len(text)):
            return "list", self._list_end(at, limit)
        elif _RULE.match(text) or text.startswith("#+"):
            return "other", at + 1
        elif _COMMENT.match(text):
            return "other", self._while(at, limit, lambda line: bool(_COMMENT.match(line)))
        return "text", self._while(at + 1, limit, lambda line: not _SEPARATE.match(line))

    def _while(self, at: int, limit: int, test: Callable[[str], bool]) -> int:
        while at < limit and test(self.lines[at].lstrip(" \t")):
            at += 1
        return at

    def _list_end(self, at: int, limit: int) -> int:
        lines = self.lines
        outermost = column(lines[at])
        end = at + 1
        blanks = 0
        here = at + 1
        while here < limit:
            line = lines[here]
            text = line.lstrip(" \t")
            if not text:
                blanks += 1
                if blanks == 2:
                    break
                here += 1
                continue
            blanks = 0
            item = _ITEM.match(line, len(line) - len(text))
            width = column(line)
            if width < outermost or (width == outermost and not item):
                break
            close: int | None = None
            if text[:8].lower() == "#+begin_" and text[8:].strip():
                close = self.closing(text[8:].split(None, 1)[0].lower(), here, limit)
            here = end = (here if close is None else close) + 1
        return end


def _verbatim(line: str) -> Iterator[tuple[int, int]]:
    """Find the spans of ``=verbatim=`` and ``~code~``."""
    closes: dict[str, list[int]] = {"=": [], "~": []}
    for match in _VERBATIM_CLOSES.finditer(line):
        closes[match[0]].append(match.start())
    done = 0
    for match in _VERBATIM_OPENS.finditer(line):
        found = closes[match[0]]
        at = bisect_right(found, match.start() + 1)
        if match.start() >= done and at < len(found):
            done = found[at] + 1
            yield match.start(), done


def _inline_results(line: str) -> Iterator[tuple[int, int]]:
    """Find the spans of ``{{{results(...)}}}``."""
    at = 0
    while (start := line.find("{{{results(", at)) >= 0:
        end = line.find(")}}}", start)
        if end < 0:
            return
        at = end + 4
        yield start, at


def _closing_brackets(line: str) -> dict[int, int]:
    """Give, for each bracket that is closed, where it opens and what follows its end.

    Brackets of one kind do not look at those of another.
    """
    opened: dict[str, list[int]] = {")": [], "]": [], "}": []}
    closing: dict[int, int] = {}
    for match in re.finditer(r"[][(){}]", line):
        here = match[0]
        if here in "([{":
            opened[{"(": ")", "[": "]", "{": "}"}[here]].append(match.start())
        elif opened[here]:
            closing[opened[here].pop()] = match.end()
    return closing
