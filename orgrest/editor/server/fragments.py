"""JSON results for a whole document, assembled from one fragment for each of its parts.

A client requests all symbols, tokens and folding ranges after each pause in typing. Therefore the
JSON text of each part is cached for the document's next version, with placeholders for the line
numbers.
"""

from __future__ import annotations

import functools
import itertools
import json
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from orgrest import classes
from orgrest.editor import navigation, outline
from orgrest.editor.regions import unchanged

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.assertions import LastOutcomes
    from orgrest.editor.outline import Token
    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.editor.positions import Text

SYMBOLS = {
    "block": types.SymbolKind.Module,
    "request": types.SymbolKind.Method,
    "variable": types.SymbolKind.Variable,
}


@classes.frozen(eq=False)
class Encoded:
    """A result that is already encoded as ASCII JSON text and is sent unchanged."""

    text: str


@classes.frozen(eq=False)
class _Lines:
    """JSON text with `%d` for each line number. `lines` are relative to the part's first line."""

    template: str
    lines: tuple[int, ...]

    def at(self, line: int) -> str:
        return self.template % tuple([line + number for number in self.lines])


class _Writer:
    """Writes JSON text with placeholders for the line numbers."""

    def __init__(self, text: Text, start: int) -> None:
        self._text = text
        self._first = text.line(start)
        self._lines: list[int] = []

    def line(self, offset: int) -> str:
        self._lines.append(self._text.line(offset) - self._first)
        return "%d"

    def position(self, offset: int) -> str:
        character = self._text.place(offset).character
        return f'{{"line":{self.line(offset)},"character":{character}}}'

    def range(self, start: int, end: int) -> str:
        return f'{{"start":{self.position(start)},"end":{self.position(end)}}}'

    def symbol(self, symbol: outline.Symbol) -> str:
        """Return the JSON text of a DocumentSymbol."""
        name, detail = (
            json.dumps(text).replace("%", "%%") for text in (symbol.name, symbol.detail)
        )
        span, first = symbol.span, symbol.selection
        return (
            f'{{"name":{name},"detail":{detail},"kind":{SYMBOLS[symbol.kind].value},'
            f'"range":{self.range(span.start, span.end)},'
            f'"selectionRange":{self.range(first.start, first.end)},'
            f'"children":[{",".join([self.symbol(child) for child in symbol.children])}]}}'
        )

    def link(self, link: navigation.Link) -> str:
        """Return the JSON text of a DocumentLink."""
        target = json.dumps(link.target).replace("%", "%%")
        return f'{{"range":{self.range(link.span.start, link.span.end)},"target":{target}}}'

    def made(self, template: str) -> _Lines:
        return _Lines(template, tuple(self._lines))


@classes.define(eq=False)
class _Parts:
    """The values computed for all parts of one version of a document.

    `keys` are the parts' keys in the analysis, and `made` are their values. `texts` contains each
    part's first line and the JSON text for this line, or None if the text is not generated yet.
    """

    keys: list[Hashable]
    made: list[Any]
    texts: list[tuple[int, str] | None]


def _made(analysis: Analysis, kind: str, make: Callable[[ParsedRegion], object]) -> _Parts:
    """Return the values of `make` for all parts. Values for unchanged parts are reused."""
    keys, before = analysis.keys, analysis.outlines.get(kind) or _Parts([], [], [])
    top, end = unchanged(before.keys, keys)
    rest = len(before.keys) - end
    known = dict(
        zip(before.keys[top:rest], before.made[top:rest], strict=True)
    )  # a part may have moved
    new = slice(top, len(keys) - end)
    new_values = [
        known.get(key) or make(part)
        for key, part in zip(keys[new], analysis.parts[new], strict=True)
    ]
    made = [*before.made[:top], *new_values, *before.made[rest:]]
    texts = [*before.texts[:top], *[None] * len(new_values), *before.texts[rest:]]
    analysis.outlines[kind] = parts = _Parts(keys, made, texts)
    return parts


def _texts(
    analysis: Analysis, text: Text, kind: str, make: Callable[[ParsedRegion], _Lines]
) -> list[str]:
    """Return the JSON text of each part."""
    parts = _made(analysis, kind, make)
    parts.texts = [
        old if old is not None and old[0] == line else (line, made.at(line))
        for old, line, made in zip(parts.texts, _lines(analysis, text), parts.made, strict=True)
    ]
    return [entry[1] for entry in parts.texts if entry is not None]


def _lines(analysis: Analysis, text: Text) -> list[int]:
    """Return the first line of each part."""
    lines: list[int]
    known, lines = analysis.outlines.get("lines", (None, []))
    if known is not text:
        lines = text.lines_of([part.region.span.start for part in analysis.parts])
        analysis.outlines["lines"] = text, lines
    return lines


def symbols(analysis: Analysis, text: Text) -> Encoded:
    """Return all symbols of a document as a tree."""

    def make(part: ParsedRegion) -> _Lines:
        writer = _Writer(text, part.region.span.start)
        symbols = outline.symbols_of(part, analysis.document)
        return writer.made(",".join([writer.symbol(symbol) for symbol in symbols]))

    texts = _texts(analysis, text, "symbols", make)
    if verbs := list(outline.symbols_of_verb(analysis)):
        writers = [(verb, _Writer(text, 0)) for verb in verbs]
        both = [
            (symbol.span.start, writer.made(writer.symbol(symbol)).at(0))
            for symbol, writer in writers
        ]
        starts = [part.region.span.start for part in analysis.parts]
        texts = [text for _, text in sorted([*zip(starts, texts, strict=True), *both])]
    return _joined(texts)


def folds(analysis: Analysis, text: Text) -> Encoded:
    """Return all folding ranges of a document."""

    def make(part: ParsedRegion) -> _Lines:
        writer = _Writer(text, part.region.span.start)
        lenses = dict.fromkeys(
            (text.line(span.start), text.line(span.end), span.start, span.end)
            for span in outline.folds_of(part, analysis.text)
        )
        every = {(first, last): (start, end) for first, last, start, end in lenses}
        return writer.made(
            ",".join(
                f'{{"startLine":{writer.line(start)},"endLine":{writer.line(end)}}}'
                for start, end in every.values()
            )
        )

    return _joined(_texts(analysis, text, "folds", make))


def links(analysis: Analysis, text: Text) -> Encoded:
    """Return all links of a document."""
    context = analysis.new_context()

    def make(part: ParsedRegion) -> _Lines:
        writer = _Writer(text, part.region.span.start)
        links = navigation.links_of(analysis, part, context)
        return writer.made(",".join([writer.link(link) for link in links]))

    texts = _texts(analysis, text, "links", make)
    for at, part in enumerate(analysis.parts):
        if part.reading.reads_files or part.reading.imports:  # files may appear and disappear
            texts[at] = make(part).at(_lines(analysis, text)[at])
    return _joined(texts)


def lenses(analysis: Analysis, text: Text, outcomes: LastOutcomes | None, number: int) -> Encoded:
    """Return the code lenses of a document, with the outcomes and commands of requests.

    The client resolves the commands later, using the document's `number`. If `outcomes` is None,
    only commands are shown.
    """
    last = outcomes.summaries(analysis) if outcomes is not None else {}
    starts = outline.lenses(analysis)
    places = text.places_of(starts)
    depends = number, places, [last.get(start) for start in starts] if last else []
    encoded: Encoded
    before, encoded = analysis.outlines.get("lenses", (None, Encoded("[]")))
    if before != depends:
        encoded = _joined(list(_lenses(*depends)))
        analysis.outlines["lenses"] = depends, encoded
    return encoded


def _lenses(
    number: int, places: list[tuple[int, int]], summaries: list[str | None]
) -> Iterator[str]:
    for (line, character), summary in itertools.zip_longest(places, summaries):
        at = f'{{"line":{line},"character":{character}}}'
        where = f'{{"range":{{"start":{at},"end":{at}}}'
        if summary is not None:  # not clickable
            yield f'{where},"command":{{"title":{json.dumps(summary)},"command":""}}}}'
        yield f'{where},"data":["orgrest.send",{number}]}}'
        if (line, character) != places[0]:
            yield f'{where},"data":["orgrest.sendAllAbove",{number}]}}'


def _joined(texts: list[str]) -> Encoded:
    return Encoded(f"[{','.join(filter(None, texts))}]")


# ------------------------------------------------------------------------------------------ tokens


@classes.frozen(eq=False)
class _Tokens:
    """The semantic tokens of a part in LSP's encoding, each relative to the previous token.

    `first` and `last` are the line (relative to the part) and the column of the first and last
    token. `rest` is the JSON text after the first two numbers. `count` is the number of encoded
    numbers, including these two.
    """

    first: list[int]
    last: tuple[int, int]
    rest: str
    count: int


@classes.frozen(eq=False)
class Tokens:
    """All semantic tokens in a version of a document.

    `pieces` contains each part's encoded tokens as JSON text, and `counts` contains the number of
    integers in each piece. Parts without tokens are omitted.
    """

    id: str
    pieces: list[str]
    counts: list[int]

    def whole(self) -> Encoded:
        """Return a result that contains all tokens."""
        return Encoded(f'{{"resultId":"{self.id}","data":[{",".join(self.pieces)}]}}')

    def since(self, before: Tokens) -> Encoded:
        """Return a result with only the changes since `before`, which the client already has."""
        same, ends = unchanged(before.pieces, self.pieces)
        start = sum(self.counts[:same])
        deleted = sum(before.counts[same : len(before.counts) - ends])
        new = ",".join(self.pieces[same : len(self.pieces) - ends])
        if not deleted and not new:
            return Encoded(f'{{"resultId":"{self.id}","edits":[]}}')
        edit = f'{{"start":{start},"deleteCount":{deleted},"data":[{new}]}}'
        return Encoded(f'{{"resultId":"{self.id}","edits":[{edit}]}}')


def tokens(analysis: Analysis, text: Text, number: str) -> Tokens:
    """Return all semantic tokens of a document. The client refers to them by `number`."""
    parts = _made(analysis, "tokens", functools.partial(_of_tokens, text)).made
    pieces: list[str] = []
    line = character = 0
    for at, tokens_of_part in zip(_lines(analysis, text), parts, strict=True):
        if not tokens_of_part.count:
            continue
        first = at + tokens_of_part.first[0]
        column = tokens_of_part.first[1] - (character if first == line else 0)
        pieces.append(f"{first - line},{column},{tokens_of_part.rest}")
        line, character = at + tokens_of_part.last[0], tokens_of_part.last[1]
    return Tokens(number, pieces, [part.count for part in parts if part.count])


def _of_tokens(text: Text, part: ParsedRegion) -> _Tokens:
    data, last = encoded(outline.tokens_of(part), text, text.line(part.region.span.start))
    return _Tokens(data[:2], last, ",".join(map(str, data[2:])), len(data))


def encoded(
    tokens: Iterable[Token], text: Text, base: int = 0
) -> tuple[list[int], tuple[int, int]]:
    """Return semantic tokens in LSP's encoding, each relative to the previous token.

    The first token is relative to the start of line `base`. Also returns the line (relative to
    `base`) and the column of the last token.
    """
    data: list[int] = []
    last = (0, 0)
    for token in tokens:
        place, end = text.place(token.start), text.place(token.end)
        at = place.line - base, place.character
        line, character = at[0] - last[0], at[1] - (last[1] if at[0] == last[0] else 0)
        kind = outline.TOKEN_TYPES.index(token.type)
        data += (line, character, end.character - place.character, kind, 0)
        last = at
    return data, last
