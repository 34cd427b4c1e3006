"""A parsed region of a document, called a part: its requests, and the context of its variables.

The offsets in a part are relative to the part's own text, so that edits above do not affect them.
All parts share a `Captured` object, which has the data that a part needs from the parts above.
"""

from __future__ import annotations

import contextlib
import re
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from orgrest import classes
from orgrest.http import responses, syntax, values
from orgrest.http.values.references import UNKNOWN, VariableReference, names_in, references
from orgrest.http.values.sources import set_by
from orgrest.model import OrgrestError
from orgrest.org import argument_syntax, blocks, data, lisp
from orgrest.org import arguments as header
from orgrest.org.results import element_named
from orgrest.run.documents.expect import expected_status

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator
    from pathlib import Path

    from orgrest.editor import regions
    from orgrest.editor.regions import VersionCache
    from orgrest.org import document as org
    from orgrest.org.blocks import Block

    Parsed: TypeAlias = VersionCache[
        tuple[str, str | None, tuple[str, ...], bool, bool | None], "RegionContent"
    ]
    """Parse results by cache key, which contains everything that they depend on."""


@classes.frozen
class Fault:
    """An error in a block's header arguments. `variable` is the ``:var`` variable it is about."""

    code: str
    message: str
    variable: str | None = None


class Captured:
    """An index of the variable names that the parts of a document capture.

    - `first` maps each captured name to the index of the first part that captures it.
    - `lengths` maps the length of a name to the index of the first part that captures such a name.
    - `everywhere` contains the names that a request file sets. All of its parts may use them.
    - `colons` contains the names that a request file defines as `:name = value`.
    - `named` contains the names of requests in the file and in imported files.
    """

    def __init__(self) -> None:
        self.colons: frozenset[str] = frozenset()
        self.everywhere: frozenset[str] = frozenset()
        self.named: frozenset[str] = frozenset()
        self.all_lengths: list[int] = []
        self.first: dict[str, int] = {}
        self.lengths: dict[int, int] = {}
        self.digest = 0

    def share(self, parts: Iterable[ParsedRegion], before: Captured | None) -> None:
        """Let all parts of a request file use the names that any of them sets."""
        contents = [part.reading for part in parts]
        self.everywhere = frozenset().union(*[content.set for content in contents])
        if before is not None and before.everywhere == self.everywhere:
            self.everywhere = before.everywhere  # identical objects compare faster
        self.all_lengths = sorted({len(name) for name in self.everywhere}, reverse=True)
        self.named = frozenset().union(*[content.named for content in contents])
        self.colons = frozenset().union(*[content.colons for content in contents])

    def add(self, index: int, names: frozenset[str]) -> None:
        """Add the names that the part with the given `index` captures. Parts are added in order."""
        for name in sorted(names - self.first.keys()) if names else ():
            self.first[name] = index
            self.lengths.setdefault(len(name), index)
            self.digest = hash((self.digest, name))


@classes.define(eq=False)
class BlockSettings:
    """A block's settings for its requests: header arguments, `:var` values and the folder.

    `values`, `literal` and `directory` are arguments of `values.Context.block`. `wrong` maps
    invalid `:var` variables to error messages. `refers` is True if a `:var` value comes from
    another element of the document.
    """

    arguments: blocks.Arguments = classes.field(factory=blocks.Arguments)
    values: dict[str, str] = classes.field(factory=dict)
    literal: dict[str, str] = classes.field(factory=dict)
    directory: Path | None = None
    faults: list[Fault] = classes.field(factory=list)
    wrong: dict[str, str] = classes.field(factory=dict)
    refers: bool = False

    @property
    def inserts_noweb(self) -> bool:
        """Whether ``<<name>>`` in the block is replaced. False if ``:noweb`` is Emacs Lisp."""
        with contextlib.suppress(blocks.ArgumentError):
            return self.arguments.inserts_noweb
        return False


def settings_of(block: Block | None, document: org.OrgDocument, folder: Path) -> BlockSettings:
    """Return the settings of a block or call. Errors in header arguments become `faults`.

    `:var` values can come from elsewhere in `document`. `folder` is the document's folder.
    """
    settings = BlockSettings()
    if block is None:
        return settings
    try:
        settings.arguments = header.of_block(document, block)
    except blocks.ArgumentError as error:
        settings.faults.append(Fault("bad-argument", str(error)))
        return settings
    for name, assignment in settings.arguments.variables.items():
        try:
            _set_variable(settings, name, assignment, document)
        except blocks.ArgumentError as error:
            settings.faults.append(Fault("bad-argument", str(error), name))
            settings.wrong[name] = str(error)
    try:
        expected_status(settings.arguments, None, 0)
    except OrgrestError as error:
        settings.faults.append(Fault("bad-argument", error.reason))
    directory = settings.arguments.values.get("dir")
    if isinstance(directory, str) and directory:
        settings.directory = folder / directory
    return settings


def _set_variable(
    settings: BlockSettings, name: str, assignment: str, document: org.OrgDocument
) -> None:
    settings.literal[name] = UNKNOWN
    _, value = argument_syntax.value(assignment)
    settings.refers |= isinstance(value, argument_syntax.ValueReference)
    if isinstance(value, str):
        settings.values[name] = value
        del settings.literal[name]
    elif isinstance(value, blocks.Lisp):
        settings.literal[name] = lisp.understand(value.text, {})
    elif not isinstance(value, argument_syntax.ValueReference):
        settings.literal[name] = data.to_text(value)
    elif not (
        document.block_named(value.name)
        or document.call_named(value.name)
        or element_named(document, value.name)
    ):
        message = f"no block, table, list or result named {value.name} in this document"
        settings.faults.append(Fault("unknown-name", message, name))


# A name after a colon may be a reference to a variable.
_COLON = re.compile(r":([^\s:=][^\s:]*)")


class RegionContent:
    """The content of a region, independent of its position. `parsed` is its parse result."""

    def __init__(
        self, text: str, parsed: syntax.Document, *, in_org: bool, restclients: bool | None
    ) -> None:
        """Index the parse result of a request file, a part of one, or an Org block (`in_org`).

        For a part of a request file, `restclients` says whether the file uses restclient's syntax.
        """
        self.text = text
        self.parsed = parsed
        self.last_known: tuple[object, Hashable] = (None, None)
        """The inputs and the result of the last computation of `ParsedRegion.known`."""
        self._in_org = in_org
        self._restclients = restclients
        requests = parsed.requests
        self.starts = [request.span.start for request in requests]
        """The offsets at which the requests begin."""
        self.captures = frozenset(c.name for request in requests for c in request.captures)
        """The names of the variables that the requests capture."""
        self.is_complete = bool(requests) or any(
            isinstance(item, syntax.Import) for item in parsed.items
        )
        """Whether the text has a request or an import, and therefore something to send."""
        self.begins_with_assertion = any(
            problem.code == "bad-assertion" for problem in parsed.problems
        )
        """Whether there is an assertion above the first request."""

    @cached_property
    def imports(self) -> bool:
        """Whether the text imports another file."""
        items = self.parsed.items
        return any(isinstance(item, syntax.Import) and item.path for item in items)

    @cached_property
    def behind_colons(self) -> tuple[str, ...]:
        """The words directly after colons, each of which may begin with the name of a variable."""
        return tuple(_COLON.findall(self.text))

    @cached_property
    def restclient(self) -> bool:
        """Whether the text is in restclient's language, not in the language of request files."""
        if self._restclients is not None:
            return self._restclients
        if requests := self.parsed.requests:
            return requests[0].restclient
        return all(definition.mark != "@" for definition in self._definitions)

    @cached_property
    def named(self) -> frozenset[str]:
        """The names of a request file's requests, which other requests may refer to."""
        if self.restclient or self._in_org:
            return frozenset()
        return frozenset(request.name for request in self.parsed.requests if request.name)

    @cached_property
    def code(self) -> tuple[tuple[str, int], ...]:
        """The JavaScript of scripts and of `?? js` assertions, as (code, offset) pairs.

        For an assertion, the offset is its start, which is on the same line as the code.
        """
        spans = (script.span for script in self.scripts)
        scripts = ((self.text[span.start : span.end], span.start) for span in spans)
        asserted = (
            (assertion.path, assertion.span.start)
            for request in self.parsed.requests
            for assertion in request.assertions
            if assertion.subject == "js"
        )
        return (*scripts, *asserted)

    @cached_property
    def scripts(self) -> tuple[syntax.Script, ...]:
        """The scripts of the text and of its requests."""
        of_requests = (script for request in self.parsed.requests for script in request.scripts)
        return (*self.parsed.scripts, *of_requests)

    @cached_property
    def reads_files(self) -> bool:
        """Whether a body is read from a file, which may appear or disappear at any time.

        If so, problems and links are not reused.
        """
        bodies = (request.body for request in self.parsed.requests)
        return any(body is not None and (body.file or body.files) for body in bodies)

    @cached_property
    def defines_below(self) -> bool:
        """Whether a variable is defined below the last request."""
        for item in reversed(self.parsed.items):
            if isinstance(item, syntax.ParsedRequest | syntax.Definition):
                return isinstance(item, syntax.Definition)
        return False

    @cached_property
    def sets(self) -> tuple[tuple[str, str, str], ...]:
        """All names in this text that other parts can use, as (name, kind, value as written).

        These are names of requests, and variables that the text defines or captures or that scripts
        set.
        """
        settings: list[tuple[str, str, str]] = []
        for item in self.parsed.items:
            if isinstance(item, syntax.Definition):
                settings.append((item.name, item.operator, item.value.text))
            elif isinstance(item, syntax.ParsedRequest):
                settings += (
                    (capture.name, "capture", capture.expression) for capture in item.captures
                )
                if item.name and not self.restclient:
                    settings.append((item.name, "request", ""))
        return (*settings, *((name, "script", "") for name in sorted(self.set_by_scripts)))

    @cached_property
    def links(self) -> tuple[tuple[str | None, frozenset[str]], ...]:
        """The name of each request, with the names of the requests that it may refer to."""
        if self.restclient or self._in_org:
            return ()
        return tuple((request.name, frozenset(_needs(request))) for request in self.parsed.requests)

    @cached_property
    def needed(self) -> tuple[syntax.Template, ...]:
        """The names of the requests that directives and `run` lines refer to, as templates.

        `run` lines that refer to a file are left out.
        """
        names: list[syntax.Template] = []
        for item in () if self._in_org else self.parsed.items:
            if isinstance(item, syntax.Import) and item.request is not None and item.path is None:
                names.append(item.request)
            elif isinstance(item, syntax.ParsedRequest):
                names += (x.value for x in item.directives if x.name in ("ref", "force-ref"))
        return tuple(names)

    @cached_property
    def set_by_scripts(self) -> frozenset[str]:
        """The names of the variables that scripts set."""
        texts = (script.text.text for script in self.scripts if script.text)
        return frozenset().union(*map(set_by, texts))

    @cached_property
    def _definitions(self) -> list[syntax.Definition]:
        return [item for item in self.parsed.items if isinstance(item, syntax.Definition)]

    @cached_property
    def definitions(self) -> frozenset[str]:
        """The names of the variables that the text defines."""
        return frozenset(definition.name for definition in self._definitions)

    @cached_property
    def colons(self) -> frozenset[str]:
        """The names of the variables that the text defines as `:name = value`."""
        return frozenset(each.name for each in self._definitions if each.mark == ":")

    @cached_property
    def set(self) -> frozenset[str]:
        """The names of the variables that the text sets in definitions, captures and directives."""
        directives = (each for request in self.parsed.requests for each in request.directives)
        by_directives = {each.sets[0] for each in directives if each.sets}
        return self.captures.union(self.definitions, by_directives)


def _needs(request: syntax.ParsedRequest) -> Iterator[str]:
    for directive in request.directives:
        if directive.name in ("ref", "force-ref"):
            yield directive.value.text.strip()
    for text in names_in(request):
        reference = responses.read(text) or responses.read_short(text)
        if reference is not None:
            yield reference.name


class ParsedRegion:
    """A parsed region: its requests, its block's settings, and the context of its variables.

    All parts of a document share `captured`. `index` is the index of this part. `read_settings`
    reads the block's settings on first use.
    """

    def __init__(
        self,
        region: regions.Region,
        index: int,
        captured: Captured,
        read_settings: Callable[[regions.Region], BlockSettings],
        parsed: Parsed,
    ) -> None:
        """Parse a region, unless its parse result is cached in `parsed`."""
        self.region = region
        self.index = index
        self._captured = captured
        self._read_settings = read_settings
        self._given: BlockSettings | None = None
        self.reading = self._read(parsed)
        self.earlier = captured.digest
        """A cache key for the names that earlier blocks capture, and for their order."""
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

    @property
    def given(self) -> BlockSettings:
        """The settings of the block around the region."""
        if self._given is None:
            self._given = self._read_settings(self.region)
        return self._given

    @property
    def parsed(self) -> syntax.Document:
        """The parse result of the region's text."""
        return self.reading.parsed

    @property
    def captures(self) -> frozenset[str]:
        """The names of the variables that the region's requests capture."""
        return self.reading.captures

    @property
    def restclient(self) -> bool:
        """Whether the region is in restclient's language, not in the language of request files."""
        return self.reading.restclient

    @property
    def named(self) -> frozenset[str]:
        """The names of the requests that a region of a request file may refer to."""
        return self._captured.named

    @cached_property
    def _own(self) -> frozenset[str]:
        if self.region.kept is None:
            return self._captured.everywhere
        return self.reading.set.union(self.given.values, self.given.literal)

    @property
    def known(self) -> Hashable:
        """A cache key: the names of known variables that occur in the region as `:name`."""
        reading = self.reading
        if not reading.behind_colons:
            return None
        settings = None if self.region.kept is None else self.given
        depends = settings, self.earlier, self._captured.everywhere
        if reading.last_known[0] != depends:
            lengths, texts = self.lengths, reading.behind_colons
            names = {text[:length] for text in texts for length in lengths}
            reading.last_known = depends, frozenset(filter(self.knows, names))
        return reading.last_known[1]

    def sets(self, name: str) -> bool:
        """Return whether the region's own text sets a variable called `name`."""
        return name in self.reading.set

    def captures_above(self, name: str) -> bool:
        """Return whether an earlier block captures a variable called `name`."""
        return self._captured.first.get(name, self.index) < self.index

    def knows(self, name: str) -> bool:
        """Return whether the region may use a variable called `name`."""
        return name in self._own or self.captures_above(name)

    @property
    def names(self) -> frozenset[str]:
        """The names of all variables that the region may use."""
        return self._own.union(filter(self.captures_above, self._captured.first))

    def references(self, template: syntax.Template) -> Iterator[VariableReference]:
        """Yield the references to variables in a template of the region.

        In request files, `:name` only refers to a variable that is defined as `:name = value`.
        """
        colons = self._captured.colons if self.region.kept is None else self.reading.colons
        defined = self.knows if self.restclient else colons.__contains__
        stop = len(template.text)
        return references(template.text, 0, stop, self.lengths, defined, restclient=self.restclient)

    @property
    def lengths(self) -> list[int]:
        """The lengths of the variable names that the region may use, greatest first."""
        if self.region.kept is None:
            return self._captured.all_lengths
        above = {n for n, first in self._captured.lengths.items() if first < self.index}
        return sorted(above.union(map(len, self._own)), reverse=True)

    def context(self, document: values.Context) -> values.Context:
        """Return the region's context for expanding requests, based on that of its document."""
        return document.block(self.given.values, self.given.literal, self.given.directory)

    def request_at(self, offset: int) -> syntax.ParsedRequest | None:
        """Return the request at an offset in the region's text, or None."""
        request = self.parsed.request_at(offset)
        return request if request and request.span.reaches(offset) else None
