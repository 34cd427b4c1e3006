"""Luau's tokens for engines that change bytes: libFuzzer's `-dict`, AFL++'s `-x`."""

from __future__ import annotations

from typing import Final

from scriptschema.luau.names import DEFAULT, KEYWORDS, Names
from scriptschema.luau.operators import BINARY, COMPOUND, UNARY

_SYMBOLS: Final = ("(", ")", "{", "}", "[", "]", ";", ":", ",", ".", "...", "=", "->", "::", "?")
_WORDS: Final = ("continue", "type", "export", "typeof", "self")
"""Names that are keywords only in some places."""


def dictionary(names: Names = DEFAULT) -> str:
    """Return the dictionary: keywords, operators, symbols, globals, libraries' members, types.

    A line is a token in quotation marks; libFuzzer and AFL++ read the same format. No token has a
    character that would have to be escaped there.
    """
    binary = [text for text, *_ in BINARY.values()]
    operators = [text.strip() for text in (*UNARY.values(), *binary, *COMPOUND.values())]
    members = [f"{owner}.{name}" for owner, table in names.libraries.items() for name in table]
    parts = {
        "keywords": [*sorted(KEYWORDS), *_WORDS],
        "operators and symbols": [*operators, *_SYMBOLS],
        "globals": names.globals,
        "members of libraries": members,
        "metamethods": names.metamethods,
        "types": [*names.primitives, *names.classes],
    }
    lines: list[str] = []
    seen: set[str] = set()
    for title, tokens in parts.items():
        lines.append(f"# {title}")
        lines += [f'"{token}"' for token in dict.fromkeys(tokens) if token not in seen]
        seen.update(tokens)
    return "\n".join(lines) + "\n"
