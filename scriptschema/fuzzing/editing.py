"""Editing by path: each function returns a new tree that shares no message with its arguments.

A path is a `Path`, as in problems, in errors and from `walk`, or its string form, such as
`program.body[2].return_.list[0]`. The empty path leads to the root of the tree.

    tree = replace(tree, "program.body[0]", Stat(break_=StatBreak()))
    tree = insert(tree, "program.body[0]", Stat(block=StatBlock()))
    tree = delete(tree, "program.body[1]")

An insertion or deletion in a list changes the paths of the later items. The trees stay valid
according to the schema. An edit that would leave a required field empty, or put a message in a
field of another class, raises EditError.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

from scriptschema.base import FieldInfo, Message, Path, ValidationError
from scriptschema.codec.copying import copy

MessageT = TypeVar("MessageT", bound=Message)

_STEP: Final = re.compile(r"([A-Za-z_]\w*)(?:\[(\d{1,9})\])?", re.ASCII)


class EditError(ValueError):
    """A path does not exist in the tree, or the schema does not allow the edit there."""


def at(tree: Message, path: Path | str) -> Message:
    """Return the message at `path`, without copying it. Raises EditError if it does not exist."""
    node = tree
    for name, index in _steps(path):
        field = _field(node, name, index, path)
        value: Any = getattr(node, name)
        if index is not None:
            if index >= len(value):
                raise _no_item(field, len(value), path)
            value = value[index]
        if value is None:
            raise EditError(f"{path}: {field.message}.{name} is not set")
        node = value
    return node


def replace(tree: MessageT, path: Path | str, node: Message) -> MessageT:
    """Return `tree` with a copy of `node` in place of the message at `path`.

    Raises EditError if there is no message at `path`, or if the class of `node` is not allowed
    there.
    """
    at(tree, path)
    if not _steps(path):
        if not isinstance(node, tree.__class__):
            raise EditError(f"a {type(node).__name__} cannot replace the root of a tree")
        return copy(node)
    edited = copy(tree)
    parent, name, index = _parent(edited, path)
    _put(parent, name, index, copy(node), path)
    return edited


def insert(tree: MessageT, path: Path | str, node: Message) -> MessageT:
    """Return `tree` with a copy of `node` inserted at `path`.

    The path `program.body[2]` inserts the copy before `body[2]`, or at the end if `body` has two
    items. A path without an index at the end must lead to a field or alternative that is not set.
    Raises EditError if the insertion is not possible.
    """
    edited = copy(tree)
    parent, name, index = _parent(edited, path)
    if index is not None:
        items = getattr(parent, name)
        if index > len(items):
            raise _no_item(parent.ALL_FIELDS[name], len(items), path)
        items.insert(index, None)
    elif getattr(parent, name) is not None:
        raise EditError(
            f"{path}: {parent.ALL_FIELDS[name].message}.{name} is already set: replace it"
        )
    _put(parent, name, index, copy(node), path)
    return edited


def delete(tree: MessageT, path: Path | str) -> MessageT:
    """Return `tree` without the message at `path`: an item of a list, or an optional message.

    This changes the paths of all later items in the same list, so delete the last of several paths
    first: those that `walk` yields, in reverse order.

    Raises EditError if the message does not exist or is required.
    """
    at(tree, path)
    edited = copy(tree)
    parent, name, index = _parent(edited, path)
    if index is not None:
        del getattr(parent, name)[index]
        return edited
    try:
        setattr(parent, name, None)
    except ValidationError as error:
        raise EditError(f"{path}: {error}") from None
    return edited


def _steps(path: Path | str) -> list[tuple[str, int | None]]:
    if isinstance(path, Path):
        return path.steps()
    steps: list[tuple[str, int | None]] = []
    for text in path.split(".") if path else ():
        match = _STEP.fullmatch(text)
        if match is None:
            raise EditError(
                f"{path}: invalid path step {text!r}: expected a step like `body[0]` or `left`"
            )
        steps.append((match[1], None if match[2] is None else int(match[2])))
    return steps


def _field(node: Message, name: str, index: int | None, path: Path | str) -> FieldInfo:
    field = node.ALL_FIELDS.get(name)
    if field is None:
        raise EditError(f"{path}: {node._no_such_field(name)}")
    if not field.is_message:
        raise EditError(f"{path}: {field.message}.{name} is {field.type_name}, not a message")
    if (field.rule == "repeated") != (index is not None):
        what = "a list: select an item" if index is None else "not a list"
        raise EditError(f"{path}: {field.message}.{name} is {what}")
    return field


def _parent(tree: Message, path: Path | str) -> tuple[Any, str, int | None]:
    """Return the parent of the message at `path`, and the path's last step."""
    steps = _steps(path)
    if not steps:
        raise EditError(
            "the path is empty: only a part of a tree, not its root, can be inserted or deleted"
        )
    above = Path()
    for name, index in steps[:-1]:
        above = Path(above, name, index)
    parent = at(tree, above)
    name, index = steps[-1]
    _field(parent, name, index, path)
    return parent, name, index


def _put(parent: Any, name: str, index: int | None, node: Message, path: Path | str) -> None:
    field = parent.ALL_FIELDS[name]
    try:
        field.check_item(node)
    except ValidationError as error:
        raise EditError(f"{path}: {error}") from None
    if index is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[index] = node


def _no_item(field: FieldInfo, count: int, path: Path | str) -> EditError:
    return EditError(f"{path}: {field.message}.{field.name} has only {count} items")
