"""Checks of request names in a request file: duplicates and circular references."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from orgrest.editor.diagnostics.model import Problem, extent
from orgrest.editor.request_files import referred
from orgrest.http import syntax
from orgrest.http.values import references
from orgrest.run.documents.request_file import namesakes, same_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.http.syntax import Document, ParsedRequest


def of_names(document: Document, text: str) -> Iterator[Problem]:
    """Yield the problems with the names of a document's requests."""
    for again, first in namesakes(document):
        naming = again.directive("name")
        at = again.method_span.start if naming is None else naming.span.start
        yield Problem(*extent(text, at), "warning", "same-name", same_name(again, first))
    named: dict[str, list[ParsedRequest]] = {}
    for request in document.requests:
        if request.name is not None:
            named.setdefault(request.name, []).append(request)
    if named:
        yield from _circles(document, text, named)


def _circles(
    document: Document, text: str, named: dict[str, list[ParsedRequest]]
) -> Iterator[Problem]:
    """Yield the requests that depend, directly or indirectly, on their own responses."""
    done: set[int] = set()
    open_: set[int] = set()
    for start in document.requests:
        path: list[tuple[ParsedRequest, Iterator[tuple[str, int]]]] = []
        waiting = [start] if id(start) not in done else []
        while waiting or path:
            if waiting:
                request = waiting.pop()
                path.append((request, _needs(request, named)))
                open_.add(id(request))
            request, needs = path[-1]
            name, at = next(needs, ("", -1))
            if at < 0:
                done.add(id(request))
                open_.discard(id(request))
                path.pop()
                continue
            other = _meant(name, request, named)
            if id(other) in open_:
                under_way = [one for one, _ in path]
                first = next(i for i, one in enumerate(under_way) if one is other)
                chain = [one.name or "this request" for one in (*under_way[first:], other)]
                message = f"{name} refers to itself: {' -> '.join(chain)}"
                yield Problem(*extent(text, at), "error", "self-reference", message)
            elif id(other) not in done:
                waiting.append(other)


def _meant(name: str, using: ParsedRequest, named: dict[str, list[ParsedRequest]]) -> ParsedRequest:
    above = bisect_left(named[name], using.span.start, key=lambda one: one.span.start)
    return named[name][max(above - 1, 0)]


def _needs(
    request: ParsedRequest, named: dict[str, list[ParsedRequest]]
) -> Iterator[tuple[str, int]]:
    """Yield the requests whose responses a request needs, and the spans of the references."""
    for one in request.directives:
        name = one.value.text.strip()
        if one.name in ("ref", "force-ref") and name in named:
            yield name, one.value.offset(0)
    templates = [request.target]
    templates += (one.value for one in request.headers if isinstance(one, syntax.HeaderLine))
    if request.body is not None:
        templates.append(request.body.template)
    for template in templates:
        stop = len(template.text)
        for found in references(template.text, 0, stop, (), bool, restclient=False):
            meant = referred(found.name, named)
            if meant is not None:
                yield meant, template.offset(found.at)
