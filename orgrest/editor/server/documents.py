"""The client's open documents, and the mapping between offsets and LSP positions."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import to_fs_path

from orgrest.editor.assertions import LastOutcomes
from orgrest.editor.positions import Change, Place, Text
from orgrest.files import REQUEST_SUFFIXES
from orgrest.http.transport.cookies import Cookies
from orgrest.http.values.global_variables import GlobalVariables
from orgrest.model import Span

if TYPE_CHECKING:
    from collections.abc import Iterable

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.diagnostics.model import Diagnostic
    from orgrest.editor.diagnostics.report import Report
    from orgrest.editor.names import Names
    from orgrest.editor.regions import Kind
    from orgrest.editor.server.fragments import Tokens
    from orgrest.org.text import Edit

_KINDS: dict[str, Kind] = {"org": "org", "http": "http", "rest": "http", "restclient": "http"}
SUFFIXES: dict[str, Kind] = {".org": "org", **dict.fromkeys(REQUEST_SUFFIXES, "http")}
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "hint": types.DiagnosticSeverity.Hint,
}

PATIENCE = 2.0
"""The time, in seconds, within which a client is expected to report that its text has changed."""

_numbers = itertools.count(1)


class OpenDocument:
    """A document that the client has open, with its current text."""

    def __init__(self, item: types.TextDocumentItem, kind: Kind, text: Text) -> None:
        self.uri = item.uri
        self.version = item.version
        self.kind = kind
        self.text = text
        path = to_fs_path(item.uri)
        local = urlsplit(item.uri).scheme == "file" and path is not None
        self.path = Path(path) if local and path else None
        self.real_path = self.path.resolve() if self.path else None
        self.cookies = Cookies()
        self.captured: dict[str, str] = {}
        self.globals = GlobalVariables()
        self.secrets: frozenset[str] = frozenset()
        """The secrets of all runs so far. Captured values may contain these secrets."""
        self.analysis: Analysis | None = None
        self.names: Names | None = None
        self.report: Report | None = None
        self.last = LastOutcomes()
        self.followed: list[list[Change]] = []
        """For each run in progress, the changes to the text since the run began."""
        self.shown: set[int] = set()
        """The numbers of the runs in progress, each of which shows responses in its own file."""
        self.number = next(_numbers)
        """The number by which a code lens identifies its document."""
        self.numbers = itertools.count(1)
        self.tokens: Tokens | None = None
        """The semantic tokens that were last sent to the client."""
        self.timer: asyncio.TimerHandle | None = None
        self.reading = asyncio.Lock()
        self.judging = asyncio.Lock()
        self.inserting = asyncio.Lock()
        """Held while a result is inserted."""
        self._changed = asyncio.Event()
        self._outdated: Text | None = None
        self._deadline = 0.0

    @property
    def name(self) -> str:
        """The name of the document in messages and links."""
        return str(self.path) if self.path else unquote(urlsplit(self.uri).path) or "untitled"

    def change(self, changes: Iterable[Any], version: int) -> None:
        """Apply the changes that the client sent."""
        for change in changes:
            where = getattr(change, "range", None)
            if where is None:
                self.text, done = self.text.replace(change.text)
            else:
                self.text, done = self.text.change(
                    to_place(where.start), to_place(where.end), change.text
                )
            for followed in self.followed:
                followed.append(done)
        self.version = version
        self._changed.set()

    def outdate(self, text: Text) -> None:
        """Note that the client's text is no longer `text`, even if it has not reported that yet."""
        if self._outdated is not text:
            self._outdated, self._deadline = text, time.monotonic() + PATIENCE

    async def catch_up(self) -> None:
        """Wait, for a limited time, until the client has reported a text that is not outdated."""
        with contextlib.suppress(TimeoutError):
            while self.text is self._outdated:
                self._changed.clear()
                left = self._deadline - time.monotonic()
                await asyncio.wait_for(self._changed.wait(), left)


def to_place(position: types.Position) -> Place:
    """Return an LSP position as a `Place`."""
    return Place(position.line, position.character)


def to_offset(text: Text, position: types.Position) -> int:
    """Return an LSP position as an offset."""
    return text.offset(to_place(position))


def to_span(text: Text, where: types.Range) -> Span:
    """Return an LSP range as a span."""
    start, end = to_offset(text, where.start), to_offset(text, where.end)
    return Span(start, max(start, end))


def to_position(text: Text, offset: int) -> types.Position:
    """Return an offset as an LSP position."""
    place = text.place(offset)
    return types.Position(place.line, place.character)


def to_range(text: Text, span: Span) -> types.Range:
    """Return a span as an LSP range."""
    return types.Range(to_position(text, span.start), to_position(text, span.end))


def to_json_range(text: Text, span: Span) -> dict[str, dict[str, int]]:
    """Return a span as the JSON of an LSP range."""
    first, last = (
        {"line": place.line, "character": place.character}
        for place in (text.place(span.start), text.place(span.end))
    )
    return {"start": first, "end": last}


def kind_of(item: types.TextDocumentItem) -> Kind | None:
    """Return the kind of a document that the client opened, or None if it is not supported."""
    suffix = Path(urlsplit(item.uri).path).suffix.lower()
    return _KINDS.get(item.language_id) or SUFFIXES.get(suffix)


def to_diagnostic(text: Text, diagnostic: Diagnostic) -> types.Diagnostic:
    """Return a diagnostic as an LSP diagnostic."""
    return types.Diagnostic(
        to_range(text, diagnostic.span),
        diagnostic.message,
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        source="orgrest",
    )


def to_text_edits(text: Text, edits: Iterable[Edit]) -> list[types.TextEdit]:
    """Return edits as LSP text edits."""
    return [
        types.TextEdit(to_range(text, Span(edit.start, edit.end)), text.with_line_ends(edit.text))
        for edit in edits
    ]


def target_of(arguments: Any) -> tuple[str, int]:
    """Return the URI and the line (counted from 0) in the arguments of a command.

    The first argument has `uri` and either `line` or `position`. Raises JsonRpcInvalidParams if it
    is not an object or has an invalid line.
    """
    argument = arguments[0] if isinstance(arguments, (list, tuple)) and arguments else None
    if not isinstance(argument, dict):
        raise JsonRpcInvalidParams('the argument must be {"uri": ..., "line": ...}')
    position = argument.get("position")
    line = position.get("line") if isinstance(position, dict) else argument.get("line", 0)
    if not isinstance(line, int) or isinstance(line, bool) or line < 0:
        raise JsonRpcInvalidParams("a line must be a number, counted from 0")
    return str(argument.get("uri")), line
