"""The static analysis of a document.

An `Analysis` parses a document's text once: its regions and their requests. Most of a document is
unchanged since the last keystroke, so an analysis reuses the results of the previous one for the
same text. `diagnostics` finds problems in an analysis, `names` finds names. Nothing is sent, and no
files are read except those that a request file imports, and OpenAPI descriptions.

All spans are offsets into the text, whose line ends are LF.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from orgrest.editor import arguments, regions
from orgrest.editor.parsed_regions import BlockSettings, Captured, ParsedRegion, settings_of
from orgrest.editor.regions import VersionCache
from orgrest.editor.used_files import Described, RequestFiles, of_definition, of_request
from orgrest.http import syntax, values
from orgrest.http.values import environments
from orgrest.org import arguments as header
from orgrest.org import document as org
from orgrest.run.documents import request_file, selection
from orgrest.run.documents.imports import Imports
from orgrest.run.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from orgrest.editor.parsed_regions import Parsed
    from orgrest.editor.used_files import Location
    from orgrest.run.documents.imports import File
    from orgrest.run.plan import Plan

_NOWEB = re.compile(r"<<[ \t]*([^\n<>]*[^ \t\n<>])[ \t]*>>")


class _Named(values.RequestNames):
    """The names of requests, for checks: nothing is sent."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def requests_named(self, name: str, using: syntax.ParsedRequest) -> tuple[Hashable, ...]:
        """Return the name, if a request has it."""
        del using
        return (name,) if name in self._names else ()


class Analysis:
    """The static analysis of a document; see the module's docstring."""

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
    ) -> None:
        """Parse `text`, reusing results of `before`, the analysis of an earlier text.

        `inputs` are the sources of its variables' values, and the files that may be read. `name` is
        the name of the document's file, and `files` reads those that it imports, `described` the
        descriptions that it names.
        """
        self.text = text
        self.kind = kind
        self._inputs = start = inputs()
        self.chosen = start.environments
        self.overrides = dict(start.overrides)
        self.remembered = dict(start.remembered)
        self.secrets = start.secrets
        self._folder = start.directory
        known = before.document if before else None
        self.document: org.Document | None = org.Document(text, known) if kind == "org" else None
        self.languages = self.document.request_languages() if self.document else frozenset()
        self._parsed: Parsed = VersionCache(before._parsed if before else None)
        self._settings: VersionCache[Hashable, BlockSettings] = VersionCache(
            before._settings if before else None
        )
        self._line_maps: regions.LineMaps = regions.LineMaps(before._line_maps if before else None)
        self.outlines: dict[str, VersionCache[object, Any]] = {
            kind: VersionCache(before.outlines[kind] if before else None)
            for kind in ("symbols", "folds", "tokens")
        }
        """The caches of answers about the chunks of `outline`."""
        self.chunks: list[Any] | None = None
        """These chunks, once somebody asked for them."""
        self._captured = Captured()
        self.parts = self._read()
        self.imports: Imports | None = None
        """The request files that this one imports; None if there are none."""
        self._files = files or RequestFiles()
        self.described: Described = described or (before.described if before else Described())
        if kind == "http":
            parsed = self.parts[0].parsed
            if any(isinstance(item, syntax.Import) and item.path for item in parsed.items):
                self.imports = Imports(parsed, name, values.Context(start), self._files.read)
                self.parts[0].imported = frozenset(self.imports.named(parsed.source))
        self._stamps = self._current_stamps()
        self._environments = environments.find(self._folder)

    def _read(self) -> list[ParsedRegion]:
        document, captured = self.document, self._captured
        if document is None:
            (region,) = regions.regions(self.text, "http")
            return [ParsedRegion(region, 0, captured, BlockSettings, self._parsed)]
        inherited = header.Inherited(document)
        parts: list[ParsedRegion] = []
        for index, region in enumerate(regions.of_document(document, line_maps=self._line_maps)):
            read = partial(self._settings_of, region, document, inherited)
            parts.append(ParsedRegion(region, index, captured, read, self._parsed))
        return parts

    def _settings_of(
        self, region: regions.Region, document: org.Document, inherited: header.Inherited
    ) -> BlockSettings:
        """Return the settings of a block: those from an earlier text, if they are the same."""
        read = partial(settings_of, region, document, inherited, self._folder)
        block = region.block
        if block is None:
            return read()
        general = inherited.pairs(block.heading, block.language)
        key = (block.arguments, block.headers, block.kind, block.language, general, self._folder)
        found = self._settings.get(key, read)
        return read() if found.refers else found

    def _current_stamps(self) -> list[Hashable]:
        files = self.imports.files[1:] if self.imports else ()
        return [self._files.stamp(file.path) for file in files]

    def is_current(self) -> bool:
        """Tell whether the files that it imports, and those of environments, are unchanged."""
        if environments.find(self._folder) != self._environments:
            return False
        if self.imports is None:
            return True
        return not self.imports.broken and self._stamps == self._current_stamps()

    @cached_property
    def requests(self) -> Imports:
        """The requests of a request file, and of those that it imports, by name."""
        parsed = self.parts[0].parsed
        return self.imports or Imports(parsed, "", values.Context(self._inputs))

    def request_named(self, name: str, offset: int) -> tuple[syntax.ParsedRequest, Location] | None:
        """Return the request that a name at `offset` of a request file refers to, or None.

        It comes with the position of its name.
        """
        parsed, imports = self.parts[0].parsed, self.requests
        using = parsed.request_at(offset)
        request = imports.of(parsed.source, name, using.span.start if using else offset)
        file = imports.file(request.source) if request is not None else None
        if request is None or file is None:
            return None
        return request, of_request(file, request, own=file is imports.main)

    def variable_imported(self, name: str) -> Location | None:
        """Return the position of a variable's definition in an imported file, or None."""
        found = self.imports.variables().get(name) if self.imports else None
        return None if found is None else of_definition(*found)

    def import_at(self, offset: int) -> File | None:
        """Return the file whose path is at `offset`, or None."""
        if self.imports is None:
            return None
        document = self.parts[0].parsed
        for item in document.items:
            if isinstance(item, syntax.Import) and item.path is not None:
                start = item.path.offset(0)
                if start <= offset <= start + len(item.path.text):
                    return self.imports.imported(item.path.text, document.source)
        return None

    def is_captured(self, name: str) -> bool:
        """Tell whether any part captures a variable of this name."""
        return name in self._captured.first

    def part_at(self, offset: int) -> ParsedRegion | None:
        """Return the part at an offset, or the next one below; None below the last one."""
        at = bisect_left(self.parts, offset, key=lambda part: part.region.span.end)
        return self.parts[at] if at < len(self.parts) else None

    def plan(self, settings: Settings) -> Plan:
        """Return what a run of the document would do."""
        if self.document is None:
            return request_file.plan_of(self.requests, settings, "")
        return selection.plan_of(self.document, header.Inherited(self.document), settings, "")

    @cached_property
    def judged(self) -> tuple[ParsedRegion, ...]:
        """The parts that a run of the whole document evaluates."""
        if self.document is None:
            return tuple(self.parts)
        starts = {step.id.start for step in self.plan(Settings())}
        return tuple(
            part for part in self.parts if part.region.block and part.region.block.start in starts
        )

    @cached_property
    def property_texts(self) -> tuple[tuple[str, int, str], ...]:
        """The header arguments of properties: text, offset, language ("" for all)."""
        return tuple(arguments.of_properties(self.document)) if self.document else ()

    @cached_property
    def noweb_names(self) -> frozenset[str]:
        """The lower-case names that blocks refer to as ``<<name>>``."""
        document = self.document
        return frozenset(
            match[1].lower()
            for block in (document.blocks if document else ())
            if block.kind == "block" and document
            for match in _NOWEB.finditer(
                document.text, document.offset(block.first), document.offset(block.last)
            )
        )

    # -------------------------------------------------------------------------------- contexts

    def new_context(self) -> values.Context:
        """Return a context of the document, in which its requests are available by name."""
        run = self.imports if self.imports is not None else _Named(self.named)
        return values.Context(self._inputs, run)

    @property
    def named(self) -> frozenset[str]:
        """The names of requests, to which others may refer."""
        return self.parts[0].named if self.kind == "http" else frozenset()

    def context_of(self, part: ParsedRegion, request: syntax.ParsedRequest) -> values.Context:
        """Return the context of a request, with the captures of those above, as far as known."""
        document = self.new_context()
        for one in self.parts:
            if one is not part and not one.captures:
                continue
            for above in one.parsed.requests:
                if one is part and above.span.start >= request.span.start:
                    return part.context(document)
                self.capture(above, document)
        return part.context(document)

    def capture(self, request: syntax.ParsedRequest, context: values.Context) -> None:
        """Add a request's captures to a context: the value of an earlier run, or none yet."""
        for capture in request.captures:
            value = self.remembered.get(capture.name, values.UNKNOWN)
            context.capture(request, capture.name, value)
