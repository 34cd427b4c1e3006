"""What an editor is told about a document without sending anything: its parts, and what is wrong.

An `Analysis` reads a document's text once: its regions, what their requests say, and the problems
in them. Most of a document is as it was a keystroke ago, so that an analysis takes over what the
one before it knows of the same text: a region's requests by the region's text, a request's problems
by its text and the definitions above it. Nothing is sent, and no file is read; whether a file could
be read is looked up.

All spans are offsets into the text, whose line ends are LF.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

import attrs

from orgrest import arguments as header
from orgrest import data, lisp, org, regions, registry, results, syntax, variables
from orgrest.model import Notice, OrgrestError, Span

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

Severity: TypeAlias = Literal["error", "warning", "hint"]

_NOWEB = re.compile(r"<<[ \t]*([^\n<>]*[^ \t\n<>])[ \t]*>>")
_VARIABLE = re.compile(r"\{\{[^{}\n]*\}\}|:[^\s:=/?#&\"',;<>{}()\[\]]+")
_WARNINGS = frozenset({"no-request", "unset-environment", "no-netrc-entry"})
_LISP_CALL = re.compile(r'\(\s*([^\s()"]+)(?:\s+("(?:[^"\\]|\\.)*"))?\s*\)')
_FIRST_WORD = re.compile(r"([^ \t]+)[ \t]+(?=\S)")
_EMPTY_LINE = re.compile(r"\n[ \t]*(?=\n)")
_HERE_WORD = re.compile(r"<<[ \t]*(\w*)")


@attrs.frozen
class Fix:
    """A change that puts a problem right; a `guess` may not be what was meant."""

    title: str
    edits: tuple[org.Edit, ...]
    guess: bool = False


@attrs.frozen
class Diagnostic:
    """A problem: where, how bad, what kind (a short word), and in plain words."""

    span: Span
    severity: Severity
    code: str
    message: str


@attrs.frozen
class _Change:
    """A change within a region: characters replaced, or (`lines`) whole lines put in or out."""

    start: int
    end: int
    text: str
    lines: bool = False


@attrs.frozen
class _Problem:
    """A diagnostic before its region has its place; offsets count from where its segment starts."""

    start: int
    end: int
    severity: Severity
    code: str
    message: str


class _Captured:
    """The names that the parts of a document capture: what is known above a part, at little cost.

    `first` gives for each name, and `lengths` for each length of names, the first part with it.
    """

    def __init__(self) -> None:
        self.first: dict[str, int] = {}
        self.lengths: dict[int, int] = {}
        self.digest = 0

    def add(self, index: int, names: frozenset[str]) -> None:
        """Take in what the next part captures."""
        for name in sorted(names - self.first.keys()):
            self.first[name] = index
            self.lengths.setdefault(len(name), index)
            self.digest = hash((self.digest, name))


class Part:
    """A region as it is read: its requests, its block's arguments, its variables' scope.

    `values`, `literal` and `directory` are what the block gives its requests (see
    `variables.Scope.block`). `captured` is the document's, `index` says which of its parts this is.
    """

    def __init__(
        self, region: regions.Region, parsed: syntax.Document, index: int, captured: _Captured
    ) -> None:
        self.region = region
        self.parsed = parsed
        self.index = index
        self._captured = captured
        self.arguments = header.Arguments()
        self.values: dict[str, str] = {}
        self.literal: dict[str, str] = {}
        self.directory: Path | None = None
        self.wrong: dict[str, str] = {}
        """What is wrong with those of the block's ``:var``s that have no value."""
        self.earlier = captured.digest
        """Stands for the names that earlier blocks capture, in their order."""
        captured.add(index, self.captures)

    @cached_property
    def captures(self) -> frozenset[str]:
        """The names that the region's requests capture."""
        return frozenset(c.name for request in self.parsed.requests for c in request.captures)

    @cached_property
    def _set(self) -> frozenset[str]:
        own = (item.name for item in self.parsed.items if isinstance(item, syntax.Definition))
        return self.captures.union(own)

    @cached_property
    def _own(self) -> frozenset[str]:
        return self._set.union(self.values, self.literal)

    def sets(self, name: str) -> bool:
        """Tell whether the region's own text sets a variable of this name."""
        return name in self._set

    def captures_above(self, name: str) -> bool:
        """Tell whether an earlier block captures a variable of this name."""
        return self._captured.first.get(name, self.index) < self.index

    def knows(self, name: str) -> bool:
        """Tell whether a variable of this name may be used in the region."""
        return name in self._own or self.captures_above(name)

    @property
    def names(self) -> frozenset[str]:
        """All names of variables that may be used in the region."""
        return self._own.union(filter(self.captures_above, self._captured.first))

    @property
    def lengths(self) -> list[int]:
        """The lengths of these names, the greatest first."""
        above = {n for n, first in self._captured.lengths.items() if first < self.index}
        return sorted(above.union(map(len, self._own)), reverse=True)

    def scope(self, document: variables.Scope) -> variables.Scope:
        """Return the region's scope within the document's."""
        return document.block(self.values, self.literal, self.directory)

    def request_at(self, offset: int) -> syntax.ParsedRequest | None:
        """Return the request around an offset of the region's text, or else None."""
        found = self.parsed.request_at(offset)
        return found if found and found.span.start <= offset <= found.span.end else None


class Analysis:
    """What there is to know about a document; see the module's text."""

    def __init__(
        self,
        text: str,
        kind: regions.Kind,
        scope: Callable[[], variables.Scope] = variables.Scope,
        before: Analysis | None = None,
    ) -> None:
        """Read `text`, with what `before`, the analysis of an earlier text, knows already.

        `scope` makes the scope of the document: it says what `env` and `netrc` give, and which
        files may be read.
        """
        self.text = text
        self.kind = kind
        self._new_scope = scope
        start = scope()
        self.remembered = start.captured
        self.secrets = start.secrets
        self._parsed: dict[str, syntax.Document] = {}
        self._known: dict[object, tuple[_Problem, ...]] = {}
        self._parsed_before = before._parsed if before else {}
        self._known_before: dict[object, tuple[_Problem, ...]] = {}
        if before is not None:
            self._known_before = before._known or before._known_before
        self.document = org.Document(text) if kind == "org" else None
        found = (
            regions.regions(text, kind)
            if self.document is None
            else regions.of_document(self.document)
        )
        self._outer: list[Diagnostic] = []
        self._fixes: dict[Diagnostic, Callable[[], tuple[Fix, ...]]] = {}
        self._inherited = header.Inherited(self.document) if self.document else None
        self._languages = self.document.request_languages() if self.document else frozenset()
        captured = _Captured()
        self.parts = [self._part(region, at, captured) for at, region in enumerate(found)]
        self._parsed_before = {}

    # ------------------------------------------------------------------------------- reading

    def _part(self, region: regions.Region, index: int, captured: _Captured) -> Part:
        text = region.source.text
        parsed = self._parsed.get(text) or self._parsed_before.get(text)
        part = Part(region, parsed or region.parsed, index, captured)
        outer = len(self._outer)
        self._parsed[text] = part.parsed
        if region.block is not None and self._inherited is not None:
            try:
                part.arguments = header.of_block(region.block, self._inherited)
                self._open_scope(part, region.block)
            except lisp.ArgumentError as error:
                span = self._line_span(region.block.line)
                self._outer.append(Diagnostic(span, "error", "bad-argument", str(error)))
            if not self._is_judged(part):
                del self._outer[outer:]
        return part

    def _is_judged(self, part: Part) -> bool:
        """Tell whether a region is evaluated where the user does not choose: `Evaluation.plan`."""
        block = part.region.block
        return block is None or (
            block.language in self._languages and not block.commented and block.result is None
        )

    def _open_scope(self, part: Part, block: org.Block) -> None:
        """Give a block its `:var`s, with the values of those that stand in the document."""
        values, literal = part.values, part.literal
        for name, assignment in part.arguments.variables.items():
            literal[name] = variables.UNKNOWN
            try:
                _, value = header.value(assignment)
                if isinstance(value, header.Lisp):
                    lisp.understand(value.text, {})
            except lisp.ArgumentError as error:
                span = self.argument_span(block, name) or self._line_span(block.line)
                self._outer.append(Diagnostic(span, "error", "bad-argument", str(error)))
                part.wrong[name] = str(error)
                continue
            if isinstance(value, str):
                values[name] = value
                del literal[name]
            elif isinstance(value, header.Lisp):
                literal[name] = lisp.understand(value.text, {})
            elif isinstance(value, header.Reference):
                self._check_reference(block, name, value.name)
            else:
                literal[name] = data.to_text(value)
        given = part.arguments.values.get("dir")
        if isinstance(given, str) and given:
            part.directory = self._new_scope().directory / given

    def _check_reference(self, block: org.Block, name: str, target: str) -> None:
        document = self.document
        if document and not document.block_named(target) and not document.element_named(target):
            span = self.argument_span(block, name) or self._line_span(block.line)
            message = f"no block, table, list or result is named {target} in this document"
            self._outer.append(Diagnostic(span, "warning", "unknown-name", message))

    # -------------------------------------------------------------------- header arguments

    def argument_texts(self, block: org.Block) -> Iterator[tuple[str, int]]:
        """Yield the header arguments written at a block, each text with its offset."""
        document = self.document
        if document is None:
            return
        line = document.lines[block.line]
        start = document.offset(block.line)
        if block.kind == "block":
            yield block.arguments, start + line.rfind(block.arguments)
        for number in range(block.line - 1, -1, -1):
            match = _HEADER_LINE.match(document.lines[number])
            if match is None:
                break
            if match[1].lower() in ("header", "headers"):
                yield match[2], document.offset(number) + match.start(2)

    def argument_span(self, block: org.Block, variable: str) -> Span | None:
        """Return where a block's own lines set a `:var`, None where they do not."""
        for text, start in self.argument_texts(block):
            for one in assignments(text):
                if one.name == variable:
                    return Span(start + one.start, start + one.end)
        return None

    @cached_property
    def property_texts(self) -> tuple[tuple[str, int, str], ...]:
        """The header arguments of properties: text, offset, language ("" for all)."""
        found: list[tuple[str, int, str]] = []
        document = self.document
        for number, line in enumerate(document.lines if document else ()):
            if "header-args" in line.lower() and (match := _PROPERTY.match(line)) and document:
                language = (match["keyword"] or match["drawer"] or "").strip(":+").lower()
                start = document.offset(number) + match.start("given")
                found.append((match["given"].rstrip(" \t"), start, language))
        return tuple(found)

    def _line_span(self, line: int) -> Span:
        """Return the span of a line (from 0) of an Org document, without the blanks around it."""
        document = self.document or org.Document(self.text)
        text = document.lines[line]
        start = document.offset(line)
        return Span(start + len(text) - len(text.lstrip()), start + len(text.rstrip()))

    # -------------------------------------------------------------------------- diagnostics

    @cached_property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """All problems, in the order of the text."""
        found = list(self._outer)
        scope = self._new_scope()
        if self.document is not None:
            found += self._call_problems(self.document)
            found += self._property_problems(self.document)
        for part in self.parts:
            if not self._is_judged(part):
                continue
            found += self._argument_problems(part)
            for problem in self._problems(part, part.scope(scope)):
                found.append(self._placed(part, problem))
        self._known_before = {}
        return tuple(sorted(found, key=lambda one: (one.span.start, one.span.end)))

    def fixes(self, diagnostic: Diagnostic) -> tuple[Fix, ...]:
        """Return what would put one of the problems right: worked out when it is asked for."""
        make = self._fixes.get(diagnostic)
        return make() if make is not None else ()

    def scope_of(self, part: Part, request: syntax.ParsedRequest) -> variables.Scope:
        """Return the scope of a request, with what the ones above it capture, as far as known."""
        document = self._new_scope()
        for one in self.parts:
            for above in one.parsed.requests:
                if one is part and above.span.start >= request.span.start:
                    return part.scope(document)
                self._capture(above, document)
        return part.scope(document)

    def _capture(self, request: syntax.ParsedRequest, scope: variables.Scope) -> None:
        for capture in request.captures:
            value = self.remembered.get(capture.name, variables.UNKNOWN)
            scope.capture(request, capture.name, value)

    def _problems(self, part: Part, scope: variables.Scope) -> Iterator[_Problem]:
        """Yield the problems of a region, offsets counted from its start."""
        parsed = part.parsed
        text = part.region.source.text
        loose = part.arguments.values.get("prologue") or (
            part.arguments.values.get("noweb") not in (None, "no", "tangle") and _NOWEB.search(text)
        )
        for problem in _segment_problems(text, parsed.problems, parsed.notices, 0):
            if not loose and not (problem.code == "no-request" and self._needs_none(part)):
                yield problem
        outer = (tuple(part.values.items()), tuple(part.literal.items()), part.directory)
        known = hash((outer, part.earlier, tuple(self.remembered.items()), self.secrets))
        start = 0
        definitions: list[syntax.Definition] = []
        for item in parsed.items:
            if isinstance(item, syntax.Definition):
                definitions.append(item)
            elif isinstance(item, syntax.ParsedRequest):
                for problem in self._segment(part, scope, item, start, definitions, known):
                    if not (loose and _excusable(problem, text, start)):
                        yield attrs.evolve(
                            problem, start=problem.start + start, end=problem.end + start
                        )
                for one in definitions:
                    known = hash((known, one.name, one.operator, one.value.text))
                known = hash((known, *(capture.name for capture in item.captures)))
                self._capture(item, scope)
                definitions = []
                start = item.span.end

    def _needs_none(self, part: Part) -> bool:
        """Tell whether a region without a request is as it should be: empty, or part of others."""
        block = part.region.block
        if block is None or not part.region.source.text.strip():
            return not part.region.source.text.strip()
        given = part.arguments.values.get("noweb-ref")
        names = {(block.name or "").lower(), given.lower() if isinstance(given, str) else ""}
        with contextlib.suppress(lisp.ArgumentError):
            return part.arguments.eval in ("no", "never") or not names.isdisjoint(self._noweb_names)
        return False

    @cached_property
    def _noweb_names(self) -> frozenset[str]:
        """The names in lower case that stand in blocks as ``<<name>>``."""
        document = self.document
        return frozenset(
            match[1].lower()
            for block in (document.blocks if document else ())
            if block.kind == "block" and document
            for match in _NOWEB.finditer(
                document.text, document.offset(block.first), document.offset(block.last)
            )
        )

    def _segment(
        self,
        part: Part,
        scope: variables.Scope,
        request: syntax.ParsedRequest,
        start: int,
        definitions: Sequence[syntax.Definition],
        known: int,
    ) -> tuple[_Problem, ...]:
        """Return the problems of a request and the definitions above it, from `start` on."""
        text = part.region.source.text
        key = (known, text[start : request.span.end])
        found = self._known.get(key, self._known_before.get(key))
        if found is None:
            checked = variables.check(request, scope, definitions)
            problems = [
                *_segment_problems(text, checked.problems, checked.notices, start),
                *_request_problems(text, request, checked, start),
            ]
            secrets = scope.secrets
            found = tuple(
                dict.fromkeys(
                    attrs.evolve(one, message=results.mask(one.message, secrets))
                    for one in problems
                )
            )
        body = request.body
        if body is None or (body.file is None and not body.parts):
            self._known[key] = found  # else the files may come and go
        return found

    def _placed(self, part: Part, problem: _Problem) -> Diagnostic:
        """Return a region's problem as one of the file."""
        start, end = part.region.to_file(problem.start), part.region.to_file(problem.end)
        span = Span(start, max(start, end))
        found = Diagnostic(span, problem.severity, problem.code, problem.message)
        self._fixes[found] = lambda: self._fix(part, problem)
        return found

    def _fix(self, part: Part, problem: _Problem) -> tuple[Fix, ...]:
        text = part.region.source.text
        title, change = _fix(text, problem.code, problem.start, problem.end, part)
        if change is None:
            return ()
        guess = problem.code == "undefined-variable"
        return (Fix(title, (self._edit(part.region, change),), guess),)

    def _misspelt(
        self, code: str, message: str, known: Sequence[str], span: Span, alike: float = 0.6
    ) -> Diagnostic:
        """Return the problem of a name that is none of the known ones.

        `alike` says how like it one of them must be to be offered instead: `difflib`'s ratio.
        """
        found = Diagnostic(span, "warning", code, message)
        self._fixes[found] = lambda: _renaming(self.text, known, span, alike)
        return found

    def _edit(self, region: regions.Region, change: _Change) -> org.Edit:
        """Return a region's change as an edit of the file."""
        start = region.to_file(change.start)
        if not change.lines:
            return org.Edit(start, region.to_file(change.end), change.text)
        text = self.text
        first = text.rfind("\n", 0, start) + 1
        blanks = text[first:start]
        blanks = blanks[: len(blanks) - len(blanks.lstrip(" \t"))]
        new = "".join(f"{blanks}{x}\n" if x else "\n" for x in change.text.split("\n")[:-1])
        if change.end > change.start:
            end = text.find("\n", region.to_file(change.end))
            return org.Edit(first, len(text) if end < 0 else end + 1, new)
        if change.start and change.start == len(region.source.text):
            end = text.find("\n", start)  # below the last line
            at = len(text) if end < 0 else end + 1
            return org.Edit(at, at, new if end >= 0 else f"\n{new}")
        return org.Edit(first, first, new)

    def _call_problems(self, document: org.Document) -> Iterator[Diagnostic]:
        names = [one.name for one in document.blocks if one.name and one.kind == "block"]
        for block in document.blocks:
            if block.call is None or block.commented:
                continue
            if document.block_named(block.call.name) is not None:
                continue
            at = called_at(self.text, block)
            span = Span(at, at + len(block.call.name))
            message = f"no source block is named {block.call.name}"
            yield self._misspelt("unknown-name", message, names, span)

    def _argument_problems(self, part: Part) -> Iterator[Diagnostic]:
        """Yield what is odd in the header arguments written at a region's block."""
        if part.region.block is None:
            return
        for text, start in self.argument_texts(part.region.block):
            yield from self._unknown_arguments(text, start)

    def _property_problems(self, document: org.Document) -> Iterator[Diagnostic]:
        """Yield what is odd in properties that give blocks of ours, and no others, arguments."""
        blocks = [block for block in document.blocks if block.kind == "block"]
        ours = all(block.language in self._languages for block in blocks)
        read = {text.partition(" ")[2].strip() for _, text in document.keywords}
        for heading in {part.region.block.heading for part in self.parts if part.region.block}:
            read.update(text for here in heading.path() for text in here.properties.values())
        for text, start, language in self.property_texts:
            if text not in read:
                continue  # an example, as it stands in a block of text
            if language in self._languages or (ours and not language):
                yield from self._unknown_arguments(text, start)

    def _unknown_arguments(self, text: str, start: int) -> Iterator[Diagnostic]:
        for name, at in argument_names(text):
            if name[1:].lower() in header.KNOWN:
                continue
            span = Span(start + at, start + at + len(name))
            message = f"no header argument {name} is known: it has no effect"
            yield self._misspelt("unknown-argument", message, _ARGUMENTS, span, 0.8)


_PROPERTY = re.compile(
    r"[ \t]*(?:#\+property:[ \t]+header-args(?P<keyword>\S*)|:header-args(?P<drawer>\S*):)"
    r"[ \t]+(?P<given>.*)",
    re.IGNORECASE,
)
_VAR = re.compile(r":?var[ \t]+")
_ARGUMENTS = [f":{name}" for name in header.KNOWN]
_HEADER_LINE = re.compile(r"[ \t]*#\+(\w+)(?:\[.*?\])?:[ \t]*(.*)")


def called_at(text: str, block: org.Block) -> int:
    """Return where a call, ``#+CALL: NAME(`` or ``call_NAME(``, has its name."""
    name = block.call.name if block.call is not None else ""
    mark = ":" if block.kind == "call" else "_"
    return text.index(name, text.index(mark, block.start) + 1)


def argument_names(text: str) -> Iterator[tuple[str, int]]:
    """Yield the names of header arguments, each with its colon and its index in `text`."""
    at = 0
    for number, piece in enumerate(header.split(text, " \t", ":")):
        if number:
            at += 1  # the blank; the colon belongs to the name
            piece = ":" + piece
        stripped = piece.lstrip()
        name = stripped.split(None, 1)[0] if stripped else ""
        if name.startswith(":"):
            yield name, at + len(piece) - len(stripped)
        at += len(piece)


@attrs.frozen
class Assignment:
    """A variable that ``:var`` sets: name and value as they are written, and their places."""

    name: str
    start: int
    end: int
    value: str
    value_start: int


def assignments(text: str) -> Iterator[Assignment]:
    """Yield the variables that header arguments set with ``:var``."""
    at = 0
    for number, piece in enumerate(header.split(text, " \t", ":")):
        start = at + 2 * (number > 0)
        at = start + len(piece)
        match = _VAR.match(piece)
        if match is None:
            continue
        words = header.split(piece[match.end() :], " \t", "")
        word_at = match.end()
        for index, word in enumerate(words):
            name, equals, _ = word.partition("=")
            following = next((w for w in words[index + 1 :] if w), "")
            if name and (equals or following.startswith("=")):
                value_at = piece.index("=", word_at) + 1
                value_at += len(piece[value_at:]) - len(piece[value_at:].lstrip(" \t"))
                yield Assignment(
                    name, start + word_at, start + word_at + len(name),
                    piece[value_at:], start + value_at,
                )  # fmt: skip
            word_at += len(word) + 1


def _renaming(text: str, known: Sequence[str], span: Span, alike: float) -> tuple[Fix, ...]:
    """Return the fix that puts the known name in that is most like the one there, if any is."""
    return tuple(
        Fix(f"Replace with {close}", (org.Edit(span.start, span.end, close),), guess=True)
        for close in get_close_matches(text[span.start : span.end], known, 1, alike)
    )


# ------------------------------------------------------------------------------ within a region


def _excusable(problem: _Problem, text: str, start: int) -> bool:
    """Tell whether what other blocks put into this one may put a problem right."""
    if problem.code == "undefined-variable":
        return True
    at = problem.start + start
    line = text[text.rfind("\n", 0, at) + 1 : problem.end + start]
    return _NOWEB.search(line) is not None


def _segment_problems(
    text: str,
    problems: Sequence[OrgrestError],
    notices: Sequence[Notice],
    start: int,
) -> Iterator[_Problem]:
    """Turn what parsing and expanding say into problems; what stands above `start` is not ours."""
    both: tuple[OrgrestError | Notice, ...] = (*problems, *notices)
    for one in both:
        if one.offset is None or one.offset < start:
            continue
        severity: Severity = "warning"
        if isinstance(one, OrgrestError) and one.code not in _WARNINGS:
            severity = "error"
        at, end = _extent(text, one.offset)
        yield _Problem(at - start, end - start, severity, one.code, one.reason)


def _extent(text: str, offset: int) -> tuple[int, int]:
    """Return what to underline for a problem at `offset`: a variable, or the rest of the line."""
    if match := _VARIABLE.match(text, offset):
        return match.span()
    line_end = text.find("\n", offset)
    line = text[offset : len(text) if line_end < 0 else line_end]
    start = offset + len(line) - len(line.lstrip())
    return start, max(start, offset + len(line.rstrip()))


def _fix(text: str, code: str, start: int, end: int, part: Part) -> tuple[str, _Change | None]:
    """Return the obvious change that puts a problem right, if there is one, and its title."""
    line = text.rfind("\n", 0, start) + 1
    found = text[start:end]
    if code == "bad-header":
        request = part.request_at(start)
        if request is None or any(x.span.start <= start <= x.span.end for x in request.headers):
            return "", None  # a header with a value that cannot be one
        first = _FIRST_WORD.match(found)
        if first is not None and registry.header(first[1]) is not None:
            change = _Change(start + first.end(1), start + first.end(), ": ")
            return f"Put a colon behind {first[1]}", change
        if _EMPTY_LINE.search(text, start, request.span.end):
            return "", None
    if code in ("no-empty-line", "bad-header") and line:
        return "Put an empty line before the body", _Change(line, line, "\n", lines=True)
    if code == "no-separator":
        return "Put ### between the requests", _Change(line, line, "###\n", lines=True)
    if code == "unknown-method":
        return f"Replace with {found.upper()}", _Change(start, end, found.upper())
    if code == "repeated-header":
        return "Remove this line", _Change(start, end, "", lines=True)
    if code == "undefined-variable":
        name = found.strip(":{} \t")
        for close in get_close_matches(name, part.names - {name}, 1):
            at = start + found.find(name)
            return f"Replace with {close}", _Change(at, at + len(name), close)
    if code == "lisp" and (match := _LISP_CALL.match(text, start)):
        instead = variables.without_lisp(match[1], match[2])
        if instead:
            return f"Replace with {instead}", _Change(start, match.end(), instead)
    if code == "unclosed-here" and (match := _HERE_WORD.match(text, start)):
        word = match[1] or "#"
        following = re.compile(r"^[ \t]*###", re.MULTILINE).search(text, start)
        where = following.start() if following and match[1] else len(text)
        blanks = text[line : line + len(text[line:]) - len(text[line:].lstrip(" \t"))]
        return f"End it with a line {word}", _Change(where, where, f"{blanks}{word}\n", lines=True)
    return "", None


def _request_problems(
    text: str, request: syntax.ParsedRequest, checked: variables.Checked, start: int
) -> Iterator[_Problem]:
    """Yield what is odd in a request that says what it means."""

    def problem(at: int, end: int, severity: Severity, code: str, message: str) -> _Problem:
        return _Problem(at - start, end - start, severity, code, message)

    span = request.method_span
    upper = request.method.upper()
    if request.method != upper and registry.method(request.method) is None:
        if registry.method(upper) is not None:
            message = f"methods are case-sensitive: {request.method} is not {upper}"
            yield problem(span.start, span.end, "warning", "unknown-method", message)
    elif upper in ("GET", "HEAD") and request.body is not None:
        message = f"a {upper} request has no body by rights: many servers ignore or refuse it"
        at, end = _extent(text, request.body.span.start)
        yield problem(at, end, "warning", "unexpected-body", message)
    seen: set[str] = set()
    for item in request.headers:
        if isinstance(item, syntax.HeaderLine):
            name = item.name.text.lower()
            entry = registry.header(name)
            if name in seen and entry is not None and entry.single:
                message = f"{entry.name} stands here a second time; a request may have one"
                at = item.name.offset(0)
                yield problem(at, item.span.end, "warning", "repeated-header", message)
            seen.add(name)
    for definition in request.known.between(start, request.span.start):
        match = _LISP_CALL.match(definition.value.text)
        if definition.operator == ":=" and match and match[1] == "getenv" and match[2]:
            at = definition.value.offset(0)
            message = f"{variables.without_lisp(match[1], match[2])} is the same without Lisp"
            yield problem(at, at + len(match[0]), "hint", "lisp", message)
    if request.body is not None:
        for at, end, reason in _json_problems(request.body, checked):
            end = end if end > at else _extent(text, at)[1]
            if end <= at:
                at = text.rfind("\n", 0, at) + 1
            yield problem(at, end, "warning", "bad-json", f"this is not JSON: {reason}")


def _json_problems(body: syntax.Body, checked: variables.Checked) -> Iterator[tuple[int, int, str]]:
    """Yield where a JSON body cannot be read, with the values of its variables put in."""
    kind = next((value for name, value in checked.headers if name.lower() == "content-type"), "")
    kind = kind.partition(";")[0].strip().lower()
    text = "".join(piece for piece, _ in checked.body)
    if not text.strip() or not (kind == "application/json" or kind.endswith("+json")):
        return
    try:
        json.loads(text.replace(variables.UNKNOWN, "0"))
    except json.JSONDecodeError as error:
        around = text[: error.pos].rstrip()[-1:] + text[error.pos : error.pos + 1]
        if variables.UNKNOWN not in around:  # else it depends on what comes back
            at = body.template.offset(_template_index(checked.body, error.pos))
            yield at, at, error.msg[:1].lower() + error.msg[1:]
    except (ValueError, RecursionError):
        return


def _template_index(pieces: Sequence[tuple[str, int]], at: int) -> int:
    """Return where in a template the character comes from that stands at an index of its pieces."""
    for (text, index), (_, following) in itertools.pairwise((*pieces, ("", pieces[-1][1]))):
        if at < len(text):
            return min(index + at, max(following - 1, index)) if following > index else index + at
        at -= len(text)
    text, index = pieces[-1]
    return index + max(len(text) - 1, 0)
