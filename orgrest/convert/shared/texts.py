r"""Strings in the notation of request files: references to variables, and escaped braces.

`{{name}}` refers to a variable. ``\{{name}}`` and ``\{\{name\}\}`` are literal braces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from orgrest import classes
from orgrest.convert.shared.model import ConversionError
from orgrest.http.values.references import references

_BRACES: Final = re.compile(r"\{\{(?!\{)")
_CALL: Final = re.compile(r"\{\{([^{}\n]+)\}\}")
# Matches comments in JSON, and strings, whose content is never a comment.
_JSON_COMMENT: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_NOT_IN_NAME: Final = re.compile(r"[^\w.-]+")


@classes.frozen
class Variable:
    """A reference to a variable."""

    name: str


def literal(text: str) -> str:
    """Return a string with its braces escaped, so that it does not refer to variables."""
    return written([text])


def written(given: Iterable[str | Variable]) -> str:
    """Return literal strings and references to variables in the notation of request files.

    Raises ConversionError for braces after a backslash, which the notation cannot express.
    """
    given = tuple(given)
    text = "".join(
        f"{{{{{piece.name}}}}}" if isinstance(piece, Variable) else _escape(piece)
        for piece in given
    )
    if ("{{" in text or "\\{" in text) and pieces(text) != _joined(given):
        raise ConversionError("the braces would be parsed as a variable")
    return text


def is_literal(text: str) -> bool:
    """Return whether a string in this notation is free of references to variables."""
    return plain(text) is not None


def plain(text: str) -> str | None:
    """Return the value of a string in this notation, or None if it refers to variables."""
    read = pieces(text)
    literals = [piece for piece in read if isinstance(piece, str)]
    return "".join(literals) if len(literals) == len(read) else None


def without_comments(json: str) -> str:
    """Return JSON text with its comments removed, because other tools do not send them."""
    return _JSON_COMMENT.sub(lambda match: match[1] or "", json)


def body_of(text: str) -> str | bytes:
    """Return a literal string as a body in this notation, or as bytes if that is impossible."""
    try:
        return literal(text)
    except ConversionError:
        return text.encode("utf-8", "surrogateescape")


def translated(text: str, variable: Callable[[str], Variable]) -> str:
    """Convert another tool's `{{name}}` placeholders in a string to the notation of request files.

    `variable` translates the text between the braces. Raises ConversionError if the result would be
    parsed differently.
    """
    return replaced(_CALL, text, lambda match: variable(match[1].strip()))


def replaced(
    pattern: re.Pattern[str], text: str, variable: Callable[[re.Match[str]], Variable | None]
) -> str:
    """Return a string in the notation of request files, with variables in place of the matches.

    If `variable` returns None, a match becomes literal text, like everything between the matches.
    Raises ConversionError if the result would be parsed differently.
    """
    replaced_pieces: list[str | Variable] = []
    at = 0
    for match in pattern.finditer(text):
        value = variable(match)
        if value is not None:
            replaced_pieces += (text[at : match.start()], value)
            at = match.end()
    return written([*replaced_pieces, text[at:]])


def name_of(text: str) -> str:
    """Return the name of a variable, altered if necessary to be valid in request files."""
    return _NOT_IN_NAME.sub("_", text.strip()).strip("_") or "variable"


def title(method: str, url: str) -> str:
    """Return a title for a request without a name: its method, and the path of its URL."""
    path = re.sub(r"^[a-z]+://[^/?#]*|^\{\{[^{}]*\}\}", "", url).partition("?")[0]
    return f"{method} {path.strip() or '/'}"


def _escape(text: str) -> str:
    """Escape everything in a string that would be read as a reference."""
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
    """Return the literal strings and the references that a string in this notation consists of."""
    read: list[str | Variable] = []
    at = 0
    for reference in references(text, 0, len(text), (), lambda _: False, restclient=False):
        read.append(text[at : reference.start])
        read.append(
            reference.literal if reference.literal is not None else Variable(reference.name)
        )
        at = reference.end
    return _joined([*read, text[at:]])


def _joined(pieces: Iterable[str | Variable]) -> tuple[str | Variable, ...]:
    """Join adjacent strings, and leave out empty strings."""
    out: list[str | Variable] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(last := out[-1], str):
            out[-1] = last + piece
        elif piece:
            out.append(piece)
    return tuple(out)
