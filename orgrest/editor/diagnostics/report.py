"""Runs the checks on a document, and reuses problems found in the document's previous version.

A part's problems are reused while its text, its region's settings and the definitions in other
parts are unchanged. The checks send nothing. They only test whether files to be sent can be read.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.editor.analysis import NOWEB
from orgrest.editor.diagnostics import document as document_checks
from orgrest.editor.diagnostics import fixes, requests
from orgrest.editor.diagnostics.model import Diagnostic, Finding, extent
from orgrest.editor.diagnostics.names import of_names
from orgrest.editor.regions import VersionCache, unchanged
from orgrest.http import syntax, values
from orgrest.http.values.expansion import check
from orgrest.model import Notice, OrgrestError, Span
from orgrest.org.blocks import VERB, ArgumentError
from orgrest.rendering import masking

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.diagnostics.model import Fix, Severity
    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.http.values.environment import Environment

_WARNINGS = frozenset({"no-request", "unset-environment", "no-netrc-entry"})


def _given_by(environment: Environment) -> Hashable:
    """Return a value that changes with the chosen environments and the errors in their files.

    It also changes with the names in the other environments, which messages mention.
    """
    wrong = tuple(str(file.error) for file in environment.every.broken)
    names = tuple((name, *variables) for name, variables in environment.every.by_name.items())
    with contextlib.suppress(OrgrestError):  # reported where a variable is not found
        return wrong, names, tuple(environment.settings().items())
    return wrong, names


class Report:
    """The problems that the checks find in an analysis. `diagnostics` is in document order."""

    def __init__(self, analysis: Analysis, before: Report | None = None) -> None:
        """Find the problems, reusing those in `before`, the report on an earlier version."""
        self.analysis = analysis
        self._is_described = "openapi" in analysis.text or _may_find_description(analysis)
        self._of_descriptions: VersionCache[Hashable, tuple[Diagnostic, ...]] = VersionCache(
            before._of_descriptions if before else None
        )
        self._context = analysis.new_context()
        self._around = self._outside()
        self._sets: Hashable = None
        """For each part of a request file, the names in it that other parts can use.

        It is None for an Org document, and if OpenAPI is not checked.
        """
        if self._is_described and analysis.document is None:
            self._sets = tuple([part.reading.sets for part in analysis.parts])
        self._known: dict[Hashable, tuple[Diagnostic, ...]] = {}
        """The reusable problems of parts, by cache key."""
        self._before = before._known if before and before._around == self._around else {}
        if before and self._before and analysis.document is None:
            self._before = _still_true(before, analysis)
        findings = list(self._findings())
        self._fixes = {finding.diagnostic: finding.fixes for finding in findings}
        every = (finding.diagnostic for finding in findings)
        self.diagnostics = tuple(
            sorted(every, key=lambda diagnostic: (diagnostic.span.start, diagnostic.span.end))
        )
        self._before = {}

    def _outside(self) -> Hashable:
        """Return everything that problems depend on, except for the document's text."""
        analysis = self.analysis
        environment: Hashable = ()
        if not all(part.restclient for part in analysis.parts):
            environment = _given_by(self._context.environment)
        imports = analysis.imports
        imported = imports.variables() if imports else {}
        return (
            environment,
            analysis.inputs.environments,
            analysis.inputs.secrets,
            tuple(analysis.inputs.remembered.items()),
            tuple(analysis.inputs.overrides.items()),
            tuple((name, definition.value.text) for name, (_, definition) in imported.items()),
            imports is not None and bool(imports.broken),
            imports is not None and analysis.named,
        )

    def fixes(self, diagnostic: Diagnostic) -> tuple[Fix, ...]:
        """Return the fixes for a diagnostic of this report. The fixes are computed on demand."""
        make = self._fixes.get(diagnostic)
        return make() if make is not None else ()

    def _findings(self) -> Iterator[Finding]:
        analysis = self.analysis
        if analysis.document is not None:
            for check in document_checks.CHECKS:
                yield from check(analysis, analysis.document)
            if any(block.language == VERB for block in analysis.sent):
                from orgrest.editor.diagnostics.verb import of_verb

                errors = list(of_verb(analysis, analysis.document))
                # Several requests can inherit the same error.
                found = dict.fromkeys(_as_problems(analysis.text, errors, (), 0))
                yield from map(Finding, found)
        for problem in of_names(analysis):
            part = analysis.part_at(problem.span.start) or analysis.parts[-1]
            yield self._placed(part, problem.moved(-part.region.span.start))
        for part in analysis.judged:
            key: Hashable = (part.reading, part.index)
            if analysis.document is not None:
                key = (part.reading, part.given, part.earlier)
            problems = self._before.get(key)
            is_reusable = problems is not None
            if problems is None:
                problems = tuple(self._problems(part))
                is_reusable = _is_reusable(part, problems)
            elif part.captures:
                for request in analysis.checked.document(part).requests:
                    analysis.capture(request, self._context)
            if is_reusable:
                self._known[key] = problems
            for problem in problems:
                yield self._placed(part, problem)
            for problem in self._described(part) if self._is_described else ():
                yield self._placed(part, problem)

    def _placed(self, part: ParsedRegion, problem: Diagnostic) -> Finding:
        span = part.region.to_file_span(problem.span)
        span = Span(span.start, max(span.start, span.end))
        text = self.analysis.text
        return Finding(classes.evolve(problem, span=span), lambda: fixes.fixes(part, problem, text))

    # ------------------------------------------------------------------------- in one region

    def _problems(self, part: ParsedRegion) -> Iterator[Diagnostic]:
        """Yield a part's problems, with offsets in the part's text."""
        analysis, document = self.analysis, self.analysis.checked.document(part)
        base, text = analysis.checked.text(part)
        context = part.context(self._context)
        arguments = part.given.arguments.values
        loose = arguments.get("prologue") or (part.given.inserts_noweb and NOWEB.search(text))
        imports = analysis.imports
        unknown = imports is not None and bool(imports.broken)
        for problem in _as_problems(text, document.problems, document.notices, base):
            if not loose and not (problem.code == "no-request" and self._may_be_empty(part)):
                yield problem.moved(-base)
        start = base
        definitions: list[syntax.Definition] = []
        for item in document.items:
            if isinstance(item, syntax.Definition):
                definitions.append(item)
            elif isinstance(item, syntax.ParsedRequest):
                for problem in _of_request(text, item, context, start, definitions):
                    if not (loose and _excusable(problem, text)) and not (
                        unknown and problem.code == "undefined-variable"
                    ):
                        yield problem.moved(-base)
                analysis.capture(item, context)
                definitions = []
                start = item.span.end
        below = analysis.checked.below(part) if definitions else None
        if below is not None:  # the first request that may use these definitions
            checked = check(below, context, definitions)
            end = definitions[-1].span.end
            for problem in _as_problems(text, checked.problems, checked.notices, start):
                if problem.span.start <= end and not (
                    unknown and problem.code == "undefined-variable"
                ):
                    yield _masked(problem, context).moved(-base)

    def _described(self, part: ParsedRegion) -> Iterator[Diagnostic]:
        """Yield a part's violations of OpenAPI descriptions, with offsets in the part's text."""
        from orgrest.editor.diagnostics.openapi import chosen, of_descriptions

        analysis, context = self.analysis, part.context(self._context)
        base, text = analysis.checked.text(part)
        default = part.given.arguments.values.get("openapi")
        name = default if isinstance(default, str) else ""
        for number, request in enumerate(analysis.checked.document(part).requests):
            about = chosen(text, request, context, analysis.described, name)
            if about.broken is not None:
                yield about.broken.moved(-base)
            if not about.descriptions:
                continue
            depends = (part.reading, part.given, self._around, self._sets or part.earlier)
            key = (*depends, number, about.is_named, about.descriptions)
            make = partial(of_descriptions, text, request, context, about)
            problems = self._of_descriptions.get(key, partial(_moved, make, -base))
            yield from problems

    def _may_be_empty(self, part: ParsedRegion) -> bool:
        """Return whether a part may have no requests.

        This is true if the part has no text, is never evaluated, or is inserted into other blocks.
        """
        block = part.region.block
        if block is None or not part.region.text.strip():
            return not part.region.text.strip()
        argument = part.given.arguments.values.get("noweb-ref")
        names = {(block.name or "").lower(), argument.lower() if isinstance(argument, str) else ""}
        with contextlib.suppress(ArgumentError):
            if part.given.arguments.eval in ("no", "never"):
                return True
            return not names.isdisjoint(self.analysis.noweb_names)
        return False


def _moved(make: Callable[[], Iterator[Diagnostic]], by: int) -> tuple[Diagnostic, ...]:
    return tuple(diagnostic.moved(by) for diagnostic in make())


def _is_reusable(part: ParsedRegion, problems: tuple[Diagnostic, ...]) -> bool:
    """Return whether a part's problems depend only on the part's cache key."""
    reading = part.reading
    if reading.reads_files or (part.region.kept is None and reading.defines_below):
        return False
    size = len(part.region.text)
    return all(
        0 <= problem.span.start <= size and problem.code != "no-request" for problem in problems
    )


def _still_true(before: Report, analysis: Analysis) -> dict[Hashable, tuple[Diagnostic, ...]]:
    """Return, by cache key, the problems that the latest change to a request file cannot affect.

    A change affects the parts that changed, and the parts that mention a changed name directly or
    indirectly.
    """
    old = [part.reading for part in before.analysis.parts]
    new = [part.reading for part in analysis.parts]
    top, end = unchanged(old, new)
    was, now = old[top : len(old) - end], new[top : len(new) - end]
    sets = [{setting for each in some for setting in each.sets} for some in (was, now)]
    both = sets[0] & sets[1]
    names = {setting[0] for setting in sets[0] ^ sets[1]}
    orders = [
        [setting for each in some for setting in each.sets if setting in both]
        for some in (was, now)
    ]
    if orders[0] != orders[1]:
        names |= {setting[0] for setting in both}
    waiting = set(names)
    while waiting:
        waiting = {
            name
            for each in new
            for name, _, value in each.sets
            if name not in names and any(changed in value for changed in waiting)
        }
        names |= waiting
    moved = len(new) - len(old)
    still_true: dict[Hashable, tuple[Diagnostic, ...]] = {}
    for at, reading in enumerate(new):
        if top <= at < len(new) - end or any(name in reading.text for name in names):
            continue
        problems = before._known.get((reading, at if at < top else at - moved))
        if problems is not None:
            still_true[reading, at] = problems
    return still_true


def _of_request(
    text: str,
    request: syntax.ParsedRequest,
    context: values.Context,
    start: int,
    definitions: Sequence[syntax.Definition],
) -> list[Diagnostic]:
    """Return the problems in a request and in the definitions above it.

    Errors and notices of the expansion are omitted if they are before `start` or have no offset.
    """
    checked = check(request, context, definitions)
    problems = list(_as_problems(text, checked.problems, checked.notices, start))
    subject = requests.Subject(text, request, checked, definitions)
    problems += (problem for check in requests.CHECKS for problem in check(subject))
    return list(dict.fromkeys(_masked(problem, context) for problem in problems))


def _masked(problem: Diagnostic, context: values.Context) -> Diagnostic:
    message = masking.mask_message(problem.message, context.secrets.texts)
    return classes.evolve(problem, message=message)


def _may_find_description(analysis: Analysis) -> bool:
    """Return whether a file near the document may be a usable OpenAPI description."""
    if not analysis.described.found_beside:
        return False
    from orgrest.description.files import beside

    return next(beside(analysis.new_context().directory), None) is not None


def _excusable(problem: Diagnostic, text: str) -> bool:
    """Return whether inserting text from other blocks might resolve a problem."""
    if problem.code in ("undefined-variable", "graphql", "bad-length"):
        return True
    line = text[text.rfind("\n", 0, problem.span.start) + 1 : problem.span.end]
    return NOWEB.search(line) is not None


def _as_problems(
    text: str, problems: Sequence[OrgrestError], notices: Sequence[Notice], start: int
) -> Iterator[Diagnostic]:
    """Yield errors and notices as problems, unless they have no offset or are before `start`."""
    both: tuple[OrgrestError | Notice, ...] = (*problems, *notices)
    for problem in both:
        if problem.offset is None or problem.offset < start:
            continue
        severity: Severity = "warning"
        if isinstance(problem, OrgrestError) and problem.code not in _WARNINGS:
            severity = "error"
        yield Diagnostic(extent(text, problem.offset), severity, problem.code, problem.reason)
