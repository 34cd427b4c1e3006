"""Links to files and URLs, ranges to select step by step, and hints with values of variables.

Secrets are masked.
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

import attrs

from orgrest.http import syntax, values
from orgrest.http.values.expansion import value_of
from orgrest.http.values.references import UNKNOWN, references
from orgrest.model import OrgrestError, Span
from orgrest.rendering import masking, sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.names import Names
    from orgrest.editor.parsed_regions import ParsedRegion

_URL = re.compile(r"https?://[^\s{}<>\"]+", re.IGNORECASE)
_MOST = 40  # characters of a value in a hint


@attrs.frozen
class Link:
    """A span of the document, and the URI that it leads to."""

    span: Span
    target: str


@attrs.frozen
class Hint:
    """The value of a variable, for the place right behind its name."""

    offset: int
    text: str


def links(analysis: Analysis) -> list[Link]:
    """Return the links of a document: imported files, files of bodies, URLs without variables.

    Files that the document may not read are left out.
    """
    found: list[Link] = []
    context = analysis.new_context()
    for part in analysis.parts:
        make = partial(_links_in, analysis, part, context)
        if part.reading.reads_files or part.reading.imports:  # files may appear and disappear
            spans = make()
        else:
            spans = analysis.outlines["links"].get((part.reading, part.known), make)
        found += (Link(part.region.to_file_span(span), target) for span, target in spans)
    return found


def _links_in(
    analysis: Analysis, part: ParsedRegion, context: values.Context
) -> list[tuple[Span, str]]:
    """Return the links of a part, with spans in its text."""
    return [
        (Span(template.offset(0), template.offset(len(template.text) - 1) + 1), target)
        for template, target in _linked(analysis, part, part.context(context))
    ]


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
            for path in (body.file, *(one.path for one in body.files)) if body else ():
                if path is None or not path.text or _varies(part, path):
                    continue
                try:
                    yield path, context.locate(path.text).as_uri()
                except OrgrestError:  # reported as a problem
                    continue


def _varies(part: ParsedRegion, template: syntax.Template) -> bool:
    """Return whether a text has variables."""
    found = references(
        template.text,
        0,
        len(template.text),
        part.lengths,
        part.knows,
        restclient=part.restclient,
    )
    return next(iter(found), None) is not None


def around(analysis: Analysis, names: Names, offset: int) -> list[Span]:
    """Return the spans to select around an offset, the smallest first."""
    found = {Span(0, len(analysis.text))}
    if (name := names.at(offset)) is not None:
        found.add(name.span)
    part = analysis.part_at(offset)
    if part is not None and part.region.span.start <= offset <= part.region.span.end:
        if part.region.block is not None:
            found |= {Span(part.region.block.start, part.region.block.end), part.region.span}
        inside = part.region.from_file(offset)
        found.update(part.region.to_file_span(one) for one in _inside(part, inside))
    spans: list[Span] = []
    for one in sorted(found, key=lambda span: span.end - span.start):
        around_last = not spans or (one.start <= spans[-1].start and spans[-1].end <= one.end)
        if one.start <= offset <= one.end and around_last:
            spans.append(one)
    return spans


def _inside(part: ParsedRegion, inside: int) -> Iterator[Span]:
    for item in part.parsed.items:
        if not item.span.start <= inside <= item.span.end:
            continue
        yield item.span
        if isinstance(item, syntax.ParsedRequest):
            yield item.method_span
            templates = [item.target]
            for line in item.headers:
                yield line.span
                if isinstance(line, syntax.HeaderLine):
                    templates += (line.name, line.value)
            for one in templates:
                yield Span(one.offset(0), one.offset(len(one.text)))
            if item.body is not None:
                yield item.body.span


def hints(analysis: Analysis, names: Names, within: Span) -> list[Hint]:
    """Return the values of the variables used within a span, if they are known before sending.

    Secrets are masked; values that differ at each use are left out.
    """
    found: list[Hint] = []
    text = analysis.text
    for part in analysis.parts:
        span = part.region.span
        if span.end < within.start or within.end < span.start:
            continue
        contexts: dict[int, values.Context] = {}
        for one in names.in_part(part):
            if one.role != "use" or one.request or not _touches(one.span, within):
                continue
            request = analysis.checked.request_at(part, part.region.from_file(one.span.start))
            if request is None:
                continue
            key = request.span.start
            if key not in contexts:
                contexts[key] = analysis.context_of(part, request)
            value = value_of(one.name, request, contexts[key])
            if value is None or UNKNOWN in value or not value.strip():
                continue
            if value != value_of(one.name, request, contexts[key]):
                continue  # a random one
            shown = sanitize.visible(
                masking.mask_value(value, contexts[key].secrets.texts), one_line=True
            )
            shown = shown if len(shown) <= _MOST else f"{shown[:_MOST]}..."
            closing = 2 if text.startswith("}}", one.span.end) else 0
            found.append(Hint(one.span.end + closing, shown))
    return found


def _touches(span: Span, within: Span) -> bool:
    return span.start <= within.end and within.start <= span.end
