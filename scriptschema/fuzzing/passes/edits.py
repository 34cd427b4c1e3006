"""Edits of a tree, which the reducer's passes yield: a rank, and a function for the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from scriptschema.base import Message
from scriptschema.fuzzing.editing import at, copy
from scriptschema.fuzzing.index import Index

Edit: TypeAlias = tuple[int, Callable[[], Message]]
AnyIndex: TypeAlias = Index[Any]


def changing(index: AnyIndex, number: int, change: Callable[[Any], None]) -> Callable[[], Message]:
    """Return a function that copies the tree and changes the copy's message of that number."""

    def make() -> Message:
        edited: Message = copy(index.tree)
        change(at(edited, index.path(number)))
        return edited

    return make


def putting(index: AnyIndex, number: int, content: Callable[[], Message]) -> Callable[[], Message]:
    """Return a function that replaces the content of the message of that number in a copy.

    Both messages are of the same class.
    """

    def change(node: Any) -> None:
        other = content()
        for slot in node._slots:
            object.__setattr__(node, slot, getattr(other, slot))

    return changing(index, number, change)
