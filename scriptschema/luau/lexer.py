"""Splits Luau source into tokens.

One regular expression reads a token and the white space before it. Only interpolated strings need
state: the text after a `}` belongs to a string if the matching `{` was in a string. The first
invalid token ends the list, so that the parser reports it only if there is no earlier error. Time
and memory are linear in the length of the source. Comments are not tokens, but listed separately.

Source: Luau's manual, https://luau.org/lexical-conventions, and what the real lexer accepts.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final, cast

import attrs

from scriptschema.luau.names import KEYWORDS

_SPACE: Final = r"[ \t\n\v\f\r]"
_ESCAPE: Final = rf"\\(?:\r\n|z{_SPACE}*+|[^\0])"

_TOKEN: Final = re.compile(
    rf"""
    {_SPACE}*+
    (?:
      (?P<name> [A-Za-z_][A-Za-z0-9_]*+ )
    | (?P<number> \.?[0-9][0-9._]*+ (?:[eE][+-]?)?+ [A-Za-z0-9_]*+ )
    | (?P<comment> -- (?: \[(?P<level>=*+)\[ [^\0]*? \](?P=level)\] | (?!\[=*+\[) [^\n\r\0]*+ ) )
    | (?P<string>
        " (?: [^"\\\n\r\0]++ | {_ESCAPE} )*+ "
      | ' (?: [^'\\\n\r\0]++ | {_ESCAPE} )*+ '
      | \[(?P<equals>=*+)\[ [^\0]*? \](?P=equals)\]
      )
    | (?P<symbol>
        \.\.\. | \.\.= | \.\. | //= | // | :: | -> | [=~<>+\-*/%^]=
      | \[(?!=*+\[) | -(?!-) | &(?!&) | \|(?!\|) | @(?=[A-Za-z_\[])
      | [+*/%^\#<>=(){{}}\];:,.?]
      )
    | (?P<backtick> ` )
    | (?P<eof> \Z )
    | (?P<error> --\[=*+\[ | \[=*+\[ | != | && | \|\| | [\s\S] )
    )
    """,
    re.VERBOSE,
)
_INTERPOLATED: Final = re.compile(rf"(?:[^`{{\\\n\r\0]++|\\u\{{|{_ESCAPE})*+([`{{])")

_ERRORS: Final = {
    '"': "unterminated string",
    "'": "unterminated string",
    "`": "unterminated string",
    "!=": "Luau uses `~=`",
    "!": "Luau uses `not`",
    "&&": "Luau uses `and`",
    "||": "Luau uses `or`",
    "~": "Luau uses `not` for negation, and `~=` for inequality",
    "@": "the name of an attribute must directly follow the `@`",
    "{{": "`{{` is not allowed in an interpolated string: write `\\{` or insert a space",
}


class Source:
    """The text of a Luau source, and a method to convert offsets to lines and columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, counted from 1. Columns are in characters."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1


@attrs.frozen
class Tokens:
    """The tokens of a source, and its comments.

    `kinds`, `texts` and `starts` are parallel lists with one entry per token. Three `eof` tokens at
    the end let the parser look two tokens ahead. The kind of a keyword or a symbol is its text. The
    other kinds are `name`, `number`, `string`, `whole` (an interpolated string without
    expressions), `first`, `middle` or `last` (the pieces of an interpolated string with
    expressions), `error` and `eof`.

    `comments` has the start and text of each comment. `problem` describes the `error` token, if
    any.
    """

    kinds: list[str]
    texts: list[str]
    starts: list[int]
    comments: list[tuple[int, str]]
    problem: str | None


def tokenize(source: str) -> Tokens:
    """Return the tokens of `source`.

    A first line that starts with `#!` counts as a comment, as in the `luau` program.
    """
    kinds: list[str] = []
    texts: list[str] = []
    starts: list[int] = []
    comments: list[tuple[int, str]] = []
    problem = None
    in_string: list[bool] = []  # for each open brace: does it belong to an interpolated string?
    read, keywords = _TOKEN.match, KEYWORDS
    offset = 0
    if source.startswith("#!"):
        line = source.partition("\n")[0]
        comments.append((0, line))
        offset = len(line)
    while True:
        # There is always a match: the last alternative matches any character.
        match = cast("re.Match[str]", read(source, offset))
        kind = match.lastgroup or ""
        start, offset = match.span(kind)
        text = source[start:offset]
        if kind == "name":
            if text in keywords:
                kind = text
        elif kind == "symbol":
            kind = text
            if text == "{":
                in_string.append(False)
            elif text == "}" and in_string and in_string.pop():
                kind = "middle"
        elif kind == "comment":
            comments.append((start, text))
            continue
        elif kind == "backtick":
            kind = "first"
        if kind in ("first", "middle"):
            kind, start, offset, problem = _interpolated(source, kind, start, offset)
            if kind in ("first", "middle"):
                in_string.append(True)
            text = source[start:offset]
        elif kind == "error":
            problem = _ERRORS.get(text)
            if problem is None and text.startswith(("[", "--")):
                problem = "unclosed long bracket"
                if "\0" in source[offset:]:  # Luau reads no further
                    problem = "a long bracket cannot contain a zero byte"
        kinds.append(kind)
        texts.append(text)
        starts.append(start)
        if kind == "error":
            kind = "eof"
            kinds.append(kind)
            texts.append("")
            starts.append(len(source))
        if kind == "eof":
            for padding in kinds, texts:
                padding += padding[-1:] * 2
            starts += starts[-1:] * 2
            return Tokens(kinds, texts, starts, comments, problem)


def _interpolated(
    source: str, kind: str, start: int, offset: int
) -> tuple[str, int, int, str | None]:
    """Return (kind, start, end, error) for the piece of an interpolated string at `start`.

    `kind` is the kind of the token if an expression follows the piece: `first` or `middle`.
    """
    piece = _INTERPOLATED.match(source, offset)
    if piece is None:
        return "error", start, offset, _ERRORS["`"]
    end = piece.end()
    if source.startswith("{{", end - 1):
        return "error", end - 1, end + 1, _ERRORS["{{"]
    if piece[1] == "{":
        return kind, start, end, None
    return "whole" if kind == "first" else "last", start, end, None
