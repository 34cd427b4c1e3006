"""The syntax of header arguments: ``:name value`` pairs, and the values of ``:var``.

Nothing is evaluated: a value in Emacs Lisp is kept as `Lisp`, so that code that needs it can report
that it is not run. Quoted literals (``'("a" 1)``) are data and are read.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

import attrs

from orgrest.org.lisp import (
    NUMBER,
    STRING,
    ArgumentError,
    Literal,
    Number,
    literal,
    understand,
    unquote,
)

_UNESCAPED_QUOTE = re.compile(r'[^\\]"')
_REFERENCE = re.compile(r"([^\s\[\]()\"]+)(\[[^\]]*\])?(\(.*\))?(\[[^\]]*\])?$", re.DOTALL)


@attrs.frozen
class Lisp:
    """A value that Emacs would evaluate, and orgrest does not."""

    text: str


@attrs.frozen
class Reference:
    """``NAME[indices](arguments)``, a reference to another value of the document."""

    name: str
    indices: str = ""
    arguments: str | None = None


Value: TypeAlias = "str | Number | Lisp | Reference | list[Literal] | None"
Pairs: TypeAlias = "tuple[tuple[str, str | Lisp | None], ...]"


def split(text: str, first: str, then: str) -> list[str]:
    """Split `text` where a character of `first` is followed by one of `then`.

    With `then` empty, split at each character of `first`. Text within brackets and quotes is not
    split; an unclosed bracket or quote is an ordinary character.
    """
    parts: list[str] = []
    closing = _closing(text)
    start = at = 0
    while at < len(text):
        here = text[at]
        if at in closing:
            at = closing[at]
        elif here == '"' and (at == 0 or text[at - 1] != "\\"):
            if text[at + 1 : at + 2] == '"':
                at += 2
            else:
                close = _UNESCAPED_QUOTE.search(text, at + 1)
                at = close.end() if close else at + 1
        elif here in first and (not then or text[at + 1 : at + 2] in tuple(then)):
            parts.append(text[start:at])
            at += 2 if then else 1
            start = at
        else:
            at += 1
    parts.append(text[start:])
    return parts


def _closing(text: str) -> dict[int, int]:
    """Map the offset of each closed opening bracket to the offset after its closing bracket."""
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
    """Parse header arguments into (name with colon, value) pairs, one per variable of a ``:var``.

    Raises ArgumentError for a quote that never closes.
    """
    text = text.strip()
    if not text:
        return ()
    found: list[tuple[str, str | Lisp | None]] = []
    pieces = split(text, " \t", ":")
    for number, piece in enumerate(pieces):
        name, _, value = (piece if number == 0 else ":" + piece).strip().partition(" ")
        if "\t" in name:
            name, _, more = name.partition("\t")
            value = f"{more} {value}"
        value = value.strip()
        if name == ":var":
            found += ((":var", variable) for variable in _variables(value))
        else:
            found.append((name, _read(value, name) if value else None))
    return tuple(found)


def _variables(text: str) -> list[str]:
    """Split ``a=1 b = "two"`` (commas between are allowed) into assignments."""
    words = [word for word in split(text, " \t", "") if word.strip()]
    joined: list[str] = []
    for word in words:
        if joined and (word.startswith("=") or joined[-1].endswith("=")):
            joined[-1] += word
        else:
            joined.append(word)
    return [word[:-1] if word.endswith(",") else word for word in joined if word != ","]


def _read(text: str, name: str) -> str | Lisp:
    """Parse one value: quotes are removed, Lisp is marked as such."""
    if text[0] in "(`'":
        try:
            return understand(text, {})
        except ArgumentError:
            return Lisp(text)
    if text[0] == '"':
        match = STRING.match(text)
        if match is None:
            raise ArgumentError(f"header argument {name} has a quote that is never closed: {text}")
        if match.end() == len(text):
            return unquote(text)
    return text


def value(assignment: str) -> tuple[str, Value]:
    """Read ``name=value`` of a ``:var``.

    Raises ArgumentError if there is no value or it cannot be parsed.
    """
    name, equals, text = assignment.partition("=")
    name, text = name.strip(), text.strip()
    if not equals or not text:
        raise ArgumentError(f':var {name} has no value; write :var {name}="" for an empty one')
    if text[0] == '"':
        match = STRING.match(text)
        if match is None:
            raise ArgumentError(f":var {name} has a quote that is never closed: {text}")
        return name, unquote(match[0])
    if NUMBER.fullmatch(text):
        return name, Number(text)
    if text[0] == "'":
        items, end = literal(text, 1)
        if end != len(text):
            raise ArgumentError(f":var {name} has something after its value: {text[end:]}")
        return name, items
    if text[0] in "(`[":
        return name, Lisp(text)
    match = _REFERENCE.match(text)
    if match is None:
        raise ArgumentError(f":var {name} has a value that cannot be read: {text}")
    indices = (match[2] or match[4] or "")[1:-1]
    return name, Reference(match[1], indices, None if match[3] is None else match[3][1:-1])


def call_arguments(text: str) -> list[str]:
    """Split the arguments of a call at its commas.

    Raises ArgumentError for an argument without a name.
    """
    found = [part.strip() for part in split(text, ",", "") if part.strip()]
    for part in found:
        if not re.match(r"[^\s=]+\s*=", part):
            raise ArgumentError(f"an argument of a call needs a name (name=value): {part}")
    return found
