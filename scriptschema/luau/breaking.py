"""Generates sources that are not valid Luau, to test the error handling of parsers.

A valid program is changed in small ways: tokens are deleted, duplicated, moved, replaced or
inserted, the source is truncated, or constructs are opened but not closed. `luau.parse` rejects the
results.
"""

from __future__ import annotations

from typing import Final

from scriptschema.choices import Choices, choices_of
from scriptschema.luau.lexer import tokenize
from scriptschema.luau.names import KEYWORDS
from scriptschema.luau.parse import ParseError, parse
from scriptschema.versions import TODAY

_ODD: Final = (
    *('"', "'", "`", "[[", "[==[", "]]", "--[[", "--[==[", "`{", "`a{", "}b`", "{{", '"\\', "`\\"),
    *('"\\x1"', '"\\xZZ"', '"\\u{110000}"', '"\\u{', '"\\u{}"', '"\\999"', '"\\q"', "'\n'"),
    *("0x", "0b", "0b2", "1e", "1e+", "0xg", "1..2", "1.2.3", "9e999", "0x1p4", "1_", "0_x1"),
    *("$", "!", "~", "\\", "?", "@", "@native", "@[", "@x", "&&", "||", "!=", "\x01", "\x7f", "#!"),
    *("é", "\u2018", "\u201c", "\u200b", "\ufeff", "\u037e", "\U0001f600", "\udc80", "\uff08"),
    *("goto", "continue", "type", "export", "typeof", "const", "class", "read", "write", "async"),
    *("+=", "..=", "//=", "->", "::", "<", "<<", ">", ">>", "|", "&", "...", "..", ". ", ":", "=>"),
    *("local function", "function(", "function a.b:c.d()", "local x: =", "type T =", "type T<U..."),
    *("export type", "export local", "if then", "else if", "elseif", "for in", "for i = 1 do"),
    *("return return", "break;", "until", "repeat", "x = ", "x, y", "1 = 2", "f() = 1", "(a) = 1"),
    *("a b", "a.1", "a:b", "a[", "{a = }", "{[1]}", "{,}", "x :: ", "x: number", "<T>()", "(: x)"),
    *("local a: {[number]: }", "local a: (number", "local a: T<", "local a: typeof", "local a: |"),
    *("local a: {read x", "local a: () -> ...T | U", "local a: (...number)", "local a: string?&T"),
)
"""Strings that are never valid Luau, or are valid only in certain places."""

_SYMBOLS: Final = (
    *("+", "-", "*", "/", "//", "%", "^", "#", "==", "~=", "<=", ";", ",", ".", "="),
    *("(", ")", "[", "]", "{", "}"),
)
_WORDS: Final = (*sorted(KEYWORDS), *_SYMBOLS, *_ODD)

_DEPTH: Final = 1_500
_NESTED: Final = (
    *("(", "{", "[", "not ", "- ", "#", "a(", "a[", "a.b(", "`{", "{{", "if a then ", "do "),
    *("function() ", "while a do ", "repeat ", "local a: (", "local a: {", "a = function() "),
    *("if a then b else ", "type T = (", "local a: () -> ", "a .. ", "2 ^ ", "f{", "a and "),
)
"""Strings that open a construct. Repeated `_DEPTH` times, they exceed Luau's depth limit."""

_MOST: Final = 8
"""The maximum number of changes. If the source is still valid Luau after them, a `)` is
appended."""


def broken(source: str, choices: int | bytes | Choices) -> str:
    """Return `source` with changes, selected by `choices`, that make it invalid Luau.

    Luau itself also rejects the result, unless our parser does not support its syntax yet.
    """
    source_of_choices = choices_of(choices)
    text = source
    for _ in range(_MOST):
        text = _changed(text, source_of_choices)
        if source_of_choices.below(3) < 2 and not is_luau(text):
            return text
    return text + "\n)" if is_luau(text) else text


def is_luau(text: str) -> bool:
    """Return whether our parser accepts `text` as code for the newest known Luau version."""
    try:
        parse(text, luau=TODAY)
    except ParseError:
        return False
    return True


def _changed(text: str, choices: Choices) -> str:
    below = choices.below
    tokens = tokenize(text)
    at = _below(choices, max(1, tokens.kinds.index("eof")))
    start = tokens.starts[at]
    token = tokens.texts[at]
    before, after = text[:start], text[start + len(token) :]
    match below(10):
        case 0:
            return before + after
        case 1:
            return f"{before}{token} {token}{after}"
        case 2:
            return before + token[: _below(choices, len(token) + 1)]
        case 3:  # move the token to the end of the line
            line, newline, rest = after.partition("\n")
            return f"{before}{line} {token}{newline}{rest}"
        case 4:  # delete a few characters
            return before + token[:-1] + after[below(12) :]
        case 5:
            return f"{before}{_word(choices)} {token}{after}"
        case 6:
            return f"{before}{token}{_word(choices)}{after}"
        case 7 if below(8) == 7:  # seldom, since they are long
            return before + _NESTED[below(len(_NESTED))] * _DEPTH + after
    return f"{before}{_word(choices)}{after}"


def _word(choices: Choices) -> str:
    return _WORDS[_below(choices, len(_WORDS))]


def _below(choices: Choices, n: int) -> int:
    """Like `choices.below(n)`, but `n` may exceed 256."""
    if n <= 256:
        return choices.below(n)
    return (choices.below(256) * 256 + choices.below(256)) * n // 65536
