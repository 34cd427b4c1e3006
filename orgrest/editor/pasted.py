"""Finds text from other tools that was pasted into a document, and converts it to requests.

`find` examines the selected lines. Without a selection, it tries the paragraph at the cursor,
and all lines between the nearest boundaries. A boundary is a `###` line in a request file, and a
heading or a `#+...` line in an Org document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from orgrest import classes
from orgrest.editor.regions import FENCE
from orgrest.http.parsing import request_file
from orgrest.model import OrgrestError, Span
from orgrest.org.text import Edit

if TYPE_CHECKING:
    from orgrest.convert.shared.model import Collection
    from orgrest.editor.regions import Kind

_LONGEST: Final = 2**20  # characters: the text is examined each time the cursor moves
_EDGE: Final = {
    "http": re.compile(r"^[ \t]*###.*\n?", re.MULTILINE),
    "org": re.compile(r"^(?:\*+ |[ \t]*#\+).*\n?", re.MULTILINE),
}
"""For each kind of document, the pattern of the lines that are boundaries of pasted text."""
_EMPTY: Final = re.compile(r"^[ \t]*\n", re.MULTILINE)
# A name for the document could already occur in it.
_NAMES: Final = re.compile(r"^(?:\*+|#\+NAME:) .*\n", re.MULTILINE)


@classes.frozen
class Pasted:
    """The conversion of pasted text: the title that the user sees, and the edit to the document."""

    title: str
    edit: Edit


@classes.frozen
class _Found:
    """The requests found in some lines. `what` names their format for users."""

    span: Span
    what: str
    collection: Collection

    @property
    def badness(self) -> tuple[int, int]:
        """A sort key: the fewest notes about untranslated parts, then the longest span."""
        notes = sum(1 for _ in self.collection.folder.all_notes())
        return notes, self.span.start - self.span.end


def find(text: str, kind: Kind, selection: Span) -> Pasted | None:
    """Return the conversion of the pasted text in `selection`, or None if there is no such text.

    If only whitespace is selected, or nothing, the text around the start of `selection` is
    converted.
    """
    requests = [
        request for span in _spans(text, kind, selection) if (request := _read(text, kind, span))
    ]
    if not requests or (
        _is_in_block(text, selection.start) if kind == "org" else request_file.is_restclient(text)
    ):
        return None
    pasted_text = min(requests, key=lambda request: request.badness)
    new = _written(text, kind, pasted_text)
    if new is None:
        return None
    several = sum(1 for _ in pasted_text.collection.folder.requests()) > 1
    title = f"Convert the {pasted_text.what} to {'requests' if several else 'a request'}"
    return Pasted(title, Edit(pasted_text.span.start, pasted_text.span.end, new))


def _spans(text: str, kind: Kind, selection: Span) -> Iterator[Span]:
    if text[selection.start : selection.end].strip():
        yield _lines(text, selection.start, selection.end)
        return
    around = _between(_EDGE[kind], text, selection.start, Span(0, len(text)))
    yield around
    yield _between(_EMPTY, text, selection.start, around)


def _between(edge: re.Pattern[str], text: str, offset: int, within: Span) -> Span:
    """Return the span of the lines around an offset, up to the nearest `edge` on each side."""
    start, end = within.start, within.end
    for match in edge.finditer(text, within.start, within.end):
        if match.end() <= offset:
            start = match.end()
        elif match.start() >= offset or offset < match.end():
            end = min(end, match.start()) if match.start() >= offset else match.start()
            break
    return Span(start, max(start, end))


def _lines(text: str, start: int, end: int) -> Span:
    newline = text.find("\n", max(start, end - 1))
    return Span(text.rfind("\n", 0, start) + 1, len(text) if newline < 0 else newline + 1)


def _read(text: str, kind: Kind, span: Span) -> _Found | None:
    given = text[span.start : span.end]
    inner = given.strip()
    if not inner or len(inner) > _LONGEST:
        return None
    what = _format_name(inner, kind)
    if what is None:
        return None
    from orgrest.convert.formats import read
    from orgrest.convert.shared.source import Source

    try:
        collection = read(Source("pasted", inner))
    except OrgrestError:
        return None
    if not any(request.method for request in collection.folder.requests()):
        return None
    start = span.start + len(given) - len(given.lstrip())
    return _Found(_lines(text, start, start + len(inner)), what, collection)


def _format_name(text: str, kind: Kind) -> str | None:
    from orgrest.convert import curl, messages

    if curl.BEGINS.match(text):
        return "curl command"
    if text.startswith("{") and '"url"' in text and '"headers"' in text:
        return "HAR entry"
    if kind == "org" and messages.BEGINS.match(text):  # in a request file it is a request
        return "HTTP message"
    return None


def _is_in_block(text: str, offset: int) -> bool:
    inside = ""
    for match in FENCE.finditer(text, 0, offset):
        if match[1].lower() == "begin":
            inside = inside or match[2].lower()
        elif match[2].lower() == inside:
            inside = ""
    return bool(inside)


def _written(text: str, kind: Kind, request: _Found) -> str | None:
    from orgrest.convert.shared.documents import document_of

    written = document_of(request.collection, org=kind == "org", bodies=None)
    if written.notes:  # a body that needs a separate file
        return None
    if kind == "org":
        return _NAMES.sub("", written.text).strip("\n") + "\n"
    new = written.text
    above = text[: request.span.start].rstrip().rpartition("\n")[2].lstrip()
    if above.startswith("###"):
        new = re.sub(r"\A###.*\n", "", new)
    below = text[request.span.end :].lstrip()
    return new + ("\n###\n" if below and not below.startswith("###") else "")
