"""Results for a whole document as JSON text, joined from a fragment for each of its parts.

A client requests all symbols, tokens and folds after each pause in typing, and most parts are the
same as before, only on other lines. So the text of a part's result is cached for the next version
of the document, with gaps for its lines.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING

import attrs
from lsprotocol import types

from orgrest.editor import outline

if TYPE_CHECKING:
    from collections.abc import Callable

    from orgrest.editor.analysis import Analysis
    from orgrest.editor.assertions import LastOutcomes
    from orgrest.editor.parsed_regions import ParsedRegion
    from orgrest.editor.positions import Text

SYMBOLS = {
    "block": types.SymbolKind.Module,
    "request": types.SymbolKind.Method,
    "variable": types.SymbolKind.Variable,
}


@attrs.frozen(eq=False)
class Encoded:
    """A result as JSON text in ASCII, which is sent unchanged."""

    text: str


@attrs.frozen(eq=False)
class _Lines:
    """JSON with `%d` for each line, and the lines, counted from the part's."""

    template: str
    lines: tuple[int, ...]

    def at(self, line: int) -> str:
        """Return the text for a part at a line."""
        return self.template % tuple([line + one for one in self.lines])


class _Writer:
    """Writes JSON with gaps for its lines."""

    def __init__(self, text: Text, start: int) -> None:
        self._text = text
        self._first = text.line(start)
        self._lines: list[int] = []

    def line(self, offset: int) -> str:
        """Return the gap for the line of an offset."""
        self._lines.append(self._text.line(offset) - self._first)
        return "%d"

    def position(self, offset: int) -> str:
        character = self._text.place(offset).character
        return f'{{"line":{self.line(offset)},"character":{character}}}'

    def range(self, start: int, end: int) -> str:
        return f'{{"start":{self.position(start)},"end":{self.position(end)}}}'

    def symbol(self, one: outline.Symbol) -> str:
        """Return a DocumentSymbol."""
        name, detail = (json.dumps(text).replace("%", "%%") for text in (one.name, one.detail))
        span, first = one.span, one.selection
        return (
            f'{{"name":{name},"detail":{detail},"kind":{SYMBOLS[one.kind].value},'
            f'"range":{self.range(span.start, span.end)},'
            f'"selectionRange":{self.range(first.start, first.end)},'
            f'"children":[{",".join([self.symbol(child) for child in one.children])}]}}'
        )

    def made(self, template: str) -> _Lines:
        """Return the JSON that was written."""
        return _Lines(template, tuple(self._lines))


def symbols(analysis: Analysis, text: Text) -> Encoded:
    """Return all symbols of a document in their hierarchy."""

    def make(part: ParsedRegion) -> _Lines:
        writer = _Writer(text, part.region.span.start)
        found = outline.symbols_of(part, analysis.document)
        return writer.made(",".join([writer.symbol(one) for one in found]))

    found = [
        (part.region.span.start, of_part)
        for part in analysis.parts
        if (of_part := _kept(analysis, "symbols", part, make).at(_line(text, part)))
    ]
    for one in outline.symbols_of_verb(analysis):
        writer = _Writer(text, 0)
        found.append((one.span.start, writer.made(writer.symbol(one)).at(0)))
    found.sort(key=lambda one: one[0])
    return Encoded(f"[{','.join([of_part for _, of_part in found])}]")


def folds(analysis: Analysis, text: Text) -> Encoded:
    """Return all folding ranges of a document."""

    def make(part: ParsedRegion) -> _Lines:
        writer = _Writer(text, part.region.span.start)
        found = dict.fromkeys(
            (text.line(one.start), text.line(one.end), one.start, one.end)
            for one in outline.folds_of(part, analysis.text)
        )
        every = {(first, last): (start, end) for first, last, start, end in found}
        return writer.made(
            ",".join(
                f'{{"startLine":{writer.line(start)},"endLine":{writer.line(end)}}}'
                for start, end in every.values()
            )
        )

    every = (_kept(analysis, "folds", part, make).at(_line(text, part)) for part in analysis.parts)
    return Encoded(f"[{','.join(filter(None, every))}]")


def _line(text: Text, part: ParsedRegion) -> int:
    return text.line(part.region.span.start)


def _kept(
    analysis: Analysis, kind: str, part: ParsedRegion, make: Callable[[ParsedRegion], _Lines]
) -> _Lines:
    found: _Lines = analysis.outlines[kind].get(
        (part.reading, part.region.kept), lambda: make(part)
    )
    return found


def lenses(analysis: Analysis, text: Text, outcomes: LastOutcomes | None, number: int) -> Encoded:
    """Return the lenses of a document: the outcome of each request, and commands to be resolved.

    Commands are resolved by the document's `number`. Without `outcomes` there are only commands.
    """
    last = outcomes.summaries(analysis) if outcomes is not None else {}
    found: list[str] = []
    for one in outline.lenses(analysis):
        place = text.place(one.span.start)
        at = f'{{"line":{place.line},"character":{place.character}}}'
        where = f'{{"range":{{"start":{at},"end":{at}}}'
        if (summary := last.get(one.span.start)) is not None:  # not clickable
            command = f'{{"title":{json.dumps(summary)},"command":""}}'
            found.append(f'{where},"command":{command}}}')
        found.append(f'{where},"data":["orgrest.send",{number}]}}')
        if not one.first:
            found.append(f'{where},"data":["orgrest.sendAllAbove",{number}]}}')
    return Encoded(f"[{','.join(found)}]")


# ------------------------------------------------------------------------------------------ tokens


@attrs.frozen(eq=False)
class _Tokens:
    """The tokens of a part in the protocol's encoding: each relative to the previous token.

    `first` is the line (from the part's) and the character of the first token, `last` those of the
    last; `rest` is the text after the first two numbers, `count` the number of numbers.
    """

    first: tuple[int, int]
    last: tuple[int, int]
    rest: str
    count: int


@attrs.frozen(eq=False)
class Tokens:
    """All tokens of a version of a document: numbers as JSON, part by part, and their count."""

    id: str
    pieces: list[str]
    counts: list[int]

    def whole(self) -> Encoded:
        """Return the result with all tokens."""
        return Encoded(f'{{"resultId":"{self.id}","data":[{",".join(self.pieces)}]}}')

    def since(self, before: Tokens) -> Encoded:
        """Return the result for a client that has the tokens `before`."""
        most = min(len(self.pieces), len(before.pieces))
        same = next((i for i in range(most) if self.pieces[i] != before.pieces[i]), most)
        ends = 0
        while ends < most - same and self.pieces[-1 - ends] == before.pieces[-1 - ends]:
            ends += 1
        start = sum(self.counts[:same])
        deleted = sum(before.counts[same : len(before.counts) - ends])
        new = ",".join(self.pieces[same : len(self.pieces) - ends])
        if not deleted and not new:
            return Encoded(f'{{"resultId":"{self.id}","edits":[]}}')
        edit = f'{{"start":{start},"deleteCount":{deleted},"data":[{new}]}}'
        return Encoded(f'{{"resultId":"{self.id}","edits":[{edit}]}}')


def tokens(analysis: Analysis, text: Text, number: str) -> Tokens:
    """Return all tokens of a document; `number` is their identifier for the client."""
    pieces: list[str] = []
    counts: list[int] = []
    line = character = 0
    for part in analysis.parts:
        key = part.reading, part.region.kept, part.known
        make = functools.partial(_of_tokens, text, part)
        found: _Tokens = analysis.outlines["tokens"].get(key, make)
        if not found.count:
            continue
        at = _line(text, part)
        first = at + found.first[0]
        column = found.first[1] - (character if first == line else 0)
        pieces.append(f"{first - line},{column},{found.rest}")
        counts.append(found.count)
        line, character = at + found.last[0], found.last[1]
    return Tokens(number, pieces, counts)


def _of_tokens(text: Text, part: ParsedRegion) -> _Tokens:
    data: list[int] = []
    base = _line(text, part)
    first = last = (0, 0)
    for token in outline.tokens_of(part):
        place, end = text.place(token.start), text.place(token.end)
        at = place.line - base, place.character
        if not data:
            first = last = at
        line, character = at[0] - last[0], at[1] - (last[1] if at[0] == last[0] else 0)
        kind = outline.TOKEN_TYPES.index(token.type)
        data += (line, character, end.character - place.character, kind, 0)
        last = at
    return _Tokens(first, last, ",".join(map(str, data[2:])), len(data))
