r"""Texts in the notation of request files: references to variables, and escaped braces.

`{{name}}` refers to a variable, ``\{{name}}`` and ``\{\{name\}\}`` are literal braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

import attrs

from orgrest.convert.shared.model import ConversionError
from orgrest.http.values.references import references

_BRACES: Final = re.compile(r"\{\{(?!\{)")
_CALL: Final = re.compile(r"\{\{[ \t]*([^{}\n]+?)[ \t]*\}\}")
_NOT_IN_NAME: Final = re.compile(r"[^\w.-]+")


@attrs.frozen
class Variable:
    """A reference to a variable."""

    name: str


def literal(text: str) -> str:
    """Return a text with escaped braces, so that nothing in it refers to a variable."""
    return written([text])


def written(given: Iterable[str | Variable]) -> str:
    """Return literal texts and references to variables in the notation of request files.

    Raises ConversionError for braces after a backslash, which that notation cannot express.
    """
    given = tuple(given)
    text = "".join(
        f"{{{{{one.name}}}}}" if isinstance(one, Variable) else _escape(one) for one in given
    )
    if ("{{" in text or "\\{" in text) and pieces(text) != _joined(given):
        raise ConversionError("braces here would be read as a variable")
    return text


def is_literal(text: str) -> bool:
    """Return whether a text in this notation refers to no variable."""
    return not any(isinstance(piece, Variable) for piece in pieces(text))


def plain(text: str) -> str | None:
    """Return the value of a text in this notation; None if it refers to variables."""
    read = pieces(text)
    return "".join(str(piece) for piece in read) if is_literal(text) else None


def body_of(text: str) -> str | bytes:
    """Return literal text of a body; as bytes, for a file, if the notation cannot express it."""
    try:
        return literal(text)
    except ConversionError:
        return text.encode("utf-8", "surrogateescape")


def translated(text: str, variable: Callable[[str], Variable | str | None]) -> str:
    """Return a text from a tool with `{{name}}` in the notation of request files.

    `variable` translates the content of the braces; None leaves them unchanged. Raises
    ConversionError like `written`.
    """
    found: list[str | Variable] = []
    at = 0
    for match in _CALL.finditer(text):
        value = variable(match[1])
        if value is not None:
            found += (text[at : match.start()], value)
            at = match.end()
    return written([*found, text[at:]])


def name_of(given: str) -> str:
    """Return the name of a variable in a form that request files allow."""
    return _NOT_IN_NAME.sub("_", given.strip()).strip("_") or "variable"


def _escape(text: str) -> str:
    """Escape text that would be read as a reference."""
    out: list[str] = []
    at = stop = 0
    close = -1
    while match := _BRACES.search(text, at):
        if match.end() > stop:
            line_end = text.find("\n", match.end())
            stop, close = (len(text) if line_end < 0 else line_end), 0
        if 0 <= close < match.end() + 1:
            close = text.find("}}", match.end() + 1, stop)
        if close < 0:
            out.append(text[at : match.end()])
            at = match.end()
            continue
        inside = text[match.end() : close]
        out.append(text[at : match.start()])
        if text[match.start() - 1 : match.start()] == "\\" and not re.search(r"[{}]", inside):
            out.append(f"\\{{\\{{{inside}\\}}\\}}")
            at = close + 2
        else:
            out.append("\\{{")
            at = match.end()
    return "".join([*out, text[at:]])


def pieces(text: str) -> tuple[str | Variable, ...]:
    """Return the literal texts and the references of a text in this notation."""
    found: list[str | Variable] = []
    at = 0
    for one in references(text, 0, len(text), (), lambda _: False, restclient=False):
        found.append(text[at : one.start])
        found.append(one.literal if one.literal is not None else Variable(one.name))
        at = one.end
    return _joined([*found, text[at:]])


def _joined(given: Iterable[str | Variable]) -> tuple[str | Variable, ...]:
    """Return the pieces with adjacent texts as one, and without empty ones."""
    out: list[str | Variable] = []
    for piece in given:
        if isinstance(piece, str) and out and isinstance(last := out[-1], str):
            out[-1] = last + piece
        elif piece:
            out.append(piece)
    return tuple(out)
