"""Finds links to files and URLs, spans for expanding a selection, and the values of variables.

The values are shown as inlay hints. Secrets are masked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest import classes
from orgrest.http import syntax, values
from orgrest.http.values.expansion import value_of
from orgrest.http.values.references import UNKNOWN
from orgrest.model import OrgrestError, Span
from orgrest.rendering import masking, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.names import Names
    from orgrest.editor.parsed_regions import ParsedRegion

_URL = re.compile(r"https?://[^\s{}<>\"]+", re.IGNORECASE)
_MOST = 16  # characters of a value in a hint, so that the rest of the line still fits in the window


@classes.frozen
class Link:
    """A link in a document: the span of its text, and the URI that it leads to."""

    span: Span
    target: str


@classes.frozen
class Hint:
    """An inlay hint: the value of a variable, which is shown directly after its name."""

    offset: int
    text: str


def links_of(analysis: Analysis, part: ParsedRegion, document: values.Context) -> Iterator[Link]:
    """Yield the links of a part: imported files, body files, and URLs without variables.

    Files that the document may not read are omitted. `document` is the whole document's context.
    """
    for template, target in _linked(analysis, part, part.context(document)):
        span = Span(template.offset(0), template.offset(len(template.text) - 1) + 1)
        yield Link(part.region.to_file_span(span), target)


def _linked(
    analysis: Analysis, part: ParsedRegion, context: values.Context
) -> Iterator[tuple[syntax.Template, str]]:
    for item in part.parsed.items:
        if isinstance(item, syntax.Import) and item.path is not None and analysis.imports:
            file = analysis.imports.imported(item.path.text, analysis.checked.whole.source)
            if file is not None:
                yield item.path, file.path.as_uri()
        elif isinstance(item, syntax.ParsedRequest):
            if _URL.fullmatch(item.target.text) and not _varies(part, item.target):
                yield item.target, item.target.text
            body = item.body
            for path in (body.file, *(body_file.path for body_file in body.files)) if body else ():
                if path is None or not path.text or _varies(part, path):
                    continue
                try:
                    yield path, context.locate(path.text).as_uri()
                except OrgrestError:  # reported as a problem
                    continue


def _varies(part: ParsedRegion, template: syntax.Template) -> bool:
    """Return whether a template contains variables."""
    return next(part.references(template), None) is not None


def around(analysis: Analysis, names: Names, offset: int) -> list[Span]:
    """Return the spans to which an editor expands a selection at an offset, smallest first."""
    ranges = {Span(0, len(analysis.text))}
    if (name := names.at(offset)) is not None:
        ranges.add(name.span)
    part = analysis.part_at(offset)
    if part is not None and part.region.span.reaches(offset):
        if part.region.block is not None:
            ranges |= {Span(part.region.block.start, part.region.block.end), part.region.span}
        inside = part.region.from_file(offset)
        ranges.update(part.region.to_file_span(span) for span in _inside(part, inside))
    spans: list[Span] = []
    for file_span in sorted(ranges, key=lambda span: span.end - span.start):
        around_last = not spans or (
            file_span.start <= spans[-1].start and spans[-1].end <= file_span.end
        )
        if file_span.reaches(offset) and around_last:
            spans.append(file_span)
    return spans


def _inside(part: ParsedRegion, inside: int) -> Iterator[Span]:
    for item in part.parsed.items:
        if not item.span.reaches(inside):
            continue
        yield item.span
        if isinstance(item, syntax.ParsedRequest):
            yield item.method_span
            templates = [item.target]
            for line in item.headers:
                yield line.span
                if isinstance(line, syntax.HeaderLine):
                    templates += (line.name, line.value)
            for template in templates:
                yield Span(template.offset(0), template.offset(len(template.text)))
            if item.body is not None:
                yield item.body.span


def hints(analysis: Analysis, names: Names, within: Span) -> list[Hint]:
    """Return inlay hints with the values of the variables that are used in a span.

    A value is shown only if it is known before a request is sent and is the same at each use.
    Secrets are masked.
    """
    known_values: list[Hint] = []
    text = analysis.text
    for part in analysis.parts:
        if not part.region.span.touches(within):
            continue
        contexts: dict[int, values.Context] = {}
        for occurrence in names.in_part(part):
            if (
                occurrence.role != "use"
                or occurrence.request
                or not occurrence.span.touches(within)
            ):
                continue
            request = analysis.checked.request_at(
                part, part.region.from_file(occurrence.span.start)
            )
            if request is None:
                continue
            key = request.span.start
            if key not in contexts:
                contexts[key] = analysis.context_of(part, request)
            value = value_of(occurrence.name, request, contexts[key])
            if value is None or UNKNOWN in value or not value.strip():
                continue
            if value != value_of(occurrence.name, request, contexts[key]):
                continue  # a random one
            shown = sanitize.visible(
                masking.mask_value(value, contexts[key].secrets.texts), one_line=True
            )
            if len(shown) > _MOST:
                host = shown.removeprefix("https://").removeprefix("http://")
                shown = host if len(host) <= _MOST else f"{host[:_MOST]}..."
            closing = 2 if text.startswith("}}", occurrence.span.end) else 0
            known_values.append(Hint(occurrence.span.end + closing, shown))
    return known_values
