"""The occurrences of names: variables of requests, and named elements of Org documents.

Occurrences are used to find definitions and references, and to rename. Scopes of names:

- A request file's variable is visible in the whole file.
- An Org block's variable is visible in the block, in the `:var` assignments of its header
  arguments, and in the arguments of calls to the block. Captured variables are also visible in the
  blocks below.
- A variable that `:var` sets in a property is visible in all blocks that inherit the property.
- An element's name is visible in the whole document and is case-insensitive.
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
from orgrest.editor.used_files import LARGEST
from orgrest.http import syntax
from orgrest.http.auth.oauth2 import variables_of
from orgrest.http.values import Inputs
from orgrest.http.values.references import (
    RESERVED,
    is_computed,
    is_expression,
    names_of,
    references_in,
    root_of,
    used_in,
)
from orgrest.model import OrgrestError, Span
from orgrest.org import argument_syntax, lisp
from orgrest.org import document as org
from orgrest.org.syntax import NAME_KEYWORDS
from orgrest.org.text import Edit, apply

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.editor.used_files import Location
    from orgrest.org.blocks import BabelCall, Block
    from orgrest.org.reader import Section
    from orgrest.run.documents.imports import File

Role: TypeAlias = Literal["definition", "capture", "argument", "use"]

_NAMED = re.compile(
    rf"[ \t]*#\+({'|'.join(sorted(NAME_KEYWORDS))}|results?)(?:\[[^\]]*\])?:[ \t]*(\S.*)",
    re.IGNORECASE,
)
_NOWEB = re.compile(r"<<([^\s<>()]+(?:[ \t]+[^\s<>()]+)*)(?:\(([^\n<>]*)\))?>>")
_TARGET = re.compile(r"([^\s\[\](),\"'`*][^\s\[\](),\"']*)(?:\[[^\]]*\])?(?:\(([^\n]*)\))?")
_POST = re.compile(r":post[ \t]+")
# `[[NAME]]`, and `remote(NAME, ...)` in the formula of a table
_LINK = re.compile(r"(?<=\[\[)[^\[\]\n]+(?=\][\[\]])|(?<=remote\()[^\s,()\[\]]+(?=[ \t]*,)")
_DEEPEST = 20  # calls in the arguments of calls; reading more takes quadratic time
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

    `part` is the index of the variable's region. It is -1 for a variable that several regions
    share, and None for the name of an element.
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

    `sets` contains (name, offset) for each variable that a call sets. The text of a link
    (`is_link`) is a name only if an element of the document has this name.
    """

    name: str
    start: int
    role: Role
    sets: tuple[tuple[str, int], ...] = ()
    is_link: bool = False


class Names:
    """All names in a document and their occurrences, found on first use."""

    def __init__(self, analysis: Analysis, before: Names | None = None) -> None:
        """Prepare to search `analysis` for names. The search itself happens on first use.

        Names of elements in unchanged sections are reused from `before`, for an earlier version.
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
        for text, start in texts_of(self.analysis.document, region.block):
            for assignment in assignments(text):
                yield Occurrence(assignment.name, assignment.span(start), "argument", index)

    @cached_property
    def _set_by_properties(self) -> list[Occurrence]:
        return [
            Occurrence(assignment.name, assignment.span(start), "argument", -1)
            for text, start, _ in self.analysis.property_texts
            for assignment in assignments(text)
        ]

    # ------------------------------------------------------------------------------ elements

    @cached_property
    def elements(self) -> list[Occurrence]:
        """The occurrences of names of blocks, tables and other Org elements."""
        mentions = [*self._mentions()]
        defined = {mention.name.lower() for mention, _ in mentions if mention.role == "definition"}
        return [
            Occurrence(
                mention.name,
                Span(start + mention.start, start + mention.start + len(mention.name)),
                mention.role,
            )
            for mention, start in mentions
            if not mention.is_link or mention.name.lower() in defined
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
            if mention.sets and (target := targets.get(mention.name.lower())) is not None:
                for argument, at in mention.sets:
                    span = Span(start + at, start + at + len(argument))
                    occurrences.append(Occurrence(argument, span, "argument", target))
        return occurrences

    def _mentions(self) -> Iterator[tuple[_Mention, int]]:
        """Yield (mention, start of its section) for each mention of an Org element."""
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
            if occurrence.span.reaches(offset):
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
        """Return the indexes of the parts in which a name means the same as in part `index`."""
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
        """Return whether a part or its block's `:var` arguments define the variable `name`."""
        if name in part.reading.definitions:
            return True
        if not _is_in_arguments(part, name):
            return False
        texts = texts_of(self.analysis.document, part.region.block)
        return any(assignment.name == name for text, _ in texts for assignment in assignments(text))

    def part(self, name: Occurrence) -> ParsedRegion | None:
        """Return a part in which the variable `name` can be evaluated, or None.

        If a property sets the variable, return the first part that inherits the property. For the
        name of an element, return None.
        """
        if name.part == -1:
            inheriting = self._parts_of(name.name, -1) - {-1}
            return self.analysis.parts[min(inheriting)] if inheriting else None
        return None if name.part is None else self.analysis.parts[name.part]

    def definitions(self, name: Occurrence) -> list[Occurrence]:
        """Return a list with the closest definition of `name` at or above this occurrence.

        The list contains all definitions if all are below the occurrence, or if the occurrence is
        an element's name.
        """
        definitions = [occurrence for occurrence in self.same(name) if occurrence.role != "use"]
        above = [
            occurrence for occurrence in definitions if occurrence.span.start <= name.span.start
        ]
        return above[-1:] if above and name.part is not None else definitions

    def in_file(self, name: Occurrence) -> Location | None:
        """Return the location where another file defines a name, or None."""
        if name.part is None or self.analysis.kind != "http" or self.definitions(name):
            return None
        if name.request:
            request = self.analysis.request_named(name.name, name.span.start)
            return request[1] if request else None
        return self.analysis.variable_imported(name.name)

    def rename(self, name: Occurrence, new: str, others: Iterable[File] = ()) -> list[Edit]:
        """Return the edits that rename all occurrences of a name.

        `others` are the files of other documents that import this document. Raises RenameError if
        `new` is invalid or already exists, if the edits would change the meaning of other text, or
        in the cases listed at `check_rename`.
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
        if new == name.name:
            return []
        self.check_rename(name, others)
        if self._is_taken(name, new):
            raise RenameError(f"{new} already exists: choose another name")
        places = self.same(name)
        edits = [Edit(place.span.start, place.span.end, new) for place in places]
        self._check_meaning(places, edits, new)
        return edits

    def check_rename(self, name: Occurrence, others: Iterable[File] = ()) -> None:
        """Raise RenameError for a name that cannot be renamed.

        This is the case if this document does not define the name, or if a script, another file or
        the prefix in an `oauth2` header may use it. `others` is the same as for `rename`.
        """
        if not any(place.role != "use" for place in self.same(name)):
            where = self.in_file(name)
            if where is not None and self.analysis.imports is not None:
                raise RenameError(f"{name.name} is defined in {where}: rename it there")
            raise RenameError(f"{name.name} is not defined in this document")
        self._check_other_uses(name, others)

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

    def _check_other_uses(self, name: Occurrence, others: Iterable[File]) -> None:
        """Raise RenameError if text that is not renamed may use a variable or request."""
        if name.part is None:
            return
        analysis = self.analysis
        self._check_unnamed(name)
        imported = analysis.imports.files[1:] if analysis.imports is not None else ()
        for file in {file.path: file for file in (*imported, *others)}.values():
            own = file.document.source.text
            definition = f"# @name {name.name}\nGET x" if name.request else f"@{name.name} = x"
            folder = partial(Inputs, directory=file.path.parent)
            names = Names(Analysis(f"{own}\n\n###\n{definition}\n", "http", folder))
            found = [
                occurrence
                for occurrence in names.variables
                if (occurrence.name, occurrence.request) == (name.name, name.request)
                and occurrence.span.end <= len(own)
            ]
            if any(occurrence.role != "use" for occurrence in found):
                continue  # the file uses its own definition
            for occurrence in found[:1]:
                line = own.count("\n", 0, occurrence.span.start) + 1
                raise RenameError(_used(f"line {line} of {file.name}", name))
            names._check_unnamed(name, f" of {file.name}")

    def _check_unnamed(self, name: Occurrence, of_file: str = "") -> None:
        """Raise RenameError if a script, a header or a file in a body may use `name`.

        `of_file` is appended to the line number in the message.
        """
        camel = re.sub("-([a-z])", lambda match: match[1].upper(), name.name)  # as in httpyac
        names = {name.name, camel, *((f"{name.name}Response",) if name.request else ())}
        in_file = self.analysis.kind == "http"
        indexes = None if in_file else self._parts_of(name.name, name.part or 0)
        word = re.compile(rf"(?<![\w-]){re.escape(name.name)}(?![\w-])")
        for part in self.analysis.parts:
            if indexes is not None and part.index not in indexes:
                continue
            for code, start in part.reading.code:
                at = used_in(code, names)
                if at is not None:
                    raise RenameError(
                        _used(f"the JavaScript on {self._line(part, start + at)}{of_file}", name)
                    )
            for value in _credentials(part):
                if not name.request and name.name in variables_of(value.text, part.names):
                    line = self._line(part, value.offset(0))
                    raise RenameError(
                        f"the Authorization header on {line}{of_file} uses {name.name} by its "
                        "prefix: rename all variables with this prefix by hand"
                    )
            for path, is_script in _files_of(part):
                text = self._content(part, path)
                if is_script:
                    at = used_in(text, names)
                else:
                    given = references_in(text)
                    at = next((each.at for each in given if word.search(each.name)), None)
                if at is not None:
                    number = text.count("\n", 0, at) + 1
                    raise RenameError(_used(f"line {number} of {path.text}", name))

    def _line(self, part: ParsedRegion, offset: int) -> str:
        number = self.analysis.text.count("\n", 0, part.region.to_file(offset)) + 1
        return f"line {number}"

    def _content(self, part: ParsedRegion, path: syntax.Template) -> str:
        """Return the text of a file that a request names, or "" if it is not readable."""
        try:
            file = part.context(self.analysis.new_context()).locate(path.text)
            is_small = file.stat().st_size <= LARGEST
            return file.read_text(errors="replace") if is_small else ""
        except (OrgrestError, OSError):
            return ""

    def _check_meaning(self, places: list[Occurrence], edits: list[Edit], new: str) -> None:
        """Raise RenameError if the edits would change the meaning of other text.

        After the edits, the new name must occur as many times as the old name did before.
        """
        analysis = self.analysis
        after = Names(Analysis(apply(analysis.text, edits), analysis.kind, before=analysis), self)
        moved = after.at(places[0].span.start)
        if moved is None or len(after.same(moved)) != len(places):
            raise RenameError(
                f"{new} is a reserved word in JavaScript, so expressions in this document cannot "
                "use it as a name: choose another name"
                if RESERVED.fullmatch(new)
                else f"the new name {new} would change what other text, such as :{new}, refers "
                "to: choose another name"
            )


def _used(where: str, name: Occurrence) -> str:
    return f"{where} also uses {name.name}: change it there first"


def _is_in_arguments(part: ParsedRegion, name: str) -> bool:
    block = part.region.kept
    if block is None:
        return False
    return name in block.arguments or (
        bool(block.headers) and any(name in x for x in block.headers)
    )


def _mentions(document: org.OrgDocument, placed: org.Placed) -> list[_Mention]:
    """Return the mentions of Org elements in a section, with offsets in the section."""
    base, first, last = placed.start, placed.line, placed.end
    verbatim = {
        first + at for start, end in placed.section.verbatim for at in range(start, end + 1)
    }
    mentions: list[_Mention] = []
    for number in range(first, last):
        line = document.lines[number]
        if number in verbatim:
            continue
        at = document.offset(number)
        if "#+" in line and (match := _NAMED.match(line)):
            role: Role = "use" if match[1].lower().startswith("result") else "definition"
            mentions.append(_Mention(match[2].rstrip(), at + match.start(2), role))
        if "[[" in line or "remote(" in line:
            mentions += (
                _Mention(link[0], at + link.start(), "use", is_link=True)
                for link in _LINK.finditer(line)
            )
    for text, start, _ in of_properties(document, first, last):
        mentions += _in_arguments(text, start)
    for block in placed.blocks:
        for text, start in texts_of(document, block):
            mentions += _in_arguments(text, start)
        if block.call is not None:
            mentions += _in_call(document.text, block, block.call)
        elif block.kind == "block":
            begin, end = document.offset(block.first), document.offset(block.last)
            for match in _NOWEB.finditer(document.text, begin, end):
                mentions += _called(match, 0)
    return [
        classes.evolve(
            mention,
            start=mention.start - base,
            sets=tuple((name, at - base) for name, at in mention.sets),
        )
        for mention in mentions
    ]


def _in_call(text: str, block: Block, call: BabelCall) -> Iterator[_Mention]:
    """Yield the mentions in ``NAME[inside](arguments) end``."""
    at = called_at(text, block)
    inside = at + len(call.name)
    if call.inside:
        inside = text.index("[", inside) + 1
    given = text.index("(", inside + len(call.inside)) + 1
    end = text.index(call.end, given + len(call.arguments))
    sets = [(name, start) for name, start, _, _ in _given(call.arguments, given)]
    for header, start in ((call.inside, inside), (call.end, end)):
        sets += ((each.name, start + each.start) for each in assignments(header))
        yield from _in_arguments(header, start)
    yield _Mention(call.name, at, "use", tuple(sets))
    for _, _, value, start in _given(call.arguments, given):
        yield from _in_value(value, start)


def _in_arguments(text: str, start: int) -> Iterator[_Mention]:
    for assignment in assignments(text):
        yield from _in_value(assignment.value, start + assignment.value_start)
    posts = [*_POST.finditer(text)]
    for match, following in itertools.zip_longest(posts, posts[1:]):
        end = following.start() if following is not None else len(text)
        yield from _in_value(text[match.end() : end], start + match.end())


def _in_value(text: str, start: int, depth: int = 1) -> Iterator[_Mention]:
    """Yield the mentions in a variable's value, which other text may follow."""
    value = argument_syntax.split(text, " \t", "")[0].rstrip(",")
    if not lisp.NUMBER.fullmatch(value) and (match := _TARGET.match(value)):
        yield from _called(match, start, depth)


def _called(match: re.Match[str], start: int, depth: int = 1) -> Iterator[_Mention]:
    """Yield the mentions in ``NAME(arguments)``, or in ``NAME`` alone."""
    given = [*_given(match[2] or "", start + match.start(2))]
    sets = tuple((name, at) for name, at, _, _ in given)
    yield _Mention(match[1], start + match.start(1), "use", sets)
    for _, _, value, at in given if depth < _DEEPEST else ():
        yield from _in_value(value, at, depth + 1)


def _given(text: str, start: int) -> Iterator[tuple[str, int, str, int]]:
    """Yield (name, offset, value, offset) for each argument ``name=value`` of a call."""
    for piece in argument_syntax.split(text, ",", ""):
        name, equals, value = piece.partition("=")
        if equals and name.strip():
            value_at = start + len(name) + 1 + len(value) - len(value.lstrip())
            yield name.strip(), start + len(name) - len(name.lstrip()), value.strip(), value_at
        start += len(piece) + 1


def _templates(part: ParsedRegion) -> Iterator[syntax.Template]:
    """Yield the texts of a region in which variables are replaced."""
    for item in part.parsed.items:
        if isinstance(item, syntax.Definition):
            yield item.value
        elif isinstance(item, syntax.ParsedRequest):
            yield item.target
            for line in item.header_lines:
                yield line.name
                yield line.value
            if item.body is not None:
                yield item.body.file or item.body.template
                yield from (file.path for file in item.body.files)
            yield from item.expanded_after


def _references(part: ParsedRegion) -> Iterator[tuple[str, int]]:
    """Yield (name or expression, offset) for each reference in a region."""
    for template in _templates(part):
        for reference in part.references(template):
            if reference.literal is None:
                encoded = reference.name.startswith("%")  # `{{%name}}` refers to `name`
                yield reference.name[encoded:], template.offset(reference.at + encoded)
    for request in part.parsed.requests:
        yield from filter(None, map(_expression, request.directives))


def _credentials(part: ParsedRegion) -> Iterator[syntax.Template]:
    for request in part.parsed.requests:
        for line in request.header_lines:
            if line.name.text.lower() == "authorization":
                yield line.value


def _files_of(part: ParsedRegion) -> Iterator[tuple[syntax.Template, bool]]:
    """Yield (path, is_script) for each file that may use a region's variables."""
    for request in part.parsed.requests:
        is_filled = request.directive("inject-variables") is not None
        for file in request.body.files if request.body is not None else ():
            if is_filled or file.encoding is not None:
                yield file.path, False
    for script in part.reading.scripts:
        if script.file is not None:
            yield script.file, True


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
    """Yield (name, offset, role) for each variable in a region's text."""
    text = part.region.text
    for name, at in _references(part):
        is_other = name.startswith("$") or referred(name, part.named) is not None
        if not part.restclient and is_expression(name, part.names):
            for inner, index in names_of(name):
                if inner in part.names and not RESERVED.fullmatch(inner):
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
    """Yield (name, offset, role) for each request name in a region's text."""
    if not part.named:
        return
    for text, at in _references(part):
        name = referred(text, part.named)
        if name is not None and not is_computed(text):
            yield name, at, "use"
        elif is_computed(text) or root_of(text) is not None:
            for inner, index in names_of(text):
                name = inner if inner in part.named else inner.removesuffix("Response")
                if RESERVED.fullmatch(name):
                    continue
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
