"""Editing by path: each function returns a new tree that shares no message with its arguments.

A path is a `Path`, which `walk` yields and problems and errors name, or its text, such as
`program.body[2].return_.list[0]`. The empty path is the tree itself.

    tree = replace(tree, "program.body[0]", Stat(break_=StatBreak()))
    tree = insert(tree, "program.body[0]", Stat(block=StatBlock()))
    tree = delete(tree, "program.body[1]")

The trees stay valid by the schema: an edit that would leave a required field empty, or put a
message where another class belongs, is an error, and the given tree is never changed.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeVar

from scriptschema.base import FieldInfo, Message, Path, ValidationError
from scriptschema.codec.copying import copy as copy  # one of the edits

MessageT = TypeVar("MessageT", bound=Message)

_STEP: Final = re.compile(r"([A-Za-z_]\w*)(?:\[(\d{1,9})\])?", re.ASCII)


class EditError(ValueError):
    """A path that does not exist in the tree, or an edit that the schema does not allow there."""


def at(tree: Message, path: Path | str) -> Message:
    """Return the message of `tree` at `path`, not a copy. Raises EditError if it does not exist."""
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

    Raises EditError if there is nothing at `path`, or if a message of the class of `node` does not
    belong there.
    """
    at(tree, path)
    if not _steps(path):
        if not isinstance(node, tree.__class__):
            raise EditError(f"a {type(node).__name__} cannot take the place of the whole tree")
        return copy(node)
    edited = copy(tree)
    parent, name, index = _parent(edited, path)
    _put(parent, name, index, copy(node), path)
    return edited


def insert(tree: MessageT, path: Path | str, node: Message) -> MessageT:
    """Return `tree` with a copy of `node` inserted at `path`.

    A path that ends in a list's index inserts before the item that is there now, or at the list's
    end; one that ends in a field or an alternative sets that, which must not be set already.

    Raises EditError if that is not possible.
    """
    edited = copy(tree)
    parent, name, index = _parent(edited, path)
    if index is not None:
        items = getattr(parent, name)
        if index > len(items):
            raise _no_item(parent.ALL_FIELDS[name], len(items), path)
        items.insert(index, None)
    elif getattr(parent, name) is not None:
        raise EditError(f"{path}: {parent.ALL_FIELDS[name].message}.{name} is set: replace it")
    _put(parent, name, index, copy(node), path)
    return edited


def delete(tree: MessageT, path: Path | str) -> MessageT:
    """Return `tree` without the message at `path`: an item of a list, or an optional message.

    Raises EditError if there is nothing at `path`, or if it is required.
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
            raise EditError(f"{path}: {text!r} is not a step of a path, as `body[0]` or `left` is")
        steps.append((match[1], None if match[2] is None else int(match[2])))
    return steps


def _field(node: Message, name: str, index: int | None, path: Path | str) -> FieldInfo:
    """Return the field that a step names; it must hold messages, or with `index` a list of them."""
    field = node.ALL_FIELDS.get(name)
    if field is None:
        raise EditError(f"{path}: {node._no_such_field(name)}")
    if not field.is_message:
        raise EditError(f"{path}: {field.message}.{name} is not a message but {field.type_name}")
    if (field.rule == "repeated") != (index is not None):
        what = "a list: name an item" if index is None else "not a list"
        raise EditError(f"{path}: {field.message}.{name} is {what}")
    return field


def _parent(tree: Message, path: Path | str) -> tuple[Any, str, int | None]:
    """Return the message that holds what is at `path`, and the last step of the path."""
    steps = _steps(path)
    if not steps:
        raise EditError("the whole tree is in no list and no field")
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
    return EditError(f"{path}: {field.message}.{field.name} has {count} items")
