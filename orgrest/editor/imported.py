"""A cache of the request files that documents import, for editors.

A file is read again only if it has changed; if it is open in the editor, the text there is used. A
definition in another file is a `Location`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import attrs

from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Comment, Definition
from orgrest.model import Source, Span
from orgrest.run.documents.imports import Imports, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

    from orgrest.http.syntax import Document, ParsedRequest
    from orgrest.http.values import Context
    from orgrest.run.documents.imports import File

_LINES = re.compile(r"^[ \t]*(?:(?:import|run)[ \t]|(?:#+|//+)[ \t]*@import\b).*$", re.MULTILINE)


@attrs.frozen
class Location:
    """A span in a request file: another one, or the document's `own`."""

    file: File
    span: Span
    own: bool = False

    @property
    def line(self) -> int:
        """The line number, from 1."""
        return self.file.document.source.position(self.span.start).line

    def __str__(self) -> str:
        line = f"line {self.line}"
        return line if self.own else f"{self.file.name}, {line}"


class RequestFiles:
    """Imported request files, each read once as long as it is unchanged."""

    def __init__(self, opened: Callable[[Path], str | None] = lambda _: None) -> None:
        """Prepare the cache; `opened` returns the text of a file that is open in an editor."""
        self._opened = opened
        self._known: dict[tuple[Path, str], tuple[Hashable, Document]] = {}

    def read(self, path: Path, name: str) -> Document:
        """Read the file at `path`, which is called `name`. Raises OrgrestError."""
        stamp = self.stamp(path)
        known = self._known.get((path, name))
        if known is not None and known[0] == stamp:
            return known[1]
        text = self._opened(path)
        document = read_file(path, name) if text is None else read(Source(text, file=name))
        self._known[path, name] = stamp, document
        return document

    def stamp(self, path: Path) -> Hashable:
        """Return a value that changes when the file at `path` does."""
        text = self._opened(path)
        if text is not None:
            return text
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


def of_lines(text: str, name: str, context: Context, files: RequestFiles) -> Imports | None:
    """Return the imports of a text, which may be incomplete; None if it has none."""
    lines = "\n".join(match[0] for match in _LINES.finditer(text))
    return Imports(read(Source(lines)), name, context, files.read) if lines else None


def of_request(file: File, request: ParsedRequest, *, own: bool) -> Location:
    """Return the position of a request's name in a file, else of its beginning."""
    directive = request.directive("name")
    if directive is not None and request.name and request.name in directive.value.text:
        at = directive.value.offset(directive.value.text.index(request.name))
        return Location(file, Span(at, at + len(request.name)), own)
    text = file.document.source.text
    for item in file.document.items:
        if isinstance(item, Comment) and item.name == request.name is not None:
            at = text.index(request.name or "", item.span.start)
            return Location(file, Span(at, at + len(request.name or "")), own)
    return Location(file, request.method_span, own)


def of_definition(file: File, one: Definition) -> Location:
    """Return the position of a variable's definition in a file."""
    return Location(file, Span(one.name_span.end - len(one.name), one.name_span.end))
