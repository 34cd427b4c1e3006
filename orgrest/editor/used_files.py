"""Caches the files that open documents use. A file is read again only if it has changed.

The files are OpenAPI descriptions and imported request files. If an imported file is open in the
editor, the editor's text is used instead of the file.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.files import stamp
from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Comment, Definition
from orgrest.model import OrgrestError, Source, Span
from orgrest.run.documents.imports import Imports, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from pathlib import Path

    from orgrest.description.model import Description
    from orgrest.files import Stamp
    from orgrest.http.syntax import Document, ParsedRequest
    from orgrest.http.values import Context
    from orgrest.run.documents.imports import File

_LINES = re.compile(r"^[ \t]*(?:(?:import|run)[ \t]|(?:#+|//+)[ \t]*@import\b).*$", re.MULTILINE)

LARGEST = 4 * 2**20
"""The maximum size of a file, in bytes, that is read while the user types."""
LARGEST_BESIDE = 2**19
"""The maximum size, in bytes, of an OpenAPI description that the document does not name."""
_MOST_KNOWN = 16
_TOO_LARGE = (
    f"the description is larger than {LARGEST // 2**20} MiB: it is only used in "
    "runs, not in editors"
)


@classes.frozen
class Location:
    """A span in a request file. If `own` is True, the file is the document that is being edited."""

    file: File
    span: Span
    own: bool = False

    @property
    def line(self) -> int:
        """The line number of the span's start, counted from 1."""
        return self.file.document.source.position(self.span.start).line

    def __str__(self) -> str:
        line = f"line {self.line}"
        return line if self.own else f"{self.file.name}, {line}"


class RequestFiles:
    """A cache of imported request files. A file is read again only if it has changed."""

    def __init__(self, opened: Callable[[Path], str | None] = lambda _: None) -> None:
        """Create a cache. `opened` returns the text of a file if it is open in an editor."""
        self._opened = opened
        self._known: dict[tuple[Path, str], tuple[Hashable, Document]] = {}

    def read(self, path: Path, name: str) -> Document:
        """Return the parse result of the file at `path`. Messages refer to the file as `name`.

        Raises OrgrestError if the file cannot be read.
        """
        text = self._opened(path)
        now = stamp(path) if text is None else text
        known = self._known.get((path, name))
        if known is not None and known[0] == now:
            return known[1]
        document = read_file(path, name) if text is None else read(Source(text, file=name))
        self._known[path, name] = now, document
        return document

    def is_current(self, file: File) -> bool:
        """Return whether `file`, whose document `read` has returned, is unchanged."""
        text = self._opened(file.path)
        read_at, document = self._known[file.path, file.name]
        now = stamp(file.path) if text is None else text
        return document is file.document and read_at == now


def of_lines(text: str, name: str, context: Context, files: RequestFiles) -> Imports | None:
    """Return the imports in `text`, or None if it imports nothing. The text may be incomplete."""
    lines = "\n".join(match[0] for match in _LINES.finditer(text))
    return Imports(read(Source(lines)), name, context, files.read) if lines else None


def of_request(file: File, request: ParsedRequest, *, own: bool) -> Location:
    """Return the location of a request's name, or of its start if it does not have a name."""
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


def of_definition(file: File, definition: Definition) -> Location:
    """Return the location of a variable's definition in a file."""
    return Location(
        file, Span(definition.name_span.end - len(definition.name), definition.name_span.end)
    )


class Described:
    """A cache of OpenAPI descriptions, including the errors raised while reading them.

    If `found_beside` is True, a document that names no description uses the descriptions near it.
    """

    def __init__(self) -> None:
        self.found_beside = True
        self._known: dict[Path, tuple[Stamp, Description | OrgrestError]] = {}

    def get(self, name: str, context: Context) -> Description | None:
        """Return the OpenAPI description in the file `name`, or None if it cannot be read."""
        file = self.read(name, context)
        return None if isinstance(file, OrgrestError) else file

    def read(
        self, name: str, context: Context, largest: int | None = None
    ) -> Description | OrgrestError:
        """Return the OpenAPI description in the file `name`, or the error if it cannot be read.

        A file larger than `largest` bytes is not read.
        """
        largest = LARGEST if largest is None else largest
        try:
            path = context.locate(name)
        except OrgrestError as error:
            return error
        now = stamp(path)
        known = self._known.get(path)
        if known is not None and known[0] == now and _is_current(known[1]):
            return known[1]
        is_small = now is not None and now[1] <= largest
        description = _read(path, name, context, largest) if is_small else OrgrestError(_TOO_LARGE)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[path] = now, description
        return description

    def beside(self, context: Context) -> Iterator[Description]:
        """Yield the readable OpenAPI descriptions near a document."""
        if not self.found_beside:
            return
        from orgrest.description.files import beside

        for path in beside(context.directory):
            description = self.read(
                os.path.relpath(path, context.directory), context, LARGEST_BESIDE
            )
            if not isinstance(description, OrgrestError):
                yield description


def _is_current(loaded: Description | OrgrestError) -> bool:
    if isinstance(loaded, OrgrestError):
        return True
    return all(stamp(path) == known for path, known in loaded.documents.stamps.items())


def _read(path: Path, name: str, context: Context, largest: int) -> Description | OrgrestError:
    from orgrest.description.files import read as read_description

    try:
        return read_description(path, name, context.locate, largest=largest)
    except OrgrestError as error:
        return error
