"""The occurrences of names: variables of requests, and named elements of Org documents.

They are used for finding definitions and references, and for renaming. The variables of a request
file are visible in the whole file. The scope of an Org block's variables consists of the block, the
`:var` assignments in its header arguments, and the arguments of calls to the block. Variables that
the block captures are also visible in the blocks below it, and a variable that `:var` sets in a
property is visible in all blocks that inherit the property. Names of elements are visible in the
whole document and are case-insensitive.
"""

from __future__ import annotations

import itertools
import re
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from orgrest import classes
from orgrest.editor.analysis import Analysis
from orgrest.editor.arguments import assignments, called_at, of_properties, texts_of
from orgrest.editor.regions import VersionCache
from orgrest.editor.request_files import referred
from orgrest.http import syntax
from orgrest.http.values.references import (
    is_computed,
    is_expression,
    names_of,
    root_of,
    used_in,
)
from orgrest.model import OrgrestError, Span
from orgrest.org import argument_syntax, lisp
from orgrest.org import document as org
from orgrest.org.text import Edit, apply

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.editor.used_files import Location
    from orgrest.org.reader import Section

Role: TypeAlias = Literal["definition", "capture", "argument", "use"]

_NAMED = re.compile(
    r"[ \t]*#\+(name|tblname|srcname|source|label|data|resname|results?)(?:\[[^\]]*\])?:"
    r"[ \t]*(\S.*)",
    re.IGNORECASE,
)
_NOWEB = re.compile(r"<<([^\s<>()]+(?:[ \t]+[^\s<>()]+)*)(?:\(([^\n<>]*)\))?>>")
_TARGET = re.compile(r"([^\W\d][^\s\[\](),\"']*)(?:\[[^\]]*\])?(?:\(([^\n]*)\))?")
_POST = re.compile(r":post[ \t]+([^\s(\[]+)(?:\(([^\n]*)\))?")
_NAMING = frozenset({"name", "ref", "force-ref"})
# The variables in `{{$processEnv %name}}` and in JetBrains' `{{$.name..path}}`.
_IN_DYNAMIC = re.compile(r"\$(?:(?:dotenv|processEnv)\s+%|\.)([A-Za-z_][\w-]*)")
_GOOD_VARIABLE = re.compile(r"[^\W\d][\w-]*")
_GOOD_NAME = re.compile(r"[^\s\[\](){}<>\",=:']+")


class RenameError(OrgrestError):
    """Raised if a name cannot be renamed as requested. The message says why."""


@classes.frozen
class Occurrence:
    """One occurrence of a name in the text, without delimiters such as `:` or `{{ }}`.

    `part` is the index of the region to which a variable belongs. It is -1 for a variable that
    several regions share, and None for the name of an element.
    """

    name: str
    span: Span
    role: Role
    part: int | None = None
    request: bool = False
    """Whether the name is that of a request in a request file, as opposed to a variable."""


@classes.frozen
class _Mention:
    """An occurrence of an Org element's name.

    For a call, `given` contains the arguments of the call, and `given_start` is their offset.
    """

    name: str
    start: int
    role: Role
    given: str | None = None
    given_start: int = 0


class Names:
    """All names in a document and their occurrences, found on first use."""

    def __init__(self, analysis: Analysis, before: Names | None = None) -> None:
        """Prepare to search `analysis` for names. The search itself happens on first use.

        `before` belongs to an earlier version of the document. The names of elements that
        it found in unchanged sections are reused.
        """
        self.analysis = analysis
        self._of_parts: dict[int, list[Occurrence]] = {}
        self._of_sections: VersionCache[Section, list[_Mention]] = VersionCache(
            before._of_sections if before else None
        )

    @property
    def variables(self) -> list[Occurrence]:
        """The occurrences of variables, both definitions and uses."""
        in_parts = (occurrence for part in self.analysis.parts for occurrence in self.in_part(part))
        return [*in_parts, *self._set_by_properties, *self._arguments_of_calls]

    def in_part(self, part: ParsedRegion) -> list[Occurrence]:
        """Return the occurrences of variables and of requests' names in a part."""
        if part.index not in self._of_parts:
            self._of_parts[part.index] = list(self._look_into(part))
        return self._of_parts[part.index]

    def _look_into(self, part: ParsedRegion) -> Iterator[Occurrence]:
        region, index = part.region, part.index
        for name, start, role in _of_items(part):
            at = region.to_file(start)
            yield Occurrence(name, Span(at, at + len(name)), role, index)
        for name, start, role in _of_requests(part):
            at = region.to_file(start)
            yield Occurrence(name, Span(at, at + len(name)), role, index, request=True)
        document = self.analysis.document
        if region.block is not None and document is not None:
            for text, start in texts_of(document, region.block):
                for assignment in assignments(text):
                    span = Span(start + assignment.start, start + assignment.end)
                    yield Occurrence(assignment.name, span, "argument", index)

    @cached_property
    def _set_by_properties(self) -> list[Occurrence]:
        return [
            Occurrence(
                assignment.name,
                Span(start + assignment.start, start + assignment.end),
                "argument",
                -1,
            )
            for text, start, _ in self.analysis.property_texts
            for assignment in assignments(text)
        ]

    # ------------------------------------------------------------------------------ elements

    @cached_property
    def elements(self) -> list[Occurrence]:
        """The occurrences of names of blocks, tables and other Org elements."""
        return [
            Occurrence(
                mention.name,
                Span(start + mention.start, start + mention.start + len(mention.name)),
                mention.role,
            )
            for mention, start in self._mentions()
        ]

    @cached_property
    def _arguments_of_calls(self) -> list[Occurrence]:
        targets = {
            part.region.kept.name.lower(): part.index
            for part in reversed(self.analysis.parts)
            if part.region.kept is not None and part.region.kept.name
        }
        occurrences: list[Occurrence] = []
        for mention, start in self._mentions():
            if mention.given is None or (target := targets.get(mention.name.lower())) is None:
                continue
            at = start + mention.given_start
            for piece in argument_syntax.split(mention.given, ",", ""):
                argument = piece.partition("=")[0].strip()
                if argument and "=" in piece:
                    here = at + piece.index(argument)
                    span = Span(here, here + len(argument))
                    occurrences.append(Occurrence(argument, span, "argument", target))
                at += len(piece) + 1
        return occurrences

    def _mentions(self) -> Iterator[tuple[_Mention, int]]:
        """Yield each mention of an Org element, together with the start of its section."""
        document = self.analysis.document
        if document is None:
            return
        for placed in document.sections:
            find = partial(_mentions, document, placed)
            for mention in self._of_sections.get(placed.section, find):
                yield mention, placed.start

    # ------------------------------------------------------------------------------- answers

    def at(self, offset: int) -> Occurrence | None:
        """Return the occurrence of a name at an offset, or None."""
        part = self.analysis.part_at(offset)
        # Usually the name is in this part, so the rest of a long document need not be parsed.
        near = self.in_part(part) if part is not None else []
        for occurrence in itertools.chain(near, self._elsewhere()):
            if occurrence.span.start <= offset <= occurrence.span.end:
                return occurrence
        return None

    def _elsewhere(self) -> Iterator[Occurrence]:
        yield from self._set_by_properties
        yield from self._arguments_of_calls
        yield from self.elements

    def same(self, name: Occurrence) -> list[Occurrence]:
        """Return all occurrences of the same variable, request or element, in document order."""
        if name.part is None:
            folded = name.name.lower()
            occurrences = [
                occurrence for occurrence in self.elements if occurrence.name.lower() == folded
            ]
        else:
            parts = self._parts_of(name.name, name.part)
            elsewhere = (*self._set_by_properties, *self._arguments_of_calls)
            of_parts = (
                occurrence
                for at in parts
                if at >= 0
                for occurrence in self.in_part(self.analysis.parts[at])
            )
            occurrences = [
                occurrence
                for occurrence in of_parts
                if occurrence.name == name.name and occurrence.request == name.request
            ]
            occurrences += (
                occurrence
                for occurrence in elsewhere
                if occurrence.name == name.name and occurrence.part in parts
            )
        return sorted(dict.fromkeys(occurrences), key=lambda occurrence: occurrence.span.start)

    def _parts_of(self, name: str, index: int) -> frozenset[int]:
        """Return the indexes of the parts in which a name means the same as in the part `index`."""
        parts = self.analysis.parts
        if self.analysis.kind == "http":
            return frozenset(part.index for part in parts if name in part.region.text)
        # an argument of a call refers to the variable whose value it replaces
        own = {part.index for part in parts if self._is_set_by(part, name)}
        inherited = any(name in text for text, _, _ in self.analysis.property_texts)
        inherits = {
            part.index
            for part in parts
            if part.index not in own
            and (inherited or _is_in_arguments(part, name))
            and name in part.given.arguments.variables
        }
        if index in inherits or index == -1:
            return frozenset(inherits | {-1})
        if not self.analysis.is_captured(name):
            return frozenset({index})
        shares = {
            part.index
            for part in parts
            if name in part.captures
            or (part.captures_above(name) and part.index not in own and part.index not in inherits)
        }
        return frozenset(shares) if index in shares else frozenset({index})

    def _is_set_by(self, part: ParsedRegion, name: str) -> bool:
        """Return whether a part or the `:var` arguments of its block define the variable `name`."""
        if name in part.reading.definitions:
            return True
        if not _is_in_arguments(part, name):
            return False
        document, block = self.analysis.document, part.region.block
        if document is None or block is None:
            return False
        texts = texts_of(document, block)
        return any(assignment.name == name for text, _ in texts for assignment in assignments(text))

    def part(self, name: Occurrence) -> ParsedRegion | None:
        """Return a part in which the variable `name` can be evaluated, or None.

        For a variable that a property sets, this is the first part that inherits the property. For
        the name of an element, returns None.
        """
        if name.part == -1:
            inheriting = self._parts_of(name.name, -1) - {-1}
            return self.analysis.parts[min(inheriting)] if inheriting else None
        return None if name.part is None else self.analysis.parts[name.part]

    def definitions(self, name: Occurrence) -> list[Occurrence]:
        """Return a list with one definition of `name`: the closest at or above this occurrence.

        If all definitions are below the occurrence, or if it is the name of an element, the list
        contains all definitions.
        """
        definitions = [occurrence for occurrence in self.same(name) if occurrence.role != "use"]
        above = [
            occurrence for occurrence in definitions if occurrence.span.start <= name.span.start
        ]
        return above[-1:] if above and name.part is not None else definitions

    def in_file(self, name: Occurrence) -> Location | None:
        """Return the location where a name is defined in another file, or None.

        If a request is named by a `### name` line, this is the location of the name in that line.
        """
        if name.part is None or self.analysis.kind != "http" or self.definitions(name):
            return None
        if name.request:
            request = self.analysis.request_named(name.name, name.span.start)
            return request[1] if request else None
        return self.analysis.variable_imported(name.name)

    def rename(self, name: Occurrence, new: str) -> list[Edit]:
        """Return the edits that rename all occurrences of a name.

        Raises RenameError if `new` is not a valid name or already exists, if the name is not
        defined in this document, if a script may use the name, or if the edits would change the
        meaning of other text.
        """
        new = new.removeprefix(":") if name.part is not None else new
        good = _GOOD_NAME if name.part is None else _GOOD_VARIABLE
        if not good.fullmatch(new):
            what = (
                "names cannot contain whitespace, brackets, quotes, colons, commas or ="
                if name.part is None
                else "variable names consist of letters, digits, _ and -, and do not start "
                "with a digit"
            )
            raise RenameError(f"invalid name {new!r}: {what}")
        places = self.same(name)
        if new == name.name:
            return []
        if not any(place.role != "use" for place in places):
            where = self.in_file(name)
            if where is not None and self.analysis.imports is not None:
                raise RenameError(f"{name.name} is defined in {where}: rename it there")
            raise RenameError(f"{name.name} is not defined in this document")
        edits = [Edit(place.span.start, place.span.end, new) for place in places]
        if self._is_taken(name, new):
            raise RenameError(f"{new} already exists: choose another name")
        self._check_scripts(name)
        self._check_meaning(places, edits, new)
        return edits

    def _is_taken(self, name: Occurrence, new: str) -> bool:
        if name.part is None:
            folded = new.lower()
            return folded != name.name.lower() and any(
                element.name.lower() == folded for element in self.elements
            )
        if name.request:
            return new in self.analysis.named
        parts = {occurrence.part for occurrence in self.same(name)}
        return any(part.knows(new) for i, part in enumerate(self.analysis.parts) if i in parts)

    def _check_scripts(self, name: Occurrence) -> None:
        """Raise RenameError if a script or `?? js` may use the variable or request `name`."""
        if name.part is None:
            return
        camel = re.sub("-([a-z])", lambda match: match[1].upper(), name.name)  # as in httpyac
        names = {name.name, camel, *((f"{name.name}Response",) if name.request else ())}
        in_file = self.analysis.kind == "http"
        indexes = None if in_file else self._parts_of(name.name, name.part)
        for part in self.analysis.parts:
            for code, start in (
                part.reading.code if indexes is None or part.index in indexes else ()
            ):
                at = used_in(code, names)
                if at is not None:
                    line = self.analysis.text.count("\n", 0, part.region.to_file(start + at)) + 1
                    raise RenameError(
                        f"the JavaScript on line {line} also uses {name.name}: "
                        "change it there first"
                    )

    def _check_meaning(self, places: list[Occurrence], edits: list[Edit], new: str) -> None:
        """Raise RenameError if the edits would change the meaning of other text.

        The meaning changes if, after the edits, the new name does not occur as many times as there
        are `places`. For example, other text may already contain the new name.
        """
        analysis = self.analysis
        after = Names(Analysis(apply(analysis.text, edits), analysis.kind, before=analysis), self)
        moved = after.at(places[0].span.start)
        if moved is None or len(after.same(moved)) != len(places):
            raise RenameError(
                f"the new name {new} would change what other text, such as :{new}, refers to: "
                "choose another name"
            )


def _is_in_arguments(part: ParsedRegion, name: str) -> bool:
    block = part.region.kept
    if block is None:
        return False
    return name in block.arguments or (
        bool(block.headers) and any(name in x for x in block.headers)
    )


def _mentions(document: org.OrgDocument, placed: org.Placed) -> list[_Mention]:
    """Return the mentions of Org elements in a section. Offsets are relative to its start."""
    base, first, blocks = placed.start, placed.line, placed.blocks
    last = placed.end
    inside = {
        at for block in blocks if block.kind == "block" for at in range(block.first, block.last)
    }
    mentions: list[_Mention] = []
    for number in range(first, last):
        line = document.lines[number]
        if "#+" in line and number not in inside and (match := _NAMED.match(line)):
            role: Role = "use" if match[1].lower().startswith("result") else "definition"
            at = document.offset(number) + match.start(2)
            mentions.append(_Mention(match[2].rstrip(), at, role))
    for text, start, _ in of_properties(document, first, last):
        mentions += _in_arguments(text, start)
    for block in blocks:
        for text, start in texts_of(document, block):
            mentions += _in_arguments(text, start)
        if block.call is not None:
            at = called_at(document.text, block)
            given = document.text.index("(", at + len(block.call.name) + len(block.call.inside))
            mentions.append(_Mention(block.call.name, at, "use", block.call.arguments, given + 1))
        elif block.kind == "block":
            begin, end = document.offset(block.first), document.offset(block.last)
            mentions += (
                _Mention(match[1], match.start(1), "use", match[2], match.start(2))
                for match in _NOWEB.finditer(document.text, begin, end)
            )
    return [
        classes.evolve(mention, start=mention.start - base, given_start=mention.given_start - base)
        for mention in mentions
    ]


def _in_arguments(text: str, start: int) -> Iterator[_Mention]:
    """Yield a mention for each reference to a named Org element in header arguments."""
    for assignment in assignments(text):
        if lisp.NUMBER.fullmatch(assignment.value.split(None, 1)[0] if assignment.value else ""):
            continue
        if match := _TARGET.match(assignment.value):
            at = start + assignment.value_start
            yield _Mention(match[1], at, "use", match[2], at + match.start(2))
    for match in _POST.finditer(text):
        yield _Mention(match[1], start + match.start(1), "use", match[2], start + match.start(2))


def _templates(part: ParsedRegion) -> Iterator[syntax.Template]:
    """Yield the templates in a region, that is, the texts in which variables are replaced."""
    for item in part.parsed.items:
        if isinstance(item, syntax.Definition):
            yield item.value
        elif isinstance(item, syntax.ParsedRequest):
            yield item.target
            for line in item.headers:
                if isinstance(line, syntax.HeaderLine):
                    yield line.name
                    yield line.value
            if item.body is not None:
                yield item.body.file or item.body.template
                yield from (file.path for file in item.body.files)
            yield from item.expanded_after


def _references(part: ParsedRegion) -> Iterator[tuple[str, int]]:
    """Yield (name or expression, offset) for each reference to a name in a region."""
    for template in _templates(part):
        for reference in part.references(template):
            if reference.literal is None:
                yield reference.name, template.offset(reference.at)
    for request in part.parsed.requests:
        yield from filter(None, map(_expression, request.directives))


def _expression(directive: syntax.Directive) -> tuple[str, int] | None:
    """Return the name or expression that a directive evaluates, with its offset, or None."""
    text = directive.value.text
    if directive.name == "disabled" and text:
        return text, directive.value.offset(0)
    loop = syntax.LOOP.fullmatch(text) if directive.name == "loop" else None
    if loop is None or loop["count"]:
        return None
    group = "list" if loop["list"] else "condition"
    return loop[group], directive.value.offset(loop.start(group))


def _of_items(part: ParsedRegion) -> Iterator[tuple[str, int, Role]]:
    """Yield (name, offset, role) for each occurrence of a variable in a region's text."""
    text = part.region.text
    for name, at in _references(part):
        is_other = name.startswith("$") or referred(name, part.named) is not None
        if not part.restclient and is_expression(name, part.names):
            for inner, index in names_of(name):
                if inner in part.names:
                    yield inner, at + index, "use"
        elif part.restclient or not is_other:
            yield name, at, "use"
        elif (inside := _IN_DYNAMIC.match(name)) and inside[1] in part.names:
            yield inside[1], at + inside.start(1), "use"
    for item in part.parsed.items:
        if isinstance(item, syntax.Definition):
            yield item.name, item.name_span.end - len(item.name), "definition"
        elif isinstance(item, syntax.Import) and item.path is None:  # run #request (@name=value)
            for name, _ in item.values:
                pattern = re.compile(rf"[(,][ \t]*@({re.escape(name)})[ \t]*=")
                if given := pattern.search(text, item.span.start):
                    yield name, given.start(1), "use"
        elif isinstance(item, syntax.ParsedRequest):
            for line in item.headers:
                if isinstance(line, syntax.HeaderVariable):
                    yield line.name, text.index(line.name, line.span.start), "use"
            for capture in item.captures if item.restclient else ():
                yield capture.name, capture.span.start + 1, "capture"
            for directive in item.directives:
                if directive.sets:
                    kind: Role = "capture" if directive.name == "env-json-key" else "definition"
                    yield *directive.sets, kind


def _of_requests(part: ParsedRegion) -> Iterator[tuple[str, int, Role]]:
    """Yield (name, offset, role) for each occurrence of a request's name in a region's text."""
    if not part.named:
        return
    for text, at in _references(part):
        name = referred(text, part.named)
        if name is not None and not is_computed(text):
            yield name, at, "use"
        elif is_computed(text) or root_of(text) is not None:
            for inner, index in names_of(text):
                name = inner if inner in part.named else inner.removesuffix("Response")
                if name in part.named and (name == inner or inner not in part.names):
                    yield name, at + index, "use"
    for item in part.parsed.items:
        if isinstance(item, syntax.Import) and item.request and item.request.text in part.named:
            yield item.request.text, item.request.offset(0), "use"
    for request in part.parsed.requests:
        for directive in request.directives:
            role: Role = "definition" if directive.name == "name" else "use"
            name = directive.value.text.strip()
            if directive.name in _NAMING and name in part.named:
                yield name, directive.value.offset(directive.value.text.index(name)), role
