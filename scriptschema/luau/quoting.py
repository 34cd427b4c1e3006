"""Writes string constants in Luau's notation, and encodes their values as bytes.

`literals` reads string constants.
"""

from __future__ import annotations

import re
from typing import Final

_SPECIAL: Final = re.compile(r'["\\]|[^ -~]')
_SPECIAL_IN_INTERPOLATION: Final = re.compile(r"[`{\\]|[^ -~]")
_ESCAPES: Final = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def _escape(match: re.Match[str]) -> str:
    return escape(match[0])


def escape(character: str) -> str:
    """Return the character if it is printable and not ASCII, else its escape sequence."""
    if " " <= character <= "~":
        return "\\" + character
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    if "\ud800" <= character <= "\udfff" or character < "\x80":
        return "".join(f"\\x{byte:02x}" for byte in string_bytes(character))
    return f"\\u{{{ord(character):x}}}"


def string_bytes(value: str) -> bytes:
    """Return a string constant's bytes: UTF-8, or the original byte for a lone surrogate."""
    try:
        return value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # a surrogate that is not a byte; decoding never yields these
        return b"".join(
            c.encode("utf-8", "surrogateescape" if "\udc80" <= c <= "\udcff" else "surrogatepass")
            for c in value
        )


def quote(value: str) -> str:
    """Return a string constant in Luau's notation, in double quotes."""
    return f'"{_SPECIAL.sub(_escape, value)}"'


def quote_in_interpolation(value: str) -> str:
    """Return `value` in Luau's notation for text between expressions of an interpolated string."""
    return _SPECIAL_IN_INTERPOLATION.sub(_escape, value)
