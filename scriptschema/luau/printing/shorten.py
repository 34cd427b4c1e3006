"""Makes a source shorter, with short names and only the white space that Luau needs."""

from __future__ import annotations

import itertools
import string
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

import attrs

from scriptschema.base import Message, walk
from scriptschema.luau.lexer import tokenize
from scriptschema.luau.names import KEYWORDS, OWN_NAMES, Names

_FIRST: Final = string.ascii_letters + "_"
_JOINED: Final = frozenset(
    [
        *("..", "--", "==", "~=", "<=", ">=", "//", "::", "->", "[[", "[="),
        *("+=", "-=", "*=", "/=", "%=", "^=", ".=", "{{"),
        *(f"{digit}." for digit in string.digits),
        *(f".{digit}" for digit in string.digits),
    ]
)
"""Pairs of characters that Luau would read as one token, so a space must separate them."""


def compact(source: str) -> str:
    """Return `source` on one line, without comments or unnecessary white space.

    Strings keep their line breaks. The result ends with a newline.
    """
    tokens = tokenize(source)
    pieces: list[str] = []
    last = " "
    for kind, text in zip(tokens.kinds, tokens.texts, strict=True):
        if kind == "eof":
            break
        border = last + text[0]
        if border in _JOINED or all(c.isalnum() or c == "_" for c in border):
            pieces.append(" ")
        pieces.append(text)
        last = text[-1]
    return "".join(pieces) + "\n"


def short_names(tree: Message, names: Names) -> Names:
    """Return tables with short names for the indexes in `tree`.

    The most frequent indexes get the shortest names. Builtin names and `self` do not change. Local
    variables and globals get different names, so that none shadows another.
    """
    used: dict[str, Counter[int]] = {table: Counter() for table in OWN_NAMES.values()}
    for node, _ in walk(tree):
        cls: Any = node.__class__
        for (owner, attribute), table in OWN_NAMES.items():
            index = getattr(node, attribute) if cls is owner else None
            if index is not None:
                used[table][index % len(getattr(names, table))] += 1
    reserved = KEYWORDS | {"self", *names.globals, *names.primitives, *names.classes}
    letters = (name for name in _identifiers() if name not in reserved)
    tables: Any = {table: _renamed(getattr(names, table), used[table], letters) for table in used}
    return attrs.evolve(names, **tables)


def _renamed(table: tuple[str, ...], used: Counter[int], letters: Iterator[str]) -> list[str]:
    short = {index: name for (index, _), name in zip(used.most_common(), letters, strict=False)}
    return [
        name if name == "self" else short.get(index, f"_{index}_")
        for index, name in enumerate(table)
    ]


def _identifiers() -> Iterator[str]:
    for length in itertools.count(0):
        for rest in itertools.product(_FIRST + string.digits, repeat=length):
            for first in string.ascii_letters:
                yield first + "".join(rest)
