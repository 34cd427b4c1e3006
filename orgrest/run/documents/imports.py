"""Imported request files: their requests and variables, for a run and for an editor.

A path is relative to the folder of the file that contains it. Each file is read once, so circular
imports terminate. A name refers to the last request of that name above in the same file, else to
the first below; else to the last of that name in an imported file, in the order of the imports and
each file before its own imports; else to that of any other file of the run. Variables of imported
files are looked up by name only; of several definitions, the one nearest to the document is used.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from orgrest.files import line_end
from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Definition, Import
from orgrest.http.values import RequestNames
from orgrest.model import OrgrestError, Source
from orgrest.run.outcomes import EvaluationError
from orgrest.run.plan import StepId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.http.syntax import Document, ParsedRequest
    from orgrest.http.values import Context

MOST_FILES = 100
"""The maximum number of imported files."""


@attrs.define(eq=False)
class File:
    """A request file, its path, and the files that it imports, in their order.

    `name` is used in messages. If the document is not in a file, `path` need not exist.
    """

    name: str
    path: Path
    document: Document
    imports: list[File] = attrs.field(factory=list)

    def and_imported(self) -> Iterator[File]:
        """Yield this file and all files that it imports, each once, in order of precedence."""
        seen: set[Path] = set()
        waiting = [self]
        while waiting:
            file = waiting.pop()
            if file.path not in seen:
                seen.add(file.path)
                yield file
                waiting += reversed(file.imports)


@attrs.frozen
class Broken:
    """A failed import: the line of the document that leads to it, its own line, and the error."""

    item: Import
    own: Import
    error: OrgrestError


def read_file(path: Path, name: str) -> Document:
    """Read a request file. Raises OrgrestError if it cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise EvaluationError(f"cannot read {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{name} is not UTF-8: byte {error.start}") from None
    newline = line_end(text)
    return read(Source(text if newline == "\n" else text.replace(newline, "\n"), file=name))


class Imports(RequestNames):
    """The files that a document imports, read in the same way; `main` is the document itself.

    `broken` are the imports that failed. `circles` are the document's lines that lead back to it,
    with the path.
    """

    def __init__(
        self,
        document: Document,
        file: str,
        context: Context,
        read_file: Callable[[Path, str], Document] = read_file,
    ) -> None:
        """Read the imports of `document`, of the file `file`; `context` limits what may be read.

        `read_file` reads the file with a path and a name.
        """
        self._context = context
        self._read = read_file
        self.broken: list[Broken] = []
        self.circles: list[tuple[Import, str]] = []
        path = (context.directory / (Path(file).name or "untitled")).resolve()
        self.main = File(file, path, document)
        self._files = {path: self.main}
        for item in document.items:
            if isinstance(item, Import) and item.path is not None:
                self._follow(item, item, [self.main])
        self.files = list(self.main.and_imported())
        self._of_sources = {id(one.document.source): one for one in self.files}
        self._named: dict[int, dict[str, list[ParsedRequest]]] = {}
        self._requests = {
            self.id_of(request): request for one in self.files for request in one.document.requests
        }

    def _follow(self, top: Import, item: Import, above: list[File]) -> None:
        """Read the file that a line imports, and recursively its imports; `top` leads to it."""
        if item.path is None:
            return
        file = above[-1]
        try:
            imported = self._file(item.path.text, file)
        except OrgrestError as error:
            self._fail(top, item, file, error)
            return
        if imported in above:
            names = [*(one.name for one in above[above.index(imported) :]), imported.name]
            if imported is self.main:
                self.circles.append((top, " -> ".join(names)))
        if imported not in file.imports:
            file.imports.append(imported)
        if imported.path in self._files:
            return
        self._files[imported.path] = imported
        for problem in imported.document.problems:
            if problem.code == "too-many-variables":
                self._fail(top, item, file, problem)
        for inner in imported.document.items:
            if isinstance(inner, Import):
                self._follow(top, inner, [*above, imported])

    def _fail(self, top: Import, item: Import, file: File, error: OrgrestError) -> None:
        source, offset = file.document.source, item.path.offset(0) if item.path else 0
        code = error.code or "unreadable-file"
        told = EvaluationError.at(source, offset, error.reason, code)
        self.broken.append(Broken(top, item, told))

    def _file(self, path: str, importing: File) -> File:
        location = self._locate(path, importing)
        known = self._files.get(location)
        if known is not None:
            return known
        if len(self._files) > MOST_FILES:
            raise EvaluationError(f"{path}: more than {MOST_FILES} files are imported")
        name = path
        if importing is not self.main:
            name = posixpath.normpath(posixpath.join(posixpath.dirname(importing.name), path))
        return File(name, location, self._read(location, name))

    def _locate(self, path: str, importing: File) -> Path:
        own = importing is self.main
        return self._context.locate(path, self._context.directory if own else importing.path.parent)

    def file(self, source: Source) -> File | None:
        """Return the file whose text is this source; None if it is not one of these files."""
        return self._of_sources.get(id(source))

    def imported(self, path: str, source: Source) -> File | None:
        """Return the file that a line of a source imports; None if the import failed."""
        file = self._of_sources[id(source)]
        try:
            return self._files.get(self._locate(path, file))
        except OrgrestError:
            return None

    # ---------------------------------------------------------------------------------- names

    def named(self, source: Source) -> dict[str, list[ParsedRequest]]:
        """Return, by name, the requests that those of a source may refer to: of one file each."""
        found = self._named.get(id(source))
        if found is None:
            found = {}
            file = self._of_sources.get(id(source), self.main)
            for one in (*file.and_imported(), *self.files):
                here: dict[str, list[ParsedRequest]] = {}
                for request in one.document.requests:
                    if request.name is not None:
                        here.setdefault(request.name, []).append(request)
                found = {**here, **found}
            self._named[id(source)] = found
        return found

    def of(self, source: Source, name: str, end: int | None = None) -> ParsedRequest | None:
        """Return the request that a name in a source refers to, or None.

        Of several, it is the last that begins above `end` (None: the last of all), else the first.
        """
        every = self.named(source).get(name)
        if not every:
            return None
        if end is None or every[0].source is not source:
            return every[-1]
        above = bisect_left(every, end, key=lambda one: one.span.start)
        return every[max(above - 1, 0)]

    def id_of(self, request: ParsedRequest) -> StepId:
        """Return the identity of a request in the run."""
        file = self._of_sources.get(id(request.source), self.main)
        return StepId(str(file.path), request.span.start, name=request.name or "")

    def request(self, step: StepId) -> ParsedRequest:
        """Return the request that a step sends."""
        return self._requests[step.request]

    def requests_named(self, name: str, using: ParsedRequest) -> Iterator[StepId]:
        """Yield the requests that a name may refer to: `using` once answered, and another."""
        if name == using.name:
            yield self.id_of(using)
        request = self.of(using.source, name, using.span.start)
        if request is not None:
            yield self.id_of(request)

    def imported_value(self, name: str) -> str | None:
        """Return the value of a variable of an imported file, or None."""
        found = self._variables.get(name)
        return None if found is None else found[1].value.text

    @cached_property
    def _variables(self) -> dict[str, tuple[File, Definition]]:
        return self.variables()

    def variables(self) -> dict[str, tuple[File, Definition]]:
        """Return the definitions of the imported files by name, without the document's own."""
        found: dict[str, tuple[File, Definition]] = {}
        for file in self.files[1:]:
            for one in file.document.items:
                if isinstance(one, Definition):
                    found.setdefault(one.name, (file, one))
        return found
