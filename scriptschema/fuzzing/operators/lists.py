"""The mutation operators that change lists: their items, and the order of the items."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from scriptschema import messages as m
from scriptschema.codec.copying import copy
from scriptschema.fuzzing.operators.mutation import Mutation
from scriptschema.fuzzing.operators.running import ORDERLESS, removable
from scriptschema.luau.validation.traversal import JUMPS


def insert(mut: Mutation, number: int) -> bool:
    """Insert a generated statement or item into a list."""
    block: Any = mut.index.nodes[number]
    if isinstance(block, m.StatBlock) and not mut.blind():
        body = block.body
        end = len(body) - bool(body and body[-1].which in JUMPS)
        position = mut.below(end + 1)
        context = mut.context(number)
        context.enter(block, "body", position)
        new = mut.statement(context, 10, mut.levels(number) - 1)
        if new is None:
            return False
        return mut.change_body(number, insertion(position, new), safe=True)
    lists = [(f.name, f.type) for f in block.FIELDS.values() if f.rule == "repeated"]
    if not lists or not mut.blind():
        return False
    name, cls = lists[mut.below(len(lists))]
    new = mut.generated(cls, number)
    if new is None:
        return False
    position = mut.below(len(getattr(block, name)) + 1)
    return mut.change(number, lambda node: getattr(node, name).insert(position, new))


def insertion(position: int, new: m.Stat) -> Callable[[list[m.Stat]], None]:
    """Return a function that inserts a statement into a list at a position."""
    return lambda items: items.insert(position, new)


def delete(mut: Mutation, number: int) -> bool:
    """Remove a statement, or an item of a list."""
    node = mut.index.nodes[number]
    name, position = mut.index.step(number)
    if position is None:
        return False
    blind = mut.blind()
    if not blind:
        if isinstance(node, m.Stat):
            if not removable(mut, number, mut.context(number)):
                return False
        elif not isinstance(node, m.Type):
            return False
    # If a type is removed from a list, the names of arguments may no longer match the types.
    safe = not blind and isinstance(node, m.Stat)
    return mut.change(
        mut.index.parents[number], lambda parent: getattr(parent, name).pop(position), safe=safe
    )


def duplicate(mut: Mutation, number: int) -> bool:
    """Insert a copy of an item next to the original."""
    node: Any = mut.index.nodes[number]
    name, position = mut.index.step(number)
    if position is None or mut.index.size(number) > max(mut.room, 12):
        return False
    blind = mut.blind()
    if not blind and not (isinstance(node, m.Stat) and removable(mut, number, mut.context(number))):
        return False
    item = copy(node)
    return mut.change(
        mut.index.parents[number],
        lambda parent: getattr(parent, name).insert(position, item),
        safe=not blind,
    )


def swap(mut: Mutation, number: int) -> bool:
    """Swap an item with the next item."""
    name, position = mut.index.step(number)
    items = (
        getattr(mut.index.nodes[mut.index.parents[number]], name) if position is not None else []
    )
    if position is None or position + 1 >= len(items) or items[position] == items[position + 1]:
        return False
    pair = items[position : position + 2]
    orderless = all(isinstance(item, m.Stat) and item.which in ORDERLESS for item in pair)
    if not orderless and not mut.blind():
        return False

    def edit(parent: Any) -> None:
        siblings = getattr(parent, name)
        siblings[position : position + 2] = [siblings[position + 1], siblings[position]]

    return mut.change(mut.index.parents[number], edit, safe=orderless)


def shuffle(mut: Mutation, number: int) -> bool:
    """Shuffle the statements of a block."""
    block: Any = mut.index.nodes[number]
    body = block.body
    blind = mut.blind()
    start = mut.below(len(body) or 1)
    run = itertools.takewhile(lambda s: blind or s.which in ORDERLESS, body[start:])
    movable = [start + i for i, _ in enumerate(run)]
    if len(movable) < 2:
        return False
    order = movable[:]
    for last in range(len(order) - 1, 0, -1):
        other = mut.below(last + 1)
        order[last], order[other] = order[other], order[last]
    if all(body[at] == body[source] for at, source in zip(movable, order, strict=True)):
        return False

    def edit(body: list[m.Stat]) -> None:
        moved = [body[source] for source in order]
        body[start : start + len(moved)] = moved

    return mut.change_body(number, edit, safe=not blind)
