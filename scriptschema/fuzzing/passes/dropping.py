"""The reducer's passes that remove something: items of lists, optional fields, types."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from scriptschema import messages as m
from scriptschema.base import Message
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.index import Index
from scriptschema.fuzzing.passes.edits import AnyIndex, Edit, changing, changing_tree, setting


def shorten_lists(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that remove items from a list.

    For each list, the edits remove all items, each half, each quarter, and so on down to single
    items.
    """
    sizes = index.sizes
    first_child = _children(index)
    for number, node in enumerate(index.nodes):
        for slot, repeated in node._child_slots:
            items = getattr(node, slot)
            if not repeated or not items:
                continue
            children = first_child[number, slot]
            piece = len(items)
            while True:
                for start in range(0, len(items), piece):
                    gone = children[start : start + piece]
                    weight = sum(sizes[child] for child in gone)
                    delete = partial(_delete, slot, start, start + piece)
                    yield -weight, changing(index, number, delete)
                if piece == 1:
                    break
                piece = (piece + 1) // 2


def _children(index: AnyIndex) -> dict[tuple[int, str], list[int]]:
    """Return each list's messages by number. The key is (number of the parent, slot)."""
    numbers: dict[tuple[int, str], list[int]] = {}
    for number in range(1, len(index)):
        slot, position = index.step(number)
        if position is not None:
            numbers.setdefault((index.parents[number], slot), []).append(number)
    return numbers


def _delete(slot: str, start: int, stop: int, node: Any) -> None:
    del getattr(node, slot)[start:stop]


def drop_optionals(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that remove an optional field, or an `elseif` or `else` branch."""
    for number in range(1, len(index)):
        parent = index.parents[number]
        node = index.nodes[parent]
        name, position = index.step(number)
        field = node.ALL_FIELDS[name]
        if position is None and (field.rule == "optional") and name in _DROPPED:
            yield -index.sizes[number], changing(index, parent, setting(name, None))


_DROPPED: Final = frozenset(
    name
    for cls in m.MESSAGES.values()
    for name, field in cls.FIELDS.items()
    if field.rule == "optional" and (not field.oneof or name in ("else_", "elseif"))
)


def drop_extensions(index: AnyIndex) -> Iterator[Edit]:
    """Yield edits that remove an extension field."""
    for number, node in enumerate(index.nodes):
        for name, repeated in node._newer_slots:
            if getattr(node, name) not in (None, []):
                yield -1, changing(index, number, setting(name, [] if repeated else None))


def drop_types(index: AnyIndex) -> Iterator[Edit]:
    """Yield an edit that removes all type annotations and type aliases together."""
    weight = sum(
        index.sizes[child]
        for (number, slot), children in _children(index).items()
        if _is_type(index.nodes[number].__class__, slot)
        for child in children
    ) + sum(index.sizes[index.parents[number]] for number in index.of(m.StatTypeAlias))
    if weight:
        yield -weight, changing_tree(index, _drop_types)


def _drop_types(edited: Message) -> None:
    index = Index(edited)
    for block in index.messages(m.StatBlock):
        block.body = [stat for stat in block.body if stat.which != "type_alias"]
    for cls in (m.ExprFunction, m.StatLocal):
        for node in index.messages(cls):
            for name, field in cls.FIELDS.items():
                if field.rule == "repeated" and _is_type(cls, name):
                    setattr(node, name, [])


def _is_type(cls: type[Message], name: str) -> bool:
    return cls in (m.ExprFunction, m.StatLocal) and cls.ALL_FIELDS[name].type in (
        m.Type,
        m.Typename,
    )


def keep_module(index: AnyIndex) -> Iterator[Edit]:
    """Yield an edit that replaces the program of a module set with the set's module."""
    root: Any = index.tree
    if isinstance(root, m.ModuleSet) and root.module is not None:
        [program] = (n for n in range(len(index)) if index.nodes[n] is root.program)
        module: m.StatBlock = root.module
        yield -index.sizes[program], lambda: m.ModuleSet(program=copy(module))
