"""The problems of a document: applies the checks, and caches them for the next version.

Nothing is sent, and no file is read; only whether a file could be read is checked. A request's
problems depend on its text, the definitions above it and its region's settings; while these are
unchanged, the findings of an earlier report are reused.
"""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING, TypeAlias

import attrs

from orgrest.editor.diagnostics import document as document_checks
from orgrest.editor.diagnostics import fixes, requests
from orgrest.editor.diagnostics.model import Diagnostic, Finding, Problem, extent
from orgrest.editor.diagnostics.names import of_names
from orgrest.http import syntax, values
from orgrest.model import Notice, OrgrestError, Span
from orgrest.org import lisp
from orgrest.rendering import masking

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Sequence

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.diagnostics.model import Fix, Severity
    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.http.values.environment import Environment

_Known: TypeAlias = dict[object, tuple[Problem, ...]]
"""The problems of requests by cache key, with offsets relative to the definitions above."""

_NOWEB = re.compile(r"<<[ \t]*([^\n<>]*[^ \t\n<>])[ \t]*>>")
_WARNINGS = frozenset({"no-request", "unset-environment", "no-netrc-entry"})


def _given_by(environment: Environment) -> Hashable:
    """Return the variables of the chosen environments, and the errors in their files."""
    wrong = tuple(str(one.error) for one in environment.every.broken)
    with contextlib.suppress(OrgrestError):  # reported where a variable is not found
        return wrong, tuple(environment.settings().items())
    return wrong


class Report:
    """The problems of one analysis; `diagnostics` has them in document order."""

    def __init__(self, analysis: Analysis, before: Report | None = None) -> None:
        """Find problems, reusing findings of `before`, the report on an earlier text."""
        self.analysis = analysis
        self._known: _Known = {}
        self._before: _Known = before._known if before else {}
        self._environment: Hashable = ()
        self._is_described = "openapi" in analysis.text or _has_one_beside(analysis)
        found = analysis.imports.variables() if analysis.imports else {}
        self._imported = tuple((name, one.value.text) for name, (_, one) in found.items())
        findings = list(self._findings())
        self._fixes = {one.diagnostic: one.fixes for one in findings}
        every = (one.diagnostic for one in findings)
        self.diagnostics = tuple(sorted(every, key=lambda one: (one.span.start, one.span.end)))
        self._before = {}

    def fixes(self, diagnostic: Diagnostic) -> tuple[Fix, ...]:
        """Return the fix for one of the problems, computed on demand."""
        make = self._fixes.get(diagnostic)
        return make() if make is not None else ()

    def _findings(self) -> Iterator[Finding]:
        analysis = self.analysis
        if analysis.document is not None:
            for check in document_checks.CHECKS:
                yield from check(analysis, analysis.document)
        context = analysis.new_context()
        if not all(part.restclient for part in analysis.parts):
            self._environment = _given_by(context.environment)
        for part in analysis.judged:
            for problem in self._problems(part, part.context(context)):
                yield self._placed(part, problem)

    def _placed(self, part: ParsedRegion, problem: Problem) -> Finding:
        """Return a region's problem as one of the file."""
        start, end = part.region.to_file(problem.start), part.region.to_file(problem.end)
        span = Span(start, max(start, end))
        text = self.analysis.text
        return Finding(
            Diagnostic(span, problem.severity, problem.code, problem.message),
            lambda: fixes.fixes(part, problem, text),
        )

    # ------------------------------------------------------------------------- in one region

    def _problems(self, part: ParsedRegion, context: values.Context) -> Iterator[Problem]:
        parsed = part.parsed
        text = part.region.text
        given = part.given.arguments.values
        loose = given.get("prologue") or (
            given.get("noweb") not in (None, "no", "tangle") and _NOWEB.search(text)
        )
        imports = self.analysis.imports
        unknown = imports is not None and bool(imports.broken)
        yield from _of_imports(self.analysis)
        for problem in _told(text, parsed.problems, parsed.notices, 0):
            if not loose and not (problem.code == "no-request" and self._needs_none(part)):
                yield problem
        outer = (
            tuple(part.given.values.items()),
            tuple(part.given.literal.items()),
            part.given.directory,
        )
        analysis = self.analysis
        remembered = tuple(analysis.remembered.items())
        overrides = tuple(analysis.overrides.items())
        around = (part.named, analysis.chosen, self._environment, overrides, self._imported)
        known = hash((outer, part.earlier, remembered, analysis.secrets, around))
        start = 0
        definitions: list[syntax.Definition] = []
        for item in parsed.items:
            if isinstance(item, syntax.Definition):
                definitions.append(item)
            elif isinstance(item, syntax.ParsedRequest):
                for problem in self._of_request(text, item, context, start, definitions, known):
                    if not (loose and _excusable(problem, text)) and not (
                        unknown and problem.code == "undefined-variable"
                    ):
                        yield problem
                for one in definitions:
                    known = hash((known, one.name, one.operator, one.value.text))
                known = hash((known, *(capture.name for capture in item.captures)))
                analysis.capture(item, context)
                if self._is_described:
                    default = given.get("openapi")
                    name = default if isinstance(default, str) else ""
                    yield from self._of_description(text, item, context, start, known, name)
                definitions = []
                start = item.span.end

    def _of_description(
        self,
        text: str,
        request: syntax.ParsedRequest,
        context: values.Context,
        start: int,
        known: int,
        default: str,
    ) -> Iterator[Problem]:
        """Yield what descriptions forbid of a request, whose text begins at `start`."""
        from orgrest.editor.diagnostics.openapi import chosen, of_descriptions

        about = chosen(text, request, context, self.analysis.described, default)
        if about.broken is not None:
            yield about.broken
        if not about.descriptions:
            return
        key = (known, text[start : request.span.end], about.is_named, about.descriptions)
        found = self._known.get(key, self._before.get(key))
        if found is None:
            problems = of_descriptions(text, request, context, about)
            found = tuple(one.moved(-start) for one in problems)
        self._known[key] = found
        yield from (one.moved(start) for one in found)

    def _needs_none(self, part: ParsedRegion) -> bool:
        """Tell whether a region may lack a request: it is empty, or part of others."""
        block = part.region.block
        if block is None or not part.region.text.strip():
            return not part.region.text.strip()
        given = part.given.arguments.values.get("noweb-ref")
        names = {(block.name or "").lower(), given.lower() if isinstance(given, str) else ""}
        with contextlib.suppress(lisp.ArgumentError):
            if part.given.arguments.eval in ("no", "never"):
                return True
            return not names.isdisjoint(self.analysis.noweb_names)
        return False

    def _of_request(
        self,
        text: str,
        request: syntax.ParsedRequest,
        context: values.Context,
        start: int,
        definitions: Sequence[syntax.Definition],
        known: int,
    ) -> list[Problem]:
        """Return the problems of a request and the definitions above it, from `start` on."""
        key = (known, text[start : request.span.end])
        found = self._known.get(key, self._before.get(key))
        if found is None:
            checked = values.check(request, context, definitions)
            problems = list(_told(text, checked.problems, checked.notices, start))
            subject = requests.Subject(text, request, checked, start)
            problems += (one for check in requests.CHECKS for one in check(subject))
            secrets = context.secrets.texts
            masked = (attrs.evolve(x, message=masking.mask(x.message, secrets)) for x in problems)
            found = tuple(dict.fromkeys(one.moved(-start) for one in masked))
        body = request.body
        if body is None or (body.file is None and not body.files):
            self._known[key] = found  # else the files may come and go
        return [one.moved(start) for one in found]


def _has_one_beside(analysis: Analysis) -> bool:
    """Tell whether there may be a description beside a document."""
    if not analysis.described.found_beside:
        return False
    from orgrest.description.beside import beside

    return next(beside(analysis.new_context().directory), None) is not None


def _of_imports(analysis: Analysis) -> Iterator[Problem]:
    """Yield the imports that fail or are circular, and the names that refer to no request."""
    imports, text = analysis.imports, analysis.text
    if analysis.kind != "http":
        return
    for one in imports.broken if imports else ():
        at = one.item.path.offset(0) if one.item.path else one.item.span.start
        message = one.error.reason if one.item is one.own else str(one.error)
        yield Problem(*extent(text, at), "error", one.error.code, message)
    for item, chain in imports.circles if imports else ():
        at = item.path.offset(0) if item.path else item.span.start
        message = f"these files import each other in a circle, each is read once: {chain}"
        yield Problem(*extent(text, at), "warning", "circle", message)
    if imports is not None and imports.broken:
        return
    part = analysis.parts[0]
    if part.named:
        yield from of_names(analysis.requests, text)
    for name in _references(part.parsed):
        if name.text.strip() not in part.named and "{{" not in name.text:
            known = ", ".join(sorted(part.named)) or "none"
            message = f"no request is named {name.text.strip()}; there are {known}"
            yield Problem(*extent(text, name.offset(0)), "error", "unknown-name", message)


def _references(document: syntax.Document) -> Iterator[syntax.Template]:
    """Yield the names of requests that directives and `run` lines need."""
    for item in document.items:
        if isinstance(item, syntax.Import) and item.request is not None and item.path is None:
            yield item.request
        elif isinstance(item, syntax.ParsedRequest):
            yield from (one.value for one in item.directives if one.name in ("ref", "force-ref"))


def _excusable(problem: Problem, text: str) -> bool:
    """Tell whether text that other blocks insert into this one may resolve a problem."""
    if problem.code == "undefined-variable":
        return True
    line = text[text.rfind("\n", 0, problem.start) + 1 : problem.end]
    return _NOWEB.search(line) is not None


def _told(
    text: str, problems: Sequence[OrgrestError], notices: Sequence[Notice], start: int
) -> Iterator[Problem]:
    """Convert errors of parsing and expansion to problems, ignoring those above `start`."""
    both: tuple[OrgrestError | Notice, ...] = (*problems, *notices)
    for one in both:
        if one.offset is None or one.offset < start:
            continue
        severity: Severity = "warning"
        if isinstance(one, OrgrestError) and one.code not in _WARNINGS:
            severity = "error"
        yield Problem(*extent(text, one.offset), severity, one.code, one.reason)
