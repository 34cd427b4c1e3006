"""The reducer's passes that simplify scalar values: numbers, strings, flags, operators, names."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import partial
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import INT32_MIN, Message
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.passes.edits import AnyIndex, Edit, changing, changing_tree, setting
from scriptschema.luau.names import OWN_NAMES


def simplify_all(index: AnyIndex) -> Iterator[Edit]:
    """Yield two edits, each of which simplifies all values of a tree.

    Numbers become 0, strings become empty, flags become false, and operators become the first
    operator in their enum. Only the first edit also replaces each `Name` with the first custom
    name. The names of variables and types stay the same.
    """
    yield 0, changing_tree(index, partial(_simplify_all, names=True))
    yield 1, changing_tree(index, partial(_simplify_all, names=False))


def _simplify_all(edited: Message, *, names: bool) -> None:
    for node in Index(edited).nodes:
        if names and node.__class__ is m.Name:
            node.custom = 0
        for name, field in node.FIELDS.items():
            if field.type in _KINDS and (node.__class__, name) not in _INDEXES:
                setattr(node, name, "" if field.type is str else field.type(0))


_KINDS: Final = (int, str, bool, *m.ENUMS.values())
_INDEXES: Final = frozenset([*OWN_NAMES, (m.Name, "builtin")])


def shrink_scalars(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that simplify a single value.

    An edit brings a number nearer to 0, shortens a string, sets a flag to false, or tries a simpler
    operator or name.
    """
    for number, node in enumerate(index.nodes):
        if node.__class__ is m.Name and node.which == "builtin":
            yield 2 + number, changing(index, number, setting("custom", 0))
        for name, field in node.FIELDS.items():
            value = getattr(node, name)
            if field.is_message or not value or (node.__class__, name) in _INDEXES:
                continue
            for smaller in _smaller(value):
                yield 2 + number, changing(index, number, setting(name, smaller))


def _smaller(value: Any) -> Iterator[Any]:
    if isinstance(value, str):
        piece = len(value)
        while piece:
            for start in range(0, len(value), piece):
                yield value[:start] + value[start + piece :]
            piece //= 2
    elif isinstance(value, IntEnum):
        yield from (member for member in value.__class__ if member < value)
    elif isinstance(value, bool):
        yield False
    else:
        yield 0
        if value < 0:
            yield -value if value > INT32_MIN else INT32_MIN + 1
        step = abs(value) // 2
        while step:
            yield value - step if value > 0 else value + step
            step //= 2


def rename(index: AnyIndex) -> Iterator[Edit]:
    """Yield an edit that renumbers variables, types and custom names in order of occurrence."""
    yield 0, changing_tree(index, _rename)


def _rename(edited: Message) -> None:
    renumbered: dict[type, dict[int, int]] = {cls: {} for cls in _RENAMED}
    for node in Index(edited).nodes:
        cls = node.__class__
        value = getattr(node, _RENAMED[cls]) if cls in _RENAMED else None
        if value is not None:
            numbers = renumbered[cls]
            setattr(node, _RENAMED[cls], numbers.setdefault(value, len(numbers)))


_RENAMED: Final = dict(OWN_NAMES.keys())
"""The field of each class in `OWN_NAMES`."""
