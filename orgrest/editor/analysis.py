"""The static analysis of a document.

An `Analysis` parses a document into regions and their requests, without sending anything. It reuses
results of the previous analysis for unchanged text. A request file is divided into parts, which are
parsed separately. `Analysis.checked` combines the requests of all parts with the variables and
names of the whole file.

All spans are offsets into the text, which has LF line endings.
"""

from __future__ import annotations

import re
import weakref
from bisect import bisect_left
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from orgrest.editor import arguments, regions
from orgrest.editor.parsed_regions import BlockSettings, Captured, ParsedRegion, settings_of
from orgrest.editor.regions import VersionCache
from orgrest.editor.used_files import Described, RequestFiles, of_definition, of_request
from orgrest.http import syntax, values
from orgrest.http.parsing.dialects import read, read_part
from orgrest.http.values import environments
from orgrest.http.values.references import UNKNOWN
from orgrest.model import Source
from orgrest.org import document as org
from orgrest.org.blocks import ALL_LANGUAGES
from orgrest.run.documents import selection
from orgrest.run.documents.imports import Imports

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable
    from pathlib import Path

    from orgrest.editor.parsed_regions import Parsed
    from orgrest.editor.used_files import Location
    from orgrest.org.blocks import Block
    from orgrest.run.documents.imports import File

NOWEB = re.compile(r"<<[ \t]*([^\n<>]*[^ \t\n<>])[ \t]*>>")
"""Matches a reference to a block, ``<<name>>``, which Org replaces with the block's text."""


class _Definitions(syntax.Definitions):
    """The definitions in a request file.

    A part of the file is parsed only when a name that the part defines is looked up.
    """

    def __init__(self, text: str, checked: Checked) -> None:
        super().__init__()
        self.source = Source(text)
        self._checked = weakref.proxy(checked)
        self._parts: dict[str, list[ParsedRegion]] = {}
        for part in checked.parts:
            for name in part.reading.definitions:
                self._parts.setdefault(name, []).append(part)
        self.lengths = {len(name) for name in self._parts}
        sets = [part.reading.set_by_scripts for part in checked.parts]
        self.set_by_scripts = frozenset().union(*sets)

    def add(self, definition: syntax.Definition) -> None:
        """Do nothing: the constructor has already indexed all definitions."""

    def before(self, name: str, offset: int) -> syntax.Definition | None:
        parts = self._parts.get(name, [])
        at = bisect_left(parts, offset, key=lambda part: part.region.span.start)
        for part in reversed(parts[max(at - 2, 0) : at]):
            definitions = [
                definition for definition in self._in(part, name) if definition.span.start < offset
            ]
            if definitions:
                return definitions[-1]
        return None

    def first(self, name: str) -> syntax.Definition | None:
        """Return the first definition of `name`, or None."""
        parts = self._parts.get(name)
        return self._in(parts[0], name)[0] if parts else None

    def _in(self, part: ParsedRegion, name: str) -> list[syntax.Definition]:
        items = self._checked.document(part).items
        return [item for item in items if isinstance(item, syntax.Definition) and item.name == name]


class Checked:
    """The requests of a document, parsed together with all variables that they can use.

    In a request file, the requests' offsets refer to the whole file.
    """

    def __init__(self, text: str, parts: list[ParsedRegion]) -> None:
        """Create the object without parsing any parts yet."""
        self.parts = parts
        self._text = text
        self._known: dict[int, syntax.Document] = {}

    @cached_property
    def whole(self) -> syntax.Document:
        """The whole request file, parsed as one document."""
        return read(Source(self._text)) if len(self.parts) > 1 else self.parts[0].parsed

    def document(self, part: ParsedRegion) -> syntax.Document:
        """Return the parse result of a part."""
        if part.region.restclients is None:
            return part.parsed
        document = self._known.get(part.index)
        if document is None:
            definitions = self._definitions
            span, restclients = part.region.span, part.region.restclients
            document = read_part(definitions.source, span, definitions, is_restclients=restclients)
            self._known[part.index] = document
        return document

    def text(self, part: ParsedRegion) -> tuple[int, str]:
        """Return (start, text), where offsets in `document(part)` refer to `text`.

        `start` is the part's offset in `text`. If the part is one of several in a request file,
        `text` is the whole file. Otherwise `text` is the part's own text.
        """
        if part.region.restclients is None:
            return 0, part.region.text
        return part.region.span.start, self._text

    def request_at(self, part: ParsedRegion, inside: int) -> syntax.ParsedRequest | None:
        """Return the request at the offset `inside` in the text of a part, or None.

        In a request file, an offset outside the part's requests belongs to the next request below
        the part. If there is no such request, it belongs to the last request above the part.
        """
        request = part.parsed.request_at(inside)
        if request is not None:
            number = next(n for n, own in enumerate(part.parsed.requests) if own is request)
            return self.document(part).requests[number]
        if part.region.kept is not None:
            return None
        earlier_parts = (
            earlier for earlier in reversed(self.parts[: part.index]) if earlier.reading.starts
        )
        last = next(earlier_parts, None)
        return self.below(part) or (self.document(last).requests[-1] if last else None)

    def below(self, part: ParsedRegion) -> syntax.ParsedRequest | None:
        """Return the first request below a part of a request file, or None."""
        parts = self.parts[part.index + 1 :] if part.region.kept is None else ()
        next_part = next((lower for lower in parts if lower.reading.starts), None)
        return None if next_part is None else self.document(next_part).requests[0]

    @cached_property
    def _definitions(self) -> _Definitions:
        return _Definitions(self._text, self)


class Analysis:
    """The static analysis of a document (see the docstring of the module)."""

    def __init__(
        self,
        text: str,
        kind: regions.Kind,
        inputs: Callable[[], values.Inputs] = values.Inputs,
        before: Analysis | None = None,
        *,
        name: str = "",
        files: RequestFiles | None = None,
        described: Described | None = None,
        divided: bool = True,
    ) -> None:
        """Parse `text`, reusing the results of `before`, the analysis of an earlier version.

        `inputs` returns the sources of the variables' values and the files that may be read. `name`
        is the document's file name. `files` reads imported request files, and `described` reads
        OpenAPI descriptions. If `divided` is False, a request file is parsed as a single region.
        """
        self.text = text
        self.kind = kind
        self.inputs = inputs()
        known = before.document if before else None
        self.document: org.OrgDocument | None = (
            org.OrgDocument(text, known) if kind == "org" else None
        )
        self.languages = self.document.request_languages() if self.document else frozenset()
        self._parsed: Parsed = VersionCache(before._parsed if before else None)
        self._settings: VersionCache[Hashable, BlockSettings] = VersionCache(
            before._settings if before else None
        )
        self._line_maps: regions.LineMaps = regions.LineMaps(before._line_maps if before else None)
        self.outlines: dict[str, Any] = dict(before.outlines) if before else {}
        """The server's cached results by kind, computed for this version or an earlier one."""
        self._captured = Captured()
        self.parts = self._read(divided=divided)
        self.checked = Checked(text, self.parts)
        self.imports: Imports | None = None
        """The request files that this document imports, or None if it imports nothing."""
        self._files = files or RequestFiles()
        self.described: Described = described or (before.described if before else Described())
        if kind == "http":
            self._captured.share(self.parts, before._captured if before else None)
            if any(part.reading.imports for part in self.parts):
                self.imports = Imports(
                    self.checked.whole, name, values.Context(self.inputs), self._files.read
                )
                self._captured.named = frozenset(self.imports.named(self.checked.whole.source))
        self._environments = environments.find(self.inputs.directory)

    def _read(self, *, divided: bool) -> list[ParsedRegion]:
        document = self.document
        if document is None:
            file_regions = self._of_request_file(divided=divided)
            if len(file_regions) > 1 and not _is_division(file_regions):
                self._captured = Captured()
                return self._of_request_file(divided=False)
            return file_regions
        read = partial(_settings_of, self._settings, self.inputs.directory, document)
        return self._parts(regions.of_document(document, line_maps=self._line_maps), read)

    def _of_request_file(self, *, divided: bool) -> list[ParsedRegion]:
        if divided:
            file_regions = regions.of_request_file(self.text, self._line_maps)
        else:
            file_regions = regions.regions(self.text, "http")
        return self._parts(file_regions, lambda _: BlockSettings())

    def _parts(
        self,
        file_regions: list[regions.Region],
        read_settings: Callable[[regions.Region], BlockSettings],
    ) -> list[ParsedRegion]:
        return [
            ParsedRegion(region, index, self._captured, read_settings, self._parsed)
            for index, region in enumerate(file_regions)
        ]

    def is_current(self) -> bool:
        """Return whether the imported files and the environment files are unchanged."""
        if environments.find(self.inputs.directory) != self._environments:
            return False
        if self.imports is None:
            return True
        files = self.imports.files[1:]
        return not self.imports.broken and all(map(self._files.is_current, files))

    @cached_property
    def requests(self) -> Imports:
        """The named requests of a request file and of the files that it imports."""
        return self.imports or Imports(self.checked.whole, "", values.Context(self.inputs))

    def request_named(self, name: str, offset: int) -> tuple[syntax.ParsedRequest, Location] | None:
        """Return the request that `name` refers to at `offset` in a request file, or None.

        The second value is the location of the request's name.
        """
        parsed, imports = self.checked.whole, self.requests
        using = parsed.request_at(offset)
        request = imports.of(parsed.source, name, using.span.start if using else offset)
        file = imports.file(request.source) if request is not None else None
        if request is None or file is None:
            return None
        return request, of_request(file, request, own=file is imports.main)

    def variable_imported(self, name: str) -> Location | None:
        """Return the location of a variable's definition in an imported file, or None."""
        definition = self.imports.variables().get(name) if self.imports else None
        return None if definition is None else of_definition(*definition)

    def import_at(self, offset: int) -> File | None:
        """Return the imported file whose path is written at `offset`, or None."""
        if self.imports is None:
            return None
        document = self.checked.whole
        for item in document.items:
            if isinstance(item, syntax.Import) and item.path is not None:
                start = item.path.offset(0)
                if start <= offset <= start + len(item.path.text):
                    return self.imports.imported(item.path.text, document.source)
        return None

    @cached_property
    def keys(self) -> list[Hashable]:
        """A cache key for the outline of each part, independent of the part's position."""
        return [(part.reading, part.region.kept, part.known) for part in self.parts]

    def is_captured(self, name: str) -> bool:
        """Return whether any part captures a variable with this name."""
        return name in self._captured.first

    def part_at(self, offset: int) -> ParsedRegion | None:
        """Return the part at an offset, or the next part below it, or None after the last part."""
        at = bisect_left(self.parts, offset, key=lambda part: part.region.span.end)
        return self.parts[at] if at < len(self.parts) else None

    @cached_property
    def sent(self) -> list[Block]:
        """The blocks that a run of the whole Org document evaluates, in all request languages."""
        if self.document is None:
            return []
        return selection.sent_of(self.document, ALL_LANGUAGES)

    @cached_property
    def judged(self) -> tuple[ParsedRegion, ...]:
        """The parts that a run of the whole document evaluates."""
        if self.document is None:
            return tuple(self.parts)
        starts = {
            block.start
            for block in self.sent
            if selection.is_request(self.document, block, self.languages)
        }
        return tuple(part for part in self.parts if part.region.block_start in starts)

    @cached_property
    def property_texts(self) -> tuple[tuple[str, int, str], ...]:
        """The header arguments in properties, as (text, offset, language).

        The language "" means all languages.
        """
        return tuple(arguments.of_properties(self.document)) if self.document else ()

    @cached_property
    def noweb_names(self) -> frozenset[str]:
        """The names that blocks refer to as ``<<name>>``, in lower case."""
        document = self.document
        return frozenset(
            match[1].lower()
            for block in (document.blocks if document else ())
            if block.kind == "block" and document
            for match in NOWEB.finditer(
                document.text, document.offset(block.first), document.offset(block.last)
            )
        )

    # -------------------------------------------------------------------------------- contexts

    def new_context(self) -> values.Context:
        """Return a new context in which the document's requests can refer to each other by name."""
        run = self.imports or values.RequestNames(self.named)
        return values.Context(self.inputs, run)

    @property
    def named(self) -> frozenset[str]:
        """The names of requests that other requests may refer to."""
        return self._captured.named

    def context_of(self, part: ParsedRegion, request: syntax.ParsedRequest) -> values.Context:
        """Return the context of a checked request, including the captures of requests above it."""
        document = self.new_context()
        for capturing_part in self._capturing:
            if capturing_part.index > part.index:
                break
            for above in self.checked.document(capturing_part).requests:
                is_near = capturing_part is part or capturing_part.region.restclients is not None
                if is_near and above.span.start >= request.span.start:
                    return part.context(document)
                self.capture(above, document)
        return part.context(document)

    @cached_property
    def _capturing(self) -> list[ParsedRegion]:
        return [part for part in self.parts if part.captures]

    def capture(self, request: syntax.ParsedRequest, context: values.Context) -> None:
        """Add a request's captures to a context.

        Their values are from an earlier run, or `UNKNOWN` if no earlier run captured them.
        """
        for capture in request.captures:
            value = self.inputs.remembered.get(capture.name, UNKNOWN)
            context.capture(request, capture.name, value)


def _settings_of(
    known: VersionCache[Hashable, BlockSettings],
    folder: Path,
    document: org.OrgDocument,
    region: regions.Region,
) -> BlockSettings:
    # A function, not a method, so that no `ParsedRegion` keeps its analysis alive.
    read = partial(settings_of, region.block, document, folder)
    block, heading = region.kept, region.heading
    if block is None or heading is None:
        return read()
    general = document.inherited.pairs(heading, block.language)
    key = (block.arguments, block.headers, block.kind, block.language, general)
    settings = known.get(key, read)
    return read() if settings.refers else settings


def _is_division(parts: list[ParsedRegion]) -> bool:
    """Return whether parsing `parts` separately gives the same result as parsing the whole file."""
    if not any(part.reading.is_complete for part in parts):
        return False
    # An assertion may belong to the request above, in another part.
    return not any(part.reading.begins_with_assertion for part in parts[1:])
