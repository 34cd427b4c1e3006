"""The files that open documents use, for editors: each read again only if it changed.

Request files that others import, whose definitions are `Location`s (if one is open in the editor,
the text there is used), and OpenAPI descriptions.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import attrs

from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Comment, Definition
from orgrest.model import OrgrestError, Source, Span
from orgrest.run.documents.imports import Imports, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator
    from pathlib import Path

    from orgrest.description.model import Description
    from orgrest.description.nodes import Stamp
    from orgrest.http.syntax import Document, ParsedRequest
    from orgrest.http.values import Context
    from orgrest.run.documents.imports import File

_LINES = re.compile(r"^[ \t]*(?:(?:import|run)[ \t]|(?:#+|//+)[ \t]*@import\b).*$", re.MULTILINE)

LARGEST = 4 * 2**20
"""The maximum size in bytes of a file that is read for an editor: typing waits for it."""
LARGEST_BESIDE = 2**19
"""The maximum size in bytes of a description that the document does not name."""
_MOST_KNOWN = 16
_TOO_LARGE = f"this description is larger than {LARGEST // 2**20} MiB: only runs read it"


@attrs.frozen
class Location:
    """A span in a request file: the document's `own`, or another."""

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


class Described:
    """A cache of descriptions; an unreadable description is None, and a run reports the reason.

    With `found_beside`, descriptions beside a document are used, too, if it names none.
    """

    def __init__(self) -> None:
        self.found_beside = True
        self._known: dict[Path, tuple[Stamp, Description | OrgrestError]] = {}

    def get(self, name: str, context: Context) -> Description | None:
        """Return the description in the file `name`, or None if it cannot be read."""
        found = self.read(name, context)
        return None if isinstance(found, OrgrestError) else found

    def read(
        self, name: str, context: Context, largest: int | None = None
    ) -> Description | OrgrestError:
        """Return the description in the file `name`, or the error if it cannot be read."""
        from orgrest.description.nodes import stamp

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
        found = _read(path, name, context, largest) if is_small else OrgrestError(_TOO_LARGE)
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[path] = now, found
        return found

    def beside(self, context: Context) -> Iterator[Description]:
        """Yield the readable descriptions beside a document."""
        if not self.found_beside:
            return
        from orgrest.description.beside import beside

        for path in beside(context.directory):
            found = self.read(os.path.relpath(path, context.directory), context, LARGEST_BESIDE)
            if not isinstance(found, OrgrestError):
                yield found


def _is_current(given: Description | OrgrestError) -> bool:
    """Return whether all files to which a description refers are unchanged."""
    from orgrest.description.nodes import stamp

    if isinstance(given, OrgrestError):
        return True
    return all(stamp(path) == known for path, known in given.documents.looked_at.items())


def _read(path: Path, name: str, context: Context, largest: int) -> Description | OrgrestError:
    from orgrest.description.files import read as read_description

    try:
        return read_description(path, name, context.locate, largest)
    except OrgrestError as error:
        return error
