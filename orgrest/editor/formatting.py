"""Formats documents by normalizing whitespace that is neither sent nor significant.

There is one space between the parts of a request line, after a header's colon, and on each side of
the `=` of a variable. Trailing whitespace is removed. One empty line separates the parts of a
request file. Bodies, scripts, here-documents and unknown lines stay as written. In an Org document,
only request blocks are formatted.

The formatted text is parsed again. A region whose requests would change is not formatted.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, Any, TypeAlias

from orgrest import classes
from orgrest.editor.analysis import Analysis
from orgrest.editor.used_files import RequestFiles
from orgrest.http import syntax
from orgrest.http.parsing.directives import rule_of
from orgrest.http.parsing.request_file.grammar import DIRECTIVE
from orgrest.model import Span, end_of_line, line_starts
from orgrest.org.text import Edit, apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.editor.regions import Kind

_BLANKS = " \t"
_VERSION = re.compile(r"([ \t]+)HTTP/\d(?:\.\d)?[ \t]*$", re.IGNORECASE)
_SEPARATOR = re.compile(r"(#{3,})([ \t]*)\S")
_DIRECTIVE_GAPS = re.compile(r"(?:#+|//+)([ \t]*)@[A-Za-z][\w-]*([ \t]*)")
_ASSERTION = re.compile(r"\?\?([ \t]*)\S")
_INSERTED = re.compile(r"<<[^\n<>]+>>")

_Meaning: TypeAlias = tuple[Any, ...]


def formatted(text: str, kind: Kind) -> str:
    """Return the formatted text of a document, without reading any other file."""
    return apply(text, edits(_analysis(text, kind)))


def _analysis(text: str, kind: Kind) -> Analysis:
    files = RequestFiles(lambda _: "")  # other files are not read
    return Analysis(text, kind, files=files, divided=False)


def edits(analysis: Analysis, within: Span | None = None) -> list[Edit]:
    """Return the edits that format a document, in document order.

    If `within` is given, only the lines that it touches are formatted.
    """
    if len(analysis.parts) > 1 and analysis.document is None:
        analysis = _analysis(analysis.text, analysis.kind)
    if within is not None:
        within = _lines(analysis.text, within)
    edits_of_parts: list[list[Edit]] = []
    for part in analysis.parts:
        found: Iterable[Edit] = ()
        if _may_be_formatted(analysis, part):
            found = _in_file(part, _Region(part, in_org=analysis.document is not None).edits())
        if within is not None:
            found = (edit for edit in found if within.touches(Span(edit.start, edit.end)))
        edits_of_parts.append(list(found))
    expected = [_meaning(part) for part in analysis.parts]
    while any(edits_of_parts):
        all_edits = [edit for of_part in edits_of_parts for edit in of_part]
        after = _analysis(apply(analysis.text, all_edits), analysis.kind)
        meanings = [_meaning(part) for part in after.parts]
        if meanings == expected:
            return all_edits
        pairs = zip(edits_of_parts, meanings, expected, strict=False)
        harmless = [of_part if now == before else [] for of_part, now, before in pairs]
        # In both cases, it is unknown which of the edits are wrong.
        if len(meanings) != len(expected) or harmless == edits_of_parts:
            break
        edits_of_parts = harmless
    return []


def _lines(text: str, span: Span) -> Span:
    """Return `span` extended to whole lines.

    A line is not included if `span` ends exactly at its start.
    """
    end = end_of_line(text, max(span.start, span.end - 1))
    return Span(text.rfind("\n", 0, span.start) + 1, end)


def _may_be_formatted(analysis: Analysis, part: ParsedRegion) -> bool:
    requests, block = part.parsed.requests, part.region.block
    problems = (*part.parsed.problems, *(problem for each in requests for problem in each.problems))
    if any(problem.code.startswith("unclosed") for problem in problems):
        return False
    if block is None:
        return True
    arguments = part.given.arguments.values
    return not (
        not requests
        or _INSERTED.search(part.region.text)
        or (block.name or "").lower() in analysis.noweb_names
        or str(arguments.get("noweb-ref", "")).lower() in analysis.noweb_names
        or arguments.get("prologue")
        or arguments.get("epilogue")
        or arguments.get("cache") == "yes"  # its result is cached by a hash of its text
    )


def _meaning(part: ParsedRegion) -> _Meaning:
    """Return everything in a region that affects a run."""
    items = [item for item in map(_of_item, part.parsed.items) if item is not None]
    problems = [problem.code for problem in part.parsed.problems]
    return part.restclient, items, part.parsed.scripts, problems


def _of_item(item: syntax.Item) -> _Meaning | None:
    if isinstance(item, syntax.Comment):
        return (item.name,) if item.name else None
    if isinstance(item, syntax.ParsedRequest):
        captures = [(capture.name, capture.expression) for capture in item.captures]
        problems = [problem.code for problem in item.problems]
        notices = [notice.code for notice in item.notices]
        return classes.evolve(item, captures=()), captures, problems, notices
    return (item,)


def _in_file(part: ParsedRegion, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the edits of a region's text as edits of the file."""
    to_file = part.region.to_file
    for edit in edits:
        end = to_file(edit.end - 1) + 1 if edit.end > edit.start else to_file(edit.start)
        yield Edit(to_file(edit.start), end, edit.text)


class _Region:
    """The edits that format one region, found line by line.

    The whitespace of `_understood` lines may change. `_kept` lines, such as bodies, must not
    change. All other nonblank lines are unknown. They stay as written, like the blank lines next to
    them.
    """

    def __init__(self, part: ParsedRegion, *, in_org: bool) -> None:
        self._text = part.region.text
        self._part = part
        self._in_org = in_org
        self._lines = self._text.split("\n")
        self._starts = line_starts(self._lines)
        self._understood: set[int] = set()
        self._kept: set[int] = set()
        self._of_requests: set[int] = set()
        self._separators: set[int] = set()
        self._found: list[Edit] = []

    def edits(self) -> list[Edit]:
        items = self._part.parsed.items
        unknown: set[int] = set()
        for item in items:
            lines = self._lines_of(item.span)
            if isinstance(item, syntax.ParsedRequest) and item.problems:
                unknown.update(lines)
            elif isinstance(item, syntax.ParsedRequest):
                self._understood.update(lines)
                self._of_requests.update(lines)
                for span in (item.body, *item.scripts):
                    self._kept.update(self._lines_of(span.span) if span is not None else ())
            elif isinstance(item, syntax.Text) or len(lines) > 1:
                self._kept.update(lines)
            else:
                self._understood.update(lines)
        for script in self._part.parsed.scripts:
            self._kept.update(self._lines_of(script.span))
        self._understood -= self._kept | unknown
        self._kept -= unknown
        for item in items:
            self._item(item)
        for at, line in enumerate(self._lines):
            if at in self._understood and line.strip(_BLANKS):
                self._strip(at, line)
        self._blank_lines()
        return sorted(self._found, key=lambda edit: (edit.start, edit.end))

    # ------------------------------------------------------------------------------- in a line

    def _item(self, item: syntax.Item) -> None:
        if isinstance(item, syntax.ParsedRequest):
            if not item.problems:
                self._request(item)
            return
        (first, *more) = self._lines_of(item.span)
        if more or first not in self._understood:
            return
        if isinstance(item, syntax.Comment):
            self._comment(item, first)
        elif isinstance(item, syntax.Definition):
            self._definition(item)
            if item.mark == "@":
                self._outdent(first)

    def _comment(self, item: syntax.Comment, line: int) -> None:
        text = self._lines[line].strip(_BLANKS)
        start = self._starts[line] + self._lines[line].index(text)
        if not self._part.restclient:
            if line not in self._of_requests:  # between the lines of a URL, it may be aligned
                self._outdent(line)
            match = DIRECTIVE.fullmatch(text)
            gaps = _DIRECTIVE_GAPS.match(text)
            if match and gaps and rule_of(match["name"]) is not None:
                self._replace(start + gaps.start(1), start + gaps.end(1), " ")
                if gaps[2] and match["value"] and gaps.end(2) == match.start("value"):
                    self._replace(start + gaps.start(2), start + gaps.end(2), " ")
                return
        if item.name is not None and (match := _SEPARATOR.match(text)):
            self._replace(start + match.start(2), start + match.end(2), " ")
        indented = self._part.restclient and text != self._lines[line].rstrip(_BLANKS)
        if text.startswith("###") and not indented:  # indented, it would belong to a body
            self._separators.add(line)

    def _definition(self, item: syntax.Definition) -> None:
        start, end = item.name_span.end, item.value.offset(0)
        operator = self._text[start:end].strip(_BLANKS)
        if operator in ("=", ":="):
            self._replace(start, end, f" {operator} " if item.value.text else f" {operator}")

    def _request(self, item: syntax.ParsedRequest) -> None:
        method = item.method_span
        if method.end > method.start:
            self._replace(method.start, method.end, item.method)
            self._replace(method.end, item.target.offset(0), " ")
        self._outdent(self._line(method.start))
        if item.version is not None:
            last = item.target.offset(max(len(item.target.text) - 1, 0))
            for line in {self._line(method.start), self._line(last)}:
                if match := _VERSION.search(self._lines[line]):
                    at = self._starts[line]
                    self._replace(at + match.start(1), at + match.end(1), " ")
        for header in item.header_lines:
            self._header(header)
        for assertion in () if item.restclient else item.assertions:
            line = self._line(assertion.span.start)
            stripped = self._lines[line].lstrip(_BLANKS)
            match = _ASSERTION.match(stripped) if line in self._understood else None
            if match:
                at = self._starts[line] + len(self._lines[line]) - len(stripped)
                self._replace(at + match.start(1), at + match.end(1), " ")

    def _header(self, item: syntax.HeaderLine) -> None:
        value = item.value.text
        start = item.name.offset(len(item.name.text) - 1) + 1
        if not value.startswith((" ", "\t")):  # in restclient's language these are sent
            self._replace(start, item.value.offset(0), ": " if value else ":")
        self._outdent(self._line(start))

    def _outdent(self, line: int) -> None:
        if self._in_org or self._part.restclient or line not in self._understood:
            return
        text = self._lines[line]
        start = self._starts[line]
        self._replace(start, start + len(text) - len(text.lstrip(_BLANKS)), "")

    def _strip(self, line: int, text: str) -> None:
        end = self._starts[line] + len(text)
        self._replace(end - len(text) + len(text.rstrip(_BLANKS)), end, "")

    # ---------------------------------------------------------------------------- blank lines

    def _blank_lines(self) -> None:
        """Replace consecutive empty lines with one, and insert one above each separator."""
        known = self._understood | self._kept
        before_separators = set() if self._in_org else known - self._separators
        count = len(self._lines)
        last = -1  # the last line above that is not blank
        for at in range(count + 1):
            if at < count and (self._lines[at].strip(_BLANKS) or at in self._kept):
                if last + 1 < at:
                    self._run(last + 1, at, known)
                elif at in self._separators and last in before_separators:
                    end = self._starts[at] - 1
                    self._replace(end, end, "\n")
                last = at
        if not self._in_org and last >= 0 and last in known:
            start = self._starts[last] + len(self._lines[last])
            self._replace(start, len(self._text), "\n")

    def _run(self, first: int, end: int, known: set[int]) -> None:
        """Replace blank lines with one empty line if the lines around them are known.

        At the beginning of a request file, remove the blank lines.
        """
        if first == 0:
            if end in known and not self._in_org:
                self._replace(0, self._starts[end], "")
        elif first - 1 in known and end in known:
            self._strip(first, self._lines[first])
            start = self._starts[first] + len(self._lines[first])
            self._replace(start, self._starts[end] - 1, "")

    # --------------------------------------------------------------------------------- helpers

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _lines_of(self, span: Span) -> range:
        return range(self._line(span.start), self._line(max(span.start, span.end)) + 1)

    def _replace(self, start: int, end: int, text: str) -> None:
        if self._text[start:end] != text:
            self._found.append(Edit(start, end, text))
