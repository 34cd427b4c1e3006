"""JavaScript in double braces, httpyac's: `{{1 + 1}}`, `{{token.slice(1)}}`, `{{list[0].id}}`.

An expression is recognized by its text: it calls, computes, compares, or is a literal. `a.b` and
`a[0]` are expressions if `a` has a value. Possible names of variables (`api-key`, `my name`), texts
that begin with `$`, and VS Code REST Client's references to responses are not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from orgrest.http import responses

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_COMPUTES = re.compile(r"[()+/%!?<>=&|`]|[\w\])]\s*\*|\s-\s|^['\"\[{]|^(?:new|typeof|await)\s")
_MEMBER = re.compile(r"([A-Za-z_$][\w$]*)(?:\?\.|\.|\[)")
_STRINGS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"")
_NAMES = re.compile(r"(?:(?<![\w$.])|(?<=\.\.\.))[A-Za-z_$][\w$]*")
GLOBALS = frozenset({"Array", "Date", "JSON", "Math", "Number", "Object", "String", "crypto"})
"""The built-in objects whose members may be used without a call or operator: `Math.PI`."""

OBJECTS = frozenset({"$global", "$random"})
"""What expressions and scripts have besides variables."""


def computes(text: str) -> bool:
    """Tell whether a text in double braces is an expression, whatever its names mean."""
    if text.startswith("$") or "[?" in text or responses.read(text) is not None:
        return False
    return _COMPUTES.search(text) is not None


def root(text: str) -> str | None:
    """Return the `a` of a plain `a.b` or `a[0]`; else None."""
    match = _MEMBER.match(text)
    if match is None or text.startswith("$") or responses.read(text) is not None:
        return None
    return match[1]


def is_expression(text: str, known: Collection[str]) -> bool:
    """Tell whether a text is an expression, given these variables."""
    if text in known:
        return False
    first = None if computes(text) else root(text)
    return computes(text) or first in known or first in GLOBALS


def names(text: str) -> Iterator[tuple[str, int]]:
    """Yield the possible variables in an expression with their indexes, outside of strings."""
    blank = _STRINGS.sub(lambda match: " " * len(match[0]), text)
    for match in _NAMES.finditer(blank):
        yield match[0], match.start()
