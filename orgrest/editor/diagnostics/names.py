"""Checks the names in a request file: imports, duplicates, circular and unknown references."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.editor.diagnostics.model import Diagnostic, extent
from orgrest.editor.request_files import referred
from orgrest.http.values.references import references_in
from orgrest.run.documents.request_file import namesakes, same_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.http.syntax import ParsedRequest
    from orgrest.run.documents.imports import Imports

_MOST_COMPARED = 5000
"""The maximum number of comparisons of an unknown name with a known one, because they are slow."""


def of_names(analysis: Analysis) -> Iterator[Diagnostic]:
    """Yield problems with imports and with names of requests. Offsets refer to the whole file."""
    imports, text = analysis.imports, analysis.text
    if analysis.kind != "http":
        return
    for broken_import in imports.broken if imports else ():
        at = (
            broken_import.item.path.offset(0)
            if broken_import.item.path
            else broken_import.item.span.start
        )
        message = (
            broken_import.error.reason
            if broken_import.item is broken_import.own
            else str(broken_import.error)
        )
        yield Diagnostic(extent(text, at), "error", broken_import.error.code, message)
    for item, chain in imports.circles if imports else ():
        at = item.path.offset(0) if item.path else item.span.start
        message = f"these files import each other; each is read once: {chain}"
        yield Diagnostic(extent(text, at), "warning", "circle", message)
    if imports is not None and imports.broken:
        return
    if _may_be_wrong(analysis):
        yield from _of_names(analysis.requests, text)
    named = analysis.named
    unknown = [
        (part, name, name.text.strip())
        for part in analysis.parts
        for name in part.reading.needed
        if name.text.strip() not in named and "{{" not in name.text
    ]
    known = f"available: {', '.join(sorted(named)) or 'none'}" if unknown else ""
    hints: dict[str, str] = {}
    for part, name, wrong in unknown:
        if wrong not in hints:
            may_compare = len(named) * (len(hints) + 1) <= _MOST_COMPARED
            near = get_close_matches(wrong, named, 1) if may_compare else ()
            hints[wrong] = f"did you mean {near[0]}?" if near else known
        message = f"no request named {wrong}; {hints[wrong]}"
        at = part.region.to_file(name.offset(0))
        yield Diagnostic(extent(text, at), "error", "unknown-name", message)


def _may_be_wrong(analysis: Analysis) -> bool:
    """Return whether two requests might share a name, or a request might depend on itself.

    This is a cheap test before the exact checks. Requests that refer only to requests above them
    cannot form a cycle.
    """
    named = analysis.named
    if not named or analysis.imports is not None:
        return bool(named)
    above: set[str] = set()
    for part in analysis.parts:
        for name, needs in part.reading.links:
            if any(needed_name in named and needed_name not in above for needed_name in needs):
                return True
            if name in above:
                return True
            if name is not None:
                above.add(name)
    return False


def _of_names(imports: Imports, text: str) -> Iterator[Diagnostic]:
    document = imports.main.document
    for again, first in namesakes(document):
        naming = again.directive("name")
        at = again.method_span.start if naming is None else naming.span.start
        yield Diagnostic(extent(text, at), "warning", "same-name", same_name(again, first))
    if imports.named(document.source):
        yield from _circles(imports, text)


@classes.define(eq=False)
class _Visit:
    """A request on the current path of a depth-first search for cycles.

    `needs` yields the request's references. `at` is the offset of the reference to the next request
    on the path.
    """

    request: ParsedRequest
    needs: Iterator[tuple[str, int]]
    at: int = 0


def _circles(imports: Imports, text: str) -> Iterator[Diagnostic]:
    """Yield a problem for each cycle of requests that depend on their own responses.

    The problem is at the last reference on the path that is in the document itself.
    """
    own = imports.main.document
    done: set[int] = set()
    open_: set[int] = set()
    for start in own.requests:
        path: list[_Visit] = []
        waiting = [start] if id(start) not in done else []
        while waiting or path:
            if waiting:
                request = waiting.pop()
                path.append(_Visit(request, _needs(request, imports.named(request.source))))
                open_.add(id(request))
            here = path[-1]
            name, here.at = next(here.needs, ("", -1))
            if here.at < 0:
                done.add(id(here.request))
                open_.discard(id(here.request))
                path.pop()
                continue
            other = imports.of(here.request.source, name, here.request.span.start)
            if other is None or id(other) in done:
                continue
            if id(other) in open_:
                under_way = [step.request for step in path]
                first = next(i for i, request in enumerate(under_way) if request is other)
                chain = [request.name or "this request" for request in (*under_way[first:], other)]
                message = f"{name} refers to itself: {' -> '.join(chain)}"
                at = next(
                    visit.at for visit in reversed(path) if visit.request.source is own.source
                )
                yield Diagnostic(extent(text, at), "error", "self-reference", message)
            else:
                waiting.append(other)


def _needs(request: ParsedRequest, named: Collection[str]) -> Iterator[tuple[str, int]]:
    """Yield (name, offset) for each reference to another request."""
    for directive in request.directives:
        name = directive.value.text.strip()
        if directive.name in ("ref", "force-ref") and name in named:
            yield name, directive.value.offset(0)
    templates = [request.target, *(header.value for header in request.header_lines)]
    if request.body is not None:
        templates.append(request.body.template)
    for template in templates:
        for reference in references_in(template.text):
            needed = referred(reference.name, named)
            if needed is not None:
                yield needed, template.offset(reference.at)
