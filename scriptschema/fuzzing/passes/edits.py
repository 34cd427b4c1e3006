"""The edits that the reducer's passes yield.

An edit is a pair of a rank and a function that returns the new tree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from scriptschema.base import Message
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.editing import at
from scriptschema.fuzzing.index import Index

Edit: TypeAlias = tuple[int, Callable[[], Message]]
AnyIndex: TypeAlias = Index[Any]


def changing_tree(index: AnyIndex, change: Callable[[Any], None]) -> Callable[[], Message]:
    """Return a function that copies the tree and applies `change` to the copy."""

    def make() -> Message:
        edited: Message = copy(index.tree)
        change(edited)
        return edited

    return make


def changing(index: AnyIndex, number: int, change: Callable[[Any], None]) -> Callable[[], Message]:
    """Return a function that copies the tree and applies `change` to one message in the copy."""
    return changing_tree(index, lambda edited: change(at(edited, index.path(number))))


def setting(name: str, value: Any) -> Callable[[Any], None]:
    """Return a change for `changing` that sets a field."""
    return lambda node: setattr(node, name, value)


def putting(index: AnyIndex, number: int, content: Callable[[], Message]) -> Callable[[], Message]:
    """Return a function that copies the tree and replaces the content of one message in the copy.

    `content` creates a message of the same class with the new content.
    """

    def change(node: Any) -> None:
        other = content()
        for slot in node._slots:
            object.__setattr__(node, slot, getattr(other, slot))

    return changing(index, number, change)
