"""The reducer's passes that simplify scalar values: numbers, strings, flags, operators, names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import INT32_MIN, Message
from scriptschema.fuzzing.editing import copy
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.passes.edits import AnyIndex, Edit, changing, setting


def simplify_all(index: AnyIndex) -> Iterator[Edit]:
    """Yield two edits, each of which simplifies all values of a tree.

    Numbers become 0, strings become empty, flags become false, and operators become the first
    operator in their enum. Only the first edit also replaces each `Name` with the first custom
    name. The names of variables and types stay the same.
    """

    def make(kinds: Sequence[type], names: bool) -> Callable[[], Message]:
        def change() -> Message:
            edited: Message = copy(index.tree)
            for node in Index(edited).nodes:
                if names and node.__class__ is m.Name:
                    node.custom = 0
                for name, field in node.FIELDS.items():
                    if field.type in kinds and (node.__class__, name) not in _INDEXES:
                        setattr(node, name, _zero(field.type))
            return edited

        return change

    yield 0, make((int, str, bool, *_ENUMS), names=True)
    yield 1, make((int, str, bool, *_ENUMS), names=False)


def _zero(kind: type) -> Any:
    return kind(0) if kind is not str else ""


_ENUMS: Final = tuple(
    {
        field.type
        for cls in m.MESSAGES.values()
        for field in cls.FIELDS.values()
        if issubclass(field.type, IntEnum)
    }
)
_INDEXES: Final = frozenset(
    {(m.Local, "name"), (m.Typename, "index"), (m.Name, "builtin"), (m.Name, "custom")}
)


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

    def make() -> Message:
        edited: Message = copy(index.tree)
        renumbered: dict[str, dict[int, int]] = {"name": {}, "index": {}, "custom": {}}
        for node in Index(edited).nodes:
            for (cls, attribute), numbers in zip(_RENAMED, renumbered.values(), strict=True):
                value = getattr(node, attribute) if node.__class__ is cls else None
                if value is not None:
                    setattr(node, attribute, numbers.setdefault(value, len(numbers)))
        return edited

    yield 0, make


_RENAMED: Final = ((m.Local, "name"), (m.Typename, "index"), (m.Name, "custom"))
