"""Strings of the language: those in double quotes, and those in messages."""

from __future__ import annotations

import re

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def unquote(literal: str) -> str:
    r"""Return what a literal in double quotes means: `\n`, `\t`, `\r`, else what follows `\`."""
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), literal[1:-1], flags=re.DOTALL)


def short(text: str) -> str:
    """Return a text as a message holds it."""
    return text if len(text) <= 60 else f"{text[:57]}..."
