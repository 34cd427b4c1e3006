"""String literals in double quotes, and texts in messages."""

from __future__ import annotations

import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def unquote(literal: str) -> str:
    r"""Decode a literal in double quotes: `\n`, `\t`, `\r`, else the character behind `\`."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)


def short(text: str) -> str:
    """Return a text shortened for a message."""
    return text if len(text) <= 60 else f"{text[:57]}..."
