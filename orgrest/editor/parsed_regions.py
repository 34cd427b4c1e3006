"""A parsed region of a document: its requests, and the context of their variables.

Most of a document is unchanged since the last keystroke, so the data of a part is relative to its
own text, and the data that it needs from the parts above is in a `Captured` that all parts share.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import attrs

from orgrest.http import responses, syntax, values
from orgrest.http.values.references import UNKNOWN, names_in
from orgrest.http.values.sources import set_by
from orgrest.model import OrgrestError
from orgrest.org import argument_syntax, data, lisp
from orgrest.org import arguments as header
from orgrest.org.results import element_named
from orgrest.run.documents.expect import expected_status

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from pathlib import Path

    from orgrest.editor import regions
    from orgrest.editor.regions import VersionCache
    from orgrest.model import Span
    from orgrest.org import document as org

    Parsed: TypeAlias = VersionCache[
        tuple[str, str, tuple[str, ...], bool, bool | None], "RegionContent"
    ]
    """Parse results by cache key: everything that they depend on."""


@attrs.frozen
class Fault:
    """An error in a block's header arguments; `variable` is the name of the ``:var`` at fault."""

    code: str
    message: str
    variable: str | None = None


class Captured:
    """An index of the names that the parts of a document capture.

    `first` maps each name, and `lengths` each length of names, to the first part with it.
    `everywhere` are the names that a request file sets, which all its parts may use, and `named`
    the names of requests in it and in those that it imports.
    """

    def __init__(self) -> None:
        self.everywhere: frozenset[str] = frozenset()
        self.named: frozenset[str] = frozenset()
        self.all_lengths: list[int] = []
        self.first: dict[str, int] = {}
        self.lengths: dict[int, int] = {}
        self.digest = 0

    def share(self, parts: Iterable[ParsedRegion], before: Captured | None) -> None:
        """Let all parts of a request file use the names of all."""
        contents = [one.reading for one in parts]
        self.everywhere = frozenset().union(*[one.set for one in contents])
        if before is not None and before.everywhere == self.everywhere:
            self.everywhere = before.everywhere  # identical objects compare faster
        self.all_lengths = sorted({len(name) for name in self.everywhere}, reverse=True)
        self.named = frozenset().union(*[one.named for one in contents])

    def add(self, index: int, names: frozenset[str]) -> None:
        """Add the captures of the next part."""
        for name in sorted(names - self.first.keys()):
            self.first[name] = index
            self.lengths.setdefault(len(name), index)
            self.digest = hash((self.digest, name))


@attrs.define(eq=False)
class BlockSettings:
    """The settings of a block for its requests: header arguments, including `:var`s, a folder.

    `values`, `literal` and `directory` are arguments of `values.Context.block`, `wrong` has the
    errors of the `:var`s without a value. `refers`: whether the value of a `:var` comes from an
    element elsewhere in the document.
    """

    arguments: header.Arguments = attrs.field(factory=header.Arguments)
    values: dict[str, str] = attrs.field(factory=dict)
    literal: dict[str, str] = attrs.field(factory=dict)
    directory: Path | None = None
    faults: list[Fault] = attrs.field(factory=list)
    wrong: dict[str, str] = attrs.field(factory=dict)
    refers: bool = False


def settings_of(
    region: regions.Region, document: org.Document, inherited: header.Inherited, folder: Path
) -> BlockSettings:
    """Parse the header arguments of a region's block; errors become `faults`.

    Its `:var`s get values from the document. `folder` is the document's.
    """
    found, block = BlockSettings(), region.block
    if block is None:
        return found
    try:
        found.arguments = header.of_block(block, inherited)
    except lisp.ArgumentError as error:
        found.faults.append(Fault("bad-argument", str(error)))
        return found
    for name, assignment in found.arguments.variables.items():
        try:
            _set_variable(found, name, assignment, document)
        except lisp.ArgumentError as error:
            found.faults.append(Fault("bad-argument", str(error), name))
            found.wrong[name] = str(error)
    try:
        expected_status(found.arguments, None, 0)
    except OrgrestError as error:
        found.faults.append(Fault("bad-argument", error.reason))
    directory = found.arguments.values.get("dir")
    if isinstance(directory, str) and directory:
        found.directory = folder / directory
    return found


def _set_variable(found: BlockSettings, name: str, assignment: str, document: org.Document) -> None:
    found.literal[name] = UNKNOWN
    _, value = argument_syntax.value(assignment)
    found.refers |= isinstance(value, argument_syntax.Reference)
    if isinstance(value, str):
        found.values[name] = value
        del found.literal[name]
    elif isinstance(value, argument_syntax.Lisp):
        found.literal[name] = lisp.understand(value.text, {})
    elif not isinstance(value, argument_syntax.Reference):
        found.literal[name] = data.to_text(value)
    elif not document.block_named(value.name) and not element_named(document, value.name):
        message = f"no block, table, list or result is named {value.name} in this document"
        found.faults.append(Fault("unknown-name", message, name))


# A possible reference to a variable: a name after a colon.
_COLON = re.compile(r":([^\s:=][^\s:]*)")


class RegionContent:
    """The content of a region's text, independent of position; `parsed` is its parse result."""

    def __init__(
        self, text: str, parsed: syntax.Document, *, in_org: bool, restclients: bool | None
    ) -> None:
        """Store the text of a request file, a part of a request file, or a block `in_org`.

        `restclients` is whether a part's file is in restclient's language.
        """
        self.text = text
        self.parsed = parsed
        self.last_known: tuple[object, Hashable] = (None, None)
        """The last value of `ParsedRegion.known`, after the object that it depends on."""
        self._in_org = in_org
        self._restclients = restclients
        requests = parsed.requests
        self.starts = [one.span.start for one in requests]
        """Where the requests begin."""
        self.captures = frozenset(c.name for one in requests for c in one.captures)
        """The names that the requests capture."""
        self.is_complete = bool(requests) or any(
            isinstance(one, syntax.Import) for one in parsed.items
        )
        """Whether there is something to send."""
        self.begins_with_assertion = any(one.code == "bad-assertion" for one in parsed.problems)
        """Whether there is an assertion above the first request."""

    @cached_property
    def imports(self) -> bool:
        """Whether another file is imported."""
        items = self.parsed.items
        return any(isinstance(item, syntax.Import) and item.path for item in items)

    @cached_property
    def behind_colons(self) -> tuple[str, ...]:
        """The texts that begin with a variable's name, if there is such a variable."""
        return tuple(_COLON.findall(self.text))

    @cached_property
    def restclient(self) -> bool:
        """Whether the text is in restclient's language; else in that of request files."""
        if self._restclients is not None:
            return self._restclients
        items = self.parsed.items
        marks = {one.mark for one in items if isinstance(one, syntax.Definition)}
        requests = self.parsed.requests
        return requests[0].restclient if requests else "@" not in marks

    @cached_property
    def named(self) -> frozenset[str]:
        """The names of a request file's requests, to which others may refer."""
        if self.restclient or self._in_org:
            return frozenset()
        return frozenset(request.name for request in self.parsed.requests if request.name)

    @cached_property
    def scripts(self) -> tuple[Span, ...]:
        """The spans of scripts in the text."""
        requests = self.parsed.requests
        of_requests = (one.span for request in requests for one in request.scripts)
        return (*(one.span for one in self.parsed.scripts), *of_requests)

    @cached_property
    def reads_files(self) -> bool:
        """Whether a body is read from files, which may appear and disappear."""
        bodies = (one.body for one in self.parsed.requests)
        return any(one is not None and (one.file or one.files) for one in bodies)

    @cached_property
    def defines_below(self) -> bool:
        """Whether a variable is defined below the last request."""
        for item in reversed(self.parsed.items):
            if isinstance(item, syntax.ParsedRequest | syntax.Definition):
                return isinstance(item, syntax.Definition)
        return False

    @cached_property
    def sets(self) -> tuple[tuple[str, str, str], ...]:
        """All names that other parts may use: the name, its kind, its value as written."""
        found: list[tuple[str, str, str]] = []
        for item in self.parsed.items:
            if isinstance(item, syntax.Definition):
                found.append((item.name, item.operator, item.value.text))
            elif isinstance(item, syntax.ParsedRequest):
                found += ((one.name, "capture", one.expression) for one in item.captures)
                if item.name and not self.restclient:
                    found.append((item.name, "request", ""))
        return (*found, *((name, "script", "") for name in sorted(self.set_by_scripts)))

    @cached_property
    def links(self) -> tuple[tuple[str | None, frozenset[str]], ...]:
        """The name of each request, and the names of those to which it may refer."""
        if self.restclient or self._in_org:
            return ()
        return tuple((one.name, frozenset(_needs(one))) for one in self.parsed.requests)

    @cached_property
    def needed(self) -> tuple[syntax.Template, ...]:
        """The names of requests that directives and `run` lines need."""
        found: list[syntax.Template] = []
        for item in () if self._in_org else self.parsed.items:
            if isinstance(item, syntax.Import) and item.request is not None and item.path is None:
                found.append(item.request)
            elif isinstance(item, syntax.ParsedRequest):
                found += (x.value for x in item.directives if x.name in ("ref", "force-ref"))
        return tuple(found)

    @cached_property
    def set_by_scripts(self) -> frozenset[str]:
        """The names that scripts set."""
        requests = self.parsed.requests
        scripts = (*self.parsed.scripts, *(one for request in requests for one in request.scripts))
        return frozenset().union(*(set_by(one.text.text) for one in scripts if one.text))

    @cached_property
    def definitions(self) -> frozenset[str]:
        """The names that the text defines."""
        items = self.parsed.items
        return frozenset(item.name for item in items if isinstance(item, syntax.Definition))

    @cached_property
    def set(self) -> frozenset[str]:
        """The names that the text sets, by definitions and captures."""
        return self.captures | self.definitions


def _needs(request: syntax.ParsedRequest) -> Iterator[str]:
    for one in request.directives:
        if one.name in ("ref", "force-ref"):
            yield one.value.text.strip()
    for text in names_in(request):
        found = responses.read(text) or responses.read_short(text)
        if found is not None:
            yield found.name


class ParsedRegion:
    """A parsed region: its requests, its block's settings, its variables' context.

    `captured` is the document's, `index` that of this part. The block's settings are read with
    `read_settings` on first use.
    """

    def __init__(
        self,
        region: regions.Region,
        index: int,
        captured: Captured,
        read_settings: Callable[[], BlockSettings],
        parsed: Parsed,
    ) -> None:
        """Parse a region, unless `parsed` has the cached result."""
        self.region = region
        self.index = index
        self._captured = captured
        self._read_given = read_settings
        self.reading = self._read(parsed)
        self.earlier = captured.digest
        """A cache key for the names that earlier blocks capture, in their order."""
        captured.add(index, self.captures)

    def _read(self, parsed: Parsed) -> RegionContent:
        region = self.region
        names: tuple[str, ...] = ()
        marked = False
        in_org = region.kept is not None
        if in_org and region.language != "restclient":
            names = tuple(self.given.arguments.variables)
            marked = region.in_restclient
        key = (region.text, region.language, names, marked, region.restclients)
        return parsed.get(
            key,
            lambda: RegionContent(
                region.text, region.parse(names), in_org=in_org, restclients=region.restclients
            ),
        )

    @cached_property
    def given(self) -> BlockSettings:
        """The settings of the block around the region."""
        return self._read_given()

    @property
    def parsed(self) -> syntax.Document:
        """The parse result of the region's text."""
        return self.reading.parsed

    @property
    def captures(self) -> frozenset[str]:
        """The names that the region's requests capture."""
        return self.reading.captures

    @property
    def restclient(self) -> bool:
        """Whether the region is in restclient's language; else in that of request files."""
        return self.reading.restclient

    @property
    def named(self) -> frozenset[str]:
        """The names of requests to which those of a request file may refer."""
        return self._captured.named

    @cached_property
    def _own(self) -> frozenset[str]:
        if self.region.kept is None:
            return self._captured.everywhere
        return self.reading.set.union(self.given.values, self.given.literal)

    @property
    def known(self) -> Hashable:
        """A cache key for the names of variables that the region may use after colons."""
        reading = self.reading
        if not reading.behind_colons:
            return None
        given = None if self.region.kept is None else self.given
        depends = given, self.earlier, self._captured.everywhere
        if reading.last_known[0] != depends:
            lengths, texts = self.lengths, reading.behind_colons
            names = {text[:length] for text in texts for length in lengths}
            reading.last_known = depends, frozenset(filter(self.knows, names))
        return reading.last_known[1]

    def sets(self, name: str) -> bool:
        """Return whether the region's own text sets a variable of this name."""
        return name in self.reading.set

    def captures_above(self, name: str) -> bool:
        """Return whether an earlier block captures a variable of this name."""
        return self._captured.first.get(name, self.index) < self.index

    def knows(self, name: str) -> bool:
        """Return whether a variable of this name may be used in the region."""
        return name in self._own or self.captures_above(name)

    @property
    def names(self) -> frozenset[str]:
        """All names of variables that may be used in the region."""
        return self._own.union(filter(self.captures_above, self._captured.first))

    @property
    def lengths(self) -> list[int]:
        """The lengths of these names, the greatest first."""
        if self.region.kept is None:
            return self._captured.all_lengths
        above = {n for n, first in self._captured.lengths.items() if first < self.index}
        return sorted(above.union(map(len, self._own)), reverse=True)

    def context(self, document: values.Context) -> values.Context:
        """Return the region's context within the document's."""
        return document.block(self.given.values, self.given.literal, self.given.directory)

    def request_at(self, offset: int) -> syntax.ParsedRequest | None:
        """Return the request at an offset of the region's text, or None."""
        found = self.parsed.request_at(offset)
        return found if found and found.span.start <= offset <= found.span.end else None
