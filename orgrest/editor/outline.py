"""The outline of a document: symbols, folding ranges, semantic tokens, code lenses."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from orgrest import classes
from orgrest.editor.request_files import DIRECTIVE
from orgrest.http import syntax
from orgrest.http.parsing.dialects import read
from orgrest.http.parsing.directives import rule_of
from orgrest.model import Span
from orgrest.org.blocks import VERB

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.org.document import OrgDocument

    _Found: TypeAlias = Iterator[tuple[int, int, "TokenType"]]
    _Inside: TypeAlias = Callable[[syntax.Template, "TokenType | None"], _Found]

TokenType: TypeAlias = Literal[
    "method", "string", "property", "variable", "comment", "function", "keyword", "operator"
]
TOKEN_TYPES: tuple[TokenType, ...] = get_args(TokenType)
"""The types of semantic tokens, named as in the Language Server Protocol.

A URL or the value of a header is a string, the name of a header is a property, and `->` and `<<`
are keywords.
"""


_COMMENT = re.compile(r"^[ \t]*(#.*)", re.MULTILINE)
_LINE = re.compile(r"\S[^\r\n]*")
_FUNCTION = re.compile(r"[ \t]*([A-Za-z_]\w*)(?=[ \t]*\()")


@classes.frozen
class Symbol:
    """A symbol for a request, a block or a variable.

    `span` is its whole extent, and `selection` is its first line.
    """

    name: str
    detail: str
    kind: Literal["block", "request", "variable"]
    span: Span
    selection: Span
    children: tuple[Symbol, ...] = ()


@classes.frozen
class Token:
    """A semantic token: the start, the end and the type of a piece of text within one line."""

    start: int
    end: int
    type: TokenType


# -------------------------------------------------------------------------------------- symbols


def symbols(analysis: Analysis) -> list[Symbol]:
    """Return the symbols of requests and variables.

    In an Org document, they are children of their block's symbol. A verb request only has a block
    symbol.
    """
    symbols = [symbol for part in analysis.parts for symbol in symbols_of(part, analysis.document)]
    if not (verbs := list(symbols_of_verb(analysis))):
        return symbols
    return sorted(symbols + verbs, key=lambda symbol: symbol.span.start)


def symbols_of(part: ParsedRegion, document: OrgDocument | None) -> tuple[Symbol, ...]:
    """Return the symbols in a part."""
    inner = tuple(_symbols(part))
    block = part.region.block
    if block is not None and document is not None:
        requests = [symbol for symbol in inner if symbol.kind == "request"]
        title = block.name or (requests[0].name if requests else block.language)
        detail = requests[0].detail if requests else ""
        start = document.offset(block.line)
        line = Span(start, start + len(document.lines[block.line]))
        inner = (Symbol(title, detail, "block", Span(start, block.end), line, inner),)
    return inner


def symbols_of_verb(analysis: Analysis) -> Iterator[Symbol]:
    """Yield the symbols of verb's requests and templates, which are headings or blocks."""
    document = analysis.document
    if document is None or VERB not in document.text.lower():
        return
    for block in document.evaluated:
        if block.language != VERB or block.kind not in ("heading", "block"):
            continue
        parsed = read(document.body(block), VERB).requests[0]
        if parsed.problems or block.result is not None:
            continue
        start = document.offset(block.line)
        line = Span(start, start + len(document.lines[block.line]))
        text = f"{parsed.method or 'template'} {parsed.target.text}".strip()
        yield Symbol(block.name or text, text, "block", Span(start, block.end), line)


def _symbols(part: ParsedRegion) -> Iterator[Symbol]:
    for item in part.parsed.items:
        if isinstance(item, syntax.Definition):
            span = part.region.to_file_span(item.span)
            name = part.region.to_file_span(item.name_span)
            yield Symbol(f"{item.mark}{item.name}", "", "variable", span, name)
        elif isinstance(item, syntax.ParsedRequest):
            line = f"{item.method} {item.target.text}"
            span = part.region.to_file_span(item.span)
            end = item.target.offset(len(item.target.text))
            first = Span(item.span.start, min(end, item.span.end))
            yield Symbol(
                item.name or line,
                line if item.name else "",
                "request",
                span,
                part.region.to_file_span(first),
            )


# -------------------------------------------------------------------------------------- folding


def folds_of(part: ParsedRegion, text: str) -> list[Span]:
    """Return the folding ranges of a part of `text`."""
    spans: list[Span] = []
    block = part.region.block
    if block is not None:
        spans.append(Span(block.start, block.end))
    named: syntax.Comment | None = None
    for item in part.parsed.items:
        if isinstance(item, syntax.Comment) and item.text.startswith("###"):
            named = item if item.name else None
            continue
        if isinstance(item, syntax.Definition):
            spans.append(part.region.to_file_span(item.span))
        if isinstance(item, syntax.ParsedRequest):
            start = named.span.start if named else item.span.start
            spans.append(part.region.to_file_span(Span(start, item.span.end)))
            if item.body is not None:
                spans.append(part.region.to_file_span(item.body.span))
            named = None
    return [span for span in spans if "\n" in text[span.start : span.end]]


# --------------------------------------------------------------------------------------- tokens


def tokens(analysis: Analysis, within: Span | None = None) -> list[Token]:
    """Return the semantic tokens of all regions, or of those that touch `within`, in order."""
    tokens: list[Token] = []
    for part in analysis.parts:
        if within is not None and not part.region.span.touches(within):
            continue
        tokens += (
            token
            for token in tokens_of(part)
            if within is None or (token.start < within.end and token.end > within.start)
        )
    return tokens


def tokens_of(part: ParsedRegion) -> Iterator[Token]:
    """Yield the semantic tokens of a part, in order. They neither span lines nor overlap."""
    text, to_file = part.region.text, part.region.to_file
    found = sorted(_tokens(part))  # comments occur within requests, too
    stops = [*(start for start, _, _ in found), len(text)][1:]
    for (start, end, kind), stop in zip(found, stops, strict=True):
        for line in _LINE.finditer(text, start, min(end, stop)):
            yield Token(to_file(line.start()), to_file(line.end() - 1) + 1, kind)


def _tokens(part: ParsedRegion) -> _Found:
    """Yield (start, end, type) for each semantic token, which may span lines.

    A token ends where the next one starts: of a comment with an assertion, only the mark is left.
    """
    text = part.region.text

    def inside(template: syntax.Template, kind: TokenType | None) -> _Found:
        """Yield the variables of a template, and the text between them as tokens of type `kind`."""
        at = 0
        stop = len(template.text)
        for reference in part.references(template):
            if reference.literal is not None:
                continue
            if kind:
                yield from _pieces(template, at, reference.start, kind)
            yield (
                template.offset(reference.start),
                template.offset(reference.end - 1) + 1,
                "variable",
            )
            at = reference.end
        if kind:
            yield from _pieces(template, at, stop, kind)

    for item in part.parsed.items:
        if isinstance(item, syntax.Comment):
            directive = None if part.restclient else DIRECTIVE.match(item.text)
            if directive is not None and rule_of(directive[1]) is not None:
                at = item.span.end - len(item.text)
                yield at + directive.start(1) - 1, at + directive.end(1), "keyword"
                continue
            yield item.span.start, item.span.end, "comment"
        elif isinstance(item, syntax.Definition):
            yield item.name_span.start, item.name_span.end, "variable"
            start = text.index(item.operator, item.name_span.end)
            yield start, start + len(item.operator), "operator"
            yield from _value(item, inside)
        elif isinstance(item, syntax.ParsedRequest):
            yield from _request(item, text, inside)


def _value(item: syntax.Definition, inside: _Inside) -> _Found:
    if item.operator == "=":
        yield from inside(item.value, "string")
        return
    template = item.value
    match = _FUNCTION.match(template.text)
    if match:
        yield template.offset(match.start(1)), template.offset(match.end(1) - 1) + 1, "function"
    yield from inside(template, None)


def _request(item: syntax.ParsedRequest, text: str, inside: _Inside) -> _Found:
    if item.method_span.end > item.method_span.start:  # a URL alone has no method
        yield item.method_span.start, item.method_span.end, "method"
    top = item.body.span.start if item.body else item.span.end
    below: list[tuple[int, int, TokenType]] = [
        (match.start(1), match.end(1), "comment")
        for match in _COMMENT.finditer(text, item.span.start, top)
        if item.restclient  # elsewhere comments are separate items
    ]
    below += inside(item.target, "string")
    for line in item.headers:
        if isinstance(line, syntax.HeaderVariable):
            start = line.span.end - len(text[line.span.start : line.span.end].lstrip())
            below.append((start, line.span.end, "variable"))
        else:
            below += inside(line.name, "property")
            below += inside(line.value, "string")
    for assertion in () if item.restclient else item.assertions:  # there, they are comments
        start = assertion.text.offset(0)
        mark = text.rindex("??", 0, start)
        below.append((mark, mark + 2, "operator"))
        if assertion.text.text.lower().startswith(assertion.subject):  # it may follow `eventually`
            below.append((start, start + len(assertion.subject), "property"))
        below += inside(assertion.expected, "string")
    for capture in item.captures if item.restclient else ():  # elsewhere, directives capture
        arrow = text.rindex("->", 0, capture.span.start)
        below.append((arrow, arrow + 2, "operator"))
        hook = text.index("jq-set-var", arrow)
        below.append((hook, hook + len("jq-set-var"), "keyword"))
        below.append((capture.span.start, capture.span.start + 1 + len(capture.name), "variable"))
        end = capture.span.end
        below.append((end - len(capture.expression), end, "string"))
    yield from sorted(below)
    if item.body is not None and item.body.file is not None:
        start = text.index("<", item.body.span.start)
        yield start, start + 1, "keyword"
        yield from inside(item.body.file, "string")
    elif item.body is not None:
        yield from inside(item.body.template, None)


def _pieces(template: syntax.Template, start: int, end: int, kind: TokenType) -> _Found:
    """Yield a token for each piece of `template.text[start:end]` that is contiguous."""
    cuts = [index for index, _ in template.anchors if start < index < end]
    for first, last in itertools.pairwise((start, *cuts, end)):
        at = template.offset(first)
        yield at, at + last - first, kind


# --------------------------------------------------------------------------------------- lenses


def lenses(analysis: Analysis) -> list[int]:
    """Return the offsets at which code lenses are shown.

    These are the starts of the requests that can be sent or, in Org, of their blocks.
    """
    if analysis.document is None:
        parts = analysis.parts
        return [part.region.span.start + start for part in parts for start in part.reading.starts]
    empty = {x.region.block_start for x in analysis.parts if not x.reading.starts}
    kinds = ("block", "heading")
    return [x.start for x in analysis.sent if x.kind in kinds and x.start not in empty]
