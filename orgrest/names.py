"""Where names stand: variables of requests and named elements of Org documents.

For an editor that goes to a definition, lists references or renames. Variables of a request file
are known in all of it. Those of an Org block belong to the block, with the `:var`s above it and the
arguments with which others call it; what a block captures is known in the blocks below it, too, and
a `:var` of a property line in all blocks that inherit it. Names of elements are known in the whole
document, in any case.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from orgrest import arguments as header
from orgrest import lisp, org, syntax, variables
from orgrest.analysis import Analysis, Part, assignments, called_at
from orgrest.model import OrgrestError, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

Role: TypeAlias = Literal["definition", "capture", "argument", "use"]

_NAMED = re.compile(
    r"[ \t]*#\+(name|tblname|srcname|source|label|data|resname|results?)(?:\[[^\]]*\])?:"
    r"[ \t]*(\S.*)",
    re.IGNORECASE,
)
_NOWEB = re.compile(r"<<([^\s<>()]+(?:[ \t]+[^\s<>()]+)*)(?:\(([^\n<>]*)\))?>>")
_TARGET = re.compile(r"([^\W\d][^\s\[\](),\"']*)(?:\[[^\]]*\])?(?:\(([^\n]*)\))?")
_POST = re.compile(r":post[ \t]+([^\s(\[]+)(?:\(([^\n]*)\))?")
_GOOD_VARIABLE = re.compile(r"[^\W\d][\w-]*")
_GOOD_NAME = re.compile(r"[^\s\[\](){}<>\",=:']+")


class RenameError(OrgrestError):
    """A name that cannot be changed into that one; the text says why."""


@attrs.frozen
class Occurrence:
    """A name where it stands, without the marks around it.

    `part` is the index of the region to which a variable belongs: -1 where it is set for several,
    None for the name of an element.
    """

    name: str
    span: Span
    role: Role
    part: int | None = None


class Names:
    """All names of a document and their places."""

    def __init__(self, analysis: Analysis) -> None:
        """Look for names in what `analysis` has read."""
        self.analysis = analysis

    @cached_property
    def variables(self) -> list[Occurrence]:
        """Variables, where they are set and used."""
        properties = self._set_by_properties()
        return [*self._in_parts, *properties, *self._arguments_of_calls]

    @cached_property
    def _in_parts(self) -> list[Occurrence]:
        parts = enumerate(self.analysis.parts)
        return [one for index, part in parts for one in self._in_part(index, part)]

    def _in_part(self, index: int, part: Part) -> Iterator[Occurrence]:
        region = part.region
        for name, start, role in _of_items(part):
            at = region.to_file(start)
            yield Occurrence(name, Span(at, at + len(name)), role, index)
        if region.block is not None:
            for text, start in self.analysis.argument_texts(region.block):
                for one in assignments(text):
                    span = Span(start + one.start, start + one.end)
                    yield Occurrence(one.name, span, "argument", index)

    def _set_by_properties(self) -> Iterator[Occurrence]:
        for text, start, _ in self.analysis.property_texts:
            for one in assignments(text):
                span = Span(start + one.start, start + one.end)
                yield Occurrence(one.name, span, "argument", -1)

    # ------------------------------------------------------------------------------ elements

    @cached_property
    def elements(self) -> list[Occurrence]:
        """Names of blocks, tables and other elements."""
        return self._elements_and_arguments[0]

    @cached_property
    def _arguments_of_calls(self) -> list[Occurrence]:
        return self._elements_and_arguments[1]

    @cached_property
    def _elements_and_arguments(self) -> tuple[list[Occurrence], list[Occurrence]]:
        document = self.analysis.document
        names: list[Occurrence] = []
        arguments: list[Occurrence] = []
        if document is None:
            return names, arguments
        targets = {
            part.region.block.name.lower(): index
            for index, part in reversed(list(enumerate(self.analysis.parts)))
            if part.region.block is not None and part.region.block.name
        }
        for name, start, role, given in self._mentions(document):
            names.append(Occurrence(name, Span(start, start + len(name)), role))
            target = targets.get(name.lower())
            if given is None or target is None:
                continue
            at = given[1]
            for piece in header.split(given[0], ",", ""):
                argument = piece.partition("=")[0].strip()
                if argument and "=" in piece:
                    here = at + piece.index(argument)
                    span = Span(here, here + len(argument))
                    arguments.append(Occurrence(argument, span, "argument", target))
                at += len(piece) + 1
        return names, arguments

    def _mentions(
        self, document: org.Document
    ) -> Iterator[tuple[str, int, Role, tuple[str, int] | None]]:
        """Yield the mentions of elements: name, offset, role, and the arguments of a call."""
        inside = [False] * (len(document.lines) + 1)
        for block in document.blocks:
            if block.kind == "block":
                inside[block.first : block.last] = [True] * (block.last - block.first)
        for number, line in enumerate(document.lines):
            if "#+" in line and not inside[number] and (match := _NAMED.match(line)):
                role: Role = "use" if match[1].lower().startswith("result") else "definition"
                yield match[2].rstrip(), document.offset(number) + match.start(2), role, None
        for text, start, _ in self.analysis.property_texts:
            yield from _in_arguments(text, start)
        for block in document.blocks:
            for text, start in self.analysis.argument_texts(block):
                yield from _in_arguments(text, start)
            if block.call is not None:
                at = called_at(document.text, block)
                given = document.text.index("(", at + len(block.call.name) + len(block.call.inside))
                yield block.call.name, at, "use", (block.call.arguments, given + 1)
            elif block.kind == "block":
                first, last = document.offset(block.first), document.offset(block.last)
                for match in _NOWEB.finditer(document.text, first, last):
                    call = None if match[2] is None else (match[2], match.start(2))
                    yield match[1], match.start(1), "use", call

    # ------------------------------------------------------------------------------- answers

    def at(self, offset: int) -> Occurrence | None:
        """Return the name around an offset, or None."""
        for one in (*self.variables, *self.elements):
            if one.span.start <= offset <= one.span.end:
                return one
        return None

    def same(self, name: Occurrence) -> list[Occurrence]:
        """Return all places of what `name` names, in the order of the text."""
        if name.part is None:
            folded = name.name.lower()
            found = [one for one in self.elements if one.name.lower() == folded]
        else:
            parts = self._parts_of(name.name, name.part)
            found = [one for one in self.variables if one.name == name.name and one.part in parts]
        return sorted(dict.fromkeys(found), key=lambda one: one.span.start)

    def _parts_of(self, name: str, index: int) -> frozenset[int]:
        """Return the parts in which a name means the same as in one of them."""
        parts = self.analysis.parts
        if self.analysis.kind == "http":
            return frozenset({0})
        own = {
            one.part
            for one in self._in_parts  # a call's argument means the variable that it replaces
            if one.name == name and one.role in ("definition", "argument")
        }
        inherits = {
            number
            for number, part in enumerate(parts)
            if number not in own and name in part.arguments.variables
        }
        if index in inherits or index == -1:
            return frozenset(inherits | {-1})
        shares = {
            number
            for number, part in enumerate(parts)
            if name in part.captures
            or (part.captures_above(name) and number not in own and number not in inherits)
        }
        return frozenset(shares) if index in shares else frozenset({index})

    def part(self, name: Occurrence) -> Part | None:
        """Return a part where a variable has its value; None where it is set for no part."""
        if name.part == -1:
            inheriting = self._parts_of(name.name, -1) - {-1}
            return self.analysis.parts[min(inheriting)] if inheriting else None
        return None if name.part is None else self.analysis.parts[name.part]

    def definitions(self, name: Occurrence) -> list[Occurrence]:
        """Return where what `name` names is set: the last place above it, else all."""
        found = [one for one in self.same(name) if one.role != "use"]
        above = [one for one in found if one.span.start <= name.span.start]
        return above[-1:] if above and name.part is not None else found

    def rename(self, name: Occurrence, new: str) -> list[org.Edit]:
        """Return the edits that give another name.

        Raises RenameError where `new` is no name, or would mean something else.
        """
        new = new.removeprefix(":") if name.part is not None else new
        good = _GOOD_NAME if name.part is None else _GOOD_VARIABLE
        if not good.fullmatch(new):
            what = (
                "a name has no blanks, brackets, quotes, colons, commas or ="
                if name.part is None
                else "a variable's name is letters, digits, _ and -, and no digit comes first"
            )
            raise RenameError(f"{new!r} is no name: {what}")
        places = self.same(name)
        if new == name.name:
            return []
        if not any(one.role != "use" for one in places):
            raise RenameError(f"{name.name} is not defined in this document")
        edits = [org.Edit(one.span.start, one.span.end, new) for one in places]
        if self._is_taken(name, new):
            raise RenameError(f"there is a {new} already")
        self._check_meaning(places, edits, new)
        return edits

    def _is_taken(self, name: Occurrence, new: str) -> bool:
        if name.part is None:
            folded = new.lower()
            return folded != name.name.lower() and any(
                one.name.lower() == folded for one in self.elements
            )
        parts = {one.part for one in self.same(name)}
        return any(part.knows(new) for i, part in enumerate(self.analysis.parts) if i in parts)

    def _check_meaning(self, places: list[Occurrence], edits: list[org.Edit], new: str) -> None:
        """Raise RenameError where the new text would hold more, or less, of the new name."""
        analysis = self.analysis
        after = Names(Analysis(org.apply(analysis.text, edits), analysis.kind, before=analysis))
        moved = after.at(places[0].span.start)
        if moved is None or len(after.same(moved)) != len(places):
            raise RenameError(f"as {new}, it would also mean other text that reads :{new}")


def _in_arguments(text: str, start: int) -> Iterator[tuple[str, int, Role, tuple[str, int] | None]]:
    """Yield the elements that header arguments name as values."""
    for one in assignments(text):
        if lisp.NUMBER.fullmatch(one.value.split(None, 1)[0] if one.value else ""):
            continue
        if match := _TARGET.match(one.value):
            at = start + one.value_start
            call = None if match[2] is None else (match[2], at + match.start(2))
            yield match[1], at, "use", call
    for match in _POST.finditer(text):
        call = None if match[2] is None else (match[2], start + match.start(2))
        yield match[1], start + match.start(1), "use", call


def _of_items(part: Part) -> Iterator[tuple[str, int, Role]]:
    """Yield the variables in a region's text: name, offset and role."""
    text = part.region.source.text
    lengths = part.lengths

    def uses(template: syntax.Template) -> Iterator[tuple[str, int, Role]]:
        stop = len(template.text)
        for found in variables.references(template.text, 0, stop, lengths, part.knows):
            yield found.name, template.offset(found.at), "use"

    for item in part.parsed.items:
        if isinstance(item, syntax.Definition):
            yield item.name, item.name_span.start + 1, "definition"
            yield from uses(item.value)
        elif isinstance(item, syntax.ParsedRequest):
            yield from uses(item.target)
            for line in item.headers:
                if isinstance(line, syntax.HeaderVariable):
                    yield line.name, text.index(line.name, line.span.start), "use"
                else:
                    yield from uses(line.name)
                    yield from uses(line.value)
            for capture in item.captures:
                yield capture.name, capture.span.start + 1, "capture"
            if item.body is not None:
                yield from uses(item.body.file or item.body.template)
