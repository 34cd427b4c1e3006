"""The syntax of header arguments: ``:name value`` pairs, and the values of ``:var``.

Emacs Lisp is not run, except to join strings. Other expressions become `Lisp` objects, and code
that needs their values reports an error. Quoted literals (``'("a" 1)``) are parsed as data.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from orgrest import classes
from orgrest.org.blocks import ArgumentError, Lisp
from orgrest.org.lisp import (
    NUMBER,
    STRING,
    Literal,
    Number,
    forms,
    literal,
    understand,
    unquote,
)
from orgrest.regular import compiled

_REFERENCE = compiled(r"([^\s\[\]()\"]+)(\[[^\]]*\])?(\(.*\))?(\[[^\]]*\])?$", re.DOTALL)


@classes.frozen
class ValueReference:
    """``NAME[indices](arguments)``, a reference to another value in the document."""

    name: str
    indices: str = ""
    arguments: str | None = None


Value: TypeAlias = "str | Number | Lisp | ValueReference | list[Literal] | None"
Pairs: TypeAlias = "tuple[tuple[str, str | Lisp | None], ...]"


def split(text: str, first: str, then: str) -> list[str]:
    """Split `text` at each character of `first` that precedes a character of `then`.

    Both characters are removed. If `then` is empty, `text` is split at each character of `first`.
    Text in brackets or quotes is not split. An unclosed bracket or quote is an ordinary character.
    """
    parts: list[str] = []
    closing = _closing(text)
    start = at = 0
    while at < len(text):
        here = text[at]
        if at in closing:
            at = closing[at]
        elif here == '"' and (at == 0 or text[at - 1] != "\\"):
            match = STRING.match(text, at)
            at = match.end() if match else at + 1
        elif here in first and (not then or text[at + 1 : at + 2] in tuple(then)):
            parts.append(text[start:at])
            at += 2 if then else 1
            start = at
        else:
            at += 1
    parts.append(text[start:])
    return parts


def _closing(text: str) -> dict[int, int]:
    """Map the offset of each matched opening bracket to the end of its closing bracket."""
    stack: list[tuple[str, int]] = []
    closing: dict[int, int] = {}
    for match in re.finditer(r"[][()]", text):
        here = match[0]
        if here in "([":
            stack.append((here, match.start()))
        elif stack and stack[-1][0] == {")": "(", "]": "["}[here]:
            closing[stack.pop()[1]] = match.end()
    return closing


@lru_cache(maxsize=4096)
def parse(text: str) -> Pairs:
    """Parse header arguments into (name, value) pairs. The names include the colon.

    A ``:var`` with several variables becomes several pairs. Raises ArgumentError for an unclosed
    quote.
    """
    text = text.strip()
    if not text:
        return ()
    pairs: list[tuple[str, str | Lisp | None]] = []
    pieces = split(text, " \t", ":")
    for number, piece in enumerate(pieces):
        name, _, value = (piece if number == 0 else ":" + piece).strip().partition(" ")
        if "\t" in name:
            name, _, more = name.partition("\t")
            value = f"{more} {value}"
        value = value.strip()
        if name == ":var":
            pairs += ((":var", variable) for variable in _variables(value))
        else:
            pairs.append((name, _read(value, name) if value else None))
    return tuple(pairs)


def _variables(text: str) -> list[str]:
    """Return the assignments in a text such as ``a=1, b = "two"``."""
    words = [word for word in split(text, " \t", "") if word.strip()]
    joined: list[str] = []
    for word in words:
        if joined and (word.startswith("=") or joined[-1].endswith("=")):
            joined[-1] += word
        else:
            joined.append(word)
    return [word[:-1] if word.endswith(",") else word for word in joined if word != ","]


def _read(text: str, name: str) -> str | Lisp:
    if text[0] in "(`'":
        try:
            return understand(text, {})  # code that only joins strings
        except ArgumentError:
            return Lisp(text)
    if text[0] == '"':
        match = STRING.match(text)
        if match is None:
            raise ArgumentError(f"header argument {name} has an unclosed quote: {text}")
        if match.end() == len(text):
            return unquote(text)
    return text


def value(assignment: str) -> tuple[str, Value]:
    """Parse ``name=value`` from a ``:var`` into the name and the value.

    Raises ArgumentError if there is no value or it cannot be parsed.
    """
    name, equals, text = assignment.partition("=")
    name, text = name.strip(), text.strip()
    if not name:
        raise ArgumentError(f":var must be followed by name=value, found: {assignment}")
    if not equals or not text:
        raise ArgumentError(f':var {name} has no value; for an empty value, write :var {name}=""')
    if text[0] == '"':
        match = STRING.match(text)
        if match is None:
            raise ArgumentError(f":var {name} has an unclosed quote: {text}")
        return name, unquote(match[0])
    if NUMBER.fullmatch(text):
        return name, Number(text)
    if text[0] == "'":
        items = [literal(form) for form in forms(text[1:])]
        if len(items) != 1:
            raise ArgumentError(f":var {name} must have one value, found: {text}")
        return name, items[0]
    if text[0] in "(`[":
        return name, Lisp(text)
    match = _REFERENCE.match(text)
    if match is None:
        raise ArgumentError(f":var {name} has an invalid value: {text}")
    indices = (match[2] or match[4] or "")[1:-1]
    return name, ValueReference(match[1], indices, None if match[3] is None else match[3][1:-1])


def call_arguments(text: str) -> list[str]:
    """Return the arguments of a call, split at its commas.

    Raises ArgumentError for an argument without a name.
    """
    assignments = [part.strip() for part in split(text, ",", "") if part.strip()]
    for part in assignments:
        if not re.match(r"[^\s=]+\s*=", part):
            raise ArgumentError(f"arguments of a call must be written as name=value, found {part}")
    return assignments
