"""Imported request files: their requests and variables, for a run and for an editor.

A path is relative to the folder of the importing file. Each file is read once, so circular imports
terminate.

A name refers to the last request above it with that name in the same file, or else to the first
request below it. If the file has no such request, the imported files are searched in import order,
each before its own imports. Then all other files of the run are searched. In these files, the name
refers to the last request with that name.

A variable that a file does not define may be defined in the document or in any imported file. The
definition nearest to the document is used.

Scripts that run once run before the requests below the import of their file. They run in import
order, but those of nested imports run first.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.files import line_end
from orgrest.http.parsing.dialects import read
from orgrest.http.syntax import Definition, Import
from orgrest.http.values import RequestNames
from orgrest.http.values.sources import set_by
from orgrest.model import OrgrestError, Source
from orgrest.run.outcomes import EvaluationError
from orgrest.run.plan import StepId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from orgrest.http.syntax import Document, ParsedRequest
    from orgrest.http.values import Context

MOST_FILES = 100
"""The maximum number of imported files."""


@classes.define(eq=False)
class File:
    """A request file and the files that it imports, in order.

    `name` is used in messages and reports. An imported file is named relative to the folder that
    the document's name is relative to. `path` need not exist if the document is not in a file.
    """

    name: str
    path: Path
    document: Document
    imports: list[File] = classes.field(factory=list)

    def and_imported(self) -> Iterator[File]:
        """Yield this file and all files that it imports, each once, in order of precedence."""
        paths: set[Path] = set()
        waiting = [self]
        while waiting:
            file = waiting.pop()
            if file.path not in paths:
                paths.add(file.path)
                yield file
                waiting += reversed(file.imports)


@classes.frozen
class Broken:
    """A failed import and its `error`.

    `own` is the failed import. `item` is the import in the run's document that led to it. If the
    document contains the failed import, `item` is `own`.
    """

    item: Import
    own: Import
    error: OrgrestError


def read_file(path: Path, name: str) -> Document:
    """Parse a request file, called `name` in messages. Raises OrgrestError if it cannot be read."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise EvaluationError(f"could not read {name}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise EvaluationError(f"{name} is not UTF-8 (byte {error.start})") from None
    newline = line_end(text)
    return read(Source(text if newline == "\n" else text.replace(newline, "\n"), file=name))


class Imports(RequestNames):
    """The files that a document imports, directly or indirectly.

    `main` is the document itself, and `broken` contains the failed imports. `circles` contains the
    document's imports that lead back to it, each with the chain of file names.
    """

    def __init__(
        self,
        document: Document,
        file: str,
        context: Context,
        read_file: Callable[[Path, str], Document] = read_file,
    ) -> None:
        """Read all imports of `document`, which is in the file `file`.

        `context` limits the files that may be read. `read_file` parses a file, given its path and
        its name in messages.
        """
        self._context = context
        self._read = read_file
        self.broken: list[Broken] = []
        self.circles: list[tuple[Import, str]] = []
        path = (context.directory / (Path(file).name or "untitled")).resolve()
        self.main = File(file, path, document)
        self._files = {path: self.main}
        for item in document.items:
            if isinstance(item, Import):
                self._follow(item, item, [self.main])
        self.files = list(self.main.and_imported())
        self._of_sources = {imported.document.source: imported for imported in self.files}
        self._named: dict[Source, dict[str, list[ParsedRequest]]] = {}
        self._scripted: dict[Source, list[tuple[int, File]]] = {}
        self._requests = {
            self.id_of(request): request
            for imported_file in self.files
            for request in imported_file.document.requests
        }

    def _follow(self, top: Import, item: Import, above: list[File]) -> None:
        """Read the file that `item` imports and, recursively, its imports.

        `top` is the import in the document that leads to `item`. `above` contains the files from
        the document to the file with `item`.
        """
        if item.path is None:
            return
        file = above[-1]
        try:
            imported = self._file(item.path.text, file)
        except OrgrestError as error:
            self._fail(top, item, file, error)
            return
        if imported in above:
            names = [*(ancestor.name for ancestor in above[above.index(imported) :]), imported.name]
            if imported is self.main:
                self.circles.append((top, " -> ".join(names)))
        if imported not in file.imports:
            file.imports.append(imported)
        if imported.path in self._files:
            return
        self._files[imported.path] = imported
        for problem in imported.document.problems:
            if problem.code in ("too-many-variables", "unclosed-script"):
                self._fail(top, item, file, EvaluationError(str(problem), code=problem.code))
        for inner in imported.document.items:
            if isinstance(inner, Import):
                self._follow(top, inner, [*above, imported])

    def _fail(self, top: Import, item: Import, file: File, error: OrgrestError) -> None:
        source, offset = file.document.source, item.path.offset(0) if item.path else 0
        code = error.code or "unreadable-file"
        problem = EvaluationError.at(source, offset, error.reason, code)
        self.broken.append(Broken(top, item, problem))

    def _file(self, path: str, importing: File) -> File:
        if "{{" in path:
            raise EvaluationError(
                "the path of an import cannot contain variables: write the path itself"
            )
        location = self._locate(path, importing)
        existing = self._files.get(location)
        if existing is not None:
            return existing
        if len(self._files) > MOST_FILES:
            raise EvaluationError(f"{path}: too many imported files (the maximum is {MOST_FILES})")
        name = os.path.normpath(Path(importing.name).parent / Path(path).expanduser())
        return File(name, location, self._read(location, name))

    def _locate(self, path: str, importing: File) -> Path:
        own = importing is self.main
        return self._context.locate(path, self._context.directory if own else importing.path.parent)

    def file(self, source: Source) -> File | None:
        """Return the file with this source, or None if none of the files has it."""
        return self._of_sources.get(source)

    def imported(self, path: str, source: Source) -> File | None:
        """Return the file that `source` imports with `path`, or None if the import failed."""
        file = self._of_sources[source]
        try:
            return self._files.get(self._locate(path, file))
        except OrgrestError:
            return None

    def scripted(self, request: ParsedRequest) -> Iterator[File]:
        """Yield the imported files whose scripts run before `request`, in order."""
        key = request.source
        if key not in self._scripted:
            file = self._of_sources.get(key, self.main)
            self._scripted[key] = list(self._scripts_above(file, {file.path}))
        end = request.span.end if request.region is None else request.region.end
        return (file for start, file in self._scripted[key] if start < end)

    def _scripts_above(self, file: File, seen: set[Path]) -> Iterator[tuple[int, File]]:
        """Yield (offset of the import, file) for each imported file with scripts that run once.

        Each file comes after the files that it imports.
        """
        for item in file.document.items:
            if not isinstance(item, Import) or item.run or item.path is None:
                continue
            imported = self.imported(item.path.text, file.document.source)
            if imported is None or imported.path in seen:
                continue
            seen.add(imported.path)
            inner = (above for _, above in self._scripts_above(imported, seen))
            for above in (*inner, imported):
                if any(script.runs == "once" for script in above.document.scripts):
                    yield item.span.start, above

    # ---------------------------------------------------------------------------------- names

    def named(self, source: Source) -> dict[str, list[ParsedRequest]]:
        """Return the requests that each name in `source` may refer to.

        A name's requests are all from the first file, in order of precedence, that has the name.
        """
        by_name = self._named.get(source)
        if by_name is None:
            by_name = {}
            file = self._of_sources.get(source, self.main)
            for searched in (*file.and_imported(), *self.files):
                here: dict[str, list[ParsedRequest]] = {}
                for request in searched.document.requests:
                    if request.name is not None:
                        here.setdefault(request.name, []).append(request)
                by_name = {**here, **by_name}
            self._named[source] = by_name
        return by_name

    def of(self, source: Source, name: str, end: int | None = None) -> ParsedRequest | None:
        """Return the request that a name in `source` refers to, or None if no request has the name.

        If several requests in that file have the name, returns the last of them above the offset
        `end`, or else the first. If `end` is None, or if the requests are in another file, returns
        the last.
        """
        requests = self.named(source).get(name)
        if not requests:
            return None
        if end is None or requests[0].source is not source:
            return requests[-1]
        above = bisect_left(requests, end, key=lambda request: request.span.start)
        return requests[max(above - 1, 0)]

    def id_of(self, request: ParsedRequest) -> StepId:
        """Return the identity of a request in the run."""
        file = self._of_sources.get(request.source, self.main)
        return StepId(str(file.path), request.span.start, name=request.name or "")

    def request(self, step: StepId) -> ParsedRequest:
        """Return the request that a step sends."""
        return self._requests[step.request]

    def requests_named(self, name: str, using: ParsedRequest) -> Iterator[StepId]:
        """Yield the requests that a name in the request `using` may refer to.

        If `using` itself has the name, it comes first, so that its own response takes precedence.
        """
        if name == using.name:
            yield self.id_of(using)
        request = self.of(using.source, name, using.span.start)
        if request is not None:
            yield self.id_of(request)

    def imported_definition(self, name: str) -> tuple[Source, Definition] | None:
        """Return a variable's definition in the document or an imported file, with its source."""
        found = self._variables.get(name)
        return None if found is None else (found[0].document.source, found[1])

    @cached_property
    def set_by_scripts(self) -> frozenset[str]:
        """The names of the variables set by those scripts of imported files that run once."""
        scripts = (script for file in self.files[1:] for script in file.document.scripts)
        codes = (script.text.text for script in scripts if script.text and script.runs == "once")
        return frozenset().union(*map(set_by, codes))

    def paths(self) -> Iterable[Path]:
        """Return the paths of the document and of the imported files."""
        return self._files

    @cached_property
    def _variables(self) -> dict[str, tuple[File, Definition]]:
        return self._defined(self.files)

    def variables(self) -> dict[str, tuple[File, Definition]]:
        """Return the definition of each variable in the imported files, with the file that has it.

        Definitions in the document itself are left out.
        """
        return self._defined(self.files[1:])

    @staticmethod
    def _defined(files: list[File]) -> dict[str, tuple[File, Definition]]:
        definitions: dict[str, tuple[File, Definition]] = {}
        for file in files:
            for item in file.document.items:
                if isinstance(item, Definition):
                    definitions.setdefault(item.name, (file, item))
        return definitions
