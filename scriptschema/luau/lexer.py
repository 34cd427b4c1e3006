"""Luau source to tokens.

One regular expression reads a token and the white space before it; only interpolated strings need
state: the text after a `}` belongs to a string if the matching `{` was in a string. A token that is
not Luau ends the list, so it is reported when the parser reaches it, and not before an earlier
error. Time and memory are linear in the source.

Comments are not tokens; they are listed separately, since the schema cannot represent them.

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
    | (?P<comment> -- (?: \[(?P<level>=*+)\[ [\s\S]*? \](?P=level)\] | (?!\[=*+\[) [^\n\r\0]*+ ) )
    | (?P<string>
        " (?: [^"\\\n\r\0]++ | {_ESCAPE} )*+ "
      | ' (?: [^'\\\n\r\0]++ | {_ESCAPE} )*+ '
      | \[(?P<equals>=*+)\[ [\s\S]*? \](?P=equals)\]
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
    '"': "the string is not finished on its line",
    "'": "the string is not finished on its line",
    "`": "the string is not finished on its line",
    "!=": "Luau writes `~=`",
    "!": "Luau writes `not`",
    "&&": "Luau writes `and`",
    "||": "Luau writes `or`",
    "~": "Luau writes `not`, and `~=` for unequal",
    "@": "an attribute's name must follow at once",
    "{{": "`{{` must not stand in an interpolated string: write `\\{` or put a space between",
}


class Source:
    """A source text, which converts offsets to lines and columns."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts = [0, *(found.end() for found in re.finditer("\n", text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Return the line and the column of an offset, both from 1; columns are in characters."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1


@attrs.frozen
class Tokens:
    """The tokens of a source, and its comments.

    The three lists are parallel. A kind is the text itself for a keyword or a symbol, and otherwise
    `name`, `number`, `string`, `whole` (an interpolated string without expressions), `first`,
    `middle` or `last` (the pieces of an interpolated string with expressions), `error` and `eof`.
    The list ends with three `eof` tokens, so that the parser may look two tokens ahead.
    `comments` are start and text; `problem` says what is wrong with the `error` token, if anything.
    """

    kinds: list[str]
    texts: list[str]
    starts: list[int]
    comments: list[tuple[int, str]]
    problem: str | None


def tokenize(source: str) -> Tokens:
    """Split `source` into tokens.

    A first line that starts with `#!` counts as a comment, like in the `luau` program.
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
        found = cast("re.Match[str]", read(source, offset))
        kind = found.lastgroup or ""
        start, offset = found.span(kind)
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
                problem = "the long bracket is not closed"
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
    """Continue an interpolated string whose piece began at `start`; `kind` is first or middle.

    Returns the kind of the token, its start and end, and what is wrong with it. The kind is still
    first or middle if an expression follows.
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
