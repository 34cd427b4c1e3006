"""Luau's tokens as a dictionary for byte-based fuzzers: libFuzzer's `-dict`, AFL++'s `-x`."""

from __future__ import annotations

from typing import Final

from scriptschema.luau.members import NEWER_MEMBERS
from scriptschema.luau.names import DEFAULT, KEYWORDS, Names
from scriptschema.luau.operators import BINARY, COMPOUND, UNARY
from scriptschema.versions import Version

_SYMBOLS: Final = ("(", ")", "{", "}", "[", "]", ";", ":", ",", ".", "...", "=", "->", "::", "?")
_WORDS: Final = ("continue", "type", "export", "typeof", "self")
"""Names that have a special meaning only in certain places."""

_NEWER: Final = {
    "read": "0.677",
    "write": "0.677",
    "//=": "0.677",
    "@native": "0.677",
    "@checked": "0.677",
    "@deprecated": "0.677",
    "@[": "0.687",
    "<<": "0.701",
    ">>": "0.701",
    "const": "0.711",
    "1i": "0.715",
}
"""Tokens that the schema cannot represent, and the versions of Luau that introduced them."""


def dictionary(names: Names = DEFAULT, luau: Version | None = None) -> str:
    """Return the dictionary: keywords, operators, symbols, globals, library members and types.

    If `luau` is a version, the dictionary also has the tokens of that version that the schema
    lacks. Each line is a token in quotation marks, or a comment, as libFuzzer and AFL++ expect. No
    token needs escapes.
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
    if luau is not None:
        newer = [text for text, since in _NEWER.items() if Version.parse(since) <= luau]
        newer += [
            ".".join(filter(None, member)) for member, span in NEWER_MEMBERS.items() if luau in span
        ]
        parts[f"newer than the schema, from versions of Luau up to {luau}"] = newer
    lines: list[str] = []
    seen: set[str] = set()
    for title, tokens in parts.items():
        lines.append(f"# {title}")
        lines += [f'"{token}"' for token in dict.fromkeys(tokens) if token not in seen]
        seen.update(tokens)
    return "\n".join(lines) + "\n"
